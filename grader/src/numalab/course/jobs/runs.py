"""Runs: what one submission to the scheduler is to grade, as its folder keeps it.

run.json is written before anything is submitted, and never changed. over.json says that nobody
waits for the run any more: what of it begins later ends at once.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, Literal

from numalab.course.course_folder import CourseFolder
from numalab.course.records import Item
from numalab.errors import NumalabError
from numalab.files import read_json, write_json

Json = dict[str, Any]
EngineName = Literal["slurm", "local"]
SCHEMA = 1
_CLEAN = "clean"  # a run's file, beside over.json
JOB_MODULE = (
    "numalab.course.jobs.node"  # that a job runs: python -m JOB_MODULE PRESET COURSE RUN CHUNK
)
# Slurm takes array indices up to MaxArraySize - 1; 1001 unless the site says otherwise.
LARGEST_ARRAY = 1000
# Each job builds the kit first, and a node stands idle for half a second or more before it gets
# the next one: jobs have so many at least, and where several follow one another on a node about
# half of what they may have.
FEWEST_IN_JOB = 5
SHORTEST_JOB = 2
# As many as a job has unless the user knows better; in a large class more, for a node to have
# few jobs one after another, as long as sites usually let a job last.
USUAL_IN_JOB = 20
USUAL_JOBS_OF_NODE = 3
LONGEST_JOB_S = 4 * 3600
# How long a grading of one kernel may take at most before it is called stuck, and how long it
# takes at most as a rule (the README's "one to two minutes"), with some to spare.
LIMIT_S = {"quick": 900, "default": 2700}
USUAL_S = {"quick": 120, "default": 300}
BUILD_S = 600  # for building the kit on a node, at most


def now() -> str:
    return datetime.now().astimezone().isoformat(timespec="seconds")


@dataclass(frozen=True)
class Task:
    """One attempt to be made. number: of the attempt; languages: handed in; tries: how often it
    was begun before and came to nothing, through no fault of the student's."""

    item: Item
    number: int
    languages: tuple[str, ...]
    tries: int = 0


@dataclass(frozen=True)
class SlurmOptions:
    """As sbatch takes them; empty: the site's default, but time: worked out of the number of
    submissions in a job. at_once: jobs that run at a time, 0 for any number; extra: further
    options, whole ("--qos=teaching")."""

    partition: str = ""
    account: str = ""
    constraint: str = ""
    time: str = ""
    at_once: int = 0
    exclusive: bool = True
    extra: tuple[str, ...] = ()


@dataclass(frozen=True)
class Grading:
    """How each item is graded. command: in place of `numalab grade`, empty otherwise; options:
    what it is given besides; limit_s: after which it is stopped, for each language."""

    effort: str
    command: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    limit_s: int = 0

    def limit_of(self, task: Task) -> int:
        return (self.limit_s or LIMIT_S[self.effort]) * max(1, len(task.languages))


@dataclass(frozen=True)
class Run:
    """chunks: what one job grades, one after another."""

    id: str
    engine: EngineName
    made_at: str
    grading: Grading
    slurm: SlurmOptions
    chunks: tuple[tuple[Task, ...], ...]

    @property
    def job_name(self) -> str:
        """Of no other run: a job is found by it where its id was never noted."""
        return f"numalab-{self.id}"

    @property
    def tasks(self) -> Iterator[Task]:
        for chunk in self.chunks:
            yield from chunk


def usual_in_job(count: int, nodes: int, effort: str, languages: int) -> int:
    """How many submissions of a class a job has at most. languages: of each of them."""
    of_long_job = max(1, (LONGEST_JOB_S - BUILD_S) // (USUAL_S[effort] * max(1, languages)))
    return min(max(USUAL_IN_JOB, -(-count // (USUAL_JOBS_OF_NODE * nodes))), of_long_job)


def new_id() -> str:
    """Ordered by time: of two runs that hold the same item the later one has it."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}-{secrets.token_hex(2)}"


def chunked(tasks: Sequence[Task], per_job: int, nodes: int) -> tuple[tuple[Task, ...], ...]:
    """At most per_job in each; one for each node, or fewer, where all begin at once. Else rounds
    of one for each node, which take at most half of what is left: whatever each grading takes,
    the last jobs are short, and all nodes end at about the same time (factoring: Hummel,
    Schonberg, Flynn, CACM 35, 1992)."""
    left = len(tasks)
    jobs = max(-(-left // per_job), min(nodes, -(-left // FEWEST_IN_JOB)))
    sizes: list[int] = []
    if jobs > nodes:
        fewest = max(1, per_job // SHORTEST_JOB)
        while (size := min(per_job, -(-left // (2 * nodes)))) > fewest:
            sizes += [size] * nodes
            left -= size * nodes
        jobs = min(left, max(nodes, -(-left // per_job)))
    cuts = [0, *accumulate([*sizes, *_evenly(left, jobs)])]
    return tuple(tuple(tasks[a:b]) for a, b in pairwise(cuts))


def _evenly(count: int, parts: int) -> list[int]:
    return [count * (n + 1) // parts - count * n // parts for n in range(parts)]


# ---- the run's folder ------------------------------------------------------------------


def json_data(run: Run) -> Json:
    return {"schema": SCHEMA, **asdict(run)}


def from_json(data: Json) -> Run:
    def task(one: Json) -> Task:
        return Task(Item(**one["item"]), one["number"], tuple(one["languages"]), one["tries"])

    grading, slurm = dict(data["grading"]), dict(data["slurm"])
    return Run(
        data["id"], data["engine"], data["made_at"],
        Grading(**(grading | {key: tuple(grading[key]) for key in ("command", "options")})),
        SlurmOptions(**(slurm | {"extra": tuple(slurm["extra"])})),
        tuple(tuple(task(entry) for entry in chunk) for chunk in data["chunks"]),
    )  # fmt: skip


def keep(course: CourseFolder, run: Run) -> Path:
    """Writes the intent; its folder. Raises OSError."""
    folder = course.run(run.id)
    (folder / "logs").mkdir(parents=True)
    write_json(folder / "run.json", json_data(run), indent=None)
    return folder


def load(course: CourseFolder, run_id: str) -> Run:
    """Raises NumalabError."""
    path = course.run(run_id) / "run.json"
    try:
        return from_json(read_json(path))
    except (KeyError, TypeError) as error:
        raise NumalabError(f"{path} can't be read: it is no run of this kit") from error


def open_runs(course: CourseFolder) -> list[Run]:
    """Those that somebody waits for, or would if the command were repeated; oldest first.
    Raises NumalabError."""
    folder = course.run("x").parent
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    return [
        load(course, name)
        for name in names
        # Without run.json its command was killed before it had promised anything.
        if (folder / name / "run.json").is_file() and not is_over(course, name)
    ]


def unclean_runs(course: CourseFolder) -> list[Run]:
    """Those that are over and may have left something half written. Raises NumalabError."""
    return [
        load(course, path.parent.name)
        for path in sorted(course.run("x").parent.glob("*/over.json"))
        if not (path.parent / _CLEAN).is_file() and (path.parent / "run.json").is_file()
    ]


def mark_clean(course: CourseFolder, run: Run) -> None:
    """What it has left half written is removed. Raises OSError."""
    (course.run(run.id) / _CLEAN).touch()


def last_run(course: CourseFolder) -> list[Run]:
    """The newest that is there, if any. Raises NumalabError."""
    found = sorted(path.parent.name for path in course.run("x").parent.glob("*/run.json"))
    return [load(course, found[-1])] if found else []


def is_over(course: CourseFolder, run_id: str) -> bool:
    return (course.run(run_id) / "over.json").is_file()


def end(course: CourseFolder, run: Run, why: str) -> None:
    """Raises OSError."""
    if not is_over(course, run.id):
        write_json(course.run(run.id) / "over.json", {"at": now(), "why": why})


def is_cancelled(course: CourseFolder, run: Run) -> bool:
    """`batch cancel` was asked for it."""
    return (course.run(run.id) / "cancelled.json").is_file()


def mark_cancelled(course: CourseFolder, run: Run) -> None:
    write_json(course.run(run.id) / "cancelled.json", {"at": now()})


def note_job(course: CourseFolder, run: Run, job: str) -> None:
    write_json(course.run(run.id) / "job.json", {"job": job, "at": now()})


def noted_job(course: CourseFolder, run: Run) -> str | None:
    found = read_json(course.run(run.id) / "job.json")
    return str(found["job"]) if isinstance(found, dict) and "job" in found else None
