"""What `batch grade` asks before it measures again what another version of numalab has measured."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from numalab import words
from numalab.course.gradebook.counting import format_duration
from numalab.course.other_versions import results_of_other_versions
from numalab.course.rejudging import running_targets
from numalab.errors import UserError, wrapped

if TYPE_CHECKING:  # their modules are imported when the command needs them
    from numalab.course.course_folder import CourseFolder
    from numalab.course.gradebook.gradebook import Gradebook
    from numalab.course.jobs.dispatcher import RequestedGrading


def confirmed(
    wanted: Sequence[RequestedGrading],
    course: CourseFolder,
    book: Gradebook,
    measure_again: bool | None,
) -> Sequence[RequestedGrading]:
    """Return what is to be graded: of what another version has measured only what somebody wants
    measured again.

    Args:
        wanted: all that this version has no result of, or is asked for.
        course: whose jobs under way are left to go on.
        book: the course's gradebook.
        measure_again: as the command line says; None: whoever sits at the terminal is asked.

    Raises:
        UserError: nobody can be asked.
        NumalabError: the course's runs can't be read.
    """
    graded = results_of_other_versions(wanted, book.attempts(), running_targets(course))
    if not graded or measure_again:
        return wanted
    hand_ins = words.count(len(graded), "hand-in")
    if measure_again is None and _is_confirmed(hand_ins, sum(a.took_s for a in graded.values())):
        return wanted
    told = f"numalab: {hand_ins} not measured again: the results of another version stay"
    click.echo(wrapped(told), err=True)
    return [each for each in wanted if each.target not in graded]


def _is_confirmed(hand_ins: str, took_s: float) -> bool:
    """Raises UserError where nobody can be asked."""
    is_one = hand_ins.startswith("1 ")
    what = f"{hand_ins} of this course {'was' if is_one else 'were'} measured by another version of"
    took = f"{format_duration(took_s)}, one after another"
    if not sys.stdin.isatty():
        raise UserError(
            f"nothing was graded: {what} numalab, and nobody can be asked here. Repeat with "
            f"--measure-again to measure all that with this one (the last gradings took {took}), "
            "or with --keep-measured to keep those results and grade what has none."
        )
    click.echo(
        wrapped(
            f"{what} numalab. To measure again takes about as long as the last gradings took: "
            f"{took}. Otherwise those results stay, and what has none is graded."
        )
    )
    return click.confirm(f"Measure {hand_ins} again?", default=False)
