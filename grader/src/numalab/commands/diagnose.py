"""./numalab diagnose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from numalab.commands.completing import complete_lab
from numalab.commands.shared import progress_line, shown_path, taking_one, virtual_places
from numalab.commands.which_lab import named_lab
from numalab.commands.whose import seed_of_options, whose_options
from numalab.diagnosing.case import Case, CaseQuestion, make_case
from numalab.diagnosing.case_run import CaseRun, run_case
from numalab.diagnosing.handed_in import (
    FILE,
    Answer,
    answered,
    file_text,
    keep_first,
)
from numalab.diagnosing.report import (
    LETTERS,
    chosen_by_letters,
    graded_lines,
    question_lines,
    report_lines,
    some_letters,
)
from numalab.errors import Interrupted, NumalabError, UserError, reason_of, wrapped
from numalab.exit_codes import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_PASSED
from numalab.files import write_whole
from numalab.installation import Installation
from numalab.labs.declaration import LANGUAGES
from numalab.labs.seeds import Seed
from numalab.terminal import make_console

SHEET = "case.txt"
_COLUMNS = 78


@dataclass(frozen=True)
class _Options:
    """As they stand on the command line; see the help of each."""

    name: str
    owner: str | None
    code: str | None
    course: Path | None
    seed: str | None
    language: str | None
    answers: str | None
    sheet: Path | None

    def whose(self) -> Seed:
        """Raises UserError for what does not go together."""
        whose = seed_of_options(self.owner, self.code, self.course, self.seed)
        if self.language is not None and self.seed is None:
            raise UserError("the case of a code has its language; --lang goes with --seed")
        if self.answers is not None and self.sheet is not None:
            raise UserError("--answers and --write exclude each other")
        return whose


@click.command(short_help="Tell a mistake from its report: a case of your own.")
@click.argument("name", metavar="LAB", shell_complete=complete_lab)
@whose_options
@click.option(
    "--lang",
    "language",
    type=click.Choice(LANGUAGES),
    help="Of a kernel in this language. Left out: drawn, as all else; what is handed in has no "
    "choice.",
)
@click.option(
    "--answers",
    metavar="a,b,c",
    help="A letter for each question, in the place of being asked.",
)
@click.option(
    "--write",
    "sheet",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help=f"Ask nothing: write the report with its questions to DIR/{SHEET}, and a {FILE} to fill "
    "in, for who has no solutions in his copy.",
)
@click.pass_obj
@taking_one(_Options)
def diagnose(installation: Installation, options: _Options) -> int:
    """Run a kernel with a mistake, drawn from your code, and show what its report would: who
    touches which page, who works, what comes out. You say what is wrong, what it would fail
    on another machine, and what would cure it.

    Nothing is timed. Your first answers are kept in the lab's folder as diagnose.toml, which
    is handed in; with --seed nothing is kept.

    \b
    Examples:
      ./numalab diagnose 01 --for ada --code 7KX-0QM-2F9
      ./numalab diagnose 03 --seed today              to study alone
      ./numalab diagnose 01 --seed 17 --lang fortran --answers a,c,b
      ./numalab diagnose 01 --for ada --course course --write ada   staff
    """
    installation.need_solutions("./numalab diagnose")
    whose = options.whose()
    lab = named_lab(installation, options.name, False)[1]
    lab.need_language(options.language)
    case = make_case(installation, lab, whose, options.language)
    chosen = None if options.answers is None else chosen_by_letters(case, options.answers)
    try:
        looked = _looked(installation, case)
    except (Interrupted, KeyboardInterrupt):
        click.echo("numalab: interrupted; nothing was answered", err=True)
        return EXIT_INTERRUPTED
    if options.sheet is not None:
        return _write(options.sheet, case, looked)
    console = make_console()
    for line in report_lines(case, looked, console.width - 2):
        console.print(line)
    if chosen is None:
        chosen = _asked(case)
    else:
        for question in case.questions:
            click.echo()
            _show(question)
    if chosen is None:
        return EXIT_INTERRUPTED
    return _graded(installation, case, answered(case, chosen), is_kept=options.seed is None)


def _looked(installation: Installation, case: Case) -> CaseRun:
    with (
        installation.lock(),
        virtual_places(installation) as places,
        progress_line(case.name) as progress,
    ):
        return run_case(installation, case, places, progress)


def _show(question: CaseQuestion) -> None:
    for line in question_lines(question, _COLUMNS):
        click.echo(line)


def _asked(case: Case) -> dict[str, str] | None:
    """None where nobody answers."""
    chosen = {}
    for number, question in enumerate(case.questions, 1):
        click.echo(f"\nQuestion {number} of {len(case.questions)}")
        _show(question)
        while True:
            try:
                letter = click.prompt("Your answer (a to d)", default="", show_default=False)
            except click.Abort:
                click.echo(
                    f"\nnumalab: no answer, so that nothing is kept. With --answers "
                    f"{some_letters(case)} nothing is asked.",
                    err=True,
                )
                return None
            letter = letter.strip().lower().removesuffix(")")
            if letter in tuple(LETTERS):
                break
            click.echo("Write a, b, c or d; Ctrl-C ends it.")
        chosen[question.name] = question.choices[LETTERS.index(letter)]
    return chosen


def _graded(
    installation: Installation, case: Case, answers: Sequence[Answer], is_kept: bool
) -> int:
    click.echo()
    for line in graded_lines(case, answers, _COLUMNS):
        click.echo(line)
    if is_kept:
        chosen = {answer.question: answer.chosen for answer in answers}
        folder = installation.own_folder(case.lab.name)
        is_first = keep_first(folder, case, chosen)
        path = shown_path(folder / FILE)
        told = f"Kept in {path}; hand it in beside your kernel."
        if not is_first:
            told = f"{path} has the answers that you gave first: those count."
        click.echo(wrapped(told))
    return EXIT_PASSED if all(answer.is_correct for answer in answers) else EXIT_FAILED


def _write(folder: Path, case: Case, looked: CaseRun) -> int:
    """Raises NumalabError."""
    lines = [line.plain.rstrip() for line in report_lines(case, looked, _COLUMNS)]
    for number, question in enumerate(case.questions, 1):
        lines += ["", f"Question {number} of {len(case.questions)}"]
        lines += question_lines(question, _COLUMNS)
    lines += ["", f"Write your answers into {FILE}, and hand it in beside your kernel."]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / SHEET, "\n".join(lines) + "\n")
        write_whole(folder / FILE, file_text(case))
    except OSError as error:
        raise NumalabError(
            f"can't write to {folder}: {reason_of(error)}. Free it and retry."
        ) from error
    click.echo(wrapped(f"The case is in {shown_path(folder)}: {SHEET} and {FILE}."))
    return EXIT_PASSED
