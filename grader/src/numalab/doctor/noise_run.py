"""Measurements of how far two runs of the same program differ on this machine, in rounds as a
grading takes them, for the solutions in C of labs."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from numalab.doctor.noise import (
    MIN_REPLICATES,
    Forecast,
    difference,
    effect_margins,
    forecast,
    margins,
    most_within,
)
from numalab.errors import Interrupted, NumalabError
from numalab.evidence.kinds import TIMED_ROUND
from numalab.evidence.record import CONTROL, HANDOUT, SOLUTION, Evidence, Json, TimedRound
from numalab.grading.kernel_grading import Grading
from numalab.grading.timing import solution_grading, time_solution
from numalab.harness.build import build_targets
from numalab.installation import Installation
from numalab.judging import judge, planner
from numalab.judging.effort import effort_for
from numalab.judging.sequential import CAREFUL
from numalab.judging.timing_claims import SPEEDUP
from numalab.labs.declaration import Criterion, Lab
from numalab.words import CountedStep, StepReport

NOISE_S = 30.0
LANGUAGE = "c"


@dataclass
class TimedTogether:
    """Programs that are timed together, and the criteria that are judged by them.

    Attributes:
        replicates: the rounds so far in which the programs came to their end.
        seconds: of each of these, from its start to its end.
        error: why there can be no more rounds; None: there can.
    """

    grading: Grading
    timed: planner.Timed
    criteria: tuple[Criterion, ...]
    replicates: list[TimedRound] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    error: str | None = None

    @property
    def lab(self) -> Lab:
        return self.grading.lab

    @property
    def name(self) -> str:
        return f"{self.lab.name} {' and '.join(c.name for c in self.criteria)}"

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles in a round: the solution twice, and the starting code where a criterion is of
        SPEEDUP."""
        needs_handout = any(SPEEDUP.judges(c) for c in self.criteria)
        return (HANDOUT, SOLUTION, CONTROL) if needs_handout else (SOLUTION, CONTROL)

    @property
    def replicate_s(self) -> float:
        """The mean time of a round, of which there has to be one or more. A grading's takes about
        as long, since the solution's second process is in the place of the hand-in's."""
        return statistics.fmean(self.seconds)

    def forecast(self, criterion: Criterion) -> Forecast | None:
        """Return the forecast for a criterion; None where there are fewer than MIN_REPLICATES
        rounds."""
        if len(self.replicates) < MIN_REPLICATES:
            return None
        effort = self.grading.effort
        least, most = effort.min_replicates, effort.max_replicates
        most = most_within(self.replicate_s, least, most, effort.budget_s)
        of_effect = SPEEDUP.judges(criterion)
        return forecast(
            [margins(generation, criterion.at_least) for generation in self.replicates],
            [effect_margins(generation) for generation in self.replicates] if of_effect else None,
            CAREFUL,
            most,
        )


@dataclass(frozen=True)
class NotTimed:
    """A criterion of time for which nothing is measured, with the reason."""

    lab: Lab
    criterion: Criterion
    why: str


@dataclass(frozen=True)
class Noise:
    """What was measured. measured_s: without building, unless that was interrupted; interrupted: by
    Ctrl-C or another request to stop."""

    timings: tuple[TimedTogether, ...]
    not_timed: tuple[NotTimed, ...]
    measured_s: float
    interrupted: bool

    @property
    def differences(self) -> list[float]:
        """The difference (noise.py) of each pair of processes of the same program."""
        replicates = (generation for timing in self.timings for generation in timing.replicates)
        return [difference(generation) for generation in replicates]


def _why_not(grading: Grading, criterion: Criterion) -> str:
    """Return the reason in the verdict on a criterion, without the full stop."""
    criteria = judge.judge(grading.lab, grading.evidence).criteria
    return next(verdict.why for verdict in criteria if verdict.name == criterion.name).rstrip(".")


def _untimed_words(criterion: Criterion) -> str:
    if criterion.at_least_of_lightspeed is not None:
        return "It is held against the probe, and how near the solution comes to that is no noise"
    return "It compares no programs; each grading tells by its own times"


def _survey(grading: Grading) -> tuple[list[TimedTogether], list[NotTimed]]:
    """Return what of a lab is timed on this machine, and its other criteria of time."""
    lab, evidence = grading.lab, grading.evidence
    gates = {verdict.name: verdict for verdict in judge.judge(lab, evidence).criteria}
    here: list[TimedTogether] = []
    for timed in planner.timings(lab):
        criteria = [
            criterion
            for criterion in planner.gradable_timing(lab, evidence, timed)
            if criterion.at_least_of_lightspeed is None
        ]
        if criteria and planner.timing_roles(lab, evidence, timed):
            here.append(TimedTogether(grading, timed, tuple(criteria)))
    covered = {c.name for timing in here for c in timing.criteria}
    others = [
        NotTimed(lab, c, _why_not(grading, c))
        if gates[c.name].status == "not_gradable"
        else NotTimed(lab, c, _untimed_words(c))
        for c in lab.criteria
        if c.kind == "timing" and c.name not in covered
    ]
    return here, others


def _take(timing: TimedTogether, runs: Iterator[Evidence]) -> None:
    """Add a round, or set the error for which none was added. runs: of time_solution."""
    start = time.monotonic()
    try:
        evidence = next(runs, None)
    except NumalabError as error:
        timing.error = str(error)
        return
    if evidence is None:
        timing.error = _why_not(timing.grading, timing.criteria[0])
        return
    generation = evidence.runs_of(TIMED_ROUND)[-1]
    if not generation.ok:
        bad = next(role for role, part in generation.roles.items() if not part.outcome.ok)
        timing.error = f"the kit's {bad} did not come to its end"
    else:
        timing.replicates.append(generation)
        timing.seconds.append(time.monotonic() - start)


def _next(timings: Sequence[TimedTogether], left_s: float) -> TimedTogether | None:
    """Return what is timed next: what has the fewest rounds, if these are fewer than
    MIN_REPLICATES, or else what has taken the least time, if its last round would fit into the time
    that is left. None: nothing does, or what remains has an error."""
    going = [timing for timing in timings if timing.error is None]
    short = [timing for timing in going if len(timing.replicates) < MIN_REPLICATES]
    if short:
        return min(short, key=lambda timing: len(timing.replicates))
    fitting = [timing for timing in going if timing.seconds[-1] <= left_s]
    return min(fitting, key=lambda timing: sum(timing.seconds), default=None)


def _build(installation: Installation, timings: Sequence[TimedTogether]) -> None:
    """Build the programs of the roles, and the monitors."""
    programs = {t.grading.program(role).name for t in timings for role in t.roles}
    build_targets(
        installation, sorted(programs | {installation.monitor(t.lab.name).name for t in timings})
    )


def measure_noise(
    installation: Installation,
    labs: Sequence[Lab],
    node: Json,
    progress: StepReport,
    budget_s: float = NOISE_S,
) -> Noise:
    """Build and time programs of labs for about budget_s seconds, longer where MIN_REPLICATES
    rounds of each take longer. After Ctrl-C, what has been measured so far is returned.

    node: what describe_node reports."""
    effort = effort_for("default", quick=False)
    timings: list[TimedTogether] = []
    not_timed: list[NotTimed] = []
    runs: dict[int, Iterator[Evidence]] = {}
    start = time.monotonic()
    interrupted = False
    try:
        for lab in labs:
            grading = solution_grading(installation, lab, LANGUAGE, effort, node, progress)
            here, others = _survey(grading)
            not_timed += others
            for timing in here:
                runs[id(timing)] = time_solution(grading, timing.timed, timing.roles)
            timings += here
        progress("building")
        _build(installation, timings)
        start = time.monotonic()
        while True:
            spent_s = time.monotonic() - start
            chosen = _next(timings, budget_s - spent_s)
            if chosen is None:
                break
            number = len(chosen.replicates) + 1
            count = f"generation {number}, {spent_s:.0f} of about {budget_s:.0f} s"
            progress(CountedStep(f"timing {chosen.name}", count))
            _take(chosen, runs[id(chosen)])
    except (KeyboardInterrupt, Interrupted):
        interrupted = True
    return Noise(tuple(timings), tuple(not_timed), time.monotonic() - start, interrupted)
