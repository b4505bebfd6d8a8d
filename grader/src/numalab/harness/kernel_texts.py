"""Recognition of common mistakes in a kernel's text and folder that compilers don't explain."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from numalab.labs.kernel_names import is_probably_kernel
from numalab.untrusted.visible import shown

MAX_OUTPUT_LINES = 24  # of messages on a kernel
MOST_COLUMNS = 400  # of a line of a kernel, compiler or linker
# numalab's own files next to kernels, in copies from before those moved to grading/. A lab names
# others that it has (programs).
NUMALAB_SOURCES = ("driver.c", "phases.c", "test_driver.c")

# OpenMP's sentinel with blanks in it or letters in another order. Without the $ it may be prose: a
# directive's first word tells.
_MISSPELT = re.compile(
    r"! ?(\$ ?(omp|opm|mop)|(omp|opm|mop) (atomic|barrier|critical|do|end|parallel|sections|simd"
    r"|single|target|task|teams))\b", re.IGNORECASE
)  # fmt: skip


def misspelt_directives(source: str, language: str) -> list[str]:
    """Return sentences, without full stops, on lines of Fortran that are probably meant as OpenMP's
    and are none; empty for C. At most MAX_OUTPUT_LINES are listed, and then a line on how many more
    there are."""
    if language != "fortran":
        return []
    sentinel = "an OpenMP line begins with !$omp"
    # With single blanks: a pattern that skips them in several places takes the square of them.
    squeezed = ((number, " ".join(line.split())) for number, line in _lines(source))
    found = [
        f"line {number}: `{shown(line, 40)}` is a comment; {sentinel}"
        for number, line in squeezed
        if _MISSPELT.match(line) and not re.match(r"!\$omp\b", line, re.IGNORECASE)
    ]
    more = len(found) - MAX_OUTPUT_LINES
    return [*found[:MAX_OUTPUT_LINES], f"... and {more} more"] if more > 0 else found


OTHER_LANGUAGE = {"c": "Fortran", "fortran": "C"}
# Beginnings of lines that one of the languages has and the other hardly ever.
_ONLY_IN = {
    "C": re.compile(r"(#include\b|void \w+\(|int \w+\(|double \w+\(|\}$)"),
    "Fortran": re.compile(r"(subroutine|end subroutine|module|end module|implicit none|use)\b",
                          re.IGNORECASE),
}  # fmt: skip


def is_other_language(source: str, language: str) -> bool:
    """Tell whether a text has lines that begin as in the other language, and none that begin as in
    `language`."""
    other = OTHER_LANGUAGE[language]
    own = "Fortran" if other == "C" else "C"
    starts = [line.strip() for _, line in _lines(source)]
    return any(map(_ONLY_IN[other].match, starts)) and not any(map(_ONLY_IN[own].match, starts))


def _lines(source: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(source.split("\n"), start=1):  # compilers count no form feed
        yield number, line[:MOST_COLUMNS]


def misnamed_kernels(folder: Path, language: str, programs: Sequence[str] = ()) -> list[str]:
    """Return the names, sorted and safe to show, of files that are probably meant as a kernel in a
    language but have another name. programs: names of the lab's own sources. Empty where the folder
    can't be read."""
    try:
        files = list(folder.iterdir())
    except OSError:
        return []
    return sorted(
        shown(path.name)
        for path in files
        if is_probably_kernel(path.name, language, (*NUMALAB_SOURCES, *programs)) and path.is_file()
    )
