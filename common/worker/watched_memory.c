/* Copies of memory and others whose accesses are seen, which kernels that are watched
 * (cmake/AddLab.cmake) call in the C library's stead. Built with ThreadSanitizer, as they are, and
 * without builtin functions, or these would call themselves. */
#define _GNU_SOURCE
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

void *numalab_watched_memcpy(void *destination, const void *origin, size_t bytes);
void *numalab_watched_memmove(void *destination, const void *origin, size_t bytes);
void *numalab_watched_memset(void *destination, int value, size_t bytes);

void *numalab_watched_mempcpy(void *destination, const void *origin, size_t bytes);
void numalab_watched_bcopy(const void *origin, void *destination, size_t bytes);
void numalab_watched_bzero(void *destination, size_t bytes);
char *numalab_watched_strcpy(char *destination, const char *origin);
char *numalab_watched_stpcpy(char *destination, const char *origin);
char *numalab_watched_strncpy(char *destination, const char *origin, size_t bytes);

/* As fortified headers call them. */
char *numalab_watched___strcpy_chk(char *destination, const char *origin, size_t room);
char *numalab_watched___stpcpy_chk(char *destination, const char *origin, size_t room);
char *numalab_watched___strncpy_chk(char *destination, const char *origin, size_t bytes,
                                    size_t room);
void *numalab_watched___mempcpy_chk(void *destination, const void *origin, size_t bytes,
                                    size_t room);
void *numalab_watched___memcpy_chk(void *destination, const void *origin, size_t bytes,
                                   size_t room);
void *numalab_watched___memmove_chk(void *destination, const void *origin, size_t bytes,
                                    size_t room);
void *numalab_watched___memset_chk(void *destination, int value, size_t bytes, size_t room);

void *numalab_watched_memmove(void *destination, const void *origin, size_t bytes)
{
    unsigned char *target = destination;
    const unsigned char *source = origin;
    if ((uintptr_t)destination <= (uintptr_t)origin)
        for (size_t i = 0; i < bytes; i++) target[i] = source[i];
    else
        for (size_t i = bytes; i > 0; i--) target[i - 1] = source[i - 1];
    return destination;
}

void *numalab_watched_memcpy(void *destination, const void *origin, size_t bytes)
{
    return numalab_watched_memmove(destination, origin, bytes);
}

void *numalab_watched_memset(void *destination, int value, size_t bytes)
{
    unsigned char *target = destination;
    for (size_t i = 0; i < bytes; i++) target[i] = (unsigned char)value;
    return destination;
}

void *numalab_watched___memcpy_chk(void *destination, const void *origin, size_t bytes, size_t room)
{
    (void)room;
    return numalab_watched_memmove(destination, origin, bytes);
}

void *numalab_watched___memmove_chk(void *destination, const void *origin, size_t bytes,
                                    size_t room)
{
    (void)room;
    return numalab_watched_memmove(destination, origin, bytes);
}

void *numalab_watched___memset_chk(void *destination, int value, size_t bytes, size_t room)
{
    (void)room;
    return numalab_watched_memset(destination, value, bytes);
}

void *numalab_watched_mempcpy(void *destination, const void *origin, size_t bytes)
{
    return (unsigned char *)numalab_watched_memmove(destination, origin, bytes) + bytes;
}

void *numalab_watched___mempcpy_chk(void *destination, const void *origin, size_t bytes,
                                    size_t room)
{
    (void)room;
    return numalab_watched_mempcpy(destination, origin, bytes);
}

void numalab_watched_bcopy(const void *origin, void *destination, size_t bytes)
{
    numalab_watched_memmove(destination, origin, bytes);
}

void numalab_watched_bzero(void *destination, size_t bytes)
{
    numalab_watched_memset(destination, 0, bytes);
}

char *numalab_watched_stpcpy(char *destination, const char *origin)
{
    while ((*destination = *origin++)) destination++;
    return destination;
}

char *numalab_watched___stpcpy_chk(char *destination, const char *origin, size_t room)
{
    (void)room;
    return numalab_watched_stpcpy(destination, origin);
}

char *numalab_watched_strcpy(char *destination, const char *origin)
{
    numalab_watched_stpcpy(destination, origin);
    return destination;
}

char *numalab_watched___strcpy_chk(char *destination, const char *origin, size_t room)
{
    (void)room;
    return numalab_watched_strcpy(destination, origin);
}

char *numalab_watched_strncpy(char *destination, const char *origin, size_t bytes)
{
    size_t i = 0;
    for (; i < bytes && origin[i]; i++) destination[i] = origin[i];
    for (; i < bytes; i++) destination[i] = '\0';
    return destination;
}

char *numalab_watched___strncpy_chk(char *destination, const char *origin, size_t bytes,
                                    size_t room)
{
    (void)room;
    return numalab_watched_strncpy(destination, origin, bytes);
}

/* ---- what stores numbers --------------------------------------------------------------- */

void numalab_watched_sincos(double x, double *sine, double *cosine);
void numalab_watched_sincosf(float x, float *sine, float *cosine);
double numalab_watched_frexp(double x, int *exponent);
float numalab_watched_frexpf(float x, int *exponent);
double numalab_watched_modf(double x, double *whole);
float numalab_watched_modff(float x, float *whole);

void numalab_watched_sincos(double x, double *sine, double *cosine)
{
    double s, c;
    sincos(x, &s, &c);
    *sine = s;
    *cosine = c;
}

void numalab_watched_sincosf(float x, float *sine, float *cosine)
{
    float s, c;
    sincosf(x, &s, &c);
    *sine = s;
    *cosine = c;
}

double numalab_watched_frexp(double x, int *exponent)
{
    int found;
    const double fraction = frexp(x, &found);
    *exponent = found;
    return fraction;
}

float numalab_watched_frexpf(float x, int *exponent)
{
    int found;
    const float fraction = frexpf(x, &found);
    *exponent = found;
    return fraction;
}

double numalab_watched_modf(double x, double *whole)
{
    double found;
    const double rest = modf(x, &found);
    *whole = found;
    return rest;
}

float numalab_watched_modff(float x, float *whole)
{
    float found;
    const float rest = modff(x, &found);
    *whole = found;
    return rest;
}

/* ---- system calls by their number ------------------------------------------------------- */

long numalab_watched_syscall(long number, long a, long b, long c, long d, long e, long f);

/* Those that store nothing where they are told to, or nothing that can be chosen. */
static const long plain_calls[] = {SYS_gettid,
                                   SYS_getpid,
                                   SYS_getppid,
                                   SYS_getcpu,
                                   SYS_sched_yield,
                                   SYS_sched_setaffinity,
                                   SYS_sched_getaffinity,
                                   SYS_sched_setscheduler,
                                   SYS_sched_setattr,
                                   SYS_futex,
                                   SYS_membarrier,
                                   SYS_madvise,
                                   SYS_mbind,
                                   SYS_set_mempolicy,
                                   SYS_get_mempolicy,
                                   SYS_move_pages,
                                   SYS_mlock,
                                   SYS_munlock,
                                   SYS_memfd_create,
                                   SYS_write,
                                   SYS_close,
                                   SYS_prctl,
                                   SYS_nanosleep,
                                   SYS_exit_group};

long numalab_watched_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    for (size_t i = 0; i < sizeof plain_calls / sizeof plain_calls[0]; i++)
        if (plain_calls[i] == number) return syscall(number, a, b, c, d, e, f);
    fprintf(stderr,
            "numalab: what system call %ld stores can't be seen here; call the C library's "
            "function\n",
            number);
    abort();
}
