#define _GNU_SOURCE
#include "page_rearm.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "numalab/random.h"
#include "random.h"

/* Answers between two moments, on average: at least so many, and as many for each thread of the
 * team, so that it gets on with what takes several pages at once, as long as there are
 * LEAST_MOMENTS in a phase; more where many pages are traced, so that a phase has about MOMENTS.
 * MOST of them in a phase, which then is only watched. */
enum {
    LEAST_GAP = 16,
    LEAST_GAP_OF_THREAD = 4,
    LEAST_MOMENTS = 32,
    MOMENTS = 128,
    MOST_MOMENTS = 384
};

/* If no thread faults for that long, threads work on pages that are already open. */
static const double quiet_s = 2e-3;

/* The longest wait behind an answer, in which a thread comes to use what it waited for. */
static const double most_delay_s = 10e-6;

static const uint64_t pagemap_present = (uint64_t)1 << 63;

struct numalab_page_rearm {
    int file;    /* the worker's, that holds its arrays */
    int pagemap; /* of the worker, or -1 */
    size_t page_bytes, page_count;
    struct numalab_rearm_page *page;
    bool *is_closed;     /* of each */
    unsigned char *kept; /* a page for each; memory for those that were closed only */
    struct numalab_random random;

    size_t *open_pages, open_count; /* those that were opened, room for all */
    size_t gap, answers_left, phase_count, count;
    bool is_behind_answer; /* the next moment is */
    double interval_s;     /* by the clock; 0: only where nobody has faulted for a while */
    double due_s;          /* when it is time by it */
};

static double fraction(struct numalab_page_rearm *rearm)
{
    return numalab_fraction(numalab_random_next(&rearm->random));
}

static void draw_next(struct numalab_page_rearm *rearm)
{
    const uint64_t random = numalab_random_next(&rearm->random);
    rearm->answers_left = rearm->gap / 2 + 1 + (size_t)((random >> 1) % rearm->gap);
    rearm->is_behind_answer = random & 1;
}

static void set_clock(struct numalab_page_rearm *rearm)
{
    const double interval_s = rearm->interval_s > 0 ? rearm->interval_s : quiet_s;
    rearm->due_s = numalab_now_s() + interval_s * (0.5 + fraction(rearm));
}

/* Whether a descriptor is what it should be: a file that is in memory, so that nothing which is
 * done with it waits for anybody. */
static bool is_memory_file(int file)
{
    struct stat status;
    struct statfs system;
    return fstat(file, &status) == 0 && S_ISREG(status.st_mode) && fstatfs(file, &system) == 0 &&
           system.f_type == TMPFS_MAGIC;
}

static int fail_no_memory(struct numalab_worker *worker)
{
    return numalab_worker_kit_error(worker, "keep pages", -ENOMEM);
}

/* The worker has given another file than its arrays lie in, or has changed that one. */
static int note_forgery(struct numalab_worker *worker)
{
    return numalab_worker_fail_as(worker, NUMALAB_BAD_PROTOCOL);
}

static int set_up(struct numalab_page_rearm *rearm, struct numalab_worker *worker,
                  const struct numalab_rearm_page *list)
{
    struct numalab_message reply;
    char path[64];
    const size_t count = rearm->page_count;
    if (numalab_worker_request(worker, NUMALAB_OPEN_FILE, &reply, &rearm->file) < 0) return -1;
    if (reply.error < 0 || rearm->file < 0 || !is_memory_file(rearm->file))
        return note_forgery(worker);
    snprintf(path, sizeof path, "/proc/%d/pagemap", (int)worker->pid);
    rearm->pagemap = open(path, O_RDONLY | O_CLOEXEC);
    int error = numalab_random_open(&rearm->random);
    if (error < 0) return numalab_worker_kit_error(worker, "draw random numbers", error);
    rearm->page = calloc(count + 1, sizeof *rearm->page);
    rearm->is_closed = calloc(count + 1, sizeof *rearm->is_closed);
    rearm->open_pages = calloc(count + 1, sizeof *rearm->open_pages);
    void *kept = mmap(NULL, (count + 1) * rearm->page_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (kept != MAP_FAILED) rearm->kept = kept;
    if (!rearm->page || !rearm->is_closed || !rearm->open_pages || !rearm->kept)
        return fail_no_memory(worker);
    memcpy(rearm->page, list, count * sizeof *list);
    return 0;
}

/* Of so many pages that are traced of all arrays. */
static size_t gap_of(size_t pages, size_t team)
{
    const size_t of_threads = team * LEAST_GAP_OF_THREAD, most = pages / LEAST_MOMENTS;
    size_t gap = of_threads < most ? of_threads : most;
    if (gap < LEAST_GAP) gap = LEAST_GAP;
    return gap > pages / MOMENTS ? gap : pages / MOMENTS;
}

struct numalab_page_rearm *numalab_page_rearm_create(struct numalab_worker *worker,
                                                     const struct numalab_rearm_page *list,
                                                     size_t count, size_t team)
{
    struct numalab_page_rearm *rearm = calloc(1, sizeof *rearm);
    if (!rearm) {
        fail_no_memory(worker);
        return NULL;
    }
    rearm->file = rearm->pagemap = -1;
    rearm->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    rearm->page_count = count;
    rearm->gap = gap_of(count, team);
    if (set_up(rearm, worker, list) == 0) return rearm;
    numalab_page_rearm_free(rearm);
    return NULL;
}

void numalab_page_rearm_free(struct numalab_page_rearm *rearm)
{
    if (!rearm) return;
    if (rearm->file >= 0) close(rearm->file);
    if (rearm->pagemap >= 0) close(rearm->pagemap);
    if (rearm->kept) munmap(rearm->kept, (rearm->page_count + 1) * rearm->page_bytes);
    free(rearm->page);
    free(rearm->is_closed);
    free(rearm->open_pages);
    free(rearm);
}

/* Pages of the list of all that follow each other in the file and in the worker's memory, too. */
struct run_of_pages {
    size_t first, count;
};

/* The one that begins where list, or the list of all, has its element number from. */
static struct run_of_pages find_run(const struct numalab_page_rearm *rearm, const size_t *list,
                                    size_t start, size_t count)
{
    struct run_of_pages run = {.first = list ? list[start] : start, .count = 1};
    for (size_t i = start + 1; i < count; i++, run.count++) {
        const size_t page = run.first + run.count;
        const struct numalab_rearm_page *before = &rearm->page[page - 1];
        if (list && list[i] != page) break;
        if (before[1].file_offset != before->file_offset + rearm->page_bytes ||
            before[1].address != before->address + rearm->page_bytes)
            break;
    }
    return run;
}

/* Puts pages away. Returns whether the file had them. */
static bool save_pages(struct numalab_page_rearm *rearm, const struct run_of_pages *run)
{
    const size_t bytes = run->count * rearm->page_bytes;
    const off_t offset = (off_t)rearm->page[run->first].file_offset;
    unsigned char *kept = rearm->kept + run->first * rearm->page_bytes;
    for (size_t i = 0; i < run->count; i++) rearm->is_closed[run->first + i] = true;
    return pread(rearm->file, kept, bytes, offset) == (ssize_t)bytes &&
           fallocate(rearm->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset,
                     (off_t)bytes) == 0;
}

/* Whether the worker does not see them any more; where nobody can look, they are taken to. */
static bool are_gone(const struct numalab_page_rearm *rearm, const struct run_of_pages *run)
{
    enum { BATCH = 64 };
    uint64_t entry[BATCH];
    const uint64_t number = rearm->page[run->first].address / rearm->page_bytes;
    if (rearm->pagemap < 0) return true;
    for (size_t done = 0; done < run->count;) {
        const size_t left = run->count - done, count = left < BATCH ? left : BATCH;
        const off_t offset = (off_t)((number + done) * sizeof entry[0]);
        const ssize_t got = pread(rearm->pagemap, entry, count * sizeof entry[0], offset);
        if (got != (ssize_t)(count * sizeof entry[0])) return true;
        for (size_t i = 0; i < count; i++)
            if (entry[i] & pagemap_present) return false;
        done += count;
    }
    return true;
}

static int compare_numbers(const void *a, const void *b)
{
    const size_t first = *(const size_t *)a, second = *(const size_t *)b;
    return (first > second) - (first < second);
}

/* Of a worker that stands still. list: which is put in order; NULL: the first so many. */
static int close_pages(struct numalab_page_rearm *rearm, struct numalab_worker *worker,
                       size_t *list, size_t count)
{
    if (list) qsort(list, count, sizeof *list, compare_numbers);
    for (size_t i = 0; i < count;) {
        const struct run_of_pages run = find_run(rearm, list, i, count);
        if (!save_pages(rearm, &run) || !are_gone(rearm, &run)) return note_forgery(worker);
        i += run.count;
    }
    rearm->open_count = 0;
    draw_next(rearm);
    set_clock(rearm);
    return 0;
}

void numalab_page_rearm_set_interval(struct numalab_page_rearm *rearm, double interval_s)
{
    rearm->interval_s = interval_s;
}

int numalab_page_rearm_begin(struct numalab_page_rearm *rearm, struct numalab_worker *worker)
{
    rearm->phase_count = 0;
    if (numalab_worker_stop(worker) < 0 || close_pages(rearm, worker, NULL, rearm->page_count) < 0)
        return -1;
    return numalab_worker_continue(worker);
}

int numalab_page_rearm_end(struct numalab_page_rearm *rearm)
{
    const size_t bytes = rearm->page_bytes;
    /* The list of those that are open is not needed any more. */
    size_t *closed = rearm->open_pages, count = 0;
    rearm->open_count = 0;
    for (size_t page = 0; page < rearm->page_count; page++)
        if (rearm->is_closed[page]) closed[count++] = page;
    for (size_t i = 0; i < count;) {
        const struct run_of_pages run = find_run(rearm, closed, i, count);
        const ssize_t written =
            pwrite(rearm->file, rearm->kept + run.first * bytes, run.count * bytes,
                   (off_t)rearm->page[run.first].file_offset);
        if (written != (ssize_t)(run.count * bytes)) return written < 0 ? -errno : -EIO;
        for (size_t k = 0; k < run.count; k++) rearm->is_closed[run.first + k] = false;
        i += run.count;
    }
    return 0;
}

void numalab_page_rearm_note(struct numalab_page_rearm *rearm, size_t page)
{
    if (!rearm->is_closed[page]) return; /* answered before */
    rearm->is_closed[page] = false;
    rearm->open_pages[rearm->open_count++] = page;
    if (rearm->interval_s > 0) return;
    if (rearm->answers_left) rearm->answers_left--;
    set_clock(rearm);
}

bool numalab_page_rearm_is_due(const struct numalab_page_rearm *rearm, bool has_faults)
{
    if (!rearm->open_count || rearm->phase_count == MOST_MOMENTS) return false;
    if (rearm->interval_s > 0) return numalab_now_s() > rearm->due_s;
    if (rearm->answers_left == 0 && (rearm->is_behind_answer || has_faults)) return true;
    return !has_faults && numalab_now_s() > rearm->due_s;
}

int numalab_page_rearm_run(struct numalab_page_rearm *rearm, struct numalab_worker *worker)
{
    if (rearm->interval_s <= 0 && rearm->answers_left == 0 && rearm->is_behind_answer) {
        const double until_s = numalab_now_s() + most_delay_s * fraction(rearm);
        while (numalab_now_s() < until_s) continue;
    }
    if (numalab_worker_stop(worker) < 0 ||
        close_pages(rearm, worker, rearm->open_pages, rearm->open_count) < 0)
        return -1;
    rearm->phase_count++;
    rearm->count++;
    return numalab_worker_continue(worker);
}

int numalab_page_rearm_wait_ms(const struct numalab_page_rearm *rearm)
{
    if (!rearm->open_count || rearm->phase_count == MOST_MOMENTS) return -1;
    const double wait_s = rearm->due_s - numalab_now_s();
    return wait_s <= 0 ? 0 : 1 + (int)(1e3 * wait_s);
}

const size_t *numalab_page_rearm_list_open(const struct numalab_page_rearm *rearm, size_t *count)
{
    *count = rearm->open_count;
    return rearm->open_pages;
}

const void *numalab_page_rearm_content(const struct numalab_page_rearm *rearm, size_t page)
{
    return rearm->kept + page * rearm->page_bytes;
}

size_t numalab_page_rearm_count(const struct numalab_page_rearm *rearm)
{
    return rearm->count;
}
