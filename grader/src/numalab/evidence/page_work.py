"""Who works on pages, and not only touches them: by what is used again after it was closed in the
middle of a phase (common/monitor/page_rearm.h), and by the CPU time of those who use it. Pure
functions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from numalab.evidence.record import AtWork, Placement, Trace
from numalab.evidence.run_formats import Origin
from numalab.evidence.touch import Users, place_of, used_again_from
from numalab.evidence.traced_pages import TracedArray

# A thread that works on its pages has at least such a part of what they make one expect, of uses in
# mid-phase and of CPU time. Threads far from their memory, or on slower cores, take up to some
# times the CPU time of others; who reads a byte of each page takes some hundredths.
LEAST_WORK = 0.25
# That it is seldom seen is not enough: a thread that has done its part before the first moment, as
# others began late, is not seen at all. Either others use its pages, by such a part of what is
# expected of it, or its CPU time is less than this part of that.
LEAST_TAKEN_OVER, MOST_OF_AN_IDLER = 0.25, 0.6
# A thread of an even loop is busy with the arrays at nearly all moments, beside whatever load.
# Where it is so at this part of the moments at which the best one is, it is at work; of fewer
# moments nothing is told.
LEAST_AT_WORK, LEAST_SEEN, MOST_BY_CHANCE = 0.85, 20, 4
# Of so many uses that are expected of a thread less than a quarter comes by chance once in 10^6.
LEAST_EXPECTED = 30
# That uses are as far off as they are comes by chance once in so many gradings.
MOST_CHANCE = 1e-4
# Where one thread's part of an array ends and the next one's begins, both use a page, and what was
# closed then is used again for certain, and not by chance: of 24 such pages each was so twice.
# Parts have at least so many pages that were traced.
USES_OF_A_SEAM, PAGES_OF_A_PART = 3, 8


@dataclass(frozen=True)
class PagesInUse:
    """Uses of pages that were seen in mid-phase. by_thread: whose; at_home: those by a thread that
    sits where the page was first written, or by whose part ends in it; taken_over: by first
    writer, those by other threads; moments: at which pages were closed."""

    by_thread: Mapping[int, int]
    at_home: int
    moments: int
    taken_over: Mapping[int, int]

    @property
    def total(self) -> int:
        return sum(self.by_thread.values())

    def has_strayed(self, at_least: float) -> bool:
        """Whether less than a share of the uses is at home, and that is no chance."""
        return chance_of(self.total - self.at_home, self.total, 1 - at_least) < MOST_CHANCE


def chance_of(found: int, drawn: int, share: float) -> float:
    """That of so many independent draws at least `found` are of a kind that has such a share."""
    if found <= drawn * share:
        return 1.0
    if share <= 0:
        return 0.0
    log_in, log_out = math.log(share), math.log1p(-share)
    return sum(
        math.exp(
            math.lgamma(drawn + 1) - math.lgamma(k + 1) - math.lgamma(drawn - k + 1)
            + k * log_in + (drawn - k) * log_out
        )
        for k in range(found, drawn + 1)
    )  # fmt: skip


def _parts(array: TracedArray) -> list[tuple[frozenset[int], int, int]]:
    """Pages one after another with the same users: who, the first and how many."""
    parts: list[tuple[frozenset[int], int, int]] = []
    for page, users in enumerate(array.users):
        if parts and parts[-1][0] == users:
            parts[-1] = (users, parts[-1][1], parts[-1][2] + 1)
        else:
            parts.append((users, page, 1))
    return parts


Pair = tuple[int, int]  # who wrote a page first, and who uses it


def seams(array: TracedArray) -> Counter[Pair]:
    """How many pages of each pair are where the parts of the two meet."""
    found: Counter[Pair] = Counter()
    parts = _parts(array)
    for before, (users, page, pages), behind in zip(parts, parts[1:], parts[2:], strict=False):
        is_between = users == before[0] | behind[0] and len(before[0]) == len(behind[0]) == 1
        if pages > 1 or not is_between or min(before[2], behind[2]) < PAGES_OF_A_PART:
            continue
        writer = array.first_writer[page]
        for user in users - {writer}:
            found[writer, user] += 1
    return found


def excused_uses(array: TracedArray) -> Counter[Pair]:
    """Of pages that were used again by another than who wrote them first, those that were where
    parts meet. Which page a use was of is not kept: of a pair that was seen on other pages, too, so
    many of its uses as it has pages of each kind. Else an array of many short parts would excuse
    who works on all of another's."""
    contested: Counter[Pair] = Counter()
    for writer, users in zip(array.first_writer, array.users, strict=True):
        contested.update((writer, user) for user in users - {writer} if len(users) > 1)
    excused: Counter[Pair] = Counter()
    for pair, pages in seams(array).items():
        of_seams = array.used_again.get(pair, 0) * pages // contested[pair]
        excused[pair] = min(of_seams, USES_OF_A_SEAM * pages)
    return excused


def pages_in_use(
    traces: Sequence[Trace],
    numa_nodes: int,
    worker: Callable[[Origin], int] = lambda origin: origin.thread,
) -> PagesInUse:
    """Of all tracings together; nothing of those that did not look. worker: by whom uses are
    counted."""
    by_thread: Counter[int] = Counter()
    taken_over: Counter[int] = Counter()
    at_home = 0
    place = place_of(traces, numa_nodes)
    for trace in traces:
        for array in trace.arrays:
            of_seams = excused_uses(array)
            away: Counter[Pair] = Counter()
            for write, use, times in used_again_from(trace, array):
                writer = -1 if write is None else write.thread
                by_thread[worker(use)] += times
                if place(write) >= 0 and place(write) == place(use):
                    at_home += times
                else:
                    away[writer, use.thread] += times
                home = -1 if write is None else worker(write)
                taken_over[home] += times if worker(use) != home else 0
            at_home += sum(min(times, of_seams[pair]) for pair, times in away.items())
            for (writer, user), excused in of_seams.items():
                taken_over[writer] -= excused if user != writer else 0
    moments = sum(trace.closings or 0 for trace in traces)
    return PagesInUse(by_thread, at_home, moments, taken_over)


def threads_that_use(users: Users) -> tuple[int, ...]:
    """The numbers of all threads that were seen to use a page, in order."""
    return tuple(sorted({user for pages in users.values() for page in pages for user in page}))


def contested_share(users: Users) -> float:
    """Of pages that several threads use."""
    pages = [page for of_array in users.values() for page in of_array]
    return sum(len(page) > 1 for page in pages) / len(pages) if pages else 0.0


@dataclass(frozen=True)
class Idler:
    """A thread that touches pages and does not work on them. of_expected: what it has of what its
    pages make one expect, of uses in mid-phase or of CPU time (is_cpu_time)."""

    thread: int
    of_expected: float
    is_cpu_time: bool


def idlers(
    page_shares: Mapping[int, float], in_use: PagesInUse, placement: Placement | None
) -> list[Idler]:
    """Those of the threads. page_shares: of the used pages; placement: None where its CPU time
    says nothing of work."""
    found = []
    # With the time for which others kept it from its core: who is dealt less then is no idler.
    cpu_s = {} if placement is None else dict(enumerate(t.busy_s for t in placement.cpu_time))
    all_cpu_s = sum(cpu_s.get(thread, 0.0) for thread in page_shares)
    for thread, share in page_shares.items():
        if share <= 0:
            continue
        expected = in_use.total * share
        uses = in_use.by_thread.get(thread, 0)
        is_known = thread in cpu_s and all_cpu_s > 0
        of_cpu_time = cpu_s[thread] / (share * all_cpu_s) if is_known else 1.0
        is_seldom_seen = expected >= LEAST_EXPECTED and uses < LEAST_WORK * expected
        is_replaced = in_use.taken_over.get(thread, 0) >= LEAST_TAKEN_OVER * expected
        if is_seldom_seen and (is_replaced or of_cpu_time < MOST_OF_AN_IDLER):
            found.append(Idler(thread, uses / expected, False))
        elif of_cpu_time < LEAST_WORK:
            found.append(Idler(thread, of_cpu_time, True))
    return sorted(found, key=lambda idler: idler.of_expected)


def busy_waiter(run: AtWork) -> Idler | None:
    """The thread that is most at moments busy with something else, beside one that is at work;
    None: none is. Where none uses the arrays much, since they work on copies, nothing is told."""
    at_work = {
        number: thread.works / (thread.works + thread.busy_else)
        for number, thread in enumerate(run.threads)
        if thread.works + thread.busy_else >= LEAST_SEEN
    }
    if not at_work:
        return None
    best = max(at_work.values())
    found = [
        Idler(number, share / best, False)
        for number, share in at_work.items()
        if best >= 0.5
        and share < LEAST_AT_WORK * best
        and run.threads[number].busy_else > MOST_BY_CHANCE
    ]
    return min(found, key=lambda idler: idler.of_expected, default=None)
