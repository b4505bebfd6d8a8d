/* A node's network card, where it is one of a cluster. */
#ifndef NUMALAB_GUEST_NETWORK_H
#define NUMALAB_GUEST_NETWORK_H

#include <stddef.h>

/* A node of the cluster: its Ethernet address as six pairs of hexadecimal digits with colons, and
 * its IPv4 address. */
struct numalab_node_address {
    const char *ethernet, *ip;
};

/* Gives this node the first of these addresses and brings its card up, with no IPv6; tells it the
 * Ethernet addresses of the others, so that nobody asks for them on the link. Waits until frames
 * can be sent. Returns 0 or a negative errno: -ENODEV without a card, -EINVAL for what is no
 * address, -ETIMEDOUT where the link stays down. */
int numalab_network_raise(const struct numalab_node_address *node, size_t nodes);

#endif
