"""The probes are right: a wrong one would be lightspeed of something else."""

from __future__ import annotations

import pytest

from numalab.evidence.record import PROBE
from numalab.harness import monitor
from numalab.harness.build import build_kit
from numalab.kit import Kit
from numalab.labs.declaration import Lab

pytestmark = pytest.mark.builds


def test_every_element_of_a_probe_is_right_for_odd_sizes_too(
    kit: Kit, labs: dict[str, Lab]
) -> None:
    """By the driver that checks kernels."""
    probed = [
        (lab, found.part) for lab in labs.values() for found in lab.lightspeed if found.has_probe
    ]
    assert len(probed) >= 3
    targets = {kit.probe_worker(lab.name).name for lab, _ in probed}
    build_kit(kit, sorted(targets | {kit.monitor(lab.name).name for lab, _ in probed}))
    for lab, part in probed:
        options = [
            *monitor.worker_option(PROBE, kit.probe_worker(lab.name)),
            *monitor.common_options(part, 2, "quick", 10.0),
        ]
        environment = monitor.worker_environment(lab, 2)
        record = monitor.run_monitor(kit, lab, monitor.MonitorRun("check", options, environment))
        assert record["outcome"]["status"] == "ok", lab.name
        checked = record["checks"]
        assert len(checked) > 10
        assert all(check["results"]["wrong"] == 0 for check in checked), lab.name
        assert any(check["n"] % 8 for check in checked)
