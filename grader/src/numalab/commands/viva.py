"""./numalab viva: questions for one student's oral exam."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from numalab.commands.completing import complete_lab
from numalab.commands.shared import check_json_target, rules_of_course, write_named
from numalab.course.course_folder import CourseFolder
from numalab.course.gradebook.gradebook import use_gradebook
from numalab.course.secret import seed_of
from numalab.errors import UserError
from numalab.installation import Installation
from numalab.labs.declaration import choose_labs
from numalab.labs.variants import labs_and_variants
from numalab.untrusted.visible import visible

FEWEST, USUAL, MOST = 3, 4, 5  # questions


@click.command(short_help="Questions for one student's oral exam.")
@click.argument("root", metavar="COURSE", type=click.Path(path_type=Path, file_okay=False))
@click.argument("student")
@click.option(
    "--lab", "names", metavar="LAB", multiple=True, shell_complete=complete_lab,
    help="Only about this lab; may be repeated.",
)  # fmt: skip
@click.option(
    "--questions", "number", type=click.IntRange(FEWEST, MOST), default=USUAL, show_default=True,
    help="How many.",
)  # fmt: skip
@click.option(
    "--html", "html_path", type=click.Path(path_type=Path), metavar="FILE",
    help="A page of A4 to print, instead of text.",
)  # fmt: skip
@click.pass_obj
def viva(
    installation: Installation,
    root: Path,
    student: str,
    names: Sequence[str],
    number: int,
    html_path: Path | None,
) -> None:
    """Questions for an oral exam of five minutes, made of one student's own attempts: what was
    changed between two of them, what still fails, the student's own sentences, times, another
    machine, mistakes that were not made. The expected answer and the evidence stand beside each.
    COURSE is the folder that `./numalab batch grade` writes; STUDENT is the id, in brackets in
    `gradebook show`.

    The same attempts give the same questions. Nothing is built or measured. It is not for
    students: it has the answers.

    \b
    Examples:
      ./numalab viva course ada
      ./numalab viva course ada --lab 01 --questions 3
      ./numalab viva course ada --html ada.html
    """
    from numalab.teaching.viva.choosing import choose
    from numalab.teaching.viva.gathering import gather
    from numalab.teaching.viva.sheet import Sheet, sheet_lines, sheet_page

    installation.need_solutions("an oral exam")
    check_json_target(html_path, "--html")
    if not root.is_dir():
        raise UserError(
            f"there is no folder {root}; COURSE is the one that `./numalab batch grade "
            "SUBMISSIONS --out COURSE` writes"
        )
    course, labs = CourseFolder(root), labs_and_variants(installation.root)
    rules = rules_of_course(installation, course)
    with use_gradebook(course, read_only=True) as book:
        accounts = book.grade_traces(rules, student)
    chosen = {lab.name for lab in choose_labs(labs, names)} if names else None
    accounts = [one for one in accounts if chosen is None or one.row.lab in chosen]
    seed = seed_of(course, student)
    stories = gather(installation, course, labs, accounts, seed)
    whose = accounts[0].row.student
    sheet = Sheet(
        replace(whose, name=visible(whose.name), id=visible(whose.id)),
        visible(rules.title),
        stories,
        choose(stories, seed, number),
    )
    if html_path is None:
        click.echo("\n".join(sheet_lines(sheet)))
    else:
        write_named(html_path, sheet_page(sheet), "--html")
        click.echo(f"{html_path} is written.", err=True)
