"""Runs: what one submission to the scheduler is to grade, as the run's folder keeps it.

run.json has the run's tasks. over.json says that no command waits for the run any more.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Literal

from numalab.course.course_folder import CourseFolder
from numalab.course.records import GradingTarget, Json, parse_record, parse_target, target_json
from numalab.errors import NumalabError
from numalab.files import read_json, write_json

EngineName = Literal["slurm", "local"]
SCHEMA = 1
_CLEAN = "clean"  # the file next to over.json that says that partial folders are removed
JOB_MODULE = (
    "numalab.course.jobs.node"  # that a job runs: python -m JOB_MODULE PRESET COURSE RUN CHUNK
)
# Slurm takes array indices up to MaxArraySize - 1, and MaxArraySize is 1001 by default.
LARGEST_ARRAY = 1000
# Each job builds numalab first, and a cluster node idles for half a second or more between two
# jobs. So a job has FEWEST_IN_JOB gradings or more if there are that many, and if several jobs
# follow one another on a cluster node, the full number over SHORTEST_JOB or about so many.
FEWEST_IN_JOB = 5
SHORTEST_JOB = 2
# Gradings of a job by default. In a large class a job has more, so that a cluster node gets about
# USUAL_JOBS_OF_NODE jobs one after another, but none that lasts longer than sites usually allow.
USUAL_IN_JOB = 20
USUAL_JOBS_OF_NODE = 3
LONGEST_JOB_S = 4 * 3600
# By effort: how long a grading of one kernel may take before it is considered stuck, and how long
# it usually takes at most (the README's "one to two minutes"), with some margin.
LIMIT_S = {"quick": 900, "default": 2700}
USUAL_S = {"quick": 120, "default": 300}
BUILD_S = 600  # the longest time for building numalab in a job


def now() -> str:
    """Return the time in ISO 8601, to the second, with this machine's offset."""
    return datetime.now().astimezone().isoformat(timespec="seconds")


@dataclass(frozen=True)
class GradingTask:
    """One attempt to be made.

    Attributes:
        number: the attempt's number.
        languages: those that were handed in.
        tries: how many tries to grade the target came to nothing before, through no fault of the
            student's.
    """

    target: GradingTarget
    number: int
    languages: tuple[str, ...]
    tries: int = 0


@dataclass(frozen=True)
class SlurmOptions:
    """Options for sbatch; an empty text, but for `time`, means the site's default.

    Attributes:
        time: the job's time limit as sbatch takes it; empty: by what the longest job grades.
        max_concurrent: jobs that run at a time, on this machine too; 0: any number, here one.
        exclusive: a job has its cluster node to itself.
        extra: further options as sbatch takes them, such as "--qos=teaching".
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
        effort: "quick" or "default".
        command: what is run in place of `numalab grade`; empty: nothing else.
        options: further arguments.
        limit_s: seconds per language that a grading may take; 0: by the effort.
    """

    effort: str
    command: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    limit_s: int = 0

    def limit_of(self, task: GradingTask) -> int:
        """Return how many seconds a task's grading may take, without waiting for others."""
        return (self.limit_s or LIMIT_S[self.effort]) * max(1, len(task.languages))


@dataclass(frozen=True)
class BatchRun:
    """What one submission to the scheduler grades. chunks: for each job, what it grades one after
    another."""

    id: str
    engine: EngineName
    made_at: str
    grading: GradingOptions
    slurm: SlurmOptions
    chunks: tuple[tuple[GradingTask, ...], ...]

    @property
    def job_name(self) -> str:
        """The name of the run's job, by which a job is found whose id was not noted."""
        return f"numalab-{self.id}"

    @property
    def tasks(self) -> Iterator[GradingTask]:
        for chunk in self.chunks:
            yield from chunk


def usual_job_size(count: int, nodes: int, effort: str, languages: int) -> int:
    """Return how many gradings a job has at most, unless the user says.

    Args:
        count: gradings in all.
        nodes: cluster nodes that they run on, 1 or more.
        languages: languages of each of them.
    """
    of_long_job = max(1, (LONGEST_JOB_S - BUILD_S) // (USUAL_S[effort] * max(1, languages)))
    return min(max(USUAL_IN_JOB, -(-count // (USUAL_JOBS_OF_NODE * nodes))), of_long_job)


def new_id() -> str:
    """Return a new run's id. Ids sort by time, in UTC."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}-{secrets.token_hex(2)}"


def split_tasks(
    tasks: Sequence[GradingTask], max_per_job: int, nodes: int
) -> tuple[tuple[GradingTask, ...], ...]:
    """Split tasks into jobs of at most max_per_job tasks, in order.

    If all jobs can begin at once, there is one for each of the nodes, or fewer. Otherwise they come
    in rounds of one for each node, and a round takes about half of what is left, as far as
    max_per_job allows: so the last jobs are shorter, and nodes end at about the same time
    (factoring: Hummel, Schonberg, Flynn, CACM 35, 1992).
    """
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
    """Return a run as run.json has it."""
    data = asdict(run)
    data["slurm"]["at_once"] = data["slurm"].pop("max_concurrent")
    for tasks, chunk in zip(run.chunks, data["chunks"], strict=True):
        for task, entry in zip(tasks, chunk, strict=True):
            del entry["target"]
            entry["item"] = target_json(task.target)
    return {"schema": SCHEMA, **data}


def parse_run(data: Json) -> BatchRun:
    """Make a run from what run_json returned."""
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
    """Make a run's folder and write its run.json; return the folder."""
    folder = course.run(run.id)
    (folder / "logs").mkdir(parents=True)
    write_json(folder / "run.json", run_json(run), indent=None)
    return folder


def read_run(course: CourseFolder, run_id: str) -> BatchRun:
    """Read a run's run.json. Raises NumalabError if it can't be read."""
    path = course.run(run_id) / "run.json"
    try:
        return parse_run(read_json(path))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise NumalabError(f"{path} can't be read: it is no run of this kit") from error


def active_runs(course: CourseFolder) -> list[BatchRun]:
    """Return the runs that are not over, oldest first. Raises NumalabError if a run.json can't be
    read."""
    folder = course.run("x").parent
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    return [
        read_run(course, name)
        for name in names
        # Without run.json its command was killed before anything was submitted.
        if (folder / name / "run.json").is_file() and not is_over(course, name)
    ]


def unclean_runs(course: CourseFolder) -> list[BatchRun]:
    """Return the runs that are over and may have left partial folders, oldest first. Raises
    NumalabError if a run.json can't be read."""
    return [
        read_run(course, path.parent.name)
        for path in sorted(course.run("x").parent.glob("*/over.json"))
        if not (path.parent / _CLEAN).is_file() and (path.parent / "run.json").is_file()
    ]


def mark_clean(course: CourseFolder, run: BatchRun) -> None:
    """Note that a run's partial folders are removed."""
    (course.run(run.id) / _CLEAN).touch()


def last_run(course: CourseFolder) -> list[BatchRun]:
    """Return a list of the newest run, empty if there is none. Raises NumalabError if its run.json
    can't be read."""
    found = sorted(path.parent.name for path in course.run("x").parent.glob("*/run.json"))
    return [read_run(course, found[-1])] if found else []


def is_over(course: CourseFolder, run_id: str) -> bool:
    """Tell whether it is noted that no command waits for a run any more."""
    return (course.run(run_id) / "over.json").is_file()


def end(course: CourseFolder, run: BatchRun, why: str) -> None:
    """Note that no command waits for a run any more, and why, unless that is noted."""
    if not is_over(course, run.id):
        write_json(course.run(run.id) / "over.json", {"at": now(), "why": why})


def is_cancelled(course: CourseFolder, run: BatchRun) -> bool:
    """Tell whether a run is noted as cancelled."""
    return (course.run(run.id) / "cancelled.json").is_file()


def mark_cancelled(course: CourseFolder, run: BatchRun) -> None:
    """Note that a run is cancelled."""
    write_json(course.run(run.id) / "cancelled.json", {"at": now()})


def note_job(course: CourseFolder, run: BatchRun, job: str) -> None:
    """Note the id of a run's job."""
    write_json(course.run(run.id) / "job.json", {"job": job, "at": now()})


def noted_job(course: CourseFolder, run: BatchRun) -> str | None:
    """Return the noted id of a run's job; None if none is noted."""
    found = read_json(course.run(run.id) / "job.json")
    return str(found["job"]) if isinstance(found, dict) and "job" in found else None
