"""What a run of a kernel came to: how it ended, and whether its results are right."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from numalab.evidence.run_formats import OpenRequests, TooFew

# By the monitor's word the kit could not do its part: obstructed, where a kernel may have brought
# that about; kit_error, where the monitor saw no way for it.
KIT_FAILED = ("obstructed", "kit_error")
# What such an outcome has beside it once the kit's own kernel has been tried in the same place: how
# that one ended.
KITS_OWN = "kits_own"


@dataclass(frozen=True)
class Outcome:
    """How one worker's part of a run ended; detail holds what else is known."""

    status: str
    detail: dict[str, Any] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        return self.status == "ok"

    @property
    def is_kits_fault(self) -> bool:
        """Whether it says nothing of the student's work: the kit failed, and did not come further
        with its own kernel in the same place, or nobody knows."""
        return self.status in KIT_FAILED and self.detail.get(KITS_OWN) != "ok"

    @property
    def blames(self) -> bool:
        """Whether what ended so comes to its end where the kit's own kernel is in the place of the
        student's: so that this one's is the cause, whoever's process it was that ended."""
        return not self.ok and self.detail.get(KITS_OWN) == "ok"


@dataclass(frozen=True)
class Mismatch:
    """The first wrong element: index from 0, the values, and when it was seen; rank: in
    which rank of an MPI job."""

    array: str
    element: int
    expected: float
    found: float
    phase: str
    repetition: int
    rank: int | None = None
    row: int | None = None  # of an array with two dimensions, from 0, as column is
    column: int | None = None
    row_name: str | None = None  # of a row that is not the rank's own
    remark: str = ""  # what it means, in the lab's words
    expected_digits: str = ""  # of whole numbers, where a float leaves some out
    found_digits: str = ""


@dataclass(frozen=True)
class Results:
    checked: int
    wrong: int
    first_wrong: Mismatch | None
    wrote_before_array: str | None
    too_few_messages: TooFew | None = None
    requests: OpenRequests | None = None
    n_unit: str = ""  # what n counts; empty: elements
    too_few_bytes: TooFew | None = None  # that a rank has sent
    messages_ahead: int = 0  # that a rank sent while two before them had not been answered
    replaced_array: str | None = None  # that is not memory of its own any more
    wrote_after_array: str | None = None  # behind which memory was changed

    @property
    def is_without_messages(self) -> bool:
        """Whether a rank's round trips lack some, or did not wait for each other."""
        return bool(self.too_few_messages or self.too_few_bytes or self.messages_ahead)


@dataclass(frozen=True)
class RollEntry:
    """Of one thread: at how many moments it worked on the arrays, and at how many it was busy and
    did not; it slept, or had no core, at the others."""

    works: int
    busy_else: int


@dataclass(frozen=True)
class KernelRun:
    """A run of a kernel."""

    part: str | None
    outcome: Outcome

    @property
    def all_results(self) -> Iterable[tuple[Results, int | None, int | None]]:
        """With n and the number of ranks, where they say something."""
        return ()


@dataclass(frozen=True)
class ComparedRun(KernelRun):
    """One whose results were compared."""

    results: Results

    @property
    def all_results(self) -> Iterable[tuple[Results, int | None, int | None]]:
        return ((self.results, None, None),)
