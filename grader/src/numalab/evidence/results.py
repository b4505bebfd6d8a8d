"""How a run of a kernel ended, and whether its results are right."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from numalab.evidence.run_formats import IncompleteRequests, Outcome, TooFew


@dataclass(frozen=True)
class Mismatch:
    """The first element whose value differs from the expected one.

    Attributes:
        element: index from 0.
        phase, repetition: when the difference was observed.
        rank: rank of the MPI job; None: no MPI job.
        row, column: indices from 0 in an array of two dimensions.
        row_name: name of a row that is not the rank's own.
        remark: what the difference means, in the lab's words.
        expected_digits, actual_digits: all digits of whole numbers, where one is so large that a
            float may lack some; else empty.
    """

    array: str
    element: int
    expected: float
    actual: float
    phase: str
    repetition: int
    rank: int | None = None
    row: int | None = None
    column: int | None = None
    row_name: str | None = None
    remark: str = ""
    expected_digits: str = ""
    actual_digits: str = ""


@dataclass(frozen=True)
class Results:
    checked: int
    mismatches: int  # elements with another value than expected
    first_mismatch: Mismatch | None
    wrote_before_array: str | None
    too_few_messages: TooFew | None = None
    requests: IncompleteRequests | None = None
    n_unit: str = ""  # what n counts; empty: elements
    too_few_bytes: TooFew | None = None  # that a rank has sent
    messages_ahead: int = 0  # that a rank sent while two before them had not been answered
    replaced_array: str | None = None  # that is not memory of its own any more
    wrote_after_array: str | None = None  # behind which memory was changed

    @property
    def is_without_messages(self) -> bool:
        """Return whether a rank's round trips lack messages, or did not wait for each other."""
        return bool(self.too_few_messages or self.too_few_bytes or self.messages_ahead)


@dataclass(frozen=True)
class ThreadActivity:
    """At how many moments a thread worked on the arrays (works), and at how many it took CPU time
    without working on them (spins). At the others it took hardly any, as where it slept."""

    works: int
    spins: int


@dataclass(frozen=True)
class KernelRun:
    """A run of a kernel."""

    part: str | None
    outcome: Outcome

    @property
    def all_results(self) -> Iterable[tuple[Results, int | None, int | None]]:
        """Return results with n and the number of ranks, None where the run does not have these."""
        return ()


@dataclass(frozen=True)
class ComparedRun(KernelRun):
    """A run whose results were compared with expected ones."""

    results: Results

    @property
    def all_results(self) -> Iterable[tuple[Results, int | None, int | None]]:
        return ((self.results, None, None),)
