"""Run numalab's own kernels for quantities that students predict, where predictions were handed in.
What is predicted is thus the same whatever a student's kernel does."""

from __future__ import annotations

from typing import Any

from numalab.errors import NumalabError
from numalab.evidence.kinds import STORES
from numalab.evidence.record import Kind
from numalab.grading.collect_evidence import run_once
from numalab.grading.kernel_grading import Grading
from numalab.harness.build import build_targets
from numalab.judging.observed_quantities import SHOWN_BY, TEAM_OF_LINES
from numalab.labs.quantities import FILE


def _are_handed_in(grading: Grading) -> bool:
    return any(
        handed.file == FILE and handed.complaint is None for handed in grading.record.handed_in
    )


def observe_predicted(grading: Grading) -> None:
    """Make the runs that the lab's predictions are about, on this machine. What can't be measured
    is left out of the score. Raises Interrupted."""
    if grading.machine is not None or not _are_handed_in(grading):
        return
    required = {
        (*SHOWN_BY[quantity.what], quantity.part)
        for quantity in grading.lab.predicted
        if quantity.what is not None
    }
    with grading.spending("predictions"):
        for kind, role, part in sorted(required, key=lambda run: (run[0].name, run[1])):
            evidence = grading.evidence.of_parts(part)
            if not any(run.outcome.ok for run in evidence.of(kind, role)):
                _observe(grading, kind, role, part)


def _observe(grading: Grading, kind: Kind[Any], role: str, part: str | None) -> None:
    """Make one run, and keep it for the other kernels of a call."""
    program = grading.program(role, kind.program)
    name = f"{program} {part or ''} {kind.name}, predicted"
    if grading.take_kept(name):
        return
    grading.progress("looking at what was predicted")
    before = len(grading.record.runs)
    try:
        build_targets(
            grading.installation, [f"{program.name}-built" if kind.program else program.name]
        )
        team = TEAM_OF_LINES if kind.name == STORES.name else None
        run_once(grading, kind, role, part, team=team)
    except NumalabError:
        return  # its score leaves it out, and says so
    grading.keep_for_others(name, grading.record.runs[before:])
