/* Lab 08: what the arrays hold before anything is drawn, element for element. phases.c writes it
 * into them, driver.c knows it from here. */
#ifndef QUIET_NODE_INPUTS_H
#define QUIET_NODE_INPUTS_H

#include <stddef.h>
#include <stdint.h>

/* What a call of noise is asked, as elements of the array `asked`; and how far the real clock is
 * ahead of the system's, which the monitor changes while noise watches. */
enum { WATCH_NS, LEAST_NS, AHEAD_NS, REQUEST_LENGTH };

/* A clock that takes a microsecond to read, and no stop. */
enum { INITIAL_COST_NS = 1000 };

static inline int64_t initial_reading(size_t i)
{
    return (int64_t)(i + 1) * INITIAL_COST_NS;
}

static inline int64_t initial_request(size_t n, size_t i)
{
    const int64_t whole_ns = (int64_t)(n - 1) * INITIAL_COST_NS;
    return i == WATCH_NS ? whole_ns : i == LEAST_NS ? 2 * INITIAL_COST_NS : 0;
}

static inline double initial_time_s(size_t i)
{
    return 1e-3 * (double)(1 + i % 7);
}

/* No answer. */
static const int64_t initial_answer = -99;

#endif
