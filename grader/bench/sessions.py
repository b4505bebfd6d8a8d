"""Gradings of times that are there already, invented or recorded: generations in, verdicts out, by
the function that makes verdicts in a grading, looking when a grading looks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from numalab.evidence.format import Build
from numalab.evidence.kinds import TIMED_ROUND
from numalab.evidence.record import CONTROL, Evidence, TimedRound
from numalab.judging.effort import effort_for
from numalab.judging.timing_rules import judge_timing
from numalab.judging.timing_state import timing_state
from numalab.labs.declaration import Criterion

_NOTHING_SEEN = Evidence(
    lab="bench", language="c", variant="submission", size="quick", quick=False, node={},
    is_virtual=False,
    announces_cores=True, timing_refused=None, timing_error=None, build=Build("ok", "", ""),
    race_error=None, handed_in=(), runs={},
)  # fmt: skip
_QUICKLY_SEEN = replace(_NOTHING_SEEN, quick=True)


def timing_criterion(rule: str, at_least: float | None = None) -> Criterion:
    """A criterion of times, such as a lab declares, whatever is plausible. at_least: of an
    efficiency."""
    return Criterion(
        name=rule, kind="timing", rule=rule, part=None, points=1, at_least=at_least, at_most=None,
        needs_numa_nodes=1, needs_huge_page_mode=(), handout_fails_from=None, on_machines=False,
        file=None, slow=None, kit_writes_first=False, plausible_up_to=math.inf, whole_team=False,
    )  # fmt: skip


def generation_of_times(
    elapsed_s: Mapping[str, Sequence[float]], cut: frozenset[str] = frozenset()
) -> TimedRound:
    """elapsed_s: of each role the repetitions that count; cut: whose last was ended."""
    times = {role: tuple(of_role) for role, of_role in elapsed_s.items()}
    return TimedRound(None, None, 1, 1, {}, times, cut)


@dataclass(frozen=True)
class Grading:
    """least: generations that decide when all agree, after which the control joins; most: of a
    session; sessions: a grading that stays open is taken up again until there were so many."""

    criterion: Criterion
    quick: bool
    least: int
    most: int
    sessions: int = 1

    @classmethod
    def of(cls, criterion: Criterion, quick: bool, sessions: int = 1) -> Grading:
        """As `numalab grade` does, at the quick size."""
        effort = effort_for("quick", quick)
        return cls(criterion, quick, effort.min_replicates, effort.max_replicates, sessions)

    @property
    def longest(self) -> int:
        return self.most * self.sessions

    @property
    def ends(self) -> list[int]:
        """After how many generations each session is over that nothing decides."""
        return [self.most * session for session in range(1, self.sessions + 1)]

    def takes(self, role: str, place: int) -> bool:
        """Whether a process runs in a generation, counted from 0."""
        return role != CONTROL or place >= self.least

    def evidence(self, generations: Sequence[TimedRound]) -> Evidence:
        """A record of these and of nothing else."""
        seen = _QUICKLY_SEEN if self.quick else _NOTHING_SEEN
        return seen.having(TIMED_ROUND, generations)


@dataclass(frozen=True)
class Judged:
    """status, cause: of the verdict; generations: how many it took."""

    status: str
    cause: str
    generations: int


def _judged(grading: Grading, evidence: Evidence, count: int) -> Judged:
    verdict = judge_timing(grading.criterion, evidence)
    return Judged(verdict.status, verdict.cause, count)


def judge_course(
    grading: Grading, generations: Sequence[TimedRound], ends: Sequence[int]
) -> Judged:
    """The verdict on generations that don't depend on what was decided before, none of which was
    cut. ends: after how many of them each session is over, in order; an open verdict goes on with
    the next.

    A session stops at the first generation that decides. What has been decided stands whatever
    comes after it, and how many generations it took is known afterwards: so a session is looked at
    whole, and only what a grading had seen when it stopped is judged. That this is what looking
    after each generation gives is tested.
    """
    judged = None
    for end in ends:
        evidence = grading.evidence(generations[:end])
        judged = _judged(grading, evidence, end)
        state = timing_state(grading.criterion, evidence) if is_decided(judged) else None
        if state is not None and state.decided and state.needed < end:
            judged = _judged(grading, grading.evidence(generations[: state.needed]), state.needed)
        if is_decided(judged):
            return judged
    assert judged is not None
    return judged


def is_decided(judged: Judged) -> bool:
    return judged.status != "inconclusive"


class GoingOn:
    """A grading that takes one generation after the other, as they may depend on what was seen: a
    repetition is cut off where the evidence says so."""

    def __init__(self, grading: Grading) -> None:
        self._grading = grading
        self._taken: list[TimedRound] = []

    @property
    def evidence(self) -> Evidence:
        return self._grading.evidence(self._taken)

    def roles(self, roles: Sequence[str]) -> tuple[str, ...]:
        """Which of these run in the next generation."""
        return tuple(role for role in roles if self._grading.takes(role, len(self._taken)))

    def take(self, generation: TimedRound, is_over: bool = False) -> Judged | None:
        """The verdict, where it is one that stays, or the last session is over by it. is_over:
        whether the session ends with this generation, if it has not been as many as it may be."""
        self._taken.append(generation)
        evidence, count = self.evidence, len(self._taken)
        state = timing_state(self._grading.criterion, evidence)
        if not (state.decided or is_over or count % self._grading.most == 0):
            return None
        judged = _judged(self._grading, evidence, count)
        is_last = is_over or count >= self._grading.longest
        return judged if is_decided(judged) or is_last else None
