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

void *numalab_watched_memcpy(void *target, const void *source, size_t bytes);
void *numalab_watched_memmove(void *target, const void *source, size_t bytes);
void *numalab_watched_memset(void *target, int value, size_t bytes);

void *numalab_watched_mempcpy(void *target, const void *source, size_t bytes);
void numalab_watched_bcopy(const void *source, void *target, size_t bytes);
void numalab_watched_bzero(void *target, size_t bytes);
char *numalab_watched_strcpy(char *target, const char *source);
char *numalab_watched_stpcpy(char *target, const char *source);
char *numalab_watched_strncpy(char *target, const char *source, size_t bytes);

/* As fortified headers call them. */
char *numalab_watched___strcpy_chk(char *target, const char *source, size_t room);
char *numalab_watched___stpcpy_chk(char *target, const char *source, size_t room);
char *numalab_watched___strncpy_chk(char *target, const char *source, size_t bytes, size_t room);
void *numalab_watched___mempcpy_chk(void *target, const void *source, size_t bytes, size_t room);
void *numalab_watched___memcpy_chk(void *target, const void *source, size_t bytes, size_t room);
void *numalab_watched___memmove_chk(void *target, const void *source, size_t bytes, size_t room);
void *numalab_watched___memset_chk(void *target, int value, size_t bytes, size_t room);

void *numalab_watched_memmove(void *target, const void *source, size_t bytes)
{
    unsigned char *target = target;
    const unsigned char *source = source;
    if ((uintptr_t)target <= (uintptr_t)source)
        for (size_t i = 0; i < bytes; i++) target[i] = source[i];
    else
        for (size_t i = bytes; i > 0; i--) target[i - 1] = source[i - 1];
    return target;
}

void *numalab_watched_memcpy(void *target, const void *source, size_t bytes)
{
    return numalab_watched_memmove(target, source, bytes);
}

void *numalab_watched_memset(void *target, int value, size_t bytes)
{
    unsigned char *target = target;
    for (size_t i = 0; i < bytes; i++) target[i] = (unsigned char)value;
    return target;
}

void *numalab_watched___memcpy_chk(void *target, const void *source, size_t bytes, size_t room)
{
    (void)room;
    return numalab_watched_memmove(target, source, bytes);
}

void *numalab_watched___memmove_chk(void *target, const void *source, size_t bytes, size_t room)
{
    (void)room;
    return numalab_watched_memmove(target, source, bytes);
}

void *numalab_watched___memset_chk(void *target, int value, size_t bytes, size_t room)
{
    (void)room;
    return numalab_watched_memset(target, value, bytes);
}

void *numalab_watched_mempcpy(void *target, const void *source, size_t bytes)
{
    return (unsigned char *)numalab_watched_memmove(target, source, bytes) + bytes;
}

void *numalab_watched___mempcpy_chk(void *target, const void *source, size_t bytes, size_t room)
{
    (void)room;
    return numalab_watched_mempcpy(target, source, bytes);
}

void numalab_watched_bcopy(const void *source, void *target, size_t bytes)
{
    numalab_watched_memmove(target, source, bytes);
}

void numalab_watched_bzero(void *target, size_t bytes)
{
    numalab_watched_memset(target, 0, bytes);
}

char *numalab_watched_stpcpy(char *target, const char *source)
{
    while ((*target = *source++)) target++;
    return target;
}

char *numalab_watched___stpcpy_chk(char *target, const char *source, size_t room)
{
    (void)room;
    return numalab_watched_stpcpy(target, source);
}

char *numalab_watched_strcpy(char *target, const char *source)
{
    numalab_watched_stpcpy(target, source);
    return target;
}

char *numalab_watched___strcpy_chk(char *target, const char *source, size_t room)
{
    (void)room;
    return numalab_watched_strcpy(target, source);
}

char *numalab_watched_strncpy(char *target, const char *source, size_t bytes)
{
    size_t i = 0;
    for (; i < bytes && source[i]; i++) target[i] = source[i];
    for (; i < bytes; i++) target[i] = '\0';
    return target;
}

char *numalab_watched___strncpy_chk(char *target, const char *source, size_t bytes, size_t room)
{
    (void)room;
    return numalab_watched_strncpy(target, source, bytes);
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
