"""Judge a course again from its stored records after rules have changed; nothing is measured.

What was graded stays as it is. For an attempt that is judged again a new attempt is made, with the
same evidence and the new verdict, which names the one that it replaces. It is written next to its
place and renamed into it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from numalab.course import attempts
from numalab.course.course_folder import CourseFolder
from numalab.course.gradebook.counting import replaced_attempts
from numalab.course.jobs import runs
from numalab.course.records import Attempt, GradingTarget, Json
from numalab.errors import UserError
from numalab.files import link_or_copy, read_json, write_json
from numalab.grading.graded import GradedKernel
from numalab.grading.numalab_digests import judged_by, known_as
from numalab.grading.stored_gradings import VM_FOLDER_PREFIX, judge_again, read_grading
from numalab.installation import Installation
from numalab.judging.judge import judge
from numalab.judging.verdict import Status, read_verdict, tag_machine
from numalab.labs.declaration import Lab
from numalab.words import CountedStep

_RUN = "rejudged"  # stands for a run's id in the names of partial folders
# Keys of a result that follow from files that were handed in, and are judged by no rule.
_SCORED = ("diagnosis", "prediction")
_RECORD, _VERDICT, _PAGE = "evidence.json", "verdict.json", "report.html"


@dataclass(frozen=True)
class Digests:
    """The present version of numalab, by lab.

    Attributes:
        measured: the present digest of what measures the lab, and digests proved equal to it.
        judged: digest of the rules that judge the lab.
    """

    measured: Mapping[str, Collection[str]]
    judged: Mapping[str, str]


def current_digests(installation: Installation, labs: Iterable[str]) -> Digests:
    """Return the present digests of some labs."""
    names = list(labs)
    return Digests(
        {name: known_as(installation, name) for name in names},
        {name: judged_by(installation, name) for name in names},
    )


@dataclass(frozen=True)
class Pending:
    """What may be judged again.

    Attributes:
        attempts: graded attempts with evidence as the present version measures it, judged by other
            than the present rules; without replaced ones.
        measured_otherwise: number of hand-ins that only other versions have measured.
    """

    attempts: tuple[Attempt, ...]
    measured_otherwise: int


def find_pending(all_attempts: Iterable[Attempt], digests: Digests) -> Pending:
    """Find what is to be judged again among all attempts of a course. digests: of their labs that
    numalab has."""
    graded = [attempt for attempt in all_attempts if attempt.state == "graded"]
    gone = replaced_attempts(graded)
    as_now, otherwise = set(), set()
    found = []
    for attempt in graded:
        item = attempt.target
        if item.numalab_digest not in digests.measured.get(item.lab, ()):
            otherwise.add(item.files)
            continue
        as_now.add(item.files)
        is_judged = attempt.judged_by == digests.judged[item.lab]
        if not is_judged and (item, attempt.number) not in gone:
            found.append(attempt)
    return Pending(tuple(found), len(otherwise - as_now))


def running_targets(course: CourseFolder) -> set[GradingTarget]:
    """Return the targets that a job of a run is still to grade. Raises NumalabError if a run.json
    can't be read."""
    return {
        task.target
        for run in runs.active_runs(course)
        for task in run.tasks
        if not attempts.is_over(course, task.target, task.number)
    }


# ---- judging -------------------------------------------------------------------------


@dataclass(frozen=True)
class CriterionChange:
    """How a criterion's verdict changes.

    Attributes:
        old, new: status over all machines; None if there was, or is, no such criterion.
        old_points, new_points: points that it earned and earns.
    """

    language: str
    criterion: str
    old: Status | None
    new: Status | None
    old_points: float
    new_points: float


@dataclass(frozen=True)
class Rejudged:
    """An attempt, and the new attempt that replaces it.

    Attributes:
        kernels: what it was judged again as, in the order of its results.
        is_same: status, points and criteria of its results, which pages show, are as before.
    """

    old: Attempt
    new: Attempt
    kernels: tuple[GradedKernel, ...]
    changes: tuple[CriterionChange, ...]
    is_same: bool


def _shown(result: Json) -> Mapping[str, tuple[Status, float]]:
    """Return by name each criterion's status over all machines, and the points that it earns."""
    verdict = read_verdict(result)
    earned = verdict.earned
    return {name: (status, earned.get(name, 0)) for name, status in verdict.statuses.items()}


def compare_results(old: Json, new: Json) -> Iterator[CriterionChange]:
    """Yield the criteria whose status or points differ between two results of one language."""
    before, after = _shown(old), _shown(new)
    for name in dict.fromkeys((*after, *before)):
        old_status, old_points = before.get(name, (None, 0))
        new_status, new_points = after.get(name, (None, 0))
        if (old_status, old_points) != (new_status, new_points):
            yield CriterionChange(
                new["language"], name, old_status, new_status, old_points, new_points
            )


def _reopened(
    old: Attempt, results: Iterable[Json], changed: Collection[CriterionChange]
) -> Iterator[str]:
    """Yield, as "LANGUAGE CRITERION", what is undecided and was not before, or was made so by an
    earlier change of rules."""
    newly = {f"{c.language} {c.criterion}" for c in changed if c.old != c.new}
    for result in results:
        for name, (status, _) in _shown(result).items():
            label = f"{result['language']} {name}"
            if status == "inconclusive" and (label in newly or label in old.reopened):
                yield label


def _facts_on_pages(results: Iterable[Json]) -> list[Json]:
    """Return the verdicts of results, which pages show."""
    return [
        {key: result[key] for key in ("status", "points", "max_points", "criteria")}
        for result in results
    ]


def judge_attempt(
    course: CourseFolder,
    installation: Installation,
    labs: Mapping[str, Lab],
    attempt: Attempt,
    rules: str,
    judged_at: str,
) -> Rejudged:
    """Judge an attempt again from its records; nothing is written.

    Args:
        rules: digest of the present rules.
        judged_at: the present time, in ISO 8601.

    Raises:
        UserError: the records are missing, damaged or of another grading.
        NumalabError: its attempt.json is damaged.
    """
    folder = course.attempt(attempt.target, attempt.number)
    whole = attempts.read_attempt(folder)
    if whole is None:
        raise UserError(f"{folder} has no attempt.json")
    results: list[Json] = []
    kernels: list[GradedKernel] = []
    changed: list[CriterionChange] = []
    for old in whole.results:
        grading = read_grading(folder / "evidence" / old["language"], labs)
        if (grading.lab.name, grading.local.language) != (attempt.target.lab, old["language"]):
            raise UserError(f"{grading.path / _RECORD} is of another submission")
        kept = {key: old[key] for key in _SCORED if key in old}
        graded = judge_again(installation, grading)
        new = kept | graded.json_data()
        new["spent_s"] = old.get("spent_s", {})
        results.append(new)
        kernels.append(graded)
        changed += compare_results(old, new)
    made = replace(
        whole,
        number=max(attempts.attempt_numbers(course, attempt.target)) + 1,
        results=tuple(results),
        judged_by=rules,
        replaces=attempt.number,
        rejudged_at=judged_at,
        reopened=tuple(_reopened(whole, results, changed)),
    )
    is_same = _facts_on_pages(whole.results) == _facts_on_pages(results)
    return Rejudged(whole, made, tuple(kernels), tuple(changed), is_same)


@dataclass(frozen=True)
class RejudgedCourse:
    """A course that was judged again. failed: attempts whose records can't be judged, and why."""

    rejudged: tuple[Rejudged, ...]
    failed: tuple[tuple[Attempt, str], ...]


def judge_all(
    course: CourseFolder,
    installation: Installation,
    labs: Mapping[str, Lab],
    pending_attempts: Sequence[Attempt],
    digests: Digests,
    progress: Callable[[str], None],
) -> RejudgedCourse:
    """Judge attempts again from their records; nothing is written. Two of one target get different
    new numbers. Raises NumalabError if an attempt.json is damaged."""
    at = runs.now()
    rejudged: list[Rejudged] = []
    failed: list[tuple[Attempt, str]] = []
    next_number: dict[GradingTarget, int] = {}
    for number, attempt in enumerate(pending_attempts):
        if number % 25 == 0:
            progress(CountedStep("judging", f"{number} of {len(pending_attempts)}"))
        rules = digests.judged[attempt.target.lab]
        try:
            one = judge_attempt(course, installation, labs, attempt, rules, at)
        except UserError as error:
            failed.append((attempt, str(error)))
            continue
        free = max(one.new.number, next_number.get(attempt.target, 0))
        next_number[attempt.target] = free + 1
        rejudged.append(replace(one, new=replace(one.new, number=free)))
    return RejudgedCourse(tuple(rejudged), tuple(failed))


# ---- writing -------------------------------------------------------------------------


def publish(course: CourseFolder, rejudged: Rejudged) -> bool:
    """Write the new attempt next to the one that it replaces. Return False as attempts.publish
    does."""
    old, new = rejudged.old, rejudged.new
    source = course.attempt(old.target, old.number)
    attempts.remove_partials(course, new.target, new.number, _RUN)
    partial = attempts.partial_folder(course, new.target, new.number, _RUN, "head")
    for path in sorted(source.rglob("*")):
        name = path.relative_to(source)
        is_made = name.name in (_VERDICT, attempts.FILE, "result.json")
        if path.is_dir() or is_made or (name.name == _PAGE and not rejudged.is_same):
            continue
        (partial / name).parent.mkdir(parents=True, exist_ok=True)
        link_or_copy(path, partial / name)
    for graded in rejudged.kernels:
        _write_verdicts(partial / "evidence" / graded.verdict.language, graded)
    told = read_json(source / "result.json")
    kept = told if isinstance(told, dict) else {}
    write_json(partial / "result.json", kept | {"results": list(new.results)})
    return attempts.publish(course, partial, new)


def _write_verdicts(folder: Path, graded: GradedKernel) -> None:
    """Write the verdicts next to the records: that over all machines, and that of each VM."""
    write_json(folder / _VERDICT, graded.verdict.json_data())
    for name, evidence in graded.evidence_by_place[1:]:
        shown = tag_machine(judge(graded.lab, evidence), name)
        write_json(folder / f"{VM_FOLDER_PREFIX}{name}" / _VERDICT, shown.json_data())
