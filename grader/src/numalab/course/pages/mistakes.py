"""What most students of a class got wrong, and what the kit says of it. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from numalab.course.pages.class_facts import CriterionFacts
from numalab.judging.verdict import CAUSES, Cause, CriterionVerdict
from numalab.words import first_upper

MOST = 10  # criteria that are listed
# Of a kernel that is not right yet every other criterion fails, too: that is no mistake of its own.
_FOLLOWS: Cause = "not_right_yet"
_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")


@dataclass(frozen=True)
class Mistake:
    """failed: how many fail it by what they did there; following: how many more do since another
    criterion fails; cause: the most frequent one, in words, of so many as with_cause; typical: what
    the kit has said to one of them, in the way in which it has said it to most."""

    criterion: CriterionFacts
    failed: int
    following: int
    cause: str
    cause_count: int
    typical: str


def _follows(verdict: CriterionVerdict) -> bool:
    return verdict.cause == _FOLLOWS or bool(verdict.explained_by)


def typical(sentences: Sequence[str]) -> str:
    """Of sentences that differ in figures alone, those that are most: the first one. sentences:
    one or more."""
    alike = [_FIGURE.sub("0", sentence) for sentence in sentences]
    ((most, _),) = Counter(alike).most_common(1)
    return sentences[alike.index(most)]


def mistakes(criteria: Iterable[CriterionFacts]) -> list[Mistake]:
    """The most frequent first."""
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
