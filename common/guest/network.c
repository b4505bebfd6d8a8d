#define _GNU_SOURCE
#include "network.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { NETMASK_BITS = 24, LINK_WAIT_MS = 10000 };

static const char card[] = "eth0";

static int read_ethernet(const char *text, struct sockaddr *address)
{
    unsigned char *byte = (unsigned char *)address->sa_data;
    char beyond;
    address->sa_family = ARPHRD_ETHER;
    const int found = sscanf(text, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx%c", byte, byte + 1, byte + 2,
                             byte + 3, byte + 4, byte + 5, &beyond);
    return found == 6 ? 0 : -EINVAL;
}

static int read_ip(const char *text, struct sockaddr *address)
{
    struct sockaddr_in ip = {.sin_family = AF_INET};
    if (inet_pton(AF_INET, text, &ip.sin_addr) != 1) return -EINVAL;
    memcpy(address, &ip, sizeof ip);
    return 0;
}

static struct ifreq request_for_card(void)
{
    struct ifreq request = {0};
    memcpy(request.ifr_name, card, sizeof card);
    return request;
}

/* Its Ethernet address can be changed only while it is down. */
static int set_own(int any, const struct numalab_node_address *own)
{
    struct ifreq request = request_for_card();
    struct sockaddr_in mask = {.sin_family = AF_INET,
                               .sin_addr.s_addr = htonl(~0u << (32 - NETMASK_BITS))};
    int error = read_ethernet(own->ethernet, &request.ifr_hwaddr);
    if (error < 0) return error;
    if (ioctl(any, SIOCSIFHWADDR, &request) < 0) return -errno;
    error = read_ip(own->ip, &request.ifr_addr);
    if (error < 0) return error;
    if (ioctl(any, SIOCSIFADDR, &request) < 0) return -errno;
    memcpy(&request.ifr_netmask, &mask, sizeof mask);
    if (ioctl(any, SIOCSIFNETMASK, &request) < 0) return -errno;
    request.ifr_flags = IFF_UP | IFF_RUNNING | IFF_BROADCAST | IFF_MULTICAST;
    return ioctl(any, SIOCSIFFLAGS, &request) < 0 ? -errno : 0;
}

static int add_neighbour(int any, const struct numalab_node_address *other)
{
    struct arpreq request = {.arp_flags = ATF_PERM | ATF_COM};
    memcpy(request.arp_dev, card, sizeof card);
    int error = read_ip(other->ip, &request.arp_pa);
    if (error == 0) error = read_ethernet(other->ethernet, &request.arp_ha);
    if (error < 0) return error;
    return ioctl(any, SIOCSARP, &request) < 0 ? -errno : 0;
}

/* Linux asks all nodes for neighbours and routers as soon as a card with IPv6 is up. A kernel may
 * have no IPv6. */
static int switch_ipv6_off(void)
{
    const int file = open("/proc/sys/net/ipv6/conf/eth0/disable_ipv6", O_WRONLY | O_CLOEXEC);
    if (file < 0) return errno == ENOENT ? 0 : -errno;
    const int error = write(file, "1", 1) == 1 ? 0 : -errno;
    close(file);
    return error;
}

static bool is_up(void)
{
    char state[16] = "";
    const int file = open("/sys/class/net/eth0/operstate", O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    const ssize_t got = read(file, state, sizeof state - 1);
    close(file);
    return got > 0 && strcmp(state, "up\n") == 0;
}

/* Before that what is sent is lost. */
static int wait_for_link(void)
{
    static const struct timespec pause_10_ms = {0, 10 * 1000 * 1000};
    for (int ms = 0; ms < LINK_WAIT_MS; ms += 10) {
        if (is_up()) return 0;
        nanosleep(&pause_10_ms, NULL);
    }
    return -ETIMEDOUT;
}

int numalab_network_raise(const struct numalab_node_address *node, size_t nodes)
{
    if (nodes == 0) return -EINVAL;
    const int any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (any < 0) return -errno;
    int error = switch_ipv6_off();
    if (error == 0) error = set_own(any, &node[0]);
    for (size_t i = 1; i < nodes && error == 0; i++) error = add_neighbour(any, &node[i]);
    close(any);
    return error == 0 ? wait_for_link() : error;
}
