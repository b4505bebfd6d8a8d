"""./numalab gradebook: what a class has reached, why, and the same for other systems."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from numalab import words
from numalab.commands.completing import complete_lab
from numalab.commands.shared import (
    check_json_target,
    list_column_option,
    progress_line,
    rules_of_course,
    taking_one,
    write_named,
)
from numalab.course.course_folder import CourseFolder
from numalab.course.csv_files import read_table, write_private
from numalab.course.exports import canvas, classroom50, exports, junit, moodle
from numalab.course.exports.gradescope import results
from numalab.course.exports.pseudonyms import assign
from numalab.course.gradebook import gradebook as books
from numalab.course.gradebook.explanation import explanation
from numalab.course.gradebook.gradebook import use_gradebook
from numalab.course.gradebook.overview import table_lines
from numalab.course.gradebook.rules import TEMPLATE
from numalab.errors import UserError, reason_of, wrapped
from numalab.exit_codes import EXIT_PASSED
from numalab.files import write_json, write_whole
from numalab.installation import Installation
from numalab.labs.declaration import LANGUAGE_NAMES, choose_labs
from numalab.labs.variants import lab_of_variant, labs_and_variants
from numalab.processes import shell_variables
from numalab.untrusted.visible import visible

if TYPE_CHECKING:  # their modules are imported when a command needs them
    from numalab.course.exports.exports import ExportedFile
    from numalab.course.gradebook.standing import Standing, StandingRow
    from numalab.course.records import Problem

FORMATS = ("csv", "moodle", "canvas", "gradescope", "classroom50", "junit")
_OF_ONE = {"gradescope": "Gradescope's results.json", "classroom50": "Classroom 50's result.json"}

_course_argument = click.argument(
    "root", metavar="COURSE", type=click.Path(path_type=Path, file_okay=False)
)
_labs_option = click.option(
    "--lab", "labs", metavar="LAB", multiple=True, shell_complete=complete_lab,
    help="Only this lab; may be repeated.",
)  # fmt: skip


@click.group(short_help="What a class has reached, and exports of it.")
def gradebook() -> None:
    """What a class has reached: shown, explained, and exported to a course's system.

    COURSE is the folder that `./numalab batch grade` writes. How its gradings count is said in
    COURSE/course.toml, which `gradebook init` begins; a change of it takes effect at once.

    \b
    Examples:
      ./numalab gradebook init course
      ./numalab gradebook show course
      ./numalab gradebook explain course ada 01
      ./numalab gradebook export course --format csv --out grades.csv
    """


def _open(root: Path) -> CourseFolder:
    if not root.is_dir():
        raise UserError(
            f"there is no folder {root}; COURSE is the one that `./numalab batch grade "
            "SUBMISSIONS --out COURSE` writes"
        )
    return CourseFolder(root)


def _lab_choice(
    installation: Installation, names: Sequence[str], present: Collection[str] = ()
) -> list[str]:
    """Of the kit, or of those present, which the kit may no longer have. Empty: all."""
    unknown = [name for name in names if name not in present]
    chosen = (
        [lab.name for lab in choose_labs(labs_and_variants(installation.root), unknown)]
        if unknown
        else []
    )
    return [name for name in names if name in present] + chosen


def standing_of(installation: Installation, root: Path, labs: Sequence[str] = ()) -> Standing:
    """Of a course, in these labs or all. Raises UserError where there is none."""
    from dataclasses import replace

    course = _open(root)
    rules = rules_of_course(installation, course)
    with use_gradebook(course, read_only=True) as book:
        standing = book.standing(rules)
    chosen = _lab_choice(installation, labs, {row.lab for row in standing.rows})
    if not chosen:
        return standing
    if standing.parts:  # a variant is in its lab's row
        chosen = [lab_of_variant(name) for name in chosen]
    return replace(standing, rows=tuple(row for row in standing.rows if row.lab in chosen))


def _tell(sentences: Iterable[str]) -> None:
    for sentence in sentences:
        click.echo(wrapped(f"numalab: {visible(sentence)}"), err=True)


def _tell_problems(standing: Standing) -> None:
    _tell(f"{problem.source}: {problem.why}" for problem in standing.problems)


# ---- looking ---------------------------------------------------------------------------


@gradebook.command(short_help="Write a course.toml with the defaults, to be edited.")
@_course_argument
def init(root: Path) -> None:
    """Write COURSE/course.toml with what holds by default, said line by line: which grading
    counts, what being late costs, deadlines, points, and what was set by hand. A file that is
    there stays as it is.

    \b
    Example:
      ./numalab gradebook init course
    """
    path = CourseFolder(root).rules
    if path.exists():
        raise UserError(f"{path} is there already; edit it")
    try:
        root.mkdir(parents=True, exist_ok=True)
        write_whole(path, TEMPLATE)
    except OSError as error:
        raise UserError(f"can't write {path}: {reason_of(error)}") from error
    click.echo(f"{path} is written; edit it.")


@gradebook.command(short_help="A table of students and labs.")
@_course_argument
@_labs_option
@click.pass_obj
def show(installation: Installation, root: Path, labs: Sequence[str]) -> None:
    """A table of all students and labs, with points as they count; marks are explained below
    it. What is wrong with the last delivery or course.toml follows.

    \b
    Examples:
      ./numalab gradebook show course
      ./numalab gradebook show course --lab 01 | less
    """
    standing = standing_of(installation, root, labs)
    click.echo("\n".join(line.rstrip() for line in table_lines(standing)))
    _tell_problems(standing)


@gradebook.command(short_help="Why a student has this grade.")
@_course_argument
@click.argument("student")
@click.argument("lab", required=False, shell_complete=complete_lab)
@click.pass_obj
def explain(installation: Installation, root: Path, student: str, lab: str | None) -> None:
    """Why a student has this grade: everything that was handed in and graded, what counts and
    how the points follow from it. STUDENT is the id, in brackets in `gradebook show`.

    \b
    Examples:
      ./numalab gradebook explain course ada
      ./numalab gradebook explain course ada 01
    """
    course = _open(root)
    rules = rules_of_course(installation, course)
    with use_gradebook(course, read_only=True) as book:
        accounts = book.grade_traces(rules, student)
    chosen = _lab_choice(
        installation, [lab] if lab else [], {account.row.lab for account in accounts}
    )
    if rules.parts:
        chosen = [lab_of_variant(name) for name in chosen]
    for number, account in enumerate(a for a in accounts if not chosen or a.row.lab in chosen):
        if number:
            click.echo()
        for line in explanation(account, rules):
            indent = " " * (len(line) - len(line.lstrip()))
            text = visible(line.strip())
            click.echo(click.wrap_text(text, 80, indent, f"{indent}    " if indent else ""))


# ---- exporting -------------------------------------------------------------------------


def _one_lab(standing: Standing) -> list[StandingRow]:
    labs = sorted({row.lab for row in standing.rows})
    if len(labs) > 1:
        raise UserError(
            "Moodle's worksheet is one assignment's. Say which lab with --lab; the gradebook has: "
            + ", ".join(labs)
        )
    return list(standing.rows)


def _one_student(
    standing: Standing, student: str | None, file: str
) -> tuple[list[StandingRow], list[Problem]]:
    """Rows, and what is wrong with what was handed in, which may be all there is. file: what is
    to be written, in a sentence."""
    known = [
        (problem.student.id, problem)
        for problem in standing.problems
        if problem.student is not None
    ]
    ids = list(
        dict.fromkeys([row.student.id for row in standing.rows] + [whose for whose, _ in known])
    )
    if student is None and len(ids) != 1:
        raise UserError(
            f"{file} is one student's, and there are {len(ids)}; say whose with --student ID"
        )
    wanted = student or ids[0]
    if wanted not in ids:
        raise UserError(f"there is no student '{student}'; ./numalab gradebook show lists all")
    return (
        [row for row in standing.rows if row.student.id == wanted],
        [problem for whose, problem in known if whose == wanted],
    )


def _columns(installation: Installation, given: Sequence[str]) -> dict[str, str]:
    """Of --column LAB=TITLE."""
    named = {}
    for text in given:
        lab, equals, title = text.partition("=")
        if not equals or not title:
            raise UserError(f'--column {text}: write it as LAB=TITLE, such as "01=Lab 1 (4711)"')
        named[_lab_choice(installation, [lab])[0]] = title
    return named


@dataclass(frozen=True)
class _ExportOptions:
    """As they stand on the command line; see the help of each."""

    root: Path
    format_: str
    out: Path
    labs: Sequence[str]
    template: Path | None
    student: str | None
    columns: Sequence[str]
    grade_column: str | None
    feedback_column: str | None
    pseudonyms: Path | None

    def check(self) -> None:
        """Raises UserError for what does not go together."""
        for option, value, formats in (
            ("--template", self.template, ("moodle", "canvas")),
            ("--student", self.student, tuple(_OF_ONE)),
            ("--column", self.columns, ("canvas",)),
            ("--grade-column", self.grade_column, ("moodle",)),
            ("--feedback-column", self.feedback_column, ("moodle",)),
            ("--pseudonyms", self.pseudonyms, ("csv",)),
        ):
            if value and self.format_ not in formats:
                raise UserError(f"{option} is for --format {' and '.join(formats)}")
        if self.format_ == "canvas" and self.template is None:
            raise UserError(
                "--format canvas needs --template: the file that Canvas's Gradebook, Export gives. "
                "Scores are filled into it, since an import needs its columns just as they are."
            )
        check_json_target(self.out, "--out")
        check_json_target(self.pseudonyms, "--pseudonyms")
        for other, option in ((self.template, "--template"), (self.pseudonyms, "--pseudonyms")):
            if other is not None and other.absolute() == self.out.absolute():
                raise UserError(f"--out and {option} name the same file; choose another for --out")


def _export_one(standing: Standing, options: _ExportOptions) -> None:
    """Writes what is one student's. Raises UserError, NumalabError and OSError."""
    rows, problems = _one_student(standing, options.student, _OF_ONE[options.format_])
    if options.format_ == "gradescope":
        data = results(rows, problems)
    else:
        run = classroom50.read_runner_context(shell_variables.numalab_environment())
        data = classroom50.result(rows, problems, run, datetime.now().astimezone())
    write_json(options.out, data)


@gradebook.command(short_help="The codes by which students write their variants.")
@_course_argument
@click.option(
    "--students", type=click.Path(path_type=Path), metavar="FILE",
    help="The list of the class, as for `batch grade`; before the first hand-in.",
)  # fmt: skip
@click.option(
    "--csv", "csv_path", type=click.Path(path_type=Path), metavar="FILE",
    help="Write a table, which nobody else may read.",
)  # fmt: skip
@click.option("--for", "student", metavar="ID", help="Only this student's.")
@list_column_option
def codes(
    root: Path, students: Path | None, csv_path: Path | None, student: str | None,
    list_columns: Sequence[str],
) -> None:  # fmt: skip
    """The code of each student, to be sent to that student alone: with it ./numalab variant writes
    the student's own variant of a lab. A variant that was made by another code is not taken.

    They follow from COURSE/secret, which is made here and has to be kept: with another one all
    variants are others. Whoever has the codes can read everybody's variants.

    \b
    Examples:
      ./numalab gradebook codes course --students class.csv --csv codes.csv
      ./numalab gradebook codes course --for ada
    """
    from numalab.course.codes import format_codes, list_codes
    from numalab.course.intake.student_list import parse_column_options

    course = CourseFolder(root.resolve())
    found, remarks = list_codes(course, students, parse_column_options(list_columns))
    if student is not None:
        found = [one for one in found if one[0].id == student]
        if not found:
            raise UserError(
                f"--for {student}: the course knows no such student; ./numalab gradebook codes "
                f"{root} lists all"
            )
    if csv_path is not None:
        write_named(csv_path, format_codes(found), "--csv", write_private)
        click.echo(
            wrapped(
                f"{csv_path} has {words.count(len(found), 'code')}. Keep it to yourself, and send "
                "each student the one line."
            ),
            err=True,
        )
    else:
        width = max(len(one.id) for one, _ in found)
        for one, seed in found:
            click.echo(f"{one.id:<{width}}  {seed.code}  {visible(one.name)}".rstrip())
    _tell(remarks)


@gradebook.command(short_help="Hand-ins that say the same.")
@_course_argument
@click.pass_obj
def alike(installation: Installation, root: Path) -> None:
    """Whose kernels say the same as the public solution, or as each other, whatever names and
    blanks they have; of what was handed in last. For you to look at: in a lab whose solution is one
    line, those who have understood it write that line. Nothing is taken off for it.

    \b
    Example:
      ./numalab gradebook alike course
    """
    from numalab.course.similarity import find_equal_kernels

    found = find_equal_kernels(_open(root), installation)
    for one in found:
        changed = f"{one.changed} words and signs are not the handout's"
        whose = ", ".join(one.students)
        click.echo(
            wrapped(
                f"{one.lab} {LANGUAGE_NAMES[one.language]}, {one.description} ({changed}): {whose}"
            )
        )
    if not found:
        click.echo("No kernels say the same, but for handouts.")


@gradebook.command(short_help="What is kept of students, for how long: to hand out.")
@_course_argument
@click.option(
    "--until", metavar="DATE",
    help="When you will remove the course's folder. Left out: kept_until of course.toml.",
)  # fmt: skip
@click.option("--contact", metavar="WHO", help="Whom students ask. Left out: contact there.")
@click.pass_obj
def privacy(installation: Installation, root: Path, until: str | None, contact: str | None) -> None:
    """One paragraph for students: what a course keeps of them, where, who sees it, and until when.

    \b
    Example:
      ./numalab gradebook privacy course --until 2027-10-01 \\
          --contact office@example.org
    """
    from numalab.course.privacy import paragraph

    rules = rules_of_course(installation, CourseFolder(root))
    told = paragraph(rules.title, until or rules.kept_until, contact or rules.contact)
    click.echo(wrapped(told))


@gradebook.command(short_help="Grades for a course's system.")
@_course_argument
@click.option(
    "--format", "format_", type=click.Choice(FORMATS), required=True, help="What it is for."
)
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="FILE", required=True, help="Written whole."
)
@_labs_option
@click.option(
    "--template", type=click.Path(path_type=Path), metavar="FILE",
    help="The file to fill: Moodle's grading worksheet, or Canvas's exported gradebook.",
)  # fmt: skip
@click.option("--student", metavar="ID", help="Gradescope, Classroom 50: whose file it is.")
@click.option(
    "--column", "columns", metavar="LAB=TITLE", multiple=True,
    help="Canvas: the assignment of a lab, where its title does not tell; may be repeated.",
)  # fmt: skip
@click.option("--grade-column", metavar="NAME", help="Moodle, where its name is not known.")
@click.option("--feedback-column", metavar="NAME", help="The same for feedback comments.")
@click.option(
    "--pseudonyms", type=click.Path(path_type=Path), metavar="FILE",
    help="csv: instead of names; FILE says whose they are, and is made where it is not there.",
)  # fmt: skip
@click.pass_obj
@taking_one(_ExportOptions)
def export(installation: Installation, options: _ExportOptions) -> int:
    """Write grades for a course's system. Who has no grade is left as the system has it, and
    told: an infrastructure failure is never a zero.

    \b
    csv         a row for each student and lab
    moodle      the offline grading worksheet of one assignment: download it
                there, fill it with --template, upload it there again
    canvas      the gradebook that Canvas exported, filled with --template
    gradescope  results.json of one student
    classroom50 result.json of one student, in an autograder of Classroom 50
    junit       a report that GitLab shows beside a pipeline

    \b
    Examples:
      ./numalab gradebook export course --format csv --out grades.csv
      ./numalab gradebook export course --format csv --out open.csv \\
          --pseudonyms whose.csv
      ./numalab gradebook export course --format moodle --lab 01 \\
          --template Grades-PP-Lab1-4711.csv --out upload.csv
      ./numalab gradebook export course --format canvas \\
          --template Grades-PP101.csv --column "01=First lab" --out import.csv
      ./numalab gradebook export course --format gradescope \\
          --out /autograder/results/results.json
      ./numalab gradebook export course --format junit --out numalab.xml
    """
    options.check()
    named = _columns(installation, options.columns)
    standing = standing_of(installation, options.root, options.labs)
    if options.format_ in _OF_ONE:
        _export_one(standing, options)
        _tell_problems(standing)
    elif options.format_ == "junit":
        write_whole(options.out, junit.report(standing.rows, standing.problems))
        _tell_problems(standing)
    else:
        made = _table(standing, options, named)
        write_whole(options.out, made.text)
        _tell_problems(standing)
        _tell(made.remarks)
    click.echo(f"{options.out} is written.", file=sys.stderr)
    return EXIT_PASSED


def _table(standing: Standing, options: _ExportOptions, named: dict[str, str]) -> ExportedFile:
    template = options.template
    if options.format_ == "canvas":
        assert template is not None
        return canvas.fill_table(read_table(template), standing.rows, named, str(template))
    if options.format_ == "moodle":
        rows = _one_lab(standing)
        if template is None:
            return moodle.worksheet(rows)
        return moodle.fill_worksheet(
            read_table(template), rows, str(template), options.grade_column, options.feedback_column
        )
    if options.pseudonyms is not None:
        students = (row.student for row in standing.rows)
        return exports.export_pseudonymous(standing, assign(options.pseudonyms, students))
    return exports.export_csv(standing)


# ---- fixing ----------------------------------------------------------------------------


@gradebook.command(short_help="Make the gradebook again from what was graded.")
@_course_argument
def rebuild(root: Path) -> None:
    """Make COURSE/gradebook.sqlite again from the deliveries and attempts that are kept beside
    it. Nothing that is graded is lost with that file; what was set by hand lies in course.toml.

    \b
    Example:
      ./numalab gradebook rebuild course
    """
    course = _open(root)
    with progress_line("rebuild") as progress:
        books.rebuild(course, progress)
    click.echo(f"{course.gradebook} is made again.")
