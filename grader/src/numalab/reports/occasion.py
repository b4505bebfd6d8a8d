"""What was graded, for whom and when, as pages tell it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from numalab.evidence.record import Json
from numalab.grading.graded import GradedKernel


@dataclass(frozen=True)
class Submission:
    """What one person handed in. name: empty where there is no other."""

    name: str
    kernels: Sequence[GradedKernel]


@dataclass(frozen=True)
class Occasion:
    """When and where it was graded. node: as a record has it; machines: of each virtual node
    its name and how it differs from the machine; interrupted: not all was graded."""

    graded_at: str
    node: Json
    machines: Sequence[tuple[str, str]] = ()
    interrupted: bool = False
