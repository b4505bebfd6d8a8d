"""The most frequent mistakes of a class, and what numalab says of them. Pure functions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from numalab.course.pages.class_facts import CriterionFacts
from numalab.judging.verdict import CAUSES, Cause, CriterionVerdict
from numalab.words import first_upper

MOST = 10  # criteria that are listed
# If a kernel's results are wrong other criteria fail, too, which is no mistake of their own.
_FOLLOWS: Cause = "not_right_yet"
_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")


@dataclass(frozen=True)
class Mistake:
    """A criterion that students fail.

    Attributes:
        failed: number of students who fail it by a mistake of its own.
        following: number of students who fail it because another criterion fails.
        cause: the most frequent cause of the former, in words.
        cause_count: how many of them fail for this cause.
        typical: the most frequent sentence on this cause, as one of them got it.
    """

    criterion: CriterionFacts
    failed: int
    following: int
    cause: str
    cause_count: int
    typical: str


def _follows(verdict: CriterionVerdict) -> bool:
    return verdict.cause == _FOLLOWS or bool(verdict.explained_by)


def typical(sentences: Sequence[str]) -> str:
    """Return the first of the most frequent sentences; those that differ only in figures count as
    the same. sentences: one or more."""
    alike = [_FIGURE.sub("0", sentence) for sentence in sentences]
    ((most, _),) = Counter(alike).most_common(1)
    return sentences[alike.index(most)]


def mistakes(criteria: Iterable[CriterionFacts]) -> list[Mistake]:
    """Return up to MOST mistakes, the most frequent first."""
    found = []
    for criterion in criteria:
        own = [one for one in criterion.failures if not _follows(one)]
        if not own:
            continue
        ((cause, with_cause),) = Counter(one.cause for one in own).most_common(1)
        found.append(
            Mistake(
                criterion=criterion,
                failed=len(own),
                following=len(criterion.failures) - len(own),
                cause=first_upper(CAUSES[cause].means),
                cause_count=with_cause,
                typical=typical([one.why for one in own if one.cause == cause]),
            )
        )
    found.sort(key=lambda one: (-one.failed, -one.criterion.failed_share))
    return found[:MOST]
