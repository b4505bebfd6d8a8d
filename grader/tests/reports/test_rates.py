"""Times and rates of what was timed: which bytes, which interval, whose."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from support import invented
from support.golden_texts import check_text
from support.invented import TWO_NODES
from support.pages import assert_legible, texts

from numalab.evidence.read_record import parse
from numalab.evidence.record import SOLUTION, SUBMISSION, Evidence, Json
from numalab.judging.judge import judge
from numalab.judging.rates import TimedRates
from numalab.judging.timing_account import add_timing, timing_accounts
from numalab.labs.declaration import Lab
from numalab.reports.figures import roofline_figure
from numalab.reports.rate_words import byte_words, rate_table, rate_tables, rate_words
from numalab.reports.roofline import Roof, roof_lines, roof_words, roofs

MOVED = 4_000_000_000


def record(generations: int = 12, allocated: int | None = 0, moved: int = MOVED) -> Json:
    times = invented.steady(generations, **invented.FAST)
    made = invented.evidence(TWO_NODES, times=times)
    for run in made["runs"]:
        if run["kind"] == "generation":
            run["bytes_moved"] = moved
            if allocated is not None:
                run["bytes_allocated"] = allocated
    return made


def rates(lab: Lab, made: Json) -> TimedRates:
    evidence = parse(made)
    accounts = timing_accounts(lab, judge(lab, evidence), evidence)
    (found,) = {id(a.rates): a.rates for a in accounts if a.criterion.name == "speedup"}.values()
    assert found is not None
    return found


def tables(lab: Lab, evidence: Evidence) -> list[Any]:
    return rate_tables(lab, timing_accounts(lab, judge(lab, evidence), evidence), evidence)


def test_a_rate_is_bytes_over_the_best_repetition(first_touch: Lab) -> None:
    found = rates(first_touch, record())
    by_role = {rate.role: rate for rate in found.roles}
    assert list(by_role) == ["submission", "solution", "handout"]
    for role, seconds in (("submission", 0.23), ("handout", 0.44)):
        rate = by_role[role]
        assert rate.gb_per_s is not None
        best_s = 1.02 * seconds  # the first repetition that counts
        assert rate.elapsed_s.median == pytest.approx(best_s, rel=0.011)
        assert rate.gb_per_s.median == pytest.approx(4.0 / best_s, rel=0.011)
        assert rate.gb_per_s.low is not None
        assert rate.gb_per_s.high is not None
        assert rate.gb_per_s.low <= rate.gb_per_s.median <= rate.gb_per_s.high
        assert rate.gb_per_s.low == pytest.approx(4.0 / rate.elapsed_s.high, rel=1e-9)  # type: ignore[operator]


def test_few_generations_bound_nothing(first_touch: Lab) -> None:
    (rate, *_) = rates(first_touch, record(2)).roles
    assert rate.gb_per_s is not None
    assert (rate.gb_per_s.low, rate.gb_per_s.high) == (None, None)
    assert rate_words(rate.gb_per_s).count("[") == 0


def test_a_repetition_that_was_cut_off_bounds_a_rate_from_above_only(first_touch: Lab) -> None:
    made = record()
    for run in made["runs"]:
        if run["kind"] == "generation":
            invented.cut_off(run, 2.0)
    (rate, *_) = rates(first_touch, made).roles
    assert rate.gb_per_s is not None
    assert rate.gb_per_s.median == pytest.approx(2.0)
    assert rate.gb_per_s.low is None
    assert rate.gb_per_s.high == pytest.approx(2.0)
    assert rate_words(rate.gb_per_s) == "2 [..2]"


def test_which_bytes_are_meant_is_told(first_touch: Lab) -> None:
    words = byte_words(rates(first_touch, record(allocated=MOVED // 4)))
    check_text(words)
    assert "write-allocate" in words
    assert "0.75 times" in words
    check_text(byte_words(rates(first_touch, record())))


@pytest.mark.parametrize("change", [{"allocated": None}, {"moved": 0}])
def test_without_a_count_of_bytes_there_are_times_only(
    first_touch: Lab, change: dict[str, Any]
) -> None:
    """Of an earlier record, whose bytes are other ones, and where a rate would say nothing."""
    made = record(**change)
    assert all(rate.gb_per_s is None for rate in rates(first_touch, made).roles)
    (table,) = tables(first_touch, parse(made))
    assert table.heads == ("", "time")
    assert "GB/s" not in " ".join(table.notes)


def test_criteria_that_rest_on_the_same_processes_share_a_table(first_touch: Lab) -> None:
    (table,) = tables(first_touch, parse(record()))
    check_text(table.title)
    assert [row[0] for row in table.rows] == ["yours", "the solution", "the handout"]
    assert all("[" in row[1] and "[" in row[2] for row in table.rows)


def test_what_fits_the_caches_is_told(first_touch: Lab) -> None:
    made = record()
    made["node"]["caches"] = [
        {"level": "L1d", "count": 16, "bytes_each": 32 << 10},
        {"level": "L1i", "count": 16, "bytes_each": 1 << 40},
        {"level": "L3", "count": 2, "bytes_each": MOVED // 2},
    ]
    assert rates(first_touch, made).fits_caches is False
    made["node"]["caches"][2]["bytes_each"] += 1
    assert rates(first_touch, made).fits_caches is True
    (table,) = tables(first_touch, parse(made))
    check_text(table.notes[-1])
    made["node"]["caches"] = []
    assert rates(first_touch, made).fits_caches is None


def test_the_json_has_them(first_touch: Lab) -> None:
    evidence = parse(record())
    verdict = judge(first_touch, evidence)
    accounts = timing_accounts(first_touch, verdict, evidence)
    entries = add_timing(verdict.json_data(), accounts)["criteria"]
    (told,) = [entry["timing"]["rates"] for entry in entries if entry["name"] == "speedup"]
    assert told["bytes_moved"] == MOVED
    assert {role["role"] for role in told["roles"]} >= {SUBMISSION, SOLUTION}
    assert told["roles"][0]["gb_per_s"]["median"] == pytest.approx(17.05, rel=0.02)


def test_an_edited_handout_is_called_its_own(first_touch: Lab) -> None:
    evidence = parse(record())
    (table,) = tables(first_touch, replace(evidence, variant="handout"))
    check_text(table.rows[0][0])


# ---- percent of lightspeed, and rooflines -------------------------------------------


def beside_probe(probe_s: float, generations: int = 12, **more: Any) -> Json:
    """The published pair with a probe in the same generations."""
    made = record(generations, **more)
    times = invented.steady(generations, **invented.FAST, probe=probe_s)
    runs = iter(invented.evidence(TWO_NODES, times=times)["runs"])
    for run in made["runs"]:
        if run["kind"] == "generation":
            other = next(found for found in runs if found["kind"] == "generation")
            run |= {"samples": other["samples"], "roles": other["roles"]}
            run["roles"][-1]["may_fail"] = True
    return made


def test_the_percent_of_lightspeed_stands_beside_the_rate(first_touch: Lab) -> None:
    (table,) = tables(first_touch, parse(beside_probe(0.22)))
    assert table.heads == ("", "time", "GB/s", "of lightspeed")
    cells = {row[0]: row[-1] for row in table.rows}
    assert list(cells) == ["yours", "the solution", "the handout", "lightspeed: the probe"]
    assert cells["lightspeed: the probe"] == ""
    assert re.fullmatch(r"9[567] % \[9\d\.\.9\d\]", cells["yours"])
    assert re.fullmatch(r"50 % \[\d\d\.\.5\d\]", cells["the handout"])
    check_text(table.notes[-1])
    check_text(" ".join(table.notes))


def test_what_is_faster_than_the_probe_can_be_is_not_known(first_touch: Lab) -> None:
    (table,) = tables(first_touch, parse(beside_probe(0.3)))
    assert [row[-1] for row in table.rows][:2] == ["not known", "not known"]
    check_text(table.notes[-1])
    assert "%" not in table.rows[0][-1]


def test_a_lab_without_a_probe_says_why(labs: dict[str, Lab]) -> None:
    lab = labs["04_huge_pages"]
    (account, *_) = timing_accounts(
        labs["01_first_touch"], judge(labs["01_first_touch"], parse(record())), parse(record())
    )
    assert account.rates is not None
    table = rate_table(lab, account.rates, parse(record()))
    check_text(table.notes[-1])


def drawn_roof(lab: Lab, made: Json) -> Roof:
    evidence = parse(made)
    accounts = timing_accounts(lab, judge(lab, evidence), evidence)
    (roof,) = roofs(lab, accounts, evidence)
    return roof


def test_a_roofline_has_the_loops_flops_per_byte_and_the_probes_slope(first_touch: Lab) -> None:
    """Two flops an element, n = 2^24, and 2^28 bytes: an eighth."""
    roof = drawn_roof(first_touch, beside_probe(0.22, moved=1 << 28))
    assert roof.flops_per_byte == pytest.approx(0.125)
    assert roof.gb_per_s.median == pytest.approx((1 << 28) / (0.22 * 1.02) / 1e9, rel=0.011)
    assert [point.role for point in roof.points] == ["handout", "solution", "submission"]
    for point in roof.points:
        assert point.share.median is not None
        top = roof.top_gflop_per_s.median
        assert point.gflop_per_s.median == pytest.approx(point.share.median * top, rel=0.03)


def test_a_roofline_is_drawn_and_told(first_touch: Lab) -> None:
    roof = drawn_roof(first_touch, beside_probe(0.22, moved=1 << 28))
    figure = roofline_figure(roof)
    assert_legible(figure)
    drawn = texts(figure)
    assert {"the handout", "the solution", "yours", "GFLOP/s"} <= set(drawn)
    assert any(text.startswith("lightspeed: ") for text in drawn)
    title, *bars, foot = [line.plain for line in roof_lines(roof, 76)]
    check_text(title)
    lengths = [bar.count("=") for bar in bars]
    assert lengths[0] < 0.6 * lengths[1]  # the handout
    at_roof = foot.index("|")
    assert all(len(bar[: bar.rindex("=") + 1]) <= at_roof + 1 for bar in bars)
    assert all(len(line) <= 80 for line in (title, *bars, foot))
    check_text(roof_words(roof))


def test_beyond_the_roof_no_figure_is_given(first_touch: Lab) -> None:
    roof = drawn_roof(first_touch, beside_probe(0.3, moved=1 << 28))
    _, handout, solution, yours, _ = [line.plain for line in roof_lines(roof, 76)]
    assert ">" not in handout
    assert "=>" in solution and "=>" in yours
    check_text(yours)


def test_without_a_probe_there_is_no_roofline(first_touch: Lab) -> None:
    evidence = parse(record())
    accounts = timing_accounts(first_touch, judge(first_touch, evidence), evidence)
    assert roofs(first_touch, accounts, evidence) == []
