/* Lab 03: what the arrays hold before the first call, element for element. phases.c
 * writes it into them, driver.c knows it from here. */
#ifndef SCHEDULING_INPUTS_H
#define SCHEDULING_INPUTS_H

#include <stddef.h>

/* The particles stand on a straight line, each as far from the next as any other: then
 * r_ij depends on i - j alone, which driver.c makes use of. The step has 29 bits, so
 * coordinates and their differences are exact for up to 2^23 particles, and too
 * long for single precision. */
static const double line_step = 0x1.2345679p-6;

static inline double initial_x(size_t i)
{
    return (double)i * line_step;
}

static inline double initial_y(size_t i)
{
    return 2.0 * (double)i * line_step;
}

static inline double initial_z(size_t i)
{
    return 2.0 * (double)i * line_step;
}

/* No sum of what is positive. */
static const double initial_e = -1.0;

/* Multiples of 2^-30 up to 2^10, too long for single precision. */
static inline double initial_b(size_t i)
{
    return (double)(i % 1021) * (1.0 + 0x1p-30);
}

static inline double initial_c(size_t i)
{
    return (double)(i % 509) * (1.0 + 0x1p-30);
}

static const double initial_a = -1.0;

#endif
