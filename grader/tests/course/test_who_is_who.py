"""The same student in every delivery: by keys, then by names, and with which id."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from support.golden_texts import check_text, raises_text

from numalab.course.intake.students import (
    KnownStudent,
    Person,
    clean_name,
    identify,
    keys_of,
    read_known,
    slug,
    write_known,
)
from numalab.course.records import Student
from numalab.errors import UserError


def person(name: str, preferred: str = "", **external: str) -> Person:
    return Person(name, external, preferred)


def known(id_: str, name: str, **external: str) -> KnownStudent:
    return KnownStudent(Student(id_, name, external), keys_of(external))


def ids(people: list[Person], *before: KnownStudent) -> list[str]:
    """Of each the id, or the first words of why that does not show."""
    found, _ = identify(people, before)
    return [one.id if isinstance(one, Student) else one[:20] for one in found]


# ---- names -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("  Ada \t Lovelace\n", "Ada Lovelace"), ("", ""), ("\u00a0", ""),
        ("Jose\u0301", "Jos\u00e9"), ("a\x1bb", r"a\x1bb"), ("\u202eada", "<U+202E>ada"),
        ("x" * 201, "x" * 200), ("ab " * 150, ("ab " * 67)[:200]),
        (" " * 399 + "abc", "a"),  # is not looked through to its end
        ("\u0645\u06cc\u200c\u062e", "\u0645\u06cc\u062e"),
        ("\u092c\u094d\u200d\u0926", "\u092c\u094d\u0926"),
        ("ada\u200c", "ada<U+200C>"), ("\u200dada", "<U+200D>ada"),
        ("e\u0323\u200dx", "\u1eb9<U+200D>x"),
    ],
)  # fmt: skip
def test_names_on_one_line(text: str, name: str) -> None:
    assert clean_name(text) == name


def test_keys_are_compared_without_case() -> None:
    found = keys_of({"email": "A@X.org", "login": "Ada  9", "id": ""})
    assert found == {("email", "a@x.org"), ("login", "ada 9")}


@pytest.mark.parametrize(
    ("name", "id_"),
    [
        ("Zoë Łukasz", "zoe-lukasz"), ("under_score", "under_score"), ("Straße", "strasse"),
        ("a" * 45, "a" * 40), (f"{'a' * 39} b", "a" * 39), ("--x--", "x"), ("A.B", "a-b"),
        ("Ðorđe Þór", "dorde-thor"), ("I\u0307\u0131", "ii"), ("7", "7"),
    ],
)  # fmt: skip
def test_ids_in_ascii(name: str, id_: str) -> None:
    assert slug(name) == id_


@pytest.mark.parametrize("name", ["李雷", "__", "...", ""])
def test_ids_of_names_without_latin_letters(name: str) -> None:
    assert slug(name) == f"student-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


# ---- new ones --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("people", "found"),
    [
        ([person("Ada"), person("Ada")], ["ada", "ada"]),
        ([person("Ada", id="1"), person("Ada", id="2"), person("Ada", id="1")],
         ["ada", "ada-2", "ada"]),
        ([person("Ada", id="2"), person("Ada", id="1")], ["ada-2", "ada"]),
        # Whose name the id is has it, then who writes it in capitals, then whose it shortens.
        ([person("Ada!"), person("ADA"), person("ada")], ["ada-3", "ada-2", "ada"]),
        ([person("Zoe"), person("Zoë"), person("zoe")], ["zoe-2", "zoe-3", "zoe"]),
        ([person("b"), person("B c"), person("b-c")], ["b", "b-c-2", "b-c"]),
        ([person("x", "Ada9"), person("ada9")], ["Ada9-2", "ada9"]),
        ([person("a", "ADA"), person("z", "ada")], ["ADA-2", "ada"]),
        ([person("x", "a b"), person("y", "-rf"), person("z", "s.1")], ["a-b", "rf-2", "s.1"]),
        ([person("x", "s" * 64), person("y", "S" * 65)], ["s" * 64, "s" * 40]),
    ],
)  # fmt: skip
def test_new_students(people: list[Person], found: list[str]) -> None:
    assert ids(people) == found


@pytest.mark.parametrize(
    ("name", "is_cut"),
    [
        ("..ada", True), ("ada;", True), ("王ada", True), ("ada", False), ("_ada_", False),
        ("'t Hooft", False), ("'tHooft", True), ("King Jr.", False), ("Jr.", True),
        ("Ada (she/her)", False), ("(Ada) L", True), ("Éva É", False), ("王 ada", True),
        ("\u2019t Hooft (x).", False), ("王", False), ("Ada L..", True), ("Ada L)", False),
    ],
)  # fmt: skip
def test_an_id_that_leaves_out_an_end_of_a_name_is_another_ones(name: str, is_cut: bool) -> None:
    (found,) = ids([person(name)])
    assert found == slug(name) + ("-2" if is_cut else "")


# ---- those who are known ---------------------------------------------------------------------

ADA = known("ada", "Ada", login="ada9", email="a@x.org")
ADA_2 = known("ada-2", "Ada", login="ada7")


@pytest.mark.parametrize(
    ("people", "before", "found"),
    [
        ([person("X", login="ADA9")], [ADA], ["ada"]),
        ([person("Ada")], [ADA], ["ada"]),
        ([person("Ada", id="5")], [ADA], ["ada"]),
        ([person("Ada", identifier="Participant 9")], [ADA], ["ada"]),
        # Of a lasting kind a student has one key.
        ([person("Ada", login="other")], [ADA], ["ada-2"]),
        ([person("Ada", login="other", email="a@x.org")], [ADA], ["ada"]),
        ([person("Ada", identifier="Participant 9")],
         [known("ada", "Ada", identifier="Participant 1")], ["ada"]),
        # Keys of several students, and several of one name.
        ([person("Ada", login="ada9", id="5")], [ADA, known("bob", "Bob", id="5")],
         ["Ada may be any of ad"]),
        ([person("Ada")], [ADA, ADA_2], ["Several students are"]),
        ([person("Ada", login="ada9"), person("Ada", id="5")], [ADA, ADA_2], ["ada", "ada-2"]),
        ([person("Ada", id="5"), person("Ada", id="6")], [ADA], ["Several students are"] * 2),
        ([person("Ada"), person("Ada")], [ADA], ["ada", "ada"]),
        # Who is there by a key may be there by the name alone, and not by another key.
        ([person("X", login="ada9"), person("Ada")], [ADA], ["ada", "ada"]),
        ([person("X", login="ada9"), person("Ada", id="5")], [ADA], ["ada", "ada-2"]),
        # Names in another case, unless the delivery has both.
        ([person("ADA")], [ADA], ["ada"]),
        ([person("ADA"), person("Ada")], [ADA], ["ada-2", "ada"]),
        ([person("ADA")], [known("ada", "Ada"), known("x", "ADA")], ["x"]),
        ([person("Ada"), person("ada")], [known("ada", "ADA")], ["Several students are"] * 2),
        ([person("Ada"), person("ada")], [known("ada", "ADA"), known("x", "Ada")], ["x", "ada"]),
        ([person("ADA")], [known("ada", "Ada"), known("x", "aDA")], ["Several students are"]),
        ([person("New")], [ADA], ["new"]),
        ([person("a-d-a", "ADA")], [ADA], ["ADA-2"]),
    ],
)  # fmt: skip
def test_the_same_student_again(
    people: list[Person], before: list[KnownStudent], found: list[str]
) -> None:
    assert ids(people, *before) == found


def test_what_is_known_of_a_student_grows_by_each_delivery() -> None:
    """Old keys still tell who it is; what is shown is the newest, and nothing of an assignment that
    is over."""
    before = known("ada", "Ada", login="ada9", identifier="Participant 1")
    bob = known("bob", "Bob")
    people = [person("Ada L", login="ada9", email="a@x.org", id=""), person("Zoe")]
    (ada, zoe), after = identify(people, [bob, before])
    assert ada == Student("ada", "Ada L", {"login": "ada9", "email": "a@x.org"})
    keys = {("login", "ada9"), ("identifier", "participant 1"), ("email", "a@x.org")}
    assert after == (
        KnownStudent(ada, frozenset(keys)), bob,
        KnownStudent(Student("zoe", "Zoe", {}), frozenset()),
    )  # fmt: skip
    assert zoe == after[2].student
    (again,), _ = identify([person("", identifier="PARTICIPANT 1")], after)
    assert isinstance(again, Student)
    assert (again.id, again.name, again.external["identifier"]) == ("ada", "Ada L", "PARTICIPANT 1")


def test_why_it_is_not_clear_who_somebody_is() -> None:
    (why,), after = identify(
        [person("Ada", login="ada9", id="5")], [known("bob", "B", id="5"), ADA]
    )
    assert isinstance(why, str)
    check_text(why)
    assert [one.student.id for one in after] == ["ada", "bob"]
    (why,), _ = identify([person("Ada")], [ADA, ADA_2])
    assert isinstance(why, str)
    check_text(why)


# ---- kept ------------------------------------------------------------------------------------


def test_who_is_known_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "students.json"
    assert read_known(path) == ()
    everybody = (
        ADA,
        KnownStudent(Student("bob", "Bob", {"id": "5"}), frozenset({("id", "5"), ("id", "4")})),
    )
    write_known(path, everybody)
    assert read_known(path) == everybody
    assert json.loads(path.read_text()) == {
        "schema": 1,
        "students": [
            {"id": "ada", "name": "Ada", "external": {"login": "ada9", "email": "a@x.org"},
             "keys": [["email", "a@x.org"], ["login", "ada9"]]},
            {"id": "bob", "name": "Bob", "external": {"id": "5"},
             "keys": [["id", "4"], ["id", "5"]]},
        ],
    }  # fmt: skip
    before = path.stat()
    write_known(path, everybody)
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    write_known(path, everybody[:1])
    assert read_known(path) == everybody[:1]


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"students": [{"id": "a"}]}', '{"students": [7]}',
             '{"students": [{"id": "a", "name": "A", "external": {}, "keys": ["xyz"]}]}'],
)  # fmt: skip
def test_what_is_no_record_of_students_is_told(tmp_path: Path, text: str) -> None:
    path = tmp_path / "students.json"
    path.write_text(text)
    with raises_text(UserError):
        read_known(path)
