"""Oral questions on times, rates and shares of the reference loop: what they say, and what they do
not. Pure functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import sqrt

from numalab import words
from numalab.draws import shuffled
from numalab.evidence.record import HANDOUT, PROBE, SOLUTION, SUBMISSION
from numalab.judging.rates import ReferenceShare, TimedRates
from numalab.judging.timing_claims import EFFICIENCY, SPEEDUP
from numalab.judging.verdict import CriterionVerdict
from numalab.reports.rate_words import duration, percent_words, three_digits
from numalab.teaching.viva.principles import principle_of
from numalab.teaching.viva.story import LabStory, VivaQuestion
from numalab.teaching.viva.wording import evidence_line, requirement_words, value_words

APART = 0.15  # difference from which two shares can't be taken for the same
MIN_NEAR_REFERENCE = 0.85  # share of the reference loop from which little is left to gain
_OWNERS = {
    SUBMISSION: "the student's",
    SOLUTION: "the solution's",
    HANDOUT: "the handout's",
    PROBE: "the kit's probe",
}


def _lines(story: LabStory, verdict: CriterionVerdict, rates: TimedRates) -> tuple[str, ...]:
    """Return a sentence on the verdict, and one on the times and rates of the roles in it."""
    told = []
    for rate in rates.roles:
        line = f"{_OWNERS.get(rate.role, rate.role)}: {duration(rate.elapsed_s.median)}"
        if rate.gb_per_s is not None:
            line += f", {three_digits(rate.gb_per_s.median)} GB/s"
        if rate.reference_share is not None:
            line += f", {percent_words(rate.reference_share)} of lightspeed"
        told.append(line)
    taken = f"{words.count(rates.replicates, 'generation')}, n = {rates.n:,}"
    stage = story.last
    return (
        evidence_line(stage, verdict),
        f"{words.first_upper(stage.name)}, medians of {taken}: {'; '.join(told)}.",
    )


def _question(
    story: LabStory,
    verdict: CriterionVerdict,
    rates: TimedRates,
    text: str,
    *answer: str,
    follow_up: str = "",
) -> VivaQuestion:
    principle = story.principle(verdict.name)
    return VivaQuestion(
        subject=verdict.name,
        text=text,
        answer=answer,
        evidence=_lines(story, verdict, rates),
        follow_up=follow_up or ("" if principle is None else principle.follow_up),
    )


def _undecided(
    story: LabStory, verdict: CriterionVerdict, rates: TimedRates
) -> VivaQuestion | None:
    """Return the question on a median that decides nothing; None where the cause is not too_noisy,
    or the verdict lacks bound, value or interval."""
    asked, value, interval = verdict.at_least, verdict.value, verdict.interval
    if verdict.cause != "too_noisy" or asked is None or value is None or interval is None:
        return None
    low, high = (words.ratio(end) if end is not None else "nobody knows where" for end in interval)
    is_enough = value >= asked
    why = "Why was that not enough?" if is_enough else "Why was that no failure?"
    return _question(
        story, verdict, rates,
        f"{verdict.name} stayed open: the median was {value_words(verdict)}, and "
        f"{requirement_words(verdict)} is asked for. {why}",
        f"The median is one of {words.count(rates.replicates, 'noisy generation')}. The interval "
        f"that holds the true one goes from {low} to {high}, so it may be on either side of "
        f"{asked:g}. More generations, or a quiet node, make the interval narrow.",
        "A good answer does not say that the kernel is "
        f"{'fast enough' if is_enough else 'too slow'}: nothing shows that yet.",
    )  # fmt: skip


def _both_true(
    story: LabStory, verdict: CriterionVerdict, rates: TimedRates
) -> VivaQuestion | None:
    """Return the question on an efficiency that differs by APART or more from the share of the
    reference loop; None: there is none."""
    own, solution = rates.rate_of(SUBMISSION), rates.rate_of(SOLUTION)
    if own is None or solution is None or story.rule(verdict.name) != EFFICIENCY.name:
        return None
    mine, theirs = own.reference_share, solution.reference_share
    if mine is None or mine.median is None or theirs is None or verdict.value is None:
        return None
    if abs(verdict.value - mine.median) < APART:
        return None
    theirs_words = percent_words(theirs)
    return _question(
        story, verdict, rates,
        f"Your {verdict.name} was {value_words(verdict)}, and the kernel reached "
        f"{words.percent(mine.median)} of lightspeed. Why can both be true?",
        "They are shares of two different speeds: efficiency is held against the kit's solution, "
        f"lightspeed against the kit's probe, which only moves the same bytes. The solution itself "
        f"reached {theirs_words} of lightspeed, so one can be near to the one and far from the "
        "other.",
        follow_up="What can bound a loop but the rate of memory? (Latency, computing, waiting.)",
    )  # fmt: skip


def _middle(story: LabStory, verdict: CriterionVerdict, rates: TimedRates) -> VivaQuestion | None:
    """Return the question on the time up to which a speedup over starting code passes; None: there
    is none."""
    times = [rates.rate_of(role) for role in (SUBMISSION, HANDOUT, SOLUTION)]
    if story.rule(verdict.name) != SPEEDUP.name or None in times or rates.slow is not None:
        return None
    own, handout, solution = (rate.elapsed_s.median for rate in times if rate is not None)
    if not solution < handout:
        return None
    middle = sqrt(handout * solution)
    said = "passed" if verdict.status == "pass" else "did not pass"
    return _question(
        story, verdict, rates,
        f"For {verdict.name} the handout took {duration(handout)}, the solution "
        f"{duration(solution)} and yours {duration(own)}. Up to which time does one pass, and what "
        "of your code put you where you are?",
        f"Up to the geometric middle, the root of {duration(handout)} times {duration(solution)}: "
        f"about {duration(middle)}. Yours {said}; it is judged generation by generation, so the "
        "medians need not tell to the last digit.",
        *_why(story, verdict),
    )  # fmt: skip


def _why(story: LabStory, verdict: CriterionVerdict) -> Iterator[str]:
    """Yield at most one sentence on what makes the difference: the principle of the first criterion
    of evidence on the same part that has one."""
    part = next((c.part for c in story.lab.criteria if c.name == verdict.name), None)
    for criterion in story.lab.criteria:
        principle = principle_of(criterion.rule)
        if criterion.kind == "evidence" and criterion.part == part and principle is not None:
            yield f"What makes the difference: {principle.why}"
            return


def _reference_share_words(share: ReferenceShare) -> str:
    """Return what may be concluded from a share of the reference loop, by the ends of its interval
    and not by its median."""
    if share.low is not None and share.low >= MIN_NEAR_REFERENCE:
        return (
            "It is all but as fast as the kit's own loop with the same reads and writes: what is "
            "left to be had is to move fewer bytes."
        )
    if share.low is not None and share.high is not None and share.high < MIN_NEAR_REFERENCE:
        return (
            "The kit's own loop with the same reads and writes is faster: the node could deliver "
            "more than the kernel asks for."
        )
    return (
        "By itself little: lightspeed is the rate of the kit's own loop with the same reads and "
        f"writes, and the share is {percent_words(share)}, which leaves open how much is to be had."
    )


def _rate(story: LabStory, verdict: CriterionVerdict, rates: TimedRates) -> VivaQuestion | None:
    """Return the question on how a rate follows from a time; None where the rate or n is not
    known."""
    own = rates.rate_of(SUBMISSION)
    if own is None or own.gb_per_s is None or not rates.n:
        return None
    each = rates.bytes_moved / rates.n
    took, gb_per_s = duration(own.elapsed_s.median), three_digits(own.gb_per_s.median)
    answer = [
        f"It moves {rates.bytes_moved:,} bytes, {words.short(each)} per element of "
        f"n = {rates.n:,}; over {took} that is {gb_per_s} GB/s of 10^9 bytes (of medians, so "
        "the last digit may differ). "
        "Counted is what crosses between cores and memory: what is read, and what is written."
    ]
    if rates.bytes_allocated:
        answer[0] += (
            f" {words.percent(1 - rates.counted_share)} of it is read only because a store fetches "
            "its line first."
        )
    if rates.fits_caches:
        answer.append("All of it fits the last-level caches: it is a rate of caches, too.")
    reached = own.reference_share
    share = None if reached is None else reached.median
    text = f"One call took {took}, and the report says {gb_per_s} GB/s. How is the rate worked out"
    if reached is None or share is None:
        text += ", and what is counted?"
    else:
        text += f", and what does {words.percent(share)} of lightspeed tell you?"
        answer.append(_reference_share_words(reached))
    counted = rates.bytes_moved - rates.bytes_allocated
    follow_up = (
        f"What would STREAM count? ({counted:,} bytes: not the lines that stores fetch first.)"
        if rates.bytes_allocated
        else "Why is no line counted that a store fetches first? (Each line that is written is "
        "read anyway.)"
    )
    return _question(story, verdict, rates, text, *answer, follow_up=follow_up)


_Form = Callable[[LabStory, CriterionVerdict, TimedRates], VivaQuestion | None]
_FIRST: tuple[_Form, ...] = (_undecided, _both_true)  # seldom possible, and the most telling
_ALIKE: tuple[_Form, ...] = (_middle, _rate)


def time_questions(story: LabStory, draw: str) -> list[VivaQuestion]:
    """Return at most one question of each form, on criteria that have none yet where possible. The
    order of the more common forms is drawn."""
    share: list[VivaQuestion] = []
    for form in (*_FIRST, *shuffled(f"{draw}: form", _ALIKE)):
        made = [
            question
            for name, rates in story.last.rates.items()
            for verdict in story.last.places(name)
            if verdict.where == "here" and (question := form(story, verdict, rates)) is not None
        ]
        asked = {question.subject for question in share}
        share += sorted(made, key=lambda question: question.subject in asked)[:1]
    return share
