"""All rules, and questions about them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from numalab.evidence.record import Kind
from numalab.judging import (
    correctness_rules,
    cpuset_rules,
    memory_rules,
    message_rules,
    model_rules,
    mpi_rules,
    page_rules,
    placing_rules,
    store_rules,
    thread_rules,
    timing_rules,
    work_rules,
)
from numalab.judging.registry import Rule, registered
from numalab.labs import declaration, lab_modules
from numalab.labs.declaration import Criterion, Lab
from numalab.labs.seeded_answers import answer_files
from numalab.toml_files.tables import Table

# Each of these declares its rules when it is imported.
MODULES = (
    correctness_rules, cpuset_rules, memory_rules, message_rules, model_rules, mpi_rules,
    page_rules, placing_rules, store_rules, thread_rules, timing_rules, work_rules,
)  # fmt: skip
lab_modules.load_all()  # and so do modules of labs


def rules() -> Iterable[Rule]:
    """Return all rules, the labs' included."""
    return registered().values()


def rule_of(criterion: Criterion) -> Rule:
    """Return the rule that judges a criterion. Raises KeyError where there is none."""
    return registered()[criterion.rule]


def reads(criterion: Criterion, *kinds: Kind[Any]) -> bool:
    """Tell whether a criterion needs one of the kinds of run."""
    return any(kind in rule_of(criterion).runs for kind in kinds)


def is_needed(kind: Kind[Any], lab: Lab, part: str | None) -> bool:
    """Tell whether a criterion of a lab's part needs a kind of run."""
    return any(reads(criterion, kind) for criterion in lab.criteria_of(part))


def judges_answers(criterion: Criterion) -> bool:
    """Tell whether a criterion is about answers in a file."""
    return rule_of(criterion).subject == "answers"


def is_local_only(criterion: Criterion) -> bool:
    """Tell whether all kinds of run that a criterion needs are made on this machine only; false
    where it needs none."""
    runs = rule_of(criterion).runs
    return bool(runs) and all(kind.is_local_only for kind in runs)


def check_criterion(lab: Lab, criterion: Criterion, table: Table) -> None:
    """Raise the table's error where no rule judges a criterion as lab.toml declares it."""
    if criterion.file is not None:
        table.choice("goal", (*declaration.FILE_KINDS, *answer_files()))
    rule = registered().get(criterion.rule)
    key = "rule" if "rule" in table else "name"
    if rule is None:
        near = difflib.get_close_matches(criterion.rule, registered(), n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        table.fail(f"there is no rule {criterion.rule}{hint}", key)
    if rule.kind != criterion.kind:
        table.fail(f"the rule {rule.name} is of kind {rule.kind}", "kind")
    for other in rules():
        for own in other.keys:
            if own in table and other is not rule:
                table.fail(f"'{own}' is for the rule {other.name}, not for {rule.name}", own)
    if rule.check is not None:
        rule.check(lab, criterion, table)


def load_labs(root: Path) -> dict[str, Lab]:
    """Return all labs of an installation by name, in order. Raises NumalabError with the place of a
    mistake, also where a rule can't judge what lab.toml declares.

    Args:
        root: the installation's folder.
    """
    return declaration.load_labs(root, check_criterion)
