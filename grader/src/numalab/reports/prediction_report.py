"""How predictions of the staff's run have come out, as rows and lines, whoever shows them."""

from __future__ import annotations

from collections.abc import Iterator

from numalab.judging.quantities import ScoredPredictions, ScoredQuantity

HEADS = ("Quantity", "Predicted", "Measured", "Score", "Why")


def title(found: ScoredPredictions) -> str:
    if found.score is None:
        return "Predictions: nothing of what is asked was measured here, so there is no score"
    return f"Predictions: a score of {found.score:.2f} of 1"


def _measured(one: ScoredQuantity) -> str:
    if one.low is None or one.high is None:
        return "-"
    low, high = f"{one.low:.3g}", f"{one.high:.3g}"
    return f"{low} {one.unit}" if low == high else f"{low} to {high} {one.unit}"


def rows(found: ScoredPredictions) -> Iterator[tuple[str, str, str, str, str]]:
    """Of each quantity what HEADS says."""
    for one in found.quantities:
        yield (
            one.name,
            "-" if one.predicted is None else f"{one.predicted:.3g} {one.unit}",
            _measured(one),
            "-" if one.score is None else f"{one.score:.2f}",
            one.why,
        )
