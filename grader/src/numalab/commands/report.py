"""./numalab report: a course's pages, of the class and of each student."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click

from numalab.commands import shared
from numalab.commands.gradebook import standing_of
from numalab.course.course_folder import CourseFolder
from numalab.course.pages.reports import write_class_reports, write_reports
from numalab.course.similarity import find_equal_kernels
from numalab.errors import UserError
from numalab.installation import Installation


@click.command(short_help="Write the pages of a course: the class's and each student's.")
@click.argument("course", type=click.Path(path_type=Path), metavar="COURSE")
@click.option(
    "--student",
    "students",
    multiple=True,
    metavar="ID",
    help="Only this student's page; may be repeated.",
)
@click.option("--class-only", is_flag=True, help="Only the class's pages, which take seconds.")
@click.pass_obj
def report(
    installation: Installation, course: Path, students: Sequence[str], class_only: bool
) -> None:
    """Write the pages of a course from its gradebook, as it stands under course.toml now.

    COURSE/report/index.html is the class's page, COURSE/report/students/ID/ a folder that can
    be handed to a student. They open from disk and need nothing from elsewhere. Of the
    students' pages only those that changed are written.

    \b
    Examples:
      ./numalab report hpc2027
      ./numalab report hpc2027 --class-only
      ./numalab report hpc2027 --student ada
    """
    if students and class_only:
        raise UserError("--student and --class-only exclude each other")
    with shared.progress_line("report") as progress:
        progress("reading the gradebook")
        standing = standing_of(installation, course)
        only = tuple(dict.fromkeys(students)) or None
        write = write_class_reports if class_only else partial(write_reports, students=only)
        if only is None:
            progress("hand-ins that are alike")
            write = partial(write, alike=find_equal_kernels(CourseFolder(course), installation))
        page = write(CourseFolder(course), installation, standing, progress)
    click.echo(f"Page: {page}")
