/* Preloaded in programs on a cluster: keeps MPI_Finalize from hanging.
 *
 * MPICH with UCX (4.0.2 with 1.13) first closes its connections, and then waits for all ranks,
 * reading from its launcher. Who waits so answers nobody: where another rank still needs an answer
 * to close, both wait for ever (7 of 30 runs of four ranks on two nodes). So whoever waits
 * there goes on answering. There is no other place for what has to be known there than variables
 * of this file; MPI_Finalize is called by one thread. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "numbers.h"

enum { MOST_WORKERS = 64, POLL_MS = 1 };

static void *workers[MOST_WORKERS]; /* UCX's, by which it sends and receives */
static bool is_closing;

/* A function of the library that this one stands before; ISO C knows no such cast. */
static void find(const char *name, void *function, size_t bytes)
{
    void *found = dlsym(RTLD_NEXT, name);
    memcpy(function, &found, bytes);
}

/* As UCX's headers have these, with its types left out: they need not be installed. */
int ucp_worker_create(void *context, const void *parameters, void **worker);
void ucp_worker_destroy(void *worker);
void *ucp_disconnect_nb(void *endpoint);

int ucp_worker_create(void *context, const void *parameters, void **worker)
{
    int (*next)(void *, const void *, void **);
    find("ucp_worker_create", &next, sizeof next);
    const int status = next(context, parameters, worker);
    for (size_t i = 0; status == 0 && i < MOST_WORKERS; i++)
        if (!workers[i]) {
            workers[i] = *worker;
            break;
        }
    return status;
}

void ucp_worker_destroy(void *worker)
{
    void (*next)(void *);
    find("ucp_worker_destroy", &next, sizeof next);
    for (size_t i = 0; i < MOST_WORKERS; i++)
        if (workers[i] == worker) workers[i] = NULL;
    next(worker);
}

void *ucp_disconnect_nb(void *endpoint)
{
    void *(*next)(void *);
    find("ucp_disconnect_nb", &next, sizeof next);
    is_closing = true;
    return next(endpoint);
}

static void answer_until_readable(int file)
{
    unsigned (*progress)(void *);
    find("ucp_worker_progress", &progress, sizeof progress);
    struct pollfd polled = {.fd = file, .events = POLLIN};
    while (progress && poll(&polled, 1, POLL_MS) == 0)
        for (size_t i = 0; i < MOST_WORKERS; i++)
            if (workers[i]) progress(workers[i]);
}

static bool is_launcher(int file)
{
    const char *number = getenv("PMI_FD");
    uint64_t launcher;
    return number && numalab_read_whole(number, 0, INT_MAX, &launcher) == 0 &&
           (int)launcher == file;
}

ssize_t read(int file, void *data, size_t bytes)
{
    ssize_t (*next)(int, void *, size_t);
    find("read", &next, sizeof next);
    if (is_closing && is_launcher(file)) answer_until_readable(file);
    return next(file, data, bytes);
}
