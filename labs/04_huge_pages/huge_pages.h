/* Lab 04, the contract: what kernel.c has to define. kernel.f90 defines the same
 * two names with bind(c): a function of type(c_ptr) and a subroutine. */
#ifndef HUGE_PAGES_H
#define HUGE_PAGES_H

/* For MAP_ANONYMOUS and madvise in <sys/mman.h>. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stddef.h>

/* Returns memory of this many bytes, aligned for eight-byte integers, which the kit may
 * read and write until it is destroyed; NULL when there is none. What it holds at first
 * does not matter: the kit zeroes it. bytes can be any number from 8 on.
 *
 * Of a table of 2 MiB or more as much as possible sits on transparent huge pages once it
 * is written. One of 20 MiB or more takes at most 1.1 times as much memory as was asked
 * for. */
void *table_create(size_t bytes);

/* Gives back all of a table, memory and addresses. table: what table_create returned;
 * bytes: what it was asked for. */
void table_destroy(void *table, size_t bytes);

#endif
