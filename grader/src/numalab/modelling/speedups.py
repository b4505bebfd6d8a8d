"""Modelled speedups: what the placement of a kernel or a launch would gain on a machine on which
at most the places of threads and pages were observed.

A criterion of time compares a program with a baseline. Where no times are taken, as on a virtual
machine, the same two are compared by modelled times (times.py), with all cores of the machine that
the virtual one stands for. Three kinds of lab have something to model:

| lab | what is modelled | baseline |
|-|-|-|
| first touch | which thread uses which page and which NUMA node the page is on, by tracings \
and placement, weighted with the bytes that the loop moves of each array (`bytes_moved` of \
lab.toml) | the starting code: thread 0 writes all pages, and each thread uses an equal block |
| placement files | numalab's loop on the observed PUs: each thread writes its own pages first, \
and all move equally much | the same team on one NUMA node |
| launch files | ranks whose threads do likewise; the few rows of a halo are left out | the lab's \
slow launch on the whole machine |

A tracing shows some users of a page, not all. So where several threads were observed to use most
pages of an array, its work is dealt out in pieces smaller than a page or anew in each call, and all
threads are taken to use these pages equally. Pure functions over records.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from numalab.errors import NumalabError
from numalab.evidence.kinds import BINDING, PLACEMENT, RANKS, TRACE
from numalab.evidence.record import Evidence, Json, Placement, Trace
from numalab.evidence.run_formats import Origin, Thread
from numalab.evidence.touch import Users, Uses, united_uses, worker_of, workers, written_from
from numalab.labs.declaration import Criterion, Lab
from numalab.labs.launch import Policy
from numalab.labs.launch import plan as launch_plan
from numalab.machines.machine import Machine
from numalab.machines.topology import topology_of_machine
from numalab.modelling.times import Modelled, modelled, why_not
from numalab.modelling.traffic import (
    MemoryTraffic,
    node_of_core,
    own_pages_traffic,
    seats,
    serial_touch_traffic,
    single_node_traffic,
    summed,
)

KERNEL, HANDOUT = "your kernel", "the handout"  # subject and baseline, in words
# The share of an array's pages on one NUMA node from which the array is said to be there. A smaller
# share on one of two NUMA nodes may be due to which pages were observed.
MIN_DOMINANT_SHARE = 0.7
# The share of an array's pages with several users above which all threads are taken to use them.
MIN_SHARED_PAGES = 0.5


@dataclass(frozen=True)
class DominantNode:
    """A NUMA node that has most pages of an array.

    Attributes:
        array: the array's name; empty: the observed pages of the arrays are all on that NUMA node.
        numa_node: the NUMA node's number.
        share: the share of the array's pages (0 to 1).
    """

    array: str
    numa_node: int
    share: float


@dataclass(frozen=True)
class ModelledSpeedup:
    """A modelled time, and that of its baseline.

    Attributes:
        criterion: the name of the criterion of time that compares the same.
        machine: the machine's name.
        subject, baseline: what is compared with what, in words.
        yours, theirs: the modelled times of subject and baseline; None where why_not says why.
        why_not: why there are no times, as a sentence; else empty.
        dominant_node: of first touch, the NUMA node with most pages of an array; None: there is
            none.
        is_shared: of first touch, several threads use most pages of an array.
        carried_from: the machine on which the touch map was taken, in words; empty: this one.
    """

    criterion: str
    machine: str
    subject: str
    baseline: str
    yours: Modelled | None
    theirs: Modelled | None
    why_not: str = ""
    dominant_node: DominantNode | None = None
    is_shared: bool = False
    carried_from: str = ""

    def json_data(self) -> Json:
        """Return the JSON of a result, labelled as modelled."""
        return {
            "modelled": True,
            "criterion": self.criterion,
            "machine": self.machine,
            "whose": self.subject,
            "over": self.baseline,
            "speedup": self.speedup,
            "why_not": self.why_not or None,
            "carried_from": self.carried_from or None,
            "yours": None if self.yours is None else self.yours.json_data(),
            "theirs": None if self.theirs is None else self.theirs.json_data(),
        }

    @property
    def speedup(self) -> float | None:
        """The baseline's modelled time over the subject's; None where there are no times."""
        if self.yours is None or self.theirs is None:
            return None
        return self.theirs.s_per_gb / self.yours.s_per_gb


def not_modelled(criterion: str, machine: str, why: str) -> ModelledSpeedup:
    """Return a speedup without times. why: the reason, as a sentence."""
    return ModelledSpeedup(criterion, machine, "", "", None, None, why)


def modelled_speedups(
    lab: Lab,
    criterion: Criterion,
    evidence: Evidence,
    machine: Machine,
    slow: Mapping[str, Policy],
) -> tuple[ModelledSpeedup, ...]:
    """Return what can be modelled for a criterion of time.

    Args:
        evidence: taken on the machine, or on a virtual machine that has its structure.
        machine: as large as the virtual machine was; `scaled_from` is the whole one, if larger.
        slow: the lab's slow launches, by their paths in lab.toml.

    Empty where there is nothing to model. Raises NumalabError where records contradict each other
    or the machine, and BadPolicy where a slow launch has no meaning on the whole machine.
    """
    evidence = evidence.select_parts(criterion.part)
    if criterion.slow is not None:
        speedups = _launches(criterion, evidence, machine, slow[criterion.slow])
    elif lab.timed_placements is not None:
        speedups = _placements(lab, criterion, evidence, machine)
    else:
        speedups = _pages(lab, criterion, evidence, machine)
    refusal = why_not(machine)
    if refusal is None:
        return tuple(speedups)
    has_run = next(speedups, None) is not None
    return (not_modelled(criterion.name, machine.name, refusal),) if has_run else ()


def extrapolate(
    lab: Lab, criterion: Criterion, evidence: Evidence, where: str, machine: Machine
) -> tuple[ModelledSpeedup, ...]:
    """Return what can be modelled on a machine without evidence, from a touch map of another one.

    For labs on first touch only: each thread of the map stands for an equal share of the machine's
    cores, or, where not all threads work, for one of these, and a page is on the NUMA node of the
    core that stands for the thread that wrote it.

    Args:
        evidence: that of the other machine.
        where: the other machine, in words.
        machine: the whole machine, which is not scaled down.

    Empty where there is nothing to model. Raises NumalabError where records contradict each other.
    """
    evidence = evidence.select_parts(criterion.part)
    traces = [trace for trace in evidence.runs_of(TRACE) if trace.arrays]
    if not traces or not lab.bytes_moved:
        return ()
    refusal = why_not(machine)
    if refusal is not None:
        return (not_modelled(criterion.name, machine.name, refusal),)
    users = workers(united_uses(traces), worker_of(traces))
    shared = [array for array in lab.bytes_moved if _is_shared(users.get(array, ()))]
    yours, handout = extrapolated_traffic(machine, traces[0], users, lab.bytes_moved, shared)
    if not yours.total > 0:
        return ()
    homes = {home for _, home in yours.bytes}
    return (
        ModelledSpeedup(
            criterion.name,
            machine.name,
            KERNEL,
            HANDOUT,
            *_times(machine, yours, handout),
            dominant_node=DominantNode("", homes.pop(), 1.0) if len(homes) == 1 else None,
            is_shared=bool(shared),
            carried_from=where,
        ),
    )


def _times(
    machine: Machine, yours: MemoryTraffic, theirs: MemoryTraffic
) -> tuple[Modelled | None, Modelled | None, str]:
    """Return both modelled times and an empty string, or None twice and the reason, as a sentence:
    one time alone says nothing."""
    for traffic in (yours, theirs):
        refusal = why_not(machine, traffic)
        if refusal is not None:
            return None, None, refusal
    return modelled(machine, yours), modelled(machine, theirs), ""


# ---- the three kinds of lab --------------------------------------------------------------


def _pages(
    lab: Lab, criterion: Criterion, evidence: Evidence, machine: Machine
) -> Iterator[ModelledSpeedup]:
    """Yield the speedup over the starting code's pattern of pages, where there is evidence."""
    traces = [trace for trace in evidence.runs_of(TRACE) if trace.arrays]
    placed = [p for p in evidence.runs_of(PLACEMENT) if p.residency is not None and p.outcome.ok]
    if not traces or not placed or not lab.bytes_moved:
        return
    placement = placed[0]
    uses = united_uses(traces, placement.threads)
    users = workers(uses, worker_of(traces))
    yours = page_traffic(machine, placement, uses, lab.bytes_moved)
    if not yours.total > 0:
        return
    handout = serial_touch_traffic(machine, _allowed(placement.threads[: placement.team]))
    # Threads that rest do so for a reason that would hold with more cores, too.
    is_filled = fills(machine, yours) and fills(machine, handout)
    yield ModelledSpeedup(
        criterion.name,
        machine.name,
        KERNEL,
        HANDOUT,
        *_times(
            machine.scaled_from or machine,
            scale_to_whole(machine, yours, is_filled),
            scale_to_whole(machine, handout, is_filled),
        ),
        dominant_node=_dominant_node(placement, lab.bytes_moved),
        is_shared=any(_is_shared(users.get(array, ())) for array in lab.bytes_moved),
    )


def _placements(
    lab: Lab, criterion: Criterion, evidence: Evidence, machine: Machine
) -> Iterator[ModelledSpeedup]:
    """Yield a speedup for each run of a whole team under a placement file that came to its end.
    Runs under the criterion's own file come first; where it has none, those under the file that is
    timed."""
    timed = criterion.file or (None if lab.timed_placements is None else lab.timed_placements.file)
    first = "" if timed is None else timed.name
    for run in sorted(evidence.runs_of(BINDING), key=lambda run: run.file != first):
        if not run.outcome.ok or len(run.threads) < run.team:
            continue
        yours = own_pages_traffic(machine, _allowed(run.threads[: run.team]))
        whole = machine.scaled_from or machine
        is_filled = fills(machine, yours) and run.team >= machine.cores
        large = scale_to_whole(machine, yours, is_filled)
        yield ModelledSpeedup(
            criterion.name,
            machine.name,
            f"{run.file} ({run.runtime})",
            "the same team on one NUMA node",
            *_times(whole, large, single_node_traffic(whole, large.threads)),
        )


def _launches(
    criterion: Criterion, evidence: Evidence, machine: Machine, slow: Policy
) -> Iterator[ModelledSpeedup]:
    """Yield a speedup over the slow launch for each run under a launch file that came to its end;
    of a criterion with a file for that one only."""
    assert criterion.slow is not None
    whole = machine.scaled_from or machine
    for run in evidence.runs_of(RANKS):
        if run.refused is not None or not run.outcome.ok or not run.ranks:
            continue
        if criterion.file is not None and run.file != criterion.file.name:
            continue
        # A rank's threads behind its team are the MPI library's.
        threads = [thread for rank in run.ranks for thread in rank.threads[: run.team]]
        yours = own_pages_traffic(machine, _allowed(threads))
        large = scale_to_whole(machine, yours, fills(machine, yours))
        yield ModelledSpeedup(
            criterion.name,
            machine.name,
            run.file,
            criterion.slow,
            *_times(whole, large, launch_traffic(whole, slow)),
        )


def launch_traffic(machine: Machine, policy: Policy) -> MemoryTraffic:
    """Return the traffic of a launch policy on a machine: ranks share the rows equally, and threads
    those of their rank. Raises BadPolicy where the policy has no meaning on the machine."""
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


def _allowed(threads: Sequence[Thread]) -> list[tuple[int, ...]]:
    return [thread.allowed_pus for thread in threads]


# ---- traffic of observed pages -----------------------------------------------------------


def page_traffic(
    machine: Machine, placement: Placement, uses: Uses, bytes_moved: Mapping[str, float]
) -> MemoryTraffic:
    """Return the traffic of observed uses of pages.

    Args:
        placement: the run that shows the NUMA node of each page, and where threads may run.
        uses: the uses of the same pages, by array and page. A use counts for the core that the
            thread was bound to, or for its core by `seats` where it was not bound.
        bytes_moved: by array, the bytes that the loop moves for each byte of it.

    Where most pages of an array have several users, the cores of the whole team use its used pages
    equally. Pages that no thread uses, or that are on no NUMA node, move nothing. Raises
    NumalabError where uses lack an array of the placement or have more or fewer of its pages, and
    as seats does.
    """
    numbers = [thread.number for thread in placement.threads]
    seated = seats(machine, _allowed(placement.threads))
    cores = dict(zip(numbers, seated, strict=True))
    team = frozenset(cores[thread.number] for thread in placement.threads[: placement.team])
    table = machine.pu_table

    def core_of(use: Origin) -> int | None:
        is_bound = use.core >= 0 and 0 <= use.pu < len(table)
        return table[use.pu].core if is_bound else cores.get(use.thread)

    parts = []
    for array, homes in (placement.residency or {}).items():
        sample = placement.checked_pages[array]
        if array not in uses or len(uses[array]) != len(homes):
            raise NumalabError(
                f"tracings and placement are not of the same pages of {array}; grade again"
            )
        # The observed pages of each array stand for all of its pages.
        weight = bytes_moved.get(array, 0.0) * sample.pages / max(1, sample.count)
        users = [
            frozenset(core for use in page if (core := core_of(use)) is not None)
            for page in uses[array]
        ]
        is_shared = _is_shared(users)
        for home, page_users in zip(homes, users, strict=True):
            if home < 0:
                continue
            using = team if is_shared and page_users else page_users
            parts += [((core, home), weight / len(using)) for core in using]
    return summed(parts, placement.team)


def _is_shared(pages: Sequence[frozenset[int]]) -> bool:
    """Tell whether most of the pages have several users."""
    return sum(len(users) > 1 for users in pages) > MIN_SHARED_PAGES * len(pages)


def _dominant_node(placement: Placement, bytes_moved: Mapping[str, float]) -> DominantNode | None:
    """Return the NUMA node with the largest share of the pages of an array in bytes_moved; of equal
    shares the first array's. None where it is below MIN_DOMINANT_SHARE, or is of pages on no NUMA
    node."""
    largest = []
    for array, homes in (placement.residency or {}).items():
        if array in bytes_moved and homes:
            node = max(sorted(set(homes)), key=homes.count)
            largest.append(DominantNode(array, node, homes.count(node) / len(homes)))
    dominant = max(largest, key=lambda node: node.share, default=None)
    if dominant is None or dominant.numa_node < 0 or dominant.share < MIN_DOMINANT_SHARE:
        return None
    are_all = all(node.share == 1 and node.numa_node == dominant.numa_node for node in largest)
    return replace(dominant, array="") if are_all else dominant


# ---- from a small machine to the whole one -----------------------------------------------


# By core of the small machine: the shares of its bytes that cores of the whole machine move.
Shares = Mapping[int, Mapping[int, float]]


def fills(small: Machine, traffic: MemoryTraffic) -> bool:
    """Tell whether every core of a machine moves bytes."""
    return len(traffic.cores) == small.cores


def scale_to_whole(small: Machine, traffic: MemoryTraffic, is_filled: bool) -> MemoryTraffic:
    """Return traffic on a scaled-down machine as that of the whole machine.

    Args:
        small: the machine on which it was observed. Where it was not scaled down, the traffic is
            returned as it is.
        is_filled: each core of the small machine stands for its share of the whole machine's cores
            on the same NUMA node, and the team grows with the cores; else it stands for one core.
    """
    whole = small.scaled_from
    if whole is None:
        return traffic
    shares = _core_shares(small, whole, is_filled)
    threads = traffic.threads
    if is_filled:
        threads = round(threads * whole.cores / small.cores)
    spread = (
        ((core, home), moved * share)
        for (few, home), moved in traffic.bytes.items()
        for core, share in shares[few].items()
    )
    return summed(spread, threads)


def _core_shares(small: Machine, whole: Machine, is_filled: bool) -> Shares:
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
    """Return the share of the interval [begin, end) that is on each core, where cores are unit
    intervals from core number `first` on."""
    shares = {}
    core = int(begin)
    while core < end:
        part = min(end, core + 1) - max(begin, core)
        if part > 1e-9:
            shares[first + core] = part / (end - begin)
        core += 1
    return shares


# ---- from a touch map to another machine -------------------------------------------------


def extrapolated_traffic(
    machine: Machine,
    trace: Trace,
    users: Users,
    bytes_moved: Mapping[str, float],
    shared: Sequence[str],
) -> tuple[MemoryTraffic, MemoryTraffic]:
    """Return the traffic of a touch map on another machine, and that of the starting code there.

    Args:
        machine: the whole machine.
        trace: the tracing, which shows the first writer of each page.
        users: the threads that use each page, by array (touch.workers).
        bytes_moved: by array, the bytes that the loop moves for each byte of it.
        shared: arrays most of whose pages several threads use, so that all threads count.

    Pages that no thread wrote or used move nothing.
    """
    worker = worker_of([trace])
    working = {user for pages in users.values() for page in pages for user in page}
    is_filled = bool(shared) or set(range(trace.team)) <= working
    cores = _TeamCores(machine, trace.team, is_filled)
    nodes = node_of_core(machine)
    parts = []
    for array in trace.arrays:
        written = cores.page_cores(
            [{worker(write)} if write else set() for write in written_from(trace, array)]
        )
        used = cores.page_cores(users[array.name])
        for writers, using in zip(written, used, strict=True):
            if array.name in shared and using:
                using = cores.all
            if writers:
                moved = bytes_moved.get(array.name, 0.0) / max(1, len(using))
                parts += [((core, nodes[writers[0]]), moved) for core in using]
    first = nodes[cores.all[0]]
    handout = summed((((core, first), 1.0) for core in cores.all), len(cores.all))
    return summed(parts, len(cores.all)), handout


class _TeamCores:
    """The cores that stand for a team's threads on a machine, counted over its NUMA nodes."""

    def __init__(self, machine: Machine, team: int, is_filled: bool) -> None:
        """Let each thread stand for an equal share of the cores, or, unless is_filled, for the
        first core of that share."""
        self._each, self._team, self._is_filled = machine.cores / team, team, is_filled
        count = machine.cores if is_filled else team
        self.all = tuple(range(count)) if is_filled else tuple(map(self._first, range(team)))

    def _first(self, thread: int) -> int:
        return int(thread * self._each)

    def page_cores(self, threads: Sequence[frozenset[int] | set[int]]) -> list[tuple[int, ...]]:
        """Return the cores of each page of an array, in order. threads: the threads of each page.
        A thread's pages are dealt out in order over the cores that it stands for; where one thread
        has all pages, or not is_filled, they go to the first of these."""
        pages = Counter(t for page in threads for t in page if 0 <= t < self._team)
        is_dealt = self._is_filled and len(pages) > 1
        so_far: Counter[int] = Counter()
        cores_of_pages = []
        for page in threads:
            cores = []
            for thread in sorted(t for t in page if t in pages):
                position = (so_far[thread] + 0.5) / pages[thread] if is_dealt else 0.0
                cores.append(int((thread + position) * self._each))
                so_far[thread] += 1
            cores_of_pages.append(tuple(cores))
        return cores_of_pages
