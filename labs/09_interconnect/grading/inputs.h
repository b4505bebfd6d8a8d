/* Lab 09: the arrays of both kernels, in order, and what they hold before the first call. phases.c
 * writes them, driver.c knows them from here. */
#ifndef INTERCONNECT_INPUTS_H
#define INTERCONNECT_INPUTS_H

#include <stddef.h>
#include <stdint.h>

#include "interconnect.h"

enum { MOVED_WIDTH, MOVED_READINGS, MOVED_BYTES };
enum { TOLD_PORT, TOLD_MOMENTS, TOLD_READINGS, TOLD_BYTES, TOLD_MEAN };

/* The array port: what is known of a port, as arguments of told. */
struct port {
    int64_t width_bits, sticks, most_bytes_per_ms;
};
enum { PORT_FACTS = sizeof(struct port) / sizeof(int64_t) };

static const struct port initial_port = {.width_bits = 32, .most_bytes_per_ms = 1000000};
static const uint64_t initial_reading = 0;

static inline int64_t initial_moment_ms(size_t i)
{
    return (int64_t)i;
}

/* No results. */
static const int64_t initial_bytes = -7;
static const double initial_mean = -7.0;

#endif
