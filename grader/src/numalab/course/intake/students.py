"""Recognize the same student in several collections, and keep the id.

Keys of the course's system decide, then names. If several students fit, none is guessed.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path

from numalab.course.intake.trees import folded, nfc
from numalab.course.records import Json, Student
from numalab.errors import UserError
from numalab.files import read_json, write_json
from numalab.untrusted.visible import visible

SCHEMA = 1
_MOST_LETTERS = 40
_MOST_NAME = 200
# Keys that are the same in a whole course. Moodle's "identifier" differs between assignments (table
# assign_user_mapping), but is never another student's.
_LASTING = ("id", "login", "email", "idnumber")
# How letters are spelt, most of which Unicode does not decompose into ASCII and an accent.
_SPELT = str.maketrans(
    {"ß": "ss", "æ": "ae", "ø": "o", "å": "a", "œ": "oe", "ł": "l", "đ": "d", "ð": "d",
     "þ": "th", "\u0131": "i"}
)  # fmt: skip
_JOINERS = "\u200c\u200d"
_SLUG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,63}")

Key = tuple[str, str]


@dataclass(frozen=True)
class Person:
    """A student as a collection or a list names them.

    Attributes:
        preferred_id: from the instructor's list, or the system's login; empty: there is none.
        handed_in_at: the time of handing in, by a list; None if it does not say, or its time is not
            understood; it has a zone only if the list names one.
    """

    name: str
    external: Mapping[str, str]
    preferred_id: str = ""
    handed_in_at: datetime | None = None


@dataclass(frozen=True)
class KnownStudent:
    """A student of the course. keys: there may be several of a kind."""

    student: Student
    keys: frozenset[Key]


def clean_name(text: str) -> str:
    """Return a name on one line, at most 200 characters long. Invisible characters are replaced by
    their number, except for joiners in those scripts in which they say how letters are drawn
    (RFC 5892, A.1 and A.2): these are left out."""
    text = nfc(text[: 2 * _MOST_NAME])
    kept = [
        " " if char.isspace() else char
        for before, char in zip(" " + text, text, strict=False)
        if char not in _JOINERS or not _is_joined(before)
    ]
    return " ".join(visible("".join(kept)).split())[:_MOST_NAME]


def _is_joined(letter: str) -> bool:
    """Tell whether a joiner has a meaning after a letter, which is a virama or an Arabic letter."""
    return unicodedata.combining(letter) == 9 or unicodedata.bidirectional(letter) == "AL"


def keys_of(external: Mapping[str, str]) -> frozenset[Key]:
    """Return the keys by which students are recognized, as pairs of kind and value without case."""
    return frozenset((kind, folded(value)) for kind, value in external.items() if value)


# ---- ids -----------------------------------------------------------------------------------


def _strip_accents(name: str) -> str:
    text = unicodedata.normalize("NFKD", name.casefold().translate(_SPELT))
    return "".join(c for c in text if not unicodedata.combining(c))


def slug(name: str) -> str:
    """Return a name in ASCII, fit for a file name: "Zoë Łukasz" becomes zoe-lukasz. A name of which
    no letter or digit is left becomes student- with a short digest of it."""
    found = re.sub(r"[^a-z0-9_]+", "-", _strip_accents(name))[:_MOST_LETTERS].strip("-")
    if not re.search(r"[a-z0-9]", found):
        found = "student-" + hashlib.sha256(folded(name).encode()).hexdigest()[:8]
    return found


def _unlike(preferred: str, taken: Collection[str]) -> str:
    """Return an id, with a number if it is taken. taken: without case."""
    number = 1
    found = preferred
    while found.casefold() in taken:
        number += 1
        found = f"{preferred}-{number}"
    return found


# ---- the same student again ----------------------------------------------------------------


def _contradicts(person: Person, known: KnownStudent) -> bool:
    """Tell whether both have keys of a kind that is the same in a whole course, and these
    differ."""
    theirs = keys_of(person.external)
    for lasting in _LASTING:
        hers = {value for kind, value in theirs if kind == lasting}
        ours = {value for kind, value in known.keys if kind == lasting}
        if hers and ours and hers.isdisjoint(ours):
            return True
    return False


def _merged(known: KnownStudent, person: Person) -> KnownStudent:
    """Return a student with the collection's name and keys, and with older keys as far as they are
    the same in a whole course."""
    student = known.student
    lasting = {kind: value for kind, value in student.external.items() if kind in _LASTING}
    external = {**lasting, **{k: v for k, v in person.external.items() if v}}
    return KnownStudent(
        replace(student, name=person.name or student.name, external=external),
        known.keys | keys_of(person.external),
    )


Mark = tuple[str, frozenset[Key]]


def _mark(person: Person) -> Mark:
    """Return what a collection says of a person: the name and the keys."""
    return person.name, keys_of(person.external)


def _identify_by_keys(
    people: Sequence[Person], known: Sequence[KnownStudent]
) -> tuple[dict[int, str], dict[int, str]]:
    """Return by index the ids of people whose keys are known; and a text for each whose keys are
    those of several students."""
    by_key: dict[Key, set[str]] = {}
    for student in known:
        for key in student.keys:
            by_key.setdefault(key, set()).add(student.student.id)
    ids: dict[int, str] = {}
    unclear: dict[int, str] = {}
    for index, person in enumerate(people):
        fitting = set().union(*(by_key.get(key, ()) for key in keys_of(person.external)))
        if len(fitting) == 1:
            (ids[index],) = fitting
        elif fitting:
            unclear[index] = (
                f"{person.name} may be any of {', '.join(sorted(fitting))}: the keys are "
                "of several students. Say who is who in a list: --students FILE."
            )
    return ids, unclear


def _namesakes(
    person: Person, known: Sequence[KnownStudent], claimed: Collection[str], names: Collection[str]
) -> list[str]:
    """Return the ids of students that a person may be by name: the same name, or else one that
    differs in case and does not occur in the collection.

    Args:
        known: students of that name, whatever its case.
        claimed: ids that others of the collection have by their keys.
        names: all names in the collection.
    """
    fitting = [
        namesake.student
        for namesake in known
        if (namesake.student.id not in claimed or not person.external)
        and not _contradicts(person, namesake)
    ]
    exact = [student.id for student in fitting if student.name == person.name]
    return exact or [student.id for student in fitting if student.name not in names]


def _is_less_exact(person: Person) -> tuple[bool, bool]:
    """Return the sort key by which people get ids: first the person whose name an id is, then one
    who writes it with capitals, last one of whose name it leaves something out."""
    name = person.preferred_id or person.name
    return slug(name) != name.casefold(), slug(name) != name


def _is_cut(name: str) -> bool:
    """Tell whether a name begins or ends with what its id can't have, so that this may be another
    person's full name: that of "..ada", or of a name in two scripts. In names of several words,
    apostrophes and the marks of abbreviations and remarks don't count ('t Hooft, King Jr., Ada
    (she/her))."""
    text = _strip_accents(name).strip()
    if not re.search(r"[a-z0-9]", text):
        return False  # its id is of all of it
    if " " in text:
        text = text.lstrip("'\u2018\u2019\u02bb\u02bc").removesuffix(".").removesuffix(")")
    return not all(re.match(r"[a-z0-9_]", end) for end in (text[0], text[-1]))


def _new_id(person: Person, taken: Collection[str]) -> str:
    preferred = person.preferred_id
    if _SLUG.fullmatch(preferred):
        return _unlike(preferred, taken)
    name = preferred or person.name
    found = slug(name)
    return _unlike(found, {*taken, found} if _is_cut(name) else taken)


def _identify_by_names(
    people: Sequence[Person],
    known: Sequence[KnownStudent],
    left: Collection[int],
    claimed: Collection[str],
) -> tuple[dict[int, str], dict[int, str]]:
    """Return the same as _identify_by_keys for those who are left, by name. A person without a
    namesake becomes a new student. Names that differ in case are different students if the
    collection has both.

    Args:
        left: indices of the people who are to be identified.
        claimed: ids that others of the collection have by their keys.
    """
    marks = {index: _mark(people[index]) for index in left}
    # Each person of a name counts once, whatever number of entries there are.
    distinct = Counter(name for name, _ in set(marks.values()))
    by_name: dict[str, list[KnownStudent]] = {}
    for student in known:
        by_name.setdefault(folded(student.student.name), []).append(student)
    taken = {student.student.id.casefold() for student in known}
    ids: dict[int, str] = {}
    unclear: dict[int, str] = {}
    id_of: dict[Mark, str] = {}
    names = {person.name for person in people}
    namesakes_of = {
        mark: _namesakes(people[index], by_name.get(folded(mark[0]), ()), claimed, names)
        for index, mark in marks.items()
    }
    claimants = Counter(id_ for namesakes in namesakes_of.values() for id_ in namesakes)
    ordered = sorted(
        left,
        key=lambda index: (
            _is_less_exact(people[index]),
            folded(marks[index][0]),
            marks[index][0],
            sorted(marks[index][1]),
        ),
    )
    for index in ordered:
        person, mark = people[index], marks[index]
        if mark not in id_of:
            namesakes = namesakes_of[mark]
            if len(namesakes) > 1 or (
                namesakes and (distinct[mark[0]] > 1 or claimants[namesakes[0]] > 1)
            ):
                unclear[index] = (
                    f"Several students are called {person.name}, and the delivery does not tell "
                    "which of them this is. Say who is who in a list: --students FILE."
                )
                continue
            id_of[mark] = namesakes[0] if namesakes else _new_id(person, taken)
            taken.add(id_of[mark].casefold())
        ids[index] = id_of[mark]
    return ids, unclear


def identify(
    people: Sequence[Person], known: Sequence[KnownStudent]
) -> tuple[tuple[Student | str, ...], tuple[KnownStudent, ...]]:
    """Return for each person the student, or a text on why it is not clear who that is; and all
    students that are then known, by id. People with the same name and the same keys, or none, are
    one student."""
    ids, unclear = _identify_by_keys(people, known)
    left = [index for index in range(len(people)) if index not in ids | unclear]
    more, unclear_too = _identify_by_names(people, known, left, set(ids.values()))
    ids, unclear = ids | more, unclear | unclear_too
    course = {student.student.id: student for student in known}
    for index, id_ in ids.items():
        person = people[index]
        before = course.get(id_) or KnownStudent(Student(id_, person.name, {}), frozenset())
        course[id_] = _merged(before, person)
    students = tuple(
        course[ids[index]].student if index in ids else unclear[index]
        for index in range(len(people))
    )
    return students, tuple(sorted(course.values(), key=lambda student: student.student.id))


# ---- kept with the course ------------------------------------------------------------------


def read_known(path: Path) -> tuple[KnownStudent, ...]:
    """Return the course's students; none if there is no file. Raises UserError if it is damaged or
    can't be read."""
    if not path.exists():
        return ()
    data = read_json(path)
    try:
        return tuple(
            KnownStudent(
                Student(str(entry["id"]), str(entry["name"]), dict(entry["external"])),
                frozenset((str(kind), str(value)) for kind, value in entry["keys"]),
            )
            for entry in data["students"]
        )
    except (TypeError, KeyError, ValueError) as error:
        raise UserError(
            f"{path} can't be read; it says which id each student has. Put it back from a "
            "backup, or remove it: then ids are given anew, and who was called alike may get "
            "another one."
        ) from error


def write_known(path: Path, known: Sequence[KnownStudent]) -> None:
    """Write the course's students unless the file has them."""
    students = [asdict(one.student) | {"keys": sorted(map(list, one.keys))} for one in known]
    write_changed(path, {"schema": SCHEMA, "students": students})


def write_changed(path: Path, data: Json) -> None:
    """Write a JSON file unless it has the data."""
    as_read = json.loads(json.dumps(data))  # with lists for tuples
    if read_json(path) != as_read:
        write_json(path, as_read)
