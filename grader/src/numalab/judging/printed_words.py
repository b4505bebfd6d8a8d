"""What a kernel printed before it ended, and what MPI, UCX below it and the launcher did. Pure
functions."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Sequence

from numalab.evidence.results import Outcome

# What mpiexec says when a rank has ended badly; all that matters in it is told anyway.
_LAUNCHERS_WORDS = r"={20,}\n=   BAD TERMINATION"
# Of UCX's backtrace: nobody knows an address, and of its own lines the kernel's is told.
_FRAME = re.compile(r"\s*\d+\s+\S+\(\S*\)\s+\[0x|==== backtrace")
# Of UCX, where a second thread comes into what is one thread's by what MPI was asked for.
_SECOND_THREAD = re.compile(r"Assertion `(?:--)?worker->inprogress")
# The texts of all error numbers, as a program without a locale prints them.
_ERRORS = "|".join({re.escape(os.strerror(number)) for number in errno.errorcode})
_REFUSED = re.compile(rf"\s*(?:libnuma: )?\w+: (?:{_ERRORS})\s*")
_LONGEST = 160  # characters of a line that are told


def _all(outcome: Outcome) -> str:
    return str(outcome.detail.get("printed", ""))


def printed_lines(outcome: Outcome) -> Sequence[str]:
    """What a kernel printed, without the launcher's words."""
    return re.split(_LAUNCHERS_WORDS, _all(outcome))[0].strip().splitlines()


def line_that_says_most(outcome: Outcome) -> str:
    """A sentence with a space before it, or nothing: the last line, where a runtime's error message
    stands; of a text that was cut, the first."""
    lines = [
        line
        for line in printed_lines(outcome)
        if any(map(str.isalnum, line)) and not _FRAME.match(line)
    ]
    if not lines or meets_threads_in_mpi(outcome):
        return ""
    is_whole = outcome.detail["printed_bytes"] <= len(outcome.detail["printed"])
    return f" It printed: {lines[-1 if is_whole else 0].strip()[:_LONGEST]}"


def refused_call(outcome: Outcome) -> str:
    """Return the first printed line that tells of a call that was refused, as perror writes it and
    libnuma does by itself: its name, and the text of an error number. Empty: there is none."""
    return next((line.strip() for line in printed_lines(outcome) if _REFUSED.fullmatch(line)), "")


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
