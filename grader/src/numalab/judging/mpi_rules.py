"""The rules for MPI programs: deadlocks, thread levels and launches. Pure functions."""

from __future__ import annotations

from dataclasses import replace

from numalab import words
from numalab.evidence.kinds import CHECK, RANKS, SYNCHRONOUS_CHECK, THREAD_LEVEL
from numalab.evidence.record import Evidence
from numalab.evidence.run_formats import LEVELS, Outcome, ThreadLevelRun
from numalab.judging import explain, rank_goals
from numalab.judging.registry import Rule
from numalab.judging.soundness import (
    NO_CORES,
    end_origin,
    first_bad,
    has_mistake,
    judge_value,
    missing_runs,
    mistake_origin,
    not_judged,
    not_measured,
    unseen,
    unusable,
)
from numalab.judging.verdict import Cause, CriterionVerdict, verdict_on
from numalab.labs.declaration import Criterion, Lab

# ---- deadlocks -------------------------------------------------------------------------


@Rule("deadlock_free", kind="correctness", runs=(SYNCHRONOUS_CHECK,)).register_with_lab
def deadlock_free(lab: Lab, criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    """Judge whether a program comes to its end, with right results, where each send waits for its
    receive, as the MPI standard allows.

    It fails unjudged (not_right_yet) where it does not come to its end in the usual check, neither
    by numalab's fault nor by an interrupt, and where its results are wrong there and no synchronous
    check timed out: a program that leaves out messages can't wait for them.
    """
    bad = first_bad(check.outcome for check in evidence.runs_of(CHECK))
    if bad is not None:
        return not_judged(criterion, bad, evidence)
    stuck = any(
        check.outcome.status == "timed_out" for check in evidence.runs_of(SYNCHRONOUS_CHECK)
    )
    wrong = [
        checked.results
        for check in evidence.runs_of(CHECK)
        for checked in check.checks
        if has_mistake(checked.results)
    ]
    if wrong and not stuck:
        why = "Not judged before the results are right"
        if any(results.too_few_messages or results.too_few_bytes for results in wrong):
            why += ": where messages are missing, nobody waits for them"
        return verdict_on(criterion, "fail", "not_right_yet", f"{why}.")
    for check in evidence.runs_of(SYNCHRONOUS_CHECK):
        if not check.outcome.ok:
            ended = unusable(criterion, check.outcome, evidence)
            if ended.status != "fail":
                return ended
            why = f"{_SYNCHRONOUS}: {explain.outcome(check.outcome, evidence.language)}"
            cause: Cause = "deadlock" if ended.cause == "timed_out" else ended.cause
            return verdict_on(
                criterion,
                "fail",
                cause,
                why,
                value=1.0,
                unit="deadlocks",
                began_in=end_origin(lab, check.outcome),
            )
        for checked in check.checks:
            why_wrong = explain.results(
                checked.results, checked.n, evidence.language, checked.ranks
            )
            if why_wrong is None:
                continue
            cause, began_in = "wrong_result", mistake_origin(lab, checked.results)
            why = (
                f"{_SYNCHRONOUS} the results are wrong; does something write to a buffer "
                f"that is still being sent? {why_wrong}"
            )
            if checked.results.requests is not None:
                cause, began_in, why = "open_request", "", f"{_SYNCHRONOUS}: {why_wrong}"
            return verdict_on(
                criterion, "fail", cause, why, value=1.0, unit="deadlocks", began_in=began_in
            )
    if unseen(lab, criterion, [check.part for check in evidence.runs_of(SYNCHRONOUS_CHECK)]):
        return not_measured(criterion, evidence)
    why = (
        "It comes to its end with synchronous sends, too: no send relies on a buffer of the "
        "library."
    )
    return verdict_on(criterion, "pass", "reached", why, value=0.0, unit="deadlocks")


_SYNCHRONOUS = "With synchronous sends, each of which waits for its receive"


# ---- thread levels ---------------------------------------------------------------------

_SINGLE, _FUNNELED, _SERIALIZED, _MULTIPLE = range(len(LEVELS))


def _named(level: int) -> str:
    return f"MPI_THREAD_{LEVELS[level].upper()}"


def _least(run: ThreadLevelRun) -> tuple[int, int, str]:
    """Return the least level that suffices for the observed calls, the highest that is not too
    much, and as a clause why the least is needed. Threads beyond the team don't count, since the
    MPI library may have started them."""
    ranks = run.ranks
    if any(rank.calls.at_once for rank in ranks):
        return _MULTIPLE, _MULTIPLE, "several threads are inside MPI at once"
    if any(rank.calls.other for rank in ranks):
        return _SERIALIZED, _SERIALIZED, "another thread than the main one calls MPI"
    most = min(run.team, max(rank.threads for rank in ranks))
    if most == 1:
        return _SINGLE, _SINGLE, "a rank has one thread"
    # A single construct may have met the main thread each time.
    in_parallel = any(rank.calls.main_in_parallel for rank in ranks)
    started = f" (this check starts {run.team} in each)" if most == run.team else ""
    why = f"a rank has {words.count(most, 'thread')}{started}, and the main one calls MPI"
    return _FUNNELED, _SERIALIZED if in_parallel else _FUNNELED, why


def calls_beyond_level(evidence: Evidence) -> bool:
    """Tell whether threads other than the main one call MPI in a program that requested a lower
    level than that needs, by the last run."""
    return any(
        rank.requested is not None and LEVELS.index(rank.requested) < _least(run)[0] >= _SERIALIZED
        for run in evidence.runs_of(THREAD_LEVEL)[-1:]
        if run.outcome.ok
        for rank in run.ranks
    )


def _level_faults(run: ThreadLevelRun) -> list[str]:
    """Return a sentence for each kind of fault of a program's thread level; empty: there is none.
    Ranks without MPI_Init_thread, or the first wrong answer, end the search."""
    ranks = run.ranks
    without = [rank.rank for rank in ranks if rank.requested is None or rank.provided is None]
    if without:
        who = words.ranks(without)
        return [f"{words.first_upper(who)} did not start MPI with MPI_Init_thread."]
    least, highest, because = _least(run)
    faults = []
    levels = sorted({LEVELS.index(rank.requested) for rank in ranks if rank.requested is not None})
    if levels[0] < least:
        faults.append(f"It asks for {_named(levels[0])}, but {because}: that is too low a level.")
    if levels[-1] > highest:
        faults.append(
            f"It asks for {_named(levels[-1])}, but {because}: a lower level is enough, and a "
            "higher one may cost time in every call."
        )
    for rank in ranks:
        assert rank.requested is not None and rank.provided is not None
        expected = int(LEVELS.index(rank.provided) >= LEVELS.index(rank.requested))
        if rank.answer is not None and rank.answer != expected:
            faults.append(
                f"It returns {rank.answer} where the library provides "
                f"{_named(LEVELS.index(rank.provided))}; {expected} is asked for."
            )
            return faults
    return faults + _other_level_faults(run)


def _other_level_faults(run: ThreadLevelRun) -> list[str]:
    """Return a sentence for each kind of fault where the library provides another level than was
    requested."""
    faults = {}
    if run.ended_with_other_level is not None:
        code = run.ended_with_other_level.exit_code
        faults["ended"] = (
            "It ends the program"
            + (f" (exit code {code})" if code is not None else "")
            + " where the library provides another level than it asks for: it is to return 0 where "
            "that is less, else 1."
        )
    for given in run.tried_levels:
        if given.requested is None or given.provided is None or given.answer is None:
            continue
        asked, provided = LEVELS.index(given.requested), LEVELS.index(given.provided)
        if given.answer == int(provided >= asked):
            continue
        if provided < asked:
            faults["less"] = (
                f"It returns {given.answer} though the library provides one level less than it "
                "asks for: look at what MPI_Init_thread says is provided."
            )
        else:
            faults["more"] = (
                f"It returns {given.answer} where the library provides {_named(provided)}, which "
                f"is more than the {_named(asked)} that it asks for: that suffices, and 1 is asked "
                "for (levels are numbers that grow)."
            )
    return list(faults.values())


# How a program may end whose threads call MPI though it requested too low a level.
_LOW_LEVEL_CAUSES: frozenset[Cause] = frozenset({"crashed", "exited", "timed_out", "deadlock"})


def _explain_bad_end(
    criterion: Criterion,
    evidence: Evidence,
    own_verdict: CriterionVerdict,
    other: Criterion,
    verdict: CriterionVerdict,
) -> CriterionVerdict:
    """Add to the verdict on a bad end of a criterion of correctness that it most likely comes from
    too low a thread level, where that fails and calls_beyond_level."""
    is_of_it = other.kind == "correctness" and other.part == criterion.part
    if not is_of_it or verdict.status != "fail" or verdict.cause not in _LOW_LEVEL_CAUSES:
        return verdict
    if own_verdict.status != "fail" or not calls_beyond_level(evidence):
        return verdict
    why = f"{verdict.why} {criterion.name} most likely says why: fix that first."
    return replace(verdict, why=why, explained_by=criterion.name)


@Rule("thread_level", runs=(THREAD_LEVEL,), amend=_explain_bad_end)
def thread_level(criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    """Count the kinds of faults of the requested thread level, and of the answers to what MPI
    provides."""
    if evidence.is_virtual:
        why = "Thread levels are the same everywhere; see this node's."
        return verdict_on(criterion, "not_gradable", "seen_elsewhere", why)
    missing = missing_runs(criterion, evidence, evidence.runs_of(THREAD_LEVEL))
    if missing:
        return missing
    run = evidence.runs_of(THREAD_LEVEL)[-1]
    if not run.ranks:
        return not_measured(criterion, evidence)
    faults = _level_faults(run)
    if faults:
        return judge_value(criterion, float(len(faults)), " ".join(faults), unit="faults")
    _, _, because = _least(run)
    asked = _named(max(LEVELS.index(rank.requested or "single") for rank in run.ranks))
    why = f"It asks for {asked}, and {because}."
    return judge_value(criterion, 0.0, why, unit="faults")


SINGLE_PACKAGE = "This machine has one package, and the ranks have to be on two."


# ---- launches --------------------------------------------------------------------------


@Rule("launch", runs=(RANKS,), needs=("sched_setaffinity",))
def launch(criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    """Count the ranks of numalab's program that a launch file puts in the wrong place."""
    file = criterion.needed_file
    runs = [run for run in evidence.runs_of(RANKS) if run.file == file.name]
    if not runs:
        return not_measured(criterion, evidence)
    run = runs[-1]
    if run.refused is not None:
        return verdict_on(criterion, "fail", "bad_file", run.refused, value=1.0, unit="")
    if not run.outcome.ok:
        # Numalab's own kernel ran, so the launch or numalab ended it.
        if run.outcome.blames:
            why = not_started(file.name, run.outcome)
            return verdict_on(criterion, "fail", "bad_file", why, value=1.0)
        ended = unusable(criterion, run.outcome, evidence)
        ending = explain.outcome(run.outcome, evidence.language)
        why = f"The kit's program under {file.name}: {ending}"
        return verdict_on(criterion, ended.status, ended.cause, why, value=1.0)
    reach = rank_goals.reach_of_ranks(file.goal, run.ranks, run.team, evidence.node)
    if reach.misplaced and reach.is_by_cores and not evidence.announces_cores:
        return verdict_on(criterion, "not_gradable", "not_visible_here", NO_CORES)
    if reach.misplaced and rank_goals.is_out_of_reach(file.goal, run.ranks, evidence.node):
        return verdict_on(criterion, "not_gradable", "not_visible_here", SINGLE_PACKAGE)
    return judge_value(
        criterion, float(reach.misplaced), reach.why, unit="ranks in the wrong place"
    )


def not_started(name: str, outcome: Outcome) -> str:
    """Return the reason of a failure where ranks do not start under a student's launch, and do
    under numalab's. name: the launch file's."""
    ranks = words.count(outcome.ranks or 1, "rank")
    said = f"{outcome.doing or 'start'}: {outcome.error or outcome.status}"
    return (
        f"Under {name} the kit's program does not come up with {ranks} on this node ({said}), "
        "and under the kit's own launch it does: ask for no more ranks than the node has cores."
    )
