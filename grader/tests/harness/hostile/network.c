/* PORT: of somebody who listens on this machine; SOCKET: of the abstract namespace. */
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void attack(void)
{
    struct sockaddr_in far = {
        .sin_family = AF_INET, .sin_port = htons(PORT), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int socket_fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(socket_fd, (struct sockaddr *)&far, sizeof far) == 0) puts("OPEN network");
    close(socket_fd);

    struct sockaddr_un near = {.sun_family = AF_UNIX};
    strcpy(near.sun_path + 1, SOCKET);
    socket_fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connect(socket_fd, (struct sockaddr *)&near,
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(SOCKET))) == 0)
        puts("OPEN abstract socket");
    close(socket_fd);
    if (socket(40 /* AF_VSOCK */, SOCK_STREAM, 0) >= 0) puts("OPEN vsock");
}
