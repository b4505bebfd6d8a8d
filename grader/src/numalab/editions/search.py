"""Search a tree for lines of solutions: a student copy is written only if there are none.

A line of a solution has at least SHORTEST characters, in the form of plain_lines, is in any file
of solutions/NN_name/ (kernels, texts, answers, published figures, wrong submissions, templates),
and not in the lab's starting code or contract. The bytes of every file are searched, those of
objects, too. exceptions.toml has the lines that may be elsewhere, with the reasons; a lab may have
lines of its own in solutions/NN_name/exceptions.toml, which is no part of the solution.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from numalab.errors import NumalabError
from numalab.labs.declaration import KERNEL_FILES, Lab
from numalab.toml_files.tables import read_table

SHORTEST = 12
EXCEPTIONS = Path(__file__).with_name("exceptions.toml")


@dataclass(frozen=True)
class Exception_:
    """Lines that some files may have. files: patterns of paths from the root."""

    reason: str
    files: tuple[str, ...]
    lines: frozenset[str]

    def allows(self, line: str, file: str) -> bool:
        return line in self.lines and any(fnmatch(file, pattern) for pattern in self.files)


@dataclass(frozen=True)
class Secret:
    """The lines of a lab's solution, each with the first of the solution's files that has it."""

    lab: str
    lines: Mapping[str, str]


@dataclass(frozen=True)
class Leak:
    """A line of a solution's file `source` in a file that students get."""

    lab: str
    source: str
    line: str
    file: str

    def __str__(self) -> str:
        return f"{self.file} has a line of solutions/{self.lab}/{self.source}: {self.line}"


def plain_lines(content: bytes) -> list[str]:
    """Return the lines of any bytes, with runs of blanks made one, none at the ends, and
    zero bytes as line ends."""
    text = content.decode("utf-8", "replace").replace("\0", "\n")
    return [" ".join(line.split()) for line in text.splitlines()]


def secret_of(root: Path, lab: Lab) -> Secret:
    """Return the lines of a lab's solution. root: of an installation that has it. Raises
    OSError."""
    folder = root / "labs" / lab.name
    names = [lab.contract, *(KERNEL_FILES[language] for language in lab.languages)]
    names += [file.name for file in lab.files]
    given = "\n".join(line for name in names for line in plain_lines((folder / name).read_bytes()))
    solution = root / "solutions" / lab.name
    lines: dict[str, str] = {}
    for path in sorted(solution.rglob("*")):
        is_searched_for = path.is_file() and path.name != EXCEPTIONS.name
        for line in plain_lines(path.read_bytes()) if is_searched_for else ():
            if len(line) >= SHORTEST and line not in given:
                lines.setdefault(line, path.relative_to(solution).as_posix())
    return Secret(lab.name, lines)


def read_exceptions(root: Path) -> tuple[Exception_, ...]:
    """Return the exceptions of numalab and of its labs. root: of an installation. Raises
    NumalabError."""
    tops = (
        read_table(path, NumalabError, ("exception",))
        for path in (EXCEPTIONS, *sorted(root.glob(f"solutions/*/{EXCEPTIONS.name}")))
    )
    return tuple(
        Exception_(table.text("reason"), table.texts("files"), frozenset(table.texts("lines")))
        for top in tops
        for table in top.tables("exception", ("reason", "files", "lines"))
    )


def leaks_in(
    content: bytes, file: str, secrets: Iterable[Secret], exceptions: Sequence[Exception_]
) -> Iterator[Leak]:
    """Yield the lines of solutions in a file's content, but for exceptions. file: its path from the
    root."""
    text = "\n".join(plain_lines(content))
    for secret in secrets:
        for line, source in secret.lines.items():
            if line in text and not any(one.allows(line, file) for one in exceptions):
                yield Leak(secret.lab, source, line, file)


def search(
    tree: Path, secrets: Sequence[Secret], exceptions: Sequence[Exception_]
) -> Iterator[Leak]:
    """Yield the lines of solutions in all files of a tree, sorted by path, but for exceptions.
    Raises OSError."""
    for path in sorted(tree.rglob("*")):
        if path.is_file():
            file = path.relative_to(tree).as_posix()
            yield from leaks_in(path.read_bytes(), file, secrets, exceptions)
