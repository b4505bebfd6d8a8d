/* Lab 04, a variant: huge pages. Edit this file; README.md says what to do.
 *
 * There is no header, and the table sits on small pages. */
#include "huge_pages.h"

#include <stdlib.h>

void *table_create(size_t bytes)
{
    return malloc(bytes);
}

void table_destroy(void *table, size_t bytes)
{
    (void)bytes; /* free knows it */
    free(table);
}
