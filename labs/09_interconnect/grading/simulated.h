/* Lab 09: ports of which is known what they have moved, and what a reader sees of it. For the
 * monitor; a worker is given the readings only. */
#ifndef INTERCONNECT_SIMULATED_H
#define INTERCONNECT_SIMULATED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conventions.h"
#include "inputs.h"
#include "numalab/random.h"

/* Arrays are the caller's: n + 1 moments and readings; n words, which the port has moved in each
 * interval, and n times whether it was cleared there. */
struct simulated {
    struct port port;
    size_t n;
    int64_t *moments_ms;
    uint64_t *readings, *words;
    bool *cleared;
};

/* Bytes in a millisecond, rounded down: 1X SDR, 4X SDR, 4X QDR, 4X FDR, 4X EDR, 4X HDR, 4X NDR and
 * 12X NDR. The last one takes 4 counts in 32 bits around in half a second. */
static const int64_t link_bytes_per_ms[] = {250000,   1000000,  4000000,  6818181,
                                            12500000, 25000000, 50000000, 150000000};
enum { LINKS = sizeof link_bytes_per_ms / sizeof link_bytes_per_ms[0] };

static inline uint64_t largest_count(const struct port *port)
{
    return port->width_bits == 32 ? UINT32_MAX : UINT64_MAX;
}

static inline uint64_t most_words(const struct simulated *series, size_t interval)
{
    const int64_t took_ms = series->moments_ms[interval + 1] - series->moments_ms[interval];
    return (uint64_t)(series->port.most_bytes_per_ms * took_ms) / PORT_WORD_BYTES;
}

/* From 0 to most, each power of two about as likely as any other, now and then an end. */
static inline uint64_t draw_up_to(uint64_t most, struct numalab_random *random)
{
    const uint64_t how = numalab_random_next(random) % 16;
    if (how == 0) return 0;
    if (how == 1) return most;
    const uint64_t scaled = most >> numalab_random_next(random) % 12;
    return scaled == UINT64_MAX ? numalab_random_next(random)
                                : numalab_random_next(random) % (scaled + 1);
}

/* Half of them so near the end that the counter soon goes on with 0, or sticks. */
static inline uint64_t first_reading(const struct port *port, struct numalab_random *random)
{
    const uint64_t most = largest_count(port), drawn = numalab_random_next(random) & most;
    return numalab_random_next(random) % 2 ? drawn : most - (drawn >> 8);
}

/* Of counters that nobody clears, less than once around in each interval; bytes fit an int64_t. */
static inline void simulate_moved(struct simulated *series, uint64_t seed)
{
    struct numalab_random random = {.seed = seed};
    series->port = (struct port){.width_bits = numalab_random_next(&random) % 2 ? 32 : 64};
    const uint64_t most = largest_count(&series->port);
    const uint64_t fitting = INT64_MAX / (2 * PORT_WORD_BYTES);
    const uint64_t fitting_words = most < fitting ? most : fitting;
    series->readings[0] = first_reading(&series->port, &random);
    for (size_t i = 0; i < series->n; i++) {
        series->cleared[i] = false;
        series->words[i] = draw_up_to(fitting_words, &random);
        series->readings[i + 1] = (series->readings[i] + series->words[i]) & most;
    }
}

/* So long that a counter of 32 bits goes around less than once, once or a few times at most. */
static inline int64_t draw_interval_ms(const struct port *port, struct numalab_random *random)
{
    const uint64_t words = UINT64_C(1) << (16 + numalab_random_next(random) % 19);
    const uint64_t drawn = words / 2 + numalab_random_next(random) % words;
    return 1 + (int64_t)(drawn * PORT_WORD_BYTES / (uint64_t)port->most_bytes_per_ms);
}

/* Words of an interval in which the counter may go around more than once: the borders between what
 * can be told and what can't among them. */
static inline uint64_t draw_words(uint64_t fitting_words, uint64_t most, struct numalab_random *random)
{
    const uint64_t over = fitting_words > most ? fitting_words - most : 0;
    const uint64_t how = numalab_random_next(random) % 8;
    if (over > 0 && how == 0) return over - 1; /* once more around would just be possible */
    if (over > 0 && how == 1) return over;     /* and here just not */
    return draw_up_to(fitting_words, random);
}

/* What a counter shows after so many words. */
static inline uint64_t counted(const struct port *port, uint64_t start, uint64_t words)
{
    const uint64_t most = largest_count(port);
    if (port->sticks) return words > most - start ? most : start + words;
    return (start + words) & most;
}

/* Clears the counter in an interval, if readings can show it: it is smaller afterwards, and where
 * it may go around, by more than the link can have carried. */
static inline void clear_in(struct simulated *series, size_t i, struct numalab_random *random)
{
    const uint64_t most = largest_count(&series->port), before = series->readings[i];
    const uint64_t words = series->words[i];
    const uint64_t since = words ? numalab_random_next(random) % (words + 1) : 0;
    if (since >= before) return;
    if (!series->port.sticks && ((since - before) & most) <= most_words(series, i)) return;
    series->cleared[i] = true;
    series->readings[i + 1] = since;
}

static inline void simulate_told(struct simulated *series, uint64_t seed)
{
    struct numalab_random random = {.seed = seed};
    series->port = (struct port){
        .width_bits = numalab_random_next(&random) % 2 ? 32 : 64,
        .sticks = (int64_t)(numalab_random_next(&random) % 2),
        .most_bytes_per_ms = link_bytes_per_ms[numalab_random_next(&random) % LINKS],
    };
    /* Of one in eight nothing can be told: it stands at its end throughout. */
    const bool is_full = numalab_random_next(&random) % 8 == 0;
    if (is_full) series->port.sticks = 1;
    const uint64_t most = largest_count(&series->port);
    series->moments_ms[0] = (int64_t)(numalab_random_next(&random) % 1000);
    series->readings[0] = is_full ? most : first_reading(&series->port, &random);
    for (size_t i = 0; i < series->n; i++) {
        const bool stands = series->port.sticks && series->readings[i] == most;
        const int64_t interval_ms = draw_interval_ms(&series->port, &random);
        series->moments_ms[i + 1] = series->moments_ms[i] + interval_ms;
        series->words[i] = draw_words(most_words(series, i), most, &random);
        series->readings[i + 1] = counted(&series->port, series->readings[i], series->words[i]);
        series->cleared[i] = false;
        if (!is_full && numalab_random_next(&random) % (stands ? 2 : 8) == 0)
            clear_in(series, i, &random);
    }
}

#endif
