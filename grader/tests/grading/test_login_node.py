"""Whether this machine is a login node, as sinfo tells."""

from __future__ import annotations

from pathlib import Path

import pytest

from numalab.grading import login_node
from numalab.grading.login_node import is_idle_node, is_login_node

HERE = "cn07"


@pytest.mark.parametrize(
    ("listing", "idle"),
    [
        ("cn06 cn06 idle\ncn07 cn07 idle\n", True),
        ("cn07 node-a idle\n", True),  # the node's name in Slurm is not its host's
        ("elsewhere cn07 idle\n", True),
        ("cn07 cn07 idle\ncn07 cn07 idle\n", True),  # of two partitions
        ("cn07 a idle\ncn07 b allocated\n", False),  # two nodes of one host
        ("cn07 cn07 mixed\n", False),
        ("cn07 cn07 idle*\n", False),  # does not answer
        ("cn07 cn07 drained\n", False),
        ("cn06 cn06 idle\ncn070 cn070 idle\n", False),
        ("", False),
        ("slurm_load_partitions: Unable to contact slurm controller\n", False),
    ],
)
def test_a_listing_tells_an_idle_node(listing: str, idle: bool) -> None:
    assert is_idle_node(listing, HERE) is idle
    assert is_idle_node(listing, f"{HERE}.cluster.example") is idle


@pytest.fixture
def sinfo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program of this name that fails, alone on PATH beside the shell's."""
    path = tmp_path / "sinfo"
    path.write_text("#!/bin/sh\nexit 1\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    monkeypatch.setattr(login_node.socket, "gethostname", lambda: HERE)
    return path


def test_a_workstation_that_is_an_idle_node_is_no_login_node(sinfo: Path) -> None:
    assert is_login_node()
    sinfo.write_text(f"#!/bin/sh\necho {HERE} {HERE} idle\n")
    assert not is_login_node()


def test_in_a_job_nobody_asks(sinfo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    assert not is_login_node()


def test_a_controller_that_does_not_answer_is_not_waited_for(
    sinfo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sinfo.write_text("#!/bin/sh\nexec sleep 600\n")
    monkeypatch.setattr(login_node, "ANSWER_LIMIT_S", 0.2)
    assert is_login_node()


def test_without_slurm_nothing_is_asked(sinfo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(sinfo.parent))  # the machine may have one
    sinfo.unlink()
    assert not is_login_node()
