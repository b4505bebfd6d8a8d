#include "mapping.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proc.h"
#include "processes/requests.h"

/* Bytes of a file that a part of an array is. */
struct piece {
    char device[16];
    uint64_t inode, first, end;
    size_t array;
};

struct pieces {
    size_t count, room;
    struct piece *list;
};

static int add(struct pieces *pieces, const struct piece *piece)
{
    if (pieces->count == pieces->room) {
        const size_t room = pieces->room ? 2 * pieces->room : 16;
        struct piece *list = realloc(pieces->list, room * sizeof *list);
        if (!list) return -ENOMEM;
        pieces->list = list;
        pieces->room = room;
    }
    pieces->list[pieces->count++] = *piece;
    return 0;
}

/* Whether it is mapped of a file, or shared memory's: the first segment of System V in a namespace
 * has the number 0, on a device of its own. */
static bool is_of_file(const struct piece *mapping)
{
    return mapping->inode || strcmp(mapping->device, "00:00") != 0;
}

static int compare_pieces(const void *a, const void *b)
{
    const struct piece *one = a, *other = b;
    const int device = strcmp(one->device, other->device);
    if (device) return device;
    if (one->inode != other->inode) return one->inode < other->inode ? -1 : 1;
    return (one->first > other->first) - (one->first < other->first);
}

/* The arrays that a mapping from first to end overlaps. */
static int add_overlaps(const struct numalab_worker *worker, uint64_t first, uint64_t end,
                        uint64_t offset, const struct piece *mapping, struct pieces *pieces)
{
    for (size_t i = 0; i < worker->array_count; i++) {
        const uint64_t start = worker->address[i], stop = start + worker->bytes[i];
        if (worker->bytes[i] == 0 || first >= stop || end <= start) continue;
        struct piece piece = *mapping;
        piece.array = i;
        piece.first = offset + (start > first ? start - first : 0);
        piece.end = offset + (stop < end ? stop : end) - first;
        if (add(pieces, &piece) < 0) return -ENOMEM;
    }
    return 0;
}

/* All that arrays have of files. */
static int read_pieces(const struct numalab_worker *worker, struct pieces *pieces)
{
    char line[512];
    int error = 0;
    FILE *maps = numalab_proc_open(worker->pid, "maps");
    if (!maps) return -errno;
    while (!error && fgets(line, sizeof line, maps)) {
        uint64_t first, end, offset;
        struct piece mapping = {.inode = 0};
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*4s %" SCNx64 " %15s %" SCNu64, &first, &end,
                   &offset, mapping.device, &mapping.inode) == 5 &&
            is_of_file(&mapping))
            error = add_overlaps(worker, first, end, offset, &mapping, pieces);
    }
    fclose(maps);
    return error;
}

/* Notes the first array that is not what it should be. */
static void judge(const struct numalab_worker *worker, const struct pieces *pieces,
                  struct numalab_results *results)
{
    uint64_t reached = 0; /* in the file of the piece before */
    for (size_t i = 0; i < pieces->count && !results->is_replaced; i++) {
        const struct piece *piece = &pieces->list[i];
        const bool is_new_file = i == 0 || piece->inode != piece[-1].inode ||
                                 strcmp(piece->device, piece[-1].device) != 0;
        if (is_new_file) reached = 0;
        results->is_replaced = !worker->makes_arrays || piece->first < reached;
        results->replaced_array = piece->array;
        if (piece->end > reached) reached = piece->end;
    }
}

int numalab_mapping_check(struct numalab_worker *worker, struct numalab_results *results)
{
    struct pieces pieces = {0};
    const int error = read_pieces(worker, &pieces);
    if (!error && pieces.count) {
        qsort(pieces.list, pieces.count, sizeof *pieces.list, compare_pieces);
        judge(worker, &pieces, results);
    }
    free(pieces.list);
    /* A process may keep others from looking at it; one that has ended is told of elsewhere. */
    if (error == -EACCES || error == -EPERM)
        return numalab_worker_fail_as(worker, NUMALAB_BAD_PROTOCOL);
    return error == 0 || error == -ESRCH || error == -ENOENT
               ? 0
               : numalab_worker_kit_error(worker, "read the worker's mappings", error);
}

/* ---- memory at two addresses ------------------------------------------------------------ */

/* What is mapped of a file. */
struct view {
    struct piece piece;
    bool is_shared; /* and may be written: what others see */
};

struct views {
    size_t count, room;
    struct view *list;
};

static int read_views(struct numalab_worker *worker, struct views *views)
{
    char line[512], access[5];
    int error = 0;
    FILE *maps = numalab_proc_open(worker->pid, "maps");
    if (!maps) return -errno;
    while (!error && fgets(line, sizeof line, maps)) {
        uint64_t first, end, offset;
        struct view view = {.piece = {.inode = 0}};
        struct piece *piece = &view.piece;
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %15s %" SCNu64, &first, &end,
                   access, &offset, piece->device, &piece->inode) != 6 ||
            !is_of_file(piece))
            continue;
        piece->first = offset;
        piece->end = offset + (end - first);
        view.is_shared = access[1] == 'w' && access[3] == 's';
        if (views->count == views->room) {
            const size_t room = views->room ? 2 * views->room : 64;
            struct view *list = realloc(views->list, room * sizeof *list);
            error = list ? 0 : -ENOMEM;
            if (!list) break;
            views->list = list;
            views->room = room;
        }
        views->list[views->count++] = view;
    }
    fclose(maps);
    return error;
}

/* The list is in the order of files and their bytes. */
static bool has_alias(const struct views *views)
{
    for (size_t i = 0; i < views->count; i++) {
        const struct view *one = &views->list[i];
        for (size_t k = i + 1; k < views->count; k++) {
            const struct view *other = &views->list[k];
            if (other->piece.inode != one->piece.inode || other->piece.first >= one->piece.end ||
                strcmp(other->piece.device, one->piece.device) != 0)
                break;
            if (one->is_shared || other->is_shared) return true;
        }
    }
    return false;
}

int numalab_mapping_check_aliases(struct numalab_worker *worker)
{
    struct views views = {0};
    int error = read_views(worker, &views);
    bool is_found = false;
    if (!error && views.count) {
        /* A piece is what a view begins with. */
        qsort(views.list, views.count, sizeof *views.list, compare_pieces);
        is_found = has_alias(&views);
    }
    free(views.list);
    if (is_found)
        return numalab_worker_fail(
            worker, (struct numalab_outcome){.kind = NUMALAB_BAD_PROTOCOL,
                                             .bad_protocol = {NUMALAB_MAPPED_TWICE, 0.0, false}});
    if (error == -EACCES || error == -EPERM)
        return numalab_worker_fail_as(worker, NUMALAB_BAD_PROTOCOL);
    return error == 0 || error == -ESRCH || error == -ENOENT
               ? 0
               : numalab_worker_kit_error(worker, "read the worker's mappings", error);
}

static int serve_check(void *context)
{
    numalab_mapping_check_aliases(context);
    return 0; /* the outcome says the rest */
}

static int check_interval_ms(void *context)
{
    enum { CHECK_MS = 5 };
    (void)context;
    return CHECK_MS;
}

int numalab_mapping_run(struct numalab_worker *worker, const char *phase)
{
    const struct numalab_watch watch = {
        .fd = -1, .serve = serve_check, .timeout_ms = check_interval_ms, .context = worker};
    if (numalab_worker_run(worker, phase, &watch) < 0) return -1;
    return numalab_mapping_check_aliases(worker);
}
