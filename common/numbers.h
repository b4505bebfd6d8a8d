/* Numbers of a command line, read whole or not at all: text that is no such number, or one out of
 * range, is refused and never cut short. Signs, blanks, empty text, other bases, "nan" and "inf"
 * are no numbers, and no locale changes what is. */
#ifndef NUMALAB_NUMBERS_H
#define NUMALAB_NUMBERS_H

#include <stdint.h>

/* Decimal digits of a number from least to most. Returns 0, or -EINVAL for what is no number and
 * -ERANGE for one out of range; *number is set where 0 is returned. */
int numalab_read_whole(const char *text, uint64_t least, uint64_t most, uint64_t *number);

/* As above, hexadecimal digits of a number below 2^64. */
int numalab_read_hex(const char *text, uint64_t *number);

/* As numalab_read_whole: digits with a point among them or none, and a decimal exponent or none,
 * such as 10, 0.25, 1e-05. */
int numalab_read_decimal(const char *text, double least, double most, double *number);

#endif
