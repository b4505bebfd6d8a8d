"""Golden texts: held, written again by several processes, and none left over."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support import golden_texts
from support.golden_texts import KIT, GoldenTexts, read, to_lines, write

LONG = "It works. " + 12 * "word " + "end; " + 9 * "more " + "(2.5 s)"
TEXTS = [
    "",
    "a",
    "one\n\ntwo\n",
    "| a\n+ b",
    " indented",
    "tail ",
    LONG,
    f"{LONG}\n\n{LONG}",
    "é\r\n",
]
MODULE = """
import pytest
from support.golden_texts import check_text, raises_text


@pytest.mark.parametrize("name", ["a", "b"])
def test_each(name, tmp_path):
    check_text(f"{name} in {tmp_path}/{name}")
    check_text([name, "", WORD])


def test_refusal():
    with raises_text(ValueError):
        raise ValueError(WORD)
"""
CONFTEST = """
from support.golden_texts import GoldenTexts, add_option as pytest_addoption


def pytest_configure(config):
    config.pluginmanager.register(GoldenTexts(config), GoldenTexts.NAME)
"""
HELD = """test_each[a]

| a in TMP/a

| a
|
| first

test_each[b]

| b in TMP/b

| b
|
| first

test_refusal

| first
"""


def test_a_file_holds_any_text() -> None:
    texts = {"test_x[a b]": TEXTS, "test_y": ["z"]}
    assert read(write(texts)) == texts


def test_long_lines_break_behind_sentences() -> None:
    lines = to_lines(LONG)
    assert lines[0] == "| It works." and lines[1].endswith("end;") and len(lines) == 3
    assert to_lines("Short. And one line.") == ["| Short. And one line."]


def test_each_golden_text_is_of_a_test(pytestconfig: pytest.Config) -> None:
    plugin = pytestconfig.pluginmanager.get_plugin(GoldenTexts.NAME)
    assert plugin is not None and not plugin.unused(), (
        "./numalab test --quick --rewrite-golden drops them"
    )
    files = (KIT / "grader" / "tests").rglob(f"{golden_texts.FOLDER}/*.txt")
    alone = [f for f in files if not (f.parents[1] / f"{f.stem}.py").is_file()]
    assert not alone, "delete them: they have no module"


class Suite:
    """A folder with one test module."""

    def __init__(self, folder: Path) -> None:
        self.tests = folder / "tests"
        self.tests.mkdir()
        (self.tests / "conftest.py").write_text(CONFTEST)
        self.held = self.tests / golden_texts.FOLDER / "test_them.txt"
        self.word("first")

    def word(self, word: str, module: str = MODULE) -> None:
        (self.tests / "test_them.py").write_text(f"WORD = {word!r}\n{module}")

    def run(self, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
             "-c", str(KIT / "grader" / "pyproject.toml"), f"--rootdir={self.tests.parent}",
             *arguments],
            cwd=self.tests.parent, capture_output=True, text=True, check=False,
            env={name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"},
        )  # fmt: skip
        return done.stdout + done.stderr


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    return Suite(tmp_path)


def test_texts_are_written_held_and_dropped(suite: Suite) -> None:
    """A run of pytest of its own, in rewrite mode with two processes."""
    assert "not the golden text" in suite.run("tests/test_them.py")
    suite.run(golden_texts.OPTION, "-n", "2", "tests/test_them.py")
    assert suite.held.read_text() == HELD
    assert "3 passed" in suite.run("tests")
    suite.word("second")
    assert "3 failed" in suite.run("tests")
    suite.run(golden_texts.OPTION, "tests/test_them.py::test_refusal")
    assert suite.held.read_text() == HELD[: -len("first\n")] + "second\n", "of others as before"
    suite.word("first", MODULE.replace("    check_text([name,", "    str([name,"))
    assert "2 failed, 1 passed" not in suite.run("tests", "-k", "each"), "the refusal is not run"
    assert "2 failed" in suite.run("tests", "-k", "each"), "texts are left over"
    suite.word("first", MODULE.replace("test_each", "test_all"))
    suite.run(golden_texts.OPTION, "tests")
    assert suite.held.read_text() == HELD.replace("test_each", "test_all")
    suite.word("first", "def test_none():\n    pass\n")
    suite.run(golden_texts.OPTION, "tests")
    assert not suite.held.exists()


def test_a_text_of_no_test_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the modules of which all tests are collected."""
    file = "tests/test_x.py"
    monkeypatch.setattr(
        golden_texts, "golden_texts", lambda path: {"test_a": ["x"], "test_b": ["y"]}
    )
    plugin = object.__new__(GoldenTexts)
    plugin.root = KIT
    plugin.whole_modules = {file: [f"{file}::test_a", f"{file}::test_c"]}
    assert plugin.unused() == [f"{file}::test_b"]
    plugin.whole_modules = {}
    assert plugin.unused() == []


def test_texts_of_fixtures_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched, pytest.raises(RuntimeError, match="while a test runs"):
        patched.setattr(golden_texts, "_running", [])
        golden_texts.check_text("x")
