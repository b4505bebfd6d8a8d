"""What was graded, as reports of several kernels need it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from numalab.evidence.record import Json
from numalab.judging.timing_account import TimingAccount
from numalab.judging.verdict import Verdict
from numalab.labs.declaration import Lab
from numalab.labs.hints import Levels
from numalab.machines.machine import Figure
from numalab.reports.comparison import Seen


@dataclass(frozen=True)
class GradedKernel:
    """A kernel that was graded. seen, unchanged, again, published, hints_seen: as in
    report.show_verdict; accounts: of the criteria that were timed."""

    lab: Lab
    verdict: Verdict
    seen: Seen
    accounts: Sequence[TimingAccount]
    unchanged: bool = False
    again: str = ""
    published: Sequence[Figure] = ()
    hints_seen: Levels = field(default_factory=dict)


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
