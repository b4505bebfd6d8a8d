#define _GNU_SOURCE
#include "heartbeat.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* Beside a busy team the thread wakes up to 0.03 s late (two cores, load 8). */
static const double beat_s = 0.05, least_gap_s = 0.1;

struct numalab_heartbeat {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t stopping;
    bool is_stopping;
    double start_s, last_s; /* CLOCK_BOOTTIME; last_s: of its last beat */
    double paused_s, starved_s;
};

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* How long the calling thread has waited for a core; 0 where Linux does not count it. schedstat:
 * its own, or -1. */
static double core_wait_s(int schedstat)
{
    char text[96];
    unsigned long long on_core_ns, waited_ns;
    const ssize_t got = schedstat < 0 ? -1 : pread(schedstat, text, sizeof text - 1, 0);
    if (got <= 0) return 0.0;
    text[got] = '\0';
    if (sscanf(text, "%llu %llu", &on_core_ns, &waited_ns) != 2) return 0.0;
    return 1e-9 * (double)waited_ns;
}

/* Sleeps until it is time, or the end has come; by CLOCK_MONOTONIC. Returns whether it has. */
static bool sleep_for_a_beat(struct numalab_heartbeat *heartbeat)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (long)(1e9 * beat_s);
    if (until.tv_nsec >= 1000000000L) {
        until.tv_nsec -= 1000000000L;
        until.tv_sec++;
    }
    pthread_mutex_lock(&heartbeat->lock);
    int error = 0;
    while (!heartbeat->is_stopping && error != ETIMEDOUT)
        error = pthread_cond_timedwait(&heartbeat->stopping, &heartbeat->lock, &until);
    const bool is_stopping = heartbeat->is_stopping;
    pthread_mutex_unlock(&heartbeat->lock);
    return is_stopping;
}

static void *beat(void *argument)
{
    struct numalab_heartbeat *heartbeat = argument;
    const int schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    double waited_before_s = core_wait_s(schedstat);
    /* Its time begins once it runs: until then nothing tells whether it waits for a core. */
    pthread_mutex_lock(&heartbeat->lock);
    heartbeat->last_s = now_s();
    pthread_mutex_unlock(&heartbeat->lock);
    while (!sleep_for_a_beat(heartbeat)) {
        /* On both sides of the clock: a wait between the two readings is in this beat's time or in
         * the next one's, and has to be known there, or it would look like a pause. */
        const double waited_then_s = core_wait_s(schedstat), woke_s = now_s();
        const double waited_s = core_wait_s(schedstat);
        pthread_mutex_lock(&heartbeat->lock);
        const double late_s = woke_s - heartbeat->last_s - beat_s;
        if (late_s > least_gap_s) {
            const double runqueue_wait_s = waited_s - waited_before_s;
            const double starved_s = runqueue_wait_s < late_s ? runqueue_wait_s : late_s;
            if (late_s - starved_s > least_gap_s) heartbeat->paused_s += late_s - starved_s;
            heartbeat->starved_s += starved_s;
        }
        heartbeat->last_s = woke_s;
        pthread_mutex_unlock(&heartbeat->lock);
        waited_before_s = waited_then_s;
    }
    if (schedstat >= 0) close(schedstat);
    return NULL;
}

static int start_thread(struct numalab_heartbeat *heartbeat)
{
    sigset_t all, before;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&heartbeat->stopping, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&heartbeat->lock, NULL);
    sigfillset(&all); /* signals are the main thread's */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(&heartbeat->thread, NULL, beat, heartbeat);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -error;
}

struct numalab_heartbeat *numalab_heartbeat_start(void)
{
    struct numalab_heartbeat *heartbeat = calloc(1, sizeof *heartbeat);
    if (!heartbeat) return NULL;
    heartbeat->start_s = heartbeat->last_s = now_s();
    if (start_thread(heartbeat) == 0) return heartbeat;
    free(heartbeat);
    return NULL;
}

void numalab_heartbeat_stop(struct numalab_heartbeat *heartbeat)
{
    if (!heartbeat) return;
    pthread_mutex_lock(&heartbeat->lock);
    heartbeat->is_stopping = true;
    pthread_cond_signal(&heartbeat->stopping);
    pthread_mutex_unlock(&heartbeat->lock);
    pthread_join(heartbeat->thread, NULL);
    pthread_cond_destroy(&heartbeat->stopping);
    pthread_mutex_destroy(&heartbeat->lock);
    free(heartbeat);
}

/* *late_s: by how much a beat is missing that the thread has not come to yet; it counts as a pause
 * until it says better. */
static struct numalab_elapsed read_with(struct numalab_heartbeat *heartbeat, double *late_s)
{
    *late_s = 0.0;
    if (!heartbeat) return (struct numalab_elapsed){.elapsed_s = now_s()};
    pthread_mutex_lock(&heartbeat->lock);
    const double time_s = now_s();
    struct numalab_elapsed lived = {time_s - heartbeat->start_s, heartbeat->paused_s,
                                    heartbeat->starved_s};
    *late_s = time_s - heartbeat->last_s - beat_s;
    pthread_mutex_unlock(&heartbeat->lock);
    if (*late_s > least_gap_s) lived.paused_s += *late_s;
    return lived;
}

struct numalab_elapsed numalab_heartbeat_read(struct numalab_heartbeat *heartbeat)
{
    double late_s;
    return read_with(heartbeat, &late_s);
}

double numalab_heartbeat_now_s(struct numalab_heartbeat *heartbeat)
{
    const struct numalab_elapsed lived = numalab_heartbeat_read(heartbeat);
    return lived.elapsed_s - lived.paused_s - lived.starved_s;
}

double numalab_heartbeat_paused_s(struct numalab_heartbeat *heartbeat)
{
    enum { MAX_POLLS = 200, POLL_MS = 10 };
    double late_s;
    struct numalab_elapsed lived = read_with(heartbeat, &late_s);
    for (int look = 0; late_s > 0.0 && look < MAX_POLLS; look++) {
        poll(NULL, 0, POLL_MS);
        lived = read_with(heartbeat, &late_s);
    }
    return lived.paused_s;
}

int numalab_heartbeat_wait(struct numalab_heartbeat *heartbeat, int fd, double limit_s)
{
    enum { POLL_MS = 50 };
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    const double deadline_s = numalab_heartbeat_now_s(heartbeat) + limit_s;
    do {
        if (poll(&ready, 1, POLL_MS) > 0) return 1;
    } while (numalab_heartbeat_now_s(heartbeat) < deadline_s);
    return 0;
}
