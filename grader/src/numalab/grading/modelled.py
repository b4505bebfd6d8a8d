"""Modelled times for timing criteria that need several NUMA nodes."""

from __future__ import annotations

from collections.abc import Iterable

from numalab.errors import NumalabError, UserError
from numalab.evidence.record import Evidence, EvidenceByPlace
from numalab.grading.mpi_runs import slow_launch_text
from numalab.installation import Installation
from numalab.judging.places import LOCAL
from numalab.judging.verdict import Verdict
from numalab.labs.declaration import Criterion, Lab
from numalab.labs.launch import Policy, parse_policy
from numalab.machines.gallery import find_machine, known_names
from numalab.machines.machine import Machine
from numalab.modelling.speedups import ModelledSpeedup, extrapolate, modelled_speedups, not_modelled


def model_ungradable(
    installation: Installation, lab: Lab, verdict: Verdict, place_evidence: EvidenceByPlace
) -> tuple[ModelledSpeedup, ...]:
    """Model the times of timing criteria that this machine can't grade for lack of NUMA nodes: on
    machines of the gallery on which the kernel was observed, and extrapolated to those that the lab
    names. place_evidence: name and evidence of each machine, with this one."""
    numa_nodes = dict(place_evidence)[LOCAL].numa_nodes
    refused = {c.name for c in verdict.criteria if c.where == LOCAL and c.status == "not_gradable"}
    timed = (
        c
        for c in lab.criteria
        if c.kind == "timing" and c.name in refused and c.needs_numa_nodes > numa_nodes
    )
    return _modelled(installation, lab, timed, place_evidence)


def model_all(
    installation: Installation, lab: Lab, place_evidence: EvidenceByPlace
) -> tuple[ModelledSpeedup, ...]:
    """Model the times of the timing criteria that need several NUMA nodes, whatever this machine
    can grade, on the same machines as model_ungradable."""
    timed = (c for c in lab.criteria if c.kind == "timing" and c.needs_numa_nodes > 1)
    return _modelled(installation, lab, timed, place_evidence)


def _modelled(
    installation: Installation,
    lab: Lab,
    criteria: Iterable[Criterion],
    place_evidence: EvidenceByPlace,
) -> tuple[ModelledSpeedup, ...]:
    known = known_names(installation)
    vms = [(where, evidence) for where, evidence in place_evidence if where in known]
    found: list[ModelledSpeedup] = []
    for criterion in criteria:
        for where, evidence in vms:
            found += _model_on(installation, lab, criterion, where, evidence)
        for name in lab.modelled_on if vms else ():
            if name not in dict(vms):
                found += _extrapolated(installation, lab, criterion, vms[0], name)
    return tuple(found)


def _extrapolated(
    installation: Installation,
    lab: Lab,
    criterion: Criterion,
    source: tuple[str, Evidence],
    name: str,
) -> tuple[ModelledSpeedup, ...]:
    """Extrapolate a criterion's times from one machine to the named one. source: name and evidence
    of the former. Where that raises UserError or NumalabError, the result says why."""
    where, evidence = source
    try:
        return extrapolate(
            lab, criterion, evidence, f"on {where}", find_machine(installation, name)
        )
    except (UserError, NumalabError) as error:
        return (not_modelled(criterion.name, name, f"No time is modelled on {name}: {error}"),)


def _model_on(
    installation: Installation, lab: Lab, criterion: Criterion, name: str, evidence: Evidence
) -> tuple[ModelledSpeedup, ...]:
    """Model a criterion's times on one machine. Where that raises UserError or NumalabError, the
    result says why: a grading must not end by it."""
    try:
        machine = _booted_size(find_machine(installation, name), evidence)
        return modelled_speedups(
            lab, criterion, evidence, machine, _slow(installation, lab, criterion)
        )
    except (UserError, NumalabError) as error:
        return (not_modelled(criterion.name, name, f"No time is modelled on {name}: {error}"),)


def _booted_size(machine: Machine, evidence: Evidence) -> Machine:
    """Return a machine scaled to the cores that its virtual machine had. Raises NumalabError where
    its PUs are not those of the virtual machine."""
    small = machine.scaled_to_cores(int(evidence.node["cores"]))
    booted = {(entry["pu"], entry["numa_node"]) for entry in evidence.node["pu_list"]}
    described = {(pu, place.numa_node) for pu, place in enumerate(small.pu_table)}
    if booted != described:
        raise NumalabError(
            "its PUs are not those of the machine's file any more; grade again to boot the present "
            "one"
        )
    return small


def _slow(installation: Installation, lab: Lab, criterion: Criterion) -> dict[str, Policy]:
    """Return the slow launch that a criterion's times are compared with, by its file's name; empty
    where there is none."""
    if criterion.slow is None:
        return {}
    text = slow_launch_text(installation, lab, criterion.slow)
    return {criterion.slow: parse_policy(text, criterion.slow)}
