"""How predictions of the staff's run have come out, as rows and lines, whoever shows them."""

from __future__ import annotations

from collections.abc import Iterator

from numalab import words
from numalab.evidence.record import SUBMISSION
from numalab.grading.graded import GradedKernel
from numalab.judging.quantities import ScoredPredictions, ScoredQuantity
from numalab.labs.quantities import FILE

HEADS = ("Quantity", "Predicted", "Measured", "Score", "Why")


def title(found: ScoredPredictions) -> str:
    if found.score is None and found.why:
        return f"Predictions: {FILE} can't be used, so there is no score"
    if found.score is None:
        return "Predictions: nothing of what is asked was measured here, so there is no score"
    return f"Predictions: a score of {found.score:.2f} of 1"


def none_words(kernel: GradedKernel) -> str:
    """Where a lab asks for predictions and there are none, a sentence that says so; else empty."""
    asked = [quantity.name for quantity in kernel.lab.predicted]
    if not asked or kernel.verdict.variant != SUBMISSION or kernel.predictions is not None:
        return ""
    return (
        f"Nothing is predicted: {FILE} beside the kernel has no number yet for "
        f"{words.listed(asked)}."
    )


def _measured(one: ScoredQuantity) -> str:
    if one.low is None or one.high is None:
        return "-" if one.score is None else "predict it first"
    low, high = words.short(one.low), words.short(one.high)
    return f"{low} {one.unit}" if low == high else f"{low} to {high} {one.unit}"


def rows(found: ScoredPredictions) -> Iterator[tuple[str, str, str, str, str]]:
    """Of each quantity what HEADS says."""
    for one in found.quantities:
        yield (
            one.name,
            "-" if one.predicted is None else f"{words.short(one.predicted)} {one.unit}",
            _measured(one),
            "-" if one.score is None else f"{one.score:.2f}",
            one.why,
        )
