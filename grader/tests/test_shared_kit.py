"""A kit that many share: each user's folders, and that nobody else sees into them."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from support.commands import Done, numalab_command
from support.desks import make_desk

from numalab.errors import UserError
from numalab.grading.own_files import provide
from numalab.installation import (
    RECORD,
    Installation,
    find_installation,
    is_shared,
    make_private,
    own_places,
)
from numalab.labs.declaration import Lab

LAB = "01_first_touch"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def shared(installation: Installation, tmp_path: Path) -> Path:
    """The folder of an installed kit."""
    root = make_desk(installation, tmp_path).root
    (root / RECORD).write_text("{}\n")
    return root


def kit_of(root: Path, user: Path) -> Installation:
    return Installation(root, "gnu", user / "builds", user / "numalab", user / "state")


def told(notes: list[str]) -> str:
    return " ".join(notes)


# ---- which folders ---------------------------------------------------------------------


def test_an_installed_kit_is_shared_even_by_its_owner(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMALAB_ROOT", str(shared))
    monkeypatch.setenv("HOME", str(tmp_path / "ada"))
    for name in ("NUMALAB_BUILD", "NUMALAB_WORK", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    found = find_installation("gnu")
    home = tmp_path / "ada"
    assert found.own_folder(LAB) == home / "numalab" / "labs" / LAB
    assert found.lab_folder(LAB) == shared / "labs" / LAB
    assert found.notebooks == home / "numalab" / "notebooks"
    assert found.progress_file == home / ".local" / "state" / "numalab" / "progress.json"
    assert found.build.is_relative_to(home / ".cache" / "numalab" / "builds")
    results = found.results_folder(LAB, "c", "submission")
    assert results.is_relative_to(home / ".local" / "state" / "numalab" / "gnu")
    (shared / RECORD).unlink()
    own = find_installation("gnu")
    assert own.own_folder(LAB) == own.lab_folder(LAB)
    assert own.build == shared / "build" / "gnu"
    assert not home.exists(), "nothing is made before it is needed"


def test_a_kit_that_can_not_be_written_to_is_shared(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not is_shared(installation.root)
    monkeypatch.setattr("os.access", lambda path, how: path != installation.root / "labs")
    assert is_shared(installation.root)


def test_folders_are_where_the_user_says(tmp_path: Path) -> None:
    own = own_places(
        tmp_path, {"XDG_CACHE_HOME": "/c", "XDG_STATE_HOME": "/s", "NUMALAB_WORK": "/w"}
    )
    assert (own.work, own.state) == (Path("/w"), Path("/s/numalab"))
    assert own.builds.parent == Path("/c/numalab/builds")
    other = own_places(tmp_path / "beside", {"XDG_CACHE_HOME": "/c"})
    assert other.builds != own.builds, "two kits are built apart"


def test_results_of_a_user_who_names_a_build_folder_lie_there(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMALAB_ROOT", str(shared))
    monkeypatch.setenv("NUMALAB_BUILD", str(tmp_path / "scratch"))
    found = find_installation("gnu")
    assert found.results_folder(LAB, "c", "submission").is_relative_to(tmp_path / "scratch" / "gnu")
    with found.lock():
        assert mode(tmp_path / "scratch") == 0o700


# ---- who sees what ---------------------------------------------------------------------


@pytest.mark.parametrize("umask", [0o022, 0o000])
def test_private_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    (tmp_path / "old").mkdir(mode=0o755)
    before = os.umask(umask)
    try:
        for name in ("new", "old"):
            make_private(tmp_path / name)
            assert mode(tmp_path / name) == 0o700
    finally:
        os.umask(before)


def test_a_folder_of_another_user_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one finds it who sets XDG_STATE_HOME to a folder that others write to."""
    (tmp_path / "numalab").mkdir()
    monkeypatch.setattr("os.geteuid", lambda: (tmp_path / "numalab").stat().st_uid + 1)
    with pytest.raises(UserError, match="belongs to another user"):
        make_private(tmp_path / "numalab")


def test_two_users_see_nothing_of_each_other(
    installation: Installation, shared: Path, tmp_path: Path
) -> None:
    before = {path: path.lstat().st_mtime_ns for path in sorted(shared.rglob("*"))}

    def command(user: str, *words: str) -> Done:
        home = tmp_path / user
        home.mkdir(exist_ok=True)
        desk = Installation(shared, installation.preset)
        return numalab_command(
            desk, *words, HOME=str(home), XDG_CACHE_HOME="", XDG_STATE_HOME="", NUMALAB_WORK=""
        )

    assert "Hint 1 of 3" in command("ada", "hint", "01").out
    assert "Hint 2 of 3" in command("ada", "hint", "01").out
    assert "Hint 1 of 3" in command("ben", "hint", "01").out
    for user in ("ada", "ben"):
        state = tmp_path / user / ".local" / "state" / "numalab"
        assert mode(state) == 0o700
        assert (state / "hints.json").is_file()
        assert all(
            mode(folder) == 0o700
            for folder in (tmp_path / user / ".cache" / "numalab" / "builds").iterdir()
        )
    after = {path: path.lstat().st_mtime_ns for path in sorted(shared.rglob("*"))}
    assert after == before, "the kit is as it was"


# ---- what is edited --------------------------------------------------------------------


def test_files_are_copied_once_and_never_again(
    shared: Path, tmp_path: Path, first_touch: Lab
) -> None:
    installation, notes = kit_of(shared, tmp_path / "ada"), list[str]()
    (shared / "labs" / LAB / "kernel.c").chmod(0o444)
    provide(installation, [first_touch], notes.append)
    assert str(tmp_path / "ada" / "numalab") in told(notes)
    folder = installation.own_folder(LAB)
    assert mode(tmp_path / "ada" / "numalab") == 0o700
    handout = (shared / "labs" / LAB / "kernel.c").read_text()
    assert (folder / "kernel.c").read_text() == handout
    (folder / "kernel.c").write_text("mine\n")
    (folder / "kernel.f90").unlink()
    notes.clear()
    provide(installation, [first_touch], notes.append)
    assert notes == []
    assert (folder / "kernel.c").read_text() == "mine\n"
    assert not (folder / "kernel.f90").exists(), "what was removed stays away"
    assert (folder / "README.md").read_text().startswith("# ")
    assert installation.is_own(folder) and installation.shown(folder) == Path("labs") / LAB


def test_links_and_the_command_follow_a_kit_that_moved(
    installation: Installation, shared: Path, tmp_path: Path, first_touch: Lab
) -> None:
    user = tmp_path / "ada"
    provide(kit_of(shared, user), [first_touch], lambda text: None)
    own = user / "numalab" / "labs" / LAB / "first_touch.h"
    own.unlink()
    own.write_text("/* mine */\n")
    moved = shared.rename(tmp_path / "version 2")
    provide(kit_of(moved, user), [first_touch], lambda text: None)
    assert (own.parent / "README.md").resolve() == moved / "labs" / LAB / "README.md"
    assert own.read_text() == "/* mine */\n"
    done = numalab_command(Installation(user / "numalab", installation.preset), "--version")
    assert done.code == 0 and "numalab" in done.out


def test_a_folder_that_can_not_be_made_is_named(
    shared: Path, tmp_path: Path, first_touch: Lab
) -> None:
    from numalab.errors import NumalabError

    (tmp_path / "ada").write_text("in the way\n")
    with pytest.raises(NumalabError, match="NUMALAB_WORK"):
        provide(kit_of(shared, tmp_path / "ada"), [first_touch], lambda text: None)


@pytest.mark.parametrize("words", [("test", "tests/none"), ("notebook", "01", "--publish")])
def test_what_changes_the_kit_is_refused(
    installation: Installation,
    shared: Path,
    tmp_path: Path,
    words: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NUMALAB_ROOT", str(shared))
    from click.testing import CliRunner

    from numalab.commands.root import cli

    result = CliRunner().invoke(cli, words, env={"NUMALAB_ROOT": str(shared)})
    assert isinstance(result.exception, UserError)
    assert "shared by many" in str(result.exception)
