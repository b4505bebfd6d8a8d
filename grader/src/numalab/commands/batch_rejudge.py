"""./numalab batch rejudge."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.cells import cell_len, set_cell_size

from numalab import words
from numalab.commands.shared import course_at, progress_line, taking_one
from numalab.course import attempts
from numalab.course.gradebook.gradebook import use_gradebook
from numalab.course.jobs.dispatcher import course_lock
from numalab.course.rejudging import (
    current_digests,
    find_pending,
    judge_all,
    publish,
    running_targets,
)
from numalab.errors import WIDTH, NumalabError, UserError, reason_of, wrapped
from numalab.exit_codes import EXIT_FAILED, EXIT_PASSED
from numalab.installation import Installation
from numalab.labs.declaration import LANGUAGE_NAMES
from numalab.labs.variants import labs_and_variants
from numalab.untrusted.visible import visible
from numalab.words import CountedStep

if TYPE_CHECKING:  # their modules are imported when the command needs them
    from numalab.course.course_folder import CourseFolder
    from numalab.course.gradebook.gradebook import Gradebook
    from numalab.course.records import Attempt
    from numalab.course.rejudging import Digests, Pending, Rejudged, RejudgedCourse

MOST_TOLD = 10  # of what can't be judged again; the rest is counted
HEADS = ("student", "lab", "language", "criterion", "verdict", "points")
# Written short, as in a report's lines.
SHORT = {
    "pass": "pass", "fail": "FAIL", "not_gradable": "n/a", "inconclusive": "open",
    "error": "error", None: "-",
}  # fmt: skip


@dataclass(frozen=True)
class _Options:
    """As they stand on the command line; see the help of each."""

    course_path: Path
    yes: bool
    dry_run: bool


def change_rows(rejudged: Sequence[Rejudged]) -> Iterator[Sequence[str]]:
    """A row for each criterion that changes."""
    ordered = sorted(rejudged, key=lambda each: (each.old.target.lab, each.old.target.student_id))
    for each in ordered:
        item = each.old.target
        for change in each.changes:
            yield (
                visible(item.student_id),
                item.lab.partition("_")[0],
                LANGUAGE_NAMES[change.language],
                change.criterion,
                f"{SHORT[change.old]} -> {SHORT[change.new]}",
                f"{change.old_points} -> {change.new_points}",
            )


def change_lines(rejudged: Sequence[Rejudged]) -> Iterator[str]:
    """The same as a table in 80 columns; long ids are cut."""
    rows = [HEADS, *change_rows(rejudged)]
    if len(rows) == 1:
        return
    widths = [max(cell_len(row[column]) for row in rows) for column in range(len(HEADS))]
    room = WIDTH - sum(widths[1:]) - 2 * (len(HEADS) - 1)
    widths[0] = min(widths[0], max(cell_len(HEADS[0]), room))
    for row in rows:
        cells = (set_cell_size(cell, width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()


def _summary(outcome: RejudgedCourse, found: Pending) -> str:
    results = sum(len(each.new.results) for each in outcome.rejudged)
    changed = [each for each in outcome.rejudged if each.changes]
    students = {each.old.target.student_id for each in changed}
    told = [
        f"{words.count(results, 'result')} judged again from records; "
        f"{words.count(len(students), 'student')} would see a change."
    ]
    moves = Counter((c.old, c.new) for each in changed for c in each.changes if c.old != c.new)
    if moves:
        parts = [f"{SHORT[a]} -> {SHORT[b]}: {count}" for (a, b), count in moves.most_common()]
        told.append(f"Criteria {', '.join(parts)}.")
    reopened = sum(bool(each.new.reopened) for each in outcome.rejudged)
    if reopened:
        told.append(
            f"{words.count(reopened, 'attempt')} would be open in what was never measured, or not "
            "long enough for these rules; the next `batch grade` goes on with them."
        )
    return " ".join([*told, *_left_out(found)])


def _left_out(found: Pending) -> Iterator[str]:
    if found.measured_otherwise:
        yield (
            f"{words.count(found.measured_otherwise, 'hand-in')} left out: what is measured with "
            "has changed since; `batch grade` asks whether to measure anew what was handed in last."
        )


def _tell_failed(failed: Sequence[tuple[Attempt, str]]) -> None:
    for attempt, why in failed[:MOST_TOLD]:
        item = attempt.target
        told = f"numalab: {item.student_id} {item.lab} can't be judged again: {why}"
        click.echo(wrapped(told), err=True)
    if len(failed) > MOST_TOLD:
        click.echo(f"numalab: and {len(failed) - MOST_TOLD} more", err=True)
    if failed:
        told = "They keep their verdicts; batch grade --student ID --regrade grades one again."
        click.echo(wrapped(told), err=True)


def _may_write(options: _Options) -> bool:
    """Raises UserError where nobody can be asked."""
    if options.yes:
        return True
    if not sys.stdin.isatty():
        raise UserError(
            "nothing was written: nobody can be asked here. Repeat with --yes to keep these "
            "verdicts, or with --dry-run to look at them only."
        )
    return click.confirm("Keep these verdicts?", default=False)


def _judged(
    installation: Installation, course: CourseFolder, book: Gradebook, digests: Digests
) -> tuple[RejudgedCourse, Pending, int]:
    """What would become of the course, and how many attempts jobs are at. Raises UserError and
    NumalabError."""
    with progress_line("rejudge") as progress:
        progress("reading attempts")
        kept = list(attempts.all_attempts(course))
        known = book.states()  # behind the files where a command was killed
        book.add_attempts(a for a in kept if (a.target, a.number) not in known)
        found = find_pending(kept, digests)
        busy = running_targets(course)
        free = [attempt for attempt in found.attempts if attempt.target not in busy]
        outcome = judge_all(
            course, installation, labs_and_variants(installation.root), free, digests, progress
        )
    return outcome, found, len(found.attempts) - len(free)


def _write(course: CourseFolder, book: Gradebook, rejudged: Sequence[Rejudged]) -> int:
    """How many it has kept. Raises NumalabError."""
    kept: list[Attempt] = []
    try:
        with progress_line("rejudge") as progress:
            for number, each in enumerate(rejudged):
                if number % 25 == 0:
                    progress(CountedStep("writing", f"{number} of {len(rejudged)}"))
                if publish(course, each):
                    kept.append(each.new)
    except OSError as error:
        raise NumalabError(
            f"not all verdicts could be written to {course.root}: {reason_of(error)}. Those "
            "before it are kept; the same command goes on."
        ) from error
    finally:
        book.add_attempts(kept)
    return len(kept)


@click.command(name="rejudge", short_help="Judge a class again by changed rules, from records.")
@click.argument("course_path", metavar="COURSE", type=click.Path(path_type=Path))
@click.option("--yes", is_flag=True, help="Keep the new verdicts without asking.")
@click.option("--dry-run", is_flag=True, help="Show what would change, and write nothing.")
@click.pass_obj
@taking_one(_Options)
def rejudge_class(installation: Installation, options: _Options) -> int:
    """Judge a class again by the kit's present rules and thresholds, from the records that
    its gradings have left. Nothing is built or measured.

    It shows first whom that changes, and then asks. The attempts that were judged before are
    kept; the new verdict counts in their place, in the gradebook and on pages. What the
    records don't tell stays open, and the next batch grade goes on with it. It may be
    repeated, and be stopped at any time.

    Exit code 0: all could be judged; 1: some records could not; 2: wrong use; 3: the kit
    failed; 130: interrupted.

    \b
    Examples:
      ./numalab batch rejudge course --dry-run
      ./numalab batch rejudge course
      ./numalab batch rejudge course --yes
    """
    course = course_at(options.course_path)
    digests = current_digests(installation, labs_and_variants(installation.root))
    with course_lock(course), use_gradebook(course) as book:
        outcome, found, busy = _judged(installation, course, book, digests)
        for line in change_lines(outcome.rejudged):
            click.echo(line)
        if any(each.changes for each in outcome.rejudged):
            click.echo()
        _tell_failed(outcome.failed)
        if busy:
            told = f"{words.count(busy, 'attempt')} left out: jobs are at them. Repeat it then."
            click.echo(wrapped(told))
        code = EXIT_FAILED if outcome.failed else EXIT_PASSED
        if not outcome.rejudged:
            told = "Nothing to judge again by other rules."
            click.echo(wrapped(" ".join([told, *_left_out(found)])))
            return code
        click.echo(wrapped(_summary(outcome, found)))
        if options.dry_run:
            click.echo("Nothing was written.")
            return code
        if not _may_write(options):
            click.echo("Nothing was written.")
            return code
        kept = _write(course, book, outcome.rejudged)
    click.echo(f"numalab: {words.count(kept, 'attempt')} kept beside those before")
    click.echo(f"Next: ./numalab report {shlex.quote(str(course.root))}")
    return code
