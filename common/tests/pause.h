/* A node that pauses, for tests: processes that are stopped and continued. */
#ifndef NUMALAB_TESTS_PAUSE_H
#define NUMALAB_TESTS_PAUSE_H

#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

/* Starts a process that soon stops the calling one and another (0: none), and lets both go on after
 * pause_us, the other first. Returns its id, for waitpid. */
static inline pid_t pause_soon(pid_t other, unsigned pause_us)
{
    const pid_t paused = getpid(), pid = fork();
    if (pid != 0) return pid;
    usleep(100000);
    if (other) kill(other, SIGSTOP);
    kill(paused, SIGSTOP);
    usleep(pause_us);
    if (other) kill(other, SIGCONT);
    kill(paused, SIGCONT);
    _exit(0);
}

#endif
