"""What CTest's tests start."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import click

from numalab.commands.reporter import Reporter, waits
from numalab.commands.shared import virtual_places
from numalab.errors import NumalabError, wrapped
from numalab.exit_codes import (
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_NUMALAB,
    EXIT_PASSED,
    EXIT_SKIPPED,
)
from numalab.grading.node_lock import share_node
from numalab.grading.request import Request
from numalab.installation import Installation
from numalab.judging.rules import load_labs
from numalab.labs.declaration import LANGUAGES, choose_labs


@click.command(hidden=True)
@click.argument("name", metavar="LAB")
@click.option("--lang", "language", type=click.Choice(LANGUAGES), required=True)
@click.pass_obj
def measure(installation: Installation, name: str, language: str) -> int:
    """CTest's fixture: grade one kernel and keep the verdict. NUMALAB_SUBMISSION names the
    folder to grade instead of labs/, NUMALAB_QUICK=1 does it quickly."""
    (lab,) = choose_labs(load_labs(installation.root), [name])
    lab.need_language(language)
    folder = os.environ.get("NUMALAB_SUBMISSION")
    request = Request(
        [lab], language, "submission", Path(folder).resolve() if folder else None,
        quick=os.environ.get("NUMALAB_QUICK") == "1",
    )  # fmt: skip
    with installation.lock(), share_node(waits) as turns, virtual_places(installation) as places:
        reporter = Reporter(installation, replace(request, node_lock=turns), places)
        graded = reporter.grade()
        reporter.close(graded)
    return EXIT_INTERRUPTED if graded.interrupted else EXIT_PASSED


@click.command(hidden=True)
@click.argument("name", metavar="LAB")
@click.argument("criterion")
@click.option("--lang", "language", type=click.Choice(LANGUAGES), required=True)
@click.pass_obj
def criterion(installation: Installation, name: str, criterion: str, language: str) -> int:
    """CTest's test of one criterion: reads the kept verdict."""
    path = installation.results_folder(name, language, "submission") / "verdict.json"
    try:
        verdict = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise NumalabError(f"there is no verdict yet ({path}): {error}") from error
    entries = [entry for entry in verdict["criteria"] if entry["name"] == criterion]
    if not entries:
        raise NumalabError(f"the verdict of {name} has no criterion {criterion}")
    for entry in entries:
        click.echo(wrapped(f"{entry['status']} ({entry['where']}): {entry['why']}"))
    statuses = {entry["status"] for entry in entries}
    for status, code in (("fail", EXIT_FAILED), ("error", EXIT_NUMALAB), ("pass", EXIT_PASSED)):
        if status in statuses:
            return code
    return EXIT_SKIPPED
