/* Lab 09, a variant: of what a port counts one, and where items begin in their slots. */
#ifndef INTERCONNECT_CONVENTIONS_H
#define INTERCONNECT_CONVENTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "interconnect.h"

enum { PORT_WORD_BYTES = @unit@ };

/* Modulo SLOT. */
static inline size_t first_place(size_t i, size_t length)
{
    (void)i;
    (void)length;
    return @lies.c@@moved.by@;
}

#endif
