"""A lab's own Python: what it may import, where it is found, and a lab that brings a rule."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from importlib.machinery import PathFinder
from pathlib import Path

import pytest
from support import invented

from numalab.errors import UserError
from numalab.judging.rules import rules
from numalab.labs.lab_modules import EXPERIMENTS, ROOT, module_files, need_module

# What `judging` may not import either, by grader/pyproject.toml.
ABOVE = {
    "commands", "container", "course", "diagnosing", "doctor", "editions", "explore", "grading",
    "harness", "installing", "learning", "modelling", "near_and_far", "portrait", "reports",
    "teaching", "virtual",
}  # fmt: skip
# And what of it an experiment may, which judges nobody.
OF_EXPERIMENTS = {"explore", "harness", "modelling", "virtual"}
DRAWING = {"matplotlib", "rich"}
FILES = module_files()


def imported(path: Path) -> set[str]:
    """Return the modules that a file imports, by their full names."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


@pytest.mark.parametrize("path", FILES.values(), ids=FILES)
def test_a_module_imports_what_it_may_and_its_own_labs(path: Path) -> None:
    own = {other for other in FILES.values() if other.parent == path.parent}
    above, others = ABOVE - OF_EXPERIMENTS, DRAWING | sys.stdlib_module_names
    if not path.match(EXPERIMENTS):
        own = {other for other in own if not other.match(EXPERIMENTS)}
        above, others = ABOVE, sys.stdlib_module_names
    for name in imported(path):
        top, _, rest = name.partition(".")
        if top == "numalab":
            assert rest.split(".")[0] not in above, name
        else:
            assert top in {other.stem for other in own} | others, name


def test_names_are_theirs_alone() -> None:
    assert len(FILES) == len(list(ROOT.glob("labs/*/grading/*.py")))
    assert not [name for name in FILES if name in sys.stdlib_module_names]
    assert not [name for name in FILES if PathFinder.find_spec(name, None) is not None]


def test_a_command_of_a_lab_that_is_not_there_says_so() -> None:
    with pytest.raises(UserError, match="does not have 08_quiet_node, which this command belongs"):
        need_module("governor_none", "08_quiet_node")
    need_module("governor_tree", "08_quiet_node")


def run_python(code: str, folder: Path, **variables: str) -> str:
    """Run Python in a folder that it also searches for modules."""
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'grader' / 'src'}:{folder}"} | variables
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    return done.stdout


def test_nothing_of_a_students_folder_is_imported(tmp_path: Path) -> None:
    """Neither by its name on Python's path, nor from a folder that looks like a lab's."""
    evil = "raise SystemExit('imported')\n"
    for name in (*FILES, "mine_rules"):
        (tmp_path / f"{name}.py").write_text(evil)
        for lab in ("08_quiet_node", "77_mine"):
            grading = tmp_path / "labs" / lab / "grading"
            grading.mkdir(parents=True, exist_ok=True)
            (grading / f"{name}.py").write_text(evil)
    code = """
from pathlib import Path
from numalab.judging.rules import load_labs, rules
from numalab.labs.declaration import load_labs as of_folder
of_folder(Path())
print(len(list(rules())), "mine_rules" in __import__("sys").modules)
print("memory_experiment" in __import__("sys").modules)
from numalab.labs.lab_modules import need_module
need_module("memory_experiment", "05_memory_policy")
import memory_experiment
print(memory_experiment.__file__)
"""
    own = FILES["memory_experiment"]
    assert run_python(code, tmp_path) == f"{len(list(rules()))} False\nFalse\n{own}\n"


LAB = """
title = "Mine"
minutes = 1
languages = ["c"]
contract = "mine.h"
functions = ["f"]
[[criterion]]
name = "even_n"
kind = "evidence"
points = 3
at_least = 1
"""
RULE = '''"""The rule of this lab."""

from numalab.evidence.kinds import CHECK
from numalab.evidence.record import Evidence
from numalab.judging.registry import Rule
from numalab.judging.soundness import judge_value
from numalab.judging.verdict import CriterionVerdict
from numalab.labs.declaration import Criterion


@Rule("even_n", runs=(CHECK,))
def even_n(criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    n = evidence.runs_of(CHECK)[0].checks[0].n
    return judge_value(criterion, float(n % 2 == 0), f"n is {n}.", unit="share")
'''


def test_the_rule_that_contributing_shows_is_tried() -> None:
    shown = (ROOT / "CONTRIBUTING.md").read_text("utf-8").split("```python\n")[1]
    assert shown.split("```")[0] == RULE


def test_a_lab_brings_a_rule_of_its_own_in_its_folder_alone(tmp_path: Path) -> None:
    """In a copy of numalab to which one lab's folder is added, and nothing else is changed."""
    package = tmp_path / "grader" / "src" / "numalab"
    shutil.copytree(
        ROOT / "grader/src/numalab", package, ignore=shutil.ignore_patterns("__pycache__")
    )
    for path in FILES.values():
        copy = tmp_path / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    grading = tmp_path / "labs" / "77_mine" / "grading"
    grading.mkdir(parents=True)
    (grading / "lab.toml").write_text(LAB)
    (grading / "mine_rules.py").write_text(RULE)
    code = f"""
import json, sys
from pathlib import Path
from numalab.evidence.read_record import parse
from numalab.judging.judge import judge
from numalab.judging.rules import load_labs
lab = load_labs(Path({str(tmp_path)!r}))["77_mine"]
record = json.load(sys.stdin)
print([(c.name, c.status, c.why) for c in judge(lab, parse(record)).criteria])
"""
    record = invented.evidence(invented.ONE_NODE) | {"lab": "77_mine"}
    done = subprocess.run(
        [sys.executable, "-c", code], input=json.dumps(record), cwd=tmp_path, text=True,
        env=os.environ | {"PYTHONPATH": str(package.parent)}, capture_output=True, check=False,
    )  # fmt: skip
    n = record["runs"][0]["checks"][0]["n"]
    status = "pass" if n % 2 == 0 else "fail"
    assert done.stdout == f"[('even_n', '{status}', 'n is {n}.')]\n", done.stderr
