"""The registry of rules: how a criterion is judged, and what that needs.

A rule is declared where its function is:

    @Rule("released", runs=(MEMORY,))
    def released(criterion: Criterion, evidence: Evidence) -> CriterionVerdict: ...
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

from numalab.evidence.record import Evidence, Json
from numalab.evidence.record import Kind as RunKind
from numalab.judging.verdict import CriterionVerdict
from numalab.labs.declaration import CheckCriterion, Criterion, Lab
from numalab.labs.declaration import Kind as CriterionKind

Judge = Callable[[Criterion, Evidence], CriterionVerdict]
JudgeOfLab = Callable[[Lab, Criterion, Evidence], CriterionVerdict]
Amend = Callable[
    [Criterion, Evidence, CriterionVerdict, Criterion, CriterionVerdict], CriterionVerdict
]
Run = TypeVar("Run")
Subject = Literal["kernel", "file", "answers"]


def _undefined(lab: Lab, criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    raise NotImplementedError(criterion.rule)


@dataclass(frozen=True, eq=False)
class Rule:
    """A rule, which judges the criteria that name it. As a decorator it registers its judge.

    Attributes:
        name: the rule's name in lab.toml.
        kind: the kind of its criteria.
        runs: kinds of run that its criteria need.
        confirmed_by: the one of `runs` that is made only once the verdict by the others is a pass;
            None: all are made.
        needs: system calls and files that a machine must allow, by their names in a node's record.
        subject: what is judged: the student's kernel; a file under which numalab's own programs
            run; or answers in a file, which need no run of a kernel.
        has_own_control: the reference solution's runs follow a plan of its own.
        judge_machine: returns a verdict where the machine's record alone decides; None
            where it does not. Its last argument tells whether the machine is a virtual one.
        refuse_file: returns a verdict where the file that a criterion is about can't be used; else
            None.
        needs_another_run: tells whether one more run of a kind may change the verdict.
        amend: returns the verdict on another criterion in the light of this one's. Its arguments
            are this criterion, its evidence and its verdict, the other criterion and its verdict.
        keys: keys of a criterion in lab.toml that are for this rule.
        check: raises the table's error where lab.toml declares what the rule can't judge.
        judge: returns the verdict on a criterion by the evidence of its part.
    """

    name: str
    kind: CriterionKind = "evidence"
    runs: tuple[RunKind[Any], ...] = ()
    confirmed_by: RunKind[Any] | None = None
    needs: tuple[str, ...] = ()
    subject: Subject = "kernel"
    has_own_control: bool = False
    judge_machine: Callable[[Criterion, Json, bool], CriterionVerdict | None] | None = None
    refuse_file: Callable[[Criterion, Evidence], CriterionVerdict | None] | None = None
    needs_another_run: Callable[[RunKind[Any], Criterion, Evidence], bool] | None = None
    amend: Amend | None = None
    keys: tuple[str, ...] = ()
    check: CheckCriterion | None = None
    judge: JudgeOfLab = _undefined

    def __call__(self, judge: Judge) -> Rule:
        """Register a function of criterion and evidence, and return the rule with that judge.
        Raises ValueError where another rule has this name."""
        return self.register_with_lab(lambda lab, criterion, evidence: judge(criterion, evidence))

    def register_with_lab(self, judge: JudgeOfLab) -> Rule:
        """Register a function of lab, criterion and evidence, and return the rule with that judge.
        Raises ValueError where another rule has this name."""
        if self.name in _registered:
            raise ValueError(f"two rules are named {self.name}")
        return _registered.setdefault(self.name, replace(self, judge=judge))

    def judges(self, criterion: Criterion) -> bool:
        """Tell whether a criterion is judged by this rule."""
        return criterion.rule == self.name

    def criteria(self, lab: Lab, part: str | None) -> Iterator[Criterion]:
        """Yield a lab's criteria about a part that are judged by this rule."""
        return filter(self.judges, lab.criteria_of(part))


_registered: dict[str, Rule] = {}  # by name


def take_run(
    find: Callable[[Criterion, Evidence], Run | CriterionVerdict],
) -> Callable[[Callable[[Criterion, Evidence, Run], CriterionVerdict]], Judge]:
    """Return a decorator that passes the run that `find` returns to a judge. Where `find` returns a
    verdict instead, that is the judge's."""

    def take(judge: Callable[[Criterion, Evidence, Run], CriterionVerdict]) -> Judge:
        def judge_run(criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
            run = find(criterion, evidence)
            return run if isinstance(run, CriterionVerdict) else judge(criterion, evidence, run)

        return judge_run

    return take


def registered() -> dict[str, Rule]:
    """Return the rules that are declared so far, by name."""
    return _registered
