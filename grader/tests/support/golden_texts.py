"""Golden texts: what numalab writes and draws, whole, so that tests need not quote it.

A test calls `check_text`, `check_verdict` or `raises_text`. The texts of a module's tests stand in
golden_texts/MODULE.txt next to it, by the test's name, in the order in which they are checked;
`./numalab test --quick --rewrite-golden` writes them again: review the difference. A test fails if
a text differs, has no golden text, or if golden texts are left over. Below a test's name each line
of a text follows "| ", or "+ " where only a space was before it: long lines break behind sentences.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from numalab.judging.verdict import Cause, CriterionVerdict, Status

KIT = Path(__file__).resolve().parents[3]
OPTION = "--rewrite-golden"
FOLDER = "golden_texts"  # next to the modules
LINE_LENGTH = 100
_SENTENCE_END = re.compile(r"(?<=[.;!?]) (?=\S)")
_LINE_OF_KIT = re.compile(r"(KIT/[^\s:]+):\d+\b")

Texts = dict[str, list[str]]  # of a module, by test: its name with parameters


@dataclass
class _Running:
    """The test that runs. file: its module's, below pytest's root folder; golden: its texts in
    golden_file, None where they are written again."""

    file: str
    golden_file: Path
    places: Mapping[str, str]
    golden: Sequence[str] | None
    texts: list[str] = field(default_factory=list)


_running: list[_Running] = []


# ---- for tests ----------------------------------------------------------------------------


def check_text(text: str | Iterable[str]) -> None:
    """Assert that a text, or lines of one, is the next golden text of the test that runs. The
    test's temporary folder is written as TMP, numalab's as KIT, lines of its files as LINE."""
    __tracebackhide__ = True
    if not _running:
        raise RuntimeError("golden texts are checked while a test runs, not in its fixtures")
    test = _running[-1]
    whole = text if isinstance(text, str) else "\n".join(text)
    for place, name in test.places.items():
        whole = whole.replace(place, name)
    whole = _LINE_OF_KIT.sub(r"\1:LINE", whole)
    test.texts.append(whole)
    if test.golden is None:
        return
    number = len(test.texts) - 1
    expected = test.golden[number] if number < len(test.golden) else None
    if expected != whole:
        _fail(test, [] if expected is None else to_lines(expected), to_lines(whole))


def check_verdict(verdict: CriterionVerdict, status: Status, cause: Cause) -> None:
    """Assert a verdict's status and cause, and that its sentence is the next golden text."""
    __tracebackhide__ = True
    assert (verdict.status, verdict.cause) == (status, cause), verdict.why
    check_text(verdict.why)


@contextmanager
def raises_text(*errors: type[BaseException]) -> Iterator[pytest.ExceptionInfo[BaseException]]:
    """Assert that one of these errors is raised, and that its message is the next golden text."""
    __tracebackhide__ = True
    with pytest.raises(errors) as raised:
        yield raised
    check_text(str(raised.value))


def _fail(test: _Running, expected: Sequence[str], actual: Sequence[str]) -> None:
    __tracebackhide__ = True
    difference = "\n".join(difflib.ndiff(expected, actual))
    pytest.fail(
        f"not the golden text ({test.golden_file}):\n{difference}\n"
        f"If the new text is right: ./numalab test {test.file} {OPTION}",
        pytrace=True,
    )


# ---- files --------------------------------------------------------------------------------


def golden_file(module: Path) -> Path:
    """Return the path of a test module's golden texts."""
    return module.parent / FOLDER / f"{module.stem}.txt"


def to_lines(text: str) -> list[str]:
    """Return a text's lines as they are written."""
    lines = []
    for line in text.split("\n"):
        parts = _SENTENCE_END.split(line) if len(line) > LINE_LENGTH else [line]
        lines += [f"{'+' if number else '|'} {part}" for number, part in enumerate(parts)]
    return ["|" if line == "| " else line for line in lines]


def write(texts: Mapping[str, Sequence[str]]) -> str:
    """Return the content of a module's file."""
    blocks = []
    for test, of_test in texts.items():
        blocks += [[test], *(to_lines(text) for text in of_test)]
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


def read(content: str) -> Texts:
    """Return the texts of a module by its file's content."""
    texts: Texts = {}
    test = ""
    for block in content.removesuffix("\n").split("\n\n"):
        if not block.startswith("|"):
            test = block
            texts[test] = []
            continue
        lines: list[str] = []
        for line in block.split("\n"):
            if line.startswith("+ "):
                lines[-1] += line[1:]
            else:
                lines.append(line[2:])
        texts[test].append("\n".join(lines))
    return texts


@cache
def golden_texts(path: Path) -> Texts:
    """Return the golden texts of a golden file, none where there is no file."""
    return read(path.read_bytes().decode()) if path.is_file() else {}


# ---- for conftest.py ------------------------------------------------------------------------


def add_option(parser: pytest.Parser) -> None:
    parser.addoption(
        OPTION, action="store_true", help="write golden texts again, of the tests that are run"
    )


class GoldenTexts:
    """A plugin of pytest. Every process keeps what its tests check; where texts are written again,
    workers of xdist hand theirs over when they end, and the main process writes the files.

    Attributes:
        whole_modules: test ids by file, of those of which every test was collected.
        checked: texts by test id, of tests that passed.
    """

    NAME = "golden_texts"

    def __init__(self, config: pytest.Config) -> None:
        self.is_rewriting = bool(config.getoption("rewrite_golden"))
        self.root = config.rootpath
        self.whole_modules: dict[str, list[str]] = {}
        self.checked: Texts = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        by_name = [argument.partition("::")[0] for argument in config.args if "::" in argument]
        for item in items:
            file = item.nodeid.partition("::")[0]
            if not any(Path(name).name == Path(file).name for name in by_name):
                self.whole_modules.setdefault(file, []).append(item.nodeid)

    def unused(self) -> list[str]:
        """Return the ids of golden texts of which there is no test."""
        unused = []
        for file, nodeids in self.whole_modules.items():
            texts = golden_texts(golden_file(self.root / file))
            unused += sorted({f"{file}::{test}" for test in texts} - {*nodeids})
        return unused

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        file, _, test = item.nodeid.partition("::")
        path = golden_file(self.root / file)
        golden = None if self.is_rewriting else golden_texts(path).get(test, [])
        running = _Running(file, path, _places(item), golden)
        _running.append(running)
        try:
            result = yield
        finally:
            _running.pop()
        if golden is not None and len(running.texts) < len(golden):
            _fail(running, to_lines(golden[len(running.texts)]), [])
        self.checked[item.nodeid] = running.texts
        return result

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        output = getattr(node, "workeroutput", {})
        self.checked |= output.get("golden_texts", {})
        self.whole_modules |= output.get("golden_modules", {})

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if not self.is_rewriting:
            return
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output["golden_texts"] = self.checked
            output["golden_modules"] = self.whole_modules
            return
        for file in {nodeid.partition("::")[0] for nodeid in self.checked} | {*self.whole_modules}:
            update(self.root, file, self.whole_modules.get(file), self.checked)


def update(
    root: Path, file: str, nodeids: Sequence[str] | None, checked: Mapping[str, list[str]]
) -> None:
    """Write a module's golden texts again: of tests that were run those that they checked, of
    others what there was. nodeids: all of its tests, so that others' texts go; None if not known.
    """
    path = golden_file(root / file)
    texts = {f"{file}::{test}": of_test for test, of_test in golden_texts(path).items()}
    texts |= {nodeid: checked[nodeid] for nodeid in checked if nodeid.startswith(f"{file}::")}
    order = nodeids if nodeids is not None else list(texts)
    left = {n.partition("::")[2]: texts[n] for n in order if texts.get(n)}
    if left:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(write(left).encode())
    elif path.is_file():
        path.unlink()


def _places(item: pytest.Item) -> dict[str, str]:
    """Return the folders that are written by name."""
    arguments = getattr(item, "funcargs", {})
    places = {str(arguments["tmp_path"]): "TMP"} if "tmp_path" in arguments else {}
    return places | {str(KIT): "KIT"}
