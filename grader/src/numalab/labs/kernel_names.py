"""Names under which kernels are handed in, beside kernel.c and kernel.f90 themselves: what
browsers, file managers and course systems make of a second copy, and other languages' names."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from pathlib import PurePath

from numalab.labs.declaration import KERNEL_FILES, Lab
from numalab.untrusted.visible import shown

NOTEBOOK = "explore.ipynb"


def edited_names(lab: Lab) -> tuple[str, ...]:
    """Return the names of all that students edit in a lab's folder: the kernels, the files beside
    them and the notebook."""
    kernels = (KERNEL_FILES[language] for language in lab.languages)
    return (*kernels, *(file.name for file in lab.files), NOTEBOOK)


def file_names(lab: Lab, language: str) -> tuple[str, ...]:
    """Return the names of what is handed in for a lab in a language: the kernel, and the files of
    the lab beside it."""
    return (KERNEL_FILES[language], *(file.name for file in lab.files))


# The words by which file managers mark a copy, without accents: of Windows, macOS, GNOME, KDE and
# Google Drive in several languages (kernel - Kopie.c, Copy of kernel.c, kernel copie 2.c).
_COPY_WORDS = frozenset(
    {"another", "copy", "kopie", "copie", "autre", "copia", "otra", "altra", "outra", "kopia",
     "kopi", "kopio", "kopya", "kopija", "masolat", "копия", "копія", "副本", "コピー", "복사본"}
)  # fmt: skip
_JOINING = frozenset(["of", "von", "de", "di", "da", "van", "z", "af", "av"])
_ORDINALS = frozenset(["st", "nd", "rd", "th"])
_WORDS = re.compile(r"\d+|[^\W\d_]+")
# All of one form; they differ in the standard, and a capital F asks for a preprocessor.
_FREE_FORM = (".f90", ".f95", ".f03", ".f08", ".f18")
_FIXED_FORM = (".f", ".for", ".ftn", ".f77")
_SUFFIXES = {"c": (".c",), "fortran": _FREE_FORM}
_OTHERS = {
    **dict.fromkeys((".cpp", ".cc", ".cxx", ".c++", ".cp", ".hpp"), "C++"),
    **dict.fromkeys(_FIXED_FORM, "Fortran in fixed form"),
    ".ipynb": "a notebook",
    ".py": "Python",
    ".cu": "CUDA",
    ".rs": "Rust",
    ".jl": "Julia",
}


def _letters(text: str) -> str:
    """Without case and accents."""
    apart = unicodedata.normalize("NFKD", text.casefold())
    return "".join(char for char in apart if not unicodedata.combining(char))


_FOLDED_COPY_WORDS = frozenset(map(_letters, _COPY_WORDS))


def _is_copy_of(name: str, stem: str) -> bool:
    """Whether a name without its suffix is the stem, maybe with what marks a copy around it."""
    words, own = _WORDS.findall(_letters(name)), _WORDS.findall(_letters(stem))
    ends = range(len(own), len(words) + 1)
    return any(
        words[end - len(own) : end] == own and _mark_a_copy(words[: end - len(own)], words[end:])
        for end in ends
    )


def _mark_a_copy(leading: Sequence[str], trailing: Sequence[str]) -> bool:
    marks = _FOLDED_COPY_WORDS | _ORDINALS
    return (
        all(word in _FOLDED_COPY_WORDS for word in leading[:1])
        and all(word in marks or word in _JOINING or word.isdigit() for word in leading)
        and all(word in marks or word.isdigit() for word in trailing)
    )


def _suffix(name: str) -> str:
    return PurePath(name.strip()).suffix.lower()


def is_copy_name(name: str, expected: str) -> bool:
    """Whether a name is the wanted one but for case and what marks a copy: `kernel (1).c`,
    `kernel - Kopie.c`, `KERNEL.C`; of Fortran in free form with any year."""
    stem, suffix = PurePath(expected).stem, _suffix(expected)
    alike = _FREE_FORM if suffix in _FREE_FORM else (suffix,)
    if name == expected or _suffix(name) not in alike:
        return False
    return _is_copy_of(PurePath(name).stem, stem)


def meant_by(
    expected: str, files: Sequence[tuple[str, bytes]], is_starting: Callable[[bytes], bool]
) -> int | None:
    """Which of the files that stand for a name is meant by it: of those that differ the one that is
    not starting code, and among equals the one of that name. files: names, each the wanted one or a
    copy's, and contents; None: nobody can tell, or there is none."""
    contents = {content for _, content in files}
    changed = {content for content in contents if not is_starting(content)}
    meant = changed if len(changed) == 1 else contents
    # 0: of that name; 1: but for case and blanks around it; 2: a copy's.
    unlike = [
        (name != expected) + (" ".join(name.split()).casefold() != expected.casefold())
        for name, _ in files
    ]
    if len(meant) > 1 and (sum(far < 2 for far in unlike) > 1 or 0 not in unlike):
        return None
    order = sorted(range(len(files)), key=unlike.__getitem__)
    return next((i for i in order if files[i][1] in meant), None)


def language_words(name: str) -> str:
    """What a file is by its name, where that is no language that is graded: C++, as in a sentence;
    empty: it does not show."""
    return _OTHERS.get(_suffix(name), "")


def not_graded_words(name: str) -> str:
    """A sentence without a full stop on a source in another language; empty: it is in none."""
    what = language_words(name)
    if not what:
        return ""
    return f"{shown(name)} is {what}, which is not graded; kernels are C or Fortran in free form"


def similar_names(names: Iterable[str], expected: str) -> list[str]:
    """Names that may have been meant to be the wanted one: copies' names, and with .txt behind."""
    with_txt = f"{expected}.txt".casefold()
    return sorted(n for n in names if is_copy_name(n, expected) or n.casefold() == with_txt)


def is_probably_kernel(name: str, language: str, own: Iterable[str] = ()) -> bool:
    """Whether somebody may have meant a file to be the kernel in a language: a source by its name,
    whatever comes behind that (kernel.f90.txt), one in a language that is near (kernel.cpp,
    kernel.f), or one without any. own: the names of files that the lab has beside kernels."""
    if name in KERNEL_FILES.values() or name in own:
        return False
    suffixes = [suffix.lower() for suffix in PurePath(name.rstrip("~")).suffixes]
    if _is_copy_of(name.split(".")[0], "kernel") and (
        suffixes in ([], [".txt"]) or suffixes[-1] in _OTHERS
    ):
        near = _FIXED_FORM if language == "c" else (".cpp", ".cc", ".cxx", ".c++", ".cp", ".cu")
        return not suffixes or suffixes[-1] not in near
    fitting = (*_SUFFIXES[language], *(_FIXED_FORM if language == "fortran" else ()))
    return any(suffix in fitting for suffix in suffixes)
