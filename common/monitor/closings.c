#define _GNU_SOURCE
#include "closings.h"

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

/* So long nobody has faulted: a thread works on what is open. */
static const double quiet_s = 2e-3;

/* The longest wait behind an answer, in which a thread comes to use what it waited for. */
static const double most_delay_s = 10e-6;

static const uint64_t pagemap_present = (uint64_t)1 << 63;

struct numalab_closings {
    int file;    /* the worker's, that holds its arrays */
    int pagemap; /* of the worker, or -1 */
    size_t page_bytes, page_count;
    struct numalab_closed_page *page;
    bool *is_closed;     /* of each */
    unsigned char *kept; /* a page for each; memory for those that were closed only */
    struct numalab_random random;

    size_t *open, open_count; /* those that were opened, room for all */
    size_t gap, answers_left, of_phase, count;
    bool is_behind_answer; /* the next moment is */
    double interval_s;     /* by the clock; 0: only where nobody has faulted for a while */
    double due_s;          /* when it is time by it */
};

static double fraction(struct numalab_closings *closings)
{
    return numalab_fraction(numalab_random_next(&closings->random));
}

static void draw_next(struct numalab_closings *closings)
{
    const uint64_t random = numalab_random_next(&closings->random);
    closings->answers_left = closings->gap / 2 + 1 + (size_t)((random >> 1) % closings->gap);
    closings->is_behind_answer = random & 1;
}

static void set_clock(struct numalab_closings *closings)
{
    const double interval_s = closings->interval_s > 0 ? closings->interval_s : quiet_s;
    closings->due_s = numalab_now_s() + interval_s * (0.5 + fraction(closings));
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

static int no_memory(struct numalab_worker *worker)
{
    return numalab_worker_kit_error(worker, "keep pages", -ENOMEM);
}

/* The worker has given another file than its arrays lie in, or has changed that one. */
static int note_forgery(struct numalab_worker *worker)
{
    worker->outcome.kind = NUMALAB_BAD_PROTOCOL;
    return -1;
}

static int open_all(struct numalab_closings *closings, struct numalab_worker *worker,
                    const struct numalab_closed_page *list)
{
    struct numalab_message reply;
    char path[64];
    const size_t count = closings->page_count;
    if (numalab_worker_ask(worker, NUMALAB_OPEN_FILE, &reply, &closings->file) < 0) return -1;
    if (reply.error < 0 || closings->file < 0 || !is_memory_file(closings->file))
        return note_forgery(worker);
    snprintf(path, sizeof path, "/proc/%d/pagemap", (int)worker->pid);
    closings->pagemap = open(path, O_RDONLY | O_CLOEXEC);
    int error = numalab_random_open(&closings->random);
    if (error < 0) return numalab_worker_kit_error(worker, "draw random numbers", error);
    closings->page = calloc(count + 1, sizeof *closings->page);
    closings->is_closed = calloc(count + 1, sizeof *closings->is_closed);
    closings->open = calloc(count + 1, sizeof *closings->open);
    void *kept = mmap(NULL, (count + 1) * closings->page_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (kept != MAP_FAILED) closings->kept = kept;
    if (!closings->page || !closings->is_closed || !closings->open || !closings->kept)
        return no_memory(worker);
    memcpy(closings->page, list, count * sizeof *list);
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

struct numalab_closings *numalab_closings_open(struct numalab_worker *worker,
                                               const struct numalab_closed_page *list, size_t count,
                                               size_t team)
{
    struct numalab_closings *closings = calloc(1, sizeof *closings);
    if (!closings) {
        no_memory(worker);
        return NULL;
    }
    closings->file = closings->pagemap = -1;
    closings->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    closings->page_count = count;
    closings->gap = gap_of(count, team);
    if (open_all(closings, worker, list) == 0) return closings;
    numalab_closings_free(closings);
    return NULL;
}

void numalab_closings_free(struct numalab_closings *closings)
{
    if (!closings) return;
    if (closings->file >= 0) close(closings->file);
    if (closings->pagemap >= 0) close(closings->pagemap);
    if (closings->kept) munmap(closings->kept, (closings->page_count + 1) * closings->page_bytes);
    free(closings->page);
    free(closings->is_closed);
    free(closings->open);
    free(closings);
}

/* Pages of the list of all that follow each other in the file and in the worker's memory, too. */
struct run_of_pages {
    size_t first, count;
};

/* The one that begins where list, or the list of all, has its element number from. */
static struct run_of_pages run_from(const struct numalab_closings *closings, const size_t *list,
                                    size_t from, size_t count)
{
    struct run_of_pages run = {.first = list ? list[from] : from, .count = 1};
    for (size_t i = from + 1; i < count; i++, run.count++) {
        const size_t page = run.first + run.count;
        const struct numalab_closed_page *before = &closings->page[page - 1];
        if (list && list[i] != page) break;
        if (before[1].file_offset != before->file_offset + closings->page_bytes ||
            before[1].address != before->address + closings->page_bytes)
            break;
    }
    return run;
}

/* Puts pages away. Returns whether the file had them. */
static bool keep(struct numalab_closings *closings, const struct run_of_pages *run)
{
    const size_t bytes = run->count * closings->page_bytes;
    const off_t offset = (off_t)closings->page[run->first].file_offset;
    unsigned char *kept = closings->kept + run->first * closings->page_bytes;
    for (size_t i = 0; i < run->count; i++) closings->is_closed[run->first + i] = true;
    return pread(closings->file, kept, bytes, offset) == (ssize_t)bytes &&
           fallocate(closings->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset,
                     (off_t)bytes) == 0;
}

/* Whether the worker does not see them any more; where nobody can look, they are taken to. */
static bool are_gone(const struct numalab_closings *closings, const struct run_of_pages *run)
{
    enum { AT_ONCE = 64 };
    uint64_t entry[AT_ONCE];
    const uint64_t number = closings->page[run->first].address / closings->page_bytes;
    if (closings->pagemap < 0) return true;
    for (size_t done = 0; done < run->count;) {
        const size_t left = run->count - done, count = left < AT_ONCE ? left : AT_ONCE;
        const off_t offset = (off_t)((number + done) * sizeof entry[0]);
        const ssize_t got = pread(closings->pagemap, entry, count * sizeof entry[0], offset);
        if (got != (ssize_t)(count * sizeof entry[0])) return true;
        for (size_t i = 0; i < count; i++)
            if (entry[i] & pagemap_present) return false;
        done += count;
    }
    return true;
}

static int by_number(const void *a, const void *b)
{
    const size_t first = *(const size_t *)a, second = *(const size_t *)b;
    return (first > second) - (first < second);
}

/* Of a worker that stands still. list: which is put in order; NULL: the first so many. */
static int close_pages(struct numalab_closings *closings, struct numalab_worker *worker,
                       size_t *list, size_t count)
{
    if (list) qsort(list, count, sizeof *list, by_number);
    for (size_t i = 0; i < count;) {
        const struct run_of_pages run = run_from(closings, list, i, count);
        if (!keep(closings, &run) || !are_gone(closings, &run)) return note_forgery(worker);
        i += run.count;
    }
    closings->open_count = 0;
    draw_next(closings);
    set_clock(closings);
    return 0;
}

void numalab_closings_by_clock(struct numalab_closings *closings, double interval_s)
{
    closings->interval_s = interval_s;
}

int numalab_closings_begin(struct numalab_closings *closings, struct numalab_worker *worker)
{
    closings->of_phase = 0;
    if (numalab_worker_stop(worker) < 0 ||
        close_pages(closings, worker, NULL, closings->page_count) < 0)
        return -1;
    return numalab_worker_continue(worker);
}

int numalab_closings_end(struct numalab_closings *closings)
{
    const size_t bytes = closings->page_bytes;
    /* The list of those that are open is not needed any more. */
    size_t *closed = closings->open, count = 0;
    closings->open_count = 0;
    for (size_t page = 0; page < closings->page_count; page++)
        if (closings->is_closed[page]) closed[count++] = page;
    for (size_t i = 0; i < count;) {
        const struct run_of_pages run = run_from(closings, closed, i, count);
        const ssize_t written =
            pwrite(closings->file, closings->kept + run.first * bytes, run.count * bytes,
                   (off_t)closings->page[run.first].file_offset);
        if (written != (ssize_t)(run.count * bytes)) return written < 0 ? -errno : -EIO;
        for (size_t k = 0; k < run.count; k++) closings->is_closed[run.first + k] = false;
        i += run.count;
    }
    return 0;
}

void numalab_closings_note(struct numalab_closings *closings, size_t page)
{
    if (!closings->is_closed[page]) return; /* answered before */
    closings->is_closed[page] = false;
    closings->open[closings->open_count++] = page;
    if (closings->interval_s > 0) return;
    if (closings->answers_left) closings->answers_left--;
    set_clock(closings);
}

bool numalab_closings_is_due(const struct numalab_closings *closings, bool has_faults)
{
    if (!closings->open_count || closings->of_phase == MOST_MOMENTS) return false;
    if (closings->interval_s > 0) return numalab_now_s() > closings->due_s;
    if (closings->answers_left == 0 && (closings->is_behind_answer || has_faults)) return true;
    return !has_faults && numalab_now_s() > closings->due_s;
}

int numalab_closings_close(struct numalab_closings *closings, struct numalab_worker *worker)
{
    if (closings->interval_s <= 0 && closings->answers_left == 0 && closings->is_behind_answer) {
        const double until_s = numalab_now_s() + most_delay_s * fraction(closings);
        while (numalab_now_s() < until_s) continue;
    }
    if (numalab_worker_stop(worker) < 0 ||
        close_pages(closings, worker, closings->open, closings->open_count) < 0)
        return -1;
    closings->of_phase++;
    closings->count++;
    return numalab_worker_continue(worker);
}

int numalab_closings_wait_ms(const struct numalab_closings *closings)
{
    if (!closings->open_count || closings->of_phase == MOST_MOMENTS) return -1;
    const double wait_s = closings->due_s - numalab_now_s();
    return wait_s <= 0 ? 0 : 1 + (int)(1e3 * wait_s);
}

const size_t *numalab_closings_open_pages(const struct numalab_closings *closings, size_t *count)
{
    *count = closings->open_count;
    return closings->open;
}

const void *numalab_closings_content(const struct numalab_closings *closings, size_t page)
{
    return closings->kept + page * closings->page_bytes;
}

size_t numalab_closings_count(const struct numalab_closings *closings)
{
    return closings->count;
}
