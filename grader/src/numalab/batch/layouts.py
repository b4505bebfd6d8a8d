"""How a delivery is laid out: what in it is whose.

- Plain: a folder or an archive for each student, named after them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from numalab.batch.archives import archive_suffix, without_suffix
from numalab.batch.records import Problem
from numalab.batch.students import Person, clean_name
from numalab.batch.trees import Entry, shown


@dataclass(frozen=True)
class Delivered:
    """What one entry of a delivery holds. entries: with their paths below it; source: the
    entry's name."""

    source: str
    person: Person
    entries: tuple[Entry, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Layout:
    name: str
    delivered: tuple[Delivered, ...]
    problems: tuple[Problem, ...]


def _below(entries: Sequence[Entry], top: str) -> tuple[Entry, ...]:
    return tuple(
        replace(entry, path=entry.path[1:])
        for entry in entries
        if len(entry.path) > 1 and entry.path[0] == top
    )


def _tops(entries: Sequence[Entry]) -> dict[str, Entry]:
    """The entries at the top; an archive need not name its folders."""
    found: dict[str, Entry] = {}
    for entry in entries:
        top = entry if len(entry.path) == 1 else Entry(entry.path[:1], "folder")
        if entry.path[0] not in found or len(entry.path) == 1:
            found[entry.path[0]] = top
    return found


def _plain(entries: Sequence[Entry]) -> Layout:
    delivered, problems = [], []
    for name, top in _tops(entries).items():
        if top.kind == "folder":
            person = Person(clean_name(name), {})
            delivered.append(Delivered(name, person, _below(entries, name)))
        elif top.kind == "file" and archive_suffix(name):
            person = Person(clean_name(without_suffix(name)), {})
            delivered.append(Delivered(name, person, (top,)))
        else:
            why = top.refused or "is neither a folder nor an archive of a student"
            problems.append(Problem(shown(name), f"{shown(name)} {why}."))
    return Layout("plain", tuple(delivered), tuple(problems))


def read_layout(entries: Sequence[Entry], delivery: str) -> Layout:
    """delivery: its name."""
    del delivery
    return _plain(entries)
