"""./numalab test: the test suite, or as much of it as there is time for."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from xml.etree import ElementTree

import click

from numalab.commands.changed_tests import changed_files, pick_tests
from numalab.commands.changed_units import pick_units
from numalab.commands.shared import prepare_virtual_nodes, progress_line
from numalab.errors import UserError
from numalab.exit_codes import EXIT_FAILED, EXIT_PASSED
from numalab.harness.build import build_targets, configure
from numalab.installation import Installation
from numalab.processes import shell_variables, starting
from numalab.words import count

# Of pytest's processes: to end by themselves after Ctrl-C, and once they are asked to.
LEAVE_S, END_LIMIT_S = 15.0, 60.0


@dataclass(frozen=True)
class Extent:
    """Which tests are run: markers, an expression of pytest's over those of grader/pyproject.toml;
    units, ctest's options, None for no unit tests; processes, pytest's options."""

    markers: str
    units: tuple[str, ...] | None = ()
    processes: tuple[str, ...] = ()
    with_virtual_nodes: bool = True


# Much of the suite waits for virtual nodes, so that two cores have room for a third process; each
# has a build folder of its own (grader/tests/conftest.py), which takes longer than all of QUICK.
_PROCESSES = ("--numprocesses=3",)
QUICK = Extent(
    "not (timed or boots or builds or slow)",
    ("--label-exclude", "long"),
    ("--numprocesses=2", "--one-build"),
    with_virtual_nodes=False,
)
USUAL = Extent("not slow", processes=_PROCESSES)
ALL = Extent("", processes=_PROCESSES)


@click.command(
    context_settings={"ignore_unknown_options": True},
    short_help="Run the test suite.",
)
@click.option(
    "--quick", is_flag=True, help="A minute or two: no virtual machine, and nothing is graded."
)
@click.option(
    "--changed", metavar="[REVISION]", is_flag=False, flag_value="HEAD",
    help="Of --quick, what the changes since a revision can reach: since the last commit, or since "
    "this branch left another one.",
)  # fmt: skip
@click.option("--all", "everything", is_flag=True, help="Also what takes too long for each change.")
@click.option(
    "--part", metavar="K/N",
    help="One of N parts of about the same length, such as 1/4; N of them are the whole.",
)  # fmt: skip
@click.argument("pytest_arguments", metavar="[PYTEST ARGUMENT]...", nargs=-1,
                type=click.UNPROCESSED)  # fmt: skip
@click.pass_obj
def test(
    installation: Installation,
    quick: bool,
    changed: str | None,
    everything: bool,
    part: str | None,
    pytest_arguments: Sequence[str],
) -> int:
    """Run the test suite: unit tests in C, then the grader's in Python. About 20 minutes on two
    cores; --quick is for before each commit, --changed for between, --all, two and a half hours,
    for before a release.

    With arguments for pytest only the Python tests are run, in one process; files are named from
    grader/.

    \b
    Examples:
      ./numalab test
      ./numalab test --quick
      ./numalab test --quick -k judge            of these, those whose name fits
      ./numalab test --changed                   what changes since HEAD can reach
      ./numalab test --changed main              since this branch left main
      ./numalab test --quick --rewrite-golden    write golden texts again
      ./numalab test tests/learning -x           up to the first failure
      ./numalab test --all tests/virtual         with whole machines
      ./numalab test --all --part 2/4            a quarter of all of it
    """
    if sum((quick, everything, changed is not None)) > 1:
        raise UserError("--quick, --changed and --all: take one of them")
    installation.need_solutions("./numalab test")
    is_first = part is None or _is_first(part)
    if installation.work is not None:
        raise UserError(
            f"the suite changes files of the kit, and {installation.root} is shared by many. "
            "Test a "
            "checkout of your own."
        )
    files = changed_files(installation.root, changed) if changed else []
    if changed and not files:
        click.echo(f"numalab: nothing has changed since {changed}")
        return EXIT_PASSED
    extent = QUICK if quick or changed else ALL if everything else USUAL
    arguments = list(pytest_arguments)
    with installation.lock(), progress_line("test") as progress:
        configure(installation)
        progress("building")
        build_targets(installation, ["all"])
        if extent.with_virtual_nodes:
            prepare_virtual_nodes(installation, progress)
    if files:
        extent, modules = _picked(installation, extent, files)
        arguments = [*(arguments or extent.processes), *modules]
    with tempfile.TemporaryDirectory() as folder:
        reports = [Path(folder) / "ctest.xml", Path(folder) / "pytest.xml"]
        codes = []
        if is_first and not pytest_arguments and extent.units is not None:
            units = units_command(installation, extent, reports[0])
            codes.append(_call(units, installation.root, shell_variables.builder_environment()))
        codes.append(
            _call(
                pytest_command(extent, reports[1], arguments, part),
                installation.root / "grader",
                shell_variables.numalab_environment() | {"NUMALAB_PRESET": installation.preset},
            )
        )
        passed, failed, skipped = count_tests(path for path in reports if path.is_file())
    click.echo(f"numalab: {passed} passed, {failed} failed, {skipped} skipped")
    return EXIT_FAILED if any(codes) or failed or not passed else EXIT_PASSED


def _picked(
    installation: Installation, extent: Extent, files: Sequence[str]
) -> tuple[Extent, list[str]]:
    """Return the unit tests of an extent, and the test modules from grader/, that changed files
    reach; say how many they are."""
    picked = pick_tests(installation.root, files)
    units = pick_units(installation.build, installation.root, files)
    why = f", since nothing says what {picked.unplaced} reaches" if picked.unplaced else ""
    click.echo(
        f"numalab: {count(len(files), 'changed file')} can reach {len(picked.modules)} of "
        f"{count(picked.of, 'test module')}{why}, and "
        f"{'all' if units is None else len(units)} unit tests in C"
    )
    if units is not None:
        chosen = ("--tests-regex", f"^({'|'.join(map(re.escape, units))})$")
        extent = replace(extent, units=(*(extent.units or ()), *chosen) if units else None)
    return extent, [module.removeprefix("grader/") for module in sorted(picked.modules)]


def _is_first(part: str) -> bool:
    """Return whether a part is the first, which has the unit tests in C. Raises UserError where
    it is none."""
    number, _, count = part.partition("/")
    if not (number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
        raise UserError(f"--part {part}: give a number and of how many, such as 1/4")
    return int(number) == 1


def units_command(installation: Installation, extent: Extent, report: Path) -> list[str]:
    """Runs the unit tests in C."""
    return [
        "ctest", "--test-dir", str(installation.build), "--label-regex", "unit", "--parallel", "2",
        *(extent.units or ()),
        "--output-on-failure", "--output-junit", str(report),
    ]  # fmt: skip


def pytest_command(
    extent: Extent, report: Path, arguments: Sequence[str], part: str | None = None
) -> list[str]:
    """Runs the tests in Python, in grader/. arguments: pytest's, which come last, so that theirs
    hold where they say otherwise."""
    return [
        sys.executable, "-m", "pytest", "-p", "no:cacheprovider", f"--junitxml={report}",
        *(["-m", extent.markers] if extent.markers else []),
        *(["--part", part] if part else []),
        *(arguments or extent.processes),
    ]  # fmt: skip


def _call(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> int:
    """Its exit code. At Ctrl-C, which reaches it too, it has the time to end what it has started;
    where only this process was asked to end, it is asked in its turn."""
    with starting.start(command, environment, cwd=folder) as process:
        try:
            return process.wait()
        except KeyboardInterrupt:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            for wait_s in (LEAVE_S, END_LIMIT_S):
                with suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=wait_s)
                    raise
                process.send_signal(signal.SIGINT)
            process.kill()
            raise


def count_tests(reports: Iterable[Path]) -> tuple[int, int, int]:
    """Passed, failed and skipped test cases of JUnit reports together; those that were not chosen
    are in none of them."""
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
