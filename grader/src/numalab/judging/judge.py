"""The judge: criteria and evidence in, verdict out. Pure functions over records.

Any verdict can be computed again from stored evidence; nothing here measures, reads a
file or knows the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from numalab import words
from numalab.evidence.kinds import CHECK, GENERATION, ON_LINK, RANKS
from numalab.evidence.numa_nodes import not_counted
from numalab.evidence.page_mode import mode_of_workers
from numalab.evidence.record import HANDOUT, SOLUTION, Build, Evidence
from numalab.judging.memory_rules import unfit_mode
from numalab.judging.refusals import loss
from numalab.judging.rules import is_needed, judges_answers, rule_of
from numalab.judging.soundness import evidence_runs, is_sound, unseen
from numalab.judging.timing_claims import CLAIMS
from numalab.judging.verdict import Cause, CriterionVerdict, Status, Verdict, verdict_on
from numalab.labs.declaration import KERNEL_FILES, Criterion, Lab
from numalab.labs.launch import BadPolicy, plan
from numalab.machines.topology import topology_of_node

# How what is of the kit's own kernel was built.
_NUMALAB_BUILD = Build("ok", "", "")


def is_of_kernel(lab: Lab, criterion: Criterion) -> bool:
    """Whether a criterion is about the student's kernel, and not only about files."""
    return rule_of(criterion).subject == "kernel" and criterion.part not in lab.kit_parts


def evidence_for(lab: Lab, criterion: Criterion, whole: Evidence) -> Evidence:
    """The evidence that a criterion is judged by."""
    parts = lab.kernel_parts if criterion.part is None else (criterion.part,)
    unchanged = whole.unchanged_files & {file_of(lab, criterion, whole.language)}
    own = replace(select_parts(lab, whole, *parts), unchanged_files=unchanged)
    return select_timing(own, criterion.slow)


def file_of(lab: Lab, criterion: Criterion, language: str) -> str:
    """The one of those handed in that a criterion is about."""
    if criterion.file is not None:
        return criterion.file.name
    if criterion.slow is not None:
        return lab.launch_of(criterion.part).name
    if criterion.rule in CLAIMS and lab.timed_placements is not None:
        return lab.timed_placements.file.name
    return KERNEL_FILES[language]


def sound_parts(lab: Lab, evidence: Evidence) -> tuple[str | None, ...]:
    """Return the parts of the student's kernel that were checked, where they are to be, and are
    sound."""
    of_parts = {part: evidence.of_parts(part) for part in lab.kernel_parts}
    return tuple(
        part
        for part, own in of_parts.items()
        if is_sound(own) and (own.of(CHECK) or not is_needed(CHECK, lab, part))
    )


def select_parts(lab: Lab, whole: Evidence, *parts: str | None) -> Evidence:
    own = whole.of_parts(*parts)
    is_kits = all(part in lab.kit_parts for part in parts)
    return replace(own, build=_NUMALAB_BUILD) if is_kits else own


def select_timing(evidence: Evidence, slow: str | None) -> Evidence:
    """With the generations in which the handout ran under a launch, or as its own kernel."""
    of_launch = tuple(run for run in evidence.of(GENERATION) if run.slow == slow)
    left_out = tuple(
        run for run in evidence.left_out if run.kind != GENERATION.name or run.slow == slow
    )
    return replace(evidence.having(GENERATION, of_launch), left_out=left_out)


def _no_launch(lab: Lab, criterion: Criterion, evidence: Evidence) -> str | None:
    """Why the ranks of a timed job can't be launched here as the kit or its solution means
    it, or None."""
    if criterion.slow is not None:
        file = lab.launch_of(criterion.part).name
        for run in (*evidence.of(RANKS, HANDOUT), *evidence.of(RANKS, SOLUTION)):
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
    """What the node refuses that a criterion needs. Answers need nothing, and a kernel that can't
    be built fails anywhere."""
    if judges_answers(criterion):
        return None
    if evidence.build.status != "ok" and is_of_kernel(lab, criterion):
        return None
    return loss(lab, criterion, evidence.node)


def _numa_nodes(evidence: Evidence) -> str:
    """How many there are, and what does not count."""
    counted, others = words.count(evidence.numa_nodes, "NUMA node"), not_counted(evidence.node)
    if not others:
        return f"This machine has {counted}"
    return f"This machine counts as {counted} ({'; '.join(others)})"


def gate(lab: Lab, criterion: Criterion, evidence: Evidence) -> CriterionVerdict | None:
    """Not gradable on this node, whatever was handed in. What the node lacks comes before what
    was not asked for, which would not show it either."""
    if evidence.numa_nodes < criterion.needs_numa_nodes:
        return verdict_on(
            criterion,
            "not_gradable",
            "too_few_numa_nodes",
            f"{_numa_nodes(evidence)}; the criterion needs {criterion.needs_numa_nodes} or more.",
        )
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
        return verdict_on(
            criterion,
            "not_gradable",
            "huge_page_mode",
            unfit_mode(mode, criterion.needs_huge_page_mode),
        )
    return None


def refused_file(lab: Lab, criterion: Criterion, evidence: Evidence) -> CriterionVerdict | None:
    """A file that can't be used fails what is asked of it and of the times of its launch, as far as
    the node can show that."""
    file = criterion.file
    if criterion.slow is not None:
        file = lab.launch_of(criterion.part)
    for text in evidence.handed_in:
        if file is not None and text.file == file.name and text.complaint is not None:
            return verdict_on(criterion, "fail", "bad_file", text.complaint)
    refuse = rule_of(criterion).refuse_file
    return None if refuse is None else refuse(criterion, evidence)


def _gate_of_file(lab: Lab, criterion: Criterion, evidence: Evidence) -> CriterionVerdict | None:
    """As gate, and what judges find out by the node alone before they look at a run."""
    found, tag_machine = gate(lab, criterion, evidence), rule_of(criterion).judge_machine
    if found is None and tag_machine is not None:
        return tag_machine(criterion, evidence.node, evidence.is_virtual)
    return found


def _add_complaint(ungradable: CriterionVerdict, refused: CriterionVerdict) -> CriterionVerdict:
    """What a node can't show, and what is wrong with the file even so."""
    return replace(ungradable, why=f"{ungradable.why} It would fail where it can: {refused.why}")


def _refused_launch(lab: Lab, criterion: Criterion, evidence: Evidence) -> CriterionVerdict | None:
    """Nothing can be timed under a student's launch that can't be meant on the node."""
    file = lab.launch_of(criterion.part).name
    for run in evidence.of(RANKS):
        if run.file == file and run.refused is not None:
            return verdict_on(criterion, "fail", "bad_file", run.refused)
    return None


def _judge_criterion(lab: Lab, criterion: Criterion, whole: Evidence) -> CriterionVerdict:
    refused, ungradable = refused_file(lab, criterion, whole), _gate_of_file(lab, criterion, whole)
    # Of what this node can't show nobody loses a point, whatever a file says: a right one earns
    # none either.
    if ungradable is not None:
        return ungradable if refused is None else _add_complaint(ungradable, refused)
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
    control = evidence.as_control()
    file = criterion.file
    is_tried = file is not None and file.name in evidence.control_files
    is_compared = bool(evidence_runs(control) or control.of(ON_LINK)) or is_tried
    if verdict.status == "fail" and is_compared and whole.variant != SOLUTION:
        own = rule.judge(lab, criterion, control)
        # Where first touch would do as well, the solution shows nothing, and the kernel has failed.
        if own.status not in ("pass", "inconclusive") and own.cause != "no_effect_here":
            return verdict_on(
                criterion,
                "not_gradable",
                "solution_misses_it",
                f"The kit's own solution misses it on this node just now: {own.why}",
                value=verdict.value,
                unit=verdict.unit,
                warnings=own.warnings,
            )
    return verdict


def _amended(
    lab: Lab, whole: Evidence, verdicts: Sequence[CriterionVerdict]
) -> tuple[CriterionVerdict, ...]:
    """Return the verdicts, each in the light of all others."""
    amended = list(verdicts)
    for criterion, found in zip(lab.criteria, verdicts, strict=True):
        amend = rule_of(criterion).amend
        if amend is None:
            continue
        evidence = evidence_for(lab, criterion, whole)
        for number, other in enumerate(lab.criteria):
            amended[number] = amend(criterion, evidence, found, other, amended[number])
    return tuple(amended)


def judge(lab: Lab, evidence: Evidence) -> Verdict:
    """The verdict that the evidence deserves by the lab's criteria."""
    verdicts = [_judge_criterion(lab, criterion, evidence) for criterion in lab.criteria]
    return Verdict(
        lab=evidence.lab,
        language=evidence.language,
        variant=evidence.variant,
        criteria=_amended(lab, evidence, verdicts),
        earns_with=lab.earns_with,
        unchanged=evidence.is_starting_code,
    )


def verdict_without_run(
    lab: Lab, evidence: Evidence, status: Status, cause: Cause, why: str
) -> Verdict:
    """The verdict on a kernel that is not run at a place, for all that could be seen there."""
    return Verdict(
        lab=evidence.lab,
        language=evidence.language,
        variant=evidence.variant,
        criteria=tuple(verdict_on(criterion, status, cause, why) for criterion in lab.criteria),
        earns_with=lab.earns_with,
        unchanged=evidence.is_starting_code,
    )


def mark_unrun_parts(
    lab: Lab,
    whole: Verdict,
    sound: Sequence[str | None],
    status: Status,
    cause: Cause,
    why: str,
) -> Verdict:
    """The verdict where only some kernels were run: the others' criteria get a status of
    their own, as do those that are about all kernels and lack one."""
    return replace(
        whole,
        criteria=tuple(
            verdict_on(criterion, status, cause, why)
            if criterion.kind == "evidence"
            and is_of_kernel(lab, criterion)
            and unseen(lab, criterion, sound)
            else verdict
            for criterion, verdict in zip(lab.criteria, whole.criteria, strict=True)
        ),
    )
