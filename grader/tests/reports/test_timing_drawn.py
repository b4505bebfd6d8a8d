"""What a timing criterion rests on, drawn: the whole picture for a terminal, and the figure."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rich.text import Text
from support import invented
from support.drawn import of_figure, of_lines
from support.golden_texts import check_text

from numalab.evidence.read_record import parse
from numalab.evidence.record import Evidence, Json
from numalab.judging.judge import judge
from numalab.judging.timing_account import TimingAccount, timing_accounts
from numalab.labs.declaration import Lab
from numalab.reports.figures import timing_figure
from numalab.reports.timing_plot import (
    Axis,
    _axis_lines,
    _interval_line,
    _mark,
    _picture,
    axis_for,
    timing_lines,
)
from numalab.reports.timing_words import names

ONE, TWO = invented.ONE_NODE, invented.TWO_NODES


def of_times(*submission: float, quick: bool = False) -> Json:
    """Beside a solution that takes 0.2 s: asked for are 0.25 s or less."""
    times = [{"solution": 0.2, "submission": s} for s in submission]
    return invented.evidence(ONE, times=times, quick=quick)


def cut(record: Json, count: int = 2) -> Json:
    """The last generations were stopped, and have no more than one repetition."""
    for run in record["runs"][-count:]:
        invented.cut_off(run, 1.0)
    return record


def with_rates(record: Json) -> Json:
    for run in record["runs"]:
        if run["kind"] == "generation":
            run["bytes_moved"], run["bytes_allocated"] = 4_000_000_000, 0
    return record


SPEEDUP = invented.steady(7, handout=0.44, solution=0.23, submission=0.25)
CASES = {
    "few": of_times(0.2, 0.3, 0.2, 0.2, 0.22),
    "cut": cut(of_times(0.2, 0.26, 0.2, 0.5, 0.6)),
    "all_cut": cut(of_times(*8 * [1.0]), 8),
    "twelve": of_times(*[0.4, 0.2, 0.9] * 4),
    "thirteen": of_times(*[0.4, 0.2, 0.9] * 4, 0.2),
    "many": of_times(*[0.2, 0.31, 0.29, 0.22, 0.3] * 8),
    "one": of_times(0.2),
    "slow": of_times(*[0.4] * 11),
    "quick": of_times(*[0.4] * 5, quick=True),
    "speedup": with_rates(invented.evidence(TWO, times=SPEEDUP)),
    "speedup_far": invented.evidence(
        TWO, times=invented.steady(9, handout=2.3, solution=0.23, submission=0.1)
    ),
}


def accounts(lab: Lab, record: Json) -> tuple[list[TimingAccount], Evidence]:
    evidence = parse(record)
    return list(timing_accounts(lab, judge(lab, evidence), evidence)), evidence


def pictures(lab: Lab, record: Json, columns: int) -> list[str]:
    """Of all criteria, one below the other."""
    found, evidence = accounts(lab, record)
    drawn = (_picture(one, names(lab, one, evidence), columns) for one in found)
    return of_lines([Text(line) for picture in drawn for line in picture])


@pytest.fixture(scope="module")
def chain_lab(labs: dict[str, Lab]) -> Lab:
    """With the criterion of lab 00 whose times have two sides, of a kernel without parts."""
    lab = labs["01_first_touch"]
    chain = next(c for c in labs["00_know_your_node"].criteria if c.rule == "chain")
    others = [c for c in lab.criteria if c.rule not in ("efficiency", "speedup")]
    return replace(lab, criteria=(*others, replace(chain, part=None)))


@pytest.mark.parametrize("columns", [76, 50, 40])
@pytest.mark.parametrize("case", CASES)
def test_generations_are_drawn_where_their_margins_are(
    first_touch: Lab, case: str, columns: int
) -> None:
    if columns < 76 and case not in ("few", "many"):
        return
    check_text(pictures(first_touch, CASES[case], columns))


@pytest.mark.parametrize(
    "case",
    ["few", "slow", "one",
     "cut"],
)  # fmt: skip
def test_marks_that_are_there_are_explained(first_touch: Lab, case: str) -> None:
    found, evidence = accounts(first_touch, CASES[case])
    lines = [line.plain.strip() for line in timing_lines(first_touch, found, evidence, 200)]
    (told,) = [line for line in lines if line.startswith("Speed: ")]
    check_text(told.partition("; ")[2])
    assert all(line.count("\N{NO-BREAK SPACE}") == 0 for line in lines)


@pytest.mark.parametrize(("case", "has_rows"), [("twelve", True), ("thirteen", False)])
def test_what_evidence_is_of_is_told_where_it_has_a_column(
    first_touch: Lab, case: str, has_rows: bool
) -> None:
    found, evidence = accounts(first_touch, CASES[case])
    lines = [line.plain for line in timing_lines(first_touch, found, evidence, 76)]
    assert any(line.startswith("  Evidence: ") for line in lines) == has_rows
    assert "Evidence for:" in lines or has_rows


@pytest.mark.parametrize("ratio", [0.5, 1.0, 2.0])
def test_the_side_that_is_harder_to_show_is_drawn(chain_lab: Lab, ratio: float) -> None:
    record = of_times(*[0.2 * ratio, 0.205 * ratio] * 4)
    check_text(pictures(chain_lab, record, 76))
    check_text(of_figure(timing_figure(accounts(chain_lab, record)[0][0])))


@pytest.mark.parametrize("case", ["one", "few", "cut", "many", "speedup", "speedup_far"])
def test_a_figure_has_a_point_for_each_generation(first_touch: Lab, case: str) -> None:
    (account, *_), _ = accounts(first_touch, CASES[case])
    check_text(of_figure(timing_figure(account)))


def test_just_what_is_asked_for_is_not_enough(first_touch: Lab) -> None:
    (account, *_), _ = accounts(first_touch, CASES["few"])
    state = replace(account.state, margins=(1.0, 1.5, 1.0), cut=(False,) * 3)
    left = timing_figure(replace(account, state=state)).axes[0]
    told = {str(line.get_label()): len(list(line.get_xdata())) for line in left.lines}  # type: ignore[arg-type]
    assert (told["fast enough"], told["too slow"]) == (1, 2)
    assert [_mark(margin, cut) for margin, cut in ((1.0, False), (1.1, False), (1.1, True))] == [
        "x", "o", "<",
    ]  # fmt: skip


def test_an_interval_in_one_column_takes_two() -> None:
    axis = axis_for([0.7, 1.4], 50, 1.0)
    assert _interval_line(axis, 1.01, 1.011).strip() == "|[]"
    assert _interval_line(axis, 0.99, 0.991).strip() == "[]|"


def test_round_values_at_the_ends_have_their_ticks() -> None:
    values = _axis_lines(Axis(0.5, 2.0, 40, 1.0), [])[1].split()
    assert (values[0], values[-1]) == ("0.5", "2")


@pytest.mark.parametrize(
    ("margins", "low", "high"),
    [
        ([1.0], 0.8, 1.25),
        ([0.5], 0.5, 1.25992),  # a third of it on a logarithmic scale
        ([0.1, 1.3], 0.1, 2.15443),
        ([8.0], 0.5, 8.0),
        ([0.7, 8.0], 0.5, 8.0),
        ([0.9, 1.1], 0.8, 1.25),
    ],
)
def test_an_axis_holds_all_margins_and_gives_each_side_a_third(
    margins: list[float], low: float, high: float
) -> None:
    axis = axis_for(margins, 50, 2.0)
    assert (axis.low, axis.high) == (pytest.approx(low), pytest.approx(high, rel=1e-5))
    assert (axis.columns, axis.unit) == (50, 2.0)


def test_an_axis_keeps_a_column_free_at_its_ends() -> None:
    axis = Axis(0.5, 2.0, 23, 10.0)
    assert [axis.column(margin) for margin in (0.5, 1.0, 1.0001, 2.0)] == [1, 10, 12, 21]
    assert axis.asked == 11
    assert [axis.tick(shown) for shown in (4.9, 5.0, 10.0, 20.0, 20.1)] == [None, 1, 11, 21, None]
