"""./numalab grade --from: kept gradings judged again and shown as a grading shows them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import click

from numalab.commands.reporter import result_json, show_kernel, write_page, write_result
from numalab.errors import wrapped
from numalab.grading.request import Graded
from numalab.grading.stored_gradings import StoredGrading, judge_again, read_grading, same_node
from numalab.installation import Installation
from numalab.labs.variants import labs_and_variants
from numalab.reports import report
from numalab.reports.occasion import Occasion
from numalab.terminal import make_console

AGAIN = "grade the kernel again where times stayed open; from a record nothing more is measured."


def show_records(
    installation: Installation,
    paths: Sequence[Path],
    explain: bool,
    json_path: Path | None,
    html_path: Path | None,
) -> Graded:
    """Judges and shows all, and writes what is asked for. Raises UserError for what is no record,
    before anything is shown."""
    labs = labs_and_variants(installation.root)
    gradings = [read_grading(path, labs, is_foreign=True) for path in paths]
    node = same_node(gradings) if json_path or html_path else gradings[0].local.node
    kernels = [judge_again(installation, grading, AGAIN) for grading in gradings]
    for kernel in kernels:
        show_kernel(kernel, explain)
    machines = {name: m for grading in gradings for name, m in grading.machines.items()}
    for _, note in _notes(gradings):
        click.echo("\n" + click.wrap_text(f"({note})", 78))
    graded = Graded(kernels, node, machines, any(kernel.interrupted for kernel in kernels), None)
    report.show_summary(make_console(), graded.verdicts)
    taken_at = max(grading.record.started_at for grading in gradings)
    told = f"(Judged again from records of {_local(taken_at)}; nothing was measured.)"
    click.echo("\n" + wrapped(told))
    if json_path is not None:
        sandbox = gradings[0].record.sandbox or "none"
        write_result(json_path, result_json(graded, sandbox))
    if html_path is not None:
        occasion = Occasion(_local(taken_at), node, _notes(gradings), graded.interrupted)
        write_page(installation, html_path, kernels, occasion)
    return graded


def _notes(gradings: Sequence[StoredGrading]) -> list[tuple[str, str]]:
    """Of each virtual node once."""
    return list({name: (name, note) for g in gradings for name, note in g.machine_notes()}.values())


def _local(at: str) -> str:
    return datetime.fromisoformat(at).astimezone().strftime("%Y-%m-%d %H:%M %Z")
