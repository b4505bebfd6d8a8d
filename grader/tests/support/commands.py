"""Running ./numalab as a user does."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numalab.installation import Installation

Json = dict[str, Any]
OWN_MACHINES = "NUMALAB_MACHINES"
STARTED_BY = "PYTEST_PROCESS"  # which process of pytest a command comes from
# Beyond these something hangs, on however busy a node: a command, and what comes after a moment.
COMMAND_LIMIT_S = 1800
SOON_LIMIT_S = 120


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def said(self) -> str:
        """Its messages without their line breaks, which come at 80 columns."""
        return " ".join(self.err.split())

    def no_traceback(self) -> Done:
        assert "Traceback" not in self.out + self.err, self.err
        return self


def environment(installation: Installation, **more: str) -> dict[str, str]:
    """The caller's, less what steers OpenMP or the launcher, and without machines of the user."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "NUMALAB_"))}
    own = {"NUMALAB_BUILD": str(installation.builds)} if installation.builds else {}
    own |= {OWN_MACHINES: os.environ[OWN_MACHINES]}
    # The suite sees to it itself who is alone on the node.
    turns = {"NUMALAB_TURNS": "off"}
    return kept | {"NUMALAB_PRESET": installation.preset} | turns | own | more


def without_bubblewrap(folder: Path) -> str:
    """A PATH on which everything is but that."""
    for place in os.environ["PATH"].split(":"):
        for program in Path(place).iterdir() if Path(place).is_dir() else ():
            link = folder / program.name
            if program.name != "bwrap" and not link.is_symlink():
                link.symlink_to(program)
    return str(folder)


def numalab_command(installation: Installation, *arguments: str, **env: str) -> Done:
    done = subprocess.run(
        [str(installation.root / "numalab"), *arguments],
        capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False,
        timeout=COMMAND_LIMIT_S, cwd=installation.root,
        env=environment(installation, **env),
    )  # fmt: skip
    return Done(done.returncode, done.stdout, done.stderr).no_traceback()


def grade_json(
    installation: Installation, folder: Path, *arguments: str, **env: str
) -> tuple[Done, Json]:
    """Grades and returns what was written for other tools; on this node only, unless the
    arguments name machines or say --anywhere, which is ours."""
    path = folder / "out.json"
    path.unlink(missing_ok=True)
    more = [] if {"--on", "--anywhere", "--here-only"} & set(arguments) else ["--here-only"]
    given = [argument for argument in arguments if argument != "--anywhere"]
    done = numalab_command(installation, "grade", *given, *more, "--json", str(path), **env)
    assert path.is_file(), done.err
    return done, json.loads(path.read_text())


def without_times(folder: Path) -> dict[str, str]:
    """The environment in which nothing is timed: that of a login node. folder: for what looks
    like Slurm there."""
    path = folder / "login_node"
    path.mkdir(exist_ok=True)
    (path / "sinfo").write_text("#!/bin/sh\n")
    (path / "sinfo").chmod(0o755)
    return {"PATH": f"{path}:{os.environ['PATH']}"}


def statuses(result: Json) -> dict[str, str]:
    return {criterion["name"]: criterion["status"] for criterion in result["criteria"]}


def processes_of(program: Path) -> set[int]:
    """That run it now."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                if (entry / "cmdline").read_bytes().split(b"\0")[0] == bytes(program):
                    found.add(int(entry.name))
    return found


def worker_processes(installation: Installation) -> list[str]:
    """Names of this copy's workers and monitors, and of MPI's launchers of workers, that are
    running now; of launchers only those that this process of pytest started, if only through
    others, or that name a program of this build."""
    found = []
    ours = f"{STARTED_BY}={os.environ[STARTED_BY]}".encode()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            line = (entry / "cmdline").read_bytes().split(b"\0")
            variables = (entry / "environ").read_bytes().split(b"\0")
            is_ours = ours in variables or any(
                word.startswith(bytes(installation.build / "labs")) for word in line
            )
            starts_ranks = (
                is_ours
                and any(word.startswith(b"NUMALAB_JOB=") for word in variables)
                and (entry / "cwd").resolve().is_relative_to(installation.root)
            )
        except OSError:
            continue
        program = Path(line[0].decode(errors="replace"))
        if installation.build / "labs" in program.parents or starts_ranks:
            found.append(program.name)
    return found


@contextmanager
def command_under_way(
    installation: Installation, *arguments: str
) -> Iterator[subprocess.Popen[str]]:
    """A command that ends with the test at the latest: else one that fails would leave the
    build folder locked to those after it."""
    with subprocess.Popen(
        [str(installation.root / "numalab"), *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(installation),
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            process.kill()


def wait_for(text: str, process: subprocess.Popen[str]) -> None:
    """Reads on in what the command says, up to a text."""
    assert process.stderr is not None
    for line in process.stderr:
        if text in line:
            return
    raise AssertionError(f"the command ended without saying {text!r}")


def wait_for_workers(installation: Installation) -> None:
    """Between two of them there are none for a moment, so one look that finds one is enough."""
    deadline = time.monotonic() + SOON_LIMIT_S
    while not worker_processes(installation):
        assert time.monotonic() < deadline, "no worker was started"
        time.sleep(0.01)


def assert_all_gone(installation: Installation) -> None:
    deadline = time.monotonic() + SOON_LIMIT_S
    while left := worker_processes(installation):
        assert time.monotonic() < deadline, left
        time.sleep(0.1)


def assert_goes_away(files: Callable[[], set[Path]], before: set[Path]) -> None:
    """Of temporary files that all processes of the suite make in one place: what is new is of
    another process, and goes, or was left behind, and stays."""
    deadline = time.monotonic() + SOON_LIMIT_S
    left = files() - before
    while left:
        assert time.monotonic() < deadline, left
        time.sleep(0.1)
        left &= files()


def virtual_machines(name: str) -> list[int]:
    """Processes of QEMU that show the machine of this name, and that this process of pytest
    started, if only through others."""
    found = []
    ours = f"{STARTED_BY}={os.environ[STARTED_BY]}".encode()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
                is_ours = ours in (entry / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            is_named = name.encode() in words
            if is_ours and is_named and any(b"qemu-system" in word for word in words[:8]):
                found.append(int(entry.name))
    return found


def wait_until_gone(name: str) -> list[int]:
    deadline = time.monotonic() + SOON_LIMIT_S
    while (left := virtual_machines(name)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left
