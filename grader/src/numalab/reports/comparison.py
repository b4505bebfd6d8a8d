"""Which of the evidence is drawn, and what of the solution's is drawn beside it: where a
criterion failed that the picture is about, what the kit's own solution did in the same
session. Pure functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from numalab import words
from numalab.evidence.cpusets import Cpusets
from numalab.evidence.kinds import (
    BINDING,
    CPUSETS,
    LOCATE,
    PLACEMENT,
    PLACING,
    RANKS,
    SERIES,
    STORES,
    TRACE,
)
from numalab.evidence.placed_pages import Placing
from numalab.evidence.record import SOLUTION, Evidence, EvidenceByPlace, Kind
from numalab.evidence.run_formats import DrawnSeries, LocateRun, Rank, StoresRun, Thread
from numalab.evidence.work import Says, WorkShare
from numalab.judging import rank_goals, thread_goals
from numalab.judging.page_rules import local_pages
from numalab.judging.placing_rules import blocks_local
from numalab.judging.rules import reads
from numalab.judging.thread_rules import located
from numalab.judging.verdict import Verdict
from numalab.judging.work_rules import balanced, judge_placements
from numalab.labs.declaration import Criterion, HandedFile, Lab

# Kinds of run of which there is a picture: it explains a failure of a rule that reads one.
PICTURED = (TRACE, PLACEMENT, PLACING, CPUSETS, STORES, SERIES, BINDING, RANKS, LOCATE)


def place_words(where: str) -> str:
    return "this node" if where == "here" else where


def _failed(criteria: Sequence[Criterion], verdict: Verdict, where: str) -> frozenset[str]:
    """The rules of those that failed at a place."""
    names = {failed.name for failed in verdict.failed() if failed.where == where}
    return frozenset(criterion.rule for criterion in criteria if criterion.name in names)


def _about(lab: Lab, part: str | None, kind: Kind[Any]) -> list[Criterion]:
    """Return the criteria of a part that are judged by one kind of run."""
    return [c for c in lab.criteria_of(part) if reads(c, kind)]


# ---- pages -----------------------------------------------------------------------------


@dataclass(frozen=True)
class TouchView:
    """Who wrote and used the pages of a part's arrays. solution: as_control of it, None: not
    compared; with_homes: where the pages live is of interest, too."""

    where: str
    part: str | None
    yours: Evidence
    solution: Evidence | None
    with_homes: bool


def touch_views(lab: Lab, verdict: Verdict, seen: EvidenceByPlace) -> Iterator[TouchView]:
    """This node's, and a virtual node's where something failed there."""
    for where, evidence in seen:
        for part in lab.kernel_parts:
            criteria = _about(lab, part, TRACE)
            own = evidence.select_parts(part)
            failed = _failed(criteria, verdict, where)
            if not any(trace.arrays for trace in own.runs_of(TRACE)) or not (
                where == "here" or failed
            ):
                continue
            control = own.control_evidence()
            is_compared = failed and any(trace.arrays for trace in control.runs_of(TRACE))
            yield TouchView(
                where, part, own, control if is_compared else None, local_pages.name in failed
            )


# ---- memory that is placed ---------------------------------------------------------------


@dataclass(frozen=True)
class PlacingView:
    """Where memory is that a kernel has placed. owner: of OWNERS, whose each part is."""

    where: str
    yours: Placing
    owner: str


def placing_views(lab: Lab, verdict: Verdict, seen: EvidenceByPlace) -> Iterator[PlacingView]:
    """Of the first place with several NUMA nodes at which something failed, or else of the first
    of them."""
    views: list[tuple[bool, int, PlacingView]] = []
    owner = next((c.placing.owner for c in lab.criteria if blocks_local.judges(c)), "same")
    for where, evidence in seen:
        runs = [run for run in evidence.runs_of(PLACING) if run.homes and len(run.nodes) > 1]
        if runs:
            failed = _failed(_about(lab, None, PLACING), verdict, where)
            views.append((not failed, len(views), PlacingView(where, runs[-1], owner)))
    if views:
        yield min(views)[2]


@dataclass(frozen=True)
class GroupView:
    """What control groups left two programs."""

    where: str
    yours: Cpusets


def group_views(lab: Lab, verdict: Verdict, seen: EvidenceByPlace) -> Iterator[GroupView]:
    """Of the first place at which something failed, or else of the first."""
    views: list[tuple[bool, int, GroupView]] = []
    for where, evidence in seen:
        runs = [run for run in evidence.runs_of(CPUSETS) if run.outcome.ok]
        if runs:
            failed = _failed(_about(lab, None, CPUSETS), verdict, where)
            views.append((not failed, len(views), GroupView(where, runs[-1])))
    if views:
        yield min(views)[2]


# ---- cache lines -----------------------------------------------------------------------


@dataclass(frozen=True)
class LineView:
    """Who writes which cache line. solution: None where it is not compared."""

    where: str
    part: str | None
    yours: StoresRun
    solution: StoresRun | None


def line_views(lab: Lab, verdict: Verdict, seen: EvidenceByPlace) -> Iterator[LineView]:
    """This node's, and a virtual node's where something failed there."""
    for where, evidence in seen:
        for part in lab.kernel_parts:
            own = evidence.select_parts(part)
            failed = _failed(_about(lab, part, STORES), verdict, where)
            runs = [run for run in own.runs_of(STORES) if run.most_written]
            if not runs or not (where == "here" or failed):
                continue
            control = [run for run in own.runs_of(STORES, SOLUTION) if run.most_written]
            yield LineView(where, part, runs[-1], control[-1] if failed and control else None)


# ---- answers ---------------------------------------------------------------------------


@dataclass(frozen=True)
class AnswerView:
    """What a kernel has answered about what was drawn."""

    where: str
    part: str | None
    yours: Sequence[DrawnSeries]


def answer_views(lab: Lab, verdict: Verdict, seen: EvidenceByPlace) -> Iterator[AnswerView]:
    """Of kernels that have answered wrongly, or left something open."""
    for where, evidence in seen:
        for part in lab.kernel_parts:
            failed = _failed(_about(lab, part, SERIES), verdict, where)
            runs = [run for run in evidence.select_parts(part).runs_of(SERIES) if run.series]
            if runs and failed:
                yield AnswerView(where, part, runs[-1].series)


# ---- work ------------------------------------------------------------------------------


@dataclass(frozen=True)
class WorkView:
    """How a team shares the work of a part; solution: None: not compared; at_least: the share
    that is asked for; says: what the looks say together."""

    where: str
    part: str | None
    yours: WorkShare
    solution: WorkShare | None
    at_least: float = 0.0
    says: Says | None = None

    @property
    def solution_is_disturbed(self) -> bool:
        """Whether the solution misses it in the same look. Were it the solution's doing, nobody
        else would fail; so other programs took its cores."""
        return self.solution is not None and self.solution.share < self.at_least

    @property
    def is_spinning(self) -> bool:
        """Whether threads are busy that don't work."""
        return self.says == "spins"


def work_views(lab: Lab, verdict: Verdict, seen: EvidenceByPlace) -> Iterator[WorkView]:
    """As touch_views."""
    for where, evidence in seen:
        for criterion in lab.criteria:
            if not balanced.judges(criterion) or criterion.at_least is None:
                continue
            own = evidence.select_parts(criterion.part)
            has_failed = bool(_failed([criterion], verdict, where))
            is_seen = any(run.cpu_time for run in own.runs_of(PLACEMENT))
            if not is_seen or not (where == "here" or has_failed):
                continue
            is_compared = any(run.cpu_time for run in own.runs_of(PLACEMENT, SOLUTION))
            looks = judge_placements(criterion, own)
            yield WorkView(
                where,
                criterion.part,
                looks.typical,
                judge_placements(criterion, own.control_evidence()).typical
                if has_failed and is_compared
                else None,
                criterion.at_least,
                looks.says,
            )


# ---- threads and ranks -----------------------------------------------------------------


@dataclass(frozen=True)
class SeatView:
    """Where threads may run, or ranks: each for all of its threads. file: that led there;
    runtime: of OpenMP, empty: of no matter. drawn, compared: yours and what it is compared
    with, as heads call them; None: not compared."""

    where: str
    evidence: Evidence
    file: str
    runtime: str
    drawn: Sequence[Thread]
    misplaced: int
    compared: Sequence[Thread] | None
    heads: tuple[str, str] = ("yours", "solution")

    @property
    def title(self) -> str:
        runtime = f", {self.runtime}" if self.runtime else ""
        return f"{self.file} on {place_words(self.where)}{runtime}"


def _of_ranks(ranks: Sequence[Rank], team: int) -> list[Thread]:
    return [
        Thread(rank.number, thread.allowed_pus, -1, -1, -1)
        for rank in ranks
        for thread in rank.threads[:team]
    ]


def _bound(file: HandedFile, where: str, evidence: Evidence) -> Iterator[SeatView]:
    node = evidence.node
    for run in evidence.runs_of(BINDING):
        if run.file != file.name or not run.outcome.ok:
            continue
        misplaced = thread_goals.reach_of_threads(file.goal, run.threads, run.team, node).misplaced
        solution = next(
            (
                control.threads
                for control in evidence.runs_of(BINDING, SOLUTION)
                if misplaced and (control.file, control.runtime) == (run.file, run.runtime)
                if control.outcome.ok
            ),
            None,
        )
        yield SeatView(where, evidence, file.name, run.runtime, run.threads, misplaced, solution)


def _launched(file: HandedFile, where: str, evidence: Evidence) -> Iterator[SeatView]:
    for job in evidence.runs_of(RANKS):
        if job.file != file.name or not job.outcome.ok or job.refused is not None:
            continue
        reach = rank_goals.reach_of_ranks(file.goal, job.ranks, job.team, evidence.node)
        if reach.misplaced and rank_goals.is_out_of_reach(file.goal, job.ranks, evidence.node):
            continue  # nobody misses what can't be had there
        solution = next(
            (
                _of_ranks(control.ranks, control.team)
                for control in evidence.runs_of(RANKS, SOLUTION)
                if reach.misplaced and control.file == job.file
                if control.outcome.ok and control.refused is None
            ),
            None,
        )
        drawn = _of_ranks(job.ranks, job.team)
        yield SeatView(where, evidence, file.name, "", drawn, reach.misplaced, solution)


def _allowed(view: SeatView) -> list[tuple[int, ...]]:
    """Where each thread may run."""
    return [thread.allowed_pus for thread in view.drawn]


def _under_each_runtime(of_place: Sequence[SeatView], sight: SeatView) -> SeatView:
    """A goal that is reached under several runtimes may be reached in several ways: then the
    sight with another runtime's beside it."""
    if sight.misplaced or len(of_place) < 2:
        return sight
    for other in of_place:
        if _allowed(other) != _allowed(sight):
            heads = (f"under {sight.runtime}", f"under {other.runtime}")
            return replace(sight, runtime="", compared=other.drawn, heads=heads)
    return replace(sight, runtime=words.listed([other.runtime for other in of_place]))


def seat_views(lab: Lab, seen: EvidenceByPlace) -> Iterator[SeatView]:
    """For each file where it led on the first place at which it misses its goal, or else on
    the first, under each runtime."""
    for file in lab.files:
        needed = min(c.needs_numa_nodes for c in lab.criteria if c.file == file)
        sights: list[SeatView] = []
        for where, evidence in seen:
            sights += _bound(file, where, evidence)
            if evidence.numa_nodes >= needed:  # near and far are the same on one
                sights += _launched(file, where, evidence)
        shown = [sight for sight in sights if sight.where != "here"] or sights
        worst = max(shown, key=lambda sight: sight.misplaced > 0, default=None)
        if worst is not None:
            yield _under_each_runtime(
                [sight for sight in sights if sight.where == worst.where], worst
            )


def _wrong(run: LocateRun) -> int:
    return sum(
        answer.reported_pu != answer.pu for of_round in run.all_rounds for answer in of_round
    )


def located_views(lab: Lab, verdict: Verdict, seen: EvidenceByPlace) -> Iterator[SeatView]:
    """Where a kernel that has to find its threads said that they were, in the first round with
    a wrong PU, beside where they were: what the solution says."""
    for criterion in lab.criteria:
        for where, evidence in seen:
            if not located.judges(criterion) or not _failed([criterion], verdict, where):
                continue
            runs = [
                run for run in evidence.select_parts(criterion.part).runs_of(LOCATE) if _wrong(run)
            ]
            if not runs:
                continue
            told = next(
                of
                for of in runs[-1].all_rounds
                if any(answer.reported_pu != answer.pu for answer in of)
            )
            yield SeatView(
                where,
                evidence,
                criterion.part or criterion.name,
                "",
                [Thread(answer.thread, (answer.reported_pu,), -1, -1, -1) for answer in told],
                sum(answer.reported_pu != answer.pu for answer in told),
                [Thread(answer.thread, (answer.pu,), -1, -1, -1) for answer in told],
                ("it said", "they were"),
            )
            break
