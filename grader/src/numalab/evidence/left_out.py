"""What is kept of a run that says nothing of the kernel; repeats.py has the rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

WhyLeftOut = Literal["paused", "timed_out", "bad_protocol", "kit_failed"]


@dataclass(frozen=True)
class LeftOut:
    """kind: its name; slow: of a generation, as there; paused_s: how long the node stood still in
    it; is_last: none followed that counts."""

    kind: str
    role: str
    part: str | None
    slow: str | None
    why: WhyLeftOut
    paused_s: float
    is_last: bool
