/* Lab 09: how the worker calls the kernels. Arrays as in inputs.h. */
#include "numalab/phases.h"

#include "inputs.h"

static void initialize_moved(size_t n, void **arrays)
{
    int64_t *width_bits = arrays[MOVED_WIDTH], *bytes = arrays[MOVED_BYTES];
    uint64_t *readings = arrays[MOVED_READINGS];
    *width_bits = initial_port.width_bits;
    for (size_t i = 0; i < n + 1; i++) readings[i] = initial_reading;
    for (size_t i = 0; i < n; i++) bytes[i] = initial_bytes;
}

static void run_moved(size_t n, void **arrays)
{
    const int64_t *width_bits = arrays[MOVED_WIDTH];
    moved(n, *width_bits, arrays[MOVED_READINGS], arrays[MOVED_BYTES]);
}

static void initialize_told(size_t n, void **arrays)
{
    struct port *port = arrays[TOLD_PORT];
    int64_t *moments_ms = arrays[TOLD_MOMENTS], *bytes = arrays[TOLD_BYTES];
    uint64_t *readings = arrays[TOLD_READINGS];
    double *mean_bytes_per_s = arrays[TOLD_MEAN];
    *port = initial_port;
    *mean_bytes_per_s = initial_mean;
    for (size_t i = 0; i < n + 1; i++) {
        moments_ms[i] = initial_moment_ms(i);
        readings[i] = initial_reading;
    }
    for (size_t i = 0; i < n; i++) bytes[i] = initial_bytes;
}

static void run_told(size_t n, void **arrays)
{
    const struct port *port = arrays[TOLD_PORT];
    told(n, port->width_bits, port->sticks, port->most_bytes_per_ms, arrays[TOLD_MOMENTS],
         arrays[TOLD_READINGS], arrays[TOLD_BYTES], arrays[TOLD_MEAN]);
}

const struct numalab_phase numalab_phases[] = {
    {"initialize_moved", initialize_moved},
    {"moved", run_moved},
    {"initialize_told", initialize_told},
    {"told", run_told},
    {NULL, NULL},
};
