"""Standings for tests: students with results of the kit's own labs, of every kind that a course
has."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from numalab.course.gradebook.standing import Standing, StandingRow
from numalab.course.records import Attempt, Problem, Student
from numalab.judging.verdict import Status, Verdict, verdict_on
from numalab.labs.declaration import Lab
from support.courses import ONE_NUMA_NODE, TWO_NUMA_NODES, attempt
from support.invented import SOME_CAUSE

Json = dict[str, Any]


def lab_result(
    lab: Lab, statuses: Mapping[str, Status], language: str = "c", **value: float
) -> Json:
    """As `grade --json` has it. statuses: of criteria that don't pass; value: by criterion."""
    criteria = tuple(
        verdict_on(
            one,
            statuses.get(one.name, "pass"),
            SOME_CAUSE[statuses.get(one.name, "pass")],
            f"What was seen of {one.name}.",
            value=value.get(one.name),
            unit="share" if one.kind == "evidence" else "",
        )
        for one in lab.criteria
    )
    return Verdict(lab.name, language, "submission", criteria).json_data()


def row(student: Student, lab: str, counting: Attempt | None, **more: Any) -> StandingRow:
    """The grade follows from the first result, of 10 points."""
    points = gradable = None
    if counting is not None and counting.results:
        one = counting.results[0]
        can = one["max_points"] - one["ungraded_points"]
        points = round(10 * one["points"] / can, 2) if can else None
        gradable = round(10 * can / one["max_points"], 2)
    made = StandingRow(
        student=student, lab=lab, attempt=counting, others=(), points=points, max_points=10.0,
        gradable_points=gradable, is_preliminary=False, late_s=0.0, penalty=0.0,
        override_reason="", notes=(),
    )  # fmt: skip
    return replace(made, **more)


def standing(rows: Sequence[StandingRow], *problems: Problem, title: str = "HPC") -> Standing:
    return Standing(tuple(rows), problems, title, "2027-05-02T08:00:00+00:00")


def large_class(labs: Mapping[str, Lab], students: int, copies: int, seed: int = 1) -> Standing:
    """Everything at random: students x labs, each lab as often as copies says under another
    name."""
    dice = random.Random(seed)
    nodes = [TWO_NUMA_NODES | {"name": f"n{k}"} for k in range(6)] + [ONE_NUMA_NODE]
    rows = []
    for number in range(students):
        student = Student(f"s{number:04}", f"Student {number:04}", {})
        skill = dice.random()
        for copy in range(copies):
            for lab in labs.values():
                name = lab.name if copy == 0 else f"{lab.name}_{copy}"
                rows.append(_at_random(dice, student, lab, name, skill, nodes))
    return standing(rows)


def _at_random(
    dice: random.Random, student: Student, lab: Lab, name: str, skill: float, nodes: Sequence[Json]
) -> StandingRow:
    if dice.random() < 0.03:
        return row(student, name, None, is_handed_in=False, notes=("Nothing was handed in.",))
    if dice.random() < 0.01:
        failed = attempt(student, lab=name, state="node_failed", why="n3 went down")
        return row(student, name, None, others=(failed,), notes=("Not graded: the node failed.",))
    node = dice.choice(nodes)
    statuses: dict[str, Status] = {}
    values = {}
    for one in lab.criteria:
        luck = dice.random()
        if node["numa_nodes"] < one.needs_numa_nodes:
            statuses[one.name] = "not_gradable"
            continue
        if one.kind == "timing" and luck < (0.3 if node["name"] == "n4" else 0.02):
            statuses[one.name] = "inconclusive"
        elif luck > 0.3 + 0.7 * skill:
            statuses[one.name] = "fail"
        if one.kind != "correctness":
            is_less = statuses.get(one.name) == "fail"
            values[one.name] = round(dice.betavariate(2, 2) if is_less else 1 - 0.05 * luck, 4)
    counting = attempt(student, lab_result(lab, statuses, **values), lab=name, node=node)
    others = ()
    if dice.random() < 0.1:
        others = (replace(counting, number=2, node=dice.choice(nodes)),)
    is_late = dice.random() < 0.1
    return row(
        student, name, counting, others=others, late_s=90_000.0 if is_late else 0.0,
        penalty=0.1 if is_late else 0.0, is_preliminary=node["numa_nodes"] == 1,
    )  # fmt: skip
