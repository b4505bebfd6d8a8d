"""The judge: criteria and evidence in, verdict out. Pure functions over records.

Any verdict can be computed again from stored evidence; nothing here measures, reads a
file or knows the time.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from numalab import explain, placement, touch
from numalab.lab import Criterion, Lab
from numalab.record import (
    CONTROL,
    HANDOUT,
    SOLUTION,
    SUBMISSION,
    Evidence,
    Generation,
    Locate,
    Memory,
    Outcome,
    Placement,
    Results,
    Trace,
)
from numalab.sequential import CAREFUL, QUICK, Decision, Thresholds, decide, e_value
from numalab.verdict import CriterionVerdict, Status, Verdict, verdict_on

# The handout must take at least this many times the solution's time, or the node does
# not show the effect.
LEAST_HANDOUT_RATIO = 1.15

# A kernel whose best repetition takes this many times as long as the claim allows, in so
# many generations, has failed it; to collect the e-process's signs would only take long.
# A busy node stretches single repetitions by such a factor, not the best of them twice.
HOPELESS_RATIO = 8.0
HOPELESS_GENERATIONS = 2

# e-value at which each end of an interval excludes a ratio: 95 % in all.
INTERVAL_E_VALUE = 40.0

# ---- what can be looked at -------------------------------------------------


def _evidence_runs(evidence: Evidence) -> tuple[Trace | Placement | Memory | Locate, ...]:
    return (*evidence.traces, *evidence.placements, *evidence.memories, *evidence.locates)


def _outcomes(evidence: Evidence) -> Iterator[Outcome]:
    yield from (check.outcome for check in evidence.checks)
    yield from (run.outcome for run in _evidence_runs(evidence))
    for generation in evidence.generations:
        if SUBMISSION in generation.roles and not _timed_out(generation):
            yield generation.roles[SUBMISSION].outcome


def _timed_out(generation: Generation) -> bool:
    """The submission met the time limit while it was timed. It has come to its end in
    every smaller run, so this says that it is slow, not that it is wrong."""
    return (
        SUBMISSION in generation.roles
        and generation.roles[SUBMISSION].outcome.status == "timed_out"
    )


def _first_bad(outcomes: Iterator[Outcome]) -> Outcome | None:
    return next((outcome for outcome in outcomes if not outcome.ok), None)


def _results(evidence: Evidence) -> Iterator[tuple[Results, int | None]]:
    for check in evidence.checks:
        for n, found in check.results:
            yield found, n
    with_results: tuple[Trace | Placement | Memory, ...] = (
        *evidence.traces, *evidence.placements, *evidence.memories
    )  # fmt: skip
    for run in with_results:
        yield run.results, None
    for generation in evidence.generations:
        if SUBMISSION in generation.roles:
            yield generation.roles[SUBMISSION].results, generation.n


def _wrong(results: Results) -> bool:
    return results.wrong > 0 or results.wrote_before_array is not None


def is_sound(evidence: Evidence) -> bool:
    """Built, ran to its end every time, and every result was right so far."""
    return (
        evidence.build.status == "ok"
        and _first_bad(_outcomes(evidence)) is None
        and not any(_wrong(found) for found, _ in _results(evidence))
    )


def sound_parts(lab: Lab, evidence: Evidence) -> tuple[str | None, ...]:
    """The kernels that were checked and are sound."""
    of_parts = {part: evidence.of_part(part) for part in lab.parts}
    return tuple(part for part, own in of_parts.items() if own.checks and is_sound(own))


def _unusable(criterion: Criterion, outcome: Outcome, evidence: Evidence) -> CriterionVerdict:
    """The verdict where a run that the criterion needs did not come to its end. On a virtual
    node, which is slow and small, a limit says nothing of a kernel that works elsewhere."""
    why = explain.outcome(outcome, evidence.language) or ""
    ours = outcome.status in ("kit_error", "cancelled") or (
        evidence.is_virtual and outcome.status in ("timed_out", "out_of_memory")
    )
    return verdict_on(criterion, "error" if ours else "fail", why)


def _not_looked_at(criterion: Criterion) -> CriterionVerdict:
    return verdict_on(criterion, "error", "Interrupted before it was graded.")


# ---- correctness -----------------------------------------------------------


def _unseen(lab: Lab, criterion: Criterion, parts: Sequence[str | None]) -> list[str | None]:
    """The kernels that a criterion is about and that are not among parts."""
    wanted = lab.parts if criterion.part is None else (criterion.part,)
    return [part for part in wanted if part not in parts]


def _correct(lab: Lab, criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    bad = _first_bad(_outcomes(evidence))
    wrong = sum(found.wrong for found, _ in _results(evidence))
    for found, n in _results(evidence):
        why = explain.results(found, n, evidence.language)
        if why is not None:
            if bad is not None:
                why += " " + (explain.outcome(bad, evidence.language) or "")
            value = float(max(wrong, 1))  # writing before an array is wrong, too
            return verdict_on(criterion, "fail", why, value=value, unit="elements")
    if bad is not None:
        return _unusable(criterion, bad, evidence)
    if _unseen(lab, criterion, [check.part for check in evidence.checks]):
        return _not_looked_at(criterion)
    return verdict_on(
        criterion,
        "pass",
        "Every element is right, in every run and in odd sizes too.",
        value=0.0,
        unit="elements",
    )


def _race_free(lab: Lab, criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    if evidence.race_error is not None:
        return verdict_on(criterion, "not_gradable", evidence.race_error)
    for race in evidence.races:
        if race.found:
            return verdict_on(criterion, "fail", explain.race(race), value=1.0, unit="races")
    for race in evidence.races:
        if not race.outcome.ok:
            why = explain.outcome(race.outcome, evidence.language)
            return verdict_on(criterion, "error", f"Looking for data races: {why}")
    if _unseen(lab, criterion, [race.part for race in evidence.races]):
        if _first_bad(_outcomes(evidence)) is not None:
            return verdict_on(
                criterion, "fail", "Not looked for, since the kernel does not come to its end."
            )
        return _not_looked_at(criterion)
    return verdict_on(
        criterion,
        "pass",
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
        "This node offers one core, so there is one thread and nothing to share out.",
    )


def _missing_runs(
    criterion: Criterion, evidence: Evidence, runs: Sequence[Trace | Placement | Memory | Locate]
) -> CriterionVerdict | None:
    bad = _first_bad(run.outcome for run in runs)
    if bad is None and not runs:
        bad = _first_bad(_outcomes(evidence))
        if bad is None:
            return _not_looked_at(criterion)
    return None if bad is None else _unusable(criterion, bad, evidence)


def _shared_out(criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    traces = evidence.traces
    missing = _needs_team(criterion, evidence) or _missing_runs(criterion, evidence, traces)
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
            "an equal share of the pages."
        )
    elif len(idle) == len(ratios) - 1:
        why = (
            f"One thread of {len(ratios)} does all the work of compute. Is there a parallel "
            "loop, and does it take the threads that the kit asks for?"
        )
    else:
        why = (
            f"Thread {off} of {len(ratios)} uses {ratios[off]:.2f} times an equal share of the "
            f"pages; between {1 - criterion.at_most:g} and {1 + criterion.at_most:g} is asked for."
        )
        if started > traces[0].team:
            why += f" The kit asks for {traces[0].team} threads, and {started} have run."
    return _by_value(criterion, value, why, unit="off an equal share")


def _touched_where_used(criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    traces = evidence.traces
    missing = _needs_team(criterion, evidence) or _missing_runs(criterion, evidence, traces)
    if missing:
        return missing
    users = touch.united_users(traces)
    worst = min(
        (touch.touch_share(trace, users, evidence.numa_nodes) for trace in traces),
        key=lambda found: found.share,
    )
    assert criterion.at_least is not None
    why = _touch_sentence(worst, evidence.numa_nodes)
    if traces[0].method == "in_process":
        why += " (Traced inside the process: this system refuses userfaultfd.)"
    return _by_value(criterion, worst.share, why, unit="share")


def _touch_sentence(found: touch.TouchShare, numa_nodes: int) -> str:
    if found.share == 1:
        return "Every page was first written by a thread that sits where it is used."
    array = found.worst_array
    if found.writer < 0:
        share = "No page" if found.writer_share == 1 else "Not every page"
        return f"{share} of {array} was written in initialize, so its place was left to chance."
    written = (
        f"{_pages(found.writer_share, array, 'was', 'were')} first written by thread {found.writer}"
    )
    if found.contested_share > 0.5:
        together = "threads on several NUMA nodes" if numa_nodes > 1 else "several threads"
        return (
            f"{_pages(found.contested_share, array, 'is', 'are')} used by {together}, so no "
            f"first touch is right for them; {written}."
        )
    if not found.stray_users:
        share = explain.percent(1 - found.array_share[array])
        return f"{written}; {share} of {array} is used elsewhere than where it was written."
    share = explain.percent(found.stray_share) if found.stray_share < 1 else "all"
    if found.stray_users == (found.writer,):
        return (
            f"{written}, which uses them and may run on several NUMA nodes: the kit binds the "
            "threads of a parallel region. Is there one?"
        )
    if len(found.stray_users) == 1:
        return f"{written}, and {share} of them are used by thread {found.stray_users[0]}."
    others = "threads on other NUMA nodes" if numa_nodes > 1 else f"{len(found.stray_users)} others"
    return f"{written}, and {share} of them are used by {others}."


def _pages(share: float, array: str, one: str, many: str) -> str:
    """The subject of a sentence about some pages of an array, with its verb."""
    if share == 1:
        return f"Every page of {array} {one}"
    return f"{explain.percent(share)} of the pages of {array} {many}"


def _local_pages(criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    traces, placements = evidence.traces, evidence.placements
    missing = _missing_runs(criterion, evidence, traces) or _missing_runs(
        criterion, evidence, placements
    )
    if missing:
        return missing
    found = touch.local_share(placements[0], touch.united_users(traces))
    if found is None:
        return verdict_on(
            criterion,
            "not_gradable",
            "This system refuses move_pages, so nobody can see where pages live "
            "(a container's seccomp profile, most often).",
        )
    why = (
        f"{explain.percent(found.share)} of the pages live on the NUMA node of the thread that "
        "uses them"
    )
    if found.absent:
        why += f"; {explain.count(found.absent, 'page')} could not be found on any node"
    elif found.share < 1:
        share = explain.percent(found.crowded_share)
        why += f"; {share} of {found.worst_array} sits on node {found.crowded_node}"
    if found.unbound_users:
        why += (
            f"; {explain.threads(found.unbound_users)} may run on several NUMA nodes, so no place "
            "is right"
        )
    return _by_value(criterion, found.share, why + ".", unit="share")


def _share(of_all_s: float, longest_s: float, team: int) -> float:
    """Mean over maximum, call by call; threads that never started count as idle."""
    return of_all_s / team / longest_s if longest_s > 0 else 0.0


def _balanced(criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    """By CPU time, which tells how the work was shared in each call. Other load takes a core
    from a thread, and a schedule that deals out work on demand then rightly gives it less:
    such a team is uneven by CPU time, and yet its threads are done together. So a look fails
    only if they are not, with the time that they waited for a core."""
    missing = _needs_team(criterion, evidence) or _missing_runs(
        criterion, evidence, evidence.placements
    )
    if missing:
        return missing
    assert criterion.at_least is not None
    least = criterion.at_least
    looks = []
    for run in evidence.placements:
        of_team = run.cpu_time
        value = _share(
            sum(one.cpu_s for one in of_team), sum(one.longest_s for one in of_team), run.team
        )
        together = _share(
            sum(one.cpu_s + one.waiting_s for one in of_team),
            sum(one.last_s for one in of_team),
            run.team,
        )
        busiest = max(range(len(of_team)), key=[one.longest_s for one in of_team].__getitem__)
        looks.append((value, busiest, together < least))
    value, busiest, is_late = max(looks, key=lambda look: (look[0] >= least, look[2]))
    average = f"the average thread works {explain.percent(value)} of its time"
    why = f"Thread {busiest} works longest; {average}"
    if value >= least:
        return _by_value(criterion, value, f"{why}.", unit="share")
    if is_late:
        return _by_value(criterion, value, f"{why} and waits for it during the rest.", unit="share")
    return verdict_on(
        criterion,
        "inconclusive",
        f"{why}, but other programs took cores from the threads meanwhile. Grade again when "
        "the node is quiet.",
        value=value,
        unit="share",
    )


def _huge_pages(criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    missing = _missing_runs(criterion, evidence, evidence.memories)
    if missing:
        return missing
    tables = evidence.memories[-1].tables
    worst = min(tables, key=lambda table: table.huge_bytes / table.bytes)
    share = worst.huge_bytes / worst.bytes
    why = f"{explain.percent(share)} of a table of {explain.amount(worst.bytes)} sits on huge pages"
    if share == 0:
        why += ": nobody asked the kernel for them in time, or they were refused"
    elif worst is tables[0] and share < 1:
        why += (
            ": a huge page begins at a multiple of 2 MiB, and where the table does not, its "
            "ends stay on small pages"
        )
    return _by_value(criterion, share, why + ".", unit="share")


def _no_waste(criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    missing = _missing_runs(criterion, evidence, evidence.memories)
    if missing:
        return missing
    table = evidence.memories[-1].tables[-1]
    resident_bytes = table.resident_during_bytes - table.resident_before_bytes
    asked, taken = explain.amount(table.bytes), explain.amount(resident_bytes)
    why = f"A table of {asked} takes {taken} of memory."
    return _by_value(criterion, resident_bytes / table.bytes, why, unit="of what was asked for")


def _released(criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    missing = _missing_runs(criterion, evidence, evidence.memories)
    if missing:
        return missing
    table = evidence.memories[-1].tables[-1]
    resident_bytes = table.resident_after_bytes - table.resident_before_bytes
    mapped_bytes = table.address_space_after_bytes - table.address_space_before_bytes
    left_bytes = max(resident_bytes, mapped_bytes, 0)
    value = left_bytes / table.bytes
    assert criterion.at_most is not None
    if value <= criterion.at_most:
        why = f"After it was destroyed nothing is left of a table of {explain.amount(table.bytes)}."
    else:
        what = "of memory" if resident_bytes >= mapped_bytes else "of addresses, though no memory,"
        why = (
            f"Of a table of {explain.amount(table.bytes)}, {explain.amount(left_bytes)} {what} "
            "are still taken after it was destroyed."
        )
    return _by_value(criterion, value, why, unit="of the table")


def _located(criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    missing = _missing_runs(criterion, evidence, evidence.locates)
    if missing:
        return missing
    told = [one for of_round in evidence.locates[-1].rounds for one in of_round]
    wrong_pu = [one for one in told if one.told_pu != one.pu]
    wrong_node = [one for one in told if one.told_numa_node != one.numa_node]
    wrong = {id(one) for one in (*wrong_pu, *wrong_node)}
    if not told:
        why = "No thread of the team was heard of: does locate return?"
    elif wrong_pu:
        one = wrong_pu[0]
        why = (
            f"Thread {one.thread} was bound to PU {one.pu} and locate said PU {one.told_pu}; "
            f"wrong in {len(wrong)} of {len(told)} answers, the threads being moved between them."
        )
    elif wrong_node:
        one = wrong_node[0]
        why = (
            f"Every PU is right, but PU {one.pu} belongs to NUMA node {one.numa_node} and locate "
            f"said {one.told_numa_node}; wrong in {len(wrong)} of {len(told)} answers."
        )
        if one.told_numa_node < 0:
            why += " libnuma says -1 of a PU that it can't find: did it get the PU by value?"
    else:
        why = f"Right in {len(told)} answers, the threads being moved between them."
    value = float(len(wrong)) if told else 1.0
    return _by_value(criterion, value, why, unit="wrong answers")


def _binding(criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    wanted = criterion.placement
    assert wanted is not None
    text = next((one for one in evidence.placement_files if one.file == wanted.file), None)
    if text is None:
        return _not_looked_at(criterion)
    runs = [run for run in evidence.bindings if run.file == wanted.file]
    if not runs:
        return _not_looked_at(criterion)
    bad = next((run for run in runs if not run.outcome.ok), None)
    if bad is not None:
        # The kit's own kernel ran, so what ended it is the runtime, or the kit.
        why = f"Under {bad.runtime}: {explain.outcome(bad.outcome, evidence.language)}"
        return verdict_on(criterion, "fail" if bad.outcome.status == "exited" else "error", why)
    worst, run = max(
        ((placement.reached(wanted.goal, run.threads, run.team, evidence.node), run)
         for run in runs),
        key=lambda pair: pair[0].misplaced,
    )  # fmt: skip
    under = f"Under {run.runtime}: " if len(runs) > 1 and worst.misplaced else ""
    why = f"{under}{worst.why}"
    if worst.misplaced:
        why += explain.runtime_warning(run.outcome)
    return _by_value(criterion, float(worst.misplaced), why, unit="threads misplaced")


def _by_value(criterion: Criterion, value: float, why: str, unit: str) -> CriterionVerdict:
    """Passes or fails by the criterion's bounds; written so that NaN fails."""
    passed = (criterion.at_least is None or value >= criterion.at_least) and (
        criterion.at_most is None or value <= criterion.at_most
    )
    return verdict_on(criterion, "pass" if passed else "fail", why, value=value, unit=unit)


# ---- timing ----------------------------------------------------------------


def best_s(generation: Generation, role: str) -> float:
    """The minimum of a role's repetitions: what a repetition takes undisturbed."""
    return min(generation.elapsed_s[role])


def _ratios(
    generations: Sequence[Generation], slow: Callable[[Generation], float], fast: str
) -> list[float]:
    return [slow(generation) / best_s(generation, fast) for generation in generations]


def interval(ratios: Sequence[float]) -> tuple[float | None, float | None]:
    """95 % interval for the median ratio of a generation, valid when one stops at will:
    the ratios that the e-process rejects on neither side. None: not bounded yet."""
    ordered = sorted(ratios)
    size = len(ordered)
    low = high = None
    for i, ratio in enumerate(ordered):
        if e_value(size - i, size) >= INTERVAL_E_VALUE:
            low = ratio
        if high is None and e_value(i + 1, size) >= INTERVAL_E_VALUE:
            high = ratio
    return low, high


@dataclass(frozen=True)
class TimingState:
    """How far the generations have decided a timing criterion. gradable: whether the node
    shows the effect at all; control: the same claim about the kit's own second process;
    worse_than_control: whether, where only one of the two meets the claim, it is the
    control. Were they alike, either would be as likely."""

    claim: Decision
    gradable: Decision | None
    control: Decision
    worse_than_control: Decision

    @property
    def is_unstable(self) -> bool:
        """No decision, and the submission's fault: the control was decided in the same
        generations, and differs."""
        return self.control.status == "pass" and self.worse_than_control.status == "pass"

    @property
    def decided(self) -> bool:
        if self.gradable is not None and self.gradable.status != "pass":
            return self.gradable.status == "fail"
        return self.claim.status != "undecided"


def _complete(evidence: Evidence, roles: Sequence[str]) -> list[Generation]:
    return [
        generation
        for generation in evidence.generations
        if generation.ok and all(generation.elapsed_s.get(role) for role in roles)
    ]


def thresholds(evidence: Evidence) -> Thresholds:
    return QUICK if evidence.quick else CAREFUL


def _timing_state(
    generations: Sequence[Generation],
    allowed: Sequence[float],
    levels: Thresholds,
    gradable: Decision | None,
) -> TimingState:
    submission = [best_s(g, SUBMISSION) for g in generations]
    control = [best_s(g, CONTROL) for g in generations]
    meets = [(s < t, c < t) for s, c, t in zip(submission, control, allowed, strict=True)]
    return TimingState(
        claim=_claim(submission, allowed, levels),
        gradable=gradable,
        control=_claim(control, allowed, levels),
        worse_than_control=decide(
            [c for s, c in meets if s != c], Thresholds(levels.to_fail, math.inf)
        ),
    )


def _claim(best: Sequence[float], allowed: Sequence[float], levels: Thresholds) -> Decision:
    """The claim that best times are below what is allowed, a generation each."""
    decision = decide([t < limit for t, limit in zip(best, allowed, strict=True)], levels)
    hopeless = [t > HOPELESS_RATIO * limit for t, limit in zip(best, allowed, strict=True)]
    if len(hopeless) >= HOPELESS_GENERATIONS and all(hopeless[:HOPELESS_GENERATIONS]):
        return replace(decision, status="fail")
    return decision


def _efficiency_state(criterion: Criterion, evidence: Evidence) -> TimingState:
    assert criterion.at_least is not None
    limit = 1 / criterion.at_least
    generations = _complete(evidence, (SOLUTION, SUBMISSION, CONTROL))
    allowed = [limit * best_s(g, SOLUTION) for g in generations]
    return _timing_state(generations, allowed, thresholds(evidence), None)


def _speedup_state(criterion: Criterion, evidence: Evidence) -> TimingState:
    generations = _complete(evidence, (HANDOUT, SOLUTION, SUBMISSION, CONTROL))
    levels = thresholds(evidence)

    middle = [math.sqrt(best_s(g, HANDOUT) * best_s(g, SOLUTION)) for g in generations]
    shows = [best_s(g, HANDOUT) >= LEAST_HANDOUT_RATIO * best_s(g, SOLUTION) for g in generations]
    return _timing_state(generations, middle, levels, decide(shows, levels))


TIMING_STATES: dict[str, Callable[[Criterion, Evidence], TimingState]] = {
    "efficiency": _efficiency_state,
    "speedup": _speedup_state,
}


def _judge_timing(criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    bad = _first_bad(_outcomes(evidence))
    if bad is not None and bad.status in ("kit_error", "cancelled"):
        return _unusable(criterion, bad, evidence)
    if not is_sound(evidence):
        return verdict_on(
            criterion, "fail", "Not timed, since the kernel does not yet give the right results."
        )
    if evidence.timing_error is not None:
        return verdict_on(criterion, "error", evidence.timing_error)
    for generation in evidence.generations:
        if _timed_out(generation):
            return verdict_on(criterion, "fail", _too_slow(generation))
        for role, part in generation.roles.items():
            if not part.outcome.ok:
                why = explain.outcome(part.outcome, evidence.language)
                return verdict_on(criterion, "error", f"While timing the {role}: {why}")

    state = TIMING_STATES[criterion.rule](criterion, evidence)
    roles: tuple[str, ...] = (SOLUTION, SUBMISSION, CONTROL)
    if criterion.rule == "speedup":
        roles = (HANDOUT, *roles)
    generations = _complete(evidence, roles)
    if not generations:
        return _not_looked_at(criterion)
    if criterion.rule == "speedup":
        ratios = _ratios(generations, lambda g: best_s(g, HANDOUT), SUBMISSION)
        middle = math.sqrt(
            statistics.median(_ratios(generations, lambda g: best_s(g, HANDOUT), SOLUTION))
        )
        named = f"{explain.ratio(statistics.median(ratios))} times the handout's speed"
    else:
        ratios = _ratios(generations, lambda g: best_s(g, SOLUTION), SUBMISSION)
        assert criterion.at_least is not None
        middle = criterion.at_least
        named = f"{explain.ratio(statistics.median(ratios))} times the solution's speed"
    facts = {"value": statistics.median(ratios), "unit": "ratio", "interval": interval(ratios)}
    claim = state.claim
    measured = (
        f"{named} (median); {middle:.2f} is asked for, and reached in {claim.wins} of "
        f"{explain.count(claim.signs, 'generation')}"
    )

    if state.gradable is not None and state.gradable.status != "pass":
        if state.gradable.status == "fail":
            return verdict_on(
                criterion,
                "not_gradable",
                f"The handout is not {LEAST_HANDOUT_RATIO:g} times slower than the solution on "
                "this node, so there is no speedup to earn here.",
                **facts,
            )
        return verdict_on(criterion, "inconclusive", _open(measured, state.gradable), **facts)
    if state.claim.status == "pass":
        return verdict_on(criterion, "pass", f"{_first_upper(measured)}.", **facts)
    if state.claim.status == "fail":
        return verdict_on(criterion, "fail", f"{_first_upper(measured)}.", **facts)
    if state.is_unstable:
        return verdict_on(
            criterion,
            "fail",
            f"Unstable: {measured}, while the kit's own solution was steady on this node.",
            **facts,
        )
    return verdict_on(criterion, "inconclusive", _open(measured, state.claim), **facts)


def _too_slow(generation: Generation) -> str:
    detail = generation.roles[SUBMISSION].outcome.detail
    solution = generation.elapsed_s.get(SOLUTION)
    beside = f", where the solution takes {min(solution):.2g} s" if solution else ""
    return (
        f"Far too slow: one call of {detail['doing']} took more than {detail['limit_s']:g} s "
        f"(n = {detail['n']:,}){beside}; it was stopped."
    )


def _first_upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _open(measured: str, decision: Decision) -> str:
    """Why there is no decision: generations that disagree, or too few of them."""
    if decision.wins in (0, decision.signs):
        reason = "Too few generations in the time allowed"
    else:
        reason = "The node is too noisy to tell"
    return (
        f"{reason}: {measured}; that could be chance. Grade again when the node is quiet: the "
        "new generations are added to these."
    )


# ---- all of it -------------------------------------------------------------

CORRECTNESS_JUDGES: dict[str, Callable[[Lab, Criterion, Evidence], CriterionVerdict]] = {
    "correct": _correct,
    "race_free": _race_free,
}
EVIDENCE_JUDGES: dict[str, Callable[[Criterion, Evidence], CriterionVerdict]] = {
    "shared_out": _shared_out,
    "touched_where_used": _touched_where_used,
    "local_pages": _local_pages,
    "balanced": _balanced,
    "huge_pages": _huge_pages,
    "no_waste": _no_waste,
    "released": _released,
    "located": _located,
    "binding": _binding,
}
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
        return _judge_timing(criterion, evidence)
    judge = EVIDENCE_JUDGES[criterion.rule]
    verdict = judge(criterion, evidence)
    control = evidence.as_control()
    is_compared = bool(_evidence_runs(control)) or _controls_of(criterion, control)
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
            and _unseen(lab, criterion, sound)
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
    if evidence.variant == SOLUTION or _evidence_runs(own.as_control()):
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
    if not is_sound(own) or any(map(_timed_out, own.generations)):
        return True
    return all(TIMING_STATES[c.rule](c, own).decided for c in _gradable_timing(lab, evidence, part))
