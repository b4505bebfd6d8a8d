/* What programs that look for data races have beside their kernel (cmake/AddLab.cmake, race
 * workers): a race of the kit's own, since where that one is not found a kernel's would not be;
 * teams of any size; and copies of memory whose accesses are seen, which a kernel's object calls in
 * the C library's stead. Built with ThreadSanitizer, as a kernel, and without builtin functions, or
 * these would call themselves. */
#include <omp.h>
#include <stddef.h>
#include <stdint.h>

int numalab_raced;

void numalab_race(void);
void numalab_set_team(size_t threads);

/* Of meeting.c. */
void numalab_come(void);
void numalab_await(unsigned count);

void *numalab_watched_memcpy(void *to, const void *from, size_t bytes);
void *numalab_watched_memmove(void *to, const void *from, size_t bytes);
void *numalab_watched_memset(void *to, int value, size_t bytes);

/* As fortified headers call them. */
void *numalab_watched___memcpy_chk(void *to, const void *from, size_t bytes, size_t room);
void *numalab_watched___memmove_chk(void *to, const void *from, size_t bytes, size_t room);
void *numalab_watched___memset_chk(void *to, int value, size_t bytes, size_t room);

void numalab_race(void)
{
    /* Whatever the kernel has asked for before. */
    omp_set_dynamic(0);
    omp_set_max_active_levels(1);
#pragma omp parallel num_threads(2)
    {
        /* Both are in the region; then one writes, and then the other. */
        const int thread = omp_get_thread_num();
        numalab_come();
        numalab_await(2 + (unsigned)thread);
        numalab_raced = thread;
        numalab_come();
    }
}

void numalab_set_team(size_t threads)
{
    omp_set_num_threads((int)threads);
}

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
