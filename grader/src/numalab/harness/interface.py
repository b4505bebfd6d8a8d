"""Comparison of a Fortran kernel's bind(c) interface with the lab's contract header.

gfortran prints the C prototypes of what it has read, which are compared here. A C kernel's compiler
compares the two itself.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from numalab.harness.sandbox import Sandbox
from numalab.labs.declaration import Lab
from numalab.processes import shell_variables
from numalab.untrusted.tools import TookTooLong, ToolLimits, run_limited

_LIMITS = ToolLimits(
    computing_s=60, memory_bytes=16 << 30, file_bytes=256 << 20, output_bytes=4 << 20, wall_s=60.0
)
_LONGEST_PROTOTYPE, _MOST_PROTOTYPES = 2_000, 50
_PROTOTYPE = re.compile(r"(?:^|;|})\s*(\w[\w \t*]*?)\b(\w+)\s*\(([^()]*)\)\s*(?=;)", re.MULTILINE)
_FUNCTION_POINTER = re.compile(r"\w+\s*\(\s*\*\s*(\w+)\s*\)\s*\([^()]*\)")
_WIDTH = {
    "char": 1, "int": 4, "unsigned": 4, "unsigned int": 4, "int32_t": 4,
    "long": 8, "unsigned long": 8, "long long": 8, "size_t": 8, "int64_t": 8,
    "ptrdiff_t": 8, "float": 4, "double": 8,
}  # fmt: skip
_FORTRAN = {
    "float": "real(c_float)", "double": "real(c_double)", "int": "integer(c_int)",
    "size_t": "integer(c_size_t)", "long": "integer(c_long)",
}  # fmt: skip


@dataclass(frozen=True)
class Argument:
    """An argument of a C function."""

    name: str  # its name; may be empty
    type: str  # its C type without const, restrict and stars
    stars: int  # how many levels of pointers and arrays it has

    def fits(self, other: Argument) -> bool:
        """Tell whether this argument of the contract can be passed to `other`, the kernel's."""
        if self.stars == 2 and other.type == "void" and other.stars == 1:
            return True  # type(c_ptr), whatever it points to
        if self.stars != other.stars:
            return False
        if self.type == other.type or (self.type == "void" and self.stars == 1):
            return True
        # size_t is an integer of 8 bytes, as Fortran's c_long is.
        floating = ("float", "double")
        return (
            self.type not in floating
            and other.type not in floating
            and self.type in _WIDTH
            and _WIDTH.get(self.type) == _WIDTH.get(other.type)
        )


def _argument(text: str) -> Argument:
    words = re.findall(r"\w+", text.replace("const", " ").replace("restrict", " "))
    name = words[-1] if len(words) > 1 else ""
    kind = " ".join(words[:-1] if len(words) > 1 else words)
    return Argument(name, kind, text.count("*") + text.count("["))


def prototypes(header: str) -> dict[str, list[Argument]]:
    """Return the arguments of the functions that a C text declares, by the function's name."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*|^\s*#[^\n]*", "", header, flags=re.DOTALL | re.MULTILINE)
    text = _FUNCTION_POINTER.sub(r"void *\1", text)  # whatever it points to
    return {
        name: [_argument(part) for part in arguments.split(",") if part.strip() not in ("", "void")]
        for _, name, arguments in _PROTOTYPE.findall(";" + text)
    }


@cache
def _compiler(uses_mpi: bool) -> str:
    """Return the name of gfortran, or of MPI's wrapper for it, which knows its modules."""
    wrappers = ("mpifort.mpich", "mpifort") if uses_mpi else ()
    return next((name for name in wrappers if shutil.which(name)), "gfortran")


@cache
def _gfortran(
    option: str, source: str, content: bytes, uses_mpi: bool, sandbox: Sandbox | None
) -> str:
    del content  # part of the key: the file may change under its name
    try:
        with tempfile.TemporaryDirectory() as modules:  # which are written even so
            command = [_compiler(uses_mpi), option, "-fsyntax-only", "-fopenmp", "-J", modules]
            environment = shell_variables.builder_environment()
            if sandbox is not None:
                command = ["/bin/sh", str(sandbox.launcher), *command]
                environment |= sandbox.compiler_environment()
            code, printed = run_limited(
                [*command, source], _LIMITS, environment, takes_stderr=False
            )
    except (OSError, TookTooLong):
        return ""  # there is nothing to compare with
    return printed if code == 0 else ""


def _prototype_lines(printed: str, functions: Sequence[str]) -> str:
    """Return lines of gfortran's prototypes that may declare one of the functions, at most
    _MOST_PROTOTYPES, each of at most _LONGEST_PROTOTYPE characters."""
    lines = (line for line in printed.splitlines() if len(line) <= _LONGEST_PROTOTYPE)
    return "\n".join(
        [line for line in lines if any(name in line for name in functions)][:_MOST_PROTOTYPES]
    )


def _quoted(text: str) -> str:
    """Return the text between the first two quotes; empty where there are none."""
    return text.split("'")[1].strip() if "'" in text else ""


def _declarations(dump: str, function: str) -> Iterator[tuple[str, str]]:
    """Yield the lines on a function's symbols, each with the symbol's name before it. dump: what
    gfortran -fdump-fortran-original prints."""
    in_function = False
    symbol = ""
    for line in dump.splitlines():
        text = line.strip()
        if text.startswith("procedure name"):
            in_function = text.endswith(f"= {function}")
        elif text.startswith("symtree:"):
            symbol = _quoted(text)
        elif in_function:
            yield symbol, text


def _assumed_shape(dump: str, function: str) -> str | None:
    """Return the name of an argument of a function that has an assumed shape, such as a of a(:);
    None where there is none. dump: as for _declarations."""
    lines = _declarations(dump, function)
    return next((symbol for symbol, text in lines if "AS_ASSUMED_SHAPE" in text), None)


def _pointers(dump: str, function: str) -> dict[str, bool]:
    """Return for type(c_ptr) and type(c_funptr) arguments of a function, by name, whether they have
    the attribute `value`, which gfortran's prototypes don't show. dump: as for _declarations."""
    pointer = None
    found = {}
    for symbol, text in _declarations(dump, function):
        if text.startswith("type spec"):
            is_pointer = "(DERIVED c_ptr)" in text or "(DERIVED c_funptr)" in text
            pointer = symbol if is_pointer else None
        elif symbol == pointer and text.startswith("attributes:"):
            words = text.strip("()").replace("(", " ").replace(")", " ").split()
            if "DUMMY" in words:
                found[symbol] = "VALUE" in words
    return found


def _pointer_complaint(
    function: str, ours: Sequence[Argument], pointers: dict[str, bool], theirs: Sequence[Argument]
) -> str | None:
    """Return a sentence on the first type(c_ptr) that has or lacks `value` against the contract;
    None where there is none. With `value` it is a pointer, without it a pointer to one. ours:
    arguments of the contract; theirs: of the kernel, as many; pointers: what _pointers returns."""
    for our, their in zip(ours, theirs, strict=True):
        is_value = pointers.get(their.name.lower())
        if our.type == "void" and our.stars == 1 and is_value is False:
            return (
                f"{their.name} of {function} is passed by reference; C passes the pointer itself: "
                "add `value`."
            )
        if our.stars == 2 and is_value:
            return (
                f"{their.name} of {function} is passed by value; C passes where the pointer is to "
                "be put: take `value` out."
            )
    return None


def interface_complaint(
    source: Path, contract: Path, lab: Lab, sandbox: Sandbox | None = None
) -> str | None:
    """Return a sentence on a mismatch between a Fortran kernel's arguments and the contract; None
    where none is found, as where gfortran gave no prototypes. source: the kernel; contract: the
    lab's header; sandbox: of gfortran."""
    content = source.read_bytes()

    def dump(option: str) -> str:
        return _gfortran(option, str(source), content, lab.calls_mpi, sandbox)

    contracted = prototypes(contract.read_text(encoding="utf-8"))
    given = prototypes(_prototype_lines(dump("-fc-prototypes"), lab.functions))
    for function in lab.functions:
        if function not in contracted or function not in given:
            continue  # the linker reports a missing name
        ours, theirs = contracted[function], given[function]
        if len(ours) != len(theirs):
            return (
                f"{function} takes {len(theirs)} arguments, the contract ({lab.contract}) has "
                f"{len(ours)}: {', '.join(argument.name for argument in ours)}."
            )
        for position, (our, their) in enumerate(zip(ours, theirs, strict=True), start=1):
            if our.fits(their):
                continue
            where = f"Argument {position} of {function} ({our.name} in the contract)"
            if our.stars == their.stars:
                wanted_type = _FORTRAN.get(our.type, our.type)
                found_type = _FORTRAN.get(their.type, their.type)
                return f"{where} has the type {found_type}; it has to be {wanted_type}."
            if their.stars > our.stars:
                return f"{where} is passed by reference; C passes the value: add `value`."
            return (
                f"{where} is passed by value; it has to be passed by reference: take `value` out."
            )
        if any(their.type == "void" for their in theirs):
            pointers = _pointers(dump("-fdump-fortran-original"), function)
            complaint = _pointer_complaint(function, ours, pointers, theirs)
            if complaint is not None:
                return complaint
        if "(:" in content.decode(errors="replace").replace(" ", ""):
            name = _assumed_shape(dump("-fdump-fortran-original"), function)
            if name is not None:
                return (
                    f"{function} declares {name}(:), an assumed-shape array, which expects a "
                    f"descriptor that C does not pass: declare its size, such as {name}(n)."
                )
    return None
