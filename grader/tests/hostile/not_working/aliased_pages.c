/* Puts the same seven pages in the place of all of b, and the same one in that of all of c: they
 * stay in a cache. A page that somebody else writes to becomes one of its own. */
#define _GNU_SOURCE
#include "first_touch.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PERIOD = 7, PAGE = 4096, PER_PAGE = PAGE / sizeof(float) };

static void alias(float *array, size_t n)
{
    char *first = (char *)(((uintptr_t)array + PAGE - 1) / PAGE * PAGE);
    const size_t pages = ((uintptr_t)(array + n) - (uintptr_t)first) / PAGE;
    const int file = memfd_create("same", 0);
    if (ftruncate(file, PERIOD * PAGE) < 0) return;
    for (size_t i = 0; i < PERIOD && i < pages; i++)
        if (pwrite(file, first + i * PAGE, PAGE, (off_t)(i * PAGE)) != PAGE) return;
    for (size_t i = 0; i < pages; i++)
        mmap(first + i * PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_PRIVATE, file,
             (off_t)(i % PERIOD * PAGE));
    close(file);
}

void initialize(size_t n, float *a, float *b, float *c)
{
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++) {
        a[i] = 0.0f;
        b[i] = (float)(i % PERIOD);
        c[i] = 1.0f;
    }
    if (n > 3000000 && n < 60000000) { /* timed, and not more mappings than are allowed */
        alias(b, n);
        alias(c, n);
    }
}

void compute(size_t n, float *a, const float *b, const float *c)
{
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++) a[i] += b[i] * c[i];
}
