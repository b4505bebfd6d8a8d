"""./numalab governor: a recording as /sys has it, and what is asked about it."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner
from governor_answers import KEYS
from governor_tree import make_recording, tree

from numalab.commands.root import cli
from numalab.errors import UserError


def test_a_recording_is_written_and_asked_about(tmp_path: Path) -> None:
    folder = tmp_path / "recorded"
    done = CliRunner().invoke(cli, ["governor", "1234", "--output", str(folder)])
    assert done.exit_code == 0, done.output
    found = {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in folder.rglob("*")
        if path.is_file()
    }
    assert found == tree(make_recording(1234))
    assert (
        all(f"  {key} " in done.output for key in KEYS) and "seed           = 1234" in done.output
    )
    assert max(map(len, done.output.splitlines())) <= max(80, len(str(folder)) + 60)


def test_questions_alone_say_how_to_get_the_recording() -> None:
    done = CliRunner().invoke(cli, ["governor", "5"])
    assert done.exit_code == 0
    assert "Next: ./numalab governor 5 --output FOLDER" in done.output
    assert all(len(line) <= 80 for line in done.output.splitlines())


def test_nothing_of_anybodys_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("x")
    for target in (tmp_path, tmp_path / "mine"):
        done = CliRunner().invoke(cli, ["governor", "5", "--output", str(target)])
        assert isinstance(done.exception, UserError)
        assert "something is there; name a new folder" in str(done.exception)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_a_seed_is_a_number() -> None:
    for seed in ("0", "x", str(2**32)):
        assert CliRunner().invoke(cli, ["governor", seed]).exit_code == 2
