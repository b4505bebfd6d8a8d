"""The commands about a whole class: ./numalab batch ..."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from numalab.commands.batch_grade import grade_class
from numalab.commands.batch_rejudge import rejudge_class
from numalab.commands.shared import course_at
from numalab.course.jobs import runs
from numalab.course.jobs.progress import class_text, known_states, status_of, text_of
from numalab.course.jobs.slurm import Slurm, is_available
from numalab.course.locks import is_held
from numalab.errors import UserError, wrapped
from numalab.installation import Installation
from numalab.terminal import make_console

if TYPE_CHECKING:
    from numalab.course.course_folder import CourseFolder
    from numalab.course.jobs.progress import RunStatus
    from numalab.course.jobs.runs import BatchRun


@click.group(short_help="Grade a whole class, on Slurm or here.")
def batch() -> None:
    """Grade a whole class: take in what a course's system delivers, grade each student's
    labs on a node of a cluster or on this machine, and keep everything in one folder. What
    is graded can be judged again when a rule has changed, with nothing measured.

    \b
    Examples:
      ./numalab batch grade hand-ins.zip --out course
      ./numalab batch grade hand-ins.zip --out course --slurm -p teaching
      ./numalab batch rejudge course
      ./numalab batch status course
      ./numalab batch cancel course
    """


batch.add_command(grade_class)
batch.add_command(rejudge_class)


# ---- status and cancel -----------------------------------------------------------------


def _has_head(course: CourseFolder) -> bool:
    """Whether a command follows the course's runs just now."""
    return is_held(course.lock)


def _look(
    course: CourseFolder, installation: Installation, shown: Sequence[BatchRun]
) -> list[RunStatus]:
    asked = [run for run in shown if run.engine == "slurm"]
    seen = Slurm(course, installation).poll(asked) if asked and is_available() else None
    known = known_states(course)
    return [status_of(course, run, (seen or {}).get(run.id), known) for run in shown]


def _lines(course: CourseFolder, found: Sequence[RunStatus], has_head: bool) -> list[str]:
    lines = []
    for status in found:
        job = f", job {status.job}" if status.job and status.run.engine == "slurm" else ""
        how = f"begun {status.run.made_at}{job}" + (", over" if status.is_over else "")
        lines += [f"{status.run.id}  {how}", f"  {text_of(status)}"]
    if all(status.is_over for status in found):
        lines += [text for text in [class_text(course)] if text and found]
        if has_head:
            lines.append("A command works on the class: no job of it is under way just now.")
    elif not has_head:
        lines.append(
            "No command follows it: repeat `batch grade` to collect what is done, and to begin "
            "again what failed."
        )
    return lines


@batch.command(name="status", short_help="How far a class is.")
@click.argument("course_path", metavar="COURSE", type=click.Path(path_type=Path))
@click.option("--watch", is_flag=True, help="Go on showing it until all is over.")
@click.pass_obj
def status(installation: Installation, course_path: Path, watch: bool) -> None:
    """How far the grading of a class is: its runs that are under way, or else the last one and
    what has been graded in all.

    \b
    Examples:
      ./numalab batch status course
      ./numalab batch status course --watch
    """
    course = course_at(course_path)

    def look() -> tuple[list[str], bool]:
        # First: a command that has ended has ended its runs before.
        has_head = _has_head(course)
        shown = runs.active_runs(course) or runs.last_run(course)
        found = _look(course, installation, shown)
        is_over = not has_head and all(status.is_over for status in found)
        return _lines(course, found, has_head), is_over

    lines, is_over = look()
    if not lines:
        raise UserError(f"{course.root} has no run yet")
    if not watch or not make_console().is_terminal:
        while True:
            click.echo("\n".join(wrapped(line) for line in lines))
            if not watch or is_over:
                return
            time.sleep(10)
            lines, is_over = look()
    from rich.live import Live
    from rich.text import Text

    with Live(Text("\n".join(lines)), console=make_console(), refresh_per_second=2) as live:
        while not is_over:
            time.sleep(2)
            lines, is_over = look()
            live.update(Text("\n".join(lines)))


@batch.command(name="cancel", short_help="End the jobs of a class.")
@click.argument("course_path", metavar="COURSE", type=click.Path(path_type=Path))
@click.pass_obj
def cancel(installation: Installation, course_path: Path) -> None:
    """End what is under way. What is graded stays, and `batch grade` grades the rest when
    it is called again.

    \b
    Example:
      ./numalab batch cancel course
    """
    course = course_at(course_path)
    found = runs.active_runs(course)
    for run in found:
        # First: a command that follows the run must not begin it again.
        runs.mark_cancelled(course, run)
        if run.engine == "slurm":
            Slurm(course, installation).cancel(run)
            runs.end(course, run, "cancelled")
        elif not _has_head(course):
            runs.end(course, run, "cancelled")
        click.echo(f"numalab: {run.id} is cancelled")
    if not found:
        click.echo("numalab: nothing is under way")
