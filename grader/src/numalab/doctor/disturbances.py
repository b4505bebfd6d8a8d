"""Findings about what disturbs timing on a node, or changes where its pages are. Pure
functions: a node's record, facts, a sample of the load, and the labs, to findings."""

from __future__ import annotations

from collections.abc import Sequence

from numalab.doctor import allowances, page_policies
from numalab.doctor.findings import Finding, by_time
from numalab.doctor.load_sample import BusyProcess, LoadSample
from numalab.doctor.node_facts import NodeFacts
from numalab.evidence.load import is_loaded
from numalab.evidence.record import Json
from numalab.labs.declaration import Lab
from numalab.words import count, percent

_CLOCK_SOURCE = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
_FAST_CLOCKS = ("tsc", "arch_sys_counter", "kvm-clock")
BUSY_PUS = 0.25  # of other programs: a thread that shares its core with them is late
STOLEN_NOW, STOLEN_SINCE_START = 0.01, 0.02
_HOST_DECIDES = "it does not say; of a virtual machine the host decides that"


def _governor(node: Json, labs: Sequence[Lab]) -> Finding:
    topic, governor = "frequency governor", node["governor"]
    concerns = by_time(labs)
    if governor is None:
        return Finding(topic, "unknown", "unknown", _HOST_DECIDES, concerns=concerns)
    if governor == "performance":
        return Finding(topic, "good", governor, "the clock is steady", concerns=concerns)
    return Finding(
        topic, "note", governor,
        "the first runs may be slower than the later ones; ./numalab governor --here tells more",
        command="sudo cpupower frequency-set -g performance", concerns=concerns,
    )  # fmt: skip


def _turbo(facts: NodeFacts, labs: Sequence[Lab]) -> Finding:
    topic, turbo, concerns = "turbo", facts.turbo, by_time(labs)
    if turbo is None:
        return Finding(topic, "unknown", "unknown", _HOST_DECIDES, concerns=concerns)
    if not turbo.is_on:
        return Finding(topic, "good", "off", "no core is faster than another", concerns=concerns)
    return Finding(
        topic, "note", "on",
        "a core's clock depends on how many others work and on how warm they are; verdicts "
        "compare programs that run in turn, which takes out most of it",
        command=f"echo {turbo.off_text} | sudo tee {turbo.file}", concerns=concerns,
    )  # fmt: skip


def _named(one: BusyProcess) -> str:
    return f"{one.name} ({one.pid}, {'yours' if one.is_ours else one.owner}) {one.busy:.2f}"


def _other_load(node: Json, sample: LoadSample | None, labs: Sequence[Lab]) -> Finding:
    topic, concerns, load = "other load", by_time(labs), node["load_1min"]
    if sample is None and load is None:
        return Finding(
            topic, "unknown", "unknown", "the node does not say who uses it", concerns=concerns
        )
    told = [] if load is None else [f"load {load:.2f} over the last minute"]
    is_busy = is_loaded(node)
    if sample is None:
        told.insert(0, "who works now can't be read")
    else:
        is_busy = is_busy or sample.busy >= BUSY_PUS
        told.insert(0, f"{sample.busy:.1f} of {count(sample.pus, 'PU')} busy now")
    if not is_busy:
        return Finding(topic, "good", ", ".join(told), "quiet", concerns=concerns)
    processes = sample.processes if sample is not None else ()
    who = f"; the busiest: {', '.join(map(_named, processes))}" if processes else ""
    if sample is not None and sample.busy - sum(process.busy for process in processes) >= BUSY_PUS:
        who += "; some that work are short-lived, or not visible from here"
    ours = next((process for process in processes if process.is_ours), None)
    remedy = "end what nobody needs (top shows all), or wait"
    if any(not process.is_ours for process in processes):
        remedy += "; what is not yours, ask its owner about"
    if ours is not None:
        remedy += f"; of {ours.name}, once you know what it is:"
    return Finding(
        topic, "note", ", ".join(told),
        f"times are noisy, verdicts take longer or stay open{who}",
        remedy, f"kill {ours.pid}" if ours is not None else "", concerns,
    )  # fmt: skip


def _stolen(sample: LoadSample | None, labs: Sequence[Lab]) -> Finding:
    topic, concerns = "steal time", by_time(labs)
    if sample is None:
        return Finding(topic, "unknown", "unknown", "/proc/stat can't be read", concerns=concerns)
    found = f"{percent(sample.stolen)} now, {percent(sample.stolen_since_start)} since the start"
    if sample.stolen < STOLEN_NOW and sample.stolen_since_start < STOLEN_SINCE_START:
        return Finding(topic, "good", found, "no host takes PUs away", concerns=concerns)
    return Finding(
        topic, "note", found,
        "the host of this virtual machine gives its PUs to others now and then: threads stand "
        "still, and times are noisy",
        "nothing on this node; ask for PUs of its own (dedicated, pinned)", concerns=concerns,
    )  # fmt: skip


def _clock(node: Json, facts: NodeFacts, labs: Sequence[Lab]) -> Finding:
    topic, source, concerns = "clock source", node["clock_source"], by_time(labs)
    if source is None:
        return Finding(
            topic, "unknown", "unknown", "how the time is read is not told", concerns=concerns
        )
    if source in _FAST_CLOCKS:
        return Finding(topic, "good", source, "the time is read in nanoseconds", concerns=concerns)
    better = next((clock for clock in _FAST_CLOCKS if clock in facts.clock_sources), None)
    return Finding(
        topic, "note", source, "reading the time takes a system call or longer",
        "" if better else "no faster one is offered: see why in `sudo dmesg | grep -i tsc`",
        f"echo {better} | sudo tee {_CLOCK_SOURCE}" if better else "", concerns,
    )  # fmt: skip


def _virtual(facts: NodeFacts, labs: Sequence[Lab]) -> Finding:
    topic, concerns = "virtualisation", by_time(labs)
    name = f" ({facts.product})" if facts.product else ""
    if facts.is_virtual is None:
        return Finding(
            topic, "unknown", f"unknown{name}",
            "neither the processor nor the firmware says whether this is a virtual machine",
            concerns=concerns,
        )  # fmt: skip
    if not facts.is_virtual:
        return Finding(topic, "good", f"none seen{name}", "times are the machine's own")
    return Finding(
        topic, "note", f"a virtual machine{name}",
        "other guests of its host are not seen and disturb times; cores and NUMA nodes may be "
        "other than they look",
        "nothing on this node; figures worth quoting come from a machine itself",
        concerns=concerns,
    )  # fmt: skip


def disturbances(
    node: Json, facts: NodeFacts, sample: LoadSample | None, labs: Sequence[Lab]
) -> list[Finding]:
    """One finding for each topic, whether it is in order, not, or not to be known."""
    return [
        allowances.cpu_set(node, facts, labs),
        allowances.cpu_quota(node, facts, labs),
        allowances.memory_limit(node, facts, labs),
        allowances.smt(facts, labs),
        allowances.kinds_of_cores(node, labs),
        allowances.isolated(facts, labs),
        _governor(node, labs),
        _turbo(facts, labs),
        _clock(node, facts, labs),
        _virtual(facts, labs),
        _stolen(sample, labs),
        _other_load(node, sample, labs),
        page_policies.balancing(node, labs),
        page_policies.huge_pages(node, labs),
        page_policies.defrag(facts, labs),
    ]
