"""Sentences for a student about how a run ended and about its results. Pure functions.

A *phase* is the name of a function of the contract, words with an article where a phase calls
several of them, or numalab's own step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from numalab.evidence.record import LeftOut
from numalab.evidence.run_formats import (
    FaultPlace,
    FirstMismatch,
    IncompleteRequests,
    Outcome,
    RaceReport,
    ResultsRecord,
)
from numalab.judging import printed_words
from numalab.judging.verdict import NOT_GRADED
from numalab.words import amount, apart, count, first_upper


def indexed(array: str, element: int, language: str) -> str:
    """Return an element as the language writes it. element: its number, from 0."""
    return f"{array}({element + 1})" if language == "fortran" else f"{array}[{element}]"


def problem_size(n: int, unit: str) -> str:
    """Return a problem size in words. unit: what n counts, in the plural; empty: it is not said."""
    return count(n, unit.removesuffix("s")) if unit else f"n = {n:,}"


def name_call(phase: str) -> str:
    """Return a single call of a phase in words."""
    return f"one {phase.split(maxsplit=1)[1]}" if " " in phase else f"one call of {phase}"


def _subject(phase: str) -> str:
    return first_upper(phase) if " " in phase else phase


def _nth(phase: str, number: int) -> str:
    """Return a phase with the number of the call, from 1, in words; the first call of a function is
    its name alone."""
    if " " in phase:
        return f"{phase.split(maxsplit=1)[1]} {number}"
    return phase if number == 1 else f"call {number} of {phase}"


def mismatch(first: FirstMismatch, language: str) -> str:
    """Return a clause on a wrong element: where it is, its value, and the value it should have."""
    where = indexed(first.array, first.element, language)
    if first.rank is not None and language == "fortran":  # the array may have two dimensions
        where = f"element {first.element + 1} of {first.array}"
    if first.row is not None and first.column is not None:
        column = first.column + (1 if language == "fortran" else 0)
        row = f"{first.row} ({first.row_name})" if first.row_name else f"{first.row}"
        where = f"{first.array} in row {row}, column {column}"
    after = f"after {_nth(first.phase, first.repetition + 1)}"
    found, expected = apart(float(first.actual), float(first.expected))
    if first.actual_digits and first.expected_digits:
        found, expected = first.actual_digits, first.expected_digits
    return f"{where} is {found} {after}, it should be {expected}"


def results(
    results: ResultsRecord, n: int | None, language: str, ranks: int | None = None
) -> str | None:
    """Return sentences on one mistake in results, or None where there is none. n: the problem size;
    ranks: the number of the job's ranks. None of either: it is not mentioned."""
    named = problem_size(n, results.n_unit) if n is not None else ""
    size = f" ({named})" if named else ""
    if results.requests is not None:  # what is wrong then may come of it
        return requests_text(results.requests, size, ranks)
    if results.mismatches:
        assert results.first_mismatch is not None
        size = f" with {named}" if named else ""
        rank = results.first_mismatch.rank
        place = ""
        if rank is not None:
            place = f", in rank {rank}" + (f" of {ranks}" if ranks is not None else "")
        remark = f" {results.first_mismatch.remark}" if results.first_mismatch.remark else ""
        return (
            f"{count(results.mismatches, 'wrong element')} of {results.checked:,} checked{size}; "
            f"the first{place}: {mismatch(results.first_mismatch, language)}.{remark}"
        )
    few = results.too_few_messages
    if few is not None:
        return (
            f"A rank sent and received {count(few.observed, 'message')} where its round trips take "
            f"{few.required:,}{size}: one there and one back for each, whatever is in them."
        )
    if results.too_few_bytes is not None:
        few = results.too_few_bytes
        return (
            f"A rank sent {count(few.observed, 'byte')} where its round trips take "
            f"{few.required:,}{size}: each message has all of them."
        )
    if results.messages_ahead:
        return (
            f"A rank sent {count(results.messages_ahead, 'message')} before those that it had sent "
            "were answered: a round trip is over before the next one begins."
        )
    if results.replaced_array is not None:
        return (
            f"{results.replaced_array} is not the memory any more that it was: the kernel has put "
            "something else in its place (mmap, mremap), or has two places of it share their "
            "memory. It works on the arrays as they are."
        )
    if results.wrote_before_array is not None:
        name = results.wrote_before_array
        return (
            f"The memory just before {name} was changed: something writes to "
            f"{indexed(name, -1, language)} or before."
        )
    if results.wrote_after_array is not None:
        return (
            f"The memory just behind {results.wrote_after_array} was changed: something writes "
            "past its last element."
        )
    return None


def requests_text(requests: IncompleteRequests, size: str, ranks: int | None) -> str:
    """Return sentences on requests that a rank left incomplete or gave up, or whose buffer it
    changed too early. size: the problem size in parentheses with a space before them, or empty;
    ranks: the number of the job's ranks, or None."""
    rank = f"Rank {requests.rank}" + (f" of {ranks}" if ranks is not None else "")
    at = f" at {requests.line}" if requests.line else ""
    if requests.fault == "send_changed":
        return (
            f"{rank} changed the buffer of a message in {requests.phase}{size} before it was sent: "
            f"{requests.call}{at} starts it, and until MPI_Wait has returned for its request (or "
            "MPI_Waitall and the like) the buffer has to stay as it is. What arrives is chance."
        )
    number = count(requests.count, "request")
    first = "by" if requests.count == 1 else "the first by"
    if requests.fault == "given_up":
        return (
            f"{rank} gave up {number} in {requests.phase}{size} by MPI_Request_free, started "
            f"{first} {requests.call}{at}: nothing can tell any more when its buffer may be used "
            "again. Complete it by MPI_Wait instead."
        )
    were, them = ("was", "it") if requests.count == 1 else ("were", "them")
    return (
        f"{rank} started {number} in {requests.phase}{size} that {were} never "
        f"completed, {first} {requests.call}{at}. Until MPI_Wait has returned for {them} (or "
        "MPI_Waitall and the like) a message may still be under way, and its buffer is MPI's."
    )


def race(race: RaceReport) -> str:
    """Return sentences on a data race."""
    lines = tuple(dict.fromkeys(race.accesses))
    at = " and ".join(lines)
    which = f" It may be any variable in {'that line' if len(lines) == 1 else 'those lines'}."
    return (
        f"Two threads touch the same memory{' at ' + at if at else ''}, at least one of them "
        f"writes, and nothing orders the two: a data race.{which if at else ''} It may go well a "
        "thousand times."
    )


def _is_rank(ended: Outcome) -> bool:
    """Tell whether one of several ranks is to blame for an end."""
    return ended.rank is not None and (ended.ranks or 1) != 1


def _actor(ended: Outcome) -> str:
    """Return the subject of a sentence about an end: a rank, or the kernel."""
    if not _is_rank(ended):
        return "The kernel"
    return f"Rank {ended.rank} of {ended.ranks}"


def _erring_rank(ended: Outcome) -> str:
    """Return the rank that MPI names before it ends a job, else the one to blame, or "A rank"."""
    rank = printed_words.erring_rank(ended)
    if rank:
        return f"Rank {rank} of {ended.ranks or 1}"
    return _actor(ended) if _is_rank(ended) else "A rank"


def _its_size(ended: Outcome) -> str:
    return problem_size(ended.n or 0, ended.n_unit or "")


def _has_size(ended: Outcome) -> bool:
    """Tell whether a problem size is known. One of 0 is if it has a unit."""
    return bool(ended.n or ended.n_unit)


def _size(ended: Outcome) -> str:
    """Return the problem size if it is known, and the number of ranks where there are several and
    the end names no rank, in parentheses with a space before them; empty: neither."""
    ranks = ended.ranks or 1
    said = [_its_size(ended)] if _has_size(ended) else []
    if ranks > 1 and ended.rank is None:
        said.append(f"{ranks} ranks")
    return f" ({', '.join(said)})" if said else ""


def time_limit(ended: Outcome) -> str:
    """Return the time limit that was exceeded, in words."""
    limit = f"{ended.limit_s:g} s"
    return f"{limit} of CPU time a core" if ended.limit_of == "cpu_time" else limit


def pauses(left_out: Sequence[LeftOut]) -> str:
    """Return why a machine that pauses leaves a criterion undecided, and what to do. left_out: runs
    of which at least one paused."""
    paused_s = [run.paused_s for run in left_out if run.why == "paused"]
    return (
        f"The node, or this job on it, stood still in {count(len(paused_s), 'run')} (up to "
        f"{max(paused_s):.1f} s in one), as where jobs take turns on a node or a virtual machine "
        "is held: what was seen then does not count. Grade again where the job has its node for "
        "itself."
    )


_NEVER_ENDS = {
    "": "Look for a loop that never ends, or threads that wait for each other.",
    "readings": "Time passes there by readings of now_ns alone: a loop that goes by another clock, "
    "or has read now_ns once and waits, never ends.",
}


def _timed_out(ended: Outcome, phase: str) -> str:
    limit, ranks = time_limit(ended), ended.ranks or 1
    n = f" ({_its_size(ended)})" if _has_size(ended) else ""
    if ended.of_all_phases:
        return (
            f"The kernel's functions took more than {limit} together, when {phase}{n} was "
            "stopped. Each of them takes a small part of that: what makes them slow?"
        )
    if ranks == 1:
        return (
            f"{_subject(phase)} did not return within {limit}{n}; it was stopped. "
            f"{_NEVER_ENDS.get(ended.n_unit or '', _NEVER_ENDS[''])}"
        )
    if ended.rank is not None:
        return (
            f"{_actor(ended)} did not come out of {phase} within {limit}{n}; it was stopped. "
            "Look for a receive that no send answers, or a loop that never ends."
        )
    waiting = ended.ranks_waiting or ranks
    who = "no rank" if waiting == ranks else f"{ranks - waiting}"
    if ended.went_on:
        return (
            f"In a job of {ranks} ranks {who} came out of {phase} within {limit}{n}; it was "
            "stopped while messages were still under way. Look for a loop that sends without end; "
            "or the node is so busy that a message takes milliseconds: then try again later."
        )
    return (
        f"In a job of {ranks} ranks {who} came out of {phase} within {limit}{n}; it was "
        "stopped. Most likely a deadlock: ranks wait for each other's messages."
    )


# Refused system calls for which there is advice, by what they are for.
_STARTS = frozenset({"fork", "vfork", "clone", "clone3"})
_REACHES = frozenset({"ptrace", "process_vm_readv", "process_vm_writev"})


def _refused(call: str | None) -> str:
    """Return the predicate of a sentence on the refused system call that ended a run, and what to
    do instead."""
    if call in _STARTS:
        return (
            f"tried to start a process ({call}). A kernel works with the threads of OpenMP; take "
            "out fork, system, popen or execute_command_line."
        )
    if call in _REACHES:
        return (
            f"tried to reach into another process ({call}). A kernel works on the arrays it is "
            "given; take that out."
        )
    if not call:  # ended at once, or a library had blocked signals, as it does to start a process
        return (
            "made a system call that kernels may not make, most likely to start a process "
            "(system, popen) or to have the system store for it (process_vm_writev); take that out."
        )
    return f"made a system call that kernels may not make ({call}); take that out."


def is_refused_call(ended: Outcome) -> bool:
    """Tell whether SIGSYS ended a run, the signal at a system call that the sandbox refuses."""
    return ended.status == "crashed" and ended.signal == "SIGSYS"


def _line(ended: Outcome) -> str:
    """Return the kernel's line of a crash with " at" before it; empty: not known."""
    return f" at {ended.line}" if ended.line else ""


def _crash(ended: Outcome, phase: str, language: str) -> str:
    if is_refused_call(ended):
        who = f"{_actor(ended)} was ended in {phase}{_line(ended)}{_size(ended)}"
        return f"{who}: it {_refused(ended.system_call)}"
    signal = ended.signal or ""
    crashed = f"{_actor(ended)} crashed with {signal} in {phase}{_line(ended)}{_size(ended)}"
    if printed_words.meets_threads_in_mpi(ended):
        return (
            f"{crashed}. Two threads were inside MPI at once, which it has to be asked for "
            "(MPI_THREAD_MULTIPLE)."
        )
    if isinstance(ended.place, FaultPlace):
        return f"{crashed}. {_crash_near_array(ended, ended.place, language)}"
    if signal == "SIGSEGV" and ended.address:
        return f"{crashed}. {_crash_at_address(ended.address)}"
    if signal in ("SIGSEGV", "SIGBUS") and ended.frames is not None:
        return (
            f"{crashed}. It used an address that can't exist, or a vector instruction on data "
            "that is not aligned for it: the arrays are aligned like their elements and no better."
        )
    if ended.is_trap:
        return (
            f"{crashed}. The compiler has put a trap there: what the code does at this point is "
            "undefined, whatever the input, as a division by zero or a null pointer."
        )
    return " ".join([f"{crashed}.", *_SIGNAL_WORDS.get(signal, ())])


# What a signal means where nothing more is known; a tuple, since most signals have no sentence.
_SIGNAL_WORDS: dict[str, tuple[str]] = {
    "SIGKILL": ("The system ended it, most likely because memory ran out.",),
    "SIGFPE": ("That is most often an integer division by zero.",),
    "SIGABRT": ("It called abort, or a library did after an error.",),
    "SIGILL": ("This processor does not know the instruction: was it compiled for another?",),
}


def _crash_near_array(ended: Outcome, place: FaultPlace, language: str) -> str:
    """Return sentences on a crash at an access to an array, or to memory before or behind it."""
    array, element = place.array, place.element
    n = place.elements if place.elements is not None else ended.n or 0
    where = indexed(array, element, language)
    if ended.ranks is not None and language == "fortran":  # as in mismatch
        where = f"element {element + 1} of {array}"
    access = ended.access or "touch"
    did = f"It {({'read': 'read', 'write': 'wrote', 'touch': 'touched'})[access]} {where}"
    if 0 <= element < n:
        return (
            f"{did}, which is within {array}: the memory that was to hold it is too small, or gone."
        )
    outside = "before the first" if element < 0 else "past the last"
    distance = -element if element < 0 else element - n + 1
    text = f"{did}, {distance:,} {outside} element of {array}."
    if element < -1:
        text += " (A loop that counts down may have passed the elements between unseen.)"
    return text


def _crash_at_address(address: str) -> str:
    """Return a sentence on a crash at an address of no array. address: in hexadecimal."""
    if int(address, 16) < 4096:
        return (
            "It followed a null pointer: an array that was never allocated, or an allocation "
            "that was refused because it was too large."
        )
    return (
        f"It touched {address}, which belongs to no array: a wrong index, a wrong pointer, or a "
        "local array too large for the stack."
    )


def _its_process(ended: Outcome) -> str:
    """Return the subject of a sentence about what numalab limits per process."""
    return _actor(ended) if _is_rank(ended) else f"{_actor(ended)}'s process"


# NUMALAB_EXIT_NO_CHANNEL of common/protocol.h.
_NO_CHANNEL = 113


def _exited(ended: Outcome, phase: str) -> str:
    size = _size(ended)
    if ended.exit_code is None or printed_words.is_mpis_error(ended):
        return f"{_erring_rank(ended)} ended the job in {phase}{size}, as MPI does after an error."
    ways = "It has to return to its caller: no exit, no stop."
    if ended.exit_code == _NO_CHANNEL:
        return (
            f"{_actor(ended)}'s process could not answer the kit any more in {phase}{size}: it "
            "closed descriptor 3, by which they talk. Close only what you have opened."
        )
    if ended.ranks is not None:
        ways = "It called exit, stop or MPI_Abort."
    return (
        f"{_actor(ended)} ended the whole program in {phase}{size}, exit code "
        f"{ended.exit_code}. {ways}"
    )


def _out_of_memory(ended: Outcome, phase: str) -> str:
    return (
        f"{_its_process(ended)} grew to {amount(ended.resident_bytes or 0)} in {phase}"
        f"{_size(ended)} where {amount(ended.limit_bytes or 0)} are allowed; it was stopped. "
        "The kernel needs no memory of its own beyond the arrays it is given."
    )


def _too_much_output(ended: Outcome, phase: str) -> str:
    return (
        f"{_actor(ended)} printed more than {amount(ended.limit_bytes or 0)} in {phase}"
        f"{_size(ended)}; it was stopped. Take the print statements out of the loops."
    )


def _too_many_threads(ended: Outcome, phase: str) -> str:
    return (
        f"{_its_process(ended)} had {ended.threads:,} threads in {phase}{_size(ended)} where "
        f"{ended.limit_threads:,} are allowed; it was stopped. Leave the number of "
        "threads to OpenMP, and start none in a loop."
    )


def _no_array(ended: Outcome, phase: str) -> str:
    if ended.is_map_failed:
        return (
            f"{phase} returned MAP_FAILED, the address -1{_size(ended)}: mmap refused, and a null "
            "pointer is what the caller looks for."
        )
    asked = amount(ended.array_bytes or 0)
    return f"{phase} returned a null pointer{_size(ended)} where {asked} are asked for."


def _array_gone(ended: Outcome, phase: str) -> str:
    if ended.makes_arrays:
        asked = amount(ended.array_bytes or 0)
        return (
            f"After {phase}{_size(ended)} the memory is not there in full: {asked} are asked for."
        )
    return (
        f"After {phase}{_size(ended)} an array was no longer where it was: the kernel unmapped, "
        "moved or protected memory that is not its own."
    )


def _untraceable(ended: Outcome, phase: str) -> str:
    return (
        "The kernel's process gave no userfaultfd, by which the monitor sees who touches which "
        "page, and this node lets it have one: something in the kernel refuses system calls "
        "(seccomp) or uses up the file descriptors. Take that out."
    )


def _bad_protocol(ended: Outcome, phase: str) -> str:
    disturbance = ended.disturbance
    if disturbance == "ran_while_stopped":
        ran_s = ended.ran_s or 0.0
        ran = f" and took {1e3 * ran_s:.1f} ms of CPU time" if ran_s > 0 else ""
        return (
            f"{_actor(ended)} was to stand still while others were timed, and its results looked "
            f"at; something woke it (signal SIGCONT){ran}. "
            "Leave signals and timers alone that stop or continue a process."
        )
    if disturbance == "started_process":
        return (
            f"{_actor(ended)} has started a process of its own ({_its_size(ended)}), which goes on "
            "working while others are timed. A kernel runs in one process: leave fork, system, "
            "popen and MPI_Comm_spawn out."
        )
    if disturbance == "mapped_twice":
        return (
            f"{_actor(ended)} has the same memory at two addresses ({phase}), and who touches "
            "it by the one is not seen by the other. Allocate memory with malloc or declare it: "
            "leave shared mappings (mmap with MAP_SHARED, shm_open, memfd_create, mremap) out."
        )
    return (
        f"Something in the kernel disturbed the monitor in {phase}: it wrote to file "
        "descriptor 3, where the monitor and its worker talk, kept the process from "
        "being stopped, or changed where the kit's own code finds the arrays. Leave descriptors, "
        "signals and memory alone that are not yours."
    )


# Behind why the monitor could not go on: what a kernel can do in its own process that disturbs it.
_TAMPERING = (
    "Something in yours changes what the kit needs of its process. Leave as they are: limits "
    "(setrlimit), rights (prctl, setuid, seccomp), open files, memory that is not yours, other "
    "processes, and what runs before and after your function (constructors, exit handlers)."
)
_WORKS_WITH_NUMALABS = "With a kernel of its own in the same place it could."


def _numalab_error(ended: Outcome, phase: str) -> str:
    why = f"The kit could not {phase}: {ended.error or 'unknown error'}."
    return f"{why} {_WORKS_WITH_NUMALABS}" if ended.blames else why


def _obstructed(ended: Outcome, phase: str) -> str:
    why = f"The kit could not {phase}{_size(ended)}: {ended.error or 'unknown error'}."
    return f"{why} {_WORKS_WITH_NUMALABS} {_TAMPERING}" if ended.blames else why


# The sentences by how a run ended. Crashes are not here: they name elements as the language does.
_ENDS: dict[str, Callable[[Outcome, str], str]] = {
    "exited": _exited,
    "timed_out": _timed_out,
    "out_of_memory": _out_of_memory,
    "too_much_output": _too_much_output,
    "too_many_threads": _too_many_threads,
    "no_array": _no_array,
    "array_gone": _array_gone,
    "untraceable": _untraceable,
    "bad_protocol": _bad_protocol,
    "obstructed": _obstructed,
    "cancelled": lambda ended, phase: NOT_GRADED,
    "kit_error": _numalab_error,
}
# Ends after which a line that was printed may say more.
_PRINTING_ENDS = frozenset({"crashed", "exited", "too_much_output", "obstructed", "kit_error"})


def outcome(ended: Outcome, language: str) -> str:
    """Return why a run did not come to its end, in sentences; empty if it did."""
    if ended.ok:
        return ""
    phase = ended.doing or ""
    if ended.status == "crashed":
        why = _crash(ended, phase, language)
    else:
        why = _ENDS[ended.status](ended, phase)
    says_most = printed_words.line_that_says_most
    return why + (says_most(ended) if ended.status in _PRINTING_ENDS else "")
