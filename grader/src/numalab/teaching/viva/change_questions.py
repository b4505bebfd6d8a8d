"""Oral questions on what a student changed between two attempts, and why it mattered. Pure
functions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from numalab.judging.verdict import CriterionVerdict
from numalab.teaching.viva.story import LabStory, Stage, VivaQuestion
from numalab.teaching.viva.wording import (
    change_listing,
    evidence_line,
    result_words,
    same_as_notes,
    used_words,
    written_words,
)
from numalab.words import listed

MOVED = 0.05  # the least difference of two shares; less may be a page at a border, or noise
# Times come last: they show that something changed, and not what.
_KIND_ORDER = {"evidence": 0, "correctness": 1, "timing": 2}
# Causes that say nothing about the criterion itself.
_NOT_ITS_OWN = ("not_right_yet", "not_built", "interrupted", "kit")


@dataclass(frozen=True)
class _Change:
    """The verdicts on one criterion in two attempts."""

    earlier: CriterionVerdict
    later: CriterionVerdict

    @property
    def is_cured(self) -> bool:
        return self.earlier.status == "fail" and self.later.status == "pass"

    @property
    def is_broken(self) -> bool:
        return self.earlier.status == "pass" and self.later.status == "fail"

    @property
    def has_moved(self) -> bool:
        """Whether the value of evidence has changed by MOVED or more on the same machine."""
        both = (self.earlier.value, self.later.value)
        if (
            None in both
            or self.earlier.kind != "evidence"
            or self.earlier.where != self.later.where
        ):
            return False
        first, second = (float(value or 0) for value in both)
        return abs(first - second) >= MOVED


def _changes(earlier: Stage, later: Stage) -> list[_Change]:
    """Return the criteria that were cured, broken or moved between two attempts, the most telling
    first."""
    found = []
    for name in later.verdict.statuses:
        old, new = earlier.shown(name), later.shown(name)
        if old is None or new is None:
            continue
        change = _Change(old, new)
        if change.is_cured or change.is_broken or change.has_moved:
            found.append(change)

    def rank(change: _Change) -> tuple[int, ...]:
        is_own = change.earlier.cause not in _NOT_ITS_OWN and change.later.cause not in _NOT_ITS_OWN
        name = change.later.name
        return (
            not is_own,
            not (change.is_cured or change.is_broken),
            not (name in earlier.touched and name in later.touched),
            _KIND_ORDER[change.later.kind],
            -change.later.max_points,
        )

    return sorted(found, key=rank)


def _touch_words(earlier: Stage, later: Stage, name: str) -> tuple[str, str] | None:
    """Return two clauses on what the touch maps of two attempts show of the array that has changed
    most; None where none has changed by more than MOVED. name: the criterion's."""
    old, new = earlier.touched.get(name, {}), later.touched.get(name, {})
    most, said = MOVED, None
    for array in old:
        if array not in new or old[array].is_by_node != new[array].is_by_node:
            continue
        places = {*old[array].written, *new[array].written}
        moved = max(
            abs(old[array].written.get(place, 0.0) - new[array].written.get(place, 0.0))
            for place in places
        )
        if moved > most:
            most, said = moved, (written_words(array, old[array]), written_words(array, new[array]))
        contested = abs(old[array].contested - new[array].contested)
        if contested > most:
            most, said = contested, (used_words(array, old[array]), used_words(array, new[array]))
    return said


def _step_words(earlier: Stage, later: Stage, change: _Change) -> str:
    touched = _touch_words(earlier, later, change.later.name)
    if touched is not None:
        return f"In {earlier.name} {touched[0]}; in {later.name} {touched[1]}."
    return (
        f"In {earlier.name} {change.earlier.name} {result_words(change.earlier)}; "
        f"in {later.name} it {result_words(change.later)}."
    )


def _others(changes: list[_Change]) -> Iterator[str]:
    """Yield a sentence on the cured criteria after the first change, and one on the broken ones."""
    for told, chosen in (
        ("Passes since then, too", [one for one in changes[1:] if one.is_cured]),
        ("Fails since then", [one for one in changes[1:] if one.is_broken]),
    ):
        if chosen:
            yield f"{told}: {listed([one.later.name for one in chosen])}."


def _question(
    story: LabStory, earlier: Stage, later: Stage, changes: list[_Change]
) -> VivaQuestion:
    change, listing = changes[0], change_listing(earlier, later)
    principle = story.principle(change.later.name, earlier, later)
    answer = ["What: the changed lines below, in the student's own words."]
    if principle is not None:
        answer.append(f"Why: {principle.why}")
    answer += same_as_notes(earlier, later)
    evidence = [evidence_line(earlier, change.earlier), evidence_line(later, change.later)]
    return VivaQuestion(
        subject=change.later.name,
        text=(
            f"{_step_words(earlier, later, change)} What did you change, and why does that matter?"
        ),
        answer=tuple(answer),
        evidence=(*evidence, *_others(changes)),
        follow_up="" if principle is None else principle.follow_up,
        listing=listing,
    )


def change_questions(story: LabStory, draw: str) -> list[VivaQuestion]:
    """Return a question for each two successive attempts between which criteria changed and lines
    other than comments differ. Those whose cured criteria have most points come first, of equal
    ones the later attempts."""
    found = []
    for earlier, later in pairwise(story.stages):
        changes = _changes(earlier, later)
        if not changes or not change_listing(earlier, later).lines:
            continue
        cured = sum(one.later.max_points for one in changes if one.is_cured)
        found.append((-cured, -later.number, _question(story, earlier, later, changes)))
    return [question for _, _, question in sorted(found, key=lambda one: one[:2])]
