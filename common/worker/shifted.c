/* Moves what a kernel has in memory by NUMALAB_SHIFT_BYTES: its variables, since this object is
 * linked in front of it and ends so many bytes behind a multiple of 256, and what malloc gives it.
 * An array that begins at a cache line by luck does not in each of two programs with different
 * shifts; one that the kernel aligns itself does. Linked with --wrap for the functions below. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BASE_BYTES = 256 };

/* Beside one another: sections that are cleared and that are not. */
_Alignas(BASE_BYTES) unsigned char numalab_shift_of_cleared[BASE_BYTES + NUMALAB_SHIFT_BYTES];
_Alignas(BASE_BYTES) unsigned char numalab_shift_of_set[BASE_BYTES + NUMALAB_SHIFT_BYTES] = {1};

/* In front of what malloc gave, 16 bytes. */
struct header {
    void *whole;
    uint64_t sealed;
};
static const uint64_t seal = UINT64_C(0x6e756d616c616273);

/* NOLINTBEGIN(bugprone-reserved-identifier) */
void *__real_malloc(size_t bytes);
void __real_free(void *memory);
void *__real_realloc(void *memory, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void __wrap_free(void *memory);

static struct header *header_of(void *memory)
{
    struct header *header = (struct header *)memory - 1;
    return header->sealed == (seal ^ (uint64_t)(uintptr_t)memory) ? header : NULL;
}

void *__wrap_malloc(size_t bytes)
{
    const size_t more = 2 * BASE_BYTES + sizeof(struct header);
    if (bytes > SIZE_MAX - more) return NULL;
    unsigned char *whole = __real_malloc(bytes + more);
    if (!whole) return NULL;
    unsigned char *first = whole + sizeof(struct header);
    first += BASE_BYTES - (uintptr_t)first % BASE_BYTES + NUMALAB_SHIFT_BYTES;
    struct header *header = (struct header *)(void *)first - 1;
    *header = (struct header){whole, seal ^ (uint64_t)(uintptr_t)first};
    return first;
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    if (bytes && count > SIZE_MAX / bytes) return NULL;
    void *memory = __wrap_malloc(count * bytes);
    if (memory) memset(memory, 0, count * bytes);
    return memory;
}

/* Of what it is given only the bytes that were asked for may be read: those up to the end of the
 * whole are there as well. */
void *__wrap_realloc(void *memory, size_t bytes)
{
    struct header *header = memory ? header_of(memory) : NULL;
    if (memory && !header) return __real_realloc(memory, bytes);
    const size_t offset =
        memory ? (size_t)((unsigned char *)memory - (unsigned char *)header->whole) : 0;
    void *moved = __wrap_malloc(bytes);
    if (!moved || !memory) return moved;
    void *whole = __real_realloc(header->whole, bytes + offset);
    if (!whole) {
        __wrap_free(moved);
        return NULL;
    }
    memcpy(moved, (unsigned char *)whole + offset, bytes);
    __real_free(whole);
    return moved;
}

void __wrap_free(void *memory)
{
    struct header *header = memory ? header_of(memory) : NULL;
    if (header) {
        void *whole = header->whole;
        header->sealed = 0;
        __real_free(whole);
    } else {
        __real_free(memory);
    }
}
/* NOLINTEND(bugprone-reserved-identifier) */
