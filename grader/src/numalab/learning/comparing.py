"""What was predicted beside what was measured: of the starting code, if the prediction is about
that, and of the learner's own as it is now."""

from __future__ import annotations

import hashlib
import json
import tempfile
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from numalab.errors import NumalabError, UserError
from numalab.files import write_json
from numalab.grading.file_choice import language_digests
from numalab.grading.timing_reuse import alike
from numalab.judging.places import LOCAL
from numalab.judging.timing_claims import SPEEDUP
from numalab.labs.kernel_names import file_names
from numalab.learning.api import LearnerLab
from numalab.learning.predictions import PredictedOn, Prediction, Published, Value, shown, words
from numalab.learning.run import Run, load_run

# ---- runs of starting code -----------------------------------------------------------


FOLDER = "starting_code"
LABEL = "starting code"


@dataclass(frozen=True)
class StartingRun:
    """run: None where there is none; note: what has to be said of it, may be empty."""

    run: Run | None
    note: str = ""


@dataclass(frozen=True)
class StartingRuns:
    """Those of a lab, in its learner's folder."""

    lab: LearnerLab

    def keep(self, run: Run) -> None:
        """Keep what was seen of a run of all of the starting code; of any other nothing. A run
        that can't be kept is made again when it is needed."""
        if run.is_recorded:
            return
        for (where, evidence), record in zip(run.places, run.records, strict=True):
            is_whole = evidence.build.status == "ok" and not evidence.interrupted
            if evidence.is_starting_code and is_whole:
                path = self._path(evidence.language, where, alike(run.here.node))
                try:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    write_json(path, record, indent=None)
                except OSError:
                    return

    def find(self, run: Run, predicted_on: PredictedOn | None = None) -> StartingRun:
        """Return starting code's run in the language of a run, and at its place; of this node that
        on whose like the prediction was made, if it is kept. Raises Interrupted."""
        node, language = alike(run.here.node), run.verdict.language
        note = ""
        if run.where == LOCAL and predicted_on is not None and predicted_on.alike != node:
            name = predicted_on.name
            kept = self._kept(language, LOCAL, predicted_on.alike)
            if kept is not None:
                return StartingRun(
                    kept, f"predicted on {name}, so the starting code's value is of {name}"
                )
            note = (
                f"predicted on {name}, where no run of the starting code was kept; its value is of "
                "this node. Run your notebook there, too"
            )
        if run.is_recorded:
            told = f"recorded on {run.where}, of the starting code in C; nothing ran there now"
            return StartingRun(run, told)
        if run.verdict.unchanged:
            return StartingRun(run, note)
        kept = self._kept(language, run.where, node)
        if kept is not None:
            return StartingRun(kept, note)
        made = self._made(language, run.where)
        return replace(made, note=made.note or note)

    def _path(self, language: str, where: str, node: list[Any]) -> Path:
        """Of a run that is kept. Its name has a digest of the starting code, which is another one
        once the lab's files or its variant are given anew, and of what this node is like."""
        digests = language_digests(self.lab.installation, self.lab.declared, language)
        of_node = node if where == LOCAL else None
        digest = hashlib.sha256(json.dumps([sorted(digests.items()), of_node]).encode()).hexdigest()
        return self.lab.folder / FOLDER / f"{language}_{where}_{digest[:12]}.json"

    def _kept(self, language: str, where: str, node: list[Any]) -> Run | None:
        path = self._path(language, where, node)
        try:
            kept = load_run(path, LABEL, self.lab.installation, self.lab.declared)
        except NumalabError:  # there is none, or one of another version
            return None
        return replace(kept, is_recorded=False) if kept.where == where else None

    def _made(self, language: str, where: str) -> StartingRun:
        """Run the starting code, and keep that; where it can't be run there, what the kit has
        recorded of it."""
        lab = replace(self.lab, machine=None) if where == LOCAL else self.lab.on(where)
        self.lab.progress("running the starting code")
        try:
            with tempfile.TemporaryDirectory(prefix="numalab-") as scratch:
                for name, text in self._texts(language):
                    (Path(scratch) / name).write_text(text, encoding="utf-8")
                run = LearnerLab.run(lab, language, source=Path(scratch), label=LABEL)
        except (NumalabError, UserError) as error:
            try:
                return StartingRun(
                    lab.recorded(), f"recorded on {where}, of the starting code in C"
                )
            except (NumalabError, UserError):
                place = "here" if where == LOCAL else f"on {where}"
                why = str(error).rstrip(".")
                told = (
                    f"the starting code was not run {place}, since {why}. Once that is fixed, run"
                )
                return StartingRun(None, f"{told} this cell again")
        self.keep(run)
        return StartingRun(run)

    def _texts(self, language: str) -> Iterator[tuple[str, str]]:
        """The starting code's files, by name. Raises NumalabError."""
        installation, name = self.lab.installation, self.lab.name
        for file in file_names(self.lab.declared, language):
            for folder in (installation.pristine_folder(name), installation.lab_folder(name)):
                if (folder / file).is_file():
                    yield file, (folder / file).read_text(encoding="utf-8")
                    break


# ---- predicted beside measured -------------------------------------------------------


WIDTH = 78
FIRST = "predict it first"
UNCHANGED = "change the starting code first"

# A criterion by its name, or what makes a value of a run.
Selector = str | Callable[[Run], Value | None]
# A value, or what is asked of a run and of that of the starting code.
Measured = Value | None | tuple[Run, Selector]
Starting = Callable[[Run, PredictedOn | None], StartingRun]


@dataclass(frozen=True)
class ComparisonRow:
    """A prediction's line. starting: None where it is not about the starting code; note: what is
    to be said of it below the table, may be empty."""

    name: str
    predicted: str
    measured: str
    starting: str | None = None
    note: str = ""


def _value(run: Run, selector: Selector) -> Value | None:
    return run.value(selector) if isinstance(selector, str) else selector(run)


def _compare_run(
    name: str, predicted: Prediction, run: Run, selector: Selector, starting: Starting
) -> ComparisonRow:
    """A speed over the starting code's is of the learner's own alone, once that is another."""
    speedups = [one.name for one in run.lab.criteria if SPEEDUP.judges(one)]
    if selector in speedups:
        is_of_itself = run.is_of_starting_code(str(selector))
        return ComparisonRow(
            name, predicted.text, UNCHANGED if is_of_itself else shown(_value(run, selector))
        )
    started = starting(run, predicted.on)
    before = None if started.run is None else _value(started.run, selector)
    now = None if run.is_recorded else _value(run, selector)
    return ComparisonRow(name, predicted.text, shown(now), shown(before), started.note)


def rows(
    kept: Mapping[str, Prediction],
    measured: Mapping[str, Measured],
    published: Mapping[str, Published],
    starting: Starting,
) -> Iterator[ComparisonRow]:
    """One for each; what is not predicted is neither shown nor measured. starting: finds the
    starting code's run that stands for a run, and may take a while."""
    for name, given in measured.items():
        predicted = kept.get(name)
        if predicted is None:
            yield ComparisonRow(name, "-", FIRST)
        elif isinstance(given, tuple):
            yield _compare_run(name, predicted, *given, starting)
        else:
            yield ComparisonRow(name, predicted.text, shown(given))
    for name, figure in published.items():
        predicted = kept.get(name)
        if predicted is None:
            yield ComparisonRow(name, "-", FIRST)
        else:
            told = f"{shown(figure.value)}, published"
            yield ComparisonRow(name, predicted.text, told, note=figure.says)


def table(rows: list[ComparisonRow]) -> str:
    """Return a line for each row, and below them their notes."""
    is_about_starting = any(row.starting is not None for row in rows)
    cells = [
        (words(row.name), row.predicted, *((row.starting or "",) if is_about_starting else ()),
         row.measured)
        for row in rows
    ]  # fmt: skip
    heading: tuple[str, ...] = ("predicted", "measured")
    if is_about_starting:
        heading = ("predicted", "starting code", "measured now")
    cells.insert(0, ("", *heading))
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]
    for row in rows:
        if row.note:
            is_of_row = row.starting is not None
            note = f"{words(row.name)}: {row.note}." if is_of_row else row.note
            lines += ["", *textwrap.wrap(note, WIDTH)]
    return "\n".join(lines)
