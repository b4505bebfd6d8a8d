"""A kernel's answers to the series that a driver drew, counted by kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from numalab.evidence.run_formats import DrawnSeries

# The share of the right figure by which a number of stops, or the time that they take, may be off.
# The driver that draws the series uses the same one; a record has no field for it.
TOLERANCE = 0.1

Answer = Literal["right", "wrong", "open"]
ANSWERS: tuple[Answer, ...] = ("right", "wrong", "open")

_meanings: dict[str, str] = {}


def describe_kinds(meanings: Mapping[str, str]) -> None:
    """Register the meanings of kinds of series, by the names that a driver gives them, in the order
    in which they are counted."""
    _meanings.update(meanings)


def meaning_of(kind: str) -> str:
    """Return the meaning of a kind of series; its name where none is registered."""
    return _meanings.get(kind, kind)


def _is_close(answer: int, truth: int) -> bool:
    return abs(answer - truth) <= TOLERANCE * truth


def answer_of(series: DrawnSeries) -> Answer:
    """Return whether a kernel's answer to a series is right, wrong, or leaves it open.

    The answer is either a verdict on two programs, where 0 leaves it open, or several figures about
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
    """The numbers of series of one kind that were answered right, wrong, or left open."""

    kind: str
    answers: Counter[Answer]

    @property
    def count(self) -> int:
        return self.answers.total()


def count_kinds(series: Sequence[DrawnSeries]) -> list[KindCount]:
    """Count answers by kind, in the order of describe_kinds; unregistered kinds come last, by
    name."""
    known = list(_meanings)
    by_kind: dict[str, Counter[Answer]] = {}
    for drawn in series:
        by_kind.setdefault(drawn.kind, Counter())[answer_of(drawn)] += 1
    ordered = sorted(by_kind, key=lambda kind: (known.index(kind) if kind in known else 99, kind))
    return [KindCount(kind, by_kind[kind]) for kind in ordered]
