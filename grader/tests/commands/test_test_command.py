"""./numalab test: what it chooses, and how it ends."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from support.commands import SOON_LIMIT_S, numalab_command

from numalab.commands.test import ALL, QUICK, USUAL, Extent, pytest_command, units_command
from numalab.installation import Installation

REPORT = Path("report.xml")


def chosen_by(extent: Extent, *arguments: str) -> list[str]:
    """What pytest is told behind the report's name."""
    command = pytest_command(extent, REPORT, arguments)
    return command[command.index(f"--junitxml={REPORT}") + 1 :]


def test_each_way_chooses_by_markers_that_there_are(kit_root: Path) -> None:
    settings = tomllib.loads((kit_root / "grader/pyproject.toml").read_text())
    declared = {
        marker.partition(":")[0] for marker in settings["tool"]["pytest"]["ini_options"]["markers"]
    }
    assert set(re.findall(r"\w+", QUICK.markers)) - {"not", "or"} == declared
    assert chosen_by(USUAL)[:2] == ["-m", "not slow"]
    assert "-m" not in chosen_by(ALL)


def test_arguments_come_last_and_have_no_company() -> None:
    assert chosen_by(USUAL, "-m", "slow") == ["-m", "not slow", "-m", "slow"]
    assert chosen_by(QUICK, "-k", "x")[-2:] == ["-k", "x"]
    assert not any("numprocesses" in word for word in chosen_by(QUICK, "-k", "x"))


def test_only_quick_leaves_unit_tests_out(installation: Installation) -> None:
    assert "long" in units_command(installation, QUICK, REPORT)
    assert "long" not in units_command(installation, USUAL, REPORT)
    listed = subprocess.run(
        [*units_command(installation, QUICK, REPORT), "--show-only"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "unit-record" in listed and "unit-job" not in listed


@pytest.mark.parametrize("ways", [("--quick", "--all"), ("--changed", "--quick")])
def test_two_ways_at_once_are_refused(installation: Installation, ways: tuple[str, ...]) -> None:
    done = numalab_command(installation, "test", *ways)
    assert done.code == 2
    assert "take one of them" in done.said


def test_without_chosen_unit_tests_none_is_named(installation: Installation) -> None:
    some = replace(QUICK, units=(*(QUICK.units or ()), "--tests-regex", "^(unit-x)$"))
    assert units_command(installation, some, REPORT).count("--tests-regex") == 1
    assert chosen_by(QUICK, *QUICK.processes, "tests/a.py")[-3:] == [*QUICK.processes, "tests/a.py"]


def test_a_part_is_chosen_beside_markers() -> None:
    command = pytest_command(USUAL, REPORT, (), "2/4")
    assert command[command.index("--part") + 1] == "2/4"
    assert "--part" not in pytest_command(USUAL, REPORT, ())


@pytest.mark.parametrize("part", ["5/4", "0/2", "two", "1/"])
def test_what_is_no_part_is_refused(installation: Installation, part: str) -> None:
    done = numalab_command(installation, "test", "--part", part)
    assert done.code == 2
    assert "such as 1/4" in done.said


SLOW_TO_END = """
import pathlib, signal, sys, time
try:
    pathlib.Path(sys.argv[1], "begun").touch()
    time.sleep(600)
except KeyboardInterrupt:
    time.sleep(2)
    pathlib.Path(sys.argv[1], "ended").touch()
"""


@pytest.mark.parametrize("whole_group", [True, False], ids=["as_a_terminal_does", "the_command"])
def test_an_interrupt_lets_the_tests_end(tmp_path: Path, whole_group: bool) -> None:
    program = (
        "import os, pathlib, sys\n"
        "from numalab.commands import test\n"
        "test.LEAVE_S = 5.0\n"
        f"test._call([sys.executable, '-c', {SLOW_TO_END!r}, {str(tmp_path)!r}],"
        " pathlib.Path('/'), os.environ)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], start_new_session=True, stderr=subprocess.PIPE, text=True
    ) as process:
        deadline = time.monotonic() + SOON_LIMIT_S
        while not (tmp_path / "begun").exists():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        if whole_group:
            os.killpg(process.pid, signal.SIGINT)
        else:
            process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=SOON_LIMIT_S)
    assert "KeyboardInterrupt" in err
    assert (tmp_path / "ended").exists()
