/* Lab 09, a variant, the contract: what kernel.c has to define. kernel.f90
 * defines the same three names as bind(c) subroutines, with integer(c_int64_t)
 * for int64_t, integer(c_int32_t) for int32_t and integer(c_int) for int.
 *
 * moved and told get n + 1 readings of a port's counter, and say of each of the
 * n intervals between them how many bytes the port has moved: bytes[i] of the
 * interval from readings[i] to readings[i + 1]. n is 1 or more. A counter has 32
 * or 64 bits (width_bits). This port is no InfiniBand one: it goes up by one for
 * each @unit@ bytes. It has no sign: a reading is its bits, and one of 2^63 or
 * more looks like a negative number here. */
#ifndef INTERCONNECT_H
#define INTERCONNECT_H

#include <stddef.h>
#include <stdint.h>

enum { UNKNOWN = -1 }; /* bytes of an interval of which nobody can tell */
enum { SLOT = 8 };     /* numbers that a slot has room for */

/* Of a counter that goes on with 0 after its largest value, less than once
 * around between two readings, and that nobody clears. */
void moved(size_t n, int64_t width_bits, const int64_t *restrict readings,
           int64_t *restrict bytes);

/* Of a counter that somebody may clear at any time: it then goes on from 0.
 * sticks: 1: it stays at its largest value, all bits set, until it is cleared;
 * 0: it goes on with 0. most_bytes_per_ms: that the link can carry in a
 * millisecond, one way. moments_ms[i]: when readings[i] was taken, each later
 * than the one before.
 *
 * bytes[i] is what the port has moved, where one number can be meant:
 *   - a counter that goes on with 0 and has become smaller has gone around if
 *     the link can have carried that much in the time, and was cleared if not;
 *   - what was moved in an interval in which it was cleared is UNKNOWN;
 *   - if the link can also have carried so much that the counter went around
 *     once more, it is UNKNOWN;
 *   - so it is where a counter that sticks has arrived at its largest value, or
 *     was there before.
 * A clearing that readings do not show is nobody's to see: leave it out.
 *
 * *mean_bytes_per_s: over the intervals together that are known, or 0 where
 * none is. */
void told(size_t n, int64_t width_bits, int64_t sticks,
          int64_t most_bytes_per_ms, const int64_t *restrict moments_ms,
          const int64_t *restrict readings, int64_t *restrict bytes,
          double *restrict mean_bytes_per_s);

/* Of an MPI job: ranks 0 and 1 of MPI_COMM_WORLD, on two nodes, call it at once,
 * each with the other one as its partner. MPI runs already, and nothing has been
 * sent that nobody has received.
 *
 * There are n items, 1 or more, n the same in both ranks. Item i, counted from
 * 0, has lengths[i] numbers, 1 to SLOT. They lie in its slot, which are the SLOT
 * places from slots[i * SLOT] on:
 * @lies.words@@moved.header@.
 * With length for lengths[i], its first number is at place
 *     (@lies.c@@moved.by@) % SLOT
 * of the slot. Each other one is at the next place, and behind the last place
 * comes the slot's first one again. What lies at other places is nobody's.
 *
 * Rank 0 has the items, and keeps them. In rank 1 all lengths and slots are 0
 * before, and it has the same items, at the same places, in them after. */
void deliver(int rank, int partner, size_t n, int32_t *restrict lengths,
             int64_t *restrict slots);

#endif
