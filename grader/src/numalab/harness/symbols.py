"""Search for names that a compiled kernel must not define or use: those of the harness, of a
runtime, and of tools that observe the kernel.

What a kernel defines besides its contract's functions and MPI's common blocks is made local before
it is linked (common/cmake/isolate). Names are checked so that a student who defines a function
MPI_Send learns why nothing arrives.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Symbols:
    """The global symbols of an object file."""

    defined: frozenset[str]  # those that it defines, common and weak ones among them
    undefined: frozenset[str]  # those that other objects have to define, or may


NONE = Symbols(frozenset(), frozenset())

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_SYMBOL_TABLE = 2
_LOCAL = 0
_UNDEFINED = 0


def read_symbols(path: Path) -> Symbols:
    """Return the global symbols of a 64-bit little-endian ELF object; NONE for another, damaged or
    missing file. A compiler made it from untrusted input, so no number in it is trusted."""
    try:
        content = path.read_bytes()
    except OSError:
        return NONE
    try:
        return _symbols(content)
    except (struct.error, IndexError, ValueError):
        return NONE


def _symbols(content: bytes) -> Symbols:
    header = _HEADER.unpack_from(content)
    if header[0][:6] != b"\x7fELF\x02\x01":
        return NONE
    at, entry_bytes, count = header[6], header[11], header[12]
    sections = [_SECTION.unpack_from(content, at + i * entry_bytes) for i in range(count)]
    defined: set[str] = set()
    undefined: set[str] = set()
    for section in sections:
        kind, offset, size, link = section[1], section[4], section[5], section[6]
        if kind != _SYMBOL_TABLE:
            continue
        names_at = sections[link][4]
        table = content[offset : offset + size - size % _SYMBOL.size]
        for name_at, info, _, index, _, _ in _SYMBOL.iter_unpack(table):
            if info >> 4 == _LOCAL:
                continue
            start = names_at + name_at
            name = content[start : content.index(b"\0", start)].decode("ascii", "replace")
            (undefined if index == _UNDEFINED else defined).add(name)
    return Symbols(frozenset(defined), frozenset(undefined))


_Family = tuple[re.Pattern[str], str]  # of names, and whose they are


def _family(names: str, owner: str) -> _Family:
    return re.compile(rf"(?:{names})(?:@.*)?"), owner


_NUMALAB = _family(r"numalab_\w+", "the kit's harness")
_RACES = _family(
    r"__tsan_\w+|__sanitizer_\w+|__interceptor_\w+|___interceptor_\w+|Annotate[A-Z]\w+"
    r"|RunningOnValgrind|__archer_\w+",
    "what looks for data races",
)
_PROFILING = _family(r"P?MPI[RX]?_[A-Z]\w*|PMPI_\w+|pmpi_\w+", "MPI")

# A kernel that defines one of these would replace another's function.
_NOT_TO_DEFINE = (
    _NUMALAB,
    _RACES,
    _PROFILING,
    _family(
        r"omp_(?:get|set|in|is|test|init|destroy|unset|fulfill|pause|target|capture|display)_\w+"
        r"|omp_(?:alloc|calloc|realloc|free|aligned_alloc|aligned_calloc)|GOMP_\w+|GOACC_\w+"
        r"|__kmpc?_\w+|kmp_\w+|kmpc_\w+|ompt_start_tool|ompd_\w+",
        "the OpenMP runtime",
    ),
    _family(
        r"__libc_\w+|__GI_\w+|_dl_\w+|_init|_fini|_start|_environ|__environ|environ"
        r"|__gmon_start__|__stack_chk_fail",
        "the C library",
    ),
)

# A kernel that calls one of these could evade observation.
_NOT_TO_ASK = (
    _NUMALAB,
    _RACES,
    _family(  # and not the constants of mpi_f08
        r"PMPI_\w+|pmpi_\w+|MPIR_(?!F)\w+", "MPI's profiling interface: call MPI's own functions"
    ),
    _family(
        r"dlopen|dlmopen|dlsym|dlvsym|dlinfo|dladdr1?|dl_iterate_phdr|_dl_\w+|__libc_dl\w+|_r_debug",
        "the dynamic linker: name what you call in the source",
    ),
)

# Functions that compilers call for ThreadSanitizer: at accesses, function entries and atomics.
_INSTRUMENTED = re.compile(
    r"__tsan_(?:init|func_(?:entry|exit)|vptr_(?:read|update)|mem(?:cpy|move|set)"
    r"|(?:unaligned_|volatile_|unaligned_volatile_)?(?:read|write|read_write)(?:1|2|4|8|16)(?:_pc)?"
    r"|(?:read|write)_range(?:_pc)?"
    r"|atomic(?:8|16|32|64|128)_\w+|atomic_(?:thread|signal)_fence)"
    r"|numalab_note_access"  # at accesses that compilers don't instrument (noted_accesses.py)
)


def is_instrumented(name: str) -> bool:
    """Tell whether calls of a function of this name are put into a kernel to instrument it."""
    return _INSTRUMENTED.fullmatch(name) is not None


# Common blocks of MPI's older Fortran bindings, which recognise some constants by their address. So
# kernel and library share these blocks (common/cmake/isolate).
_SHARED_BLOCKS = re.compile(r"mpi(?:fcmb|priv)\w_|mpi_fortran_\w+_")


def not_isolated(isolated: Symbols, contract: Sequence[str]) -> list[str]:
    """Return the names, sorted, that an isolated object defines globally besides its contract's
    functions and MPI's common blocks. contract: names of the functions."""
    others = isolated.defined - set(contract)
    return sorted(name for name in others if not _SHARED_BLOCKS.fullmatch(name))


def _first(names: frozenset[str], families: Sequence[_Family]) -> tuple[str, str] | None:
    for name in sorted(names):
        for pattern, owner in families:
            if pattern.fullmatch(name):
                return name, owner
    return None


def names_complaint(symbols: Symbols, file: str, contract: Sequence[str]) -> str | None:
    """Return a message on a name that a kernel must not define or use; None where none is found.
    file: the kernel's name; contract: names of its functions, which it may define."""
    defined = _first(symbols.defined - set(contract), _NOT_TO_DEFINE)
    if defined:
        name, owner = defined
        return f"{file} defines {name.split('@')[0]}, which belongs to {owner}: rename it."
    undefined = _first(symbols.undefined, _NOT_TO_ASK)
    if undefined:
        name, owner = undefined
        return f"{file} uses {name.split('@')[0]}, which belongs to {owner}. Take it out."
    return None


def instrumented_complaint(symbols: Symbols, file: str) -> str | None:
    """Return names_complaint for a kernel that was instrumented to search for data races, without
    the names that instrumentation itself calls. Such a kernel is checked, too, since its source can
    be written to be a different program when it is instrumented."""
    own = frozenset(name for name in symbols.undefined if not is_instrumented(name))
    return names_complaint(Symbols(symbols.defined, own), file, ())
