"""Folders without room: told by what the system says of one, whatever a program says then."""

from __future__ import annotations

import errno
import json
import os
import subprocess
from pathlib import Path

import pytest
from support.commands import environment

from numalab.errors import NumalabError, UserError, reason_of
from numalab.file_systems import room
from numalab.files import write_whole
from numalab.harness import build, monitor
from numalab.installation import Installation
from numalab.virtual import kernel


def fill(monkeypatch: pytest.MonkeyPatch, folder: Path, number: int = errno.ENOSPC) -> None:
    """Let a folder look full."""
    real = os.posix_fallocate

    def allocate(file: int, offset: int, size: int) -> None:
        if Path(f"/proc/self/fd/{file}").readlink().is_relative_to(folder):
            raise OSError(number, os.strerror(number))
        real(file, offset, size)

    monkeypatch.setattr(os, "posix_fallocate", allocate)


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


@pytest.mark.parametrize("number", sorted(room.NO_ROOM))
def test_a_full_folder_for_temporary_files_is_named_with_a_way_on(
    temporary: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    assert room.shortage() == ""
    fill(monkeypatch, temporary, number)
    assert f"no space left in TMPDIR ({temporary})" in room.shortage()
    assert "set TMPDIR to a folder with room" in room.shortage()


@pytest.mark.parametrize("number", [errno.EIO, errno.EFBIG, errno.EACCES])
def test_what_else_a_system_refuses_is_no_shortage(
    temporary: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    fill(monkeypatch, temporary, number)
    assert room.shortage() == ""
    monkeypatch.setenv("TMPDIR", "/nowhere")
    assert room.shortage() == ""


def test_commands_that_measure_stop_before_they_begin(
    tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installation = Installation(tmp_path, "gnu", tmp_path / "build")
    fill(monkeypatch, temporary)
    with pytest.raises(NumalabError, match="TMPDIR"), installation.lock():
        pass
    fill(monkeypatch, installation.build)
    monkeypatch.delenv("TMPDIR")
    with (
        pytest.raises(NumalabError, match=f"{installation.build}.*NUMALAB_BUILD"),
        installation.lock(),
    ):
        pass


def test_where_a_build_has_failed_a_full_folder_is_named_and_no_kernel(
    tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installation = Installation(tmp_path, "gnu", tmp_path / "build")
    failed = subprocess.CompletedProcess(["ninja"], 1, "clang: error: linker command failed")
    monkeypatch.setattr(build, "configure", lambda installation: None)
    monkeypatch.setattr(build, "_run", lambda command, cwd, sandbox: failed)
    assert build._ninja(installation, ["all"]) is failed
    fill(monkeypatch, temporary)
    with pytest.raises(NumalabError, match="no space left in TMPDIR"):
        build._ninja(installation, ["all"])


def test_a_reason_names_the_file_or_the_folder_that_is_full(
    tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = OSError(errno.ENOSPC, "No space left on device")
    assert reason_of(full) == "No space left on device"
    fill(monkeypatch, temporary)
    assert f"TMPDIR ({temporary})" in reason_of(full)
    copied = OSError(errno.ENOSPC, "No space left on device", "/from", None, "/to")
    assert reason_of(copied) == "No space left on device (/to)"
    assert reason_of(OSError(errno.EACCES, "Permission denied", "/x")) == "Permission denied (/x)"


def test_a_file_that_can_not_be_written_whole_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write_text(self: Path, text: str, encoding: str = "") -> None:
        raise OSError(errno.EDQUOT, "Disk quota exceeded")

    monkeypatch.setattr(Path, "write_text", write_text)
    with pytest.raises(OSError) as told:
        write_whole(tmp_path / "file", "text")
    assert reason_of(told.value) == f"Disk quota exceeded ({tmp_path / 'file'})"


class Place:
    """Where a run's programs come to the end that a test wants."""

    name, slowness, monitor_options = "here", 1.0, ()

    def __init__(self, output: str) -> None:
        self.output = output

    def execute(self, command: object, environment: object) -> monitor.Finished:
        return monitor.Finished(0, self.output, "")


@pytest.mark.parametrize("ended", ["SIGBUS", "SIGSEGV", "no record"])
def test_a_program_that_ends_for_want_of_room_is_no_kernels_fault(
    temporary: Path, monkeypatch: pytest.MonkeyPatch, ended: str
) -> None:
    """ThreadSanitizer maps a file of TMPDIR, and OpenMP's library one of /dev/shm."""
    outcome = {"status": "crashed", "signal": ended, "printed_bytes": 0}
    record = json.dumps({
        "kind": "race", "lab": "x", "part": None, "team": 1, "role": "submission", "sizes": [],
        "outcome": outcome,
    })  # fmt: skip
    output = record if ended != "no record" else ""
    place = Place(output)
    monkeypatch.setattr(monitor, "THIS_MACHINE", place)
    lab = type("Lab", (), {"name": "lab"})()
    asked = monitor.MonitorRun("correct", [], {})
    run = lambda: monitor.run_monitor(Installation(Path("/kit")), lab, asked, place)  # noqa: E731
    if ended != "no record":
        assert run().outcome.signal == ended
    fill(monkeypatch, temporary)
    if ended == "SIGSEGV":
        assert run().outcome.signal == ended
        return
    with pytest.raises(NumalabError, match="no space left in TMPDIR"):
        run()


def test_a_kernel_for_virtual_nodes_finds_no_room_and_needs_no_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, 100, "", "E: write (28: No space left)")

    monkeypatch.setattr(kernel, "_run", run)
    monkeypatch.setattr(kernel, "_package_names", lambda folder, lists: [["linux-image"]])
    store = tmp_path / "kernels"
    with pytest.raises(UserError, match="Is there a network"):
        kernel._fetched(store, lambda step: None)
    fill(monkeypatch, store)
    with pytest.raises(NumalabError, match=f"no space left in {store}.*XDG_CACHE_HOME"):
        kernel._fetched(store, lambda step: None)


ON_A_SMALL_DISK = 'mount -t tmpfs -o size=$1 tmpfs "$2" && shift 2 && exec "$@"'


@pytest.mark.builds
@pytest.mark.parametrize("variable", ["TMPDIR", "NUMALAB_BUILD"])
def test_a_disk_that_is_full_is_named(
    installation: Installation, tmp_path: Path, variable: str
) -> None:
    """In a mount namespace of its own."""
    small = tmp_path / "small"
    small.mkdir()
    command = ["unshare", "-rm", "sh", "-c", ON_A_SMALL_DISK, "sh", "200k", str(small)]
    if subprocess.run([*command, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("no namespaces for users here")
    done = subprocess.run(
        [*command, str(installation.root / "numalab"), "grade", "01", "--quick", "--here-only"],
        capture_output=True, text=True, check=False,
        env=environment(installation) | {variable: str(small)},
    )  # fmt: skip
    assert done.returncode == 3, done.stdout + done.stderr
    said = " ".join(done.stderr.split())
    assert "no space left in" in said and str(small) in said
    assert "does not compile" not in done.stdout and "Traceback" not in done.stderr
