"""The network between the nodes of a cluster: the kit's relay (common/relay) and what it has
counted.

The relay is a process of the host that carries the Ethernet frames of two to four nodes. What it
counts nobody in a node can change: it sees what their network cards sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Traffic:
    """Of one direction of a node's link, since the relay was started.

    bytes count whole Ethernet frames with their header of 14 bytes, and without what a wire adds
    (preamble, check sum and gap: 24 bytes per frame). tcp_payload_bytes: what TCP carried in
    them, headers of IP and TCP left out; what was sent twice counts twice. tcp_frames: those that
    carry such payload. largest_frame_bytes and most_bytes_in_100_ms are of all the time.
    """

    frames: int
    bytes: int
    tcp_frames: int
    tcp_payload_bytes: int
    largest_frame_bytes: int
    most_bytes_in_100_ms: int

    @property
    def peak_mbit_s(self) -> float:
        """The most that crossed within a tenth of a second."""
        return self.most_bytes_in_100_ms * 8 / 0.1 / 1e6

    def since(self, earlier: Traffic) -> Traffic:
        """What has crossed since then. The largest frame and the peak stay those of all the
        time."""
        return Traffic(
            self.frames - earlier.frames,
            self.bytes - earlier.bytes,
            self.tcp_frames - earlier.tcp_frames,
            self.tcp_payload_bytes - earlier.tcp_payload_bytes,
            self.largest_frame_bytes,
            self.most_bytes_in_100_ms,
        )


@dataclass(frozen=True)
class NodeCounts:
    """Of a node's link: what its network card sent, and what was given to it. dropped_frames: of
    its own that were no Ethernet frames, or too large; none where all is well."""

    sent: Traffic
    received: Traffic
    dropped_frames: int


@dataclass(frozen=True)
class Counts:
    """Of all nodes, node1 first."""

    nodes: tuple[NodeCounts, ...]

    def since(self, earlier: Counts) -> Counts:
        """What has crossed since then: of a job, where `earlier` was read before it."""
        return Counts(tuple(
            NodeCounts(
                now.sent.since(then.sent),
                now.received.since(then.received),
                now.dropped_frames - then.dropped_frames,
            )
            for now, then in zip(self.nodes, earlier.nodes, strict=True)
        ))  # fmt: skip
