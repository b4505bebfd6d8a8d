/* A clock for limits that stands still while the monitor itself can't run: while the machine or the
 * job pauses (SIGSTOP of a whole job, a batch system's gang scheduling, a virtual machine that is
 * held). A thread of its own wakes at a known rate and reads the time that has passed, however busy
 * the main thread is. */
#ifndef NUMALAB_MONITOR_HEARTBEAT_H
#define NUMALAB_MONITOR_HEARTBEAT_H

struct numalab_heartbeat;

/* Starts the thread. Returns NULL without memory, or if no thread can be started; the functions
 * below accept NULL, and then go by CLOCK_BOOTTIME alone. */
struct numalab_heartbeat *numalab_heartbeat_start(void);
void numalab_heartbeat_stop(struct numalab_heartbeat *heartbeat); /* NULL: does nothing */

/* Seconds since the heartbeat's start; for NULL since the machine's, without pauses. */
struct numalab_elapsed {
    double elapsed_s; /* by CLOCK_BOOTTIME, which goes on while a machine is suspended */
    double paused_s;  /* part of that in which the thread neither ran, nor slept as long as
                         requested, nor waited for a core */
    double starved_s; /* part of that in which it waited for a core, longer than under load */
};
struct numalab_elapsed numalab_heartbeat_read(struct numalab_heartbeat *heartbeat);

/* Returns the seconds that limits go by: elapsed_s without the other two. */
double numalab_heartbeat_now_s(struct numalab_heartbeat *heartbeat);

/* Returns the seconds of pauses so far; pauses below 0.1 s do not count. If a pause may just have
 * ended, it waits until the thread has woken. */
double numalab_heartbeat_paused_s(struct numalab_heartbeat *heartbeat);

/* As poll(2) of one descriptor for POLLIN, for at most limit_s seconds of that clock. Returns
 * whether there is something to read. */
int numalab_heartbeat_wait(struct numalab_heartbeat *heartbeat, int fd, double limit_s);

#endif
