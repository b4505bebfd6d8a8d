"""Changes the grader's sources one place at a time, in copies of the kit, and tells which changes
no quick test sees. See README.md."""

from __future__ import annotations

import argparse
import ast
import itertools
import json
import os
import queue
import random
import re
import sqlite3
import subprocess
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

PACKAGES = ("course", "reports", "machines", "virtual", "evidence", "labs", "explore")
QUICK = "not (builds or boots or slow or timed)"
LIMIT_S = 600

_BOUNDARY = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">"}
_NEGATED = {
    ast.Eq: "!=", ast.NotEq: "==", ast.In: "not in", ast.NotIn: "in", ast.Is: "is not",
    ast.IsNot: "is",
}  # fmt: skip
_ARITHMETIC = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "%"}
_SWAPPED = {"min": "max", "max": "min", "any": "all", "all": "any"}


@dataclass(frozen=True)
class Mutant:
    """A change of one place: bytes begin to end of a file become new."""

    operator: str
    file: str  # from grader/src/numalab
    line: int
    last: int  # the last line of the changed place
    begin: int
    end: int
    old: str
    new: str

    def __str__(self) -> str:
        shorter = (" ".join(text.split())[:60] for text in (self.old, self.new))
        return f"{self.operator}: {self.file}:{self.line} " + " -> ".join(shorter)


class _Source:
    def __init__(self, file: str, text: bytes) -> None:
        self.file, self.text = file, text
        self.starts = [0]
        for line in text.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))

    def span(self, node: ast.expr) -> tuple[int, int]:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return (
            self.starts[node.lineno - 1] + node.col_offset,
            self.starts[node.end_lineno - 1] + node.end_col_offset,
        )

    def of(self, node: ast.expr) -> str:
        begin, end = self.span(node)
        return self.text[begin:end].decode()

    def mutant(self, operator: str, node: ast.expr, new: str) -> Mutant:
        begin, end = self.span(node)
        last = node.end_lineno or node.lineno
        return Mutant(operator, self.file, node.lineno, last, begin, end, self.of(node), new)

    def with_operator(self, node: ast.expr, left: ast.expr, right: ast.expr, new: str) -> str:
        """Return the text of a node with another operator between two of its operands, whose
        parentheses are no part of them."""
        begin, end = self.span(node)
        before, after = self.span(left)[1], self.span(right)[0]
        gap = re.sub(r"[^\s()]+(\s+(in|not))?", new, self.text[before:after].decode(), count=1)
        return self.text[begin:before].decode() + gap + self.text[after:end].decode()


def _compares(source: _Source, node: ast.Compare) -> Iterator[Mutant]:
    operands = [node.left, *node.comparators]
    for (left, right), operator in zip(itertools.pairwise(operands), node.ops, strict=True):
        for name, table in (("boundary", _BOUNDARY), ("negated condition", _NEGATED)):
            if new := table.get(type(operator)):
                text = source.with_operator(node, left, right, new)
                yield source.mutant(name, node, text)


def _drops(source: _Source, node: ast.BoolOp) -> Iterator[Mutant]:
    word = " and " if isinstance(node.op, ast.And) else " or "
    for dropped in range(len(node.values)):
        left = [
            f"({source.of(each)})" for index, each in enumerate(node.values) if index != dropped
        ]
        yield source.mutant("dropped condition", node, f"({word.join(left)})")


def _calls(source: _Source, node: ast.Call) -> Iterator[Mutant]:
    match node.func:
        case ast.Attribute(attr="get" | "pop") if len(node.args) == 2:
            text = f"{source.of(node.func)}({source.of(node.args[0])})"
            yield source.mutant("removed default", node, text)
        case ast.Name(id=name) if name in _SWAPPED:
            yield source.mutant("swapped extremes", node.func, _SWAPPED[name])
    for keyword in node.keywords:
        if keyword.arg == "default" and not isinstance(keyword.value, ast.Lambda):
            yield source.mutant("removed default", keyword.value, "None")
        if keyword.arg == "key" and isinstance(keyword.value, ast.Lambda):
            body = keyword.value.body
            if isinstance(body, ast.Tuple) and len(body.elts) > 1:
                first, second, *rest = (source.of(each) for each in body.elts)
                text = ", ".join((second, first, *rest))
                yield source.mutant("swapped keys", body, f"({text})")


def _negates(source: _Source, node: ast.If | ast.IfExp | ast.While) -> Iterator[Mutant]:
    test = node.test
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield source.mutant("negated condition", test, f"({source.of(test.operand)})")
    elif not (
        isinstance(test, ast.Compare) and len(test.ops) == 1 and type(test.ops[0]) in _NEGATED
    ):
        yield source.mutant("negated condition", test, f"(not ({source.of(test)}))")


def _arithmetic(source: _Source, node: ast.BinOp) -> Iterator[Mutant]:
    is_text = any(isinstance(side, ast.Constant | ast.JoinedStr | ast.List | ast.Tuple)
                  and not isinstance(getattr(side, "value", None), int | float)
                  for side in (node.left, node.right))  # fmt: skip
    if (new := _ARITHMETIC.get(type(node.op))) and not is_text:
        text = source.with_operator(node, node.left, node.right, new)
        yield source.mutant("arithmetic", node, text)


def _constants(source: _Source, node: ast.Constant) -> Iterator[Mutant]:
    if isinstance(node.value, bool):
        yield source.mutant("true and false", node, str(not node.value))
    elif isinstance(node.value, int):
        yield source.mutant("off by one", node, str(node.value + 1))


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Return what may be changed: no annotation, decorator, import or zip(strict=), which change
    nothing that is right, and no f-string, whose places Python tells wrongly up to 3.11."""
    for name, field in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        if isinstance(tree, ast.keyword) and tree.arg == "strict":
            continue
        for child in field if isinstance(field, list) else [field]:
            if isinstance(child, ast.JoinedStr | ast.Assert | ast.Import | ast.ImportFrom):
                continue
            if isinstance(child, ast.AST):
                yield child
                yield from _nodes(child)


def mutants_of(file: str, text: bytes) -> list[Mutant]:
    """Return all changes of a source file, in its order."""
    source = _Source(file, text)
    found: list[Mutant] = []
    for node in _nodes(ast.parse(text)):
        match node:
            case ast.Compare():
                found += _compares(source, node)
            case ast.BoolOp():
                found += _drops(source, node)
            case ast.Call():
                found += _calls(source, node)
            case ast.BinOp():
                found += _arithmetic(source, node)
            case ast.Constant():
                found += _constants(source, node)
        if isinstance(node, ast.If | ast.IfExp | ast.While):
            found += _negates(source, node)
    return [each for each in found if each.new != each.old]


def mutated(text: bytes, mutant: Mutant) -> bytes:
    return text[: mutant.begin] + mutant.new.encode() + text[mutant.end :]


def _can_be_parsed(text: bytes, mutant: Mutant) -> bool:
    try:
        ast.parse(mutated(text, mutant))
    except SyntaxError:
        return False
    return True


def draw(sources: Path, seed: int, count: int, packages: Iterable[str]) -> list[Mutant]:
    """Return count mutants, as many of each package, of its operators and of an operator's places
    each as likely as the next."""
    by_package: list[dict[str, list[Mutant]]] = []
    for package in packages:
        by_operator: dict[str, list[Mutant]] = {}
        for path in sorted((sources / package).rglob("*.py")):
            for mutant in mutants_of(str(path.relative_to(sources)), path.read_bytes()):
                by_operator.setdefault(mutant.operator, []).append(mutant)
        by_package.append(by_operator)
    chance = random.Random(seed)
    drawn: list[Mutant] = []
    while len(drawn) < count:
        by_operator = by_package[len(drawn) % len(by_package)]
        mutant = chance.choice(by_operator[chance.choice(sorted(by_operator))])
        if mutant not in drawn and _can_be_parsed((sources / mutant.file).read_bytes(), mutant):
            drawn.append(mutant)
    return drawn


class Coverage:
    """Which tests ran which lines, by a data file of coverage.py with a context for each test."""

    def __init__(self, path: Path) -> None:
        self.data = sqlite3.connect(path, check_same_thread=False)
        contexts = dict(self.data.execute("select id, context from context"))
        files = self.data.execute("select id, path from file").fetchall()
        names = {number: path.rpartition("/src/numalab/")[2] for number, path in files}
        self.tests: dict[str, dict[str, set[int]]] = {}
        query = "select file_id, context_id, numbits from line_bits"
        for file, context, bits in self.data.execute(query):
            test = contexts[context].rpartition("|")[0]
            if test:
                lines = {8 * at + bit for at, byte in enumerate(bits) for bit in range(8)
                         if byte >> bit & 1}  # fmt: skip
                self.tests.setdefault(names[file], {}).setdefault(test, set()).update(lines)

    def of(self, mutant: Mutant) -> list[str]:
        """Return the tests that ran the mutant's lines, those of its package first; of what runs
        when the file is imported, all that ran any of the file."""
        by_test = self.tests.get(mutant.file, {})
        lines = set(range(mutant.line, mutant.last + 1))
        found = [test for test, ran in by_test.items() if ran & lines] or list(by_test)
        package = f"tests/{mutant.file.split('/')[0]}/"
        return sorted(found, key=lambda test: (not test.startswith(package), test))


def run(installation: Path, mutant: Mutant, tests: list[str]) -> str:
    """Return the first test that fails of a mutant, "" where none does."""
    path = installation / "grader/src/numalab" / mutant.file
    text = path.read_bytes()
    path.write_bytes(mutated(text, mutant))
    command = [
        str(installation / ".venv/bin/python"),
        "-m",
        "pytest",
        "-q",
        "-x",
        "--one-build",
        "--tb=no",
        "-p",
        "no:cacheprovider",
        "-m",
        QUICK,
    ]
    names = installation / "tests.txt"
    names.write_text("\n".join(tests), "utf-8")
    try:
        done = subprocess.run(
            [*command, f"@{names}"], cwd=installation / "grader", capture_output=True, text=True,
            timeout=LIMIT_S, check=False,
            env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1", "PYTEST_ADDOPTS": ""},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return "time is up"
    finally:
        path.write_bytes(text)
    if done.returncode == 0:
        return ""
    told = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return told[0].partition(" - ")[0] if told else f"exit code {done.returncode}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kits", nargs="+", type=Path, help="copies of the kit, which are changed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--package", action="append", help="only of these")
    parser.add_argument("--coverage", type=Path, help="run only tests that run the changed lines")
    parser.add_argument("--json", type=Path, help="where results go, a line each")
    parser.add_argument("--list", action="store_true", help="run nothing")
    options = parser.parse_args()
    sources = options.kits[0] / "grader/src/numalab"
    drawn = draw(sources, options.seed, options.count, options.package or PACKAGES)
    if options.list:
        print(*drawn, sep="\n")
        return
    coverage = Coverage(options.coverage) if options.coverage else None
    kits: queue.Queue[Path] = queue.Queue()
    for installation in options.kits:
        kits.put(installation.resolve())

    def look(mutant: Mutant) -> bool:
        tests = coverage.of(mutant) if coverage else [f"tests/{mutant.file.split('/')[0]}"]
        installation = kits.get()
        try:
            by = run(installation, mutant, tests) if tests else ""
        finally:
            kits.put(installation)
        print(f"{'killed' if by else 'SURVIVES'} {mutant} ({len(tests)} tests) {by}", flush=True)
        if options.json:
            with options.json.open("a") as out:
                print(json.dumps(asdict(mutant) | {"killed_by": by}), file=out)
        return bool(by)

    with ThreadPoolExecutor(len(options.kits)) as pool:
        killed = sum(pool.map(look, drawn))
    print(f"{killed} of {len(drawn)} killed, {len(drawn) - killed} survive")


if __name__ == "__main__":
    main()
