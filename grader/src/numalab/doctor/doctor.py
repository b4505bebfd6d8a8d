"""What can be graded on this machine, and which evidence it allows."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from functools import partial

from numalab.doctor.current_load import CurrentLoad
from numalab.doctor.disturbances import disturbances
from numalab.doctor.findings import Finding, FindingLevel, concerned, timing_concerns
from numalab.doctor.node_facts import NodeFacts
from numalab.doctor.refused_calls import refused_calls
from numalab.evidence.kinds import LINK_RUN, WATCHED
from numalab.evidence.numa_nodes import not_counted, usable_numa_nodes
from numalab.evidence.record import Json
from numalab.harness.build import MPI_REMEDY
from numalab.harness.sandbox import NoSandbox, Sandbox
from numalab.judging.refusals import loss
from numalab.judging.rules import judges_answers, reads, rule_of
from numalab.labs.declaration import Lab
from numalab.words import amount, count

DENIED = "Permission denied"
AND_SET_UP = " (./numalab setup does, or names the packages), remove the folder build/ and run it"


def _topology(node: Json, labs: Sequence[Lab]) -> list[Finding]:
    nodes, cores, pus = usable_numa_nodes(node), node["cores"], node["pus"]
    others = "".join(f"; {clause}" for clause in not_counted(node))
    lost_by_nodes = concerned(labs, lambda lab, c: c.needs_numa_nodes > nodes)
    lost_by_cores = {lab.name: tuple(gradable(node, lab)[1]) for lab in labs} if cores < 2 else {}
    means = "placement shows in residency and in time"
    if nodes <= 1:
        means = (
            "first touch shows in the touch map; what needs more NUMA nodes is not gradable here"
        )
    level: FindingLevel = "good" if nodes > 1 else "note"
    of_nodes = Finding("NUMA nodes", level, str(nodes), means + others, concerns=lost_by_nodes)
    means = "one thread per core"
    if cores <= 1:
        means = "with one core there is nothing to share out: most criteria are not gradable"
    level = "good" if cores > 1 else "bad"
    observed = f"{cores} ({count(pus, 'PU')})"
    return [of_nodes, Finding("cores", level, observed, means, concerns=lost_by_cores)]


MOST_NAMED = 8


def shell_variables(names: Sequence[str]) -> Finding:
    """Return the finding on the user's variables that are withheld from measurements. names:
    theirs."""
    topic = "variables"
    if not names:
        return Finding(topic, "good", "none", "nothing in your shell would steer what is measured")
    more = len(names) - MOST_NAMED
    observed = ", ".join([*names[:MOST_NAMED], *([f"{more} more"] if more > 0 else [])])
    return Finding(
        topic, "note", observed,
        "set in your shell, and not passed on to what is measured: numalab itself says there how "
        "many threads run and where, and what machine this is",
        "nothing is to be done for numalab; programs that you start yourself get them",
    )  # fmt: skip


def mpi(version: str, labs: Sequence[Lab] = ()) -> Finding:
    """Return the finding on MPI. version: of the MPI library that there is; empty: there is
    none."""
    finding = partial(Finding, "MPI", concerns=concerned(labs, lambda lab, c: lab.calls_mpi))
    if version:
        return finding("good", version, "the labs on MPI can be graded")
    return finding("note", "none", "the labs on MPI are not gradable", MPI_REMEDY)


def data_races(compiler: str, labs: Sequence[Lab] = ()) -> Finding:
    """Return the finding on data races. compiler: the one that builds with ThreadSanitizer; empty:
    there is none."""
    concerns = concerned(labs, lambda lab, c: reads(c, *WATCHED))
    finding = partial(Finding, "data races", concerns=concerns)
    looked_at = "looked at for data races and shared lines"
    if compiler:
        return finding("good", "ThreadSanitizer", f"kernels are {looked_at}")
    remedy = f"install clang and its compiler-rt, as new as libomp{AND_SET_UP}"
    return finding("note", "no ThreadSanitizer", f"kernels are not {looked_at}", remedy)


def examine(
    node: Json, facts: NodeFacts, load: CurrentLoad | None, labs: Sequence[Lab]
) -> list[Finding]:
    """Return findings on what a machine has and allows, and on what disturbs times. It looks for
    addr2line in PATH. node: what describe_node reports; load: None: it can't be measured."""
    findings = _topology(node, labs)
    memory, cache = node["memory_bytes"], node["last_level_cache_bytes"]
    level: FindingLevel = "good" if memory >= 4 * 2**30 else "note"
    observed = f"{amount(memory)}, last level cache {amount(cache)}"
    means = "arrays take at most an eighth of it"
    findings.append(Finding("memory", level, observed, means, concerns=timing_concerns(labs)))
    findings += disturbances(node, facts, load, labs)
    findings += refused_calls(node, labs)
    if not shutil.which("addr2line"):
        means = "crashes are reported without a line"
        remedy = "install the package binutils"
        findings.append(Finding("addr2line", "note", "missing", means, remedy))
    return findings


def sandbox_finding(sandbox: Sandbox | NoSandbox) -> Finding:
    """Return the finding on whether other people's kernels can be isolated (grade --sandbox)."""
    if isinstance(sandbox, NoSandbox):
        means = f"other people's kernels run as you: {sandbox.why}"
        return Finding("sandbox", "note", "none", means, sandbox.remedy, sandbox.command)
    means = "other people's kernels can be kept apart (grade --sandbox)"
    return Finding("sandbox", "good", "bubblewrap", means)


def virtual_nodes(unable: str | None, kvm: str | None) -> Finding:
    """Return the finding on virtual machines. unable: why there can be none; None: there can be;
    kvm: what was observed of KVM; None or empty: it is used."""
    if unable is not None:
        means = f"placement is graded on this node only; {unable}"
        return Finding("virtual nodes", "note", "none", means)
    means = "placement is graded on the machines of ./numalab machine list too"
    if not kvm:
        return Finding("virtual nodes", "good", "QEMU with KVM", means)
    means += f" (not with KVM: {kvm})"
    if DENIED in kvm:
        means += "; to use KVM, have yourself added to the group kvm"
    return Finding("virtual nodes", "good", "QEMU, emulated", means)


def gradable_virtually(node: Json, lab: Lab, has_mpi: bool = True) -> list[str]:
    """Return the names of the criteria of evidence that are not gradable on this machine and may be
    on a virtual one; none where no criterion of correctness is gradable here, or where MPI is
    missing that the lab calls."""
    if lab.calls_mpi and not has_mpi:
        return []
    can, cannot = gradable(node, lab)
    kinds = {criterion.name: criterion.kind for criterion in lab.criteria}
    if not any(kinds[name] == "correctness" for name in can):
        return []  # on virtual machines only what is correct on this one is judged
    return [name for name in cannot if kinds[name] == "evidence"]


def gradable(node: Json, lab: Lab, has_mpi: bool = True) -> tuple[list[str], list[str]]:
    """Return the names of a lab's criteria that are gradable on a machine, and of those that are
    not. node: what describe_node reports; has_mpi: whether there is MPI."""
    if lab.calls_mpi and not has_mpi:
        return [], [criterion.name for criterion in lab.criteria]
    can: list[str] = []
    cannot: list[str] = []
    for criterion in lab.criteria:
        rule = rule_of(criterion)
        needs_team = criterion.kind == "evidence" and not all(k.is_unbound for k in rule.runs)
        needs_ranks = criterion.kind == "timing" and lab.launch is not None
        is_gradable = (
            usable_numa_nodes(node) >= criterion.needs_numa_nodes
            and (node["cores"] >= 2 or not (needs_team or needs_ranks))
            and not reads(criterion, LINK_RUN)  # which needs two nodes
            and (rule.judge_machine is None or not rule.judge_machine(criterion, node, False))
            and (judges_answers(criterion) or loss(lab, criterion, node) is None)
        )
        (can if is_gradable else cannot).append(criterion.name)
    return can, cannot
