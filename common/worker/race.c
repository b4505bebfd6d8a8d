/* What programs that look for data races have beside their kernel (cmake/AddLab.cmake, race
 * workers): a race of the kit's own, since where that one is not found a kernel's would not be; and
 * teams of any size. Built with ThreadSanitizer, as a kernel. */
#include <omp.h>
#include <stddef.h>

int numalab_raced;

void numalab_race(void);
void numalab_set_team(size_t threads);

/* Of rendezvous.c. */
void numalab_come(void);
void numalab_await(unsigned count);

void numalab_race(void)
{
    /* Whatever the kernel has asked for before. */
    omp_set_dynamic(0);
    omp_set_max_active_levels(1);
#pragma omp parallel num_threads(2)
    {
        /* Both are in the region; then one writes, and then the other. */
        const int thread = omp_get_thread_num();
        numalab_come();
        numalab_await(2 + (unsigned)thread);
        numalab_raced = thread;
        numalab_come();
    }
}

void numalab_set_team(size_t threads)
{
    omp_set_num_threads((int)threads);
}
