"""A course of made-up students to look at: deliveries and attempts as they are kept, of all that a
class has, and nothing graded. `python -m support.demo_course FOLDER` in grader/tests writes one;
then `./numalab report FOLDER`."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from numalab.course import attempts
from numalab.course.course_folder import CourseFolder
from numalab.course.gradebook.gradebook import open_gradebook
from numalab.course.pages.beside import Alike, Beside, PartShare, PartShares
from numalab.course.records import Attempt, Intake, Item, Problem, Student, Submission
from numalab.judging.verdict import Cause, Status, Verdict, verdict_on
from numalab.kit import find_kit
from numalab.labs.declaration import Criterion, Lab, load_labs
from support.courses import ONE_NUMA_NODE, TWO_NUMA_NODES

Json = dict[str, Any]
BEGIN = datetime(2027, 4, 19, 8, tzinfo=UTC)
GIVEN = (
    "Ada", "Bilal", "Chiara", "Dmitri", "Esra", "Finn", "Grace", "Hiroshi", "Ines", "Jun", "Kofi",
    "Lena", "Mateo", "Nadia", "Olu", "Priya", "Quentin", "Rosa", "Søren", "Tereza", "Uma",
    "Viktor", "Wen", "Ximena", "Yusuf", "Zoë", "Ana-Sophie", "Bruno", "Carmen", "Đorđe",
)  # fmt: skip
FAMILY = (
    "Lovelace", "Okafor", "Rossi", "Ivanov", "Yilmaz", "Müller", "Hopper", "Tanaka", "Silva",
    "Park", "Mensah", "Vogt", "García", "Haddad", "Adeyemi", "Raman", "Dubois", "<b>Bold</b>",
)  # fmt: skip
# What is typically said where a criterion fails, by what it measures.
CAUSES: Mapping[str, Sequence[tuple[Cause, str]]] = {
    "correctness": (
        ("wrong_result", "Element {n} of a is 0, and 1.5 is right."),
        ("crashed", "Signal 11 (SIGSEGV) ended it after {n} ms."),
    ),
    "evidence": (
        ("missed", "{n} % of the pages live on a NUMA node that does not use them: thread 0 has "
                   "touched them first."),
        ("missed", "Thread {n} waits for the others."),
    ),
    "timing": (
        ("too_slow", "It takes 1.{n} times as long as the solution, and 1.10 is asked for."),
        ("unstable", "Repetitions differ by {n} %."),
    ),
}  # fmt: skip
UNDECIDED: Mapping[Status, tuple[Cause, str]] = {
    "not_gradable": ("too_few_numa_nodes", "This machine has 1 NUMA node."),
    "inconclusive": ("too_noisy", "Other load hides it just now."),
    "error": ("kit", "The monitor ended early."),
}


def students(many: int = 30) -> list[Student]:
    return [
        Student(
            f"s{number:03}",
            f"{GIVEN[number % len(GIVEN)]} {FAMILY[7 * number % len(FAMILY)]}",
            {"id": str(number)},
        )
        for number in range(many)
    ]


@dataclass(frozen=True)
class _HandIn:
    submission: Submission
    attempts: Sequence[Attempt]


class _Dice:
    """What a student gets right, more of it with each try."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def chance(self, share: float) -> bool:
        return self._random.random() < share

    def number(self, low: int, high: int) -> int:
        return self._random.randint(low, high)

    def skill(self) -> float:
        return self._random.betavariate(3, 2)

    def _failed(self, one: Criterion) -> tuple[Cause, str]:
        known = CAUSES[one.kind]
        cause, why = known[0] if self.chance(0.75) else known[1]
        return cause, why.format(n=self.number(12, 88))

    def result(self, lab: Lab, language: str, skill: float, node: Json) -> Json:
        is_right = self.chance(0.75 + 0.25 * skill)
        criteria = []
        for number, one in enumerate(lab.criteria):
            status, cause, why = "pass", "reached", f"All of {one.name} is there."
            hard = 0.12 * number
            if node["numa_nodes"] < one.needs_numa_nodes:
                status = "not_gradable"
            elif one.kind == "correctness" or is_right:
                if one.kind == "timing" and self.chance(0.3 if node["name"] == "n4" else 0.03):
                    status = "inconclusive"
                elif self.chance(0.01):
                    status = "error"
                elif not is_right or self.chance(hard * (1 - skill)):
                    status = "fail"
                    cause, why = self._failed(one)
            else:
                status, cause, why = "fail", "not_right_yet", "Not judged: it is not right yet."
            if status in UNDECIDED:
                cause, why = UNDECIDED[status]  # type: ignore[index]
            value = None
            if one.kind != "correctness" and status in ("pass", "fail"):
                value = (1.0 if status == "pass" else 0.6) - 0.001 * self.number(0, 99)
            criteria.append(
                verdict_on(one, status, cause, why, value=value, unit="share")  # type: ignore[arg-type]
            )
        return Verdict(lab.name, language, "submission", tuple(criteria)).to_json()


def _hand_ins(dice: _Dice, labs: Sequence[Lab], people: Sequence[Student]) -> Iterator[_HandIn]:
    nodes = [TWO_NUMA_NODES | {"name": f"n{k}"} for k in range(2, 6)] + [ONE_NUMA_NODE]
    for person in people:
        skill = dice.skill()
        for week, lab in enumerate(labs):
            if dice.chance(0.05 + 0.02 * week):
                continue
            languages = ("c", "fortran") if dice.chance(0.15) else ("fortran",)
            languages = ("c",) if dice.chance(0.7) else languages
            for again in range(dice.number(1, 3)):
                at = BEGIN + timedelta(
                    days=5 * week + dice.number(0, 3) + 2 * again, minutes=dice.number(0, 600)
                )
                text, node = at.isoformat(), nodes[dice.number(0, len(nodes) - 1)]
                digest = f"{person.id}{week}{again}".encode().hex().ljust(64, "0")
                submission = Submission(
                    person, lab.name, languages, digest, ("kernel.c",), text, f"{person.id}.zip"
                )
                item = Item(person.id, lab.name, digest, "k1".ljust(64, "0"), "default")
                late = (at + timedelta(minutes=20)).isoformat()
                graded = Attempt(
                    item, 1, "graded", text, late,
                    tuple(
                        dice.result(lab, language, min(1.0, skill + 0.2 * again), node)
                        for language in languages
                    ),
                    node, "bubblewrap", job="7_1",
                )  # fmt: skip
                if dice.chance(0.02):
                    failed = replace(
                        graded, state="node_failed", results=(), node={}, why="n3 went down"
                    )
                    yield _HandIn(submission, (failed,))
                elif dice.chance(0.05):
                    better = replace(
                        graded, number=2, replaces=1,
                        results=tuple(dice.result(lab, one, 1.0, node) for one in languages),
                    )  # fmt: skip
                    yield _HandIn(submission, (graded, better))
                else:
                    yield _HandIn(submission, (graded,))


RULES = """title = "Parallel programming 2027"

[late]
per_day = 0.1

[labs.{first}]
deadline = {deadline}
"""


def demo_course(root: Path, labs: Sequence[Lab], many: int = 30, seed: int = 4) -> CourseFolder:
    """Each hand-in has an attempt, and that a page, which says that there is nothing to see."""
    course = CourseFolder(root)
    root.mkdir(parents=True)
    people = students(many)
    hand_ins = list(_hand_ins(_Dice(seed), labs, people))
    late = (BEGIN + timedelta(days=4)).isoformat()
    course.rules.write_text(RULES.format(first=labs[0].name, deadline=late))
    problems = (Problem("s007/lab.rar", "no archive that can be read", people[7 % many]),)
    with open_gradebook(course) as book:
        book.add_submissions(Intake("folders", tuple(h.submission for h in hand_ins), problems))
        book.add_attempts(attempt for hand_in in hand_ins for attempt in hand_in.attempts)
    for attempt in (attempt for hand_in in hand_ins for attempt in hand_in.attempts):
        folder = attempts.partial_folder(course, attempt.item, attempt.number, "demo", "n1")
        folder.mkdir(parents=True)
        if attempt.state == "graded":
            (folder / "report.html").write_text(
                "<!DOCTYPE html><html lang=en><title>Made up</title><p>Nothing was graded.</p>"
            )
        assert attempts.publish(course, folder, attempt)
    return course


def demo_beside(labs: Sequence[Lab], many: int = 30) -> Beside:
    """Parts of some grades, and two hand-ins that are alike."""
    dice = _Dice(5)
    shares = {
        (person.id, lab.name): PartShares(
            tuple(
                PartShare(name, None if dice.chance(0.2) else dice.number(0, 20) / 20, weight)
                for name, weight in (("kernel", 0.4), ("variant", 0.3), ("prediction", 0.3))
            )
        )
        for person in students(many)
        for lab in labs[1:2]
    }
    what = "All statements of the loop are the same, in the same order, under other names."
    return Beside(shares, (Alike(("s001", "s004"), labs[1].name, "c", what),))


if __name__ == "__main__":
    every = list(load_labs(find_kit("gnu").root).values())
    variant = replace(every[1], name=f"{every[1].name}_variant", title=f"{every[1].title}, variant")
    demo_course(Path(sys.argv[1]), [*every, variant])
