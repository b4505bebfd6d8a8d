/* Lab 04, a variant, the contract: what kernel.c has to define. kernel.f90 defines the same
 * two names with bind(c): a function of type(c_ptr) and a subroutine. */
#ifndef HUGE_PAGES_H
#define HUGE_PAGES_H

/* For MAP_ANONYMOUS and madvise in <sys/mman.h>. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stddef.h>

/* Returns memory of this many bytes, which the kit may read and write until it is destroyed; NULL
 * when there is none. bytes can be any number from 8 on.
 *
 * In front of it there is a header: @pages@ * 4096 + @lines@ * 64 bytes that the kit may read and
 * write, too. The header begins where a huge page of 2 MiB does, so that the table begins behind it.
 *
 * Of header and table as much as possible sits on transparent huge pages once it is written. A
 * table of 20 MiB or more takes at most 1.1 times as much memory as was asked for. */
void *table_create(size_t bytes);

/* Gives back all of a table and its header, memory and addresses. table: what table_create
 * returned; bytes: what it was asked for. */
void table_destroy(void *table, size_t bytes);

#endif
