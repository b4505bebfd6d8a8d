/* The worker: the process that holds the student's kernel. It allocates the
 * arrays, runs a phase when told, and is trusted with nothing: time, results
 * and evidence are taken by the monitor, from outside. */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "arrays.h"
#include "channel.h"
#include "fault_report.h"
#include "message.h"
#include "numalab/phases.h"
#include "rank_notes.h"
#include "fault_trap.h"
#include "userfault.h"

const struct numalab_rank_notes *numalab_rank_notes(void) __attribute__((weak));
void numalab_rank_set_modes(uint32_t modes) __attribute__((weak));

/* Of race.c, in programs that look for races. */
void numalab_race(void) __attribute__((weak));
void numalab_set_team(size_t threads) __attribute__((weak));

/* Of stores.c, which has these two as well, in programs that note stores. */
uint64_t numalab_note_stores(size_t line_bytes, const void *loaded, size_t bytes)
    __attribute__((weak));

/* Of kernel_memory.c, in such programs: they have copies of their kernel in the place of one. */
const struct numalab_phase *numalab_phases_of_copy(bool is_shifted) __attribute__((weak));
struct numalab_overrun numalab_find_overrun(void) __attribute__((weak));
extern const struct numalab_phase numalab_phases[] __attribute__((weak));

static size_t cache_line_bytes;

size_t numalab_line_bytes(void)
{
    return cache_line_bytes;
}

static int run_phase(const struct numalab_request *request, void **arrays)
{
    const bool is_shifted = request->modes & NUMALAB_SHIFTED;
    const struct numalab_phase *phase =
        numalab_phases_of_copy ? numalab_phases_of_copy(is_shifted) : numalab_phases;
    for (; phase->name; phase++)
        if (strncmp(phase->name, request->phase, sizeof request->phase) == 0) {
            phase->run(request->n, arrays);
            return 0;
        }
    return -ENOENT;
}

static void note_addresses(struct numalab_message *reply, const struct numalab_arrays *arrays)
{
    for (size_t i = 0; i < NUMALAB_MAX_ARRAYS; i++)
        reply->address[i] = (uint64_t)(uintptr_t)arrays->start[i];
}

int main(void)
{
    static struct numalab_arrays arrays;
    arrays = NUMALAB_NO_ARRAYS;
    static struct numalab_trap trap;

    /* Whole lines, so that a crash loses nothing of what the kernel printed. */
    setvbuf(stdout, NULL, _IOLBF, 0);
    const int channel = numalab_channel_open();
    if (channel < 0 || numalab_fault_report_install(channel, &trap) < 0) return EXIT_FAILURE;

    for (;;) {
        struct numalab_request request;
        ssize_t received = recv(channel, &request, sizeof request, 0);
        if (received < 0 && errno == EINTR) continue;
        if (received != (ssize_t)sizeof request) return NUMALAB_EXIT_NO_CHANNEL;

        struct numalab_message reply = {.kind = NUMALAB_REPLY, .ticket = request.ticket};
        cache_line_bytes = request.line_bytes;
        if (numalab_rank_set_modes) numalab_rank_set_modes(request.modes);
        if (numalab_rank_notes) reply.rank_notes = (uint64_t)(uintptr_t)numalab_rank_notes();
        int descriptor = -1;

        switch (request.kind) {
        case NUMALAB_ALLOCATE:
            /* Of ranks as malloc's: MPICH 4.0 writes 8 bytes too low into a window whose base is
             * an odd multiple of 8. */
            reply.error = numalab_arrays_allocate(&arrays, &request,
                                                  numalab_rank_notes ? _Alignof(max_align_t) : 1);
            note_addresses(&reply, &arrays);
            break;
        case NUMALAB_RUN_PHASE:
            reply.error = run_phase(&request, arrays.start);
            note_addresses(&reply, &arrays); /* the kernel may make arrays */
            if (numalab_find_overrun) reply.overrun = numalab_find_overrun();
            fflush(stdout);
            break;
        case NUMALAB_OPEN_USERFAULTFD:
            descriptor = numalab_userfault_open();
            if (descriptor < 0) reply.error = descriptor;
            break;
        case NUMALAB_TRAP_INITIALIZE:
        case NUMALAB_TRAP_COMPUTE:
            reply.error = numalab_trap_arm(&trap, &arrays, request.kind == NUMALAB_TRAP_INITIALIZE);
            reply.trap_log = (uint64_t)(uintptr_t)trap.log;
            break;
        case NUMALAB_UNTRAP:
            reply.trap_count = numalab_trap_disarm(&trap, &arrays);
            break;
        case NUMALAB_OPEN_FILE:
            descriptor = arrays.file;
            arrays.file = -1; /* nobody else here is to have it */
            if (descriptor < 0) reply.error = -EBADF;
            break;
        case NUMALAB_RACE:
            if (numalab_race)
                numalab_race();
            else
                reply.error = -ENOTSUP;
            break;
        case NUMALAB_SET_TEAM:
            if (numalab_set_team)
                numalab_set_team(request.n);
            else
                reply.error = -ENOTSUP;
            break;
        case NUMALAB_NOTE_STORES:
            if (numalab_note_stores)
                reply.store_notes =
                    numalab_note_stores(request.n, arrays.start[0], arrays.bytes[0]);
            else
                reply.error = -ENOTSUP;
            break;
        case NUMALAB_QUIT:
            /* _exit: what the kernel registered with atexit is not ours to run. */
            _exit(EXIT_SUCCESS);
        default:
            reply.error = -EINVAL;
        }
        int sent = numalab_send_message(channel, &reply, descriptor);
        if (descriptor >= 0) close(descriptor);
        if (sent < 0) return NUMALAB_EXIT_NO_CHANNEL;
    }
}
