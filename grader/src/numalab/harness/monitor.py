"""Runs of the monitor, which runs the workers, and their records."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import msgspec
from msgspec.structs import replace

from numalab.errors import Interrupted, NumalabError, reason_of
from numalab.evidence.read_record import run_of
from numalab.evidence.record import SUBMISSION, Json
from numalab.evidence.repeats import outcomes
from numalab.evidence.run_formats import AnyRunRecord, CheckRun, Outcome, RaceReport, RaceRun
from numalab.file_systems.room import MIB, shared_memory_place, shortage
from numalab.harness.sandbox import Sandbox
from numalab.installation import Installation
from numalab.labs.declaration import Lab
from numalab.labs.launch import RankPlan
from numalab.labs.launch_commands import binding_words
from numalab.processes import shell_variables, starting
from numalab.processes.limits import limits_in_force
from numalab.untrusted.tools import output_of
from numalab.untrusted.visible import may_hide, visible_json

_LINE = re.compile(r"\d{1,7}", re.ASCII)
# Signals that end a command (commands/root.py).
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class Finished:
    """How a program ended, and what it wrote."""

    code: int  # its exit code, negative for a signal
    output: str  # what it wrote to standard output
    complaint: str  # what it wrote to standard error


class Place(Protocol):
    """Where numalab's programs run: this machine or a virtual machine."""

    @property
    def name(self) -> str:
        """Return the place's name, as verdicts have it in `where`."""

    @property
    def slowness(self) -> float:
        """Return by what factor a program may take longer than on this machine."""

    @property
    def monitor_options(self) -> Sequence[str]:
        """Return the monitor's options by which workers are isolated there."""

    def execute(self, command: Sequence[str], environment: Mapping[str, str]) -> Finished:
        """Run a program to its end. Raises Interrupted for Ctrl-C, and NumalabError where it can't
        be run."""


class ThisMachine:
    """This machine as a place where programs run."""

    name = "here"
    slowness = 1.0
    monitor_options = ()

    def execute(self, command: Sequence[str], environment: Mapping[str, str]) -> Finished:
        """Run a program to its end, without input. Raises Interrupted for Ctrl-C, once the program
        has ended or was killed, and NumalabError where it can't be run."""
        process = None
        try:
            with _signals_held():
                process = starting.start_with_text(
                    command, environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                )  # fmt: skip
            output, complaint = process.communicate()
        except KeyboardInterrupt as error:
            if process is not None:
                _end(process)
            raise Interrupted from error
        except OSError as error:
            raise NumalabError(f"can't run {command[0]}: {reason_of(error)}") from error
        return Finished(process.returncode, output, complaint)


THIS_MACHINE = ThisMachine()


def describe_node(installation: Installation, place: Place = THIS_MACHINE) -> Json:
    """Return the description of a machine by the program describe_node, on THIS_MACHINE with the
    limits in force. Raises NumalabError, and what Place.execute raises."""
    done = place.execute([str(installation.describe_node)], shell_variables.observer_environment())
    if done.code != 0:
        ended = f"by signal {-done.code}" if done.code < 0 else f"with exit code {done.code}"
        why = (
            done.complaint.strip() or f"{installation.describe_node} ended {ended} and said nothing"
        )
        raise NumalabError(f"this node can't be described: {why}")
    try:
        data: Json = json.loads(done.output)
    except json.JSONDecodeError as error:
        raise NumalabError(f"this node can't be described: {error}") from error
    limits = limits_in_force() if place is THIS_MACHINE else []
    return data | ({"limits": limits} if limits else {})


def worker_environment(
    lab: Lab, threads: int, placement: Mapping[str, str] | None = None, is_of_file: bool = False
) -> dict[str, str]:
    """Return the environment of workers.

    It has the observers' variables, which lack OpenMP's, and the lab's. Unless is_of_file, waiting
    threads sleep, so that CPU time is work, and a thread at a barrier can be recognised.

    Args:
        threads: number of threads of a worker.
        placement: variables in place of the lab's; None: the lab's.
        is_of_file: placement or launch files are timed. Waiting threads then do what they do by
            default, so that a file costs what it costs a user.
    """
    environment = shell_variables.observer_environment()
    environment |= lab.environment if placement is None else placement
    environment["OMP_NUM_THREADS"] = str(threads)
    environment["OMP_DYNAMIC"] = "false"
    environment["GFORTRAN_UNBUFFERED_PRECONNECTED"] = "y"
    if not is_of_file:
        environment["OMP_WAIT_POLICY"] = "passive"
    return environment


def recorded_environment(environment: dict[str, str]) -> dict[str, str]:
    """Return the variables of OpenMP runtimes in an environment, sorted by name."""
    return {
        key: value
        for key, value in sorted(environment.items())
        if key.startswith(("OMP_", "KMP_", "GOMP_"))
    }


@dataclass(frozen=True)
class MonitorRun:
    """A run of the monitor, as it is requested."""

    run: str  # its kind, as the monitor calls it
    # options, environment: of the monitor.
    options: Sequence[str]
    environment: Mapping[str, str]
    facts: Mapping[str, Any] = field(default_factory=dict)  # fields that are added to its record
    pus: Sequence[int] = ()  # numbers of the PUs that it and its workers may use; empty: all
    sandbox: Sandbox | None = None  # in which tools read the worker's program; None: in none


class NoRecord(NumalabError):
    """The monitor ended without a usable record."""


def run_monitor(
    installation: Installation, lab: Lab, request: MonitorRun, place: Place = THIS_MACHINE
) -> AnyRunRecord:
    """Make one run of the monitor, and return its record. Raises NoRecord where the monitor gives
    no usable record, NumalabError where room for programs' files is short, Interrupted where the
    record says that the run was cancelled, and what Place.execute raises."""
    confined = ["taskset", "-c", ",".join(map(str, request.pus))] if request.pus else []
    command = [*confined, str(installation.monitor(lab.name)), request.run]
    command += [*place.monitor_options, *request.options]
    done = place.execute(command, request.environment)
    try:
        data: Json = json.loads(done.output)
        if not isinstance(data, dict):
            raise ValueError("it is no object")
    except ValueError as error:
        check_room(request, place)
        raise NoRecord(
            f"the monitor gave no record for '{request.run}' (exit code {done.code}): "
            f"{done.complaint.strip() or 'it said nothing'}"
        ) from error
    if may_hide(done.output):
        data = visible_json(data)
    try:
        record = run_of(data | dict(request.facts))
    except msgspec.ValidationError as error:
        raise NoRecord(
            f"the monitor's record of '{request.run}' is not of its form: {error}"
        ) from error
    ended = outcomes(record)
    if any(outcome.status == "cancelled" for outcome in ended):
        raise Interrupted
    if any(outcome.signal == "SIGBUS" for outcome in ended):
        check_room(request, place)
    for outcome in ended:
        outcome.line = _kernel_line(outcome.frames or (), request) or outcome.line
    if isinstance(record, CheckRun):
        for results in (check.results for check in record.checks):
            if results.requests is not None:
                line = _kernel_line(results.requests.frames, request)
                results.requests = replace(results.requests, line=line or "")
    if isinstance(record, RaceRun):
        record.race = _race_of(record.outcome, request)
        _forget_archers_advice(record.outcome)
    return record


def check_room(request: MonitorRun, place: Place, shared_bytes: int = MIB) -> None:
    """Raise NumalabError where /dev/shm lacks shared_bytes, or the folder of temporary files is
    short of room.

    Libraries map files there into memory, and a program that uses a page without room ends by
    SIGBUS. A sandbox and a virtual machine have folders of their own, which are not checked.
    """
    is_checked = place is THIS_MACHINE and request.sandbox is None
    short = shortage(shared_memory_place(shared_bytes)) if is_checked else ""
    if short:
        raise NumalabError(short)


_RACE_EXIT_CODE = 66  # by common/worker/race_options.c


def _race_of(outcome: Outcome, request: MonitorRun) -> RaceReport | None:
    """Return the kernel's lines of the two accesses in ThreadSanitizer's report, as far as they are
    known; None where the run did not end with a report."""
    printed = outcome.printed or ""
    if outcome.exit_code != _RACE_EXIT_CODE or "data race" not in printed:
        return None
    accesses = []
    for access in re.split(r"\n\s*(?=Previous )", printed)[:2]:
        stack = re.split(r"\n\s*\n", access.split("data race", 1)[-1], maxsplit=1)[0]
        frames = [int(offset, 16) for offset in re.findall(r"\+0x([0-9a-f]+)\)", stack)]
        line = _kernel_line(frames, request)
        if line:
            accesses.append(line)
    return RaceReport(accesses=accesses)


_ADVICE = re.compile(r"Warning: please export TSAN_OPTIONS=[^\n]*\n?")


def _forget_archers_advice(outcome: Outcome) -> None:
    """Remove from a worker's output Archer's advice to set an option in the environment."""
    if outcome.printed is not None:
        printed = _ADVICE.sub("", outcome.printed)
        outcome.printed_bytes -= len(outcome.printed) - len(printed)
        outcome.printed = printed


@contextmanager
def _signals_held() -> Iterator[None]:
    """Delay the signals of _ENDING that have handlers to the end of a block, in the main thread; of
    several only the first is raised then. One that arrives while a process is being started would
    leave it running without a parent. A signal mask would not do, since the process would inherit
    it."""
    if threading.current_thread() is not threading.main_thread():  # which alone is interrupted
        yield
        return
    came: list[int] = []
    handlers = {number: signal.getsignal(number) for number in _ENDING}
    held = {number: handler for number, handler in handlers.items() if callable(handler)}
    for number in held:
        signal.signal(number, lambda number, frame: came.append(number))
    try:
        yield
    finally:
        for number, handler in held.items():
            signal.signal(number, handler)
        if came:
            signal.raise_signal(came[0])


# How long the monitor may take to end on a loaded machine: it waits for ranks and their output
# itself. It is waited for in checks of a second each, so that a job that is paused with all its
# processes loses one check only.
_END_CHECKS = 45
_END_CHECK_S = 1.0


def _end(process: subprocess.Popen[str]) -> None:
    """Ask a program to end (SIGTERM), and kill it where that takes longer than _END_CHECKS times
    _END_CHECK_S."""
    old = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process.terminate()
        for _ in range(_END_CHECKS):
            with suppress(subprocess.TimeoutExpired):
                process.communicate(timeout=_END_CHECK_S)
                return
        process.kill()
        process.communicate()
    finally:
        signal.signal(signal.SIGINT, old)


_MOST_FRAMES = 64


def _kernel_line(frames: Sequence[int], request: MonitorRun) -> str | None:
    """Return the innermost frame that is in a kernel, as file:line; None where there is none, its
    line is not known, or the run's options do not name exactly one program. frames: offsets into
    that program, the innermost first; _MOST_FRAMES are tried."""
    programs = [option.split("=", 1)[1] for option in request.options if "=/" in option]
    tool = shutil.which("addr2line")
    if not frames or not tool or len(programs) != 1:
        return None
    command = [tool, "-e", programs[0], *map(hex, frames[:_MOST_FRAMES])]
    if request.sandbox is not None:
        command = request.sandbox.tool_command(command, [Path(programs[0])])
    for line in output_of(command).splitlines():
        path, _, number = line.split(" (")[0].rpartition(":")
        if Path(path).name in ("kernel.c", "kernel.f90") and _LINE.fullmatch(number):
            return f"{Path(path).name}:{number}"
    return None


def worker_option(role: str, program: Path) -> list[str]:
    return ["--worker", f"{role}={program}"]


def is_of_submission(request: MonitorRun) -> bool:
    """Tell whether a run has a worker in the submission's role."""
    return any(
        word == "--worker" and of.startswith(f"{SUBMISSION}=")
        for word, of in pairwise(request.options)
    )


def replace_submission(request: MonitorRun, role: str, program: Path) -> MonitorRun:
    """Return a run with a program in place of the submission's, under `role`, and without facts for
    a record and sandbox of tools."""
    of_submission = f"{SUBMISSION}="
    options = [
        f"{role}={program}" if before == "--worker" and word.startswith(of_submission) else word
        for before, word in pairwise(["", *request.options])
    ]
    return MonitorRun(request.run, options, request.environment, pus=request.pus)


def set_options(role: str, variables: Mapping[str, str]) -> list[str]:
    return [word for key, value in variables.items() for word in ("--set", f"{role}:{key}={value}")]


def launch_options(role: str, plan: RankPlan) -> list[str]:
    """Return the monitor's options for the number of a role's ranks, and for where mpiexec binds
    them."""
    words = (word for group in binding_words(plan) for word in group)
    return [
        "--ranks", f"{role}:{len(plan.ranks)}",
        *(option for word in words for option in ("--launch", f"{role}:{word}")),
    ]  # fmt: skip


def common_options(part: str | None, threads: int, size: str, limit_s: float) -> list[str]:
    """Return options on part, threads, size of arrays and time. part: None: the lab's only kernel;
    limit_s: seconds that each phase may take."""
    return [
        *(["--part", part] if part else []),
        "--threads", str(threads), "--size", size, "--limit-s", f"{limit_s:g}",
    ]  # fmt: skip
