"""How a kernel answered the series that a driver drew, counted by kind. Pure functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from numalab.evidence.run_formats import DrawnSeries

# The share by which a number of stops, or the time that they take, may be off. The driver that
# draws the series checks results with the same one; a record has no place for it.
TOLERANCE = 0.1

Answer = Literal["right", "wrong", "open"]
ANSWERS: tuple[Answer, ...] = ("right", "wrong", "open")

_meanings: dict[str, str] = {}


def describe_kinds(meanings: Mapping[str, str]) -> None:
    """Register what kinds of series are about, by the names that a driver gives them, in the order
    in which they are shown."""
    _meanings.update(meanings)


def meaning_of(kind: str) -> str:
    """Return what a kind of series is about, else its name."""
    return _meanings.get(kind, kind)


def _is_close(answer: int, truth: int) -> bool:
    return abs(answer - truth) <= TOLERANCE * truth


def answer_of(series: DrawnSeries) -> Answer:
    """Tell whether a kernel's answer to a series is right.

    The answer is either a verdict on two programs, where 0 leaves it open, or two figures about
    stops, each of which may be off by TOLERANCE.
    """
    if len(series.truth) > 1:
        close = map(_is_close, series.answers, series.truth)
        return "right" if len(series.answers) == len(series.truth) and all(close) else "wrong"
    if series.answers == series.truth:
        return "right"
    return "open" if series.answers == (0,) else "wrong"


@dataclass(frozen=True)
class KindCount:
    """How many series of one kind were answered right, wrong, or left open."""

    kind: str
    answers: Counter[Answer]

    @property
    def count(self) -> int:
        return self.answers.total()


def count_kinds(series: Sequence[DrawnSeries]) -> list[KindCount]:
    """Count answers by kind, in the order of describe_kinds; other kinds come last, by name."""
    known = list(_meanings)
    by_kind: dict[str, Counter[Answer]] = {}
    for drawn in series:
        by_kind.setdefault(drawn.kind, Counter())[answer_of(drawn)] += 1
    ordered = sorted(by_kind, key=lambda kind: (known.index(kind) if kind in known else 99, kind))
    return [KindCount(kind, by_kind[kind]) for kind in ordered]
