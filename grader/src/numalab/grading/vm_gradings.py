"""Gradings of kernels on virtual machines, which show placement and no times, and descriptions of
the machines that answers are about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from msgspec import structs

from numalab.errors import Interrupted, NumalabError, UserError, reason_of
from numalab.evidence.format import OtherPlaces, SeededNode
from numalab.evidence.record import SUBMISSION, Json
from numalab.evidence.refused import recorded_node
from numalab.grading.collect_evidence import gather_evidence
from numalab.grading.handed_files import gather_placements
from numalab.grading.kernel_grading import Grading
from numalab.judging.judge import sound_parts
from numalab.judging.places import can_run, verdict_over, vm_requests
from numalab.judging.verdict import Verdict
from numalab.labs.declaration import Lab
from numalab.labs.seeded_answers import answer_files
from numalab.machines.gallery import find_machine
from numalab.machines.machine import Machine
from numalab.machines.structure import structure_of_node
from numalab.virtual.node_cache import described_node
from numalab.virtual.place import NodeEnded, PlaceLost, VirtualPlace, VirtualPlaces
from numalab.words import listed

_ENDED = (
    "The virtual node {name} ended while the kernel ran on it, and again after it was booted anew. "
    "Look for what reaches beyond the kernel's own arrays and threads, or for a program of a "
    "hundred megabytes and more."
)


class KernelEndsNode(Exception):
    """The student's kernel has ended a virtual machine twice; the message is for the student."""


def gather_on_vm(grading: Grading, place: VirtualPlace, parts: tuple[str | None, ...]) -> Grading:
    """Gather evidence on a virtual machine. Returns the grading on that machine. Raises PlaceLost
    where the machine is gone.

    Args:
        grading: the one on this machine, in which the kernel was built and checked.
        place: the virtual machine.
        parts: those whose kernel is run there; empty: only files are tried.
    """
    there = replace(
        grading,
        place=place,
        node=place.node,
        machine=place.machine,
        parts=parts,
        controls=place.controls,
        sandbox=None,  # the place has its own
        timing_refused=f"{place.name} is a virtual node, where times mean nothing.",
        parsed={},
        spent_s={},
        paused_s=0.0,
        is_held_up=False,
        retried=set(),
    )
    there.record.build = grading.record.build
    there.record.handed_in = grading.record.handed_in
    with grading.spending(f"evidence on {place.name}"):
        if parts:
            gather_evidence(there)
        gather_placements(there)
    return there


def _gather(
    grading: Grading,
    machine: Machine,
    parts: tuple[str | None, ...],
    programs: Sequence[Path],
    places: VirtualPlaces,
) -> Grading:
    """Gather evidence on a virtual machine; if it is lost meanwhile, boot it once more. programs:
    those that it has to be able to run. Raises KernelEndsNode where it ended both times while the
    submission's program ran, and PlaceLost where it was lost twice otherwise."""
    is_by_kernel = True
    for is_last in (False, True):
        try:
            return gather_on_vm(grading, places.get(machine, programs, grading.progress), parts)
        except PlaceLost as error:
            places.drop(machine.name)
            is_by_kernel &= isinstance(error, NodeEnded) and any(
                word.startswith(f"{SUBMISSION}=") for word in error.command
            )
            if is_last:
                if is_by_kernel:
                    raise KernelEndsNode(_ENDED.format(name=machine.name)) from error
                raise
            grading.progress(f"{machine.name} is lost, once more")
    raise AssertionError("the last one returns or raises")


def grade_on_vms(
    grading: Grading, machines: Sequence[Machine], places: VirtualPlaces
) -> tuple[Verdict, list[Grading]]:
    """Grade a kernel on virtual machines, once it was graded on this machine. Returns the verdict
    over all machines, and the gradings on virtual machines. Raises Interrupted with both, as far as
    they came, as its arguments.

    Args:
        grading: the one on this machine; its record notes which machines could not be graded on.
        machines: on which it is graded; empty: those of the lab, as vm_requests plans them.
    """
    installation, lab, local = grading.installation, grading.lab, grading.evidence
    by_name = {machine.name: machine for machine in machines}
    other_places = OtherPlaces(tuple(by_name))
    gradings: list[Grading] = []
    planned = vm_requests(lab, local, other_places.named) if can_run(lab, local) else ()
    for request in planned:
        try:
            machine = (
                by_name[request.machine]
                if machines
                else find_machine(installation, request.machine)
            )
            variant = "submission" if sound_parts(lab, local) else "solution"
            programs = [
                installation.monitor(lab.name),
                installation.worker(lab.name, grading.language, variant),
            ]
            gradings.append(_gather(grading, machine, request.parts, programs, places))
        except (KeyboardInterrupt, Interrupted) as error:
            other_places = structs.replace(other_places, interrupted_at=request.machine)
            raise Interrupted(_combine_all(grading, gradings, other_places), gradings) from error
        except KernelEndsNode as error:
            other_places = structs.replace(
                other_places, ended={**other_places.ended, request.machine: str(error)}
            )
            break  # it would end the others, too
        except (UserError, NumalabError) as error:
            not_booted = {**other_places.not_booted, request.machine: str(error)}
            other_places = structs.replace(other_places, not_booted=not_booted)
            if not machines:
                break
    return _combine_all(grading, gradings, other_places), gradings


def _combine_all(
    grading: Grading, gradings: Sequence[Grading], other_places: OtherPlaces
) -> Verdict:
    grading.record.elsewhere = other_places
    there = {shown.place.name: shown.evidence for shown in gradings}
    return verdict_over(grading.lab, grading.evidence, there, other_places)


def left_out(lab: Lab, names: Sequence[str]) -> str | None:
    """Return sentences on machines of the lab that were left out although a criterion counts on
    each of them; None where there are none. names: of the machines that the user chose; empty: all
    of the lab's."""
    missing = [name for name in lab.machines if name not in names]
    if not names or not missing or not any(c.on_machines for c in lab.criteria):
        return None
    return (
        f"Left out, since --on names others: {listed(missing)}. Placement in {lab.name} has to be "
        "right on these, too; without --on they are graded."
    )


# ---- machines of answers -------------------------------------------------------------------------


LOCAL_ONLY = "the machine is booted as a virtual node, and --here-only asks for none"


def observe_seeded_node(grading: Grading) -> None:
    """Record the description of the machine that a lab's answers are about, or why there is none,
    where a usable file with answers was handed in. On a virtual machine, do nothing."""
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
        except OSError as trouble:
            error = reason_of(trouble)
        except LookupError as missing:
            node, error = None, f"{machine.name} does not tell its {missing}"
    known = None if node is None else recorded_node(node)
    grading.record.seeded_node = SeededNode(answers.seed, known, error)
