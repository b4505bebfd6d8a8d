/* Lab 04, a variant: where a table has to lie. */
#ifndef PLACE_H
#define PLACE_H

/* Bytes of the header in front of a table, which begins where a huge page does. */
enum { HEADER_BYTES = @pages@ * 4096 + @lines@ * 64 };

#endif
