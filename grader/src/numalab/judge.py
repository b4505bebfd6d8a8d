"""The judge: criteria and evidence in, verdict out. Pure functions over records.

Any verdict can be computed again from stored evidence; nothing here measures, reads a
file or knows the time.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from numalab import explain
from numalab.evidence_rules import CORRECTNESS_JUDGES, EVIDENCE_JUDGES
from numalab.lab import Criterion, Lab
from numalab.record import CONTROL, HANDOUT, SOLUTION, SUBMISSION, Evidence
from numalab.soundness import evidence_runs, is_sound, timed_out, unseen
from numalab.timing_rules import TIMING_STATES, judge_timing
from numalab.verdict import CriterionVerdict, Status, Verdict, verdict_on

# What is judged of the kit's own kernel, whatever the student's is like.
RULES_WITHOUT_KERNEL = frozenset({"binding"})

# Which rules a kind of run is needed for.
RULES_OF_RUN: dict[str, frozenset[str]] = {
    "trace": frozenset({"shared_out", "touched_where_used", "local_pages"}),
    "placement": frozenset({"local_pages", "balanced"}),
    "memory": frozenset({"huge_pages", "no_waste", "released"}),
    "race": frozenset({"race_free"}),
    "locate": frozenset({"located"}),
    "binding": frozenset({"binding"}),
}


def is_needed(run: str, lab: Lab, part: str | None) -> bool:
    """Whether a kind of run tells anything that the lab judges of a part."""
    return bool(RULES_OF_RUN[run] & lab.rules_of(part))


def _gate(criterion: Criterion, evidence: Evidence) -> CriterionVerdict | None:
    """Not gradable on this node, whatever was handed in."""
    if criterion.kind == "timing" and evidence.timing_refused is not None:
        return verdict_on(criterion, "not_gradable", evidence.timing_refused)
    mode = evidence.node.get("huge_page_mode") or "unknown"
    if criterion.needs_huge_page_mode and mode not in criterion.needs_huge_page_mode:
        return verdict_on(
            criterion, "not_gradable", explain.huge_page_mode(mode, criterion.needs_huge_page_mode)
        )
    if evidence.numa_nodes >= criterion.needs_numa_nodes:
        return None
    return verdict_on(
        criterion,
        "not_gradable",
        f"This node has {explain.count(evidence.numa_nodes, 'NUMA node')}; the criterion needs "
        f"{criterion.needs_numa_nodes} or more.",
    )


def _controls_of(criterion: Criterion, control: Evidence) -> bool:
    """Whether the solution's placement file was tried in the criterion's stead."""
    wanted = criterion.placement
    return wanted is not None and any(run.file == wanted.file for run in control.bindings)


def _refused_file(criterion: Criterion, evidence: Evidence) -> CriterionVerdict | None:
    """A placement file that can't be used fails on any node."""
    wanted = criterion.placement
    for text in evidence.placement_files:
        if wanted is not None and text.file == wanted.file and text.complaint is not None:
            return verdict_on(criterion, "fail", text.complaint)
    return None


def _judge_one(lab: Lab, criterion: Criterion, whole: Evidence) -> CriterionVerdict:
    refused = _refused_file(criterion, whole)
    if refused is not None:
        return refused
    gate = _gate(criterion, whole)
    if gate is not None:
        return gate
    if whole.build.status != "ok" and criterion.rule not in RULES_WITHOUT_KERNEL:
        return verdict_on(criterion, "fail", whole.build.message)
    evidence = whole if criterion.part is None else whole.of_part(criterion.part)
    if criterion.kind == "correctness":
        return CORRECTNESS_JUDGES[criterion.rule](lab, criterion, evidence)
    if criterion.kind == "timing":
        return judge_timing(criterion, evidence)
    judge = EVIDENCE_JUDGES[criterion.rule]
    verdict = judge(criterion, evidence)
    control = evidence.as_control()
    is_compared = bool(evidence_runs(control)) or _controls_of(criterion, control)
    if verdict.status == "fail" and is_compared and whole.variant != SOLUTION:
        own = judge(criterion, control)
        if own.status not in ("pass", "inconclusive"):
            return verdict_on(
                criterion,
                "not_gradable",
                f"The kit's own solution misses it on this node just now: {own.why}",
                value=verdict.value,
                unit=verdict.unit,
            )
    return verdict


def judge(lab: Lab, evidence: Evidence) -> Verdict:
    """The verdict that the evidence deserves by the lab's criteria."""
    return Verdict(
        lab=evidence.lab,
        language=evidence.language,
        variant=evidence.variant,
        criteria=tuple(_judge_one(lab, criterion, evidence) for criterion in lab.criteria),
    )


def without_looking(lab: Lab, evidence: Evidence, status: Status, why: str) -> Verdict:
    """The verdict on a kernel that is not run at a place, for all that could be seen there."""
    return Verdict(
        lab=evidence.lab,
        language=evidence.language,
        variant=evidence.variant,
        criteria=tuple(verdict_on(criterion, status, why) for criterion in lab.criteria),
    )


def of_sound_parts(
    lab: Lab, found: Verdict, sound: Sequence[str | None], status: Status, why: str
) -> Verdict:
    """The verdict where only some kernels were run: the others' criteria get a status of
    their own, as do those that are about all kernels and lack one."""
    return replace(
        found,
        criteria=tuple(
            verdict_on(criterion, status, why)
            if criterion.kind == "evidence"
            and criterion.rule not in RULES_WITHOUT_KERNEL
            and unseen(lab, criterion, sound)
            else verdict
            for criterion, verdict in zip(lab.criteria, found.criteria, strict=True)
        ),
    )


def _evidence_has(
    lab: Lab, evidence: Evidence, part: str | None, rules: frozenset[str], status: Status
) -> bool:
    """Whether an evidence criterion of a part has a status by what was seen."""
    return any(
        criterion.part in (None, part)
        and criterion.kind == "evidence"
        and criterion.rule in rules
        and verdict.status == status
        and verdict.value is not None
        for criterion, verdict in zip(lab.criteria, judge(lab, evidence).criteria, strict=True)
    )


def needs_another_look(lab: Lab, evidence: Evidence, part: str | None) -> bool:
    """Whether other load has left open how the work is shared; a further placement run may
    tell."""
    return _evidence_has(lab, evidence, part, frozenset({"balanced"}), "inconclusive")


def is_shown(lab: Lab, part: str | None, names: Collection[str]) -> bool:
    """Whether one of the named criteria needs a part's kernel to be looked at."""
    return any(
        c.name in names
        and c.part in (None, part)
        and c.kind == "evidence"
        and c.rule not in RULES_WITHOUT_KERNEL
        for c in lab.criteria
    )


def needs_control(lab: Lab, evidence: Evidence, part: str | None) -> bool:
    """Whether an evidence criterion of a part failed that the kit's solution has not been
    held against yet. The solution itself is not its own excuse."""
    own = evidence.of_part(part)
    if evidence.variant == SOLUTION or evidence_runs(own.as_control()):
        return False
    rules = frozenset(EVIDENCE_JUDGES) - RULES_WITHOUT_KERNEL
    return _evidence_has(lab, evidence, part, rules, "fail")


def placements_to_compare(lab: Lab, evidence: Evidence) -> tuple[str, ...]:
    """The files that miss their goals and that the solution's have not been held against."""
    if evidence.variant == SOLUTION:
        return ()
    tried = {run.file for run in evidence.control_bindings}
    return tuple(
        criterion.placement.file
        for criterion, verdict in zip(lab.criteria, judge(lab, evidence).criteria, strict=True)
        if criterion.placement is not None
        and verdict.status == "fail"
        and verdict.value is not None
        and criterion.placement.file not in tried
    )


def timing_roles(lab: Lab, evidence: Evidence, part: str | None) -> tuple[str, ...]:
    """The processes that a generation of a part needs; none when none of its timing criteria
    is gradable on this node or the kernel is not sound."""
    criteria = _gradable_timing(lab, evidence, part)
    if not criteria or not is_sound(evidence.of_part(part)):
        return ()
    roles = (SOLUTION, SUBMISSION, CONTROL)
    return (HANDOUT, *roles) if any(c.rule == "speedup" for c in criteria) else roles


def _gradable_timing(lab: Lab, evidence: Evidence, part: str | None) -> list[Criterion]:
    return [
        c
        for c in lab.criteria
        if c.kind == "timing" and c.part in (None, part) and _gate(c, evidence) is None
    ]


def timing_is_decided(lab: Lab, evidence: Evidence, part: str | None) -> bool:
    """Whether further generations of a part would change no timing criterion."""
    own = evidence.of_part(part)
    if not is_sound(own) or any(map(timed_out, own.generations)):
        return True
    return all(TIMING_STATES[c.rule](c, own).decided for c in _gradable_timing(lab, evidence, part))
