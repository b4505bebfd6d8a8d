#define _GNU_SOURCE
#include "touch_map.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record.h"
#include "worker/userfault.h"

/* Each thread that faults gets a small number, in order of appearance. */
enum { MAX_THREADS = 2048, WORD_BITS = 64 };

/* A thread that has not faulted again for this long after its last answer is looked
 * at: asleep, or through this much CPU time without a fault, it is taken to be at a
 * barrier and others may go on; a thread that only waits for a core is waited for. */
static const double grace_s = 2e-3;

/* At the start of a phase, how long the first to arrive waits for the rest of the team. */
static const double arrival_s = 20e-3;

/* Every parallel region holds threads back anew. After this long in one phase faults
 * are answered as they come, or many short regions would use up the phase's limit. */
static const double holding_s = 3.0;

struct page_record {
    int first_writer;                        /* thread number here, or -1 */
    uint64_t users[MAX_THREADS / WORD_BITS]; /* one bit a thread number here */
};

struct traced_array {
    const char *name;
    uint64_t address;
    uint64_t bytes;
    struct numalab_sample sample; /* its pages that are traced, */
    struct page_record *page;     /* one each */
};

struct pending_fault {
    uint64_t page_address;
    size_t thread;
    uint64_t flags;
};

struct numalab_touch_map {
    enum numalab_touch_method method;
    enum numalab_touch_order order;
    int fd; /* userfaultfd of the worker, or -1 */
    pid_t pid;
    size_t team;
    bool in_compute;
    bool sees_write_after_read; /* write protection of shared memory works */
    uint64_t page_bytes;
    void *zero_page;

    size_t array_count;
    struct traced_array array[NUMALAB_MAX_ARRAYS];

    pid_t own_id[MAX_THREADS]; /* as faults tell it */
    pid_t thread_id[MAX_THREADS];
    double busy_until_s[MAX_THREADS]; /* holds back those that go after it */
    double cpu_s_when_looked[MAX_THREADS];
    size_t thread_count;

    struct pending_fault *pending;
    size_t pending_count, pending_room;
    double phase_start_s;
    bool is_holding_over; /* too much of the phase has gone into it */
    double hold_until_s;  /* start of a phase: let every thread arrive */
    bool has_arrival;
};

static const char *const order_names[] = {[NUMALAB_ORDER_NATURAL] = "natural",
                                          [NUMALAB_ORDER_ASCENDING] = "ascending",
                                          [NUMALAB_ORDER_DESCENDING] = "descending"};
static const char *const method_names[] = {
    [NUMALAB_TOUCH_USERFAULTFD] = "userfaultfd", [NUMALAB_TOUCH_IN_PROCESS] = "in_process"};

/* Number of a name in a list, or -EINVAL. */
static int position(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0) return (int)i;
    return -EINVAL;
}

int numalab_touch_order_parse(const char *name, enum numalab_touch_order *order)
{
    const int found = position(order_names, sizeof order_names / sizeof *order_names, name);
    if (found < 0) return found;
    *order = (enum numalab_touch_order)found;
    return 0;
}

int numalab_touch_method_parse(const char *name, enum numalab_touch_method *method)
{
    const int found = position(method_names, sizeof method_names / sizeof *method_names, name);
    if (found < 0) return found;
    *method = (enum numalab_touch_method)found;
    return 0;
}

/* ---- what has been seen ---------------------------------------------------- */

static size_t thread_of_id(struct numalab_touch_map *map, pid_t own_id)
{
    for (size_t i = 0; i < map->thread_count; i++)
        if (map->own_id[i] == own_id) return i;
    /* More than any team: threads made and ended again and again share a number. */
    if (map->thread_count == MAX_THREADS) return MAX_THREADS - 1;
    map->own_id[map->thread_count] = own_id;
    map->thread_id[map->thread_count] = numalab_threads_id_of_own(map->pid, own_id);
    return map->thread_count++;
}

static struct page_record *page_at(struct numalab_touch_map *map, uint64_t address)
{
    for (size_t i = 0; i < map->array_count; i++) {
        struct traced_array *array = &map->array[i];
        if (address < array->address || address >= array->address + array->bytes) continue;
        const ptrdiff_t place = numalab_sample_find(
            &array->sample, (size_t)((address - array->address) / map->page_bytes));
        return place < 0 ? NULL : &array->page[place];
    }
    return NULL;
}

static void note_access(struct numalab_touch_map *map, uint64_t address, size_t thread,
                        bool is_write)
{
    struct page_record *page = page_at(map, address);
    if (!page) return;
    if (is_write && page->first_writer < 0) page->first_writer = (int)thread;
    if (map->in_compute) page->users[thread / WORD_BITS] |= (uint64_t)1 << (thread % WORD_BITS);
}

/* ---- answering page faults ------------------------------------------------- */

static int wake(struct numalab_touch_map *map, uint64_t page_address)
{
    struct uffdio_range range = {.start = page_address, .len = map->page_bytes};
    return ioctl(map->fd, UFFDIO_WAKE, &range) < 0 ? -errno : 0;
}

static int answer(struct numalab_touch_map *map, const struct pending_fault *fault)
{
    const bool is_write = fault->flags & (UFFD_PAGEFAULT_FLAG_WRITE | UFFD_PAGEFAULT_FLAG_WP);
    const struct uffdio_range range = {.start = fault->page_address, .len = map->page_bytes};
    int failed;

    note_access(map, fault->page_address, fault->thread, is_write);
    if (fault->flags & UFFD_PAGEFAULT_FLAG_WP) {
        struct uffdio_writeprotect unprotect = {.range = range};
        failed = ioctl(map->fd, UFFDIO_WRITEPROTECT, &unprotect) < 0;
    } else if (fault->flags & UFFD_PAGEFAULT_FLAG_MINOR) {
        struct uffdio_continue map_it = {.range = range};
        failed = ioctl(map->fd, UFFDIO_CONTINUE, &map_it) < 0;
    } else {
        struct uffdio_copy zero = {
            .dst = range.start, .src = (uint64_t)(uintptr_t)map->zero_page, .len = range.len};
        if (!is_write && !map->in_compute && map->sees_write_after_read)
            zero.mode = UFFDIO_COPY_MODE_WP;
        failed = ioctl(map->fd, UFFDIO_COPY, &zero) < 0;
    }
    map->busy_until_s[fault->thread] = numalab_now_s() + grace_s;
    map->cpu_s_when_looked[fault->thread] = -1.0;
    /* EEXIST: another thread's fault on this page was answered just before;
     * ESRCH, ENOENT: the worker is gone, which its own descriptor will tell. */
    if (failed && errno != EEXIST && errno != ESRCH && errno != ENOENT) return -errno;
    return failed && errno == EEXIST ? wake(map, fault->page_address) : 0;
}

/* Of two threads, whether the first goes before the second. */
static bool goes_first(const struct numalab_touch_map *map, size_t a, size_t b)
{
    if (map->order == NUMALAB_ORDER_ASCENDING) return map->thread_id[a] < map->thread_id[b];
    if (map->order == NUMALAB_ORDER_DESCENDING) return map->thread_id[a] > map->thread_id[b];
    return false;
}

/* Until when the fault has to wait for threads that go before its own. */
static double held_until_s(const struct numalab_touch_map *map, const struct pending_fault *fault)
{
    if (map->order == NUMALAB_ORDER_NATURAL || map->is_holding_over) return 0.0;
    double until_s = map->hold_until_s;
    for (size_t i = 0; i < map->thread_count; i++)
        if (goes_first(map, i, fault->thread) && map->busy_until_s[i] > until_s)
            until_s = map->busy_until_s[i];
    return until_s;
}

/* Whether a thread whose grace is over, and that waits for no answer, still has
 * something to do. */
static bool is_busy(struct numalab_touch_map *map, size_t thread)
{
    double before_s = map->cpu_s_when_looked[thread];
    if (!numalab_threads_is_runnable(map->pid, map->thread_id[thread])) return false;
    double cpu_s = numalab_threads_cpu_s(map->pid, map->thread_id[thread]);
    if (before_s < 0) map->cpu_s_when_looked[thread] = cpu_s;
    return before_s < 0 || cpu_s - before_s < grace_s;
}

/* Looks at the threads whose grace is over and that go before the fault's own; those
 * still busy get another. The fault is the first of those pending, so none of them waits
 * for an answer. Returns whether there are any. */
static bool prolong_holds(struct numalab_touch_map *map, const struct pending_fault *fault)
{
    bool any = false;
    if (map->order == NUMALAB_ORDER_NATURAL || map->is_holding_over) return false;
    for (size_t i = 0; i < map->thread_count; i++) {
        if (!goes_first(map, i, fault->thread) || map->busy_until_s[i] == 0.0) continue;
        bool busy = is_busy(map, i);
        map->busy_until_s[i] = busy ? numalab_now_s() + grace_s : 0.0;
        any = any || busy;
    }
    return any;
}

/* Index of the pending fault that goes first. */
static size_t next_pending(const struct numalab_touch_map *map)
{
    size_t best = 0;
    for (size_t i = 1; i < map->pending_count; i++)
        if (goes_first(map, map->pending[i].thread, map->pending[best].thread)) best = i;
    return best;
}

static int take_messages(struct numalab_touch_map *map)
{
    enum { MOST_READS = 256 };
    for (int reads = 0; reads < MOST_READS; reads++) {
        struct uffd_msg message[16];
        ssize_t got = read(map->fd, message, sizeof message);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return errno == EAGAIN ? 0 : -errno;
        if (got == 0) return 0;
        for (size_t i = 0; i < (size_t)got / sizeof message[0]; i++) {
            if (message[i].event != UFFD_EVENT_PAGEFAULT) continue;
            size_t thread = thread_of_id(map, (pid_t)message[i].arg.pagefault.feat.ptid);
            if (map->pending_count == map->pending_room) {
                size_t room = map->pending_room ? 2 * map->pending_room : 64;
                void *list = realloc(map->pending, room * sizeof *map->pending);
                if (!list) return -ENOMEM;
                map->pending = list;
                map->pending_room = room;
            }
            map->pending[map->pending_count++] = (struct pending_fault){
                .page_address = message[i].arg.pagefault.address & ~(map->page_bytes - 1),
                .thread = thread,
                .flags = message[i].arg.pagefault.flags,
            };
        }
        if (!map->has_arrival && map->pending_count) {
            map->has_arrival = true;
            map->hold_until_s = numalab_now_s() + arrival_s;
        }
        if (map->pending_count >= map->team) map->hold_until_s = 0.0; /* all are here */
    }
    return 0;
}

/* The answer for a page wakes everybody who waits for it: those others use the page,
 * and none of them is waiting any more. */
static void drop_answered(struct numalab_touch_map *map, uint64_t page_address)
{
    size_t kept = 0;
    for (size_t i = 0; i < map->pending_count; i++) {
        if (map->pending[i].page_address == page_address)
            note_access(map, page_address, map->pending[i].thread, false);
        else
            map->pending[kept++] = map->pending[i];
    }
    map->pending_count = kept;
}

static int serve_faults(void *context)
{
    enum { MOST_ANSWERS = 256 }; /* then somebody looks at the deadline again */
    struct numalab_touch_map *map = context;
    int error = take_messages(map);
    map->is_holding_over = numalab_now_s() > map->phase_start_s + holding_s;
    for (int answers = 0; error == 0 && map->pending_count && answers < MOST_ANSWERS; answers++) {
        size_t i = next_pending(map);
        if (held_until_s(map, &map->pending[i]) > numalab_now_s()) break;
        if (prolong_holds(map, &map->pending[i])) break;
        struct pending_fault fault = map->pending[i];
        error = answer(map, &fault);
        drop_answered(map, fault.page_address);
    }
    return error;
}

static int until_next_answer_ms(void *context)
{
    const struct numalab_touch_map *map = context;
    if (!map->pending_count) return -1;
    double wait_s = held_until_s(map, &map->pending[next_pending(map)]) - numalab_now_s();
    return wait_s <= 0 ? 0 : 1 + (int)(1e3 * wait_s);
}

/* ---- userfaultfd: arming ----------------------------------------------------- */

static int enable(struct numalab_touch_map *map)
{
    const uint64_t wanted[] = {
        UFFD_FEATURE_THREAD_ID | UFFD_FEATURE_MISSING_SHMEM | UFFD_FEATURE_MINOR_SHMEM |
#ifdef UFFD_FEATURE_WP_HUGETLBFS_SHMEM
            UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_WP_HUGETLBFS_SHMEM,
        UFFD_FEATURE_THREAD_ID | UFFD_FEATURE_MISSING_SHMEM | UFFD_FEATURE_MINOR_SHMEM
#else
        0
#endif
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        struct uffdio_api api = {.api = UFFD_API, .features = wanted[i]};
        if (ioctl(map->fd, UFFDIO_API, &api) == 0) {
            map->sees_write_after_read = wanted[i] & UFFD_FEATURE_PAGEFAULT_FLAG_WP;
            return 0;
        }
    }
    return -errno;
}

static int register_pages(struct numalab_touch_map *map, uint64_t address, uint64_t bytes,
                          uint64_t mode)
{
    struct uffdio_register range = {.range = {.start = address, .len = bytes}, .mode = mode};
    return ioctl(map->fd, UFFDIO_REGISTER, &range) < 0 ? -errno : 0;
}

/* Those pages that are traced: the others never fault here. */
static int register_arrays(struct numalab_touch_map *map, uint64_t mode)
{
    for (size_t i = 0; i < map->array_count; i++) {
        const struct traced_array *array = &map->array[i];
        for (size_t k = 0; k < array->sample.block_count; k++) {
            const struct numalab_block *block = &array->sample.block[k];
            int error = register_pages(map, array->address + block->first_page * map->page_bytes,
                                       block->page_count * map->page_bytes, mode);
            if (error < 0) return error;
        }
    }
    return 0;
}

static void unregister_arrays(struct numalab_touch_map *map)
{
    for (size_t i = 0; i < map->array_count; i++) {
        struct uffdio_range range = {.start = map->array[i].address, .len = map->array[i].bytes};
        ioctl(map->fd, UFFDIO_UNREGISTER, &range);
    }
}

/* ---- open and close ---------------------------------------------------------- */

void numalab_touch_map_close(struct numalab_touch_map *map)
{
    if (!map) return;
    for (size_t i = 0; i < map->array_count; i++) {
        numalab_sample_free(&map->array[i].sample);
        free(map->array[i].page);
    }
    if (map->fd >= 0) close(map->fd);
    free(map->pending);
    free(map->zero_page);
    free(map);
}

static struct numalab_touch_map *create(const struct numalab_worker *worker,
                                        const struct numalab_driver *driver,
                                        const struct numalab_sampling *sampling,
                                        enum numalab_touch_order order,
                                        enum numalab_touch_method method)
{
    struct numalab_touch_map *map = calloc(1, sizeof *map);
    if (!map) return NULL;
    map->method = method;
    map->order = order;
    map->fd = -1;
    map->pid = worker->pid;
    map->team = worker->limits.thread_count;
    map->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    map->zero_page = aligned_alloc(map->page_bytes, map->page_bytes);
    if (!map->zero_page) goto no_memory;
    memset(map->zero_page, 0, map->page_bytes);
    struct numalab_sample sample[NUMALAB_MAX_ARRAYS];
    if (numalab_sample_draw_all(sample, sampling, driver, worker->bytes) < 0) goto no_memory;
    for (size_t i = 0; i < driver->array_count; i++) {
        if (!sample[i].traced_count) continue; /* a single result, say */
        struct traced_array *array = &map->array[map->array_count++];
        array->name = driver->arrays[i].name;
        array->address = worker->address[i];
        array->bytes = worker->bytes[i];
        array->sample = sample[i];
    }
    for (size_t i = 0; i < map->array_count; i++) {
        struct traced_array *array = &map->array[i];
        array->page = calloc(array->sample.traced_count, sizeof *array->page);
        if (!array->page) goto no_memory;
        for (size_t k = 0; k < array->sample.traced_count; k++) array->page[k].first_writer = -1;
    }
    return map;
no_memory:
    numalab_touch_map_close(map);
    return NULL;
}

struct numalab_touch_map *numalab_touch_map_open(struct numalab_worker *worker,
                                                 const struct numalab_driver *driver,
                                                 const struct numalab_sampling *sampling,
                                                 enum numalab_touch_order order,
                                                 enum numalab_touch_method method)
{
    struct numalab_touch_map *map = create(worker, driver, sampling, order, method);
    if (!map) {
        numalab_worker_kit_error(worker, "make the touch map", -ENOMEM);
        return NULL;
    }
    if (method == NUMALAB_TOUCH_IN_PROCESS) return map;

    struct numalab_message reply;
    if (numalab_worker_ask(worker, NUMALAB_OPEN_USERFAULTFD, &reply, &map->fd) < 0) {
        numalab_touch_map_close(map);
        return NULL;
    }
    if (reply.error == 0 && map->fd >= 0 && enable(map) == 0) return map;
    /* What a worker traces of itself its kernel can forge, and so can it that there is no
     * userfaultfd: the system's word counts. */
    if (numalab_touch_map_probe() == 0) {
        worker->outcome.kind = NUMALAB_UNTRACEABLE;
        numalab_touch_map_close(map);
        return NULL;
    }
    map->method = NUMALAB_TOUCH_IN_PROCESS;
    return map;
}

/* ---- the in-process way -------------------------------------------------------- */

static int take_trap_log(struct numalab_touch_map *map, struct numalab_worker *worker, uint64_t log,
                         uint64_t count)
{
    struct numalab_trap_entry entry[1024];
    const uint64_t block = sizeof entry / sizeof entry[0];
    uint64_t pages = 0;
    for (size_t i = 0; i < map->array_count; i++) pages += map->array[i].sample.page_count;
    if (count > NUMALAB_TRAP_LOG_ENTRIES(pages)) count = NUMALAB_TRAP_LOG_ENTRIES(pages);

    for (uint64_t first = 0; first < count; first += block) {
        uint64_t part = count - first < block ? count - first : block;
        if (numalab_worker_read(worker, log + first * sizeof entry[0], entry,
                                part * sizeof entry[0]) < 0)
            return -1;
        for (uint64_t i = 0; i < part; i++)
            note_access(map, entry[i].address, thread_of_id(map, entry[i].thread_id),
                        entry[i].is_write);
    }
    return 0;
}

static int run_trapped(struct numalab_touch_map *map, struct numalab_worker *worker,
                       const char *phase)
{
    struct numalab_message armed, disarmed;
    if (numalab_worker_ask(worker, map->in_compute ? NUMALAB_TRAP_COMPUTE : NUMALAB_TRAP_INITIALIZE,
                           &armed, NULL) < 0)
        return -1;
    if (armed.error < 0) return numalab_worker_kit_error(worker, "trap page faults", armed.error);
    if (numalab_worker_run(worker, phase, NULL) < 0 ||
        numalab_worker_ask(worker, NUMALAB_UNTRAP, &disarmed, NULL) < 0)
        return -1;
    return take_trap_log(map, worker, armed.trap_log, disarmed.trap_count);
}

/* ---- running a phase ------------------------------------------------------------ */

static int run_watched(struct numalab_touch_map *map, struct numalab_worker *worker,
                       const char *phase, uint64_t mode)
{
    struct numalab_watch watch = {
        .fd = map->fd, .serve = serve_faults, .timeout_ms = until_next_answer_ms, .context = map};
    int error = register_arrays(map, mode);
    if (error < 0 && error != -ENOMEM) { /* the probe has shown that they could be */
        worker->outcome.kind = NUMALAB_UNTRACEABLE;
        return -1;
    }
    if (error < 0) return numalab_worker_kit_error(worker, "watch the pages", error);
    map->pending_count = 0;
    map->has_arrival = false;
    map->phase_start_s = numalab_now_s();
    memset(map->busy_until_s, 0, sizeof map->busy_until_s);
    int failed = numalab_worker_run(worker, phase, &watch);
    unregister_arrays(map);
    return failed;
}

int numalab_touch_map_run_initialize(struct numalab_touch_map *map, struct numalab_worker *worker,
                                     const char *phase)
{
    map->in_compute = false;
    if (map->method == NUMALAB_TOUCH_IN_PROCESS) return run_trapped(map, worker, phase);
    return run_watched(map, worker, phase,
                       UFFDIO_REGISTER_MODE_MISSING |
                           (map->sees_write_after_read ? UFFDIO_REGISTER_MODE_WP : 0u));
}

int numalab_touch_map_run_compute(struct numalab_touch_map *map, struct numalab_worker *worker,
                                  const char *phase)
{
    struct numalab_message reply;
    map->in_compute = true;
    if (map->method == NUMALAB_TOUCH_IN_PROCESS) return run_trapped(map, worker, phase);
    if (numalab_worker_ask(worker, NUMALAB_UNMAP_PAGES, &reply, NULL) < 0) return -1;
    if (reply.error < 0) return numalab_worker_kit_error(worker, "unmap the pages", reply.error);
    return run_watched(map, worker, phase,
                       UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_MINOR);
}

/* ---- what a record says ----------------------------------------------------------- */

/* The pages of an array, and what their threads are called in a record. */
struct described_pages {
    const struct numalab_touch_map *map;
    const struct page_record *page;
    const int *number; /* of each thread number here */
};

static bool has_same_writer(const void *pages, size_t a, size_t b)
{
    const struct described_pages *described = pages;
    return described->page[a].first_writer == described->page[b].first_writer;
}

static json_t *describe_writer(const void *pages, size_t i)
{
    const struct described_pages *described = pages;
    const int writer = described->page[i].first_writer;
    return json_integer(writer < 0 ? -1 : described->number[writer]);
}

static bool has_same_users(const void *pages, size_t a, size_t b)
{
    const struct described_pages *described = pages;
    const struct page_record *page = described->page;
    return memcmp(page[a].users, page[b].users, sizeof page[a].users) == 0;
}

static json_t *describe_users(const void *pages, size_t i)
{
    const struct described_pages *described = pages;
    const uint64_t *users = described->page[i].users;
    json_t *list = json_array();
    for (size_t thread = 0; thread < described->map->thread_count; thread++)
        if (users[thread / WORD_BITS] >> (thread % WORD_BITS) & 1)
            json_array_append_new(list, json_integer(described->number[thread]));
    return list;
}

static json_t *describe_array(const struct numalab_touch_map *map, const struct traced_array *array,
                              const int *number)
{
    const struct described_pages pages = {map, array->page, number};
    const size_t count = array->sample.traced_count;
    const struct numalab_list writers = {&pages, count, has_same_writer, describe_writer};
    const struct numalab_list users = {&pages, count, has_same_users, describe_users};
    json_t *entry = json_pack("{ss so so}", "array", array->name, "first_writer",
                              numalab_record_list(&writers), "users", numalab_record_list(&users));
    numalab_sample_describe(&array->sample, entry);
    return entry;
}

json_t *numalab_touch_map_describe(const struct numalab_touch_map *map,
                                   const struct numalab_threads *threads)
{
    int number[MAX_THREADS];

    /* Threads that have ended get numbers after those that are still there. */
    int next_number = (int)threads->count;
    for (size_t i = 0; i < map->thread_count; i++) {
        number[i] = numalab_threads_number(threads, map->thread_id[i]);
        if (number[i] < 0) number[i] = next_number++;
    }
    json_t *arrays = json_array();
    for (size_t i = 0; i < map->array_count; i++)
        json_array_append_new(arrays, describe_array(map, &map->array[i], number));
    /* The in-process way has to know reads from writes. */
#if defined(__x86_64__)
    const bool trap_tells = true;
#else
    const bool trap_tells = false;
#endif
    return json_pack(
        "{ss ss sb so}", "method", method_names[map->method], "order", order_names[map->order],
        "sees_write_after_read",
        (int)(map->method == NUMALAB_TOUCH_IN_PROCESS ? trap_tells : map->sees_write_after_read),
        "arrays", arrays);
}

/* ---- probe --------------------------------------------------------------------- */

int numalab_touch_map_probe(void)
{
    struct numalab_touch_map map = {.page_bytes = (uint64_t)sysconf(_SC_PAGESIZE)};
    int error = 0;
    void *memory = MAP_FAILED;

    map.fd = numalab_userfault_open();
    if (map.fd < 0) return map.fd;
    int file = memfd_create("numalab", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, (off_t)map.page_bytes) < 0) error = -errno;
    if (error == 0) {
        memory = mmap(NULL, map.page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (memory == MAP_FAILED) error = -errno;
    }
    if (error == 0) error = enable(&map);
    if (error == 0)
        error = register_pages(&map, (uint64_t)(uintptr_t)memory, map.page_bytes,
                               UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_MINOR);
    if (memory != MAP_FAILED) munmap(memory, map.page_bytes);
    if (file >= 0) close(file);
    close(map.fd);
    return error;
}
