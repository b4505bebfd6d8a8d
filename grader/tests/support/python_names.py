"""Visible names of Python code: modules, classes, functions, parameters, fields, constants."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from numalab.labs.declaration import CRITERION_KEYS, LAB_KEYS
from numalab.labs.group_words import KEYS
from numalab.labs.quantities import PREDICTED_KEYS

Function = ast.FunctionDef | ast.AsyncFunctionDef
NOT_YET = ("reports", "commands")  # rewritten as a whole, their names with them
STORED = ("format.py", "run_formats.py", "node_format.py")  # whose fields are keys of records
# What glossary.md lets keep its spelling, by module: keys of lab.toml and cpuset.toml, keys of what
# commands print and store as JSON, and what notebooks call.
KEPT: Mapping[str, Collection[str]] = {
    "labs/declaration.py": {*CRITERION_KEYS, *LAB_KEYS},
    "labs/quantities.py": PREDICTED_KEYS,
    "labs/group_words.py": KEYS,
    "judging/verdict.py": {"at_least", "at_most"},
    "doctor/current_load.py": {"busy", "stolen", "stolen_since_start"},
    "doctor/noise.py": {"generations", "share_open"},
    "portrait/record.py": {"kit_version", "about"},
    "learning/initial_answers.py": {"said", "at"},
    "learning/api.py": {"on", "at", "across"},
    "learning/crossing.py": {"one_way_us"},
    "learning/notebook.py": {"across", "open_notebook", "on", "into"},
    "learning/predictions.py": {"on"},
    "learning/run.py": {"here", "on", "looks"},
}


def names_of_engine(root: Path) -> Iterator[tuple[str, str]]:
    """Yield kind and name of what is visible in the package and in the labs' own modules of a
    checkout, but for packages that are rewritten as a whole and names that Python gives."""
    package = root / "grader/src/numalab"
    inside = [path for path in sorted(package.rglob("*.py"))
              if path.relative_to(package).parts[0] not in NOT_YET]  # fmt: skip
    for path in (*inside, *sorted(root.glob("labs/[0-9]*/grading/*.py"))):
        for kind, name, _ in visible_names(path):
            kept = KEPT.get(f"{path.parent.name}/{path.name}", ())
            is_kept = name in kept or (kind == "field" and path.name in STORED)
            if not (name.startswith("__") or is_kept):
                yield kind, name


def visible_names(path: Path) -> Iterator[tuple[str, str, int]]:
    """Yield kind, name and line of each name that is visible outside a function. Names that begin
    with an underscore are a module's own, and count too: its reader meets them."""
    yield "module", path.stem, 1
    yield from _of_body(ast.parse(path.read_text(encoding="utf-8")).body, in_class=False)


def _of_body(body: list[ast.stmt], in_class: bool) -> Iterator[tuple[str, str, int]]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield "class", node.name, node.lineno
            yield from _of_body(node.body, in_class=True)
        elif isinstance(node, Function):
            yield "function", node.name, node.lineno
            arguments = node.args
            for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
                if argument.arg not in ("self", "cls"):
                    yield "parameter", argument.arg, argument.lineno
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield "field" if in_class else "constant", node.target.id, node.lineno
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                for name in ast.walk(target):
                    if isinstance(name, ast.Name):
                        yield "field" if in_class else "constant", name.id, node.lineno
        elif isinstance(node, ast.If | ast.Try):
            yield from _of_body(node.body, in_class)
