"""Who works on pages, and not only touches them: by what is used again after it was closed in the
middle of a phase (common/monitor/page_rearm.h), and by the CPU time of those who use it. Pure
functions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from numalab.evidence.record import Placement, Trace
from numalab.evidence.run_formats import ActiveThreadsRun, Origin
from numalab.evidence.touch import Users, place_of, used_again_from
from numalab.evidence.traced_pages import TracedArray

# A thread that works on its pages has at least such a part of what they make one expect, of uses in
# mid-phase and of CPU time. Threads far from their memory, or on slower cores, take up to some
# times the CPU time of others; who reads a byte of each page takes some hundredths.
LEAST_WORK = 0.25
# Few uses alone are not enough: a thread that has done its part before the first moment, because
# others began late, has none. Either others use its pages, for such a part of its expected uses, or
# its CPU time is less than such a part of what is expected.
LEAST_TAKEN_OVER, MOST_OF_AN_IDLER = 0.25, 0.6
# A thread of an even loop works on the arrays at nearly all moments, whatever the other load. It
# counts as working where it does so at such a part of the best thread's moments; fewer moments than
# MIN_MOMENTS show nothing, and MAX_CHANCE_SPINS of spinning may be chance.
LEAST_AT_WORK, MIN_MOMENTS, MAX_CHANCE_SPINS = 0.85, 20, 4
# Where so many uses of a thread are expected, fewer than a quarter occur by chance less than once
# in 10^6.
LEAST_EXPECTED = 30
# The probability below which strayed uses do not count as chance.
MOST_CHANCE = 1e-4
# Where one thread's part of an array ends and the next one's begins, both use a page, and once
# closed it is certain to be used again: each of 24 such pages was, twice. A part has at least so
# many traced pages.
USES_OF_A_SEAM, PAGES_OF_A_PART = 3, 8


@dataclass(frozen=True)
class PagesInUse:
    """Uses of pages that were observed in the middle of a phase.

    Attributes:
        thread_uses: number of uses by thread.
        local_uses: uses by a thread that is where the page was first written, and those put down to
            pages where parts meet (excused_uses).
        moments: number of moments at which pages were closed.
        taken_over: uses by other threads, by first writer, less those put down likewise.
    """

    thread_uses: Mapping[int, int]
    local_uses: int
    moments: int
    taken_over: Mapping[int, int]

    @property
    def total(self) -> int:
        return sum(self.thread_uses.values())

    def has_strayed(self, min_share: float) -> bool:
        """Return whether less than a share of the uses is local, beyond chance."""
        return chance_of(self.total - self.local_uses, self.total, 1 - min_share) < MOST_CHANCE


def chance_of(hits: int, drawn: int, share: float) -> float:
    """Return the probability that at least `hits` of `drawn` independent draws are of a kind that
    has such a share; 1 where that many or more are expected."""
    if hits <= drawn * share:
        return 1.0
    if share <= 0:
        return 0.0
    log_in, log_out = math.log(share), math.log1p(-share)
    return sum(
        math.exp(
            math.lgamma(drawn + 1) - math.lgamma(k + 1) - math.lgamma(drawn - k + 1)
            + k * log_in + (drawn - k) * log_out
        )
        for k in range(hits, drawn + 1)
    )  # fmt: skip


def _parts(array: TracedArray) -> list[tuple[frozenset[int], int, int]]:
    """Return each run of pages with the same users: the users, its first page, its length."""
    parts, first = [], 0
    for users, run in groupby(array.users):
        pages = len(list(run))
        parts.append((users, first, pages))
        first += pages
    return parts


Pair = tuple[int, int]  # who wrote a page first, and who uses it


def seams(array: TracedArray) -> Counter[Pair]:
    """Return how many pages of each pair lie where long parts of two threads meet."""
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
    """Return, by pair, the uses by another thread than the first writer that are put down to pages
    where parts meet.

    The record does not say which page a use was of. Where a pair uses other shared pages, too, its
    uses are divided by the number of pages of each kind: else an array of many short parts would
    excuse a thread that works on all of another's.
    """
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
    """Return the uses in mid-phase of all traces together. Traces whose pages were not closed add
    nothing. worker: returns the number that stands for an origin's thread."""
    thread_uses: Counter[int] = Counter()
    taken_over: Counter[int] = Counter()
    local_uses = 0
    place = place_of(traces, numa_nodes)
    for trace in traces:
        for array in trace.arrays:
            of_seams = excused_uses(array)
            away: Counter[Pair] = Counter()
            for write, use, times in used_again_from(trace, array):
                writer = -1 if write is None else write.thread
                thread_uses[worker(use)] += times
                if place(write) >= 0 and place(write) == place(use):
                    local_uses += times
                else:
                    away[writer, use.thread] += times
                home = -1 if write is None else worker(write)
                taken_over[home] += times if worker(use) != home else 0
            local_uses += sum(min(times, of_seams[pair]) for pair, times in away.items())
            for (writer, user), excused in of_seams.items():
                taken_over[writer] -= excused if user != writer else 0
    moments = sum(trace.closings or 0 for trace in traces)
    return PagesInUse(thread_uses, local_uses, moments, taken_over)


def threads_that_use(users: Users) -> tuple[int, ...]:
    """Return the numbers of all threads that used a page, in order."""
    return tuple(sorted({user for pages in users.values() for page in pages for user in page}))


def contested_share(users: Users) -> float:
    """Return the share of pages that several threads use."""
    pages = [page for of_array in users.values() for page in of_array]
    return sum(len(page) > 1 for page in pages) / len(pages) if pages else 0.0


@dataclass(frozen=True)
class Idler:
    """A thread that touches pages and does not work on them.

    Attributes:
        expected_share: the uses in mid-phase that it has, over those expected of its pages; with
            is_cpu_time the same of CPU time; of spinning_thread how often it works, over the thread
            that works most often.
    """

    thread: int
    expected_share: float
    is_cpu_time: bool


def idlers(
    page_shares: Mapping[int, float], uses: PagesInUse, placement: Placement | None
) -> list[Idler]:
    """Return the threads that touch pages and do not work on them, the least active first.

    Args:
        page_shares: by thread, its share of the pages.
        placement: the run with CPU times; None where these say nothing of work.
    """
    found = []
    # With the time for which others kept it from its core: a thread that got less then is no idler.
    cpu_s = {} if placement is None else dict(enumerate(t.demand_s for t in placement.cpu_time))
    all_cpu_s = sum(cpu_s.get(thread, 0.0) for thread in page_shares)
    for thread, share in page_shares.items():
        if share <= 0:
            continue
        expected = uses.total * share
        own_uses = uses.thread_uses.get(thread, 0)
        is_known = thread in cpu_s and all_cpu_s > 0
        of_cpu_time = cpu_s[thread] / (share * all_cpu_s) if is_known else 1.0
        is_seldom_seen = expected >= LEAST_EXPECTED and own_uses < LEAST_WORK * expected
        is_replaced = uses.taken_over.get(thread, 0) >= LEAST_TAKEN_OVER * expected
        if is_seldom_seen and (is_replaced or of_cpu_time < MOST_OF_AN_IDLER):
            found.append(Idler(thread, own_uses / expected, False))
        elif of_cpu_time < LEAST_WORK:
            found.append(Idler(thread, of_cpu_time, True))
    return sorted(found, key=lambda idler: idler.expected_share)


def spinning_thread(run: ActiveThreadsRun) -> Idler | None:
    """Return the thread that works on the arrays least often while it takes CPU time, compared with
    the one that works most often; None: all work, too few moments show anything, or none uses the
    arrays at half of the moments, as where threads work on copies."""
    at_work = {
        number: thread.works / (thread.works + thread.spins)
        for number, thread in enumerate(run.threads)
        if thread.works + thread.spins >= MIN_MOMENTS
    }
    if not at_work:
        return None
    best = max(at_work.values())
    found = [
        Idler(number, share / best, False)
        for number, share in at_work.items()
        if best >= 0.5
        and share < LEAST_AT_WORK * best
        and run.threads[number].spins > MAX_CHANCE_SPINS
    ]
    return min(found, key=lambda idler: idler.expected_share, default=None)
