"""Compare a student's predictions with values that were measured or published."""

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
from numalab.learning.api import LearnerLab, starting_text
from numalab.learning.predictions import PredictedOn, Prediction, Published, Value, shown, words
from numalab.learning.run import Run, load_run
from numalab.words import columns

# ---- runs of starting code -----------------------------------------------------------


FOLDER = "starting_code"
LABEL = "starting code"


@dataclass(frozen=True)
class StartingRun:
    """A run of the starting code. run: None where it could not be had.
    note: a clause on where it comes from, or a sentence on why there is none; may be empty."""

    run: Run | None
    note: str = ""


@dataclass(frozen=True)
class StartingRuns:
    """The runs of a lab's starting code that are kept in a folder below the student's."""

    lab: LearnerLab

    def keep(self, run: Run) -> None:
        """Write those records of a run that are complete and of starting code; none of a recorded
        run. Where one can't be written, it and those behind it are left out."""
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
        """Return a run of the starting code at the place of a run: the run itself, a kept one, one
        that is made now, or a recorded one; or none and a note on why. predicted_on: the machine on
        which the prediction was made, None: not known. If that is unlike this machine, and the run
        is of this machine, a run that was kept on its like comes first."""
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
        """Return the path of a kept run. node: what alike() returns for a machine. Its name has a
        digest of the starting code, and for this machine of `node`."""
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
        """Run the starting code and keep the run. Where it can't be run, return the recorded run,
        or none and a note that says why."""
        own = self.lab
        # Not a notebook's, which would take the run for one of the student's.
        here = LearnerLab(own.installation, own.declared, own.folder, progress=own.progress)
        lab = here if where == LOCAL else here.on(where)
        lab.progress("running the starting code")
        try:
            with tempfile.TemporaryDirectory(prefix="numalab-") as scratch:
                for name in file_names(lab.declared, language):
                    text = starting_text(lab, name)
                    if text is not None:
                        (Path(scratch) / name).write_text(text, encoding="utf-8")
                run = lab.run(language, source=Path(scratch), label=LABEL)
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


# ---- predicted and measured ----------------------------------------------------------


WIDTH = 78
FIRST = "predict it first"
UNCHANGED = "change the starting code first"

# A criterion by its name, or a function that makes a value of a run.
Selector = str | Callable[[Run], Value | None]
# A value, or a run and what to select from it and from the starting code's run.
Measured = Value | None | tuple[Run, Selector]
Starting = Callable[[Run, PredictedOn | None], StartingRun]


@dataclass(frozen=True)
class ComparisonRow:
    """A prediction's line in the table.
    starting: the starting code's value, None where the prediction is not about it; note: a text
    below the table, may be empty."""

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
    """Return the row for a value of a run.
    A speed over the starting code's has no value of the starting code, and none of the student's
    code as long as that is starting code."""
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
    """Yield a row for each measured and each published value; without a prediction the row does not
    show the value. kept: predictions by name; starting: StartingRuns.find, which may run the
    starting code."""
    for name, given in (*measured.items(), *published.items()):
        predicted = kept.get(name)
        if predicted is None:
            yield ComparisonRow(name, "-", FIRST)
        elif isinstance(given, tuple):
            yield _compare_run(name, predicted, *given, starting)
        elif isinstance(given, Published):
            told = f"{shown(given.value)}, published"
            yield ComparisonRow(name, predicted.text, told, note=given.says)
        else:
            yield ComparisonRow(name, predicted.text, shown(given))


def table(rows: list[ComparisonRow]) -> str:
    """Return the table as text: a heading, a line for each row, and the rows' notes below."""
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
    lines = columns(cells)
    for row in rows:
        if row.note:
            is_of_row = row.starting is not None
            note = f"{words(row.name)}: {row.note}." if is_of_row else row.note
            lines += ["", *textwrap.wrap(note, WIDTH)]
    return "\n".join(lines)
