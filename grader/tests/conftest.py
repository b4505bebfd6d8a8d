"""What the tests share: the kit, its labs, and who runs beside whom."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from support.commands import OWN_MACHINES, STARTED_BY
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from numalab.editions.objects import LEVELS
from numalab.grading.turns import OFF, VARIABLE, taken
from numalab.harness.build import build_kit, configure
from numalab.kit import Kit, find_kit
from numalab.labs.declaration import Lab, load_labs
from numalab.virtual.plan import build_programs

os.environ.pop("NUMALAB_STARTED", None)
os.environ[VARIABLE] = OFF  # it sees to it itself who is alone on the node
os.environ[STARTED_BY] = str(os.getpid())
os.environ[OWN_MACHINES] = "/nowhere"  # the user's own change no test

# Each process of the suite has a build folder of its own. All hold this lock: shared, or alone
# for what is timed.
BUILDS = {"gw1": "second", "gw2": "third"}
LOCK = find_kit("gnu").root / "build" / "suite.lock"
# They come first, so that the last ones are short.
LONGEST = (
    "test_wrong_submissions", "test_same_verdicts", "test_notebooks_run", "test_grade_on_machines",
    "test_kit_copy", "test_grade", "test_machine_run", "test_virtual_nodes", "test_launch",
    "test_sandbox",
)  # fmt: skip
# Both boot machines of the same name and look whether they are gone.
SHARED = {"test_virtual_nodes": "test_machine_run"}
# By far the longest is two: the labs on MPI, and the others, each with virtual nodes of its own.
TWO_PARTS = "test_wrong_submissions"
MPI_LABS = ("[06_", "[07_")
# Of attacks, each class is one.
BY_CLASS = "test_hostile"
# What editions are built for is one each.
BY_LEVEL = "test_same_verdicts"

_alone: list[ExitStack] = []  # held from one timed test to the next


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--one-build", action="store_true",
        help="all processes share a build folder: for tests that build nothing",
    )  # fmt: skip


class Failures:
    """Prints the name of what fails when it fails: of a run that is ended early that is all."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        terminal = self.config.pluginmanager.get_plugin("terminalreporter")
        if report.failed and terminal is not None:
            crash = getattr(report.longrepr, "reprcrash", None)
            why = crash.message.splitlines()[0] if crash is not None and crash.message else ""
            terminal.write_line(f"\n{report.when} of {report.nodeid} failed: {why}")


def pytest_configure(config: pytest.Config) -> None:
    if "PYTEST_XDIST_WORKER" not in os.environ:
        config.pluginmanager.register(Failures(config))
    folder = BUILDS.get(os.environ.get("PYTEST_XDIST_WORKER", ""))
    if folder and not config.getoption("one_build"):
        os.environ["NUMALAB_BUILD"] = str(find_kit("gnu").root / "build" / folder)


def is_timed(item: pytest.Item) -> bool:
    return item.get_closest_marker("timed") is not None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files come first, to be shared out well; what is timed last in its own."""
    rank = {name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: (rank.get(item.path.stem, len(rank)), is_timed(item)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Nothing else runs while something is timed. What is timed next does not wait anew for what
    the others are at."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return (yield)
    if not is_timed(item):
        with taken(LOCK):
            return (yield)
    if not _alone:
        _alone.append(ExitStack())
        _alone[0].enter_context(taken(LOCK, alone=True))
    try:
        return (yield)
    finally:
        if nextitem is None or not is_timed(nextitem):
            _alone.pop().close()


class Scheduling(LoadScopeScheduling):
    """Gives one process all tests of a file."""

    def _split_scope(self, nodeid: str) -> str:
        file = Path(nodeid.split("::", 1)[0]).stem
        if file == TWO_PARTS and any(lab in nodeid for lab in MPI_LABS):
            return f"{file} on MPI"
        if file == BY_CLASS and "[" in nodeid:
            return f"{file} {nodeid.split('[', 1)[1].split('-', 1)[0]}"
        if file == BY_LEVEL:
            of = max((level for level in LEVELS if f"[{level}" in nodeid), key=len, default="")
            return f"{file} {of}"
        return SHARED.get(file, file)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Scheduling:
    return Scheduling(config, log)


@pytest.fixture(scope="session")
def kit() -> Kit:
    kit = find_kit(os.environ.get("NUMALAB_PRESET", "gnu"))
    if kit.builds is not None:  # the suite's command has built the other one
        configure(kit)
        build_kit(kit, ["all"])
        build_programs(kit, for_cluster=True)
    return kit


@pytest.fixture(scope="session")
def kit_root(kit: Kit) -> Path:
    return kit.root


@pytest.fixture(scope="session")
def labs(kit: Kit) -> dict[str, Lab]:
    return load_labs(kit.root)


@pytest.fixture(scope="session")
def first_touch(labs: dict[str, Lab]) -> Lab:
    return labs["01_first_touch"]


@pytest.fixture(scope="session")
def schema(kit: Kit) -> Path:
    return kit.root / "common" / "schema" / "evidence.schema.json"
