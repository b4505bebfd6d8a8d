"""Find rules in course.toml that have no effect, or one that can't be meant. Pure functions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain

from numalab import words
from numalab.course.gradebook.counting import is_refused
from numalab.course.gradebook.rules import Rules
from numalab.course.gradebook.standing import StandingRow
from numalab.course.records import Problem


def check_rules(
    rules: Rules, student_ids: Collection[str], rows: Sequence[StandingRow]
) -> Iterator[Problem]:
    """Return problems about rules that have no effect, or one that can't be meant, by the class's
    students and grades."""
    told = chain(_unknown(rules, student_ids), _ineffective(rules, rows), _refused(rules, rows))
    return (Problem("course.toml", why) for why in told)


def _unknown(rules: Rules, students: Collection[str]) -> Iterator[str]:
    """Yield a sentence for each student that a table of course.toml names and that is not among the
    students."""
    named = [("[[override]]", override.student_id) for override in rules.overrides]
    named += [("[[extension]]", extension.student_id) for extension in rules.extensions]
    named += [("[[viva]]", mark.student_id) for mark in rules.vivas]
    for where, student_id in dict.fromkeys(named):
        if student_id not in students:
            yield (
                f"{where} names the student '{student_id}', who is not in the gradebook; it has "
                "no effect. ./numalab gradebook show lists the ids."
            )


def _ineffective(rules: Rules, rows: Iterable[StandingRow]) -> Iterator[str]:
    """Yield a sentence on marks of a viva that weighs nothing, and one for each lab with parts that
    no student with points has handed in."""
    if rules.vivas and not rules.parts.get("viva"):
        yield (
            f"{words.count(len(rules.vivas), 'mark')} of [[viva]], and no [parts] in which viva "
            "weighs anything: they have no effect."
        )
    graded: dict[str, set[str]] = defaultdict(set)
    asked: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        if row.points is not None:
            asked[row.lab].update(part.name for part in row.parts)
            graded[row.lab].update(
                p.name for p in row.parts if p.state not in ("missing", "not taken", "open")
            )
    for lab, names in asked.items():
        left = [part for part in rules.parts if part in names - graded[lab] and part != "viva"]
        if left:
            has = ", ".join(f'"{part}"' for part in rules.weights(lab) if part not in left)
            yield (
                f"{lab}: nobody has handed in {words.listed(left)}, which earns 0. If the lab has "
                f"none in your course, write [labs.{lab}] parts = [{has}]."
            )


def _refused(rules: Rules, rows: Iterable[StandingRow]) -> Iterator[str]:
    """Yield a sentence if there are hand-ins without a grade because --quick does not count."""
    left = [
        row
        for row in rows
        if row.points is None
        and any(is_refused(attempt, rules) for one in row.row_and_variant for attempt in one.others)
    ]
    if left:
        yield (
            f"{words.count(len(left), 'hand-in')} graded with --quick only, which does not count "
            "in this course. batch grade without --quick grades them with care; allow_quick = true "
            "lets them count as they are."
        )
