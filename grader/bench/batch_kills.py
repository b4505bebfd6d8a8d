"""Kills the command, the controller or a node at random moments of a batch, again and again, and
counts what was lost or graded twice after the command was repeated. See README.md."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from own_slurm import OwnSlurm, fetched

from numalab.course.attempts import all_attempts
from numalab.course.course_folder import CourseFolder
from numalab.course.jobs import runs
from numalab.installation import find_installation
from numalab.virtual.local_machine import cache_folder

Json = dict[str, object]
STAND_IN = Path(__file__).with_name("stand_in_grade.sh")
LAB = "01_first_touch"
VICTIMS = ("head", "slurmctld", "node")
LIMIT_S = 600


def make_class(folder: Path, count: int) -> Path:
    for number in range(count):
        kernel = folder / f"s{number:04}" / LAB / "kernel.c"
        kernel.parent.mkdir(parents=True)
        kernel.write_text(f"/* {number} */\n")
    return folder


def command(kit_root: Path, delivery: Path, course: Path, *more: str) -> list[str]:
    return [
        str(kit_root / "numalab"), "batch", "grade", str(delivery), "--out", str(course), "--slurm",
        "--grading-command", str(STAND_IN), *more,
    ]  # fmt: skip


def faults(course: Path, students: int) -> list[str]:
    """What is wrong of a course that is said to be graded."""
    found = []
    graded = [one.target for one in all_attempts(CourseFolder(course)) if one.state == "graded"]
    files = Counter(item.student_id for item in graded)
    if len({item.numalab_digest for item in graded}) > 1:
        found.append("the kit was changed meanwhile, and so all were to be graded again")
    with contextlib.closing(sqlite3.connect(course / "gradebook.sqlite")) as database:
        rows = "SELECT student FROM attempts WHERE state = 'graded'"
        book = Counter(student for (student,) in database.execute(rows))
    if len(files) != students:
        found.append(f"{students - len(files)} students without a grade")
    if any(count > 1 for count in book.values()):
        found.append("graded twice in the gradebook")
    if book != files:
        found.append("the gradebook differs from the files")
    if runs.active_runs(CourseFolder(course)):
        found.append("a run is still open")
    if list(course.rglob(".partial-*")):
        found.append("something half written is left")
    return found


def _wait(process: subprocess.Popen[bytes], slurm: OwnSlurm) -> int:
    """For its end, as the cluster's administrator: how often nodes were put into service again
    that the controller had drained. Raises TimeoutExpired."""
    deadline_s = time.monotonic() + LIMIT_S
    resumed = 0
    while process.poll() is None:
        if time.monotonic() > deadline_s:
            raise subprocess.TimeoutExpired(process.args, LIMIT_S)
        resumed += slurm.resume_drained()
        time.sleep(1)
    return resumed


def trial(
    slurm: OwnSlurm,
    folder: Path,
    victim: str,
    students: int,
    latest_s: float,
    chance: random.Random,
) -> Json:
    """One batch with one kill."""
    installation = find_installation("gnu")
    delivery, course = make_class(folder / "in", students), folder / "course"
    env = slurm.environment | {"NUMALAB_STAND_IN_S": "0.3"}
    more = ("--per-job", "3", "--poll", "0.2", "--grace", "3")
    words = command(installation.root, delivery, course, *more)
    started_s = time.monotonic()
    with (folder / "said-first").open("w") as said:
        process = subprocess.Popen(
            words, env=env, stdin=subprocess.DEVNULL, stdout=said, stderr=said,
            start_new_session=True,
        )  # fmt: skip
    # From the first moment on which there is something to lose.
    while not course.is_dir() and time.monotonic() - started_s < LIMIT_S:
        time.sleep(0.01)
    after_s = chance.uniform(0.0, latest_s)
    time.sleep(after_s)
    done = sum(1 for _ in course.glob("attempts/*/*/*/[0-9]*/attempt.json"))
    if victim == "head":
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        name = chance.choice(slurm.nodes) if victim == "node" else victim
        slurm.kill(name)
        time.sleep(chance.uniform(0.0, 3.0))
        if victim == "node":
            slurm.start_node(name)
        else:
            slurm.start_controller()
    resumed = _wait(process, slurm)
    with (folder / "said").open("w") as said:
        again = subprocess.Popen(words, env=env, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
        resumed += _wait(again, slurm)
    found = faults(course, students)
    if again.returncode != 0:
        found.append(f"exit code {again.returncode}: {(folder / 'said').read_text()[-300:]}")
    slurm.until_idle()
    return {
        "victim": victim, "after_s": round(after_s, 2), "done_by_then": done,
        "runs": len(list((course / "runs").glob("*"))), "nodes_resumed": resumed,
        "faults": found,
        "elapsed_s": round(time.monotonic() - started_s, 1),
    }  # fmt: skip


def _not_files(folder: str, names: list[str]) -> list[str]:
    """Sockets, which can't be copied."""
    found = [Path(folder) / name for name in names]
    return [path.name for path in found if not path.is_file() and not path.is_dir()]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--students", type=int, default=12)
    parser.add_argument("--latest-s", type=float, default=8.0, help="kills come until then")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="a line of JSON for each trial")
    parser.add_argument(
        "--keep", type=Path, help="where the courses of trials with faults and Slurm's logs go"
    )
    given = parser.parse_args()
    chance = random.Random(given.seed)
    bad = 0
    with tempfile.TemporaryDirectory(prefix="slurm-") as folder:
        slurm = OwnSlurm(Path(folder), fetched(cache_folder()), ("n1", "n2"))
        try:
            slurm.start()
            for number in range(given.trials):
                victim = VICTIMS[number % len(VICTIMS)]
                with tempfile.TemporaryDirectory(prefix="course-") as name:
                    found = trial(slurm, Path(name), victim, given.students, given.latest_s, chance)
                    if found["faults"] and given.keep is not None:
                        kept = given.keep / str(number)
                        shutil.copytree(name, kept)
                        shutil.copytree(folder, kept / "slurm", ignore=_not_files)
                bad += bool(found["faults"])
                print(json.dumps(found), flush=True)
                if given.out is not None:
                    with given.out.open("a") as file:
                        file.write(json.dumps(found) + "\n")
        finally:
            slurm.stop()
    print(f"{given.trials} trials, {bad} with faults")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
