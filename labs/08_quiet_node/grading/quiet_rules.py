"""The rules for kernels that measure on a machine that isn't quiet: which stops they find, by an
artificial clock and of their own thread, and how they decide by times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numalab import words
from numalab.evidence.kinds import SERIES, STOPS
from numalab.evidence.record import Evidence, Kind
from numalab.evidence.run_formats import DrawnSeries, StopsRun
from numalab.judging.principles import Principle, explain
from numalab.judging.registry import Rule
from numalab.judging.series_answers import (
    ANSWERS,
    TOLERANCE,
    Answer,
    KindCount,
    answer_of,
    count_kinds,
    describe_kinds,
    meaning_of,
)
from numalab.judging.soundness import judge_value, missing_runs
from numalab.judging.verdict import CriterionVerdict, verdict_on
from numalab.labs.declaration import Criterion

# What a kind of series is about, by the name that the lab's driver gives it.
MEANS: Mapping[str, str] = {
    "no stop": "interruptions too short to count, and no stop",
    "few stops": "a stop now and then",
    "many stops": "a stop behind every third reading",
    "stops in rows": "stops that follow each other",
    "slow clock": "a clock whose readings take nearly as long as the least stop",
    "coarse clock": "a clock that shows whole ticks only",
    "long stops": "stops of up to a second",
    "equal": "two programs that are the same",
    "equal and noisy": "two programs that are the same, and times that vary much",
    "hardly apart": "two programs whose difference is not worth a word",
    "hardly apart and noisy": "such programs, and times that vary much",
    "one is faster": "one program that is faster",
    "few pairs": "10 pairs or fewer",
    "drift of both": "both getting slower, or faster, meanwhile",
    "both disturbed at once": "rows of pairs in which both were disturbed",
    "one of them disturbed": "one program disturbed now and then",
    "lucky times": "a few times shorter than the program's others",
    "two modes": "times that are either short or long, for both programs",
    "some times far off": "a few times far off, in either direction",
}
_MAX_LISTED = 3


describe_kinds(MEANS)


def _listed(kinds: Sequence[tuple[KindCount, int]]) -> str:
    """Return the first kinds in words, each with its number of answers, and how many are left
    out."""
    told = [f"{meaning_of(of.kind)} ({count} of {of.count})" for of, count in kinds]
    more = len(told) - _MAX_LISTED
    return "; ".join([*told[:_MAX_LISTED], *([f"{more} more kinds"] if more > 0 else [])])


def _worst(kinds: Sequence[KindCount], answer: Answer) -> list[tuple[KindCount, int]]:
    counted = [(of, of.answers[answer]) for of in kinds]
    reported = [pair for pair in counted if pair[1]]
    return sorted(reported, key=lambda pair: -pair[1])


def _drawn_series(criterion: Criterion, evidence: Evidence) -> list[DrawnSeries] | CriterionVerdict:
    """Return the series of a kernel's runs; the verdict where a run is missing or ended badly."""
    missing = missing_runs(criterion, evidence, evidence.runs_of(SERIES))
    if missing:
        return missing
    return [drawn for run in evidence.runs_of(SERIES) for drawn in run.series]


# ---- stops ------------------------------------------------------------------------------


def _stops_in_words(drawn: DrawnSeries) -> str:
    (stops, steal_ns), (reported, reported_ns) = drawn.truth, drawn.answers
    return (
        f"Of {meaning_of(drawn.kind)}, for example: {words.count(stops, 'stop')}, "
        f"{_time(1e-9 * steal_ns)} in all, and noise found "
        f"{_stops_text(reported, 1e-9 * reported_ns)}."
    )


def _stops_text(count: int, steal_s: float) -> str:
    return "no number of them" if count < 0 else f"{words.count(count, 'stop')}, {_time(steal_s)}"


def _time(seconds: float) -> str:
    size = abs(seconds)
    if size >= 1:
        return f"{seconds:.2f} s"
    if size >= 1e-3:
        return f"{words.short(1e3 * seconds)} ms"
    return f"{words.short(1e6 * seconds)} us"


@Rule("stops_found", runs=(SERIES,))
def noise_stops(criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    """Count the clocks whose number or time of stops a kernel misread."""
    series = _drawn_series(criterion, evidence)
    if isinstance(series, CriterionVerdict):
        return series
    wrong = [drawn for drawn in series if answer_of(drawn) != "right"]
    if not wrong:
        why = (
            f"Of {len(series)} clocks, in each the number of stops and what they take are within "
            f"{words.percent(TOLERANCE)}."
        )
    else:
        worst = _worst(count_kinds(series), "wrong")
        example = next(drawn for drawn in wrong if drawn.kind == worst[0][0].kind)
        why = f"Of {len(series)} clocks these: {_listed(worst)}. {_stops_in_words(example)}"
    return judge_value(criterion, float(len(wrong)), why, unit="clocks misread")


# Stops that are needed for a verdict; of fewer, one may be missed by chance.
_LEAST_STOPS = 8
# How much time the machine itself may take from the thread, as a share of what numalab's stops
# take; with more the criterion is undecided.
_MOST_LOST = 0.5
# The share of a stop's least length from which an interruption that was meant to be too short may
# count: on a busy machine it may have taken longer.
_ARGUABLE = 0.8
_ERROR_UNIT = "off, as a share of their number or time"


def _relative_excess(reported: float, least: float, most: float) -> float:
    """Return how far a figure is outside the interval from least to most, as a share of least; 0
    where least is not above 0."""
    return max(0.0, least - reported, reported - most) / least if least > 0 else 0.0


def _too_noisy_text(run: StopsRun) -> str | None:
    made, lost_s = len(run.stops), run.lost_s
    if made >= _LEAST_STOPS and lost_s <= _MOST_LOST * run.stopped_s[0]:
        return None
    return (
        f"The node is too busy to tell: it kept the thread from its core for {_time(lost_s)}, and "
        f"left time for {words.count(made, 'stop')} of the kit's, {_time(run.stopped_s[1])} in "
        "all. Grade again when it is quieter."
    )


def _apart(run: StopsRun) -> str:
    """Return a clause on interruptions that were too short to count; empty: there were none."""
    if not run.too_short:
        return ""
    return f", and {words.count(len(run.too_short), 'interruption')} too short to count"


def _needs_another_stop(kind: Kind[Any], criterion: Criterion, evidence: Evidence) -> bool:
    """Tell whether one more run may show that the machine caused the first one's failure: later
    ones passed, and there are fewer than STOPS.max_runs."""
    runs = evidence.runs_of(STOPS)
    if missing_runs(criterion, evidence, runs) or len(runs) == STOPS.max_runs:
        return False
    first, *later = (_judge_stops(criterion, run).status for run in runs)
    return first == "fail" and all(status == "pass" for status in later)


@Rule("stops_live", runs=(STOPS,), needs_another_run=_needs_another_stop)
def stops_live(criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    """Measure how far the reported stops of the kernel's own thread are off, as a share of their
    number or their time.

    Further runs follow a first one that fails, STOPS.max_runs in all; if all of these pass, the
    kernel passes, else the first of them that does not gives the verdict. A hypervisor may take the
    core for some milliseconds that are not reported (/proc/stat has ticks of ten), and to a reader
    of a clock that is a stop."""
    runs = evidence.runs_of(STOPS)
    missing = missing_runs(criterion, evidence, runs)
    if missing:
        return missing
    first, *later = (_judge_stops(criterion, run) for run in runs[: STOPS.max_runs])
    if first.status != "fail" or not later:
        return first
    others = [verdict for verdict in later if verdict.status != "pass"]
    if others:
        return others[0]
    return later[-1] if len(runs) == STOPS.max_runs else first


def _judge_stops(criterion: Criterion, run: StopsRun) -> CriterionVerdict:
    """Return the verdict on one run. Time that the machine itself took from the thread counts in
    the kernel's favour: the kernel may report it or not."""
    assert run.reported is not None
    found, found_s = run.reported[0], 1e-9 * run.reported[1]
    to_watch_s = run.watch_s - run.ahead_s
    if run.elapsed_s < to_watch_s:
        why = (
            f"noise returned after {_time(run.elapsed_s)}, and was to watch for "
            f"{_time(to_watch_s)}: until a reading is watch_ns after the first one."
        )
        return verdict_on(criterion, "fail", "missed", why)
    made, (least_s, most_s) = len(run.stops), run.stopped_s
    arguable = [most for _, most in run.too_short if most >= _ARGUABLE * run.least_s]
    off = max(
        _relative_excess(found, made, made + len(arguable) + run.more_stops),
        _relative_excess(found_s, least_s, most_s + sum(arguable) + run.lost_s),
    )
    busy = _too_noisy_text(run)
    if busy is not None:
        return verdict_on(criterion, "inconclusive", "too_noisy", busy, value=off, unit=_ERROR_UNIT)
    why = (
        f"While noise watched, the kit made {words.count(made, 'stop')}, {_time(most_s)} in all"
        f"{_apart(run)}; noise found {_stops_text(found, found_s)}."
    )
    if run.lost_s >= (criterion.at_most or 0.0) * least_s:
        why += f" The node itself kept it from its core for {_time(run.lost_s)}, which may count."
    return judge_value(criterion, off, why, unit=_ERROR_UNIT)


# ---- decisions --------------------------------------------------------------------------


@Rule("decided", runs=(SERIES,))
def decided(criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    """Measure the decisions between two programs: the number of correct ones minus that of wrong
    ones, as a share of all series."""
    series = _drawn_series(criterion, evidence)
    if isinstance(series, CriterionVerdict):
        return series
    kinds = count_kinds(series)
    right, wrong, left_open = (sum(of.answers[answer] for of in kinds) for answer in ANSWERS)
    score = (right - wrong) / max(1, len(series))
    why = (
        f"Of {len(series)} series {right} answers were right, {wrong} wrong, {left_open} left open "
        f"what the times tell: {right} - {wrong} of {len(series)}."
    )
    if wrong:
        why += f" Wrong: {_listed(_worst(kinds, 'wrong'))}."
    if left_open:
        why += f" Left open: {_listed(_worst(kinds, 'open'))}."
    return judge_value(criterion, score, why, unit="share of the series")


explain(
    noise_stops,
    Principle(
        "A gap between two readings of a clock is what reading takes and what was stolen. The "
        "shortest one is what reading takes, however many stops there are.",
        "Why not the mean gap, or twice the median? (The mean has the stops in it, and a ratio is "
        "a threshold that nobody asked for.)",
        ("shortest", "minimum", "gap", "reading"),
    ),
)

explain(
    stops_live,
    Principle(
        "While a thread is stopped its program sees nothing; only the next reading of a clock "
        "does, so the clock has to be read all the time.",
        "What does a detector miss that works between two readings? (Stops shorter than its work.)",
        ("clock", "reading", "stop", "thread"),
    ),
)

explain(
    decided,
    Principle(
        "That one figure is smaller is no proof. It has to be asked how often chance alone does "
        "that, of pairs that were taken side by side, and whether the difference is worth a word.",
        "What do pairs take away? (All that disturbs both of a pair: drift, load, a lower clock.)",
        ("chance", "pair", "sign", "median"),
    ),
)
