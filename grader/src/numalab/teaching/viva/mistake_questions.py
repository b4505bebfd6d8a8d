"""Oral questions on what still fails, and on mistakes that the student has not made. Pure
functions."""

from __future__ import annotations

from collections.abc import Iterator

from numalab.diagnosing.known_mistakes import KnownMistake
from numalab.draws import shuffled
from numalab.judging.correctness_rules import correct
from numalab.judging.page_rules import local_pages, touched_where_used
from numalab.judging.principles import Principle
from numalab.judging.verdict import CAUSES, Cause, CriterionVerdict
from numalab.labs.hint_ladders import Ladder
from numalab.teaching.instructor_notes import SHORTEST_SAYS
from numalab.teaching.viva.principles import CONTESTED
from numalab.teaching.viva.story import LabStory, VivaQuestion
from numalab.teaching.viva.wording import (
    deciding_lines,
    evidence_line,
    quoted,
    same_as_notes,
    value_words,
)
from numalab.untrusted.visible import shortened
from numalab.words import listed

MOST_MISTAKES = 2  # that are listed as causes of a failure
MOST_HINT = 330  # characters of a hint
SHORTEST_OF_TIMES = 16  # characters of a sentence on times that says more than what is required
# Causes that make a question of understanding; what a compiler or a crash reports is none.
_TELLING: tuple[Cause | None, ...] = (
    None, "missed", "too_slow", "data_race", "deadlock", "busy_waiting", "open_request", "unstable",
)  # fmt: skip
_NOT_ITS_OWN = ("not_right_yet",)


# ---- what still fails -------------------------------------------------------------------------


def _ladder(story: LabStory, criterion: str, began_in: str) -> Ladder | None:
    """Return the ladder of hints for a criterion that went wrong in this function, or else the
    first for the criterion; None: there is none."""
    ladders = story.lab.hints
    exact = (one for one in ladders if (criterion, began_in) in one.only)
    return next(exact, next((one for one in ladders if criterion in one.criteria), None))


def _remedies(story: LabStory, failed: CriterionVerdict) -> Iterator[str]:
    likely = [
        mistake.mistake
        for mistake in story.mistakes
        if mistake.first == failed.name
        and len(mistake.says_in(story.language)) >= SHORTEST_SAYS
        and mistake.says_in(story.language) in failed.why
    ]
    if likely and not story.last.same_as:
        told = " Or: ".join(likely[:MOST_MISTAKES])
        yield f"Known mistakes of which the report says the same: {told}"
    ladder = _ladder(story, failed.name, failed.began_in)
    if ladder is not None:
        hint = " ".join(ladder.levels[-1].split())
        yield f"To try, by the lab's last hint: {shortened(hint, MOST_HINT)}"


def failure_questions(story: LabStory, draw: str) -> list[VivaQuestion]:
    """Return a question for each reason for which the last attempt fails a criterion by itself, not
    for want of a correct kernel or by another criterion; those on correctness come first."""
    stage, found = story.last, []
    told: set[str] = set()
    names = [name for name, status in stage.verdict.statuses.items() if status == "fail"]
    for name in sorted(names, key=lambda name: stage.places(name)[0].kind != "correctness"):
        failed = stage.shown(name)
        if failed is None or failed.explained_by or failed.cause in _NOT_ITS_OWN:
            continue
        if failed.why in told:
            continue  # what can't be built fails everywhere by the same
        told.add(failed.why)
        principle, file = story.principle(name, stage), story.file_of(name)
        where = "" if failed.where == "here" else f" on {failed.where}"
        found.append(
            VivaQuestion(
                subject=name,
                text=(
                    f"{name} still fails{where}. The report says: {quoted(failed.why)} What in "
                    f"{file} makes it so, and what would you try?"
                ),
                answer=(
                    *([f"Why: {principle.why}"] if principle else []),
                    *_remedies(story, failed),
                    *same_as_notes(stage),
                ),
                evidence=(evidence_line(stage, failed),),
                follow_up="Which figure of the next report would show that you were right?"
                + (f" ({name}, now {value_words(failed)}.)" if value_words(failed) else ""),
                listing=deciding_lines(stage, file),
            )
        )
    return found


# ---- mistakes that were not made ---------------------------------------------------------------


def _says(mistake: KnownMistake, language: str) -> str:
    said = mistake.says_in(language).strip()
    if len(said) >= SHORTEST_SAYS:
        return f'The report says "... {said} ...".'
    if mistake.cause is None or mistake.cause == "missed":  # the sentence has the figure, then
        return ""
    return f"The report says that {CAUSES[mistake.cause].means}."


def _is_telling(story: LabStory, mistake: KnownMistake) -> bool:
    """Tell whether a mistake makes a question of the lab's subject, on a criterion that the last
    attempt passes."""
    first = story.criterion(mistake.first)
    if first is None or story.last.status(first.name) != "pass" or mistake.cause not in _TELLING:
        return False
    if first.kind == "timing":  # that it is slower goes without saying
        return len(mistake.says_in(story.language)) >= SHORTEST_OF_TIMES
    return first.name != correct.name  # whatever the cause: no evidence of the lab shows it


def mistake_questions(story: LabStory, draw: str) -> list[VivaQuestion]:
    """Return questions on known mistakes whose first criterion the last attempt passes, in an order
    that is drawn: first one for each criterion, then at most as many more."""
    able = [one for one in story.mistakes if _is_telling(story, one)]
    drawn = shuffled(f"{draw}: mistake", able)
    firsts = {mistake.first: mistake for mistake in reversed(drawn)}
    ordered = [one for one in drawn if firsts[one.first] is one]
    ordered += [one for one in drawn if firsts[one.first] is not one]
    return [_mistake_question(story, mistake) for mistake in ordered[: 2 * len(firsts)]]


def _principle(story: LabStory, mistake: KnownMistake) -> Principle | None:
    """Return the principle of the criterion that a mistake fails first; CONTESTED for a mistake by
    which several threads use a page. None: not known."""
    is_of_pages = story.rule(mistake.first) == touched_where_used.name
    if is_of_pages and "several threads" in mistake.says_in(story.language):
        return CONTESTED
    return story.principle(mistake.first)


def _fails_too(story: LabStory, mistake: KnownMistake) -> str:
    """Return sentences on the other criteria that a mistake fails or may fail, each with a blank
    before it. Where touched_where_used fails first, local_pages is named, too, if the lab has
    it."""
    others = [name for name in mistake.fails if name != mistake.first]
    told = f" Fails, too: {listed(others)}." if others else ""
    has_homes = story.criterion(local_pages.name) is not None
    if mistake.first == touched_where_used.name and has_homes and local_pages.name not in others:
        told += " With several NUMA nodes local_pages does, too."
    if mistake.may_fail:
        told += f" May fail, by luck: {listed(mistake.may_fail)}."
    return told


def _mistake_question(story: LabStory, mistake: KnownMistake) -> VivaQuestion:
    stage, passed = story.last, story.last.shown(mistake.first)
    principle, file = _principle(story, mistake), story.file_of(mistake.first)
    if mistake.files:
        file = listed(sorted(mistake.files))
    said = f"{mistake.first} fails first. {_says(mistake, story.language)}".rstrip()
    answer = [said + _fails_too(story, mistake)]
    if principle is not None:
        answer.append(f"Why: {principle.why}")
    return VivaQuestion(
        subject=mistake.first,
        text=(
            f"Suppose that your {file} had this mistake: {mistake.mistake.rstrip('. ')}. Which "
            "criterion would fail first, and what would the report show?"
        ),
        answer=tuple(answer),
        evidence=() if passed is None else (evidence_line(stage, passed),),
        follow_up="Which of your lines rules it out? (One of those listed, as a rule.)",
        listing=deciding_lines(stage, file),
    )
