"""Levels of thread support: what ranks asked MPI for and got, and how their threads then called
it."""

from __future__ import annotations

from dataclasses import dataclass

# MPI's, the least first.
LEVELS = ("single", "funneled", "serialized", "multiple")


@dataclass(frozen=True)
class MpiCalls:
    """How often one rank called MPI to communicate: from its main thread outside and inside
    parallel regions, from other threads, and while another thread was inside MPI."""

    main: int
    main_in_parallel: int
    other: int
    at_once: int


@dataclass(frozen=True)
class RankLevel:
    """The thread level that a rank asked for and got, None: it did not; what the kernel
    answered to it; and what its threads then did."""

    rank: int
    asked: str | None
    provided: str | None
    answer: int | None
    threads: int
    calls: MpiCalls


@dataclass(frozen=True)
class OtherLevel:
    """What a kernel answered that was given another level than it asked for, as of RankLevel."""

    asked: str | None
    provided: str | None
    answer: int | None
