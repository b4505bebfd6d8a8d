"""A NUMA node of a virtual machine is filled again and again: the program that falls back goes on,
one that is bound to the node is ended, and neither the monitor nor the machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from numalab.evidence.kinds import FILLED
from numalab.evidence.record import Evidence
from numalab.grading.kernel_grading import Grading
from numalab.harness import monitor
from numalab.harness.build import build_kernel, build_targets
from numalab.installation import Installation
from numalab.judging.effort import effort_for
from numalab.labs.declaration import Lab, load_lab
from numalab.machines.gallery import find_machine
from numalab.virtual.place import VirtualPlace, VirtualPlaces
from numalab.virtual.plan import GuestOptions

pytestmark = [pytest.mark.builds, pytest.mark.boots, pytest.mark.slow]

TIMES = 20


@pytest.fixture
def lab(installation: Installation) -> Lab:
    return load_lab(installation.lab_folder("05_memory_policy"))


@pytest.fixture
def there(installation: Installation, lab: Lab) -> Iterator[VirtualPlace]:
    with installation.lock():
        build_targets(installation, [installation.worker(lab.name, "c", "solution").name])
        programs = [installation.monitor(lab.name), installation.worker(lab.name, "c", "solution")]
        with VirtualPlaces(installation, GuestOptions()) as places:
            yield places.get(find_machine(installation, "aurora"), programs, lambda step: None)


def filled(installation: Installation, lab: Lab, there: VirtualPlace, variant: str) -> Evidence:
    """What is seen of a kernel while a node is filled."""
    session = Grading(
        installation,
        lab,
        "c",
        "submission",
        installation.lab_folder(lab.name),
        effort_for("default", True),
        there.node,
        lambda step: None,
        place=there,
        machine=there.machine,
    )
    program = installation.worker(lab.name, "c", variant)
    options = [
        *monitor.worker_option("submission", program),
        *monitor.common_options(None, session.threads, "quick", 60.0), "--fill-node",
    ]  # fmt: skip
    session.run(FILLED, options, monitor.worker_environment(lab, session.threads))
    return session.evidence


def test_a_matrix_falls_back_each_time(
    installation: Installation, lab: Lab, there: VirtualPlace
) -> None:
    for _ in range(TIMES):
        (run,) = filled(installation, lab, there, "solution").runs_of(FILLED)
        assert run.outcome.ok
        assert run.fill is not None and run.fill.pages is not None
        share = run.fill.pages[run.fill.numa_node] * run.page_bytes / run.fill.free_bytes
        assert 0.6 < share <= 1.05
        assert sum(run.fill.pages.values()) * run.page_bytes > run.fill.free_bytes


def test_a_bound_matrix_is_ended_each_time_and_nothing_else(
    installation: Installation, lab: Lab, there: VirtualPlace, tmp_path: Path
) -> None:
    wrong = installation.solution_folder(lab.name) / "wrong" / "bound.c"
    (tmp_path / "kernel.c").write_text(wrong.read_text(encoding="utf-8"), encoding="utf-8")
    assert build_kernel(installation, lab, "c", tmp_path, None).status == "ok"
    for _ in range(TIMES):
        (run,) = filled(installation, lab, there, "submission").runs_of(FILLED)
        assert run.outcome.status == "crashed"
        assert run.outcome.signal == "SIGKILL"
        assert run.fill is not None and run.fill.pages is None
    (run,) = filled(installation, lab, there, "solution").runs_of(FILLED)
    assert run.outcome.ok, "the machine lives"
