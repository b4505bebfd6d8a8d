"""Parts of evidence and of what is told of it, made up for pictures: small, and no two figures in
them alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from msgspec import structs

from numalab.evidence.cpusets import JOB, OTHERS, Cpusets, GroupedProgram
from numalab.evidence.kinds import CPUSETS, FILE_PLACING, MEMORY, PLACING, SERIES, STORES
from numalab.evidence.placed_pages import Placing
from numalab.evidence.record import HANDOUT, SOLUTION, SUBMISSION, Evidence, Json
from numalab.evidence.run_formats import (
    DrawnSeries,
    KernelTable,
    MemoryRun,
    NotedLine,
    ResultsRecord,
    SeriesRun,
    Slots,
    StoresRun,
    Thread,
)
from numalab.judging.rates import Middle, ReferenceShare
from numalab.modelling.speedups import ModelledSpeedup
from numalab.modelling.times import Demand, Flow, Missing, Modelled
from numalab.reports.figures import Sitting
from numalab.reports.roofline import Roof, RoofPoint
from support.run_values import a_run, an_outcome

OK, CRASHED = an_outcome("ok"), an_outcome("crashed")
RIGHT = ResultsRecord(checked=1, mismatches=0)
MIB = 2**20


def sat(
    label: str,
    node: Json,
    seats: Sequence[tuple[int, ...]],
    seen: Mapping[int, Sequence[int]] | None = None,
    noun: str = "thread",
) -> Sitting:
    """seats: where each may run."""
    threads = tuple(Thread(number, pus, -1, -1, -1) for number, pus in enumerate(seats))
    there = {number: frozenset(pus) for number, pus in (seen or {}).items()}
    return Sitting(label, node, threads, noun, there)


def drawn_series(kinds: int = 2) -> tuple[DrawnSeries, ...]:
    """Of the first kind three right and one wrong, of each further one one right, two open."""
    right, wrong, left_open = (1,), (2,), (0,)
    found = [DrawnSeries("equal", 8, (1,), told) for told in (right, right, right, wrong)]
    for kind in ("shift", "burst")[: kinds - 1]:
        found += [DrawnSeries(kind, 8, (1,), told) for told in (right, left_open, left_open)]
    return tuple(found)


def answered(evidence: Evidence, kinds: int = 2) -> Evidence:
    other = a_run(SeriesRun, part="other", series=drawn_series(1))
    own = a_run(SeriesRun, part="decide", series=drawn_series(kinds))
    return evidence.having(SERIES, [other, own])


def grouped_programs() -> Cpusets:
    job = GroupedProgram(
        JOB, 4, frozenset((0, 2, 4, 6)), frozenset((0,)), frozenset((0, 2)),
        {0: 30, 1: 10}, {0: 40}, {0: 5}, "root",
    )  # fmt: skip
    others = GroupedProgram(
        OTHERS, 4, frozenset((1, 3, 5)), frozenset((1,)), frozenset((1, 3, 7)),
        {0: 1, 1: 3}, None, {1: 7}, None,
    )  # fmt: skip
    return Cpusets(None, OK, "groups.toml", (), {JOB: job, OTHERS: others})


def grouped(evidence: Evidence) -> Evidence:
    """What counts is the last time that came to its end."""
    told = grouped_programs()
    older = replace(told, programs={JOB: told.others, OTHERS: told.job})
    return evidence.having(CPUSETS, [older, told, replace(older, outcome=CRASHED)])


def placing(node_of_part: Sequence[int] = (0, 0, 1, 0)) -> Placing:
    """Four threads, two a NUMA node; an array of four parts of two pages of 512 elements, and a
    table of eight pages, one of which is absent. node_of_part: where the parts live."""
    blocks = tuple(node for node in node_of_part for _ in range(2))
    return Placing(
        None, OK, RIGHT, 4096, 4096, (0, 0, 1, 1), (0, 0, 1, 1), (None,) * 4, (None,) * 4,
        {"table": (0, 0, 0, 1, 1, 2, 2, -1), "blocks": blocks, "matrix": (-1, -1)},
        None, None, "", "",
    )  # fmt: skip


def placed(evidence: Evidence) -> Evidence:
    """What counts is the last time that the system told where pages are; and of a file, its own."""
    told, other = placing(), placing((1, 1, 1, 1))
    evidence = evidence.having(FILE_PLACING, [replace(told, file="own"), replace(other, file="x")])
    return evidence.having(
        PLACING, [other, told, replace(other, homes={}), replace(other, file="own")]
    )


SLOTS = Slots(4, 0, 0, 100, True, 64)


def stores(lines: int = 3) -> StoresRun:
    """Of 1,000 keys: the first line by two threads, 400 and 100 stores, the second by one, 300;
    the third has 8, and the fourth 7 of them: too few to be drawn."""
    writers = ({2: 100, 1: 400}, {3: 300}, {4: 10}, {4: 9})
    written = tuple(
        NotedLine(line=number, stores=sum(by_thread.values()), by_thread=list(by_thread.items()))
        for number, by_thread in enumerate(writers[:lines] + writers[3:])
    )
    return a_run(
        StoresRun, part="count", n=1000, threads=4, line_bytes=64, lines=lines, stores=819, lost=0,
        shared_lines=1, shared_stores=100, most_written=written, by_thread=[(250, 200)] * 4,
        slots=SLOTS, noted=True,
    )  # fmt: skip


def line_writers(evidence: Evidence, lines: int = 3) -> Evidence:
    """What counts is the last time that lines were written, of that kernel."""
    told = structs.replace(stores(lines), part=None)
    older, other, none = stores(1), stores(2), structs.replace(told, most_written=[])
    return evidence.having(STORES, [structs.replace(older, part=None), told, other, none])


def table(huge: int, faults: int, initialize_s: float, compute_s: float) -> KernelTable:
    """Of 64 MiB; huge: MiB on huge pages."""
    return KernelTable(
        1, 64 * MIB, huge * MIB, 0.0, initialize_s, compute_s, faults, 10 * MIB, 75 * MIB, 11 * MIB,
        0, 0,
    )  # fmt: skip


def with_memory(evidence: Evidence) -> Evidence:
    runs = {
        HANDOUT: table(0, 16384, 0.02, 1.5),
        SOLUTION: table(64, 32, 0.01, 0.75),
        SUBMISSION: table(48, 1234, 0.0125, 0.8),
    }
    for role, one in runs.items():
        older = structs.replace(one, huge_bytes=MIB)
        runs_of_role = [
            a_run(MemoryRun, huge_pages_allowed=True, tables=[older]),
            a_run(MemoryRun, huge_pages_allowed=True, tables=[older, one]),
        ]
        evidence = evidence.having(MEMORY, runs_of_role, role)
    return evidence


# ---- models and roofs --------------------------------------------------------------------


def modelled(
    flows: Sequence[tuple[int, int, float]],
    controllers: Mapping[int, float],
    links: Mapping[tuple[int, int], float],
    cores: Mapping[int, float],
    without: Sequence[Missing] = (),
) -> Modelled:
    """flows: user, home and share; the others: ms per GB of those that have a rate. A flow is at
    distance 10, 16 to the next NUMA node, and 22 farther away."""
    told = tuple(
        Flow(user, home, share, (10, 16)[abs(user - home)] if abs(user - home) < 2 else 22)
        for user, home, share in flows
    )
    of_home = {home: sum(f.share for f in told if f.home == home) for home in controllers}
    of_pair = {(f.user, f.home): f.share for f in told}
    demands = [
        *(Demand("controller", (n,), of_home[n], ms / 1000) for n, ms in controllers.items()),
        *(Demand("core", (n,), 0.25, ms / 1000) for n, ms in cores.items()),
        *(Demand("link", pair, of_pair[pair], ms / 1000, 16) for pair, ms in links.items()),
    ]
    longest = max(demand.s_per_gb for demand in demands)
    bottleneck = tuple(demand for demand in demands if demand.s_per_gb == longest)
    return Modelled(
        longest, bottleneck, tuple(demands), tuple(without), len(cores), told
    )  # fmt: skip


def modelled_pair(other_user: int = 1) -> ModelledSpeedup:
    """Yours is local on two NUMA nodes, the handout's memory is all on the first, used from there
    and from another one; its link has no rate where that is far away."""
    yours = modelled([(0, 0, 0.6), (1, 1, 0.4)], {0: 15.0, 1: 10.0}, {}, {0: 12.0, 1: 8.0})
    far = other_user > 1
    theirs = modelled(
        [(0, 0, 0.5), (other_user, 0, 0.5)], {0: 25.0},
        {} if far else {(other_user, 0): 30.0}, {0: 20.0, 1: 25.0},
        [Missing("link", 22)] if far else [],
    )  # fmt: skip
    return ModelledSpeedup("speedup", "hydra", "your kernel", "the handout", yours, theirs)


def roof(is_bounded: bool = True) -> Roof:
    """An eighth of a flop per byte under 20 GB/s."""

    def middle(median: float) -> Middle:
        ends = (0.9 * median, 1.2 * median) if is_bounded else (None, None)
        return Middle(median, *ends)

    points = tuple(
        RoofPoint(role, name, middle(2.5 * share), ReferenceShare(share, None, None, 9))
        for role, name, share in (
            (HANDOUT, "the handout", 0.4), (SOLUTION, "the solution", 1.0),
            (SUBMISSION, "yours", 0.8),
        )
    )  # fmt: skip
    return Roof("compute", 0.125, middle(20.0), points)
