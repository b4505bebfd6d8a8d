"""How long a gradebook of 10,000 results takes to be read, shown, exported and made pages of,
and how much memory. Run by hand:

    .venv/bin/python grader/bench/gradebook_speed.py build/bench/course

The class is invented, with gradings as large as real ones. Each command runs as a user's does.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from numalab.course import records
from numalab.course.course_folder import CourseFolder
from numalab.course.csv_files import format_table
from numalab.course.gradebook.gradebook import use_gradebook
from numalab.course.jobs import runs
from numalab.course.records import Attempt, GradingTarget, Intake, Student, Submission
from numalab.files import write_json

ROOT = Path(__file__).resolve().parents[2]
Json = dict[str, Any]
CRITERIA = (
    ("correct", "correctness", 2), ("shared_out", "evidence", 1), ("touched_where_used",
    "evidence", 2), ("local_pages", "evidence", 2), ("speedup", "timing", 2),
    ("efficiency", "timing", 1),
)  # fmt: skip
GENERATIONS = 11  # of each criterion that is timed


def labs(number: int) -> list[str]:
    return [f"{n:02}_lab_number_{n}" for n in range(1, number + 1)]


def student(number: int) -> Student:
    return Student(
        f"student{number}",
        f"Øyvind Nordmann the {number}.",
        {"id": str(10_000 + number), "login": f"on{number}", "email": f"on{number}@example.org"},
    )


def _criterion(name: str, kind: str, points: int, chance: random.Random) -> Json:
    status = chance.choices(("pass", "fail", "not_gradable", "inconclusive"), (6, 3, 1, 1))[0]
    value = round(chance.random(), 4)
    entry: Json = {
        "name": name, "kind": kind, "status": status, "value": value, "unit": "share",
        "points": points if status == "pass" else 0, "max_points": points, "where": "here",
        "why": f"Every page of a was first written by thread {chance.randrange(64)}, and "
        f"{100 * value:.0f} % of them are used by threads on other NUMA nodes; {value} is seen.",
        "at_least": 0.95,
    }  # fmt: skip
    if kind == "timing":
        seen = [chance.random() for _ in range(GENERATIONS)]
        entry["timing"] = {"margins": seen, "signs": [1] * GENERATIONS, "e_for": seen,
                           "e_against": seen, "threshold": 1000}  # fmt: skip
    return entry


def _result(lab: str, language: str, chance: random.Random) -> Json:
    criteria = [_criterion(*one, chance) for one in CRITERIA]
    ungraded = ("not_gradable", "inconclusive")
    return {
        "lab": lab, "language": language, "variant": "submission", "status": "fail",
        "points": sum(one["points"] for one in criteria), "max_points": 10,
        "ungraded_points": sum(c["max_points"] for c in criteria if c["status"] in ungraded),
        "criteria": criteria, "spent_s": {"timing": 10.0},
    }  # fmt: skip


def attempts(students: int, number_of_labs: int) -> Iterator[Attempt]:
    """One of each student and lab, half of them in both languages."""
    chance = random.Random(8)
    for number in range(students):
        for lab in labs(number_of_labs):
            languages = ("c", "fortran") if chance.random() < 0.5 else ("c",)
            yield Attempt(
                target=GradingTarget(f"student{number}", lab, f"{number:064}", "k" * 64, "default"),
                number=1, state="graded",
                started_at="2027-05-04T10:00:00+00:00", ended_at="2027-05-04T10:01:30+00:00",
                results=tuple(_result(lab, language, chance) for language in languages),
                node={"name": f"n{number % 40}", "packages": 2, "numa_nodes": 8, "cores": 64},
                sandbox="bubblewrap",
            )  # fmt: skip


def intake(students: int, number_of_labs: int) -> Intake:
    return Intake(
        "folders",
        tuple(
            Submission(
                student(n), lab, ("c",), f"{n:064}", ("kernel.c",),
                "2027-05-03T20:00:00+02:00", f"student{n}.zip",
            )
            for n in range(students) for lab in labs(number_of_labs)
        ),
        (),
    )  # fmt: skip


def canvas_template(students: int, number_of_labs: int) -> str:
    header = ["Student", "ID", "SIS Login ID", "Section",
              *(f"{lab} ({n})" for n, lab in enumerate(labs(number_of_labs), 1))]  # fmt: skip
    rows = [["    Points Possible", "", "", "", *["10"] * number_of_labs]]
    rows += [[f"Nordmann, {n}", str(10_000 + n), "", "A", *[""] * number_of_labs]
             for n in range(students)]  # fmt: skip
    return format_table(header, rows, has_bom=False)


def make(root: Path, students: int, number_of_labs: int) -> None:
    course = CourseFolder(root)
    start = time.monotonic()
    with use_gradebook(course) as book:
        book.add_submissions(intake(students, number_of_labs))
        some = list(attempts(students, number_of_labs))
        made_s = time.monotonic() - start
        book.add_attempts(some)
    print(f"invented in {made_s:.1f} s, added in {time.monotonic() - start - made_s:.1f} s")
    tasks = [runs.GradingTask(one.target, one.number, ("c",)) for one in some]
    chunks = runs.split_tasks(tasks, 20, 8)
    runs.write_run(course, runs.BatchRun(
        runs.new_id(), "slurm", runs.now(), runs.GradingOptions("default"), runs.SlurmOptions(),
    chunks ))  # fmt: skip
    for one in some:  # for rebuild and status
        folder = course.attempt(one.target, one.number)
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / "attempt.json", records.attempt_json(one), indent=None)
    (root / "canvas.csv").write_text(canvas_template(students, number_of_labs))


def measure(name: str, *arguments: str) -> None:
    """Time and largest memory of a command."""
    start = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "numalab", *arguments],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    took_s = time.monotonic() - start
    note = "" if process.returncode == 0 else f"  exit code {process.returncode}"
    cpu_s = usage.ru_utime + usage.ru_stime
    memory = f"{usage.ru_maxrss / 1024:8.0f} MiB"
    print(f"{name:<26}{took_s:7.2f} s, of a core{cpu_s:6.2f} s{memory}{note}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("course", type=Path, help="made where it is not there")
    parser.add_argument("--students", type=int, default=1000)
    parser.add_argument("--labs", type=int, default=10)
    given = parser.parse_args()
    if not (given.course / "gradebook.sqlite").is_file():
        make(given.course, given.students, given.labs)
    root = str(given.course)
    out = str(given.course / "out")
    export = ("gradebook", "export", root, "--out", out, "--format")
    measure("batch status", "batch", "status", root)
    measure("show", "gradebook", "show", root)
    measure("explain", "gradebook", "explain", root, "student7")
    measure("export csv", *export, "csv")
    measure("export csv, pseudonyms", *export, "csv", "--pseudonyms", f"{out}.whose")
    measure("export moodle", *export, "moodle", "--lab", labs(1)[0])
    measure("export canvas", *export, "canvas", "--template", f"{root}/canvas.csv")
    measure("export gradescope", *export, "gradescope", "--student", "student7")
    measure("rebuild", "gradebook", "rebuild", root)
    measure("report, the class", "report", root, "--class-only")
    measure("report, every student", "report", root)
    measure("report, nobody changed", "report", root)


if __name__ == "__main__":
    main()
