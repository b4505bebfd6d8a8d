"""Findings about what the kernel does with pages: how large they are, and whether they move.
Pure functions."""

from __future__ import annotations

from collections.abc import Sequence

from numalab.doctor.findings import Finding, by_huge_pages, by_place_of_pages, concerned
from numalab.doctor.node_facts import NodeFacts
from numalab.evidence.page_mode import mode_of_workers
from numalab.evidence.record import Json
from numalab.labs.declaration import Lab

_THP = "/sys/kernel/mm/transparent_hugepage"
# With these a program that asks for huge pages waits until the kernel has made room.
_DEFRAG_ON_DEMAND = ("always", "madvise", "defer+madvise")


def huge_pages(node: Json, labs: Sequence[Lab]) -> Finding:
    topic, mode = "transparent huge pages", mode_of_workers(node)
    lost = concerned(
        labs, lambda lab, c: bool(c.needs_huge_page_mode) and mode not in c.needs_huge_page_mode
    )
    if mode is None:
        return Finding(
            topic, "unknown", "unknown",
            "this kernel has none or does not say; what needs them is not gradable",
            concerns=lost,
        )  # fmt: skip
    if lost:
        why = "everybody gets them unasked" if mode == "always" else "nobody gets any"
        return Finding(
            topic, "note", mode, f"{why}: not gradable here is what needs another mode",
            command=f"echo madvise | sudo tee {_THP}/enabled", concerns=lost,
        )  # fmt: skip
    if node["huge_page_mode"] == "always":
        return Finding(
            topic, "good", "always", "everybody gets them unasked; the kit's workers only those "
            "that they ask for, which this kernel can do for a process (Linux 6.18)",
            concerns=by_huge_pages(labs),
        )  # fmt: skip
    return Finding(
        topic, "good", mode, "programs that ask for them get them; the labs that place "
        "4 KiB pages run without", concerns=by_huge_pages(labs),
    )  # fmt: skip


def defrag(facts: NodeFacts, labs: Sequence[Lab]) -> Finding:
    topic, mode, concerns = "huge page defrag", facts.defrag, by_huge_pages(labs)
    if mode is None:
        return Finding(
            topic, "unknown", "unknown", f"{_THP}/defrag can't be read", concerns=concerns
        )
    if mode in _DEFRAG_ON_DEMAND:
        return Finding(
            topic, "good", mode, "the kernel makes room when a program asks for huge pages",
            concerns=concerns,
        )  # fmt: skip
    return Finding(
        topic, "note", mode,
        "the kernel makes no room when asked: a right kernel may get fewer huge pages, the "
        "more so the longer the node has been running",
        command=f"echo madvise | sudo tee {_THP}/defrag", concerns=concerns,
    )  # fmt: skip


def balancing(node: Json, labs: Sequence[Lab]) -> Finding:
    topic, on, concerns = (
        "automatic NUMA balancing",
        node["numa_balancing"],
        by_place_of_pages(labs),
    )
    if on is None:
        return Finding(
            topic, "unknown", "unknown",
            "there is no /proc/sys/kernel/numa_balancing: this kernel can't do it, or a "
            "container hides it",
            concerns=concerns,
        )  # fmt: skip
    if not on:
        return Finding(topic, "good", "off", "pages stay where they are", concerns=concerns)
    return Finding(
        topic, "note", "on",
        "the kernel moves pages towards their users and hides a wrong first touch",
        command="sudo sysctl kernel.numa_balancing=0", concerns=concerns,
    )  # fmt: skip
