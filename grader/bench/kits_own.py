"""Generations of the kit's own programs: the control, the solution once more, stands for a
submission."""

from __future__ import annotations

from collections.abc import Iterator

from numalab.evidence.record import CONTROL, HANDOUT, SOLUTION, Evidence
from numalab.grading.kernel_grading import Grading
from numalab.grading.timing import time_solution
from numalab.harness.build import build_targets
from numalab.judging import planner
from numalab.judging.planner import Timed


def generations_of(session: Grading, timed: Timed) -> Iterator[Evidence]:
    """As many as are asked for, as time_kits_own yields them; their programs are built now.
    session: of the solution, with its files read. Raises NumalabError."""
    needed = planner.timing_roles(session.lab, session.evidence, timed)
    roles = (*([HANDOUT] if HANDOUT in needed else []), SOLUTION, CONTROL)
    programs = {session.program(role).name for role in roles}
    build_targets(
        session.installation,
        sorted(programs | {session.installation.monitor(session.lab.name).name}),
    )
    return time_solution(session, timed, roles)
