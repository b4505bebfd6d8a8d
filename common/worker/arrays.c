#define _GNU_SOURCE
#include "arrays.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void free_all(struct numalab_arrays *arrays)
{
    for (size_t i = 0; i < NUMALAB_MAX_ARRAYS; i++)
        if (arrays->mapping[i]) munmap(arrays->mapping[i], arrays->mapping_bytes[i]);
    memset(arrays, 0, sizeof *arrays);
}

static int allocate_one(struct numalab_arrays *arrays, size_t i, size_t bytes,
                        enum numalab_memory_kind kind, bool soft_ends)
{
    const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    /* Of an array without elements, too, one page: its address is where that ends. */
    const size_t page_count = bytes ? (bytes + page_bytes - 1) / page_bytes : 1;
    const size_t pages_bytes = page_count * page_bytes;
    const size_t mapping_bytes = pages_bytes + 2 * NUMALAB_GUARD_BYTES;

    char *mapping =
        mmap(NULL, mapping_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED) return -errno;
    arrays->mapping[i] = mapping;
    arrays->mapping_bytes[i] = mapping_bytes;

    int flags = MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS;
    int file = -1;
    if (kind == NUMALAB_SHARED) {
        file = memfd_create("numalab", MFD_CLOEXEC);
        if (file < 0) return -errno;
        if (ftruncate(file, (off_t)pages_bytes) < 0) {
            int error = -errno;
            close(file);
            return error;
        }
        flags = MAP_FIXED | MAP_SHARED;
    }
    char *pages =
        mmap(mapping + NUMALAB_GUARD_BYTES, pages_bytes, PROT_READ | PROT_WRITE, flags, file, 0);
    int error = pages == MAP_FAILED ? -errno : 0;
    if (file >= 0) close(file);
    if (error < 0) return error;
    if (soft_ends && mprotect(pages + pages_bytes, page_bytes, PROT_READ) < 0) return -errno;

    arrays->pages[i] = pages;
    arrays->pages_bytes[i] = pages_bytes;
    arrays->bytes[i] = bytes;
    arrays->start[i] = pages + (pages_bytes - bytes);
    return 0;
}

int numalab_arrays_allocate(struct numalab_arrays *arrays, const struct numalab_request *request)
{
    free_all(arrays);
    if (request->array_count > NUMALAB_MAX_ARRAYS) return -EINVAL;
    for (size_t i = 0; i < request->array_count; i++) {
        int error =
            allocate_one(arrays, i, request->bytes[i],
                         (enum numalab_memory_kind)request->memory_kind, request->soft_ends != 0);
        if (error < 0) {
            free_all(arrays);
            return error;
        }
    }
    return 0;
}

int numalab_arrays_unmap_pages(const struct numalab_arrays *arrays)
{
    for (size_t i = 0; i < NUMALAB_MAX_ARRAYS; i++)
        if (arrays->pages[i] &&
            madvise(arrays->pages[i], arrays->pages_bytes[i], MADV_DONTNEED) < 0)
            return -errno;
    return 0;
}
