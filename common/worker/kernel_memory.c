/* What memory a kernel has in a program that notes stores: which of two copies it is
 * (kernel_copy.h), and what malloc and its like give it. A block that is allocated begins where
 * a copy's variables would, as far as the alignment that was asked for leaves that open, between
 * two stretches of bytes that are nobody's. Linked with --wrap for the functions below. */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kernel_copy.h"
#include "protocol.h"

/* Around a block. Behind it as much as threads write that a small team has no room for. */
enum { LEADING_BYTES = 240, TRAILING_BYTES = 8 << 10, FILLED = 0xa5 };

struct allocated {
    struct allocated *next, **link; /* in the list of those that are not freed */
    void *whole;
    unsigned char *first;
    size_t bytes;
};

/* Right in front of a block. */
struct mark {
    struct allocated *block;
    uint64_t sealed;
};
static const uint64_t seal = UINT64_C(0x6e756d616c616273);

static const struct numalab_kernel_copy *copy = &numalab_copy_0;
static size_t shift_bytes;
static struct allocated *blocks;
static struct numalab_overrun overrun; /* the first one of a block */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* As main.c and fault_report.c call them. */
const struct numalab_phase *numalab_phases_of_copy(bool is_shifted);
struct numalab_overrun numalab_find_overrun(void);

/* The phases that call the copy, whose memory is looked at from now on. */
const struct numalab_phase *numalab_phases_of_copy(bool is_shifted)
{
    copy = is_shifted ? &numalab_copy_1 : &numalab_copy_0;
    shift_bytes = is_shifted ? NUMALAB_SHIFT_BYTES : 0;
    return copy->phases;
}

static bool are_all(const unsigned char *bytes, size_t count, unsigned char value)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i] != value) return false;
    return true;
}

static bool is_as_set(const unsigned char *bytes, size_t count)
{
    return bytes[0] == NUMALAB_FIRST_SET && are_all(bytes + 1, count - 1, 0);
}

static struct mark mark_of(const struct allocated *block)
{
    return (struct mark){(struct allocated *)block, seal ^ (uint64_t)(uintptr_t)block};
}

static void check_borders(const struct allocated *block)
{
    const struct mark mark = mark_of(block);
    const unsigned char *end = block->first - sizeof mark;
    if (overrun.kind == NUMALAB_NO_OVERRUN &&
        (memcmp(end, &mark, sizeof mark) != 0 ||
         !are_all(end - LEADING_BYTES, LEADING_BYTES, FILLED) ||
         !are_all(block->first + block->bytes, TRAILING_BYTES, FILLED)))
        overrun = (struct numalab_overrun){NUMALAB_ALLOCATED_OVERRUN, block->bytes};
}

/* What the kernel has written beside its own memory. Called where none of its threads runs, or
 * where one has crashed. */
struct numalab_overrun numalab_find_overrun(void)
{
    if (!are_all(copy->leading_cleared, copy->leading_bytes, 0) ||
        !is_as_set(copy->leading_set, copy->leading_bytes) ||
        !are_all(copy->trailing_cleared, NUMALAB_TRAILING_CLEARED, 0) ||
        !is_as_set(copy->trailing_set, NUMALAB_TRAILING_SET))
        return (struct numalab_overrun){.kind = NUMALAB_VARIABLES_OVERRUN};
    if (pthread_mutex_trylock(&lock) == 0) {
        for (const struct allocated *block = blocks; block; block = block->next)
            check_borders(block);
        pthread_mutex_unlock(&lock);
    }
    return overrun;
}

/* NOLINTBEGIN(bugprone-reserved-identifier) */
void *__real_malloc(size_t bytes);
void __real_free(void *memory);
void *__real_realloc(void *memory, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_memalign(size_t alignment, size_t bytes);
int __wrap_posix_memalign(void **memory, size_t alignment, size_t bytes);
void __wrap_free(void *memory);

/* alignment: a power of two. */
static void *allocate(size_t alignment, size_t bytes)
{
    const size_t base = alignment > NUMALAB_BASE_BYTES ? alignment : NUMALAB_BASE_BYTES;
    const size_t shift = (shift_bytes + alignment - 1) / alignment * alignment;
    const size_t before = sizeof(struct allocated) + LEADING_BYTES + sizeof(struct mark);
    const size_t more = before + base + shift + TRAILING_BYTES;
    if (bytes > SIZE_MAX / 2 || more > SIZE_MAX / 2) return NULL;
    unsigned char *whole = __real_malloc(bytes + more);
    if (!whole) return NULL;
    unsigned char *first = whole + before;
    first += base - (uintptr_t)first % base + shift % base;

    struct allocated *block = (struct allocated *)(void *)whole;
    *block = (struct allocated){.whole = whole, .first = first, .bytes = bytes};
    const struct mark mark = mark_of(block);
    memcpy(first - sizeof mark, &mark, sizeof mark);
    memset(first - sizeof mark - LEADING_BYTES, FILLED, LEADING_BYTES);
    memset(first + bytes, FILLED, TRAILING_BYTES);
    pthread_mutex_lock(&lock);
    block->next = blocks;
    block->link = &blocks;
    if (blocks) blocks->link = &block->next;
    blocks = block;
    pthread_mutex_unlock(&lock);
    return first;
}

/* NULL of memory that is not from here. */
static struct allocated *block_of(const void *memory)
{
    struct mark mark;
    memcpy(&mark, (const unsigned char *)memory - sizeof mark, sizeof mark);
    return mark.sealed == (seal ^ (uint64_t)(uintptr_t)mark.block) ? mark.block : NULL;
}

void *__wrap_malloc(size_t bytes)
{
    return allocate(_Alignof(max_align_t), bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    if (bytes && count > SIZE_MAX / bytes) return NULL;
    void *memory = __wrap_malloc(count * bytes);
    if (memory) memset(memory, 0, count * bytes);
    return memory;
}

static bool is_power_of_two(size_t number)
{
    return number && !(number & (number - 1));
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    if (is_power_of_two(alignment)) return allocate(alignment, bytes);
    errno = EINVAL;
    return NULL;
}

void *__wrap_memalign(size_t alignment, size_t bytes)
{
    return __wrap_aligned_alloc(alignment, bytes);
}

int __wrap_posix_memalign(void **memory, size_t alignment, size_t bytes)
{
    if (!is_power_of_two(alignment) || alignment % sizeof(void *)) return EINVAL;
    void *first = allocate(alignment, bytes);
    if (!first) return ENOMEM;
    *memory = first;
    return 0;
}

void *__wrap_realloc(void *memory, size_t bytes)
{
    struct allocated *block = memory ? block_of(memory) : NULL;
    if (memory && !block) return __real_realloc(memory, bytes);
    void *moved = __wrap_malloc(bytes);
    if (moved && block) {
        memcpy(moved, memory, bytes < block->bytes ? bytes : block->bytes);
        __wrap_free(memory);
    }
    return moved;
}

void __wrap_free(void *memory)
{
    struct allocated *block = memory ? block_of(memory) : NULL;
    if (!block) {
        __real_free(memory);
        return;
    }
    pthread_mutex_lock(&lock);
    check_borders(block);
    *block->link = block->next;
    if (block->next) block->next->link = block->link;
    pthread_mutex_unlock(&lock);
    memset(block->first - sizeof(struct mark), 0, sizeof(struct mark));
    __real_free(block->whole);
}
/* NOLINTEND(bugprone-reserved-identifier) */
