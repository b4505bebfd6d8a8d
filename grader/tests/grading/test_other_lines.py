"""Lab 10 where cache lines have other lengths than here, by the monitor's word; and honest kernels
that lay out their blocks in other ways than the solution."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from support import invented

from numalab.evidence.kinds import STORES
from numalab.evidence.read_record import parse
from numalab.evidence.record import SUBMISSION
from numalab.evidence.run_formats import StoresRun
from numalab.grading.kernel_grading import Grading
from numalab.harness import monitor
from numalab.harness.build import build_targets
from numalab.harness.monitor import describe_node
from numalab.installation import Installation
from numalab.judging.effort import effort_for
from numalab.judging.judge import judge
from numalab.judging.verdict import CriterionVerdict
from numalab.labs.declaration import Lab

pytestmark = pytest.mark.builds

Json = dict[str, Any]
NAME = "10_false_sharing"
ABOUT_STORES = {"correct", "no_shared_lines", "slots_true", "no_waste"}


def built(installation: Installation, lab: Lab, language: str, folder: Path) -> Path:
    """The program that notes stores of the kernel in a folder."""
    session = Grading(
        installation,
        lab,
        language,
        "submission",
        folder,
        effort_for("default", True),
        describe_node(installation),
        lambda step: None,
        timing_refused="Not timed.",
        controls={},
    )
    assert session.build()
    program = session.program(SUBMISSION, STORES.program)
    build_targets(installation, [f"{program.name}-built"])
    return program


def judged(
    installation: Installation, lab: Lab, program: Path, line_bytes: int
) -> dict[str, CriterionVerdict]:
    """What is judged by the program's stores."""
    options = [
        *monitor.worker_option(SUBMISSION, program),
        *monitor.common_options(None, 2, "quick", 10.0),
        "--line-bytes", str(line_bytes),
    ]  # fmt: skip
    asked = monitor.MonitorRun(STORES.name, options, monitor.worker_environment(lab, 2))
    run = monitor.run_monitor(installation, lab, asked)
    assert isinstance(run, StoresRun) and run.line_bytes == line_bytes
    record = invented.evidence(invented.ONE_NODE)
    check = record["runs"][0] | {"lab": NAME}
    verdict = judge(lab, parse(record | {"lab": NAME, "runs": [check, msgspec.to_builtins(run)]}))
    return {c.name: c for c in verdict.criteria if c.name in ABOUT_STORES}


def failed(found: dict[str, CriterionVerdict]) -> dict[str, str]:
    return {name: verdict.why for name, verdict in found.items() if verdict.status != "pass"}


@pytest.mark.parametrize("language", ["c", pytest.param("fortran", marks=pytest.mark.slow)])
def test_lines_of_64_128_and_256_bytes_have_right_answers(
    installation: Installation, labs: dict[str, Lab], language: str
) -> None:
    folder = installation.solution_folder(NAME)
    with installation.lock():
        program = built(installation, labs[NAME], language, folder)
        for line_bytes in (64, 128, 256):
            found = judged(installation, labs[NAME], program, line_bytes)
            assert not failed(found), line_bytes
            assert found["no_waste"].value == 1


@pytest.mark.slow
def test_blocks_of_64_bytes_share_longer_lines(
    installation: Installation, labs: dict[str, Lab], tmp_path: Path
) -> None:
    text = (installation.solution_folder(NAME) / "kernel.c").read_text()
    fixed = text.replace("cache_line_bytes()", "64")
    assert fixed != text
    (tmp_path / "kernel.c").write_text(fixed)
    with installation.lock():
        program = built(installation, labs[NAME], "c", tmp_path)
        assert not failed(judged(installation, labs[NAME], program, 64))
        for line_bytes in (128, 256):
            found = failed(judged(installation, labs[NAME], program, line_bytes))
            assert set(found) == {"no_shared_lines"}
            assert f"cache lines of {line_bytes} bytes" in found["no_shared_lines"]


@pytest.mark.slow
def test_blocks_that_are_allocated_once_for_the_largest_team_pass(
    installation: Installation, labs: dict[str, Lab], tmp_path: Path
) -> None:
    text = (installation.solution_folder(NAME) / "wrong/allocated_not_aligned.c").read_text()
    aligned = text.replace("malloc(", "aligned_alloc(64, ")
    assert aligned != text
    (tmp_path / "kernel.c").write_text(aligned)
    with installation.lock():
        program = built(installation, labs[NAME], "c", tmp_path)
        assert not failed(judged(installation, labs[NAME], program, 64))
