#define _GNU_SOURCE
#include "usher.h"

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

struct numalab_usher {
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
static bool wait_for(const struct numalab_usher *usher, int fd)
{
    struct pollfd fds[] = {{.fd = usher->stopping, .events = POLLIN}, {.fd = fd, .events = POLLIN}};
    while (poll(fds, 2, -1) < 0)
        if (errno != EINTR) return false;
    return !fds[0].revents && (fds[1].revents & POLLIN);
}

static void allow_one(int asking)
{
    union request request = {0};
    union answer answer = {0};
    if (ioctl(asking, SECCOMP_IOCTL_NOTIF_RECV, &request.notification) < 0) return;
    answer.response.id = request.notification.id;
    answer.response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    ioctl(asking, SECCOMP_IOCTL_NOTIF_SEND, &answer.response);
}

static void *usher_in(void *argument)
{
    const struct numalab_usher *usher = argument;
    struct numalab_message hello;
    int asking = -1;
    if (wait_for(usher, usher->channel))
        numalab_receive_message(usher->channel, &hello, MSG_DONTWAIT, &asking);
    while (asking >= 0 && wait_for(usher, asking)) allow_one(asking);
    if (asking >= 0) close(asking);
    return NULL;
}

struct numalab_usher *numalab_usher_start(int channel)
{
    sigset_t all, before;
    struct numalab_usher *usher = malloc(sizeof *usher);
    if (!usher) return NULL;
    usher->channel = channel;
    usher->stopping = eventfd(0, EFD_CLOEXEC);
    sigfillset(&all); /* signals are the main thread's */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error =
        usher->stopping < 0 ? errno : pthread_create(&usher->thread, NULL, usher_in, usher);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!error) return usher;
    if (usher->stopping >= 0) close(usher->stopping);
    free(usher);
    return NULL;
}

void numalab_usher_stop(struct numalab_usher *usher)
{
    const uint64_t one = 1;
    if (!usher) return;
    while (write(usher->stopping, &one, sizeof one) < 0 && errno == EINTR) continue;
    pthread_join(usher->thread, NULL);
    close(usher->stopping);
    free(usher);
}
