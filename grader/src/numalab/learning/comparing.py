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
from numalab.grading.continuing import alike
from numalab.grading.handout import language_digests
from numalab.judging.places import LOCAL
from numalab.judging.timing_claims import SPEEDUP
from numalab.labs.kernel_names import file_names
from numalab.learning.api import OpenLab
from numalab.learning.predictions import PredictedOn, Prediction, Published, Value, shown, words
from numalab.learning.run import Run, load_run

# ---- runs of starting code -----------------------------------------------------------


FOLDER = "starting_code"
LABEL = "starting code"


@dataclass(frozen=True)
class Found:
    """run: None where there is none; note: what has to be said of it, may be empty."""

    run: Run | None
    note: str = ""


@dataclass(frozen=True)
class StartingRuns:
    """Those of a lab, in its learner's folder."""

    lab: OpenLab

    def keep(self, run: Run) -> None:
        """Keep what was seen of a run of all of the starting code; of any other nothing. A run
        that can't be kept is made again when it is needed."""
        if run.is_recorded:
            return
        for (where, evidence), record in zip(run.seen, run.records, strict=True):
            is_whole = evidence.build.status == "ok" and not evidence.interrupted
            if evidence.is_starting_code and is_whole:
                path = self._path(evidence.language, where, alike(run.here.node))
                try:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    write_json(path, record, indent=None)
                except OSError:
                    return

    def of(self, run: Run, predicted_on: PredictedOn | None = None) -> Found:
        """Return starting code's run in the language of a run, and at its place; of this node that
        on whose like the prediction was made, if it is kept. Raises Interrupted."""
        node, language = alike(run.here.node), run.verdict.language
        note = ""
        if run.where == LOCAL and predicted_on is not None and predicted_on.alike != node:
            name = predicted_on.name
            kept = self._kept(language, LOCAL, predicted_on.alike)
            if kept is not None:
                return Found(
                    kept, f"predicted on {name}, so the starting code's value is of {name}"
                )
            note = (
                f"predicted on {name}, where no run of the starting code was kept; its value is of "
                "this node. Run your notebook there, too"
            )
        if run.is_recorded:
            told = f"recorded on {run.where}, of the starting code in C; nothing ran there now"
            return Found(run, told)
        if run.verdict.unchanged:
            return Found(run, note)
        kept = self._kept(language, run.where, node)
        if kept is not None:
            return Found(kept, note)
        made = self._made(language, run.where)
        return replace(made, note=made.note or note)

    def _path(self, language: str, where: str, node: list[Any]) -> Path:
        """Of a run that is kept. Its name has a digest of the starting code, which is another one
        once the lab's files or its variant are given anew, and of what this node is like."""
        said = language_digests(self.lab.installation, self.lab.declared, language)
        of_node = node if where == LOCAL else None
        digest = hashlib.sha256(json.dumps([sorted(said.items()), of_node]).encode()).hexdigest()
        return self.lab.folder / FOLDER / f"{language}_{where}_{digest[:12]}.json"

    def _kept(self, language: str, where: str, node: list[Any]) -> Run | None:
        path = self._path(language, where, node)
        try:
            found = load_run(path, LABEL, self.lab.installation, self.lab.declared)
        except NumalabError:  # there is none, or one of another version
            return None
        return replace(found, is_recorded=False) if found.where == where else None

    def _made(self, language: str, where: str) -> Found:
        """Run the starting code, and keep that; where it can't be run there, what the kit has
        recorded of it."""
        lab = replace(self.lab, machine=None) if where == LOCAL else self.lab.on(where)
        self.lab.progress("running the starting code")
        try:
            with tempfile.TemporaryDirectory(prefix="numalab-") as scratch:
                for name, text in self._texts(language):
                    (Path(scratch) / name).write_text(text, encoding="utf-8")
                run = OpenLab.run(lab, language, source=Path(scratch), label=LABEL)
        except (NumalabError, UserError) as error:
            try:
                return Found(lab.recorded(), f"recorded on {where}, of the starting code in C")
            except (NumalabError, UserError):
                place = "here" if where == LOCAL else f"on {where}"
                why = str(error).rstrip(".")
                told = (
                    f"the starting code was not run {place}, since {why}. Once that is fixed, run"
                )
                return Found(None, f"{told} this cell again")
        self.keep(run)
        return Found(run)

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
Asked = str | Callable[[Run], Value | None]
# A value, or what is asked of a run and of that of the starting code.
Measured = Value | None | tuple[Run, Asked]
Starting = Callable[[Run, PredictedOn | None], Found]


@dataclass(frozen=True)
class Row:
    """A prediction's line. starting: None where it is not about the starting code; note: what is
    to be said of it below the table, may be empty."""

    name: str
    said: str
    measured: str
    starting: str | None = None
    note: str = ""


def _value(run: Run, asked: Asked) -> Value | None:
    return run.value(asked) if isinstance(asked, str) else asked(run)


def _of_run(name: str, said: Prediction, run: Run, asked: Asked, starting: Starting) -> Row:
    """A speed over the starting code's is of the learner's own alone, once that is another."""
    speedups = [one.name for one in run.lab.criteria if SPEEDUP.judges(one)]
    if asked in speedups:
        is_of_itself = run.is_of_starting_code(str(asked))
        return Row(name, said.said, UNCHANGED if is_of_itself else shown(_value(run, asked)))
    found = starting(run, said.on)
    before = None if found.run is None else _value(found.run, asked)
    now = None if run.is_recorded else _value(run, asked)
    return Row(name, said.said, shown(now), shown(before), found.note)


def rows(
    kept: Mapping[str, Prediction],
    measured: Mapping[str, Measured],
    published: Mapping[str, Published],
    starting: Starting,
) -> Iterator[Row]:
    """One for each; what is not predicted is neither shown nor measured. starting: finds the
    starting code's run that stands for a run, and may take a while."""
    for name, given in measured.items():
        said = kept.get(name)
        if said is None:
            yield Row(name, "-", FIRST)
        elif isinstance(given, tuple):
            yield _of_run(name, said, *given, starting)
        else:
            yield Row(name, said.said, shown(given))
    for name, figure in published.items():
        said = kept.get(name)
        if said is None:
            yield Row(name, "-", FIRST)
        else:
            told = f"{shown(figure.value)}, published"
            yield Row(name, said.said, told, note=figure.says)


def table(found: list[Row]) -> str:
    """Return a line for each row, and below them their notes."""
    is_about_starting = any(row.starting is not None for row in found)
    cells = [
        (words(row.name), row.said, *((row.starting or "",) if is_about_starting else ()),
         row.measured)
        for row in found
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
    for row in found:
        if row.note:
            is_of_row = row.starting is not None
            note = f"{words(row.name)}: {row.note}." if is_of_row else row.note
            lines += ["", *textwrap.wrap(note, WIDTH)]
    return "\n".join(lines)
