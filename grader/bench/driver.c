/* Lab 01's driver, but for the size: arrays of 2 MiB each, whatever the node. A pass over them
 * takes half a millisecond or so, and the number of passes makes up the time. */
#define numalab_drivers numalab_drivers_of_lab
#include "../../labs/01_first_touch/grading/driver.c"
#undef numalab_drivers

enum { TIMED_N = 1 << 19 };

static const struct numalab_driver driver_of_bench = {
    .lab = "01_first_touch",
    .arrays = arrays,
    .array_count = sizeof arrays / sizeof arrays[0],
    .initialize_phase = "initialize",
    .compute_phase = "compute",
    .timed_n = {TIMED_N, TIMED_N, TIMED_N},
    .bytes_moved = bytes_moved,
    .create = create,
    .destroy = destroy,
    .advance = advance,
    .change = change_element,
    .compare = compare,
};

extern const struct numalab_driver *const numalab_drivers[];
const struct numalab_driver *const numalab_drivers[] = {&driver_of_bench, NULL};
