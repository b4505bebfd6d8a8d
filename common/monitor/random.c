#include "random.h"

#include <errno.h>
#include <sys/random.h>

int numalab_random_open(struct numalab_random *random)
{
    if (getrandom(&random->seed, sizeof random->seed, 0) != sizeof random->seed) return -errno;
    random->drawn = 0;
    return 0;
}

void numalab_random_order(struct numalab_random *random, size_t *order, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t j = (size_t)(numalab_random_next(random) % (i + 1));
        order[i] = order[j];
        order[j] = i;
    }
}
