"""./numalab test: the whole suite."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import click

from numalab.commands.shared import (
    prepare_virtual_nodes,
    progress_line,
)
from numalab.exit_codes import (
    EXIT_FAILED,
    EXIT_PASSED,
)
from numalab.kit import Kit

if TYPE_CHECKING:  # their modules are imported when a command needs them
    pass


# Of pytest, each with a build folder of its own (grader/tests/conftest.py): much of it waits for
# virtual nodes, so that two cores have room for a third.
PROCESSES = ("--numprocesses=3",)


@click.command(
    context_settings={"ignore_unknown_options": True},
    short_help="Run the whole test suite.",
)
@click.argument("pytest_arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_obj
def test(kit: Kit, pytest_arguments: Sequence[str]) -> int:
    """Run the whole test suite: unit tests in C, then the grader's in Python.

    \b
    Examples:
      ./numalab test
      ./numalab test -k judge        only the Python tests whose name fits
    """
    import tempfile

    pass
    from numalab.harness.build import build_kit, configure

    with kit.lock(), progress_line("test") as progress:
        configure(kit)
        progress("building")
        build_kit(kit, ["all"])
        prepare_virtual_nodes(kit, progress)
    with tempfile.TemporaryDirectory() as folder:
        reports = [Path(folder) / "ctest.xml", Path(folder) / "pytest.xml"]
        codes = []
        if not pytest_arguments:
            command = ["ctest", "--test-dir", str(kit.build), "-L", "unit", "--output-on-failure"]
            codes.append(subprocess.call([*command, "--output-junit", str(reports[0])]))
        codes.append(
            subprocess.call(
                [sys.executable, "-m", "pytest", "-p", "no:cacheprovider",
                 f"--junitxml={reports[1]}", *(pytest_arguments or PROCESSES)],
                cwd=kit.root / "grader",
                env=os.environ | {"NUMALAB_PRESET": kit.preset},
            )
        )  # fmt: skip
        passed, failed, skipped = count_tests(path for path in reports if path.is_file())
    click.echo(f"numalab: {passed} passed, {failed} failed, {skipped} skipped")
    return EXIT_FAILED if any(codes) or failed or not passed else EXIT_PASSED


def count_tests(reports: Iterable[Path]) -> tuple[int, int, int]:
    """Passed, failed and skipped test cases of JUnit reports together."""
    passed = failed = skipped = 0
    for report in reports:
        for case in ElementTree.parse(report).iter("testcase"):
            if case.find("failure") is not None or case.find("error") is not None:
                failed += 1
            elif case.find("skipped") is not None:
                skipped += 1
            else:
                passed += 1
    return passed, failed, skipped
