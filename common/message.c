#define _GNU_SOURCE
#include "message.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int numalab_send_message(int channel, const struct numalab_message *message, int descriptor)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec part = {.iov_base = (void *)message, .iov_len = sizeof *message};
    struct msghdr envelope = {.msg_iov = &part, .msg_iovlen = 1};

    if (descriptor >= 0) {
        envelope.msg_control = control.bytes;
        envelope.msg_controllen = sizeof control.bytes;
        struct cmsghdr *header = CMSG_FIRSTHDR(&envelope);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
    }
    return sendmsg(channel, &envelope, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* The descriptors that came beside a message: keeps the first if it is asked for,
 * closes all others. */
static int take_descriptors(struct msghdr *envelope, bool is_needed)
{
    int kept = -1;
    for (struct cmsghdr *header = CMSG_FIRSTHDR(envelope); header;
         header = CMSG_NXTHDR(envelope, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
        size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int descriptor;
            memcpy(&descriptor, CMSG_DATA(header) + i * sizeof(int), sizeof descriptor);
            if (is_needed && kept < 0)
                kept = descriptor;
            else
                close(descriptor);
        }
    }
    return kept;
}

ssize_t numalab_receive_message(int channel, struct numalab_message *message, int flags,
                                int *descriptor)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = {.iov_base = message, .iov_len = sizeof *message};
    struct msghdr envelope = {.msg_iov = &part,
                              .msg_iovlen = 1,
                              .msg_control = control.bytes,
                              .msg_controllen = sizeof control.bytes};
    const ssize_t got = recvmsg(channel, &envelope, flags | MSG_CMSG_CLOEXEC);
    if (got < 0) return -errno;
    const int received = take_descriptors(&envelope, descriptor != NULL);
    if (received >= 0) *descriptor = received;
    return got;
}
