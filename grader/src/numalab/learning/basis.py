"""What a result is of: the texts that were tried, by their digests, and the call that tried them.
So a result that is shown again tells whether it is still about the files as they are, and whether
a later call that should have taken its place came to nothing."""

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

DIGITS = 8  # of a SHA-256 that are shown

# What was called, by which a later call takes an earlier one's place: "grading", the lab, ...
Call = tuple[str, ...]

_numbers = itertools.count(1)
_ended_without_result: dict[Call, tuple[int, str]] = {}  # the latest of each, and how it ended


def digest_of_file(path: Path) -> str:
    """Return the SHA-256 of a file, empty where none can be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


@dataclass(frozen=True)
class Text:
    """A file that was tried. digest: SHA-256, empty: there was none; path: where it lies, None: its
    text was given in the call."""

    digest: str
    path: Path | None

    @property
    def is_changed(self) -> bool:
        return self.path is not None and digest_of_file(self.path) != self.digest


def _digits(digest: str) -> str:
    return digest[:DIGITS] or "missing"


@dataclass(frozen=True)
class Basis:
    """texts: by file, the kernel first; call, number: the call and which one it was in this
    process; began_at: when it began."""

    call: Call
    number: int
    began_at: str
    texts: Mapping[str, Text] = field(default_factory=dict)

    @property
    def stale(self) -> str:
        """Why it is not about the files as they are now, in a sentence; empty: it is."""
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
        """Why it is not the newest, in a sentence; empty: it is."""
        number, how = _ended_without_result.get(self.call, (0, ""))
        return (
            f"{how}; this is the {self.call[0]} of {self.began_at}." if number > self.number else ""
        )

    @property
    def texts_note(self) -> str:
        """Of which texts it is, in a sentence; empty: of none."""
        if not self.texts:
            return ""
        name, text = next(iter(self.texts.items()))
        others = sum(bool(text.digest) for text in self.texts.values()) - bool(text.digest)
        beside = f" and {others} file{'s' if others > 1 else ''} beside it" if others else ""
        as_now = "" if text.path is None else " as it is now" if not others else " as they are now"
        return f"Of {name} {_digits(text.digest)}{beside}{as_now}, {self.began_at}."

    @property
    def notes(self) -> list[str]:
        """What a reader has to know of it, a sentence each."""
        return [note for note in (self.superseded, self.stale or self.texts_note) if note]


@contextmanager
def calling(*call: str) -> Iterator[Basis]:
    """Number a call. One that ends without a result is kept in mind, since what it should have
    replaced may be shown again."""
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
    """A result that knows what it is of. basis: None for what was recorded."""

    basis: Basis | None = field(default=None, repr=False)

    @property
    def stale(self) -> str:
        """Why it is not about the files as they are now, in a sentence; empty: it is."""
        return "" if self.basis is None else self.basis.stale

    @property
    def warnings(self) -> list[str]:
        """Why it is not what a reader may take it for, a sentence each."""
        return [] if self.basis is None else [*filter(None, (self.basis.superseded, self.stale))]

    @property
    def notes(self) -> list[str]:
        """What a reader has to know of what it is about, a sentence each."""
        return [] if self.basis is None else self.basis.notes

    def placed_in(self, folder: Path) -> Self:
        """Return it as that of files in a folder, which had the texts that were given."""
        if self.basis is None:
            return self
        texts = self.basis.texts.items()
        placed = {name: replace(text, path=folder / name) for name, text in texts}
        return replace(self, basis=replace(self.basis, texts=placed))

    def noted(self, text: str) -> str:
        """Return a text about it with what a reader has to know."""
        return "\n".join([text, *map(wrapped, self.notes)])

    def _repr_pretty_(self, printer: object, cycle: bool) -> None:
        """How a cell shows it."""
        del cycle
        printer.text(str(self))  # type: ignore[attr-defined]


def captioned(
    draw: Callable[Concatenate[Shown, Parameters], Figure],
) -> Callable[Concatenate[Shown, Parameters], Figure]:
    """Draw with a caption above: of which texts the picture is, of those beside it, too, and
    whether they are as they were. The sentence that there is nothing to draw says it, too."""

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
    """Grow by what the lines take, so that the drawing has the room that it had."""
    from numalab.reports.figures.canvas import LEAST_POINTS, TITLE_POINTS, broken

    width_in, height_in = figure.get_size_inches()
    title = figure.get_suptitle()
    points = TITLE_POINTS if title else LEAST_POINTS
    lines = [line for note in notes for line in broken(note, width_in, points)]
    figure.set_size_inches(width_in, height_in + len(lines) * points * 1.3 / 72)
    figure.suptitle("\n".join(filter(None, [title, *lines])), fontsize=points)
