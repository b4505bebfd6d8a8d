"""Count what says how well a checkout is kept: one column for each that is named.

    python grader/bench/house.py .
    git worktree add /tmp/before fcfda5fb && python grader/bench/house.py /tmp/before .

Everything is read from text, nothing imported: an old checkout is counted by today's words and
measures. tests/test_house.py says what holds each figure.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from support.banned_names import complaints
from support.c_complaints import complaints_of, sources
from support.c_names import visible_names as visible_in_c
from support.python_names import names_of_engine

PACKAGE = "grader/src/numalab"
# Names of rules that other things have, too: kinds of runs, commands, keys of files.
OTHER_WORDS = {
    "binding", "chain", "correct", "decided", "efficiency", "governor", "launch", "lightspeed",
    "on_link", "predicted", "rates", "saturation", "speedup", "thread_level", "topology",
}  # fmt: skip
# Modules of the package that serve one lab: 00, 05, 06, 08 and 09. Commands stay where they are.
OF_ONE_LAB = (
    "labs/node_*.py", "labs/governor_*.py", "labs/link_*.py",
    "judging/topology_rules.py", "judging/governor_rules.py", "judging/link_rules.py",
    "judging/quiet_rules.py", "judging/on_link_rules.py", "evidence/link_jobs.py",
    "evidence/drawn_series.py", "grading/link_runs.py", "learning/crossing.py",
    "explore/memory*.py", "near_and_far/*.py",
)  # fmt: skip
LEAST_KEYS = 20  # of a record, that hand-written parsers read by their names


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def python_files(root: Path) -> list[Path]:
    """Return the package's modules and those of labs."""
    package = sorted((root / PACKAGE).rglob("*.py"))
    return [*package, *sorted(root.glob("labs/[0-9]*/grading/*.py"))]


def line_count(paths: Iterable[Path]) -> int:
    return sum(len(path.read_bytes().splitlines()) for path in paths)


def rule_names(root: Path) -> set[str]:
    """Return the rules that labs' criteria are judged by."""
    tables = [*root.glob("labs/[0-9]*/lab.toml"), *root.glob("labs/[0-9]*/grading/lab.toml")]
    criteria = [one for path in tables for one in tomllib.loads(path.read_text())["criterion"]]
    return {one.get("rule", one["name"]) for one in criteria}


def count_rule_literals(root: Path) -> int:
    """Count modules in which a rule's name is a literal, but for one module of each rule."""
    names = rule_names(root) - OTHER_WORDS
    modules: defaultdict[str, set[Path]] = defaultdict(set)
    for path in python_files(root):
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                modules[node.value].add(path)
    return sum(max(len(modules[name]) - 1, 0) for name in names)


def is_key(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Subscript)
        and isinstance(node.slice, ast.Constant)
        and isinstance(node.slice.value, str)
    )


def count_parsed_keys(root: Path) -> int:
    """Count places in evidence/ that read a key of a dict."""
    files = (root / PACKAGE / "evidence").rglob("*.py")
    return sum(is_key(node) for path in files for node in ast.walk(tree_of(path)))


def count_reached_keys(root: Path) -> int:
    """Count places outside evidence/ that reach into a record's dict: OBJECT.data["KEY"]."""
    evidence = root / PACKAGE / "evidence"
    outside = [path for path in python_files(root) if not path.is_relative_to(evidence)]
    return sum(
        is_key(node) and isinstance(node.value, ast.Attribute) and node.value.attr == "data"
        for path in outside
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Subscript)
    )


def count_formats(root: Path) -> int:
    """Count how often the evidence format is written down by hand: by C, which writes it; in
    records; in parsers, and in a schema, unless these follow from the records."""
    texts = [path.read_text("utf-8") for path in (root / PACKAGE).rglob("*.py")]
    follows = any(re.search(r"\bjson\.schema(_components)?\(", text) for text in texts)
    return 2 + (count_parsed_keys(root) >= LEAST_KEYS) + (not follows)


def count_banned_in_python(root: Path) -> int:
    return sum(any(complaints(name)) for _, name in names_of_engine(root))


def count_banned_in_c(root: Path) -> int:
    return sum(
        len([*complaints_of(path, {name for _, name in visible_in_c(path.read_text())}, root)])
        for path in sources(root)
    )


def count_twin_classes(root: Path) -> int:
    classes = Counter(name for kind, name in names_of_engine(root) if kind == "class")
    return sum(count > 1 for count in classes.values())


def count_lab_lines(root: Path) -> int:
    """Count lines of code in the package's modules that serve one lab."""
    package = root / PACKAGE
    return sum(map(code_lines, {path for glob in OF_ONE_LAB for path in package.glob(glob)}))


def count_package_lines(root: Path) -> int:
    return line_count((root / PACKAGE).rglob("*.py"))


def count_code_lines(root: Path) -> int:
    """Count the package's lines without docstrings, comments and blank lines."""
    return sum(map(code_lines, (root / PACKAGE).rglob("*.py")))


def code_lines(path: Path) -> int:
    prose: set[int] = set()
    for node in ast.walk(tree_of(path)):
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if is_text and isinstance(node.value.value, str):
            prose.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = enumerate(path.read_text("utf-8").splitlines(), start=1)
    return sum(
        number not in prose and not line.strip().startswith("#") and bool(line.strip())
        for number, line in lines
    )


def count_packages(root: Path) -> int:
    return len([*(root / PACKAGE).rglob("__init__.py")])


def count_arrows(root: Path) -> int:
    """Count who imports whom of the packages and modules that lie directly in the package."""
    package = root / PACKAGE
    arrows = {
        (own, other)
        for path in package.rglob("*.py")
        for other in imported(path)
        if other != (own := path.relative_to(package).with_suffix("").parts[0])
        and ((package / other).is_dir() or (package / f"{other}.py").is_file())
    }
    return len(arrows)


def imported(path: Path) -> Iterator[str]:
    """Yield the first name behind `numalab.` of what a module imports."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        yield from (name.split(".")[1] for name in names if name.startswith("numalab."))


def figures(root: Path) -> dict[str, int]:
    """Return the figures of a checkout, by what they count."""
    c_folders = ("common", "labs", "solutions", "grader/bench")
    return {
        "literals of rules' names outside their files": count_rule_literals(root),
        "lines of code of one lab's own in the package": count_lab_lines(root),
        "times that the evidence format is written by hand": count_formats(root),
        "places in evidence/ that read a key of a dict": count_parsed_keys(root),
        "places elsewhere that reach into a record": count_reached_keys(root),
        "banned visible names in Python": count_banned_in_python(root),
        "banned visible names in C": count_banned_in_c(root),
        "class names with two meanings": count_twin_classes(root),
        "packages": count_packages(root),
        "arrows between rooms": count_arrows(root),
        "lines of the package": count_package_lines(root),
        "of which code": count_code_lines(root),
        "lines of labs' own Python": line_count(root.glob("labs/[0-9]*/grading/*.py")),
        "lines of C": line_count(p for f in c_folders for p in (root / f).rglob("*.[ch]")),
        "lines of tests in Python": line_count((root / "grader/tests").rglob("*.py")),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("roots", type=Path, nargs="+", metavar="ROOT", help="of a checkout")
    roots = [root.resolve() for root in parser.parse_args().roots]
    columns = [figures(root) for root in roots]
    print("| | " + " | ".join(root.name for root in roots) + " |")
    print("|---" * (1 + len(roots)) + "|")
    for name in columns[0]:
        print(f"| {name} | " + " | ".join(f"{column[name]:,}" for column in columns) + " |")


if __name__ == "__main__":
    main()
