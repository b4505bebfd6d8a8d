"""What a layout finds in a delivery, whatever system it is of."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from numalab.course.intake.students import Person
from numalab.course.intake.trees import Entry
from numalab.course.records import Problem
from numalab.strangers.visible import shown

NOTHING = "Nothing was handed in."


@dataclass(frozen=True)
class StudentUpload:
    """What one student's entries of a delivery hold. source: the entry's name, or what those of
    the student begin with; entries: with their paths below it; repository: of a clone;
    handed_in_at: as the student list
    says, maybe without a zone; is_missing: in a list only."""

    source: str
    person: Person
    entries: tuple[Entry, ...]
    notes: tuple[str, ...] = ()
    repository: Path | None = None
    handed_in_at: datetime | None = None
    is_missing: bool = False


@dataclass(frozen=True)
class Layout:
    name: str
    uploads: tuple[StudentUpload, ...]
    problems: tuple[Problem, ...]


@dataclass(frozen=True)
class CollectionContext:
    """What is known of a delivery beside its entries. name: the delivery's; wanted: names of files
    that are graded; logins: of the class, without case, where a list has them; is_lab: whether a
    name is that of a lab."""

    name: str
    graded_names: Collection[str]
    logins: Collection[str] = field(default=frozenset())
    is_lab: Callable[[str], bool] = field(default=lambda _: False)


def top_entries(entries: Sequence[Entry]) -> dict[str, Entry]:
    """The entries at the top; an archive need not name its folders."""
    found: dict[str, Entry] = {}
    for entry in entries:
        if len(entry.path) == 1:
            found[entry.name] = entry
        else:
            found.setdefault(entry.path[0], Entry(entry.path[:1], "folder"))
    return found


def entries_by_top(entries: Sequence[Entry]) -> dict[str, list[Entry]]:
    """What is in the folders at the top, by their names."""
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        if len(entry.path) > 1:
            found.setdefault(entry.path[0], []).append(replace(entry, path=entry.path[1:]))
    return found


def unassigned(entry: Entry, expected: str) -> Problem:
    """Of an entry that is no student's."""
    name = shown("/".join(entry.path))
    return Problem(name, f"{name} {entry.refused or f'is not {expected}'}.")
