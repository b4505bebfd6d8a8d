"""A question of an oral exam, with what its examiner needs beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "change", "failure", "explanation", "prediction", "times", "place", "diagnosis", "mistake",
    "subject",
]  # fmt: skip

# In the order in which they are asked: what only this student can answer comes first.
KIND_WORDS: dict[Kind, str] = {
    "change": "a change between two attempts",
    "failure": "what still fails",
    "explanation": "the student's own words",
    "prediction": "a prediction",
    "times": "times",
    "place": "another machine",
    "diagnosis": "a diagnosis",
    "mistake": "a mistake that was not made",
    "subject": "the lab's subject",
}
KINDS: tuple[Kind, ...] = tuple(KIND_WORDS)


@dataclass(frozen=True)
class Listing:
    """Lines of what was handed in, below a title; may be none."""

    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class VivaQuestion:
    """about: the criterion, or what else it is about; text: said to the student; answer: what a
    good one says, and what the examiner should know, a paragraph each; evidence: figures, each with
    its source; follow_up: if there is time, with the answer in brackets."""

    kind: Kind
    lab: str
    about: str
    text: str
    answer: tuple[str, ...]
    evidence: tuple[str, ...]
    follow_up: str
    listing: Listing = Listing("", ())
