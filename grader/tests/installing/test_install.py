"""./numalab install: what it refuses, what it copies, and what users get."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import stat
import subprocess
from pathlib import Path

import pytest
from support.desks import make_desk

from numalab import __version__
from numalab.errors import NumalabError, UserError
from numalab.installation import Installation
from numalab.installing import install as installing
from numalab.installing.copying import check_handouts, copy_files, make_readable, numalab_files
from numalab.installing.install import KINDS, Wish, check_needs, environment_for, modulefile
from numalab.installing.prefix import Prefix, chosen_prefix, is_readable_by_all
from numalab.labs.declaration import Lab


def silent(step: str) -> None:
    del step


# ---- prefixes that can't be ------------------------------------------------------------


def test_a_good_prefix_is_taken(installation: Installation, tmp_path: Path) -> None:
    for path in (tmp_path / "new" / "deep", tmp_path):
        assert chosen_prefix(path, installation.root, "1").path == path.resolve()


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda root, tmp: Path("/"), "name a folder"),
        (lambda root, tmp: root / "installed", "lies in this copy"),
        (lambda root, tmp: root, "lies in this copy"),
        (lambda root, tmp: tmp / "two words", "blanks"),
        (lambda root, tmp: tmp / "a:b", "blanks"),
        (lambda root, tmp: tmp / 'a"b', "blanks"),
        (lambda root, tmp: tmp / "file", "is a file"),
        (lambda root, tmp: tmp / "file" / "below", "is a file"),
        (lambda root, tmp: tmp / "other", "not made by ./numalab install"),
        (lambda root, tmp: tmp / "complete", "installed in .* already"),
    ],
)  # fmt: skip
def test_others_are_refused(
    installation: Installation, tmp_path: Path, make: object, says: str
) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "other" / "bin").mkdir(parents=True)
    (tmp_path / "other" / "bin" / "numalab").write_text("somebody's\n")
    complete = Prefix(tmp_path / "complete")
    complete.root.mkdir(parents=True)
    complete.record.write_text('{"version": "0.0.9"}')
    assert callable(make)
    with pytest.raises(UserError, match=says):
        chosen_prefix(make(installation.root, tmp_path), installation.root, "1")
    assert (tmp_path / "other" / "bin" / "numalab").read_text() == "somebody's\n"


def test_a_folder_that_may_not_be_written_to_is_named(
    installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda path, how: False)
    with pytest.raises(UserError, match=f"may not write to {tmp_path}"):
        chosen_prefix(tmp_path / "new", installation.root, "1")


def test_one_that_would_hold_its_own_source_is_refused(tmp_path: Path) -> None:
    root = tmp_path / "share" / "numalab" / "checkout"
    root.mkdir(parents=True)
    with pytest.raises(UserError, match=r"lies in .* itself"):
        chosen_prefix(tmp_path, root, "1")


def test_an_edited_handout_is_not_given_to_a_class(
    installation: Installation, tmp_path: Path, labs: dict[str, Lab]
) -> None:
    desk = make_desk(installation, tmp_path)
    check_handouts(desk, list(labs.values()))
    kernel = desk.root / "labs" / "01_first_touch" / "kernel.c"
    kernel.write_text(kernel.read_text() + "\n")
    with pytest.raises(UserError, match=r"^labs/01_first_touch/kernel.c: no longer the handout"):
        check_handouts(desk, list(labs.values()))


# ---- copying ---------------------------------------------------------------------------


def test_what_is_of_the_kit_is_copied_and_nothing_else(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    kept = (
        "numalab",
        "labs/01/kernel.c",
        "grader/src/numalab/installation.py",
        "grader/recipes/README.md",
    )
    left = (
        ".git/HEAD",
        ".venv/bin/python",
        "build/gnu/build.ninja",
        "notebooks/01/explore.ipynb",
        "labs/01/explanation.txt",
        "grader/src/numalab/__pycache__/kit.pyc",
        "grader/tests/test.py",
        "installation.json",
        "labs/01/.ipynb_checkpoints/a",
        "common/a.mod",
    )
    for name in (*kept, *left):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(name)
        os.utime(source / name, (1, 1))
    (source / "numalab").chmod(0o700)
    (source / "labs/01/kernel.c").chmod(0o600)
    assert copy_files(source, target, numalab_files(source)) == len(kept)
    assert {str(p.relative_to(target)) for p in target.rglob("*") if p.is_file()} == set(kept)
    modes = {name: stat.S_IMODE((target / name).stat().st_mode) for name in kept}
    assert modes["numalab"] == 0o755 and modes["labs/01/kernel.c"] == 0o644
    # Else a user's build would think that it has seen a newer file already.
    assert all((target / name).stat().st_mtime > 1 for name in kept)


def test_readers_read_and_nobody_else_writes(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir(mode=0o700)
    for name, before in (("text", 0o600), ("program", 0o770), ("open", 0o666)):
        (tmp_path / "a" / name).write_text("")
        (tmp_path / "a" / name).chmod(before)
    (tmp_path / "a" / "link").symlink_to("/nowhere")
    make_readable(tmp_path / "a")
    modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in (tmp_path / "a").glob("[!l]*")}
    assert modes == {"text": 0o644, "program": 0o755, "open": 0o644}
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o755


def test_programs_that_others_can_not_reach_are_left_out(tmp_path: Path) -> None:
    mine = tmp_path / "home" / "bin"
    mine.mkdir(parents=True)
    (tmp_path / "home").chmod(0o700)
    open_folder = tmp_path / "open"
    open_folder.mkdir()
    (open_folder / "python3").symlink_to(mine / "python3")  # as a virtual environment has it
    given = {
        "PATH": f"{mine}:/usr/bin:{open_folder}::/no/such",
        "NUMALAB_BUILD": "/b",
        "HOME": "/h",
    }
    assert environment_for(given) == {"PATH": "/usr/bin", "HOME": "/h"}
    assert is_readable_by_all(Path("/usr/bin")) and not is_readable_by_all(mine)


# ---- all of it, with a stand-in for set-up ---------------------------------------------

SET_UP = """#!/bin/sh
mkdir -p .venv/bin
ln -sf /bin/sh .venv/bin/python
echo "$@" "$NUMALAB_BUILD" >set-up
[ ! -e {broken} ] || {{ echo "no network" >&2; exit 3; }}
"""


@pytest.fixture
def source(
    installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Installation:
    """A kit as far as an installation looks at it."""
    root = tmp_path / "kit"
    (root / "labs").mkdir(parents=True)
    shutil.copytree(
        installation.root / "grader" / "recipes" / "modules",
        root / "grader" / "recipes" / "modules",
    )
    (root / "numalab").write_text(SET_UP.format(broken=tmp_path / "broken"))
    (root / "numalab").chmod(0o755)

    def no_kernel(*given: object) -> None:
        del given
        raise UserError("none is here")

    monkeypatch.setattr(installing, "find_kernel", no_kernel)
    return Installation(root, "gnu")


def test_it_goes_on_where_it_was_interrupted(source: Installation, tmp_path: Path) -> None:
    (tmp_path / "broken").write_text("")
    prefix = chosen_prefix(tmp_path / "installed", source.root, __version__)
    with pytest.raises(NumalabError, match="no network"):
        installing.install(source, Wish(prefix), silent)
    assert prefix.mark.exists() and not prefix.record.exists()
    (tmp_path / "broken").unlink()
    again = chosen_prefix(tmp_path / "installed", source.root, __version__)
    done = installing.install(source, Wish(again, needs=["GCC/13.3.0"]), silent)
    assert done.no_kernel == "none is here"
    assert not prefix.mark.exists()
    assert json.loads(prefix.record.read_text())["needs"] == ["GCC/13.3.0"]
    asked = (prefix.root / "set-up").read_text().split()
    assert asked[:5] == ["--preset", "gnu", "setup", "--yes", "--notebooks"]
    assert not Path(asked[5]).exists(), "what was built to see whether it can be is gone"
    assert f"exec sh {prefix.root}/numalab" in prefix.command.read_text()
    with pytest.raises(UserError, match="already"):
        chosen_prefix(tmp_path / "installed", source.root, __version__)


# ---- modulefiles -----------------------------------------------------------------------


@pytest.fixture
def modules(installation: Installation, tmp_path: Path) -> Prefix:
    """Modulefiles of a prefix, and one of a compiler that they load."""
    prefix = Prefix(tmp_path / "sw")
    templates = installation.root / "grader" / "recipes" / "modules"
    needs = {"lmod": 'setenv("GCC", "here")\n', "tcl": "#%Module\nsetenv GCC here\n"}
    for kind, needed in needs.items():
        path = prefix.modulefile(kind, "1.2")
        path.parent.mkdir(parents=True)
        path.write_text(modulefile(templates, kind, prefix, "1.2", ["gcc/13"]))
        other = prefix.modules / kind / "gcc" / f"13{path.suffix if kind == 'lmod' else ''}"
        other.parent.mkdir()
        other.write_text(needed)
    return prefix


@pytest.mark.parametrize("kind", KINDS)
def test_modulefiles_are_filled_in(modules: Prefix, kind: str) -> None:
    text = modules.modulefile(kind, "1.2").read_text()
    assert "@" not in text
    assert f"{modules.path}/bin" in text and f"{modules.path}/share/numalab" in text
    assert "gcc/13" in text
    assert text.startswith("#%Module" if kind == "tcl" else "-- ")


def test_modules_that_are_none_are_refused() -> None:
    check_needs(["GCC/13.3.0", "mpi/openmpi-x86_64", "foss/2024a"])
    for name in ('a")os.execute("x', "a b", "", "-f", "[exec x]"):
        with pytest.raises(UserError, match="no module's name"):
            check_needs([name])


def shown(command: list[str], modules: Prefix, kind: str, *words: str) -> list[str]:
    """PATH, folder of the kit, GCC and names of modules as a shell has them after `module WORD
    numalab` for each word."""
    env = {"PATH": "/usr/bin:/bin", "MODULEPATH": str(modules.modules / kind), "HOME": "/nowhere"}
    steps = [f'eval "$({shlex.join([*command, "bash", word, "numalab"])})"' for word in words]
    script = "\n".join([*steps, 'echo "$PATH|$NUMALAB_KIT|$GCC|$LOADEDMODULES"'])
    done = subprocess.run(
        ["bash", "-ec", script], env=env, capture_output=True, text=True, check=True
    )
    return done.stdout.strip().split("|")


def check_modulefile(command: list[str], modules: Prefix, kind: str) -> None:
    path, kit_folder, gcc, names = shown(command, modules, kind, "load")
    assert path.startswith(f"{modules.path}/bin:")
    assert (kit_folder, gcc) == (f"{modules.path}/share/numalab", "here")
    assert "numalab/1.2" in names
    path, kit_folder, _, names = shown(command, modules, kind, "load", "unload")
    assert (path, kit_folder) == ("/usr/bin:/bin", "")
    assert "numalab" not in names


def test_environment_modules_loads_it(modules: Prefix) -> None:
    command = shutil.which("modulecmd")
    if command is None:
        pytest.skip("Environment Modules is not installed")
    check_modulefile([command], modules, "tcl")


def test_lmod_loads_it(modules: Prefix) -> None:
    command = os.environ.get("LMOD_CMD", "/usr/share/lmod/lmod/libexec/lmod")
    if not Path(command).is_file():
        pytest.skip("Lmod is not installed")
    check_modulefile([command], modules, "lmod")
