"""The rules for a student's model of a node: bytes, a share, a time. Pure functions.

**counted** is arithmetic, of loops in a table (labs/model.py): nothing is measured, and no node
changes it.

**lightspeed** and **saturation** hold predictions against times, of several loops or numbers of
threads: *things*. For a thing a generation is *won* where the prediction is within what is asked
for. It is *lost* where it is not, and the kit's own model is, with the same rates in the same
generation: so noise that no model could foresee fails nobody. By signs and e-values
(sequential.py):

| | what was seen | verdict | cause | wrong at most |
|-|---|---|---|---|
| 1 | the formula can't be read, or has no value above 0 | fail | bad_file | |
| 2 | the node can't show it: too few cores, caches as large as the arrays, a curve without a bend \
| not_gradable | too_few_cores, not_visible_here, no_effect_here | |
| 3 | shown, of some thing: more generations lost than not | fail | not_predicted | 1/to_fail |
| 4 | shown, of each thing: more won than not | pass | reached | 1/to_pass |
| 5 | shown, of some thing: the kit's own model misses it more often than not, by the same each \
time | not_gradable | solution_misses_it | 1/to_fail |
| 6 | else | open | interrupted, too_noisy, not_decided | |

Of 5, *by the same*: three quarters of the generations are as near to each other as a prediction
has to be. A node on which another model holds says the same each time; other load does not, and is
`too_noisy`, however often it comes: with another language, or later, the prediction would count.

*Wrong* is, of 3: that of no thing more generations are lost than not, for which each is asked
1/to_fail over their number; of 4: that some thing is won no more often than not.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from numalab import words
from numalab.evidence.kinds import LIGHTSPEED, SATURATION
from numalab.evidence.mixes import Mix, ThreadRates, UnseenLoops
from numalab.evidence.record import Evidence, Json
from numalab.evidence.results import Outcome
from numalab.judging.registry import Rule
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

Times = Mapping[Mix, float]
Rates = Mapping[int, float]
# Of threads, cores, one_gb_s and all_gb_s.
Predict = Callable[[int, int, float, float], float]

# How many times the last-level caches all arrays together take at least: they are gone through in
# turns, so what comes back was the longest away.
LEAST_OVER_CACHES = 2.0


def _model(criterion: Criterion, evidence: Evidence) -> Model | None:
    """None: the record has no such file. Raises BadModel."""
    file = criterion.file
    assert file is not None
    text = evidence.handed(file.name)
    return None if text is None else read_model(text.text)


def _bad_file(criterion: Criterion, error: BadModel) -> CriterionVerdict:
    assert criterion.file is not None
    said = str(error)
    why = f"{criterion.file.name}: {said}" + ("" if said.endswith("?") else ".")
    return verdict_on(criterion, "fail", "bad_file", why)


def _refuse_part(
    part: Callable[[Model], object],
) -> Callable[[Criterion, Evidence], CriterionVerdict | None]:
    """Return a function that says what is wrong with one part of the file, on any machine."""

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
    """By how many of the loops' bytes are wrong."""
    if evidence.is_virtual:
        why = "Bytes are counted the same way everywhere; see this node's."
        return verdict_on(criterion, "not_gradable", "seen_elsewhere", why)
    try:
        model = _model(criterion, evidence)
        if model is None:
            return not_measured(criterion, evidence)
        told = model.counted()
    except BadModel as error:
        return _bad_file(criterion, error)
    wrong = {name: value for name, value in told.items() if value != LOOPS[name].bytes_moved}
    if not wrong:
        why = f"The bytes of all {len(LOOPS)} loops are right."
        return judge_value(criterion, 0.0, why, unit="loops")
    which = "; ".join(
        f"`{LOOPS[name].code}` does not move {words.short(value, 9)}"
        for name, value in wrong.items()
    )
    why = f"{words.count(len(wrong), 'loop')} of {len(LOOPS)}: {which}.{_advice(told)}"
    return judge_value(criterion, float(len(wrong)), why, unit="loops")


def _advice(told: dict[str, float]) -> str:
    """What one mistake explains all that was written, right or wrong, if one does."""
    mistakes = mistaken_bytes(next(iter(LOOPS.values())))
    for sentence in mistakes:
        if all(mistaken_bytes(LOOPS[name])[sentence] == value for name, value in told.items()):
            return f" {words.first_upper(sentence)}."
    return ""


# ---- predictions over generations ------------------------------------------------------


# Of one generation: by how much a prediction is off, for each thing that it is about.
Offs = Mapping[Any, float]


@dataclass(frozen=True)
class Held:
    """A prediction held against generations. offs: of each; own: of the kit's model; claims: of
    each thing, that it is predicted within what is asked for more often than not; model: the same
    of the kit's."""

    offs: tuple[Offs, ...]
    own: tuple[Offs, ...]
    claims: Mapping[Any, Decision]
    model: Mapping[Any, Decision]

    @property
    def worst(self) -> Any:
        """What is missed by most."""
        return max(self.claims, key=lambda thing: statistics.median(self.of(thing)))

    def of(self, thing: Any) -> tuple[float, ...]:
        return tuple(off[thing] for off in self.offs)

    @property
    def median_off(self) -> float:
        """Of what is missed by most."""
        return statistics.median(self.of(self.worst))

    def within(self, offs: Sequence[Offs], at_most: float) -> int:
        """Generations in which all is."""
        return sum(max(off.values()) <= at_most for off in offs)


def held(
    offs: Sequence[Offs], own: Sequence[Offs], at_most: float, evidence: Evidence
) -> Held | None:
    """None: there is no generation yet."""
    if not offs:
        return None
    things = list(offs[0])
    # Each thing may fail a prediction, and all have to pass it.
    asked = thresholds(evidence)
    asked = replace(asked, e_to_fail=asked.e_to_fail * len(things))
    claims, model = {}, {}
    for thing in things:
        won = [off[thing] <= at_most for off in offs]
        kits = [off[thing] <= at_most for off in own]
        lost = [not win and fits for win, fits in zip(won, kits, strict=True)]
        claims[thing] = decide_stepwise(won, asked, lost)[-1]
        model[thing] = decide(kits, asked)
    return Held(tuple(offs), tuple(own), claims, model)


def _verdict(
    criterion: Criterion, evidence: Evidence, found: Held, passes: str, fails: str, unit: str
) -> CriterionVerdict:
    """passes, fails: what is said then; else the kit's word on why it is open."""
    assert criterion.at_most is not None
    asked, offs, at_most = thresholds(evidence), found.of(found.worst), criterion.at_most
    known: dict[str, Any] = {"unit": unit, "confidence": asked.confidence}
    if found.median_off < math.inf:
        known["value"] = found.median_off
    if max(offs) < math.inf:
        known["interval"] = interval(offs, asked)
    reached = {claim.reached for claim in found.claims.values()}
    if "below" in reached:
        return verdict_on(criterion, "fail", "not_predicted", fails, **known)
    if reached == {"above"}:
        return verdict_on(criterion, "pass", "reached", passes, **known)
    replicates = words.count(len(found.offs), "generation")
    fits = found.within(found.own, at_most)
    if any(
        claim.reached == "below" and _is_steady([off[thing] for off in found.own], at_most)
        for thing, claim in found.model.items()
    ):
        why = f"The kit's own model misses it here, too: it holds in {fits} of {replicates}."
        return verdict_on(criterion, "not_gradable", "solution_misses_it", why, **known)
    if evidence.interrupted:
        return verdict_on(criterion, "inconclusive", "interrupted", NOT_DECIDED, **known)
    so_far = f"the prediction holds in {found.within(found.offs, at_most)} of {replicates}"
    if fits == len(found.own):
        why = f"Not decided in the time allowed: {so_far}. Grade again."
        return verdict_on(criterion, "inconclusive", "not_decided", why, **known)
    why = (
        f"The node is too noisy to tell: {so_far}, and the kit's own in {fits}. Grade again when "
        "the node is quiet."
    )
    return verdict_on(criterion, "inconclusive", "too_noisy", why, **known)


def _is_steady(offs: Sequence[float], at_most: float) -> bool:
    """Whether predictions miss by the same, but for an eighth of them at either end. at_most: what
    is asked for; above 1 a factor, else a difference."""
    least, *_, most = statistics.quantiles(offs, n=8, method="inclusive")
    if most == math.inf:
        return False
    return most <= least * at_most if at_most > 1 else most - least <= at_most


def _not_run(criterion: Criterion, outcome: Outcome) -> CriterionVerdict:
    """Of the kit's own program."""
    error = str(outcome.detail.get("error", outcome.status))
    return verdict_on(criterion, "error", "kit", f"Rates could not be measured: {error}")


# ---- the time of unseen loops ----------------------------------------------------------


@Rule("lightspeed", kind="timing", runs=(LIGHTSPEED,), refuse_file=_refuse_part(Model.time_ns))
def lightspeed(criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    """By the worst of the unseen loops in each generation."""
    assert criterion.at_most is not None
    try:
        model = _model(criterion, evidence)
        if model is None:
            return not_measured(criterion, evidence)
        formula = model.time_ns()
        runs = evidence.of(LIGHTSPEED)
        if not runs:
            return not_measured(criterion, evidence)
        run = runs[-1]
        if not run.outcome.ok:
            return _not_run(criterion, run.outcome)
        cached = _in_caches(criterion, evidence, run.pool_bytes)
        if cached is not None:
            return cached
        seen = [_ratios(formula, run, times) for times in run.times_ns]
    except BadModel as error:
        return _bad_file(criterion, error)
    own = [_own_offs(run, times) for times in run.times_ns]
    found = held([_offs(run, ratios) for ratios in seen], own, criterion.at_most, evidence)
    if found is None:
        return not_measured(criterion, evidence)
    loops = "; ".join(map(mix_in_words, run.unseen))
    passes = (
        f"The times of {len(run.unseen)} loops that were not among those measured ({loops}) are "
        f"predicted within a factor of {found.median_off:.2f}."
    )
    return _verdict(criterion, evidence, found, passes, _told_off(run, seen), unit="times off")


def _in_caches(
    criterion: Criterion, evidence: Evidence, pool_bytes: int
) -> CriterionVerdict | None:
    caches = int(evidence.node["last_level_cache_bytes"] or 0)
    if pool_bytes >= LEAST_OVER_CACHES * caches:
        return None
    why = (
        f"The arrays would lie in the caches: {words.amount(pool_bytes)}, which is what this "
        f"node's memory allows, are less than {LEAST_OVER_CACHES:g} times its "
        f"{words.amount(caches)} of cache."
    )
    return verdict_on(criterion, "not_gradable", "not_visible_here", why)


def _ratios(formula: Formula, run: UnseenLoops, times: Times) -> dict[Mix, float]:
    """Predicted over measured time of each unseen loop; none where there are no rates. Raises
    BadModel."""
    rates = loop_times.rates_of(times)
    if rates is None:
        return {}
    return {
        mix: value_of(formula, loop_times.values_for(mix, rates, run.team), TIME) / times[mix]
        for mix in run.unseen
    }


def _offs(run: UnseenLoops, ratios: dict[Mix, float]) -> Offs:
    return {mix: loop_times.factor_off(ratios.get(mix, math.inf), 1.0) for mix in run.unseen}


def _own_offs(run: UnseenLoops, times: Times) -> Offs:
    rates = loop_times.rates_of(times)
    ratios = {} if rates is None else {mix: loop_times.time_ns(mix, rates) for mix in run.unseen}
    return {mix: loop_times.factor_off(ratios.get(mix, math.inf), times[mix]) for mix in run.unseen}


def _told_off(run: UnseenLoops, seen: Sequence[dict[Mix, float]]) -> str:
    """The loop that is missed by most, and the rates with which it is."""
    ratios = {
        mix: statistics.median(of[mix] for of in seen if of) for mix in run.unseen if any(seen)
    }
    if not ratios:
        return "No rates could be worked out."
    mix = max(ratios, key=lambda mix: loop_times.factor_off(ratios[mix], 1.0))
    known = [rates for times in run.times_ns if (rates := loop_times.rates_of(times)) is not None]
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
    """As in: 2 arrays read, 1 updated."""
    told = [(mix.loads, "read"), (mix.stores, "written"), (mix.updates, "updated")]
    parts = [(number, what) for number, what in told if number]
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
def saturation(criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    """By the worst of the drawn numbers of threads in each generation."""
    assert criterion.at_most is not None
    try:
        model = _model(criterion, evidence)
        if model is None:
            return not_measured(criterion, evidence)
        formula = model.share()
        few = _too_few_cores(criterion, evidence.node)
        if few is not None:
            return few
        runs = evidence.of(SATURATION)
        if not runs:
            return not_measured(criterion, evidence)
        run = runs[-1]
        if not run.outcome.ok:
            return _not_run(criterion, run.outcome)
        cached = _in_caches(criterion, evidence, run.pool_bytes)
        if cached is not None:
            return cached
        if not run.drawn and len(run.curve) == len(sat.curve_counts(len(run.pus))):
            return _no_bend(criterion, run)
        seen = [_shares(run, rates, _of_formula(formula)) for rates in run.rates_gb_s]
    except BadModel as error:
        return _bad_file(criterion, error)
    own = [_share_offs(_shares(run, rates, _of_kit)) for rates in run.rates_gb_s]
    found = held(list(map(_share_offs, seen)), own, criterion.at_most, evidence)
    if found is None:
        return not_measured(criterion, evidence)
    drawn = " and ".join(map(str, run.drawn))
    passes = (
        f"The share of {len(run.pus)} cores' rate that {drawn} threads reach is predicted within "
        f"{found.median_off:.2f}."
    )
    return _verdict(criterion, evidence, found, passes, _told_share(run, seen), unit="off")


def _no_bend(criterion: Criterion, run: ThreadRates) -> CriterionVerdict:
    whole = run.curve[max(run.curve)]
    told = ", ".join(
        f"{number}: {words.percent(rate / whole)}" for number, rate in sorted(run.curve.items())
    )
    why = (
        "Here no number of threads tells a rate that saturates from one that grows with each core, "
        f"or that one core reaches alone; share of all cores' rate by threads: {told}."
    )
    return verdict_on(criterion, "not_gradable", "no_effect_here", why)


def _of_kit(threads: int, cores: int, one_gb_s: float, all_gb_s: float) -> float:
    return sat.modelled_share(threads, one_gb_s, all_gb_s)


def _of_formula(formula: Formula) -> Predict:
    def predict(threads: int, cores: int, one_gb_s: float, all_gb_s: float) -> float:
        values = sat.values_for(threads, cores, one_gb_s, all_gb_s)
        return value_of(formula, values, SHARE)

    return predict


def _shares(run: ThreadRates, rates: Rates, predict: Predict) -> dict[int, tuple[float, float]]:
    """Predicted and measured share of each drawn number of threads. Raises BadModel."""
    cores = len(run.pus)
    one, whole = rates[1], rates[cores]
    return {
        threads: (predict(threads, cores, one, whole), rates[threads] / whole)
        for threads in run.drawn
    }


def _share_offs(shares: dict[int, tuple[float, float]]) -> Offs:
    return {threads: abs(predicted - measured) for threads, (predicted, measured) in shares.items()}


def _told_share(run: ThreadRates, seen: Sequence[dict[int, tuple[float, float]]]) -> str:
    """The number of threads that is missed by most."""
    medians = {
        threads: tuple(statistics.median(of[threads][i] for of in seen) for i in (0, 1))
        for threads in run.drawn
    }
    threads = max(medians, key=lambda number: abs(medians[number][0] - medians[number][1]))
    predicted, measured = medians[threads]
    return (
        f"{threads} threads reach {words.percent(measured)} of the rate of all {len(run.pus)} "
        f"cores, and {SHARE} says {words.percent(predicted)}."
    )
