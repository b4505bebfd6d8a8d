/* For programs that note each of their stores: Linux must not write memory for them. */
#ifndef NUMALAB_NOTED_STORES_H
#define NUMALAB_NOTED_STORES_H

/* Has Linux kill this process, or what it executes, at a system call by which Linux writes memory
 * at any address for it, since such a write is not noted. It is killed and gets no error: a kernel
 * that learns of a refusal could store by itself when it is watched, and by the call when not.
 * Returns 0 or a negative errno. */
int numalab_refuse_system_stores(void);

#endif
