"""What a kernel answers about what was drawn, and what it finds of its own stops: the rules, and
how it is drawn."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from quiet_rules import MEANS
from support import invented
from support.golden_texts import check_text, check_verdict, raises_text
from support.mpi_labs import lab_of

from numalab.errors import NothingToDraw
from numalab.evidence.format import OtherPlaces
from numalab.evidence.kinds import SERIES, STOPS
from numalab.evidence.read_record import parse, record_of
from numalab.evidence.run_formats import DrawnSeries
from numalab.installation import Installation
from numalab.judging import planner
from numalab.judging.judge import judge
from numalab.judging.places import verdict_over
from numalab.judging.series_answers import TOLERANCE, answer_of, count_kinds
from numalab.judging.verdict import CriterionVerdict
from numalab.labs.declaration import Lab
from numalab.reports.answer_picture import answer_picture, answer_words
from numalab.reports.comparison import answer_views
from numalab.reports.figures import answers_figure

Json = dict[str, Any]

LAB = """
title = "Noise"
minutes = 1
languages = ["c"]
contract = "x.h"
functions = ["noise"]

[[criterion]]
name = "stops_found"
part = "noise"
kind = "evidence"
points = 1
at_most = 0

[[criterion]]
name = "stops_live"
part = "noise"
kind = "evidence"
points = 1
at_most = 0.1

[[criterion]]
name = "decided"
part = "decide"
kind = "evidence"
points = 1
at_least = 0.9
"""


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return lab_of(tmp_path, "33_noise", LAB)


def series(part: str, *entries: tuple[str, list[int], list[int]], **more: Any) -> Json:
    """entries: kind, truth and what was told."""
    return {
        "kind": "series", "lab": "x", "part": part, "team": 2, "role": "submission",
        "seed": "0" * 16, "outcome": invented.OK,
        "series": [
            {"kind": kind, "length": 40, "truth": truth, "answers": told}
            for kind, truth, told in entries
        ],
    } | more  # fmt: skip


def stops(told: list[int] | None, made: int = 12, **more: Any) -> Json:
    """Of made stops of 50 to 51 ms each; told: how many, and of how many nanoseconds."""
    return {
        "kind": "stops", "lab": "x", "part": "noise", "team": 2, "role": "submission",
        "seed": "0" * 16, "gap_s": 0.002, "least_s": 0.02, "watch_s": 2.0,
        "elapsed_s": 2.001,
        "stops": [[0.05, 0.051]] * made, "reported": told, "runqueue_wait_s": 0.0, "taken_s": 0.0,
        "outcome": invented.OK,
    } | more  # fmt: skip


def session(*runs: Json) -> Json:
    record = invented.evidence(invented.ONE_NODE)
    checks = [record["runs"][0] | {"lab": "x", "part": part} for part in ("noise", "decide")]
    return record | {"lab": "33_noise", "runs": [*checks, *runs]}


def judged(lab: Lab, *runs: Json) -> dict[str, CriterionVerdict]:
    return {c.name: c for c in judge(lab, parse(session(*runs))).criteria}


# ---- answers ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("truth", "told", "answer"),
    [
        ((0,), (0,), "right"),
        ((-1,), (-1,), "right"),
        ((1,), (0,), "open"),
        ((0,), (1,), "wrong"),
        ((-1,), (1,), "wrong"),
        ((1,), (7,), "wrong"),
        ((0,), (-(2**63),), "wrong"),
        ((20, 1000), (20, 1000), "right"),
        ((20, 1000), (22, 900), "right"),
        ((20, 1000), (23, 1000), "wrong"),
        ((20, 1000), (20, 899), "wrong"),
        ((0, 0), (0, 0), "right"),
        ((0, 0), (1, 0), "wrong"),
        ((0, 0), (0, 1), "wrong"),
        ((20, 1000), (20,), "wrong"),
    ],
)
def test_an_answer_is_held_against_the_truth(
    truth: tuple[int, ...], told: tuple[int, ...], answer: str
) -> None:
    assert answer_of(DrawnSeries("equal", 9, truth, told)) == answer


def test_kinds_are_counted_in_their_order() -> None:
    drawn = [
        DrawnSeries("unheard of", 9, (0,), (1,)),
        DrawnSeries("lucky times", 9, (1,), (0,)),
        DrawnSeries("equal", 9, (0,), (0,)),
        DrawnSeries("equal", 9, (0,), (1,)),
    ]
    counted = [(of.kind, dict(of.answers)) for of in count_kinds(drawn)]
    assert counted == [
        ("equal", {"right": 1, "wrong": 1}),
        ("lucky times", {"open": 1}),
        ("unheard of", {"wrong": 1}),
    ]


def test_a_named_machine_is_not_asked_what_it_shows_nothing_new_of(lab: Lab) -> None:
    """Or it would stay open for ever: nothing is run there."""
    here = parse(session(series("noise", ("no stop", [0, 0], [0, 0])), stops([12, 605 * MS])))
    there = replace(parse(session()), is_virtual=True, node=invented.TWO_NODES.describe())
    own = {c.name: c.status for c in judge(lab, there).criteria}
    assert own.keys() == {"stops_found", "stops_live", "decided"}
    assert set(own.values()) == {"inconclusive"}
    over = verdict_over(lab, here, {"hydra": there}, OtherPlaces(("hydra",)))
    assert [c.where for c in over.criteria] == ["here"] * 3
    assert [c.status for c in over.criteria[:2]] == ["pass", "pass"]


# ---- stops --------------------------------------------------------------------------------

MS = 1_000_000


def test_every_clock_has_to_be_read_well(lab: Lab) -> None:
    well = series("noise", ("few stops", [20, 5000], [20, 5100]), ("no stop", [0, 0], [0, 0]))
    record_of(session(well))
    found = judged(lab, well)["stops_found"]
    assert found.status == "pass" and "Of 2 clocks" in found.why


def test_what_was_read_wrongly_is_told_by_its_kind(lab: Lab) -> None:
    run = series(
        "noise", ("few stops", [20, 5000], [20, 5100]),
        ("no stop", [0, 0], [3, 7_500_000]), ("no stop", [0, 0], [0, 0]),
    )  # fmt: skip
    found = judged(lab, run)["stops_found"]
    assert (found.status, found.cause, found.value) == ("fail", "missed", 1.0)
    check_verdict(found, "fail", "missed")


def test_who_tells_nothing_has_no_number(lab: Lab) -> None:
    run = series("noise", ("few stops", [20, 5000], [-(2**63), -(2**63)]))
    found = judged(lab, run)["stops_found"]
    check_verdict(found, "fail", "missed")


@pytest.mark.parametrize(
    ("told", "status"),
    [
        ([12, 605 * MS], "pass"),
        ([11, 605 * MS], "pass"),
        ([13, 605 * MS], "pass"),
        ([10, 605 * MS], "fail"),
        ([14, 605 * MS], "fail"),
        ([12, 530 * MS], "fail"),
        ([12, 680 * MS], "fail"),
        ([0, 0], "fail"),
    ],
)
def test_stops_of_the_thread_itself(lab: Lab, told: list[int], status: str) -> None:
    record_of(session(stops(told)))
    found = judged(lab, stops(told))["stops_live"]
    assert found.status == status
    check_text(found.why)


def test_what_is_too_short_must_not_be_found(lab: Lab) -> None:
    """But where a busy node made it so long that one could argue."""
    short = [[0.0001, 0.0003]] * 4
    for told, status in (([12, 605 * MS], "pass"), ([16, 605 * MS], "fail")):
        record_of(session(stops(told, too_short=short)))
        found = judged(lab, stops(told, too_short=short))["stops_live"]
        assert found.status == status
        check_text(found.why)
    long = [[0.018, 0.021]] * 4
    for told, status in (
        ([12, 605 * MS], "pass"),
        ([16, 690 * MS], "pass"),
        ([18, 690 * MS], "fail"),
    ):
        assert judged(lab, stops(told, too_short=long))["stops_live"].status == status


def test_a_stop_that_the_clock_alone_makes_takes_no_time(lab: Lab) -> None:
    """So who watches for that much less has watched for as long as was asked."""
    for elapsed_s, status in ((1.71, "pass"), (1.69, "fail")):
        run = stops([12, 605 * MS], elapsed_s=elapsed_s, ahead_s=0.3)
        record_of(session(run))
        assert judged(lab, run)["stops_live"].status == status
    check_verdict(judged(lab, run)["stops_live"], "fail", "missed")


def test_what_the_node_takes_may_be_found_and_need_not(lab: Lab) -> None:
    """200 ms, in which there is room for ten stops of 20 ms."""
    for told in ([12, 605 * MS], [22, 805 * MS], [15, 700 * MS]):
        found = judged(lab, stops(told, runqueue_wait_s=0.15, taken_s=0.05))["stops_live"]
        check_verdict(found, "pass", "reached")
    for told in ([24, 805 * MS], [12, 880 * MS], [10, 605 * MS]):
        assert judged(lab, stops(told, runqueue_wait_s=0.2))["stops_live"].status == "fail"


def test_of_waits_that_were_looked_at_the_long_ones_may_count(lab: Lab) -> None:
    """Two stops, and 50 ms; the other 350 ms are waits each of which is too short."""
    more = {"runqueue_wait_s": 0.4, "arguable_stops": 2, "arguable_s": 0.05}
    for told, status in (
        ([12, 605 * MS], "pass"), ([15, 720 * MS], "pass"),
        ([16, 605 * MS], "fail"), ([12, 740 * MS], "fail"),
    ):  # fmt: skip
        record_of(session(stops(told, **more)))
        assert judged(lab, stops(told, **more))["stops_live"].status == status


def test_who_does_not_watch_to_the_end_has_not_watched(lab: Lab) -> None:
    found = judged(lab, stops([0, 0], made=0, elapsed_s=0.1))["stops_live"]
    check_verdict(found, "fail", "missed")


@pytest.mark.parametrize("more", [{"runqueue_wait_s": 0.4}, {"made": 7}, {"made": 0}])
def test_a_busy_node_leaves_it_open(lab: Lab, more: dict[str, Any]) -> None:
    found = judged(lab, stops([99, 9000 * MS], **more))["stops_live"]
    check_verdict(found, "inconclusive", "too_noisy")


def test_what_fails_once_is_looked_at_again(lab: Lab) -> None:
    """The node may have lost its core for some milliseconds, and nobody counts those."""
    good, bad = stops([12, 605 * MS]), stops([30, 900 * MS])
    assert judged(lab, good)["stops_live"].status == "pass"
    for runs, status, again in (
        ((good,), "pass", False), ((bad,), "fail", True), ((bad, bad), "fail", False),
        ((bad, good), "fail", True), ((bad, good, good), "pass", False),
        ((bad, good, bad), "fail", False), ((), "inconclusive", False),
    ):  # fmt: skip
        found = judged(lab, *runs)["stops_live"]
        assert found.status == status, runs
        evidence = parse(session(*runs))
        assert planner.needs_another_run(STOPS, lab, evidence, "noise") == again, runs


def test_a_kernel_that_does_not_come_to_its_end(lab: Lab) -> None:
    crashed = {"status": "crashed", "signal": "SIGSEGV", "doing": "noise", "printed_bytes": 0}
    found = judged(lab, stops(None, outcome=crashed), series("noise", outcome=crashed))
    assert {found[name].status for name in ("stops_live", "stops_found")} == {"fail"}
    assert found["stops_live"].cause == "crashed"
    assert judged(lab)["stops_live"].cause == "not_measured"


# ---- decisions ----------------------------------------------------------------------------


def decisions(right: int, wrong: int, left_open: int) -> Json:
    return series(
        "decide",
        *[("equal", [0], [0])] * right,
        *[("lucky times", [-1], [1])] * wrong,
        *[("few pairs", [1], [0])] * left_open,
    )


@pytest.mark.parametrize(
    ("right", "wrong", "left_open", "status"),
    [
        (100, 0, 0, "pass"),
        (90, 0, 10, "pass"),
        (95, 5, 0, "pass"),
        (89, 0, 11, "fail"),
        (94, 6, 0, "fail"),
        (0, 0, 100, "fail"),
    ],
)
def test_a_wrong_answer_costs_twice_as_much(
    lab: Lab, right: int, wrong: int, left_open: int, status: str
) -> None:
    found = judged(lab, decisions(right, wrong, left_open))["decided"]
    assert found.status == status
    assert found.value == pytest.approx((right - wrong) / 100)


def test_where_it_decides_wrongly_is_told(lab: Lab) -> None:
    record_of(session(decisions(50, 30, 20)))
    check_verdict(judged(lab, decisions(50, 30, 20))["decided"], "fail", "missed")


# ---- what the lab's driver has, too --------------------------------------------------------


def test_kinds_and_tolerance_are_those_of_the_driver(installation: Installation) -> None:
    folder = installation.grading_folder("08_quiet_node")
    driver = (folder / "driver.c").read_text("utf-8")
    headers = [above / "conventions.h" for above in (folder, folder / "variant/grading")]
    said = [re.search(r"apart_in_nothing.*;", header.read_text("utf-8")) for header in headers]
    told = ", ".join(name for one in said if one for name in re.findall(r'"[^"]+"', one[0]))
    driver = re.sub(r"apart_in_nothing,\s+apart_in_noise", told, driver)
    tables = re.findall(r"_kind_names\[\] = \{(.*?)NULL\};", driver, re.DOTALL)
    assert len(tables) == 2
    names = [name for table in tables for name in re.findall(r'"([^"]+)"', table)]
    assert list(MEANS) == list(dict.fromkeys(names))  # both have a coarse clock
    (tolerance,) = re.findall(r"tolerance = ([\d.]+);", driver)
    assert float(tolerance) == TOLERANCE


# ---- pictures -----------------------------------------------------------------------------


def test_answers_are_drawn_by_kind(lab: Lab) -> None:
    evidence = parse(session(decisions(10, 5, 5)))
    (sight,) = answer_views(lab, judge(lab, evidence), [("here", evidence)])
    drawn = [text.plain for text in answer_picture(sight, 76)]
    assert max(map(len, drawn)) <= 76 and len(drawn) == 4
    assert [row.split()[-3:] for row in drawn[1:]] == [
        ["10", "of", "10"], ["0", "of", "5"], ["0", "of", "5"],
    ]  # fmt: skip
    assert set(drawn[1].split()[1]) == {"="}
    assert set(drawn[2].split()[2]) == {"."} and set(drawn[3].split()[2]) == {"#"}
    check_text(answer_words(count_kinds(sight.yours)))

    figure = answers_figure([("yours", evidence)], part="decide")
    widths = [patch.get_width() for patch in figure.axes[0].patches]
    assert sum(widths) == 20 and len(widths) >= 9


def test_right_answers_are_not_drawn(lab: Lab) -> None:
    evidence = parse(session(decisions(100, 0, 0)))
    assert list(answer_views(lab, judge(lab, evidence), [("here", evidence)])) == []


def test_nothing_is_drawn_of_nothing() -> None:
    evidence = parse(session())
    with raises_text(NothingToDraw):
        answers_figure([("", evidence)])
    empty = parse(session(series("decide")))
    assert empty.runs_of(SERIES)
    with pytest.raises(NothingToDraw):
        answers_figure([("", empty)])
