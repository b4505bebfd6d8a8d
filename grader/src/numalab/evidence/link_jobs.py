"""A job of two ranks on two virtual nodes that hands items from one to the other: what the relay
between the nodes has counted, and whether the items are there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

SLOT_BYTES = 64  # what an item has room for: interconnect.h of the lab

# How it ended: in itself; not within the limit; with another code than 0; it was ended, since it
# printed too much; with a node that ended.
JobEnd = Literal["ok", "late", "code", "printed", "node"]


@dataclass(frozen=True)
class WrongItem:
    """The first that rank 1 has not got as rank 0 has it. length, expected_length: its numbers;
    number: the first that is wrong, None: only the length is."""

    item: int
    length: int
    expected_length: int
    number: int | None


@dataclass(frozen=True)
class LinkJob:
    """end, code, said: how mpiexec ended, with the first words of the job; limit_s: for all of it.
    items, payload_bytes: of rank 0, only what is in use; wrong: None: there was nothing to be
    compared, since rank 1 has not come to its end. sent_bytes, sent_frames: of node 1, whole
    Ethernet frames, with the job's start and end; received_bytes: what came back."""

    part: str | None
    end: JobEnd
    code: int
    said: str
    limit_s: float
    items: int
    payload_bytes: int
    wrong: int | None
    first_wrong: WrongItem | None
    sent_bytes: int
    sent_frames: int
    received_bytes: int

    @property
    def per_byte(self) -> float:
        """Bytes on the link for each one of the items."""
        return self.sent_bytes / self.payload_bytes

    @property
    def more_per_item(self) -> float:
        """Bytes on the link for each item beside its own."""
        return (self.sent_bytes - self.payload_bytes) / self.items


def job_facts(data: Mapping[str, Any]) -> dict[str, Any]:
    """All of a LinkJob but its part."""
    first = data["first_wrong"]
    names = (
        "end", "code", "said", "limit_s", "items", "payload_bytes", "wrong", "sent_bytes",
        "sent_frames", "received_bytes",
    )  # fmt: skip
    return {name: data[name] for name in names} | {
        "first_wrong": None if first is None else WrongItem(**first)
    }
