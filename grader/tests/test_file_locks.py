"""Locks on files, and what stands in for them where a file system has none."""

from __future__ import annotations

import errno
import fcntl
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import pytest

from numalab.course.locks import hold_lock, is_held
from numalab.errors import LockedError, UserError
from numalab.file_systems import locks as file_locks
from numalab.file_systems.locks import LockFile, stand_in
from numalab.grading import node_lock
from numalab.installation import Installation

REFUSALS = [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL, errno.EIO]


@pytest.fixture
def nodes_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where files of this node lie."""
    folder = tmp_path / "node"
    folder.mkdir()
    monkeypatch.setattr(file_locks, "_NODES_OWN", (folder,))
    return folder


@pytest.fixture
def refuse(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, Path], None]:
    """Has the files below a folder refuse every lock by an error number."""
    real = fcntl.flock

    def _refuse(number: int, below: Path) -> None:
        def flock(file: int | IO[str], how: int) -> None:
            descriptor = file if isinstance(file, int) else file.fileno()
            if Path(f"/proc/self/fd/{descriptor}").readlink().is_relative_to(below):
                raise OSError(number, os.strerror(number))
            real(file, how)

        monkeypatch.setattr(fcntl, "flock", flock)

    return _refuse


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "shared"
    folder.mkdir()
    yield folder


@pytest.mark.parametrize("number", REFUSALS)
def test_without_locks_a_file_of_the_node_keeps_a_second_command_out(
    number: int, shared: Path, nodes_own: Path, tmp_path: Path,
    refuse: Callable[[int, Path], None], capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    refuse(number, shared)
    link = tmp_path / "link"
    link.symlink_to(shared)
    installation, by_link = (Installation(tmp_path, "gnu", path) for path in (shared, link))
    with installation.lock():
        said = " ".join(capsys.readouterr().err.split())
        assert "has no file locks" in said and "other nodes are not kept out" in said
        with pytest.raises(LockedError), by_link.lock():
            pass
    with by_link.lock():
        pass
    assert [path.name for path in nodes_own.iterdir()] == [f"numalab-locks-{os.geteuid()}"]


def test_where_nothing_can_be_locked_commands_go_on_and_say_so(
    shared: Path, nodes_own: Path, tmp_path: Path, refuse: Callable[[int, Path], None],
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    refuse(errno.ENOLCK, tmp_path)
    with Installation(tmp_path, "gnu", shared).lock():
        said = " ".join(capsys.readouterr().err.split())
    assert "a second command is not kept out" in said


def test_with_locks_another_command_is_told_from_none(
    shared: Path, nodes_own: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    installation = Installation(tmp_path, "gnu", shared)
    with installation.lock(), pytest.raises(LockedError), installation.lock():
        pass
    assert not list(nodes_own.iterdir()) and not capsys.readouterr().err


def test_a_folder_of_somebody_else_stands_in_for_nothing(
    nodes_own: Path, shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = nodes_own / f"numalab-locks-{os.geteuid()}"
    folder.symlink_to(shared)
    with pytest.raises(OSError):
        stand_in(shared / "lock")
    folder.unlink()
    folder.mkdir(0o777)
    folder.chmod(0o777)
    with pytest.raises(OSError):
        stand_in(shared / "lock")
    folder.chmod(0o700)
    assert stand_in(shared / "lock").parent == folder
    assert stand_in(shared / "lock") != stand_in(shared / "other")


def busy(holder: str) -> str:
    return f"held by {holder}."


@pytest.mark.parametrize("has_locks", [True, False])
def test_a_course_is_held_by_one(
    shared: Path, nodes_own: Path, has_locks: bool, refuse: Callable[[int, Path], None]
) -> None:
    path = shared / "lock"
    if not has_locks:
        refuse(errno.ENOLCK, shared)
    assert not is_held(path)
    with hold_lock(path, busy):
        assert is_held(path)
        with pytest.raises(LockedError, match="held by"), hold_lock(path, busy):
            pass
    assert not is_held(path)
    with hold_lock(path, busy):
        pass


def test_a_look_at_a_lock_keeps_nobody_out(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """is_held() takes the lock for a moment."""
    looks = [False, True]
    monkeypatch.setattr(LockFile, "try_lock", lambda self: looks.pop(0))
    with hold_lock(shared / "lock", busy):
        pass
    assert not looks


def test_a_lock_whose_holder_can_not_be_written_is_a_users_matter(
    shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: LockFile, text: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(LockFile, "say", full)
    with pytest.raises(UserError, match=r"/lock"), hold_lock(shared / "lock", busy):
        pass
    assert not is_held(shared / "lock")


@pytest.mark.parametrize(
    ("holder", "is_left_behind"),
    [
        (f"process {2**22 + 1} on {socket.gethostname()}", True),
        (f"process {os.getpid()} on {socket.gethostname()}", False),
        (f"process {2**22 + 1} on another-node", False),
        ("", False),
    ],
    ids=["left behind", "alive", "another node's", "not yet said"],
)
def test_without_locks_a_course_is_held_across_nodes(
    shared: Path, nodes_own: Path, holder: str, is_left_behind: bool,
    refuse: Callable[[int, Path], None],
) -> None:  # fmt: skip
    """What a killed process has left keeps nobody out on its own node."""
    refuse(errno.ENOLCK, shared)
    mark = shared / "lock.held"
    mark.write_text(holder)
    (shared / "lock").touch()
    assert is_held(shared / "lock") is not is_left_behind
    if is_left_behind:
        with hold_lock(shared / "lock", busy):
            assert str(os.getpid()) in mark.read_text()
        assert not mark.exists()
        return
    with pytest.raises(LockedError) as told, hold_lock(shared / "lock", busy):
        pass
    assert f"remove {mark}" in str(told.value)
    assert (holder or "has not said its name") in str(told.value)


@pytest.mark.parametrize("has_stand_in", [True, False])
def test_without_locks_a_batch_takes_turns_elsewhere(
    shared: Path, nodes_own: Path, tmp_path: Path, has_stand_in: bool,
    refuse: Callable[[int, Path], None], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    refuse(errno.ENOLCK, shared if has_stand_in else tmp_path)
    monkeypatch.setenv(node_lock.VARIABLE, str(shared / "turns"))
    monkeypatch.setattr(node_lock, "NODE", tmp_path / "of-all")
    told: list[str] = []
    with node_lock.share_node(told.append) as first:
        met = [lock.path.parent.parent for lock in first.locks]
        assert (nodes_own in met) is has_stand_in
        with first.exclusive(told.append):
            pass
        if has_stand_in:
            with ExitStack() as stack, pytest.raises(RuntimeError):

                def wait(text: str) -> None:
                    raise RuntimeError(text)  # would wait

                other = stack.enter_context(node_lock.share_node(wait))
                other.take(fcntl.LOCK_EX, wait)
    assert any("turns" in text for text in told) is not has_stand_in


def test_a_lock_says_what_it_lacks(shared: Path, refuse: Callable[[int, Path], None]) -> None:
    with LockFile(shared / "lock") as file:
        assert file.try_lock() and not file.lacks and not file.warning
