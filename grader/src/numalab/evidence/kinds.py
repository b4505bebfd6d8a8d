"""The kinds of evidence: one row each, with the function that makes evidence of a run's record.

A kind that looks at a run that there is, told apart by a mark of its record, is a row here and
nothing else. A new run takes five files, which CONTRIBUTING.md lists ("Add a kind of evidence")."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numalab.evidence.cpusets import Cpusets, read_program
from numalab.evidence.live_stops import read_stops
from numalab.evidence.mixes import read_thread_rates, read_unseen_loops
from numalab.evidence.placed_pages import read_placing
from numalab.evidence.read_parts import expand, read_checked_pages, read_results
from numalab.evidence.read_trace import traced_arrays
from numalab.evidence.record import (
    HANDOUT,
    SOLUTION,
    ActiveThreads,
    Binding,
    Check,
    Checked,
    CpuTime,
    Kind,
    Latency,
    Launched,
    Locate,
    Memory,
    PageTableLifetime,
    PageTables,
    Placement,
    Race,
    RolePart,
    Series,
    SingleThread,
    ThreadLevel,
    TimedRound,
    Trace,
)
from numalab.evidence.results import ThreadActivity
from numalab.evidence.run_formats import (
    LEVELS,
    ActiveThreadsRun,
    AnyRunRecord,
    BindingRun,
    CheckedSize,
    CheckRun,
    CpusetsRun,
    LatencyRun,
    LinkJob,
    LocateRun,
    MemoryRun,
    OtherLevel,
    PageTablesRun,
    PlacementRun,
    RaceRun,
    RanksRun,
    SeriesRun,
    SingleThreadTimes,
    ThreadLevelRun,
    TimedRepetition,
    TimedRole,
    TimingRun,
    TraceRun,
    WorkerRun,
)
from numalab.evidence.store_notes import read_stores


def _ended(run: WorkerRun) -> dict[str, Any]:
    """Return what evidence of all runs of workers has: part and outcome."""
    return {"part": run.part, "outcome": run.outcome}


def _compared(run: Any) -> dict[str, Any]:
    """Return the same, and the results, of a run whose results were compared."""
    return _ended(run) | {"results": read_results(run.results)}


def _trace(run: TraceRun) -> Trace:
    touch_map = run.touch_map
    seen: dict[str, Any] = {"method": "", "order": "", "sees_write_after_read": False}
    if touch_map is not None:
        seen = {name: getattr(touch_map, name) for name in (*seen, "closings")}
    return Trace(
        **_compared(run), **seen, n=run.n, threads=run.threads,
        arrays=traced_arrays(touch_map), team=run.team,
    )  # fmt: skip


def _placement(run: PlacementRun) -> Placement:
    homes = {entry.array: expand(entry.numa_node) for entry in run.residency or ()}
    return Placement(
        **_compared(run),
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


def _active_threads(run: ActiveThreadsRun) -> ActiveThreads:
    threads = tuple(ThreadActivity(entry.works, entry.spins) for entry in run.threads)
    return ActiveThreads(**_compared(run), moments=run.moments, threads=threads, team=run.team)


def _single_thread(placement: PlacementRun, single: SingleThreadTimes) -> SingleThread:
    of_threads_s = sum(entry.cpu_s for entry in placement.cpu_time)
    return SingleThread(
        outcome=single.outcome,
        cpu_s=single.cpu_s / single.computes if single.computes else None,
        team_cpu_s=single.team_cpu_s / max(1, placement.computes),
        ended_cpu_s=max(0.0, single.team_cpu_s - of_threads_s),
    )


def _check(run: CheckRun) -> Check:
    return Check(**_ended(run), checked=tuple(map(_checked, run.checks)))


def _checked(size: CheckedSize) -> Checked:
    sent = () if size.sent is None else (tuple(size.sent.messages), size.sent.round_trips)
    return Checked(size.n, size.ranks, read_results(size.results), *sent)


def _timed_round(run: TimingRun) -> TimedRound:
    """Return a round without roles that may fail and have, or that may and have wrong results."""
    counted = [entry for entry in run.roles if not _is_failed_extra(entry)]
    roles = {
        entry.role: RolePart(
            entry.outcome,
            read_results(entry.results),
            entry.initialize_s,
            entry.slots,
        )
        for entry in counted
    }
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


def _race(run: RaceRun) -> Race:
    accesses = () if run.race is None else tuple(run.race.accesses)
    return Race(
        **_ended(run), has_race=run.race is not None, accesses=accesses, searched=run.searched
    )


def _cpusets(run: CpusetsRun) -> Cpusets:
    programs = {str(program.group): read_program(program) for program in run.programs}
    return Cpusets(**_ended(run), file=run.file, refusals=tuple(run.refusals), programs=programs)


def _series(run: SeriesRun) -> Series:
    return Series(**_ended(run), series=tuple(run.series))


def _link_job(run: LinkJob) -> LinkJob:
    return run


def _memory(run: MemoryRun) -> Memory:
    return Memory(
        **_compared(run), huge_pages_allowed=run.huge_pages_allowed, tables=tuple(run.tables)
    )


def _page_tables(run: PageTablesRun) -> PageTables:
    return PageTables(
        **_compared(run),
        lifetimes=tuple(
            PageTableLifetime(
                life.n,
                life.bytes,
                life.page_table_before_bytes,
                {phase.phase: phase.page_table_bytes for phase in life.phases},
            )
            for life in run.tables
        ),
    )


def _binding(run: BindingRun) -> Binding:
    return Binding(
        **_ended(run), file=run.file, runtime=run.runtime, threads=run.threads, team=run.team
    )


def _locate(run: LocateRun) -> Locate:
    return Locate(**_ended(run), rounds=run.rounds, team=run.team, free_rounds=run.free_rounds)


def _launched(run: RanksRun) -> Launched:
    return Launched(
        **_ended(run), file=run.file, refused=run.refused, ranks=run.ranks, team=run.team
    )


def _other_levels(run: ThreadLevelRun) -> tuple[OtherLevel, ...]:
    """Return ranks with another level; an older record has at most one, rank 0, one level lower."""
    if run.other_levels is not None:
        return tuple(run.other_levels)
    requested = run.ranks[0].requested if run.ranks else None
    if run.answer_to_less is None or requested in (None, "single"):
        return ()
    return (OtherLevel(requested, LEVELS[LEVELS.index(requested) - 1], run.answer_to_less),)


def _thread_level(run: ThreadLevelRun) -> ThreadLevel:
    return ThreadLevel(
        **_ended(run),
        ranks=tuple(run.ranks),
        other_levels=_other_levels(run),
        ended=run.ended_with_other_level,
        team=run.team,
    )


def _latency(run: LatencyRun) -> Latency:
    message_us: dict[int, list[float]] = {}
    for sample in run.samples:
        if not sample.warm_up:
            us = 1e6 * sample.elapsed_s / (2 * sample.repetitions)
            message_us.setdefault(sample.bytes, []).append(us)
    return Latency(
        **_ended(run),
        file=run.file,
        ranks=run.ranks,
        message_us={size: tuple(times) for size, times in sorted(message_us.items())},
        team=run.team,
    )


# ---- the table -------------------------------------------------------------------------

CHECK = Kind("check", _check, "kernel", counts_for_soundness=True)
SYNCHRONOUS_CHECK = Kind(
    "synchronous_check", _check, "kernel",
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
ACTIVE_THREADS = Kind(
    "at_work", _active_threads, "kernel",
    counts_for_soundness=True, doing="looking who is at work",
    max_runs=2,  # where the first speaks against the kernel
    is_local_only=True,
)  # fmt: skip
MEMORY = Kind(
    "memory", _memory, "kernel",
    counts_for_soundness=True, doing="looking at its memory", baselines=(HANDOUT, SOLUTION),
)  # fmt: skip
PAGE_TABLES = Kind(
    "page_tables", _page_tables, "kernel",
    counts_for_soundness=True, doing="looking at its page tables", baselines=(HANDOUT, SOLUTION),
    is_local_only=True,
)  # fmt: skip
LOCATE = Kind(
    "locate", _locate, "kernel",
    counts_for_soundness=True, doing="asking where its threads are",
)  # fmt: skip
THREAD_LEVEL = Kind(
    "thread_level", _thread_level, "kernel",
    counts_for_soundness=True, doing="looking who calls MPI", is_local_only=True,
    team=4, is_unbound=True,  # enough to see who calls; they need no cores of their own
)  # fmt: skip
STORES = Kind(
    "stores", read_stores, "kernel",
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
CPUSETS = Kind(
    "cpusets", _cpusets, "numalab",
    is_vm_only=True,
)  # fmt: skip
SERIES = Kind(
    "series", _series, "kernel",
    counts_for_soundness=True, doing="asking it about series that are drawn", is_local_only=True,
)  # fmt: skip
STOPS = Kind(
    "stops", read_stops, "kernel",
    counts_for_soundness=True, doing="stopping it while it watches",
    is_local_only=True, is_timed=True,
    max_runs=3,  # where the first speaks against the kernel, and the second does not
)  # fmt: skip
# An MPI job on two virtual nodes, without the monitor.
LINK_RUN = Kind("on_link", _link_job, "kernel", is_vm_only=True)
RACE = Kind("race", _race, "kernel", program="-race")
BINDING = Kind("binding", _binding, "numalab")
RANKS = Kind("ranks", _launched, "numalab")
LATENCY = Kind("latency", _latency, "numalab", is_timed=True)
REFERENCE_LOOPS = Kind(
    "lightspeed", read_unseen_loops, "probe", is_timed=True
)  # fmt: skip
SATURATION = Kind(
    "saturation", read_thread_rates, "probe", is_timed=True
)  # fmt: skip
TIMED_ROUND = Kind(
    "generation",
    _timed_round,
    "all roles",
    is_timed=True,
)

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
