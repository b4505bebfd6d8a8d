"""How long the judge of times takes on this node, and how often it stays open: forecasts from
a few generations of the kit's own programs. Pure functions.

Each generation gives a margin: the logarithm of how many times faster a process was than a
criterion asks for. Above 0 its sign speaks for the claim. From the margins of a few
generations comes the chance that the next one's sign does, and from that, by the judge's own
stopping rule, how many generations it will look at. Nothing is simulated: the probabilities of
all courses are added up.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from numalab.evidence.record import CONTROL, HANDOUT, SOLUTION, TimedRound
from numalab.judging.sequential import Thresholds, e_value
from numalab.judging.timing_claims import LEAST_HANDOUT_RATIO, best_s, speedup_passes_below_s

MIN_REPLICATES = 3  # fewer tell nothing of how far they scatter


def student_t(t: float, freedom: int) -> float:
    """P(T <= t) of Student's t distribution. freedom: degrees of it, 1 or more. Source:
    Abramowitz and Stegun, Handbook of Mathematical Functions (1964), 26.7.3 and 26.7.4."""
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
    """The chance that one more margin is above 0, if they are normal and generations are
    independent: the predictive distribution is Student's, so that few generations are not
    trusted too far. margins: of two generations or more, each seen both ways round, since
    two processes of the same program may change places. That is one observation, not two."""
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
    """Of the signs of one claim: after n of them, the probability that it has been taken as
    shown (passed[n]), or its opposite (failed[n])."""

    passed: tuple[float, ...]
    failed: tuple[float, ...]


def course(chance: float, levels: Thresholds, most: int) -> Course:
    """chance: that a sign is a win, each independent of the others; most: signs looked at.
    The same rule as sequential.decide."""
    alive = {0: 1.0}  # probability that there is no decision yet, by wins
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
    """Generations after which a grading ends undecided: as grade takes them, that is until
    the budget is used up, or three times as much where even the least number takes longer."""
    for count in range(1, most):
        if count * replicate_s > budget_s * (1 if count >= least else 3):
            return count
    return most


@dataclass(frozen=True)
class Forecast:
    """What the judge will do with the kit's own solution on this node. chance: that a sign is
    right; chance_it_shows: that a sign says that the node shows the effect, None where nothing
    asks; generations: expected; the shares add up to 1."""

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
    """shows: margins of the handout over the least ratio that shows the effect, where the
    criterion needs it. Its signs are taken as independent of the claim's, and what does not
    speak for the claim as speaking against it: of the kit's solution either is seldom."""
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
    """By which one process of the solution meets the claim, the other being the solution that
    it is compared with; and the other way round. required_ratio: of the solution's speed, or of its
    time where that has limits on both sides, which is the same seen the other way round; None:
    faster than the middle of handout and solution, and than the handout by the least effect's."""
    solution, second = best_s(replicate, SOLUTION), best_s(replicate, CONTROL)

    def met(compared: float, own: float) -> float:
        if required_ratio is not None:
            return math.log(compared / required_ratio / own)
        return math.log(speedup_passes_below_s(best_s(replicate, HANDOUT), compared) / own)

    return met(solution, second), met(second, solution)


def effect_margins(replicate: TimedRound) -> Pair:
    """By which the handout is slow enough for the node to show the effect, compared with
    each of the solution's processes."""
    enough_s = best_s(replicate, HANDOUT) / LEAST_HANDOUT_RATIO
    return (
        math.log(enough_s / best_s(replicate, SOLUTION)),
        math.log(enough_s / best_s(replicate, CONTROL)),
    )


def difference(replicate: TimedRound) -> float:
    """By what share the slower of two processes of the same program took longer."""
    times = best_s(replicate, SOLUTION), best_s(replicate, CONTROL)
    return max(times) / min(times) - 1
