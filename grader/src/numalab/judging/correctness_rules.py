"""The rules for correctness: results, and data races. Pure functions."""

from __future__ import annotations

from dataclasses import replace

from numalab.evidence.kinds import CHECK, RACE, STORES
from numalab.evidence.record import SOLUTION, Evidence
from numalab.evidence.run_formats import RaceRun
from numalab.judging import explain
from numalab.judging.registry import Rule
from numalab.judging.soundness import (
    all_results,
    end_origin,
    first_bad,
    met_limits,
    mistake_origin,
    not_judged,
    not_measured,
    outcomes,
    unseen,
    unusable,
)
from numalab.judging.store_rules import explain_by_team, judge_teams
from numalab.judging.verdict import CriterionVerdict, Status, verdict_on
from numalab.labs.declaration import Criterion, Lab


@Rule("correct", kind="correctness", runs=(CHECK,)).register_with_lab
def correct(lab: Lab, criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    """Judge the results and the ends of the kernel's runs (all_results and outcomes), and what goes
    wrong with some number of threads (judge_teams)."""
    for run in evidence.runs_of(STORES):
        if run.overrun is not None:  # what is wrong then may come of it
            beside = judge_teams(criterion, evidence, run)
            assert beside is not None
            return beside
    bad = first_bad(outcomes(evidence))
    wrong = sum(results.mismatches for results, *_ in all_results(evidence))
    for results, n, ranks in all_results(evidence):
        why = explain.results(results, n, evidence.language, ranks)
        if why is not None:
            if bad is not None:
                why += " " + explain.outcome(bad, evidence.language)
            value = float(max(wrong, 1))  # writing before an array is wrong, too
            return verdict_on(
                criterion,
                "fail",
                "wrong_result" if results.requests is None else "open_request",
                why,
                value=value,
                unit="elements",
                began_in=mistake_origin(lab, results),
            )
    if bad is not None:
        ended = explain_by_team(unusable(criterion, bad, evidence), evidence)
        return replace(ended, began_in=end_origin(lab, bad))
    for run in evidence.runs_of(STORES):
        team = judge_teams(criterion, evidence, run)
        if team is not None:
            return team
    if evidence.monitor_lost is not None:
        return not_measured(criterion, evidence)
    if unseen(lab, criterion, [check.part for check in evidence.runs_of(CHECK)]):
        return not_measured(criterion, evidence)
    why = "Every element is right, in every run and in odd sizes too."
    return verdict_on(criterion, "pass", "reached", why, value=0.0, unit="elements")


def doubtful_races(evidence: Evidence) -> list[RaceRun]:
    """Return the searches for data races that prove nothing: those that found no race, of parts in
    which each search ended early or missed the race that numalab makes as a test."""
    races = evidence.runs_of(RACE)
    well = {race.part for race in races if race.outcome.ok and race.searched is not False}
    return [race for race in races if not race.has_race and race.part not in well]


def _not_searched(criterion: Criterion, race: RaceRun, evidence: Evidence) -> CriterionVerdict:
    """Return the verdict on a doubtful search: undecided where it was interrupted; a failure where
    a search in the solution's kernel worked, unless `unusable` has an error for this one; else
    numalab's error."""
    control = [run for run in evidence.runs_of(RACE, SOLUTION) if run.part == race.part]
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
    why = explain.outcome(race.outcome, evidence.language) + met_limits(race.outcome, evidence)
    return verdict_on(criterion, "error", "kit", f"Looking for data races: {why}")


@Rule("race_free", kind="correctness", runs=(RACE,)).register_with_lab
def race_free(lab: Lab, criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    """Judge by what ThreadSanitizer found in the kernel."""
    if evidence.race_refused is not None:
        return verdict_on(criterion, "fail", "not_built", evidence.race_refused)
    for race in evidence.runs_of(RACE):
        if race.race is not None:
            why = explain.race(race.race)
            return verdict_on(criterion, "fail", "data_race", why, value=1.0, unit="races")
    if evidence.race_error is not None:
        return verdict_on(criterion, "not_gradable", "not_visible_here", evidence.race_error)
    for race in doubtful_races(evidence):
        return _not_searched(criterion, race, evidence)
    if unseen(lab, criterion, [race.part for race in evidence.runs_of(RACE)]):
        bad = first_bad(outcomes(evidence))
        if bad is not None:
            return not_judged(criterion, bad, evidence)
        return not_measured(criterion, evidence)
    why = (
        "ThreadSanitizer saw no two threads touch the same element without an order, where one of "
        "them writes."
    )
    return verdict_on(criterion, "pass", "reached", why, value=0.0, unit="races")
