/* Reads Ethernet frames for the relay. All functions accept frames of any length. */
#ifndef NUMALAB_RELAY_FRAME_H
#define NUMALAB_RELAY_FRAME_H

#include <stddef.h>
#include <stdint.h>

enum {
    NUMALAB_ETHERNET_HEADER_BYTES = 14,
    NUMALAB_ETHERNET_ADDRESS_BYTES = 6,
};

/* The first bytes of a node's address; the last byte is the number of its port plus 1. The first
 * three are QEMU's (52:54:00). The grader's guest_plan.py has the same. */
#define NUMALAB_NODE_ADDRESS_PREFIX ((const uint8_t[]){0x52, 0x54, 0x00, 0x6e, 0x6c})

/* Returns, as bits, the ports that a frame from port `source` goes to: that of the node that it is
 * addressed to, or all others if it is a multicast (the first bit of its address is set). 0 if it
 * is shorter than its header, or addressed to no node of these ports. */
unsigned numalab_frame_ports(const uint8_t *frame, size_t bytes, unsigned source, unsigned ports);

/* Returns the bytes of TCP payload in a frame over IPv4, without the padding of short frames; 0 for
 * other frames, and for fragments but the first. */
size_t numalab_frame_tcp_payload(const uint8_t *frame, size_t bytes);

#endif
