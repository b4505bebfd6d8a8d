"""The rules for stores: which cache lines several threads write, and whether counters are where the
kernel's function slots says. Pure functions."""

from __future__ import annotations

from dataclasses import replace

from numalab import words
from numalab.evidence.kinds import CHECK, STORES, TIMED_ROUND
from numalab.evidence.record import SOLUTION, SUBMISSION, Evidence
from numalab.evidence.run_formats import Overrun, Slots, StoresRun
from numalab.judging import explain
from numalab.judging.registry import Rule, take_run
from numalab.judging.soundness import judge_value, missing_runs, unusable
from numalab.judging.verdict import CriterionVerdict, Status, verdict_on
from numalab.labs.declaration import Criterion

# The stores per key that may go unnoted; with more nothing is said of the others.
MOST_LOST = 0.01

_ROOM_QUESTION = "Is there room for a block of each of any number of threads?"


def is_unnoted(evidence: Evidence) -> bool:
    """Tell whether the last run that notes stores came to its end, and the test stores that numalab
    makes at its end were not observed."""
    runs = evidence.runs_of(STORES)
    return bool(runs) and runs[-1].outcome.ok and not runs[-1].noted


def _noted(criterion: Criterion, evidence: Evidence) -> StoresRun | CriterionVerdict:
    """Return the run that shows the kernel's stores, or the verdict where none can be judged."""
    if evidence.race_refused is not None:
        why = f"Stores are noted as data races are looked for. {evidence.race_refused}"
        return verdict_on(criterion, "fail", "not_built", why)
    if evidence.race_error is not None:
        why = f"Stores are noted as data races are looked for. {evidence.race_error}"
        return verdict_on(criterion, "not_gradable", "not_visible_here", why)
    runs = evidence.runs_of(STORES)
    for run in runs:
        if run.overrun is not None:
            why = _overrun_text(run.threads, run.overrun)
            return verdict_on(criterion, "fail", "wrong_result", why)
    missing = missing_runs(criterion, evidence, runs)
    if missing:
        return explain_by_team(missing, evidence)
    run = runs[-1]
    if not run.noted:
        solution = evidence.runs_of(STORES, SOLUTION)
        is_ours = not any(control.outcome.ok and control.noted for control in solution)
        status: Status = "error" if is_ours else "fail"
        why = (
            "Stores were not noted while the kernel ran: those that the kit has made in the end "
            "were not seen, as they are behind the kit's own kernel. Take out what meddles with "
            "ThreadSanitizer's functions, with threads or with signals."
        )
        return verdict_on(criterion, status, "kit" if is_ours else "disturbed_monitor", why)
    if run.lost > MOST_LOST * run.n:
        why = (
            f"Of {run.n:,} keys, {run.lost:,} stores went to more lines than can be noted: count "
            "in the blocks of counters, and write nothing for each key but that."
        )
        return verdict_on(criterion, "fail", "over_limit", why)
    return run


def _overrun_text(threads: int, overrun: Overrun) -> str:
    beside = "its variables"
    if overrun.of == "allocated":
        beside = f"a block of {words.count(overrun.bytes, 'byte')} that it has allocated"
    return (
        f"With {words.count(threads, 'thread')} the kernel writes outside of its own memory, "
        f"beside {beside}. {_ROOM_QUESTION}"
    )


def explain_by_team(verdict: CriterionVerdict, evidence: Evidence) -> CriterionVerdict:
    """Return the verdict; where it is on a crash, a run that notes stores ended early and all
    checks came to their end, with the number of threads and a likely cause added."""
    run = next((run for run in evidence.runs_of(STORES) if not run.outcome.ok), None)
    checks = evidence.runs_of(CHECK)
    came_through = checks and all(check.outcome.ok for check in checks)
    if verdict.cause != "crashed" or run is None or not came_through:
        return verdict
    with_threads = words.count(run.threads, "thread")
    return replace(verdict, why=f"{verdict.why} That was with {with_threads}. {_ROOM_QUESTION}")


def _timed(evidence: Evidence) -> list[tuple[Slots, int]]:
    """Return for each timed run of the submission that reports slots the report, and the number of
    keys that were counted."""
    return [
        (role.slots, replicate.n)
        for replicate in evidence.runs_of(TIMED_ROUND)
        for name, role in replicate.roles.items()
        if name == SUBMISSION and role.slots is not None
    ]


def _idle(run: StoresRun) -> str | None:
    """Return a sentence on threads that do not count, or None. They would hide shared lines: a
    thread that counts alone has none."""
    if run.counting_threads >= run.threads:
        return None
    return (
        f"Of {words.count(run.threads, 'thread')} {run.counting_threads} "
        f"{'reads and counts its' if run.counting_threads == 1 else 'read and count their'} part "
        "of the keys: all are to count, as many each as the others, as with schedule(static)."
    )


def _worst_line(run: StoresRun) -> str:
    """Return a sentence on the line that is shared most, of those that were written most, with a
    space before it; empty: none of these is shared."""
    shared = [line for line in run.most_written if len(line.thread_stores) > 1]
    if not shared:
        return ""
    worst = max(shared, key=lambda line: line.stores - max(line.thread_stores.values()))
    times = sorted(worst.thread_stores.values(), reverse=True)
    told = words.listed([f"{count:,}" for count in times[:4]])
    others = "" if len(times) <= 4 else f", by {len(times) - 4} others less often"
    return f" One was written {told} times by {len(times)} threads{others}."


@Rule("no_shared_lines", runs=(STORES,))
@take_run(_noted)
def no_shared_lines(criterion: Criterion, evidence: Evidence, run: StoresRun) -> CriterionVerdict:
    """Measure the stores per key to cache lines that several threads write, without those of the
    thread that writes a line most. Where timed runs have more keys counted in such lines, and more
    than is allowed, these count."""
    idle = _idle(run)
    if idle is not None:
        return verdict_on(criterion, "fail", "missed", idle)
    share = run.shared_share
    written = words.count(run.lines, "cache line")
    if run.shared_lines == 0:
        why = (
            f"None of the {written} of {run.line_bytes} bytes that {run.threads} threads write is "
            "written by two of them."
        )
    else:
        why = (
            f"For 100 keys, {words.short(100 * share)} stores go to cache lines of "
            f"{run.line_bytes} bytes that another thread writes more: {run.shared_lines} of the "
            f"{written} that {run.threads} threads write are written by several."
        )
    if share > criterion.most:
        why += _worst_line(run)
    timed = max((slots.shared_keys / n for slots, n in _timed(evidence)), default=0.0)
    if timed > max(share, criterion.most):
        share = timed
        why = (
            "In the program that is timed blocks lie otherwise than where stores are noted: of 100 "
            f"keys {words.short(100 * share)} are counted in cache lines of {run.line_bytes} bytes "
            "where another thread counts more. Blocks have to begin at a line wherever memory "
            "lies, and for any n."
        )
    cores = int(evidence.node["cores"])
    if run.threads > cores:
        why += (
            f" (These are {words.count(run.threads, 'thread')} on {words.count(cores, 'core')}: "
            "what threads of one core share costs no time, so times need not show it.)"
        )
    return judge_value(criterion, share, why, unit="stores per key")


def _untrue(run: StoresRun) -> str | None:
    """Return a sentence on what is wrong with a report of slots, or None."""
    slots, threads = run.slots, run.threads
    if slots.count < threads:
        return (
            f"slots has counters of {words.count(slots.count, 'thread')}, and {threads} are to "
            "count: of the others it says that their length is 0."
        )
    if slots.bad_lengths:
        return (
            f"slots gives {words.count(slots.bad_lengths, 'thread')} another length than BINS, or "
            "0 for a thread that did not count."
        )
    if slots.unreadable:
        return (
            f"What slots says of {words.count(slots.unreadable, 'thread')} is no address of "
            "memory: the counters have to be there after count."
        )
    if slots.on_stack:
        return (
            f"The counters of {words.count(slots.on_stack, 'thread')} lie on a thread's stack, "
            "which is gone when count returns, and used by what is called next: they have to stay."
        )
    if not slots.sums_right:
        return (
            "The counters where slots points do not add up to how many there are of each key: is "
            "every thread's block among them, each once, and as it was when count ended?"
        )
    if slots.least_keys < run.n / threads / 2:
        return (
            f"The counters of one of {threads} threads hold {slots.least_keys:,} of {run.n:,} "
            "keys: each is to count as many as the others, in its own."
        )
    return None


def _team_slots_fault(run: StoresRun) -> str | None:
    """Return a sentence on reports of slots that are wrong with another number of threads only, or
    None."""
    if run.counting_threads < run.threads or _untrue(run) is not None:
        return None
    for team in run.teams:
        with_threads = words.count(team.threads, "thread")
        slots = team.slots
        if slots.count != team.threads:
            return (
                f"Of {with_threads} that the kit gives to count, {slots.count} counted, as slots "
                "says: a team has as many as OpenMP gives, one or more than the node has cores."
            )
        if slots.bad_lengths or slots.unreadable or not slots.sums_right:
            return (
                f"With {with_threads} the counters where slots points do not add up to how many "
                "there are of each key: is there a block for each of any number of threads?"
            )
    return None


def judge_teams(
    criterion: Criterion, evidence: Evidence, run: StoresRun
) -> CriterionVerdict | None:
    """Return the verdict where the kernel writes outside of its memory with some number of threads,
    or with another number than the run's ends early or counts wrongly; or None. What slots says
    with another number counts only if it is true with the run's. run: one that notes stores."""

    def failed(why: str) -> CriterionVerdict:
        return verdict_on(criterion, "fail", "wrong_result", why, value=1.0, unit="elements")

    if run.overrun is not None:
        return failed(_overrun_text(run.threads, run.overrun))
    for team in run.teams:
        if team.overrun is not None:
            return failed(_overrun_text(team.threads, team.overrun))
    if not run.outcome.ok or not run.teams:
        return None
    last = words.count(run.teams[-1].threads, "thread")
    if run.teams_outcome is not None and not run.teams_outcome.ok:
        ended = unusable(criterion, run.teams_outcome, evidence, f"With {last}: ")
        return (
            replace(ended, why=f"{ended.why} {_ROOM_QUESTION}") if ended.status == "fail" else ended
        )
    if run.teams_results is not None:
        why = explain.results(run.teams_results, run.n, evidence.language)
        if why is not None:
            return failed(f"With another number of threads than {run.threads}: {why}")
    why = _team_slots_fault(run)
    return failed(why) if why is not None else None


def _untrue_when_timed(run: StoresRun, evidence: Evidence) -> str | None:
    """Return a sentence on reports of slots that are wrong in timed runs, or None, also where
    _team_slots_fault explains them."""
    for slots, _ in _timed(evidence):
        has_mistake = (
            slots.bad_lengths or slots.unreadable or slots.on_stack or not slots.sums_right
        )
        if has_mistake and _team_slots_fault(run) is None:
            return (
                "In the program that is timed the counters where slots points, after the last "
                "repetition, do not add up to how many there are of each key, as they do where "
                "stores are noted: they have to for any n."
            )
    return None


@Rule("slots_true", runs=(STORES,))
@take_run(_noted)
def slots_true(criterion: Criterion, evidence: Evidence, run: StoresRun) -> CriterionVerdict:
    """Measure the share of the keys that were counted where slots points (0 to 1)."""
    wrong = _idle(run) or _untrue(run) or _untrue_when_timed(run, evidence)
    if wrong is not None:
        return verdict_on(criterion, "fail", "missed", wrong)
    share = min(1.0, run.slots.stores / run.n)
    why = (
        f"{words.first_upper(words.percent(share))} of the keys were counted where slots points, "
        "and the counters there add up to how many there are of each."
    )
    if share < criterion.least:
        why += " The others were counted elsewhere, and their sums copied there."
    return judge_value(criterion, share, why, unit="share of the keys")


@Rule("slots_apart", runs=(STORES,))
@take_run(_noted)
def slots_apart(criterion: Criterion, evidence: Evidence, run: StoresRun) -> CriterionVerdict:
    """Measure the largest distance from one thread's counters to the next, in cache lines. The keys
    have to be counted there: blocks that are not used could be anywhere."""
    wrong = _idle(run) or _untrue(run)
    if wrong is None and run.slots.stores < (1 - MOST_LOST) * run.n:
        wrong = "The keys were not counted where slots points."
    if wrong is not None:
        why = f"How much room the counters take is not known. {wrong}"
        return verdict_on(criterion, "fail", "missed", why)
    apart = max(
        run.slots.most_apart_bytes, *(slots.most_apart_bytes for slots, _ in _timed(evidence)), 0
    )
    lines = apart / run.line_bytes
    why = (
        f"From one thread's counters to the next there are up to {apart:,} bytes, or "
        f"{words.short(lines, 4)} cache {'line' if lines == 1 else 'lines'}, for "
        f"{words.count(run.threads, 'thread')}."
    )
    return judge_value(criterion, lines, why, unit="cache lines")
