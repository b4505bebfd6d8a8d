"""The scores of predicted quantities by a grading's record, and their mean.

Quantities that could not be measured are left out of the mean, with the reason. Pure functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from numalab.evidence.kinds import LATENCY
from numalab.evidence.record import Evidence, EvidenceByPlace
from numalab.judging import message_times
from numalab.judging.observed_quantities import NotMeasured, measure_quantity
from numalab.judging.prediction_score import Interval, mean_score
from numalab.judging.sequential import interval
from numalab.judging.timing_account import TimingAccount
from numalab.judging.timing_claims import best_s
from numalab.judging.timing_state import complete, is_cut, thresholds
from numalab.judging.verdict import Verdict
from numalab.labs.declaration import Lab
from numalab.labs.quantities import (
    FILE,
    BadPredictions,
    Predicted,
    Quantity,
    read_predictions,
)
from numalab.words import first_upper


@dataclass(frozen=True)
class ScoredQuantity:
    """A predicted quantity and its score.

    Attributes:
        predicted: the predicted value; None where it is missing or can't be used.
        low, high: the measured interval in `unit`; None where nothing was measured, and where
            nothing was predicted: a value that was shown can't be predicted any more.
        score: from 0 to 1; 0 without a prediction, None where nothing was measured.
        why: the reason for the score, as a sentence.
    """

    name: str
    predicted: float | None
    low: float | None
    high: float | None
    unit: str
    score: float | None
    why: str


@dataclass(frozen=True)
class ScoredPredictions:
    """The scores of a file with predictions.

    Attributes:
        score: the mean of the scores (0 to 1); None where nothing was measured.
        why: what is wrong with the file, or with some of its keys; else empty.
    """

    score: float | None
    quantities: tuple[ScoredQuantity, ...]
    why: str = ""

    def json_data(self) -> dict[str, Any]:
        data: dict[str, Any] = {
            "score": None if self.score is None else round(self.score, 4),
            "quantities": [asdict(one) for one in self.quantities],
        }
        return data | ({"why": self.why} if self.why else {})


def scored_predictions(
    lab: Lab, verdict: Verdict, observed: EvidenceByPlace, accounts: Sequence[TimingAccount]
) -> ScoredPredictions | None:
    """Return the scores of the handed-in predictions; None where no file was handed in, or the lab
    asks for none.

    Args:
        verdict: that over all machines.
        observed: the evidence of each machine, this one's first.
        accounts: those of the criteria that were timed.
    """
    local = observed[0][1]
    handed = local.handed(FILE)
    if handed is None or not lab.predicted:
        return None
    why, predictions = "", Predicted()
    if handed.complaint is None:
        try:
            predictions = read_predictions(handed.text, lab.predicted)
        except BadPredictions as error:  # the lab may ask for something else by now
            why = f"{FILE}: {error}."
        if predictions.unknown:
            why = f"{FILE}: {' '.join(predictions.unknown)}"
    else:
        why = handed.complaint
    is_usable = not why or bool(predictions.unknown)
    scored = tuple(
        _scored(quantity, predictions, _measured(quantity, verdict, local, accounts), is_usable)
        for quantity in lab.predicted
    )
    mean = mean_score([one.score for one in scored if one.score is not None])
    return ScoredPredictions(mean, scored, why)


def _scored(
    quantity: Quantity, predictions: Predicted, measured: Interval | str, is_usable: bool
) -> ScoredQuantity:
    """Return the score of one quantity. measured: an interval, or the reason why there is none;
    is_usable: whether the file could be read."""
    predicted = predictions.values.get(quantity.name)
    if isinstance(measured, str):
        why = f"Left out: {measured}." if is_usable else f"{FILE} can't be used."
        return ScoredQuantity(quantity.name, predicted, None, None, quantity.unit, None, why)
    if predicted is None:
        complaint = predictions.complaints.get(quantity.name)
        why = "Nothing was predicted." if complaint is None else f"Not usable: {complaint}."
        # The measured value is not shown: there would be nothing left to predict.
        return ScoredQuantity(quantity.name, None, None, None, quantity.unit, 0.0, why)
    score = round(measured.score(predicted), 4)
    misses = measured.misses(predicted)
    why = f"{first_upper(misses)}." if misses else "Within what was measured."
    return ScoredQuantity(
        quantity.name, predicted, measured.low, measured.high, quantity.unit, score, why
    )


def _measured(
    quantity: Quantity, verdict: Verdict, local: Evidence, accounts: Sequence[TimingAccount]
) -> Interval | str:
    """Return the measured interval of a quantity, or the reason why there is none, as a clause."""
    try:
        if quantity.of == "value":
            low, high = _value(quantity, verdict)
        elif quantity.of == "message":
            low, high = _message(quantity, local)
        elif quantity.of == "seen":
            low, high = measure_quantity(quantity, local)
        elif quantity.of == "ratio":
            low, high = _ratio(quantity, local, accounts)
        else:
            low, high = _middle(quantity, accounts)
        return Interval(low, high, quantity.is_share)
    except NotMeasured as error:
        return str(error)
    except ValueError:
        return "what was measured is nothing that can be predicted"


def _bounded(low: float | None, high: float | None) -> tuple[float, float]:
    if low is None or high is None:
        raise NotMeasured("too few generations were timed to say between what it lies")
    return low, high


def _value(quantity: Quantity, verdict: Verdict) -> tuple[float, float]:
    for found in verdict.criteria:
        if (found.name, found.where) != (quantity.criterion, quantity.where):
            continue
        if found.value is None or found.status not in ("pass", "fail"):
            break
        if found.kind == "timing" and found.interval is not None:
            return _bounded(*found.interval)
        return found.value, found.value
    place = "" if quantity.where == "here" else f" on {quantity.where}"
    raise NotMeasured(f"{quantity.criterion} was not measured{place}")


def _select_accounts(quantity: Quantity, accounts: Sequence[TimingAccount]) -> list[TimingAccount]:
    return [
        account
        for account in accounts
        if account.criterion.slow is None and account.criterion.part == quantity.part
    ]


def _middle(quantity: Quantity, accounts: Sequence[TimingAccount]) -> tuple[float, float]:
    """Return the interval of a role's time in s or its rate in GB/s."""
    for account in _select_accounts(quantity, accounts):
        for rate in account.rates.roles if account.rates is not None else ():
            middle = rate.gb_per_s if quantity.of == "rate" else rate.elapsed_s
            if rate.role == quantity.role and middle is not None:
                return _bounded(middle.low, middle.high)
    raise NotMeasured(f"the {quantity.role} was not timed")


def _ratio(
    quantity: Quantity, local: Evidence, accounts: Sequence[TimingAccount]
) -> tuple[float, float]:
    """Return the interval of a role's speed over another's (`over`). The ratio is taken within each
    replicate: what disturbs one of its processes may disturb the other, too."""
    assert quantity.role is not None and quantity.over is not None
    roles = (quantity.role, quantity.over)
    if _select_accounts(quantity, accounts):
        ratios = [
            best_s(replicate, quantity.over) / best_s(replicate, quantity.role)
            for replicate in complete(local, roles)
            if replicate.part == quantity.part and replicate.slow is None and not is_cut(replicate)
        ]
        if ratios:
            return _bounded(*interval(ratios, thresholds(local)))
    raise NotMeasured(f"{quantity.role} and {quantity.over} were not timed beside each other")


def _message(quantity: Quantity, local: Evidence) -> tuple[float, float]:
    assert quantity.bytes is not None
    for run in local.runs_of(LATENCY):
        times = run.message_us.get(quantity.bytes)
        if run.outcome.ok and times and quantity.file in (None, run.file):
            alone = message_times.best_to_quartile(times)
            return alone.low, alone.high
    under = "" if quantity.file is None else f" under {quantity.file}"
    raise NotMeasured(f"no message of {quantity.bytes:,} bytes was timed{under}")
