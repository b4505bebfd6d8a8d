"""A search of a tree for lines of solutions, in the bytes of its files, those of objects, too.
exceptions.toml has the lines that may be elsewhere, with the reasons; a lab may have lines of its
own in solutions/NN_name/exceptions.toml, which is not searched for."""

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
    """Lines of a lab's solution to search for, in the form of plain_lines, each with a file of the
    solution that has it."""

    lab: str
    lines: Mapping[str, str]


@dataclass(frozen=True)
class Leak:
    """A line of a solution's file `source` in another file."""

    lab: str
    source: str
    line: str
    file: str

    def __str__(self) -> str:
        return f"{self.file} has a line of solutions/{self.lab}/{self.source}: {self.line}"


def plain_lines(content: bytes) -> list[str]:
    """Return the lines of any bytes, with runs of blanks made one and none at the ends. A zero byte
    ends a line."""
    text = content.decode("utf-8", "replace").replace("\0", "\n")
    return [" ".join(line.split()) for line in text.splitlines()]


def secret_of(root: Path, lab: Lab) -> Secret:
    """Return the lines of a lab's solution, each with the first of its files that has it: those of
    SHORTEST characters or more, in the form of plain_lines, that starting code and contract do not
    contain. root: of an installation that has the solution."""
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
    """Return the exceptions of numalab and of its labs. root: of an installation."""
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
    """Yield the lines of solutions that a file's content contains, but for exceptions. file: its
    path from the root."""
    text = "\n".join(plain_lines(content))
    for secret in secrets:
        for line, source in secret.lines.items():
            if line in text and not any(one.allows(line, file) for one in exceptions):
                yield Leak(secret.lab, source, line, file)


def search(
    tree: Path, secrets: Sequence[Secret], exceptions: Sequence[Exception_]
) -> Iterator[Leak]:
    """Yield the lines of solutions in the files of a tree, sorted by path, but for exceptions."""
    for path in sorted(tree.rglob("*")):
        if path.is_file():
            file = path.relative_to(tree).as_posix()
            yield from leaks_in(path.read_bytes(), file, secrets, exceptions)
