/* Lab 04: where a table has to lie. Anywhere; of a variant, behind a header. */
#ifndef PLACE_H
#define PLACE_H

/* Bytes of the header in front of a table, which begins where a huge page does; 0: there is none.
 */
enum { HEADER_BYTES = 0 };

#endif
