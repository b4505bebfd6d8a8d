"""Lists of a class: which columns are understood, whose a line is, and what a delivery's people
are called by it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

import pytest
from support.golden_texts import check_text, raises_text

from numalab.course.intake import list_times
from numalab.course.intake.list_times import parse_time, read_times
from numalab.course.intake.moodle_columns import LANGUAGES, participant, read_header
from numalab.course.intake.student_list import (
    match_students,
    merge_listed,
    parse_column_options,
    read_student_list,
)
from numalab.course.intake.students import Person
from numalab.errors import UserError

Line = tuple[str, dict[str, str], str]


def read(
    folder: Path, text: str, named: Mapping[str, str] | None = None
) -> tuple[list[Line], list[datetime | None], tuple[str, ...]]:
    path = folder / "list.csv"
    path.write_text(text, encoding="utf-8")
    listed, remarks = read_student_list(path, named)
    lines = [(who.name, dict(who.external), who.preferred_id) for who in listed]
    return lines, [one.handed_in_at for one in listed], remarks


# ---- columns ---------------------------------------------------------------------------------

LISTS: Mapping[str, tuple[str, list[Line]]] = {
    "own": (
        "id,name,email\ns1,Ada  Lovelace,A@x.org\n,,\ns2,,\n",
        [("Ada Lovelace", {"id": "s1", "email": "A@x.org"}, "s1"), ("s2", {"id": "s2"}, "s2")],
    ),
    "semicolons": ('name;id\n"Lovelace, Ada";7\n', [("Ada Lovelace", {"id": "7"}, "7")]),
    "tabs": ("name\tid\tof, course\nAda\t7\tx\n", [("Ada", {"id": "7"}, "7")]),
    "two names": (
        "first_name,last_name,login,idnumber\nAda,Lovelace,ada9,\n,Bold,,\n",
        [("Ada Lovelace", {"login": "ada9"}, ""), ("Bold", {}, "")],
    ),
    "more cells than titles": ("name\nAda,x,y\nBob\n", [("Ada", {}, ""), ("Bob", {}, "")]),
    "the first cell that says something": (
        "id,name,student name,Full name\n7,,x,Ada\n8,Bob,x,Bobby\n",
        [("Ada", {"id": "7"}, "7"), ("Bob", {"id": "8"}, "8")],
    ),
    "canvas": (
        "Student,ID,SIS User ID,SIS Login ID,Section\n    Points Possible,,,,\n"
        '"Lovelace, Ada",7,u7,ada,A\n',
        [("Ada Lovelace", {"id": "7", "idnumber": "u7", "login": "ada"}, "")],
    ),
    "github classroom": (
        "identifier,github_username,github_id,name\nu7,Ada9,1,Ada\n,bob,2,\nu9,,,Eve\n",
        [("Ada", {"login": "Ada9", "idnumber": "u7"}, "Ada9"), ("bob", {"login": "bob"}, "bob"),
         ("Eve", {"idnumber": "u9"}, "")],
    ),
    "classroom 50": (
        "username,first_name,last_name,email,github_id\nAda9,Ada,L,,1\n",
        [("Ada L", {"login": "Ada9"}, "Ada9")],
    ),
    "scores": (
        "username,first_name,last_name,submission_tag\nada9,Ada,L,x\nADA9,Ada,L,y\nbob,Bob,B,\n",
        [("Ada L", {"login": "ada9"}, "ada9"), ("Bob B", {"login": "bob"}, "bob")],
    ),
    "an id before a login": (
        "username,name,id,max role\nada9,Ada,s1,Developer\n",
        [("Ada", {"login": "ada9", "id": "s1"}, "s1")],
    ),
    "roles of another system": (
        "name,role\nAda,Owner\n", [("Ada", {}, "")]
    ),
    "roles without usernames": (
        "login,name,max role\nada9,Ada,Owner\n", [("Ada", {"login": "ada9"}, "")]
    ),
    "a number that is no participant's": (
        "Identifier,Full name\n7,Ada\n", [("Ada", {"identifier": "7"}, "")]
    ),
    "usernames without roles": (
        "username,name\nada9,Ada\n", [("Ada", {"login": "ada9"}, "")]
    ),
    "participants": (
        "First name,Last name,ID number,Email address\nAda,Lovelace,u7,a@x.org\n",
        [("Ada Lovelace", {"idnumber": "u7", "email": "a@x.org"}, "")],
    ),
    "a worksheet": (
        "Identifier,Full name,Email address,Grade,Maximum grade,Grade can be changed\n"
        "Participant 101,Ada,a@x.org,,10,Yes\nTeilnehmer/in 102,Bob,,,10,Yes\n,Eve,,,10,Yes\n"
        "x,Kim,,,10,Yes\n",
        [("Ada", {"identifier": "Participant 101", "email": "a@x.org"}, ""),
         ("Bob", {"identifier": "Participant 102"}, ""), ("Eve", {}, ""),
         ("Kim", {"identifier": "x"}, "")],
    ),
    "a worksheet in German": (
        "ID,Vollständiger Name,E-Mail-Adresse,Bewertung,Bestwertung,"
        "Bewertung kann geändert werden\nTeilnehmer/in101,Ada,a@x.org,,10,Ja\n",
        [("Ada", {"identifier": "Participant 101", "email": "a@x.org"}, "")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", LISTS)
def test_whom_a_list_names(tmp_path: Path, kind: str) -> None:
    text, people = LISTS[kind]
    assert read(tmp_path, text) == (people, [None] * len(people), ())
    assert read(tmp_path, f"\ufeff{text}".replace("\n", "\r\n"))[0] == people


def test_owners_of_a_group_teach(tmp_path: Path) -> None:
    text = (
        "Username,Name,Max role,Source\nboss,Boss,Owner,g\nada9,Ada,,g\n,Nobody,owner,g\n"
        "bob,Bob,Maintainer,g\n,,,\nADA9,Ada L,Developer,g/sub\n"
    )
    lines, _, remarks = read(tmp_path, text)
    assert lines == [
        ("Ada", {"login": "ada9"}, "ada9"), ("Bob", {"login": "bob"}, "bob")
    ]  # fmt: skip
    check_text(remarks)
    other = "Name,Username,Email,Role type,Role\nBoss,boss,,x,Owner\nAda,ada9,a@x.org,x,Guest\n"
    assert read(tmp_path, other)[0] == [("Ada", {"login": "ada9", "email": "a@x.org"}, "ada9")]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a,b\nc,d\n",
        f"{'a' * 201},b\n",
        "first_name,idnumber\nAda,7\n",
        'id,name\n7,"Ada\n',
        "id,handed_in_at\n7,\n8,soon\n",
    ],
)
def test_what_is_no_list(tmp_path: Path, text: str) -> None:
    with pytest.raises(UserError) as error:
        read(tmp_path, text)
    check_text(str(error.value))


@pytest.mark.parametrize(
    ("text", "named"),
    [("name=Voller  Name", {"voller name": "name"}), ("id=A=B", {"a=b": "id"})],
)
def test_columns_are_named_by_their_titles(text: str, named: dict[str, str]) -> None:
    assert parse_column_options([text]) == named


@pytest.mark.parametrize("text", ["nom=Nom", "name", "name=", "name= ", "=x", ""])
def test_what_names_no_column(text: str) -> None:
    with raises_text(UserError):
        parse_column_options([text])


def test_a_column_that_is_named_is_in_anothers_place(tmp_path: Path) -> None:
    text = "name,Wer,email,Kennung\nx,Ada,a@x.org,7\n"
    named = parse_column_options(["name=WER", "login=Kennung"])
    (line,), _, _ = read(tmp_path, text, named)
    assert line == ("Ada", {"email": "a@x.org", "login": "7"}, "")
    with raises_text(UserError):
        read(tmp_path, text, {"nosuch": "name"})


def test_when_it_was_handed_in(tmp_path: Path) -> None:
    """What the instructor has added comes before Moodle's own words."""
    text = (
        "Full name,Last modified (submission),handed_in_at\n"
        'Ada,"Saturday, 21 November 2026, 11:30 PM",2026-11-20T18:00:00+01:00\n'
        'Bob,"Saturday, 21 November 2026, 11:30 PM",-\nEve,-,\nKim\n'
    )
    lines, times, remarks = read(tmp_path, text)
    assert [name for name, _, _ in lines] == ["Ada", "Bob", "Eve", "Kim"] and not remarks
    evening = datetime(2026, 11, 21, 23, 30)
    assert times == [datetime.fromisoformat("2026-11-20T18:00:00+01:00"), evening, None, None]


def test_times_that_are_not_understood_are_counted(tmp_path: Path) -> None:
    head = "Full name,Last modified (submission)\n"
    (remark,) = read(tmp_path, f"{head}Ada,late\nBob,-\nEve,soon\n")[2]
    check_text(remark)
    (remark,) = read(tmp_path, f"{head}Ada,2026-11-21 10:00\nBob,{'x' * 201}\n")[2]
    check_text(remark)


# ---- headers of Moodle -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "rows", "language", "places"),
    [
        (["x", "y"], [], None, {}),
        (["x", "a"], [["1", "a@x.org"]], None, {}),
        (["Full name", "Post"], [["Ada", "a@x.org"], ["Bob", " "], ["Eve"]], "en",
         {"name": 0, "email": 1}),
        (["Full name", "Post"], [["Ada", "a@x.org"], ["Bob", "b"]], "en", {"name": 0}),
        (["Full name", "Post"], [], "en", {"name": 0}),
        (["Points", "Maximum Grade", "Last modified (grade)", "Words"], [], "en",
         {"grade": 0, "maximum": 1, "modified": 2, "feedback": 3}),
        (["Full name", "Maximum Grade", "Last modified (grade)", "x", "y"], [], "en",
         {"name": 0, "maximum": 1, "modified": 2}),
        (["Full name", "Mine", "Grade", "Maximum Grade"], [], "en",
         {"name": 0, "grade": 2, "maximum": 3}),
        (["Maximum grade", "x"], [], "en", {"maximum": 0}),
        (["Full name", "Grade", "Last modified (grade)", "Email address"], [], "en",
         {"name": 0, "grade": 1, "modified": 2, "email": 3}),
        (["Full name", "Last modified (grade)", "x"], [["Ada", "y", "a@x.org"]], "en",
         {"name": 0, "modified": 1, "feedback": 2}),
        (["Cognome"], [], "it", {"last": 0}),
        (["Nome", "Cognome"], [], "it", {"first": 0, "last": 1}),
        (["Full name", "Last name"], [], "en", {"name": 0, "last": 1}),
        (["First name"], [], "en", {"name": 0}),
        (["First name", "Last name"], [], "en", {"first": 0, "last": 1}),
        (["First name", "Full name"], [], "en", {"first": 0, "name": 1}),
        (["Grade", "Mine", "Maximum grade"], [], "en", {"grade": 0, "maximum": 2}),
        (["Post", "Email address", "Full name"], [["a@x.org", "b@x.org", "c@x.org"]], "en",
         {"email": 1, "name": 2}),
        (["Full name", "Post"], [["a@x.org", "b@x.org"]], "en", {"name": 0, "email": 1}),
        (["full  NAME.", "Feedback comments", "Last modified (grade)", "x"], [], "en",
         {"name": 0, "feedback": 1, "modified": 2}),
    ],
)  # fmt: skip
def test_places_of_columns(
    header: list[str], rows: list[list[str]], language: str | None, places: dict[str, int]
) -> None:
    found = read_header(header, rows)
    assert (found.language, dict(found.places)) == (language, places)
    assert found.words is (LANGUAGES[language] if language else None)
    is_worksheet = bool({"changeable", "moodle_time", "modified"} & places.keys())
    assert found.is_worksheet == is_worksheet


@pytest.mark.parametrize(
    ("text", "number"),
    [("Participant 123", "123"), ("Teilnehmer/in7 ", "7"), ("7 up", ""), ("", "")],
)
def test_the_number_of_a_participant(text: str, number: str) -> None:
    assert participant(text) == number


# ---- times -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("clock", "time"),
    [
        ("12:30 AM", (0, 30)), ("12:30 PM", (12, 30)), ("1:00 PM", (13, 0)), ("11:59 AM", (11, 59)),
        ("0:30 AM", (0, 30)), ("13:00 PM", (13, 0)), ("13:00 AM", None), ("12:00", (12, 0)),
        ("0:00", (0, 0)), ("23:59:58", (23, 59, 58)), ("11:30:45 PM", (23, 30, 45)),
        ("24:01", None), ("24:00:01", None), ("25:00", None), ("10:60", None),
        ("abcd 10:00", (10, 0)), ("abcde 10:00", None), ("3 10:00", None), ("10:00 x", None),
        ("12345 10:00", (10, 0)),
    ],
)  # fmt: skip
def test_hours_in_english(clock: str, time: tuple[int, ...] | None) -> None:
    expected = datetime(2026, 11, 21, *time) if time else None
    assert parse_time(f"Saturday, 21 November 2026, {clock}", "en") == expected


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026年11月21日 午後11:30", (23, 30)), ("2026年11月21日 午前9:05:07", (9, 5, 7)),
        ("2026年11月21日(土曜日) 23:30", (23, 30)), ("2026年11月21日(日曜日) 23:30", None),
        ("2026年11月21日 午前午後9:05", None), ("2026年11月21日 午前 午後 9:05", None),
        ("2026年11月21日 なに 9:05", None), ("2026年11月21日 9:05 なに", None),
        ("2026年13月21日 9:05", None), ("2026年11月21日 午前13:05", None),
        ("2026年11月21日 9:05 ,", (9, 5)),
    ],
)  # fmt: skip
def test_hours_where_numbers_have_units(text: str, time: tuple[int, ...] | None) -> None:
    assert parse_time(text, "ja") == (datetime(2026, 11, 21, *time) if time else None)


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("1 January 1000, 10:00", datetime(1000, 1, 1, 10)), ("1 January 999, 10:00", None),
        ("21 November, 10:00", None), ("21 22 November 2026, 10:00", None),
        ("21 2026, 10:00", None), ("31 December 9999, 24:00", None),
        ("2026 November 21, 10:00", datetime(2026, 11, 21, 10)),
    ],
)  # fmt: skip
def test_a_day_needs_its_month_and_its_year(text: str, time: datetime | None) -> None:
    assert parse_time(text, "en") == time


@pytest.mark.parametrize(
    ("text", "time"),
    [
        # mar. is Tuesday and March, mars March alone; the 3rd of March 2026 is a Tuesday.
        ("mar. 3 mars 2026, 10:00", datetime(2026, 3, 3, 10)),
        ("mer. 3 mars 2026, 10:00", None),
    ],
)
def test_words_of_two_meanings(text: str, time: datetime | None) -> None:
    assert parse_time(text, "fr") == time


def test_what_is_preferred_is_tried_before_every_other_language() -> None:
    first, second, *others = list_times._locales(("no_such", "de"))
    assert (first, second) == ("no_such", "de")
    assert {"en", "cs", "zh"} <= set(others) and not {"root", "pt_BR"} & set(others)


def test_a_column_is_in_one_language_as_far_as_its_first_times_show(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(list_times, "_locales", iter)  # and no others, of which there are many
    english, at = "Saturday, 21 November 2026, 10:00 AM", datetime(2026, 11, 21, 10)
    assert read_times(["?", "?", english, english], ["en"]) == [None, None, at, at]
    assert read_times(["?", "?", "?", english], ["en"]) == [None] * 4
    assert read_times(["2026-11-21 10:00", "?", english], ["en"]) == [at, None, at]
    assert read_times(["2026-13-21 10:00", "9999-12-31 24:00"], ["en"]) == [None, None]
    both = ["samedi 21 novembre 2026, 10:00", "sabato 21 novembre 2026, 10:00"]
    assert read_times([*both, both[1]], ["fr", "it"]) == [None, at, at]
    assert read_times(both, ["fr", "it"]) == [at, None]
    assert read_times(both, ["xx", "it", "fr"]) == [None, at]
    assert read_times([], ["en"]) == []


# ---- whose line it is ------------------------------------------------------------------------


def listed(name: str, **external: str) -> Person:
    return Person(name, external)


ADA, BOB = listed("Ada Lovelace", email="a@x.org", id="7"), listed("Bob Bold", email="b@x.org")


@pytest.mark.parametrize(
    ("people", "lines", "found"),
    [
        ([Person("X", {"email": "A@x.org"})], [ADA, BOB], [0]),
        ([Person("Ada Lovelace", {})], [ADA, BOB], [0]),
        ([Person("lovelaceada", {})], [ADA, BOB], [0]),
        ([Person("ADA_LOVELACE", {}), Person("b@x.org", {})], [ADA, BOB], [0, 1]),
        ([Person("7", {}), Person("nobody", {})], [ADA, BOB], [0, None]),
        # Keys are not names where the delivery has keys itself.
        ([Person("7", {}), Person("X", {"login": "x"})], [ADA, BOB], [None, None]),
        # Of two lines by two keys it is neither, by its name neither.
        ([Person("Ada Lovelace", {"id": "7", "email": "b@x.org"})], [ADA, BOB], [None]),
        # A key that two lines have decides nothing.
        ([Person("X", {"email": "a@x.org"})], [ADA, listed("Adam", email="A@x.org")], [None]),
        # A line is one person's by a key, and nobody's by name then.
        ([Person("Ada Lovelace", {}), Person("X", {"id": "7"})], [ADA, BOB], [None, 0]),
        ([Person("Ada Lovelace", {})], [ADA, listed("Lovelace Ada")], [None]),
        ([Person("Ada Lovelace", {})], [listed("Ada", id="1"), listed("Lovelace")], [None]),
    ],
)
def test_whose_line_it_is(
    people: list[Person], lines: list[Person], found: list[int | None]
) -> None:
    expected = tuple(None if at is None else lines[at] for at in found)
    assert match_students(people, lines) == expected


def test_numbers_of_an_assignment_decide_only_where_they_fit() -> None:
    lines = [listed("Ada", identifier="Participant 1"), listed("Bob", identifier="Participant 2")]
    ada, bob, other = (
        Person(name, {"identifier": f"Participant {number}"})
        for name, number in (("Ada", 1), ("Bob", 9), ("Ada", 8))
    )
    assert match_students([ada, bob], lines) == (lines[0], None)
    unassigned = Person("Bob", {})
    assert match_students([ada, unassigned], lines) == tuple(lines)
    assert match_students([ada, bob], [lines[0], listed("Bob", id="7")])[1] == listed("Bob", id="7")
    # By another assignment's list nobody fits.
    assert match_students([other, bob], lines) == tuple(lines)


def test_a_person_goes_by_the_lists_name_and_by_the_keys_of_both() -> None:
    person = Person("ada", {"login": "ada9", "email": "old@x.org"}, "ada9")
    assert merge_listed(person, None) is person
    line = Person("Ada L", {"email": "a@x.org", "id": "7"}, "s1")
    keys = {"email": "old@x.org", "id": "7", "login": "ada9"}
    assert merge_listed(person, line) == Person("Ada L", keys, "s1")
    assert merge_listed(person, listed("Ada L")) == Person("Ada L", dict(person.external), "ada9")
