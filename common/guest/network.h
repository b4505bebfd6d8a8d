/* The network card of a virtual machine that is a cluster node. */
#ifndef NUMALAB_GUEST_NETWORK_H
#define NUMALAB_GUEST_NETWORK_H

#include <stddef.h>

/* The addresses of a cluster node: Ethernet as six pairs of hexadecimal digits with colons, and
 * IPv4. */
struct numalab_node_address {
    const char *ethernet, *ip;
};

/* Gives this machine the first of `nodes` addresses and brings its card up, without IPv6; enters
 * the Ethernet addresses of the others, so that no requests for them cross the link. Waits until
 * frames can be sent. Returns 0 or a negative errno: -ENODEV without a card, -EINVAL for an
 * ill-formed address, -ETIMEDOUT if the link stays down. */
int numalab_network_raise(const struct numalab_node_address *node, size_t nodes);

#endif
