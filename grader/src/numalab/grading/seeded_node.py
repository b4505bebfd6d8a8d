"""Looks at the machine that a file of answers is about: boots it, or takes what it said before."""

from __future__ import annotations

from numalab.errors import NumalabError, UserError
from numalab.evidence.format import SeededNode
from numalab.evidence.record import Json
from numalab.evidence.refused import recorded_node
from numalab.grading.session import Session
from numalab.labs.seeded_answers import answer_files
from numalab.machines.structure import structure_of_node
from numalab.virtual.node_cache import described_node

HERE_ONLY = "the machine is booted as a virtual node, and --here-only asks for none"


def look_at_seeded_node(session: Session) -> None:
    """Where a lab has such a file, it can be read, and it answers anything. Raises Interrupted."""
    machines = {goal: of.machine for goal, of in answer_files().items() if of.machine is not None}
    file = next((file for file in session.lab.files if file.goal in machines), None)
    if file is None or session.machine is not None:
        return
    handed = session.handed(file.name)
    if handed.complaint is not None:
        return
    answers = answer_files()[file.goal].read(handed.text, None)
    if answers.are_none:
        return
    node: Json | None = None
    error: str | None = HERE_ONLY if session.here_only else None
    if error is None:
        machine = machines[file.goal](answers.seed)
        session.progress(f"looking at {machine.name}")
        try:
            with session.spending(f"evidence on {machine.name}"):
                node = described_node(session.installation, machine, session.progress)
                structure_of_node(node)
        except (UserError, NumalabError) as trouble:
            error = str(trouble)
        except LookupError as missing:
            node, error = None, f"{machine.name} does not tell its {missing}"
    known = None if node is None else recorded_node(node)
    session.record.seeded_node = SeededNode(answers.seed, known, error)
