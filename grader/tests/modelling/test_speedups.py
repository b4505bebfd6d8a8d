"""What is modelled of evidence. Rates are made up; evidence is made up where it is not recorded."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support import invented
from support.origins import moved, place_of_thread

from numalab.errors import NumalabError
from numalab.evidence import read_record
from numalab.installation import find_installation
from numalab.labs.declaration import Criterion, Lab, load_lab
from numalab.labs.launch import Policy, parse_policy
from numalab.machines.gallery import find_machine
from numalab.machines.machine import Machine
from numalab.machines.rates import PublishedRate, Resource
from numalab.modelling.speedups import ModelledSpeedup, modelled_speedups

KIT = find_installation("gnu")
Json = dict[str, Any]


def made_up(of: Resource, gb_s: float, distance: int | None = None) -> PublishedRate:
    return PublishedRate(of, gb_s, "me", "made up", distance)


RATES = (
    made_up("core", 10, 10), made_up("core", 5), made_up("controller", 40), made_up("link", 20),
)  # fmt: skip


def machine(name: str, cores: int, rates: tuple[PublishedRate, ...] = RATES) -> Machine:
    """With so many cores on a NUMA node, as if it was booted so."""
    return replace(find_machine(KIT, name), rates=rates).scaled(cores)


def lab(name: str) -> Lab:
    return load_lab(KIT.lab_folder(name))


def criterion(of: Lab, name: str) -> Criterion:
    return next(c for c in of.criteria if c.name == name)


def first_touch(record: Json, where: Machine) -> ModelledSpeedup:
    declared = lab("01_first_touch")
    speedup = criterion(declared, "speedup")
    (found,) = modelled_speedups(declared, speedup, read_record.parse(record), where, {})
    return found


def bottleneck(comparison: ModelledSpeedup) -> list[tuple[str, tuple[int, ...]]]:
    assert comparison.yours is not None
    return [(demand.resource, demand.numbers) for demand in comparison.yours.bottleneck]


# ---- lab 01 ----------------------------------------------------------------------------

# On a machine like hydra with four cores on each of two NUMA nodes.
TWO = invented.TWO_NODES


def everybody(owner: int, page: int) -> Sequence[int]:
    return (0, 3, 7)  # some of those who use a page, as tracings show it


@pytest.mark.parametrize(("name", "cores"), [("hydra", 4), ("nebula", 2)])
def test_the_recorded_handout_is_what_it_is_compared_with(name: str, cores: int) -> None:
    """The pattern that stands for the handout is what tracing and placement show of it."""
    recorded = KIT.grading_folder("01_first_touch") / "recorded" / f"{name}.json"
    found = first_touch(json.loads(recorded.read_text("utf-8")), machine(name, cores))
    assert found.speedup == pytest.approx(1, abs=0.01)
    assert found.dominant_node is not None and found.dominant_node.share == 1
    assert found.yours is not None and found.theirs is not None
    assert found.yours.threads == find_machine(KIT, name).cores
    assert bottleneck(found)[0][0] == "controller"
    elsewhere = 1 - 1 / len(find_machine(KIT, name).numa_nodes)
    for model in (found.yours, found.theirs):
        crossing = sum(flow.share for flow in model.flows if flow.user != flow.home)
        assert crossing == pytest.approx(elsewhere, abs=0.02)


def test_pages_where_they_are_used_are_served_by_all_controllers() -> None:
    found = first_touch(invented.evidence(TWO), machine("hydra", 4))
    assert found.speedup == pytest.approx(2)
    assert bottleneck(found) == [("controller", (0,)), ("controller", (1,))]
    assert found.dominant_node is None


def test_a_use_is_of_the_core_that_it_came_from() -> None:
    def others(owner: int) -> tuple[int, int, int]:
        return owner + TWO.threads, *place_of_thread(TWO, owner)

    def there(owner: int) -> tuple[int, int, int]:
        return owner, *place_of_thread(TWO, TWO.threads - 1 - owner)

    where = machine("hydra", 4)
    right = first_touch(invented.evidence(TWO), where)
    assert first_touch(moved(invented.evidence(TWO), others, others), where) == right
    far = first_touch(moved(invented.evidence(TWO), there, there), where)
    assert far.yours is not None and right.yours is not None
    assert {(flow.user, flow.home) for flow in far.yours.flows} == {(0, 1), (1, 0)}


def test_pages_on_the_other_node_cross_the_link() -> None:
    swapped = invented.evidence(TWO, home=lambda owner, page: 1 - TWO.node_of_thread(owner))
    found = first_touch(swapped, machine("hydra", 4))
    assert bottleneck(found) == [("link", (0, 1)), ("link", (1, 0))]
    assert found.speedup == pytest.approx(1), "half of the bytes over each, at half the rate"


def test_a_loop_dealt_out_in_single_elements_uses_all_pages_from_everywhere() -> None:
    found = first_touch(invented.evidence(TWO, users=everybody), machine("hydra", 4))
    assert found.yours is not None
    assert [flow.share for flow in found.yours.flows] == [pytest.approx(0.25)] * 4
    assert len(found.yours.demands_on("core")) == 32, (
        "not only those that tracings happened to show"
    )
    assert found.speedup == pytest.approx(2)


def test_arrays_count_with_what_the_loop_moves_of_them() -> None:
    """a alone on NUMA node 1, of which the loop moves as much as of b and c."""
    record = invented.evidence(TWO, home=lambda owner, page: 0)
    placement = next(run for run in record["runs"] if run["kind"] == "placement")
    placement["residency"][0]["numa_node"] = [[1, 320]]
    found = first_touch(record, machine("hydra", 4))
    assert found.yours is not None
    assert [d.share for d in found.yours.demands_on("controller")] == [pytest.approx(0.5)] * 2
    assert found.dominant_node is not None and (
        found.dominant_node.array,
        found.dominant_node.share,
    ) == ("a", 1)


def test_pages_that_a_sample_left_out_count_as_those_in_it() -> None:
    record = invented.evidence(TWO)
    invented.sample(record, every=16)
    assert first_touch(record, machine("hydra", 4)).speedup == pytest.approx(2)


def test_one_thread_at_work_stays_one() -> None:
    record = invented.evidence(TWO, users=lambda owner, page: (0,))
    found = first_touch(record, machine("hydra", 4))
    assert bottleneck(found) == [("core", (0,))]
    assert found.yours is not None and found.yours.s_per_gb == pytest.approx(0.5 / 10 + 0.5 / 5)


def test_nothing_is_modelled_of_what_was_not_seen() -> None:
    declared = lab("01_first_touch")
    record = invented.evidence(TWO)
    for kind in ("trace", "placement"):
        less = record | {"runs": [run for run in record["runs"] if run["kind"] != kind]}
        evidence = read_record.parse(less)
        speedup = criterion(declared, "speedup")
        assert modelled_speedups(declared, speedup, evidence, machine("hydra", 4), {}) == ()


def test_a_machine_without_rates_says_so() -> None:
    found = first_touch(invented.evidence(TWO), machine("hydra", 4, ()))
    assert found.speedup is None and found.yours is None
    assert found.why_not.startswith("No time is modelled on hydra: no published rate")
    assert found.json_data()["why_not"] == found.why_not


def test_pages_in_memory_of_no_known_rate_say_so() -> None:
    """Left out, half of the pages there would make the loop twice as fast."""
    rated = find_machine(KIT, "gh200").scaled(2)
    alone = invented.ONE_NODE
    assert first_touch(invented.evidence(alone), rated).speedup == pytest.approx(1)
    for every in (1, 2):
        record = invented.evidence(alone, home=lambda owner, page, e=every: int(page % e == 0))
        found = first_touch(record, rated)
        assert found.yours is None and found.theirs is None and found.speedup is None
        assert "gh200: pages live on NUMA node 1 (GPU), and no published rate" in found.why_not


def test_evidence_of_another_machine_is_an_error_of_the_kit() -> None:
    with pytest.raises(NumalabError, match="names PU 4, and hydra has PUs 0 to 3"):
        first_touch(invented.evidence(TWO), machine("hydra", 2))


def test_tracings_and_placement_of_unlike_pages_are_an_error_of_the_kit() -> None:
    record = invented.evidence(TWO)
    placement = next(run for run in record["runs"] if run["kind"] == "placement")
    placement["residency"][0]["numa_node"] = [[0, 5]]
    with pytest.raises(NumalabError, match="not of the same pages of a"):
        first_touch(record, machine("hydra", 4))


def test_bytes_of_arrays_are_what_the_driver_counts() -> None:
    """Together they are its bytes_moved for each element (lab 01's driver.c)."""
    text = (KIT.grading_folder("01_first_touch") / "driver.c").read_text("utf-8")
    assert "return 4 * n * sizeof(float);" in text
    assert sum(lab("01_first_touch").bytes_moved.values()) == 4


# ---- lab 02 ----------------------------------------------------------------------------


def team(*pus: int) -> list[Json]:
    return [
        {"thread": t, "allowed_pus": [pu], "last_pu": pu, "core": -1, "package": -1,
         "numa_node": -1}
        for t, pu in enumerate(pus)
    ]  # fmt: skip


def binding(file: str, threads: list[Json]) -> Json:
    return {
        "kind": "binding", "lab": "02_affinity", "part": "stream", "role": "submission",
        "file": file, "runtime": "libgomp", "threads": threads, "team": len(threads),
        "outcome": invented.OK,
    }  # fmt: skip


def record(*runs: Json) -> Json:
    return invented.evidence(TWO) | {"lab": "02_affinity", "runs": list(runs)}


def placed(where: Machine, *runs: Json) -> list[ModelledSpeedup]:
    declared = lab("02_affinity")
    evidence = read_record.parse(record(*runs))
    return list(modelled_speedups(declared, criterion(declared, "bandwidth"), evidence, where, {}))


def test_a_spread_team_has_the_memory_of_several_nodes() -> None:
    # On hydra with four cores on a NUMA node, even PUs are node 0's.
    many = (made_up("core", 30, 10), made_up("core", 5), *RATES[2:])
    spread, close = placed(
        machine("hydra", 4, many),
        binding("omp_spread.env", team(0, 1)),
        binding("omp_close.env", team(0, 2, 4, 6)),
    )
    assert spread.subject == "omp_spread.env (libgomp)"
    assert spread.speedup == pytest.approx((1 / 40) / (0.5 / 30)), "core by core"
    assert close.speedup == pytest.approx(1)
    assert bottleneck(close) == [("controller", (0,))]


def test_a_full_team_is_one_of_all_cores() -> None:
    (full,) = placed(machine("hydra", 4), binding("omp_full.env", team(*range(8))))
    assert full.yours is not None and full.theirs is not None
    assert (full.yours.threads, full.theirs.threads) == (32, 32)
    assert full.speedup == pytest.approx(2)


def test_a_team_that_is_not_complete_is_not_modelled() -> None:
    run = binding("omp_full.env", team(0, 1)) | {"team": 8}
    assert placed(machine("hydra", 4), run) == []


# ---- lab 07 ----------------------------------------------------------------------------


def slow_launches() -> dict[str, Policy]:
    folder = KIT.lab_folder("07_hybrid") / "compared"
    return {
        f"compared/{path.name}": parse_policy(path.read_text("utf-8"), path.name)
        for path in sorted(Path(folder).glob("*.toml"))
    }


@pytest.mark.parametrize(
    ("name", "over", "speedup"),
    [("over_flat", "compared/flat.toml", 1), ("over_one_process", "compared/one_process.toml", 2)],
)
def test_a_rank_on_each_numa_node_over_the_slow_launches(
    name: str, over: str, speedup: float
) -> None:
    """One process whose threads may run anywhere uses far memory half of the time, over links of
    half a controller's rate; a rank on each core moves what a rank on each NUMA node does."""
    declared = lab("07_hybrid")
    ranks = invented.job([[0], [2], [4], [6]], [[1], [3], [5], [7]])
    run = invented.launched("launch.toml", "launch", ranks, team=4)
    evidence = read_record.parse(record(run))
    rates = (*RATES[:3], made_up("link", 10))
    found = modelled_speedups(
        declared, criterion(declared, name), evidence, machine("hydra", 4, rates), slow_launches()
    )
    (only,) = found
    assert (only.subject, only.baseline) == ("launch.toml", over)
    assert only.yours is not None and only.yours.threads == 32
    assert only.speedup == pytest.approx(speedup)


def test_a_launch_that_has_no_meaning_is_not_modelled() -> None:
    declared = lab("07_hybrid")
    run = invented.launched("launch.toml", "launch", (), refused="too many ranks")
    found = modelled_speedups(
        declared, criterion(declared, "over_flat"), read_record.parse(record(run)),
        machine("hydra", 4), slow_launches(),
    )  # fmt: skip
    assert found == ()
