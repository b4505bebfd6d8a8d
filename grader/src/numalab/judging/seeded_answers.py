"""Parts of the rules for answers to seeded questions: verdicts on a file without answers and on
published answers, and the text on wrong ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from numalab import words
from numalab.evidence.record import SUBMISSION, Evidence
from numalab.judging.soundness import judge_value
from numalab.judging.verdict import CriterionVerdict, verdict_on
from numalab.labs.declaration import Criterion
from numalab.labs.seeded_answers import SeededAnswers

UNIT = "wrong answers"
_MAX_LISTED = 3
_MANY = 5  # from so many wrong answers on they may belong to another seed
Answer = TypeVar("Answer")


class Keyed(Protocol):
    """A question, by the key of its answer."""

    @property
    def key(self) -> str: ...


Question = TypeVar("Question", bound=Keyed)


def none_given(criterion: Criterion, count: int, command: str) -> CriterionVerdict:
    """Return the verdict on a file without answers. count: the number of questions; command: the
    command that asks them."""
    name = criterion.needed_file.name
    why = f"{name} answers none of the {count} questions: {command} asks them."
    return judge_value(criterion, float(count), why, UNIT)


def are_published(answers: SeededAnswers[Answer], published_seed: int, evidence: Evidence) -> bool:
    """Tell whether a student hands in answers for the seed of those that come with numalab's
    solution."""
    return answers.seed == published_seed and evidence.variant == SUBMISSION


def refuse_published(criterion: Criterion, subject: str, instead: str) -> CriterionVerdict:
    """Return the verdict on published answers. subject: what they are about; instead: what the
    student is to answer, both in words."""
    name = criterion.needed_file.name
    why = (
        f"The answers {subject} are the kit's own, which come with its solution. Write a seed of "
        f"your own into {name}, and answer {instead}."
    )
    return verdict_on(criterion, "fail", "bad_file", why)


def list_mistakes(
    answers: SeededAnswers[Answer],
    mistaken: Sequence[Question],
    mistake: Callable[[Question, Answer], str | None],
) -> str:
    """Return the first questions with wrong answers in words, with the known mistakes, and how many
    more there are.

    Args:
        mistake: returns which known mistake leads to an answer, or None.
    """
    told = []
    for question in mistaken[:_MAX_LISTED]:
        given = answers.given[question.key]
        said = "no answer" if given is None else mistake(question, given)
        told.append(question.key + (f" ({said})" if said else ""))
    if len(mistaken) > _MAX_LISTED:
        told.append(f"{len(mistaken) - _MAX_LISTED} more")
    return words.listed(told)


def are_many(answers: SeededAnswers[Answer], mistaken: Sequence[Question]) -> bool:
    """Tell whether so many answers are wrong that they may belong to another seed. mistaken: the
    questions that are not answered correctly; those without an answer don't count."""
    return sum(answers.given[question.key] is not None for question in mistaken) >= _MANY
