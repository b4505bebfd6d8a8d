"""What a layout finds in a collection, regardless of the system that made it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from numalab.course.intake.students import Person
from numalab.course.intake.trees import Entry
from numalab.course.records import Problem
from numalab.untrusted.visible import shown

NOTHING = "Nothing was handed in."


@dataclass(frozen=True)
class StudentUpload:
    """The entries of a collection that are one student's.

    Attributes:
        source: the name or path of the student's entry, or what the student's entries begin with;
            if is_missing the list's name.
        entries: the entries, with the paths by which files are chosen.
        notes: sentences for the student.
        repository: path of a clone's .git; None: there is none.
        is_missing: the student is only in a list, and has no entries.
    """

    source: str
    person: Person
    entries: tuple[Entry, ...]
    notes: tuple[str, ...] = ()
    repository: Path | None = None
    is_missing: bool = False


@dataclass(frozen=True)
class Layout:
    """Which entries of a collection are which student's.

    Attributes:
        name: the layout's name, as --layout takes it.
        uploads: entries by student; a student may have several.
        problems: entries that are no student's, and what else the instructor should know.
    """

    name: str
    uploads: tuple[StudentUpload, ...]
    problems: tuple[Problem, ...]


@dataclass(frozen=True)
class CollectionContext:
    """What is known of a collection besides its entries.

    Attributes:
        name: the name of the collection, without an archive's suffix, or of its only folder.
        graded_names: names of files that are graded.
        logins: logins of the class, without case, as far as a list has them.
        is_lab: tells whether a folder's name is a lab's.
    """

    name: str
    graded_names: Collection[str]
    logins: Collection[str] = field(default=frozenset())
    is_lab: Callable[[str], bool] = field(default=lambda _: False)


def top_entries(entries: Sequence[Entry]) -> dict[str, Entry]:
    """Return the entries at the top, by name. Folders that an archive does not list are added."""
    found: dict[str, Entry] = {}
    for entry in entries:
        if len(entry.path) == 1:
            found[entry.name] = entry
        else:
            found.setdefault(entry.path[0], Entry(entry.path[:1], "folder"))
    return found


def entries_by_top(entries: Sequence[Entry]) -> dict[str, list[Entry]]:
    """Return the entries in each folder at the top, by its name, with paths below it."""
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        if len(entry.path) > 1:
            found.setdefault(entry.path[0], []).append(replace(entry, path=entry.path[1:]))
    return found


def unassigned(entry: Entry, expected: str) -> Problem:
    """Return the problem of an entry that is no student's. expected: what it should be."""
    name = shown("/".join(entry.path))
    return Problem(name, f"{name} {entry.refused or f'is not {expected}'}.")
