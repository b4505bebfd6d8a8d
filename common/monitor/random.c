#include "random.h"

#include <errno.h>
#include <sys/random.h>

int numalab_random_open(struct numalab_random *random)
{
    if (getrandom(&random->seed, sizeof random->seed, 0) != sizeof random->seed) return -errno;
    random->state = random->seed;
    return 0;
}

/* SplitMix64 (Steele, Lea, Flood, OOPSLA 2014). */
uint64_t numalab_random_next(struct numalab_random *random)
{
    uint64_t z = (random->state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void numalab_random_order(struct numalab_random *random, size_t *order, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t j = (size_t)(numalab_random_next(random) % (i + 1));
        order[i] = order[j];
        order[j] = i;
    }
}
