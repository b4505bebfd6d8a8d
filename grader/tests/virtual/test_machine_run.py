"""`numalab machine run` as a user calls it."""

from __future__ import annotations

import os
import pty
import random
import re
import select
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from support.commands import (
    SOON_LIMIT_S,
    Done,
    environment,
    numalab_command,
    virtual_machines,
    wait_until_gone,
)

from numalab.installation import Installation
from numalab.machines.gallery import gallery_folder
from numalab.virtual import local_machine
from numalab.virtual.kernel import find_kernel
from numalab.virtual.qemu import PROGRAM
from numalab.virtual.qemu_process import confining_words

pytestmark = pytest.mark.boots

Json = dict[str, Any]


def machine_run(installation: Installation, *arguments: str, **env: str) -> Done:
    return numalab_command(installation, "machine", "run", *arguments, **env)


# ---- a command ------------------------------------------------------------------------------


def test_published_distances_are_seen(installation: Installation) -> None:
    done = machine_run(installation, "hydra", "--", "numactl", "-H")
    assert done.code == 0, done.err
    assert "available: 2 nodes (0-1)" in done.out
    assert re.search(r"0: +10 +21", done.out) and re.search(r"1: +21 +10", done.out)
    assert "scaled down" in done.err and "4 of 16 cores" in done.err


def test_exit_code_and_output_pass_through(installation: Installation) -> None:
    done = machine_run(installation, "laptop", "sh", "-c", "echo out; echo err >&2; exit 7")
    assert (done.code, done.out) == (7, "out\n")
    assert "err\n" in done.err
    assert machine_run(installation, "laptop", "--", "sh", "-c", "kill -SEGV $$").code == 139


def test_results_come_back_and_the_rest_is_read_only(
    installation: Installation, tmp_path: Path
) -> None:
    out = tmp_path / "a, b" / "out"
    command = 'cp labs/01_first_touch/kernel.c "$NUMALAB_RESULTS" && touch labs/new'
    done = machine_run(installation, "laptop", "--results", str(out), "--", "sh", "-c", command)
    assert done.code == 1 and "Read-only file system" in done.err
    ours = installation.lab_folder("01_first_touch") / "kernel.c"
    assert (out / "kernel.c").read_bytes() == ours.read_bytes()


def test_input_passes_through(installation: Installation) -> None:
    sent = bytes(range(256)) * 4096
    done = subprocess.run(
        [installation.root / "numalab", "machine", "run", "laptop", "--", "md5sum"],
        input=sent,
        capture_output=True,
        env=environment(installation),
        cwd=installation.root,
        check=False,
    )
    here = subprocess.run(["md5sum"], input=sent, capture_output=True, check=True)
    assert done.stdout == here.stdout


def start_command(installation: Installation, *arguments: str, **env: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [str(installation.root / "numalab"), "machine", "run", *arguments],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=environment(installation, **env), cwd=installation.root,
    )  # fmt: skip


def test_ctrl_c_reaches_the_command(installation: Installation) -> None:
    script = "trap 'echo caught; exit 5' INT; echo ready; while :; do sleep 0.1; done"
    process = start_command(installation, "laptop", "--", "sh", "-c", script)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    (qemu,) = virtual_machines("laptop")
    if confining_words(PROGRAM):
        assert "\nSeccomp:\t2\n" in Path(f"/proc/{qemu}/status").read_text()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=SOON_LIMIT_S)
    assert (process.returncode, out) == (5, "caught\n"), err
    assert wait_until_gone("laptop") == []
    assert "Traceback" not in err


def test_ctrl_c_again_ends_a_command_that_ignores_it(installation: Installation) -> None:
    script = "trap 'echo ignored' INT; echo ready; while :; do sleep 0.1; done"
    process = start_command(installation, "laptop", "--", "sh", "-c", script)
    assert process.stdout is not None
    for answer in ("ready\n", "ignored\n"):  # two signals at once would be one
        assert process.stdout.readline() == answer
        process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=SOON_LIMIT_S)
    assert process.returncode == 137, err


def test_a_command_at_a_terminal_gets_one(installation: Installation) -> None:
    script = "test -t 0 && test -t 1 && stty size && read line && echo got $line"
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(installation.root)
        command = [
            str(installation.root / "numalab"),
            "machine",
            "run",
            "laptop",
            "--",
            "sh",
            "-c",
            script,
        ]
        os.execve(command[0], command, environment(installation))
    seen, answered = b"", False
    deadline = time.monotonic() + SOON_LIMIT_S
    while time.monotonic() < deadline:
        if not select.select([terminal], [], [], 1)[0]:
            continue
        try:
            data = os.read(terminal, 4096)
        except OSError:
            break
        seen += data
        if not answered and re.search(rb"\d+ \d+\r\n", seen):
            os.write(terminal, b"word\r")
            answered = True
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 0, seen
    assert b"got word" in seen


# ---- what goes wrong ------------------------------------------------------------------------


def test_an_unknown_machine_lists_near_names(installation: Installation) -> None:
    done = machine_run(installation, "nebular", "--", "true")
    assert done.code == 2
    assert "nebula" in done.said and "westmere-ex" in done.said


def test_a_command_that_is_not_visible_is_said_to_be(
    installation: Installation, tmp_path: Path
) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\necho here\n")
    program.chmod(0o755)
    done = machine_run(installation, "laptop", "--", str(program))
    assert done.code == 127 and "does not see it" in done.said and "--share DIR" in done.said
    done = machine_run(installation, "laptop", "--share", str(tmp_path), "--", str(program))
    assert (done.code, done.out) == (0, "here\n"), done.err


def test_a_guest_that_does_not_come_up_is_ended(installation: Installation) -> None:
    done = machine_run(installation, "laptop", "--no-snapshot", "--boot-limit", "1", "--", "true")
    assert done.code == 3
    assert "laptop did not come up within 1 s" in done.said and "console" in done.said
    assert wait_until_gone("laptop") == []


def test_the_least_memory_is_enough(installation: Installation) -> None:
    done = machine_run(installation, "hydra", "--no-snapshot", "--node-memory", "160", "--", "true")
    assert done.code == 0, done.err
    done = machine_run(installation, "hydra", "--node-memory", "20", "--", "true")
    assert done.code == 2 and "--node-memory 20" in done.said


def test_a_guest_that_ends_itself_is_told_with_its_last_words(installation: Installation) -> None:
    done = machine_run(
        installation, "laptop", "--", "sh", "-c", "echo o >/proc/sysrq-trigger; sleep 60"
    )
    assert done.code == 3
    assert "QEMU ended, and laptop with it" in done.said and "Power Off" in done.said


def test_empty_arguments_stay_arguments(installation: Installation) -> None:
    done = machine_run(installation, "laptop", "--", "printf", "<%s>", "", "a", "")
    assert (done.code, done.out) == (0, "<><a><>")


@pytest.mark.parametrize("redirection", ["<&-", "0>/dev/null", "</dev/null"])
def test_input_may_be_closed(installation: Installation, redirection: str) -> None:
    done = subprocess.run(
        f"./numalab machine run laptop -- sh -c 'cat; echo done' {redirection}",
        shell=True,
        capture_output=True,
        text=True,
        env=environment(installation),
        cwd=installation.root,
        check=False,
        timeout=600,
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def test_who_writes_for_ever_in_the_background_is_ended(installation: Installation) -> None:
    done = machine_run(installation, "laptop", "--", "sh", "-c", "yes & true")
    assert done.code == 0
    assert set(done.out) <= {"y", "\n"}


def test_folders_that_a_node_has_of_its_own_are_no_place_to_be(installation: Installation) -> None:
    done = subprocess.run(
        [installation.root / "numalab", "machine", "run", "laptop", "--", "true"],
        capture_output=True, text=True, env=environment(installation), cwd="/tmp", check=False,
    )  # fmt: skip
    assert done.returncode == 2 and "/tmp of its own" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--guest-kernel", "/etc/hostname"), "no Linux kernel"),
        (("--guest-kernel", "/no/such"), "No such file"),
        (("--share", "/no/such"), "no such folder"),
        (("--results", "/proc/none"), "--results /proc/none"),
        (("--node-memory", "9000000"), "needs 9000300 MiB"),
        (("--full", "--cores", "2"), "exclude each other"),
    ],
)
def test_bad_options_are_told(
    installation: Installation, arguments: tuple[str, ...], says: str
) -> None:
    done = machine_run(installation, "laptop", *arguments, "--", "true")
    assert done.code == 2
    assert says in done.said


def test_a_file_with_a_mistake_is_told_by_line(installation: Installation, tmp_path: Path) -> None:
    text = (gallery_folder(installation) / "hydra.toml").read_text()
    file = tmp_path / "hydra.toml"
    file.write_text(text.replace("[[10, 21], [21, 10]]", "[[10, 21]]"))
    line = next(i for i, row in enumerate(text.splitlines(), 1) if row.startswith("distances"))
    done = machine_run(installation, str(file), "--", "true")
    assert done.code == 2
    assert f"{file}:{line}: " in done.said


# ---- killed ----------------------------------------------------------------------------------


@pytest.fixture
def marked(installation: Installation, tmp_path: Path) -> Path:
    """A machine of a name of its own, so that its processes can be told."""
    text = (gallery_folder(installation) / "hydra.toml").read_text()
    file = tmp_path / f"killed-{os.getpid()}.toml"
    file.write_text(text.replace('name = "hydra"', f'name = "{file.stem}"'))
    return file


@pytest.fixture
def own_folders(tmp_path: Path) -> dict[str, str]:
    """A temporary folder and a cache that nobody else writes to; the kernel is the kit's."""
    folders = {"TMPDIR": tmp_path / "tmp", "XDG_CACHE_HOME": tmp_path / "cache"}
    for folder in folders.values():
        (folder / "numalab").mkdir(parents=True)
    kernel = find_kernel(local_machine.cache_folder() / "kernels", None, print).image.parent
    (tmp_path / "cache" / "numalab" / "kernels").mkdir()
    (tmp_path / "cache" / "numalab" / "kernels" / kernel.name).symlink_to(kernel)
    return {name: str(folder) for name, folder in folders.items()}


@pytest.mark.slow
def test_killing_it_at_any_time_leaves_nothing_behind(
    installation: Installation, marked: Path, own_folders: dict[str, str]
) -> None:
    """Random moments, from the start over a boot and its snapshot to the command."""
    chance = random.Random(20)
    top = Path(own_folders["TMPDIR"]).parent

    def leftovers() -> set[Path]:
        files = set(top.rglob("*")) - before
        return {path for path in files if path.suffix != ".state" and path.name != "host.json"}

    before = set(top.rglob("*")) | {top / "cache" / "numalab" / "snapshots"}
    for number in range(5):
        options = ["--no-snapshot"] if number % 4 == 3 else []
        process = start_command(
            installation, str(marked), *options, "--", "sleep", "1000", **own_folders
        )
        time.sleep(chance.uniform(0, 4.5 if number < 3 or options else 2.0))
        # A busy host takes longer to come as far as its snapshot.
        deadline = time.monotonic() + 240
        while number == 2 and not list(top.rglob("*.state")) and time.monotonic() < deadline:
            time.sleep(0.1)
        number_of_signal = signal.SIGTERM if number % 5 == 4 else signal.SIGKILL
        process.send_signal(number_of_signal)
        process.communicate(timeout=SOON_LIMIT_S)
        assert process.returncode != 0
        assert wait_until_gone(marked.stem) == []
        assert leftovers() == set()
    assert list(top.rglob("*.state"))  # it was killed late enough to have come that far
