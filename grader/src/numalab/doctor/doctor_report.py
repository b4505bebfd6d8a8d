"""What ./numalab doctor prints and writes, but for noise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from numalab.doctor.current_load import CurrentLoad
from numalab.doctor.doctor import gradable, gradable_virtually
from numalab.doctor.findings import Finding, concern_words
from numalab.doctor.node_facts import NodeFacts
from numalab.evidence.record import Json
from numalab.labs.declaration import Lab
from numalab.words import first_upper

STYLES = {
    "good": ("ok", "green"),
    "note": ("note", "yellow"),
    "bad": ("BAD", "bold red"),
    "unknown": ("?", "cyan"),
}
_INDENT = " " * 11  # of commands, below the text on them


def command_lines(command: str, width: int) -> list[str]:
    """Return a command on as many lines as it needs, joined by backslashes for a shell. It is
    parted at blanks, so that a long word can make a line longer than width."""
    lines = [""]
    for word in command.split(" "):
        longer = f"{lines[-1]} {word}".strip()
        if len(longer) > width - 2 and lines[-1]:
            lines[-1] += " \\"
            lines.append(f"  {word}")
        else:
            lines[-1] = longer if len(lines) == 1 else f"{lines[-1]} {word}"
    return lines


def _show_finding(console: Console, finding: Finding, labs: Sequence[Lab]) -> None:
    """Print a finding and, unless its level is good, the criteria that it concerns, remedy and
    command."""
    word, style = STYLES[finding.level]
    text = Text(f"{finding.topic}: ")
    text.append(finding.observed, style="bold")
    text.append(f". {first_upper(finding.means)}.")
    table = Table.grid(padding=(0, 1))
    table.add_column(width=4)
    table.add_column(ratio=1)
    table.add_row(Text(word, style=style), text)
    is_good = finding.level == "good"
    concerns = "" if is_good else concern_words(finding.concerns, labs)
    if concerns:
        table.add_row("", Text(f"Concerns: {concerns}.", style="dim"))
    if finding.remedy and not is_good:
        told = first_upper(finding.remedy)
        table.add_row("", Text(told if finding.command else f"{told}.", style="dim"))
    console.print(Padding(table, (0, 0, 0, 2)))
    if finding.command and not is_good:
        for line in command_lines(finding.command, console.width - len(_INDENT)):
            console.print(Text(f"{_INDENT}{line}", style="bold"), soft_wrap=True)


def show_findings(
    console: Console, node: Json, findings: Sequence[Finding], labs: Sequence[Lab]
) -> None:
    console.print(Text(f"{node['name']}: {node['cpu_model'] or node['architecture']}", "bold"))
    for finding in findings:
        _show_finding(console, finding, labs)


def show_labs(
    console: Console, node: Json, labs: Sequence[Lab], has_mpi: bool, has_virtual: bool
) -> None:
    """Print which criteria of each lab are gradable here, on a virtual machine only, and not at
    all."""
    for lab in labs:
        can, cannot = gradable(node, lab, has_mpi)
        virtually = gradable_virtually(node, lab, has_mpi) if has_virtual else []
        never = [name for name in cannot if name not in virtually]
        console.print(Text(lab.name, style="bold"))
        for told, names in (
            ("gradable here", can or ["nothing"]),
            ("on a virtual node", virtually),
            ("not here", never),
        ):
            if names:
                console.print(Padding(f"{told}: {', '.join(names)}", (0, 0, 0, 2)))


def doctor_json(
    node: Json,
    facts: NodeFacts,
    load: CurrentLoad | None,
    findings: Sequence[Finding],
    labs: Sequence[Lab],
    has_mpi: bool,
) -> dict[str, Any]:
    """Return report, facts, load, findings and gradable criteria as JSON. load: None: not
    measured."""
    return {
        "schema": 1,
        "node": node,
        "facts": facts.json_data(),
        "load_sample": None if load is None else load.json_data(),
        "findings": [finding.json_data() for finding in findings],
        "labs": {
            lab.name: dict(
                zip(("gradable", "not_gradable"), gradable(node, lab, has_mpi), strict=True)
            )
            for lab in labs
        },
    }
