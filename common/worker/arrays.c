#define _GNU_SOURCE
#include "arrays.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

static void free_all(struct numalab_arrays *arrays)
{
    for (size_t i = 0; i < NUMALAB_MAX_ARRAYS; i++)
        if (arrays->mapping[i]) munmap(arrays->mapping[i], arrays->mapping_bytes[i]);
    if (arrays->file >= 0) close(arrays->file);
    *arrays = (struct numalab_arrays){.file = -1};
}

static size_t pages_bytes_of(size_t bytes)
{
    const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    /* Of an array without elements, too, one page: its address is where that ends. */
    return (bytes ? (bytes + page_bytes - 1) / page_bytes : 1) * page_bytes;
}

/* The file that holds all arrays, one behind the other. Returns 0 or a negative errno. */
static int make_file(struct numalab_arrays *arrays, const struct numalab_request *request)
{
    size_t bytes = 0;
    for (size_t i = 0; i < request->array_count; i++) bytes += pages_bytes_of(request->bytes[i]);
    arrays->file = memfd_create("numalab", MFD_CLOEXEC);
    if (arrays->file < 0) return -errno;
    return ftruncate(arrays->file, (off_t)bytes) < 0 ? -errno : 0;
}

/* file_offset: where the array begins in the file, if there is one. alignment: a power of two. */
static int allocate_array(struct numalab_arrays *arrays, size_t i, size_t bytes, size_t file_offset,
                          bool soft_ends, size_t alignment)
{
    const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    const size_t pages_bytes = pages_bytes_of(bytes);
    const size_t mapping_bytes = pages_bytes + 2 * NUMALAB_GUARD_BYTES;

    char *mapping =
        mmap(NULL, mapping_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED) return -errno;
    arrays->mapping[i] = mapping;
    arrays->mapping_bytes[i] = mapping_bytes;

    const bool is_private = arrays->file < 0;
    char *pages = mmap(mapping + NUMALAB_GUARD_BYTES, pages_bytes, PROT_READ | PROT_WRITE,
                       MAP_FIXED | (is_private ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED),
                       arrays->file, is_private ? 0 : (off_t)file_offset);
    if (pages == MAP_FAILED) return -errno;
    if (soft_ends && mprotect(pages + pages_bytes, page_bytes, PROT_READ) < 0) return -errno;

    arrays->pages[i] = pages;
    arrays->pages_bytes[i] = pages_bytes;
    arrays->bytes[i] = bytes;
    arrays->start[i] = pages + (pages_bytes - bytes) / alignment * alignment;
    return 0;
}

int numalab_arrays_allocate(struct numalab_arrays *arrays, const struct numalab_request *request,
                            size_t alignment)
{
    free_all(arrays);
    if (request->array_count > NUMALAB_MAX_ARRAYS) return -EINVAL;
    int error = request->memory_kind == NUMALAB_SHARED ? make_file(arrays, request) : 0;
    size_t file_offset = 0;
    for (size_t i = 0; error == 0 && i < request->array_count; i++) {
        error = allocate_array(arrays, i, request->bytes[i], file_offset, request->soft_ends != 0,
                               alignment);
        file_offset += pages_bytes_of(request->bytes[i]);
    }
    if (error < 0) free_all(arrays);
    return error;
}
