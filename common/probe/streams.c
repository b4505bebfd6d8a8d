#define _GNU_SOURCE
#include "streams.h"

#include <errno.h>
#include <math.h>
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "places.h"

static const double y_value = 1.0, z_value = 2.0;

void probe_streams_touch(const struct probe_arrays *arrays, bool is_serial)
{
    double *const x = arrays->x, *const y = arrays->y, *const z = arrays->z;
#pragma omp parallel for schedule(static) if (!is_serial)
    for (size_t i = 0; i < arrays->count; i++) {
        x[i] = NAN;
        y[i] = y_value;
        z[i] = z_value;
    }
}

/* Elements from first to before end: the share that schedule(static) gives the calling thread. */
struct part {
    size_t first, end;
};

static struct part part_of_thread(size_t count)
{
    const size_t team_size = (size_t)omp_get_num_threads();
    const size_t thread = (size_t)omp_get_thread_num(), rest = count % team_size;
    const size_t first = count / team_size * thread + (thread < rest ? thread : rest);
    return (struct part){first, first + count / team_size + (thread < rest)};
}

/* ---- kernels ------------------------------------------------------------------------ */

/* s differs from one repetition to the next, so that none is the one before it. */

static double copy(size_t n, double *restrict x, const double *restrict y, const double *restrict z,
                   double s)
{
    (void)z, (void)s;
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++) x[i] = y[i];
    return 0;
}

static double triad(size_t n, double *restrict x, const double *restrict y,
                    const double *restrict z, double s)
{
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++) x[i] = y[i] + s * z[i];
    return 0;
}

/* Additions to one sum wait for one another, and a vector of sums still makes a core wait that
 * loads more than one vector in the time of an addition: so there are several, SUMS in all. */
enum { LANES = 4, VECTORS = 8, SUMS = LANES * VECTORS };
typedef double lanes
    __attribute__((vector_size(LANES * sizeof(double)), aligned(sizeof(double)), may_alias));

static double load_part(const double *start, const double *end)
{
    lanes sums[VECTORS] = {{0}};
    for (; end - start >= SUMS; start += SUMS)
        for (int i = 0; i < VECTORS; i++) sums[i] += ((const lanes *)(const void *)start)[i];
    double sum = 0;
    for (; start < end; start++) sum += *start;
    for (int i = 0; i < SUMS; i++) sum += sums[i / LANES][i % LANES];
    return sum;
}

static double load(size_t n, double *restrict x, const double *restrict y, const double *restrict z,
                   double s)
{
    (void)x, (void)z, (void)s;
    double sum = 0;
#pragma omp parallel reduction(+ : sum)
    {
        const struct part part = part_of_thread(n);
        sum = load_part(y + part.first, y + part.end);
    }
    return sum;
}

static double store(size_t n, double *restrict x, const double *restrict y,
                    const double *restrict z, double s)
{
    (void)y, (void)z;
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++) x[i] = s;
    return 0;
}

/* ---- running them ------------------------------------------------------------------- */

/* An array is read, or written, which reads it before that. */
struct traffic {
    size_t read, written;
};

typedef double stream(size_t n, double *restrict x, const double *restrict y,
                      const double *restrict z, double s);

/* What x, or the sum, has to be: exact, since all are small whole numbers. */
static bool matches(const char *name, const struct probe_arrays *arrays, double expected)
{
    for (size_t i = 0; i < arrays->count; i++)
        if (!(arrays->x[i] == expected)) {
            fprintf(stderr, "%s is wrong: element %zu is %g, not %g\n", name, i, arrays->x[i],
                    expected);
            return false;
        }
    return true;
}

/* Repetition number 0 warms up. *result: what the last one returned. Returns its s. */
static double repeat(stream *run, const struct probe_arrays *arrays, struct traffic traffic,
                     size_t repetitions, struct probe_times *times, double *result)
{
    const size_t array_bytes = arrays->count * sizeof *arrays->x;
    times->bytes_allocated = traffic.written * array_bytes;
    times->bytes_moved = (traffic.read + 2 * traffic.written) * array_bytes;
    double s = 0;
    for (size_t i = 0; i <= repetitions; i++) {
        s = (double)(i + 1);
        const double start_s = probe_now_s();
        *result = run(arrays->count, arrays->x, arrays->y, arrays->z, s);
        if (i > 0) times->elapsed_s[i - 1] = probe_now_s() - start_s;
    }
    return s;
}

int probe_copy(const struct probe_arrays *arrays, size_t repetitions, struct probe_times *times)
{
    double ignored;
    repeat(copy, arrays, (struct traffic){.read = 1, .written = 1}, repetitions, times, &ignored);
    return matches("copy", arrays, y_value) ? 0 : -EBADMSG;
}

int probe_triad(const struct probe_arrays *arrays, size_t repetitions, struct probe_times *times)
{
    double ignored;
    const struct traffic traffic = {.read = 2, .written = 1};
    const double s = repeat(triad, arrays, traffic, repetitions, times, &ignored);
    return matches("triad", arrays, y_value + s * z_value) ? 0 : -EBADMSG;
}

int probe_load(const struct probe_arrays *arrays, size_t repetitions, struct probe_times *times)
{
    double sum;
    repeat(load, arrays, (struct traffic){.read = 1}, repetitions, times, &sum);
    if (sum == (double)arrays->count * y_value) return 0;
    fprintf(stderr, "load is wrong: its sum is %g, not %g\n", sum, (double)arrays->count * y_value);
    return -EBADMSG;
}

int probe_store(const struct probe_arrays *arrays, size_t repetitions, struct probe_times *times)
{
    double ignored;
    const struct traffic traffic = {.written = 1};
    const double s = repeat(store, arrays, traffic, repetitions, times, &ignored);
    return matches("store", arrays, s) ? 0 : -EBADMSG;
}

/* ---- the team ----------------------------------------------------------------------- */

void probe_observe_team(const struct probe_arrays *arrays, struct probe_team *team)
{
    const double *const all[] = {arrays->x, arrays->y, arrays->z};
    size_t pages = 0, local = 0;
    int threads = 0, untold = 0;
#pragma omp parallel reduction(+ : pages, local, threads, untold)
    {
        const struct part part = part_of_thread(arrays->count);
        const int thread = omp_get_thread_num();
        unsigned pu = 0, node = 0;
        untold += syscall(SYS_getcpu, &pu, &node, NULL) != 0;
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            untold += !probe_count_pages(all[i] + part.first, all[i] + part.end, (int)node, &pages,
                                         &local);
        if (thread < PROBE_MOST_THREADS) team->pus[thread] = (int)pu;
        threads = 1;
    }
    team->threads = threads;
    team->local_share = untold || pages == 0 ? NAN : (double)local / (double)pages;
}
