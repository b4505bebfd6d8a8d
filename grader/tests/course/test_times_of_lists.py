"""Times of a class's list: in which language, in which zone, and what is said of them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from support.commands import numalab_command
from support.deliveries import put
from support.golden_texts import check_text, raises_text

from numalab.course.course_folder import CourseFolder
from numalab.course.gradebook.rules import TEMPLATE, parse_rules
from numalab.course.intake.intake import import_submissions
from numalab.course.intake.list_times import parse_time, read_times
from numalab.course.intake.moodle_columns import LANGUAGES
from numalab.course.intake.student_list import parse_column_options, read_student_list
from numalab.course.zones import first_moment, last_moment, taken_moment, zone_named
from numalab.errors import UserError
from numalab.installation import Installation
from numalab.labs.declaration import Lab

KERNEL = b'#include "first_touch.h"\nvoid initialize(void) {}\n'
EVENING = datetime(2026, 11, 21, 23, 30)
# As strftimedaydatetime of each language's pack has it, and with 12 hours.
TIMES = {
    "en": ("Saturday, 21 November 2026, 11:30 PM", "Saturday, November 21, 2026, 23:30"),
    "de": ("Samstag, 21. November 2026, 23:30", "Samstag, 21. November 2026, 11:30 PM"),
    "fr": ("samedi 21 novembre 2026, 23:30", "samedi 21 novembre 2026, 11:30 PM"),
    "es": ("s\u00e1bado, 21 de noviembre de 2026, 23:30",
           "s\u00e1bado, 21 de noviembre de 2026, 11:30 p.\u00a0m."),
    "it": ("sabato, 21 novembre 2026, 23:30", "sabato, 21 novembre 2026, 11:30 PM"),
    "pt": ("s\u00e1bado, 21 de novembro de 2026 \u00e0s 23:30",
           "s\u00e1bado, 21 de novembro de 2026 \u00e0s 11:30 da tarde"),
    "pt_br": ("s\u00e1bado, 21 nov. 2026, 23:30", "s\u00e1bado, 21 nov. 2026, 11:30 PM"),
    "nl": ("zaterdag, 21 november 2026, 23:30", "zaterdag, 21 november 2026, 11:30 p.m."),
    "pl": ("sobota, 21 listopada 2026, 23:30 PM", "sobota, 21 listopad 2026, 11:30 PM"),
}  # fmt: skip


@pytest.fixture
def utc_machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


# ---- languages -------------------------------------------------------------------------------


@pytest.mark.parametrize("language", LANGUAGES)
def test_times_in_moodles_languages(language: str) -> None:
    for text in TIMES[language]:
        assert read_times([text], LANGUAGES[language].locales) == [EVENING], text


def test_times_in_languages_that_no_table_has() -> None:
    texts = ["sobota, 21. listopadu 2026, 23.30", "l\u00f6rdag, 21 november 2026, 23:30",
             "dissabte, 21 de novembre 2026, 23:30", "2026-11-21 23:30"]  # fmt: skip
    texts += ["2026年11月21日(土曜日) 23:30", "2026年11月21日 星期六 下午11:30",
              "2026년 11월 21일, 토요일, 오후 11:30"]  # fmt: skip
    for text in texts:
        assert read_times([text], ["de"]) == [EVENING], text


@pytest.mark.parametrize(
    "text",
    [
        "Friday, 20 November 2026, 24:00",
        "viernes, 20 de noviembre de 2026, 24:00",
        "2026-11-20 24:00",
        "2026-11-20T24:00:00",
        "2026年11月20日 24:00",
        "Saturday, 21 November 2026, 12:00 AM",
    ],
)
def test_a_day_ends_at_24(text: str) -> None:
    assert read_times([text], ["en", "es"]) == [datetime(2026, 11, 21)]
    assert read_times([text.replace(":00", ":01", 1).replace("12:01 AM", "13:01 AM")], ["en"]) == [
        None
    ]


def test_what_is_no_time_or_another_one() -> None:
    for text in (
        "Sunday, 21 November 2026, 11:30 PM",  # it is a Saturday
        "21/11/2026, 23:30",  # whose first number is the month, in some countries
        "Saturday, 21 November 2026, 11:30 XM",
        "Saturday, 21 November 2026",
        "Saturday, 31 February 2026, 11:30 PM",
        "Saturday, 21 November 2026, 25:30",
        "11:30 21 November 2026 10:00",
        "lundi 1 mars",
        "x" * 10_000,
    ):
        assert parse_time(text, "en") is None, text
    assert parse_time("Saturday, 21 November 2026, 12:05 AM", "en") == datetime(2026, 11, 21, 0, 5)


def worksheet(language: str, *rows: str) -> str:
    columns = LANGUAGES[language].columns
    names = ("identifier", "name", "email", "grade", "maximum", "changeable", "moodle_time",
             "modified", "feedback")  # fmt: skip
    return "\n".join([",".join(f'"{columns[name][0]}"' for name in names), *rows, ""])


@pytest.mark.parametrize("language", LANGUAGES)
def test_worksheets_as_lists(tmp_path: Path, language: str) -> None:
    """Numbers of participants are those of deliveries, whatever stands before them."""
    path = tmp_path / "sheet.csv"
    rows = [f'Teilnehmer/in7,Ada Lovelace,a@x.org,,10,Ja,"{text}",-,' for text in TIMES[language]]
    path.write_text(worksheet(language, *rows), encoding="utf-8-sig")
    listed, remarks = read_student_list(path)
    assert not remarks
    for line in listed:
        check_text(line.name)
        assert line.external == {"identifier": "Participant 7", "email": "a@x.org"}
        assert line.handed_in_at == EVENING


def test_an_instructors_own_ids_in_german(tmp_path: Path) -> None:
    path = tmp_path / "list.csv"
    path.write_text("ID,Vollst\u00e4ndiger Name,E-Mail-Adresse\ns1,Ada,a@x.org\n", encoding="utf-8")
    ((line,), _) = read_student_list(path)
    assert (line.preferred_id, line.name) == ("s1", "Ada")


def test_what_is_not_understood_is_told_once(tmp_path: Path) -> None:
    path = tmp_path / "list.csv"
    rows = [f"Participant {n},P{n},,,,,some day {n},-," for n in range(30)]
    path.write_text(worksheet("en", *rows))
    listed, remarks = read_student_list(path)
    assert len(listed) == 30
    (remark,) = remarks
    check_text(remark)


def test_columns_that_are_named(tmp_path: Path) -> None:
    path = tmp_path / "list.csv"
    path.write_text("Jm\u00e9no;Adresa;Odevzd\u00e1no\nAda Lovelace;a@x.org;2026-11-21 23:30\n",
                    encoding="utf-8")  # fmt: skip
    with raises_text(UserError):
        read_student_list(path)
    named = parse_column_options(["name=Jm\u00e9no", "email=Adresa", "handed_in_at=odevzd\u00e1no"])
    ((line,), _) = read_student_list(path, named)
    assert (line.name, line.handed_in_at) == ("Ada Lovelace", EVENING)
    for given in ("Jm\u00e9no", "nome=Jm\u00e9no",
                        "name="):  # fmt: skip
        with raises_text(UserError):
            parse_column_options([given])
    with raises_text(UserError):
        read_student_list(path, parse_column_options(["name=Nome"]))


# ---- zones ---------------------------------------------------------------------------------


def test_hours_that_exist_twice_or_never_count_for_the_student() -> None:
    vienna = zone_named("Europe/Vienna")
    twice, never = datetime(2026, 10, 25, 2, 30), datetime(2026, 3, 29, 2, 30)
    assert first_moment(twice, vienna).isoformat() == "2026-10-25T02:30:00+02:00"
    assert last_moment(twice, vienna).isoformat() == "2026-10-25T02:30:00+01:00"
    assert (
        first_moment(never, vienna).timestamp()
        == datetime.fromisoformat("2026-03-29T00:30:00+00:00").timestamp()
    )
    assert first_moment(EVENING, vienna).isoformat() == "2026-11-21T23:30:00+01:00"
    # Of half an hour, and of two hours.
    howe, troll = zone_named("Australia/Lord_Howe"), zone_named("Antarctica/Troll")
    for zone, local, first, last in (
        (howe, datetime(2026, 4, 5, 1, 45), "+11:00", "+10:30"),
        (howe, datetime(2026, 10, 4, 2, 15), "+11:00", "+10:30"),  # which never is
        (troll, datetime(2026, 10, 25, 1, 30), "+02:00", "+00:00"),
    ):
        assert first_moment(local, zone).isoformat()[-6:] == first
        assert last_moment(local, zone).isoformat()[-6:] == last


def test_without_a_name_the_deadline_tells(utc_machine: None) -> None:
    deadline = datetime.fromisoformat("2026-11-21T23:59:00+01:00")
    moment, why = taken_moment(EVENING, "", deadline)
    assert moment < deadline
    check_text(why)
    # With the machine's own offset its zone is taken, which knows of summer time.
    same, why = taken_moment(EVENING, "", deadline.astimezone())
    assert same.utcoffset() == timedelta()
    check_text(why)
    assert taken_moment(EVENING, "Asia/Tokyo", deadline)[0].utcoffset() == timedelta(hours=9)
    assert taken_moment(deadline, "Asia/Tokyo", deadline) == (deadline, "")
    check_text(taken_moment(EVENING, "", None)[1])


def test_the_zone_of_a_course(tmp_path: Path) -> None:
    rules = parse_rules(
        'timezone = "Europe/Vienna"\n[labs.01_first_touch]\ndeadline = 2026-10-25T02:30:00\n', "x"
    )
    assert rules.deadline("ada", "01_first_touch") == datetime.fromisoformat(
        "2026-10-25T02:30:00+01:00"
    )
    commented = parse_rules(TEMPLATE.replace("# timezone", "timezone"), "x")
    assert commented.timezone == "Europe/Vienna"
    for name in ("Vienna", "CET+1", "../etc/passwd", "/etc/localtime"):
        with raises_text(UserError):
            parse_rules(f'timezone = "{name}"', "x")
    with raises_text(UserError):
        parse_rules("[labs.x]\ndeadline = 2026-10-25T02:30:00\n", "x")


def test_on_time_is_on_time_on_a_node_in_utc(
    tmp_path: Path, first_touch: Lab, utc_machine: None
) -> None:
    delivery = put(tmp_path / "delivery", {"Ada_7_assignsubmission_file/kernel.c": KERNEL})
    sheet = tmp_path / "sheet.csv"
    sheet.write_text(worksheet("en", f'Participant 7,Ada,a@x,,10,Yes,"{TIMES["en"][0]}",-,'))
    lab = first_touch.name
    deadline = f"[labs.{lab}]\ndeadline = 2026-11-21T23:59:00+01:00\n"
    for number, (head, said) in enumerate(
        (("", "UTC+01:00, which the deadline has"), ('timezone = "Europe/Vienna"\n', "Vienna"))
    ):
        rules = parse_rules(head + deadline, "x")
        intake = import_submissions(
            delivery, CourseFolder(tmp_path / str(number)), {lab: first_touch}, lambda _: None,
            sheet, rules=rules,
        )  # fmt: skip
        assert intake.submissions[0].handed_in_at == "2026-11-21T23:30:00+01:00"
        (remark,) = intake.remarks
        assert said in remark
        assert not intake.problems


def test_a_list_of_another_language_at_the_command_line(
    installation: Installation, tmp_path: Path
) -> None:
    """Columns are named, the zone is told, and the hand-in is in time and what can't be taken
    has its mark."""
    delivery = put(
        tmp_path / "delivery",
        {"Ada_7_assignsubmission_file/kernel.c": KERNEL,
         "Bob_8_assignsubmission_file/kernel.cpp": KERNEL},
    )  # fmt: skip
    sheet, course = tmp_path / "sheet.csv", tmp_path / "course"
    sheet.write_text(
        "\u00da\u010dastn\u00edk,Jm\u00e9no,Odevzd\u00e1no\nParticipant 7,Ada,2026-11-21 23:30\n",
        encoding="utf-8",
    )
    course.mkdir()
    (course / "course.toml").write_text(
        'timezone = "Europe/Vienna"\n[labs.01_first_touch]\ndeadline = 2026-11-21T23:59:00\n'
    )
    named = ("identifier=\u00da\u010dastn\u00edk", "name=Jm\u00e9no", "handed_in_at=Odevzd\u00e1no")
    done = numalab_command(
        installation,
        "batch",
        "grade",
        str(delivery),
        "--out",
        str(course),
        "--local",
        "--labs",
        "01",
        "--students",
        str(sheet),
        *(word for one in named for word in ("--column", one)),
        "--grading-command",
        "false",
        "--requeues",
        "0",
        TZ="UTC",
    )
    said = " ".join(done.err.split())
    assert "sheet.csv: Times without a zone are taken as Europe/Vienna's (course.toml)" in said
    assert "kernel.cpp is C++, which is not graded" in said
    shown = numalab_command(installation, "gradebook", "show", str(course)).out
    assert "Ada (ada)" in shown
    assert "# handed in, can't be taken" in shown
    told = numalab_command(installation, "gradebook", "explain", str(course), "ada").out
    assert "Handed in 2026-11-21 23:30 (files" in told
