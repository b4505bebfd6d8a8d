/* Lab 05: how the worker calls the kernel. Arrays as in driver.c: table, blocks, matrix,
 * stream, others, after. */
#define _GNU_SOURCE
#include "numalab/phases.h"

#include <omp.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inputs.h"
#include "memory_policy.h"

enum { TABLE, BLOCKS, MATRIX, STREAM, OTHERS, SUMS };

/* NUMA node that the calling thread runs on. */
static int own_node(void)
{
    unsigned pu = 0, node = 0;
    return syscall(SYS_getcpu, &pu, &node, NULL) == 0 ? (int)node : 0;
}

/* That of the last thread of the team: who gets the matrix. */
static int node_of_last(void)
{
    int node = 0;
#pragma omp parallel
    if (omp_get_thread_num() == omp_get_num_threads() - 1) node = own_node();
    return node;
}

/* Tells where each thread of the team runs, in the first elements of others. */
static void roll(size_t n, void **arrays)
{
    uint64_t *others = arrays[OTHERS];
#pragma omp parallel
    if ((size_t)omp_get_thread_num() < n) others[omp_get_thread_num()] = (uint64_t)own_node();
}

/* The matrix, before it changes hands. */
static void write_first(size_t n, void **arrays)
{
    uint64_t *matrix = arrays[MATRIX];
    for (size_t i = 0; i < written_before(n); i++) matrix[i] = matrix_value(i);
}

static void change_hands(size_t n, void **arrays)
{
    hand_over(arrays[MATRIX], n * sizeof(uint64_t), node_of_last());
}

/* By the thread that reads the input, which stays where it is. */
static void write_rest(size_t n, void **arrays)
{
    uint64_t *matrix = arrays[MATRIX];
    for (size_t i = written_before(n); i < n; i++) matrix[i] = matrix_value(i);
}

/* A program that may not be changed: one thread reads all input. Only what is everybody's own is
 * first touched by everybody. */
static void initialize(size_t n, void **arrays)
{
    uint64_t *table = arrays[TABLE], *blocks = arrays[BLOCKS], *stream = arrays[STREAM],
             *others = arrays[OTHERS];
    const size_t bytes = n * sizeof(uint64_t);
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++) others[i] = others_value(i);

    place_table(table, bytes);
    for (size_t i = 0; i < n; i++) table[i] = table_value(i);

    for (size_t i = 0; i < n; i++) blocks[i] = blocks_value(i);
    place_blocks(blocks, bytes, omp_get_max_threads());

    write_first(n, arrays);
    change_hands(n, arrays);
    write_rest(n, arrays);

    place_stream(stream, bytes);
    for (size_t i = 0; i < n; i++) stream[i] = stream_value(i);
}

/* In the first call after is new: each thread touches its part. */
static void compute(size_t n, void **arrays)
{
    const uint64_t *table = arrays[TABLE], *others = arrays[OTHERS];
    uint64_t *blocks = arrays[BLOCKS], *stream = arrays[STREAM], *after = arrays[SUMS];
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < LOOKUPS; k++) blocks[i] += table[table_index(i, k, n)];
        stream[i] += others[i];
        after[i] = blocks[i] + stream[i];
    }
}

const struct numalab_phase numalab_phases[] = {
    {"initialize", initialize},
    {"compute", compute},
    {"roll", roll},
    {"write_first", write_first},
    {"hand_over", change_hands},
    {"write_rest", write_rest},
    {NULL, NULL},
};
