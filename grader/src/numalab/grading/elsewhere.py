"""Grades on virtual nodes what they can show: placement, never time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from numalab.errors import Interrupted, KitError, UserError
from numalab.grading.grade import Session
from numalab.grading.handed_in import gather_placements
from numalab.judging import judge
from numalab.judging.soundness import is_sound, sound_parts, unseen
from numalab.judging.verdict import NOT_GRADED, CriterionVerdict, Status, Verdict, with_machine
from numalab.labs.declaration import Lab
from numalab.machines.machine import Machine, find_machine
from numalab.virtual.place import PlaceLost, VirtualPlace, VirtualPlaces
from numalab.words import listed


def gather_on(session: Session, place: VirtualPlace, parts: tuple[str | None, ...]) -> Session:
    """Gathers evidence for parts of a kernel that are built and checked. Returns the session there.
    Raises Interrupted and KitError."""
    there = replace(
        session,
        place=place,
        node=place.node,
        machine=place.machine,
        parts=parts,
        controls=place.controls,
        sandbox=None,  # the virtual machine is one, and sees this grading's files only
        timing_refused=f"{place.name} is a virtual node, where times mean nothing.",
        data={},
        spent_s={},
    )
    for key in ("build", "handed_in"):
        there.data[key] = session.data[key]
    with session.spending(f"evidence on {place.name}"):
        if parts:
            there.gather_evidence()
        gather_placements(there)
    return there


def _gather(
    session: Session,
    machine: Machine,
    parts: tuple[str | None, ...],
    programs: Sequence[Path],
    places: VirtualPlaces,
) -> Session:
    """As gather_on, with a second boot where the first guest is lost on the way."""
    try:
        return gather_on(session, places.get(machine, programs, session.progress), parts)
    except PlaceLost:
        session.progress(f"{machine.name} is lost, once more")
        places.drop(machine.name)
        return gather_on(session, places.get(machine, programs, session.progress), parts)


def grade_elsewhere(
    session: Session, verdict: Verdict, machines: Sequence[Machine], places: VirtualPlaces
) -> tuple[Verdict, list[Session]]:
    """Adds to a verdict what the named machines show; with none named, what the lab's own
    show of the criteria that are graded there, too, and the first of them of those that this
    node can't show. Returns also the sessions there.

    A kernel that is not right here is not run elsewhere, and what that would show is not
    gradable. Where a machine can't be booted, its criteria are errors if it was named, and else
    stay not gradable, with the reason. Raises Interrupted, with (verdict, sessions) so far as its
    argument; what was still to be seen is open.
    """
    kit, lab = session.kit, session.lab
    sound = sound_parts(lab, session.evidence)
    missing = _missing(verdict)
    on_all = _on_all(lab)
    to_show = {c.name for c in missing} | on_all
    chosen = list(machines)
    can_run = bool(sound or any(one.kind != "prediction" for one in lab.files))
    if not machines and to_show and can_run:
        chosen = [find_machine(kit, name) for name in lab.machines]
    ended = "can be built" if session.evidence.build.status != "ok" else "is right here"
    if not machines:
        verdict = _with_reason(
            verdict,
            [c for c in missing if not _is_run(lab, c, sound)] if can_run else missing,
            f"A virtual node shows it, once the kernel {ended}.",
        )
    programs = [
        kit.monitor(lab.name),
        kit.worker(lab.name, session.language, "submission" if sound else "solution"),
    ]
    sessions: list[Session] = []
    for number, machine in enumerate(chosen):
        if not machines:
            to_show = to_show if machine is chosen[0] else on_all
            sound = tuple(part for part in sound if judge.is_shown(lab, part, to_show))
        try:
            ours = "error" in {c.status for c in verdict.criteria}
            status: Status = "error" if ours else "not_gradable"
            why = f"Not run there, until the kernel {ended}."
            if can_run:
                there = _gather(session, machine, sound, programs, places)
                sessions.append(there)
                found = judge.of_sound_parts(
                    lab, there.verdict(), sound, status, "not_run_there", why
                )
            else:
                found = judge.without_looking(lab, session.evidence, status, "not_run_there", why)
        except (KeyboardInterrupt, Interrupted) as error:
            left = [one.name for one in chosen[number:]]
            undone = left_open(session, verdict, left, not machines, number == 0)
            raise Interrupted(undone, sessions) from error
        except (UserError, KitError) as error:
            if not machines:
                why = f"No virtual node could show it: {error}"
                return _with_reason(verdict, missing, why), sessions
            found = judge.without_looking(lab, session.evidence, "error", "not_booted", str(error))
        verdict = with_machine(verdict, found, machine.name, None if machines else to_show)
    return verdict, sessions


def _missing(verdict: Verdict) -> list[CriterionVerdict]:
    """What this node can't show, and a virtual one could."""
    return [c for c in verdict.criteria if c.status == "not_gradable" and c.kind == "evidence"]


def _on_all(lab: Lab) -> set[str]:
    """The criteria that are graded on each of the lab's machines."""
    return {c.name for c in lab.criteria if c.on_machines}


def _is_run(lab: Lab, found: CriterionVerdict, parts: Sequence[str | None]) -> bool:
    """Whether what a criterion needs is run elsewhere. parts: the student's kernels that are."""
    criterion = next(c for c in lab.criteria if c.name == found.name)
    return not (judge.is_of_kernel(lab, criterion) and unseen(lab, criterion, parts))


def left_open(
    session: Session,
    verdict: Verdict,
    names: Sequence[str],
    are_the_labs: bool = True,
    with_first: bool = True,
) -> Verdict:
    """The verdict with what an interrupt has kept from being seen on machines: it is open.
    are_the_labs: they were not named, so that they show what the lab asks of them; with_first:
    the first of them was to show what this node can't, too."""
    lab, evidence = session.lab, session.evidence
    bad = {part for part in lab.kernel_parts if not is_sound(evidence.of_parts(part))}
    parts = [part for part in lab.kernel_parts if part not in bad]
    undone = judge.without_looking(lab, evidence, "inconclusive", "interrupted", NOT_GRADED)
    undone = judge.of_sound_parts(lab, undone, parts, "not_gradable", "not_run_there", "")
    on_all, numa_nodes = _on_all(lab), evidence.numa_nodes
    for number, name in enumerate(names):
        only = on_all
        if with_first and number == 0:
            only = on_all | {c.name for c in lab.criteria if c.needs_numa_nodes > numa_nodes}
        verdict = with_machine(verdict, undone, name, only if are_the_labs else None)
    return verdict


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


def _with_reason(verdict: Verdict, missing: Sequence[CriterionVerdict], why: str) -> Verdict:
    """Says of what this node can't show why no virtual node has shown it either."""
    return replace(
        verdict,
        criteria=tuple(
            replace(c, why=f"{c.why} {why}") if c in missing else c for c in verdict.criteria
        ),
    )
