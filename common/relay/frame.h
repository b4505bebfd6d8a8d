/* What the relay reads in an Ethernet frame. All functions take frames of any length. */
#ifndef NUMALAB_RELAY_FRAME_H
#define NUMALAB_RELAY_FRAME_H

#include <stddef.h>
#include <stdint.h>

enum {
    NUMALAB_ETHERNET_HEADER_BYTES = 14,
    NUMALAB_ETHERNET_ADDRESS_BYTES = 6,
};

/* Of the node at port p the last byte is p + 1; the first ones are QEMU's own (52:54:00). The
 * grader's guest_plan.py has the same. */
#define NUMALAB_NODE_ADDRESS_PREFIX ((const uint8_t[]){0x52, 0x54, 0x00, 0x6e, 0x6c})

/* The ports, as bits, that a frame from a port goes to: the node's that it is addressed to, or all
 * others where it is for many (the first bit of its address is set). None where it is shorter than
 * its header, or for nobody here. */
unsigned numalab_frame_ports(const uint8_t *frame, size_t bytes, unsigned source, unsigned ports);

/* The bytes that TCP carries in it over IPv4, without the padding of short frames; 0 for all else,
 * and for a packet that is not the first one of its fragments. */
size_t numalab_frame_tcp_payload(const uint8_t *frame, size_t bytes);

#endif
