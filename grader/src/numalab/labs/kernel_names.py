"""Names of files that are handed in, and names under which they come: those of second copies, and
those of kernels in other languages."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from pathlib import PurePath

from numalab.labs.declaration import KERNEL_FILES, Lab
from numalab.untrusted.visible import shown

NOTEBOOK = "explore.ipynb"


def edited_names(lab: Lab) -> tuple[str, ...]:
    """Return the names of a lab's kernels in its languages, of the files that are handed in with
    them, and of the notebook."""
    kernels = (KERNEL_FILES[language] for language in lab.languages)
    return (*kernels, *(file.name for file in lab.files), NOTEBOOK)


def file_names(lab: Lab, language: str) -> tuple[str, ...]:
    """Return the names of what is handed in for a lab in a language: the kernel and the lab's other
    files."""
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
# Suffixes of Fortran in free form, by standard; with a capital F the file is preprocessed.
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
    apart = unicodedata.normalize("NFKD", text.casefold())
    return "".join(char for char in apart if not unicodedata.combining(char))


_FOLDED_COPY_WORDS = frozenset(map(_letters, _COPY_WORDS))


def _is_copy_of(name: str, stem: str) -> bool:
    """Tell whether a name without its suffix is the stem, or the stem with words and numbers around
    it that mark a copy."""
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
    """Tell whether a name differs from the expected one, but only in case, accents and punctuation
    and by marks of a copy: `kernel (1).c`, `kernel - Kopie.c`, `KERNEL.C`; in free-form Fortran
    also by the year in its suffix (.f08 for .f90)."""
    stem, suffix = PurePath(expected).stem, _suffix(expected)
    alike = _FREE_FORM if suffix in _FREE_FORM else (suffix,)
    if name == expected or _suffix(name) not in alike:
        return False
    return _is_copy_of(PurePath(name).stem, stem)


def meant_by(
    expected: str, files: Sequence[tuple[str, bytes]], is_starting: Callable[[bytes], bool]
) -> int | None:
    """Return the index of the file that is meant by a name; None: there is none, or it isn't clear.

    If exactly one content is not starting code, it is the one meant. Otherwise, if contents differ,
    the file of that very name is meant, unless another file has that name but for case and blanks.
    Of equal contents, the file with the nearest name is meant.

    Args:
        expected: the name.
        files: name, the expected one or a copy's, and content of each.
        is_starting: tells whether a content is starting code.
    """
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


def not_graded_words(name: str) -> str:
    """Return a sentence without a full stop on a file whose last suffix is of a language that is
    not graded; empty: it is not."""
    what = _OTHERS.get(_suffix(name))
    if what is None:
        return ""
    return f"{shown(name)} is {what}, which is not graded; kernels are C or Fortran in free form"


def similar_names(names: Iterable[str], expected: str) -> list[str]:
    """Return the names, sorted, that are copies' of the expected one (is_copy_name), or that are
    the expected one with .txt appended, in upper or lower case."""
    with_txt = f"{expected}.txt".casefold()
    return sorted(n for n in names if is_copy_name(n, expected) or n.casefold() == with_txt)


def is_probably_kernel(name: str, language: str, own: Iterable[str] = ()) -> bool:
    """Tell whether a file is probably meant as the kernel in a language, but not named so.

    A file that is called `kernel`, or as a copy of it, is with no suffix, with .txt alone, or if
    its last suffix is of another language, such as Python, but not one that is closer to the other
    of C and Fortran. With other suffixes, and under other names, a file is if one of its suffixes
    is of the language (kernel.f90.txt).

    own: names of other files, which are not meant as a kernel.
    """
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
