"""Exam questions on a lab, with their answers: those of its notebook, code with a mistake in it,
and sentences of reports with their possible causes. Code and sentences are drawn by a seed, so that
each term can have an exam of its own, and instructors can make it again."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from numalab.diagnosing.excerpts import MOST_LINES, excerpt, strip_comments
from numalab.diagnosing.known_mistakes import KnownMistake
from numalab.installation import Installation
from numalab.labs.declaration import KERNEL_FILES, LANGUAGE_NAMES, Lab, Language
from numalab.learning.questions import AnsweredQuestion
from numalab.words import listed

CHOICES = 4
CODE_QUESTIONS, REPORT_QUESTIONS = 5, 3
_LETTERS = "abcdefgh"
_SHORTEST_SAYS = 16  # characters of a quotation from a report that says something by itself


@dataclass(frozen=True)
class ExamQuestion:
    """A multiple-choice question of an exam.

    Attributes:
        text: the question, in Markdown.
        correct_choice: the index of the correct one of `choices`.
        answer: what explains the correct choice.
    """

    text: str
    choices: tuple[str, ...]
    correct_choice: int
    answer: str

    @property
    def letter(self) -> str:
        """The letter of the correct choice."""
        return _LETTERS[self.correct_choice]

    @property
    def lettered(self) -> list[tuple[str, str]]:
        """The choices, at most eight, each with its letter."""
        return list(zip(_LETTERS, self.choices, strict=False))


Group = tuple[str, str]


def group_of(mistake: KnownMistake, language: str) -> Group:
    """Return the criterion that a mistake fails first, and words of the report on it in a
    language."""
    return mistake.first, mistake.says_in(language)


def names(criteria: Iterable[str]) -> str:
    """Return names of criteria in Markdown, joined to a list in words."""
    return listed([f"`{name}`" for name in criteria])


def quiz_questions(questions: Iterable[AnsweredQuestion]) -> list[ExamQuestion]:
    """Return the questions of a notebook as exam questions."""
    return [
        ExamQuestion(
            question.text,
            tuple(question.choices.values()),
            list(question.choices).index(question.correct),
            " ".join(f"{letter}: {said}" for letter, said in question.says.items()),
        )
        for question in questions
    ]


def code_of(installation: Installation, lab: Lab, language: Language, mistake: KnownMistake) -> str:
    """Return the code with a mistake as a listing in Markdown. It is empty where the mistake is not
    in that language, its code is not in UTF-8, or there are no lines or more than MOST_LINES to
    show."""
    try:
        if mistake.folder is not None:
            lines = _file_lines(mistake.folder)
        elif language in mistake.kernels:
            path = mistake.kernels[language]
            solution = installation.solution_folder(lab.name) / KERNEL_FILES[language]
            lines = excerpt(path.read_text("utf-8"), solution.read_text("utf-8"), path.suffix)
        else:
            return ""
    except UnicodeDecodeError:  # which is the mistake
        return ""
    if not 0 < len(lines) <= MOST_LINES:
        return ""
    return "\n".join([f"```{language if mistake.folder is None else ''}", *lines, "```"])


def _file_lines(folder: Path) -> list[str]:
    """Return the lines of a folder's files without comments, below the name of each."""
    shown = []
    for path in sorted(folder.iterdir()):
        lines = strip_comments(path.read_text("utf-8"), path.suffix)
        shown += [f"# {path.name}", *(lines or ["(nothing in it)"])]
    return shown


def _drawn(
    draw: random.Random, mistakes: Sequence[KnownMistake], language: str, most: int
) -> list[KnownMistake]:
    """Draw at most `most` mistakes, of as many groups as possible."""
    shuffled = draw.sample(list(mistakes), len(mistakes))
    by_group: dict[Group, list[KnownMistake]] = {}
    for mistake in shuffled:
        by_group.setdefault(group_of(mistake, language), []).append(mistake)
    rounds = [
        wrongs[number]
        for number in range(len(shuffled))
        for wrongs in by_group.values()
        if number < len(wrongs)
    ]
    return rounds[:most]


def _others(
    draw: random.Random, mistake: KnownMistake, known: Sequence[KnownMistake], language: str
) -> list[KnownMistake]:
    """Draw other mistakes in a language as wrong choices, CHOICES - 1 at most, none of the
    mistake's own group and no two of one. For a mistake in files they are mistakes in files, those
    in a file of its own first; for one in a kernel, mistakes in kernels."""
    groups = {group_of(mistake, language)}
    others = []
    shuffled = draw.sample(list(known), len(known))
    for other in sorted(shuffled, key=lambda other: other.files.isdisjoint(mistake.files)):
        is_alike = bool(other.files) == bool(mistake.files) and other.is_in(language)
        if is_alike and group_of(other, language) not in groups:
            groups.add(group_of(other, language))
            others.append(other)
    return others[: CHOICES - 1]


def _make_question(
    draw: random.Random,
    text: str,
    mistake: KnownMistake,
    others: Sequence[KnownMistake],
    answer: str,
) -> ExamQuestion:
    correct_choice = draw.randrange(len(others) + 1)
    mistakes = [other.mistake for other in others]
    mistakes.insert(correct_choice, mistake.mistake)
    return ExamQuestion(text, tuple(mistakes), correct_choice, answer)


def code_questions(
    installation: Installation,
    lab: Lab,
    language: Language,
    known: Sequence[KnownMistake],
    seed: str,
) -> list[ExamQuestion]:
    """Return at most CODE_QUESTIONS questions for what is wrong in a listing; a mistake for which
    there are too few wrong choices gives none. known: the lab's mistakes."""
    draw = random.Random(f"code {lab.name} {language} {seed}")
    code = {mistake.name: code_of(installation, lab, language, mistake) for mistake in known}
    able = [mistake for mistake in known if code[mistake.name]]
    asked = []
    for mistake in _drawn(draw, able, language, CODE_QUESTIONS):
        others = _others(draw, mistake, known, language)
        if len(others) < CHOICES - 1:
            continue
        kernel = f"this {LANGUAGE_NAMES[language]} kernel"
        text = (
            f"Somebody hands in {kernel if mistake.folder is None else 'these files'}; what is not "
            f"shown is right.\n\n{code[mistake.name]}\n\nWhat is wrong, and which criterion shows "
            "it?"
        )
        answer = (
            f'It fails {names(mistake.fails)}; the report says "... '
            f'{mistake.says_in(language).strip()} ..." (`{mistake.name}`).'
        )
        asked.append(_make_question(draw, text, mistake, others, answer))
    return asked


def report_questions(
    lab: Lab, language: Language, known: Sequence[KnownMistake], seed: str
) -> list[ExamQuestion]:
    """Return at most REPORT_QUESTIONS questions for the mistake that explains a sentence of a
    report; a mistake for which there are too few wrong choices gives none. known: the lab's
    mistakes."""
    draw = random.Random(f"report {lab.name} {language} {seed}")
    able = [
        mistake
        for mistake in known
        if mistake.is_in(language) and len(mistake.says_in(language)) >= _SHORTEST_SAYS
    ]
    asked = []
    for mistake in _drawn(draw, able, language, REPORT_QUESTIONS):
        others = _others(draw, mistake, known, language)
        if len(others) < CHOICES - 1:
            continue
        text = (
            f"`{mistake.first}` fails, and the report says "
            f'"... {mistake.says_in(language).strip()} ...". Which of these mistakes explains that?'
        )
        alike = [
            other.mistake
            for other in known
            if other is not mistake and group_of(other, language) == group_of(mistake, language)
        ]
        answer = f"It fails {names(mistake.fails)} (`{mistake.name}`)."
        if alike:
            answer += f" The same is said of: {' / '.join(alike)}"
        asked.append(_make_question(draw, text, mistake, others, answer))
    return asked


def path_of(mistake: KnownMistake, language: Language, installation: Installation) -> Path:
    """Return the path of a mistake's folder or file as messages show it; of its file in another
    language where it has none in this."""
    if mistake.folder is not None:
        return installation.shown(mistake.folder)
    return installation.shown(mistake.kernels.get(language) or next(iter(mistake.kernels.values())))
