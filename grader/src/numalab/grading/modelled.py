"""Modelled times beside the times that this node can't show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from numalab.errors import NumalabError, UserError
from numalab.evidence.record import Evidence, Seen
from numalab.installation import Installation
from numalab.judging.places import LOCAL
from numalab.judging.verdict import Verdict
from numalab.labs.declaration import Criterion, Lab
from numalab.labs.launch import Policy, parse_policy
from numalab.machines.gallery import find_machine, known_names
from numalab.machines.machine import Machine
from numalab.modelling.speedups import (
    ModelledSpeedup,
    extrapolate,
    modelled_speedups,
    not_modelled,
)


def modelled_beside(
    installation: Installation, lab: Lab, verdict: Verdict, seen: Seen
) -> tuple[ModelledSpeedup, ...]:
    """For each criterion of time that can't be graded for want of NUMA nodes, on each machine of
    the gallery that the kernel was looked at on, and carried over to those that the lab names."""
    return _modelled(installation, lab, _without_times(lab, verdict, dict(seen)[LOCAL]), seen)


def modelled_of(installation: Installation, lab: Lab, seen: Seen) -> tuple[ModelledSpeedup, ...]:
    """As modelled_beside, for all criteria of time that want several NUMA nodes, whatever this node
    can show."""
    timed = (c for c in lab.criteria if c.kind == "timing" and c.needs_numa_nodes > 1)
    return _modelled(installation, lab, timed, seen)


def _modelled(
    installation: Installation, lab: Lab, criteria: Iterable[Criterion], seen: Seen
) -> tuple[ModelledSpeedup, ...]:
    there = [(where, evidence) for where, evidence in seen if where in known_names(installation)]
    found: list[ModelledSpeedup] = []
    for criterion in criteria:
        for where, evidence in there:
            found += _on(installation, lab, criterion, where, evidence)
        for name in lab.modelled_on if there else ():
            if name not in dict(there):
                found += _carried(installation, lab, criterion, there[0], name)
    return tuple(found)


def _carried(
    installation: Installation,
    lab: Lab,
    criterion: Criterion,
    seen: tuple[str, Evidence],
    name: str,
) -> tuple[ModelledSpeedup, ...]:
    where, evidence = seen
    try:
        return extrapolate(
            lab, criterion, evidence, f"on {where}", find_machine(installation, name)
        )
    except (UserError, NumalabError) as error:
        return (not_modelled(criterion.name, name, f"No time is modelled on {name}: {error}"),)


def _without_times(lab: Lab, verdict: Verdict, here: Evidence) -> Iterator[Criterion]:
    refused = {c.name for c in verdict.criteria if c.where == LOCAL and c.status == "not_gradable"}
    for criterion in lab.criteria:
        is_timed = criterion.kind == "timing" and criterion.name in refused
        if is_timed and criterion.needs_numa_nodes > here.numa_nodes:
            yield criterion


def _on(
    installation: Installation, lab: Lab, criterion: Criterion, name: str, evidence: Evidence
) -> tuple[ModelledSpeedup, ...]:
    """What keeps a time from being modelled is told in its place: a grading does not end by it."""
    try:
        machine = _as_booted(find_machine(installation, name), evidence)
        return modelled_speedups(
            lab, criterion, evidence, machine, _slow(installation, lab, criterion)
        )
    except (UserError, NumalabError) as error:
        return (not_modelled(criterion.name, name, f"No time is modelled on {name}: {error}"),)


def _as_booted(machine: Machine, evidence: Evidence) -> Machine:
    """With as many cores as its virtual node had. Raises NumalabError where it is another
    machine."""
    small = machine.scaled_to_cores(int(evidence.node["cores"]))
    told = {(entry["pu"], entry["numa_node"]) for entry in evidence.node["pu_list"]}
    described = {(pu, place.numa_node) for pu, place in enumerate(small.pu_table)}
    if told != described:
        raise NumalabError(
            "its PUs are not those of the machine's file any more; grade again to boot the present "
            "one"
        )
    return small


def _slow(installation: Installation, lab: Lab, criterion: Criterion) -> dict[str, Policy]:
    """The launch that a criterion's times would be compared with. Raises UserError and
    NumalabError."""
    if criterion.slow is None:
        return {}
    path = installation.lab_folder(lab.name) / criterion.slow
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise NumalabError(f"the kit's own {path} can't be read: {error.strerror}") from error
    return {criterion.slow: parse_policy(text, criterion.slow)}
