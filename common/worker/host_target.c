/* OpenMP's target regions where there is no device, which is so in every worker: they run on the
 * host, in the thread that meets them, on the host's own memory.
 *
 * gcc and gfortran call libgomp for them, by names of which LLVM's runtime lacks these. Beside
 * libgomp these come first, and do what its own do without a device. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* gcc's include/gomp-constants.h: the lower byte is what is done with a variable, the upper one the
 * logarithm of its alignment. */
enum { MAP_FIRSTPRIVATE = 12, KIND_MASK = 0xff, ALIGNMENT_SHIFT = 8 };

void GOMP_target_ext(int device, void (*region)(void *), size_t count, void **address,
                     size_t *bytes, unsigned short *kind, unsigned flags, void **depend,
                     void **arguments);
void GOMP_target_data_ext(int device, size_t count, void **address, size_t *bytes,
                          unsigned short *kind);
void GOMP_target_update_ext(int device, size_t count, void **address, size_t *bytes,
                            unsigned short *kind, unsigned flags, void **depend);
void GOMP_target_enter_exit_data(int device, size_t count, void **address, size_t *bytes,
                                 unsigned short *kind, unsigned flags, void **depend);
bool GOMP_teams4(unsigned fewest, unsigned most, unsigned thread_limit, bool is_first);

/* Of the runtime, where a worker has one. */
void GOMP_taskwait_depend(void **depend) __attribute__((weak));

static void wait_for(void **depend)
{
    if (depend && GOMP_taskwait_depend) GOMP_taskwait_depend(depend);
}

/* Copies of what the region has for itself, in address, too. Returns their memory, or NULL where
 * there is none to copy. */
static void *copy_private(size_t count, void **address, const size_t *bytes,
                          const unsigned short *kind)
{
    size_t needed = 0;
    for (size_t i = 0; i < count; i++)
        if ((kind[i] & KIND_MASK) == MAP_FIRSTPRIVATE)
            needed += bytes[i] + ((size_t)1 << (kind[i] >> ALIGNMENT_SHIFT));
    if (!needed) return NULL;
    unsigned char *memory = malloc(needed), *next = memory;
    if (!memory) abort();
    for (size_t i = 0; i < count; i++) {
        if ((kind[i] & KIND_MASK) != MAP_FIRSTPRIVATE) continue;
        const uintptr_t alignment = (uintptr_t)1 << (kind[i] >> ALIGNMENT_SHIFT);
        next += (alignment - (uintptr_t)next % alignment) % alignment;
        memcpy(next, address[i], bytes[i]);
        address[i] = next;
        next += bytes[i];
    }
    return memory;
}

void GOMP_target_ext(int device, void (*region)(void *), size_t count, void **address,
                     size_t *bytes, unsigned short *kind, unsigned flags, void **depend,
                     void **arguments)
{
    (void)device;
    (void)flags; /* nowait: it may be waited for */
    (void)arguments;
    wait_for(depend);
    void *memory = copy_private(count, address, bytes, kind);
    region(address);
    free(memory);
}

void GOMP_target_data_ext(int device, size_t count, void **address, size_t *bytes,
                          unsigned short *kind)
{
    (void)device;
    (void)count;
    (void)address;
    (void)bytes;
    (void)kind;
}

void GOMP_target_update_ext(int device, size_t count, void **address, size_t *bytes,
                            unsigned short *kind, unsigned flags, void **depend)
{
    GOMP_target_data_ext(device, count, address, bytes, kind);
    (void)flags;
    wait_for(depend);
}

void GOMP_target_enter_exit_data(int device, size_t count, void **address, size_t *bytes,
                                 unsigned short *kind, unsigned flags, void **depend)
{
    GOMP_target_update_ext(device, count, address, bytes, kind, flags, depend);
}

/* Of a target's teams, one, as many as there are without a device: the region asks again until the
 * answer is no. */
bool GOMP_teams4(unsigned fewest, unsigned most, unsigned thread_limit, bool is_first)
{
    (void)fewest;
    (void)most;
    (void)thread_limit;
    return is_first;
}
