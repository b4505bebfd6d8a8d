"""The rules for correctness and evidence: a criterion and a session's evidence in, its verdict
out. Pure functions; judge.py says which applies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from numalab import words
from numalab.evidence import touch
from numalab.evidence.kinds import BINDING, CHECK, LOCATE, PLACEMENT, RACE, TRACE
from numalab.evidence.record import SOLUTION, Binding, Evidence, Race, Trace
from numalab.judging import explain, mpi_rules, thread_goals
from numalab.judging.memory_rules import huge_pages, no_waste, released
from numalab.judging.soundness import (
    all_results,
    by_value,
    first_bad,
    missing_runs,
    not_looked_at,
    outcomes,
    unseen,
    unusable,
)
from numalab.judging.thread_goals import Reached
from numalab.judging.verdict import CriterionVerdict, Status, verdict_on
from numalab.judging.work_rules import balanced
from numalab.labs.declaration import Criterion, Lab

# ---- correctness -----------------------------------------------------------


def _correct(lab: Lab, criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    bad = first_bad(outcomes(evidence))
    wrong = sum(results.wrong for results, *_ in all_results(evidence))
    for results, n, ranks in all_results(evidence):
        why = explain.results(results, n, evidence.language, ranks)
        if why is not None:
            if bad is not None:
                why += " " + (explain.outcome(bad, evidence.language) or "")
            value = float(max(wrong, 1))  # writing before an array is wrong, too
            array = results.first_wrong.array if results.first_wrong else ""
            return verdict_on(
                criterion,
                "fail",
                "wrong_result",
                why,
                value=value,
                unit="elements",
                wrong_array=array,
            )
    if bad is not None:
        return unusable(criterion, bad, evidence)
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


def race_is_doubtful(race: Race) -> bool:
    """Whether the search found nothing, and did not come to its end or was switched off."""
    return not race.found and (not race.outcome.ok or race.searched is False)


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
    for race in filter(race_is_doubtful, evidence.of(RACE)):
        return _not_searched(criterion, race, evidence)
    if unseen(lab, criterion, [race.part for race in evidence.of(RACE)]):
        if first_bad(outcomes(evidence)) is not None:
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


def _needs_team(criterion: Criterion, evidence: Evidence) -> CriterionVerdict | None:
    if evidence.node["cores"] >= 2:
        return None
    return verdict_on(
        criterion,
        "not_gradable",
        "too_few_cores",
        "This node offers one core, so there is one thread and nothing to share out.",
    )


def _shared_out(criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    traces = evidence.of(TRACE)
    missing = _needs_team(criterion, evidence) or missing_runs(criterion, evidence, traces)
    if missing:
        return missing
    assert criterion.at_most is not None
    ratios = touch.equal_share_ratios(touch.united_users(traces), traces[0].team)
    off = max(range(len(ratios)), key=lambda thread: abs(ratios[thread] - 1))
    started = max(len(trace.threads) for trace in traces)
    value = abs(ratios[off] - 1)
    idle = [thread for thread, ratio in enumerate(ratios) if ratio == 0]
    if value <= criterion.at_most:
        span = f"{min(ratios):.2f} to {max(ratios):.2f} times"
        why = (
            f"Each of the {len(ratios)} threads uses "
            f"{'' if max(ratios) - min(ratios) < 0.01 else span + ' '}"
            f"an equal share of the pages. {_traced(traces[0])}"
        )
    elif len(idle) == len(ratios) - 1:
        why = (
            f"One thread of {len(ratios)} does all the work of compute, with n = "
            f"{traces[0].n:,}. Is there a parallel loop, is its if clause, should it have one, "
            "true for this n, and does it take the threads that the kit asks for?"
        )
    else:
        why = (
            f"Thread {off} of {len(ratios)} uses {ratios[off]:.2f} times an equal share of the "
            f"pages; between {1 - criterion.at_most:g} and {1 + criterion.at_most:g} is asked for."
        )
        if started > traces[0].team:
            why += f" The kit asks for {traces[0].team} threads, and {started} have run."
        why += f" {_traced(traces[0])}"
    return by_value(criterion, value, why, unit="off an equal share")


def _traced(trace: Trace) -> str:
    """With which n, and how much of the arrays."""
    pages = sum(array.sample.pages for array in trace.arrays)
    looked_at = sum(array.sample.looked_at for array in trace.arrays)
    part = "all" if looked_at == pages else f"{looked_at:,} of the"
    return f"Traced with n = {trace.n:,}, {part} {pages:,} pages."


def _touched_where_used(criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    traces = evidence.of(TRACE)
    missing = _needs_team(criterion, evidence) or missing_runs(criterion, evidence, traces)
    if missing:
        return missing
    shown = touch.shown_trace(evidence)  # what is drawn is what counts
    assert shown is not None
    worst = touch.touch_share(*shown, evidence.numa_nodes)
    assert criterion.at_least is not None
    sentence = _loop_sentence if criterion.kit_writes_first else _touch_sentence
    ways = _ways_to_share(evidence)
    why = sentence(worst, evidence.numa_nodes, ways)
    unsteady = touch.unsteady_share(traces, worst.worst_array)
    if worst.share < criterion.at_least and worst.contested_share <= 0.5 < unsteady:
        why += (
            f" Who writes first is chance: for {words.percent(unsteady)} of the pages it was not "
            f"the same thread in all tracings. The loop that writes them is dealt out {ways}."
        )
    if worst.share < criterion.at_least:
        why += f" {_traced(traces[0])}"
    if traces[0].method == "in_process":
        why += " (Traced inside the process: this system refuses userfaultfd.)"
    return by_value(criterion, worst.share, why, unit="share")


def _ways_to_share(evidence: Evidence) -> str:
    """How a loop comes to be dealt out so that several threads meet in a page; one tracing shows
    one user of a page, so that they can't be told apart. If each thread ran all of it, they
    would write the same elements, which a search for races finds."""
    ways = "in pieces smaller than a page, or anew in each call (dynamic, guided)"
    if evidence.of(RACE) and all(race.outcome.ok and not race.found for race in evidence.of(RACE)):
        return ways
    clause = {"c": "for", "fortran": "do"}[evidence.language]
    return f"{ways}, or not at all, so that each thread runs all of it (parallel without {clause})"


def _touch_sentence(touched: touch.TouchShare, numa_nodes: int, ways: str) -> str:
    if touched.share == 1:
        return "Every page was first written by a thread that sits where it is used."
    array = touched.worst_array
    if touched.writer < 0:
        share = "No page" if touched.writer_share == 1 else "Not every page"
        return f"{share} of {array} was written in initialize, so its place was left to chance."
    written = (
        f"{_pages(touched.writer_share, array, 'was', 'were')} first written by thread "
        f"{touched.writer}"
    )
    if touched.contested_share > 0.5:
        too = f" {written}." if touched.writer_share == 1 else ""
        return (
            f"{_contested(touched, numa_nodes)}, so no first touch is right for them: the loop "
            f"that uses them is dealt out {ways}.{too}"
        )
    if not touched.stray_users:
        share = words.percent(1 - touched.array_share[array])
        return f"{written}; {share} of {array} is used elsewhere than where it was written."
    if touched.stray_users == (touched.writer,):
        return (
            f"{written}, which uses them and may run on several NUMA nodes: the kit binds the "
            "threads of a parallel region. Is there one?"
        )
    if len(touched.stray_users) == 1:
        whom = f"thread {touched.stray_users[0]}"
    elif numa_nodes > 1:
        whom = "threads on other NUMA nodes"
    else:
        whom = f"{len(touched.stray_users)} others"
    if touched.writer_share == 1 or touched.stray_share == 1:
        share = words.percent(touched.stray_share) if touched.stray_share < 1 else "all"
        return f"{written}, and {share} of them are used by {whom}."
    both = _pages(touched.writer_share * touched.stray_share, array, "was", "were")
    return f"{both} first written by thread {touched.writer} and are used by {whom}."


def _loop_sentence(touched: touch.TouchShare, numa_nodes: int, ways: str) -> str:
    """Where the kit has written the arrays, so that it is the loop over them that does not fit."""
    if touched.share == 1:
        return "Every page is used where the kit first wrote it."
    kits = "The kit wrote the arrays before, in equal blocks, one a thread."
    if touched.contested_share > 0.5:
        return f"{_contested(touched, numa_nodes)}: the loop is dealt out {ways}. {kits}"
    share = touched.array_share[touched.worst_array]
    pages = f"Only {words.percent(share)} of the pages" if share > 0 else "None of the pages"
    where = "on the NUMA node where" if numa_nodes > 1 else "by the thread by which"
    return (
        f"{pages} of {touched.worst_array} are used {where} they were first written: the loop "
        f"deals them out otherwise. {kits}"
    )


def _contested(share: touch.TouchShare | touch.LocalShare, numa_nodes: int) -> str:
    together = "threads on several NUMA nodes" if numa_nodes > 1 else "several threads"
    return f"{_pages(share.contested_share, share.worst_array, 'is', 'are')} used by {together}"


def _pages(share: float, array: str, one: str, many: str) -> str:
    """The subject of a sentence about some pages of an array, with its verb."""
    if share == 1:
        return f"Every page of {array} {one}"
    return f"{words.first_upper(words.percent(share))} of the pages of {array} {many}"


def _local_pages(criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    traces, placements = evidence.of(TRACE), evidence.of(PLACEMENT)
    missing = missing_runs(criterion, evidence, traces) or missing_runs(
        criterion, evidence, placements
    )
    if missing:
        return missing
    local_share = touch.local_share(placements[0], traces)
    if local_share is None:
        return verdict_on(
            criterion,
            "not_gradable",
            "not_visible_here",
            "This system refuses move_pages, so nobody can see where pages live "
            "(a container's seccomp profile, most often).",
        )
    local = words.first_upper(words.percent(local_share.share))
    why = f"{local} of the pages live on the NUMA node of the thread that uses them"
    if local_share.absent:
        why += f"; {words.count(local_share.absent, 'page')} could not be found on any node"
    elif local_share.contested_share > 0.5:
        why += f". {_contested(local_share, evidence.numa_nodes)}, so no place is right for them"
    elif local_share.share < 1:
        share = words.percent(local_share.crowded_share)
        why += f"; {share} of {local_share.worst_array} sits on node {local_share.crowded_node}"
    if local_share.unbound_users:
        why += (
            f"; {words.threads(local_share.unbound_users)} may run on several NUMA nodes, so no "
            "place is right"
        )
    if touch.is_written_unbound(traces[0], placements[0], local_share):
        home = touch.numa_nodes_of(placements[0].threads)(0)
        why += (
            f". Thread 0 wrote it, most likely before it was bound to node {home}: that comes with "
            "the first parallel region, and until then the system lets it run anywhere"
        )
    why += "."
    assert criterion.at_least is not None
    if local_share.share < criterion.at_least:
        why += f" {_traced(traces[0])}"
    return by_value(criterion, local_share.share, why, unit="share")


def _no_numa_node(language: str) -> str:
    """Where an answer that is none comes from, with a space before it."""
    asked = "Which of its functions was asked"
    if language == "fortran":  # the PU goes in by address unless told
        asked += ", and did it get the PU by value"
    return f" -1 is no NUMA node: the handout says it, and libnuma where it knows none. {asked}?"


def _located(criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    missing = missing_runs(criterion, evidence, evidence.of(LOCATE))
    if missing:
        return missing
    answers = [answer for of_round in evidence.of(LOCATE)[-1].rounds for answer in of_round]
    wrong_pu = [answer for answer in answers if answer.told_pu != answer.pu]
    wrong_node = [answer for answer in answers if answer.told_numa_node != answer.numa_node]
    wrong = {id(answer) for answer in (*wrong_pu, *wrong_node)}
    if not answers:
        why = "No thread of the team was heard of: does locate return?"
    elif wrong_pu:
        answer = wrong_pu[0]
        why = (
            f"Thread {answer.thread} was bound to PU {answer.pu} and locate said PU "
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
    value = float(len(wrong)) if answers else 1.0
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
    text = next((text for text in evidence.handed_in if text.file == file.name), None)
    if text is None:
        return not_looked_at(criterion, evidence)
    runs = [run for run in evidence.of(BINDING) if run.file == file.name]
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
    if len(runs) > 1 and worst.misplaced:
        why = _under_runtimes(worst, reaches)
    # A value that a runtime can't use may lead to the goal on one machine, and nowhere else.
    blamed = [run for run, reach in reaches if reach == worst] if worst.misplaced else runs
    verdict = by_value(criterion, float(worst.misplaced), why, unit="threads in the wrong place")
    return replace(verdict, warnings=explain.runtime_warnings(blamed))


CORRECTNESS_JUDGES: dict[str, Callable[[Lab, Criterion, Evidence], CriterionVerdict]] = {
    "correct": _correct,
    "race_free": _race_free,
    "deadlock_free": mpi_rules.deadlock_free,
}
EVIDENCE_JUDGES: dict[str, Callable[[Criterion, Evidence], CriterionVerdict]] = {
    "shared_out": _shared_out,
    "touched_where_used": _touched_where_used,
    "local_pages": _local_pages,
    "balanced": balanced,
    "huge_pages": huge_pages,
    "no_waste": no_waste,
    "released": released,
    "located": _located,
    "binding": _binding,
    "thread_level": mpi_rules.thread_level,
    "launch": mpi_rules.launch,
}
