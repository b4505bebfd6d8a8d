"""What --explain shows of a timing criterion, on invented evidence."""

from __future__ import annotations

import io
import itertools
import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console
from support import invented
from support.golden_texts import check_text, raises_text

from numalab.errors import NothingToDraw
from numalab.evidence.read_record import parse
from numalab.grading.graded import GradedKernel
from numalab.judging.judge import judge
from numalab.judging.timing_account import TimingAccount, timing_accounts
from numalab.labs.declaration import Lab
from numalab.reports import report
from numalab.reports.figures import timing_figure
from numalab.reports.timing_plot import (
    Axis,
    _axis_lines,
    _interval_line,
    _labelled,
    axis_for,
    timing_lines,
)
from numalab.reports.timing_words import evidence_words, interval_sentence, names

Json = dict[str, Any]
ONE = invented.ONE_NODE
COLUMNS = 76
CASES = invented.cases()


def of_times(*submission: float, quick: bool = False, **more: float) -> Json:
    """Generations beside a solution that takes 0.2 s: asked for are 0.25 s or less."""
    times = [{"solution": 0.2, **more, "submission": s} for s in submission]
    return invented.evidence(ONE, times=times, quick=quick)


def accounts_of(lab: Lab, record: Json) -> dict[str, TimingAccount]:
    evidence = parse(record)
    found = timing_accounts(lab, judge(lab, evidence), evidence)
    return {account.criterion.name: account for account in found}


def shown(lab: Lab, record: Json) -> list[str]:
    evidence = parse(record)
    accounts = timing_accounts(lab, judge(lab, evidence), evidence)
    return [line.plain for line in timing_lines(lab, accounts, evidence, COLUMNS)]


def in_one_line(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())


def rows_of(lines: list[str]) -> list[str]:
    return [line for line in lines if re.match(r" {3,5}\d+ <?[\d.]+ .*\|", line)]


def cut_off(record: Json, elapsed_s: float) -> Json:
    """Each generation's submission was stopped after so long."""
    for run in record["runs"]:
        if run["kind"] == "generation":
            last = next(s for s in run["samples"] if s["role"] == "submission")
            last |= {"cut": True, "warm_up": False, "elapsed_s": elapsed_s}
            run["samples"] = [s for s in run["samples"] if s["role"] != "submission"] + [last]
    return record


@pytest.mark.parametrize(
    ("margins", "unit"),
    [([1.0], 1.0), ([0.99, 1.01], 0.8), ([100.0], 1.0), ([0.001], 0.8), ([1e-4, 1e4], 1.0)],
)
@pytest.mark.parametrize("columns", [24, 49, 62])
def test_the_side_of_what_is_asked_for_is_seen(
    margins: list[float], unit: float, columns: int
) -> None:
    axis = axis_for(margins, columns, unit)
    assert axis.column(1 + 1e-12) > axis.asked
    assert axis.column(1.0) < axis.asked  # just as fast as is asked for is not faster
    for margin in margins:
        assert 0 <= axis.column(margin) < columns
        assert (axis.column(margin) > axis.asked) == (margin > 1)
    low, high = axis.column(axis.low), axis.column(axis.high)
    assert min(axis.asked - low, high - axis.asked) >= (columns - 3) // 4 - 1


@pytest.mark.parametrize("low", [1 / 1.25, 0.5, 0.1, 0.003])
@pytest.mark.parametrize("high", [1.25, 2.0, 17.0, 300.0])
def test_ticks_say_where_they_are(low: float, high: float) -> None:
    axis = Axis(low, high, 50, 0.8)
    rule, values, named = _axis_lines(axis, [(1.0, "solution")])
    assert max(map(len, (rule, values, named))) <= 50
    assert rule[axis.asked] == "|"
    check_text(named)
    places = [(value, axis.tick(float(value))) for value in values.split()]
    assert "0.8" in dict(places)
    assert len(places) >= 3
    for value, column in places:
        assert column is not None
        assert rule[column] in "+|"
        assert abs(values.index(f" {value} ".rstrip() if column > 1 else value) - column) <= 3
    assert all(a[1] < b[1] for a, b in itertools.pairwise(places))  # type: ignore[operator]


def test_each_generation_has_a_line_with_its_mark_speed_and_evidence(first_touch: Lab) -> None:
    lines = shown(first_touch, of_times(0.2, 0.3, 0.2, 0.2, 0.22))
    rows = rows_of(lines)
    assert [row.split()[1] for row in rows] == ["1.00", "0.67", "1.00", "1.00", "0.91"]
    assert [row.index("o" if n != 1 else "x") > row.index("|") for n, row in enumerate(rows)] == [
        True, False, True, True, True,
    ]  # fmt: skip
    evidence = [float(row.split()[-1]) for row in rows]
    assert evidence[1] < evidence[0]
    assert evidence[1] < evidence[2] < evidence[3] < evidence[4]


def test_the_level_that_was_reached_is_shown(first_touch: Lab) -> None:
    passed = shown(first_touch, CASES["two_nodes_right"])
    assert sum("145 >= 100" in line for line in passed) == 2
    assert "at most 1 of 145 gradings" in in_one_line(passed)
    failed = in_one_line(shown(first_touch, of_times(*[0.4] * 5, quick=True)))
    assert "21 >= 20" in failed
    check_text(failed)


@pytest.mark.parametrize(
    ("e_value", "words"),
    [(19.99, "19"), (9.99, "9.9"), (1033.6, "1,033"), (0.1, "0.1"), (1e-9, "<0.1")],
)
def test_evidence_is_never_rounded_up(e_value: float, words: str) -> None:
    assert evidence_words(e_value) == words


STOPPED = [
    ("two_nodes_right", "speedup", "decided", "The evidence reached 100"),
    ("two_nodes_handout", "speedup", "decided", "The evidence reached 1,000"),
    ("two_nodes_no_effect", "speedup", "not_gradable", "there is no speedup to earn"),
    ("two_nodes_no_effect", "efficiency", "decided", "5 generations came after the decision"),
    ("two_nodes_noisy", "efficiency", "undecided", "fast enough in 30 of 60 generations"),
    ("two_nodes_unstable", "efficiency", "unstable", "unstable, which fails"),
]


@pytest.mark.parametrize(("case", "name", "why", "words"), STOPPED)
def test_why_it_stopped(first_touch: Lab, case: str, name: str, why: str, words: str) -> None:
    account = accounts_of(first_touch, CASES[case])[name]
    assert account.stopped_because == why
    text = in_one_line(shown(first_touch, CASES[case]))
    start = text.index(f"{name}: ")
    end = text.find(" efficiency: ", start + 1)
    assert words in text[start : end if end > 0 else None]


def test_an_interrupted_grading_shows_what_there_is(first_touch: Lab) -> None:
    record = of_times(0.2, 0.2) | {"interrupted": True}
    assert accounts_of(first_touch, record)["efficiency"].stopped_because == "interrupted"
    text = in_one_line(shown(first_touch, record))
    check_text(text)


def test_too_few_generations_name_what_may_be_spent(first_touch: Lab) -> None:
    text = in_one_line(shown(first_touch, of_times(0.2, 0.2, quick=True)))
    check_text(text)


def test_a_submission_that_is_always_fast_needs_no_word_on_the_effect(first_touch: Lab) -> None:
    times = [
        {"handout": 0.3 if g % 2 else 0.2, "solution": 0.2, "submission": 0.1} for g in range(24)
    ]
    record = invented.evidence(invented.TWO_NODES, times=times, quick=True)
    assert accounts_of(first_touch, record)["speedup"].stopped_because == "decided"
    text = in_one_line(shown(first_touch, record))
    assert "Whether this node shows it is open: the handout took at least 1.15" in text


def test_a_claim_that_is_lost_waits_for_the_effect(first_touch: Lab) -> None:
    """The submission is always slow; whether the handout is changes from run to run."""
    times = [
        {"handout": 0.3 if g % 2 else 0.2, "solution": 0.2, "submission": 0.4} for g in range(24)
    ]
    record = invented.evidence(invented.TWO_NODES, times=times, quick=True)
    assert accounts_of(first_touch, record)["speedup"].stopped_because == "undecided"
    text = in_one_line(shown(first_touch, record))
    assert "not whether this node shows a speedup: the handout took at least 1.15" in text
    assert "in 12 of 24 generations" in text


def test_an_effect_that_noise_hides_has_no_picture(first_touch: Lab) -> None:
    times = [
        {"handout": 0.44 if g % 3 == 0 else 0.2, "solution": 0.23, "submission": 0.23}
        for g in range(12)
    ]
    record = invented.evidence(invented.TWO_NODES, times=times)
    lines = shown(first_touch, record)
    of_speedup = lines[: next(n for n, line in enumerate(lines) if line.startswith("efficiency"))]
    assert not rows_of(of_speedup)
    said = in_one_line(of_speedup)
    check_text(said)
    with raises_text(NothingToDraw):
        timing_figure(accounts_of(first_touch, record)["speedup"])


def test_a_time_limit_is_told_without_a_picture(first_touch: Lab) -> None:
    record = of_times(0.2)
    part = next(r for r in record["runs"][-1]["roles"] if r["role"] == "submission")
    part["outcome"] = {"status": "timed_out", "doing": "compute", "n": 99, "limit_s": 60.0,
                       "printed_bytes": 0}  # fmt: skip
    assert accounts_of(first_touch, record)["efficiency"].stopped_because == "too_slow"
    check_text(in_one_line(shown(first_touch, record)))


def test_what_was_cut_is_at_most_that_fast(first_touch: Lab) -> None:
    record = cut_off(of_times(*[2.0] * 11), 2.0)
    lines = shown(first_touch, record)
    rows = rows_of(lines)
    assert all(row.split()[1] == "<0.10" for row in rows)
    assert all(row.rindex("<", 0, row.index("|")) > 12 for row in rows)
    check_text(in_one_line(lines))


@pytest.mark.parametrize(
    ("low", "high", "ends"),
    [
        (1.01, 1.011, "[]"), (0.99, 0.991, "[]"), (0.9, 1.1, "[]"), (None, 0.9, "<]"),
        (1.1, None, "[>"), (0.9, None, "[>"),
    ],
)  # fmt: skip
def test_an_interval_has_its_ends_on_their_sides(
    low: float | None, high: float | None, ends: str
) -> None:
    axis = axis_for([0.7, 1.4], 50, 1.0)
    line = _interval_line(axis, low, high)
    assert line[axis.asked] == "|"
    assert line.strip(" |-")[0] == ends[0]
    assert line.rstrip(" |-")[-1] == ends[1]
    if low is not None:
        assert (line.index("[") > axis.asked) == (low > 1)
    if high is not None:
        assert (line.index("]") > axis.asked) == (high > 1)


def test_many_generations_are_stacked(first_touch: Lab) -> None:
    fast, slow = 0.2, 0.3
    lines = shown(first_touch, of_times(*([fast, slow, slow, fast, slow] * 3)))
    top = next(n for n, line in enumerate(lines) if "too slow | fast enough" in line)
    bottom = next(n for n, line in enumerate(lines) if set(line.strip()) >= set("-|+"))
    picture = [line for line in lines[top + 1 : bottom] if not line.startswith("median")]
    check_text(picture[-1])
    assert "".join(picture[:-1]).count("x") == 5  # of 9
    assert "".join(picture[:-1]).count("o") == 3  # of 6
    growth = next(line for line in lines if line.startswith("generation"))
    assert growth.split()[1] == "1"
    assert growth.split()[-3:] == ["15", "decides", "at"]


@pytest.mark.parametrize("case", CASES)
def test_lines_are_short_and_plain(first_touch: Lab, case: str) -> None:
    lines = shown(first_touch, CASES[case])
    assert max(map(len, lines)) <= COLUMNS
    assert "\n".join(lines).isascii()


def test_where_nothing_was_timed_one_sentence_says_so(first_touch: Lab) -> None:
    check_text(shown(first_touch, invented.evidence(ONE)))


def test_what_is_not_gradable_here_is_listed(first_touch: Lab) -> None:
    check_text(shown(first_touch, of_times(*[0.2] * 9))[-1])


def test_a_launch_is_called_one(first_touch: Lab, labs: dict[str, Lab]) -> None:
    hybrid = labs["07_hybrid"]
    account = accounts_of(first_touch, CASES["two_nodes_right"])["speedup"]
    launch = next(c for c in hybrid.criteria if c.slow is not None)
    named = names(hybrid, replace(account, criterion=launch), parse(CASES["two_nodes_right"]))
    check_text(named.graded)
    assert named.slow == "newcomer.toml"


def test_the_report_has_it_before_what_to_do_next(first_touch: Lab) -> None:
    record = of_times(*[0.4] * 11)
    evidence = parse(record)
    verdict = judge(first_touch, evidence)
    lines = timing_lines(
        first_touch, timing_accounts(first_touch, verdict, evidence), evidence, COLUMNS
    )
    console = Console(file=io.StringIO(), width=80)
    kernel = GradedKernel(first_touch, verdict, [("here", evidence)], (), again="again")
    report.show_verdict(console, kernel, lines)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert text.index("FAIL  efficiency") < text.index("How the times were decided")
    assert text.index("Why it stopped") < text.index("Next: fix efficiency")
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize(
    "interval",
    [
        (None, None),
        (None, 0.5),
        (0.5, None),
        (0.5, 0.75),
        (0.5, 0.5001),
    ],
)  # fmt: skip
def test_an_interval_in_words(interval: tuple[float | None, float | None]) -> None:
    account: Any = SimpleNamespace(
        interval=interval, state=SimpleNamespace(thresholds=SimpleNamespace(confidence=0.95))
    )
    check_text(interval_sentence(account, 2.0, "of it"))


@pytest.mark.parametrize(
    ("labels", "line", "placed"),
    [
        ([(5, "ab")], "    ab", [5]),
        ([(0, "abc"), (9, "xyz")], "abc    xyz", [0, 9]),
        ([(2, "abc"), (6, "x")], " abc  x", [2, 6]),
        ([(2, "abc"), (5, "x")], " abc x", [2, 5]),
        ([(2, "abc"), (4, "x")], " abc", [2]),
        ([(5, "x"), (3, "abc")], "     x", [5]),
        ([(5, "x"), (1, "abc")], "abc  x", [5, 1]),
        ([(5, "longer than ten")], "", []),
    ],
)
def test_labels_stand_at_their_columns_with_a_blank_between(
    labels: list[tuple[int, str]], line: str, placed: list[int]
) -> None:
    assert _labelled(10, labels) == (line, placed)
