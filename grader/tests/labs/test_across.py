"""Lab 06's program for a link, on this node: what it prints of a right ping_pong, and what it says
of a wrong one. Between virtual nodes: tests/virtual/test_cluster.py."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from support.across import LAB, build_across, read_curve
from support.commands import SOON_LIMIT_S

from numalab.installation import Installation
from numalab.labs.declaration import LANGUAGES, Language

pytestmark = [
    pytest.mark.builds,
    pytest.mark.skipif(shutil.which("mpicc") is None, reason="no MPI"),
]


def run_here(program: Path, *arguments: str, ranks: int = 2) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["mpiexec", "-n", str(ranks), program, *arguments],
        capture_output=True, text=True, check=False, timeout=SOON_LIMIT_S,
    )  # fmt: skip


def test_a_curve_of_this_node(installation: Installation, tmp_path: Path) -> None:
    build_across(installation, "c", tmp_path / "across")
    done = run_here(tmp_path / "across", "0", "63")
    assert done.returncode == 0, done.stderr
    curve = read_curve(done.stdout)
    assert list(curve.us) == [0, 16]
    assert (curve.share_of, list(curve.shares.values())) == ("most", [0.0, 1.0])
    assert curve.t0_us == pytest.approx(curve.us[0], abs=0.051, rel=1e-3)


WRONG = {
    "adds nothing": ("    word++;\n", "", "grown by 0 in rank 0 and by 0 in rank 1"),
    "adds two": ("    word++;\n", "    word += 2;\n", "grown by 4 in rank 0 and by 2 in rank 1"),
    "sends the first word alone": (
        "    MPI_Send(buffer, (int)bytes,", "    MPI_Send(buffer, bytes < 8 ? (int)bytes : 8,",
        "bytes behind it: 0 and 8.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", WRONG)
def test_a_wrong_ping_pong_is_no_curve(
    installation: Installation, tmp_path: Path, mistake: str
) -> None:
    old, new, says = WRONG[mistake]
    right = (installation.solution_folder(LAB) / "kernel.c").read_text("utf-8")
    assert right.count(old) == 1
    (tmp_path / "kernel.c").write_text(right.replace(old, new))
    build_across(installation, "c", tmp_path / "across", tmp_path)
    done = run_here(tmp_path / "across")
    assert (done.returncode, done.stdout) == (1, "")
    assert "ping_pong is wrong. With 16 bytes and repetitions = 1 the word has\n" in done.stderr
    assert says in done.stderr


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_handout_is_wrong(
    installation: Installation, tmp_path: Path, language: Language
) -> None:
    build_across(installation, language, tmp_path / "across", installation.lab_folder(LAB))
    done = run_here(tmp_path / "across")
    assert (done.returncode, done.stdout) == (1, "")
    assert "grown by 0 in rank 0 and by 0 in rank 1, and not by 2 and 1" in done.stderr


def test_it_says_how_it_is_called(installation: Installation, tmp_path: Path) -> None:
    build_across(installation, "c", tmp_path / "across")
    for arguments, ranks in ((("50", "1"), 2), (("50", str(1 << 30)), 2), ((), 1)):
        done = run_here(tmp_path / "across", *arguments, ranks=ranks)
        assert done.returncode == 2
        assert "./across [MBIT_S [MOST_BYTES]]" in done.stderr
