"""The rule for predicted times of messages, which are scored by how near they come. Pure
functions."""

from __future__ import annotations

from dataclasses import dataclass

from numalab import words
from numalab.evidence.kinds import LATENCY
from numalab.evidence.record import Evidence
from numalab.evidence.run_formats import LatencyRun
from numalab.judging import explain, message_times
from numalab.judging.mpi_rules import not_started
from numalab.judging.prediction_score import NOTHING_LEFT_AT, mean_score
from numalab.judging.registry import Rule
from numalab.judging.soundness import not_measured
from numalab.judging.verdict import CriterionVerdict, verdict_on
from numalab.labs.declaration import Criterion, Lab
from numalab.labs.prediction import PREDICTED, TIMES, BadPrediction, predict, read_predictions
from numalab.toml_files.tables import Table


@dataclass(frozen=True)
class _Scored:
    """The score of one prediction (0 to 1), and the reason. is_bad: the prediction can't be
    used."""

    score: float
    why: str
    is_bad: bool = False


def _check_no_bound(lab: Lab, criterion: Criterion, table: Table) -> None:
    for key in ("at_least", "at_most"):
        if key in table:
            table.fail(f"{criterion.rule} is scored, with no bound: leave out '{key}'", key)


@Rule("predicted", kind="timing", runs=(LATENCY,), check=_check_no_bound)
def predicted(criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    """Score the predicted times of messages by the first run. A score above 0 passes, and earns
    that share of the points."""
    file = criterion.needed_file
    text = evidence.handed(file.name)
    if text is None or not evidence.runs_of(LATENCY):
        return not_measured(criterion, evidence)
    run = evidence.runs_of(LATENCY)[0]
    if not run.outcome.ok:
        if run.outcome.blames and run.file is not None:
            why = not_started(run.file, run.outcome)
            return verdict_on(criterion, "fail", "bad_file", why)
        ending = explain.outcome(run.outcome, evidence.language)
        why = f"While times of messages were taken: {ending}"
        return verdict_on(criterion, "error", "kit", why)
    values = _values(run)
    if values is None:
        return not_measured(criterion, evidence)
    noise = next(filter(None, (_disagreement(run, size) for size in PREDICTED.values())), "")
    try:
        scored = _scored(text.text, values, run, is_measurable=not noise)
    except BadPrediction as error:
        return verdict_on(criterion, "fail", "bad_file", f"{file.name}: {error}.")
    bad = [one for one in scored if one.is_bad]
    if noise and len(bad) < len(scored):
        why = f"{noise} Grade again when the node is quiet."
        return verdict_on(criterion, "inconclusive", "too_noisy", why)
    score = mean_score([one.score for one in scored])
    assert score is not None
    why = " ".join([f"{score:.2f} of 1.", *(one.why for one in scored)])
    if score > 0:
        return verdict_on(criterion, "pass", "reached", why, value=score, unit="score", score=score)
    if len(bad) == len(scored):
        why = f"{file.name}: {' '.join(one.why for one in bad)}"
        return verdict_on(criterion, "fail", "bad_file", why)
    return verdict_on(criterion, "fail", "not_predicted", why, value=score, unit="score")


def _values(run: LatencyRun) -> dict[str, float] | None:
    """Return the values of the names that formulas may use, in us and MB/s; None where not all were
    measured."""
    best = message_times.best_us(run)
    small_us, peak_mb_s = message_times.latency_us(run), message_times.bandwidth_mb_s(run)
    sizes = {*TIMES.values(), *PREDICTED.values()}
    if small_us is None or peak_mb_s is None or not sizes <= best.keys():
        return None
    times = {name: best[size] for name, size in TIMES.items()}
    return {"latency_us": small_us, "bandwidth_mb_s": peak_mb_s} | times


def _scored(
    text: str, values: dict[str, float], run: LatencyRun, is_measurable: bool
) -> list[_Scored]:
    """Return the score of each size to predict. is_measurable: whether the measured times show
    anything; else scores are 0."""
    read = read_predictions(text)
    found = []
    for key, size in PREDICTED.items():
        if key in read.complaints:
            found.append(_Scored(0.0, f"{read.complaints[key]}.", is_bad=True))
            continue
        try:
            us = predict(read.formulas[key], values)
        except BadPrediction as error:
            found.append(_Scored(0.0, f"{error}.", is_bad=True))
            continue
        found.append(_score(us, size, run) if is_measurable else _Scored(0, ""))
    return found


def _score(us: float, size: int, run: LatencyRun) -> _Scored:
    measured = message_times.measured(run, PREDICTED.values(), size)
    score, name = measured.score(us), words.bytes_allowed(size)
    if score == 1:
        return _Scored(
            1.0,
            f"{name} were predicted to take {_us(us)} one way, and took "
            f"{_us(min(run.message_us[size]))} at best; {_us(measured.low)} to "
            f"{_us(measured.high)} earn all.",
        )
    # The measured time would be the answer.
    much = "long" if us > measured.high else "short"
    left = f"worth {score:.2f}" if score else f"off by a factor of {NOTHING_LEFT_AT:g} or more"
    return _Scored(score, f"{_us(us)} for {name} one way is too {much}: {left}.")


def _us(time_us: float) -> str:
    """Return a time in us in words."""
    if 1000 <= time_us < 1e7:
        return f"{time_us:,.0f} us"
    return f"{words.short(time_us)} us"


def _disagreement(run: LatencyRun, size: int) -> str:
    """Return why the measured times of a size show nothing, as a sentence; else empty.

    They do not where their quartiles differ too much, or where no line through the times of the
    sizes that are not predicted would earn anything.
    """
    low, high = message_times.quartiles(run.message_us[size])
    name = words.bytes_allowed(size)
    if high > NOTHING_LEFT_AT * low:
        return (
            f"The times of {name} differ by a factor of {high / low:.1f} among themselves, and "
            f"{NOTHING_LEFT_AT:g} earns nothing."
        )
    alone = message_times.best_to_quartile(run.message_us[size])
    said = message_times.two_lines_us(message_times.best_us(run), PREDICTED.values(), size)
    if not any(alone.score(us) > 0 for us in said):
        return (
            f"The times do not fit together just now: two lines through those of the other sizes "
            f"are off by a factor of {NOTHING_LEFT_AT:g} or more for {name}, too."
        )
    return ""
