"""Accesses to memory that the search for data races can't observe.

ThreadSanitizer observes accesses by code that compilers insert. Accesses without such code are
searched for in the source that the compiler was given, and in what it made of it
(common/cmake/compile_watched).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from numalab.files import read_text
from numalab.harness.interface import prototypes
from numalab.harness.symbols import Symbols, instrumented_complaint, is_instrumented, read_symbols
from numalab.labs.declaration import KERNEL_FILES
from numalab.untrusted.visible import visible

# ---- functions of libraries ----------------------------------------------------------


# Functions that common/cmake/AddLab.cmake redirects to instrumented ones.
REDIRECTED = frozenset(
    {
        "memcpy", "mempcpy", "memmove", "memset", "bcopy", "bzero", "strcpy", "stpcpy", "strncpy",
        "__memcpy_chk", "__mempcpy_chk", "__memmove_chk", "__memset_chk", "__strcpy_chk",
        "__stpcpy_chk", "__strncpy_chk", "sincos", "sincosf", "frexp", "frexpf", "modf", "modff",
        "syscall",
    }
)  # fmt: skip

# Other functions that a kernel may call. A pattern, compiled where it is used.
_ALLOWED = (
    # Mathematics: values in, a value out.
    r"(?:a?(?:sin|cos|tan)h?|atan2|exp(?:2|10|m1)?|log(?:2|10|1p|b)?|ilogb|pow|sqrt|cbrt|hypot|fabs"
    r"|floor|ceil|trunc|(?:ll?)?r(?:int|ound)|nearbyint|roundeven|fmod|remainder|fmin|fmax|fdim|fma"
    r"|copysign|nan|nextafter|nexttoward|scalbl?n|ldexp|erfc?|[lt]?gamma|[jy][01n]"
    r"|c(?:abs|arg|imag|real|exp|log|pow|sqrt|proj|conj|a?(?:sin|cos|tan)h?))(?:f|l|f128)?"
    r"|_ZGV\w+|__\w+_finite|(?:l|ll)?abs|i?rand|srand|drand48"
    # What compilers call for arithmetic.
    r"|__(?:pow|mul|u?div|u?mod|popcount|parity|clz|ctz|ffs|float|fix|extend|trunc|add|sub|neg|eq|ne"
    r"|[lg][te]|unord|u?cmp|ash|lsh|bswap)[a-z]{2,12}\d?"
    # OpenMP, but for what fills an array.
    r"|omp_(?!get_place_proc_ids|get_partition_place_nums|capture_affinity)\w+|GOMP_\w+|__kmpc_\w+"
    r"|kmp_\w+"
    # Fortran: errors, what is printed, lengths and comparisons.
    r"|_gfortran_(?:runtime_\w+|os_error\w*|(?:error_)?stop_\w+|generate_error\w*|set_\w+|size[01]\w*"
    r"|pow_\w+|compare_string\w*|string_\w+|concat_string\w*|adjust[lr]\w*|select_string\w*|st_\w+"
    r"|transfer_\w+_write|internal_pack|system_clock_\w+|cpu_time_\w+|date_and_time|flush_\w+|abort"
    r"|exit_\w+|get_environment_variable\w*|ieee_\w+)"
    # Memory as such, threads, places.
    r"|malloc|calloc|realloc|free|aligned_alloc|memalign|posix_memalign|mmap|munmap|mremap|mprotect"
    r"|madvise|mlock|munlock|mbind|set_mempolicy|move_pages|memfd_create|shm_(?:open|unlink)|ftruncate"
    r"|shm(?:get|at|dt|ctl)|sched_\w+|pthread_\w+|numa_\w+|hwloc_\w+|sysconf|getpagesize|get[pt]id"
    r"|getcpu"
    # Time, ends, and output.
    r"|clock(?:_gettime)?|time|gettimeofday|usleep|nanosleep|sleep|abort|_?exit|_Exit|atexit|raise"
    r"|signal|__assert_fail|(?:v?f?printf|__v?f?printf_chk)|perror|f?puts|f?putc|putchar|fwrite"
    r"|fflush|fopen|fclose|open|close|write|pwrite(?:64)?|unlink|setenv|unsetenv|getenv"
    # Processes and folders.
    r"|exec\w{1,3}|v?fork|kill|system|p(?:open|close)|wait(?:pid)?|prctl|(?:open|close|read)dir"
    # Text that is read.
    r"|strn?len|strn?(?:case)?cmp|strr?chr|strstr|strc?spn|strpbrk|strerror|strn?dup|memr?chr|memcmp"
    r"|bcmp|ato(?:i|l|ll|f)|strto\w+|__isoc23_strto\w+"
    # Objects of the C library and of linkers.
    r"|stdin|stdout|stderr|environ|signgam|_GLOBAL_OFFSET_TABLE_|__cpu_(?:model|indicator_init)"
    r"|__errno_location|__ctype_\w+|__tls_get_addr|__stack_chk_fail|__libc_single_threaded"
    r"|_Unwind_\w+|__gcc_personality_v0"
)


def intercepted(defined: Iterable[str]) -> frozenset[str]:
    """Return the names of the library functions that ThreadSanitizer intercepts. defined: names
    that a program with ThreadSanitizer defines."""
    found = (re.match(r"_{2,3}interceptor_(.*)", name) for name in defined)
    return frozenset(match[1] for match in found if match)


def unseen_call(undefined: Iterable[str], known: frozenset[str]) -> str | None:
    """Return the alphabetically first function that is not known to be observed or allowed; None
    where there is none. undefined: undefined symbols of a kernel's object. known: functions besides
    REDIRECTED that are observed."""
    for name in sorted(undefined):
        plain = name.split("@")[0]
        in_c = plain.removesuffix("_")  # as Fortran calls it
        if not (
            {plain, in_c} & (REDIRECTED | known)
            or any(re.fullmatch(_ALLOWED, one) for one in (plain, in_c))
        ):
            return plain
    return None


# ---- instrumented kernels ------------------------------------------------------------


# Of a preprocessed kernel, at most. With MPI's header and some others it has half a megabyte. Each
# byte may be a token, which takes a hundred bytes.
_MOST_BYTES = 4 << 20


def search_complaint(
    program: Path, language: str, contract: Path, notes_stores: bool
) -> str | None:
    """Return a sentence on what in a kernel can't be searched; None where nothing is found.

    Args:
        program: the kernel's program, next to which the build has left what it was made from.
        contract: the lab's header, whose functions are the kernel's or numalab's own.
        notes_stores: there is also a program that notes stores. It does not observe the functions
            that ThreadSanitizer intercepts.
    """
    file = KERNEL_FILES[language]
    next_to = program.with_name
    symbols = read_symbols(next_to(f"{program.name}-kernel-whole.o"))
    if not symbols.defined:
        return f"What {file} was compiled to can't be read."
    complaint = instrumented_complaint(symbols, file)
    accesses = read_text(next_to(f"{program.name}-accesses"))
    unfollowed = read_text(next_to(f"{program.name}-unfollowed"))
    if complaint is None and language == "c":
        preprocessed = next_to(f"{program.name}-kernel.i")
        if preprocessed.is_file() and preprocessed.stat().st_size > _MOST_BYTES:
            return f"{file} is larger than {_MOST_BYTES >> 20} MiB once it is preprocessed."
        is_all = accesses is None and unfollowed is None
        complaint = text_complaint(read_text(preprocessed) or "", is_all)
    known = frozenset(prototypes(read_text(contract) or ""))
    if not notes_stores:
        known |= intercepted(read_symbols(program).defined)
    return (
        complaint
        or accesses_complaint(accesses or "", file)
        or unfollowed_complaint(unfollowed or "", file)
        or calls_complaint(symbols, known, file)
    )


# ---- the source, preprocessed ------------------------------------------------------------


@dataclass(frozen=True)
class _Token:
    text: str
    line: str  # file:line, by the preprocessor

    @property
    def is_word(self) -> bool:
        return self.text[0].isalpha() or self.text[0] == "_"


_TOKEN = re.compile(
    r"""(?:u8|[LuU])?"(?:[^"\\\n]|\\.)*" | (?:u8|[LuU])?'(?:[^'\\\n]|\\.)*'
    | [A-Za-z_$][\w$]* | \.?\d[\w.]* | <% | %> | \S""",
    re.VERBOSE,
)
_MARKER = re.compile(r'#\s*(?:line\s+)?(\d+)\s+"([^"]*)"')


def _tokens(text: str) -> Iterator[_Token]:
    name, number = "", 0
    # Not splitlines(), whose other line ends may be within a literal of C.
    for line in text.split("\n"):
        marker = _MARKER.match(line)
        if marker:
            name, number = Path(marker[2]).name, int(marker[1])
            continue
        where = f"{name}:{number}"
        number += 1
        if line.lstrip().startswith("#"):
            yield _Token(line.strip(), where)
            continue
        for token in _TOKEN.finditer(line):
            yield _Token(token[0], where)


_ASM = frozenset({"asm", "__asm", "__asm__"})
_QUALIFIERS = frozenset(
    {"volatile", "__volatile", "__volatile__", "inline", "__inline", "__inline__", "goto"}
)
# Attributes whose arguments are printed into the assembler text as they are.
_PRINTED = frozenset(
    f"{fence}{word}{fence}"
    for word in ("section", "alias", "ifunc", "weakref", "symver")
    for fence in ("", "__")
)
_PRINTED_DIRECTIVES = re.compile(r"#\s*(?:ident|sccs|pragma\s+(?:ident|redefine_extname))\b.*\\")
_LEAVES_OUT = re.compile(r"#\s*pragma\s+clang\s+attribute\b")
_PLAIN_NAME = re.compile(r"[\w.$@-]*")

# Instructions that access no memory.
_HARMLESS = re.compile(
    r"pause|nop|rep(?:\s+nop)?|[mls]fence|rdtscp?|rdpid\s+%0|xgetbv|yield|isb|dmb\s+\w+|dsb\s+\w+"
)
# Instructions of one word that are not harmless, and could pass for a name given to the linker.
_TOUCHES = re.compile(
    r"(?:rep\w*|lock)?(?:movs|stos|lods|scas|cmps|ins|outs)[bwlqd]?|xlatb?|syscall|sysenter|svc"
    r"|int\d?|into|i?ret\w*|leave\w*|enter\w*|push\w*|pop\w*|clzero|hlt|ud2"
)


_HAS_ASSEMBLER = (
    "has assembler, whose accesses to memory the search for data races can't see: write it in C."
)


def text_complaint(text: str, is_all: bool) -> str | None:
    """Return a sentence on what in a C source can't be searched; None where nothing is found.

    Args:
        text: a preprocessed kernel.
        is_all: check assembler within functions, too. Otherwise it is checked outside functions:
            headers may have functions with assembler that are never called.
    """
    tokens = list(_tokens(text))
    depth = 0
    for i, token in enumerate(tokens):
        depth += {"{": 1, "<%": 1, "}": -1, "%>": -1}.get(token.text, 0)
        if token.text.startswith("#"):
            if _LEAVES_OUT.match(token.text) or _PRINTED_DIRECTIVES.match(token.text):
                return f"{token.line} has a directive that the search for data races can't follow."
        elif not token.is_word:
            continue
        elif token.text.replace("_", "").lower().startswith(("nosanitize", "disablesanitizer")):
            return (
                f"{token.line} asks to be left out of the search for data races ({token.text}): "
                "take that out."
            )
        elif token.text in _ASM and not _is_harmless(tokens, i, is_all or depth == 0):
            return f"{token.line} {_HAS_ASSEMBLER}"
        elif _is_printed(tokens, i) and not all(map(_is_plain, _strings(tokens, i + 2))):
            return f"{token.line} gives {token.text} a name that no linker would take."
    return None


def _is_printed(tokens: Sequence[_Token], index: int) -> bool:
    before = tokens[index - 1].text if index else ""
    return tokens[index].text in _PRINTED and before in ("(", ",", ":")


def _strings(tokens: Sequence[_Token], first: int) -> list[str]:
    found = []
    while first < len(tokens) and tokens[first].text.endswith('"'):
        literal = tokens[first].text
        found.append(literal[literal.index('"') + 1 : -1])
        first += 1
    return found


def _is_plain(name: str) -> bool:
    return _PLAIN_NAME.fullmatch(name) is not None


def _is_harmless(tokens: Sequence[_Token], index: int, is_all: bool) -> bool:
    """Tell whether the assembler at a token accesses no memory, or only names a declaration.
    is_all: False: what can only be within a function is accepted."""
    first = index + 1
    while first < len(tokens) and tokens[first].text in _QUALIFIERS:
        first += 1
    strings = _strings(tokens, first + 1)
    words = "".join(strings)
    at_end = first + 1 + len(strings)
    behind = tokens[at_end : at_end + 1]
    ends = bool(behind) and behind[0].text == ")"
    before = tokens[index - 1] if index else None
    is_declared = before is not None and (
        before.text in (")", "]") or (before.is_word and before.text not in ("else", "do"))
    )
    is_statement = first > index + 1 or not ends or not is_declared
    if not is_all and is_statement:
        return True
    if not strings or not (ends or (behind and behind[0].text == ":")):
        return False
    is_name = not is_statement and _is_plain(words) and not _TOUCHES.fullmatch(words)
    return is_name or _touches_nothing(words)


def _touches_nothing(words: str) -> bool:
    """Tell whether instructions are all of _HARMLESS. words: assembler, escaped as in C."""
    parts = (part.strip() for part in re.split(r"\\n|\\t|;", words))
    return all(_HARMLESS.fullmatch(part) for part in parts if part)


# ---- what the compiler made of it -------------------------------------------------------

_ASSEMBLER = re.compile(r'__asm__(?: __\w+__| goto)*\s*\("((?:[^"\\]|\\.)*)"')
_LITERAL = re.compile(r'"(?:[^"\\\n]|\\.)*"')
# On x86-64 the assembler text is checked instead (noted_accesses.py).
_UNSEEN = re.compile(
    r"\b__builtin_aarch64_(?:ld|st)\w+|\.(?:MASK|LEN|GATHER|SCATTER)_\w*(?:LOAD|STORE)\w*"
)


def accesses_complaint(dump: str, file: str) -> str | None:
    """Return a sentence on assembler or on accesses that gcc does not instrument; None where none
    is found. dump: the kernel's functions after gcc's instrumentation."""
    for assembler in _ASSEMBLER.finditer(dump):
        if not _touches_nothing(assembler[1]):
            return f"{file} {_HAS_ASSEMBLER}"
    unseen = _UNSEEN.search(_LITERAL.sub('""', dump))
    return None if unseen is None else f"{file} touches memory by {unseen[0]}, {_WRITE_A_LOOP}"


_WRITE_A_LOOP = (
    "which the search for data races can't see. Write a plain loop: compilers turn it into vector "
    "instructions themselves."
)


def calls_complaint(symbols: Symbols, known: frozenset[str], file: str) -> str | None:
    """Return a sentence on a call whose stores can't be observed; None where none is found.
    symbols: the kernel's; known: as for unseen_call."""
    call = unseen_call((name for name in symbols.undefined if not is_instrumented(name)), known)
    if call is None:
        return None
    return visible(
        f"{file} calls {call}, and what a library stores the search for data races can't see. "
        "Write a loop, or call memcpy, memmove or memset."
    )


def unfollowed_complaint(unfollowed: str, file: str) -> str | None:
    """Return a sentence on the first access that can't be followed; None for an empty text.
    unfollowed: lines as noted_accesses.py writes them."""
    for line in unfollowed.splitlines():
        where, function, instruction = (*line.split("\t"), "", "")[:3]
        place = where or file
        if function:
            place += f", in {function.split('.')[0]},"
        return visible(f"{place} touches memory by {instruction}, {_WRITE_A_LOOP}")
    return None
