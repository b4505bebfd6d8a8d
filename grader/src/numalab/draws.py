"""Draw by the SHA-256 of a text. No generator is used, whose methods another version of Python may
change, and no sequence of draws, in which a new one would shift all later ones."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeVar

_T = TypeVar("_T")


def draw(text: str, choices: int) -> int:
    """Return a number from 0 to choices - 1, by the SHA-256 of a text."""
    digest = hashlib.sha256(text.encode()).digest()
    return int.from_bytes(digest[:8], "big") * choices >> 64


def pick(text: str, choices: Sequence[_T]) -> _T:
    """Return the one of the choices that a text draws."""
    return choices[draw(text, len(choices))]


def shuffled(text: str, choices: Sequence[_T]) -> list[_T]:
    """Return the choices in the order that a text draws."""
    order = sorted(range(len(choices)), key=lambda number: draw(f"{text} {number}", 2**64))
    return [choices[number] for number in order]
