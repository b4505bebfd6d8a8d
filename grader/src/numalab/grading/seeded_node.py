"""Describe the machine that a file of answers is about: boot it, or take what was kept of it."""

from __future__ import annotations

from numalab.errors import NumalabError, UserError
from numalab.evidence.format import SeededNode
from numalab.evidence.record import Json
from numalab.evidence.refused import recorded_node
from numalab.grading.kernel_grading import Grading
from numalab.labs.seeded_answers import answer_files
from numalab.machines.structure import structure_of_node
from numalab.virtual.node_cache import described_node

LOCAL_ONLY = "the machine is booted as a virtual node, and --here-only asks for none"


def observe_seeded_node(grading: Grading) -> None:
    """Record the description of the machine of a lab's answers, where a file with answers was
    handed in that can be read. Raises Interrupted."""
    machines = {goal: of.machine for goal, of in answer_files().items() if of.machine is not None}
    file = next((file for file in grading.lab.files if file.goal in machines), None)
    if file is None or grading.machine is not None:
        return
    handed = grading.handed(file.name)
    if handed.complaint is not None:
        return
    answers = answer_files()[file.goal].read(handed.text, None)
    if answers.are_none:
        return
    node: Json | None = None
    error: str | None = LOCAL_ONLY if grading.no_vms else None
    if error is None:
        machine = machines[file.goal](answers.seed)
        grading.progress(f"looking at {machine.name}")
        try:
            with grading.spending(f"evidence on {machine.name}"):
                node = described_node(grading.installation, machine, grading.progress)
                structure_of_node(node)
        except (UserError, NumalabError) as trouble:
            error = str(trouble)
        except LookupError as missing:
            node, error = None, f"{machine.name} does not tell its {missing}"
    known = None if node is None else recorded_node(node)
    grading.record.seeded_node = SeededNode(answers.seed, known, error)
