"""What is said of a verdict: which rows, which points, which file and command comes next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs
from support import invented
from support.golden_texts import check_text, check_verdict
from support.invented import SOME_CAUSE
from support.run_values import an_outcome

from numalab.evidence.format import EarlierTimes, HandedText
from numalab.evidence.kinds import CHECK
from numalab.evidence.read_record import parse
from numalab.evidence.record import Evidence
from numalab.evidence.run_formats import Outcome
from numalab.grading.graded import GradedKernel
from numalab.judging.verdict import UNCHANGED, CriterionVerdict, Status, Verdict, Warned
from numalab.labs.declaration import Lab
from numalab.reports.html_page import rows_of
from numalab.reports.verdict_words import (
    bound_words,
    compiler_title,
    criterion_rows,
    earlier_words,
    first_failed,
    is_predicted,
    next_step,
    points_notes,
    printed_words,
    to_fix,
    withheld_words,
)

HERE = parse(invented.evidence(invented.ONE_NODE))


def one(name: str, status: Status = "pass", points: int = 1, **more: Any) -> CriterionVerdict:
    told = {"kind": "evidence", "cause": SOME_CAUSE[status], "why": "Why.", "max_points": 1} | more
    return CriterionVerdict(name, status=status, points=points, **told)


def verdict(*criteria: CriterionVerdict, lab: str = "01_first_touch", **more: Any) -> Verdict:
    return Verdict(lab, "c", "submission", criteria, **more)


def kernel(lab: Lab, *criteria: CriterionVerdict, **more: Any) -> GradedKernel:
    seen = [("here", more.pop("evidence", HERE))]
    found = more.pop("verdict", None) or verdict(*criteria)
    return GradedKernel(lab, found, seen, (), **({"again": "./numalab grade 01"} | more))


# ---- rows --------------------------------------------------------------------------------


def rows(*criteria: CriterionVerdict) -> list[tuple[str, str, str, tuple[str, ...]]]:
    """Name, place, points and the other places of each row."""
    return [
        (row.criterion.name, row.criterion.where, row.points, row.elsewhere)
        for row in criterion_rows(criteria)
    ]


def test_places_of_the_same_status_share_a_row_and_points_count_once() -> None:
    assert rows(
        one("a"), one("b", "fail", 0, value=1.0, unit="x"),
        one("b", "fail", 0, where="hydra", why="There.", value=1.0),
        one("b", "fail", 0, where="nebula", why="Elsewhere.", value=1.0),
        one("c", "not_gradable", 0), one("c", where="hydra"), one("c", where="nebula"),
    ) == [
        ("a", "here", "1/1", ()), ("b", "here", "0/1", ()), ("b", "hydra", "", ("nebula",)),
        ("c", "here", "", ()), ("c", "hydra", "1/1", ("nebula",)),
    ]  # fmt: skip


def test_what_fails_for_the_same_reason_as_here_is_told_once() -> None:
    """Where no place changes it; a measured value belongs to its place."""
    assert rows(one("a", "fail", 0), one("a", "fail", 0, where="hydra")) == [
        ("a", "here", "0/1", ())
    ]
    assert rows(one("a", "fail", 0), one("a", "fail", 0, where="hydra", why="Another.")) == [
        ("a", "here", "0/1", ()), ("a", "hydra", "", ()),
    ]  # fmt: skip
    measured = one("a", "fail", 0, value=2.0)
    assert rows(measured, replace(measured, where="hydra")) == [("a", "here", "0/1", ("hydra",))]
    assert rows(one("a"), one("a", where="hydra")) == [("a", "here", "1/1", ("hydra",))]


@pytest.mark.parametrize(
    ("status", "points"),
    [("pass", "1/1"), ("fail", "0/1"), ("inconclusive", "-/1"), ("error", "-/1"),
     ("not_gradable", "-/1")],
)  # fmt: skip
def test_points_that_are_not_decided_are_a_dash(status: Status, points: str) -> None:
    assert rows(one("a", status, int(status == "pass")))[0][2] == points


def test_a_warning_is_told_in_the_first_row_that_has_it() -> None:
    warned = Warned("libomp", "OMP: Warning #192: no such domain")
    first, second, third = criterion_rows(
        [one("a", warnings=(warned,)), one("b", warnings=(warned,)), one("c")]
    )
    check_verdict(first.criterion, "pass", "reached")
    assert "#192" not in second.criterion.why and second.criterion.why != "Why."
    assert third.criterion.why == "Why."
    assert first.criterion.warnings == ()


@pytest.mark.parametrize(
    "status",
    ["fail", "not_gradable", "inconclusive",
     "error"],
)  # fmt: skip
def test_points_that_are_withheld_name_what_they_wait_for(status: Status) -> None:
    withheld = one("a").withholding("correct", status)
    check_text(withheld_words(withheld))
    (row,) = criterion_rows([withheld])
    assert row.criterion.why == "Why." + withheld_words(withheld)
    assert row.points == ("0/1" if status == "fail" else "-/1")
    assert withheld_words(one("a")) == withheld_words(one("a").withholding(UNCHANGED, "fail")) == ""


@pytest.mark.parametrize(
    "more",
    [
        {"value": None},
        {"value": 2.0, "kind": "timing"},
        {"value": 2.0, "unit": ""},
        {"value": 2.0, "status": "pass"},
        {"value": 0.5, "at_least": 0.95},
        {"value": 1.0, "at_least": 1.5},
        {"value": 2.0, "at_most": 0.0, "unit": "threads"},
        {"value": 1.0, "at_most": 0.0, "unit": "threads"},
        {"value": 4.0, "at_most": 3.0},
        {"value": 3.004, "at_most": 3.0},
        {"value": 0.9499, "at_least": 0.95},
        {"value": 0.9499999, "at_least": 0.95},
    ],
)
def test_what_failed_has_its_figure_and_its_bound(more: dict[str, Any]) -> None:
    status = more.pop("status", "fail") if "status" in more else "fail"
    check_text(bound_words(one("a", status, 0, **({"unit": "steps"} | more))))


def test_rows_of_a_page_say_where() -> None:
    found = verdict(one("a", "fail", 0, value=2.0, at_most=0.0, unit="threads", where="hydra"))
    (row,) = rows_of(found)
    assert (row.name, row.status, row.points, row.where, row.bound) == (
        "a", "fail", "0/1", "on hydra", "2 threads",
    )  # fmt: skip
    (row,) = rows_of(verdict(one("a")))
    assert (row.words, row.where, row.bound) == ("passed", "", "")


def test_points_that_do_not_count_are_told_by_their_kind() -> None:
    found = verdict(
        one("a"), one("b", "inconclusive", 0, max_points=2), one("c", "error", 0, max_points=3),
        one("d", "not_gradable", 0, max_points=4),
    )  # fmt: skip
    here, untimed = (points_notes(found, is_untimed).split(", ") for is_untimed in (False, True))
    assert [part.split()[0] for part in here] == ["2", "3", "4"]
    assert here[:2] == untimed[:2] and here[2] != untimed[2]
    assert "here" in here[2]
    assert points_notes(verdict(one("a")), True) == ""


# ---- what comes next ---------------------------------------------------------------------


def fix(lab: Lab, *criteria: CriterionVerdict, **more: Any) -> list[str]:
    return to_fix(lab, verdict(*criteria), **more).splitlines()


def test_a_wrong_result_is_fixed_first(first_touch: Lab) -> None:
    shared, right = one("shared_out", "fail", 0), one("correct", "fail", 0, kind="correctness")
    assert first_failed(verdict(shared)) == "shared_out"
    assert first_failed(verdict(shared, right)) == "correct"
    first, hint, text = fix(first_touch, shared)
    assert first.removesuffix(".").split()[-1] == "shared_out" and "(" not in first
    check_text(hint)
    check_text(text)
    first = fix(first_touch, shared, right)[0]
    assert "kernel.c" in first and "correct" in first and "of 2 criteria" in first
    both_places = [right, replace(right, where="hydra", why="There.")]
    assert "(" not in fix(first_touch, *both_places)[0], "it is one criterion"


def test_a_cause_is_fixed_before_what_it_explains(first_touch: Lab) -> None:
    found = [
        one("correct", "fail", 0, kind="correctness", explained_by="no_races"),
        one("no_races", "fail", 0), one("shared_out", "fail", 0),
    ]  # fmt: skip
    first = fix(first_touch, *found)[0]
    assert "kernel.c" not in first
    check_text(first)


def test_where_all_hints_are_read_the_solution_is_named_where_it_is_shown(
    first_touch: Lab,
) -> None:
    failed = one("touched_where_used", "fail", 0)
    seen = dict.fromkeys(("correct", "touched_where_used", "shared_out", ""), 99)
    read, text = fix(first_touch, failed, hint_levels=seen)[1:]
    assert "A hint" not in read and ("solutions/01_first_touch/" in read)
    hidden = replace(first_touch, has_solution_text=False)
    assert "solutions" not in fix(hidden, failed, hint_levels=seen)[1]
    assert text.endswith("README.md")


def step(lab: Lab, *criteria: CriterionVerdict, **more: Any) -> str:
    return str(next_step(kernel(lab, *criteria, **more)))


def built(status: str) -> Evidence:
    return replace(HERE, build=structs.replace(HERE.build, status=status))


def test_each_state_has_its_next_step(first_touch: Lab) -> None:
    """In the order in which they are looked at: each is said although what comes later holds."""
    failed, open_one = (
        one("shared_out", "fail", 0),
        one("speedup", "inconclusive", 0, kind="timing"),
    )
    odd = one("efficiency", "inconclusive", 0, kind="timing", cause="implausible")
    spoilt = one("speedup", "error", 0)
    refused = replace(HERE, timing_refused="A laptop.")
    far = one("local_pages", "not_gradable", 0)
    timed = one("speedup", "not_gradable", 0, kind="timing")
    part = one("shared_out", "pass", 1, max_points=2)
    told = [
        step(first_touch, failed, unchanged=True),
        step(first_touch, failed, evidence=built("missing")),
        step(first_touch, failed, evidence=built("does_not_compile")),
        step(first_touch, failed, open_one),
        step(first_touch, open_one, odd, spoilt),
        step(first_touch, odd, spoilt),
        step(first_touch, spoilt, timed, evidence=refused),
        step(first_touch, timed, far, evidence=refused, no_vms=True),
        step(first_touch, far, part, evidence=refused, no_vms=True),
        step(first_touch, far, part),
        step(first_touch, far),
    ]
    assert len(set(told)) == len(told)
    assert "labs/01_first_touch/README.md" in told[0] and "kernel.c" in told[0]
    assert all("kernel.c" in said for said in told[:3])
    assert "shared_out" in told[3] and "README.md" in told[3]
    check_text(told[4])
    assert "./numalab" not in told[5]
    assert told[6] == "None"
    check_text(told[8])
    check_text(told[9])
    check_text(told[10])
    assert "solutions" not in step(replace(first_touch, has_solution_text=False), far)
    assert step(first_touch, far, timed, no_vms=True) == told[8]
    assert step(first_touch, far, evidence=refused) == told[10], "nothing of it is timed"
    assert step(replace(first_touch, machines=()), far, no_vms=True) == told[10]
    others = replace(verdict(failed), variant="solution")
    assert next_step(kernel(first_touch, verdict=others)) is None


def test_a_variants_machine_is_asked_for_as_one(first_touch: Lab) -> None:
    lab = replace(first_touch, name="01_first_touch_variant")
    far = one("local_pages", "not_gradable", 0)
    check_text(step(lab, far, no_vms=True))


def test_files_beside_the_starting_code_are_named(labs: dict[str, Lab]) -> None:
    lab = labs["02_affinity"]

    def said(*files: str, **more: Any) -> str:
        handed = tuple(HandedText(file, None, {}) for file in files)
        return step(lab, unchanged=True, evidence=replace(HERE, handed_in=handed), **more)

    names = [file.name for file in lab.files]
    check_text(said(names[0]))
    check_text(said(*names[:2]))
    check_text(said("other.env"))
    assert "kernel.cc" in said(not_read=["kernel.cc"])
    check_text(said(not_read=["kernel.cc"]))
    check_text(said(not_read=["kernel.cc", "notes.f90"]))


# ---- what else is told -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcomes", "told"),
    [
        ([an_outcome("ok")], None),
        ([an_outcome("ok"), an_outcome("ok", printed="one\ntwo\n")], "one"),
        ([an_outcome("crashed", printed="one\n")], None),
        ([an_outcome("ok", printed=150 * "x")], 100 * "x"),
        ([an_outcome("ok", printed="mbind: Operation not permitted\n")],
         "mbind: Operation not permitted"),
        ([an_outcome("crashed", printed="mbind: Operation not permitted\n")], None),
    ],
)  # fmt: skip
def test_the_first_line_that_a_kernel_prints_is_told(
    outcomes: Sequence[Outcome], told: str | None
) -> None:
    (check,) = HERE.runs_of(CHECK)
    found = printed_words(
        HERE.having(CHECK, [structs.replace(check, outcome=one) for one in outcomes])
    )
    assert (found is None) == (told is None)
    if told is not None and found is not None:
        assert found.splitlines()[0].endswith(f": {told}")
        assert ("prints" in found.splitlines()[0]) == ("mbind" not in told)


def test_times_of_earlier_gradings_are_told_apart(first_touch: Lab) -> None:
    times = invented.steady(5, solution=0.2, submission=0.2)
    taken = parse(invented.evidence(invented.ONE_NODE, times=times))
    assert earlier_words(kernel(first_touch, evidence=taken)) is None
    sessions = (
        EarlierTimes("2026-01-02T03:04:05+00:00", 1), EarlierTimes("2026-01-03T03:04:05+00:00", 2),
    )  # fmt: skip

    def said(generations: int, afresh: str = "Anew.") -> str:
        last = structs.replace(sessions[1], generations=generations)
        evidence = replace(taken, earlier_times=(sessions[0], last))
        return str(earlier_words(kernel(first_touch, evidence=evidence, afresh=afresh)))

    check_text(said(2))
    check_text(said(4))
    assert said(4, "") == said(4, "").rstrip()


def test_what_is_predicted_is_shown_once_it_is_right(labs: dict[str, Lab]) -> None:
    lab = labs["06_message_latency"]
    assert is_predicted(lab, verdict(one("predicted")))
    assert not is_predicted(lab, verdict(one("predicted", "fail", 0)))
    assert not is_predicted(lab, verdict(one("predicted", max_points=2)))
    assert not is_predicted(lab, verdict(one("correct")))


def test_of_a_kernel_that_is_built_there_are_only_warnings() -> None:
    assert compiler_title(HERE.build) == "Warnings"
    check_text(compiler_title(built("does_not_compile").build))
