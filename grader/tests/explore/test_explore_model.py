"""Modelled beside measured: what is run on a node, and what is made of samples. All samples are
made up, of nodes that we don't have."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console
from support import invented
from support.commands import numalab_command
from table_experiment import Size

from numalab.errors import Interrupted, UserError
from numalab.evidence.record import Json
from numalab.explore import model, tlb
from numalab.explore.experiment import ProgramRun
from numalab.explore.intervals import MedianInterval, PairedComparison, median_interval
from numalab.explore.model import (
    QUICK_ROUNDS,
    ROUNDS,
    ModelComparison,
    ModelPlan,
    check_pages,
    model_plan,
)
from numalab.explore.model_report import show, verdict_words
from numalab.explore.wording import interval_note
from numalab.installation import Installation

FREE = 64 * 2**30


def node(machine: invented.Machine, distances: object = None) -> Json:
    return machine.describe() | {
        "numa_node_list": [{"numa_node": n, "memory_bytes": 2**34} for n in range(machine.nodes)],
        "distances": distances,
    }


TWO = node(invented.TWO_NODES, [[10, 21], [21, 10]])


def settings(plan: ModelPlan, number: int) -> dict[str, str]:
    return dict(word.split("=", 1) for word in plan.configurations[number].arguments[1:])


def measured(
    plan: ModelPlan, truth: Callable[[dict[str, str]], float], rounds: int = 6
) -> ModelComparison:
    """truth: GB/s of a configuration."""
    samples = []
    for number in range(len(plan.configurations)):
        time_s = 1 / truth(settings(plan, number))
        times = [{"kernel": "triad", "bytes_moved": 10**9, "elapsed_s": [time_s]}]
        samples += [ProgramRun(number, r, number, 0.0, {"times": times}) for r in range(rounds)]
    return ModelComparison(plan, tuple(samples), TWO, False)


def as_modelled(setting: dict[str, str]) -> float:
    """A node whose slowest part sets the pace: cores of 10 (5 far away), controllers of 30, links
    of 12. Even PUs are NUMA node 0's."""
    pus = [int(pu) for pu in setting["pus"].split(",")]
    home = setting.get("memory_node")
    far = [pu for pu in pus if home is not None and pu % 2 != int(home)]
    times = [1 / (5 if far else 10)]  # each moves 1
    times += [len(far) / 12]
    behind = [sum(pu % 2 == n for pu in pus) if home is None else len(pus) for n in (0, 1)]
    return len(pus) / max(*times, max(behind) / 30)


def test_rates_are_measured_apart_from_what_is_predicted() -> None:
    plan = model_plan(TWO, FREE)
    assert [(one.resource, one.distance) for one in plan.rated] == [
        ("core", 10), ("controller", None), ("core", 21), ("link", 21),
    ]  # fmt: skip
    rated = {plan.configurations[one.configuration].arguments for one in plan.rated}
    predicted = {plan.configurations[one.configuration].arguments for one in plan.predicted}
    assert not rated & predicted
    assert len(rated) + len(predicted) == len(plan.configurations)
    assert settings(plan, 0) == {
        "pages": "small", "bytes": str(plan.array_bytes), "repetitions": "5",
        "first_touch": "all", "pus": "0", "memory_node": "0",
    }  # fmt: skip
    assert settings(plan, 3)["pus"] == "0,2,4,6" and settings(plan, 3)["memory_node"] == "1"


def test_arrays_are_larger_than_caches() -> None:
    large = model_plan(TWO | {"last_level_cache_bytes": 480 * 2**20}, FREE)
    assert 3 * large.array_bytes >= 4 * 479 * 2**20
    with pytest.raises(UserError, match="ask for a larger job"):
        model_plan(TWO | {"last_level_cache_bytes": 480 * 2**20}, 2**30)


def test_each_distance_is_measured_once() -> None:
    """On nebula's distances, with two cores on each NUMA node of the invented machine."""
    rows = [[10 if i == j else 16 if i // 4 == j // 4 else 28 for j in range(8)] for i in range(8)]
    plan = model_plan(node(invented.EIGHT_NODES, rows), FREE)
    assert [(one.resource, one.distance) for one in plan.rated] == [
        ("core", 10), ("controller", None), ("core", 16), ("link", 16), ("core", 28), ("link", 28),
    ]  # fmt: skip
    assert plan.machine.spanned_distances == {10, 16, 28}


def test_a_node_that_gives_no_distances_has_two() -> None:
    plan = model_plan(node(invented.TWO_NODES), FREE)
    assert {one.distance for one in plan.rated if one.resource == "core"} == {10, 20}


def test_numa_nodes_with_gaps_keep_their_numbers() -> None:
    """A job that has NUMA nodes 0 and 2 of three."""
    part = json.loads(json.dumps(TWO))
    for entry in part["pu_list"]:
        entry["numa_node"] *= 2
    part["numa_node_list"] = [{"numa_node": n, "memory_bytes": 1} for n in range(3)]
    part["distances"] = [[10, 12, 14], [12, 10, 16], [14, 16, 10]]
    plan = model_plan(part, FREE)
    assert [one.distance for one in plan.rated if one.resource == "link"] == [14]
    homes = {settings(plan, n).get("memory_node") for n in range(len(plan.configurations))}
    assert homes == {"0", "2", None}


def test_a_node_that_is_as_the_model_says_is_predicted() -> None:
    found = measured(model_plan(TWO, FREE), as_modelled).compared()
    assert len(found) == 5
    for one in found:
        assert one.measured_over_modelled.median == pytest.approx(1), one.what
        assert verdict_words(one) == "within 15 %"
    assert [one.bottleneck for one in found] == [
        ("controller",), ("link",), ("core",), ("core",), ("core",),
    ]  # fmt: skip


def test_a_node_whose_controllers_saturate_earlier_is_told() -> None:
    """Half a NUMA node's cores don't get what each gets alone."""

    def early(setting: dict[str, str]) -> float:
        rate = as_modelled(setting)
        return rate / 2 if setting["pus"] == "0,2" and rate == 20 else rate

    found = {one.what: one for one in measured(model_plan(TWO, FREE), early).compared()}
    half = found.pop("half the cores of a NUMA node, own pages")
    assert verdict_words(half) == "slower than modelled"
    assert {verdict_words(one) for one in found.values()} == {"within 15 %"}


def test_rounds_that_are_not_whole_don_t_count(capsys: pytest.CaptureFixture[str]) -> None:
    plan = model_plan(TWO, FREE)
    whole = measured(plan, as_modelled, rounds=2)
    cut = ModelComparison(plan, whole.runs[:-1], TWO, True)
    assert cut.rounds == 1
    assert ModelComparison(plan, whole.runs[:3], TWO, True).compared() == []
    show(ModelComparison(plan, whole.runs[:3], TWO, True), Console(width=80))
    assert "nothing to compare" in capsys.readouterr().out


def test_report_fits_and_says_what_limits(capsys: pytest.CaptureFixture[str]) -> None:
    found = measured(model_plan(TWO, FREE), as_modelled)
    show(found, Console(width=80))
    printed = capsys.readouterr().out
    assert all(len(line) <= 80 for line in printed.splitlines())
    text = " ".join(printed.split())
    assert "a link, distance 21" in text and "12.0 [12.0..12.0]" in text
    assert "bottleneck: link" in text and "within 15 %" in text
    told = found.json_data()
    assert told["compared"][1]["bottleneck"] == ["link"]
    assert len(told["samples"]) == 6 * len(found.plan.configurations)


@pytest.mark.parametrize(
    ("record", "words"),
    [({"memory_node": 1, "memory_node_share": 0.5}, "50% of the pages live on NUMA node 1"),
     ({"memory_node": None, "local_share": 0.2}, "20% of the pages live where they are used")],
)  # fmt: skip
def test_pages_elsewhere_are_refused(record: Json, words: str) -> None:
    with pytest.raises(UserError, match=words):
        check_pages(record)
    check_pages({key: 1.0 if key.endswith("share") else value for key, value in record.items()})


def test_one_numa_node_has_nothing_to_compare(installation: Installation) -> None:
    with pytest.raises(UserError, match="one NUMA node with cores"):
        model_plan(node(invented.ONE_NODE), FREE)
    done = numalab_command(installation, "explore", "model", "--n", "5")
    assert done.code == 2 and "has no --n" in done.err


def test_amds_levels_of_the_tlb_are_told_apart() -> None:
    """Either may be missing, and a level without entries, or whose ways are 0, is none."""
    first, second = [0, 0xFF << 24 | 64 << 16, 0, 0], [0, 6 << 28 | 2048 << 16, 0, 0]
    levels = {1: tlb.Reach(4096, 64, 1), 2: tlb.Reach(4096, 2048, 2)}
    for about, told in (
        ({"cpuid_80000005": first}, [1]),
        ({"cpuid_80000006": second}, [2]),
        ({"cpuid_80000005": first, "cpuid_80000006": [0, 2048 << 16, 0, 0]}, [1]),
        ({"cpuid_80000005": [0, 0xFF << 24, 0, 0], "cpuid_80000006": second}, [2]),
        ({"cpuid_80000006": [0, 6 << 28, 0, 0]}, []),
        ({"cpuid_80000006": [0, 1 << 28 | 2048 << 16, 0, 0]}, [2]),
        ({}, []),
    ):
        assert tlb.tlb_reaches(about, 4096) == [levels[level] for level in told]


@pytest.mark.parametrize(
    ("low", "coverage", "share", "parts"),
    [
        (1.21, 0.95, 0.9, True),
        (1.2, 0.95, 0.9, False),
        (1.21, 0.5, 0.9, False),
        (1.21, 0.95, 0.89, False),
        (1.21, 0.95, None, False),
    ],
)
def test_small_and_huge_pages_part_where_that_is_sure(
    low: float, coverage: float, share: float | None, parts: bool
) -> None:
    ratio = PairedComparison(MedianInterval(low + 0.1, low, low + 0.2, coverage), 12)
    assert Size(2**20, None, None, share, ratio).diverges is parts
    assert not Size(2**20, None, None, share, None).diverges


@pytest.mark.parametrize(
    ("rounds", "says"),
    [
        ([1, 1], "From 1 sample each: where there is one, there is no interval."),
        ([1, 7], "From 1 to 7 samples each: where there is one, there is no interval."),
        ([5, 5], "Median of 5 samples each, in brackets the smallest and the largest: they hold "
         "the true median between them with 93.8 %, no more (6 rounds reach 95 %)."),
        ([6, 6], "Median of 6 samples each, in brackets a 96.9 % interval for it (order "
         "statistics)."),
        ([6, 8], "Median of 6 to 8 samples each, in brackets a 96.9 % interval for it (order "
         "statistics)."),
    ],
)  # fmt: skip
def test_how_far_intervals_can_be_trusted(rounds: list[int], says: str) -> None:
    assert interval_note(rounds) == says


def placed(plan: ModelPlan) -> list[tuple[str, str | None]]:
    """PUs and the NUMA node of all pages, of each configuration."""
    made = [settings(plan, number) for number in range(len(plan.configurations))]
    return [(setting["pus"], setting.get("memory_node")) for setting in made]


def test_what_is_run_on_two_numa_nodes() -> None:
    plan = model_plan(TWO, FREE)
    assert placed(plan) == [
        ("0", "0"), ("0,2,4,6", "0"), ("0", "1"), ("0,2,4,6", "1"),
        ("0,2,4,6,1,3,5,7", None), ("0,2,4,6,1,3,5,7", "0"), ("0,1,2,3", None), ("0,2", "0"),
        ("0,1", "0"),
    ]  # fmt: skip
    assert [one.configuration for one in plan.rated] == [0, 1, 2, 3]
    assert [one.configuration for one in plan.predicted] == [4, 5, 6, 7, 8]
    assert [one.key for one in plan.configurations[2:5]] == [
        {"threads": 1, "memory_node": 1}, {"threads": 4, "memory_node": 1}, {"threads": 8},
    ]  # fmt: skip
    assert plan.configurations[3].environment == {
        "OMP_NUM_THREADS": "4", "OMP_DYNAMIC": "false",
    }  # fmt: skip
    assert plan.configurations[3].arguments[0] == "triad"
    assert [len(node.pus) for node in plan.machine.numa_nodes] == [4, 4]


@pytest.mark.parametrize(
    ("cores", "predicted"),
    [
        (1, ["0,1", "0,1", "0,1"]),
        (2, ["0,2,1,3", "0,2,1,3", "0,1", "0,1"]),
        (3, ["0,2,4,1,3,5", "0,2,4,1,3,5", "0,1,2", "0,2", "0,1"]),
    ],
)
def test_what_is_predicted_of_fewer_cores(cores: int, predicted: list[str]) -> None:
    plan = model_plan(node(invented.Machine(2, 2, cores, True)), FREE)
    assert [pus for pus, _ in placed(plan)[4:]] == predicted


def test_numa_nodes_may_have_unlike_numbers_of_cores() -> None:
    about = node(invented.Machine(2, 2, 3, False))
    about["pu_list"] = about["pu_list"][:-1]
    assert placed(model_plan(about, FREE)) == [
        ("0", "0"), ("0,1,2", "0"), ("0", "1"), ("0,1,2", "1"), ("0,1,2,3,4", None),
        ("0,1,2,3,4", "0"), ("0,3", None), ("0,3", "0"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("caches", "array_mib"), [(None, 64), (48 * 2**20, 64), (49 * 2**20, 65), (64 * 2**20, 85)]
)
def test_arrays_are_four_times_the_caches(caches: int | None, array_mib: int) -> None:
    about = TWO | {"last_level_cache_bytes": caches}
    array_bytes = array_mib * 2**20
    assert model_plan(about, 16 * array_bytes).array_bytes == array_bytes
    with pytest.raises(UserError, match=f"three arrays of {array_mib} MiB"):
        model_plan(about, 16 * array_bytes - 1)


def test_one_numa_node_says_why_others_do_not_count() -> None:
    about = node(invented.ONE_NODE)
    about["numa_node_list"].append({"numa_node": 1, "memory_bytes": 2**34})
    with pytest.raises(UserError, match=r"\(NUMA node 1 is memory only\)$"):
        model_plan(about, FREE)


def test_results_in_a_file() -> None:
    plan = model_plan(TWO, FREE)
    found = measured(plan, as_modelled, rounds=2)
    told = found.json_data()
    rates = told.pop("rates")
    assert [(one["of"], one["distance"], round(one["gb_s"], 6)) for one in rates] == [
        ("core", 10, 10.0), ("controller", None, 30.0), ("core", 21, 5.0), ("link", 21, 12.0),
    ]  # fmt: skip
    compared = [
        (one["threads"], round(one["modelled_gb_s"], 6), round(one["measured_gb_s"], 6),
         [round(of, 6) for of in one["measured_over_modelled"]], one["bottleneck"])
        for one in told.pop("compared")
    ]  # fmt: skip
    assert compared == [
        (8, 60.0, 60.0, [1, 1, 1], ["controller"]), (8, 24.0, 24.0, [1, 1, 1], ["link"]),
        (4, 40.0, 40.0, [1, 1, 1], ["core"]), (2, 20.0, 20.0, [1, 1, 1], ["core"]),
        (2, 10.0, 10.0, [1, 1, 1], ["core"]),
    ]  # fmt: skip
    assert told["configurations"][0][:2] == ["triad", "pages=small"]
    assert told["samples"][3] == {
        "configuration": 1, "round": 1, "record": found.runs[3].record,
    }  # fmt: skip
    assert (told["kind"], told["interrupted"], told["array_bytes"], told["node"]) == (
        "model", False, plan.array_bytes, TWO,
    )  # fmt: skip


def test_a_table_of_rates_and_one_of_placements() -> None:
    def falling(setting: dict[str, str]) -> float:
        return as_modelled(setting) * (1.1 if setting["pus"] == "0,1,2,3" else 1.0)

    console = Console(width=80, record=True, file=io.StringIO())
    show(measured(model_plan(TWO, FREE), falling, rounds=6), console)
    lines = [" ".join(line.split()) for line in console.export_text().splitlines()]
    assert [line.split(" ")[-2:] for line in lines[2:6]] == [
        ["10.0", "[10.0..10.0]"], ["30.0", "[30.0..30.0]"], ["5.0", "[5.0..5.0]"],
        ["12.0", "[12.0..12.0]"],
    ]  # fmt: skip
    assert lines[2].startswith("a core") and lines[3].endswith("distance 10 30.0 [30.0..30.0]")
    text = " ".join(lines)
    assert text.count("bottleneck: ") == 5 and "40.0 44.0 1.10 [1.10..1.10]" in text
    assert "Medians of 6 rounds" in text and "with 97 %" in text and "85 MiB." in text
    assert "Too few rounds" not in text
    few = Console(width=80, record=True, file=io.StringIO())
    show(measured(model_plan(TWO, FREE), falling, rounds=5), few)
    assert "Too few rounds" in few.export_text()


@pytest.mark.parametrize(
    ("low", "high", "says"),
    [
        (1.16, 1.2, "faster than modelled"), (1.15, 1.15, "within 15 %"),
        (0.85, 0.85, "within 15 %"), (0.8, 0.84, "slower than modelled"),
        (0.84, 1.0, "not decided"), (1.0, 1.16, "not decided"), (0.8, 0.85, "not decided"),
        (1.15, 1.2, "not decided"),
    ],
)  # fmt: skip
def test_what_an_interval_says_of_the_model(low: float, high: float, says: str) -> None:
    (first, *_) = measured(model_plan(TWO, FREE), as_modelled).compared()
    interval = MedianInterval((low + high) / 2, low, high, 0.96)
    assert verdict_words(replace(first, measured_over_modelled=interval)) == says


@pytest.mark.parametrize(
    ("record", "is_refused"),
    [
        ({}, False), ({"local_share": None}, False), ({"local_share": 0.95}, False),
        ({"local_share": 0.94}, True), ({"local_share": 0.0}, True),
        ({"memory_node": 0, "memory_node_share": 0.94, "local_share": 1.0}, True),
        ({"memory_node": 0, "memory_node_share": 0.95, "local_share": 0.0}, False),
    ],
)  # fmt: skip
def test_how_many_pages_have_to_be_where_they_are_asked_for(record: Json, is_refused: bool) -> None:
    with pytest.raises(UserError) if is_refused else nullcontext():
        check_pages(record)


def test_one_round_is_compared_and_six_are_the_fewest_that_decide() -> None:
    (first, *_) = measured(model_plan(TWO, FREE), as_modelled, rounds=1).compared()
    assert first.bottleneck == ("controller",) and first.measured_gb_s.coverage == 0.0
    assert (ROUNDS, QUICK_ROUNDS) == (9, 6)
    assert median_interval([1.0] * QUICK_ROUNDS).is_wide_enough
    assert not median_interval([1.0] * (QUICK_ROUNDS - 1)).is_wide_enough


@pytest.mark.parametrize("ends", [False, True])
def test_what_was_measured_until_it_was_ended(
    installation: Installation, monkeypatch: pytest.MonkeyPatch, ends: bool
) -> None:
    plan = model_plan(TWO, FREE)

    def taken(*asked: Any) -> Iterator[ProgramRun]:
        assert asked[:2] == (installation.probe, plan.configurations)
        assert [sorted(order) for order in asked[2]] == [list(range(9))] * 2
        yield ProgramRun(0, 0, 0, 0.0, {"local_share": 1.0})
        if ends:
            raise Interrupted

    monkeypatch.setattr(model, "run_rounds", taken)
    found = model.measure(installation, plan, TWO, 2, lambda _: None)
    assert (len(found.runs), found.interrupted, found.node) == (1, ends, TWO)
    monkeypatch.setattr(
        model, "run_rounds", lambda *_: [ProgramRun(0, 0, 0, 0.0, {"local_share": 0.5})]
    )
    with pytest.raises(UserError, match="only 50% of the pages"):
        model.measure(installation, plan, TWO, 2, lambda _: None)


def test_columns_of_the_report_are_two_spaces_apart() -> None:
    console = Console(width=80, record=True, file=io.StringIO())
    show(measured(model_plan(TWO, FREE), as_modelled, rounds=6), console)
    lines = console.export_text().splitlines()
    rates = [re.split(" {2,}", line) for line in lines[1:6]]
    name, value = (max(len(row[column]) for row in rates) for column in (0, 1))
    assert lines[1:6] == [f"{row[0]:<{name}}  {row[1]:>{value}}" for row in rates]
    assert lines[6] == ""
    # The placements take what is left of 80 columns.
    above, heads, first, below = lines[7:11]
    assert above.strip() == "measured over" and above.endswith("   measured over")
    assert re.split(" {2,}", heads)[1:] == ["modelled", "measured", "modelled"]
    assert {len(line.rstrip()) for line in (above, heads, first, below)} == {80}
    assert first.endswith("60.0      60.0  1.00 [1.00..1.00]")
    assert below.endswith("   within 15 %") and lines[11].strip() == "bottleneck: controller"
