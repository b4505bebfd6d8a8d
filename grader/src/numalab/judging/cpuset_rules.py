"""The rules for control groups: a job is to have one NUMA node or more, PUs and memory, for itself.

A run has two programs, the job and another one. Of each it has the PUs and the NUMA nodes that
Linux allows it, the PUs on which its threads were seen, and the NUMA nodes that its pages are on.

What a job could pass by without such control groups counts, too:

- the NUMA nodes that Linux allows the job, since first touch puts memory where its threads are;
- the PUs and NUMA nodes that the other program may use: it has to have all that the job leaves, so
  that to confine it to a small place is not enough.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from numalab import words
from numalab.evidence.cpusets import JOB, OTHERS, Cpusets, share_on
from numalab.evidence.kinds import CPUSETS
from numalab.evidence.record import Evidence, Json
from numalab.judging import explain
from numalab.judging.registry import Rule, take_run
from numalab.judging.soundness import judge_value, not_measured, pages_not_visible
from numalab.judging.verdict import CriterionVerdict, verdict_on
from numalab.labs.declaration import Criterion
from numalab.labs.goals import nodes_of_job, nodes_with_pus, pus_of_nodes
from numalab.labs.group_words import BadGroups, read_group_file, settings
from numalab.machines.topology import topology_of_node
from numalab.pu_lists import kernel_list

UNIT = "share"
# The share of the other program's pages that may be left on the job's NUMA nodes.
MOST_LEFT = 0.05

# Advice by the reason for which Linux makes no partition (kernel/cgroup/cpuset.c of Linux 6.1).
_PARTITION_ADVICE = {
    "cpuset.cpus is empty": "a partition is made of the group's own cpus",
    "Parent unable to distribute cpu downstream": (
        "it would take every PU, and what runs above it would have none"
    ),
    "Cpu list in cpuset.cpus not exclusive": "the other group's cpus name some of the same PUs",
}


@dataclass(frozen=True)
class _Observed:
    """A run under control groups, and what it has to show.

    Attributes:
        file: the name of the student's file.
        written: what the student's file sets, by group and key.
        own, pus: the NUMA nodes that the job is to have, and their PUs.
        all_pus, nodes: the PUs of the machine's topology, and its NUMA nodes with PUs.
    """

    run: Cpusets
    file: str
    written: Mapping[tuple[str, str], str]
    own: frozenset[int]
    pus: frozenset[int]
    all_pus: frozenset[int]
    nodes: frozenset[int]


def _needs_virtual(criterion: Criterion, node: Json, is_virtual: bool) -> CriterionVerdict | None:
    if is_virtual:
        return None
    why = "Control groups are made by root: that is done on virtual nodes only."
    return verdict_on(criterion, "not_gradable", "not_visible_here", why)


def _observe(criterion: Criterion, evidence: Evidence) -> _Observed | CriterionVerdict:
    """Return the last run under the criterion's file, or the verdict where none can be judged."""
    file = criterion.needed_file
    only = _needs_virtual(criterion, evidence.node, evidence.is_virtual)
    if only is not None:
        return only
    text = evidence.handed(file.name)
    if text is None:
        return not_measured(criterion, evidence)
    topology = topology_of_node(evidence.node)
    try:
        written = settings(read_group_file(text.text), topology)
    except BadGroups as error:
        why = f"{file.name}: {error}. Words such as node:last hold on any machine."
        return verdict_on(criterion, "fail", "missed", why, value=0.0, unit=UNIT)
    runs = [run for run in evidence.runs_of(CPUSETS) if run.file == file.name]
    if not runs:
        return not_measured(criterion, evidence)
    run = runs[-1]
    if not run.outcome.ok:
        why = f"Under {file.name}: {explain.outcome(run.outcome, evidence.language)}"
        return verdict_on(criterion, "error", "kit", why)
    own = nodes_of_job(file.goal, topology)
    return _Observed(
        run=run,
        file=file.name,
        written={(group, key): value for group, key, value in written},
        own=own,
        pus=pus_of_nodes(own, topology),
        all_pus=frozenset(topology.numa_node),
        nodes=frozenset(nodes_with_pus(topology)),
    )


# ---- why ------------------------------------------------------------------------------------


def _pus(numbers: frozenset[int]) -> str:
    if not numbers:
        return "no PU"
    return f"PU{'s' if len(numbers) > 1 else ''} {kernel_list(numbers)}"


def _memory(numbers: frozenset[int]) -> str:
    return f"NUMA node{'s' if len(numbers) > 1 else ''} {kernel_list(numbers)}"


def _own(observed: _Observed) -> str:
    """Return the job's NUMA nodes in words, as in: nodes 0-1."""
    return f"node{'s' if len(observed.own) > 1 else ''} {kernel_list(observed.own)}"


def _because(observed: _Observed, name: str, key: str) -> str:
    """Return what keeps a group from the cpus or mems that it is to have, in sentences with a space
    before each; empty: not known. key: "cpus" or "mems"."""
    refused = [r for r in observed.run.refusals if (r.group, r.file) == (name, f"cpuset.{key}")]
    if refused:
        there = _pus(observed.all_pus) if key == "cpus" else _memory(observed.nodes)
        return (
            f" Linux refused {key} = {refused[0].value} of [{name}] ({refused[0].error}): this "
            f"machine has {there}. The group kept what it had."
        )
    outside = [r for r in observed.run.refusals if (r.group, r.file) == (name, "cgroup.procs")]
    if outside:
        return (
            f" Linux did not take the program into [{name}] ({outside[0].error}): the group has no "
            "PU or no memory that is left to it."
        )
    invalid = _invalid_partition(observed, name)
    if invalid and key == "cpus":
        return invalid
    if (name, key) not in observed.written:
        return f" {observed.file} has no {key} in [{name}]: it has what the group above it has."
    if not observed.written[name, key]:
        return f" {key} of [{name}] is an empty set, by which Linux means that nothing is set."
    return ""


def _invalid_partition(observed: _Observed, name: str) -> str:
    said = observed.run.programs[name].partition or ""
    _, invalid, reason = said.partition(" invalid")
    if not invalid:
        return ""
    advice = _PARTITION_ADVICE.get(reason.strip(" ()"))
    told = f' Linux has made no partition of [{name}], which reads "{said}"'
    return f"{told}: {advice}." if advice else f"{told}."


# ---- rules ----------------------------------------------------------------------------------


@Rule("confined", runs=(CPUSETS,), subject="file", judge_machine=_needs_virtual)
@take_run(_observe)
def confined(criterion: Criterion, evidence: Evidence, observed: _Observed) -> CriterionVerdict:
    """Judge how well the PUs that the job may use, and does use, match those of its NUMA nodes."""
    job = observed.run.job
    if job.allowed_pus != observed.pus:
        share = len(job.allowed_pus & observed.pus) / len(job.allowed_pus | observed.pus)
        why = (
            f"The job may run on {_pus(job.allowed_pus)}; NUMA {_own(observed)} "
            f"{'have' if len(observed.own) > 1 else 'has'} {_pus(observed.pus)}."
            f"{_because(observed, JOB, 'cpus')}"
        )
        return judge_value(criterion, share, why, UNIT)
    outside = job.ran_on - observed.pus
    if outside:
        share = len(job.ran_on & observed.pus) / len(job.ran_on)
        return judge_value(criterion, share, f"The job was seen on {_pus(outside)}, too.", UNIT)
    used = len(job.ran_on)
    wanted = min(job.threads, len(observed.pus))
    why = (
        f"The job may run on {_pus(observed.pus)}, which "
        f"{'are' if len(observed.own) > 1 else 'is'} NUMA {_own(observed)}, and was seen on "
        f"{used} of {len(observed.pus)} PUs."
    )
    if 2 * used > wanted or wanted == 1:
        return judge_value(criterion, 1.0, why + _invalid_partition(observed, JOB), UNIT)
    why = (
        f"The job has {words.count(job.threads, 'thread')}, and all of them stayed on "
        f"{_pus(job.ran_on)} of {_pus(observed.pus)}."
    )
    if (job.partition or "") == "isolated":
        why += (
            " In an isolated partition Linux moves no thread to a PU that is idle: who makes one "
            "has to bind each thread, and nobody binds the job's."
        )
    return judge_value(criterion, used / wanted, why, UNIT)


@Rule("memory_confined", runs=(CPUSETS,), subject="file", judge_machine=_needs_virtual)
@take_run(_observe)
def memory_confined(
    criterion: Criterion, evidence: Evidence, observed: _Observed
) -> CriterionVerdict:
    """Judge the share of the job's pages on its NUMA nodes, and whether Linux allows it these NUMA
    nodes and no others."""
    job = observed.run.job
    pages = job.pages
    if pages is None or job.pages_later is None or job.pages_new is None:
        return pages_not_visible(criterion)
    share = share_on(pages, observed.own)
    if job.allowed_nodes != observed.own:
        why = (
            f"The job may have memory of {_memory(job.allowed_nodes)}, and is to have "
            f"{_own(observed)}'s alone.{_because(observed, JOB, 'mems')} On {_own(observed)} are "
            f"{words.percent(share_on(job.pages_later, observed.own))} of the pages that it "
            f"brought along, and {words.percent(share_on(job.pages_new, observed.own))} of those "
            "that it has written since."
        )
        return verdict_on(criterion, "fail", "missed", why, value=share, unit=UNIT)
    why = f"{words.first_upper(words.percent(share))} of the job's pages are on {_own(observed)}"
    before = share_on(job.pages_at_first or {}, observed.own)
    if before < share_on(job.pages_later, observed.own):
        why += (
            f". Of those that it brought along {words.percent(before)} were there before: Linux "
            "has moved the others when it was put into its group"
        )
    return judge_value(criterion, share, f"{why}.", UNIT)


@Rule("others_out", runs=(CPUSETS,), subject="file", judge_machine=_needs_virtual)
@take_run(_observe)
def others_out(criterion: Criterion, evidence: Evidence, observed: _Observed) -> CriterionVerdict:
    """Judge how well the other program is kept off the job's PUs and memory, and whether it may use
    all of the rest."""
    others = observed.run.others
    met = (others.allowed_pus | others.ran_on) & observed.pus
    if met:
        why = (
            f"The other program may run on {_pus(others.allowed_pus)}, and {_pus(met)} of them "
            f"{'are' if len(met) > 1 else 'is'} the job's.{_because(observed, OTHERS, 'cpus')}"
        )
        why += _invalid_partition(observed, JOB)
        return judge_value(criterion, 1.0 - len(met) / len(observed.pus), why, UNIT)
    if observed.own & others.allowed_nodes:
        why = (
            f"The other program is on no PU of the job's, but may have memory of "
            f"{_memory(others.allowed_nodes)}, and {_own(observed)} "
            f"{'are' if len(observed.own) > 1 else 'is'} the job's."
            f"{_because(observed, OTHERS, 'mems')}"
        )
        if (observed.run.job.partition or "") in ("root", "isolated"):
            why += " A partition takes PUs away from all others, and no memory."
        return judge_value(criterion, 0.0, why, UNIT)
    pages = others.pages
    if pages is None:
        return pages_not_visible(criterion)
    left = share_on(pages, observed.own)
    if left > MOST_LEFT:
        why = f"{words.percent(left)} of the other program's pages are still on {_own(observed)}."
        return judge_value(criterion, 1.0 - left, why, UNIT)
    rest, memory = observed.all_pus - observed.pus, observed.nodes - observed.own
    if rest - others.allowed_pus or memory - others.allowed_nodes:
        why = (
            f"The other program is kept out, but has only {_pus(others.allowed_pus)} and "
            f"{_memory(others.allowed_nodes)} of what is left: {_pus(rest)} and {_memory(memory)}."
        )
        share = len(others.allowed_pus) / max(1, len(rest))
        return judge_value(criterion, min(share, 0.9), why, UNIT)
    why = (
        f"The other program has asked for each PU and each NUMA node, and got "
        f"{_pus(others.allowed_pus)} and {_memory(others.allowed_nodes)}: nothing of the job's."
    )
    return judge_value(criterion, 1.0, why, UNIT)
