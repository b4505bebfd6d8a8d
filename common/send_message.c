#define _GNU_SOURCE
#include "send_message.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

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
