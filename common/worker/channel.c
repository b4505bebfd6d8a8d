#define _GNU_SOURCE
#include "channel.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "message.h"
#include "numbers.h"
#include "protocol.h"

static int connect_to(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const size_t length = strlen(name);
    /* Unless it is a path, in the abstract namespace: the name follows a zero byte. */
    const size_t before = name[0] == '/' ? 0 : 1;
    if (length > sizeof address.sun_path - 1) return -ENAMETOOLONG;
    memcpy(address.sun_path + before, name, length);
    int channel = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (channel < 0) return -errno;
    if (connect(channel, (const struct sockaddr *)&address,
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + before + length)) < 0) {
        int error = -errno;
        close(channel);
        return error;
    }
    return channel;
}

static int job_channel = -1;
static pid_t process;

/* The monitor is not told how a rank ended, which is the launcher's child. */
void numalab_channel_leave(int exit_code)
{
    const struct numalab_message message = {.kind = NUMALAB_LEAVE,
                                            .ticket = (uint32_t)exit_code & 0xff};
    if (getpid() == process) /* and not a child that the kernel has made */
        send(job_channel, &message, sizeof message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void report_exit(int exit_code, void *unused)
{
    (void)unused;
    numalab_channel_leave(exit_code);
}

/* Prints to what the monitor's hello brings. The launcher forwards what ranks print, but not
 * all when it ends a job: MPI's last words would be lost. Its own pipes stay open, since it takes
 * their end for the rank's. */
static int take_output(int channel)
{
    struct numalab_message hello;
    ssize_t received;
    int output = -1;
    do received = numalab_receive_message(channel, &hello, 0, &output);
    while (received == -EINTR);
    if (received < 0) return (int)received;
    if (received != (ssize_t)sizeof hello || hello.kind != NUMALAB_HELLO || output < 0)
        return -EPROTO;
    int error = 0;
    for (int own = STDOUT_FILENO; !error && own <= STDERR_FILENO; own++)
        if (fcntl(own, F_DUPFD_CLOEXEC, NUMALAB_CHANNEL_FD) < 0 || dup2(output, own) < 0)
            error = -errno;
    close(output);
    return error;
}

int numalab_channel_open(void)
{
    const char *name = getenv(NUMALAB_JOB_VARIABLE), *rank = getenv("PMI_RANK");
    if (!name) return NUMALAB_CHANNEL_FD;
    uint64_t ticket;
    if (!rank || numalab_read_whole(rank, 0, UINT32_MAX, &ticket) < 0) return -EINVAL;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* the launcher's end is ours, too */
    int channel = connect_to(name);
    if (channel < 0) return channel;
    process = getpid();
    job_channel = channel;
    const struct numalab_message hello = {.kind = NUMALAB_HELLO, .ticket = (uint32_t)ticket};
    int error = on_exit(report_exit, NULL) == 0 ? 0 : -ENOMEM;
    if (!error) error = numalab_send_message(channel, &hello, -1);
    if (!error) error = take_output(channel);
    if (!error) return channel;
    close(channel);
    return error;
}
