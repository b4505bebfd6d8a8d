"""The judge: criteria and evidence in, verdict out. Pure functions over records.

Any verdict can be computed again from stored evidence; nothing here measures, reads a
file or knows the time.
"""

from __future__ import annotations

from numalab.evidence.kinds import GENERATION, LATENCY, RACE, RANKS
from numalab.evidence.record import HANDOUT, SOLUTION

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from numalab import words
from numalab.evidence.record import SOLUTION, Build, Evidence
from numalab.judging import explain
from numalab.judging.evidence_rules import CORRECTNESS_JUDGES, EVIDENCE_JUDGES
from numalab.judging.mpi_rules import predicted
from numalab.judging.soundness import evidence_runs, is_sound, timed_out, unseen
from numalab.judging.timing_rules import (
    TIMING_RULES,
    cut_s,
    judge_timing,
    needed_roles,
    timing_state,
)
from numalab.judging.verdict import Cause, CriterionVerdict, Status, Verdict, verdict_on
from numalab.labs.declaration import KERNEL_FILES, Criterion, Lab
from numalab.labs.launch import BadPolicy, plan, read_policy
from numalab.labs.rules import RULES_OF_RUN
from numalab.machines.topology import topology_of_node

# Bindings are those of the kit's own kernel, whatever part they belong to.
_RULES_WITHOUT_KERNEL = frozenset({"binding"})
# How what is of the kit's own kernel was built.
_KITS_BUILD = Build("ok", "", "")


def is_needed(run: str, lab: Lab, part: str | None) -> bool:
    """Whether a kind of run tells anything that the lab judges of a part."""
    return bool(RULES_OF_RUN[run] & lab.rules_of(part))


def is_of_kernel(lab: Lab, criterion: Criterion) -> bool:
    """Whether a criterion is about the student's kernel, and not only about files."""
    return criterion.rule not in _RULES_WITHOUT_KERNEL and criterion.part not in lab.kit_parts


def evidence_for(lab: Lab, criterion: Criterion, whole: Evidence) -> Evidence:
    """The evidence that a criterion is judged by."""
    parts = lab.kernel_parts if criterion.part is None else (criterion.part,)
    unchanged = whole.unchanged_files & {_file_of(lab, criterion, whole.language)}
    own = replace(_of_part(lab, whole, *parts), unchanged_files=unchanged)
    return _of_timing(own, criterion.slow)


def _file_of(lab: Lab, criterion: Criterion, language: str) -> str:
    """The one of those handed in that a criterion is about."""
    if criterion.file is not None:
        return criterion.file.name
    if criterion.slow is not None:
        return lab.launch_of(criterion.part).name
    if criterion.rule in TIMING_RULES and lab.timed_placements is not None:
        return lab.timed_placements.fast.name
    return KERNEL_FILES[language]


def _of_part(lab: Lab, whole: Evidence, *parts: str | None) -> Evidence:
    own = whole.of_parts(*parts)
    is_kits = all(part in lab.kit_parts for part in parts)
    return replace(own, build=_KITS_BUILD) if is_kits else own


def _of_timing(evidence: Evidence, slow: str | None) -> Evidence:
    """With the generations in which the handout ran under a launch, or as its own kernel."""
    of_launch = tuple(run for run in evidence.of(GENERATION) if run.slow == slow)
    return replace(evidence, generations=of_launch)


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
        plan(read_policy(lab.launch, "lab.toml"), topology_of_node(evidence.node))
    except BadPolicy:
        cores = words.count(evidence.node["cores"], "core")
        return (
            f"Each of its ranks has a core of its own while it is timed; this node offers {cores}."
        )
    return None


def _gate(lab: Lab, criterion: Criterion, evidence: Evidence) -> CriterionVerdict | None:
    """Not gradable on this node, whatever was handed in."""
    if criterion.kind == "timing":
        if evidence.timing_refused:
            return verdict_on(criterion, "not_gradable", "times_refused", evidence.timing_refused)
        no_launch = _no_launch(lab, criterion, evidence)
        if no_launch is not None:
            return verdict_on(criterion, "not_gradable", "no_launch_here", no_launch)
    mode = evidence.node.get("huge_page_mode") or "unknown"
    if criterion.needs_huge_page_mode and mode not in criterion.needs_huge_page_mode:
        return verdict_on(
            criterion,
            "not_gradable",
            "huge_page_mode",
            explain.huge_page_mode(mode, criterion.needs_huge_page_mode),
        )
    if evidence.numa_nodes >= criterion.needs_numa_nodes:
        return None
    return verdict_on(
        criterion,
        "not_gradable",
        "too_few_numa_nodes",
        f"This node has {words.count(evidence.numa_nodes, 'NUMA node')}; the criterion needs "
        f"{criterion.needs_numa_nodes} or more.",
    )


def _refused_file(lab: Lab, criterion: Criterion, evidence: Evidence) -> CriterionVerdict | None:
    """A file that can't be used fails on any node."""
    file = criterion.file
    if criterion.slow is not None:
        file = lab.launch_of(criterion.part)
    for text in evidence.handed_in:
        if file is not None and text.file == file.name and text.complaint is not None:
            return verdict_on(criterion, "fail", "bad_file", text.complaint)
    return None


def _refused_launch(lab: Lab, criterion: Criterion, evidence: Evidence) -> CriterionVerdict | None:
    """Nothing can be timed under a student's launch that can't be meant on the node."""
    file = lab.launch_of(criterion.part).name
    for run in evidence.of(RANKS):
        if run.file == file and run.refused is not None:
            return verdict_on(criterion, "fail", "bad_file", run.refused)
    return None


def _judge_one(lab: Lab, criterion: Criterion, whole: Evidence) -> CriterionVerdict:
    refused = _refused_file(lab, criterion, whole)
    if refused is not None:
        return refused
    gate = _gate(lab, criterion, whole)
    if gate is not None:
        return gate
    if whole.build.status != "ok" and is_of_kernel(lab, criterion):
        return verdict_on(criterion, "fail", "not_built", whole.build.message)
    evidence = evidence_for(lab, criterion, whole)
    if criterion.kind == "correctness":
        return CORRECTNESS_JUDGES[criterion.rule](lab, criterion, evidence)
    if criterion.slow is not None:
        refused = _refused_launch(lab, criterion, evidence)
        if refused is not None:
            return refused
    if criterion.kind == "timing":
        return TIMING_JUDGES[criterion.rule](criterion, evidence)
    judge = EVIDENCE_JUDGES[criterion.rule]
    verdict = judge(criterion, evidence)
    control = evidence.as_control()
    file = criterion.file
    is_tried = file is not None and file.name in evidence.control_files
    is_compared = bool(evidence_runs(control)) or is_tried
    if verdict.status == "fail" and is_compared and whole.variant != SOLUTION:
        own = judge(criterion, control)
        if own.status not in ("pass", "inconclusive"):
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


def _slow_though_even(
    lab: Lab, evidence: Evidence, verdicts: Sequence[CriterionVerdict]
) -> tuple[CriterionVerdict, ...]:
    """Of a loop whose work is shared evenly and that misses its speedup all the same, why: it is
    not what is dealt out, but the dealing. That costs a time for each piece, so that it weighs
    more the less work there is in one. With a data race in the loop that would be a guess: what
    threads share and write is slow, too; and the handout needs no reason."""
    if KERNEL_FILES[evidence.language] in evidence.unchanged_files:
        return tuple(verdicts)
    even = {
        c.part
        for c, verdict in zip(lab.criteria, verdicts, strict=True)
        if c.rule == "balanced" and verdict.status == "pass"
    }
    raced = {race.part for race in evidence.of(RACE) if race.found}
    small = (
        " With --quick a piece has less work in it, and dealing it out costs the same."
        if evidence.quick
        else ""
    )
    why = (
        " The work is shared evenly: what costs is dealing it out in small pieces, or the work "
        f"itself.{small}"
    )
    race_first = " Mend the data race first: what threads share and write costs time, too."
    return tuple(
        replace(verdict, why=verdict.why + (race_first if c.part in raced else why))
        if c.rule == "speedup" and c.part in even and verdict.status == "fail"
        else verdict
        for c, verdict in zip(lab.criteria, verdicts, strict=True)
    )


def judge(lab: Lab, evidence: Evidence) -> Verdict:
    """The verdict that the evidence deserves by the lab's criteria."""
    verdicts = [_judge_one(lab, criterion, evidence) for criterion in lab.criteria]
    return Verdict(
        lab=evidence.lab,
        language=evidence.language,
        variant=evidence.variant,
        criteria=_slow_though_even(lab, evidence, verdicts),
    )


def without_looking(
    lab: Lab, evidence: Evidence, status: Status, cause: Cause, why: str
) -> Verdict:
    """The verdict on a kernel that is not run at a place, for all that could be seen there."""
    return Verdict(
        lab=evidence.lab,
        language=evidence.language,
        variant=evidence.variant,
        criteria=tuple(verdict_on(criterion, status, cause, why) for criterion in lab.criteria),
    )


def of_sound_parts(
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
        c.name in names and c.part in (None, part) and c.kind == "evidence" and is_of_kernel(lab, c)
        for c in lab.criteria
    )


def needs_control(lab: Lab, evidence: Evidence, part: str | None) -> bool:
    """Whether an evidence criterion of a part failed that the kit's solution has not been
    held against yet. The solution itself is not its own excuse."""
    own = evidence.of_parts(part)
    if evidence.variant == SOLUTION or evidence_runs(own.as_control()):
        return False
    rules = frozenset(EVIDENCE_JUDGES) - _RULES_WITHOUT_KERNEL
    return _evidence_has(lab, evidence, part, rules, "fail")


def files_to_compare(lab: Lab, evidence: Evidence) -> tuple[str, ...]:
    """The files that miss their goals and that the solution's have not been held against."""
    if evidence.variant == SOLUTION:
        return ()
    return tuple(
        criterion.file.name
        for criterion, verdict in zip(lab.criteria, judge(lab, evidence).criteria, strict=True)
        if criterion.file is not None
        and criterion.kind == "evidence"
        and verdict.status == "fail"
        and verdict.value is not None
        and criterion.file.name not in evidence.control_files
    )


def needs_latency(lab: Lab, evidence: Evidence, part: str | None) -> bool:
    """Whether times of messages decide a criterion of a part that is gradable on this node."""
    rules = LATENCY.rules
    found = [c for c in lab.criteria if c.part == part and c.rule in rules]
    return any(_gate(lab, c, evidence) is None for c in found)


@dataclass(frozen=True)
class Timed:
    """What is timed together: a part, and where launches of it are compared the slow one."""

    part: str | None
    slow: str | None = None


def timings(lab: Lab) -> tuple[Timed, ...]:
    """All that the lab's criteria ask for."""
    return tuple(
        Timed(part, slow)
        for part in lab.parts
        for slow in dict.fromkeys(
            c.slow for c in lab.criteria if c.part in (None, part) and c.rule in TIMING_RULES
        )
        if slow is not None or part in lab.kernel_parts
    )


def timing_roles(lab: Lab, evidence: Evidence, timed: Timed) -> tuple[str, ...]:
    """The processes that a generation needs; none when none of the criteria is gradable on
    this node, the kernel is not sound or the launch file can't be read."""
    criteria = gradable_timing(lab, evidence, timed)
    own = _of_timed(lab, evidence, timed)
    if not criteria or not is_sound(own):
        return ()
    if timed.slow is not None and _refused_file(lab, criteria[0], own):
        return ()
    return tuple(dict.fromkeys(role for c in criteria for role in needed_roles(c)))


def _of_timed(lab: Lab, evidence: Evidence, timed: Timed) -> Evidence:
    return _of_timing(_of_part(lab, evidence, timed.part), timed.slow)


def gradable_timing(lab: Lab, evidence: Evidence, timed: Timed) -> list[Criterion]:
    """The criteria that a node allows to be decided by what is timed together."""
    return [
        c
        for c in lab.criteria
        if c.rule in TIMING_RULES
        and c.part in (None, timed.part)
        and c.slow == timed.slow
        and _gate(lab, c, evidence) is None
    ]


def timing_is_decided(lab: Lab, evidence: Evidence, timed: Timed) -> bool:
    """Whether further generations would change no timing criterion."""
    own = _of_timed(lab, evidence, timed)
    if not is_sound(own) or any(map(timed_out, own.of(GENERATION))):
        return True
    criteria = gradable_timing(lab, evidence, timed)
    return all(timing_state(c, own).decided for c in criteria)


def timed_generations(lab: Lab, evidence: Evidence, timed: Timed) -> int:
    """How many there are."""
    return len(_of_timed(lab, evidence, timed).of(GENERATION))


def timing_cut_s(lab: Lab, evidence: Evidence, timed: Timed) -> float | None:
    """After how many seconds a repetition of the submission is far too slow, whatever the
    claim, if that is sure enough to stop it there."""
    own = _of_timed(lab, evidence, timed)
    return cut_s(gradable_timing(lab, evidence, timed), own)


TIMING_JUDGES: dict[str, Callable[[Criterion, Evidence], CriterionVerdict]] = {
    **dict.fromkeys(TIMING_RULES, judge_timing),
    "predicted": predicted,
}
