"""Hand-ins of a course whose results come from another version of numalab. Pure functions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from numalab.course.jobs.head import Wanted
from numalab.course.records import Attempt, Item


def under_kept_digests(
    wanted: Iterable[Wanted], known_as: Mapping[str, Sequence[str]], kept: Collection[Item]
) -> tuple[Wanted, ...]:
    """Return the items under the digests that the course has them by, so that what an equal version
    measured is not measured again.

    Args:
        wanted: items under the present digests.
        known_as: by lab, the present digest and those that are proved equal to it.
        kept: items that have attempts, or that jobs are at.
    """
    return tuple(
        replace(each, item=_under_kept(each.item, known_as[each.item.lab], kept)) for each in wanted
    )


def _under_kept(item: Item, digests: Iterable[str], kept: Collection[Item]) -> Item:
    same = (replace(item, kit_digest=digest) for digest in digests)
    return next((one for one in same if one in kept), item)


def results_of_others(
    wanted: Iterable[Wanted], attempts: Iterable[Attempt], under_way: Collection[Item] = ()
) -> dict[Item, Attempt]:
    """Return the items that only other versions have graded, each with the last such attempt. What
    this version was begun with before, or a job is at, is not among them."""
    by_files = {_files(each.item): each.item for each in wanted}
    last: dict[Item, Attempt] = {}
    begun = set(under_way)
    for attempt in attempts:
        item = by_files.get(_files(attempt.item))
        if item is None:
            continue
        if attempt.item == item:
            begun.add(item)
        elif attempt.state == "graded":
            last[item] = max(last.get(item, attempt), attempt, key=lambda a: (a.ended_at, a.number))
    return {item: attempt for item, attempt in last.items() if item not in begun}


def _files(item: Item) -> tuple[str, ...]:
    return item.student_id, item.lab, item.digest, item.effort


def seconds_taken(attempts: Iterable[Attempt]) -> float:
    """Return how long these gradings took altogether, in seconds."""
    return sum(
        (
            datetime.fromisoformat(attempt.ended_at) - datetime.fromisoformat(attempt.started_at)
        ).total_seconds()
        for attempt in attempts
    )
