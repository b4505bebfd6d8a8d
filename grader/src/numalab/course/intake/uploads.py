"""What a layout finds in a collection, whatever system made it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from numalab.course.intake.students import Person
from numalab.course.intake.trees import Entry
from numalab.course.records import Problem
from numalab.untrusted.visible import shown

NOTHING = "Nothing was handed in."


@dataclass(frozen=True)
class StudentUpload:
    """One student's entries of a collection.

    Attributes:
        source: the entry's name, or what the student's entries begin with.
        entries: with paths below it.
        repository: of a clone.
        handed_in_at: by the student list, maybe without a zone.
        is_missing: the student is in a list only.
    """

    source: str
    person: Person
    entries: tuple[Entry, ...]
    notes: tuple[str, ...] = ()
    repository: Path | None = None
    handed_in_at: datetime | None = None
    is_missing: bool = False


@dataclass(frozen=True)
class Layout:
    """Whose the entries of a collection are.

    Attributes:
        name: the system's, as --layout takes it.
        uploads: one for each student.
        problems: entries that are no student's.
    """

    name: str
    uploads: tuple[StudentUpload, ...]
    problems: tuple[Problem, ...]


@dataclass(frozen=True)
class CollectionContext:
    """What is known of a collection besides its entries.

    Attributes:
        name: the collection's.
        graded_names: files that are graded.
        logins: of the class, without case, if a list has them.
        is_lab: tells whether a name is a lab's.
    """

    name: str
    graded_names: Collection[str]
    logins: Collection[str] = field(default=frozenset())
    is_lab: Callable[[str], bool] = field(default=lambda _: False)


def top_entries(entries: Sequence[Entry]) -> dict[str, Entry]:
    """Return the entries at the top, by name; an archive need not list its folders."""
    found: dict[str, Entry] = {}
    for entry in entries:
        if len(entry.path) == 1:
            found[entry.name] = entry
        else:
            found.setdefault(entry.path[0], Entry(entry.path[:1], "folder"))
    return found


def entries_by_top(entries: Sequence[Entry]) -> dict[str, list[Entry]]:
    """Return what is in the folders at the top, by their names."""
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        if len(entry.path) > 1:
            found.setdefault(entry.path[0], []).append(replace(entry, path=entry.path[1:]))
    return found


def unassigned(entry: Entry, expected: str) -> Problem:
    """Return the problem of an entry that is no student's."""
    name = shown("/".join(entry.path))
    return Problem(name, f"{name} {entry.refused or f'is not {expected}'}.")
