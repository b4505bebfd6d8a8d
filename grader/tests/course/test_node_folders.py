"""A job's folder on its node is gone when the job is, however that ends."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from numalab.course.jobs import node_folders
from numalab.course.jobs.node_folders import FOLDER, node_folder, remove_stale_workdirs
from numalab.errors import UserError


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def run(place: Path, program: str) -> int:
    """A job that does so in its folder, as node.py has its signals."""
    start = (
        "import os, signal, shutil, tempfile\n"
        "from numalab.course.jobs import node, node_folders\n"
        "signal.signal(signal.SIGTERM, node._stop)\n"
        "def stop(*_, **__): os.kill(os.getpid(), signal.SIGTERM)\n"
    )
    return subprocess.run(
        [sys.executable, "-c", start + program], check=False, start_new_session=True,
        env=os.environ | {"TMPDIR": str(place)}, stderr=subprocess.DEVNULL,
    ).returncode  # fmt: skip


def grow_old(folder: Path) -> None:
    os.utime(folder, (1, 1))


@pytest.mark.parametrize(
    "program",
    [
        # Once, again while it is under way, and again while what it leaves is removed.
        "with node_folders.node_folder() as f:\n"
        "    try:\n"
        "        stop()\n"
        "    finally:\n"
        "        (f / 'build').mkdir(); stop()",
        # While it is made, and while it is removed.
        "make = tempfile.mkdtemp\n"
        "def mkdtemp(**more):\n"
        "    stop(); return make(**more)\n"
        "tempfile.mkdtemp = mkdtemp\n"
        "with node_folders.node_folder() as f: (f / 'build').mkdir()",
        "remove = shutil.rmtree\n"
        "def rmtree(path, **more):\n"
        "    stop(); remove(path, **more)\n"
        "shutil.rmtree = rmtree\n"
        "with node_folders.node_folder() as f: (f / 'build').mkdir()",
        # By an error of its own.
        "with node_folders.node_folder() as f: (f / 'build').mkdir(); 1 / 0",
    ],
)
def test_nothing_is_left_by_a_job_that_is_ended(place: Path, program: str) -> None:
    assert run(place, program) not in (0, -signal.SIGTERM)
    assert list(place.iterdir()) == []


def test_the_next_job_removes_what_a_killed_one_has_left(place: Path) -> None:
    (place / f"{FOLDER}just-made").mkdir()
    (place / "another's").mkdir()
    assert run(place, "with node_folders.node_folder(): os.kill(0, 9)") == -signal.SIGKILL
    assert len(list(place.iterdir())) == 3
    with node_folder() as living:
        (living / "build").mkdir()
        assert len(list(place.iterdir())) == 3
        with node_folder():
            assert (living / "build").is_dir()
    assert {path.name for path in place.iterdir()} == {"another's", f"{FOLDER}just-made"}


def test_folders_of_jobs_that_were_killed_as_they_began_are_removed_later(place: Path) -> None:
    empty, unlocked, locked = (place / f"{FOLDER}{name}" for name in ("e", "u", "l"))
    for folder in (empty, unlocked, locked):
        folder.mkdir()
    for folder in (unlocked, locked):
        (folder / "owned.new").touch()
    remove_stale_workdirs(place)
    assert len(list(place.iterdir())) == 3
    for folder in (empty, unlocked, locked):
        grow_old(folder)
    with (locked / "owned.new").open("r+") as file:
        node_folders.fcntl.flock(file, node_folders.fcntl.LOCK_EX)
        remove_stale_workdirs(place)
        assert list(place.iterdir()) == [locked]
    remove_stale_workdirs(place)
    assert list(place.iterdir()) == []


def test_what_is_written_while_a_folder_is_removed_the_next_one_removes(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A grading that outlives its job for a moment."""
    remove = shutil.rmtree
    with node_folder() as folder:
        (folder / "build").mkdir()

        def rmtree(path: Path, **more: bool) -> None:
            remove(path, **more)
            if path.name == "build":
                path.mkdir()

        monkeypatch.setattr(shutil, "rmtree", rmtree)
    assert (folder / "build").is_dir()
    monkeypatch.setattr(shutil, "rmtree", remove)
    with node_folder():
        assert not folder.is_dir()
    assert list(place.iterdir()) == []


def test_a_closed_folder_is_removed_too(place: Path) -> None:
    with node_folder() as folder:
        (folder / "build" / "closed" / "inner").mkdir(parents=True)
        (folder / "build" / "closed").chmod(0)
    assert list(place.iterdir()) == []


def test_a_folder_is_its_jobs_as_soon_as_it_has_a_name(place: Path) -> None:
    with node_folder() as folder:
        assert folder.parent == place and folder.name.startswith(FOLDER)
        assert [path.name for path in folder.iterdir()] == ["owned"]
        (folder / "file").touch()
        (folder / "link").symlink_to(place)
        grow_old(folder)
        remove_stale_workdirs()
        assert (folder / "file").exists()
    assert list(place.iterdir()) == []


@pytest.mark.parametrize(("age_s", "is_left"), [(60, True), (61, False)])
@pytest.mark.parametrize("files", [[], ["owned.new"]])
def test_a_folder_of_nobodys_is_left_for_a_minute(
    place: Path, monkeypatch: pytest.MonkeyPatch, age_s: int, is_left: bool, files: list[str]
) -> None:
    folder = place / f"{FOLDER}x"
    folder.mkdir()
    for name in files:
        (folder / name).touch()
    (place / "other").mkdir()
    made_s = folder.stat().st_mtime
    monkeypatch.setattr(node_folders.time, "time", lambda: made_s + age_s)
    remove_stale_workdirs()
    assert folder.exists() == is_left and (place / "other").exists()


def test_a_folder_of_another_user_is_left(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = place / f"{FOLDER}x"
    folder.mkdir()
    (folder / "owned").touch()
    user = os.geteuid()
    monkeypatch.setattr(node_folders.os, "geteuid", lambda: user + 1)
    remove_stale_workdirs(place)
    assert folder.exists()
    monkeypatch.undo()
    remove_stale_workdirs(place)
    assert not folder.exists()


def test_a_node_without_room_for_files_is_told(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(place / "none"))
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    with pytest.raises(UserError, match="set TMPDIR"), node_folder():
        pass
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == before


def test_signals_are_heard_in_a_jobs_folder_and_behind_it(place: Path) -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    with node_folder():
        assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == before
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == before


def test_a_file_that_goes_by_itself_while_its_folder_is_removed_is_no_fault(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed, gone = Path.iterdir, ["gone"]

    def iterdir(folder: Path) -> Iterator[Path]:
        yield from [*([folder / gone.pop()] if gone else []), *listed(folder)]

    with node_folder() as folder:
        (folder / "file").touch()
        monkeypatch.setattr(Path, "iterdir", iterdir)
    assert not gone and not folder.exists()
