"""Combine a lab's grade from its parts, given what counts of its kernel and of its variant. Pure
functions.

The share of each part is:

- kernel, variant: points over those that are gradable on the machine, less the penalty for being
  late, or what was set by hand for the variant;
- diagnose, prediction: the score of diagnose.toml in the kernel's hand-in that was graded first of
  those that have it, and of predictions.toml in the variant's, less that hand-in's penalty, since a
  grading shows the correct answers;
- viva: the mark.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from numalab import words
from numalab.course.gradebook.counting import GradeTrace
from numalab.course.gradebook.parts import (
    GradePart,
    PartName,
    PartScore,
    PartState,
    round_points,
    score_parts,
    sum_points,
)
from numalab.course.gradebook.rules import Rules, signed
from numalab.course.gradebook.standing import StandingRow
from numalab.course.gradebook.undecided_points import earnable_points
from numalab.course.records import Json
from numalab.labs import declaration

# The keys of a result of `grade --json` that hold the scores of these parts.
_SCORES: dict[PartName, str] = {"diagnose": "diagnosis", "prediction": "prediction"}


def _penalty_text(penalty: float) -> str:
    return f", less {words.percent(penalty)} for being late" if penalty else ""


def _ungraded_state(row: StandingRow) -> PartState:
    if row.is_handed_in:
        return "waiting"
    return "not taken" if row.is_not_taken else "missing"


def _share_of_points(row: StandingRow) -> float:
    """Return points over max_points of a row that has points."""
    assert row.points is not None
    return row.points / row.max_points if row.max_points else 0.0


def _score_code(name: PartName, row: StandingRow) -> PartScore:
    """Score the part `kernel` or `variant` by the row of its code alone."""
    if row.override_reason:
        why = f"set by hand, {row.override_reason.rstrip('.')}"
        return PartScore(name, "graded", _share_of_points(row), why)
    result = row.result
    if result is None:
        return PartScore(name, _ungraded_state(row))
    earnable = earnable_points(result)
    if not earnable:
        return PartScore(name, "left out")
    of = f"{result['points']:g} of {words.count(earnable, 'point')}"
    language = declaration.LANGUAGE_NAMES[result["language"]]
    share = result["points"] / earnable * (1 - row.penalty)
    if result.get("unchanged"):  # which may count in the course
        share = _share_of_points(row)
    return PartScore(name, "graded", share, f"{of} in {language}{_penalty_text(row.penalty)}")


def _first_scored(key: str, trace: GradeTrace) -> tuple[Json, float] | None:
    """Return the score of the answers that were graded first, and their hand-in's penalty; None if
    no grading that may count has any.

    Hand-ins are ordered by when they were first graded: what a grading shows is known from then on,
    whatever the time of a hand-in. Of one hand-in the grading that counts is taken, or the last.
    Answers that could be scored come before those that could not.
    """
    row = trace.row
    number = {hand_in.digest: place for place, hand_in in enumerate(trace.hand_ins)}
    begun: dict[str, str] = {}
    for one in (*trace.replaced, *row.attempts):
        if one.results:
            digest = one.target.digest
            begun[digest] = min(begun.get(digest, one.started_at), one.started_at)
    found = []
    for place, weighed in enumerate(trace.scored):
        digest, results = weighed.attempt.target.digest, weighed.attempt.results
        ordered = sorted(results, key=lambda one: one["language"] != weighed.language)
        score = next((one[key] for one in ordered if one.get(key) is not None), None)
        if score is not None:
            is_other = weighed.attempt is not row.attempt
            order = (
                score.get("score") is None,
                datetime.fromisoformat(begun[digest]).timestamp(),
                number[digest],
                is_other,
                -place,
            )
            found.append((order, score, weighed.penalty))
    if not found:
        return None
    _, first, penalty = min(found, key=lambda one: one[0])
    return first, penalty


def _score_answers(name: PartName, trace: GradeTrace) -> PartScore:
    """Score the answers that were graded first, in whatever language that was."""
    row = trace.row
    if row.result is None:
        return PartScore(name, _ungraded_state(row))
    first = _first_scored(_SCORES[name], trace)
    if first is None:
        return PartScore(name, "missing")
    found, penalty = first
    score = found.get("score")
    if score is None:
        return PartScore(name, "left out")
    share = min(1.0, max(0.0, float(score)))
    why = f"a score of {words.short(share, 2)}{_penalty_text(penalty)}"
    return PartScore(name, "graded", share * (1 - penalty), why)


def _score_viva(student_id: str, lab: str, rules: Rules) -> PartScore:
    mark = rules.viva(student_id, lab)
    if mark is None:
        return PartScore("viva", "open")
    why = f"a mark of {10 * mark.share:g} of 10{signed(mark)}"
    return PartScore("viva", "graded", mark.share, why)


def _gradable_share(row: StandingRow) -> float:
    """Return the share of a row's points that is gradable on the machine; 1 if it is not known or
    the row can give none."""
    if row.gradable_points is None or not row.max_points:
        return 1.0
    return row.gradable_points / row.max_points


def _notes(kernel: StandingRow, variant: StandingRow | None) -> Iterator[str]:
    """Yield the notes of the kernel, and those of the variant that say more. Where one of the two
    is not handed in, its notes are those on why it can't be taken: that it is missing is shown by
    parts."""
    if variant is None:
        yield from kernel.notes
        return
    is_shown = kernel.is_handed_in or not variant.is_handed_in
    yield from kernel.notes if is_shown else _whys_not_taken(kernel)
    if not variant.is_handed_in:
        yield from (note for note in _whys_not_taken(variant) if note not in kernel.notes)
        return
    yield from (f"Variant: {note}" for note in variant.notes if note not in kernel.notes)


def _whys_not_taken(row: StandingRow) -> tuple[str, ...]:
    """Return why what was handed in can't be taken, for a row of which nothing is handed in: its
    notes, without the one that says so; empty if nothing was refused."""
    return row.notes[1:] if row.is_not_taken else ()


def combine_parts(kernel: GradeTrace, variant: GradeTrace | None, rules: Rules) -> GradeTrace:
    """Derive a lab's grade from its parts.

    Args:
        kernel: the kernel's grade by itself, without points set by hand for the lab as a whole.
        variant: the variant's grade by itself; None if it is no part of the lab's grade.
    """
    row, lab, student_id = kernel.row, kernel.row.lab, kernel.row.student.id
    of_variant = variant.row if variant is not None else None
    shown = [
        _score_code("kernel", row),
        _score_answers("diagnose", kernel),
        _score_viva(student_id, lab, rules),
    ]
    if variant is not None:
        shown[1:1] = [_score_code("variant", variant.row), _score_answers("prediction", variant)]
    parts = score_parts(shown, rules.weights(lab), row.max_points)
    mark, override = rules.viva(student_id, lab), rules.override(student_id, lab)
    is_there = (
        row.is_handed_in
        or (mark is not None and mark.lab == lab)  # one for all labs hands in none
        or (of_variant is not None and (of_variant.is_handed_in or of_variant.points is not None))
    )
    points = sum_points(parts) if is_there else None
    codes = {"kernel": row, "variant": of_variant}
    gradable, is_provisional = 0.0, False
    for part in parts:
        code = codes.get(part.name)
        gradable += part.max_points * (_gradable_share(code) if code is not None else 1.0)
        is_provisional |= part.state == "open" or (code is not None and code.is_preliminary)
    of_part = None
    if variant is not None:
        part_of = next((p for p in parts if p.name == "variant"), None)
        own = _variant_part_row(variant.row, part_of)
        of_part = replace(variant, row=own if override is None else replace(own, penalty=0.0))
    made = replace(
        row,
        points=points if override is None else override.points,
        penalty=row.penalty if override is None else 0.0,
        gradable_points=round_points(gradable) if is_there else None,
        is_preliminary=is_provisional and points is not None and override is None,
        override_reason=override.reason if override is not None else "",
        notes=tuple(_notes(row, of_variant)),
        is_handed_in=is_there,
        is_not_taken=row.is_not_taken and not is_there,
        parts=parts,
        variant=of_part.row if of_part is not None else None,
    )
    return replace(kernel, row=made, variant=of_part)


def _variant_part_row(row: StandingRow, part: GradePart | None) -> StandingRow:
    """Return the variant's row with the points of its part, or none if that is not graded. part:
    None if the lab's grade has the prediction and not the variant."""
    most = part.max_points if part is not None else 0.0
    gradable = None if row.attempt is None else round_points(most * _gradable_share(row))
    return replace(
        row,
        points=part.points if part is not None and part.state == "graded" else None,
        max_points=most,
        gradable_points=gradable,
        is_part=True,
    )
