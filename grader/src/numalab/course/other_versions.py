"""Hand-ins whose results come from another version of numalab. Pure functions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from numalab.course.jobs.dispatcher import RequestedGrading
from numalab.course.records import Attempt, GradingTarget


def use_stored_digests(
    requested: Iterable[RequestedGrading],
    equal_digests: Mapping[str, Sequence[str]],
    stored: Collection[GradingTarget],
) -> tuple[RequestedGrading, ...]:
    """Return the requested gradings with the digests under which the course has their targets,
    unchanged if it has none, so that what an equivalent version has measured is not measured again.

    Args:
        requested: gradings under the present digests.
        equal_digests: for each requested lab, the present digest and those proved equal to it, in
            the order in which they are tried.
        stored: targets that have attempts, or that a job is to grade.
    """
    found = []
    for each in requested:
        target = each.target
        same = (replace(target, numalab_digest=digest) for digest in equal_digests[target.lab])
        found.append(replace(each, target=next((one for one in same if one in stored), target)))
    return tuple(found)


def results_of_other_versions(
    requested: Iterable[RequestedGrading],
    attempts: Iterable[Attempt],
    running: Collection[GradingTarget] = (),
) -> dict[GradingTarget, Attempt]:
    """Return the requested targets that only other versions of numalab have graded, each with the
    last graded attempt of those versions. A target that the requested version has an attempt of, or
    that a job is to grade (`running`), is left out."""
    by_files = {(*each.target.files, each.target.effort): each.target for each in requested}
    last: dict[GradingTarget, Attempt] = {}
    begun = set(running)
    for attempt in attempts:
        item = by_files.get((*attempt.target.files, attempt.target.effort))
        if item is None:
            continue
        if attempt.target == item:
            begun.add(item)
        elif attempt.state == "graded":
            last[item] = max(last.get(item, attempt), attempt, key=lambda a: (a.ended_at, a.number))
    return {item: attempt for item, attempt in last.items() if item not in begun}
