#include "random.h"

#include <errno.h>
#include <sys/random.h>

#include "numalab/random.h"

int numalab_random_open(struct numalab_random *random)
{
    if (getrandom(&random->seed, sizeof random->seed, 0) != sizeof random->seed) return -errno;
    random->state = random->seed;
    return 0;
}

uint64_t numalab_random_next(struct numalab_random *random)
{
    return numalab_splitmix(&random->state);
}

void numalab_random_order(struct numalab_random *random, size_t *order, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t j = (size_t)(numalab_random_next(random) % (i + 1));
        order[i] = order[j];
        order[j] = i;
    }
}
