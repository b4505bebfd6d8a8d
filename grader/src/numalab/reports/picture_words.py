"""What the pictures of the evidence show, in words: for those who hear a page, and for those who
want to copy from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from numalab import words
from numalab.evidence.record import Evidence
from numalab.evidence.run_formats import Thread
from numalab.evidence.touch import UNBOUND
from numalab.evidence.work import WorkShare
from numalab.pu_lists import format_pus
from numalab.reports.comparison import SeatView, TouchView, WorkView
from numalab.reports.touch_map import OWNERS, Places, rows_by_array, sampled

MOST_NAMED = 4  # of what a sentence counts up


def _ended(parts: Sequence[str]) -> str:
    """A list of what there is most of first."""
    more = len(parts) - MOST_NAMED
    shown = list(parts[:MOST_NAMED]) if more > 1 else list(parts)
    return ", ".join(shown) + (f" and {more} more" if more > 1 else "")


def _by_whom(places: Places, noun: str) -> str:
    """Of the pages of an array, as in: by thread 0 (50 %), by several threads (50 %)."""
    found: Counter[str] = Counter()
    for of_page in places:
        known = [place for place in of_page if place >= 0]
        if UNBOUND in of_page and not known:
            found["a thread that is bound to none"] += 1
        elif not known:
            found["nobody"] += 1
        else:
            found[f"{noun} {known[0]}" if len(of_page) == 1 else f"several {noun}s"] += 1
    return _ended([f"{who} ({words.percent(n / len(places))})" for who, n in found.most_common()])


def _touch_map(evidence: Evidence, with_homes: bool) -> str:
    noun = "NUMA node" if evidence.numa_nodes > 1 else "thread"
    told: dict[str, list[str]] = {}
    for array, rows in rows_by_array(evidence, with_homes).items():
        words = "; ".join(f"{label} {_by_whom(places, noun)}" for label, places in rows)
        told.setdefault(words, []).append(array)
    sentences = [f"{', '.join(arrays)}: {words}" for words, arrays in told.items()]
    return ". ".join(sentences + [sentence.rstrip(".") for sentence in sampled(evidence)])


def touch_words(sight: TouchView) -> str:
    """Pages of each array, by who wrote and who uses them."""
    yours = _touch_map(sight.yours, sight.with_homes)
    if sight.solution is None:
        return f"{yours}."
    solution = _touch_map(sight.solution, sight.with_homes)
    return f"{words.first_upper(OWNERS[0])}: {yours}. {words.first_upper(OWNERS[1])}: {solution}."


def _work(share: WorkShare) -> str:
    each = [f"thread {t} {words.percent(one)}" for t, one in enumerate(share.thread_shares)]
    mean = f"on average {words.percent(share.share)}"
    if len(each) <= 2 * MOST_NAMED:
        return f"{', '.join(each)}; {mean}"
    low, high = min(share.thread_shares), max(share.thread_shares)
    return f"{len(each)} threads between {words.percent(low)} and {words.percent(high)}; {mean}"


def work_words(sight: WorkView) -> str:
    """For how much of a call each thread works."""
    owners: Mapping[str, WorkShare | None] = dict(
        zip(OWNERS, (sight.yours, sight.solution), strict=True)
    )
    if sight.solution is None:
        return f"{words.first_upper(_work(sight.yours))}."
    return " ".join(
        f"{words.first_upper(owner)}: {_work(share)}."
        for owner, share in owners.items()
        if share is not None
    )


def _pus(numbers: Sequence[int]) -> str:
    """A list without strides, which not everybody reads."""
    return (
        format_pus(numbers)
        if len(numbers) == numbers[-1] - numbers[0] + 1
        else ", ".join(map(str, numbers))
    )


def _seats(threads: Sequence[Thread], is_ranks: bool) -> str:
    named = words.ranks if is_ranks else words.threads
    pus: dict[int, set[int]] = {}
    for thread in threads:
        pus.setdefault(thread.number, set()).update(pu for pu in thread.allowed_pus if pu >= 0)
    by_pus: dict[str, list[int]] = {}
    for number, of_one in pus.items():
        seat = f"on PU {_pus(sorted(of_one))}" if of_one else "on no PU of this node"
        by_pus.setdefault(seat.replace("PU", "PUs") if len(of_one) > 1 else seat, []).append(number)
    parts = [f"{named(numbers)} {seat}" for seat, numbers in by_pus.items()]
    return "; ".join(parts)


def seat_words(sight: SeatView, is_ranks: bool) -> str:
    """Where each thread or rank may run."""
    if sight.compared is None:
        return f"{words.first_upper(_seats(sight.drawn, is_ranks))}."
    return " ".join(
        f"{words.first_upper(head)}: {_seats(threads, is_ranks)}."
        for head, threads in zip(sight.heads, (sight.drawn, sight.compared), strict=True)
    )
