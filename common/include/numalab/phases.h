/* The contract of labs/NN/phases.c: the phases that call the student's kernel.
 *
 * phases.c of each lab defines numalab_phases and is linked with the kernel into every worker
 * program of that lab. It calls the kernel and does nothing else; correct results belong to
 * driver.c. */
#ifndef NUMALAB_PHASES_H
#define NUMALAB_PHASES_H

#include <stddef.h>

struct numalab_phase {
    const char *name; /* as in driver.c */
    /* n: problem size; arrays: start of each array, in the order of driver.c; a create_phase of
     * driver.c sets them, others only read them. Called on the worker's main thread. */
    void (*run)(size_t n, void **arrays);
};

/* Returns the length of a cache line in bytes, as the monitor gives it; 0: unknown. */
size_t numalab_line_bytes(void);

/* The lab's phases; ends with an entry whose name is NULL. */
extern const struct numalab_phase numalab_phases[];

#endif
