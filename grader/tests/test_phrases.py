"""Tests that quote what numalab writes: the number may only fall. Use golden texts instead
(support/golden_texts.py), so that a sentence can be worded anew without a test that fails."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
# Lower it when you have replaced some.
MOST = 1618
_WORDS = re.compile(r"[A-Za-z][a-z']+[,.:;]? [A-Za-z(]")


def literal(node: ast.expr) -> str | None:
    """Return the text of a string, with xx for what an f-string fills in, or None."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(literal(part) or "xx" for part in node.values)
    return None


def is_phrase(node: ast.expr) -> bool:
    """Return whether a node is a text of several words."""
    return _WORDS.search(literal(node) or "") is not None


def rows(table: ast.expr, columns: int) -> Iterator[Sequence[ast.expr]]:
    """Yield the rows of a literal table, as a decorator or a loop has it."""
    for row in table.elts if isinstance(table, (ast.List, ast.Tuple)) else ():
        if isinstance(row, ast.Call):
            yield row.args
        elif columns > 1 and isinstance(row, (ast.List, ast.Tuple)):
            yield row.elts
        else:
            yield [row]


def names_of_phrases(function: ast.FunctionDef) -> set[str]:
    """Return parameters and loop variables that stand for phrases, in half of their rows or
    more."""
    tables: list[tuple[list[str], ast.expr]] = []
    for node in ast.walk(function):
        if isinstance(node, ast.For):
            target = node.target.elts if isinstance(node.target, ast.Tuple) else [node.target]
            tables.append(([ast.unparse(name) for name in target], node.iter))
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("parametrize"):
            names = [literal(part) or "" for part in ast.walk(node.args[0])]
            tables.append(([n for name in names for n in re.findall(r"\w+", name)], node.args[1]))
    phrases = set()
    for names, table in tables:
        for number, name in enumerate(names):
            column = [row[number] for row in rows(table, len(names)) if number < len(row)]
            if column and 2 * sum(map(is_phrase, column)) >= len(column):
                phrases.add(name)
    return phrases


def places_of_phrases(code: str) -> list[int]:
    """Return the lines of asserts that compare with a phrase, and of expected errors' phrases."""
    lines = set()
    for function in ast.walk(ast.parse(code)):
        if not isinstance(function, ast.FunctionDef):
            continue
        names = names_of_phrases(function)

        def quotes(node: ast.expr, names: set[str] = names) -> bool:
            if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
                return any(map(quotes, node.elts))
            return is_phrase(node) or (isinstance(node, ast.Name) and node.id in names)

        for node in ast.walk(function):
            if isinstance(node, ast.Assert):
                for part in ast.walk(node.test):
                    compared = (
                        [part.left, *part.comparators] if isinstance(part, ast.Compare)
                        else part.args if isinstance(part, ast.Call)
                        and isinstance(part.func, ast.Attribute)
                        and part.func.attr in ("startswith", "endswith", "search", "fullmatch")
                        else []
                    )  # fmt: skip
                    if any(map(quotes, compared)):
                        lines.add(node.lineno)
            elif isinstance(node, ast.keyword) and node.arg == "match" and quotes(node.value):
                lines.add(node.value.lineno)
    return sorted(lines)


def test_fewer_and_fewer_tests_quote_texts() -> None:
    count = sum(
        len(places_of_phrases(path.read_text("utf-8"))) for path in TESTS.rglob("test_*.py")
    )
    assert count <= MOST, "check_text and check_verdict hold a sentence without quoting it"
    assert count > MOST - 40, f"write {count} for MOST"


@pytest.mark.parametrize(
    ("statement", "is_one"),
    [
        ('assert "two words" in why', True),
        ('assert why == f"{number} words"', True),
        ('assert why.startswith("Two words")', True),
        ('assert (status, why) == ("fail", "Two words.")', True),
        ("with pytest.raises(ValueError, match='two words'): pass", True),
        ('for says in ("two words", "b"): assert says in why', True),
        ('assert status == "fail"', False),
        ('assert ids == ["a", "b"]', False),
        ('check_text("two words")', False),
    ],
)
def test_what_quotes_a_text(statement: str, is_one: bool) -> None:
    assert bool(places_of_phrases(f"def test_x(why):\n    {statement}")) == is_one
    table = '@pytest.mark.parametrize(("a", "says"), [(1, "two words"), (2, "more words")])\n'
    assert places_of_phrases(f"{table}def test_x(a, says):\n    assert says in why") == [3]
