"""What a kernel printed before it ended, and what MPI, UCX below it and the launcher did. Pure
functions."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Sequence
from itertools import dropwhile

from numalab.evidence.results import Outcome
from numalab.strangers.visible import shortened

# What mpiexec says when a rank has ended badly; all that matters in it is told anyway.
_LAUNCHERS_WORDS = r"={20,}\n=   BAD TERMINATION"
# Of UCX's backtrace: nobody knows an address, and of its own lines the kernel's is told.
_FRAME = re.compile(
    r"\s*\d+\s+\S+\(\S*\)\s+\[0x|==== backtrace"
    r"|Error termination\. Backtrace|#\d+\s+0x|\tat \S+:\d+$"  # of gfortran's
)
# Of UCX, where a second thread comes into what is one thread's by what MPI was asked for.
_SECOND_THREAD = re.compile(r"Assertion `(?:--)?worker->inprogress")
# The texts of all error numbers, as a program without a locale prints them.
_ERRORS = "|".join({re.escape(os.strerror(number)) for number in errno.errorcode})
_REFUSED = rf"\s*(?:libnuma: )?\w+: (?:{_ERRORS})\s*"  # long: made where it is looked for
_LONGEST = 200  # characters of a line that are told
# One of MPICH's error stack: a function with its line, dots for looks, what it says if it does.
_STACKED = re.compile(r"([\w()]+\(\d*\))\.*:\s*(.*)")
# In which a runtime says why, and after which others say where: Open MPI, gfortran, glibc's
# allocator and its checks, the loader.
_REASON = re.compile(
    r"\*\*\* MPI_ERR_\w+:|\*\*\* The MPI_\w+\(\) function was called"
    r"|Fortran runtime error:|^(?:ERROR )?STOP\b|Assertion [`'].*' failed|^Fatal glibc error:"
    r"|^\*\*\* .* \*\*\*: terminated|^(?:free|[a-z_]*alloc|malloc_consolidate|munmap_chunk)\(\): "
    r"|^corrupted (?:size|double-linked)|^double free or corruption"
    r"|error while loading shared libraries:|symbol lookup error:"
)


def _all(outcome: Outcome) -> str:
    return str(outcome.detail.get("printed", ""))


def printed_lines(outcome: Outcome) -> Sequence[str]:
    """What a kernel printed, without the launcher's words."""
    return _strip_launcher(_all(outcome))


def _strip_launcher(text: str) -> Sequence[str]:
    return re.split(_LAUNCHERS_WORDS, text)[0].strip().splitlines()


def reason_line(lines: Sequence[str], is_whole: bool = True) -> str:
    """Return the line in which a runtime says why it ended a program: of MPICH's and Intel MPI's
    error stack the innermost function that says something, of others the one that gives a reason
    and no place. Else the last line, or, where is_whole is False and the end was cut off, the
    first. Empty: there is no line."""
    said = [line for line in lines if any(map(str.isalnum, line)) and not _FRAME.match(line)]
    if any(map(_begins_stack, said)):
        return _innermost(said)
    given = next((line for line in said if _REASON.search(line)), None)
    return (given or (said or [""])[-1 if is_whole else 0]).strip()


def _begins_stack(line: str) -> bool:
    return line.rstrip().endswith("error stack:")


def _innermost(lines: Sequence[str]) -> str:
    """Of the first error stack, whose beginning several ranks may have printed before its lines."""
    rest = dropwhile(lambda line: not _begins_stack(line), lines)
    found = next(rest).strip()
    is_inside = False
    for line in rest:
        stacked = _STACKED.fullmatch(line.strip())
        if stacked is None and (is_inside or not _begins_stack(line)):
            break
        if stacked is not None:
            is_inside = True
            found = f"{stacked[1]}: {stacked[2]}" if stacked[2] else found
    return found


def line_that_says_most(outcome: Outcome) -> str:
    """A sentence with a space before it, or nothing: reason_line of what was printed."""
    if meets_threads_in_mpi(outcome):
        return ""
    is_whole = outcome.detail.get("printed_bytes", 0) <= len(_all(outcome))
    line = reason_line(printed_lines(outcome), is_whole)
    return f" It printed: {shortened(line, _LONGEST)}" if line else ""


def reason_in(text: str) -> str:
    """As reason_line, of all that a job and its launcher printed."""
    return reason_line(_strip_launcher(text))


def refused_call(outcome: Outcome) -> str:
    """Return the first printed line that tells of a call that was refused, as perror writes it and
    libnuma does by itself: its name, and the text of an error number. Empty: there is none."""
    return next(
        (line.strip() for line in printed_lines(outcome) if re.fullmatch(_REFUSED, line)), ""
    )


def is_mpis_error(ended: Outcome) -> bool:
    """Whether MPI itself ended the program: of a rank that it knows it does so by exit, too."""
    return "ranks" in ended.detail and bool(
        re.search(r"Fatal error in|Attempting to use an MPI routine", _all(ended))
    )


def erring_rank(ended: Outcome) -> str:
    """The number of the rank that MPI names before it ends a job; empty: it names none."""
    said = re.search(r"Abort\(\d+\) on node (\d+)", _all(ended))
    return said[1] if said else ""


def meets_threads_in_mpi(ended: Outcome) -> bool:
    """Whether two threads were inside MPI at once, and MPI had been asked for less."""
    return _SECOND_THREAD.search(_all(ended)) is not None


def mpi_function(ended: Outcome) -> str:
    """That of MPI by which it went wrong, as far as what was printed tells; empty: it does not."""
    if meets_threads_in_mpi(ended):
        return "MPI_Init_thread"  # which was asked for too little
    said = re.search(r"Fatal error in (?:internal_|P?MPI_)(\w+)", _all(ended))
    return f"MPI_{said[1]}" if said else ""
