"""What pictures show, told in words for those who hear a page; and tables of rates and of
predictions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import structs
from support import invented
from support.evidence_parts import grouped_programs, placing, roof, stores
from support.golden_texts import check_text

from numalab.evidence.read_record import parse
from numalab.evidence.record import Json
from numalab.evidence.run_formats import Thread
from numalab.evidence.work import WorkShare
from numalab.grading.graded import GradedKernel
from numalab.judging.judge import judge
from numalab.judging.quantities import ScoredPredictions, ScoredQuantity
from numalab.judging.rates import Middle, ReferenceShare, RoleRate, TimedRates
from numalab.judging.timing_account import TimingAccount, timing_accounts
from numalab.labs.declaration import Lab
from numalab.reports import prediction_report
from numalab.reports.comparison import (
    GroupView,
    LineView,
    PlacingView,
    SeatView,
    TouchView,
    WorkView,
)
from numalab.reports.group_table import group_rows, group_title, group_words
from numalab.reports.home_table import home_rows, home_title, home_words
from numalab.reports.html_page import environment
from numalab.reports.line_picture import line_title, line_words, sight_words
from numalab.reports.occasion import Occasion
from numalab.reports.picture_words import seat_words, touch_words, work_words
from numalab.reports.rate_words import (
    chosen_rates,
    duration,
    lightspeed_words,
    percent_words,
    rate_table,
    rate_words,
    role_name,
    three_digits,
    time_words,
)
from numalab.reports.roofline import roof_words, roofs
from numalab.reports.touch_map import sampled, symbol, unbound_words

ONE, TWO = invented.ONE_NODE, invented.TWO_NODES
HERE = parse(invented.evidence(ONE))


# ---- pages and threads -------------------------------------------------------------------


def pages(record: Json, solution: Json | None = None) -> str:
    theirs = None if solution is None else parse(solution)
    return touch_words(TouchView("here", None, parse(record), theirs, False))


def test_pages_are_told_by_who_has_most_of_them() -> None:
    record = invented.evidence(
        ONE,
        writer=lambda owner, page: -1 if page < 20 else owner,
        users=lambda owner, page: [0, 1] if page < 8 else [owner],
    )
    check_text(pages(record))
    nodes = invented.evidence(TWO, users=lambda owner, page: [0, 7] if page < 80 else [owner])
    check_text(pages(nodes))
    beside = pages(record, invented.evidence(ONE))
    check_text(beside)


@pytest.mark.parametrize(("owners", "named", "more"), [(5, 5, 0), (6, 4, 2)])
def test_four_are_named_where_there_are_more_than_five(owners: int, named: int, more: int) -> None:
    cores = invented.Machine(packages=1, nodes=1, cores=owners, in_turn=False)
    said = pages(invented.evidence(cores)).split(";")[0]
    assert said.count("thread ") == named
    assert (f" and {more} more" in said) == (more > 0)


def test_a_thread_that_is_bound_to_no_numa_node_is_told() -> None:
    record = invented.evidence(TWO)
    _unbind(record, 0, 2)
    evidence = parse(record)
    assert unbound_words(evidence).startswith("threads 0 and 2, ")
    assert pages(record).count("bound to none (25 %)") == 2
    assert unbound_words(parse(invented.evidence(TWO))) != unbound_words(evidence)
    record = invented.evidence(TWO)
    _unbind(record, 3)
    assert unbound_words(parse(record)).startswith("thread 3, ")


def _unbind(record: Json, *numbers: int) -> None:
    for run in record["runs"]:
        for thread in run.get("threads", []):
            if thread["thread"] in numbers:
                thread["numa_node"] = -1


def test_samples_are_told_only_where_there_are_some() -> None:
    record = invented.evidence(ONE)
    assert sampled(parse(record)) == []
    invented.sample(record, every=29)
    (said,) = sampled(parse(record))
    assert re.findall(r"[\d,]+\d", said) == ["80", "2,320"]
    assert pages(record).endswith(f". {said}") or pages(record).endswith(said)


@pytest.mark.parametrize(
    ("place", "told"),
    [(0, "0"), (9, "9"), (10, "a"), (35, "z"), (36, "+"), (-1, "."), (-2, "?")],
)
def test_a_place_has_a_character(place: int, told: str) -> None:
    assert symbol(place)[0] == told


def test_colours_come_again_after_the_last() -> None:
    assert symbol(0)[1] == symbol(8)[1] != symbol(1)[1] == symbol(9)[1]
    assert {symbol(-1)[1], symbol(-2)[1]} == {"dim", "bold"}


def work(*of_thread: float, solution: Sequence[float] = ()) -> str:
    yours, theirs = (
        WorkShare(tuple(each), sum(each) / len(each), 0.5, 0) if each else None
        for each in (of_thread, solution)
    )
    assert yours is not None
    return work_words(WorkView("here", "x", yours, theirs))


def test_shares_of_work_are_told_of_up_to_eight_threads() -> None:
    check_text(work(1.0, 0.5))
    eight, nine = work(*8 * [0.5]), work(*8 * [0.5], 1.0)
    assert eight.count("thread ") == 7 and eight.startswith("Thread 0 50 %")
    assert re.findall(r"\d+", nine) == ["9", "50", "100", "56"]
    both = work(1.0, solution=(0.25,))
    check_text(both)


def seats(*allowed: tuple[int, ...], numbers: Sequence[int] = ()) -> list[Thread]:
    named = numbers or range(len(allowed))
    return [Thread(n, pus, -1, -1, -1) for n, pus in zip(named, allowed, strict=True)]


def test_seats_are_told_by_their_pus() -> None:
    def told(found: list[Thread], is_ranks: bool = False, **more: Any) -> str:
        sight = SeatView("here", HERE, "x.env", "", found, 0, more.pop("compared", None), **more)
        return seat_words(sight, is_ranks)

    check_text(told(seats((0,), (1, 2, 3), (0,), (-1,), (0, 2, 4))))
    check_text(told(seats((0,), (1,), (5,), numbers=(0, 0, 1)), True))
    both = told(seats((0,)), compared=seats((1,)), heads=("it said", "they were"))
    check_text(both)


# ---- memory, lines, groups ---------------------------------------------------------------


def test_homes_are_told_by_node() -> None:
    run = placing()
    check_text(home_words(run))
    on_one = replace(run, thread_nodes=(0, 0, 0, 0))
    assert [row.label for row in home_rows(on_one)] == ["table", "blocks", "matrix"]
    assert home_rows(replace(run, homes=None)) == []
    many = replace(run, thread_nodes=tuple(range(9)))
    assert [row.label for row in home_rows(many)] == ["table", "blocks", "matrix"]
    eight = replace(
        run, thread_nodes=tuple(range(8)), homes={"blocks": (0, 1, 2, 3, 4, 5, 6, 6)}
    )  # fmt: skip
    assert [(row.label[10:16], row.shares) for row in home_rows(eight)] == [
        (f"node {node}", {min(node, 6): 1.0}) for node in range(8)
    ]


def test_a_page_that_two_threads_share_is_nobodys() -> None:
    """Three parts of four pages: the middle one begins and ends within a page."""
    run = replace(placing(), n=2048, thread_nodes=(0, 1, 1), homes={"blocks": (0, 2, 2, 1)})
    assert {row.label: row.shares for row in home_rows(run)} == {
        "blocks of node 0's threads": {0: 1.0}, "blocks of node 1's threads": {1: 1.0},
    }  # fmt: skip


def test_titles_name_the_place_where_it_is_another() -> None:
    check_text(home_title(PlacingView("here", placing(), "same")))
    check_text(home_title(PlacingView("hydra", placing(), "same")))
    check_text(group_title(GroupView("here", grouped_programs())))
    check_text(group_title(GroupView("hydra", grouped_programs())))
    here, there = (
        line_title(LineView(where, part, stores(), None))
        for where, part in (("here", None), ("hydra", "count"))
    )
    check_text(here)
    check_text(there)
    assert re.findall(r"\d+", here) == ["64", "4", "100"]


def test_lines_are_told_by_their_writers() -> None:
    told = "line 0: thread 0 40, thread 1 10; line 1: thread 2 30; line 2: thread 3 1"
    assert line_words(stores()) == told
    both = sight_words(LineView("here", "count", stores(), stores(1)))
    check_text(both)
    assert "solution" not in sight_words(LineView("here", "count", stores(), None))
    at_least = structs.replace(
        stores(), most_written=[structs.replace(stores().most_written[2], stores=500)]
    )
    assert line_words(at_least) == "line 0: thread 3 1"


def test_groups_are_told_of_both() -> None:
    run = grouped_programs()
    assert group_rows(run)[0] == ("PUs allowed", "0,2,4,6", "1,3,5")
    check_text(group_words(run))
    none = replace(run, programs={n: replace(p, pages_new={}) for n, p in run.programs.items()})
    assert group_rows(none)[5] == ("pages written since", "none", "none")


# ---- rates -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(1.0, "1 s"), (0.9994, "999 ms"), (12.34, "12.3 s"), (1e-3, "1 ms"), (9.994e-4, "999 us"),
     (1.5e-6, "1.5 us")],
)  # fmt: skip
def test_a_time_has_the_unit_that_reads_best(seconds: float, told: str) -> None:
    assert duration(seconds) == told


@pytest.mark.parametrize(
    ("value", "told"),
    [(99.94, "99.9"), (99.95, "100"), (1234.5, "1,234"), (0.125, "0.125"), (21.84, "21.8")],
)
def test_rates_have_three_digits_or_all_before_the_point(value: float, told: str) -> None:
    assert three_digits(value) == told


def test_an_end_that_is_not_known_is_left_open() -> None:
    assert time_words(Middle(0.0123, 0.0121, 0.0126)) == "12.3 ms [12.1 ms..12.6 ms]"
    assert time_words(Middle(0.0123, None, None)) == "12.3 ms"
    assert rate_words(Middle(21.8, None, 22.2)) == "21.8 [..22.2]"
    assert rate_words(Middle(21.8, 21.3, None)) == "21.8 [21.3..]"
    assert percent_words(ReferenceShare(0.96, 0.95, None, 9)) == "96 % [95..]"
    assert percent_words(ReferenceShare(0.96, None, 0.98, 9)) == "96 % [..98]"
    assert percent_words(ReferenceShare(0.5, None, None, 9)) == "50 %"
    check_text(percent_words(ReferenceShare(None, 0.9, None, 9)))


def rate(role: str, share: float | None = None, has_rate: bool = True) -> RoleRate:
    speed = Middle(4.0, None, None) if has_rate else None
    reference_share = ReferenceShare(share, None, None, 9) if share else None
    return RoleRate(role, Middle(0.5, None, None), speed, reference_share)


def rates(*roles: RoleRate, **more: Any) -> TimedRates:
    told: dict[str, Any] = {
        "part": None, "slow": None, "n": 2048, "replicates": 9, "confidence": 0.95,
        "bytes_moved": 4 << 30, "bytes_allocated": 1 << 30, "fits_caches": False,
    }  # fmt: skip
    return TimedRates(**(told | more), roles=roles)


def test_roles_are_called_by_whose_they_are() -> None:
    plain, launches = rates(), rates(slow="compared/newcomer.toml")
    roles = ("submission", "handout", "probe", "solution")
    assert [role_name(role, plain, HERE) for role in roles] == [
        "yours", "the handout", "lightspeed: the probe", "the solution",
    ]  # fmt: skip
    assert role_name("handout", launches, HERE) == "compared/newcomer.toml"
    check_text(role_name("solution", launches, HERE))
    graded = [role_name("submission", plain, replace(HERE, variant=v)) for v in
              ("handout", "solution")]  # fmt: skip
    assert graded == ["the handout, graded", "the solution, graded"]


def test_columns_are_what_is_known(first_touch: Lab) -> None:
    full = rate_table(
        first_touch, rates(rate("submission", 0.5), rate("probe"), rate("handout", None, False)),
        HERE,
    )  # fmt: skip
    assert full.heads == ("", "time", "GB/s", "of lightspeed")
    assert full.rows == (
        ("yours", "500 ms", "4", "50 %"), ("lightspeed: the probe", "500 ms", "4", ""),
        ("the handout", "500 ms", "", ""),
    )  # fmt: skip
    assert [len(re.findall(r"\d+", note)) > 0 for note in full.notes] == [True, True, False]
    assert re.findall(r"[\d,.]*\d", full.notes[0]) == ["9", "2,048", "95"]
    bare = rate_table(first_touch, rates(rate("submission", None, False), fits_caches=True), HERE)
    assert bare.heads == ("", "time") and bare.rows == (("yours", "500 ms"),)
    assert len(bare.notes) == 1
    fits = rate_table(first_touch, rates(rate("submission"), fits_caches=True), HERE)
    assert fits.heads == ("", "time", "GB/s") and len(fits.notes) == 3
    part = rate_table(first_touch, rates(rate("submission"), part="compute"), HERE)
    check_text(part.title)


def test_lightspeed_says_how_many_had_a_probe_and_what_is_not_known() -> None:
    plain = lightspeed_words(rates(rate("submission", 0.5)))
    fewer = lightspeed_words(rates(rate("submission", 0.5), replicates=12))
    unknown = replace(rate("submission", 0.5), reference_share=ReferenceShare(None, None, None, 9))
    not_known = lightspeed_words(rates(unknown, rate("solution", 0.5)))
    assert lightspeed_words(rates(rate("submission"))) == ""
    assert re.findall(r"\d+", plain) == []
    assert re.findall(r"\d+", fewer) == ["9", "12"]
    assert re.findall(r"\d+", not_known) == ["105"]


def test_criteria_on_the_same_processes_share_the_rates_with_most_of_them(
    first_touch: Lab,
) -> None:
    times = invented.steady(5, solution=0.2, submission=0.2)
    evidence = parse(invented.evidence(ONE, times=times))
    (account, *_) = timing_accounts(first_touch, judge(first_touch, evidence), evidence)

    def having(found: TimedRates | None) -> TimingAccount:
        return replace(account, rates=found)

    few, many, other = (
        rates(rate("submission")), rates(rate("submission"), rate("handout")),
        rates(rate("solution"), part="x"),
    )  # fmt: skip
    again = replace(many, n=1)
    found = [having(each) for each in (None, few, many, other, again)]
    assert chosen_rates(found) == [
        many, other,
    ]  # fmt: skip


def test_a_roof_is_the_probes_rate_at_the_loops_flops_per_byte(first_touch: Lab) -> None:
    """Two flops an element."""
    declared = first_touch.reference_loop_of(None)
    assert declared is not None and declared.flops_per_element == 2
    times = invented.steady(5, solution=0.2, submission=0.2)
    evidence = parse(invented.evidence(ONE, times=times))
    (account, *_) = timing_accounts(first_touch, judge(first_touch, evidence), evidence)

    def roof_of(*roles: RoleRate, **more: Any) -> Any:
        found = replace(account, rates=rates(*roles, **({"n": 1 << 30} | more)))
        return roofs(first_touch, [found], evidence)

    (found,) = roof_of(
        rate("submission", 0.5), rate("probe"), rate("handout"), rate("solution", 1.0)
    )
    assert found.flops_per_byte == 0.5
    assert found.name == first_touch.functions[-1]
    assert [(point.role, point.gflop_per_s) for point in found.points] == [
        ("solution", Middle(2.0, None, None)), ("submission", Middle(2.0, None, None)),
    ]  # fmt: skip
    assert roof_of(rate("submission", 0.5)) == []
    assert roof_of(rate("submission", 0.5), rate("probe"), part="no such part") == []
    assert roof_of(rate("submission", 0.5), rate("probe", None, False)) == []
    told = re.findall(r"\d[\d.]*\d|\d", roof_words(roof()))
    assert told == ["0.125", "20", "2.5", "1", "40", "2.5", "100", "2", "80"]


# ---- predictions -------------------------------------------------------------------------


def quantity(name: str, **more: Any) -> ScoredQuantity:
    told: dict[str, Any] = {
        "predicted": 1500.0, "low": 1000.0, "high": 1250.5, "unit": "ms", "score": 0.5, "why": "W."
    }  # fmt: skip
    return ScoredQuantity(name, **(told | more))


def test_predictions_stand_beside_what_was_measured() -> None:
    found = ScoredPredictions(
        0.512,
        (
            quantity("a"), quantity("b", low=2.0, high=2.0, score=1.0),
            quantity("c", predicted=None, low=None, high=None, score=0.0),
            quantity("d", low=None, score=None), quantity("e", high=None, score=None),
        ),
    )  # fmt: skip
    assert list(prediction_report.rows(found)) == [
        ("a", "1,500 ms", "1,000 to 1,250 ms", "0.50", "W."),
        ("b", "1,500 ms", "2 ms", "1.00", "W."),
        ("c", "-", "predict it first", "0.00", "W."),
        ("d", "1,500 ms", "-", "-", "W."),
        ("e", "1,500 ms", "-", "-", "W."),
    ]
    assert "0.51 of 1" in prediction_report.title(found)
    unusable, unmeasured = (
        prediction_report.title(replace(found, score=None, why=why)) for why in ("No.", "")
    )
    assert "predictions.toml" in unusable and "predictions.toml" not in unmeasured


def test_that_nothing_is_predicted_is_said_where_it_is_asked_for(labs: dict[str, Lab]) -> None:
    names = ("own_ms", "far_ms")
    asked: Any = tuple(SimpleNamespace(name=name) for name in names)
    lab = replace(labs["01_first_touch"], predicted=asked)

    def said(of: Lab, variant: str = "submission") -> str:
        verdict = replace(judge(of, HERE), variant=variant)
        return prediction_report.none_words(GradedKernel(of, verdict, [("here", HERE)], ()))

    assert all(name in said(lab) for name in names)
    assert said(lab, "handout") == said(replace(lab, predicted=())) == ""


# ---- pages of HTML -----------------------------------------------------------------------


def test_lines_of_templates_leave_no_blanks() -> None:
    template = "<p>\n  {% if yes %}\n  {{ text }}\n  {% endif %}\n</p>\n"
    found = environment().from_string(template).render(yes=True, text="a<b")
    assert found == "<p>\n  a&lt;b\n</p>\n"


def test_an_occasion_is_whole_unless_it_is_said() -> None:
    assert not Occasion("now", {}).interrupted
