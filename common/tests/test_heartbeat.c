#define _GNU_SOURCE
#include "monitor/processes/heartbeat.h"

#include <poll.h>
#include <unistd.h>

#include "expect.h"
#include "pause.h"

static int failures;

/* Which a test pauses for; what is seen of it at least. */
enum { PAUSE_US = 600000 };
static const double least_paused_s = 0.4;

static void test_time_goes_by(struct numalab_heartbeat *heartbeat)
{
    const double before_s = numalab_heartbeat_now_s(heartbeat);
    const struct numalab_elapsed start = numalab_heartbeat_read(heartbeat);
    poll(NULL, 0, 200);
    const struct numalab_elapsed end = numalab_heartbeat_read(heartbeat);
    EXPECT(end.elapsed_s - start.elapsed_s >= 0.2);
    EXPECT(numalab_heartbeat_now_s(heartbeat) > before_s);
}

static void test_pause(struct numalab_heartbeat *heartbeat)
{
    const double before_s = numalab_heartbeat_now_s(heartbeat);
    const struct numalab_elapsed start = numalab_heartbeat_read(heartbeat);
    const double paused_s = numalab_heartbeat_paused_s(heartbeat);
    EXPECT(waitpid(pause_soon(0, PAUSE_US), NULL, 0) > 0);
    /* At once, when the thread may not have looked yet, and later. */
    for (int look = 0; look < 2; look++) {
        const struct numalab_elapsed end = numalab_heartbeat_read(heartbeat);
        EXPECT(end.elapsed_s - start.elapsed_s >= 1e-6 * PAUSE_US);
        EXPECT(numalab_heartbeat_now_s(heartbeat) - before_s <
               end.elapsed_s - start.elapsed_s - least_paused_s);
        EXPECT(numalab_heartbeat_paused_s(heartbeat) - paused_s > least_paused_s);
        poll(NULL, 0, 200);
    }
}

/* What is waited for by that clock is not given up because of a pause. */
static void test_wait(struct numalab_heartbeat *heartbeat)
{
    int ends[2];
    EXPECT(pipe(ends) == 0);
    const struct numalab_elapsed start = numalab_heartbeat_read(heartbeat);
    const pid_t pauser = pause_soon(0, 1000000);
    EXPECT(!numalab_heartbeat_wait(heartbeat, ends[0], 0.5));
    EXPECT(numalab_heartbeat_read(heartbeat).elapsed_s - start.elapsed_s > 1.0 + 0.3);
    waitpid(pauser, NULL, 0);
    EXPECT(write(ends[1], "x", 1) == 1 && numalab_heartbeat_wait(heartbeat, ends[0], 10.0));
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    struct numalab_heartbeat *heartbeat = numalab_heartbeat_start();
    EXPECT(heartbeat != NULL);
    test_time_goes_by(NULL);
    EXPECT(numalab_heartbeat_paused_s(NULL) == 0.0);
    test_time_goes_by(heartbeat);
    test_pause(heartbeat);
    test_wait(heartbeat);
    numalab_heartbeat_stop(heartbeat);
    numalab_heartbeat_stop(NULL);
    return failures > 0;
}
