"""Courses as `batch grade --local` leaves them, of invented records: nothing is graded."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from numalab.course import attempts
from numalab.course.course_folder import CourseFolder
from numalab.course.gradebook.gradebook import use_gradebook
from numalab.course.records import Attempt, GradingTarget, Intake, Student, Submission
from numalab.files import write_json
from numalab.grading.numalab_digests import judged_by, measured_by
from numalab.grading.stored_gradings import judge_again, read_grading
from numalab.installation import Installation
from numalab.judging.judge import judge
from numalab.judging.verdict import tag_machine
from numalab.labs.declaration import load_labs

Json = dict[str, Any]
AT = "2027-05-04T10:00:00+00:00"


def kit_without_build(installation: Installation, root: Path) -> Installation:
    """A checkout of its own, to change things in; there is no program in it to measure with."""
    for name in ("labs", "solutions", "common", "grader/src"):
        shutil.copytree(
            installation.root / name,
            root / name,
            ignore=shutil.ignore_patterns("__pycache__", "wrong"),
        )
    for name in ("CMakeLists.txt", "CMakePresets.json", "numalab"):
        shutil.copy(installation.root / name, root / name)
    return Installation(root)


@dataclass(frozen=True)
class Graded:
    """A student's kernel in C: this node's record, and those of virtual nodes by machine."""

    student: str
    here: Json
    there: Mapping[str, Json] = field(default_factory=dict)
    effort: str = "default"

    @property
    def digest(self) -> str:
        return self.student.encode().hex().ljust(64, "0")[:64]


def stored_course(installation: Installation, root: Path, graded: Iterable[Graded]) -> CourseFolder:
    """Each graded once under the kit's present rules, and in the gradebook."""
    course = CourseFolder(root)
    (root / "runs").mkdir(parents=True)
    kernels = list(graded)
    with use_gradebook(course) as book:
        book.add_submissions(Intake("folders", tuple(map(_submission, kernels)), ()))
        book.add_attempts([_attempt(installation, course, kernel) for kernel in kernels])
    return course


def _submission(kernel: Graded) -> Submission:
    return Submission(
        Student(kernel.student, kernel.student.title(), {}), kernel.here["lab"], ("c",),
        kernel.digest, ("kernel.c",), AT, f"{kernel.student}.zip",
    )  # fmt: skip


def _attempt(installation: Installation, course: CourseFolder, kernel: Graded) -> Attempt:
    """With the files that a grading of a batch leaves."""
    labs, lab = load_labs(installation.root), kernel.here["lab"]
    item = GradingTarget(
        kernel.student, lab, kernel.digest, measured_by(installation, lab), kernel.effort
    )
    partial = attempts.partial_folder(course, item, 1, "20270504T100000000000-abcd", "n1")
    evidence = partial / "evidence" / "c"
    records = {"": kernel.here} | {f"on_{name}": record for name, record in kernel.there.items()}
    for name, record in records.items():
        (evidence / name).mkdir(parents=True)
        write_json(evidence / name / "evidence.json", record, indent=None)
    grading = read_grading(evidence, labs)
    shown = judge_again(installation, grading)
    write_json(evidence / "verdict.json", shown.verdict.json_data())
    for name, seen in grading.vms.items():
        verdict = tag_machine(judge(labs[lab], seen), name)
        write_json(evidence / f"on_{name}" / "verdict.json", verdict.json_data())
    result = shown.json_data() | {"spent_s": {"timing": 1.5}}
    node = {key: value for key, value in kernel.here["node"].items() if key != "pu_list"}
    write_json(
        partial / "result.json",
        {"schema": 1, "kit_version": "0.1.0", "interrupted": False, "sandbox": "bubblewrap",
         "node": node, "machines": [], "results": [result]},
    )  # fmt: skip
    (partial / "output.txt").write_text("graded\n")
    (partial / "report.html").write_text("<html>as it was graded</html>\n")
    attempt = Attempt(
        item, 1, "graded", AT, AT, (result,), node, "bubblewrap",
        judged_by=judged_by(installation, lab),
    )  # fmt: skip
    assert attempts.publish(course, partial, attempt)
    return attempt
