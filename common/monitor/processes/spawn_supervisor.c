#define _GNU_SOURCE
#include "spawn_supervisor.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "message.h"

struct numalab_spawn_supervisor {
    pthread_t thread;
    int channel, stopping; /* stopping: an eventfd, readable when it is time */
};

/* A kernel's structures may be larger than those of this header. */
union request {
    struct seccomp_notif notification;
    char room[512];
};
union answer {
    struct seccomp_notif_resp response;
    char room[512];
};

/* Waits for input of a descriptor. Returns false where it is time to stop, or nothing can come. */
static bool wait_for(const struct numalab_spawn_supervisor *supervisor, int fd)
{
    struct pollfd fds[] = {{.fd = supervisor->stopping, .events = POLLIN},
                           {.fd = fd, .events = POLLIN}};
    while (poll(fds, 2, -1) < 0)
        if (errno != EINTR) return false;
    return !fds[0].revents && (fds[1].revents & POLLIN);
}

static void allow_request(int listener)
{
    union request request = {0};
    union answer answer = {0};
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &request.notification) < 0) return;
    answer.response.id = request.notification.id;
    answer.response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer.response);
}

static void *run_supervisor(void *argument)
{
    const struct numalab_spawn_supervisor *supervisor = argument;
    struct numalab_message hello;
    int listener = -1;
    if (wait_for(supervisor, supervisor->channel))
        numalab_receive_message(supervisor->channel, &hello, MSG_DONTWAIT, &listener);
    while (listener >= 0 && wait_for(supervisor, listener)) allow_request(listener);
    if (listener >= 0) close(listener);
    return NULL;
}

struct numalab_spawn_supervisor *numalab_spawn_supervisor_start(int channel)
{
    sigset_t all, before;
    struct numalab_spawn_supervisor *supervisor = malloc(sizeof *supervisor);
    if (!supervisor) return NULL;
    supervisor->channel = channel;
    supervisor->stopping = eventfd(0, EFD_CLOEXEC);
    sigfillset(&all); /* signals are the main thread's */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = supervisor->stopping < 0
                          ? errno
                          : pthread_create(&supervisor->thread, NULL, run_supervisor, supervisor);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!error) return supervisor;
    if (supervisor->stopping >= 0) close(supervisor->stopping);
    free(supervisor);
    return NULL;
}

void numalab_spawn_supervisor_stop(struct numalab_spawn_supervisor *supervisor)
{
    const uint64_t one = 1;
    if (!supervisor) return;
    while (write(supervisor->stopping, &one, sizeof one) < 0 && errno == EINTR) continue;
    pthread_join(supervisor->thread, NULL);
    close(supervisor->stopping);
    free(supervisor);
}
