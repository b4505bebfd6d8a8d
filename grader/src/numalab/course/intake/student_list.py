"""The list of a class: who was expected, and how the course's system calls them.

A CSV file with a line of column names: Moodle's grading worksheet, list of participants or grade
export, Canvas's gradebook export, Classroom 50's roster.csv (students.csv before) or the scores.csv
of its downloads, the CSV export of a GitLab group's members, GitHub Classroom's roster, or id, name
and email.

GitLab exports a line for each membership: in a short form Username, Name, Max role, Source, in a
longer one Name, Username, Email, Path, Type, Role (gitlab-org/gitlab, Namespaces::Export and merge
request 170889). Who is an owner there teaches.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from numalab.course.csv_files import MOST_BYTES
from numalab.course.intake.students import Person, clean_name, keys_of
from numalab.course.intake.trees import folded
from numalab.errors import UserError
from numalab.files import NotPlain, read_plain
from numalab.strangers.visible import shortened, visible

# Of columns, by what they are called in the systems' English.
_COLUMNS = {
    "identifier": "identifier",
    "full name": "name",
    "name": "name",
    "student": "name",
    "first name": "first",
    "first_name": "first",
    "last name": "last",
    "last_name": "last",
    "surname": "last",
    "email": "email",
    "email address": "email",
    "username": "login",
    "login": "login",
    "github_username": "login",
    "sis login id": "login",
    "id": "id",
    "id number": "idnumber",
    "sis user id": "idnumber",
    "handed_in_at": "handed_in_at",
    "last modified (submission)": "moodle_time",
    "role": "role",
    "max role": "role",
}
_TEACHES = "owner"
_MOST_TOLD = 200  # characters of a line that is not understood
_KEYS = ("id", "login", "email", "idnumber", "identifier")
# Moodle's strftimedaydatetime in English; no zone is given.
_MOODLE_TIME = "%A, %d %B %Y, %I:%M %p"


@dataclass(frozen=True)
class Listed:
    """A line of the list. handed_in_at: where it says so, else None."""

    person: Person
    handed_in_at: str | None = None


def read_student_list(path: Path) -> tuple[tuple[Listed, ...], tuple[str, ...]]:
    """The students, and what could not be understood of the list. Raises UserError."""
    try:
        text = read_plain(path, MOST_BYTES, follow_links=True).decode("utf-8-sig")
    except FileNotFoundError as error:
        raise UserError(f"--students {path}: there is no such file") from error
    except NotPlain as error:
        raise UserError(f"--students {path} {error}; name a CSV file") from error
    except UnicodeDecodeError as error:
        raise UserError(
            f"--students {path} is not in UTF-8; save it as a CSV file in UTF-8"
        ) from error
    head = text.partition("\n")[0]
    delimiter = max(",;\t", key=head.count)
    rows = csv.reader(text.splitlines(), delimiter=delimiter, strict=True)
    try:
        names = [folded(name[:_MOST_TOLD]) for name in next(rows, [])]
        columns = [_COLUMNS.get(name, "") for name in names]
        if not {"name", "last", "email", "id", "login"} & set(columns):
            raise UserError(
                f"--students {path}: the first line names none of the columns id, name and email "
                "(or Full name, Email address, Student, github_username, as the course's system "
                "exports them); it has: "
                f"{shortened(visible(', '.join(names)), _MOST_TOLD) or 'nothing'}"
            )
        is_canvas, is_classroom = "student" in names, "github_username" in names
        # Of GitLab only; other systems have roles, too.
        is_gitlab = "username" in names and ({"max role", "role type"} & set(names) != set())
        # Whose deliveries name clones by logins, and so their ids.
        by_login = (
            is_gitlab or is_classroom or {"github_id", "submission_tag"} & set(names) != set()
        )
        listed: list[Listed] = []
        owners: dict[str, None] = {}
        remarks: list[str] = []
        for row in rows:
            values = {
                column: cell.strip()
                for column, cell in zip(columns, row, strict=False)
                if column and cell.strip()
            }
            if is_canvas and not values.get("id"):
                continue  # the lines of points and of policies, under the names
            if is_classroom:  # calls identifier what others call a number
                values["idnumber"] = values.pop("identifier", "")
            if is_gitlab and folded(values.get("role", "")) == _TEACHES:
                owners[values.get("login", "")] = None
                continue
            one = _listed(values, f"--students {path}, line {rows.line_num}", is_canvas, remarks)
            if one is not None and by_login and not one.person.preferred_id:
                login = one.person.external.get("login", "")
                one = replace(one, person=replace(one.person, preferred_id=login))
            if one is not None:
                listed.append(one)
    except csv.Error as error:
        raise UserError(f"--students {path}, line {rows.line_num}: {error}") from error
    if owners:
        names_told = shortened(visible(", ".join(owners)), _MOST_TOLD)
        remarks.append(f"Owners of the group are not taken for students: {names_told}.")
    return _once(listed), tuple(dict.fromkeys(remarks))


def _once(listed: Sequence[Listed]) -> tuple[Listed, ...]:
    """The first line of each login; lists have one for each submission or membership."""
    found: dict[object, Listed] = {}
    for number, line in enumerate(listed):
        login = line.person.external.get("login")
        found.setdefault(folded(login) if login else number, line)
    return tuple(found.values())


def _listed(
    values: Mapping[str, str], where: str, is_canvas: bool, remarks: list[str]
) -> Listed | None:
    external = {key: visible(values[key]) for key in _KEYS if values.get(key)}
    name = values.get("name") or f"{values.get('first', '')} {values.get('last', '')}"
    last, comma, first = name.partition(",")
    name = clean_name(f"{first} {last}" if comma else name) or next(iter(external.values()), "")
    if not name:
        return None
    preferred = "" if is_canvas else values.get("id", "")
    return Listed(Person(name, external, preferred), _time(values, where, remarks))


def _time(values: Mapping[str, str], where: str, remarks: list[str]) -> str | None:
    given = values.get("handed_in_at")
    if given:
        try:
            time = datetime.fromisoformat(given)
            return time.astimezone().isoformat() if time.tzinfo is None else time.isoformat()
        except (ValueError, OverflowError, OSError) as error:
            raise UserError(
                f"{where}: handed_in_at is '{shortened(visible(given), _MOST_TOLD)}'; it has to "
                "be like 2026-01-31T18:00:00+01:00"
            ) from error
    moodles = values.get("moodle_time", "-")
    if moodles == "-":
        return None
    try:
        # In the zone of whoever has downloaded it, which is taken to be this machine's.
        return datetime.strptime(moodles, _MOODLE_TIME).astimezone().isoformat()
    except (ValueError, OverflowError, OSError):
        remarks.append(
            f"The times in the column Last modified (submission) are not understood "
            f"({shortened(visible(moodles), _MOST_TOLD)}); "
            "late work does not show. Download the worksheet in English, or add a column "
            "handed_in_at."
        )
        return None


# ---- whose line it is ------------------------------------------------------------------------


def _letters(text: str) -> str:
    return re.sub(r"[\W_]", "", folded(text))


def _names(listed: Person, with_keys: bool) -> set[str]:
    """What a delivery may call a listed person: by name, in either order, and, where deliveries
    have nothing but names, by a key."""
    first, _, last = listed.name.rpartition(" ")
    keys = listed.external.values() if with_keys else ()
    return {_letters(name) for name in (listed.name, f"{last} {first}", *keys)}


def match(people: Sequence[Person], listed: Sequence[Listed]) -> tuple[Listed | None, ...]:
    """The line of each person; None where there is none, or several. Keys decide before
    names."""
    by_key = {key: line for line in listed for key in keys_of(line.person.external)}
    found: list[Listed | None] = []
    for person in people:
        hits = {id(by_key[k]): by_key[k] for k in keys_of(person.external) if k in by_key}
        found.append(next(iter(hits.values())) if len(hits) == 1 else None)
    taken = {id(line) for line in found if line is not None}
    # Moodle's identifiers are of one assignment: another's list says nothing by them.
    decides = {kind for p in people for kind, v in keys_of(p.external) if (kind, v) in by_key}
    with_keys = not any(person.external for person in people)
    by_name: dict[str, list[Listed]] = {}
    for line in listed:
        for name in _names(line.person, with_keys) if id(line) not in taken else ():
            by_name.setdefault(name, []).append(line)
    for index, person in enumerate(people):
        if found[index] is not None:
            continue
        fitting = [
            line
            for line in by_name.get(_letters(person.name), ())
            if not any(k in line.person.external and k in person.external for k in decides)
        ]
        found[index] = fitting[0] if len(fitting) == 1 else None
    return tuple(found)


def with_listed(person: Person, listed: Listed | None) -> Person:
    """The person under the list's name, with the keys of both."""
    if listed is None:
        return person
    external = {**listed.person.external, **person.external}
    preferred = listed.person.preferred_id or person.preferred_id
    return replace(listed.person, external=external, preferred_id=preferred)
