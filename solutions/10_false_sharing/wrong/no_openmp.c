/* Wrong: The loop is not parallel: one thread writes, so no line is shared. */
#include "false_sharing.h"

enum { MAX_THREADS = 1, LINE_BYTES = 64 };

struct block {
    _Alignas(LINE_BYTES) int64_t counter[BINS];
};

static struct block blocks[MAX_THREADS];
static const int team = 1;

void count(size_t n, const int32_t *restrict keys, int64_t *restrict bins)
{
    {
        int64_t *own = blocks[0].counter;
        for (int k = 0; k < BINS; k++) own[k] = 0;
        for (size_t i = 0; i < n; i++) own[keys[i]]++;
    }
    for (int k = 0; k < BINS; k++) {
        bins[k] = 0;
        for (int thread = 0; thread < team; thread++)
            bins[k] += blocks[thread].counter[k];
    }
}

void slots(int thread, const int64_t **first, size_t *length)
{
    *first = blocks[0].counter;
    *length = thread < team ? BINS : 0;
}
