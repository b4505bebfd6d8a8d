/* The sizes of the frames that this node hands to its network card, as a
 * capture inside the node sees them, while the program that it is given runs.
 *
 *   gcc -O2 frames.c -o frames
 *   ./frames eth0 PROGRAM [ARGUMENT...]
 *
 * Needs the right to open a packet socket: that is root's, and on a virtual
 * node everybody's. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WHOLE_FRAME = ETH_FRAME_LEN }; /* 1500 bytes behind a header of 14 */

struct sent {
    unsigned long frames, larger, bytes, longest;
};

static int open_card(const char *name)
{
    struct sockaddr_ll card = {.sll_family = AF_PACKET,
                               .sll_protocol = htons(ETH_P_ALL),
                               .sll_ifindex = (int)if_nametoindex(name)};
    const struct timeval soon = {.tv_usec = 50000};
    const int opened = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));
    if (opened < 0) return -1;
    if (bind(opened, (const struct sockaddr *)&card, sizeof card) < 0 ||
        setsockopt(opened, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof soon) < 0) {
        close(opened);
        return -1;
    }
    return opened;
}

/* Of what is sent: what comes in may have been joined on its way up. */
static void count(int card, struct sent *sent)
{
    struct sockaddr_ll from = {0};
    socklen_t length = sizeof from;
    char byte;
    const ssize_t bytes = recvfrom(card, &byte, 1, MSG_TRUNC,
                                   (struct sockaddr *)&from, &length);
    if (bytes <= 0 || from.sll_pkttype != PACKET_OUTGOING) return;
    sent->frames++;
    sent->larger += bytes > WHOLE_FRAME;
    sent->bytes += (unsigned long)bytes;
    if ((unsigned long)bytes > sent->longest)
        sent->longest = (unsigned long)bytes;
}

int main(int argc, char **argv)
{
    struct sent sent = {0};
    int status, card = argc > 2 ? open_card(argv[1]) : -1;
    pid_t child;

    if (card < 0) {
        fprintf(stderr, "usage: ./frames eth0 PROGRAM [ARGUMENT...]: %s\n",
                argc > 2 ? strerror(errno) : "what is to be run?");
        return 2;
    }
    child = fork();
    if (child == 0) {
        execvp(argv[2], argv + 2);
        _exit(127);
    }
    while (waitpid(child, &status, WNOHANG) == 0) count(card, &sent);
    printf("handed to the card: %lu frames, %lu bytes; %lu larger than %d "
           "bytes, the longest %lu\n",
           sent.frames, sent.bytes, sent.larger, WHOLE_FRAME, sent.longest);
    return 0;
}
