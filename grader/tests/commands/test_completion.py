"""Completion as bash does it, through the launcher."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import click
import pytest
from support.commands import environment, numalab_command

from numalab.commands import completing
from numalab.errors import UserError
from numalab.installation import Installation
from numalab.labs.declaration import lab_names
from numalab.machines.gallery import machine_names

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")


def completed(installation: Installation, *cases: tuple[str, ...]) -> list[list[str]]:
    """What bash would offer for the last word of each command line."""
    script = ['eval "$(./numalab completion bash)"', "complete -p numalab >&2"]
    for words in cases:
        script += [
            f"COMP_WORDS=({shlex.join(words)}) COMP_CWORD={len(words) - 1} COMPREPLY=()",
            "_numalab_completion ./numalab",
            'IFS=" "; echo "${COMPREPLY[*]}"',
        ]
    done = subprocess.run(
        ["bash", "--norc", "-c", "\n".join(script)],
        capture_output=True,
        text=True,
        cwd=installation.root,
        env=environment(installation),
        check=True,
    )
    assert "-F _numalab_completion numalab" in done.stderr
    return [line.split() for line in done.stdout.splitlines()]


def test_bash_completes(installation: Installation) -> None:
    labs = lab_names(installation.root)
    program = "./numalab"
    expected = {
        (program, "wat"): ["watch"],
        (program, "machine", "s"): ["show"],
        (program, "grade", ""): labs,
        (program, "grade", labs[0], "0"): [name for name in labs[1:] if name.startswith("0")],
        (program, "watch", "3"): ["03_scheduling"],
        (program, "grade", "--here"): ["--here-only"],
        (program, "watch", "01", "--lang", "f"): ["fortran"],
        (program, "grade", "01", "--on", "w"): ["westmere-ep", "westmere-ex"],
        (program, "machine", "show", ""): machine_names(installation),
        (program, "hint", "06", ""): ["ping_pong", "near", "far", "predict"],
        (program, "hint", "99", ""): [],
    }
    assert dict(zip(expected, completed(installation, *expected), strict=True)) == expected


def test_hidden_commands_are_not_offered(installation: Installation) -> None:
    (commands,) = completed(installation, ("./numalab", ""))
    assert {"grade", "hint", "progress", "watch"} <= set(commands)
    assert not {"measure", "criterion"} & set(commands)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_a_script(installation: Installation, shell: str) -> None:
    done = numalab_command(installation, "completion", shell)
    assert done.code == 0
    assert "_NUMALAB_COMPLETE" in done.out and f"{shell}_complete" in done.out


def test_completing_sets_nothing_up(installation: Installation, tmp_path: Path) -> None:
    """In a copy of the kit that is not set up yet, with no tool that could do it."""
    shutil.copy(installation.root / "numalab", tmp_path)
    shutil.copytree(installation.root / "common" / "setup", tmp_path / "common" / "setup")
    (tmp_path / "bin").mkdir()
    for tool in ("sh", "dirname", "date"):
        found = shutil.which(tool)
        assert found is not None
        (tmp_path / "bin" / tool).symlink_to(found)

    def launched(*words: str, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [tmp_path / "numalab", *words],
            capture_output=True, text=True, env={"PATH": str(tmp_path / "bin"), **env},
            check=False,
        )  # fmt: skip

    asked = launched(_NUMALAB_COMPLETE="bash_complete", COMP_WORDS="numalab", COMP_CWORD="1")
    assert (asked.returncode, asked.stdout, asked.stderr) == (0, "", "")
    script = launched("completion", "bash")
    assert script.returncode == 3 and "first run ./numalab setup" in script.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bin", "common", "numalab"]


def test_a_copy_whose_user_has_no_home_offers_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless(preset: str) -> Installation:
        raise UserError("this user has no home folder")

    monkeypatch.setattr(completing, "find_installation", homeless)
    context = click.Context(click.Command("grade"))
    assert completing.complete_lab(context, click.Argument(["lab"]), "0") == []
