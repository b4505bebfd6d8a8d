"""Whose a build folder is: in a copy of numalab, in one that was moved, by links, and with the
clock set back. CMake's cache stands for the build."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from numalab.errors import NumalabError, UserError
from numalab.harness import build
from numalab.harness.build_folder import UNUSABLE, check_build_folder, drop_foreign_build
from numalab.installation import Installation

CACHE = "CMAKE_PROJECT_NAME:STATIC={}\nCMAKE_CACHEFILE_DIR:INTERNAL={}\n{}:INTERNAL={}\n"
OF_USER = ("results/01/record.json", "handouts/0.1/kernel.c", "jupyter/runtime/kernel", "lock")
BUILT = ("build.ninja", ".ninja_log", "labs/01/worker", "common/describe_node", "CMakeFiles/x")


def make_kit(root: Path, preset: str = "gnu", builds: Path | None = None) -> Installation:
    installation = Installation(root, preset, builds)
    for name in (*OF_USER, *BUILT):
        (installation.build / name).parent.mkdir(parents=True, exist_ok=True)
        (installation.build / name).touch()
    write_cache(installation.build, installation.build, root)
    return installation


def write_cache(at: Path, build: Path, source: Path, project: str = "numalab") -> None:
    """As CMake does, which puts quotes around what has a blank at an end."""
    values = [f"'{path}'" if str(path).endswith(" ") else str(path) for path in (build, source)]
    text = CACHE.format(project, values[0], "CMAKE_HOME_DIRECTORY", values[1])
    (at / "CMakeCache.txt").write_bytes(os.fsencode(text))


def assert_dropped(installation: Installation, said: str, why: str) -> None:
    told = " ".join(said.split())
    assert why in told and "building anew" in told
    assert not any((installation.build / name).exists() for name in (*BUILT, "CMakeCache.txt"))
    assert all((installation.build / name).exists() for name in OF_USER)


@pytest.mark.parametrize("preset", ["gnu", "llvm", "sanitize"])
@pytest.mark.parametrize("name", ["kit", "my kit ", "Übung 'c' %d", os.fsdecode(b"a\xdcb")])
def test_ones_own_build_stays_by_whatever_link_it_is_reached(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, preset: str
) -> None:
    installation = make_kit(tmp_path / name, preset)
    (tmp_path / "link").symlink_to(installation.root)
    for root in (installation.root, tmp_path / "link"):
        drop_foreign_build(Installation(root, preset))
    assert capsys.readouterr().err == "" and (installation.build / "labs/01/worker").exists()


@pytest.mark.parametrize("preset", ["gnu", "llvm", "sanitize"])
@pytest.mark.parametrize("is_moved", [False, True])
def test_a_copy_builds_anew(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], preset: str, is_moved: bool
) -> None:
    """Whether the original is there or gone; which keeps its build."""
    original = make_kit(tmp_path / "original", preset)
    copy = Installation(tmp_path / "copy", preset)
    (shutil.move if is_moved else shutil.copytree)(original.root, copy.root)
    (tmp_path / "link").symlink_to(copy.root)
    drop_foreign_build(Installation(tmp_path / "link", preset))
    assert_dropped(copy, capsys.readouterr().err, f"from {original.root}")
    assert is_moved or (original.build / "labs/01/worker").exists()


def test_a_build_elsewhere_is_of_one_copy_and_of_one_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """That of NUMALAB_BUILD: another copy's, and one that was itself copied."""
    builds = tmp_path / "builds"
    installation = make_kit(tmp_path / "kit", builds=builds)
    shutil.copytree(builds, tmp_path / "others")
    moved = Installation(installation.root, "gnu", tmp_path / "others")
    drop_foreign_build(moved)
    assert_dropped(moved, capsys.readouterr().err, "")
    (tmp_path / "copy").mkdir()
    drop_foreign_build(Installation(tmp_path / "copy", "gnu", builds))
    assert_dropped(installation, capsys.readouterr().err, f"from {installation.root}")


def test_another_projects_build_is_left_alone(tmp_path: Path) -> None:
    installation = make_kit(tmp_path / "kit")
    write_cache(installation.build, installation.build, tmp_path, "solver")
    with pytest.raises(UserError, match="another project"):
        drop_foreign_build(installation)
    assert (installation.build / "labs/01/worker").exists()


def test_a_build_of_later_than_now_is_no_build(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    installation = make_kit(tmp_path / "kit")
    for shift_s, is_dropped in ((-60, False), (3600, True)):
        later = time.time() + shift_s
        os.utime(installation.build / ".ninja_log", (later, later))
        drop_foreign_build(installation)
        assert (installation.build / "labs/01/worker").exists() is not is_dropped
    assert_dropped(installation, capsys.readouterr().err, "later than now")


@pytest.mark.parametrize("character", sorted(UNUSABLE))
def test_a_build_folder_that_cmake_can_not_take_is_refused(tmp_path: Path, character: str) -> None:
    with pytest.raises(UserError, match="set NUMALAB_BUILD to a folder elsewhere"):
        check_build_folder(Installation(tmp_path, "gnu", tmp_path / f"a{character}b"))


def test_a_build_folder_that_can_not_be_made_is_a_users_matter(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="NUMALAB_BUILD"):
        check_build_folder(Installation(tmp_path, "gnu", tmp_path / "file" / "build"))


def test_a_file_system_without_execute_permissions_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_build_folder(Installation(tmp_path))
    monkeypatch.setattr(Path, "chmod", lambda *_: None)  # as one of Windows takes it
    with pytest.raises(UserError, match="can't be run in"):
        check_build_folder(Installation(tmp_path))


@pytest.mark.parametrize("content", [None, b"{", b"\xff"])
def test_facts_of_a_build_that_are_damaged_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None
) -> None:
    monkeypatch.setattr(build, "configure", lambda installation: None)
    installation = make_kit(tmp_path)
    if content is not None:
        (installation.build / "build.json").write_bytes(content)
    with pytest.raises(NumalabError, match=r"build\.json"):
        build.build_facts(installation)
