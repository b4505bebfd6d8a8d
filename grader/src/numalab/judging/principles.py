"""What decides a criterion, by the rule that judges it: what a good answer says to "why does that
matter?", and what to ask next. The labs' own texts have the sources. Rules of a lab have theirs in
its folder, the others in teaching/viva/principles.py."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Principle:
    """why: a sentence or two; follow_up: a question, its answer in brackets; words: that an
    explanation of it is likely to have, as beginnings of words."""

    why: str
    follow_up: str
    words: tuple[str, ...]


class Named(Protocol):
    """A rule, or a claim about times that makes one."""

    @property
    def name(self) -> str: ...


_registered: dict[str, Principle] = {}


def explain(rule: Named, principle: Principle) -> None:
    """Register the principle of a rule."""
    _registered[rule.name] = principle


def principles() -> Mapping[str, Principle]:
    """Return the principles that are registered so far, by the rule's name."""
    return _registered
