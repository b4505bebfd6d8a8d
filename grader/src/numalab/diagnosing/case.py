"""A case: a mistake that a seed has drawn, and questions on it with four choices each.

A case as JSON has no source and names no right answer: of each it has a salted hash, so that cases
can be shipped without the mistakes. With four choices a hash keeps nothing secret from who computes
all four; it keeps the answer from who only looks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from numalab.diagnosing.wrong_submissions import WrongSubmission, read_wrong
from numalab.draws import pick, shuffled
from numalab.errors import KitError, UserError
from numalab.kit import Kit
from numalab.labs.declaration import Lab, Language
from numalab.labs.seeds import Seed

CHOICES = 4
LETTERS = "abcd"


@dataclass(frozen=True)
class Suspect:
    """A mistake in one language, with a cure."""

    wrong: WrongSubmission
    language: Language
    cure: str


@dataclass(frozen=True)
class Question:
    """right: the hash of the right choice."""

    name: str
    text: str
    choices: tuple[str, ...]
    right: str


@dataclass(frozen=True)
class Case:
    """What a student is asked; salt: of the hashes."""

    lab: str
    language: str
    salt: str
    questions: tuple[Question, ...]


@dataclass(frozen=True)
class Answer:
    """chosen: the choice in words."""

    question: str
    chosen: str
    right: bool


def told_apart(one: WrongSubmission, other: WrongSubmission) -> bool:
    """Whether the verdicts of two mistakes differ, whatever the luck of timing: by the cause, or by
    a criterion that fails always with one and never with the other."""
    if one.cause and other.cause and one.cause != other.cause and one.first == other.first:
        return True
    return any(
        set(first.fails) - {*second.fails, *second.may_fail}
        for first, second in ((one, other), (other, one))
    )


def _suspects(wrongs: Sequence[WrongSubmission]) -> list[Suspect]:
    return [
        Suspect(wrong, language, wrong.cure)
        for wrong in wrongs
        if wrong.cure
        for language in wrong.languages
    ]


def _others(suspect: Suspect, suspects: Sequence[Suspect]) -> list[Suspect]:
    return [
        other
        for other in suspects
        if other.language == suspect.language
        and other.cure != suspect.cure
        and told_apart(suspect.wrong, other.wrong)
    ]


def bank(kit: Kit, lab: Lab) -> list[Suspect]:
    """The mistakes of a lab that serve as cases: enough others are told apart from them. Raises
    KitError."""
    suspects = _suspects(read_wrong(kit, lab))
    return [one for one in suspects if len(_others(one, suspects)) >= CHOICES - 1]


def make_case(kit: Kit, lab: Lab, seed: Seed) -> Case:
    """The same for a seed and a bank, whatever the node. Raises KitError."""
    cases = bank(kit, lab)
    if not cases:
        raise KitError(
            f"lab {lab.name} has no cases for diagnosis: no mistake in its wrong.toml has a cure, "
            "or too few differ in their verdicts. Choose another lab."
        )
    text = f"numalab diagnose {seed.number} {lab.name}"
    return case_of(lab, pick(f"{text}: case", cases), cases, text)


def case_of(lab: Lab, suspect: Suspect, cases: Sequence[Suspect], text: str) -> Case:
    """Of one mistake; text: what is drawn by."""
    four = [suspect, *shuffled(f"{text}: others", _others(suspect, cases))[: CHOICES - 1]]
    salt = hashlib.sha256(f"{text}: salt".encode()).hexdigest()[:16]

    def question(name: str, asked: str, choices: Sequence[str]) -> Question:
        mixed = tuple(shuffled(f"{text}: {name}", choices))
        return Question(name, asked, mixed, _hashed(salt, name, choices[0]))

    questions = (
        question("mistake", "Which mistake is it?", [one.wrong.mistake for one in four]),
        question("cure", "What would cure it?", [one.cure for one in four]),
    )
    return Case(lab.name, suspect.language, salt, questions)


def _hashed(salt: str, name: str, choice: str) -> str:
    return hashlib.sha256(f"{salt} {name} {choice}".encode()).hexdigest()


def case_json(case: Case) -> dict[str, Any]:
    return asdict(case)


def answered(case: Case, letters: Sequence[str]) -> list[Answer]:
    """letters: a to d, one per question. Raises UserError."""
    if len(letters) != len(case.questions) or any(
        len(letter) != 1 or letter not in LETTERS for letter in letters
    ):
        raise UserError(
            f"the answers are '{','.join(letters)}'; write one letter from a to d for each of the "
            f"{len(case.questions)} questions, such as b,a"
        )
    answers = []
    for question, letter in zip(case.questions, letters, strict=True):
        chosen = question.choices[LETTERS.index(letter)]
        right = _hashed(case.salt, question.name, chosen) == question.right
        answers.append(Answer(question.name, chosen, right))
    return answers


def diagnosis_json(name: str, answers: Sequence[Answer]) -> dict[str, Any]:
    """As a result of `grade` has it; name: of the case."""
    score = sum(answer.right for answer in answers) / len(answers)
    return {"case": name, "score": score, "questions": [asdict(answer) for answer in answers]}
