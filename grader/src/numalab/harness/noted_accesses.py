"""Rewriting of a kernel's assembler text, with calls before accesses to memory that its compiler
did not instrument; a program that common/cmake/note_accesses calls. x86-64 only.

ThreadSanitizer's pass works before the compiler expands copies, intrinsics and array assignments
into moves, so it instruments only a part of the accesses. What an instruction accesses is read from
the disassembler. Whether it is instrumented is read from the text: there is a call with the same
address in the same block. Reads of the compiler's constants are left out, and accesses at a small
constant distance from the stack or frame pointer: spilled registers and locals, which the compiler
instruments where other threads may reach them. Accesses that can't be followed are listed.

Only Python's own library is used: the program starts for each kernel.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

# common/cmake/compile_watched puts a label before each instruction: this, and the line's number.
LABEL = "numalab_at_"
NOTED = "numalab_note_access"  # the function that is called, of common/worker/noted.c
# Besides the address it gets the number of bytes and these flags. COUNTED: the access is repeated
# rcx times; MASKED: elements are accessed whose bits are set in rcx.
WRITES, ATOMIC, COUNTED, MASKED = 1 << 8, 1 << 9, 1 << 10, 1 << 11
ELEMENTS = 16  # the first bit of the number of elements of a masked access

_MOST_FRAME_BYTES = 4096  # what is further from a frame may be another thread's

# ---- what an instruction accesses, by the disassembler -----------------------------------

_BYTES = {
    "BYTE": 1, "WORD": 2, "DWORD": 4, "QWORD": 8, "FWORD": 6, "TBYTE": 10, "OWORD": 16,
    "XMMWORD": 16, "YMMWORD": 32, "ZMMWORD": 64,
}  # fmt: skip
_SIZE = re.compile(r"\b([A-Z]+) (?:PTR|BCST)\b")
_PREFIXES = frozenset(
    {"rep", "repz", "repnz", "lock", "bnd", "notrack", "data16", "addr32", "cs", "ds", "es", "ss"}
)
# Instructions that only read their first operand.
_READS_FIRST = re.compile(
    r"cmp|test|bt|push|call|jmp|mul|imul|div|idiv|v?ldmxcsr|ver[rw]"
    r"|f(?:i?(?:add|sub|subr|mul|div|divr|com|comp)|i?ld|bld|ldcw|ldenv|rstor)"
)
_TOUCHES_NOTHING = re.compile(r"lea|nop\w*|prefetch\w*|clflush\w*|clwb|cldemote")
_STRINGS = re.compile(r"movs|stos|lods")
# Instructions that access elements by a mask, and the element's size.
_MASKED = re.compile(r"vp?maskmov(p[sd]|[dq])|vmov(?:[au](p[sd])|dq[au](8|16|32|64))")
_ELEMENT = {"ps": 4, "d": 4, "32": 4, "pd": 8, "q": 8, "64": 8, "8": 1, "16": 2}
_MASK = re.compile(r"\{(k[1-7])\}")
# Instructions such as those whose elements are known at run time only, or whose memory is not an
# operand.
_CANNOT_BE_FOLLOWED = re.compile(
    r"v?maskmov(?:q|dqu)|v?p?(?:gather|scatter)\w*|v?p?(?:compress|expand)\w*|f?xsave\w*|f?xrstor\w*"
    r"|fnsave|fsave|movdir64b|enqcmds?|clzero|monitor\w*|xlat\w*|scas|cmps|ins|outs|syscall"
    r"|sysenter|int\w*|tile\w*|wr[fg]sbase|aes\w*kl|aes\w*kl"
)


class Touch(NamedTuple):
    """The access of an instruction."""

    # How many bytes it accesses, with a mask in each element. 0: no memory, or only the thread's
    # own stack, as push and call do.
    bytes: int
    is_write: bool = False  # it writes; else it only reads
    is_atomic: bool = False  # it is an atomic operation
    is_counted: bool = False  # it is repeated rcx times
    reads_from_rsi: bool = False  # it also reads what rsi points to
    mask: str = ""  # the register that says which elements are accessed; empty: there is none
    elements: int = 0  # how many there are at most


class CannotFollow(Exception):
    """An access that can't be followed; the message is mostly the instruction's name."""


def read_touch(intel: str) -> Touch:
    """Return the access of an instruction. intel: the instruction as objdump -M intel prints it.
    Raises CannotFollow."""
    words = intel.split("#")[0].split("<")[0].split()
    prefixes = set()
    while words and words[0] in _PREFIXES:
        prefixes.add(words.pop(0))
    if not words:
        return Touch(0)
    name, operands = words[0], " ".join(words[1:])
    if _CANNOT_BE_FOLLOWED.fullmatch(name) and not (name == "int3"):
        raise CannotFollow(name)
    has_memory = "[" in operands or "PTR" in operands or "BCST" in operands
    if not has_memory or _TOUCHES_NOTHING.fullmatch(name):
        return Touch(0)
    size = _SIZE.search(operands)
    bytes_ = _BYTES.get(size[1], 0) if size else 0
    is_first = re.match(r"[A-Z]+ (?:PTR|BCST)", operands) is not None
    mask, masked = _MASK.search(operands), _MASKED.fullmatch(name)
    if bytes_ == 0 or "gs:" in operands or (mask and not masked):
        raise CannotFollow(name)
    if masked and (mask or masked[1]):
        element = _ELEMENT[next(filter(None, masked.groups()))]
        register = mask[1] if mask else operands.split(",")[1].strip()
        return Touch(element, is_first, mask=register, elements=bytes_ // element)
    if _STRINGS.fullmatch(name):
        is_movs, is_lods = name == "movs", name == "lods"
        return Touch(bytes_, not is_lods, False, bool(prefixes & {"rep", "repz"}), is_movs)
    is_atomic = "lock" in prefixes or name == "xchg"
    is_write = is_atomic or (is_first and not _READS_FIRST.fullmatch(name))
    return Touch(bytes_, is_write, is_atomic)


_SYMBOL = re.compile(r"([0-9a-f]+) .{7} (\S+)\t[0-9a-f]+ (?:\.hidden )?" + LABEL + r"(\d{1,9})")
_SECTION = re.compile(r"Disassembly of section (.+):")
_INSTRUCTION = re.compile(r" *([0-9a-f]+):\t(.+)")


def read_dump(dump: str) -> dict[int, list[str]]:
    """Return the instructions that follow labels of the text, by the label's line number; -1: those
    before the first label of a section. dump: what objdump -t -d prints of the text with labels."""
    places = {}
    for match in _SYMBOL.finditer(dump):
        places[match[2], int(match[1], 16)] = int(match[3])
    found: dict[int, list[str]] = {}
    section, line = "", -1
    for text in dump.splitlines():
        if named := _SECTION.match(text):
            section, line = named[1], -1
        elif instruction := _INSTRUCTION.match(text):
            line = places.get((section, int(instruction[1], 16)), line)
            found.setdefault(line, []).append(instruction[2])
    return found


# ---- the text -----------------------------------------------------------------------------

_CODE = re.compile(r"\s+([a-z]\w*)(?:\s+(.*))?$")
_LABEL_LINE = re.compile(r"([\w.$]+):")
_LOCAL_LABEL = re.compile(r"\.L\w+")
_OPERANDS = re.compile(r"(?:[^,()]|\([^)]*\))+")
_SECTIONS = (".section", ".text", ".data", ".bss", ".previous", ".popsection", ".pushsection")
_WHERE = re.compile(r"\s+\.loc\s+(\d+)\s+(\d+)")
_FILE = re.compile(r'\s+\.file\s+(\d+)\s+(?:"[^"]*"\s+)?"([^"]*)"')
_REPORTING_CALL = re.compile(
    r"\*?__tsan_(?:unaligned_)?(?:volatile_)?(read_write|read|write)(1|2|4|8|16|_range)\b"
)
_WORDS = {
    word: name
    for name in ("ax", "bx", "cx", "dx", "si", "di", "bp", "sp")
    for word in (f"r{name}", f"e{name}", name, f"{name[0]}l", f"{name[0]}h", f"{name}l")
} | {f"r{n}{part}": f"r{n}" for n in range(8, 16) for part in ("", "d", "w", "b")}
_REGISTER = re.compile(r"%(\w+)")
_KEPT = frozenset({"bx", "bp", "sp", "r12", "r13", "r14", "r15"})  # callee-saved registers


def is_code(line: str) -> bool:
    return _CODE.match(line) is not None


@dataclass(frozen=True)
class Address:
    """A symbolic value: a sum of terms times a factor each, and a constant."""

    terms: tuple[tuple[object, int], ...] = ()
    constant: int = 0

    def plus(self, other: Address, times: int = 1) -> Address:
        """Return this value plus another one times a factor."""
        terms = dict(self.terms)
        for term, factor in other.terms:
            terms[term] = terms.get(term, 0) + times * factor
        kept = sorted(((t, f) for t, f in terms.items() if f), key=repr)
        return Address(tuple(kept), self.constant + times * other.constant)


@dataclass
class ReportedRange:
    """Bytes whose access the compiler has instrumented, from `terms` + `first` to before `terms` +
    `end`."""

    terms: tuple[tuple[object, int], ...]
    first: int
    end: int
    is_write: bool


_MEMORY = re.compile(r"(?:%([fg]s):)?([^()%]*)(?:\((%\w+)?(?:,\s*(%\w+))?(?:,\s*(\d))?\))?$")
_TERM = r"([+-]?)\s*(?:(0x[0-9a-f]{1,16}|0|[1-9]\d{0,18})|([A-Za-z_.$][\w.$@]*))\s*(?![\w.$@])"
_DISPLACEMENT = re.compile(_TERM)
_DISPLACEMENTS = re.compile(f"(?:{_TERM})*")
# Instructions that are taken to change no register but their last operand, and push.
_PLAIN = re.compile(
    r"v?mov\w*|lea\w|cmov\w+|set\w+|(?:add|sub|and|or|xor|adc|sbb|cmp|test|inc|dec|neg|not|sal|sar"
    r"|shl|shr|rol|ror|rcl|rcr|bt\w?|bs[fr]|push|nop)[bwlq]?|j\w+|lzcnt\w?|tzcnt\w?|popcnt\w?"
    r"|andn\w?|bextr\w?|bls\w+|s[ah][lr]x\w?|rorx\w?|pdep\w?|pext\w?|prefetch\w*|bswap\w?|endbr64"
    r"|v?(?:p|add|sub|mul|div|sqrt|min|max|and|or|xor|cvt|ucomi|comi|unpck|shuf|round|h?add|cmp"
    r"|blend|perm|extract|insert|broadcast|test|fm|fnm|rcp|rsqrt|zero)\w*"
)

# Of these the ones that change registers beside their last operand: string moves, multiplication
# and division of one operand, and what takes from the stack.
_IMPLICIT = re.compile(
    r"(?:mov|cmp)s[bwlq]|(?:mul|div)[bwlq]|mulx[lq]|cmpxchg\w*|popf?[wlq]?|v?pcmp[ei]stri\w*"
)


class Values:
    """Symbolic values of the registers within a basic block; an unknown value is a new term."""

    def __init__(self) -> None:
        self._number = 0
        self._known: dict[str, Address] = {}

    def forget(self, kept: frozenset[str] = frozenset()) -> None:
        """Make values unknown, except those of the registers `kept`."""
        self._known = {name: value for name, value in self._known.items() if name in kept}

    def fresh(self) -> Address:
        """Return a new unknown value."""
        self._number += 1
        return Address(((self._number, 1),))

    def value_of(self, register: str) -> Address:
        name = _WORDS.get(register, register)
        return self._known.setdefault(name, self.fresh())

    def set(self, register: str, value: Address) -> None:
        self._known[_WORDS.get(register, register)] = value

    def address(self, operand: str) -> Address | None:
        """Return the address of a memory operand; None where it can't be parsed."""
        match = _MEMORY.match(operand.strip())
        if match is None or not _DISPLACEMENTS.fullmatch(match[2].strip()):
            return None
        segment, displacement, base, index, factor = match.groups()
        found = Address(((segment, 1),) if segment else ())
        for sign, number, symbol in _DISPLACEMENT.findall(displacement):
            one = Address((), int(number, 0)) if number else Address(((symbol, 1),))
            found = found.plus(one, -1 if sign == "-" else 1)
        if base and base != "%rip":
            found = found.plus(self.value_of(base[1:]))
        if index:
            found = found.plus(self.value_of(index[1:]), int(factor or 1))
        return found

    def follow(self, name: str, operands: list[str]) -> None:
        """Update the registers that an instruction other than a call changes. One that is not of
        _PLAIN, or is of _IMPLICIT, makes all values unknown."""
        last = operands[-1] if operands else ""
        target = _REGISTER.fullmatch(last)
        value = None
        if name in ("leaq", "lea") and target:
            value = self.address(operands[0])
        elif name in ("movq", "mov", "movabsq") and target and operands[0][0] == "%":
            value = self.value_of(operands[0][1:]) if not operands[0].startswith("%xmm") else None
        elif name in ("movq", "movl", "movabsq") and target and operands[0][0] == "$":
            value = self.address(operands[0][1:])
        elif name == "movq" and target and "@GOTPCREL(%rip)" in operands[0]:
            value = self.address(operands[0].replace("@GOTPCREL", ""))
        elif name in ("addq", "subq") and target and operands[0][0] in "$%":
            sign = 1 if name == "addq" else -1
            word = operands[0][1:]
            other = self.value_of(word) if operands[0][0] == "%" else self.address(word)
            value = other and self.value_of(last[1:]).plus(other, sign)
        if _PLAIN.fullmatch(name) and not _IMPLICIT.fullmatch(name):
            if name.startswith("push"):
                self.set("rsp", self.fresh())
            elif target:
                self.set(last[1:], value or self.fresh())
        else:
            self.forget()


def _operands(text: str | None) -> list[str]:
    return [part.strip() for part in _OPERANDS.findall(text or "") if part.strip()]


def _memory_operand(operands: list[str]) -> str | None:
    """Return the only operand that names memory; None where there is none, or more than one."""
    plain = (re.sub(r"\{[^}]*\}", "", operand) for operand in operands)
    found = [o.lstrip("*") for o in plain if o[0] not in "%$" or o.startswith(("%fs:", "%gs:"))]
    return found[0] if len(found) == 1 else None


def _is_in_frame(operand: str, has_frame: bool) -> bool:
    """Tell whether an operand is at a constant distance of less than _MOST_FRAME_BYTES from the
    stack or frame pointer. has_frame: rbp is the latter."""
    match = _MEMORY.match(operand)
    if match is None or match[1] or match[4]:
        return False
    is_frame = match[3] == "%rsp" or (match[3] == "%rbp" and has_frame)
    offset = match[2].strip() or "0"
    return is_frame and re.fullmatch(r"-?\d{1,9}", offset) is not None and (
        abs(int(offset)) < _MOST_FRAME_BYTES
    )  # fmt: skip


def _call(operand: str, code: int, touch: Touch | None = None) -> list[str]:
    """Return the lines of a call that notes an access. They restore the registers that they change,
    and change no flags. The kernel has to be compiled without a red zone. touch: the access if it
    has a mask, else None."""
    segment = operand.startswith("%fs:")
    place = operand.removeprefix("%fs:")
    if "%rsp" in place:
        place = f"8+{place}" if place[0] != "(" else f"8{place}"
    lines = ["pushq\t%rdi", f"leaq\t{place}, %rdi"]
    if segment:
        lines += ["pushq\t%rsi", "movq\t%fs:0, %rsi", "leaq\t(%rsi,%rdi), %rdi", "popq\t%rsi"]
    if touch is not None:
        move = "kmovw" if touch.elements <= 16 else "kmovq"
        if touch.mask[0] != "k":
            move = "vmovmskps" if touch.bytes == 4 else "vmovmskpd"
        lines += ["pushq\t%rcx", f"{move}\t%{touch.mask}, %{'rcx' if move == 'kmovq' else 'ecx'}"]
    lines += [f"pushq\t${code}", f"call\t{NOTED}", "leaq\t8(%rsp), %rsp"]
    lines += ["popq\t%rcx"] * (touch is not None) + ["popq\t%rdi"]
    return ["\t" + line for line in lines]


class Rewriting:
    """The rewriting of one assembler text.

    Attributes:
        unfollowed: accesses that can't be followed, as lines of place, function and CannotFollow's
            message, separated by tabs; complete once lines() has come to its end.
    """

    def __init__(self, lines: list[str], instructions: dict[int, list[str]]) -> None:
        self._lines = lines
        self._instructions = instructions
        self.unfollowed: list[str] = []
        self._function = self._where = ""
        self._files: dict[str, str] = {}
        self._values = Values()
        self._reported: list[ReportedRange] = []
        self._is_in_assembler = False
        self._constants: set[str] = set()
        self._targets = self._jump_targets()
        self._without_frame = self._functions_without_frame()

    def _jump_targets(self) -> frozenset[str]:
        """Return the local labels that lines refer to, but for those in sections of debug
        information; add the labels of read-only data to `_constants`."""
        found: set[str] = set()
        is_debug = is_constant = False
        for line in self._lines:
            word = line.split(None, 2)
            label = _LABEL_LINE.match(line)
            if is_constant and label:
                self._constants.add(label[1])
            if word and word[0] in _SECTIONS:
                named = word[1] if word[0] == ".section" and len(word) > 1 else ""
                is_debug, is_constant = ".debug" in named, named.startswith(".rodata")
            elif not is_debug and not line.lstrip().startswith((".loc", ".cfi", "#")):
                found.update(_LOCAL_LABEL.findall(line.split(":", 1)[-1]))
        return frozenset(found)

    def _functions_without_frame(self) -> frozenset[str]:
        found, function = set(), ""
        for line in self._lines:
            label, code = _LABEL_LINE.match(line), _CODE.match(line)
            if label and not label[1].startswith(".L"):
                function = label[1]
            elif code and not code[1].startswith(("cmp", "test", "push", "pop")):
                operands = _operands(code[2])
                is_set = bool(operands) and operands[-1] in ("%rbp", "%ebp", "%bp", "%bpl")
                if is_set and (code[1], *operands) != ("movq", "%rsp", "%rbp"):
                    found.add(function)
        return frozenset(found)

    def _new_block(self) -> None:
        self._values.forget()
        self._reported.clear()

    def _note_place(self, line: str) -> bool:
        """Take in a label or directive. Returns whether the line is without code."""
        if label := _LABEL_LINE.match(line):
            if not label[1].startswith(".L"):
                self._function = label[1]
                self._new_block()
            elif label[1] in self._targets:
                self._new_block()
            return True
        if place := _WHERE.match(line):
            file_name = self._files.get(place[1], "")
            if re.fullmatch(r"kernel\.\w+", file_name) and place[2] != "0":
                self._where = f"{file_name}:{place[2]}"
        elif file := _FILE.match(line):
            self._files[file[1]] = file[2].rsplit("/", 1)[-1]
        return not is_code(line)

    def _refuse(self, name: str) -> None:
        self.unfollowed.append(f"{self._where}\t{self._function}\t{name}")

    def _take_call(self, text: str) -> None:
        """Take in a call. One of ThreadSanitizer may report an access; others, but for
        __tsan_func*, may synchronise threads, after which accesses have to be reported anew."""
        reported = _REPORTING_CALL.match(text)
        address, size = self._values.value_of("rdi"), self._values.value_of("rsi")
        self._values.forget(_KEPT)
        if reported is None:
            if not text.startswith("__tsan_func"):
                self._reported.clear()
            return
        bytes_ = size.constant if reported[2] == "_range" else int(reported[2])
        if reported[2] == "_range" and size.terms:
            return
        for is_write in {"read": [False], "write": [True]}.get(reported[1], [False, True]):
            first = address.constant
            self._reported.append(ReportedRange(address.terms, first, first + bytes_, is_write))

    def _was_reported(self, operand: str, touch: Touch) -> bool:
        """Tell whether an access is instrumented, and use up the reported bytes: each counts for
        one access."""
        address = self._values.address(operand)
        if address is None or touch.is_atomic:
            return False
        first, end = address.constant, address.constant + touch.bytes
        for reported in self._reported:
            if (reported.terms, reported.is_write) != (address.terms, touch.is_write):
                continue
            if reported.first <= first and end <= reported.end:
                self._reported.remove(reported)
                for rest in ((reported.first, first), (end, reported.end)):
                    if rest[0] < rest[1]:
                        self._reported.append(
                            ReportedRange(reported.terms, *rest, reported.is_write)
                        )
                return True
        return False

    def _calls(self, number: int, operands: list[str]) -> list[str]:
        instructions = self._instructions.get(number, [])
        if not instructions:
            raise CannotFollow("code in a section of its own")
        touch, *others = [read_touch(instruction) for instruction in instructions]
        if any(other.bytes for other in others):  # more than padding
            raise CannotFollow(instructions[1].split()[0])
        if touch.bytes == 0:
            return []
        code = touch.bytes | WRITES * touch.is_write | ATOMIC * touch.is_atomic
        code |= COUNTED * touch.is_counted
        if touch.mask:
            code |= MASKED | touch.elements << ELEMENTS
        if _STRINGS.fullmatch(re.sub(r"^(?:rep\w*\s+)", "", instructions[0]).split()[0]):
            calls = _call("(%rdi)" if touch.is_write else "(%rsi)", code)
            return calls + (_call("(%rsi)", code & ~WRITES) if touch.reads_from_rsi else [])
        operand = _memory_operand(operands)
        if operand is None:
            raise CannotFollow(instructions[0].split()[0])
        if _is_in_frame(operand, self._function not in self._without_frame):
            return []
        constant = re.fullmatch(r"(\.L\w+)(?:\+\d+)?\(%rip\)", operand)
        if constant and constant[1] in self._constants and not touch.is_write:
            return []
        if touch.mask:
            return _call(operand, code, touch)
        if re.fullmatch(r"%fs:(?:0|0x28|40)", operand) or self._was_reported(operand, touch):
            return []
        return _call(operand, code)

    def _takes_assembler(self, number: int, line: str) -> bool:
        """Tell whether a line is in inline assembler of the kernel. Such a line that is no comment
        counts as not followed unless it is code without access to memory."""
        text = line.strip()
        if text in ("#APP", "#NO_APP"):
            self._is_in_assembler = text == "#APP"
        if not self._is_in_assembler or not text or text.startswith("#"):
            return self._is_in_assembler
        try:
            is_harmless = is_code(line) and not any(
                read_touch(instruction).bytes for instruction in self._instructions.get(number, [])
            )
        except CannotFollow:
            is_harmless = False
        if not is_harmless:
            self._refuse("assembler")
        self._new_block()
        return True

    def lines(self) -> Iterator[str]:
        """Yield the lines of the text with calls before accesses; can be done once."""
        for number, line in enumerate(self._lines):
            if self._takes_assembler(number, line) or self._note_place(line):
                yield line
                continue
            match = _CODE.match(line.split("#")[0].rstrip())
            if match is None:
                yield line
                continue
            name, operands = match[1], _operands(match[2])
            try:
                if name in _PREFIXES and operands:
                    inner = _CODE.match(f" {match[2]}")
                    name, operands = (inner[1], _operands(inner[2])) if inner else (name, operands)
                elif name in _PREFIXES:
                    raise CannotFollow(name)
                yield from self._calls(number, operands)
            except CannotFollow as error:
                self._refuse(str(error))
            if name.startswith("call"):
                self._take_call((match[2] or "").strip())
            else:
                self._values.follow(name, operands)
            yield line


def main(arguments: list[str]) -> int:
    """Rewrite a text, and return 0. arguments: paths TEXT DUMP NOTED UNFOLLOWED; the last two files
    are written."""
    source, dump, target, unfollowed = map(Path, arguments)
    lines = source.read_text("latin-1").split("\n")
    rewriting = Rewriting(lines, read_dump(dump.read_text("latin-1")))
    target.write_text("\n".join(rewriting.lines()), "latin-1")
    if any(NOTED in line for line in lines):
        rewriting.unfollowed.append(f"\t\t{NOTED}")
    unfollowed.write_text("".join(f"{line}\n" for line in rewriting.unfollowed), "latin-1")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
