"""Machines in a user's own folder: where it is, how they come there, and what finds them."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from support.commands import numalab_command
from support.exports import hwloc_export

from numalab.commands.machine_import import import_command
from numalab.commands.shared import named_machines
from numalab.errors import UserError
from numalab.installation import Installation
from numalab.machines.gallery import (
    find_machine,
    gallery_folder,
    known_names,
    load_gallery,
    machine_names,
    published_latencies,
)
from numalab.machines.machine_file import load_machine
from numalab.machines.own import load_own, own_folder, own_names


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "own" / "machines"
    monkeypatch.setenv("NUMALAB_MACHINES", str(folder))
    return folder


def test_where_the_folder_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("NUMALAB_MACHINES", raising=False)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    assert own_folder() == tmp_path / ".local/share/numalab/machines"
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    assert own_folder() == tmp_path / ".local/share/numalab/machines"
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert own_folder() == Path("/data/numalab/machines")
    monkeypatch.setenv("NUMALAB_MACHINES", "mine")
    assert own_folder() == Path.cwd() / "mine"


def test_without_a_home_there_is_no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("NUMALAB_MACHINES", raising=False)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    with pytest.raises(UserError, match="name a folder in NUMALAB_MACHINES"):
        own_folder()
    assert own_names() == []
    assert load_own(()) == ({}, [])
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert own_folder() == Path("/data/numalab/machines")


def small_machine(name: str) -> str:
    return f'name = "{name}"\ntitle = "x"\nsource = "x"\n[[numa_node]]\npackage = 0\npus = ["0"]\n'


def test_what_finds_a_machine(
    installation: Installation, own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder, name in ((own, "zz"), (own, "aa"), (own, "hydra"), (tmp_path, "bare")):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.toml").write_text(small_machine(name))
    assert own_names() == ["aa", "hydra", "zz"]
    assert known_names(installation) == [*machine_names(installation), "aa", "zz"]
    assert find_machine(installation, "aa").pus == 1
    assert find_machine(installation, "hydra").pus == 32
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for path in ("bare.toml", "./bare.toml", "~/bare.toml", str(tmp_path / "bare.toml")):
        assert find_machine(installation, path).name == "bare"
    (tmp_path / "none").write_text(small_machine("none"))
    assert find_machine(installation, "./none").name == "none"
    with pytest.raises(UserError):
        find_machine(installation, "~nobody-of-this-name/m.toml")
    with pytest.raises(UserError, match="there is no machine 'bare'"):
        find_machine(installation, "bare")
    machines, mistakes = load_own(machine_names(installation))
    assert (list(machines), len(mistakes)) == (["aa", "zz"], 1)
    assert mistakes[0].startswith(f"{own / 'hydra.toml'}: the kit has a machine 'hydra' itself")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("Hydr", "'Hydr'. Did you mean hydra? The machines are: a64fx, aurora, "),
        ("GH200X", "'GH200X'. Did you mean gh200x4 or gh200? The machines are: "),
        ("noctu", "'noctu'. Did you mean noctua or noctua2? The machines are: "),
        ("nehm", "'nehm'. Did you mean nhm"),
        ("qqqqqqq", "'qqqqqqq'. The machines are: a64fx, aurora, "),
    ],
)
def test_a_name_that_no_machine_has(
    installation: Installation, own: Path, name: str, hint: str
) -> None:
    with pytest.raises(UserError) as caught:
        find_machine(installation, name)
    said = str(caught.value)
    assert said.startswith(f"there is no machine {hint}")
    assert "westmere-ex, xeon-max; seeded-N is made" in said and "yours" not in said


def test_at_most_three_names_are_near(installation: Installation, own: Path) -> None:
    own.mkdir(parents=True)
    for name in ("mine1", "mine2", "mine3", "mine4"):
        (own / f"{name}.toml").write_text(small_machine(name))
    with pytest.raises(UserError) as caught:
        find_machine(installation, "mine")
    said = str(caught.value)
    assert said.split("Did you mean ")[1].split("?")[0].count(" or ") == 2
    assert ", and yours mine1, mine2, mine3, mine4; seeded-N" in said


def test_published_latencies_are_hydras(installation: Installation) -> None:
    assert published_latencies(installation) == find_machine(installation, "hydra").latencies != ()


def test_a_gallery_is_in_the_order_of_names(installation: Installation, tmp_path: Path) -> None:
    for name in ("c", "a", "b"):
        (tmp_path / f"{name}.toml").write_text(small_machine(name))
    (tmp_path / "README.md").write_text("")
    found = load_gallery(tmp_path)
    assert list(found) == ["a", "b", "c"] and found["b"].name == "b"


def test_import_and_what_finds_it(installation: Installation, own: Path, tmp_path: Path) -> None:
    at = {"NUMALAB_MACHINES": str(own)}
    command = ("machine", "import", "pack:2 numa:4 l3:2 core:8 pu:2")
    assert "give one, such as --name" in numalab_command(installation, *command, **at).said
    done = numalab_command(installation, *command, "--name", "big", **at)
    assert done.code == 0, done.err
    assert "is read as a synthetic description" in done.out
    assert "machine show big" in done.out
    assert load_machine(own / "big.toml").pus == 256
    (own / "big.toml").write_text((own / "big.toml").read_text() + "# kept\n")
    again = numalab_command(installation, *command, "--name", "big", **at)
    assert again.code == 2
    assert "--force" in again.said
    assert "# kept" in (own / "big.toml").read_text()
    taken = numalab_command(installation, *command, "--name", "hydra", **at)
    assert taken.code == 2
    assert "the kit has a machine 'hydra' itself" in taken.said
    assert own_names() == ["big"]
    assert find_machine(installation, "big").pus == 256
    assert known_names(installation) == [*machine_names(installation), "big"]
    shown = numalab_command(installation, "machine", "show", "big", **at)
    assert shown.code == 0, shown.err
    assert "256 PUs" in shown.out
    near = installation.lab_folder("06_message_latency") / "near.toml"
    planned = numalab_command(
        installation, "launch", str(near), "--machine", "big", "--print", "--", "x", **at
    )
    assert planned.code == 0, planned.err
    assert "mpiexec" in planned.out
    with pytest.raises(UserError, match=r"Did you mean big.*and yours big"):
        find_machine(installation, "bigg")


def test_list_shows_the_users_own_apart_and_what_is_wrong_with_them(
    installation: Installation, own: Path
) -> None:
    own.mkdir(parents=True)
    hydra = (installation.root / "common/machines/hydra.toml").read_text()
    (own / "mine.toml").write_text(hydra.replace('name = "hydra"', 'name = "mine"'))
    (own / "broken.toml").write_text("name = ")
    (own / "hydra.toml").write_text(hydra.replace("TU Wien", "nobody"))
    (own / "notes.txt").write_text("no machine")
    done = numalab_command(installation, "machine", "list", NUMALAB_MACHINES=str(own))
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    heading = next(index for index, line in enumerate(lines) if line == f"Yours, in {own}:")
    assert lines[heading + 2].startswith("mine ")
    assert [line.split()[0] for line in lines[:heading]].count("hydra") == 1
    assert f"Not read: {own}/broken.toml:1:" in done.said
    assert "the kit has a machine 'hydra' itself" in done.said
    machines, mistakes = load_own({"hydra"})
    assert list(machines) == ["mine"]
    assert len(mistakes) == 2
    assert find_machine(installation, "hydra").title != "nobody"
    with pytest.raises(UserError, match=r"broken\.toml:1"):
        find_machine(installation, "broken")


def test_import_to_a_place_of_choice(installation: Installation, own: Path, tmp_path: Path) -> None:
    path = hwloc_export(tmp_path, "--if", "synthetic", "-i", "pack:2 core:2 pu:1")
    target = tmp_path / "ours.toml"
    command = ("machine", "import", str(path), "--output", str(target))
    done = numalab_command(installation, *command, NUMALAB_MACHINES=str(own))
    assert done.code == 0, done.err
    assert load_machine(target).pus == 4
    target.write_text("kept")
    again = numalab_command(installation, *command)
    assert again.code == 2
    assert "--force" in again.err
    assert target.read_text() == "kept"
    assert numalab_command(installation, *command, "--force").code == 0
    assert not own.exists()


def test_a_file_with_a_synthetic_name_is_a_file(
    installation: Installation, own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hwloc_export(tmp_path, "--if", "synthetic", "-i", "pack:2 core:2 pu:1").rename(
        tmp_path / "pu:9"
    )
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(import_command, ["pu:9", "--name", "x"], obj=installation)
    assert "A file is called 'pu:9': it is read" in done.output
    assert load_machine(own / "x.toml").pus == 4
    (tmp_path / "pu:9").unlink()
    done = CliRunner().invoke(import_command, ["pu:9", "--name", "y"], obj=installation)
    assert "No file is called 'pu:9'" in done.output
    assert load_machine(own / "y.toml").pus == 9


def test_a_folder_that_cannot_be_made(installation: Installation, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = numalab_command(
        installation,
        "machine",
        "import",
        "pu:2",
        "--name",
        "x",
        NUMALAB_MACHINES=str(tmp_path / "file/x"),
    )
    assert done.code == 2
    assert "NUMALAB_MACHINES" in done.said


def test_what_a_strangers_file_holds_steers_no_terminal(tmp_path: Path) -> None:
    """Control characters as TOML escapes them, and what turns the writing direction round."""
    path = tmp_path / "theirs.toml"
    texts = {key: rf"{key}\u001b]0;title\u0007\u202eend" for key in ("title", "source")}
    lines = [f'{key} = "{text}"' for key, text in texts.items()]
    path.write_text(
        "\n".join(['name = "theirs"', *lines, r'notes = ["a\u009b2J"]'])
        + '\n[[numa_node]]\npackage = 0\npus = ["0-1"]\n'
    )
    machine = load_machine(path)
    assert machine.title == r"title\x1b]0;title\x07<U+202E>end"
    assert machine.source == r"source\x1b]0;title\x07<U+202E>end"
    assert machine.notes == (r"a\x9b2J",)


def test_a_verdict_names_the_kits_machine_or_none(
    installation: Installation, tmp_path: Path
) -> None:
    """A file of one's own may be called as one of the kit's; what is graded on it would pass for
    that."""
    theirs = gallery_folder(installation) / "nhm.toml"
    same = tmp_path / "nhm.toml"
    same.write_text(theirs.read_text())
    assert [machine.name for machine in named_machines(installation, [str(same)])] == ["nhm"]
    same.write_text(theirs.read_text() + "# mine\n")
    with pytest.raises(UserError, match="the kit has a machine 'nhm' itself"):
        named_machines(installation, [str(same)])
    assert find_machine(installation, str(same)).name == "nhm"  # to show it, or run it
    other = tmp_path / "mine.toml"
    other.write_text(theirs.read_text().replace('name = "nhm"', 'name = "mine"'))
    assert [machine.name for machine in named_machines(installation, [str(other), "nhm"])] == [
        "mine",
        "nhm",
    ]
