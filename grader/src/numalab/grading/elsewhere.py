"""Grades on virtual nodes what they can show: placement, never time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from msgspec import structs

from numalab.errors import Interrupted, NumalabError, UserError
from numalab.evidence.format import OtherPlaces
from numalab.evidence.record import SUBMISSION
from numalab.grading.handed_in import gather_placements
from numalab.grading.looks import gather_evidence
from numalab.grading.session import Session
from numalab.judging.judge import sound_parts
from numalab.judging.places import can_run, verdict_over, vm_requests
from numalab.judging.verdict import Verdict
from numalab.labs.declaration import Lab
from numalab.machines.gallery import find_machine
from numalab.machines.machine import Machine
from numalab.virtual.place import NodeEnded, PlaceLost, VirtualPlace, VirtualPlaces
from numalab.words import listed

_ENDED = (
    "The virtual node {name} ended while the kernel ran on it, and again after it was booted anew. "
    "Look for what reaches beyond the kernel's own arrays and threads, or for a program of a "
    "hundred megabytes and more."
)


class KernelEndsNode(Exception):
    """The student's kernel ends each guest that it runs in; the message says so to its author."""


def gather_on(session: Session, place: VirtualPlace, parts: tuple[str | None, ...]) -> Session:
    """Gathers evidence for parts of a kernel that are built and checked. Returns the session there.
    Raises Interrupted and NumalabError."""
    there = replace(
        session,
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
        benefited=set(),
    )
    there.record.build = session.record.build
    there.record.handed_in = session.record.handed_in
    with session.spending(f"evidence on {place.name}"):
        if parts:
            gather_evidence(there)
        gather_placements(there)
    return there


def _gather(
    session: Session,
    machine: Machine,
    parts: tuple[str | None, ...],
    programs: Sequence[Path],
    places: VirtualPlaces,
) -> Session:
    """As gather_on, with a second boot where the first guest is lost on the way. Raises
    KernelEndsNode where both end while the kernel runs: it gets no third, and the next one a guest
    of its own."""
    is_by_kernel = True
    for is_last in (False, True):
        try:
            return gather_on(session, places.get(machine, programs, session.progress), parts)
        except PlaceLost as error:
            places.drop(machine.name)
            is_by_kernel &= isinstance(error, NodeEnded) and _runs_kernel(error.command)
            if is_last:
                if is_by_kernel:
                    raise KernelEndsNode(_ENDED.format(name=machine.name)) from error
                raise
            session.progress(f"{machine.name} is lost, once more")
    raise AssertionError("the last one returns or raises")


def _runs_kernel(command: Sequence[str]) -> bool:
    """Whether what a place ran was the student's kernel."""
    return any(word.startswith(f"{SUBMISSION}=") for word in command)


def grade_elsewhere(
    session: Session, machines: Sequence[Machine], places: VirtualPlaces
) -> tuple[Verdict, list[Session]]:
    """Gathers what the named machines show of a kernel that was graded here; with none named,
    what the lab's own show of the criteria that are graded there, too, and the first of them of
    those that this node can't show. Returns the verdict over all places, and the sessions there;
    what else the verdict rests on is kept in the session. Raises Interrupted, with the two so far
    as its argument."""
    installation, lab, here = session.installation, session.lab, session.evidence
    by_name = {machine.name: machine for machine in machines}
    elsewhere = OtherPlaces(tuple(by_name))
    sessions: list[Session] = []
    planned = vm_requests(lab, here, elsewhere.named) if can_run(lab, here) else ()
    for look in planned:
        try:
            machine = (
                by_name[look.machine] if machines else find_machine(installation, look.machine)
            )
            variant = "submission" if sound_parts(lab, here) else "solution"
            programs = [
                installation.monitor(lab.name),
                installation.worker(lab.name, session.language, variant),
            ]
            sessions.append(_gather(session, machine, look.parts, programs, places))
        except (KeyboardInterrupt, Interrupted) as error:
            elsewhere = structs.replace(elsewhere, interrupted_at=look.machine)
            raise Interrupted(_over_all(session, sessions, elsewhere), sessions) from error
        except KernelEndsNode as error:
            elsewhere = structs.replace(
                elsewhere, ended={**elsewhere.ended, look.machine: str(error)}
            )
            break  # as it would the others
        except (UserError, NumalabError) as error:
            not_booted = {**elsewhere.not_booted, look.machine: str(error)}
            elsewhere = structs.replace(elsewhere, not_booted=not_booted)
            if not machines:
                break
    return _over_all(session, sessions, elsewhere), sessions


def _over_all(session: Session, sessions: Sequence[Session], elsewhere: OtherPlaces) -> Verdict:
    session.record.elsewhere = elsewhere
    there = {shown.place.name: shown.evidence for shown in sessions}
    return verdict_over(session.lab, session.evidence, there, elsewhere)


def left_out(lab: Lab, names: Sequence[str]) -> str | None:
    """That some of the lab's machines were not graded on, where each of them counts; names: of
    those that were asked for, none: all of the lab's."""
    missing = [name for name in lab.machines if name not in names]
    if not names or not missing or not any(c.on_machines for c in lab.criteria):
        return None
    return (
        f"Left out, since --on names others: {listed(missing)}. Placement in {lab.name} has to be "
        "right on these, too; without --on they are graded."
    )
