/* Lab 06, a variant, the contract: what kernel.c has to define. kernel.f90 defines the same name
 * as a bind(c) subroutine. MPI runs already, with MPI_THREAD_FUNNELED or more. */
#ifndef MESSAGE_PATTERN_H
#define MESSAGE_PATTERN_H

#include <stddef.h>

/* Called by all ranks of MPI_COMM_WORLD at once, many times. Each repetition of `repetitions`,
 * which is 1 or more, is this, with messages of `bytes` bytes:
 *
 * README.md says who sends its buffer to whom. Whoever receives a message adds @added@ to its first
 * word, an int64_t, before anything else becomes of it; a message of less than 8 bytes stays as
 * it is. The sum never overflows.
 *
 * bytes: 0 to 4 MiB, the same in all ranks. buffer has exactly so many and may start at any
 * address, also one that is no multiple of 8. In Fortran it is an array of that size,
 * integer(c_int8_t), intent(inout) :: buffer(bytes). */
void relay(int rank, int ranks, void *buffer, size_t bytes, int repetitions);

#endif
