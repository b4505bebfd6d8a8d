"""Names under which kernels are handed in, beside kernel.c and kernel.f90 themselves: what
browsers, file managers and course systems make of a second copy, and other languages' names."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from pathlib import PurePath

from numalab.labs.declaration import KERNEL_FILES
from numalab.strangers.visible import shown

# The word by which a file manager marks a copy, without accents: of Windows, macOS, GNOME, KDE and
# Google Drive in several languages (kernel - Kopie.c, Copy of kernel.c, kernel copie 2.c).
_COPY = (
    "another|copy|kopie|copie|autre|copia|otra|altra|outra|kopia|kopi|kopio|kopya|kopija|masolat|"
    "копия|копія|副本|コピー|복사본"
)
_JOINING = "of|von|de|di|da|van|z|af|av"
_NUMBER = r"\d+(?:st|nd|rd|th|\.|ª|º)?"
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


_COPY_WORDS = "|".join(_letters(word) for word in _COPY.split("|"))
_BEFORE = rf"(?:(?:{_COPY_WORDS})(?:\W+\d+)?\W+(?:(?:{_JOINING})\W+)?)?"
_BEHIND = rf"(?:[\W_]*(?:{_COPY_WORDS}|{_NUMBER}))*[\W_]*"


def _suffix(name: str) -> str:
    return PurePath(name).suffix.lower()


def is_copy_name(name: str, wanted: str) -> bool:
    """Whether a name is the wanted one but for case and what marks a copy: `kernel (1).c`,
    `kernel - Kopie.c`, `KERNEL.C`; of Fortran in free form with any year."""
    stem, suffix = PurePath(wanted).stem, _suffix(wanted)
    alike = _FREE_FORM if suffix in _FREE_FORM else (suffix,)
    if name == wanted or _suffix(name) not in alike:
        return False
    own = _letters(PurePath(name).stem)
    return re.fullmatch(f"{_BEFORE}{re.escape(_letters(stem))}{_BEHIND}", own) is not None


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


def near_names(names: Iterable[str], wanted: str) -> list[str]:
    """Names that may have been meant to be the wanted one: copies' names, and with .txt behind."""
    with_txt = f"{wanted}.txt".casefold()
    return sorted(n for n in names if is_copy_name(n, wanted) or n.casefold() == with_txt)


def looks_like_kernel(name: str, language: str, own: Iterable[str] = ()) -> bool:
    """Whether somebody may have meant a file to be the kernel in a language: a source by its name,
    whatever comes behind that (kernel.f90.txt), one in a language that is near (kernel.cpp,
    kernel.f), or one without any. own: the names of files that the lab has beside kernels."""
    if name in KERNEL_FILES.values() or name in own:
        return False
    suffixes = [suffix.lower() for suffix in PurePath(name.rstrip("~")).suffixes]
    stem = _letters(name.split(".")[0])
    is_called_so = re.fullmatch(f"{_BEFORE}kernel{_BEHIND}", stem) is not None
    if is_called_so and (suffixes in ([], [".txt"]) or suffixes[-1] in _OTHERS):
        near = _FIXED_FORM if language == "c" else (".cpp", ".cc", ".cxx", ".c++", ".cp", ".cu")
        return not suffixes or suffixes[-1] not in near
    fitting = (*_SUFFIXES[language], *(_FIXED_FORM if language == "fortran" else ()))
    return any(suffix in fitting for suffix in suffixes)
