"""The rules for the places of threads: by a kernel's answers, and by placement files. Pure
functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from numalab import words
from numalab.evidence.kinds import BINDING, LOCATE
from numalab.evidence.record import Evidence
from numalab.evidence.run_formats import BindingRun
from numalab.judging import explain, thread_goals
from numalab.judging.printed_words import runtime_warnings
from numalab.judging.registry import Rule
from numalab.judging.soundness import NO_CORES, judge_value, missing_runs, not_measured
from numalab.judging.thread_goals import Reached
from numalab.judging.verdict import CriterionVerdict, verdict_on
from numalab.labs.declaration import Criterion
from numalab.labs.goals import CORE_GOALS


def _no_numa_node(language: str) -> str:
    """Return where an answer of NUMA node -1 may come from, in sentences with a space before
    each."""
    asked = "Which of its functions was asked"
    if language == "fortran":  # which passes the PU by address unless VALUE is declared
        asked += ", and did it get the PU by value"
    return (
        " -1 is no NUMA node: the handout says it, and so does libnuma where it knows none. Is the "
        f"node set at all? {asked}?"
    )


@Rule("located", runs=(LOCATE,))
def located(criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    """Count the answers on a thread's PU and NUMA node that are wrong."""
    missing = missing_runs(criterion, evidence, evidence.runs_of(LOCATE))
    if missing:
        return missing
    run = evidence.runs_of(LOCATE)[-1]
    bound = [answer for of_round in run.rounds for answer in of_round]
    answers = [answer for of_round in run.all_rounds for answer in of_round]
    wrong_pu = [answer for answer in answers if answer.reported_pu != answer.pu]
    wrong_node = [answer for answer in answers if answer.reported_numa_node != answer.numa_node]
    wrong = {id(answer) for answer in (*wrong_pu, *wrong_node)}
    if not bound:
        why = "No thread of the team was heard of: does locate return?"
    elif wrong_pu:
        answer = wrong_pu[0]
        was_bound = id(answer) in {id(of_bound) for of_bound in bound}
        was = "was bound to" if was_bound else "could use two PUs, was on"
        why = (
            f"Thread {answer.thread} {was} PU {answer.pu} and locate said PU "
            f"{answer.reported_pu}; wrong in {len(wrong)} of {len(answers)} answers, the threads "
            "being moved between them."
        )
    elif wrong_node:
        answer = wrong_node[0]
        why = (
            f"Every PU is right, but PU {answer.pu} belongs to NUMA node {answer.numa_node} and "
            f"locate said {answer.reported_numa_node}; wrong in {len(wrong)} of "
            f"{len(answers)} answers."
        )
        if answer.reported_numa_node < 0:
            why += _no_numa_node(evidence.language)
    else:
        why = f"Right in {len(answers)} answers, the threads being moved between them."
    value = float(len(wrong)) if bound else 1.0
    return judge_value(criterion, value, why, unit="wrong answers")


def _compare_runtimes(worst: Reached, reaches: Sequence[tuple[BindingRun, Reached]]) -> str:
    """Return the reason of the worst placement, and whether the file passes under each other
    runtime. reaches: the runs, each with its placement."""
    alike = [run.runtime for run, reach in reaches if reach == worst]
    why = f"Under {words.listed(alike)}: {worst.why[:1].lower()}{worst.why[1:]}"
    for run, reach in reaches:
        if reach != worst:
            why += f" Under {run.runtime} it {'fails, too' if reach.misplaced else 'is right'}."
    return why


@Rule("binding", runs=(BINDING,), needs=("sched_setaffinity",), subject="file")
def binding(criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    """Count the threads that a placement file puts in the wrong place; the runtime with the most
    counts."""
    file = criterion.needed_file
    text = evidence.handed(file.name)
    if text is None:
        return not_measured(criterion, evidence)
    if file.goal in CORE_GOALS and not evidence.is_virtual:
        why = "The file is about the cores of one machine, and is judged there."
        return verdict_on(criterion, "not_gradable", "seen_elsewhere", why)
    only = thread_goals.only_unit(file.goal, evidence.node)
    if only is not None:
        why = f"This machine has one {only} only, so that any placement reaches what is asked for."
        return verdict_on(criterion, "not_gradable", "no_effect_here", why)
    runs = [run for run in evidence.runs_of(BINDING) if run.file == file.name]
    if not runs and not evidence.announces_cores and "libomp" in file.runtimes:
        return verdict_on(criterion, "not_gradable", "not_visible_here", NO_CORES)
    if not runs:
        return not_measured(criterion, evidence)
    bad = next((run for run in runs if not run.outcome.ok), None)
    if bad is not None:
        # Numalab's own kernel ran, so the runtime or numalab ended it.
        why = f"Under {bad.runtime}: {explain.outcome(bad.outcome, evidence.language)}"
        if bad.outcome.status == "exited":
            return verdict_on(criterion, "fail", "exited", why)
        return verdict_on(criterion, "error", "kit", why)
    reaches = [
        (run, thread_goals.reach_of_threads(file.goal, run.threads, run.team, evidence.node))
        for run in runs
    ]
    worst = max((reach for _, reach in reaches), key=lambda reach: reach.misplaced)
    why = worst.why
    if len(file.runtimes) > 1 and worst.misplaced:
        why = _compare_runtimes(worst, reaches)
    if not text.variables and worst.misplaced:
        why = f"{file.name} sets nothing. {why}"
    # A value that a runtime can't use may lead to the goal on one machine, and nowhere else.
    blamed = [run for run, reach in reaches if reach == worst] if worst.misplaced else runs
    verdict = judge_value(criterion, float(worst.misplaced), why, unit="threads in the wrong place")
    return replace(verdict, warnings=runtime_warnings(blamed))
