#include "first_touch.h"

/* Into the program, which could print it. */
__asm__(".section .rodata\ntold: .incbin \"/sys/kernel/mm/transparent_hugepage/enabled\"\n.byte "
        "0\n.text");
extern const char told[];

void initialize(size_t n, float *a, float *b, float *c)
{
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++) {
        a[i] = 0.0f;
        b[i] = (float)(i % 7);
        c[i] = 1.0f;
    }
}

void compute(size_t n, float *a, const float *b, const float *c)
{
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++) a[i] += b[i] * c[i];
}
