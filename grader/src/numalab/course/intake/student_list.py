"""The list of a class: its students, and their keys in the course's system.

It is a CSV file with a line of column names: Moodle's grading worksheet, list of participants or
grade export in the languages of moodle_columns.py, Canvas's gradebook export, Classroom 50's
roster.csv (students.csv before) or the scores.csv of its downloads, the CSV export of a GitLab
group's members, GitHub Classroom's roster, or id, name and email.

GitLab exports a line for each membership: in a short form Username, Name, Max role, Source, in a
longer one Name, Username, Email, Path, Type, Role (gitlab-org/gitlab, Namespaces::Export and merge
request 170889). Owners there are taken for instructors.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from numalab import words
from numalab.course.csv_files import MOST_BYTES
from numalab.course.intake.list_times import read_times
from numalab.course.intake.moodle_columns import Header, participant, read_header
from numalab.course.intake.students import Person, clean_name, keys_of
from numalab.course.intake.trees import folded, letters
from numalab.errors import UserError
from numalab.files import NotPlain, read_plain
from numalab.untrusted.visible import shortened, visible

# What columns mean, by their titles in systems with one language; Moodle's: moodle_columns.py.
_COLUMNS = {
    "name": "name",
    "student": "name",
    "first_name": "first",
    "last_name": "last",
    "email": "email",
    "login": "login",
    "github_username": "login",
    "sis login id": "login",
    "id": "id",
    "sis user id": "idnumber",
    "handed_in_at": "handed_in_at",
    "role": "role",
    "max role": "role",
}
# The meanings that --column can give to a column.
NAMED = ("name", "first", "last", "email", "login", "id", "idnumber", "identifier", "handed_in_at")
_TEACHES = "owner"
_MAX_SHOWN = 200  # characters of a line that is not understood
_KEYS = ("id", "login", "email", "idnumber", "identifier")
_NO_TIME = ("", "-")
_MAX_INSPECTED_ROWS = 200  # rows by which columns are recognized


def parse_column_options(given: Sequence[str]) -> dict[str, str]:
    """Return the meaning of each title, which is the key in the form of `folded`, that options
    --column WHAT=TITLE give. Raises UserError for an option of another form."""
    named = {}
    for text in given:
        what, equals, title = text.partition("=")
        if what not in NAMED or not equals or not title.strip():
            raise UserError(
                f'--column {shortened(visible(text), _MAX_SHOWN)}: write it as WHAT="TITLE", such '
                f'as name="Vollständiger Name"; WHAT is one of {", ".join(NAMED)}'
            )
        named[folded(title)] = what
    return named


def _columns(
    header: Sequence[str], moodle: Header, named: Mapping[str, str], where: str
) -> list[str]:
    """Return the meaning of each column; empty: none. Titles in `named` come first, then Moodle's
    identifier, then those of systems with one language, then Moodle's others."""
    titles = [folded(title[:_MAX_SHOWN]) for title in header]
    lacking = [title for title in named if title not in titles]
    if lacking:
        raise UserError(
            f"{where}: --column names no column '{lacking[0]}'; it has: {_titles(header)}"
        )
    of_moodle = {index: column for column, index in moodle.places.items()}
    if not moodle.is_worksheet and moodle.language != "en":
        of_moodle = {i: column for i, column in of_moodle.items() if column != "identifier"}
    columns: list[str] = []
    for index, title in enumerate(titles):
        known = _COLUMNS.get(title)
        if of_moodle.get(index) == "identifier":
            known = None  # in German it is called ID
        columns.append(named.get(title) or known or of_moodle.get(index) or "")
    # A column with the meaning of a named one has none itself.
    return [
        "" if column in named.values() and titles[index] not in named else column
        for index, column in enumerate(columns)
    ]


def _titles(header: Sequence[str]) -> str:
    return shortened(visible(", ".join(header)), _MAX_SHOWN) or "nothing"


def _read_rows(path: Path) -> list[tuple[int, list[str]]]:
    """Return the rows with the numbers of their lines, titles first."""
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
        return [(rows.line_num, row) for row in rows]
    except csv.Error as error:
        raise UserError(f"--students {path}, line {rows.line_num}: {error}") from error


def read_student_list(
    path: Path, named: Mapping[str, str] | None = None
) -> tuple[tuple[Person, ...], tuple[str, ...]]:
    """Return the students of a list, and remarks on what is left out or not understood.

    Args:
        named: meanings of titles, as parse_column_options returns them.

    Raises:
        UserError: the list can't be read, has none of the columns that identify students, lacks a
            named one, or has a time in handed_in_at that is not ISO 8601.
    """
    named = named or {}
    where = f"--students {path}"
    (_, header), *rows = _read_rows(path) or [(1, [])]
    titles = [folded(title[:_MAX_SHOWN]) for title in header]
    moodle = read_header(header, [row for _, row in rows[:_MAX_INSPECTED_ROWS]])
    columns = _columns(header, moodle, named, where)
    if not {"name", "last", "email", "id", "login", "identifier"} & set(columns):
        raise UserError(
            f"{where}: the first line names none of the columns id, name and email, nor any of "
            "Moodle's, Canvas's or a GitLab group's. Say which they are: "
            f'--column name="TITLE" --column email="TITLE". The line has: {_titles(header)}'
        )
    is_canvas, is_classroom = "student" in titles, "github_username" in titles
    # Only GitLab has these titles together; other systems have roles, too.
    is_gitlab = "username" in titles and ({"max role", "role type"} & set(titles) != set())
    # In these systems clones are named by logins, and so ids are logins.
    by_login = is_gitlab or is_classroom or {"github_id", "submission_tag"} & set(titles) != set()
    listed: list[Person] = []
    times: list[str] = []
    owners: dict[str, None] = {}
    for number, row in rows:
        values: dict[str, str] = {}
        for column, cell in zip(columns, row, strict=False):
            if cell.strip():
                values.setdefault(column, cell.strip())
        if is_canvas and not values.get("id"):
            continue  # the lines of points and of policies, under the names
        if is_classroom:  # its identifier is what others call a number
            values["idnumber"] = values.pop("identifier", "")
        elif moodle.is_worksheet and participant(values.get("identifier", "")):
            # The form that collections have, whatever the list's language.
            values["identifier"] = f"Participant {participant(values['identifier'])}"
        if is_gitlab and folded(values.get("role", "")) == _TEACHES:
            owners[values.get("login", "")] = None
            continue
        one = _listed(values, f"{where}, line {number}", is_canvas)
        if one is not None:
            if by_login and not one.preferred_id:
                one = replace(one, preferred_id=one.external.get("login", ""))
            listed.append(one)
            times.append("" if one.handed_in_at else values.get("moodle_time", ""))
    remarks = []
    if owners:
        names_told = shortened(visible(", ".join(owners)), _MAX_SHOWN)
        remarks.append(f"Owners of the group are not taken for students: {names_told}.")
    listed, not_read = _add_times(listed, times, moodle)
    return _once(listed), (*remarks, *not_read)


def _add_times(
    listed: list[Person], times: Sequence[str], moodle: Header
) -> tuple[list[Person], tuple[str, ...]]:
    """Add the times of Moodle's column to the list, and return it; and one text on times that are
    not understood, if there are any. times: the column's text for each student."""
    given = [index for index, text in enumerate(times) if text not in _NO_TIME]
    locales = moodle.words.locales if moodle.words is not None else ()
    read = read_times([times[index] for index in given], (*locales, "en"))
    for index, time in zip(given, read, strict=True):
        if time is not None:
            listed[index] = replace(listed[index], handed_in_at=time)
    lost = [times[index] for index, time in zip(given, read, strict=True) if time is None]
    if not lost:
        return listed, ()
    return listed, (
        f"{words.count(len(lost), 'time')} of {len(given)} in Moodle's column of submissions "
        f"{'is' if len(lost) == 1 else 'are'} not understood, such as "
        f"'{shortened(visible(lost[0]), _MAX_SHOWN)}'; whether that work is late does not show. "
        "Download the worksheet in English, or add a column handed_in_at with times like "
        "2026-01-31T18:00:00+01:00.",
    )


def _once(listed: Sequence[Person]) -> tuple[Person, ...]:
    """Keep the first line of each login, since some lists have one for each submission or
    membership, and all lines without a login."""
    found: dict[object, Person] = {}
    for number, line in enumerate(listed):
        login = line.external.get("login")
        found.setdefault(folded(login) if login else number, line)
    return tuple(found.values())


def _listed(values: Mapping[str, str], where: str, is_canvas: bool) -> Person | None:
    external = {key: visible(values[key]) for key in _KEYS if values.get(key)}
    name = values.get("name") or f"{values.get('first', '')} {values.get('last', '')}"
    last, comma, first = name.partition(",")
    name = clean_name(f"{first} {last}" if comma else name) or next(iter(external.values()), "")
    if not name:
        return None
    preferred = "" if is_canvas else values.get("id", "")
    return Person(name, external, preferred, _time(values, where))


def _time(values: Mapping[str, str], where: str) -> datetime | None:
    """Return the time of the column handed_in_at; None if it has none."""
    given = values.get("handed_in_at", "")
    if given in _NO_TIME:
        return None
    try:
        return datetime.fromisoformat(given)
    except ValueError as error:
        raise UserError(
            f"{where}: handed_in_at is '{shortened(visible(given), _MAX_SHOWN)}'; it has to "
            "be like 2026-01-31T18:00:00+01:00"
        ) from error


# ---- whose line it is ------------------------------------------------------------------------


def _names(listed: Person, use_keys: bool) -> set[str]:
    """Return the names that a collection may have for a listed student: first and last name in
    either order and, with use_keys, the keys, since a collection may have them in place of
    names."""
    first, _, last = listed.name.rpartition(" ")
    keys = listed.external.values() if use_keys else ()
    return {letters(folded(name)) for name in (listed.name, f"{last} {first}", *keys)}


def match_students(people: Sequence[Person], listed: Sequence[Person]) -> tuple[Person | None, ...]:
    """Return the line of the list for each person of a collection; None if none fits, or several
    do. Keys decide before names; a key that several lines have decides nothing."""
    with_key = Counter(key for line in listed for key in keys_of(line.external))
    by_key = {key: line for line in listed for key in keys_of(line.external) if with_key[key] == 1}
    found: list[Person | None] = []
    for person in people:
        hits = {id(by_key[k]): by_key[k] for k in keys_of(person.external) if k in by_key}
        found.append(next(iter(hits.values())) if len(hits) == 1 else None)
    taken = {id(line) for line in found if line is not None}
    # Moodle's identifiers are of one assignment, so those in another assignment's list decide
    # nothing.
    decides = {kind for p in people for kind, v in keys_of(p.external) if (kind, v) in by_key}
    with_keys = not any(person.external for person in people)
    by_name: dict[str, list[Person]] = {}
    for line in listed:
        for name in _names(line, with_keys) if id(line) not in taken else ():
            by_name.setdefault(name, []).append(line)
    for index, person in enumerate(people):
        if found[index] is not None:
            continue
        fitting = [
            line
            for line in by_name.get(letters(folded(person.name)), ())
            if not any(k in line.external and k in person.external for k in decides)
        ]
        found[index] = fitting[0] if len(fitting) == 1 else None
    return tuple(found)


def merge_listed(person: Person, listed: Person | None) -> Person:
    """Return the person under the list's name, with the keys of both, of which the person's replace
    the list's; without a line the person as it is."""
    if listed is None:
        return person
    external = {**listed.external, **person.external}
    return replace(
        listed, external=external, preferred_id=listed.preferred_id or person.preferred_id
    )
