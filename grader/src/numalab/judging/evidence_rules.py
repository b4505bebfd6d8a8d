"""The rules for correctness and evidence: a criterion and a session's evidence in, its verdict
out. Pure functions; judge.py says which applies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from numalab import words
from numalab.evidence.kinds import BINDING, CHECK, LOCATE, RACE, STORES
from numalab.evidence.record import SOLUTION, Binding, Evidence, Race
from numalab.judging import explain, mpi_rules, thread_goals
from numalab.judging.cpuset_rules import confined, memory_confined, others_out
from numalab.judging.governor_rules import governor
from numalab.judging.link_rules import rates
from numalab.judging.memory_rules import huge_pages, no_waste, released
from numalab.judging.model_rules import counted
from numalab.judging.on_link_rules import on_link
from numalab.judging.page_rules import local_pages, shared_out, touched_where_used
from numalab.judging.placing_rules import (
    binary_interleaved,
    blocks_local,
    contained,
    falls_back,
    fast_memory,
    handed_over,
    table_interleaved,
)
from numalab.judging.quiet_rules import decided, stops_found, stops_live
from numalab.judging.runtime_words import runtime_warnings
from numalab.judging.soundness import (
    NO_CORES,
    all_results,
    by_value,
    ended_in,
    first_bad,
    met_limits,
    missing_runs,
    not_looked_at,
    outcomes,
    unseen,
    unusable,
    wrong_in,
)
from numalab.judging.store_rules import (
    no_shared_lines,
    slots_apart,
    slots_true,
    with_team,
    wrong_team,
)
from numalab.judging.thread_goals import Reached
from numalab.judging.topology_rules import topology
from numalab.judging.verdict import CriterionVerdict, Status, verdict_on
from numalab.judging.work_rules import balanced
from numalab.labs.core_goals import CORE_GOALS
from numalab.labs.declaration import Criterion, Lab

# ---- correctness -----------------------------------------------------------


def _correct(lab: Lab, criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    for run in evidence.of(STORES):
        if run.overrun is not None:  # what is wrong then may come of it
            beside = wrong_team(criterion, evidence, run)
            assert beside is not None
            return beside
    bad = first_bad(outcomes(evidence))
    wrong = sum(results.wrong for results, *_ in all_results(evidence))
    for results, n, ranks in all_results(evidence):
        why = explain.results(results, n, evidence.language, ranks)
        if why is not None:
            if bad is not None:
                why += " " + (explain.outcome(bad, evidence.language) or "")
            value = float(max(wrong, 1))  # writing before an array is wrong, too
            return verdict_on(
                criterion,
                "fail",
                "wrong_result" if results.requests is None else "open_request",
                why,
                value=value,
                unit="elements",
                began_in=wrong_in(lab, results),
            )
    if bad is not None:
        ended = with_team(unusable(criterion, bad, evidence), evidence)
        return replace(ended, began_in=ended_in(lab, bad))
    for run in evidence.of(STORES):
        team = wrong_team(criterion, evidence, run)
        if team is not None:
            return team
    if evidence.monitor_lost is not None:
        return not_looked_at(criterion, evidence)
    if unseen(lab, criterion, [check.part for check in evidence.of(CHECK)]):
        return not_looked_at(criterion, evidence)
    return verdict_on(
        criterion,
        "pass",
        "reached",
        "Every element is right, in every run and in odd sizes too.",
        value=0.0,
        unit="elements",
    )


def doubtful_races(evidence: Evidence) -> list[Race]:
    """The searches that found nothing, of parts in which none came to its end and saw what it had
    to: they failed, or were switched off."""
    races = evidence.of(RACE)
    well = {race.part for race in races if race.outcome.ok and race.searched is not False}
    return [race for race in races if not race.found and race.part not in well]


def _not_searched(criterion: Criterion, race: Race, evidence: Evidence) -> CriterionVerdict:
    """The verdict on such a one: the kit's fault unless the solution was searched well."""
    control = [run for run in evidence.of(RACE, SOLUTION) if run.part == race.part]
    is_ours = not any(run.outcome.ok and run.searched for run in control)
    if race.outcome.ok:
        why = (
            "The search for data races was switched off while the kernel ran: it did not see one "
            "that the kit has made in the end, as it does behind the kit's own kernel. Take out "
            "what meddles with ThreadSanitizer, with threads or with signals."
        )
        status: Status = "error" if is_ours else "fail"
        return verdict_on(criterion, status, "kit" if is_ours else "disturbed_monitor", why)
    if race.outcome.status == "cancelled" or not is_ours:
        which = "In the search for data races, which takes ten times as long: "
        return unusable(criterion, race.outcome, evidence, which)
    why = explain.outcome(race.outcome, evidence.language) or ""
    why += met_limits(race.outcome, evidence)
    return verdict_on(criterion, "error", "kit", f"Looking for data races: {why}")


def _race_free(lab: Lab, criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    if evidence.race_refused is not None:
        return verdict_on(criterion, "fail", "not_built", evidence.race_refused)
    if evidence.race_error is not None:
        return verdict_on(criterion, "not_gradable", "not_visible_here", evidence.race_error)
    for race in evidence.of(RACE):
        if race.found:
            return verdict_on(
                criterion, "fail", "data_race", explain.race(race), value=1.0, unit="races"
            )
    for race in doubtful_races(evidence):
        return _not_searched(criterion, race, evidence)
    if unseen(lab, criterion, [race.part for race in evidence.of(RACE)]):
        bad = first_bad(outcomes(evidence))
        if bad is not None and (bad.is_kits_fault or bad.status == "cancelled"):
            return unusable(criterion, bad, evidence)
        if bad is not None:
            return verdict_on(
                criterion,
                "fail",
                "not_right_yet",
                "Not looked for, since the kernel does not come to its end.",
            )
        return not_looked_at(criterion, evidence)
    return verdict_on(
        criterion,
        "pass",
        "reached",
        "ThreadSanitizer saw no two threads touch the same element without an order, where "
        "one of them writes.",
        value=0.0,
        unit="races",
    )


# ---- evidence --------------------------------------------------------------


def _no_numa_node(language: str) -> str:
    """Where an answer that is none comes from, with a space before it."""
    asked = "Which of its functions was asked"
    if language == "fortran":  # the PU goes in by address unless told
        asked += ", and did it get the PU by value"
    return (
        " -1 is no NUMA node: the handout says it, and so does libnuma where it knows none. Is the "
        f"node set at all? {asked}?"
    )


def _located(criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    missing = missing_runs(criterion, evidence, evidence.of(LOCATE))
    if missing:
        return missing
    run = evidence.of(LOCATE)[-1]
    bound = [answer for of_round in run.rounds for answer in of_round]
    answers = [answer for of_round in run.all_rounds for answer in of_round]
    wrong_pu = [answer for answer in answers if answer.told_pu != answer.pu]
    wrong_node = [answer for answer in answers if answer.told_numa_node != answer.numa_node]
    wrong = {id(answer) for answer in (*wrong_pu, *wrong_node)}
    if not bound:
        why = "No thread of the team was heard of: does locate return?"
    elif wrong_pu:
        answer = wrong_pu[0]
        was_bound = id(answer) in {id(of_bound) for of_bound in bound}
        was = "was bound to" if was_bound else "could use two PUs, was on"
        why = (
            f"Thread {answer.thread} {was} PU {answer.pu} and locate said PU "
            f"{answer.told_pu}; wrong in {len(wrong)} of {len(answers)} answers, the threads "
            "being moved between them."
        )
    elif wrong_node:
        answer = wrong_node[0]
        why = (
            f"Every PU is right, but PU {answer.pu} belongs to NUMA node {answer.numa_node} and "
            f"locate said {answer.told_numa_node}; wrong in {len(wrong)} of {len(answers)} answers."
        )
        if answer.told_numa_node < 0:
            why += _no_numa_node(evidence.language)
    else:
        why = f"Right in {len(answers)} answers, the threads being moved between them."
    value = float(len(wrong)) if bound else 1.0
    return by_value(criterion, value, why, unit="wrong answers")


def _under_runtimes(worst: Reached, reaches: Sequence[tuple[Binding, Reached]]) -> str:
    """What is wrong, and what becomes of the same file under each other runtime."""
    alike = [run.runtime for run, reach in reaches if reach == worst]
    why = f"Under {words.listed(alike)}: {worst.why[:1].lower()}{worst.why[1:]}"
    for run, reach in reaches:
        if reach != worst:
            why += f" Under {run.runtime} it {'fails, too' if reach.misplaced else 'is right'}."
    return why


def _binding(criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    file = criterion.file
    assert file is not None
    text = evidence.handed(file.name)
    if text is None:
        return not_looked_at(criterion, evidence)
    if file.goal in CORE_GOALS and not evidence.is_virtual:
        why = "The file is about the cores of one machine, and is judged there."
        return verdict_on(criterion, "not_gradable", "seen_elsewhere", why)
    only = thread_goals.only_unit(file.goal, evidence.node)
    if only is not None:
        why = f"This machine has one {only} only, so that any placement reaches what is asked for."
        return verdict_on(criterion, "not_gradable", "no_effect_here", why)
    runs = [run for run in evidence.of(BINDING) if run.file == file.name]
    if not runs and not evidence.announces_cores and "libomp" in file.runtimes:
        return verdict_on(criterion, "not_gradable", "not_visible_here", NO_CORES)
    if not runs:
        return not_looked_at(criterion, evidence)
    bad = next((run for run in runs if not run.outcome.ok), None)
    if bad is not None:
        # The kit's own kernel ran, so what ended it is the runtime, or the kit.
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
        why = _under_runtimes(worst, reaches)
    if not text.variables and worst.misplaced:
        why = f"{file.name} sets nothing. {why}"
    # A value that a runtime can't use may lead to the goal on one machine, and nowhere else.
    blamed = [run for run, reach in reaches if reach == worst] if worst.misplaced else runs
    verdict = by_value(criterion, float(worst.misplaced), why, unit="threads in the wrong place")
    return replace(verdict, warnings=runtime_warnings(blamed))


CORRECTNESS_JUDGES: dict[str, Callable[[Lab, Criterion, Evidence], CriterionVerdict]] = {
    "correct": _correct,
    "race_free": _race_free,
    "deadlock_free": mpi_rules.deadlock_free,
}
EVIDENCE_JUDGES: dict[str, Callable[[Criterion, Evidence], CriterionVerdict]] = {
    "shared_out": shared_out,
    "touched_where_used": touched_where_used,
    "local_pages": local_pages,
    "balanced": balanced,
    "huge_pages": huge_pages,
    "no_waste": no_waste,
    "released": released,
    "located": _located,
    "binding": _binding,
    "thread_level": mpi_rules.thread_level,
    "launch": mpi_rules.launch,
    "topology": topology,
    "governor": governor,
    "counted": counted,
    "rates": rates,
    "on_link": on_link,
    "no_shared_lines": no_shared_lines,
    "slots_true": slots_true,
    "slots_apart": slots_apart,
    "table_interleaved": table_interleaved,
    "blocks_local": blocks_local,
    "handed_over": handed_over,
    "contained": contained,
    "falls_back": falls_back,
    "fast_memory": fast_memory,
    "binary_interleaved": binary_interleaved,
    "confined": confined,
    "memory_confined": memory_confined,
    "others_out": others_out,
    "stops_found": stops_found,
    "stops_live": stops_live,
    "decided": decided,
}
