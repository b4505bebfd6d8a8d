"""What touch maps and residency say, as shares of pages. Pure functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from numalab.errors import KitError
from numalab.evidence.kinds import TRACE
from numalab.evidence.record import Evidence, Placement, Thread, Trace
from numalab.evidence.sample import Sample

Users = dict[str, tuple[frozenset[int], ...]]  # of each page that was looked at


def _check_pages(run: str, samples: Mapping[str, Sample], trace: Trace) -> None:
    """That a run has looked at those pages that were traced. Raises KitError."""
    for array in trace.arrays:
        if samples.get(array.name, array.sample) != array.sample:
            raise KitError(
                f"the record's {run} and its first tracing are not of the same pages of "
                f"{array.name}, so they can't be put together; grade again"
            )


def united_users(traces: Sequence[Trace]) -> Users:
    """For each array the threads seen to use each page in any of the tracings. Raises KitError
    where they are not of the same pages."""
    united: Users = {}
    for trace in traces:
        _check_pages("tracings", {array.name: array.sample for array in trace.arrays}, traces[0])
        for array in trace.arrays:
            before = united.get(array.name, (frozenset(),) * len(array.users))
            united[array.name] = tuple(a | b for a, b in zip(before, array.users, strict=True))
    return united


def numa_nodes_of(threads: Sequence[Thread]) -> Callable[[int], int]:
    """NUMA node that a thread is bound to; -1 when it may run on several or is unknown."""
    node = {thread.number: thread.numa_node for thread in threads}
    return lambda number: node.get(number, -1)


def place_of(trace: Trace, numa_nodes: int) -> Callable[[int], int]:
    """What has to agree between writer and user: the NUMA node, or with one NUMA node
    the very thread. -1 is nowhere and agrees with nothing."""
    if numa_nodes > 1:
        return numa_nodes_of(trace.threads)
    return lambda number: number


# In the place of a NUMA node, where it is drawn: that of nobody, and of a thread that is bound to
# no node.
NOBODY, UNBOUND = -1, -2


def drawn_place_of(trace: Trace, numa_nodes: int) -> Callable[[int], int]:
    """As place_of, of a thread or of -1 for nobody; UNBOUND where it is somebody, and nowhere."""
    place = place_of(trace, numa_nodes)

    def drawn(number: int) -> int:
        if number < 0:
            return NOBODY
        return place(number) if place(number) >= 0 else UNBOUND

    return drawn


def unbound_threads(trace: Trace, users: Users, numa_nodes: int) -> tuple[int, ...]:
    """Those that wrote or used pages and are drawn as UNBOUND, in order."""
    drawn = drawn_place_of(trace, numa_nodes)
    seen = {writer for array in trace.arrays for writer in array.first_writer}
    seen |= {user for pages in users.values() for page in pages for user in page}
    return tuple(sorted(number for number in seen if drawn(number) == UNBOUND))


@dataclass(frozen=True)
class TouchShare:
    """share: pages first written where they are used, of all traced pages.

    worst_array: the array with the smallest share, of which writer is the most frequent
    first writer (-1: nobody) and writer_share its share of the pages. Of those pages
    stray_share are used from elsewhere, by stray_users. contested_share: pages of the
    worst array that several places use.
    """

    share: float
    worst_array: str
    array_share: dict[str, float]
    writer: int
    writer_share: float
    stray_users: tuple[int, ...]
    stray_share: float
    contested_share: float


def touch_share(trace: Trace, users: Users, numa_nodes: int) -> TouchShare:
    """Judges one tracing's first writers against the users seen in all tracings.

    A page that threads at several places use belongs to none of them.
    """
    place = place_of(trace, numa_nodes)
    good: Counter[str] = Counter()
    contested: Counter[str] = Counter()
    writers: dict[str, Counter[int]] = {}
    strays: dict[str, list[tuple[int, frozenset[int]]]] = {}  # (writer, its strange users)
    pages = {array.name: len(array.first_writer) for array in trace.arrays}
    for array in trace.arrays:
        writers[array.name], strays[array.name] = Counter(), []
        for writer, using in zip(array.first_writer, users[array.name], strict=True):
            writers[array.name][writer] += 1
            home = place(writer) if writer >= 0 else -1
            places = {place(user) for user in using}
            if len(places) > 1:
                contested[array.name] += 1
            if home >= 0 and places == {home}:
                good[array.name] += 1
                continue
            strange = frozenset(user for user in using if home < 0 or place(user) != home)
            if strange:
                strays[array.name].append((writer, strange))
    share = {name: good[name] / pages[name] for name in pages}
    worst = min(share, key=lambda name: share[name])
    writer, count = writers[worst].most_common(1)[0]
    of_writer = [strange for who, strange in strays[worst] if who == writer]
    return TouchShare(
        share=sum(good.values()) / sum(pages.values()),
        worst_array=worst,
        array_share=share,
        writer=writer,
        writer_share=count / pages[worst],
        stray_users=tuple(sorted(frozenset().union(*of_writer))),
        stray_share=len(of_writer) / count,
        contested_share=contested[worst] / pages[worst],
    )


def unsteady_share(traces: Sequence[Trace], array: str) -> float:
    """The share of an array's pages that are not first written by the same thread in all
    tracings, which hold different threads back: who writes them is whoever comes first."""
    writers = [
        traced.first_writer for trace in traces for traced in trace.arrays if traced.name == array
    ]
    pages = list(zip(*writers, strict=True))
    return sum(len(set(page)) > 1 for page in pages) / len(pages) if pages else 0.0


# A thread beyond the team counts as one of it where it uses such a part of an equal share.
LEAST_USED = 0.05


def equal_share_ratios(users: Users, team: int) -> dict[int, float]:
    """For each thread its share of the used pages over an equal share: of the team, and of those
    beyond it that use more than a page here and there.

    A page with several users is divided among them.
    """
    used: dict[int, float] = dict.fromkeys(range(team), 0.0)
    total = 0
    for pages in users.values():
        for using in pages:
            total += 1
            for user in using:
                used[user] = used.get(user, 0.0) + 1 / len(using)
    threads = [t for t in sorted(used) if t < team or used[t] >= LEAST_USED * total / team]
    return {thread: used[thread] * len(threads) / total if total else 0.0 for thread in threads}


def shown_trace(evidence: Evidence) -> tuple[Trace, Users] | None:
    """The tracing that judges worst, which is the one to look at, and who used the pages in any
    of them; None where nothing was traced."""
    traces = [trace for trace in evidence.of(TRACE) if trace.arrays]
    if not traces:
        return None
    users = united_users(traces)
    return min(traces, key=lambda t: touch_share(t, users, evidence.numa_nodes).share), users


@dataclass(frozen=True)
class LocalShare:
    """share: pages that live on the NUMA node of their user; of the worst array the NUMA
    node that holds most of it, the share of its pages there, and of those that several NUMA
    nodes use. unbound_users: threads that use pages and may run on several NUMA nodes."""

    share: float
    worst_array: str
    crowded_node: int
    crowded_share: float
    contested_share: float
    absent: int
    unbound_users: tuple[int, ...]


def local_share(placement: Placement, traces: Sequence[Trace]) -> LocalShare | None:
    """None when the system told nothing of residency. Absent pages are not local. Raises KitError
    where the tracings, or they and the placement, are not of the same pages."""
    if placement.residency is None:
        return None
    _check_pages("placement", placement.samples, traces[0])
    users = united_users(traces)
    node_of = numa_nodes_of(placement.threads)
    using = {user for pages in users.values() for page in pages for user in page}
    good: Counter[str] = Counter()
    for name, homes in placement.residency.items():
        for home, of_page in zip(homes, users[name], strict=True):
            places = {node_of(user) for user in of_page}
            good[name] += home >= 0 and places == {home}
    pages = {name: len(homes) for name, homes in placement.residency.items()}
    worst = min(pages, key=lambda name: good[name] / pages[name])
    node, count = Counter(placement.residency[worst]).most_common(1)[0]
    contested = sum(len({node_of(user) for user in of_page}) > 1 for of_page in users[worst])
    return LocalShare(
        share=sum(good.values()) / sum(pages.values()),
        worst_array=worst,
        crowded_node=node,
        crowded_share=count / pages[worst],
        contested_share=contested / pages[worst],
        unbound_users=tuple(sorted(user for user in using if node_of(user) < 0)),
        absent=sum(homes.count(-1) for homes in placement.residency.values()),
    )


def is_written_unbound(trace: Trace, placement: Placement, found: LocalShare) -> bool:
    """Whether most of the worst array was written by the initial thread and yet sits on another
    NUMA node than that thread's. A runtime may bind that thread no sooner than in its first
    parallel region (libomp does): pages that it writes before go wherever it happened to run."""
    home = numa_nodes_of(placement.threads)(0)
    written = next(a.first_writer for a in trace.arrays if a.name == found.worst_array)
    return (
        min(home, found.crowded_node) >= 0
        and home != found.crowded_node
        and found.crowded_share > 0.5
        and written.count(0) > len(written) / 2
    )
