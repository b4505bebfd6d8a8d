"""Questions for students to check themselves, in a lab's grading/questions.toml. The answers, with
a sentence for each choice, are in solutions/NN_name/answers.toml; a student copy has them
sealed."""

from __future__ import annotations

import difflib
import hashlib
import json
import secrets
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from numalab.errors import NumalabError, UserError, reason_of
from numalab.files import read_json, write_json
from numalab.installation import Installation
from numalab.labs.solution_files import read_coded
from numalab.toml_files.tables import read_table

# ---- answers that can be checked and not read ----------------------------------------


_SALT_BYTES = 16
_CHECK_BYTES = 16
_COST = {"n": 1 << 14, "r": 8, "p": 1}  # 16 MiB, and some hundredths of a second


def _key(question: str, choice: str, salt: bytes) -> bytes:
    return hashlib.scrypt(f"{question}: {choice}".encode(), salt=salt, dklen=32, **_COST)


def _masked(text: bytes, key: bytes) -> bytes:
    mask = hashlib.shake_256(key).digest(len(text))
    return bytes(a ^ b for a, b in zip(text, mask, strict=True))


def seal(question: str, says: Mapping[str, str], correct: str) -> dict[str, str]:
    """Return the sealed answers to a question, for `opened`. says: a sentence by choice.
    They are a text by choice and the salt, in hexadecimal digits."""
    salt = secrets.token_bytes(_SALT_BYTES)
    sealed = {"salt": salt.hex()}
    # Of equal length, since a length would show which choice has a sentence that is known.
    texts = {
        choice: json.dumps([choice == correct, said]).encode() for choice, said in says.items()
    }
    longest = max(map(len, texts.values()))
    for choice, text in texts.items():
        text = text.ljust(longest)
        check = hashlib.sha256(text).digest()[:_CHECK_BYTES]
        sealed[choice] = _masked(check + text, _key(question, choice, salt)).hex()
    return sealed


def opened(question: str, sealed: Mapping[str, str], choice: str) -> tuple[bool, str]:
    """Return whether a choice is correct, and the sentence on it. sealed: as `seal` returns it.
    Raises NumalabError where it can't be opened."""
    try:
        key = _key(question, choice, bytes.fromhex(sealed["salt"]))
        whole = _masked(bytes.fromhex(sealed[choice]), key)
        check, text = whole[:_CHECK_BYTES], whole[_CHECK_BYTES:]
        if check != hashlib.sha256(text).digest()[:_CHECK_BYTES]:
            raise ValueError("its check does not fit")
        is_right, said = json.loads(text)
    except (KeyError, ValueError, TypeError) as error:
        raise NumalabError(
            f"the answer to {question} can't be opened: {error}. Unpack this copy of the kit again."
        ) from error
    return bool(is_right), str(said)


# ---- questions -----------------------------------------------------------------------


WIDTH = 78
ANSWERS_FILE = "answers.json"


@dataclass(frozen=True)
class QuizQuestion(ABC):
    """A question whose answers can be checked. choices: texts by letter, in order."""

    name: str
    text: str
    choices: Mapping[str, str]

    @abstractmethod
    def _check(self, letter: str) -> tuple[bool, str]:
        """Return whether a choice is correct, and the sentence on it."""

    def question_text(self) -> str:
        """Return the question and its choices as lines of text."""
        lines = textwrap.wrap(self.text, WIDTH)
        for letter, choice in self.choices.items():
            lines += textwrap.wrap(
                choice, WIDTH, initial_indent=f"  {letter}  ", subsequent_indent="     "
            )
        return "\n".join(lines)

    def letter(self, answer: str) -> str:
        """Return the letter of the choice that an answer means, such as "B" or "b)".
        Raises UserError where there is none."""
        letter = answer.strip().lower().removesuffix(")")
        if letter not in self.choices:
            letters = list(self.choices)
            raise UserError(
                f"{self.name}: there is no choice '{answer}'; answer with "
                f"{', '.join(letters[:-1])} or {letters[-1]}"
            )
        return letter

    def checked(self, answer: str) -> str:
        """Return whether an answer is correct, and why, as text.
        Raises UserError where it is no choice, and NumalabError where its sentence can't be
        opened."""
        is_right, said = self._check(self.letter(answer))
        return textwrap.fill(f"{'Right.' if is_right else 'Not yet.'} {said}", WIDTH)


@dataclass(frozen=True)
class AnsweredQuestion(QuizQuestion):
    """A question with its answer. correct: the letter of the correct choice.
    says: a sentence for each choice, on why it is correct or what speaks against it."""

    correct: str
    says: Mapping[str, str]

    def _check(self, letter: str) -> tuple[bool, str]:
        return letter == self.correct, self.says[letter]


@dataclass(frozen=True)
class SealedQuestion(QuizQuestion):
    """A question of a student copy. sealed: its answers, as `seal` returns them."""

    sealed: Mapping[str, str]

    def _check(self, letter: str) -> tuple[bool, str]:
        return opened(self.name, self.sealed, letter)


def _texts(installation: Installation, lab: str) -> dict[str, tuple[str, dict[str, str]]]:
    """Return the text and the choices of a lab's questions, by name, in order."""
    top = read_table(installation.grading_folder(lab) / "questions.toml", NumalabError, None)
    tables = {name: top.table(name, ("text", "choices")) for name in top.values}
    return {
        name: (table.text("text"), table.table("choices", None).text_values())
        for name, table in tables.items()
    }


def load_questions(installation: Installation, lab: str) -> dict[str, AnsweredQuestion]:
    """Return a lab's questions by name, in order.
    Raises NumalabError where a file is missing or malformed, or questions and answers don't fit."""
    asked = _texts(installation, lab)
    answers = read_table(installation.solution_folder(lab) / "answers.toml", NumalabError, None)
    answered = list(answers.values)
    if list(asked) != answered:
        answers.fail(f"it answers {answered}, and what is asked is {list(asked)}")
    questions = {}
    for name, (text, choices) in asked.items():
        answer = answers.table(name, ("right", "says"))
        says = answer.table("says", None).text_values()
        correct = answer.text("right")
        if list(says) != list(choices) or correct not in choices:
            answer.fail("its choices are not those of the question")
        questions[name] = AnsweredQuestion(name, text, choices, correct, says)
    return questions


def _sealed_questions(installation: Installation, lab: str) -> dict[str, SealedQuestion]:
    """Return a lab's questions in a student copy, by name, in order."""
    answers = read_coded(installation.solution_folder(lab)).answers
    return {
        name: SealedQuestion(name, text, choices, answers.get(name, {}))
        for name, (text, choices) in _texts(installation, lab).items()
    }


def find_question(installation: Installation, lab: str, name: str) -> QuizQuestion:
    """Return a lab's question by its name.
    Raises UserError for another name, and NumalabError where the questions can't be read."""
    load = _sealed_questions if installation.is_edition else load_questions
    questions: Mapping[str, QuizQuestion] = load(installation, lab)
    if name not in questions:
        near = difflib.get_close_matches(name, questions, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise UserError(f"{lab} has no question '{name}'.{hint} There are: {', '.join(questions)}")
    return questions[name]


def first_answer(folder: Path, name: str, letter: str) -> tuple[str, bool]:
    """Return the first answer to a question, and whether this is it; then it is stored.
    folder: the student's; letter: this answer. Raises NumalabError if it can't be written."""
    path = folder / ANSWERS_FILE
    data = read_json(path)
    known = data.items() if isinstance(data, dict) else ()
    kept = {key: value for key, value in known if isinstance(value, str)}
    is_new = name not in kept
    if is_new:
        kept[name] = letter
        try:
            folder.mkdir(parents=True, exist_ok=True)
            write_json(path, kept)
        except OSError as error:
            raise NumalabError(f"the answers can't be kept: {reason_of(error)}") from error
    return kept[name], is_new
