"""How long judging by time takes on this machine, and how often it ends undecided: forecasts from a
few rounds of numalab's own programs. Pure functions.

A round gives pairs of margins: natural logarithms of how many times faster a process was than
required. A positive one supports the claim. The margins of a few rounds give the chance that the
next round's is positive, and from that, by the judge's own stopping rule, follows how many rounds
it will take. Nothing is simulated: the probabilities of all courses are added up."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from numalab.evidence.record import CONTROL, HANDOUT, SOLUTION, TimedRound
from numalab.judging.sequential import Thresholds, e_value
from numalab.judging.timing_claims import LEAST_HANDOUT_RATIO, best_s, speedup_passes_below_s

MIN_REPLICATES = 3  # from fewer rounds nothing is forecast


def student_t(t: float, freedom: int) -> float:
    """Return P(T <= t) of Student's t distribution. freedom: its degrees of freedom, 1 or more.
    Source: Abramowitz and Stegun, Handbook of Mathematical Functions (1964), 26.7.3 and 26.7.4."""
    angle = math.atan(t / math.sqrt(freedom))
    cosine, sine = math.cos(angle), math.sin(angle)
    if freedom == 1:
        return 0.5 + angle / math.pi
    term = cosine if freedom % 2 else 1.0
    total = term
    for k in range(freedom % 2 + 2, freedom, 2):
        term *= (k - 1) / k * cosine**2
        total += term
    inside = 2 / math.pi * (angle + sine * total) if freedom % 2 else sine * total
    return 0.5 + inside / 2


Pair = tuple[float, float]


def chance_of_win(margins: Sequence[Pair]) -> float:
    """Return the chance [0..1] that one more margin is above 0, if margins are normally distributed
    and rounds independent. The predictive distribution is Student's, so that few rounds are not
    trusted too far.

    margins: of two rounds or more, a pair each, since the two processes of the same program may be
    swapped; a pair is one observation."""
    both = [margin for pair in margins for margin in pair]
    freedom = len(margins) - 1
    mean = statistics.fmean(both)
    deviation = math.sqrt(sum((margin - mean) ** 2 for margin in both) / (2 * freedom))
    if deviation < 1e-12:
        return float(mean > 0)
    scale = deviation * math.sqrt(1 + 1 / len(margins))
    return student_t(mean / scale, freedom)


@dataclass(frozen=True)
class Course:
    """The probabilities that after at most n signs of a claim it has been accepted (passed[n]), or
    its opposite has (failed[n])."""

    passed: tuple[float, ...]
    failed: tuple[float, ...]


def course(chance: float, levels: Thresholds, most: int) -> Course:
    """Return how a claim is decided by e-values, for 0 to `most` signs. chance: that a sign
    supports the claim, independently of the others."""
    alive = {0: 1.0}  # probability that there is no decision yet, by the number of wins
    passed, failed = [0.0], [0.0]
    for count in range(1, most + 1):
        reached = dict.fromkeys(range(count + 1), 0.0)
        for wins, weight in alive.items():
            reached[wins + 1] += weight * chance
            reached[wins] += weight * (1 - chance)
        passes = [w for w in reached if e_value(w, count) >= levels.e_to_pass]
        fails = [w for w in reached if e_value(count - w, count) >= levels.e_to_fail]
        passed.append(passed[-1] + sum(reached.pop(w) for w in passes))
        failed.append(failed[-1] + sum(reached.pop(w, 0.0) for w in fails))
        alive = reached
    return Course(tuple(passed), tuple(failed))


def most_within(replicate_s: float, least: int, most: int, budget_s: float) -> int:
    """Return the number of rounds after which a grading ends undecided: the first whose time
    exceeds the budget or, while it is below the least number, three times the budget; at most
    `most`. replicate_s: the time of a round."""
    for count in range(1, most):
        if count * replicate_s > budget_s * (1 if count >= least else 3):
            return count
    return most


@dataclass(frozen=True)
class Forecast:
    """How gradings of the solution by one criterion end on this machine.

    Attributes:
        chance: that a sign supports the claim.
        chance_it_shows: that a sign supports that the machine shows the effect; None: the criterion
            does not require that.
        generations: the expected number of rounds.
        share_passed, share_failed, share_not_gradable, share_open: of gradings [0..1].
    """

    chance: float
    chance_it_shows: float | None
    generations: float
    share_passed: float
    share_failed: float
    share_not_gradable: float
    share_open: float


def forecast(
    margins: Sequence[Pair], shows: Sequence[Pair] | None, levels: Thresholds, most: int
) -> Forecast:
    """Return the forecast for a criterion. A sign that does not support a claim counts against it.

    Args:
        margins: of the claim.
        shows: of the effect (effect_margins); None: the criterion does not require it. Its signs
            are taken as independent of the claim's.
        most: the most rounds that a grading takes.
    """
    chance = chance_of_win(margins)
    claim = course(chance, levels, most)
    it_shows = None if shows is None else chance_of_win(shows)
    gate = Course((1.0,) * (most + 1), (0.0,) * (most + 1))
    if it_shows is not None:
        gate = course(it_shows, levels, most)
    decided = [
        passed + failed * shown + (1 - passed) * out
        for out, shown, passed, failed in zip(
            gate.failed, gate.passed, claim.passed, claim.failed, strict=True
        )
    ]
    return Forecast(
        chance=chance,
        chance_it_shows=it_shows,
        generations=sum(1 - share for share in decided[:-1]),
        share_passed=claim.passed[-1],
        share_failed=gate.passed[-1] * claim.failed[-1],
        share_not_gradable=gate.failed[-1] * (1 - claim.passed[-1]),
        share_open=max(0.0, 1 - decided[-1]),
    )


def margins(replicate: TimedRound, required_ratio: float | None) -> Pair:
    """Return the margins of a claim with one process of the solution in the place of a hand-in, the
    other being what it is compared with; and with both swapped.

    required_ratio: the share of the solution's speed that is required (of its time: then the pair
    is swapped); None: a speedup (speedup_passes_below_s)."""
    solution, second = best_s(replicate, SOLUTION), best_s(replicate, CONTROL)

    def met(compared: float, own: float) -> float:
        if required_ratio is not None:
            return math.log(compared / required_ratio / own)
        return math.log(speedup_passes_below_s(best_s(replicate, HANDOUT), compared) / own)

    return met(solution, second), met(second, solution)


def effect_margins(replicate: TimedRound) -> Pair:
    """Return the margins by which the starting code takes more than LEAST_HANDOUT_RATIO times as
    long as each of the solution's two processes."""
    enough_s = best_s(replicate, HANDOUT) / LEAST_HANDOUT_RATIO
    return (
        math.log(enough_s / best_s(replicate, SOLUTION)),
        math.log(enough_s / best_s(replicate, CONTROL)),
    )


def difference(replicate: TimedRound) -> float:
    """Return by what share the slower of the two processes of the solution took longer: 0.1 is 10
    percent."""
    times = best_s(replicate, SOLUTION), best_s(replicate, CONTROL)
    return max(times) / min(times) - 1
