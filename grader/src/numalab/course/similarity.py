"""Find kernels that are equal to the public solution or to each other, regardless of names and
blanks. It is for an instructor to judge: if a solution is one line, students who have understood it
may well write the same line.

Kernels are compared token by token: comments, blanks and line breaks are left out, names are
numbered in order of appearance, and OpenMP directives count. Other files are not compared: if the
correct text is two lines out of thirty legal words, equal ones mean nothing.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from pygments.lexer import Lexer
from pygments.lexers.c_cpp import CLexer
from pygments.lexers.fortran import FortranLexer
from pygments.token import Comment, Name, Text

from numalab.course.course_folder import CourseFolder
from numalab.course.gradebook.counting import HandIn
from numalab.course.gradebook.gradebook import use_gradebook
from numalab.course.secret import seed_of
from numalab.files import read_text
from numalab.installation import Installation
from numalab.labs.declaration import KERNEL_FILES, Lab
from numalab.labs.variants import (
    draw_variant,
    lab_files,
    lab_of_variant,
    labs_and_variants,
    read_draws,
)

Tokens = tuple[str, ...]
_LEXERS: Mapping[str, type[Lexer]] = {"c": CLexer, "fortran": FortranLexer}
_DIRECTIVE = re.compile(r"^([ \t]*!\$omp\b.*)$", re.MULTILINE)  # a comment to the lexer
_WORD = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True)
class EqualKernels:
    """Students whose kernels of a lab are equal.

    Attributes:
        students: ids, sorted; a single one only if is_solution.
        is_solution: the kernels are also equal to the public solution.
        changed: number of tokens of one of them that are not its starting code's.
    """

    lab: str
    language: str
    students: tuple[str, ...]
    is_solution: bool
    changed: int

    @property
    def description(self) -> str:
        """What the kernels are equal to, as a phrase."""
        return "as the public solution" if self.is_solution else "as each other"


@functools.cache  # many students began with the same text, or hand in the same
def tokens_of(text: str, language: str) -> Tokens:
    """Return a kernel's tokens without comments and blanks, with names replaced by numbered ones.
    language: c or fortran."""
    names: dict[str, str] = {}
    parts = _DIRECTIVE.split(text.lower()) if language == "fortran" else [text]
    found: list[str] = []
    for number, part in enumerate(parts):
        if number % 2:  # a directive
            found += _directive_tokens(part, names)
        else:
            found += _code_tokens(part, _LEXERS[language](), names)
    return tuple(found)


def _directive_tokens(text: str, names: Mapping[str, str]) -> Iterator[str]:
    """Return the words and signs of a directive, in which known names are replaced."""
    return (names.get(word, word) for word in _WORD.findall(text))


def _code_tokens(text: str, lexer: Lexer, names: dict[str, str]) -> Iterator[str]:
    for kind, value in lexer.get_tokens(text):
        if kind in Comment.Preproc and kind is not Comment.PreprocFile:
            yield from _directive_tokens(value, names)
        elif kind in Name:
            yield names.setdefault(value, f"name{len(names)}")
        elif kind not in Comment and kind not in Text and value.strip():
            yield "".join(value.split())


def changed_tokens(handout: Tokens, text: Tokens) -> int:
    """Count the tokens of a kernel that are not in the starting code, compared in order."""
    matcher = SequenceMatcher(None, handout, text, autojunk=False)
    return len(text) - sum(block.size for block in matcher.get_matching_blocks())


@dataclass(frozen=True)
class Kernel:
    """One student's kernel of one lab and language.

    Attributes:
        text: the kernel's tokens.
        handout: the tokens of the starting code; empty if it is not known.
    """

    student: str
    lab: str
    language: str
    text: Tokens
    handout: Tokens


def group_equal_kernels(
    kernels: Sequence[Kernel], solutions: Mapping[tuple[str, str], Tokens]
) -> tuple[EqualKernels, ...]:
    """Return groups of equal kernels, by lab, language and students. Kernels that are the starting
    code are in none.

    Args:
        solutions: the public solutions, by lab and language.
    """
    groups: dict[tuple[str, str, Tokens], list[Kernel]] = {}
    for kernel in kernels:
        if kernel.text != kernel.handout:
            groups.setdefault((kernel.lab, kernel.language, kernel.text), []).append(kernel)
    found = []
    for (lab, language, text), group in groups.items():
        is_solution = solutions.get((lab, language)) == text
        if is_solution or len(group) > 1:
            students = tuple(sorted(kernel.student for kernel in group))
            changed = changed_tokens(group[0].handout, text)
            found.append(EqualKernels(lab, language, students, is_solution, changed))
    return tuple(sorted(found, key=lambda one: (one.lab, one.language, one.students)))


# ---- of a course -------------------------------------------------------------------------------


def find_equal_kernels(
    course: CourseFolder, installation: Installation
) -> tuple[EqualKernels, ...]:
    """Compare the hand-ins in a course's gradebook, as compare_hand_ins does. Raises as that and
    use_gradebook do."""
    with use_gradebook(course, read_only=True) as book:
        hand_ins = book.handed_in()
    return compare_hand_ins(course, installation, labs_and_variants(installation.root), hand_ins)


def compare_hand_ins(
    course: CourseFolder,
    installation: Installation,
    labs: Mapping[str, Lab],
    hand_ins: Mapping[tuple[str, str], Sequence[HandIn]],
) -> tuple[EqualKernels, ...]:
    """Return groups of equal kernels among each student's last hand-in of each lab.

    Args:
        hand_ins: by student and lab, oldest first.

    Raises:
        NumalabError: a variant can't be drawn.
        UserError: the course's secret can't be read.
    """
    kernels: list[Kernel] = []
    for (student, name), found in hand_ins.items():
        if name in labs and found:
            folder = course.submission(student, name, found[-1].digest) / name
            kernels += _kernels(course, installation, labs[name], student, folder)
    solutions = {
        (lab.name, language): tokens_of(text, language)
        for lab in labs.values()
        if not lab.is_variant
        for language, text in _texts(installation.solution_folder(lab.name), lab)
    }
    return group_equal_kernels(kernels, solutions)


def _texts(folder: Path, lab: Lab) -> Iterator[tuple[str, str]]:
    for language in lab.languages:
        text = read_text(folder / KERNEL_FILES[language])
        if text is not None:
            yield language, text


def _kernels(
    course: CourseFolder, installation: Installation, lab: Lab, student: str, folder: Path
) -> Iterator[Kernel]:
    handouts = _handouts(course, installation, lab, student)
    for language, text in _texts(folder, lab):
        handout = tokens_of(handouts.get(language, ""), language)
        yield Kernel(student, lab.name, language, tokens_of(text, language), handout)


def _handouts(
    course: CourseFolder, installation: Installation, lab: Lab, student: str
) -> dict[str, str]:
    """Return the starting code by language; for a variant, the student's own."""
    if not lab.is_variant:
        given = installation.pristine_folder(lab.name)  # unlike labs/, never changed
        return dict(_texts(given if given.is_dir() else installation.lab_folder(lab.name), lab))
    draws = read_draws(installation.root, lab_of_variant(lab.name))
    files = lab_files(installation.root, draws, draw_variant(draws, seed_of(course, student)))
    return {language: files[KERNEL_FILES[language]] for language in lab.languages}
