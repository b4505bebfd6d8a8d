"""The judge: criteria and evidence in, verdict out. Pure functions over records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from numalab import words
from numalab.evidence.format import Build
from numalab.evidence.kinds import CHECK, LINK_RUN, RANKS, TIMED_ROUND
from numalab.evidence.numa_nodes import not_counted
from numalab.evidence.page_mode import mode_of_workers
from numalab.evidence.record import HANDOUT, SOLUTION, Evidence
from numalab.judging.memory_rules import unfit_mode
from numalab.judging.refusals import loss
from numalab.judging.rules import is_needed, judges_answers, rule_of
from numalab.judging.soundness import evidence_runs, is_sound, unseen
from numalab.judging.timing_claims import CLAIMS
from numalab.judging.verdict import Cause, CriterionVerdict, Status, Verdict, verdict_on
from numalab.labs.declaration import KERNEL_FILES, Criterion, Lab
from numalab.labs.launch import BadPolicy, plan
from numalab.machines.topology import topology_of_node

# The build of a part whose kernel is numalab's own.
_NUMALAB_BUILD = Build("ok", "", "")


def is_of_kernel(lab: Lab, criterion: Criterion) -> bool:
    """Tell whether a criterion is about the student's kernel: not about files or answers, nor about
    a part that numalab's own kernel runs."""
    return rule_of(criterion).subject == "kernel" and criterion.part not in lab.kit_parts


def evidence_for(lab: Lab, criterion: Criterion, whole: Evidence) -> Evidence:
    """Return the evidence that a criterion is judged by: that of its part, else of all
    kernel_parts, with the replicates of its slow launch. Of the unchanged files only the one that
    the criterion is about is kept."""
    parts = lab.kernel_parts if criterion.part is None else (criterion.part,)
    unchanged = whole.unchanged_files & {file_of(lab, criterion, whole.language)}
    own = replace(select_parts(lab, whole, *parts), unchanged_files=unchanged)
    return select_timing(own, criterion.slow)


def file_of(lab: Lab, criterion: Criterion, language: str) -> str:
    """Return the name of the handed-in file that a criterion is about: the kernel's, if no
    other."""
    if criterion.file is not None:
        return criterion.file.name
    if criterion.slow is not None:
        return lab.launch_of(criterion.part).name
    if criterion.rule in CLAIMS and lab.timed_placements is not None:
        return lab.timed_placements.file.name
    return KERNEL_FILES[language]


def sound_parts(lab: Lab, evidence: Evidence) -> tuple[str | None, ...]:
    """Return the parts of the student's kernel that are sound so far, and were checked where the
    lab has a criterion that needs it."""
    evidence_by_part = {part: evidence.select_parts(part) for part in lab.kernel_parts}
    return tuple(
        part
        for part, own in evidence_by_part.items()
        if is_sound(own) and (own.runs_of(CHECK) or not is_needed(CHECK, lab, part))
    )


def select_parts(lab: Lab, whole: Evidence, *parts: str | None) -> Evidence:
    """Return the evidence of these parts. Where all of them are numalab's own kernels, it says that
    the build succeeded."""
    own = whole.select_parts(*parts)
    is_kits = all(part in lab.kit_parts for part in parts)
    return replace(own, build=_NUMALAB_BUILD) if is_kits else own


def select_timing(evidence: Evidence, slow: str | None) -> Evidence:
    """Return the evidence with the replicates, also those left out, of one slow launch only; None:
    those without one."""
    of_launch = tuple(run for run in evidence.runs_of(TIMED_ROUND) if run.slow == slow)
    left_out = tuple(
        run for run in evidence.left_out if run.kind != TIMED_ROUND.name or run.slow == slow
    )
    return replace(evidence.having(TIMED_ROUND, of_launch), left_out=left_out)


def _no_launch(lab: Lab, criterion: Criterion, evidence: Evidence) -> str | None:
    """Return why the ranks of a timed job can't be launched on this machine as numalab or its
    solution launches them; or None."""
    if criterion.slow is not None:
        file = lab.launch_of(criterion.part).name
        for run in (*evidence.runs_of(RANKS, HANDOUT), *evidence.runs_of(RANKS, SOLUTION)):
            if run.refused is not None and run.file in (criterion.slow, file):
                return f"The kit's launch has no meaning here: {run.refused}"
        return None
    if lab.launch is None:
        return None
    try:
        plan(lab.launch, topology_of_node(evidence.node))
    except BadPolicy:
        cores = words.count(evidence.node["cores"], "core")
        return (
            f"Each of its ranks has a core of its own while it is timed; this node offers {cores}."
        )
    return None


def _lost(lab: Lab, criterion: Criterion, evidence: Evidence) -> str | None:
    """Return what the machine refuses that a criterion needs; or None, also for answers, and where
    the student's kernel, which the criterion is about, was not built."""
    if judges_answers(criterion):
        return None
    if evidence.build.status != "ok" and is_of_kernel(lab, criterion):
        return None
    return loss(lab, criterion, evidence.node)


def _numa_nodes(evidence: Evidence) -> str:
    """Return a clause on how many NUMA nodes this machine counts as, with what does not count as
    one, and why, in brackets."""
    counted, others = words.count(evidence.numa_nodes, "NUMA node"), not_counted(evidence.node)
    if not others:
        return f"This machine has {counted}"
    return f"This machine counts as {counted} ({'; '.join(others)})"


def gate(lab: Lab, criterion: Criterion, evidence: Evidence) -> CriterionVerdict | None:
    """Return the not_gradable verdict where this machine can't show a criterion; or None."""
    if evidence.numa_nodes < criterion.needs_numa_nodes:
        needed = criterion.needs_numa_nodes
        why = f"{_numa_nodes(evidence)}; the criterion needs {needed} or more."
        return verdict_on(criterion, "not_gradable", "too_few_numa_nodes", why)
    if criterion.kind == "timing":
        if evidence.timing_refused:
            return verdict_on(criterion, "not_gradable", "times_refused", evidence.timing_refused)
        no_launch = _no_launch(lab, criterion, evidence)
        if no_launch is not None:
            return verdict_on(criterion, "not_gradable", "no_launch_here", no_launch)
    lost = _lost(lab, criterion, evidence)
    if lost is not None:
        return verdict_on(criterion, "not_gradable", "not_visible_here", lost)
    mode = mode_of_workers(evidence.node) or "unknown"
    if criterion.needs_huge_page_mode and mode not in criterion.needs_huge_page_mode:
        why = unfit_mode(mode, criterion.needs_huge_page_mode)
        return verdict_on(criterion, "not_gradable", "huge_page_mode", why)
    return None


def refused_file(lab: Lab, criterion: Criterion, evidence: Evidence) -> CriterionVerdict | None:
    """Return the verdict on a criterion whose handed-in file can't be used; or None. For a
    criterion with a slow launch the file is that of the student's launch."""
    file = criterion.file
    if criterion.slow is not None:
        file = lab.launch_of(criterion.part)
    for text in evidence.handed_in:
        if file is not None and text.file == file.name and text.complaint is not None:
            return verdict_on(criterion, "fail", "bad_file", text.complaint)
    refuse = rule_of(criterion).refuse_file
    return None if refuse is None else refuse(criterion, evidence)


def _gate_by_machine(lab: Lab, criterion: Criterion, evidence: Evidence) -> CriterionVerdict | None:
    """Return the verdict of gate, else the one that the rule gives by the machine alone; or
    None."""
    verdict, judge_machine = gate(lab, criterion, evidence), rule_of(criterion).judge_machine
    if verdict is None and judge_machine is not None:
        return judge_machine(criterion, evidence.node, evidence.is_virtual)
    return verdict


def _refused_launch(lab: Lab, criterion: Criterion, evidence: Evidence) -> CriterionVerdict | None:
    """Return the failure where a student's launch has no meaning on this machine; or None."""
    file = lab.launch_of(criterion.part).name
    for run in evidence.runs_of(RANKS):
        if run.file == file and run.refused is not None:
            return verdict_on(criterion, "fail", "bad_file", run.refused)
    return None


def _judge_criterion(lab: Lab, criterion: Criterion, whole: Evidence) -> CriterionVerdict:
    """Return the verdict on one criterion.

    Where the rule fails a criterion of evidence, except on answers, it judges the solution's
    evidence, too, if there is any and the solution is not what is graded. If that neither passes
    nor is undecided, and its cause is not no_effect_here, the criterion is not gradable.
    """
    refused = refused_file(lab, criterion, whole)
    ungradable = _gate_by_machine(lab, criterion, whole)
    # Where this machine can't show a criterion, even a file that can't be used loses no point: a
    # correct one would earn none.
    if ungradable is not None:
        why = "" if refused is None else f" It would fail where it can: {refused.why}"
        return replace(ungradable, why=ungradable.why + why)
    if refused is not None:
        return refused
    if whole.build.status != "ok" and is_of_kernel(lab, criterion):
        return verdict_on(criterion, "fail", "not_built", whole.build.message)
    evidence, rule = evidence_for(lab, criterion, whole), rule_of(criterion)
    if criterion.slow is not None:
        refused = _refused_launch(lab, criterion, evidence)
        if refused is not None:
            return refused
    verdict = rule.judge(lab, criterion, evidence)
    if criterion.kind != "evidence" or rule.subject == "answers":
        return verdict
    control = evidence.control_evidence()
    file = criterion.file
    is_tried = file is not None and file.name in evidence.control_files
    is_compared = bool(evidence_runs(control) or control.runs_of(LINK_RUN)) or is_tried
    if verdict.status == "fail" and is_compared and whole.variant != SOLUTION:
        own = rule.judge(lab, criterion, control)
        # no_effect_here: first touch would do as well, so the solution shows nothing by passing.
        if own.status not in ("pass", "inconclusive") and own.cause != "no_effect_here":
            why = f"The kit's own solution misses it on this node just now: {own.why}"
            missed = verdict_on(criterion, "not_gradable", "solution_misses_it", why)
            return replace(missed, value=verdict.value, unit=verdict.unit, warnings=own.warnings)
    return verdict


def _amended(
    lab: Lab, whole: Evidence, verdicts: Sequence[CriterionVerdict]
) -> tuple[CriterionVerdict, ...]:
    """Return the verdicts, in order, as the `amend` functions of the criteria's rules change
    them."""
    amended = list(verdicts)
    for criterion, verdict in zip(lab.criteria, verdicts, strict=True):
        amend = rule_of(criterion).amend
        if amend is None:
            continue
        evidence = evidence_for(lab, criterion, whole)
        for number, other in enumerate(lab.criteria):
            amended[number] = amend(criterion, evidence, verdict, other, amended[number])
    return tuple(amended)


def judge(lab: Lab, evidence: Evidence) -> Verdict:
    """Return the verdict on all criteria of a lab by the evidence of one machine. Raises
    NumalabError where records contradict each other."""
    verdicts = [_judge_criterion(lab, criterion, evidence) for criterion in lab.criteria]
    return _verdict(lab, evidence, _amended(lab, evidence, verdicts))


def _verdict(lab: Lab, evidence: Evidence, criteria: tuple[CriterionVerdict, ...]) -> Verdict:
    return Verdict(
        lab=evidence.lab,
        language=evidence.language,
        variant=evidence.variant,
        criteria=criteria,
        earns_with=lab.earns_with,
        unchanged=evidence.is_starting_code,
    )


def verdict_without_run(
    lab: Lab, evidence: Evidence, status: Status, cause: Cause, why: str
) -> Verdict:
    """Return a verdict with the same status, cause and reason for all criteria of a lab."""
    criteria = tuple(verdict_on(criterion, status, cause, why) for criterion in lab.criteria)
    return _verdict(lab, evidence, criteria)


def mark_unrun_parts(
    lab: Lab, whole: Verdict, sound: Sequence[str | None], status: Status, why: str
) -> Verdict:
    """Return a verdict with another status for evidence criteria about a kernel that was not run.

    Args:
        sound: the parts that were run. Criteria about a part that is not among them get the status,
            and so do criteria about all parts where one is missing.
    """
    return replace(
        whole,
        criteria=tuple(
            verdict_on(criterion, status, "not_run_there", why)
            if criterion.kind == "evidence"
            and is_of_kernel(lab, criterion)
            and unseen(lab, criterion, sound)
            else verdict
            for criterion, verdict in zip(lab.criteria, whole.criteria, strict=True)
        ),
    )
