"""The share of a NUMA node's rate that some threads reach. All rates are made up, of nodes that
behave as told; none was measured."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from support import invented
from support.golden_texts import check_verdict
from support.model_lab import LAB, model, record, told, verdicts
from support.mpi_labs import lab_of

from numalab.evidence.read_record import record_of
from numalab.judging.verdict import CriterionVerdict
from numalab.labs import saturation
from numalab.labs.declaration import Lab

Json = dict[str, Any]

WRONG_SHARES = {
    "in proportion to cores": "threads / cores",
    "in proportion for ever": "threads * one_gb_s / all_gb_s",
    "all cores are needed": "one_gb_s / all_gb_s * threads * threads / cores",
    "any thread is enough": "min(1, threads)",
    "a constant": "0.6 + 0 * threads",
}


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return lab_of(tmp_path, "00_node", LAB)


def curve_of(cores: int, knee: float, rounding: float = 0.0) -> Callable[[int], float]:
    """A made-up rate over threads: in proportion until `knee` threads have all of it. rounding: by
    what it stays below at the knee, in shares, as curves do."""

    def rate(threads: int) -> float:
        share = min(1.0, threads / knee)
        return 100 * (share - rounding * math.exp(-abs(math.log(threads / knee)) * 4))

    assert rate(cores) > 0
    return rate


# Made up: of 8 cores that four saturate, of 16 and of 64 with a rounded knee.
CURVES = {8: curve_of(8, 4.0), 16: curve_of(16, 6.0, 0.05), 64: curve_of(64, 20.0, 0.05)}


def threads_run(
    cores: int,
    rate: Callable[[int], float],
    replicates: int,
    noise: Callable[[], float] = lambda: 1.0,
    seed: str = "a",
    drawn: Sequence[int] | None = None,
) -> Json:
    count = 1_000_000

    def process(threads: int, factor: float) -> Json:
        elapsed_s = 1e-9 * 32 * count / rate(threads) * factor
        return {
            "threads": threads, "thread_pus": list(range(threads)), "bytes_on_huge_pages": 0,
            "loops": [{"loads": 2, "stores": 1, "updates": 0, "elapsed_s": [elapsed_s]}],
        }  # fmt: skip

    counts = saturation.curve_counts(cores)
    if drawn is None:
        drawn = saturation.draw_counts({number: rate(number) for number in counts}, seed)
    asked = sorted({1, *drawn, cores})
    return {
        "kind": "saturation", "lab": "00_node", "part": "model", "team": cores,
        "role": "submission", "seed": seed, "array_bytes": 8 * count, "arrays": 64,
        "outcome": invented.OK, "pus": list(range(cores)),
        "curve": [process(number, 1.0) for number in counts],
        "drawn": list(drawn),
        "generations": [
            {"processes": [process(number, noise()) for number in asked]}
            for _ in range(replicates)
        ],
    }  # fmt: skip


@pytest.mark.parametrize("cores", CURVES)
@pytest.mark.parametrize("seed", ["a", "b", "c"])
def test_right_and_wrong_shares_get_their_verdicts(lab: Lab, cores: int, seed: str) -> None:
    run = threads_run(cores, CURVES[cores], 14, seed=seed)
    assert len(run["drawn"]) == 2

    def share_of(text: str) -> CriterionVerdict:
        data = record(run, text=text, cores=cores)
        record_of(data)
        return verdicts(lab, data)["saturation"]

    assert told(share_of(model())) == ("pass", "reached")
    for mistake, formula in WRONG_SHARES.items():
        found = share_of(model(share=formula))
        assert told(found) == ("fail", "not_predicted"), (mistake, run["drawn"])
        check_verdict(found, "fail", "not_predicted")


def test_curves_without_a_bend_are_not_graded(lab: Lab) -> None:
    """Made up: each core adds as much up to the last; one core has it all."""
    for rate in (curve_of(16, 16.0), curve_of(16, 1.0)):
        run = threads_run(16, rate, 0)
        assert run["drawn"] == []
        found = verdicts(lab, record(run, text=model()))["saturation"]
        assert told(found) == ("not_gradable", "no_effect_here")
        assert "16: 100 %" in found.why


def test_a_curve_that_was_interrupted_says_nothing(lab: Lab) -> None:
    run = threads_run(16, curve_of(16, 16.0), 0)
    run["curve"] = []
    found = verdicts(lab, record(run, text=model(), interrupted=True))["saturation"]
    assert told(found) == ("inconclusive", "interrupted")


def test_fewer_than_eight_cores_alike_in_a_numa_node_are_too_few(lab: Lab) -> None:
    few = verdicts(lab, record(text=model(), cores=7))["saturation"]
    assert told(few) == ("not_gradable", "too_few_cores")
    assert "offers 7 cores" in few.why
    node = invented.Machine(packages=2, nodes=2, cores=8, in_turn=True).describe()
    assert saturation.cores_of_a_numa_node(node) == tuple(range(0, 16, 2))
    siblings = node | {"pu_list": [pu | {"core": pu["pu"] % 8} for pu in node["pu_list"]]}
    assert saturation.cores_of_a_numa_node(siblings) == (0, 2, 4, 6)
    unlike = node | {
        "core_kinds": [{"pus": [0, 2, 4], "name": "small"}, {"pus": [6, 8, 10, 12], "name": "big"}]
    }
    assert saturation.cores_of_a_numa_node(unlike) == tuple(range(1, 16, 2))


def test_noise_in_the_shares_fails_nobody(lab: Lab) -> None:
    generator = random.Random(2)
    noisy = threads_run(16, CURVES[16], 4, lambda: generator.choice((1.0, 1.5)))
    found = verdicts(lab, record(noisy, text=model()))["saturation"]
    assert found.status == "inconclusive"


def test_numbers_are_drawn_where_models_are_told_apart() -> None:
    for cores, rate in CURVES.items():
        curve = {number: rate(number) for number in saturation.curve_counts(cores)}
        below, at_it = saturation.telling_counts(curve)
        assert below and at_it
        for threads in below:
            assert abs(rate(threads) / rate(cores) - threads / cores) > 0.1
            assert rate(threads) / rate(cores) < 0.9
        for threads in at_it:
            assert threads * rate(1) / rate(cores) - rate(threads) / rate(cores) > 0.1


@pytest.mark.parametrize("knee", [5.3, 5.7])
def test_where_few_cores_are_left_beyond_the_bend_all_of_them_tell_it(
    lab: Lab, knee: float
) -> None:
    """Made up: what grows for ever is right for fewer, and says more than all for all."""
    run = threads_run(8, curve_of(8, knee), 14)
    assert run["drawn"][1] == 8
    right = verdicts(lab, record(run, text=model(), cores=8))["saturation"]
    assert told(right) == ("pass", "reached")
    for_ever = WRONG_SHARES["in proportion for ever"]
    wrong = verdicts(lab, record(run, text=model(share=for_ever), cores=8))["saturation"]
    assert told(wrong) == ("fail", "not_predicted")


def test_rates_of_arrays_in_caches_say_nothing_of_memory(lab: Lab) -> None:
    run = threads_run(16, CURVES[16], 14) | {"arrays": 1}
    data = record(run, text=model(), cores=16)
    data["node"]["last_level_cache_bytes"] = run["array_bytes"]
    found = verdicts(lab, data)["saturation"]
    assert told(found) == ("not_gradable", "not_visible_here")
