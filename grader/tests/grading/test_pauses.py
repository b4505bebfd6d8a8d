"""A grading whose processes are all stopped and continued while it is under way."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

from numalab.installation import Installation

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

import pauses

pytestmark = [pytest.mark.builds, pytest.mark.timed, pytest.mark.slow]


def test_no_pause_fails_a_solution(installation: Installation) -> None:
    """Longer than a phase may take, so that a clock which goes on would meet its limits.
    bench/pauses.py does it for longer."""
    how = pauses.Pauses(least_s=2.2, most_s=2.6, between_s=0.5, most=4, in_runs=True)
    found = pauses.paused_grading(installation, "01", [], how, random.Random(1), limit_s=1.0)
    assert not found["faults"], found
    assert found["pauses"] > 0
    assert found["seen_s"] > 0
