/* Parses numbers of a command line: a text that is not a number as a whole, or is out of range, is
 * refused. Signs, blanks, an empty text, other bases, "nan" and "inf" are no numbers, whatever the
 * locale is. */
#ifndef NUMALAB_NUMBERS_H
#define NUMALAB_NUMBERS_H

#include <stdint.h>

/* Parses decimal digits of a number from least to most. Returns 0 with *number set, -EINVAL for a
 * text that is no number, or -ERANGE for a number out of range. */
int numalab_read_whole(const char *text, uint64_t least, uint64_t most, uint64_t *number);

/* The same for hexadecimal digits of a number below 2^64. */
int numalab_read_hex(const char *text, uint64_t *number);

/* The same for decimal digits with or without a point and a decimal exponent, such as 10, 0.25,
 * 1e-05. */
int numalab_read_decimal(const char *text, double least, double most, double *number);

#endif
