"""How a kernel answered the series that a driver has drawn: counted by kind. Pure functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from numalab.evidence.run_formats import DrawnSeries

# By how much the number of stops, and what they take, may be off. The driver that draws them checks
# results with it, too, and a record has no place for it.
TOLERANCE = 0.1

Answer = Literal["right", "wrong", "open"]

_meanings: dict[str, str] = {}


def describe_kinds(meanings: Mapping[str, str]) -> None:
    """Register what kinds of series are about, by the names that a driver gives them, in the order
    in which they are shown."""
    _meanings.update(meanings)


def meaning_of(kind: str) -> str:
    """Return what a kind of series is about, else its name."""
    return _meanings.get(kind, kind)


def _is_near(told: int, truth: int) -> bool:
    return abs(told - truth) <= TOLERANCE * truth


def answer_of(one: DrawnSeries) -> Answer:
    """Tell whether an answer is right: a verdict on two programs, or two figures about stops, which
    may be off a little."""
    if len(one.truth) > 1:
        near = map(_is_near, one.told, one.truth)
        return "right" if len(one.told) == len(one.truth) and all(near) else "wrong"
    if one.told == one.truth:
        return "right"
    return "open" if one.told == (0,) else "wrong"


@dataclass(frozen=True)
class KindCount:
    """How a kernel answered series of one kind."""

    kind: str
    right: int
    wrong: int
    open: int

    @property
    def count(self) -> int:
        return self.right + self.wrong + self.open


def count_kinds(series: Sequence[DrawnSeries]) -> list[KindCount]:
    """Count answers by kind, in the order of describe_kinds; other kinds come last, by name."""
    known = list(_meanings)
    by_kind: dict[str, Counter[Answer]] = {}
    for one in series:
        by_kind.setdefault(one.kind, Counter())[answer_of(one)] += 1
    ordered = sorted(by_kind, key=lambda kind: (known.index(kind) if kind in known else 99, kind))
    return [
        KindCount(kind, *(by_kind[kind][answer] for answer in ("right", "wrong", "open")))
        for kind in ordered
    ]
