"""What the tests share: the kit, its labs, and who runs beside whom."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import socket
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from support.commands import OWN_MACHINES, STARTED_BY
from support.golden_texts import GoldenTexts, add_option
from support.leftovers import ended_on_failure
from support.parts import Recorder, parts_of, read_part, seconds_of_groups
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from numalab.editions.objects import LEVELS
from numalab.grading.node_lock import DISABLED, VARIABLE, lock_of_file
from numalab.harness.build import build_targets, configure
from numalab.installation import Installation, find_installation
from numalab.labs import lab_modules
from numalab.labs.declaration import Lab, load_labs
from numalab.virtual.plan import build_programs

lab_modules.make_importable()  # tests import some of them
os.environ.pop("NUMALAB_STARTED", None)
os.environ.pop("PYTHONSAFEPATH", None)  # which the launcher sets, for itself
os.environ[VARIABLE] = DISABLED  # it sees to it itself who is alone on the node
os.environ[STARTED_BY] = str(os.getpid())
os.environ[OWN_MACHINES] = "/nowhere"  # the user's own change no test
# Started by nohup or in a script's background this process ignores Ctrl-C, and so would all that
# its tests start and stop.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Each process of the suite has a build folder of its own. All hold this lock: shared, or alone
# for what is timed.
BUILDS = {"gw1": "second", "gw2": "third"}
LOCK = find_installation("gnu").root / "build" / "suite.lock"
# Both boot machines of the same name and look whether they are gone.
SHARED = {"test_virtual_nodes": "test_machine_run"}
# Of the longest, each lab or class of attacks is one: what its tests' names begin with.
BY_FIRST_WORD = ("test_wrong_submissions", "test_hostile")
# What editions are built for is one each.
BY_LEVEL = "test_same_verdicts"

_alone: list[ExitStack] = []  # held from one timed test to the next


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--one-build", action="store_true",
        help="all processes share a build folder: for tests that build nothing",
    )  # fmt: skip
    parser.addoption("--part", metavar="K/N", type=read_part, help="the Kth of N parts")
    parser.addoption(
        "--record-durations", action="store_true", help="write how long tests took, for --part"
    )
    add_option(parser)


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


def _pass_for_idle_node(config: pytest.Config) -> None:
    """On a login node of Slurm let sinfo list this machine as an idle node, in all that tests
    start: a test that wants a login node brings its own sinfo."""
    if not shutil.which("sinfo"):
        return
    folder = Path(tempfile.mkdtemp(prefix="numalab-tests-"))
    config.add_cleanup(lambda: shutil.rmtree(folder))
    (folder / "sinfo").write_text(f"#!/bin/sh\necho {socket.gethostname()} here idle\n")
    (folder / "sinfo").chmod(0o755)
    os.environ["PATH"] = f"{folder}:{os.environ['PATH']}"


def pytest_configure(config: pytest.Config) -> None:
    if "PYTEST_XDIST_WORKER" not in os.environ:
        config.pluginmanager.register(Failures(config))
        _pass_for_idle_node(config)
        if config.getoption("record_durations"):
            config.pluginmanager.register(Recorder())
    config.pluginmanager.register(GoldenTexts(config), GoldenTexts.NAME)
    folder = BUILDS.get(os.environ.get("PYTEST_XDIST_WORKER", ""))
    if folder and not config.getoption("one_build"):
        os.environ["NUMALAB_BUILD"] = str(find_installation("gnu").root / "build" / folder)


def is_timed(item: pytest.Item) -> bool:
    return item.get_closest_marker("timed") is not None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The longest groups come first, so that the last ones are short; what is timed last in its
    own. Of a part only its groups are left, once markers and names have chosen."""
    seconds = seconds_of_groups((group_of(item.nodeid), item.nodeid) for item in items)
    if part := config.getoption("part"):
        number, count = part
        chosen = parts_of(seconds, count)[number - 1]
        config.hook.pytest_deselected(
            items=[item for item in items if group_of(item.nodeid) not in chosen]
        )
        items[:] = [item for item in items if group_of(item.nodeid) in chosen]

    def place(item: pytest.Item) -> tuple[float, str, bool]:
        group = group_of(item.nodeid)
        return -seconds[group], group, is_timed(item)

    items.sort(key=place)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    with ended_on_failure():
        return (yield)


@contextmanager
def _hold_lock(how: int) -> Iterator[None]:
    lock = lock_of_file(LOCK)
    try:
        lock.take(how, lambda step: None)
        yield
    finally:
        lock.leave()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Nothing else runs while something is timed. What is timed next does not wait anew for what
    the others are at."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return (yield)
    if not is_timed(item):
        with _hold_lock(fcntl.LOCK_SH):
            return (yield)
    if not _alone:
        _alone.append(ExitStack())
        _alone[0].enter_context(_hold_lock(fcntl.LOCK_EX))
    try:
        return (yield)
    finally:
        if nextitem is None or not is_timed(nextitem):
            _alone.pop().close()


def group_of(nodeid: str) -> str:
    """Return the name of the tests that run one after the other in one process: those of a file,
    but for the longest ones."""
    file = Path(nodeid.split("::", 1)[0]).stem
    if file in BY_FIRST_WORD and "[" in nodeid:
        return f"{file} {nodeid.split('[', 1)[1].split('-', 1)[0]}"
    if file == BY_LEVEL:
        of = max((level for level in LEVELS if f"[{level}" in nodeid), key=len, default="")
        return f"{file} {of}"
    return SHARED.get(file, file)


class Scheduling(LoadScopeScheduling):
    """Gives one process all tests of a group."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Scheduling:
    config.option.loadscopereorder = False  # xdist would put groups of many tests first
    return Scheduling(config, log)


@pytest.fixture(scope="session")
def installation() -> Installation:
    installation = find_installation(os.environ.get("NUMALAB_PRESET", "gnu"))
    if installation.builds is not None:  # the suite's command has built the other one
        configure(installation)
        build_targets(installation, ["all"])
        build_programs(installation, is_cluster=True)
    return installation


@pytest.fixture(scope="session")
def kit_root(installation: Installation) -> Path:
    return installation.root


@pytest.fixture(scope="session")
def labs(installation: Installation) -> dict[str, Lab]:
    return load_labs(installation.root)


@pytest.fixture(scope="session")
def first_touch(labs: dict[str, Lab]) -> Lab:
    return labs["01_first_touch"]


@pytest.fixture(scope="session")
def schema(installation: Installation) -> Path:
    return installation.root / "common" / "schema" / "evidence.schema.json"
