"""What a course keeps: attempts, records, tables, locks, its secret, and which moment a time is."""

from __future__ import annotations

import json
import os
import socket
import stat
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from support.courses import ADA, BOB, attempt, intake, result, submission
from support.golden_texts import check_text, raises_text

from numalab.course import attempts, csv_files, locks, records, secret, zones
from numalab.course.codes import format_codes, list_codes
from numalab.course.course_folder import CourseFolder
from numalab.course.csv_files import (
    CsvTable,
    escape_formula,
    format_table,
    read_table,
    write_private,
)
from numalab.course.records import Attempt, GradingTarget, Problem, Submission
from numalab.course.zones import first_moment, last_moment, taken_moment, zone_named
from numalab.errors import LockedError, NumalabError, UserError
from numalab.labs.seeds import DRAWS

AT = "2026-11-22T08:00:00+00:00"
ITEM = GradingTarget("ada", "01_first_touch", "d" * 64, "k" * 64, "quick")


def attempt_of(number: int, item: GradingTarget = ITEM) -> Attempt:
    return Attempt(item, number, "graded", AT, AT, (), {}, "none")


def kept(course: CourseFolder, number: int, item: GradingTarget = ITEM) -> Attempt:
    partial = attempts.partial_folder(course, item, number, "run", "me")
    partial.mkdir(parents=True)
    made = attempt_of(number, item)
    assert attempts.publish(course, partial, made)
    return made


@pytest.fixture
def course(tmp_path: Path) -> CourseFolder:
    return CourseFolder(tmp_path / "course")


# ---- where it lies ---------------------------------------------------------------------------


def test_where_a_course_keeps_what() -> None:
    course = CourseFolder(Path("/c"))
    short = f"{'d' * 12}-{'k' * 12}-quick"
    assert {
        name: str(getattr(course, name))
        for name in ("rules", "secret", "gradebook", "gradebook_lock", "collection_records", "lock",
                     "intake", "students", "submissions", "report", "pages_made")
    } == {
        "rules": "/c/course.toml", "secret": "/c/secret", "gradebook": "/c/gradebook.sqlite",
        "gradebook_lock": "/c/gradebook.lock", "collection_records": "/c/deliveries",
        "lock": "/c/lock", "intake": "/c/intake.json", "students": "/c/students.json",
        "submissions": "/c/submissions", "report": "/c/report",
        "pages_made": "/c/report/.pages.json",
    }  # fmt: skip
    assert [
        str(path)
        for path in (
            course.collection_record(7), course.submission("ada", "01_x", "d" * 64),
            course.attempts(ITEM), course.attempt(ITEM, 3), course.run("r"),
            course.lab_report("01_x"), course.student_report("ada"),
        )
    ] == [
        "/c/deliveries/0007.json", f"/c/submissions/ada/01_x-{'d' * 12}",
        f"/c/attempts/ada/01_first_touch/{short}", f"/c/attempts/ada/01_first_touch/{short}/3",
        "/c/runs/r", "/c/report/labs/01_x.html", "/c/report/students/ada",
    ]  # fmt: skip


def test_attempts_at_the_same_lab_by_the_same_kit(course: CourseFolder) -> None:
    kept(course, 1)
    kept(course, 2)
    kept(course, 1, replace(ITEM, digest="e" * 64))
    for other in ({"numalab_digest": "x" * 64}, {"effort": "default"}, {"student_id": "bob"}):
        kept(course, 1, replace(ITEM, **other))
    (course.attempts(ITEM) / ".partial-3-run-me").mkdir()
    found = sorted(course.comparable_attempts(replace(ITEM, digest="f" * 64)))
    alike = replace(ITEM, digest="e" * 64)
    assert found == [course.attempt(ITEM, 1), course.attempt(ITEM, 2), course.attempt(alike, 1)]


# ---- attempts --------------------------------------------------------------------------------


def test_attempts_are_in_the_order_of_their_numbers(course: CourseFolder) -> None:
    assert attempts.attempt_numbers(course, ITEM) == [] == list(attempts.attempts_of(course, ITEM))
    assert list(attempts.all_attempts(course)) == []
    made = [kept(course, number) for number in (10, 9, 1)]
    (course.attempts(ITEM) / "2").mkdir()
    (course.attempts(ITEM) / "x").mkdir()
    assert attempts.attempt_numbers(course, ITEM) == [1, 2, 9, 10]
    assert list(attempts.attempts_of(course, ITEM)) == made[::-1]
    assert [attempts.is_over(course, ITEM, n) for n in (1, 2, 3)] == [True, False, False]
    other = kept(course, 1, replace(ITEM, student_id="zoe"))
    partial = attempts.partial_folder(course, ITEM, 3, "run", "me")
    partial.mkdir()
    (partial / attempts.FILE).write_text(json.dumps(asdict(attempt_of(3))))
    found = list(attempts.all_attempts(course))
    assert sorted(one.number for one in found) == [1, 1, 9, 10] and found[-1] == other


def test_a_damaged_attempt_is_told(course: CourseFolder) -> None:
    kept(course, 1)
    path = course.attempt(ITEM, 1) / attempts.FILE
    for text in ("", "[]", "{}", '{"item": {"student_id": "ada"}}'):
        path.write_text(text)
        with raises_text(NumalabError):
            attempts.read_attempt(course.attempt(ITEM, 1))
    assert attempts.read_attempt(course.attempt(ITEM, 2)) is None


def test_what_a_run_has_begun_is_its_own(course: CourseFolder) -> None:
    assert attempts.partial_folders(course, ITEM, 1, "r") == []
    for number, run, who in (
        (1, "r", "b"),
        (1, "r", "a"),
        (1, "s", "a"),
        (2, "r", "a"),
        (11, "r", "a"),
    ):
        (attempts.partial_folder(course, ITEM, number, run, who) / "x").mkdir(parents=True)
    mine = attempts.partial_folders(course, ITEM, 1, "r")
    assert [path.name for path in mine] == [".partial-1-r-a", ".partial-1-r-b"]
    # Of a removal that was ended half way, too.
    mine[0].rename(mine[0].with_name(mine[0].name + "-gone"))
    attempts.remove_partials(course, ITEM, 1, "r")
    assert sorted(path.name for path in course.attempts(ITEM).iterdir()) == [
        ".partial-1-s-a", ".partial-11-r-a", ".partial-2-r-a"
    ]  # fmt: skip


def test_a_whole_attempt_is_on_disk_before_it_has_its_name(
    course: CourseFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    partial = attempts.partial_folder(course, ITEM, 1, "run", "me")
    (partial / "evidence").mkdir(parents=True)
    (partial / "evidence" / "a").touch()
    (partial / "link").symlink_to("nowhere")
    os.mkfifo(partial / "pipe")
    synced: list[str] = []

    def fsync(descriptor: int) -> None:
        synced.append(str(Path(f"/proc/self/fd/{descriptor}").readlink().relative_to(partial)))

    monkeypatch.setattr(attempts.os, "fsync", fsync)
    opened = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    assert attempts.publish(course, partial, attempt_of(1))
    assert sorted(synced) == [".", "attempt.json", "evidence", "evidence/a"]
    assert len(os.listdir("/proc/self/fd")) == opened  # noqa: PTH208


def test_what_can_not_be_published_is_an_error_unless_another_one_has(
    course: CourseFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    partial = attempts.partial_folder(course, ITEM, 1, "run", "me")
    partial.mkdir(parents=True)

    def fails(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(attempts, "write_json", fails)
    with pytest.raises(OSError, match="No space"):
        attempts.publish(course, partial, attempt_of(1))
    assert partial.is_dir()
    course.attempt(ITEM, 1).mkdir()
    (course.attempt(ITEM, 1) / attempts.FILE).touch()
    assert not attempts.publish(course, partial, attempt_of(1)) and not partial.exists()
    assert not attempts.publish(course, partial, attempt_of(1))


# ---- records ---------------------------------------------------------------------------------


def through_json(data: Any) -> Any:
    return json.loads(json.dumps(data))


def test_records_are_read_as_they_were_written() -> None:
    of_ada = replace(submission(ADA, at=AT, notes="x"), is_zone_taken=True)
    problems = [Problem("x", "why", BOB, True), Problem("y", "why")]
    whole = replace(intake(of_ada, submission(BOB), problems=problems), remarks=("r",))
    assert records.parse_intake(through_json(records.intake_json(whole))) == whole
    made = attempt(ADA, result(5), number=3)
    made = replace(made, why="w", job="7_0", judged_by="r", replaces=2, rejudged_at=AT,
                   reopened=("c x",))  # fmt: skip
    assert records.parse_attempt(through_json(records.attempt_json(made))) == made


def test_what_records_of_before_do_not_have_is_as_it_was() -> None:
    data = through_json(records.intake_json(intake(submission(ADA), problems=[Problem("x", "y")])))
    del data["remarks"], data["submissions"][0]["is_zone_taken"], data["problems"][0]["is_missing"]
    assert records.parse_intake(data) == intake(submission(ADA), problems=[Problem("x", "y")])
    data = through_json(records.attempt_json(attempt_of(1)))
    for name in ("why", "job", "judged_by", "replaces", "rejudged_at", "reopened"):
        del data[name]
    assert records.parse_attempt(data) == attempt_of(1)
    assert attempt_of(1).replaces == 0
    one = Submission(ADA, "01_x", (), "", (), None, "x")
    assert (one.notes, one.is_zone_taken, Problem("x", "y").is_missing) == ((), False, False)


@pytest.mark.parametrize("data", [None, [], {}, {"layout": "x"}, "x"])
def test_what_is_no_record(data: Any) -> None:
    for parse in (records.parse_intake, records.parse_attempt):
        with pytest.raises(records.BadRecord, match="Error: "):
            parse(data)


@pytest.mark.parametrize("time", ["", "noon", "2026-11-22", AT[:19], 7, None])
@pytest.mark.parametrize("name", ["started_at", "ended_at", "rejudged_at"])
def test_an_attempt_with_a_time_that_is_none_is_damaged(
    tmp_path: Path, name: str, time: Any
) -> None:
    if (name, time) == ("rejudged_at", ""):
        return  # it was measured
    file = tmp_path / "attempt.json"
    file.write_text(json.dumps(records.attempt_json(attempt_of(1)) | {name: time}))
    with pytest.raises(NumalabError) as told:
        attempts.read_attempt(tmp_path)
    assert str(file) in str(told.value)


@pytest.mark.parametrize(
    ("why", "lab"),
    [("01_first_touch: x", "01_first_touch"), ("1_x: y", ""), ("see 01_x: y", ""), ("01_x", "")],
)
def test_the_lab_of_a_problem(why: str, lab: str) -> None:
    assert Problem("x", why).lab == lab


# ---- tables ----------------------------------------------------------------------------------


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_a_table_is_written_as_it_was_read(
    tmp_path: Path, bom: str, delimiter: str, line_end: str
) -> None:
    lines = (["a", "b c", ""], ["d", "1", "2"])
    text = bom + "".join(delimiter.join(line) + line_end for line in lines)
    (tmp_path / "t.csv").write_bytes(text.encode())
    table = read_table(tmp_path / "t.csv")
    assert table == CsvTable(list(lines), delimiter, line_end, bool(bom))
    assert table.text() == text
    assert table.replace_rows([["x", "y;,\tz"]]) == replace(table, rows=[["x", "y;,\tz"]])


def test_what_is_no_table(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    for content in (
        b"",
        b"\xff",
        b'a\n"b\n',
    ):
        path.write_bytes(content)
        with raises_text(UserError):
            read_table(path)
    with raises_text(UserError):
        read_table(tmp_path / "x")
    with raises_text(UserError):
        read_table(tmp_path)
    (tmp_path / "l.csv").symlink_to("m.csv")
    (tmp_path / "m.csv").write_text("a,b\n")
    assert read_table(tmp_path / "l.csv").rows == [["a", "b"]]


def test_a_table_has_no_more_than_64_mib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert csv_files.MOST_BYTES == 64 * 1024 * 1024
    monkeypatch.setattr(csv_files, "MOST_BYTES", 4)
    (tmp_path / "t.csv").write_text("a,b\n")
    assert read_table(tmp_path / "t.csv").rows == [["a", "b"]]
    (tmp_path / "t.csv").write_text("a,bc\n")
    with raises_text(UserError):
        read_table(tmp_path / "t.csv")


def test_tables_for_spreadsheets() -> None:
    assert format_table(["a"], [["1,2"]], True) == '\ufeffa\r\n"1,2"\r\n'
    assert format_table(["a"], [], False) == "a\r\n" == CsvTable([["a"]]).text()
    for text in ("=A1", "+1", "-1", "@x", " \n=1", "\uff1d1", "\uff0b", "\uff0d", "\uff20"):
        assert escape_formula(text) == f"'{text}"
    for text in ("Ada", "a=b", "", "'=1"):
        assert escape_formula(text) == text


def test_a_private_file_is_never_readable_by_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "grades.csv"
    path.write_text("old")
    path.chmod(0o666)
    before = os.umask(0)
    try:
        for text in ("a\r\nb\n", "c"):
            write_private(path, text)
            assert path.read_bytes() == text.encode()
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
    finally:
        os.umask(before)
    partial = csv_files.partial_path(path)
    partial.write_text("of a killed command")
    write_private(path, "d")
    assert [one.name for one in tmp_path.iterdir()] == ["grades.csv"]


# ---- codes and the secret --------------------------------------------------------------------


def test_codes_of_students(course: CourseFolder, tmp_path: Path) -> None:
    with raises_text(UserError):
        list_codes(CourseFolder(tmp_path / "a" / "new"))
    path = tmp_path / "list.csv"
    path.write_text("Kennung,Wer\nzoe,=Zoe\nada,Ada\n")
    for listed in (path, None):
        codes, remarks = list_codes(course, listed, {"kennung": "id", "wer": "name"})
        assert [student.id for student, _ in codes] == ["ada", "zoe"] and not remarks
        for student, seed in codes:
            assert seed == secret.seed_of(course, student.id)
        of_ada, of_zoe = (seed.code for _, seed in codes)
        assert format_codes(codes) == f"id,name,code\r\nada,Ada,{of_ada}\r\nzoe,'=Zoe,{of_zoe}\r\n"


@pytest.mark.parametrize(
    ("text", "draws"),
    [
        ("ab" * 32, 1), ("ab" * 32 + "\n", 1), ("ab" * 32 + "\ndraws 1\n", 1),
        ("ab" * 32 + f"\ndraws {DRAWS}\n", DRAWS),
    ],
)  # fmt: skip
def test_the_edition_that_a_course_was_begun_with(
    course: CourseFolder, text: str, draws: int
) -> None:
    course.root.mkdir()
    course.secret.write_text(text)
    assert secret.read_secret(course)[0] == b"\xab" * 32
    assert secret.seed_of(course, "ada").draws == draws


@pytest.mark.parametrize(
    "text",
    [
        "ab" * 31, "ab" * 33,
        "x" * 64, "",
        "ab" * 32 + "\ndraws 0", "ab" * 32 + "\nx",
        "ab" * 32 + f"\ndraws {DRAWS + 1}",
    ],
)  # fmt: skip
def test_a_secret_that_is_none(course: CourseFolder, text: str) -> None:
    course.root.mkdir()
    course.secret.write_text(text)
    with raises_text(UserError):
        secret.read_secret(course)[0]


def test_a_new_secret_is_its_owners(tmp_path: Path) -> None:
    course = CourseFolder(tmp_path / "a" / "b")
    made = secret.read_secret(course)[0]
    assert course.secret.read_text() == f"{made.hex()}\ndraws {DRAWS}\n" and len(made) == 32
    assert stat.S_IMODE(course.secret.stat().st_mode) == 0o600
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="can't read or make"):
        secret.read_secret(CourseFolder(tmp_path / "file"))[0]


# ---- locks -----------------------------------------------------------------------------------


def is_busy(holder: str) -> str:
    return f"held by {holder}"


def test_a_lock_says_who_has_it(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    assert not locks.is_held(path)
    me = f"process {os.getpid()} on {socket.gethostname()}"
    with locks.hold_lock(path, is_busy):
        assert path.read_text() == f"{me}\n" and locks.is_held(path)
        with pytest.raises(LockedError, match=f"^held by {me}$"), locks.hold_lock(path, is_busy):
            pass
    assert not locks.is_held(path) and not locks.is_held(tmp_path / "none")
    with pytest.raises(UserError, match="can't write to"), locks.hold_lock(path / "x", is_busy):
        pass


@pytest.fixture
def marked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The mark of a lock in a file system without locks."""

    class Lacking(locks.LockFile):
        def try_lock(self) -> bool:
            self.lacks = True
            return True

    def no_locks(*_: object) -> bool:
        raise locks.NoLocks

    monkeypatch.setattr(locks, "LockFile", Lacking)
    monkeypatch.setattr(locks, "lock_file", no_locks)
    return tmp_path / "lock.held"


def test_without_locks_a_second_file_keeps_others_out(marked: Path) -> None:
    path, me = marked.with_name("lock"), f"process {os.getpid()} on {socket.gethostname()}"
    with locks.hold_lock(path, is_busy):
        assert marked.read_text() == f"{me}\n" and locks.is_held(path)
        assert stat.S_IMODE(marked.stat().st_mode) & 0o133 == 0
        said = f"^held by {me} The file system has no file locks"
        with pytest.raises(LockedError, match=said), locks.hold_lock(path, is_busy):
            pass
        assert marked.exists()
    assert not marked.exists() and not locks.is_held(path)


@pytest.mark.parametrize(
    ("holder", "is_gone"),
    [
        ("process {gone} on {here}", True), ("process {mine} on {here}", False),
        ("process {gone} on another.node", False), ("", False), ("process x on {here}", False),
        ("process 1 on {here}", False), (f"process {10**30} on {{here}}", False),
    ],
)  # fmt: skip
def test_a_mark_holds_for_as_long_as_its_process_may_live(
    marked: Path, holder: str, is_gone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kill(number: int, what: int) -> None:
        assert what == 0
        if number == 7:
            raise ProcessLookupError
        if number == 1:
            raise PermissionError
        if number > 2**31:
            raise OverflowError

    monkeypatch.setattr(locks.os, "kill", kill)
    here, path = socket.gethostname(), marked.with_name("lock")
    path.touch()
    marked.write_text(holder.format(gone=7, mine=os.getpid(), here=here) + "\n" * bool(holder))
    assert locks.is_held(path) == (not is_gone)
    if is_gone:
        with locks.hold_lock(path, is_busy):
            assert marked.read_text() == f"process {os.getpid()} on {here}\n"
    else:
        said = holder.format(gone=7, mine=os.getpid(), here=here) or "a process that has not said"
        with pytest.raises(LockedError, match=f"^held by {said}"), locks.hold_lock(path, is_busy):
            pass


# ---- moments ---------------------------------------------------------------------------------

VIENNA = "Europe/Vienna"
EVENING = datetime(2026, 11, 21, 23, 30)


def in_zone(hours: int, at: datetime = EVENING) -> datetime:
    return at.replace(tzinfo=timezone(timedelta(hours=hours)))


@pytest.fixture(params=["UTC", VIENNA])
def machine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


def test_of_an_hour_that_is_there_twice_or_never_the_earlier_moment(machine: str) -> None:
    zone = zone_named(VIENNA)
    twice, never = datetime(2026, 10, 25, 2, 30), datetime(2026, 3, 29, 2, 30)
    assert (first_moment(twice, zone), last_moment(twice, zone)) == (
        in_zone(2, twice), in_zone(1, twice)
    )  # fmt: skip
    assert (first_moment(never, zone), last_moment(never, zone)) == (
        in_zone(2, never), in_zone(1, never)
    )  # fmt: skip
    assert first_moment(twice, None) == in_zone(2 if machine == VIENNA else 0, twice)
    assert first_moment(EVENING, zone).isoformat() == "2026-11-21T23:30:00+01:00"
    with pytest.raises(zones.BadZone):
        zone_named("Nowhere/Else")


def test_in_which_zone_a_time_is_taken(machine: str) -> None:
    with_zone = in_zone(5)
    assert taken_moment(with_zone, VIENNA, None) == (with_zone, "")
    taken, why = taken_moment(EVENING, "Asia/Tokyo", in_zone(1))
    assert taken == in_zone(9)
    check_text(why)
    here = 1 if machine == VIENNA else 0
    for deadline in (None, in_zone(here)):
        taken, why = taken_moment(EVENING, "", deadline)
        assert taken == in_zone(here)
        check_text(why)
    for hours in (-3, 9):
        taken, why = taken_moment(EVENING, "", in_zone(hours))
        assert taken == in_zone(hours) and taken.utcoffset() == timedelta(hours=hours)
        check_text(why)
