"""Running the suite, and counting its tests over its runners."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

if TYPE_CHECKING:
    from collections.abc import Callable

    from numalab.kit import Kit

# Of pytest, each with a build folder of its own (grader/tests/conftest.py): much of it waits for
# virtual nodes, so that two cores have room for a third.
PROCESSES = ("--numprocesses=3",)
# With more failures than these it is not for the others beside them.
MOST_AGAIN = 20
_SOME_FAILED = 1  # pytest's exit code


def run_ctest(kit: Kit, report: Path) -> int:
    command = ["ctest", "--test-dir", str(kit.build), "-L", "unit", "--output-on-failure"]
    return subprocess.call([*command, "--output-junit", str(report)])


def run_pytest(kit: Kit, report: Path, *arguments: str) -> int:
    """Exit code of pytest. Which tests failed is kept beside the report."""
    command = [sys.executable, "-m", "pytest", f"--junitxml={report}"]
    return subprocess.call(
        [*command, "-o", f"cache_dir={report.parent / 'cache'}", *arguments],
        cwd=kit.root / "grader",
        env=os.environ | {"NUMALAB_PRESET": kit.preset},
    )


def run_all(
    kit: Kit, folder: Path, say: Callable[[str], None]
) -> tuple[bool, tuple[int, int, int]]:
    """Whether all is well, and the counts of count_tests. Reports are written into folder.

    Three processes of pytest share the node, and some tests look at what other load disturbs.
    One that fails is run once more with nothing beside it, and what it does there counts;
    its first failure stays in the output."""
    unit, beside, alone = (folder / f"{name}.xml" for name in ("ctest", "pytest", "alone"))
    codes = [run_ctest(kit, unit), run_pytest(kit, beside, *PROCESSES)]
    counts = count_tests(report for report in (unit, beside) if report.is_file())
    again = count_tests([beside])[1] if beside.is_file() else 0
    if codes[1] == _SOME_FAILED and 0 < again <= MOST_AGAIN:
        say(f"numalab: {again} failed beside others; once more, with nothing beside")
        codes[1] = run_pytest(kit, alone, "-v", "--last-failed", "--last-failed-no-failures=none")
        if alone.is_file():
            passed, failed, skipped = count_tests([alone])
            counts = (counts[0] + passed, counts[1] - again + failed, counts[2] + skipped)
    return not any(codes), counts


def run_some(kit: Kit, folder: Path, arguments: Sequence[str]) -> tuple[bool, tuple[int, int, int]]:
    """The same of the Python tests that pytest's arguments name, each once."""
    report = folder / "pytest.xml"
    code = run_pytest(kit, report, *arguments)
    return code == 0, count_tests([report] if report.is_file() else [])


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
