"""Findings about what disturbs times on a machine, or changes where its pages are. Pure
functions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from numalab.doctor.current_load import ActiveProcess, CurrentLoad
from numalab.doctor.findings import (
    Finding,
    concerned,
    core_concerns,
    huge_page_concerns,
    is_timed_on_cores,
    placement_concerns,
    timing_concerns,
)
from numalab.doctor.node_facts import NodeFacts
from numalab.evidence.core_kinds import core_kinds, kinds_in_words
from numalab.evidence.load import is_loaded
from numalab.evidence.page_mode import mode_of_workers
from numalab.evidence.record import Json
from numalab.judging.work_rules import balanced
from numalab.labs.declaration import Lab
from numalab.pu_lists import format_pus
from numalab.words import amount, count, percent, short

_CLOCK_SOURCE = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
_FAST_CLOCKS = ("tsc", "arch_sys_counter", "kvm-clock")
MIN_OTHER_LOAD_PUS = 0.25  # a load of other programs that makes a thread on the same core late
MAX_STEAL_NOW, MAX_STEAL_SINCE_START = 0.01, 0.02
_HYPERVISOR_DECIDES = "it does not say; of a virtual machine the host decides that"


def _governor(node: Json, labs: Sequence[Lab]) -> Finding:
    finding = partial(Finding, "frequency governor", concerns=timing_concerns(labs))
    governor = node["governor"]
    if governor is None:
        return finding("unknown", "unknown", _HYPERVISOR_DECIDES)
    if governor == "performance":
        return finding("good", governor, "the clock is steady")
    return finding(
        "note", governor,
        "the first runs may be slower than the later ones; ./numalab governor --here tells more",
        command="sudo cpupower frequency-set -g performance",
    )  # fmt: skip


def _turbo(facts: NodeFacts, labs: Sequence[Lab]) -> Finding:
    finding = partial(Finding, "turbo", concerns=timing_concerns(labs))
    turbo = facts.turbo
    if turbo is None:
        return finding("unknown", "unknown", _HYPERVISOR_DECIDES)
    if not turbo.is_on:
        return finding("good", "off", "no core is faster than another")
    return finding(
        "note", "on",
        "a core's clock depends on how many others work and on how warm they are; verdicts "
        "compare programs that run in turn, which takes out most of it",
        command=f"echo {turbo.disabling_text} | sudo tee {turbo.file}",
    )  # fmt: skip


def _named(process: ActiveProcess) -> str:
    owner = "yours" if process.is_ours else process.owner
    return f"{process.name} ({process.pid}, {owner}) {process.busy:.2f}"


def _other_load(node: Json, load: CurrentLoad | None, labs: Sequence[Lab]) -> Finding:
    finding = partial(Finding, "other load", concerns=timing_concerns(labs))
    average = node["load_1min"]
    if load is None and average is None:
        return finding("unknown", "unknown", "the node does not say who uses it")
    told = [] if average is None else [f"load {average:.2f} over the last minute"]
    is_busy = is_loaded(node)
    if load is None:
        told.insert(0, "who works now can't be read")
    else:
        is_busy = is_busy or load.busy >= MIN_OTHER_LOAD_PUS
        told.insert(0, f"{load.busy:.1f} of {count(load.pus, 'PU')} busy now")
    if not is_busy:
        return finding("good", ", ".join(told), "quiet")
    processes = load.processes if load is not None else ()
    who = f"; the busiest: {', '.join(map(_named, processes))}" if processes else ""
    known = sum(process.busy for process in processes)
    if load is not None and load.busy - known >= MIN_OTHER_LOAD_PUS:
        who += "; some that work are short-lived, or not visible from here"
    ours = next((process for process in processes if process.is_ours), None)
    remedy = "end what nobody needs (top shows all), or wait"
    if any(not process.is_ours for process in processes):
        remedy += "; what is not yours, ask its owner about"
    if ours is not None:
        remedy += f"; of {ours.name}, once you know what it is:"
    means = f"times are noisy, verdicts take longer or stay open{who}"
    command = f"kill {ours.pid}" if ours is not None else ""
    return finding("note", ", ".join(told), means, remedy, command)


def _steal_time(load: CurrentLoad | None, labs: Sequence[Lab]) -> Finding:
    finding = partial(Finding, "steal time", concerns=timing_concerns(labs))
    if load is None:
        return finding("unknown", "unknown", "/proc/stat can't be read")
    observed = f"{percent(load.stolen)} now, {percent(load.stolen_since_start)} since the start"
    if load.stolen < MAX_STEAL_NOW and load.stolen_since_start < MAX_STEAL_SINCE_START:
        return finding("good", observed, "no host takes PUs away")
    return finding(
        "note", observed,
        "the host of this virtual machine gives its PUs to others now and then: threads stand "
        "still, and times are noisy",
        "nothing on this node; ask for PUs of its own (dedicated, pinned)",
    )  # fmt: skip


def _clock(node: Json, facts: NodeFacts, labs: Sequence[Lab]) -> Finding:
    finding = partial(Finding, "clock source", concerns=timing_concerns(labs))
    source = node["clock_source"]
    if source is None:
        return finding("unknown", "unknown", "how the time is read is not told")
    if source in _FAST_CLOCKS:
        return finding("good", source, "the time is read in nanoseconds")
    better = next((clock for clock in _FAST_CLOCKS if clock in facts.clock_sources), None)
    return finding(
        "note", source, "reading the time takes a system call or longer",
        "" if better else "no faster one is offered: see why in `sudo dmesg | grep -i tsc`",
        f"echo {better} | sudo tee {_CLOCK_SOURCE}" if better else "",
    )  # fmt: skip


def _virtual(facts: NodeFacts, labs: Sequence[Lab]) -> Finding:
    finding = partial(Finding, "virtualisation", concerns=timing_concerns(labs))
    name = f" ({facts.product})" if facts.product else ""
    if facts.is_virtual is None:
        means = "neither the processor nor the firmware says whether this is a virtual machine"
        return finding("unknown", f"unknown{name}", means)
    if not facts.is_virtual:
        return finding("good", f"none seen{name}", "times are the machine's own", concerns={})
    return finding(
        "note", f"a virtual machine{name}",
        "other guests of its host are not seen and disturb times; cores and NUMA nodes may be "
        "other than they look",
        "nothing on this node; figures worth quoting come from a machine itself",
    )  # fmt: skip


def disturbances(
    node: Json, facts: NodeFacts, load: CurrentLoad | None, labs: Sequence[Lab]
) -> list[Finding]:
    """Return one finding for each topic, also where all is well or nothing is known. load: None: it
    can't be measured."""
    return [
        usable_pus(node, facts, labs),
        time_quota(node, facts, labs),
        memory_limit(node, facts, labs),
        smt(facts, labs),
        kinds_of_cores(node, labs),
        isolated(facts, labs),
        _governor(node, labs),
        _turbo(facts, labs),
        _clock(node, facts, labs),
        _virtual(facts, labs),
        _steal_time(load, labs),
        _other_load(node, load, labs),
        balancing(node, labs),
        huge_pages(node, labs),
        defrag(facts, labs),
    ]


# ---- what this process may use -------------------------------------------------------


SMALL_MEMORY_BYTES = 4 * 2**30
_NO_GROUPS = "control groups can't be read here"


def usable_pus(node: Json, facts: NodeFacts, labs: Sequence[Lab]) -> Finding:
    usable, online = node["pus"], node["pus_online"]
    concerns = concerned(labs, lambda lab, c: c.kind != "correctness")
    finding = partial(Finding, "CPU set", concerns=concerns)
    if facts.allowed is None and facts.groups.cpusets is None:
        means = "who decides which PUs may be used can't be read"
        return finding("unknown", f"{usable} of {count(online, 'PU')}", means)
    if usable >= online:
        return finding("good", f"all {count(online, 'PU')}", "the kit uses them", concerns={})
    level = facts.groups.narrowing_cpuset
    by_affinity = level is None or (
        facts.allowed is not None and len(facts.allowed) < len(level.pus)
    )
    which = "" if facts.allowed is None else f" ({format_pus(sorted(facts.allowed))})"
    return finding(
        "note", f"{usable} of {online} PUs may be used{which}",
        "the kit uses only these; a node of which others use a part is noisy",
        (
            "the shell's own affinity has set this (taskset, numactl, a job step, isolated PUs)"
            if by_affinity or level is None
            else f"a job or a container has set this, see {level.file}; ask for whole nodes"
        ),
        f"taskset -c 0-{online - 1} ./numalab doctor" if by_affinity else "",
    )  # fmt: skip


def time_quota(node: Json, facts: NodeFacts, labs: Sequence[Lab]) -> Finding:
    groups = facts.groups
    finding = partial(Finding, "CPU quota", concerns=timing_concerns(labs))
    if groups.core_limits is None:
        return finding("unknown", "unknown", _NO_GROUPS)
    unseen = "; what a host sets above this container can't be seen" if groups.is_cut_off else ""
    limit = groups.core_limit
    if limit is None:
        return finding("good", "none", f"no level limits CPU time{unseen}", concerns={})
    observed = f"the time of {short(limit.value)} of {count(node['pus'], 'PU')}"
    if limit.value >= node["pus"]:
        return finding("good", observed, f"that is all of them{unseen}")
    none = "max" if limit.file.endswith("cpu.max") else "-1"
    return finding(
        "bad", observed, "processes are stopped in every period: no time can be trusted",
        f"it is set in {limit.file}; in a container or a job ask for no limit, else:",
        f"echo {none} | sudo tee {limit.file}",
    )  # fmt: skip


def memory_limit(node: Json, facts: NodeFacts, labs: Sequence[Lab]) -> Finding:
    limit = node["cgroup_memory_max_bytes"]
    finding = partial(Finding, "memory limit", concerns=timing_concerns(labs))
    if limit is None and facts.groups.memory_limits is None:
        return finding("unknown", "unknown", _NO_GROUPS)
    if limit is None:
        return finding("good", "none", "no level limits memory", concerns={})
    files = [limited.file for limited in facts.groups.memory_limits or () if limited.value == limit]
    small = limit < SMALL_MEMORY_BYTES
    return finding(
        "note" if small else "good", amount(limit),
        "arrays take at most an eighth of it"
        + (", and may then fit into caches that hide where pages are" if small else ""),
        (f"it is set in {files[0]}" if files else "a job or a container has set it")
        + "; ask for more",
    )  # fmt: skip


def smt(facts: NodeFacts, labs: Sequence[Lab]) -> Finding:
    finding = partial(Finding, "SMT", concerns=core_concerns(labs))
    if facts.smt is None:
        return finding(
            "unknown", "unknown",
            "the node does not say whether a core has several PUs; OMP_PLACES=cores gives each "
            "thread a core of those that it shows",
        )  # fmt: skip
    if not facts.smt:
        return finding("good", "off", "a core is one PU")
    return finding(
        "good", "on",
        "the kit starts one thread per core and OMP_PLACES=cores keeps it there; the core's "
        "other PUs stay free unless somebody else uses them",
    )  # fmt: skip


def kinds_of_cores(node: Json, labs: Sequence[Lab]) -> Finding:
    """Return the finding on unlike cores, on which equal parts of a loop take different times."""
    kinds = core_kinds(node)
    concerns = concerned(labs, lambda lab, c: balanced.judges(c) or is_timed_on_cores(lab, c))
    finding = partial(Finding, "kinds of cores", concerns=concerns)
    if not kinds:
        means = "neither the processor nor the kernel says whether all cores are alike"
        return finding("unknown", "unknown", means)
    if len(kinds) == 1:
        return finding("good", "one", "equal work takes equal time on every core", concerns={})
    largest = max(reversed(kinds), key=lambda kind: len(kind.pus))
    return finding(
        "note", f"{len(kinds)}: {kinds_in_words(kinds)}",
        "equal parts of a loop take unlike time: schedule(static) leaves the faster cores waiting, "
        "bounds that are worked out for equal cores don't hold, and OMP_PLACES=cores takes both "
        "kinds",
        "grade on the cores of one kind, or take the difference into your predictions",
        f"taskset -c {format_pus(largest.pus)} ./numalab grade",
    )  # fmt: skip


def isolated(facts: NodeFacts, labs: Sequence[Lab]) -> Finding:
    finding = partial(Finding, "isolated PUs", concerns=timing_concerns(labs))
    if facts.isolated is None or facts.nohz_full is None:
        return finding("unknown", "unknown", "the kernel does not say")
    if not facts.isolated and not facts.nohz_full:
        means = "the kernel spreads processes over all PUs"
        return finding("good", "none", means, concerns={})
    observed = ", ".join(
        f"{what} {format_pus(sorted(pus))}"
        for what, pus in (("isolated", facts.isolated), ("without ticks", facts.nohz_full))
        if pus
    )
    if not facts.isolated:
        return finding("good", observed, "the kernel interrupts these less")
    outside = facts.allowed is not None and not facts.isolated & facts.allowed
    return finding(
        "note", observed,
        "the kernel moves no process there by itself"
        + (": the kit does not use these quiet PUs" if outside else "")
        + "; threads that are not bound stay on one of them",
        "to grade on the isolated PUs only:",
        f"taskset -c {format_pus(sorted(facts.isolated))} ./numalab grade",
    )  # fmt: skip


# ---- pages ---------------------------------------------------------------------------


_THP = "/sys/kernel/mm/transparent_hugepage"
# Modes with which a program that asks for huge pages waits until Linux has made room.
_DEFRAG_ON_DEMAND = ("always", "madvise", "defer+madvise")


def huge_pages(node: Json, labs: Sequence[Lab]) -> Finding:
    mode = mode_of_workers(node)
    lost = concerned(
        labs, lambda lab, c: bool(c.needs_huge_page_mode) and mode not in c.needs_huge_page_mode
    )
    finding = partial(Finding, "transparent huge pages", concerns=lost)
    if mode is None:
        means = "this kernel has none or does not say; what needs them is not gradable"
        return finding("unknown", "unknown", means)
    if lost:
        why = "everybody gets them unasked" if mode == "always" else "nobody gets any"
        means = f"{why}: not gradable here is what needs another mode"
        return finding("note", mode, means, command=f"echo madvise | sudo tee {_THP}/enabled")
    observed = mode
    means = "programs that ask for them get them; the labs that place 4 KiB pages run without"
    if node["huge_page_mode"] == "always":
        observed = "always"
        means = (
            "everybody gets them unasked; the kit's workers only those that they ask for, which "
            "this kernel can do for a process (Linux 6.18)"
        )
    return finding("good", observed, means, concerns=huge_page_concerns(labs))


def defrag(facts: NodeFacts, labs: Sequence[Lab]) -> Finding:
    mode = facts.defrag
    finding = partial(Finding, "huge page defrag", concerns=huge_page_concerns(labs))
    if mode is None:
        return finding("unknown", "unknown", f"{_THP}/defrag can't be read")
    if mode in _DEFRAG_ON_DEMAND:
        return finding("good", mode, "the kernel makes room when a program asks for huge pages")
    return finding(
        "note", mode,
        "the kernel makes no room when asked: a right kernel may get fewer huge pages, the "
        "more so the longer the node has been running",
        command=f"echo madvise | sudo tee {_THP}/defrag",
    )  # fmt: skip


def balancing(node: Json, labs: Sequence[Lab]) -> Finding:
    finding = partial(Finding, "automatic NUMA balancing", concerns=placement_concerns(labs))
    if node["numa_balancing"] is None:
        return finding(
            "unknown", "unknown",
            "there is no /proc/sys/kernel/numa_balancing: this kernel can't do it, or a "
            "container hides it",
        )  # fmt: skip
    if not node["numa_balancing"]:
        return finding("good", "off", "pages stay where they are")
    means = "the kernel moves pages towards their users and hides a wrong first touch"
    return finding("note", "on", means, command="sudo sysctl kernel.numa_balancing=0")
