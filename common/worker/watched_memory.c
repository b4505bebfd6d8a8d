/* Copies of memory whose accesses are seen, which kernels that are watched (cmake/AddLab.cmake)
 * call in the C library's stead. Built with ThreadSanitizer, as they are, and without builtin
 * functions, or these would call themselves. */
#include <stddef.h>
#include <stdint.h>

void *numalab_watched_memcpy(void *to, const void *from, size_t bytes);
void *numalab_watched_memmove(void *to, const void *from, size_t bytes);
void *numalab_watched_memset(void *to, int value, size_t bytes);

void *numalab_watched_mempcpy(void *to, const void *from, size_t bytes);
void numalab_watched_bcopy(const void *from, void *to, size_t bytes);
void numalab_watched_bzero(void *to, size_t bytes);
char *numalab_watched_strcpy(char *to, const char *from);
char *numalab_watched_stpcpy(char *to, const char *from);
char *numalab_watched_strncpy(char *to, const char *from, size_t bytes);

/* As fortified headers call them. */
char *numalab_watched___strcpy_chk(char *to, const char *from, size_t room);
char *numalab_watched___stpcpy_chk(char *to, const char *from, size_t room);
char *numalab_watched___strncpy_chk(char *to, const char *from, size_t bytes, size_t room);
void *numalab_watched___mempcpy_chk(void *to, const void *from, size_t bytes, size_t room);
void *numalab_watched___memcpy_chk(void *to, const void *from, size_t bytes, size_t room);
void *numalab_watched___memmove_chk(void *to, const void *from, size_t bytes, size_t room);
void *numalab_watched___memset_chk(void *to, int value, size_t bytes, size_t room);

void *numalab_watched_memmove(void *to, const void *from, size_t bytes)
{
    unsigned char *target = to;
    const unsigned char *source = from;
    if ((uintptr_t)to <= (uintptr_t)from)
        for (size_t i = 0; i < bytes; i++) target[i] = source[i];
    else
        for (size_t i = bytes; i > 0; i--) target[i - 1] = source[i - 1];
    return to;
}

void *numalab_watched_memcpy(void *to, const void *from, size_t bytes)
{
    return numalab_watched_memmove(to, from, bytes);
}

void *numalab_watched_memset(void *to, int value, size_t bytes)
{
    unsigned char *target = to;
    for (size_t i = 0; i < bytes; i++) target[i] = (unsigned char)value;
    return to;
}

void *numalab_watched___memcpy_chk(void *to, const void *from, size_t bytes, size_t room)
{
    (void)room;
    return numalab_watched_memmove(to, from, bytes);
}

void *numalab_watched___memmove_chk(void *to, const void *from, size_t bytes, size_t room)
{
    (void)room;
    return numalab_watched_memmove(to, from, bytes);
}

void *numalab_watched___memset_chk(void *to, int value, size_t bytes, size_t room)
{
    (void)room;
    return numalab_watched_memset(to, value, bytes);
}

void *numalab_watched_mempcpy(void *to, const void *from, size_t bytes)
{
    return (unsigned char *)numalab_watched_memmove(to, from, bytes) + bytes;
}

void *numalab_watched___mempcpy_chk(void *to, const void *from, size_t bytes, size_t room)
{
    (void)room;
    return numalab_watched_mempcpy(to, from, bytes);
}

void numalab_watched_bcopy(const void *from, void *to, size_t bytes)
{
    numalab_watched_memmove(to, from, bytes);
}

void numalab_watched_bzero(void *to, size_t bytes)
{
    numalab_watched_memset(to, 0, bytes);
}

char *numalab_watched_stpcpy(char *to, const char *from)
{
    while ((*to = *from++)) to++;
    return to;
}

char *numalab_watched___stpcpy_chk(char *to, const char *from, size_t room)
{
    (void)room;
    return numalab_watched_stpcpy(to, from);
}

char *numalab_watched_strcpy(char *to, const char *from)
{
    numalab_watched_stpcpy(to, from);
    return to;
}

char *numalab_watched___strcpy_chk(char *to, const char *from, size_t room)
{
    (void)room;
    return numalab_watched_strcpy(to, from);
}

char *numalab_watched_strncpy(char *to, const char *from, size_t bytes)
{
    size_t i = 0;
    for (; i < bytes && from[i]; i++) to[i] = from[i];
    for (; i < bytes; i++) to[i] = '\0';
    return to;
}

char *numalab_watched___strncpy_chk(char *to, const char *from, size_t bytes, size_t room)
{
    (void)room;
    return numalab_watched_strncpy(to, from, bytes);
}
