"""What a host keeps for virtual nodes: states, and what was found out about the host."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from numalab.errors import NumalabError, UserError
from numalab.processes import starting
from numalab.virtual import local_machine, snapshots
from numalab.virtual.local_machine import LocalMachine
from numalab.virtual.snapshots import Store

# ---- states ----------------------------------------------------------------------------------


def write(store: Store, key: str, size: int, time_s: float) -> None:
    with store.writing(key) as file:
        assert file is not None
        os.write(file, b"x" * size)
    with contextlib.suppress(FileNotFoundError):
        os.utime(store.folder / f"{key}.state", (time_s, time_s))


def test_the_name_of_a_state_depends_on_each_part() -> None:
    keys = [snapshots.key_of(parts) for parts in (["a", "b"], ["ab"], ["b", "a"], ["a", "b", ""])]
    assert len(set(keys)) == 4 and {len(key) for key in keys} == {32}
    assert Store(Path("/s")).most_bytes == 1_000_000_000


def test_states_go_once_they_are_too_large_together(tmp_path: Path) -> None:
    store = Store(tmp_path, most_bytes=30)
    now = time.time()
    for number, key in enumerate("abc"):
        write(store, key, 10, now - 100 + number)
    assert {path.stem for path in tmp_path.iterdir()} == set("abc"), "just as much as there may be"
    write(store, "d", 1, now - 1000)
    assert {path.stem for path in tmp_path.iterdir()} == set("bcd"), "the new one counts first"
    write(store, "e", 31, now)
    assert {path.stem for path in tmp_path.iterdir()} == set("bcd"), "too large to be kept at all"
    (tmp_path / "other").write_bytes(b"x" * 100)
    write(store, "f", 30, now)
    assert {path.name for path in tmp_path.iterdir()} == {"f.state", "other"}


def test_a_state_that_another_command_drops_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is found, and gone when it is its turn."""
    store = Store(tmp_path, most_bytes=5)
    write(store, "a", 5, 1.0)
    other = tmp_path / "a.state"
    monkeypatch.setattr(
        Path, "glob", lambda path, pattern: [other, tmp_path / "none", other, other]
    )
    write(store, "b", 1, 2.0)
    assert [path.name for path in tmp_path.iterdir()] == ["b.state"]


def test_the_first_state_of_a_name_stays(tmp_path: Path) -> None:
    store = Store(tmp_path)
    write(store, "a", 1, 0)
    write(store, "a", 2, 0)
    assert (tmp_path / "a.state").stat().st_size == 1
    assert (tmp_path / "a.state").stat().st_mode & 0o777 == 0o600
    store.drop("a")
    store.drop("a")
    assert store.read_state("a") is None


def test_a_state_that_is_opened_is_the_last_that_was_used(tmp_path: Path) -> None:
    store = Store(tmp_path)
    write(store, "a", 5, 1.0)
    before = time.time()
    file = store.read_state("a")
    assert file is not None
    assert os.read(file, 10) == b"xxxxx"
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.write(file, b"y")
    os.close(file)
    assert (tmp_path / "a.state").stat().st_mtime >= before - 1


def test_descriptors_of_states_are_closed(tmp_path: Path) -> None:
    before = {path.name for path in Path("/proc/self/fd").iterdir()}
    write(Store(tmp_path), "a", 5, 1.0)
    assert {path.name for path in Path("/proc/self/fd").iterdir()} == before


def without_nameless_files(monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.open

    def open_named(path: Any, flags: int, *more: Any, **others: Any) -> int:
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            raise OSError(errno.EOPNOTSUPP, "Operation not supported")
        return real(path, flags, *more, **others)

    monkeypatch.setattr(os, "open", open_named)


def test_what_a_killed_process_left_goes_after_an_hour(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_nameless_files(monkeypatch)
    now = 1_000_000.0
    monkeypatch.setattr(time, "time", lambda: now)
    for name, age_s in ((".new-old", 3601), (".new-young", 3600), ("other", 9000)):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (now - age_s, now - age_s))
    write(Store(tmp_path), "a", 5, now)
    assert {path.name for path in tmp_path.iterdir()} == {".new-young", "other", "a.state"}


def test_a_file_system_without_room_keeps_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    with Store(tmp_path / "file").writing("a") as file:
        assert file is None
    without_nameless_files(monkeypatch)
    with pytest.raises(RuntimeError), Store(tmp_path / "s/t").writing("a"):
        raise RuntimeError
    assert list((tmp_path / "s/t").iterdir()) == []


# ---- the host --------------------------------------------------------------------------------


@pytest.fixture
def examined(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., tuple[LocalMachine, bool]]:
    """Examines the host; tells whether the probe has run."""

    def examine(
        output: str = "", boot_id: str = "b", access: str = "a"
    ) -> tuple[LocalMachine, bool]:
        ran: list[Any] = []

        def run(command: Any, environment: Any, limit_s: float) -> Any:
            ran.append((command, limit_s))
            if output == "late":
                raise subprocess.TimeoutExpired(command, limit_s)
            if output == "none":
                raise FileNotFoundError(2, "No such file or directory")
            return SimpleNamespace(stdout=output)

        monkeypatch.setattr(starting, "run", run)
        monkeypatch.setattr(local_machine, "_boot_id", lambda: boot_id)
        monkeypatch.setattr(local_machine, "_kvm_access", lambda: access)
        found = local_machine.examine(Path("/probe"), tmp_path)
        assert ran in ([], [([Path("/probe")], 30)])
        return found, bool(ran)

    return examine


FAST = '{"tsc_khz": 2000, "kvm": true, "why": "fast"}'


def test_what_was_found_out_is_kept(examined: Any, tmp_path: Path) -> None:
    fast = LocalMachine(2000, True, "fast")
    assert examined(FAST) == (fast, True)
    assert [path.name for path in tmp_path.iterdir()] == ["host.json"]
    kept = json.loads((tmp_path / "host.json").read_text())
    assert kept == {"boot_id": "b", "kvm_access": "a", **json.loads(FAST)}
    assert examined() == (fast, False)
    assert examined(FAST, boot_id="c") == (fast, True)
    assert examined(FAST, boot_id="c", access="d") == (fast, True)
    assert examined(boot_id="c", access="d") == (fast, False)
    for _ in range(2):
        assert examined(FAST, boot_id="") == (fast, True), "nobody knows whether it has booted"
    for text in ("", "[]", "{}", "\xff", json.dumps({"boot_id": "b", "kvm_access": "a"})):
        (tmp_path / "host.json").write_text(text, encoding="latin-1")
        assert examined(FAST) == (fast, True)


def test_a_host_that_can_not_be_examined(examined: Any, tmp_path: Path) -> None:
    late = LocalMachine(0, False, "examining it took more than 30 s")
    assert examined("late") == (late, True)
    assert list(tmp_path.iterdir()) == [], "which may be otherwise next time"
    for output in ("none", "no JSON"):
        with pytest.raises(NumalabError, match=r"^the host can't be examined with /probe: "):
            examined(output)


def test_access_to_kvm_is_who_may_and_whether_this_user_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    status: Any = SimpleNamespace(st_uid=0, st_gid=104, st_mode=0o20660)
    asked: list[Any] = []

    def access(path: str, mode: int) -> bool:
        asked.append((path, mode))
        return False

    monkeypatch.setattr(Path, "stat", lambda path: status)
    monkeypatch.setattr(os, "access", access)
    assert local_machine._kvm_access() == "0:104:20660:False"
    assert asked == [("/dev/kvm", os.R_OK | os.W_OK)]

    def missing(path: Path, **how: str) -> None:
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr(Path, "stat", missing)
    assert local_machine._kvm_access() == "missing"
    monkeypatch.setattr(Path, "read_text", lambda path, **how: f"{path}\n")
    assert local_machine._boot_id() == "/proc/sys/kernel/random/boot_id"
    monkeypatch.setattr(Path, "read_text", missing)
    assert local_machine._boot_id() == ""


def test_where_a_user_keeps_what_can_be_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for variable, folder in (("", ".cache"), (str(tmp_path / "a/b"), "a/b"), ("~/c", "c")):
        monkeypatch.setenv("XDG_CACHE_HOME", variable)
        for _ in range(2):
            assert local_machine.cache_folder() == tmp_path / folder / "numalab"
        assert (tmp_path / folder / "numalab").is_dir()
    monkeypatch.setenv("XDG_CACHE_HOME", "~nobody-of-this-name/c")
    with pytest.raises(UserError, match=r"^can't make the folder ~nobody-of-this-name/c/numalab, "):
        local_machine.cache_folder()


def test_the_probe_runs_once_a_boot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    probe, ran = tmp_path / "probe", tmp_path / "ran"
    probe.write_text(
        f"#!/bin/sh\necho x >>{ran}\n"
        'echo \'{"tsc_khz": 2, "kvm": false, "why": "a loop did not end"}\'\n'
    )
    probe.chmod(0o755)
    for _ in range(2):
        assert local_machine.examine(probe, tmp_path) == local_machine.LocalMachine(
            2, False, "a loop did not end"
        )
    assert ran.read_text() == "x\n"
    monkeypatch.setattr(local_machine, "_kvm_access", lambda: "0:104:20660:True")
    local_machine.examine(probe, tmp_path)
    assert ran.read_text() == "x\nx\n"
    monkeypatch.setattr(local_machine, "_boot_id", lambda: "another")
    local_machine.examine(probe, tmp_path)
    assert ran.read_text() == "x\nx\nx\n"
    (tmp_path / "host.json").write_text("{")
    local_machine.examine(probe, tmp_path)
    assert ran.read_text() == "x\nx\nx\nx\n"
    probe.write_text("#!/bin/sh\nexit 1\n")
    monkeypatch.setattr(local_machine, "_boot_id", lambda: "a third")
    with pytest.raises(NumalabError, match="can't be examined"):
        local_machine.examine(probe, tmp_path)


def test_a_cache_that_can_not_be_written_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    with pytest.raises(UserError, match=r"/proc/nowhere/numalab.*XDG_CACHE_HOME"):
        local_machine.cache_folder()


def keep(store: snapshots.Store, key: str, content: bytes) -> None:
    with store.writing(key) as file:
        assert file is not None
        os.write(file, content)


@pytest.mark.parametrize("has_nameless_files", [True, False])
def test_snapshots_appear_whole_and_the_oldest_go(
    tmp_path: Path, has_nameless_files: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.open

    def open_named(path: Any, flags: int, *more: Any, **others: Any) -> int:
        if flags & os.O_TMPFILE == os.O_TMPFILE and not has_nameless_files:
            raise OSError(errno.EOPNOTSUPP, "Operation not supported")
        return real(path, flags, *more, **others)

    monkeypatch.setattr(os, "open", open_named)
    store = snapshots.Store(tmp_path / "s", most_bytes=250)
    for number, key in enumerate(("a", "b")):
        keep(store, key, b"x" * 100)
        os.utime(tmp_path / "s" / f"{key}.state", (number, number))
    file = store.read_state("a")  # now used after b
    assert file is not None
    assert os.read(file, 200) == b"x" * 100
    os.close(file)
    keep(store, "c", b"y" * 100)
    assert {path.name for path in (tmp_path / "s").iterdir()} == {"a.state", "c.state"}
    with pytest.raises(KeyboardInterrupt), store.writing("d"):
        raise KeyboardInterrupt
    assert store.read_state("d") is None
    store.drop("a")
    assert store.read_state("a") is None
    if not has_nameless_files:
        killed, under_way = (tmp_path / "s" / f"{snapshots._NEW}{name}" for name in "kw")
        for path, written in ((killed, 0.0), (under_way, time.time())):
            path.touch()
            os.utime(path, (written, written))
        keep(store, "e", b"z")
        assert under_way.exists() and not killed.exists()
