"""Which of the kit's own texts a hand-in says the same as, whatever names, comments and blanks it
has: the handout, the solution, a known mistake. For the examiner, who then asks all the more for
reasons; it is no fault, where a solution is one line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from numalab.course.similarity import tokens_of
from numalab.diagnosing.excerpts import strip_comments
from numalab.diagnosing.known_mistakes import KnownMistake
from numalab.files import NotPlain, read_plain_text
from numalab.installation import Installation
from numalab.labs.declaration import FILE_BYTES, KERNEL_FILES, Lab
from numalab.labs.kernel_names import file_names
from numalab.labs.seeds import Seed
from numalab.labs.variants import (
    draw_variant,
    lab_files,
    lab_of_variant,
    read_draws,
    solution_files,
)
from numalab.strangers.visible import visible_lines

Files = Mapping[str, str]  # by name
# Of a kernel its tokens, of another file its words.
_Bare = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Known:
    """A text of the kit's, and what it is in words."""

    words: str
    files: _Bare


def _text(path: Path) -> str | None:
    """As it can be shown; None where it is no text."""
    try:
        return visible_lines(read_plain_text(path, FILE_BYTES, follow_links=False))
    except (FileNotFoundError, NotPlain, UnicodeDecodeError):
        return None


def handed_files(folder: Path, lab: Lab, language: str) -> dict[str, str]:
    """What a folder has of what is handed in for a lab in a language."""
    found = ((name, _text(folder / name)) for name in file_names(lab, language))
    return {name: text for name, text in found if text is not None}


def _bare(files: Files, language: str) -> dict[str, tuple[str, ...]]:
    """Without comments, blanks and, in kernels, names."""
    kernel = KERNEL_FILES[language]
    return {
        name: tokens_of(text, language)
        if name == kernel
        else tuple(" ".join(strip_comments(text, Path(name).suffix)).split())
        for name, text in files.items()
    }


def _given(installation: Installation, lab: Lab, language: str, seed: Seed) -> tuple[Files, Files]:
    """The handout and the solution; of a variant the student's own."""
    if not lab.is_variant:
        handout = handed_files(installation.lab_folder(lab.name), lab, language)
        return handout, handed_files(installation.solution_folder(lab.name), lab, language)
    draws = read_draws(installation.root, lab_of_variant(lab.name))
    variant, names = draw_variant(draws, seed), file_names(lab, language)
    both = (
        lab_files(installation.root, draws, variant),
        solution_files(installation.root, draws, variant),
    )
    handout, solution = ({name: files[name] for name in names if name in files} for files in both)
    return handout, solution


def known_texts(
    installation: Installation,
    lab: Lab,
    language: str,
    seed: Seed,
    mistakes: Sequence[KnownMistake],
) -> Iterator[Known]:
    """The likeliest first. Raises NumalabError."""
    handout, solution = (
        _bare(files, language) for files in _given(installation, lab, language, seed)
    )
    yield Known("the handout", handout)
    yield Known("the kit's solution", solution)
    for wrong in mistakes:
        if wrong.folder is not None:
            files = handed_files(wrong.folder, lab, language)
        else:
            text = _text(wrong.kernels[language]) if language in wrong.kernels else None
            files = {} if text is None else {KERNEL_FILES[language]: text}
        if files:
            words = f"the kit's known mistake {wrong.name}: {wrong.mistake}"
            yield Known(words, {**solution, **_bare(files, language)})


def same_as(files: Files, language: str, known: Sequence[Known]) -> str:
    """In words; empty where it is none of them."""
    own = _bare(files, language)
    return next((one.words for one in known if one.files == own), "")
