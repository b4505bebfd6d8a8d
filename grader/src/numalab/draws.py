"""What is drawn by a text, for ever the same: no generator whose methods a version of Python may
change, and no order in which a new draw would shift all later ones."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeVar

_T = TypeVar("_T")


def draw(text: str, choices: int) -> int:
    """A number from 0 to choices - 1, from the SHA-256 of text."""
    digest = hashlib.sha256(text.encode()).digest()
    return int.from_bytes(digest[:8], "big") * choices >> 64


def pick(text: str, choices: Sequence[_T]) -> _T:
    return choices[draw(text, len(choices))]


def shuffled(text: str, choices: Sequence[_T]) -> list[_T]:
    """All of them, in an order of the text's own."""
    order = sorted(range(len(choices)), key=lambda number: draw(f"{text} {number}", 2**64))
    return [choices[number] for number in order]
