"""The basis of a result: digests of the files that were built and run, and the call that did so.

It tells whether the files have changed since, and whether a later equal call ended without a
result.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Self, TypeVar

from numalab.errors import Interrupted, NothingToDraw, wrapped
from numalab.words import listed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DIGITS = 8  # digits of a SHA-256 that are shown

# What was called ("grading", the lab, ...); a later call with the same value replaces an earlier.
Call = tuple[str, ...]

_numbers = itertools.count(1)
# The number of the latest call that ended without a result, and a clause on how it ended.
_ended_without_result: dict[Call, tuple[int, str]] = {}


def digest_of_file(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal digits; empty where it can't be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


@dataclass(frozen=True)
class Text:
    """A file of a call. digest: its SHA-256 at the time, empty where it could not be read; path:
    where its text was read, None where the text was an argument of the call."""

    digest: str
    path: Path | None

    @property
    def is_changed(self) -> bool:
        """Whether the file has another content by now; False without a path."""
        return self.path is not None and digest_of_file(self.path) != self.digest


def _digits(digest: str) -> str:
    return digest[:DIGITS] or "missing"


@dataclass(frozen=True)
class Basis:
    """The call and the files that a result is of.

    Attributes:
        number: the call's number in this process, from 1.
        began_at: when it began, as HH:MM:SS in local time.
        texts: the files, by name.
    """

    call: Call
    number: int
    began_at: str
    texts: Mapping[str, Text] = field(default_factory=dict)

    @property
    def stale(self) -> str:
        """A sentence on files that have changed since; empty where none has."""
        changed = {name: text for name, text in self.texts.items() if text.is_changed}
        if not changed:
            return ""
        name, text = next(iter(changed.items()))
        assert text.path is not None
        then, now = _digits(text.digest), _digits(digest_of_file(text.path))
        which = f"{name} " if len(changed) > 1 else ""
        return (
            f"Stale: {listed(list(changed))} changed since this {self.call[0]} of {self.began_at} "
            f"({which}{then} then, {now} now)."
        )

    @property
    def superseded(self) -> str:
        """A sentence on a later call with an equal `call` that raised; empty without one."""
        number, how = _ended_without_result.get(self.call, (0, ""))
        return (
            f"{how}; this is the {self.call[0]} of {self.began_at}." if number > self.number else ""
        )

    @property
    def texts_note(self) -> str:
        """A sentence that names the first file, with its digest, and counts the others that could
        be read; empty without files."""
        if not self.texts:
            return ""
        name, text = next(iter(self.texts.items()))
        others = sum(bool(text.digest) for text in self.texts.values()) - bool(text.digest)
        beside = f" and {others} file{'s' if others > 1 else ''} beside it" if others else ""
        as_now = "" if text.path is None else " as it is now" if not others else " as they are now"
        return f"Of {name} {_digits(text.digest)}{beside}{as_now}, {self.began_at}."

    @property
    def notes(self) -> list[str]:
        """Sentences for a reader: superseded, and stale or else texts_note."""
        return [note for note in (self.superseded, self.stale or self.texts_note) if note]


@contextmanager
def calling(*call: str) -> Iterator[Basis]:
    """Yield the basis of a call, without files. Where the block raises, this is remembered for
    Basis.superseded."""
    number, began_at = next(_numbers), datetime.now().astimezone().strftime("%H:%M:%S")
    try:
        yield Basis(call, number, began_at)
    except BaseException as error:
        is_interrupted = isinstance(error, Interrupted | KeyboardInterrupt)
        how = "was interrupted" if is_interrupted else "ended without a result"
        _ended_without_result[call] = (number, f"A later one, of {began_at}, {how}")
        raise


# ---- pictures ------------------------------------------------------------------------

Shown = TypeVar("Shown", bound="Based")
Parameters = ParamSpec("Parameters")


@dataclass(frozen=True, kw_only=True)
class Based:
    """A result with its basis. basis: None where no call is known that it is of, such as for a
    recorded one."""

    basis: Basis | None = field(default=None, repr=False)

    @property
    def stale(self) -> str:
        """A sentence on files that have changed since; empty where none has."""
        return "" if self.basis is None else self.basis.stale

    @property
    def warnings(self) -> list[str]:
        """Sentences on why it may be outdated: a later call without a result, changed files."""
        return [] if self.basis is None else [*filter(None, (self.basis.superseded, self.stale))]

    @property
    def notes(self) -> list[str]:
        """Sentences on the files that it is about, and on why it may be outdated."""
        return [] if self.basis is None else self.basis.notes

    def placed_in(self, folder: Path) -> Self:
        """Return the result with its files' paths in a folder; without a basis unchanged."""
        if self.basis is None:
            return self
        texts = self.basis.texts.items()
        placed = {name: replace(text, path=folder / name) for name, text in texts}
        return replace(self, basis=replace(self.basis, texts=placed))

    def noted(self, text: str) -> str:
        """Return a text about the result, followed by its notes."""
        return "\n".join([text, *map(wrapped, self.notes)])

    def _repr_pretty_(self, printer: object, cycle: bool) -> None:
        """Show the result below a cell of IPython."""
        printer.text(str(self))  # type: ignore[attr-defined]


def captioned(
    draw: Callable[Concatenate[Shown, Parameters], Figure],
) -> Callable[Concatenate[Shown, Parameters], Figure]:
    """Decorate a method that draws, so that notes are above the figure: the result's and those of
    results among the positional arguments. A NothingToDraw gets the result's warnings."""

    @functools.wraps(draw)
    def with_caption(self: Shown, /, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Figure:
        beside = [one for one in args if isinstance(one, Based)]
        notes = list(self.notes)
        if beside:
            results: list[Based] = [self, *beside]
            shown = [(one, note) for one in results for note in one.notes]
            notes = [f"{getattr(one, 'label', '')}: {note}" for one, note in shown]
        try:
            figure = draw(self, *args, **kwargs)
        except NothingToDraw as error:
            raise NothingToDraw("\n".join([str(error), *self.warnings])) from None
        if notes:
            _put_above(figure, notes)
        return figure

    return with_caption


def _put_above(figure: Figure, notes: list[str]) -> None:
    """Put notes above a figure, below its title, and make it higher by them."""
    from numalab.reports.figures.canvas import LEAST_POINTS, TITLE_POINTS, broken

    width_in, height_in = figure.get_size_inches()
    title = figure.get_suptitle()
    points = TITLE_POINTS if title else LEAST_POINTS
    lines = [line for note in notes for line in broken(note, width_in, points)]
    figure.set_size_inches(width_in, height_in + len(lines) * points * 1.3 / 72)
    figure.suptitle("\n".join(filter(None, [title, *lines])), fontsize=points)
