"""Modelled times of a kernel or a launch, from what was seen of it on a virtual node.

What is modelled is what a criterion of time would compare, on the machine whose virtual node it was
seen on, with all of its cores. Three kinds of lab have something to model:

- first touch: which thread uses which page, and where it lives, from tracings and placement,
  weighed with the bytes that the loop moves of each array (lab.toml's `bytes_moved`); over the
  handout's pattern, where one thread has written all pages and the loop is dealt out in equal
  blocks;
- placement files: the kit's loop, whose threads write their own pages and move equally much, on the
  PUs that the threads were seen on; over the same team on one NUMA node;
- launch files: ranks whose threads do likewise, on the PUs that they were seen on; over the kit's
  slow launches, laid over the machine. A halo is a few rows, and left out.

An array most of whose pages several threads were seen to use is dealt out in pieces smaller than a
page, or anew in each call: tracings show some users of a page, not all, and all threads are taken
to use such a page alike. Pure functions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from numalab.errors import NumalabError
from numalab.evidence.kinds import BINDING, PLACEMENT, RANKS, TRACE
from numalab.evidence.record import Evidence, Json, Placement, Rank, Thread, Trace
from numalab.evidence.touch import Users, Uses, united_uses, worker_of, workers, written_from
from numalab.evidence.traced_pages import Origin
from numalab.labs.declaration import Criterion, Lab
from numalab.labs.launch import Policy
from numalab.labs.launch import plan as launch_plan
from numalab.machines.machine import Machine
from numalab.machines.topology import topology_of_machine
from numalab.modelling.times import Modelled, modelled, why_not
from numalab.modelling.traffic import (
    Bytes,
    Traffic,
    node_of_core,
    own_pages_traffic,
    seats,
    serial_touch_traffic,
    single_node_traffic,
    summed,
)

# ---- from some cores to all ----------------------------------------------------------


Shares = Mapping[int, Mapping[int, float]]  # of each small core its share of the machine's cores


def fills(small: Machine, traffic: Traffic) -> bool:
    """Whether every core works."""
    return len(traffic.cores) == small.cores


def scale_to_whole(small: Machine, traffic: Traffic, is_filled: bool) -> Traffic:
    """small: the machine that it was seen on; is_filled: whether cores stand for several. On a
    machine that was not scaled down the traffic itself."""
    whole = small.scaled_from
    if whole is None:
        return traffic
    shares = _shares(small, whole, is_filled)
    threads = traffic.threads
    if is_filled:
        threads = round(threads * whole.cores / small.cores)
    return summed(_moved(traffic.bytes, shares), threads)


def _moved(seen: Bytes, shares: Shares) -> list[tuple[tuple[int, int], float]]:
    return [
        ((core, home), moved * share)
        for (small, home), moved in seen.items()
        for core, share in shares[small].items()
    ]


def _shares(small: Machine, whole: Machine, is_filled: bool) -> Shares:
    shares: dict[int, Mapping[int, float]] = {}
    first_small = first_whole = 0
    for few, many in zip(small.numa_nodes, whole.numa_nodes, strict=True):
        ratio = len(many.cores) / len(few.cores) if few.cores else 1.0
        for index in range(len(few.cores)):
            begin, end = index * ratio, (index + 1) * ratio
            shares[first_small + index] = (
                _overlaps(first_whole, begin, end) if is_filled else {first_whole + int(begin): 1.0}
            )
        first_small += len(few.cores)
        first_whole += len(many.cores)
    return shares


def _overlaps(first: int, begin: float, end: float) -> dict[int, float]:
    """Of each core from number first on, one wide, its part of what lies between begin and end."""
    found = {}
    core = int(begin)
    while core < end:
        part = min(end, core + 1) - max(begin, core)
        if part > 1e-9:
            found[first + core] = part / (end - begin)
        core += 1
    return found


# ---- a touch map carried over --------------------------------------------------------


@dataclass(frozen=True)
class Extrapolated:
    """yours: of the tracing; handout: all pages where thread 0 is, equal blocks."""

    yours: Traffic
    handout: Traffic


def extrapolated_traffic(
    machine: Machine,
    trace: Trace,
    users: Users,
    bytes_moved: Mapping[str, float],
    shared: Sequence[str],
) -> Extrapolated:
    """machine: the whole one; users: by who works there, of touch.workers; bytes_moved: for each
    byte of an array; shared: arrays most of whose pages several threads use, and so all of
    them. Pages that nobody wrote or used move nothing."""
    worker = worker_of([trace])
    working = {user for pages in users.values() for of_page in pages for user in of_page}
    is_filled = bool(shared) or set(range(trace.team)) <= working
    cores = _Cores(machine, trace.team, is_filled)
    nodes = node_of_core(machine)
    parts = []
    for array in trace.arrays:
        written = cores.of_pages(
            [{worker(write)} if write else set() for write in written_from(trace, array)]
        )
        used = cores.of_pages(users[array.name])
        for writers, using in zip(written, used, strict=True):
            if array.name in shared and using:
                using = cores.all
            if writers:
                moved = bytes_moved.get(array.name, 0.0) / max(1, len(using))
                parts += [((core, nodes[writers[0]]), moved) for core in using]
    first = nodes[cores.all[0]]
    return Extrapolated(
        summed(parts, len(cores.all)),
        summed((((core, first), 1.0) for core in cores.all), len(cores.all)),
    )


class _Cores:
    """Of a team's threads on a machine, cores counted over its NUMA nodes."""

    def __init__(self, machine: Machine, team: int, is_filled: bool) -> None:
        """is_filled: a thread stands for as many cores as it takes, else for the first of them."""
        self._each, self._team, self._is_filled = machine.cores / team, team, is_filled
        count = machine.cores if is_filled else team
        self.all = tuple(range(count)) if is_filled else tuple(map(self._first, range(team)))

    def _first(self, thread: int) -> int:
        return int(thread * self._each)

    def of_pages(self, threads: Sequence[frozenset[int] | set[int]]) -> list[tuple[int, ...]]:
        """threads: of each page of an array, in order. Of these their cores."""
        pages = Counter(t for of_page in threads for t in of_page if 0 <= t < self._team)
        is_dealt = self._is_filled and len(pages) > 1
        so_far: Counter[int] = Counter()
        found = []
        for of_page in threads:
            cores = []
            for thread in sorted(t for t in of_page if t in pages):
                within = (so_far[thread] + 0.5) / pages[thread] if is_dealt else 0.0
                cores.append(int((thread + within) * self._each))
                so_far[thread] += 1
            found.append(tuple(cores))
        return found


# ---- modelled times ------------------------------------------------------------------


KERNEL, HANDOUT = "your kernel", "the handout"
MIN_DOMINANT_SHARE = (
    0.7  # of an array's pages; fewer on one of two NUMA nodes may be the sample's chance
)
MIN_SHARED_PAGES = (
    0.5  # of an array's pages; from there on it is dealt out in pieces smaller than a page
)


@dataclass(frozen=True)
class DominantNode:
    """An array most of which lives on one NUMA node; empty: all arrays do, with all of their pages.
    share: of its pages."""

    array: str
    numa_node: int
    share: float


@dataclass(frozen=True)
class ModelledSpeedup:
    """One modelled time beside another one. criterion: of time, which it stands beside; machine:
    its name; whose, over: what is compared with what, in words. yours, theirs: None where why_not
    says, in a sentence, why nothing is modelled. Of yours, where pages were seen: crowded, and
    is_shared: whether several threads use most pages of an array. carried_from: the place of the
    touch map that it was carried over from, in words; empty: it was looked at on the machine."""

    criterion: str
    machine: str
    whose: str
    over: str
    yours: Modelled | None
    theirs: Modelled | None
    why_not: str = ""
    crowded: DominantNode | None = None
    is_shared: bool = False
    carried_from: str = ""

    def json_data(self) -> Json:
        """Never a time: of a model, and labelled so."""
        return {
            "modelled": True,
            "criterion": self.criterion,
            "machine": self.machine,
            "whose": self.whose,
            "over": self.over,
            "speedup": self.speedup,
            "why_not": self.why_not or None,
            "carried_from": self.carried_from or None,
            "yours": None if self.yours is None else self.yours.json_data(),
            "theirs": None if self.theirs is None else self.theirs.json_data(),
        }

    @property
    def speedup(self) -> float | None:
        """How many times as fast yours is."""
        if self.yours is None or self.theirs is None:
            return None
        return self.theirs.s_per_gb / self.yours.s_per_gb


def not_modelled(criterion: str, machine: str, why: str) -> ModelledSpeedup:
    """why: a sentence."""
    return ModelledSpeedup(criterion, machine, "", "", None, None, why)


def modelled_speedups(
    lab: Lab,
    criterion: Criterion,
    evidence: Evidence,
    machine: Machine,
    slow: Mapping[str, Policy],
) -> tuple[ModelledSpeedup, ...]:
    """What can be modelled beside a criterion of time. machine: the one that the evidence was taken
    on, as large as its virtual node was; slow: the lab's slow launches, by file. Empty where
    nothing fitting was seen. Raises NumalabError where records don't fit one another or the
    machine."""
    evidence = evidence.of_parts(criterion.part)
    if criterion.slow is not None:
        found = _launches(criterion, evidence, machine, slow[criterion.slow])
    elif lab.timed_placements is not None:
        found = _placements(lab, criterion, evidence, machine)
    else:
        found = _pages(lab, criterion, evidence, machine)
    refusal = why_not(machine)
    if refusal is None:
        return tuple(found)
    is_seen = next(found, None) is not None
    return (not_modelled(criterion.name, machine.name, refusal),) if is_seen else ()


# ---- pages ---------------------------------------------------------------------------


def _pages(
    lab: Lab, criterion: Criterion, evidence: Evidence, machine: Machine
) -> Iterator[ModelledSpeedup]:
    traces = [trace for trace in evidence.of(TRACE) if trace.arrays]
    placed = [p for p in evidence.of(PLACEMENT) if p.residency is not None and p.outcome.ok]
    if not traces or not placed or not lab.bytes_moved:
        return
    uses = united_uses(traces, placed[0].threads)
    users = workers(uses, worker_of(traces))
    yours = of_pages(machine, placed[0], uses, lab.bytes_moved)
    if not yours.total > 0:
        return
    handout = serial_touch_traffic(machine, _allowed(placed[0].threads[: placed[0].team]))
    # Threads that rest do so for a reason that would hold with more cores, too.
    is_filled = fills(machine, yours) and fills(machine, handout)
    whole = machine.scaled_from or machine
    large = [scale_to_whole(machine, traffic, is_filled) for traffic in (yours, handout)]
    yield ModelledSpeedup(
        criterion.name,
        machine.name,
        KERNEL,
        HANDOUT,
        *_both(whole, large[0], large[1]),
        crowded=_dominant_node(placed[0], lab.bytes_moved),
        is_shared=any(
            _shared(users.get(array, ())) > MIN_SHARED_PAGES for array in lab.bytes_moved
        ),
    )


def extrapolate(
    lab: Lab, criterion: Criterion, evidence: Evidence, where: str, machine: Machine
) -> tuple[ModelledSpeedup, ...]:
    """What can be modelled on a machine that nobody looked at, from a touch map of another one, in
    labs on first touch. where: the place of the evidence, in words. As comparisons."""
    evidence = evidence.of_parts(criterion.part)
    traces = [trace for trace in evidence.of(TRACE) if trace.arrays]
    if not traces or not lab.bytes_moved:
        return ()
    refusal = why_not(machine)
    if refusal is not None:
        return (not_modelled(criterion.name, machine.name, refusal),)
    users = workers(united_uses(traces), worker_of(traces))
    shared = [
        array for array in lab.bytes_moved if _shared(users.get(array, ())) > MIN_SHARED_PAGES
    ]
    found = extrapolated_traffic(machine, traces[0], users, lab.bytes_moved, shared)
    if not found.yours.total > 0:
        return ()
    homes = {home for _, home in found.yours.bytes}
    return (
        ModelledSpeedup(
            criterion.name,
            machine.name,
            KERNEL,
            HANDOUT,
            *_both(machine, found.yours, found.handout),
            crowded=DominantNode("", homes.pop(), 1.0) if len(homes) == 1 else None,
            is_shared=bool(shared),
            carried_from=where,
        ),
    )


def of_pages(
    machine: Machine, placement: Placement, uses: Uses, bytes_moved: Mapping[str, float]
) -> Traffic:
    """uses: of the pages that the placement has the homes of; bytes_moved: for each byte of an
    array. A use counts for the core that the thread was bound to, else for its seat. Pages that
    nobody uses, or that are on no NUMA node, move nothing. Raises NumalabError where these are not
    of the same pages."""
    numbers = [thread.number for thread in placement.threads]
    seated = seats(machine, _allowed(placement.threads))
    cores = dict(zip(numbers, seated, strict=True))
    team = frozenset(cores[thread.number] for thread in placement.threads[: placement.team])
    table = machine.pu_table

    def core(use: Origin) -> int | None:
        is_bound = use.core >= 0 and 0 <= use.pu < len(table)
        return table[use.pu].core if is_bound else cores.get(use.thread)

    parts = []
    for array, homes in (placement.residency or {}).items():
        sample = placement.samples[array]
        if array not in uses or len(uses[array]) != len(homes):
            raise NumalabError(
                f"tracings and placement are not of the same pages of {array}; grade again"
            )
        # Arrays are equally long; of each as many pages stand for all as were looked at.
        weight = bytes_moved.get(array, 0.0) * sample.pages / max(1, sample.looked_at)
        seen = (map(core, of_page) for of_page in uses[array])
        users = [frozenset(one for one in of_page if one is not None) for of_page in seen]
        is_shared = _shared(users) > MIN_SHARED_PAGES
        for home, of_page in zip(homes, users, strict=True):
            if home < 0:
                continue
            using = team if is_shared and of_page else of_page
            parts += [((one, home), weight / len(using)) for one in using]
    return summed(parts, placement.team)


def _shared(pages: Sequence[frozenset[int]]) -> float:
    """Of pages the share that several threads use."""
    return sum(len(of_page) > 1 for of_page in pages) / len(pages) if pages else 0.0


def _dominant_node(placement: Placement, bytes_moved: Mapping[str, float]) -> DominantNode | None:
    """The array of which the most lives on one NUMA node, if it is much of it; the first of several
    alike."""
    found = []
    for array, homes in (placement.residency or {}).items():
        if array in bytes_moved and homes:
            node = max(sorted(set(homes)), key=homes.count)
            found.append(DominantNode(array, node, homes.count(node) / len(homes)))
    crowded = max(found, key=lambda one: one.share, default=None)
    if crowded is None or crowded.numa_node < 0 or crowded.share < MIN_DOMINANT_SHARE:
        return None
    are_all = all(one.share == 1 and one.numa_node == crowded.numa_node for one in found)
    return replace(crowded, array="") if are_all else crowded


# ---- placement files -------------------------------------------------------------------


def _placements(
    lab: Lab, criterion: Criterion, evidence: Evidence, machine: Machine
) -> Iterator[ModelledSpeedup]:
    """The file that is timed comes first."""
    timed = criterion.file or (None if lab.timed_placements is None else lab.timed_placements.file)
    first = "" if timed is None else timed.name
    for run in sorted(evidence.of(BINDING), key=lambda run: run.file != first):
        if not run.outcome.ok or len(run.threads) < run.team:
            continue
        threads = run.threads[: run.team]
        yours = own_pages_traffic(machine, _allowed(threads))
        whole = machine.scaled_from or machine
        is_filled = fills(machine, yours) and run.team >= machine.cores
        large = scale_to_whole(machine, yours, is_filled)
        one = single_node_traffic(whole, large.threads)
        yield ModelledSpeedup(
            criterion.name,
            machine.name,
            f"{run.file} ({run.runtime})",
            "the same team on one NUMA node",
            *_both(whole, large, one),
        )


# ---- launch files ----------------------------------------------------------------------


def _launches(
    criterion: Criterion, evidence: Evidence, machine: Machine, slow: Policy
) -> Iterator[ModelledSpeedup]:
    assert criterion.slow is not None
    whole = machine.scaled_from or machine
    for run in evidence.of(RANKS):
        if run.refused is not None or not run.outcome.ok or not run.ranks:
            continue
        if criterion.file is not None and run.file != criterion.file.name:
            continue
        yours = own_pages_traffic(machine, _rank_pus(run.ranks, run.team))
        is_filled = fills(machine, yours)
        theirs = launch_traffic(whole, slow)
        yield ModelledSpeedup(
            criterion.name,
            machine.name,
            run.file,
            criterion.slow,
            *_both(whole, scale_to_whole(machine, yours, is_filled), theirs),
        )


def _rank_pus(ranks: Sequence[Rank], team: int) -> list[tuple[int, ...]]:
    """PUs of the first threads of each rank, which make its team."""
    return [thread.allowed_pus for rank in ranks for thread in rank.threads[:team]]


def launch_traffic(machine: Machine, policy: Policy) -> Traffic:
    """Of a policy laid over a machine: ranks share the rows equally, and their threads those of
    their rank. Raises BadPolicy where the policy can't be meant there."""
    topology = topology_of_machine(machine)
    plan = launch_plan(policy, topology)
    threads: list[tuple[int, ...]] = []
    for pus in plan.ranks:
        if plan.places is None:
            threads += [pus] * plan.threads
            continue
        places: dict[int, list[int]] = {}
        for pu in pus:
            key = topology.core[pu] if plan.places == "cores" else pu
            places.setdefault(key, []).append(pu)
        dealt = [tuple(place) for place in places.values()]
        # As OMP_PROC_BIND=spread deals them: evenly over the rank's places, in their order.
        threads += [dealt[t * len(dealt) // plan.threads] for t in range(plan.threads)]
    return own_pages_traffic(machine, threads)


# ---- all three -------------------------------------------------------------------------


def _both(
    machine: Machine, yours: Traffic, theirs: Traffic
) -> tuple[Modelled | None, Modelled | None, str]:
    """As a ModelledSpeedup has them: yours, theirs, and why there are none; one alone tells
    nothing."""
    for traffic in (yours, theirs):
        refusal = why_not(machine, traffic)
        if refusal is not None:
            return None, None, refusal
    return modelled(machine, yours), modelled(machine, theirs), ""


def _allowed(threads: Sequence[Thread]) -> list[tuple[int, ...]]:
    return [thread.allowed_pus for thread in threads]
