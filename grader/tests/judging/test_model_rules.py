"""A student's model of a node: bytes, a share of threads, the time of unseen loops. All times and
rates here are made up, of nodes that behave as told; none was measured."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from support import invented
from support.golden_texts import check_verdict
from support.model_lab import LAB, TIME, model, record, told, verdicts
from support.mpi_labs import lab_of

from numalab.evidence.kinds import REFERENCE_LOOPS, SATURATION
from numalab.evidence.read_record import parse, record_of
from numalab.evidence.run_formats import Mix
from numalab.judging.planner import needs_rates
from numalab.judging.verdict import CriterionVerdict
from numalab.labs import loop_times
from numalab.labs.declaration import Lab
from numalab.labs.loop_times import Rates

Json = dict[str, Any]

# Formulas that look as reasonable, by what they take for granted.
WRONG_TIMES = {
    "no write-allocate": TIME.replace("16 * stores", "8 * stores"),
    "an update crosses once": TIME.replace("16 * updates", "8 * updates"),
    "an update crosses three times": TIME.replace("16 * updates", "24 * updates"),
    "floats": TIME.replace("16", "8.0").replace("8 * loads", "4 * loads"),
    "elements": "loads / read_gb_s + stores / write_gb_s + updates / update_gb_s",
    "streams": "(loads + 2 * stores + 2 * updates) / read_gb_s",
    "the slowest array": "max(min(loads, 1) * 8 / read_gb_s, min(stores, 1) * 16 / write_gb_s,"
    " min(updates, 1) * 16 / update_gb_s)",
    "the slowest kind": "max(8 * loads / read_gb_s, 16 * stores / write_gb_s,"
    " 16 * updates / update_gb_s)",
    "rates added": "(8 * loads + 16 * stores + 16 * updates)"
    " / (read_gb_s + write_gb_s + update_gb_s)",
    "each core has all of it": f"({TIME}) / cores",
    "each core has its own controller": f"({TIME}) * cores",
    "a triad, whatever the loop": "16 / read_gb_s + 16 / write_gb_s",
}


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return lab_of(tmp_path, "00_node", LAB)


# ---- bytes -----------------------------------------------------------------------------


def counted(lab: Lab, **changed: float) -> CriterionVerdict:
    return verdicts(lab, record(text=model(counted=changed)))["counted"]


def test_right_bytes_pass_without_any_run(lab: Lab) -> None:
    assert told(counted(lab)) == ("pass", "reached")
    assert counted(lab).value == 0


@pytest.mark.parametrize(
    "changed",
    [
        {"fill": 8, "copy_float": 8},
        {"scale": 8, "accumulate": 24},
        {"scale": 24, "accumulate": 40},
        {"copy_float": 16, "dot": 32, "accumulate": 48, "every_fourth": 64},
        {"every_fourth": 8},
        {"copy_float": 24},
        {"fill": 2, "copy_float": 3, "scale": 2, "dot": 2, "accumulate": 4, "every_fourth": 1},
    ],
)  # fmt: skip
def test_wrong_bytes_are_put_down_to_a_mistake(lab: Lab, changed: dict[str, float]) -> None:
    found = counted(lab, **changed)
    assert told(found) == ("fail", "missed")
    assert found.value == len(changed)
    check_verdict(found, "fail", "missed")


def test_wrong_bytes_of_no_known_mistake_are_named_only(lab: Lab) -> None:
    found = counted(lab, fill=17)
    check_verdict(found, "fail", "missed")


@pytest.mark.parametrize(
    "changed", [{"every_fourth": 64}, {"fill": 8, "scale": 8}, {"dot": 8}, {"copy_float": 16}]
)
def test_no_mistake_is_told_that_other_loops_speak_against(
    lab: Lab, changed: dict[str, float]
) -> None:
    check_verdict(counted(lab, **changed), "fail", "missed")


def test_no_right_number_is_told(lab: Lab) -> None:
    found = counted(lab, fill=8, accumulate=24)
    assert "16" not in found.why and "32" not in found.why


def test_bytes_are_not_counted_once_more_elsewhere(lab: Lab) -> None:
    there = record(text=model(), machine=invented.MACHINE)
    assert told(verdicts(lab, there)["counted"]) == ("not_gradable", "seen_elsewhere")


# ---- files that can't be used ----------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("counted", 'share = "threads / cores"'),
        ("counted", model().replace("dot = 16", "")),
        ("counted", model().replace("dot = 16", 'dot = "16"')),
        ("counted", model(counted={"dot": -1})),
        ("counted", model(counted={"dot": math.nan})),
        ("saturation", model().replace("share", "# share")),
        ("saturation", model(share="1")),
        ("saturation", model(share="thread / cores")),
        ("saturation", model(share="min(threads)")),
        ("saturation", model(share="threads / 0")),
        ("saturation", model(share="90 %")),
        ("lightspeed", model(time_ns="8 * loads / 20")),
        ("lightspeed", model(time_ns="loads / stores / read_gb_s")),
        ("lightspeed", model(time_ns="loads ** 2 / read_gb_s")),
        ("lightspeed", model(time_ns="loads / read_gb_s - 1")),
        ("lightspeed", model(time_ns="1e999 * loads / read_gb_s")),
        ("lightspeed", model(time_ns="(" * 150 + "read_gb_s" + ")" * 150)),
        ("lightspeed", model().replace(f'"{TIME}"', "true")),
    ],
)  # fmt: skip
def test_a_part_that_cant_be_used_fails_alone(lab: Lab, name: str, text: str) -> None:
    found = verdicts(lab, record(text=text))
    assert told(found[name]) == ("fail", "bad_file")
    check_verdict(found[name], "fail", "bad_file")
    others = {"counted", "saturation", "lightspeed"} - {name}
    if text.startswith("share") and "[bytes]" in text:
        assert all(found[other].cause != "bad_file" for other in others)


@pytest.mark.parametrize("text", ["", "share = 8 * loads\n", model().replace("[bytes]", "")])
def test_a_broken_file_fails_only_what_the_node_can_show(lab: Lab, text: str) -> None:
    few = verdicts(lab, record(text=text, cores=2))["saturation"]
    assert told(few) == ("not_gradable", "too_few_cores")
    refused = verdicts(lab, record(text=text, cores=2, timing_refused="A login node."))
    assert told(refused["lightspeed"]) == ("not_gradable", "times_refused")
    assert told(refused["counted"]) == ("fail", "bad_file")


def test_what_is_wrong_with_a_file_is_told_where_it_costs_nothing(lab: Lab) -> None:
    few = verdicts(lab, record(text=model(share="1"), cores=2))["saturation"]
    check_verdict(few, "not_gradable", "too_few_cores")


def test_a_complaint_of_the_whole_file_costs_no_point_that_the_node_cant_show(lab: Lab) -> None:
    data = record(text=model(), cores=2)
    data["handed_in"][0] |= {"complaint": "model.toml is no text in UTF-8.", "text": ""}
    found = verdicts(lab, data)
    assert told(found["saturation"]) == ("not_gradable", "too_few_cores")
    assert told(found["counted"]) == ("fail", "bad_file")


def test_nothing_is_measured_for_what_cant_be_used(lab: Lab) -> None:
    def wanted(text: str, **more: Any) -> list[bool]:
        evidence = parse(record(text=text, **more))
        return [needs_rates(kind, lab, evidence, "model") for kind in (SATURATION, REFERENCE_LOOPS)]

    assert wanted(model()) == [True, True]
    assert wanted(model(), cores=7) == [False, True]
    assert wanted(model(share="1")) == [False, True]
    assert wanted(model(time_ns="1")) == [True, False]
    assert wanted(model(), timing_refused="A login node.") == [False, False]


# ---- lightspeed ------------------------------------------------------------------------

EQUAL = Rates(100.0, 100.0, 100.0)
# As of two cores of a large machine, which wait for lines and not for the memory.
FEW_CORES = Rates(28.0, 37.0, 53.0)
READS_FAST = Rates(150.0, 80.0, 90.0)
NODES = {"equal": EQUAL, "few_cores": FEW_CORES, "reads_fast": READS_FAST}


def loops(
    rates: Rates,
    replicates: int,
    noise: Callable[[Mix], float] = lambda mix: 1.0,
    seed: str = "a",
    team: int = 4,
    **more: Any,
) -> Json:
    """A run on a node of these rates. noise: by what a loop's time is off."""
    unseen = loop_times.draw_unseen(seed)
    count = 1_000_000

    def process() -> Json:
        timed = [
            {"loads": mix.loads, "stores": mix.stores, "updates": mix.updates,
             "elapsed_s": [1e-9 * count * loop_times.time_ns(mix, rates) * noise(mix)]}
            for mix in (*loop_times.MEASURED, *unseen)
        ]  # fmt: skip
        return {
            "threads": team, "thread_pus": list(range(team)), "bytes_on_huge_pages": 0,
            "loops": timed,
        }  # fmt: skip

    return {
        "kind": "lightspeed", "lab": "00_node", "part": "model", "team": team,
        "role": "submission", "seed": seed, "array_bytes": 8 * count, "arrays": 64,
        "outcome": invented.OK,
        "unseen": msgspec.to_builtins(unseen),
        "generations": [process() for _ in range(replicates)],
    } | more  # fmt: skip


def test_rates_are_those_of_the_node() -> None:
    for rates in NODES.values():
        times = {mix: loop_times.time_ns(mix, rates) for mix in loop_times.MEASURED}
        found = loop_times.rates_of(times)
        assert found is not None
        for name in loop_times.RATES:
            assert math.isclose(getattr(found, name), getattr(rates, name))
    times = dict(zip(loop_times.MEASURED, (1.0, 9.0, 1.0), strict=True))
    assert loop_times.rates_of(times) is None


def test_no_unseen_loop_has_the_mix_of_a_measured_one() -> None:
    def mix_of(mix: Mix) -> tuple[float, ...]:
        counts = (mix.loads, mix.stores, mix.updates)
        return tuple(count / sum(counts) for count in counts)

    unseen = loop_times.all_unseen()
    assert not {mix_of(mix) for mix in unseen} & {mix_of(mix) for mix in loop_times.MEASURED}
    for seed in range(50):
        drawn = loop_times.draw_unseen(str(seed))
        assert drawn == loop_times.draw_unseen(str(seed))
        assert any(mix.stores == mix.updates == 0 for mix in drawn)
        assert any(mix.loads == mix.updates == 0 for mix in drawn)
        assert any(mix.loads and mix.updates for mix in drawn), "kinds add up"
    assert len({loop_times.draw_unseen(str(seed)) for seed in range(50)}) == 2


@pytest.mark.parametrize("mistake", WRONG_TIMES)
def test_each_wrong_formula_errs_by_half_or_more_on_any_draw(mistake: str, lab: Lab) -> None:
    """Whatever a node's rates are, from equal ones to twice apart."""
    from numalab.labs.model import read_model

    formula = read_model(model(time_ns=WRONG_TIMES[mistake])).time_ns()
    steps = (1.0, 1.3, 1.6, 2.0)
    for rates in (Rates(50 * r, 50 * w, 50 * u) for r in steps for w in steps for u in steps):
        for seed in range(8):
            offs = [
                loop_times.factor_off(
                    formula.value(loop_times.values_for(mix, rates, cores=2)),
                    loop_times.time_ns(mix, rates),
                )
                for mix in loop_times.draw_unseen(str(seed))
            ]
            assert max(offs) >= 1.5 - 1e-9, (mistake, rates, seed, offs)


@pytest.mark.parametrize("node", NODES)
@pytest.mark.parametrize("quick", [True, False])
def test_right_and_wrong_formulas_get_their_verdicts(lab: Lab, node: str, quick: bool) -> None:
    run = loops(NODES[node], replicates=14)

    def reference_loop_of(text: str) -> CriterionVerdict:
        data = record(run, text=text, quick=quick)
        record_of(data)
        return verdicts(lab, data)["lightspeed"]

    right = reference_loop_of(model())
    assert told(right) == ("pass", "reached")
    assert right.value is not None and math.isclose(right.value, 1.0)
    for mistake, formula in WRONG_TIMES.items():
        found = reference_loop_of(model(time_ns=formula))
        assert told(found) == ("fail", "not_predicted"), mistake
        assert found.value is not None and found.value >= 1.5 - 1e-9
        check_verdict(found, "fail", "not_predicted")


def test_gb_for_gib_is_too_near_to_be_told(lab: Lab) -> None:
    """7 % is what a node's noise is; so the unit is no mistake that a verdict could hang on."""
    text = model(time_ns=f"({TIME}) / 1.073741824")
    found = verdicts(lab, record(loops(EQUAL, 14), text=text))["lightspeed"]
    assert told(found) == ("pass", "reached")


def test_the_loop_that_is_missed_by_most_is_named(lab: Lab) -> None:
    text = model(time_ns=WRONG_TIMES["no write-allocate"])
    found = verdicts(lab, record(loops(FEW_CORES, 14), text=text))["lightspeed"]
    check_verdict(found, "fail", "not_predicted")


def test_noise_fails_nobody_and_where_no_model_holds_nothing_is_graded(lab: Lab) -> None:
    """Stores only take half the time that their share in others tells, as where whole lines that
    are written are not fetched: then neither formula holds."""
    evades = loops(EQUAL, 20, lambda mix: 0.5 if mix == Mix(0, 2, 0) else 1.0)
    for text in (model(), model(time_ns=TIME.replace("16 * stores", "20 * stores"))):
        found = verdicts(lab, record(evades, text=text))["lightspeed"]
        assert told(found) == ("not_gradable", "solution_misses_it")
    knows_better = model(time_ns=WRONG_TIMES["no write-allocate"])
    assert verdicts(lab, record(evades, text=knows_better))["lightspeed"].status == "pass"

    generator = random.Random(1)
    wild = loops(EQUAL, 4, lambda mix: generator.choice((1.0, 1.4)))
    found = verdicts(lab, record(wild, text=model()))["lightspeed"]
    assert told(found) == ("inconclusive", "too_noisy")


@pytest.mark.parametrize("replicates", [4, 20, 40])
def test_other_load_has_one_verdict_however_often_it_comes(lab: Lab, replicates: int) -> None:
    """By chance the kit's own model misses in some generations of one language, and in most of
    another; a node that follows another model misses by the same each time."""
    generator = random.Random(replicates)
    busy = loops(
        EQUAL, replicates, lambda mix: generator.uniform(1.2, 2.0) if mix.loads > 1 else 1.0
    )
    for text in (model(), model(time_ns=WRONG_TIMES["floats"])):
        found = verdicts(lab, record(busy, text=text))["lightspeed"]
        assert told(found) == ("inconclusive", "too_noisy"), text


def test_a_kind_of_array_that_takes_no_time_is_noise(lab: Lab) -> None:
    slow = loops(EQUAL, 4, lambda mix: 9.0 if mix == loop_times.READS_TO_UPDATES else 1.0)
    found = verdicts(lab, record(slow, text=model()))["lightspeed"]
    assert found.status == "inconclusive" and found.value is None


def test_few_generations_leave_it_open_and_more_decide(lab: Lab) -> None:
    def found(replicates: int, formula: str, quick: bool) -> tuple[str, str]:
        data = record(loops(EQUAL, replicates), text=model(time_ns=formula), quick=quick)
        return told(verdicts(lab, data)["lightspeed"])

    wrong = WRONG_TIMES["floats"]
    for quick, passes, fails in ((True, 5, 8), (False, 8, 14)):
        assert found(passes - 1, TIME, quick) == ("inconclusive", "not_decided")
        assert found(passes, TIME, quick) == ("pass", "reached")
        assert found(fails - 1, wrong, quick) == ("inconclusive", "not_decided")
        assert found(fails, wrong, quick) == ("fail", "not_predicted")


def test_what_kept_rates_from_being_measured_is_told(lab: Lab) -> None:
    def found(*runs: Json, **more: Any) -> CriterionVerdict:
        data = record(*runs, text=model(), **more)
        record_of(data)
        return verdicts(lab, data)["lightspeed"]

    failed = {"status": "kit_error", "error": "the probe was killed", "printed_bytes": 0}
    assert told(found(loops(EQUAL, 2, outcome=failed))) == ("error", "kit")
    check_verdict(found(loops(EQUAL, 2, outcome=failed)), "error", "kit")
    assert told(found()) == ("inconclusive", "not_measured")
    for run in (loops(EQUAL, 0), loops(EQUAL, 3)):
        assert told(found(run, interrupted=True)) == ("inconclusive", "interrupted")
    # What was decided before that stands.
    assert told(found(loops(EQUAL, 5), interrupted=True)) == ("pass", "reached")
    small = loops(EQUAL, 14, arrays=8)
    assert told(found(small)) == ("not_gradable", "not_visible_here")
    check_verdict(found(small), "not_gradable", "not_visible_here")
