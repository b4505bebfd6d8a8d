/* Programs that tell of each store they make: the system must not store for them. */
#ifndef NUMALAB_NOTED_STORES_H
#define NUMALAB_NOTED_STORES_H

/* Has the system end this process, and what it becomes, at a call that writes memory at any address
 * in a program's stead: nothing tells of that. It ends and is not signalled, since what is told of
 * a refusal could go on without a store where it is watched, and store where it is not. Returns 0
 * or a negative errno. */
int numalab_refuse_system_stores(void);

#endif
