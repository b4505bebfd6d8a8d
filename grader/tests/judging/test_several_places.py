"""Verdicts of this node and of machines that stand in where it can show too little."""

from __future__ import annotations

from support.golden_texts import check_text
from support.invented import SOME_CAUSE

from numalab.judging.audit import complaints, is_refuted
from numalab.judging.verdict import CriterionVerdict, Status, Verdict, merge_machine
from numalab.labs.declaration import Kind, Lab


def criterion(
    name: str, status: Status, points: int = 2, kind: Kind = "evidence", where: str = "here"
) -> CriterionVerdict:
    earned = points if status == "pass" else 0
    return CriterionVerdict(
        name, kind, status, SOME_CAUSE[status], "why", earned, points, where=where
    )


def verdict(*criteria: CriterionVerdict) -> Verdict:
    return Verdict("lab", "c", "submission", criteria)


def places(found: Verdict) -> list[tuple[str, str, str]]:
    return [(c.name, c.where, c.status) for c in found.criteria]


HERE = verdict(
    criterion("correct", "pass", kind="correctness"),
    criterion("touched", "pass"),
    criterion("local", "not_gradable"),
    criterion("speedup", "not_gradable", kind="timing"),
)


def there(touched: Status = "pass", local: Status = "pass", correct: Status = "error") -> Verdict:
    return verdict(
        criterion("correct", correct, kind="correctness"),
        criterion("touched", touched),
        criterion("local", local),
        criterion("speedup", "not_gradable", kind="timing"),
    )


def test_a_machine_fills_in_what_this_node_can_not_show() -> None:
    found = merge_machine(HERE, there(), "hydra", only={"local"})
    assert places(found) == [
        ("correct", "here", "pass"), ("touched", "here", "pass"), ("local", "hydra", "pass"),
        ("speedup", "here", "not_gradable"),
    ]  # fmt: skip
    assert (found.points, found.max_points, found.ungraded_points) == (6, 8, 2)


def test_a_named_machine_is_told_beside_this_node_and_points_count_once() -> None:
    found = merge_machine(HERE, there(), "hydra", only=None)
    found = merge_machine(found, there(touched="fail"), "nebula", only=None)
    assert [p for p in places(found) if p[0] == "touched"] == [
        ("touched", "here", "pass"), ("touched", "hydra", "pass"), ("touched", "nebula", "fail")
    ]  # fmt: skip
    assert found.status == "fail"
    assert (found.points, found.max_points, found.ungraded_points) == (4, 8, 2)


def test_wrong_results_on_a_machine_count() -> None:
    found = merge_machine(HERE, there(correct="fail"), "hydra", only={"local"})
    assert ("correct", "hydra", "fail") in places(found)
    assert found.points == 4


def test_a_machine_that_could_not_be_had_is_no_point_lost() -> None:
    found = merge_machine(HERE, there("error", "error"), "hydra", only=None)
    assert found.status == "error"
    assert (found.points, found.max_points, found.ungraded_points) == (2, 8, 6)
    found = merge_machine(HERE, there(local="not_gradable"), "laptop", only={"local"})
    assert places(found) == places(HERE)


def test_audit_asks_of_each_place_what_it_can_show(first_touch: Lab) -> None:
    names = [(c.name, c.kind, c.points) for c in first_touch.criteria]
    handout = Verdict(
        first_touch.name, "c", "handout",
        tuple(
            criterion(name, "fail" if "touch" in name else "pass", points, kind)
            for name, kind, points in names
            if kind != "timing" and name != "local_pages"
        ),
    )  # fmt: skip
    assert complaints(first_touch, handout, {"here": 1}) == []
    wrong = criterion("local_pages", "pass", where="hydra")
    found = complaints(
        first_touch,
        Verdict(handout.lab, "c", "handout", (*handout.criteria, wrong)),
        {"here": 1, "hydra": 2},
    )
    assert len(found) == 1
    check_text(found[0])


def test_an_audit_need_not_wait_for_times_where_something_else_is_wrong(first_touch: Lab) -> None:
    def audited(touched: Status) -> Verdict:
        time = criterion("speedup", "inconclusive", kind="timing")
        touch = criterion("touched_where_used", touched)
        return Verdict(first_touch.name, "c", "handout", (touch, time))

    assert not is_refuted(first_touch, audited("fail"), {"here": 1})
    assert is_refuted(first_touch, audited("pass"), {"here": 1})
