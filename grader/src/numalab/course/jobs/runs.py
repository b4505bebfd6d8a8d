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
from numalab.course.records import GradingTarget, parse_record, parse_target, target_json
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
class GradingTask:
    """One attempt to be made.

    Attributes:
        number: of the attempt.
        languages: that were handed in.
        tries: how often it was begun before and came to nothing, through no fault of the student's.
    """

    target: GradingTarget
    number: int
    languages: tuple[str, ...]
    tries: int = 0


@dataclass(frozen=True)
class SlurmOptions:
    """Options for sbatch; empty: the site's default.

    Attributes:
        time: empty: derived from the number of targets in a job.
        max_concurrent: jobs that run at a time; 0: any number.
        extra: further options, whole ("--qos=teaching").
    """

    partition: str = ""
    account: str = ""
    constraint: str = ""
    time: str = ""
    max_concurrent: int = 0
    exclusive: bool = True
    extra: tuple[str, ...] = ()


@dataclass(frozen=True)
class GradingOptions:
    """How each target is graded.

    Attributes:
        command: in place of `numalab grade`; may be empty.
        options: further arguments.
        limit_s: after which a grading is stopped, for each language; 0: by the effort.
    """

    effort: str
    command: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    limit_s: int = 0

    def limit_of(self, task: GradingTask) -> int:
        return (self.limit_s or LIMIT_S[self.effort]) * max(1, len(task.languages))


@dataclass(frozen=True)
class BatchRun:
    """What one submission to the scheduler grades. chunks: what each job grades, one after
    another."""

    id: str
    engine: EngineName
    made_at: str
    grading: GradingOptions
    slurm: SlurmOptions
    chunks: tuple[tuple[GradingTask, ...], ...]

    @property
    def job_name(self) -> str:
        """Unique to the run: a job whose id was never noted is found by it."""
        return f"numalab-{self.id}"

    @property
    def tasks(self) -> Iterator[GradingTask]:
        for chunk in self.chunks:
            yield from chunk


def usual_job_size(count: int, nodes: int, effort: str, languages: int) -> int:
    """Return how many submissions of a class a job has at most. languages: of each of them."""
    of_long_job = max(1, (LONGEST_JOB_S - BUILD_S) // (USUAL_S[effort] * max(1, languages)))
    return min(max(USUAL_IN_JOB, -(-count // (USUAL_JOBS_OF_NODE * nodes))), of_long_job)


def new_id() -> str:
    """Return an id that sorts by time: a target that is in two runs belongs to the later one."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}-{secrets.token_hex(2)}"


def split_tasks(
    tasks: Sequence[GradingTask], max_per_job: int, nodes: int
) -> tuple[tuple[GradingTask, ...], ...]:
    """Split tasks into jobs of at most max_per_job: one for each node, or fewer, if all can
    begin at once. Otherwise rounds of one for each node, which take at most half of what is
    left: whatever each grading takes, the last jobs are short, and all nodes end at about the
    same time (factoring: Hummel, Schonberg, Flynn, CACM 35, 1992)."""
    left = len(tasks)
    jobs = max(-(-left // max_per_job), min(nodes, -(-left // FEWEST_IN_JOB)))
    sizes: list[int] = []
    if jobs > nodes:
        fewest = max(1, max_per_job // SHORTEST_JOB)
        while (size := min(max_per_job, -(-left // (2 * nodes)))) > fewest:
            sizes += [size] * nodes
            left -= size * nodes
        jobs = min(left, max(nodes, -(-left // max_per_job)))
    cuts = [0, *accumulate([*sizes, *_evenly(left, jobs)])]
    return tuple(tuple(tasks[a:b]) for a, b in pairwise(cuts))


def _evenly(count: int, parts: int) -> list[int]:
    return [count * (n + 1) // parts - count * n // parts for n in range(parts)]


# ---- the run's folder ------------------------------------------------------------------


def run_json(run: BatchRun) -> Json:
    """Return what run.json has, under its keys."""
    data = asdict(run)
    data["slurm"]["at_once"] = data["slurm"].pop("max_concurrent")
    for tasks, chunk in zip(run.chunks, data["chunks"], strict=True):
        for task, entry in zip(tasks, chunk, strict=True):
            del entry["target"]
            entry["item"] = target_json(task.target)
    return {"schema": SCHEMA, **data}


def parse_run(data: Json) -> BatchRun:
    """Read what run_json has written. Raises KeyError and TypeError."""
    return parse_record(
        BatchRun,
        data,
        grading=parse_record(GradingOptions, data["grading"]),
        slurm=parse_record(SlurmOptions, data["slurm"], max_concurrent=data["slurm"]["at_once"]),
        chunks=tuple(
            tuple(
                parse_record(GradingTask, entry, target=parse_target(entry["item"]))
                for entry in chunk
            )
            for chunk in data["chunks"]
        ),
    )


def write_run(course: CourseFolder, run: BatchRun) -> Path:
    """Write a run's intent; return its folder. Raises OSError."""
    folder = course.run(run.id)
    (folder / "logs").mkdir(parents=True)
    write_json(folder / "run.json", run_json(run), indent=None)
    return folder


def read_run(course: CourseFolder, run_id: str) -> BatchRun:
    """Read a run's intent. Raises NumalabError."""
    path = course.run(run_id) / "run.json"
    try:
        return parse_run(read_json(path))
    except (KeyError, TypeError) as error:
        raise NumalabError(f"{path} can't be read: it is no run of this kit") from error


def active_runs(course: CourseFolder) -> list[BatchRun]:
    """Return the runs that somebody waits for, or would if the command were repeated; oldest
    first. Raises NumalabError."""
    folder = course.run("x").parent
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    return [
        read_run(course, name)
        for name in names
        # Without run.json its command was killed before it had promised anything.
        if (folder / name / "run.json").is_file() and not is_over(course, name)
    ]


def unclean_runs(course: CourseFolder) -> list[BatchRun]:
    """Return the runs that are over and may have left partial folders. Raises NumalabError."""
    return [
        read_run(course, path.parent.name)
        for path in sorted(course.run("x").parent.glob("*/over.json"))
        if not (path.parent / _CLEAN).is_file() and (path.parent / "run.json").is_file()
    ]


def mark_clean(course: CourseFolder, run: BatchRun) -> None:
    """Note that a run's partial folders are removed. Raises OSError."""
    (course.run(run.id) / _CLEAN).touch()


def last_run(course: CourseFolder) -> list[BatchRun]:
    """Return the newest run, if there is one. Raises NumalabError."""
    found = sorted(path.parent.name for path in course.run("x").parent.glob("*/run.json"))
    return [read_run(course, found[-1])] if found else []


def is_over(course: CourseFolder, run_id: str) -> bool:
    return (course.run(run_id) / "over.json").is_file()


def end(course: CourseFolder, run: BatchRun, why: str) -> None:
    """Note that nobody waits for the run any more. Raises OSError."""
    if not is_over(course, run.id):
        write_json(course.run(run.id) / "over.json", {"at": now(), "why": why})


def is_cancelled(course: CourseFolder, run: BatchRun) -> bool:
    """Tell whether `batch cancel` was called for the run."""
    return (course.run(run.id) / "cancelled.json").is_file()


def mark_cancelled(course: CourseFolder, run: BatchRun) -> None:
    write_json(course.run(run.id) / "cancelled.json", {"at": now()})


def note_job(course: CourseFolder, run: BatchRun, job: str) -> None:
    write_json(course.run(run.id) / "job.json", {"job": job, "at": now()})


def noted_job(course: CourseFolder, run: BatchRun) -> str | None:
    found = read_json(course.run(run.id) / "job.json")
    return str(found["job"]) if isinstance(found, dict) and "job" in found else None
