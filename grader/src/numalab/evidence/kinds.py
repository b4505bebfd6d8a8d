"""The kinds of evidence: one row each, with the function that makes evidence of a run's record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from numalab.evidence.cpusets import Cpusets, read_program
from numalab.evidence.placed_pages import read_placing
from numalab.evidence.read_parts import expand, read_checked_pages
from numalab.evidence.read_trace import traced_arrays
from numalab.evidence.record import (
    HANDOUT,
    SOLUTION,
    CpuTime,
    Kind,
    Placement,
    SingleThread,
    TimedRound,
    Trace,
)
from numalab.evidence.run_formats import (
    ActiveThreadsRun,
    AnyRunRecord,
    BindingRun,
    CheckRun,
    CpusetsRun,
    LatencyRun,
    LinkJob,
    LocateRun,
    MemoryRun,
    PageTablesRun,
    PlacementRun,
    RaceRun,
    RanksRun,
    ReferenceRatesRun,
    SaturationRun,
    SeriesRun,
    SingleThreadTimes,
    StopsRun,
    StoresRun,
    ThreadLevelRun,
    TimedRepetition,
    TimedRole,
    TimingRun,
    TraceRun,
)

Run = TypeVar("Run")


def _itself(run: Run) -> Run:
    return run


def _trace(run: TraceRun) -> Trace:
    touch_map = run.touch_map
    seen: dict[str, Any] = {"method": "", "order": "", "sees_write_after_read": False}
    if touch_map is not None:
        seen = {name: getattr(touch_map, name) for name in (*seen, "closings")}
    return Trace(
        **seen, part=run.part, outcome=run.outcome, results=run.results, n=run.n,
        threads=run.threads, arrays=traced_arrays(touch_map), team=run.team,
    )  # fmt: skip


def _placement(run: PlacementRun) -> Placement:
    homes = {entry.array: expand(entry.numa_node) for entry in run.residency or ()}
    return Placement(
        part=run.part,
        outcome=run.outcome,
        results=run.results,
        n=run.n,
        threads=run.threads,
        residency=None if run.residency is None else homes,
        checked_pages={
            entry.array: read_checked_pages(entry, len(homes[entry.array]))
            for entry in run.residency or ()
        },
        cpu_time=tuple(
            CpuTime(
                entry.cpu_s, entry.runqueue_wait_s, entry.steal_s, entry.longest_s, entry.demand_s
            )
            for entry in run.cpu_time
        ),
        team=run.team,
        single_thread=None if run.one_thread is None else _single_thread(run, run.one_thread),
    )


def _single_thread(placement: PlacementRun, single: SingleThreadTimes) -> SingleThread:
    of_threads_s = sum(entry.cpu_s for entry in placement.cpu_time)
    return SingleThread(
        outcome=single.outcome,
        cpu_s=single.cpu_s / single.computes if single.computes else None,
        team_cpu_s=single.team_cpu_s / max(1, placement.computes),
        ended_cpu_s=max(0.0, single.team_cpu_s - of_threads_s),
    )


def _timed_round(run: TimingRun) -> TimedRound:
    """Return a round without roles that may fail and have, or that may and have wrong results, and
    without repetitions that warmed up or were paused, unless they were cut."""
    counted = [entry for entry in run.roles if not _is_failed_extra(entry)]
    roles = {entry.role: entry for entry in counted}
    samples = [sample for sample in run.samples if sample.role in roles]
    elapsed: dict[str, list[float]] = {}
    for sample in samples:
        if sample.cut or not (sample.warm_up or sample.paused):
            elapsed.setdefault(sample.role, []).append(sample.elapsed_s)
    return TimedRound(
        part=run.part,
        slow=run.slow,
        n=run.n,
        bytes_moved=run.bytes_moved,
        bytes_allocated=run.bytes_allocated,
        loads_in_chain=run.loads_in_chain,
        roles=roles,
        elapsed_s={role: tuple(times) for role, times in elapsed.items()},
        cut=frozenset(sample.role for sample in samples if sample.cut),
        is_retry=run.second_try,
        taken_s={entry.role: _taken_s(entry, samples) for entry in counted},
    )


def _is_failed_extra(entry: TimedRole) -> bool:
    return entry.may_fail and (entry.outcome.status != "ok" or entry.results.mismatches > 0)


def _taken_s(entry: TimedRole, repetitions: Sequence[TimedRepetition]) -> float:
    """Return how long a round waited for a role, in an older record the time of its phases."""
    if entry.taken_s is not None:
        return entry.taken_s
    phases_s = sum(one.elapsed_s for one in repetitions if one.role == entry.role)
    return entry.initialize_s + phases_s


def _cpusets(run: CpusetsRun) -> Cpusets:
    programs = {str(program.group): read_program(program) for program in run.programs}
    return Cpusets(run.part, run.outcome, run.file, tuple(run.refusals), programs)


# ---- the table -------------------------------------------------------------------------

CHECK: Kind[CheckRun] = Kind("check", _itself, "kernel", counts_for_soundness=True)
SYNCHRONOUS_CHECK: Kind[CheckRun] = Kind(
    "synchronous_check", _itself, "kernel",
    run="check", mark="synchronous_sends",
)  # fmt: skip
TRACE = Kind(
    "trace", _trace, "kernel",
    counts_for_soundness=True, doing="tracing who touches which page",
    run_options=(("--order", "natural"), ("--order", "ascending"), ("--order", "descending")),
)  # fmt: skip
# One thread fewer; it is not merged with the other traces.
ANOTHER_TEAM = Kind("another_team", _trace, "kernel", run="trace", mark="another_team")
# Of numalab's kernels, for predictions: nearly all pages, not some hundreds of each array.
WHOLE_TRACE = Kind(
    "whole_trace", _trace, "kernel", run="trace", mark="whole",
    run_options=(("--order", "natural", "--traced-pages", "16384"),),
)  # fmt: skip
PLACEMENT = Kind(
    "placement", _placement, "kernel",
    counts_for_soundness=True, doing="looking how the work is shared",
    max_runs=8,  # until most of them agree how the work is shared
)  # fmt: skip
ACTIVE_THREADS: Kind[ActiveThreadsRun] = Kind(
    "at_work", _itself, "kernel",
    counts_for_soundness=True, doing="looking who is at work",
    max_runs=2,  # where the first speaks against the kernel
    is_local_only=True,
)  # fmt: skip
MEMORY: Kind[MemoryRun] = Kind(
    "memory", _itself, "kernel",
    counts_for_soundness=True, doing="looking at its memory", baselines=(HANDOUT, SOLUTION),
)  # fmt: skip
PAGE_TABLES: Kind[PageTablesRun] = Kind(
    "page_tables", _itself, "kernel",
    counts_for_soundness=True, doing="looking at its page tables", baselines=(HANDOUT, SOLUTION),
    is_local_only=True,
)  # fmt: skip
LOCATE: Kind[LocateRun] = Kind(
    "locate", _itself, "kernel",
    counts_for_soundness=True, doing="asking where its threads are",
)  # fmt: skip
THREAD_LEVEL: Kind[ThreadLevelRun] = Kind(
    "thread_level", _itself, "kernel",
    counts_for_soundness=True, doing="looking who calls MPI", is_local_only=True,
    team=4, is_unbound=True,  # enough to see who calls; they need no cores of their own
)  # fmt: skip
STORES: Kind[StoresRun] = Kind(
    "stores", _itself, "kernel",
    program="-stores", counts_for_soundness=True, doing="noting who writes which cache line",
)  # fmt: skip
PLACING = Kind(
    "placing", read_placing,
    "kernel", counts_for_soundness=True, doing="looking where it places memory",
)  # fmt: skip
FILLED = Kind(
    "filled", read_placing, "kernel", run="placing", mark="fills_node",
    doing="filling a NUMA node", run_options=(("--fill-node",),), is_vm_only=True,
)  # fmt: skip
FILE_PLACING = Kind("file_placing", read_placing, "numalab", run="placing", mark="file")
# Where the monitor is root and nobody else is.
CPUSETS = Kind("cpusets", _cpusets, "numalab", is_vm_only=True)
SERIES: Kind[SeriesRun] = Kind(
    "series", _itself, "kernel",
    counts_for_soundness=True, doing="asking it about series that are drawn", is_local_only=True,
)  # fmt: skip
STOPS: Kind[StopsRun] = Kind(
    "stops", _itself, "kernel",
    counts_for_soundness=True, doing="stopping it while it watches",
    is_local_only=True, is_timed=True,
    max_runs=3,  # where the first speaks against the kernel, and the second does not
)  # fmt: skip
# An MPI job on two virtual nodes, without the monitor.
LINK_RUN: Kind[LinkJob] = Kind("on_link", _itself, "kernel", is_vm_only=True)
RACE: Kind[RaceRun] = Kind("race", _itself, "kernel", program="-race")
BINDING: Kind[BindingRun] = Kind("binding", _itself, "numalab")
RANKS: Kind[RanksRun] = Kind("ranks", _itself, "numalab")
LATENCY: Kind[LatencyRun] = Kind("latency", _itself, "numalab", is_timed=True)
REFERENCE_LOOPS: Kind[ReferenceRatesRun] = Kind("lightspeed", _itself, "probe", is_timed=True)
SATURATION: Kind[SaturationRun] = Kind("saturation", _itself, "probe", is_timed=True)
TIMED_ROUND = Kind("generation", _timed_round, "all roles", is_timed=True)

KINDS: tuple[Kind[Any], ...] = (
    CHECK, SYNCHRONOUS_CHECK, TRACE, ANOTHER_TEAM, WHOLE_TRACE, PLACEMENT, ACTIVE_THREADS, MEMORY,
    PAGE_TABLES, LOCATE, THREAD_LEVEL, STORES, PLACING, FILLED, FILE_PLACING, CPUSETS, SERIES,
    STOPS, LINK_RUN, RACE, BINDING, RANKS, LATENCY, REFERENCE_LOOPS, SATURATION, TIMED_ROUND,
)  # fmt: skip
WATCHED = tuple(kind for kind in KINDS if kind.program)  # need a kernel built with instrumentation
OBSERVED_KINDS = tuple(kind for kind in KINDS if kind.doing)  # runs of a grading, in this order


def kind_of(run: AnyRunRecord) -> Kind[Any]:
    """Return the kind of evidence that a run's record is of."""
    rows = [kind for kind in KINDS if (kind.run or kind.name) == run.__struct_config__.tag]
    marked = [kind for kind in rows if kind.mark and getattr(run, kind.mark)]
    return (marked or [kind for kind in rows if not kind.mark])[0]
