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
#include <sys/uio.h>
#include <unistd.h>

#include "page_rearm.h"
#include "record.h"
#include "worker/userfault.h"

/* Each thread that faults gets a small number, in order of appearance, and so does each origin.
 * One beyond the first half of these is a thread's at an unknown place. */
enum { MAX_THREADS = 2048, MAX_ORIGINS = 2 * MAX_THREADS, WORD_BITS = 64 };

/* Room for threads' numbers in a record: those that are there, and those that have ended. */
enum { NUMBER_WORDS = 2 * MAX_ORIGINS / WORD_BITS };

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
    int first_writer;                        /* number of an origin here, or -1 */
    uint64_t users[MAX_ORIGINS / WORD_BITS]; /* one bit per origin */
    int opener;                              /* whose fault opened it last in this phase, or -1 */
    bool was_closed;                         /* in the middle of this phase, */
    bool has_opener_used_it; /* when the opener had gone on to another page; until it is opened */
};

struct traced_array {
    const char *name;
    uint64_t address;
    uint64_t bytes;
    uint64_t file_offset;         /* of its first page, in the file of all arrays */
    struct numalab_sample sample; /* its pages that are traced, */
    struct page_record *page;     /* one each */
    size_t first_closed;          /* number of the first of them among those of all arrays */
};

/* One that was closed again while a phase ran, and then used. */
struct reuse {
    size_t array;
    int writer, user; /* its first writer, or -1; numbers of origins here */
};

struct pending_fault {
    uint64_t page_address;
    size_t thread, origin;
    uint64_t flags;
};

/* Where accesses come from: a thread, and where it was at the time. */
struct origin {
    size_t thread; /* number here */
    struct numalab_location location;
};

struct numalab_touch_map {
    enum numalab_touch_method method;
    enum numalab_touch_order order;
    int fd; /* userfaultfd of the worker, or -1 */
    pid_t pid;
    const struct numalab_node *node; /* not owned */
    size_t team;
    bool is_computing;
    bool detects_write_after_read; /* write protection of shared memory works */
    uint64_t page_bytes;
    void *zero_page;
    struct numalab_worker *worker;            /* while a phase runs */
    struct numalab_page_rearm *rearm;         /* of a map by userfaultfd, once it computes */
    size_t closed_count;                      /* pages of all arrays that are traced */
    double rearm_interval_s;                  /* 0: as page_rearm.h has it */
    struct numalab_activity_sampler *sampler; /* used when pages are closed, or NULL. Not owned */

    size_t array_count;
    struct traced_array array[NUMALAB_MAX_ARRAYS];

    pid_t own_id[MAX_THREADS]; /* as faults tell it */
    pid_t thread_id[MAX_THREADS];
    double active_until_s[MAX_THREADS]; /* holds back those that go after it */
    double checked_cpu_s[MAX_THREADS];
    uint64_t last_page[MAX_THREADS]; /* address of that which it was given last */
    size_t thread_count;
    struct origin origin[MAX_ORIGINS];
    size_t origin_count;
    size_t last_origin[MAX_THREADS]; /* of each thread, where it has one */

    struct reuse *again;
    size_t again_count, again_room;

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

/* The array of a page that is traced, and *place its place among the array's; or NULL. */
static struct traced_array *array_of_page(struct numalab_touch_map *map, uint64_t address,
                                          size_t *place)
{
    for (size_t i = 0; i < map->array_count; i++) {
        struct traced_array *array = &map->array[i];
        if (address < array->address || address >= array->address + array->bytes) continue;
        const ptrdiff_t found = numalab_sample_find(
            &array->sample, (size_t)((address - array->address) / map->page_bytes));
        *place = (size_t)found;
        return found < 0 ? NULL : array;
    }
    return NULL;
}

static struct page_record *page_at(struct numalab_touch_map *map, uint64_t address)
{
    size_t place;
    struct traced_array *array = array_of_page(map, address, &place);
    return array ? &array->page[place] : NULL;
}

static const struct numalab_location unknown = {-1, -1, -1};

static struct numalab_location locate(const struct numalab_touch_map *map, size_t thread)
{
    return map->node ? numalab_threads_locate(map->pid, map->thread_id[thread], map->node)
                     : unknown;
}

static bool is_origin(const struct origin *origin, size_t thread,
                      const struct numalab_location *location)
{
    return origin->thread == thread && origin->location.pu == location->pu &&
           origin->location.core == location->core &&
           origin->location.numa_node == location->numa_node;
}

/* The number of a thread's origin. Where there are too many of them its place is not kept. */
static size_t origin_at(struct numalab_touch_map *map, size_t thread,
                        const struct numalab_location *location)
{
    size_t *last = &map->last_origin[thread];
    if (*last < map->origin_count && is_origin(&map->origin[*last], thread, location)) return *last;
    if (map->origin_count >= MAX_THREADS) location = &unknown;
    size_t i = 0;
    while (i < map->origin_count && !is_origin(&map->origin[i], thread, location)) i++;
    if (i == map->origin_count)
        map->origin[map->origin_count++] = (struct origin){thread, *location};
    return *last = i;
}

static void note_access(struct numalab_touch_map *map, uint64_t address, size_t origin,
                        bool is_write)
{
    struct page_record *page = page_at(map, address);
    if (!page) return;
    if (is_write && page->first_writer < 0) page->first_writer = (int)origin;
    if (map->is_computing) page->users[origin / WORD_BITS] |= (uint64_t)1 << (origin % WORD_BITS);
}

/* ---- pages that are closed again -------------------------------------------- */

static int note_again(struct numalab_touch_map *map, const struct reuse *reuse)
{
    if (map->again_count == map->again_room) {
        const size_t room = map->again_room ? 2 * map->again_room : 256;
        void *list = realloc(map->again, room * sizeof *map->again);
        if (!list) return -ENOMEM;
        map->again = list;
        map->again_room = room;
    }
    map->again[map->again_count++] = *reuse;
    return 0;
}

/* In a phase that computes a page is opened for a thread, or for others that wait for it, too: who
 * uses it is seen once more if it was closed. Of the thread that had opened it last only if it had
 * used it: one that is stopped before it comes to that faults again and has done nothing. Returns 0
 * or -ENOMEM. */
static int note_opened(struct numalab_touch_map *map, const struct pending_fault *fault)
{
    size_t place;
    struct traced_array *array = array_of_page(map, fault->page_address, &place);
    if (!array) return 0;
    struct page_record *page = &array->page[place];
    const int thread = (int)fault->thread;
    const struct reuse reuse = {(size_t)(array - map->array), page->first_writer,
                                (int)fault->origin};
    const bool is_seen = page->was_closed && (page->opener != thread || page->has_opener_used_it);
    page->opener = thread;
    page->has_opener_used_it = false;
    map->last_page[fault->thread] = fault->page_address;
    numalab_page_rearm_note(map->rearm, array->first_closed + place);
    return is_seen ? note_again(map, &reuse) : 0;
}

static const void *content_of(struct numalab_touch_map *map, uint64_t page_address)
{
    size_t place;
    const struct traced_array *array =
        map->is_computing ? array_of_page(map, page_address, &place) : NULL;
    return array ? numalab_page_rearm_content(map->rearm, array->first_closed + place)
                 : map->zero_page;
}

/* Returns 0, or -1 with the worker's outcome set. */
static int close_again(struct numalab_touch_map *map)
{
    size_t count, array = 0;
    const size_t *open = numalab_page_rearm_list_open(map->rearm, &count);
    for (size_t i = 0; i < count; i++) {
        while (array > 0 && open[i] < map->array[array].first_closed) array--;
        while (array + 1 < map->array_count && open[i] >= map->array[array + 1].first_closed)
            array++;
        const struct traced_array *of = &map->array[array];
        struct page_record *page = &of->page[open[i] - of->first_closed];
        const uint64_t address =
            of->address +
            numalab_sample_page(&of->sample, open[i] - of->first_closed) * map->page_bytes;
        page->was_closed = true;
        page->has_opener_used_it = map->last_page[page->opener] != address;
    }
    map->pending_count = 0; /* who stood still in a fault comes again */
    if (map->sampler) {
        if (numalab_worker_stop(map->worker) < 0) return -1;
        numalab_activity_sampler_begin(map->sampler);
    }
    return numalab_page_rearm_run(map->rearm, map->worker);
}

/* Whether nobody is answered yet, since it is not known what others do. */
static bool is_sampling(struct numalab_touch_map *map)
{
    if (!map->sampler || !map->sampler->is_pending) return false;
    for (size_t i = 0; i < map->pending_count; i++)
        numalab_activity_sampler_note(map->sampler, map->thread_id[map->pending[i].thread]);
    return numalab_activity_sampler_update(map->sampler);
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

    note_access(map, fault->page_address, fault->origin, is_write);
    if (map->is_computing && note_opened(map, fault) < 0) return -ENOMEM;
    if (fault->flags & UFFD_PAGEFAULT_FLAG_WP) {
        struct uffdio_writeprotect unprotect = {.range = range};
        failed = ioctl(map->fd, UFFDIO_WRITEPROTECT, &unprotect) < 0;
    } else {
        struct uffdio_copy copy = {.dst = range.start,
                                   .src = (uint64_t)(uintptr_t)content_of(map, fault->page_address),
                                   .len = range.len};
        if (!is_write && !map->is_computing && map->detects_write_after_read)
            copy.mode = UFFDIO_COPY_MODE_WP;
        failed = ioctl(map->fd, UFFDIO_COPY, &copy) < 0;
    }
    map->active_until_s[fault->thread] = numalab_now_s() + grace_s;
    map->checked_cpu_s[fault->thread] = -1.0;
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
        if (goes_first(map, i, fault->thread) && map->active_until_s[i] > until_s)
            until_s = map->active_until_s[i];
    return until_s;
}

/* Whether a thread whose grace is over, and that waits for no answer, still has
 * something to do. */
static bool is_active(struct numalab_touch_map *map, size_t thread)
{
    double before_s = map->checked_cpu_s[thread];
    if (!numalab_threads_is_runnable(map->pid, map->thread_id[thread])) return false;
    double cpu_s = numalab_threads_cpu_s(map->pid, map->thread_id[thread]);
    if (before_s < 0) map->checked_cpu_s[thread] = cpu_s;
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
        if (!goes_first(map, i, fault->thread) || map->active_until_s[i] == 0.0) continue;
        bool busy = is_active(map, i);
        map->active_until_s[i] = busy ? numalab_now_s() + grace_s : 0.0;
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

/* Never waits, where Linux (6.10) lets us say so: the worker has the descriptor, too, and could
 * make it one that waits. */
static ssize_t read_now(int fd, void *buffer, size_t bytes)
{
    const struct iovec room = {.iov_base = buffer, .iov_len = bytes};
    const ssize_t got = preadv2(fd, &room, 1, -1, RWF_NOWAIT);
    return got < 0 && errno == EOPNOTSUPP ? read(fd, buffer, bytes) : got;
}

static int take_messages(struct numalab_touch_map *map)
{
    enum { MOST_READS = 256 };
    for (int reads = 0; reads < MOST_READS; reads++) {
        struct uffd_msg message[16];
        ssize_t got = read_now(map->fd, message, sizeof message);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return errno == EAGAIN ? 0 : -errno;
        if (got == 0) return 0;
        for (size_t i = 0; i < (size_t)got / sizeof message[0]; i++) {
            if (message[i].event != UFFD_EVENT_PAGEFAULT) continue;
            size_t thread = thread_of_id(map, (pid_t)message[i].arg.pagefault.feat.ptid);
            /* Now, while it stands in its fault: once it is answered it may be moved. */
            const struct numalab_location location = locate(map, thread);
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
                .origin = origin_at(map, thread, &location),
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
static int drop_answered(struct numalab_touch_map *map, size_t answered)
{
    const uint64_t page_address = map->pending[answered].page_address;
    size_t kept = 0;
    int error = 0;
    for (size_t i = 0; i < map->pending_count; i++) {
        if (i == answered) continue;
        if (map->pending[i].page_address != page_address) {
            map->pending[kept++] = map->pending[i];
            continue;
        }
        note_access(map, page_address, map->pending[i].origin, false);
        if (map->is_computing && error == 0) error = note_opened(map, &map->pending[i]);
    }
    map->pending_count = kept;
    return error;
}

/* Whether it is time to. Where threads are held back others show themselves anyway, and to close
 * what is open would begin the waiting anew. */
static bool closes_again(const struct numalab_touch_map *map, bool has_faults)
{
    return map->is_computing && map->order == NUMALAB_ORDER_NATURAL &&
           numalab_page_rearm_is_due(map->rearm, has_faults);
}

static int serve_faults(void *context)
{
    enum { MOST_ANSWERS = 256 }; /* then somebody looks at the deadline again */
    struct numalab_touch_map *map = context;
    int error = take_messages(map);
    map->is_holding_over = numalab_now_s() > map->phase_start_s + holding_s;
    if (error == 0 && is_sampling(map)) return 0;
    if (error == 0 && closes_again(map, map->pending_count > 0)) return close_again(map);
    for (int answers = 0; error == 0 && map->pending_count && answers < MOST_ANSWERS; answers++) {
        size_t i = next_pending(map);
        if (held_until_s(map, &map->pending[i]) > numalab_now_s()) break;
        if (prolong_holds(map, &map->pending[i])) break;
        struct pending_fault fault = map->pending[i];
        error = answer(map, &fault);
        const int dropped = drop_answered(map, i);
        if (error == 0) error = dropped;
        if (error == 0 && closes_again(map, false)) return close_again(map);
    }
    return error;
}

static int next_answer_ms(void *context)
{
    const struct numalab_touch_map *map = context;
    if (map->sampler && map->sampler->is_pending) return 1;
    if (!map->pending_count)
        return map->is_computing && map->order == NUMALAB_ORDER_NATURAL
                   ? numalab_page_rearm_wait_ms(map->rearm)
                   : -1;
    double wait_s = held_until_s(map, &map->pending[next_pending(map)]) - numalab_now_s();
    return wait_s <= 0 ? 0 : 1 + (int)(1e3 * wait_s);
}

/* ---- userfaultfd: arming ----------------------------------------------------- */

static int enable(struct numalab_touch_map *map)
{
    const uint64_t wanted[] = {
#ifdef UFFD_FEATURE_WP_HUGETLBFS_SHMEM
        UFFD_FEATURE_THREAD_ID | UFFD_FEATURE_MISSING_SHMEM | UFFD_FEATURE_PAGEFAULT_FLAG_WP |
            UFFD_FEATURE_WP_HUGETLBFS_SHMEM,
#endif
        UFFD_FEATURE_THREAD_ID | UFFD_FEATURE_MISSING_SHMEM,
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        struct uffdio_api api = {.api = UFFD_API, .features = wanted[i]};
        if (ioctl(map->fd, UFFDIO_API, &api) == 0) {
            map->detects_write_after_read = wanted[i] & UFFD_FEATURE_PAGEFAULT_FLAG_WP;
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
    numalab_page_rearm_free(map->rearm);
    if (map->fd >= 0) close(map->fd);
    free(map->again);
    free(map->pending);
    free(map->zero_page);
    free(map);
}

/* Where an array begins in the file that holds them all (worker/arrays.h). */
static uint64_t file_offset_of(const struct numalab_worker *worker, size_t array,
                               uint64_t page_bytes)
{
    uint64_t pages = 0;
    for (size_t i = 0; i < array; i++)
        pages += worker->bytes[i] ? (worker->bytes[i] + page_bytes - 1) / page_bytes : 1;
    return pages * page_bytes;
}

static struct numalab_touch_map *
create(const struct numalab_worker *worker, const struct numalab_node *node,
       const struct numalab_driver *driver, const struct numalab_sampling *sampling,
       enum numalab_touch_order order, enum numalab_touch_method method)
{
    struct numalab_touch_map *map = calloc(1, sizeof *map);
    if (!map) return NULL;
    map->method = method;
    map->order = order;
    map->fd = -1;
    map->pid = worker->pid;
    map->node = node;
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
        array->file_offset = file_offset_of(worker, i, map->page_bytes);
        array->sample = sample[i];
    }
    for (size_t i = 0; i < map->array_count; i++) {
        struct traced_array *array = &map->array[i];
        array->page = calloc(array->sample.traced_count, sizeof *array->page);
        if (!array->page) goto no_memory;
        for (size_t k = 0; k < array->sample.traced_count; k++)
            array->page[k].first_writer = array->page[k].opener = -1;
        array->first_closed = map->closed_count;
        map->closed_count += array->sample.traced_count;
    }
    return map;
no_memory:
    numalab_touch_map_close(map);
    return NULL;
}

struct numalab_touch_map *
numalab_touch_map_open(struct numalab_worker *worker, const struct numalab_node *node,
                       const struct numalab_driver *driver, const struct numalab_sampling *sampling,
                       enum numalab_touch_order order, enum numalab_touch_method method)
{
    struct numalab_touch_map *map = create(worker, node, driver, sampling, order, method);
    if (!map) {
        numalab_worker_kit_error(worker, "make the touch map", -ENOMEM);
        return NULL;
    }
    if (method == NUMALAB_TOUCH_IN_PROCESS) return map;

    struct numalab_message reply;
    if (numalab_worker_request(worker, NUMALAB_OPEN_USERFAULTFD, &reply, &map->fd) < 0) {
        numalab_touch_map_close(map);
        return NULL;
    }
    if (reply.error == 0 && map->fd >= 0 && enable(map) == 0) return map;
    /* What a worker traces of itself its kernel can forge, and so can it that there is no
     * userfaultfd: the system's word counts. */
    if (numalab_touch_map_probe() == 0) {
        numalab_worker_fail_as(worker, NUMALAB_UNTRACEABLE);
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
        if (numalab_worker_read_or_fail(worker, log + first * sizeof entry[0], entry,
                                        part * sizeof entry[0]) < 0)
            return -1;
        for (uint64_t i = 0; i < part; i++) {
            const size_t thread = thread_of_id(map, entry[i].thread_id);
            const struct numalab_location location =
                map->node
                    ? numalab_threads_location_of(map->node, entry[i].pu, entry[i].allowed_count)
                    : unknown;
            note_access(map, entry[i].address, origin_at(map, thread, &location),
                        entry[i].is_write);
        }
    }
    return 0;
}

static int run_trapped(struct numalab_touch_map *map, struct numalab_worker *worker,
                       const char *phase)
{
    struct numalab_message armed, disarmed;
    if (numalab_worker_request(worker,
                               map->is_computing ? NUMALAB_TRAP_COMPUTE : NUMALAB_TRAP_INITIALIZE,
                               &armed, NULL) < 0)
        return -1;
    if (armed.error < 0)
        return numalab_worker_fail_obstructed(worker, "trap page faults", armed.error);
    if (numalab_worker_run(worker, phase, NULL) < 0 ||
        numalab_worker_request(worker, NUMALAB_UNTRAP, &disarmed, NULL) < 0)
        return -1;
    return take_trap_log(map, worker, armed.trap_log, disarmed.trap_count);
}

/* ---- running a phase ------------------------------------------------------------ */

static int run_watched(struct numalab_touch_map *map, struct numalab_worker *worker,
                       const char *phase, uint64_t mode)
{
    struct numalab_watch watch = {
        .fd = map->fd, .serve = serve_faults, .timeout_ms = next_answer_ms, .context = map};
    int error = register_arrays(map, mode);
    if (error < 0 && error != -ENOMEM) /* the probe has shown that they could be */
        return numalab_worker_fail_as(worker, NUMALAB_UNTRACEABLE);
    if (error < 0) return numalab_worker_fail_obstructed(worker, "watch the pages", error);
    map->pending_count = 0;
    map->has_arrival = false;
    map->phase_start_s = numalab_now_s();
    memset(map->active_until_s, 0, sizeof map->active_until_s);
    map->worker = worker;
    int failed = numalab_worker_run(worker, phase, &watch);
    unregister_arrays(map);
    return failed;
}

int numalab_touch_map_run_initialize(struct numalab_touch_map *map, struct numalab_worker *worker,
                                     const char *phase)
{
    map->is_computing = false;
    if (map->method == NUMALAB_TOUCH_IN_PROCESS) return run_trapped(map, worker, phase);
    return run_watched(map, worker, phase,
                       UFFDIO_REGISTER_MODE_MISSING |
                           (map->detects_write_after_read ? UFFDIO_REGISTER_MODE_WP : 0u));
}

/* Closes all pages: no thread has opened one, and none has been closed since. */
static int close_all(struct numalab_touch_map *map, struct numalab_worker *worker)
{
    struct numalab_rearm_page *list = NULL;
    if (!map->rearm) {
        list = calloc(map->closed_count + 1, sizeof *list);
        if (!list) return numalab_worker_kit_error(worker, "keep pages", -ENOMEM);
    }
    for (size_t i = 0; i < map->array_count; i++) {
        const struct traced_array *array = &map->array[i];
        for (size_t k = 0; k < array->sample.traced_count; k++) {
            const uint64_t offset = numalab_sample_page(&array->sample, k) * map->page_bytes;
            array->page[k].opener = -1;
            array->page[k].was_closed = array->page[k].has_opener_used_it = false;
            if (list)
                list[array->first_closed + k] = (struct numalab_rearm_page){
                    array->address + offset, array->file_offset + offset};
        }
    }
    memset(map->last_page, 0, sizeof map->last_page);
    if (list) map->rearm = numalab_page_rearm_create(worker, list, map->closed_count, map->team);
    free(list);
    if (!map->rearm) return -1;
    if (map->rearm_interval_s > 0)
        numalab_page_rearm_set_interval(map->rearm, map->rearm_interval_s);
    return numalab_page_rearm_begin(map->rearm, worker);
}

int numalab_touch_map_run_compute(struct numalab_touch_map *map, struct numalab_worker *worker,
                                  const char *phase)
{
    map->is_computing = true;
    if (map->method == NUMALAB_TOUCH_IN_PROCESS) return run_trapped(map, worker, phase);
    if (close_all(map, worker) < 0) return -1;
    if (run_watched(map, worker, phase, UFFDIO_REGISTER_MODE_MISSING) < 0) return -1;
    const int error = numalab_page_rearm_end(map->rearm);
    return error < 0 ? numalab_worker_fail_obstructed(worker, "give pages back", error) : 0;
}

void numalab_touch_map_sample_activity(struct numalab_touch_map *map,
                                       struct numalab_activity_sampler *sampler, double interval_s)
{
    map->sampler = sampler;
    map->rearm_interval_s = interval_s;
}

size_t numalab_touch_map_moments(const struct numalab_touch_map *map)
{
    return map->rearm ? numalab_page_rearm_count(map->rearm) : 0;
}

/* ---- what a record says ----------------------------------------------------------- */

/* The pages of an array, and what an origin is called in a record: its thread's number, or its own.
 */
struct described_pages {
    const struct numalab_touch_map *map;
    const struct page_record *page;
    const int *number; /* of each origin here */
    int end;           /* above all of them */
};

static int writer_of(const struct described_pages *described, size_t page)
{
    const int writer = described->page[page].first_writer;
    return writer < 0 ? -1 : described->number[writer];
}

static bool has_same_writer(const void *pages, size_t a, size_t b)
{
    return writer_of(pages, a) == writer_of(pages, b);
}

static json_t *describe_writer(const void *pages, size_t i)
{
    return json_integer(writer_of(pages, i));
}

/* Sets a bit for each number of a page's users. */
static void users_of(const struct described_pages *described, size_t page,
                     uint64_t bits[NUMBER_WORDS])
{
    const uint64_t *users = described->page[page].users;
    memset(bits, 0, NUMBER_WORDS * sizeof *bits);
    for (size_t origin = 0; origin < described->map->origin_count; origin++) {
        if (!(users[origin / WORD_BITS] >> (origin % WORD_BITS) & 1)) continue;
        const size_t number = (size_t)described->number[origin];
        bits[number / WORD_BITS] |= (uint64_t)1 << (number % WORD_BITS);
    }
}

static bool has_same_users(const void *pages, size_t a, size_t b)
{
    const struct described_pages *described = pages;
    const struct page_record *page = described->page;
    if (memcmp(page[a].users, page[b].users, sizeof page[a].users) == 0) return true;
    uint64_t of_a[NUMBER_WORDS], of_b[NUMBER_WORDS];
    users_of(described, a, of_a);
    users_of(described, b, of_b);
    return memcmp(of_a, of_b, sizeof of_a) == 0;
}

static json_t *describe_users(const void *pages, size_t i)
{
    const struct described_pages *described = pages;
    uint64_t bits[NUMBER_WORDS];
    json_t *list = json_array();
    users_of(described, i, bits);
    for (int number = 0; number < described->end; number++)
        if (bits[number / WORD_BITS] >> (number % WORD_BITS) & 1)
            json_array_append_new(list, json_integer(number));
    return list;
}

static int compare_reuse(const void *first, const void *second)
{
    const struct reuse *a = first, *b = second;
    if (a->array != b->array) return a->array < b->array ? -1 : 1;
    if (a->writer != b->writer) return a->writer < b->writer ? -1 : 1;
    return (a->user > b->user) - (a->user < b->user);
}

/* [first writer, user, times] of an array's pages that were closed again. Returns NULL without
 * memory. */
static json_t *describe_again(const struct numalab_touch_map *map, size_t array, const int *number)
{
    json_t *list = json_array();
    struct reuse *reuse = malloc((map->again_count + 1) * sizeof *reuse);
    size_t count = 0;
    for (size_t i = 0; reuse && i < map->again_count; i++) {
        if (map->again[i].array != array) continue;
        const int writer = map->again[i].writer;
        reuse[count++] =
            (struct reuse){array, writer < 0 ? -1 : number[writer], number[map->again[i].user]};
    }
    if (count) qsort(reuse, count, sizeof *reuse, compare_reuse);
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i; next < count && compare_reuse(&reuse[i], &reuse[next]) == 0;) next++;
        json_array_append_new(
            list, json_pack("[iiI]", reuse[i].writer, reuse[i].user, (json_int_t)(next - i)));
    }
    free(reuse);
    return list;
}

/* What is said of an array's pages by threads, or by origins. */
struct naming {
    const char *first_writer, *users, *used_again;
    const int *number; /* of each origin here */
    int end;
};

static void describe_pages(const struct numalab_touch_map *map, const struct traced_array *array,
                           const struct naming *naming, json_t *entry)
{
    const struct described_pages pages = {map, array->page, naming->number, naming->end};
    const size_t count = array->sample.traced_count;
    const struct numalab_list writers = {&pages, count, has_same_writer, describe_writer};
    const struct numalab_list users = {&pages, count, has_same_users, describe_users};
    json_object_set_new(entry, naming->first_writer, numalab_record_list(&writers));
    json_object_set_new(entry, naming->users, numalab_record_list(&users));
    if (map->rearm)
        json_object_set_new(entry, naming->used_again,
                            describe_again(map, (size_t)(array - map->array), naming->number));
}

static json_t *describe_origins(const struct numalab_touch_map *map, const int *thread)
{
    json_t *list = json_array();
    for (size_t i = 0; i < map->origin_count; i++) {
        const struct numalab_location *location = &map->origin[i].location;
        json_array_append_new(list,
                              json_pack("{si si si si}", "thread", thread[i], "pu", location->pu,
                                        "core", location->core, "numa_node", location->numa_node));
    }
    return list;
}

static json_t *describe_array(const struct numalab_touch_map *map, const struct traced_array *array,
                              const struct naming *threads, const struct naming *origins)
{
    json_t *entry = json_pack("{ss}", "array", array->name);
    describe_pages(map, array, threads, entry);
    describe_pages(map, array, origins, entry);
    numalab_sample_describe(&array->sample, entry);
    return entry;
}

json_t *numalab_touch_map_describe(struct numalab_touch_map *map,
                                   const struct numalab_threads *threads)
{
    int number[MAX_THREADS], thread_of[MAX_ORIGINS], itself[MAX_ORIGINS];

    /* Threads that have ended get numbers after those that are still there. */
    int next_number = (int)threads->count;
    for (size_t i = 0; i < map->thread_count; i++) {
        number[i] = numalab_threads_number(threads, map->thread_id[i]);
        if (number[i] < 0) number[i] = next_number++;
    }
    for (size_t i = 0; i < map->origin_count; i++) {
        thread_of[i] = number[map->origin[i].thread];
        itself[i] = (int)i;
    }
    const struct naming by_thread = {"first_writer", "users", "used_again", thread_of, next_number};
    const struct naming by_origin = {"written_from", "used_from", "used_again_from", itself,
                                     (int)map->origin_count};
    json_t *arrays = json_array();
    for (size_t i = 0; i < map->array_count; i++)
        json_array_append_new(arrays, describe_array(map, &map->array[i], &by_thread, &by_origin));
    /* The in-process way has to know reads from writes. */
#if defined(__x86_64__)
    const bool trap_tells = true;
#else
    const bool trap_tells = false;
#endif
    json_t *record = json_pack(
        "{ss ss sb so so}", "method", method_names[map->method], "order", order_names[map->order],
        "sees_write_after_read",
        (int)(map->method == NUMALAB_TOUCH_IN_PROCESS ? trap_tells : map->detects_write_after_read),
        "origins", describe_origins(map, thread_of), "arrays", arrays);
    if (map->rearm)
        json_object_set_new(record, "closings",
                            json_integer((json_int_t)numalab_page_rearm_count(map->rearm)));
    return record;
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
                               UFFDIO_REGISTER_MODE_MISSING);
    if (memory != MAP_FAILED) munmap(memory, map.page_bytes);
    if (file >= 0) close(file);
    close(map.fd);
    return error;
}
