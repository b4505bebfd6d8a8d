"""Shows and keeps what a grading finds, as it goes: what the commands hand to it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

import click
import msgspec
from rich.text import Text

import numalab
from numalab.commands.shared import progress_line, shown_path
from numalab.diagnosing.handed_in import diagnosis_words, score_diagnosis
from numalab.errors import NumalabError, wrapped
from numalab.evidence.record import Json
from numalab.files import read_json, write_json, write_whole
from numalab.grading.graded import GradedKernel
from numalab.grading.request import Graded, Listener, Request, grade_all
from numalab.grading.timing_reuse import RECORD
from numalab.grading.vm_gradings import left_out
from numalab.harness.sandbox import level_of
from numalab.installation import Installation
from numalab.learning import progress
from numalab.learning.initial_answers import keep_initial_answers, keep_record
from numalab.palette import keep_matplotlib_in
from numalab.reports import report, verdict_words
from numalab.reports.occasion import Occasion, Submission
from numalab.reports.roofline import roof_lines, roofs
from numalab.reports.timing_plot import timing_lines
from numalab.terminal import make_console
from numalab.virtual.place import VirtualPlaces


def note(text: str) -> None:
    """To whoever watches, beside the results."""
    click.echo(click.wrap_text(text, 78), err=True)


def waits(text: str) -> None:
    """What a command waits for, before it begins."""
    note(f"numalab: {text}")


@dataclass
class Reporter:
    """One grading at the terminal. explain: show how the times were decided; again: what to do
    about times that stayed open, this command if left out; before_report: called once, before
    anything is shown."""

    installation: Installation
    request: Request
    places: VirtualPlaces
    explain: bool = False
    again: str | None = None
    before_report: Callable[[], None] = lambda: None
    kernels: list[GradedKernel] = field(default_factory=list)

    def grade(self) -> Graded:
        """Grade as the request says, show each kernel when it is graded, and then what is to
        be said of all. Raises UserError, NumalabError, Interrupted and OSError."""
        listener = Listener(progress_line, note, self._show)
        graded = grade_all(self.installation, self.request, self.places, listener)
        for name in graded.machines:
            click.echo("\n" + click.wrap_text(f"({self.places.note(name)})", 78))
        for lab in {kernel.lab.name: kernel.lab for kernel in self.kernels}.values():
            missing = left_out(lab, [machine.name for machine in self.request.named_machines])
            if missing is not None:
                click.echo("\n" + click.wrap_text(f"({missing})", 78))
        report.show_summary(make_console(), graded.verdicts)
        self._show_diagnoses()
        return graded

    def _show_diagnoses(self) -> None:
        """What a diagnose.toml beside the kernels is worth."""
        for lab in {kernel.lab.name: kernel.lab for kernel in self.kernels}.values():
            found = score_diagnosis(
                self.installation, lab, self.request.folder(self.installation, lab)
            )
            if found is not None:
                click.echo("\n" + click.wrap_text(diagnosis_words(lab.name, found), 78))

    def close(self, graded: Graded) -> None:
        """The last words, after all files are written."""
        if graded.not_kept is not None:
            click.echo(wrapped(f"numalab: {graded.not_kept}"), err=True)
        if graded.interrupted:
            click.echo("numalab: interrupted; what was found so far is above", err=True)

    def _show(self, graded: GradedKernel) -> None:
        again = self.again or verdict_words.grade_again(f"./numalab {shlex.join(sys.argv[1:])}")
        # A batch never takes new ones, and says itself what to do.
        kernel = replace(graded, again=again, afresh="" if self.again else verdict_words.AFRESH)
        if not self.kernels:
            self.before_report()
        self.kernels.append(kernel)
        show_kernel(kernel, self.explain)
        if self.request.is_own:
            self._keep_said(kernel)
            self._keep_progress(kernel)

    def _keep_said(self, kernel: GradedKernel) -> None:
        """What was predicted first, beside it, with the record that came next. Raises
        NumalabError."""
        found = kernel.predictions
        if found is None:
            return
        said = {one.name: one.predicted for one in found.quantities if one.predicted is not None}
        folder = self.request.folder(self.installation, kernel.lab)
        verdict = kernel.verdict
        results = self.installation.results_folder(verdict.lab, verdict.language, verdict.variant)
        keep_initial_answers(folder, "prediction", said, progress.now())
        record = read_json(results / RECORD)
        if isinstance(record, dict):
            keep_record(folder, [record])

    def _keep_progress(self, kernel: GradedKernel) -> None:
        """Raises NumalabError."""
        result = progress.result_of(
            kernel.lab,
            kernel.verdict,
            progress.now(),
            self.request.quick,
            self.request.no_times is not None,
            self.request.machine_names,
            kernel.interrupted,
        )
        progress.keep_result(self.installation, kernel.lab, kernel.verdict, result)

    # ---- files -----------------------------------------------------------------------

    def write_json(self, path: Path, graded: Graded) -> None:
        """Raises NumalabError."""
        data = result_json(graded, level_of(self.request.sandbox))
        for kernel, result in zip(graded.kernels, data["results"], strict=True):
            folder = self.request.folder(self.installation, kernel.lab)
            diagnosis = score_diagnosis(self.installation, kernel.lab, folder)
            if diagnosis is not None:
                result["diagnosis"] = diagnosis
        write_result(path, data)

    def write_html(self, path: Path, graded: Graded) -> None:
        """Raises NumalabError."""
        graded_at = datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z")
        machines = [(name, self.places.note(name)) for name in graded.machines]
        occasion = Occasion(graded_at, graded.node, machines, graded.interrupted)
        write_page(self.installation, path, self.kernels, occasion)


def show_kernel(kernel: GradedKernel, explain: bool) -> None:
    """explain: also how its times were decided."""
    console = make_console()
    columns = console.width - 4
    lines: list[Text] = []
    if explain:
        lines += timing_lines(kernel.lab, kernel.accounts, kernel.local_evidence, columns)
        for roof in roofs(kernel.lab, kernel.accounts, kernel.local_evidence):
            lines += [Text(), *roof_lines(roof, columns)]
    report.show_verdict(console, kernel, lines)


def result_json(graded: Graded, sandbox: str) -> Json:
    """As --json has it. sandbox: what kernels ran in."""
    return {
        "schema": 1,
        "kit_version": numalab.__version__,
        "interrupted": graded.interrupted,
        "sandbox": sandbox,
        "node": {key: value for key, value in graded.node.items() if key != "pu_list"},
        "machines": [msgspec.to_builtins(machine) for machine in graded.machines.values()],
        "results": [kernel.json_data() for kernel in graded.kernels],
    }


def write_result(path: Path, data: Json) -> None:
    """Raises NumalabError."""
    try:
        write_json(path, data)
    except OSError as error:
        raise NumalabError(f"the results can't be written to {path}: {error}") from error


def write_page(
    installation: Installation, path: Path, kernels: Sequence[GradedKernel], occasion: Occasion
) -> None:
    """Write the page of graded kernels to a file, and print where it is. Raises NumalabError if it
    can't be made or written."""
    try:
        with progress_line("page") as step:
            step("drawing")
            keep_matplotlib_in(installation.build / "matplotlib")
            from numalab.reports.html_page import page  # matplotlib, once it has its folder

            write_whole(path, page([Submission("", kernels)], occasion))
    except (ImportError, OSError) as error:
        raise NumalabError(f"the page can't be written to {path}: {error}") from error
    click.echo(f"\nPage: {shown_path(path)}")
