"""Who is who: the same student in every delivery, and the same id.

Keys of the course's system decide, then names. Where neither does, nobody is guessed: the
delivery's entry is a problem, and a student list (--students) tells.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from numalab.course.intake.trees import folded, nfc
from numalab.course.records import Student
from numalab.errors import UserError
from numalab.files import read_json, write_json
from numalab.strangers.visible import visible

SCHEMA = 1
_MOST_LETTERS = 40
_MOST_NAME = 200
# Of these a student has one in a whole course. Moodle's "identifier" is another one in each
# assignment (table assign_user_mapping), and never somebody else's.
_LASTING = ("id", "login", "email", "idnumber")
# Letters that don't come apart into an ASCII letter and an accent.
_SPELT = str.maketrans(
    {"ß": "ss", "æ": "ae", "ø": "o", "å": "a", "œ": "oe", "ł": "l", "đ": "d", "ð": "d",
     "þ": "th", "\u0131": "i"}
)  # fmt: skip
_JOINERS = "\u200c\u200d"
_SLUG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,63}")

Key = tuple[str, str]


@dataclass(frozen=True)
class Person:
    """Somebody as a delivery names them. preferred_id: that the instructor's list or the
    system's login gives, empty: there is none."""

    name: str
    external: Mapping[str, str]
    preferred_id: str = ""


@dataclass(frozen=True)
class KnownStudent:
    """A student of this course. keys: all that were ever seen, of each kind maybe several."""

    student: Student
    keys: frozenset[Key]


def clean_name(text: str) -> str:
    """A name on one line, as people write it. What can't be seen is shown by its number, so that
    nobody is called as somebody else is, but for the joiners of some scripts, which say how letters
    are drawn (RFC 5892, A.1 and A.2)."""
    text = nfc(text[: 2 * _MOST_NAME])
    kept = [
        " " if char.isspace() else char
        for before, char in zip(" " + text, text, strict=False)
        if char not in _JOINERS or not _is_joined(before)
    ]
    return " ".join(visible("".join(kept)).split())[:_MOST_NAME]


def _is_joined(letter: str) -> bool:
    """Whether a joiner after it has a meaning: a virama, or an Arabic letter."""
    return unicodedata.combining(letter) == 9 or unicodedata.bidirectional(letter) == "AL"


def keys_of(external: Mapping[str, str]) -> frozenset[Key]:
    """E-mail addresses and logins are compared without case."""
    return frozenset((kind, folded(value)) for kind, value in external.items() if value)


# ---- ids -----------------------------------------------------------------------------------


def _strip_accents(name: str) -> str:
    text = unicodedata.normalize("NFKD", name.casefold().translate(_SPELT))
    return "".join(c for c in text if not unicodedata.combining(c))


def slug(name: str) -> str:
    """ASCII for a name: "Zoë Łukasz" is zoe-lukasz. Of a name without Latin letters a short
    digest, which is the same every time."""
    found = re.sub(r"[^a-z0-9_]+", "-", _strip_accents(name))[:_MOST_LETTERS].strip("-")
    if not re.search(r"[a-z0-9]", found):
        found = "student-" + hashlib.sha256(folded(name).encode()).hexdigest()[:8]
    return found


def _unlike(preferred: str, taken: Collection[str]) -> str:
    number = 1
    found = preferred
    while found.casefold() in taken:
        number += 1
        found = f"{preferred}-{number}"
    return found


# ---- the same student again ----------------------------------------------------------------


def _contradicts(person: Person, known: KnownStudent) -> bool:
    """Whether both have a key of a kind of which a student has one, and another value."""
    theirs = keys_of(person.external)
    for lasting in _LASTING:
        hers = {value for kind, value in theirs if kind == lasting}
        ours = {value for kind, value in known.keys if kind == lasting}
        if hers and ours and hers.isdisjoint(ours):
            return True
    return False


def _merged(known: KnownStudent, person: Person) -> KnownStudent:
    """With the delivery's keys, and of those before only such as hold for other deliveries."""
    student = known.student
    lasting = {kind: value for kind, value in student.external.items() if kind in _LASTING}
    external = {**lasting, **{k: v for k, v in person.external.items() if v}}
    return KnownStudent(
        replace(student, name=person.name or student.name, external=external),
        known.keys | keys_of(person.external),
    )


Mark = tuple[str, frozenset[Key]]


def _mark(person: Person) -> Mark:
    """What a delivery tells of somebody: two with the same mark are one. Names that differ in case
    are of two people, as far as the delivery has both."""
    return person.name, keys_of(person.external)


def _identify_by_keys(
    people: Sequence[Person], known: Sequence[KnownStudent]
) -> tuple[dict[int, str], dict[int, str]]:
    """Of the people whose keys are known: by index the id, or why it is not clear."""
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
    """Ids of those of that name who it may be: of just that name, or else of one that differs in
    case and that nobody in the delivery has. known: of the name without case; claimed: who is in
    the delivery by other keys; names: in the delivery."""
    fitting = [
        namesake.student
        for namesake in known
        if (namesake.student.id not in claimed or not person.external)
        and not _contradicts(person, namesake)
    ]
    exact = [student.id for student in fitting if student.name == person.name]
    return exact or [student.id for student in fitting if student.name not in names]


def _is_less_exact(person: Person) -> tuple[bool, bool]:
    """Orders people: an id is first theirs whose name it is, then theirs who write it in capitals,
    and last theirs of whose name it leaves something out."""
    name = person.preferred_id or person.name
    return slug(name) != name.casefold(), slug(name) != name


def _is_cut(name: str) -> bool:
    """Whether an id leaves out how a name begins or ends, so that it may be another one's in full:
    of "..ada" and of a name in two scripts. Apostrophes and the marks of abbreviations and remarks
    are of many names ('t Hooft, King Jr., Ada (she/her))."""
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
    """As _by_keys, of those who are left: by name, and who is nobody's namesake is new."""
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
            namesakes = _namesakes(person, by_name.get(folded(mark[0]), ()), claimed, names)
            if len(namesakes) > 1 or (namesakes and distinct[mark[0]] > 1):
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
    """For each person the student, or a sentence that says why it is not clear who that is; and
    all students that are known then. Two people with the same keys, or with the same name and no
    keys, are one."""
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
    """None of them where the course is new. Raises UserError."""
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
    """Raises OSError."""
    students: list[dict[str, Any]] = [
        {
            "id": student.student.id,
            "name": student.student.name,
            "external": dict(student.student.external),
            "keys": sorted(map(list, student.keys)),
        }
        for student in known
    ]
    data = {"schema": SCHEMA, "students": students}
    if read_json(path) != data:
        write_json(path, data)
