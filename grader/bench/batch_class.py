"""A class of forty, right, wrong, missing and broken, graded for real through a Slurm of this
machine's own: is everybody's verdict the one that is deserved? See README.md."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from own_slurm import OwnSlurm, fetched
from support.deliveries import Expected, make_class

from numalab.course.course_folder import CourseFolder
from numalab.course.gradebook.gradebook import use_gradebook
from numalab.course.gradebook.rules import read_rules
from numalab.course.gradebook.standing import Standing
from numalab.installation import find_installation
from numalab.virtual.local_machine import cache_folder


def faults(standing: Standing, expected: tuple[Expected, ...]) -> list[str]:
    """What is not as expected, a sentence each."""
    # By the id of the list: names are shown in one form, however they are written there.
    rows = {row.student.id: row for row in standing.rows}
    known = {f"s{number:02}": one for number, one in enumerate(expected)}
    found = [f"{id_} was not expected" for id_ in rows.keys() - known.keys()]
    for id_, one in known.items():
        row = rows.get(id_)
        if row is None:
            found.append(f"{one.name} has no row")
            continue
        result = row.result
        status = "nothing" if result is None else result["status"]
        wanted = {"right": ("pass", "inconclusive"), "wrong": ("fail",)}.get(one.kind, ("nothing",))
        if status not in wanted:
            found.append(f"{one.name} ({one.kind}) has {status}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--students", type=int, default=40)
    parser.add_argument("--keep", type=Path, help="the course's folder; left out: none is kept")
    given = parser.parse_args()
    installation = find_installation("gnu")
    with (
        tempfile.TemporaryDirectory(prefix="slurm-") as folder,
        tempfile.TemporaryDirectory(prefix="course-") as name,
    ):
        course = CourseFolder(given.keep or Path(name) / "course")
        delivery, students, expected = make_class(
            installation, Path(name) / "in", count=given.students
        )
        course.root.mkdir(parents=True, exist_ok=True)
        course.rules.write_text("allow_quick = true\n", encoding="utf-8")
        slurm = OwnSlurm(Path(folder), fetched(cache_folder()), ("n1", "n2"))
        try:
            slurm.start()
            began_s = time.monotonic()
            done = subprocess.run(
                [str(installation.root / "numalab"), "batch", "grade", str(delivery), "--students",
                 str(students), "--out", str(course.root), "--labs", "01", "--quick",
                 # Both nodes are this machine, and would disturb each other's times.
                 "--jobs", "1"],
                env=slurm.environment, stdin=subprocess.DEVNULL, stdout=sys.stderr, check=False,
            )  # fmt: skip
            elapsed_s = time.monotonic() - began_s
        finally:
            slurm.stop()
        with use_gradebook(course) as book:
            standing = book.standing(read_rules(course.rules))
        wrong = faults(standing, expected)
        print(json.dumps({
            "students": given.students, "rows": len(standing.rows), "faults": wrong,
            "problems": len(standing.problems), "elapsed_s": round(elapsed_s, 1),
            "exit_code": done.returncode,
        }))  # fmt: skip
    return 1 if wrong or done.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
