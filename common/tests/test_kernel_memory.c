/* Memory of kernels in programs that note stores: where it begins, and what is written beside it.
 */
#define _GNU_SOURCE
#include "kernel_copy.h"

#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "expect.h"
#include "protocol.h"

static int failures;

const struct numalab_phase *numalab_phases_of_copy(bool is_shifted);
struct numalab_overrun numalab_find_overrun(void);

/* As kernel_copy.c and trailing_copy.c have it. */
static const struct numalab_phase no_phases[] = {{NULL, NULL}};
static unsigned char leading[2][NUMALAB_BASE_BYTES],
    leading_set[2][NUMALAB_BASE_BYTES] = {{1}, {1}};
static unsigned char trailing[2][NUMALAB_TRAILING_CLEARED],
    trailing_set[2][NUMALAB_TRAILING_SET] = {{1}, {1}};
#define COPY_OF(i)                                                                                 \
    {no_phases, leading[i], leading_set[i], trailing[i], trailing_set[i], NUMALAB_BASE_BYTES}
const struct numalab_kernel_copy numalab_copy_0 = COPY_OF(0), numalab_copy_1 = COPY_OF(1);

static bool is_clean(void)
{
    return numalab_find_overrun().kind == NUMALAB_NO_OVERRUN;
}

static size_t place(const void *memory)
{
    return (uintptr_t)memory % NUMALAB_BASE_BYTES;
}

static void test_places(bool is_shifted)
{
    static const size_t alignments[] = {16, 32, 64, 128, 256, 4096};
    const size_t shift = is_shifted ? NUMALAB_SHIFT_BYTES : 0;
    numalab_phases_of_copy(is_shifted);
    void *plain = malloc(100), *cleared = calloc(10, 10);
    EXPECT(plain && place(plain) == shift && cleared && place(cleared) == shift);
    free(plain);
    free(cleared);
    for (size_t i = 0; i < sizeof alignments / sizeof alignments[0]; i++) {
        void *posix = NULL;
        EXPECT(posix_memalign(&posix, alignments[i], 1000) == 0);
        void *aligned[] = {aligned_alloc(alignments[i], 8192), memalign(alignments[i], 1), posix};
        for (size_t k = 0; k < 3; k++) {
            EXPECT(aligned[k] && (uintptr_t)aligned[k] % alignments[i] == 0);
            /* And no better than it was asked for, where that is less than the base. */
            EXPECT(!is_shifted || alignments[i] >= NUMALAB_BASE_BYTES ||
                   (uintptr_t)aligned[k] % NUMALAB_BASE_BYTES != 0);
            free(aligned[k]);
        }
    }
    void *none = &none;
    EXPECT(posix_memalign(&none, 24, 8) != 0 && none == &none);
    volatile size_t huge = SIZE_MAX - 8; /* no compiler is to warn of it */
    void *volatile much = malloc(huge);  /* nor to leave the calls out */
    void *volatile more = calloc(huge, 4);
    EXPECT(much == NULL && more == NULL);
    EXPECT(is_clean());
}

static void test_realloc(void)
{
    unsigned char *grown = realloc(NULL, 10);
    memset(grown, 7, 10);
    grown = realloc(grown, 100000);
    for (size_t i = 0; i < 10; i++) EXPECT(grown[i] == 7);
    memset(grown, 8, 100000);
    grown = realloc(grown, 5);
    for (size_t i = 0; i < 5; i++) EXPECT(grown[i] == 8);
    EXPECT(is_clean());
    free(grown);
    free(NULL);
    /* Of the C library itself. */
    char *text = strdup("text");
    text = realloc(text, 1000);
    EXPECT(text && strcmp(text, "text") == 0);
    free(text);
    EXPECT(is_clean());
}

static void test_variables(void)
{
    for (int copy = 0; copy < 2; copy++) {
        unsigned char *const beside[] = {&leading[copy][0],
                                         &leading[copy][NUMALAB_BASE_BYTES - 1],
                                         &leading_set[copy][0],
                                         &trailing[copy][48],
                                         &trailing[copy][NUMALAB_TRAILING_CLEARED - 1],
                                         &trailing_set[copy][0],
                                         &trailing_set[copy][1]};
        numalab_phases_of_copy(copy == 1);
        for (size_t i = 0; i < sizeof beside / sizeof beside[0]; i++) {
            *beside[i] ^= 2;
            EXPECT(numalab_find_overrun().kind == NUMALAB_VARIABLES_OVERRUN);
            numalab_phases_of_copy(copy == 0);
            EXPECT(is_clean()); /* the other copy is */
            numalab_phases_of_copy(copy == 1);
            *beside[i] ^= 2;
            EXPECT(is_clean());
        }
    }
}

/* The first one stays: so this comes last. */
static void test_block(void)
{
    enum { BYTES = 192 };
    unsigned char *volatile block = malloc(BYTES); /* nobody is to know its length */
    void *other = malloc(8);
    static const ptrdiff_t beside[] = {-1, -17, -100, BYTES, BYTES + 7 * 64};
    for (size_t i = 0; i < sizeof beside / sizeof beside[0]; i++) {
        volatile unsigned char *byte = block + beside[i];
        const unsigned char was = *byte;
        block[BYTES - 1] = (unsigned char)i;
        EXPECT(is_clean());
        *byte = 1;
        *byte = was;
    }
    EXPECT(is_clean());
    volatile unsigned char *end = block + BYTES;
    *end = 0;
    struct numalab_overrun found = numalab_find_overrun();
    EXPECT(found.kind == NUMALAB_ALLOCATED_OVERRUN && found.bytes == BYTES);
    free(block);
    free(other);
    found = numalab_find_overrun();
    EXPECT(found.kind == NUMALAB_ALLOCATED_OVERRUN && found.bytes == BYTES);
}

int main(void)
{
    test_places(false);
    test_places(true);
    test_realloc();
    test_variables();
    test_block();
    return failures > 0;
}
