"""Findings about what a node lets this process use: PUs, CPU time, memory. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence

from numalab.doctor.findings import Finding, by_cores, by_time, concerned
from numalab.doctor.node_facts import NodeFacts
from numalab.evidence.core_kinds import core_kinds, kinds_in_words
from numalab.evidence.record import Json
from numalab.judging.work_rules import balanced
from numalab.labs.declaration import Lab
from numalab.pu_lists import format_pus
from numalab.words import amount, count, short

SMALL_MEMORY_BYTES = 4 * 2**30


def cpu_set(node: Json, facts: NodeFacts, labs: Sequence[Lab]) -> Finding:
    topic, usable, online = "CPU set", node["pus"], node["pus_online"]
    concerns = concerned(labs, lambda lab, c: c.kind != "correctness")
    if facts.allowed is None and facts.groups.cpusets is None:
        return Finding(
            topic, "unknown", f"{usable} of {count(online, 'PU')}",
            "who decides which PUs may be used can't be read", concerns=concerns,
        )  # fmt: skip
    if usable >= online:
        return Finding(topic, "good", f"all {count(online, 'PU')}", "the kit uses them")
    level = facts.groups.narrowing_cpuset
    by_affinity = level is None or (
        facts.allowed is not None and len(facts.allowed) < len(level.pus)
    )
    which = "" if facts.allowed is None else f" ({format_pus(sorted(facts.allowed))})"
    return Finding(
        topic, "note", f"{usable} of {online} PUs may be used{which}",
        "the kit uses only these; a node of which others use a part is noisy",
        (
            "the shell's own affinity has set this (taskset, numactl, a job step, isolated PUs)"
            if by_affinity or level is None
            else f"a job or a container has set this, see {level.file}; ask for whole nodes"
        ),
        f"taskset -c 0-{online - 1} ./numalab doctor" if by_affinity else "",
        concerns,
    )  # fmt: skip


def cpu_quota(node: Json, facts: NodeFacts, labs: Sequence[Lab]) -> Finding:
    topic, groups, concerns = "CPU quota", facts.groups, by_time(labs)
    if groups.cpu is None:
        return Finding(
            topic, "unknown", "unknown", "control groups can't be read here", concerns=concerns
        )
    unseen = "; what a host sets above this container can't be seen" if groups.is_cut_off else ""
    limit = groups.cpu_limit
    if limit is None:
        return Finding(topic, "good", "none", f"no level limits CPU time{unseen}")
    found = f"the time of {short(limit.value)} of {count(node['pus'], 'PU')}"
    if limit.value >= node["pus"]:
        return Finding(topic, "good", found, f"that is all of them{unseen}", concerns=concerns)
    none = "max" if limit.file.endswith("cpu.max") else "-1"
    return Finding(
        topic, "bad", found, "processes are stopped in every period: no time can be trusted",
        f"it is set in {limit.file}; in a container or a job ask for no limit, else:",
        f"echo {none} | sudo tee {limit.file}", concerns,
    )  # fmt: skip


def memory_limit(node: Json, facts: NodeFacts, labs: Sequence[Lab]) -> Finding:
    topic, limit, concerns = "memory limit", node["cgroup_memory_max_bytes"], by_time(labs)
    if limit is None and facts.groups.memory is None:
        return Finding(
            topic, "unknown", "unknown", "control groups can't be read here", concerns=concerns
        )
    if limit is None:
        return Finding(topic, "good", "none", "no level limits memory")
    files = [limited.file for limited in facts.groups.memory or () if limited.value == limit]
    small = limit < SMALL_MEMORY_BYTES
    return Finding(
        topic, "note" if small else "good", amount(limit),
        "arrays take at most an eighth of it"
        + (", and may then fit into caches that hide where pages are" if small else ""),
        (f"it is set in {files[0]}" if files else "a job or a container has set it")
        + "; ask for more",
        concerns=concerns,
    )  # fmt: skip


def smt(facts: NodeFacts, labs: Sequence[Lab]) -> Finding:
    topic, concerns = "SMT", by_cores(labs)
    if facts.smt is None:
        return Finding(
            topic, "unknown", "unknown",
            "the node does not say whether a core has several PUs; OMP_PLACES=cores gives each "
            "thread a core of those that it shows",
            concerns=concerns,
        )  # fmt: skip
    if not facts.smt:
        return Finding(topic, "good", "off", "a core is one PU", concerns=concerns)
    return Finding(
        topic, "good", "on",
        "the kit starts one thread per core and OMP_PLACES=cores keeps it there; the core's "
        "other PUs stay free unless somebody else uses them",
        concerns=concerns,
    )  # fmt: skip


def kinds_of_cores(node: Json, labs: Sequence[Lab]) -> Finding:
    """Cores that are not alike: equal parts of a loop take unlike time on them."""
    topic, kinds = "kinds of cores", core_kinds(node)
    concerns = concerned(
        labs,
        lambda lab, c: (
            balanced.judges(c)
            or (c.kind == "timing" and lab.environment.get("OMP_PLACES") == "cores")
        ),
    )
    if not kinds:
        return Finding(
            topic, "unknown", "unknown",
            "neither the processor nor the kernel says whether all cores are alike",
            concerns=concerns,
        )  # fmt: skip
    if len(kinds) == 1:
        return Finding(topic, "good", "one", "equal work takes equal time on every core")
    largest = max(reversed(kinds), key=lambda kind: len(kind.pus))
    return Finding(
        topic, "note", f"{len(kinds)}: {kinds_in_words(kinds)}",
        "equal parts of a loop take unlike time: schedule(static) leaves the faster cores waiting, "
        "bounds that are worked out for equal cores don't hold, and OMP_PLACES=cores takes both "
        "kinds",
        "grade on the cores of one kind, or take the difference into your predictions",
        f"taskset -c {format_pus(largest.pus)} ./numalab grade", concerns,
    )  # fmt: skip


def isolated(facts: NodeFacts, labs: Sequence[Lab]) -> Finding:
    topic, concerns = "isolated PUs", by_time(labs)
    if facts.isolated is None or facts.nohz_full is None:
        return Finding(topic, "unknown", "unknown", "the kernel does not say", concerns=concerns)
    if not facts.isolated and not facts.nohz_full:
        return Finding(topic, "good", "none", "the kernel spreads processes over all PUs")
    found = [
        f"{what} {format_pus(sorted(pus))}"
        for what, pus in (("isolated", facts.isolated), ("without ticks", facts.nohz_full))
        if pus
    ]
    if not facts.isolated:
        return Finding(
            topic, "good", ", ".join(found), "the kernel interrupts these less", concerns=concerns
        )
    outside = facts.allowed is not None and not facts.isolated & facts.allowed
    return Finding(
        topic, "note", ", ".join(found),
        "the kernel moves no process there by itself"
        + (": the kit does not use these quiet PUs" if outside else "")
        + "; threads that are not bound stay on one of them",
        "to grade on the isolated PUs only:",
        f"taskset -c {format_pus(sorted(facts.isolated))} ./numalab grade", concerns,
    )  # fmt: skip
