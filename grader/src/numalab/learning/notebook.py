"""Labs in a notebook: %load_ext numalab, then

    lab = open_notebook("01_first_touch")

    %%kernel 01_first_touch c              the cell is the kernel: built, run, judged
    %%labfile 02_affinity omp_spread.env   the cell is another file that is handed in

Cells' texts are kept in notebooks/NN_name/; cell_files.py decides what a cell may replace there.
"""

from __future__ import annotations

import io
import shlex
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import click
from matplotlib.figure import Figure
from matplotlib.text import Text

from numalab.diagnosing import handed_in as diagnosis_file
from numalab.diagnosing.case import make_case
from numalab.diagnosing.case_run import CaseRun, run_case
from numalab.diagnosing.handed_in import answered, keep_first
from numalab.diagnosing.report import (
    chosen_by_letters,
    graded_lines,
    question_lines,
    report_lines,
    some_letters,
)
from numalab.errors import Interrupted, NothingToDraw, NumalabError, UserError
from numalab.evidence.record import Json
from numalab.grading import explanation
from numalab.grading.handed_files import complaint_of
from numalab.grading.timing_reuse import alike
from numalab.harness.monitor import describe_node
from numalab.labs.declaration import KERNEL_FILES
from numalab.labs.seeds import chosen_seed, seed_of_code
from numalab.learning.api import LearnerLab, find_lab, starting_text
from numalab.learning.basis import Basis
from numalab.learning.cell_files import CellFile, know_notebook, this_notebook
from numalab.learning.comparing import Measured, StartingRuns, rows, table
from numalab.learning.initial_answers import keep_initial_answers, keep_record
from numalab.learning.predictions import (
    PredictedOn,
    Value,
    keep_predictions,
    read_predictions,
    read_published,
    words,
)
from numalab.learning.progress import now
from numalab.learning.questions import find_question, first_answer
from numalab.learning.run import Run, check_file
from numalab.terminal import WIDTH
from numalab.virtual.place import VirtualPlaces
from numalab.virtual.plan import GuestOptions

LINE = 72  # columns of the progress line


# ---- the lab in a notebook -----------------------------------------------------------


class ProgressLine:
    """A line below a cell that shows the current step, until clear() blanks it."""

    def __init__(self) -> None:
        self._is_written = False

    def __call__(self, step: str) -> None:
        print(f"\r{step[:LINE]:<{LINE}}", end="", flush=True)
        self._is_written = True

    def clear(self) -> None:
        if self._is_written:
            print(f"\r{'':<{LINE}}\r", end="", flush=True)
            self._is_written = False


@dataclass(frozen=True)
class NotebookLab(LearnerLab):
    """A lab in a notebook: files in notebooks/NN_name/, predictions, questions, explanations."""

    line: ProgressLine = field(default_factory=ProgressLine, repr=False)
    # By the case's name and language.
    case_runs: dict[tuple[str, str], CaseRun] = field(default_factory=dict, repr=False)

    @contextmanager
    def _line(self) -> Iterator[None]:
        """Clear the progress line at the end of a block, and turn Ctrl-C into Interrupted."""
        try:
            yield
        except KeyboardInterrupt as error:  # such as while it waits for a lock
            raise Interrupted from error
        finally:
            self.line.clear()

    @contextmanager
    def _calling(self, what: str, *how: str) -> Iterator[Basis]:
        with self._line(), super()._calling(what, *how) as basis:
            yield basis

    def _keep(self, run: Run, *, is_whole: bool) -> None:
        keep_record(self.folder, run.records)
        if is_whole:
            StartingRuns(self).keep(run)

    def node(self) -> Json:
        """Return the record of this machine: see help(LearnerLab.node)."""
        with self._line():
            return super().node()

    # ---- predictions, questions and explanations

    def predict(self, **values: Value | None) -> None:
        """Keep what you expect, and print it. If you change a value, your first one is kept, too.

        Args:
            values: a number or a text by the prediction's name; None: not predicted yet. A share
                is between 0 and 1.

        Raises:
            UserError: a value can't be compared with a measurement, such as a number in quotes, or
                a share is not between 0 and 1.
            NumalabError: the predictions can't be written.
        """
        before = read_predictions(self.folder)
        kept = keep_predictions(self.folder, values, self._predicted_on())
        new = {name: said.first for name, said in kept.items() if name not in before}
        keep_initial_answers(self.folder, "prediction", new, now())
        for name in values:
            if name in kept:
                print(f"{words(name)}: {kept[name].text}")
        missing = [words(name) for name in values if name not in kept]
        if missing:
            print(f"Not predicted yet: {', '.join(missing)}.")

    def _predicted_on(self) -> PredictedOn | None:
        """Return this machine; None where describe_node is not built yet or fails."""
        if not self.installation.describe_node.is_file():
            return None
        try:
            node = describe_node(self.installation)
        except NumalabError:
            return None
        return PredictedOn(str(node["name"]), alike(node))

    def compare(self, **measured: Measured) -> None:
        """Print your predictions next to measured values, your own and published ones.

        A value is hidden as long as its prediction is missing.

        Args:
            measured: by the prediction's name a value; or a run of yours with a criterion's name or
                a function that makes a value of a run. The value of the starting code's run is then
                shown, too, unless the criterion is a speedup over it; that run may be made now.

        Raises:
            UserError: such as that nothing was judged by a criterion's name.
            NumalabError: such as that the published values can't be read.
            Interrupted: you interrupted the starting code's run.
        """
        published = read_published(self.installation.solution_folder(self.name))
        with self._line():
            kept = read_predictions(self.folder)
            found = list(rows(kept, measured, published, StartingRuns(self).find))
        print(table(found))
        asked = (given[0] for given in measured.values() if isinstance(given, tuple))
        for warning in dict.fromkeys(warning for run in asked for warning in run.warnings):
            print(textwrap.fill(warning, WIDTH))

    def question(self, name: str, answer: str = "") -> None:
        """Print a question of the lab, and check an answer. Your first answer is kept.

        Args:
            name: the question's name.
            answer: the letter of a choice; left out or blank: nothing is checked.

        Raises:
            UserError: there is no such question or choice.
            NumalabError: the questions can't be read, or your answer can't be written.
        """
        question = find_question(self.installation, self.name, name)
        print(question.question_text())
        if not answer.strip():
            print("\nNo answer yet: write a letter between the quotes, and run the cell again.")
            return
        letter = question.letter(answer)
        first, is_new = first_answer(self.folder, name, letter)
        if is_new:
            keep_initial_answers(self.folder, "question", {name: letter}, now())
        before = f" (Your first answer was {first}.)" if first != letter else ""
        print(f"\n{question.checked(letter)}{before}")

    def diagnose(
        self,
        answers: str = "",
        *,
        seed: str = "",
        owner: str = "",
        code: str = "",
        language: str | None = None,
    ) -> None:
        """Print the report of a kernel with a mistake, and questions on it; check your answers.

        Args:
            answers: a letter for each question, such as "b,a,c"; left out: no check.
            seed: "today" or a number, to study alone.
            owner, code: as your instructor sent them; then your first answers are kept.
            language: "c" or "fortran"; left out: as the case is drawn. It counts only with seed.

        Raises:
            UserError: seed and owner or code together, ones that can't be, letters that are no
                choices, or a student copy of numalab, which can't make cases.
            NumalabError: the case can't be run, or the answers can't be written.
        """
        if not seed and not (owner or code):
            print(
                'No case yet: write seed="today" (or a number), or owner= and code= as they '
                "were sent to you."
            )
            return
        if seed and (owner or code):
            raise UserError("seed= is to study alone, without owner= and code=")
        self.installation.need_solutions("lab.diagnose()")
        whose = chosen_seed(seed, date.today()) if seed else seed_of_code(owner, code)
        case = make_case(self.installation, self.declared, whose, language if seed else None)
        chosen = chosen_by_letters(case, answers) if answers.strip() else None
        key = (case.name, case.language)
        if key not in self.case_runs:
            with (
                self._line(),
                self.installation.lock(self.progress),
                VirtualPlaces(self.installation, GuestOptions()) as places,
            ):
                self.case_runs[key] = run_case(self.installation, case, places, self.progress)
        for line in report_lines(case, self.case_runs[key], WIDTH):
            print(line.plain.rstrip())
        for question in case.questions:
            print("\n" + "\n".join(question_lines(question, WIDTH)))
        if chosen is None:
            print(f'\nNo answers yet: write letters, as in "{some_letters(case)}".')
            return
        print("\n" + "\n".join(graded_lines(case, answered(case, chosen), WIDTH)))
        if not seed:
            is_first = keep_first(self.folder, case, chosen)
            path = self.installation.shown(self.folder / diagnosis_file.FILE)
            print(f"Kept in {path}." if is_first else f"{path} has your first answers: they count.")

    def explain(self, text: str, *, replace: bool = False) -> None:
        """Keep your explanation of your result in a file to hand in.

        Args:
            text: about three sentences; blank: nothing is kept.
            replace: whether to replace the file whatever is in it, as for write().

        Raises:
            UserError: the text is too long, or a cell may not replace the file, as for write().
            NumalabError: the file can't be written.
        """
        told = text.strip()
        if not told:
            print("Nothing said yet: write between the quotes, and run the cell again.")
            return
        if len(told) > explanation.LONGEST:
            raise UserError(
                f"that is {len(told):,} characters; {explanation.LONGEST:,} are kept. "
                "Three sentences are asked for."
            )
        again = "lab.explain(..., replace=True)"
        path = self.write(explanation.FILE, f"{told}\n", replace=replace, again=again)
        count = explanation.sentences(told)
        print(f"Kept in {self.installation.shown(path)}; hand it in beside your kernel.")
        if count > 2 * explanation.EXPECTED_SENTENCES:
            print(f"It has {count} sentences. Which {explanation.EXPECTED_SENTENCES} say it all?")

    def show(self, draw: Callable[..., Figure], *args: Any, **kwargs: Any) -> Figure | None:
        """Return a figure, or print why there is none and return None: lab.show(run.touch_map).

        So the cells below can be run with a kernel that does not work yet.

        Args:
            draw: a method that draws, such as run.touch_map, not its result.
            args, kwargs: what to call it with.
        """
        try:
            return draw(*args, **kwargs)
        except NothingToDraw as error:
            print(f"No picture: {error}")
            return None

    # ---- files

    def write(
        self, name: str, text: str, *, replace: bool = False,
        again: str = "lab.write(..., replace=True)",
    ) -> Path:  # fmt: skip
        """Write a text to a file of the lab, and return its path.

        Args:
            name: the file's name, such as kernel.c.
            text: its new content.
            replace: whether to replace the file whatever is in it.
            again: what the refusal tells you to write instead.

        Raises:
            UserError: a cell may not replace what is in the file (cell_files.py); it stays.
            NumalabError: a file can't be read or written.
        """
        given = self._given().get(name)
        path = self.folder / name
        copy = CellFile(path, this_notebook(), given, again).write(text, replace=replace)
        if copy is not None:
            print(f"What was in {name} is kept in {copy.name} beside it.")
        return path

    def _given(self) -> dict[str, str]:
        """Return the texts of the starting code, by file name."""
        texts = {
            KERNEL_FILES[language]: self.handout(language) for language in self.declared.languages
        }
        for file in self.declared.files:
            text = starting_text(self, file.name)
            if text is not None:
                texts[file.name] = text
        return texts

    def start(self) -> None:
        """Write the files of the starting code that are missing. Raises NumalabError where one
        can't be written, and as handout()."""
        for name, text in self._given().items():
            CellFile(self.folder / name, this_notebook(), text, "").begin()


def open_notebook(name: str) -> NotebookLab:
    """Return a lab for a notebook, by its name or number, or by a variant's name.
    Files of its starting code that are missing in notebooks/NN_name/ are written there. Raises as
    find_lab, and NumalabError where files can't be written."""
    opened = find_lab(name)
    line = ProgressLine()
    folder = opened.installation.notebooks / opened.name
    lab = NotebookLab(opened.installation, opened.declared, folder, progress=line, line=line)
    lab.start()
    return lab


# ---- magics ------------------------------------------------------------------------

_replace_option = click.option(
    "--replace", is_flag=True, help="Whatever is in the file, of which a copy is kept."
)


@click.command("kernel", add_help_option=True)
@click.argument("lab")
@click.argument("language")
@click.option("--on", metavar="MACHINE", help="Look at it on this virtual node, too.")
@click.option("--times", is_flag=True, help="Race it with the solution.")
@click.option("--into", default="run", show_default=True, help="Variable that gets the run.")
@_replace_option
@click.pass_obj
def _kernel(
    cell: _Cell, lab: str, language: str, on: str | None, times: bool, into: str, replace: bool
) -> Run | None:
    """The cell is the kernel of LAB in LANGUAGE (c or fortran): build it, run it, look.

    \b
    Examples:
      %%kernel 01_first_touch c
      %%kernel 01_first_touch fortran --on hydra
    """
    if not into.isidentifier():
        raise UserError(f"--into {into}: that is no name for a variable")
    opened = open_notebook(lab)
    opened.check_language(language)
    chosen = cell.names.get("language", language)
    if chosen != language:
        print(f'Left out: language is "{chosen}", and this cell is in {language}.')
        return None
    on_machine = opened.on(on) if on else opened
    path = opened.write(KERNEL_FILES[language], cell.text, replace=replace, again=cell.again)
    # By its text, since the file may be written to while this waits for its turn.
    run = on_machine.run(language, cell.text, times=times).placed_in(opened.folder)
    cell.names[into] = run
    print(run)
    print(_handing_in(opened, path, language))
    return None


@click.command("labfile", add_help_option=True)
@click.argument("lab")
@click.argument("name")
@_replace_option
@click.pass_obj
def _labfile(cell: _Cell, lab: str, name: str, replace: bool) -> None:
    """The cell is the file NAME that is handed in beside the kernel of LAB.

    \b
    Example:
      %%labfile 02_affinity omp_spread.env
    """
    opened = open_notebook(lab)
    file = check_file(opened.declared, name)
    path = opened.write(name, cell.text, replace=replace, again=cell.again)
    complaint = complaint_of(file, cell.text)
    if complaint is not None:
        print(textwrap.fill(f"It can't be used yet: {complaint}", WIDTH))
    print(_handing_in(opened, path, str(cell.names.get("language", ""))))


def _handing_in(lab: LearnerLab, path: Path, language: str) -> str:
    """Return how to grade and hand in a file that a cell wrote.
    language: the one that the student works in; one that the lab does not have, or an empty one:
    not known."""
    shown = lab.installation.shown(path)
    only = f" --lang {language}" if language in lab.declared.languages else ""
    return (
        f"Kept in {shown}; {lab.declared.own_place.split('/')[0]}/ is as it was.\n"
        f"To grade it where it is:  ./numalab grade {lab.declared.called}{only} "
        f"--submission {shown.parent.parent}\n"
        f"To hand it in:  cp {shown} {lab.declared.own_place}/"
    )


@dataclass(frozen=True)
class _Cell:
    """A cell with a magic: the text below the magic's line, and the notebook's variables.
    again: the magic's line with which the cell would replace the file whatever is in it."""

    text: str
    names: dict[str, Any]
    again: str


def _run_magic(command: click.Command, line: str, cell: str, names: dict[str, Any]) -> None:
    """Run a magic's command on a cell. A ValueError and click's errors become UserError."""
    text = cell if cell.endswith("\n") else cell + "\n"
    try:
        words: Sequence[str] = shlex.split(line)
        name = f"%%{command.name}"
        again = f"{name} {line.strip()} --replace"
        command.main(
            list(words), prog_name=name, standalone_mode=False, obj=_Cell(text, names, again)
        )
    except ValueError as error:
        raise UserError(f"{line}: {error}") from error
    except click.ClickException as error:
        usage = command.get_usage(click.Context(command, info_name=command.name))
        message = error.format_message()
        raise UserError(f"{message} {usage.replace('Usage: ', 'Write %%')}") from error


# ---- figures and errors in a notebook ------------------------------------------------


def description(figure: Figure) -> str:
    """Return the texts in a figure that have a letter, each once, as a description for readers who
    can't see it."""
    words = (text.get_text().strip() for text in figure.findobj(Text))
    return "; ".join(dict.fromkeys(word for word in words if any(map(str.isalpha, word))))


def _png(figure: Figure) -> tuple[bytes, dict[str, str]]:
    output = io.BytesIO()
    figure.savefig(output, format="png")
    return output.getvalue(), {"alt": description(figure)}


def _show_error(
    shell: Any, kind: type[BaseException], error: BaseException, trace: Any, tb_offset: Any = None
) -> list[str]:
    """Show an error's sentence without a traceback; of Interrupted also the run so far. Return the
    lines that were shown."""
    text = str(error)
    if isinstance(error, Interrupted):
        run = next((value for value in error.args if isinstance(value, Run)), None)
        text = f"interrupted; what was seen until then is below.\n{run}"
        if run is None:
            text = "interrupted, before there was anything to show."
    lines = [f"numalab: {text}"]
    shell._showtraceback(kind, error, lines)
    return lines


def load_ipython_extension(shell: Any) -> None:
    """Set up magics, errors, figures and open_notebook() for %load_ext numalab."""
    know_notebook(shell.user_ns.get("__vsc_ipynb_file__"))

    def magic(command: click.Command) -> Callable[[str, str], None]:
        return lambda line, cell: _run_magic(command, line, cell, shell.user_ns)

    shell.register_magic_function(magic(_kernel), "cell", "kernel")
    shell.register_magic_function(magic(_labfile), "cell", "labfile")
    shell.set_custom_exc((UserError, NumalabError, Interrupted), _show_error)
    shell.display_formatter.formatters["image/png"].for_type(Figure, _png)
    shell.user_ns["open_notebook"] = open_notebook
