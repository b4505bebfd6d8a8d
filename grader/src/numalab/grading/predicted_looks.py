"""Looks at the kit's own kernels for what predictions are about, where some were handed in: what
students predict is so the same whatever their kernels do."""

from __future__ import annotations

from typing import Any

from numalab.errors import NumalabError
from numalab.evidence.kinds import STORES
from numalab.evidence.record import Kind
from numalab.grading.looks import look_once
from numalab.grading.session import Session
from numalab.harness.build import build_targets
from numalab.judging.observed_quantities import SHOWN_BY, TEAM_OF_LINES
from numalab.labs.quantities import FILE


def _are_handed_in(session: Session) -> bool:
    return any(
        handed.file == FILE and handed.complaint is None for handed in session.record.handed_in
    )


def look_for_predictions(session: Session) -> None:
    """On this node. What can't be looked at is left out of the score. Raises Interrupted."""
    if session.machine is not None or not _are_handed_in(session):
        return
    asked = {
        (*SHOWN_BY[quantity.what], quantity.part)
        for quantity in session.lab.predicted
        if quantity.what is not None
    }
    with session.spending("predictions"):
        for kind, role, part in sorted(asked, key=lambda look: (look[0].name, look[1])):
            evidence = session.evidence.of_parts(part)
            if not any(run.outcome.ok for run in evidence.of(kind, role)):
                _look(session, kind, role, part)


def _look(session: Session, kind: Kind[Any], role: str, part: str | None) -> None:
    """Kept for the other kernels of a call."""
    program = session.program(role, kind.program)
    name = f"{program} {part or ''} {kind.name}, predicted"
    if session.take_kept(name):
        return
    session.progress("looking at what was predicted")
    before = len(session.record.runs)
    try:
        build_targets(
            session.installation, [f"{program.name}-built" if kind.program else program.name]
        )
        team = TEAM_OF_LINES if kind.name == STORES.name else None
        look_once(session, kind, role, part, team=team)
    except NumalabError:
        return  # its score leaves it out, and says so
    session.keep_for_others(name, session.record.runs[before:])
