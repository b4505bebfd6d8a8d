"""What touch maps and residency say, as shares of pages. Pure functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from numalab.errors import NumalabError
from numalab.evidence.kinds import TRACE
from numalab.evidence.record import Evidence, Placement, Trace
from numalab.evidence.run_formats import Origin, Thread
from numalab.evidence.sample import Sample
from numalab.evidence.traced_pages import TracedArray

_User = TypeVar("_User")
_Named = TypeVar("_Named")

Users = dict[str, tuple[frozenset[int], ...]]  # of each page that was looked at


def _check_pages(run: str, samples: Mapping[str, Sample], trace: Trace) -> None:
    """That a run has looked at those pages that were traced. Raises NumalabError."""
    for array in trace.arrays:
        if samples.get(array.name, array.sample) != array.sample:
            raise NumalabError(
                f"the record's {run} and its first tracing are not of the same pages of "
                f"{array.name}, so they can't be put together; grade again"
            )


def united_users(traces: Sequence[Trace]) -> Users:
    """For each array the threads seen to use each page in any of the tracings. Raises NumalabError
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


Uses = dict[str, tuple[frozenset[Origin], ...]]  # of each page that was looked at


def _bound_origins(threads: Sequence[Thread]) -> Callable[[int], Origin]:
    """Where a thread was in the end: what an older record tells of all its accesses."""
    bound = {t.number: Origin(t.number, -1, t.core, t.numa_node) for t in threads}
    return lambda number: bound.get(number, Origin(number, -1, -1, -1))


def _in_first_region(origin: Origin, bound: Callable[[int], Origin]) -> Origin:
    """A runtime may bind the initial thread no sooner than in its first parallel region (libomp
    does); what it does before counts as done where it is bound then."""
    is_free = origin.thread == 0 and origin.numa_node < 0
    return bound(0) if is_free and bound(0).numa_node >= 0 else origin


def written_from(trace: Trace, array: TracedArray) -> tuple[Origin | None, ...]:
    """For each page where its first write came from; None: nobody wrote it."""
    bound = _bound_origins(trace.threads)
    if array.written_from is None:
        return tuple(bound(number) if number >= 0 else None for number in array.first_writer)
    return tuple(origin and _in_first_region(origin, bound) for origin in array.written_from)


def used_again_from(
    trace: Trace, array: TracedArray
) -> Iterator[tuple[Origin | None, Origin, int]]:
    """First write, use, and times, as the record's used_again."""
    bound = _bound_origins(trace.threads)
    if array.used_again_from is None:
        for (writer, user), times in array.used_again.items():
            yield bound(writer) if writer >= 0 else None, bound(user), times
        return
    for (write, use), times in array.used_again_from.items():
        yield write and _in_first_region(write, bound), _in_first_region(use, bound), times


def _mapped(
    pages: Sequence[frozenset[_User]], of: Callable[[_User], _Named]
) -> tuple[frozenset[_Named], ...]:
    """Return for each page what its users are. Many pages have the same ones, so each set is
    looked at once."""
    found = {users: frozenset(map(of, users)) for users in set(pages)}
    return tuple(found[users] for users in pages)


def _used_from(array: TracedArray, threads: Sequence[Thread]) -> tuple[frozenset[Origin], ...]:
    bound = _bound_origins(threads)
    if array.used_from is None:
        return _mapped(array.users, bound)
    return _mapped(array.used_from, lambda origin: _in_first_region(origin, bound))


def united_uses(traces: Sequence[Trace], threads: Sequence[Thread] | None = None) -> Uses:
    """As united_users, by where the uses came from. threads: for older records, in place of each
    tracing's own."""
    united: Uses = {}
    for trace in traces:
        _check_pages("tracings", {array.name: array.sample for array in trace.arrays}, traces[0])
        for array in trace.arrays:
            used = _used_from(array, trace.threads if threads is None else threads)
            before = united.get(array.name)
            united[array.name] = (
                used if before is None else tuple(a | b for a, b in zip(before, used, strict=True))
            )
    return united


def worker_of(traces: Sequence[Trace]) -> Callable[[Origin], int]:
    """Who works at an origin, whatever the thread is called: the thread of the team to which the
    kit has given its core, beyond the team one for each core. The very thread where it may run on
    several cores, or where the team has no cores of its own."""
    team = traces[0].threads[: traces[0].team] if traces else ()
    of_core = {thread.core: thread.number for thread in team if thread.core >= 0}
    if not team or len(of_core) < len(team):
        return lambda origin: origin.thread
    beyond = 1 + max(of_core.values())

    def worker(origin: Origin) -> int:
        return of_core.get(origin.core, beyond + origin.core) if origin.core >= 0 else origin.thread

    return worker


def workers(uses: Uses, worker: Callable[[Origin], int]) -> Users:
    """The users of pages by who works there. worker: of worker_of."""
    return {name: _mapped(pages, worker) for name, pages in uses.items()}


def _threads_of_cores(traces: Sequence[Trace]) -> dict[int, int] | None:
    """For each core the first thread that uses pages from it and that no other core has, in the
    first tracing that has the core; None where threads may move between cores."""
    found: dict[int, int] = {}
    for trace in traces:
        used = [_used_from(array, trace.threads) for array in trace.arrays]
        origins = {origin for pages in used for page in set(pages) for origin in page}
        if any(origin.core < 0 for origin in origins):
            return None
        for core, thread in sorted({(origin.core, origin.thread) for origin in origins}):
            if thread not in found.values():
                found.setdefault(core, thread)
    return found


def place_of(traces: Sequence[Trace], numa_nodes: int) -> Callable[[Origin | None], int]:
    """What has to agree between a write and a use: the NUMA node to which the thread was bound at
    that moment. With one NUMA node it is the core, named by a thread that uses pages from it, or
    where threads are not bound to cores the very thread. -1 is nowhere, or that of a
    thread that may move, and agrees with nothing."""
    if numa_nodes > 1:
        return lambda origin: -1 if origin is None else origin.numa_node
    of_core = _threads_of_cores(traces)
    if of_core is None:
        return lambda origin: -1 if origin is None else origin.thread
    others = 1 + max(of_core.values(), default=0)  # from cores that nobody uses pages from

    def place(origin: Origin | None) -> int:
        if origin is None:
            return -1
        if origin.core < 0:
            return origin.thread
        return of_core.get(origin.core, others + origin.core)

    return place


# In the place of a NUMA node, where it is drawn: that of nobody, and of a thread that is bound to
# no node.
NOBODY, UNBOUND = -1, -2


def drawn_place_of(evidence: Evidence) -> Callable[[Origin | None], int]:
    """As place_of, or of None for nobody; UNBOUND where it is somebody, and nowhere."""
    place = place_of([t for t in evidence.of(TRACE) if t.arrays], evidence.numa_nodes)

    def drawn(origin: Origin | None) -> int:
        if origin is None:
            return NOBODY
        return place(origin) if place(origin) >= 0 else UNBOUND

    return drawn


def unbound_threads(trace: Trace, uses: Uses, evidence: Evidence) -> tuple[int, ...]:
    """Those that wrote or used pages and are drawn as UNBOUND, in order."""
    drawn = drawn_place_of(evidence)
    seen = {origin for array in trace.arrays for origin in written_from(trace, array) if origin}
    seen |= {use for pages in uses.values() for page in pages for use in page}
    return tuple(sorted({origin.thread for origin in seen if drawn(origin) == UNBOUND}))


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
    has_writer_moved: bool  # it was bound to one place as it wrote, to another as it used


def touch_share(trace: Trace, uses: Uses, place: Callable[[Origin | None], int]) -> TouchShare:
    """Judges one tracing's first writes against the uses seen in all tracings. place: of place_of.

    A page that is used from several places belongs to none of them.
    """
    good: Counter[str] = Counter()
    contested: Counter[str] = Counter()
    writers: dict[str, Counter[int]] = {}
    moved: set[tuple[str, int]] = set()
    strays: dict[str, Counter[tuple[int, frozenset[int]]]] = {}  # (writer, its strange users)
    pages = {array.name: len(array.first_writer) for array in trace.arrays}
    for array in trace.arrays:
        writers[array.name], strays[array.name] = Counter(), Counter()
        pairs = Counter(zip(written_from(trace, array), uses[array.name], strict=True))
        for (write, using), of_pages in pairs.items():
            writer = -1 if write is None else write.thread
            writers[array.name][writer] += of_pages
            home = place(write)
            places = {place(use) for use in using}
            if len(places) > 1:
                contested[array.name] += of_pages
            if home >= 0 and places == {home}:
                good[array.name] += of_pages
                continue
            strange = frozenset(u.thread for u in using if home < 0 or place(u) != home)
            if writer in strange and home >= 0:
                moved.add((array.name, writer))
            if strange:
                strays[array.name][writer, strange] += of_pages
    share = {name: good[name] / pages[name] for name in pages}
    worst = min(share, key=lambda name: share[name])
    writer, count = writers[worst].most_common(1)[0]
    of_writer = {users: n for (who, users), n in strays[worst].items() if who == writer}
    return TouchShare(
        share=sum(good.values()) / sum(pages.values()),
        worst_array=worst,
        array_share=share,
        writer=writer,
        writer_share=count / pages[worst],
        stray_users=tuple(sorted(frozenset().union(*of_writer))),
        stray_share=sum(of_writer.values()) / count,
        contested_share=contested[worst] / pages[worst],
        has_writer_moved=(worst, writer) in moved,
    )


# Where chance decides who comes first, two tracings differ in the place of half of the pages or
# more, since there are at least two places.
LEAST_BY_CHANCE = 0.25


def unsteady_share(traces: Sequence[Trace], array: str, numa_nodes: int) -> float:
    """The share of an array's pages that are not first written by the same thread in all
    tracings, which hold different threads back: who writes them is whoever comes first. Where
    they are written from the same place nevertheless, other threads came there, as they do in
    nested teams: then the share that is not."""
    place = place_of(traces, numa_nodes)
    writes = [
        written_from(trace, traced)
        for trace in traces
        for traced in trace.arrays
        if traced.name == array
    ]
    pages = Counter(zip(*writes, strict=True))
    if not pages:
        return 0.0
    by_place, by_thread = (
        sum(n for page, n in pages.items() if len(set(map(of, page))) > 1) / pages.total()
        for of in (place, lambda write: write and write.thread)
    )
    return by_thread if by_place > LEAST_BY_CHANCE else by_place


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


def shown_trace(evidence: Evidence) -> tuple[Trace, Uses] | None:
    """The tracing that judges worst, which is the one to look at, and from where the pages were
    used in any of them; None where nothing was traced."""
    traces = [trace for trace in evidence.of(TRACE) if trace.arrays]
    if not traces:
        return None
    uses = united_uses(traces)
    place = place_of(traces, evidence.numa_nodes)
    return min(traces, key=lambda t: touch_share(t, uses, place).share), uses


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
    """None when the system told nothing of residency. Absent pages are not local. Raises
    NumalabError where the tracings, or they and the placement, are not of the same pages."""
    if placement.residency is None:
        return None
    _check_pages("placement", placement.samples, traces[0])
    uses = united_uses(traces, placement.threads)
    using = {use for pages in uses.values() for page in pages for use in page}
    good: Counter[str] = Counter()
    for name, homes in placement.residency.items():
        for home, of_page in zip(homes, uses[name], strict=True):
            places = {use.numa_node for use in of_page}
            good[name] += home >= 0 and places == {home}
    pages = {name: len(homes) for name, homes in placement.residency.items()}
    worst = min(pages, key=lambda name: good[name] / pages[name])
    node, count = Counter(placement.residency[worst]).most_common(1)[0]
    contested = sum(len({use.numa_node for use in of_page}) > 1 for of_page in uses[worst])
    return LocalShare(
        share=sum(good.values()) / sum(pages.values()),
        worst_array=worst,
        crowded_node=node,
        crowded_share=count / pages[worst],
        contested_share=contested / pages[worst],
        unbound_users=tuple(sorted({use.thread for use in using if use.numa_node < 0})),
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
