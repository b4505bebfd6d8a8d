"""The registry of principles: for each rule why it matters, for oral exams.

A rule of a lab registers its principle in the lab's folder, the others do in
teaching/viva/principles.py. The labs' texts have the sources.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from numalab.judging.registry import Rule


@dataclass(frozen=True)
class Principle:
    """Why a rule's criterion matters.

    Attributes:
        why: the answer to "why does that matter?", a sentence or two.
        follow_up: a question to ask next, with its answer in brackets.
        words: beginnings of words that a good explanation is likely to have.
    """

    why: str
    follow_up: str
    words: tuple[str, ...]


_registered: dict[str, Principle] = {}


def explain(rule: Rule, principle: Principle) -> None:
    """Register the principle of a rule."""
    _registered[rule.name] = principle


def principles() -> Mapping[str, Principle]:
    """Return the principles that are registered so far, by the rule's name."""
    return _registered
