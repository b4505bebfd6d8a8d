#include "numbers.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char decimal_digits[] = "0123456789";
static const char hex_digits[] = "0123456789abcdefABCDEF";

/* What strtoull alone does not see to is that nothing but digits is there. */
static int read_digits(const char *text, const char *digits, int base, uint64_t *number)
{
    const size_t length = strspn(text, digits);
    if (length == 0 || text[length] != '\0') return -EINVAL;
    errno = 0;
    const unsigned long long value = strtoull(text, NULL, base);
    if (errno) return -errno;
    *number = value;
    return 0;
}

int numalab_read_whole(const char *text, uint64_t least, uint64_t most, uint64_t *number)
{
    uint64_t value = 0;
    const int error = read_digits(text, decimal_digits, 10, &value);
    if (error < 0) return error;
    if (value < least || value > most) return -ERANGE;
    *number = value;
    return 0;
}

int numalab_read_hex(const char *text, uint64_t *number)
{
    return read_digits(text, hex_digits, 16, number);
}

static bool is_decimal(const char *text)
{
    const size_t whole = strspn(text, decimal_digits);
    text += whole;
    size_t part = 0;
    if (*text == '.') part = strspn(++text, decimal_digits);
    text += part;
    if (whole + part == 0) return false;
    if (*text == '\0') return true;
    if (*text != 'e' && *text != 'E') return false;
    text++;
    if (*text == '+' || *text == '-') text++;
    const size_t exponent = strspn(text, decimal_digits);
    return exponent > 0 && text[exponent] == '\0';
}

int numalab_read_decimal(const char *text, double least, double most, double *number)
{
    char *end;
    if (!is_decimal(text)) return -EINVAL;
    errno = 0;
    const double value = strtod(text, &end);
    /* In a locale with a comma strtod stops at the point. */
    if (*end != '\0') return -EINVAL;
    if (!(value >= least && value <= most)) return -ERANGE;
    *number = value;
    return 0;
}
