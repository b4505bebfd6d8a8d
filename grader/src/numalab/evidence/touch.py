"""Touch maps and residency as shares of pages. Pure functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from numalab.errors import NumalabError
from numalab.evidence.checked_pages import CheckedPages
from numalab.evidence.kinds import TRACE
from numalab.evidence.record import Evidence, Placement, Trace
from numalab.evidence.run_formats import Origin, Thread
from numalab.evidence.traced_pages import TracedArray

_User = TypeVar("_User")
_Named = TypeVar("_Named")

Users = dict[str, tuple[frozenset[int], ...]]  # by array, threads that use each traced page


def _check_pages(run: str, checked: Mapping[str, CheckedPages], trace: Trace) -> None:
    """Raise NumalabError if a run checked other pages of an array than were traced."""
    for array in trace.arrays:
        if checked.get(array.name, array.checked_pages) != array.checked_pages:
            raise NumalabError(
                f"the record's {run} and its first tracing are not of the same pages of "
                f"{array.name}, so they can't be put together; grade again"
            )


def _united(
    traces: Sequence[Trace], used: Callable[[Trace, TracedArray], tuple[frozenset[_User], ...]]
) -> dict[str, tuple[frozenset[_User], ...]]:
    """Return by array the users of each page in any of the traces. used: returns those of an array
    in one trace."""
    united: dict[str, tuple[frozenset[_User], ...]] = {}
    for trace in traces:
        _check_pages(
            "tracings", {array.name: array.checked_pages for array in trace.arrays}, traces[0]
        )
        for array in trace.arrays:
            own = used(trace, array)
            before = united.get(array.name, own)
            united[array.name] = tuple(a | b for a, b in zip(before, own, strict=True))
    return united


def united_users(traces: Sequence[Trace]) -> Users:
    """Return by array the threads that use each page in any of the traces. Raises NumalabError if
    these are not of the same pages."""
    return _united(traces, lambda trace, array: array.users)


def initial_numa_node(threads: Sequence[Thread]) -> int:
    """Return the NUMA node that the initial thread is bound to; -1 if it may run on several or is
    unknown."""
    return next((thread.numa_node for thread in threads if thread.number == 0), -1)


Uses = dict[str, tuple[frozenset[Origin], ...]]  # by array, origins of uses of each traced page


def _bound_origins(threads: Sequence[Thread]) -> Callable[[int], Origin]:
    """Return a function from a thread's number to where it was in the end: the origin that an older
    record implies for all of its accesses."""
    bound = {t.number: Origin(t.number, -1, t.core, t.numa_node) for t in threads}
    return lambda number: bound.get(number, Origin(number, -1, -1, -1))


def _bind_initial_thread(origin: Origin, bound: Callable[[int], Origin]) -> Origin:
    """Return an origin; one of the initial thread without a NUMA node as of the place that it is
    bound to later, where that is known: a runtime may bind it no sooner than in its first parallel
    region (libomp does)."""
    is_free = origin.thread == 0 and origin.numa_node < 0
    return bound(0) if is_free and bound(0).numa_node >= 0 else origin


def written_from(trace: Trace, array: TracedArray) -> tuple[Origin | None, ...]:
    """Return for each page where its first write came from; None: nobody wrote it."""
    bound = _bound_origins(trace.threads)
    if array.written_from is None:
        return tuple(bound(number) if number >= 0 else None for number in array.first_writer)
    return tuple(origin and _bind_initial_thread(origin, bound) for origin in array.written_from)


def used_again_from(
    trace: Trace, array: TracedArray
) -> Iterator[tuple[Origin | None, Origin, int]]:
    """Yield the first write, the use and how often, for pages that were used again."""
    bound = _bound_origins(trace.threads)
    if array.used_again_from is None:
        for (writer, user), times in array.used_again.items():
            yield bound(writer) if writer >= 0 else None, bound(user), times
        return
    for (write, use), times in array.used_again_from.items():
        yield write and _bind_initial_thread(write, bound), _bind_initial_thread(use, bound), times


def _mapped(
    pages: Sequence[frozenset[_User]], name_of: Callable[[_User], _Named]
) -> tuple[frozenset[_Named], ...]:
    """Return for each page the names of its users. Many pages have the same users, so each set is
    mapped once."""
    names = {users: frozenset(map(name_of, users)) for users in set(pages)}
    return tuple(names[users] for users in pages)


def _used_from(array: TracedArray, threads: Sequence[Thread]) -> tuple[frozenset[Origin], ...]:
    bound = _bound_origins(threads)
    if array.used_from is None:
        return _mapped(array.users, bound)
    return _mapped(array.used_from, lambda origin: _bind_initial_thread(origin, bound))


def united_uses(traces: Sequence[Trace], threads: Sequence[Thread] | None = None) -> Uses:
    """Return by array the origins from which each page is used in any of the traces. threads: in
    the place of each trace's own. Raises as united_users."""
    return _united(
        traces,
        lambda trace, array: _used_from(array, trace.threads if threads is None else threads),
    )


def worker_of(traces: Sequence[Trace]) -> Callable[[Origin], int]:
    """Return a function from an origin to the number that stands for who works there, whatever
    thread it is: the thread of the team that numalab bound to the origin's core, and for another
    core a number beyond the team. Where the team's threads don't have a core each, or an origin has
    no core, it is the thread's own number."""
    team = traces[0].threads[: traces[0].team] if traces else ()
    of_core = {thread.core: thread.number for thread in team if thread.core >= 0}
    if not team or len(of_core) < len(team):
        return lambda origin: origin.thread
    beyond = 1 + max(of_core.values())

    def worker(origin: Origin) -> int:
        return of_core.get(origin.core, beyond + origin.core) if origin.core >= 0 else origin.thread

    return worker


def workers(uses: Uses, worker: Callable[[Origin], int]) -> Users:
    """Return the users of pages as numbers. worker: from worker_of."""
    return {name: _mapped(pages, worker) for name, pages in uses.items()}


def _threads_of_cores(traces: Sequence[Trace]) -> dict[int, int] | None:
    """Return for each core a thread that stands for it; None where threads may move between cores.

    It is the lowest number of a thread that uses pages from this core and stands for no other core
    yet, in the first trace that has one. A core without such a thread is left out.
    """
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
    """Return a function from an origin to its place, which has to agree between a page's first
    write and its use.

    The place is the NUMA node to which the thread was bound at that moment. With one NUMA node it
    is the core, named by a thread that uses pages from it if one does, or the thread itself where
    threads are not bound to cores. -1 stands for no write, or, with several NUMA nodes, a thread
    that may move; it agrees with nothing.
    """
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


# Places in pictures: a page that nobody wrote, and a thread that is bound to no NUMA node.
NOBODY, UNBOUND = -1, -2


def drawn_place_of(evidence: Evidence) -> Callable[[Origin | None], int]:
    """Return a function from an origin to its place in a picture: as place_of, NOBODY for None,
    and UNBOUND for a thread without a place."""
    place = place_of([t for t in evidence.runs_of(TRACE) if t.arrays], evidence.numa_nodes)

    def drawn(origin: Origin | None) -> int:
        if origin is None:
            return NOBODY
        return place(origin) if place(origin) >= 0 else UNBOUND

    return drawn


def unbound_threads(trace: Trace, uses: Uses, evidence: Evidence) -> tuple[int, ...]:
    """Return the threads that wrote or used pages and are drawn as UNBOUND, in order."""
    drawn = drawn_place_of(evidence)
    origins = {origin for array in trace.arrays for origin in written_from(trace, array) if origin}
    origins |= {use for pages in uses.values() for page in pages for use in page}
    return tuple(sorted({origin.thread for origin in origins if drawn(origin) == UNBOUND}))


@dataclass(frozen=True)
class TouchShare:
    """How many pages are first written where they are used.

    Attributes:
        share: of all traced pages, those first written where they are used.
        worst_array: the array with the smallest share; array_share has those of all.
        writer: the most frequent first writer of the worst array; -1: nobody.
        writer_share: the share of its pages that this thread wrote first.
        stray_users: threads that use pages of this writer from another place.
        stray_share: the share of this writer's pages that they use.
        contested_share: the share of its pages that several places use.
        has_writer_moved: whether the writer was bound to one place as it wrote one of its pages,
            and to another or to none as it used that.
    """

    share: float
    worst_array: str
    array_share: dict[str, float]
    writer: int
    writer_share: float
    stray_users: tuple[int, ...]
    stray_share: float
    contested_share: float
    has_writer_moved: bool


def touch_share(trace: Trace, uses: Uses, place: Callable[[Origin | None], int]) -> TouchShare:
    """Compare the first writes of one trace with the uses of all traces.

    A page that is used from several places is local to none of them.

    Args:
        uses: from united_uses.
        place: from place_of.
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


# Where chance decides which thread comes first, two traces differ in the place of at least half of
# the pages, since there are at least two places.
LEAST_BY_CHANCE = 0.25


def unsteady_share(traces: Sequence[Trace], array: str, numa_nodes: int) -> float:
    """Return the share of an array's pages whose first writer differs between traces. Where no more
    than LEAST_BY_CHANCE of them are written from different places, it is the share of those: other
    threads may have come to the same place, as in nested teams."""
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
        sum(n for page, n in pages.items() if len(set(map(key, page))) > 1) / pages.total()
        for key in (place, lambda write: write and write.thread)
    )
    return by_thread if by_place > LEAST_BY_CHANCE else by_place


# A thread beyond the team counts as part of it if it uses such a part of an equal share.
LEAST_USED = 0.05


def equal_share_ratios(users: Users, team: int) -> dict[int, float]:
    """Return for each thread its share of the pages over an equal share. Threads beyond the team
    count if they use LEAST_USED of an equal share; a page with several users is divided among
    them."""
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
    """Return the trace with the smallest share of pages first written where they are used, and the
    uses of all traces; None where nothing was traced. Raises as united_users."""
    traces = [trace for trace in evidence.runs_of(TRACE) if trace.arrays]
    if not traces:
        return None
    uses = united_uses(traces)
    place = place_of(traces, evidence.numa_nodes)
    return min(traces, key=lambda t: touch_share(t, uses, place).share), uses


@dataclass(frozen=True)
class LocalShare:
    """How many pages are on the NUMA node of their user.

    Attributes:
        share: of all pages, those on the NUMA node of their user.
        worst_array: the array with the smallest share.
        crowded_node: the NUMA node with the most pages of the worst array; -1: more are absent.
        crowded_share: the share of its pages there.
        contested_share: the share of its pages that several NUMA nodes use.
        absent: pages of all arrays that are not in memory.
        unbound_users: threads that use pages and are bound to no NUMA node.
    """

    share: float
    worst_array: str
    crowded_node: int
    crowded_share: float
    contested_share: float
    absent: int
    unbound_users: tuple[int, ...]


def local_share(placement: Placement, traces: Sequence[Trace]) -> LocalShare | None:
    """Return how many pages are local; absent ones are not. None where no residency is on record.

    Raises:
        NumalabError: The traces, or traces and placement, are not of the same pages.
    """
    if placement.residency is None:
        return None
    _check_pages("placement", placement.checked_pages, traces[0])
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


def is_written_unbound(trace: Trace, placement: Placement, local: LocalShare) -> bool:
    """Return whether the initial thread wrote most of the worst array, which nevertheless is on
    another NUMA node than that thread's. A runtime may bind the thread no sooner than in its first
    parallel region (libomp does): pages that it writes before are wherever it happened to run."""
    home = initial_numa_node(placement.threads)
    written = next(a.first_writer for a in trace.arrays if a.name == local.worst_array)
    return (
        min(home, local.crowded_node) >= 0
        and home != local.crowded_node
        and local.crowded_share > 0.5
        and written.count(0) > len(written) / 2
    )
