"""The rules for a student's model of a machine: model.toml has bytes, a share and a time.

**counted** compares the bytes of loops in a table (labs/model.py) by arithmetic; nothing is
measured.

**lightspeed** (the time of loops that were not measured) and **saturation** (the share of the full
rate that some threads reach) hold predictions against measurements. One prediction is made for each
of several *targets*: loops, or numbers of threads. The *error* of a prediction is a factor of times
or a difference of shares, and `at_most` bounds it. Per target a replicate is

- *won* where the student's error is within the bound;
- *lost* where it is not, and that of numalab's own model, with the same rates in the same
  replicate, is.

Signs and e-values are those of sequential.py. Where there are measurements, and for saturation
enough cores (else not_gradable too_few_cores), the first row that holds is the verdict:

| | what replicates show | status, cause | at a risk of |
|-|-|-|-|
| 1 | the formula can't be read | fail bad_file | |
| 2 | the machine can't show it: caches too large for the arrays, a curve without a bend; else the \
formula has no value above 0 | not_gradable not_visible_here, no_effect_here; fail bad_file | |
| 3 | of some target, more are lost than not | fail not_predicted | 1/e_to_fail |
| 4 | of each target, more are won than not | pass reached | 1/e_to_pass |
| 5 | of some target, numalab's model is outside the bound more often than not, and by the same \
each time | not_gradable solution_misses_it | 1/e_to_fail |
| 6 | else | inconclusive interrupted, too_noisy, not_decided | |

*By the same* (5): three quarters of the replicates are as near to each other as a prediction has to
be to a measurement, as on a machine on which another model holds.

*The risk* of 3 holds where of no target more replicates are lost than not: each of several targets
takes e_to_fail times their number. That of 4 holds where some target is won no more often than not.

Pure functions.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from numalab import words
from numalab.evidence.kinds import REFERENCE_LOOPS, SATURATION
from numalab.evidence.mixes import rates_gb_s, times_ns
from numalab.evidence.record import Evidence, Json, Kind
from numalab.evidence.run_formats import Mix, ReferenceRatesRun, SaturationRun
from numalab.judging.registry import Judge, Rule
from numalab.judging.sequential import Decision, decide, decide_stepwise, interval
from numalab.judging.soundness import judge_value, not_measured
from numalab.judging.timing_state import thresholds
from numalab.judging.verdict import NOT_DECIDED, CriterionVerdict, verdict_on
from numalab.labs import loop_times
from numalab.labs import saturation as sat
from numalab.labs.declaration import Criterion
from numalab.labs.formula import Formula
from numalab.labs.model import (
    LOOPS,
    SHARE,
    TIME,
    BadModel,
    Model,
    mistaken_bytes,
    read_model,
    value_of,
)

Measured = TypeVar("Measured", ReferenceRatesRun, SaturationRun)
Times = Mapping[Mix, float]
Rates = Mapping[int, float]
# Returns the share of the full rate (0 to 1) that a model predicts. Arguments: the number of
# threads, that of all cores, and the rates in GB/s of a single core and of all cores.
Predict = Callable[[int, int, float, float], float]

# All arrays together take at least this many times the last-level caches. They are used in turns,
# so the one that is used next has been out of use for the longest time.
LEAST_OVER_CACHES = 2.0


def _model(criterion: Criterion, evidence: Evidence) -> Model | None:
    """Return the student's model; None where the record has no such file."""
    text = evidence.handed(criterion.needed_file.name)
    return None if text is None else read_model(text.text)


def _bad_file(criterion: Criterion, error: BadModel) -> CriterionVerdict:
    text = str(error)
    why = f"{criterion.needed_file.name}: {text}" + ("" if text.endswith("?") else ".")
    return verdict_on(criterion, "fail", "bad_file", why)


def _refuse_part(
    part: Callable[[Model], object],
) -> Callable[[Criterion, Evidence], CriterionVerdict | None]:
    """Return a rule's `refuse_file`, which fails a file of which one part can't be used. part:
    returns it, or raises BadModel."""

    def refuse(criterion: Criterion, evidence: Evidence) -> CriterionVerdict | None:
        try:
            model = _model(criterion, evidence)
            if model is not None:
                part(model)
        except BadModel as error:
            return _bad_file(criterion, error)
        return None

    return refuse


# ---- bytes -----------------------------------------------------------------------------


@Rule("counted", subject="answers", refuse_file=_refuse_part(Model.counted))
def counted(criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    """Count the loops for which the model has another number of bytes than they move."""
    if evidence.is_virtual:
        why = "Bytes are counted the same way everywhere; see this node's."
        return verdict_on(criterion, "not_gradable", "seen_elsewhere", why)
    try:
        model = _model(criterion, evidence)
        if model is None:
            return not_measured(criterion, evidence)
        counted_bytes = model.counted()
    except BadModel as error:
        return _bad_file(criterion, error)
    missed = {
        name: value for name, value in counted_bytes.items() if value != LOOPS[name].bytes_moved
    }
    if not missed:
        why = f"The bytes of all {len(LOOPS)} loops are right."
        return judge_value(criterion, 0.0, why, unit="loops")
    which = "; ".join(
        f"`{LOOPS[name].code}` does not move {words.short(value, 9)}"
        for name, value in missed.items()
    )
    why = f"{words.count(len(missed), 'loop')} of {len(LOOPS)}: {which}.{_advice(counted_bytes)}"
    return judge_value(criterion, float(len(missed)), why, unit="loops")


def _advice(counted_bytes: dict[str, float]) -> str:
    """Return the first mistake that explains all values, also the correct ones, as a sentence with
    a space before it; empty: there is none."""
    mistakes = mistaken_bytes(next(iter(LOOPS.values())))
    for sentence in mistakes:
        if all(
            mistaken_bytes(LOOPS[name])[sentence] == value for name, value in counted_bytes.items()
        ):
            return f" {words.first_upper(sentence)}."
    return ""


def _take_model(judge: Callable[[Criterion, Evidence, Model], CriterionVerdict]) -> Judge:
    """Return a rule's judge that passes the student's model on. Where that can't be used, the
    verdict says so."""

    def judge_model(criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
        try:
            model = _model(criterion, evidence)
            if model is None:
                return not_measured(criterion, evidence)
            return judge(criterion, evidence, model)
        except BadModel as error:
            return _bad_file(criterion, error)

    return judge_model


# ---- predictions over replicates -------------------------------------------------------


Target = Any  # a loop, or a number of threads
Errors = Mapping[Target, float]  # of one replicate: the error of the prediction for each target


@dataclass(frozen=True)
class PredictionErrors:
    """Errors of a prediction over replicates, and what they decide.

    Attributes:
        errors: the student's, by replicate.
        model_errors: those of numalab's own model, by replicate.
        claims: by target, the decision: "above" where more replicates are won than not, "below"
            where more are lost than not (the module's docstring defines both).
        model_claims: by target, the decision: "above" where numalab's model is within the bound
            more often than not, "below" where it is outside.
    """

    errors: tuple[Errors, ...]
    model_errors: tuple[Errors, ...]
    claims: Mapping[Target, Decision]
    model_claims: Mapping[Target, Decision]

    @property
    def worst_errors(self) -> list[float]:
        """Return the student's errors by replicate for the target where their median is largest."""
        targets = ([errors[target] for errors in self.errors] for target in self.claims)
        return max(targets, key=statistics.median)

    @property
    def median_error(self) -> float:
        return statistics.median(self.worst_errors)


def decide_predictions(
    errors: Sequence[Errors], model_errors: Sequence[Errors], limit: float, evidence: Evidence
) -> PredictionErrors | None:
    """Return what the errors of predictions decide, which have to be within a limit; None where
    there is no replicate yet.

    Args:
        errors, model_errors: the student's and those of numalab's model, by replicate.
        limit: a factor of times or a difference of shares, as the errors.
    """
    if not errors:
        return None
    targets = list(errors[0])
    # Each target may fail a prediction, and all have to pass it.
    levels = thresholds(evidence)
    levels = replace(levels, e_to_fail=levels.e_to_fail * len(targets))
    claims, model_claims = {}, {}
    for target in targets:
        won = [of_targets[target] <= limit for of_targets in errors]
        model_fits = [of_targets[target] <= limit for of_targets in model_errors]
        lost = [not win and fits for win, fits in zip(won, model_fits, strict=True)]
        claims[target] = decide_stepwise(won, levels, lost)[-1]
        model_claims[target] = decide(model_fits, levels)
    return PredictionErrors(tuple(errors), tuple(model_errors), claims, model_claims)


def _count_within(errors: Sequence[Errors], limit: float) -> int:
    """Count the replicates in which the errors of all targets are within a limit."""
    return sum(max(of_targets.values()) <= limit for of_targets in errors)


def _verdict(
    criterion: Criterion,
    evidence: Evidence,
    decided: PredictionErrors,
    passes: str,
    fails: str,
    unit: str,
) -> CriterionVerdict:
    """Return the verdict by rows 3 to 6 of the module's table. passes, fails: the sentences of a
    pass and of a fail."""
    levels, errors, limit = thresholds(evidence), decided.worst_errors, criterion.most
    known: dict[str, Any] = {"unit": unit, "confidence": levels.confidence}
    if decided.median_error < math.inf:
        known["value"] = decided.median_error
    if max(errors) < math.inf:
        known["interval"] = interval(errors, levels)
    reached = {claim.reached for claim in decided.claims.values()}
    if "below" in reached:
        return verdict_on(criterion, "fail", "not_predicted", fails, **known)
    if reached == {"above"}:
        return verdict_on(criterion, "pass", "reached", passes, **known)
    replicates = words.count(len(decided.errors), "generation")
    fits = _count_within(decided.model_errors, limit)
    if any(
        claim.reached == "below"
        and _is_steady([of_targets[target] for of_targets in decided.model_errors], limit)
        for target, claim in decided.model_claims.items()
    ):
        why = f"The kit's own model misses it here, too: it holds in {fits} of {replicates}."
        return verdict_on(criterion, "not_gradable", "solution_misses_it", why, **known)
    if evidence.interrupted:
        return verdict_on(criterion, "inconclusive", "interrupted", NOT_DECIDED, **known)
    within = _count_within(decided.errors, limit)
    so_far = f"the prediction holds in {within} of {replicates}"
    if fits == len(decided.model_errors):
        why = f"Not decided in the time allowed: {so_far}. Grade again."
        return verdict_on(criterion, "inconclusive", "not_decided", why, **known)
    why = (
        f"The node is too noisy to tell: {so_far}, and the kit's own in {fits}. Grade again when "
        "the node is quiet."
    )
    return verdict_on(criterion, "inconclusive", "too_noisy", why, **known)


def _is_steady(errors: Sequence[float], limit: float) -> bool:
    """Tell whether the first and the last octile of two or more errors agree within the limit. A
    limit above 1 is a factor, else a difference."""
    least, *_, most = statistics.quantiles(errors, n=8, method="inclusive")
    if most == math.inf:
        return False
    return most <= least * limit if limit > 1 else most - least <= limit


def _measured_run(
    kind: Kind[Measured], criterion: Criterion, evidence: Evidence
) -> Measured | CriterionVerdict:
    """Return the last run of a kind, which may have no replicates yet, or the verdict where there
    is no run, where the last did not come to its end, or where its arrays together are too small
    for the machine's caches."""
    runs = evidence.runs_of(kind)
    if not runs:
        return not_measured(criterion, evidence)
    run = runs[-1]
    if not run.outcome.ok:
        error = run.outcome.error or run.outcome.status
        return verdict_on(criterion, "error", "kit", f"Rates could not be measured: {error}")
    caches = int(evidence.node["last_level_cache_bytes"] or 0)
    pool_bytes = run.array_bytes * run.arrays
    if pool_bytes >= LEAST_OVER_CACHES * caches:
        return run
    why = (
        f"The arrays would lie in the caches: {words.amount(pool_bytes)}, which is what this "
        f"node's memory allows, are less than {LEAST_OVER_CACHES:g} times its "
        f"{words.amount(caches)} of cache."
    )
    return verdict_on(criterion, "not_gradable", "not_visible_here", why)


# ---- the time of unseen loops ----------------------------------------------------------


@Rule("lightspeed", kind="timing", runs=(REFERENCE_LOOPS,), refuse_file=_refuse_part(Model.time_ns))
@_take_model
def predicted_times(criterion: Criterion, evidence: Evidence, model: Model) -> CriterionVerdict:
    """Judge the predicted times of loops with unseen mixes of accesses, by the factor between
    prediction and measurement in each replicate."""
    formula = model.time_ns()
    run = _measured_run(REFERENCE_LOOPS, criterion, evidence)
    if isinstance(run, CriterionVerdict):
        return run
    replicates = times_ns(run)
    ratios = [_time_ratios(formula, run, times) for times in replicates]
    decided = decide_predictions(
        [_time_errors(run, of_loops) for of_loops in ratios],
        [_model_time_errors(run, times) for times in replicates],
        criterion.most,
        evidence,
    )
    if decided is None:
        return not_measured(criterion, evidence)
    loops = "; ".join(map(mix_in_words, run.unseen))
    passes = (
        f"The times of {len(run.unseen)} loops that were not among those measured ({loops}) are "
        f"predicted within a factor of {decided.median_error:.2f}."
    )
    fails = _worst_loop_text(run, ratios, replicates)
    return _verdict(criterion, evidence, decided, passes, fails, unit="times off")


def _time_ratios(formula: Formula, run: ReferenceRatesRun, times: Times) -> dict[Mix, float]:
    """Return predicted over measured time of each loop to predict, by one replicate's times in ns;
    empty where these give no rates."""
    rates = loop_times.rates_of(times)
    if rates is None:
        return {}
    return {
        mix: value_of(formula, loop_times.values_for(mix, rates, run.team), TIME) / times[mix]
        for mix in run.unseen
    }


def _time_errors(run: ReferenceRatesRun, ratios: Mapping[Mix, float]) -> Errors:
    return {mix: loop_times.factor_off(ratios.get(mix, math.inf), 1.0) for mix in run.unseen}


def _model_time_errors(run: ReferenceRatesRun, times: Times) -> Errors:
    """Return the errors of numalab's own model (loop_times.time_ns) in one replicate; infinite
    where its times give no rates."""
    rates = loop_times.rates_of(times)
    predicted = {} if rates is None else {mix: loop_times.time_ns(mix, rates) for mix in run.unseen}
    return {
        mix: loop_times.factor_off(predicted.get(mix, math.inf), times[mix]) for mix in run.unseen
    }


def _worst_loop_text(
    run: ReferenceRatesRun, ratios_of: Sequence[dict[Mix, float]], replicates: Sequence[Times]
) -> str:
    """Return a sentence on the loop with the largest error, and the rates that it was predicted
    with, by medians over replicates. ratios_of: _time_ratios of each replicate."""
    known_ratios = [ratios for ratios in ratios_of if ratios]
    ratios = {
        mix: statistics.median(ratios[mix] for ratios in known_ratios)
        for mix in run.unseen
        if known_ratios
    }
    if not ratios:
        return "No rates could be worked out."
    mix = max(ratios, key=lambda mix: loop_times.factor_off(ratios[mix], 1.0))
    known = [rates for times in replicates if (rates := loop_times.rates_of(times)) is not None]
    read, write, update = (
        words.short(statistics.median(getattr(rates, name) for rates in known))
        for name in loop_times.RATES
    )
    much = "too long" if ratios[mix] > 1 else "too short"
    return (
        f"For a loop with {mix_in_words(mix)}, {TIME} is {much} by a factor of "
        f"{loop_times.factor_off(ratios[mix], 1.0):.2f}; here read_gb_s is {read}, write_gb_s "
        f"{write} and update_gb_s {update}."
    )


def mix_in_words(mix: Mix) -> str:
    """Return a mix of accesses in words, as in: 2 arrays read, 1 updated."""
    counts = [(mix.loads, "read"), (mix.stores, "written"), (mix.updates, "updated")]
    parts = [(number, what) for number, what in counts if number]
    return ", ".join(
        f"{words.count(number, 'array') if place == 0 else number} {what}"
        for place, (number, what) in enumerate(parts)
    )


# ---- the share of some threads ---------------------------------------------------------


def _too_few_cores(
    criterion: Criterion, node: Json, is_virtual: bool = False
) -> CriterionVerdict | None:
    cores = len(sat.cores_of_a_numa_node(node))
    if cores >= sat.LEAST_CORES:
        return None
    why = (
        f"This node offers {words.count(cores, 'core')} of one kind in a NUMA node; with fewer "
        f"than {sat.LEAST_CORES} the rate over threads has no room to bend."
    )
    return verdict_on(criterion, "not_gradable", "too_few_cores", why)


@Rule(
    "saturation", kind="timing", runs=(SATURATION,), judge_machine=_too_few_cores,
    refuse_file=_refuse_part(Model.share),
)  # fmt: skip
@_take_model
def saturation(criterion: Criterion, evidence: Evidence, model: Model) -> CriterionVerdict:
    """Judge the predicted share of the full rate that drawn numbers of threads reach, by the
    difference from the measured share in each replicate."""
    formula = model.share()
    few = _too_few_cores(criterion, evidence.node)
    if few is not None:
        return few
    run = _measured_run(SATURATION, criterion, evidence)
    if isinstance(run, CriterionVerdict):
        return run
    if not run.drawn and len(run.curve) == len(sat.curve_counts(len(run.pus))):
        return _no_bend(criterion, run)
    replicates = [rates_gb_s(run, one.processes) for one in run.generations]
    shares = [_shares(run, rates, _predictor(formula)) for rates in replicates]
    decided = decide_predictions(
        list(map(_share_errors, shares)),
        [_share_errors(_shares(run, rates, _predict_by_model)) for rates in replicates],
        criterion.most,
        evidence,
    )
    if decided is None:
        return not_measured(criterion, evidence)
    drawn = " and ".join(map(str, run.drawn))
    passes = (
        f"The share of {len(run.pus)} cores' rate that {drawn} threads reach is predicted within "
        f"{decided.median_error:.2f}."
    )
    fails = _worst_share_text(run, shares)
    return _verdict(criterion, evidence, decided, passes, fails, unit="off")


def _no_bend(criterion: Criterion, run: SaturationRun) -> CriterionVerdict:
    """Return the verdict where no numbers of threads could be drawn that tell numalab's model from
    others (saturation.draw_counts)."""
    rates = rates_gb_s(run, run.curve)
    whole = rates[max(rates)]
    curve = ", ".join(
        f"{number}: {words.percent(rate / whole)}" for number, rate in sorted(rates.items())
    )
    why = (
        "Here no number of threads tells a rate that saturates from one that grows with each core, "
        f"or that one core reaches alone; share of all cores' rate by threads: {curve}."
    )
    return verdict_on(criterion, "not_gradable", "no_effect_here", why)


def _predict_by_model(threads: int, cores: int, single_gb_s: float, all_gb_s: float) -> float:
    return sat.modelled_share(threads, single_gb_s, all_gb_s)


def _predictor(formula: Formula) -> Predict:
    def predict(threads: int, cores: int, single_gb_s: float, all_gb_s: float) -> float:
        values = sat.values_for(threads, cores, single_gb_s, all_gb_s)
        return value_of(formula, values, SHARE)

    return predict


def _shares(run: SaturationRun, rates: Rates, predict: Predict) -> dict[int, tuple[float, float]]:
    """Return the predicted and the measured share for each drawn number of threads, by one
    replicate's rates in GB/s."""
    cores = len(run.pus)
    single, whole = rates[1], rates[cores]
    return {
        threads: (predict(threads, cores, single, whole), rates[threads] / whole)
        for threads in run.drawn
    }


def _share_errors(shares: dict[int, tuple[float, float]]) -> Errors:
    return {threads: abs(predicted - measured) for threads, (predicted, measured) in shares.items()}


def _worst_share_text(
    run: SaturationRun, replicates: Sequence[dict[int, tuple[float, float]]]
) -> str:
    """Return a sentence on the number of threads with the largest error, by the medians of both
    shares."""
    medians = {
        threads: tuple(
            statistics.median(shares[threads][i] for shares in replicates) for i in (0, 1)
        )
        for threads in run.drawn
    }
    threads = max(medians, key=lambda number: abs(medians[number][0] - medians[number][1]))
    predicted, measured = medians[threads]
    return (
        f"{threads} threads reach {words.percent(measured)} of the rate of all {len(run.pus)} "
        f"cores, and {SHARE} says {words.percent(predicted)}."
    )
