"""The registry of principles: why the criteria of a rule matter, for oral exams."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from numalab.judging.registry import Rule


@dataclass(frozen=True)
class Principle:
    """The reason why a rule's criteria matter.

    Attributes:
        why: the answer to "why does that matter?".
        follow_up: a question to ask next, with its answer in brackets.
        words: beginnings of words that a good explanation is likely to have.
    """

    why: str
    follow_up: str
    words: tuple[str, ...]


_registered: dict[str, Principle] = {}


def explain(rule: Rule, principle: Principle) -> None:
    """Register the principle of a rule, in place of an earlier one."""
    _registered[rule.name] = principle


def principles() -> Mapping[str, Principle]:
    """Return the principles that are registered so far, by the rule's name."""
    return _registered
