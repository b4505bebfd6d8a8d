"""Touch maps carried over to another machine. Rates are made up; evidence is, where it is not
recorded."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from support import invented
from support.origins import moved, place_of_thread

from numalab.evidence.kinds import TRACE
from numalab.evidence.read_record import parse
from numalab.grading.modelled import model_all, model_ungradable
from numalab.installation import Installation, find_installation
from numalab.judging.judge import judge
from numalab.labs.declaration import Lab, load_lab
from numalab.machines.gallery import find_machine
from numalab.machines.machine import Machine
from numalab.machines.rates import PublishedRate
from numalab.modelling.speedups import ModelledSpeedup, extrapolate
from numalab.reports.modelled_words import sentences

KIT = find_installation("gnu")
LAB = load_lab(KIT.lab_folder("01_first_touch"))
SPEEDUP = next(c for c in LAB.criteria if c.name == "speedup")
RATES = (
    PublishedRate("core", 10.0, "me", "made up"),
    PublishedRate("controller", 40.0, "me", "made up"),
)
TWO = invented.TWO_NODES  # eight threads


def machine(name: str) -> Machine:
    return replace(find_machine(KIT, name), rates=RATES)


def over(record: dict[str, Any], name: str = "nebula") -> ModelledSpeedup:
    (found,) = extrapolate(LAB, SPEEDUP, parse(record), "on hydra", machine(name))
    return found


def flows(comparison: ModelledSpeedup) -> dict[tuple[int, int], float]:
    assert comparison.yours is not None
    return {(flow.user, flow.home): flow.share for flow in comparison.yours.flows}


@pytest.mark.parametrize("name", ["hydra", "nebula", "uv1000", "janus"])
def test_a_kernel_that_is_right_uses_near_memory_everywhere(name: str) -> None:
    nodes = len(find_machine(KIT, name).numa_nodes)
    found = over(invented.evidence(TWO), name)
    assert flows(found) == {(n, n): pytest.approx(1 / nodes, rel=0.2) for n in range(nodes)}
    assert found.speedup == pytest.approx(nodes, rel=0.2), "the controllers"
    assert found.yours is not None and found.yours.threads == find_machine(KIT, name).cores


def test_others_on_the_cores_of_the_team_are_as_the_team() -> None:
    """As in nested teams. And what the very threads wrote from other cores is theirs."""
    team, last = invented.evidence(TWO), TWO.threads - 1

    def others(owner: int) -> tuple[int, int, int]:
        return owner + TWO.threads, *place_of_thread(TWO, owner)

    assert over(moved(team, others, others)) == over(invented.evidence(TWO))

    def here(owner: int) -> tuple[int, int, int]:
        return owner, *place_of_thread(TWO, owner)

    def there(owner: int) -> tuple[int, int, int]:
        return owner, *place_of_thread(TWO, last - owner)

    found = flows(over(moved(invented.evidence(TWO), there, here)))
    assert set(found) == {(node, 7 - node) for node in range(8)}


def test_the_handout_is_what_it_is_compared_with() -> None:
    recorded = KIT.grading_folder("01_first_touch") / "recorded" / "hydra.json"
    found = over(json.loads(recorded.read_text("utf-8")))
    assert found.speedup == pytest.approx(1)
    assert {home for _, home in flows(found)} == {0}
    assert found.dominant_node is not None and found.dominant_node.share == 1
    assert found.theirs is not None
    assert flows(found) == {
        (flow.user, flow.home): pytest.approx(flow.share, abs=0.02) for flow in found.theirs.flows
    }


def test_pieces_smaller_than_a_page_are_used_from_everywhere() -> None:
    def some(owner: int, page: int) -> Sequence[int]:
        return (0, 3, 7)

    found = over(invented.evidence(TWO, users=some))
    assert flows(found) == {
        (user, home): pytest.approx(1 / 64, rel=0.01) for user in range(8) for home in range(8)
    }
    assert found.is_shared


def test_a_team_that_works_in_part_stays_as_many() -> None:
    found = over(invented.evidence(TWO, users=lambda owner, page: (0,)))
    assert found.yours is not None
    assert [demand.numbers for demand in found.yours.demands_on("core")] == [(0,)]
    assert found.yours.threads == 8
    assert found.yours.s_per_gb == pytest.approx(1 / 10)


def test_it_says_that_nothing_was_run_there() -> None:
    said = sentences(over(invented.evidence(TWO)))
    assert said[0] == "On nebula, modelled: 8.0 times the handout, by the rates that are known."
    assert said[2] == (
        "Carried over by first touch from the touch map on hydra: nothing was run on nebula."
    )


def test_a_grading_on_hydra_is_carried_over_to_nebula(
    installation: Installation, labs: dict[str, Lab]
) -> None:
    lab = labs["01_first_touch"]
    here, hydra = parse(invented.evidence(invented.ONE_NODE)), parse(invented.evidence(TWO))
    verdict = judge(lab, here)
    found = model_ungradable(installation, lab, verdict, [("here", here), ("hydra", hydra)])
    assert [(one.machine, one.carried_from) for one in found] == [
        ("hydra", ""), ("nebula", "on hydra"),
    ]  # fmt: skip
    assert model_ungradable(installation, lab, verdict, [("here", here)]) == (), (
        "one that is looked at"
    )


def test_where_it_was_looked_at_nothing_is_carried(installation: Installation) -> None:
    folder = installation.grading_folder("01_first_touch") / "recorded"
    seen = [
        (name, parse(json.loads((folder / f"{name}.json").read_text("utf-8"))))
        for name in ("hydra", "nebula")
    ]
    assert all(evidence.runs_of(TRACE) for _, evidence in seen)
    assert [one.carried_from for one in model_all(installation, LAB, seen)] == ["", ""]
