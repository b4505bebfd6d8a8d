"""A course of made-up students to look at: deliveries and attempts as they are kept, of all that a
class has, and nothing graded. Most have worked by themselves; some have handed in the public
solution, or what another did, or kernels that are right and that they can't explain.
`python -m support.demo_course FOLDER`, in grader/tests, writes one; see `./numalab report`."""

from __future__ import annotations

import hashlib
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from numalab.course import attempts
from numalab.course.course_folder import CourseFolder
from numalab.course.gradebook.gradebook import use_gradebook
from numalab.course.intake.taking import kernels_of
from numalab.course.records import Attempt, GradingTarget, Intake, Problem, Student, Submission
from numalab.course.secret import seed_of
from numalab.installation import Installation, find_installation
from numalab.judging.verdict import Cause, Status, Verdict, verdict_on
from numalab.labs.declaration import LANGUAGE_NAMES, Criterion, Lab
from numalab.labs.variants import (
    draw_variant,
    lab_files,
    lab_of_variant,
    labs_and_variants,
    read_draws,
)
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


Range = tuple[float, float]


@dataclass(frozen=True)
class Kind:
    """How somebody works. skill: in the kernel, at least; copied: share of what a variant asks for
    that fails, since it was made for another; prediction, diagnosis: scores, None: hands in none;
    viva: points, None: has no mark yet."""

    name: str
    skill: Range
    copied: float
    prediction: Range | None
    diagnosis: Range | None
    viva: Range | None


OWN = Kind("own work", (0.2, 1.0), 0.0, (0.4, 1.0), (0.5, 1.0), (6, 10))
WAITS = replace(OWN, viva=None)
PUBLIC = Kind("the public solution", (1.0, 1.0), 0.9, None, None, (0, 2))
ANOTHERS = Kind("another's work", (0.8, 1.0), 0.8, (0.0, 0.3), None, (0, 3))
NOT_UNDERSTOOD = Kind("right and not understood", (1.0, 1.0), 0.0, (0.0, 0.2), (0.0, 0.3), (0, 2))
# Of students in order, again and again; of who copies another, who is two before.
KINDS = (OWN, OWN, PUBLIC, OWN, OWN, ANOTHERS, OWN, NOT_UNDERSTOOD, OWN, WAITS)


def kind_of(number: int) -> Kind:
    return KINDS[number % len(KINDS)]


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

    def within(self, low: float, high: float) -> float:
        """More often above the middle."""
        return low + (high - low) * self._random.betavariate(3, 2)

    def _failed(self, one: Criterion) -> tuple[Cause, str]:
        known = CAUSES[one.kind]
        cause, why = known[0] if self.chance(0.75) else known[1]
        return cause, why.format(n=self.number(12, 88))

    def result(
        self, lab: Lab, language: str, skill: float, node: Json, copied: float = 0.0
    ) -> Json:
        """copied: as a kind has it."""
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
                elif (
                    not is_right
                    or self.chance(hard * (1 - skill))
                    or (one.kind == "evidence" and self.chance(copied))
                ):
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
        return Verdict(lab.name, language, "submission", tuple(criteria)).json_data()


def _score(dice: _Dice, key: str, scores: Range | None) -> Json:
    """As in a result."""
    return {} if scores is None else {key: {"score": round(dice.within(*scores), 2)}}


def _results(
    dice: _Dice, lab: Lab, languages: Sequence[str], skill: float, node: Json, kind: Kind
) -> tuple[Json, ...]:
    copied = kind.copied if lab.is_variant else 0.0
    if lab.is_variant:
        more = _score(dice, "prediction", kind.prediction)
    else:
        more = _score(dice, "diagnosis", kind.diagnosis)
    return tuple(dice.result(lab, one, skill, node, copied) | more for one in languages)


def _hand_ins(dice: _Dice, labs: Sequence[Lab], people: Sequence[Student]) -> Iterator[_HandIn]:
    nodes = [TWO_NUMA_NODES | {"name": f"n{k}"} for k in range(2, 6)] + [ONE_NUMA_NODE]
    for number, person in enumerate(people):
        kind = kind_of(number)
        skill = dice.within(*kind.skill)
        for week, lab in enumerate(labs):
            if dice.chance(0.05 + 0.01 * week):
                continue
            languages = ("c", "fortran") if dice.chance(0.15) else ("fortran",)
            languages = ("c",) if dice.chance(0.7) else languages
            languages = tuple(one for one in languages if one in lab.languages) or lab.languages[:1]
            for again in range(dice.number(1, 3)):
                at = BEGIN + timedelta(
                    days=3 * week + dice.number(0, 3) + 2 * again, minutes=dice.number(0, 600)
                )
                text, node = at.isoformat(), nodes[dice.number(0, len(nodes) - 1)]
                digest = hashlib.sha256(f"{person.id} {lab.name} {again}".encode()).hexdigest()
                submission = Submission(
                    person, lab.name, languages, digest, ("kernel.c",), text, f"{person.id}.zip"
                )
                item = GradingTarget(person.id, lab.name, digest, "k1".ljust(64, "0"), "default")
                late = (at + timedelta(minutes=20)).isoformat()
                more = min(1.0, skill + 0.2 * again)
                graded = Attempt(
                    item, 1, "graded", text, late,
                    _results(dice, lab, languages, more, node, kind), node, "bubblewrap", job="7_1",
                )  # fmt: skip
                if dice.chance(0.02):
                    failed = replace(
                        graded, state="node_failed", results=(), node={}, why="n3 went down"
                    )
                    yield _HandIn(submission, (failed,))
                elif dice.chance(0.05):
                    better = replace(
                        graded, number=2, replaces=1,
                        results=_results(dice, lab, languages, 1.0, node, kind),
                    )  # fmt: skip
                    yield _HandIn(submission, (graded, better))
                else:
                    yield _HandIn(submission, (graded,))


# By weight, of every lab that has them.
PARTS = {"kernel": 40, "variant": 30, "prediction": 10, "diagnose": 10, "viva": 10}
RULES = """title = "Parallel programming 2027"

[late]
per_day = 0.1

[parts]
{parts}

[labs.{first}]
deadline = {deadline}
"""


def rules_text(labs: Sequence[Lab], people: Sequence[Student], dice: _Dice) -> str:
    """With a mark of each viva that was held."""
    parts = "\n".join(f"{name} = {weight}" for name, weight in PARTS.items())
    late = (BEGIN + timedelta(days=4)).isoformat()
    text = RULES.format(parts=parts, first=labs[0].name, deadline=late)
    for number, person in enumerate(people):
        held = kind_of(number).viva
        if held is not None:
            points = round(dice.within(*held))
            text += f'\n[[viva]]\nstudent = "{person.id}"\npoints = {points}\nby = "J"\n'
    return text


# As a page of a grading has it, and as small.
SECTION = """<section class="kernel" aria-labelledby="k">
<h2 id="k">{lab}, {language}: your kernel</h2>
<figure>
  <figcaption>Touch map</figcaption>
  <div class="wide paper" tabindex="0" role="group" aria-label="Touch map, picture">
    <svg viewBox="0 0 340 60" role="img" class="figure"><rect width="340" height="60" fill="#fff"/>
<rect width="{share}" height="40" y="10" fill="#56b4e9"/>
<rect x="{share}" width="{rest}" height="40" y="10" fill="#e69f00"/></svg>
  </div>
  <p>a: first written by thread 0 ({percent} %) and thread 1. Made up: nothing was graded.</p>
</figure>
</section>
"""


def _page(attempt: Attempt) -> str:
    sections = ""
    for result in attempt.results:
        share = round(340 * result["points"] / (result["max_points"] or 1))
        sections += SECTION.format(
            lab=attempt.target.lab, language=LANGUAGE_NAMES[result["language"]], share=share,
            rest=340 - share, percent=round(share / 3.4),
        )  # fmt: skip
    return f"<!DOCTYPE html><html lang=en><title>Made up</title>{sections}"


def demo_course(root: Path, labs: Sequence[Lab], many: int = 30, seed: int = 4) -> CourseFolder:
    """Each hand-in has an attempt, and that a page with a made-up picture. labs: with variants,
    or without."""
    course = CourseFolder(root)
    root.mkdir(parents=True)
    people = students(many)
    hand_ins = list(_hand_ins(_Dice(seed), labs, people))
    course.rules.write_text(rules_text(labs, people, _Dice(seed)))
    course.secret.write_text(f"{seed:064x}\n")  # the same variants each time
    problems = (Problem("s007/lab.rar", "no archive that can be read", people[7 % many]),)
    with use_gradebook(course) as book:
        book.add_submissions(Intake("folders", tuple(h.submission for h in hand_ins), problems))
        book.add_attempts(attempt for hand_in in hand_ins for attempt in hand_in.attempts)
    for attempt in (attempt for hand_in in hand_ins for attempt in hand_in.attempts):
        folder = attempts.partial_folder(course, attempt.target, attempt.number, "demo", "n1")
        folder.mkdir(parents=True)
        if attempt.state == "graded":
            (folder / "report.html").write_text(_page(attempt))
        assert attempts.publish(course, folder, attempt)
    return course


# ---- what was handed in ------------------------------------------------------------------


def _solved(
    installation: Installation, course: CourseFolder, lab: Lab, student_id: str
) -> Mapping[str, str]:
    """Kernels by file; of a variant the student's own handout."""
    if not lab.is_variant:
        folder = installation.solution_folder(lab.name)
        return {file: (folder / file).read_text() for file in kernels_of(lab)}
    draws = read_draws(installation.root, lab_of_variant(lab.name))
    files = lab_files(installation.root, draws, draw_variant(draws, seed_of(course, student_id)))
    return {file: files[file] for file in kernels_of(lab)}


def _text(number: int, file: str, kernels: Mapping[str, str]) -> str:
    """A student's; whoever works alone has a line that nobody else has."""
    comment, kind = ("!" if file.endswith("f90") else "//"), kind_of(number)
    line = f"{comment} {GIVEN[number % len(GIVEN)]}'s\n"
    if kind is PUBLIC:
        return line + kernels[file]
    own = number - 2 if kind is ANOTHERS else number
    more = (
        f"integer function mine()\n  mine = {own}\nend function\n"
        if file.endswith("f90")
        else f"int mine(void) {{ return {own}; }}\n"
    )
    return f"{line}{kernels[file]}\n{more}"


def write_kernels(
    installation: Installation, course: CourseFolder, labs: Mapping[str, Lab]
) -> None:
    """Of all that was handed in, so that what is alike can be found."""
    with use_gradebook(course, read_only=True) as book:
        found = book.handed_in()
    for (student_id, lab), hand_ins in found.items():
        kernels = _solved(installation, course, labs[lab], student_id)
        for one in hand_ins:
            folder = course.submission(student_id, lab, one.digest) / lab
            folder.mkdir(parents=True)
            for file in kernels:
                (folder / file).write_text(_text(int(student_id[1:]), file, kernels))


if __name__ == "__main__":
    _installation = find_installation("gnu")
    _labs = labs_and_variants(_installation.root)
    write_kernels(_installation, demo_course(Path(sys.argv[1]), list(_labs.values())), _labs)
