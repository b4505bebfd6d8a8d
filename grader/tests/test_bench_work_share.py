"""The benchmark of `balanced`: verdicts drawn from invented looks, and its kernels."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from support import invented
from support.invented import ONE_NODE
from support.sessions import worked

from numalab.evidence.kinds import PLACEMENT
from numalab.evidence.read_record import parse, run_of
from numalab.evidence.record import Placement
from numalab.installation import Installation
from numalab.labs.declaration import Lab

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))

import work_share
import work_share_kernels


def look(busy_s: Sequence[float], over: float) -> Placement:
    run = worked(ONE_NODE, "submission", busy_s)
    return PLACEMENT.parse(run_of(run | {"one_thread": invented.one_thread(sum(busy_s), over)}))


EVEN, UNEVEN, SPINNING = look((0.29, 0.3), 1.02), look((0.1, 0.3), 1.0), look((0.29, 0.3), 1.5)


@pytest.mark.parametrize(
    ("looks", "ended"),
    [
        ([EVEN], ("pass", 2)),
        ([UNEVEN], ("fail", 6)),
        ([SPINNING], ("fail", 6)),
        ([UNEVEN, EVEN, EVEN], ("pass", 4)),
    ],
)
def test_a_grading_is_drawn_as_it_would_be_taken(
    labs: dict[str, Lab], looks: list[Placement], ended: tuple[str, int]
) -> None:
    lab = labs["03_scheduling"]
    lab = replace(lab, criteria=tuple(c for c in lab.criteria if c.rule == "balanced"))
    empty = parse(invented.evidence(ONE_NODE) | {"runs": []})
    assert work_share.grade(lab, empty, looks, [EVEN], 0) == ended


def test_every_kernel_is_another_one(kit_root: Path) -> None:
    installation = Installation(kit_root)
    kernels = work_share_kernels.KERNELS
    texts = {work_share_kernels.text_of(kernel, installation) for kernel in kernels}
    assert len(texts) == len({(kernel.name, kernel.language) for kernel in kernels}) == len(kernels)
    assert all("pair_energy" in text and "stream_update" in text for text in texts)
    assert not any("LOOP" in text or "PART" in text or "TEAM" in text for text in texts)
    by_truth = {kernel.truth for kernel in kernels if kernel.language == "fortran"}
    assert by_truth == {"even", "uneven", "spins"}
