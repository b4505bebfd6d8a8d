#include "frame.h"

#include <string.h>

static size_t number_at(const uint8_t *bytes)
{
    return (size_t)bytes[0] << 8 | bytes[1];
}

unsigned numalab_frame_ports(const uint8_t *frame, size_t bytes, unsigned source, unsigned ports)
{
    const size_t prefix_bytes = NUMALAB_ETHERNET_ADDRESS_BYTES - 1;
    const unsigned others = ((1u << ports) - 1) & ~(1u << source);
    if (bytes < NUMALAB_ETHERNET_HEADER_BYTES) return 0;
    if (frame[0] & 1) return others;
    if (memcmp(frame, NUMALAB_NODE_ADDRESS_PREFIX, prefix_bytes) != 0) return 0;
    const unsigned number = frame[prefix_bytes];
    return number >= 1 && number <= ports ? 1u << (number - 1) & others : 0;
}

/* IPv4: RFC 791; TCP: RFC 9293. */
size_t numalab_frame_tcp_payload(const uint8_t *frame, size_t bytes)
{
    enum { IPV4 = 0x0800, TCP = 6, IP_HEADER_BYTES = 20, TCP_HEADER_BYTES = 20 };
    const uint8_t *ip = frame + NUMALAB_ETHERNET_HEADER_BYTES;
    if (bytes < NUMALAB_ETHERNET_HEADER_BYTES + IP_HEADER_BYTES + TCP_HEADER_BYTES) return 0;
    if (number_at(ip - 2) != IPV4 || ip[0] >> 4 != 4 || ip[9] != TCP) return 0;
    if (number_at(ip + 6) & 0x1fff) return 0; /* a later fragment */
    const size_t ip_header = (ip[0] & 15u) * 4u, packet = number_at(ip + 2);
    if (ip_header < IP_HEADER_BYTES || packet > bytes - NUMALAB_ETHERNET_HEADER_BYTES ||
        packet < ip_header + TCP_HEADER_BYTES)
        return 0;
    const size_t tcp_header = (ip[ip_header + 12] >> 4) * 4u;
    if (tcp_header < TCP_HEADER_BYTES || packet < ip_header + tcp_header) return 0;
    return packet - ip_header - tcp_header;
}
