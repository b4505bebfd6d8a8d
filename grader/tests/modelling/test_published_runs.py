"""The published runs on file: each value follows from what its source says, and gave no rate."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from numalab.installation import find_installation
from numalab.machines.machine import Machine
from numalab.machines.machine_file import load_machine

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

import model_validation as validation
from model_validation import Outcome, Prediction, Ratio, read_outcomes, read_ratios

KIT = find_installation("gnu").root
FOLDER = KIT / "common" / "modelling"
RATIOS = read_ratios(FOLDER)
OUTCOMES = read_outcomes(FOLDER, RATIOS)
QUOTIENT = re.compile(r"([\d.]+) (?:s )?over ([\d.]+) (s|MB/s|GB/s)$")
PER_GB = {"MB/s": 1000.0, "GB/s": 1.0}
ALIKE = 5e-5  # a rate is written with four digits, and may be a whole part of a published figure


def quotient(outcome: Outcome) -> tuple[float, float, str]:
    found = QUOTIENT.search(outcome.where)
    assert found is not None, outcome.where
    return float(found[1]), float(found[2]), found[3]


def machine_of(ratio: Ratio) -> Machine:
    return load_machine(KIT / "common" / "machines" / f"{ratio.slow.machine}.toml")


def shared_figures(machine: Machine, outcome: Outcome) -> list[str]:
    """How a rate came about that rests on a figure of the outcome: one that its sentence has, or
    one that it is itself."""
    *figures, unit = quotient(outcome)
    if unit not in PER_GB:
        return []
    found = []
    for rate in machine.rates:
        if rate.source != outcome.source:
            continue
        named = {float(text) for text in re.findall(r"\d+\.\d+|\d{4,}", rate.how)}
        in_gb = [float(figure) / PER_GB[unit] for figure in figures]
        of_rate = [rate.gb_s * factor for factor in (1.0, 2.0)]
        if named & set(map(float, figures)) or any(
            abs(one / other - 1) < ALIKE for one in in_gb for other in of_rate
        ):
            found.append(rate.how)
    return found


def test_each_ratio_was_published() -> None:
    assert [ratio.name for ratio in RATIOS] == list(OUTCOMES)


@pytest.mark.parametrize("ratio", RATIOS, ids=lambda ratio: ratio.name)
def test_value_follows_from_its_source(ratio: Ratio) -> None:
    outcome = OUTCOMES[ratio.name]
    over, under, _ = quotient(outcome)
    assert outcome.value == pytest.approx(over / under, abs=1e-4)
    assert outcome.source == ratio.slow.source == ratio.fast.source


@pytest.mark.parametrize("ratio", RATIOS, ids=lambda ratio: ratio.name)
def test_no_figure_gave_a_rate_too(ratio: Ratio) -> None:
    assert shared_figures(machine_of(ratio), OUTCOMES[ratio.name]) == []


@pytest.mark.parametrize(
    ("machine", "outcome"),
    [
        ("ulysses", Outcome(1.0, "SISSA-STREAM", "1 thread: 13869.8 over 10060.2 MB/s")),
        ("janus", Outcome(1.0, "CU-HYBRID", "Triad: 25424 over 14857 MB/s")),
        ("hawk", Outcome(1.0, "HLRS-JULIA22", "2 threads: 60.64 over 41.48 GB/s")),
        ("hawk", Outcome(1.0, "HLRS-JULIA22", "16 threads: 265.07 over 39.07 GB/s")),
    ],
)
def test_figure_that_gave_a_rate_is_found(machine: str, outcome: Outcome) -> None:
    file = KIT / "common" / "machines" / f"{machine}.toml"
    assert len(shared_figures(load_machine(file), outcome)) >= 1


def test_two_runs_of_a_ratio_differ() -> None:
    for ratio in RATIOS:
        assert ratio.slow.traffic != ratio.fast.traffic, ratio.name


def readme() -> str:
    return (FOLDER / "README.md").read_text("utf-8")


def test_readme_has_the_table() -> None:
    after = readme().split("<!-- modelled against published -->\n")[1]
    assert after.split("<!-- end -->")[0] == validation.main(KIT), "print it again: see README.md"


def percents(found: Sequence[Prediction]) -> tuple[str, str]:
    middle = validation.medians(found)
    assert middle is not None
    model, rule = (f"{100 * error:.0f} %" for error in middle)
    return model, rule


def test_readme_says_how_far_off_they_are() -> None:
    machines = KIT / "common" / "machines"
    found = validation.predictions(FOLDER, lambda name: load_machine(machines / f"{name}.toml"))
    errors = [(one, one.error or 0.0, one.error_of_rule or 0.0) for one in found]
    unlike = [one for one in found if abs(one.modelled - one.rule) > 1e-9]
    missed = [one for one, _, of_rule in errors if of_rule >= 0.25]
    closer = sum(model < of_rule - 1e-9 for _, model, of_rule in errors)
    text = readme()
    model, rule = percents(found)
    assert len({one.ratio.slow.machine for one in found}) == 8
    assert f"Of the {len(found)} ratios on eight machines" in text
    assert f"the median error is {model}, by the rule {rule}." in text
    assert f"In {len(found) - len(unlike)} of them model and rule say the same" in text
    model, rule = percents(unlike)
    assert f"in {len(unlike)}, the medians are {model} and {rule}: " in text
    assert f"closer in {closer} of these and farther off in {len(unlike) - closer}." in text
    model, rule = percents(missed)
    assert f"in {len(missed)}, they are {model} and {rule}." in text
