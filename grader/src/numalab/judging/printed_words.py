"""Text that programs printed: why a kernel, or MPI or UCX below it, ended a run, and warnings of
OpenMP runtimes. Pure functions."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Collection, Sequence
from itertools import dropwhile

from numalab.evidence.run_formats import BindingRun, Outcome
from numalab.judging.verdict import Warned
from numalab.untrusted.visible import shortened

# The beginning of mpiexec's text on a rank that ended badly; what matters in it is reported anyway.
_LAUNCHERS_WORDS = r"={20,}\n=   BAD TERMINATION"
# Lines of a backtrace of UCX or gfortran. They say nothing to a student: the kernel's own line is
# reported anyway.
_FRAME = re.compile(
    r"\s*\d+\s+\S+\(\S*\)\s+\[0x|==== backtrace"
    r"|Error termination\. Backtrace|#\d+\s+0x|\tat \S+:\d+$"  # gfortran's
)
# UCX's assertion where a second thread calls it, and MPI was asked for a level of one.
_SECOND_THREAD = re.compile(r"Assertion `(?:--)?worker->inprogress")
# The texts of all error numbers, as a program without a locale prints them.
_ERRORS = "|".join({re.escape(os.strerror(number)) for number in errno.errorcode})
_REFUSED = rf"\s*(?:libnuma: )?\w+: (?:{_ERRORS})\s*"  # long, so compiled only where it is used
_LONGEST = 200  # characters of a line that are quoted
# A line of MPICH's error stack: a function with its line number, dots as filling, and its message,
# which may be empty.
_STACKED = re.compile(r"([\w()]+\(\d*\))\.*:\s*(.*)")
# Lines in which a runtime says why it ends a program, while the lines behind them say where: Open
# MPI, gfortran, glibc's allocator and its checks, the loader.
_REASON = re.compile(
    r"\*\*\* MPI_ERR_\w+:|\*\*\* The MPI_\w+\(\) function was called"
    r"|Fortran runtime error:|^(?:ERROR )?STOP\b|Assertion [`'].*' failed|^Fatal glibc error:"
    r"|^\*\*\* .* \*\*\*: terminated|^(?:free|[a-z_]*alloc|malloc_consolidate|munmap_chunk)\(\): "
    r"|^corrupted (?:size|double-linked)|^double free or corruption"
    r"|error while loading shared libraries:|symbol lookup error:"
)


def _all(outcome: Outcome) -> str:
    return outcome.printed or ""


def printed_lines(outcome: Outcome) -> Sequence[str]:
    """Return the lines that a kernel printed, as far as they were kept, without the launcher's."""
    return _strip_launcher(_all(outcome))


def _strip_launcher(text: str) -> Sequence[str]:
    return re.split(_LAUNCHERS_WORDS, text)[0].strip().splitlines()


def reason_line(lines: Sequence[str], is_whole: bool = True) -> str:
    """Return the line in which a runtime says why it ended a program; empty: there is no line.

    In an error stack of MPICH or Intel MPI that is the innermost function with a message, else the
    line that gives a reason and no place, else the last line.

    Args:
        is_whole: all that was printed was kept; else the first line takes the place of the last.
    """
    said = [line for line in lines if any(map(str.isalnum, line)) and not _FRAME.match(line)]
    if any(map(_begins_stack, said)):
        return _innermost(said)
    given = next((line for line in said if _REASON.search(line)), None)
    return (given or (said or [""])[-1 if is_whole else 0]).strip()


def _begins_stack(line: str) -> bool:
    return line.rstrip().endswith("error stack:")


def _innermost(lines: Sequence[str]) -> str:
    """Return the innermost function with a message of the first error stack, and the message.
    Several ranks may have printed their stacks' first lines before any of the others."""
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
    """Return a sentence that quotes the reason_line, with a space before it; empty: there is none,
    or meets_threads_in_mpi says more."""
    if meets_threads_in_mpi(outcome):
        return ""
    is_whole = outcome.printed_bytes <= len(_all(outcome))
    line = reason_line(printed_lines(outcome), is_whole)
    return f" It printed: {shortened(line, _LONGEST)}" if line else ""


def reason_in(text: str) -> str:
    """Return the reason_line of what a job printed, without its launcher's text."""
    return reason_line(_strip_launcher(text))


def refused_call(outcome: Outcome) -> str:
    """Return the first printed line on a call that was refused, in the form of perror and libnuma:
    its name, and the text of an error number. Empty: there is none."""
    return next(
        (line.strip() for line in printed_lines(outcome) if re.fullmatch(_REFUSED, line)), ""
    )


def is_mpis_error(ended: Outcome) -> bool:
    """Tell whether MPI itself ended a program of ranks, by what was printed: it may do so by
    exit."""
    return ended.ranks is not None and bool(
        re.search(r"Fatal error in|Attempting to use an MPI routine", _all(ended))
    )


def erring_rank(ended: Outcome) -> str:
    """Return the number of the rank that MPI names before it ends a job; empty: it names none."""
    said = re.search(r"Abort\(\d+\) on node (\d+)", _all(ended))
    return said[1] if said else ""


def meets_threads_in_mpi(ended: Outcome) -> bool:
    """Tell whether two threads were inside MPI at once though the program requested a lower level,
    by what UCX printed."""
    return _SECOND_THREAD.search(_all(ended)) is not None


def mpi_function(ended: Outcome) -> str:
    """Return the function of MPI that failed, by what was printed: MPI_Init_thread where
    meets_threads_in_mpi; empty: not known."""
    if meets_threads_in_mpi(ended):
        return "MPI_Init_thread"  # which was asked for too little
    said = re.search(r"Fatal error in (?:internal_|P?MPI_)(\w+)", _all(ended))
    return f"MPI_{said[1]}" if said else ""


def runtime_warnings(runs: Sequence[BindingRun]) -> tuple[Warned, ...]:
    """Return for each run, where it printed one, the first line that has the words of a warning."""
    warnings = []
    for run in runs:
        lines = (run.outcome.printed or "").splitlines()
        warned = [line.strip() for line in lines if "arning" in line or "nvalid" in line]
        if warned:
            words = warned[0][:160].rstrip(".").removeprefix(f"{run.runtime}: ")
            warnings.append(Warned(run.runtime, words))
    return tuple(warnings)


def warning_words(warnings: Sequence[Warned], quoted: Collection[str] = ()) -> str:
    """Return a sentence for each warning, with a space before it. quoted: the words of warnings
    that the report has quoted before, which are only referred to."""
    text = ""
    before = ""
    for warned in warnings:
        said = f"said: {warned.words}"
        if warned.words == before:
            said = "said the same"
        elif warned.words in quoted:
            said = "gave the same warning as above"
        text += f" {warned.runtime} {said}."
        before = warned.words
    return text
