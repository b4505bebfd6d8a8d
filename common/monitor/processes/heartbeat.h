/* Tells how long the monitor itself did not run: a clock for limits, which stands still while it
 * does. A node that pauses (SIGSTOP of a whole job, a batch system's gang scheduling, a virtual
 * machine that is held) is seen so, by a thread that wakes at a known rate and looks at the time
 * that has gone by. What the main thread does is of no account: however much it has to read or to
 * serve, the other thread wakes. */
#ifndef NUMALAB_MONITOR_HEARTBEAT_H
#define NUMALAB_MONITOR_HEARTBEAT_H

struct numalab_heartbeat;

/* Starts the thread. NULL without memory, or where it can't be started: then there is no such
 * clock, and time goes by as CLOCK_BOOTTIME has it. */
struct numalab_heartbeat *numalab_heartbeat_start(void);
void numalab_heartbeat_stop(struct numalab_heartbeat *heartbeat); /* NULL: does nothing */

/* All of the following since its start, in seconds; heartbeat may be NULL. */
struct numalab_elapsed {
    double elapsed_s; /* by CLOCK_BOOTTIME, which a node that is suspended does not stop */
    double paused_s;  /* of that: the thread neither ran, nor slept as it had asked to, nor waited
                         for a core */
    double starved_s; /* of that: it waited for a core, longer than it does on a busy node */
};
struct numalab_elapsed numalab_heartbeat_read(struct numalab_heartbeat *heartbeat);

/* What limits are kept by: elapsed_s without the other two. */
double numalab_heartbeat_now_s(struct numalab_heartbeat *heartbeat);

/* How long the node has paused so far; pauses below 0.1 s are not seen. Where one may just have
 * ended, waits until the thread has looked. */
double numalab_heartbeat_paused_s(struct numalab_heartbeat *heartbeat);

/* As poll(2) of one descriptor for POLLIN, but limit_s of that clock. Returns whether there is
 * something. */
int numalab_heartbeat_wait(struct numalab_heartbeat *heartbeat, int fd, double limit_s);

#endif
