"""What all rules for answers to seeded questions share: what is said of a file without answers, of
the kit's own, and of wrong ones.

What could pass without having looked: answers that somebody else has found for the same seed, and
the kit's own sources; so the answers that come with the kit's solution do not count for a student.
"""

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
_MANY = 5  # wrong ones look like another seed's
Answer = TypeVar("Answer")


class Keyed(Protocol):
    """A question, by the key of its answer."""

    @property
    def key(self) -> str: ...


Question = TypeVar("Question", bound=Keyed)


def none_given(criterion: Criterion, count: int, command: str) -> CriterionVerdict:
    """Of a file that answers none of so many questions. command: that asks them."""
    assert criterion.file is not None
    why = f"{criterion.file.name} answers none of the {count} questions: {command} asks them."
    return judge_value(criterion, float(count), why, UNIT)


def are_published(answers: SeededAnswers[Answer], published_seed: int, evidence: Evidence) -> bool:
    """Whether a student gives the answers that come with the kit's solution."""
    return answers.seed == published_seed and evidence.variant == SUBMISSION


def refuse_published(criterion: Criterion, subject: str, instead: str) -> CriterionVerdict:
    """about: what they are about; asked: to answer instead."""
    assert criterion.file is not None
    why = (
        f"The answers {subject} are the kit's own, which come with its solution. Write a seed of "
        f"your own into {criterion.file.name}, and answer {instead}."
    )
    return verdict_on(criterion, "fail", "bad_file", why)


def list_mistakes(
    answers: SeededAnswers[Answer],
    mistaken: Sequence[Question],
    mistake: Callable[[Question, Answer], str | None],
) -> str:
    """Which, and by what mistake as far as it is known; never what would be right."""
    told = []
    for question in mistaken[:_MAX_LISTED]:
        given = answers.given[question.key]
        said = "no answer" if given is None else mistake(question, given)
        told.append(question.key + (f" ({said})" if said else ""))
    if len(mistaken) > _MAX_LISTED:
        told.append(f"{len(mistaken) - _MAX_LISTED} more")
    return words.listed(told)


def are_many(answers: SeededAnswers[Answer], mistaken: Sequence[Question]) -> bool:
    """Whether they look like another seed's."""
    return sum(answers.given[question.key] is not None for question in mistaken) >= _MANY
