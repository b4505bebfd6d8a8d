/* Lab 05: memory policy. Edit this file; README.md says what to do.
 *
 * The results are right, and all memory is where its first touch has put it. */
#include "memory_policy.h"

void place_table(void *table, size_t bytes)
{
    (void)table;
    (void)bytes;
}

void place_blocks(void *blocks, size_t bytes, int parts)
{
    (void)blocks;
    (void)bytes;
    (void)parts;
}

void hand_over(void *matrix, size_t bytes, int node)
{
    (void)matrix;
    (void)bytes;
    (void)node;
}

void place_stream(void *stream, size_t bytes)
{
    (void)stream;
    (void)bytes;
}
