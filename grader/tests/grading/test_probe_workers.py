"""The probes are right: a wrong one would be lightspeed of something else."""

from __future__ import annotations

import pytest

from numalab.evidence.record import PROBE
from numalab.evidence.run_formats import CheckRun
from numalab.harness import monitor
from numalab.harness.build import build_targets
from numalab.installation import Installation
from numalab.labs.declaration import Lab

pytestmark = pytest.mark.builds


def test_every_element_of_a_probe_is_right_for_odd_sizes_too(
    installation: Installation, labs: dict[str, Lab]
) -> None:
    """By the driver that checks kernels."""
    probed = [
        (lab, found.part) for lab in labs.values() for found in lab.lightspeed if found.has_probe
    ]
    assert len(probed) >= 3
    targets = {installation.probe_worker(lab.name).name for lab, _ in probed}
    build_targets(
        installation, sorted(targets | {installation.monitor(lab.name).name for lab, _ in probed})
    )
    for lab, part in probed:
        options = [
            *monitor.worker_option(PROBE, installation.probe_worker(lab.name)),
            *monitor.common_options(part, 2, "quick", 10.0),
        ]
        environment = monitor.worker_environment(lab, 2)
        record = monitor.run_monitor(
            installation, lab, monitor.MonitorRun("check", options, environment)
        )
        assert isinstance(record, CheckRun) and record.outcome.status == "ok", lab.name
        assert len(record.checks) > 10
        assert all(check.results.mismatches == 0 for check in record.checks), lab.name
        assert any(check.n % 8 for check in record.checks)
