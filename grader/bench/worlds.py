"""Invented nodes and kernels, whose truth is known: times of handout, solution, submission and
control, generation by generation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from numalab.evidence.record import CONTROL, HANDOUT, SOLUTION, SUBMISSION
from numalab.judging.timing_claims import LEAST_HANDOUT_RATIO
from numalab.judging.timing_state import UNSTEADY_RATIO
from numalab.labs.declaration import Criterion

Times = dict[str, NDArray[np.float64]]  # seconds by role, each trials x generations
Shape = Literal["normal", "two points", "heavy tails"]
# What the submission's noise is about: its own time; or exactly what a generation has to stay
# below for a win, or reaches with a loss, so that either has probability 1/2, whatever the others'
# noise.
About = Literal["own time", "win", "loss"]


@dataclass(frozen=True)
class World:
    """Times are logarithms here: the solution's is 0, noise is added, both in units of 1.

    noise: standard deviation of a process; handout: its time over the solution's; speed: the
    submission's, as a multiple of what is asked for on average; twin_of: a role that the submission
    is a copy of, in place of a speed; about, shape, spread: of the submission's noise, where it
    is not that of all processes: spread is half the distance of two points, or the scale of
    Student's t with 2 degrees of freedom. run: mean length in generations of a state in which a
    win has probability 0.2 or 0.8, 0: none. spells: by what factor the whole node is slower in
    spells of 10 generations in the mean. cuts: whether repetitions are cut off as a grading does.
    is_effect_exact: the handout's noise is about 1.15 times the solution's time of the generation.
    """

    noise: float = 0.1
    handout: float = 2.0
    speed: float = 1.0
    twin_of: str | None = None
    about: About = "own time"
    shape: Shape = "normal"
    spread: float = 0.0
    run: float = 0.0
    spells: float = 1.0
    cuts: bool = False
    is_effect_exact: bool = False


def _lasting(
    generator: np.random.Generator, trials: int, count: int, run: float
) -> NDArray[np.bool_]:
    """Two states that last, each half of the time: trials x count."""
    changes = generator.random((trials, count)) < 1 / run
    changes[:, 0] = generator.random(trials) < 0.5
    return np.asarray(np.cumsum(changes, axis=1) % 2 == 1)


def _own_noise(
    world: World, generator: np.random.Generator, shape: tuple[int, int]
) -> NDArray[np.float64]:
    """Of the submission, symmetric about 0."""
    if world.shape == "two points":
        side = np.where(generator.random(shape) < 0.5, world.spread, -world.spread)
        return np.asarray(side + world.noise * generator.standard_normal(shape))
    if world.shape == "heavy tails":
        return np.asarray(world.spread * generator.standard_t(2, shape))
    return np.asarray(world.noise * generator.standard_normal(shape))


# A standard normal value is below this with probability 0.8.
_EIGHT_OF_TEN = 0.8416212335729143


def limits(criterion: Criterion, times: Times) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """What a submission has to stay below to win a generation, and what it loses it from."""
    if criterion.rule == "speedup":
        lost_from = np.sqrt(times[HANDOUT] * times[SOLUTION])
        return np.minimum(lost_from, times[HANDOUT] / math.sqrt(LEAST_HANDOUT_RATIO)), lost_from
    assert criterion.at_least is not None
    lost_from = times[SOLUTION] / criterion.at_least
    return lost_from, lost_from


def draw(
    world: World, criterion: Criterion, generator: np.random.Generator, trials: int, count: int
) -> Times:
    """Of so many trials, count generations each."""
    shape = (trials, count)

    def process() -> NDArray[np.float64]:
        return np.asarray(np.exp(world.noise * generator.standard_normal(shape)))

    times = {SOLUTION: process(), CONTROL: process()}
    times[HANDOUT] = world.handout * process()
    if world.is_effect_exact:
        times[HANDOUT] = LEAST_HANDOUT_RATIO * times[SOLUTION] * process()
    own = _own_noise(world, generator, shape)
    if world.run:
        is_slow = _lasting(generator, trials, count, world.run)
        own += _EIGHT_OF_TEN * world.noise * np.where(is_slow, 1, -1)
    own_s = np.exp(own) / world.speed
    on_average = {HANDOUT: np.array(world.handout), SOLUTION: np.array(1.0)}
    if world.twin_of is not None:
        times[SUBMISSION] = own_s * on_average[world.twin_of]
    elif world.about == "own time":
        times[SUBMISSION] = own_s * limits(criterion, on_average)[1]
    else:
        times[SUBMISSION] = own_s * limits(criterion, times)[world.about == "loss"]
    if world.spells > 1:
        factor = np.where(_lasting(generator, trials, count, 10.0), world.spells, 1.0)
        times = {role: of_role * factor for role, of_role in times.items()}
    return times


# ---- the truth -----------------------------------------------------------------------


@dataclass(frozen=True)
class Signs:
    """All that the judge takes of each generation, of whatever shape. shows: also where no handout
    ran; control: whether it was below what loses."""

    win: NDArray[np.bool_]
    loss: NDArray[np.bool_]
    shows: NDArray[np.bool_]
    unsteady: NDArray[np.bool_]
    control: NDArray[np.bool_]

    def codes(self) -> NDArray[np.uint8]:
        """A number for each generation, the same where all signs are."""
        signs = (self.win, self.loss, self.shows, self.unsteady, self.control)
        return np.asarray(sum(sign.astype(np.uint8) << bit for bit, sign in enumerate(signs)))


def signs_of(criterion: Criterion, times: Times) -> Signs:
    win_below, lost_from = limits(criterion, times)
    own = np.abs(np.log(times[SUBMISSION] / lost_from))
    kits = np.abs(np.log(times[CONTROL] / times[SOLUTION]))
    handout_s = times.get(HANDOUT, np.full_like(times[SOLUTION], np.inf))
    return Signs(
        win=times[SUBMISSION] < win_below,
        loss=times[SUBMISSION] >= lost_from,
        shows=handout_s >= LEAST_HANDOUT_RATIO * times[SOLUTION],
        unsteady=own > UNSTEADY_RATIO * kits,
        control=times[CONTROL] < lost_from,
    )


@dataclass(frozen=True)
class Chances:
    """Of one generation. shows: that it shows an effect, 1 where nothing asks; unsteady: as the
    judge takes it."""

    win: float
    loss: float
    shows: float
    unsteady: float


SAMPLE = 400_000


def chances(world: World, criterion: Criterion) -> Chances:
    """Counted in a sample, but for those that are 1/2 by construction."""
    signs = signs_of(criterion, draw(world, criterion, np.random.default_rng(0), SAMPLE, 1))
    found = {name: getattr(signs, name).mean() for name in ("win", "loss", "shows", "unsteady")}
    if world.speed == 1.0 and world.twin_of is None and world.about != "own time":
        if world.about == "win" or criterion.rule == "efficiency":
            found["win"] = 0.5
        if world.about == "loss" or criterion.rule == "efficiency":
            found["loss"] = 0.5
    if criterion.rule == "efficiency":
        found["shows"] = 1.0
    elif world.is_effect_exact:
        found["shows"] = 0.5
    return Chances(**{name: float(chance) for name, chance in found.items()})
