"""The registry of rules: complete, without twins, and the only place that has a rule's name."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import pytest
from support.lab_folders import write_grading
from support.published_labs import published

import numalab
from numalab.errors import NumalabError
from numalab.evidence.kinds import KINDS, WHOLE_TRACE
from numalab.judging.principles import principles
from numalab.judging.registry import Rule
from numalab.judging.rules import MODULES, check_criterion, is_local_only, rule_of, rules
from numalab.labs.declaration import Criterion, Lab, load_lab
from numalab.labs.lab_modules import module_files
from numalab.reports.comparison import PICTURED
from numalab.teaching.viva.principles import principle_of

PACKAGE = Path(numalab.__file__).parent
# Rules' names that are other words, too, and where: keys of files and records, kinds of files,
# words of hwloc, Linux and Slurm.
OTHER_WORDS = {
    "decided": {"judging/timing_account.py", "reports/timing_words.py"},
    "efficiency": {"machines/export_parts.py", "machines/hwloc_export.py"},
    "governor": {
        "08_quiet_node/governor_answers.py", "commands/table.py", "doctor/disturbances.py",
        "doctor/frequency_report.py", "reports/html_page.py",
    },
    "launch": {
        "commands/table.py", "course/jobs/slurm.py", "grading/handed_files.py",
        "grading/mpi_runs.py", "labs/declaration.py", "reports/timing_words.py"
    },
    "lightspeed": {
        "grading/numalab_digests.py", "labs/declaration.py"
    },
    "predicted": {
        "labs/declaration.py", "learning/comparing.py", "teaching/viva/statement_questions.py",
    },
    "rates": {
        "09_interconnect/link_answers.py", "commands/machine_page.py", "commands/table.py",
        "explore/model.py", "judging/timing_account.py",
    },
    "speedup": {"modelling/speedups.py", "teaching/viva/machine_questions.py"},
    "topology": {
        "00_know_your_node/node_answers.py", "harness/topology_reader.py",
        "processes/shell_variables.py", "reports/portrait_page.py",
    },
}  # fmt: skip


def test_each_criterion_of_each_lab_has_a_rule_of_its_kind(labs: dict[str, Lab]) -> None:
    for lab in labs.values():
        for criterion in lab.criteria:
            rule = rule_of(criterion)
            assert rule.judges(criterion) and rule.kind == criterion.kind
            assert bool(rule.runs) != (rule.subject == "answers"), rule.name


def test_each_rule_judges_a_criterion_and_each_kind_of_run_serves_a_rule(
    labs: dict[str, Lab],
) -> None:
    used = {criterion.rule for lab in labs.values() for criterion in lab.criteria}
    assert {rule.name for rule in rules()} == used
    assert {kind for rule in rules() for kind in rule.runs} == {*KINDS} - {WHOLE_TRACE}
    for rule in rules():
        assert rule.confirmed_by is None or rule.confirmed_by in rule.runs[1:]


def test_what_a_virtual_machine_does_not_add_to(labs: dict[str, Lab]) -> None:
    criteria = [criterion for lab in published(labs).values() for criterion in lab.criteria]
    shown = {criterion.rule for criterion in criteria if is_local_only(criterion)}
    assert shown == {"thread_level", "stops_found", "decided", "stops_live"}


def test_two_rules_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two rules are named released"):
        Rule("released")(lambda criterion, evidence: pytest.fail("never judged"))


LAB = """
title = "One"
minutes = 1
languages = ["c"]
contract = "one.h"
functions = ["f"]
[[lightspeed]]
flops_per_element = 0
[[criterion]]
name = "c"
points = 1
"""
TIMING = LAB + 'kind = "timing"\n'
EFFICIENCY = TIMING + 'rule = "efficiency"\n'


def read(folder: Path, text: str) -> Criterion:
    lab = folder / "labs" / "01_one"
    write_grading(lab, text)
    (criterion,) = load_lab(lab, check=check_criterion).criteria
    return criterion


@pytest.mark.parametrize("share", [0.5, 1])
def test_an_efficiency_may_be_held_against_the_probe(tmp_path: Path, share: float) -> None:
    criterion = read(tmp_path, EFFICIENCY + f"at_least_of_lightspeed = {share}\n")
    assert (criterion.at_least_of_lightspeed, criterion.required_share) == (share, share)
    assert replace(criterion, at_least=0.8, at_least_of_lightspeed=None).required_share == 0.8


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (TIMING, "there is no rule c"),
        (TIMING + 'file = "f"\ngoal = "near_by"\n', "Did you mean 'near'?"),
        (TIMING + 'file = "f"\ngoal = "governors"\n', "Did you mean 'governor'?"),
        (TIMING + 'rule = "speedups"\n', "there is no rule speedups; did you mean speedup?"),
        (TIMING + 'rule = "balanced"\n', "the rule balanced is of kind evidence"),
        (EFFICIENCY, "efficiency needs either 'at_least' or 'at_least_of_lightspeed'; add one"),
        (EFFICIENCY + 'at_least = 1\nslow = "s"\n', "'slow' is for the rule speedup, not for"),
        (TIMING + 'rule = "speedup"\nat_least_of_lightspeed = 1\n', "is for the rule efficiency"),
        (EFFICIENCY + "at_least_of_lightspeed = 0.5\nat_least = 1\n", "keep one of them"),
        (EFFICIENCY + "at_least_of_lightspeed = 0.5\nat_most = 1\n", "keep one of them"),
        (EFFICIENCY + "at_least_of_lightspeed = 0\n", "it must be above 0"),
        (
            EFFICIENCY.replace("flops_per_element = 0", 'none = "slow"')
            + "at_least_of_lightspeed = 0.1\n",
            "needs a probe: add a [[lightspeed]] and flops_per_element, and solutions/01_one/probe",
        ),
        (TIMING + 'rule = "predicted"\nat_least = 1\n', "leave out 'at_least'"),
        (TIMING + 'rule = "predicted"\nat_most = 1\n', "leave out 'at_most'"),
    ],
)
def test_what_no_rule_judges_is_refused(tmp_path: Path, text: str, says: str) -> None:
    if "slow =" in text:  # which is for a part of numalab's own
        text = text.replace("[[lightspeed]]\nflops_per_element = 0\n", "")
        text = f'kit_parts = ["p"]\n{text}part = "p"\nfile = "l.toml"\ngoal = "near"\n'
    with pytest.raises(NumalabError, match=re.escape(says)):
        read(tmp_path, text)


def literals() -> dict[str, set[str]]:
    """Return the files of the package and of labs in which a rule's name is a literal, by name."""
    names = {rule.name for rule in rules()}
    files = {path.relative_to(PACKAGE).as_posix(): path for path in PACKAGE.rglob("*.py")}
    files |= {f"{path.parts[-3]}/{path.name}": path for path in module_files().values()}
    found: defaultdict[str, set[str]] = defaultdict(set)
    for file, path in files.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and node.value in names:
                found[node.value].add(file)
    return found


def test_a_rules_name_stands_in_its_own_file_only() -> None:
    files = {Path(str(module.__file__)).relative_to(PACKAGE).as_posix() for module in MODULES}
    files.add("judging/timing_claims.py")
    files |= {
        f"{path.parts[-3]}/{name}.py" for name, path in module_files().items() if "_rules" in name
    }
    runs = {kind.name for kind in KINDS}
    for name, found in literals().items():
        formats = {"evidence/kinds.py", "evidence/run_formats.py"}
        found -= formats if name in runs else set()
        found.discard("teaching/viva/principles.py")  # words of answers
        own = found & files
        assert len(own) == 1, (name, own)
        assert (name, found - own) == (name, OTHER_WORDS.get(name, set()))


def test_each_rule_has_an_oral_question() -> None:
    assert not [rule.name for rule in rules() if principle_of(rule.name) is None]
    assert set(principles()) <= {rule.name for rule in rules()}


def test_which_rules_have_no_picture(labs: dict[str, Lab]) -> None:
    """Of those that published labs have."""
    own = {criterion.rule for lab in published(labs).values() for criterion in lab.criteria}
    without = {rule.name for rule in rules() if not any(kind in PICTURED for kind in rule.runs)}
    assert without & own == {
        "binary_interleaved", "chain", "correct", "counted", "deadlock_free", "efficiency",
        "falls_back", "governor", "huge_pages", "lightspeed", "no_waste", "on_link", "predicted",
        "race_free", "rates", "released", "saturation", "speedup", "stops_live", "thread_level",
        "topology",
    }  # fmt: skip
