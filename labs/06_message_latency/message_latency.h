/* Lab 06, the contract: what kernel.c has to define. kernel.f90 defines the same name as a
 * bind(c) subroutine. MPI runs already, with MPI_THREAD_FUNNELED or more. */
#ifndef MESSAGE_LATENCY_H
#define MESSAGE_LATENCY_H

#include <stddef.h>

/* Called by rank 0 and rank 1 of MPI_COMM_WORLD at once, each with the other one as its
 * partner; many times. repetitions round trips, 1 or more: rank 0 sends the first `bytes`
 * bytes of its buffer, rank 1 receives them into its own and sends them back, and rank 0
 * receives them where they were.
 *
 * Whoever receives a message, on either way, adds 1 to its first word, an int64_t, before
 * anything else becomes of it; a message of less than 8 bytes stays as it is. The sum never
 * overflows.
 *
 * bytes: 0 to 4 MiB, the same in both ranks. buffer has exactly so many and may start at
 * any address, also one that is no multiple of 8. In Fortran it is an array of that size,
 * integer(c_int8_t), intent(inout) :: buffer(bytes). */
void ping_pong(int rank, int partner, void *buffer, size_t bytes, int repetitions);

#endif
