"""How a delivery is taken in: what is one student's, whose are the same, and what is written."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support.deliveries import put, zip_bytes
from support.golden_texts import check_text, raises_text

from numalab.course.course_folder import CourseFolder
from numalab.course.gradebook.rules import Rules, parse_rules
from numalab.course.intake import intake as of_intake
from numalab.course.intake.archives import READER, ForeignArchive
from numalab.course.intake.choosing import choose_files
from numalab.course.intake.intake import TakenHandIn, import_submissions
from numalab.course.intake.students import Person
from numalab.course.intake.taking import Chosen
from numalab.course.intake.trees import Entry, Refused
from numalab.course.intake.uploads import Layout, StudentUpload
from numalab.course.records import Problem, Student
from numalab.errors import UserError
from numalab.labs.declaration import Lab
from numalab.untrusted.reader_pool import ReaderPool

KERNEL = b'#include "first_touch.h"\nvoid initialize(void) {}\n'
FIRST, SECOND = "01_first_touch", "02_affinity"
ADA, BOB = Student("ada", "Ada", {}), Student("bob", "Bob", {})


def quiet(step: str) -> None:
    del step


def entry(text: str) -> Entry:
    path, is_folder = tuple(text.strip("/").split("/")), text.endswith("/")
    folder = Path(text) if is_folder else None
    return Entry(path, "folder" if is_folder else "file", folder=folder)


@pytest.fixture
def course(tmp_path: Path) -> CourseFolder:
    return CourseFolder(tmp_path / "course")


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        (["01_first_touch/", "01_first_touch/a"], FIRST), (["01_first_touch/a"], FIRST),
        (["kernel.c"], "kernel.c"), (["KERNEL.F90"], "KERNEL.F90"),
        (["explanation.txt"], "explanation.txt"),
        (["kernel.c/", "kernel.c/x"], ""), (["kernel.c/x"], ""), (["x/", "x/kernel.c"], ""),
        (["01_first_touch/", "ada/"], FIRST), (["01_first_touch/", "ada/", "bob/"], ""),
        (["ada/", "bob/", "01_first_touch/", "02_affinity/"], FIRST),
        (["kernel.c", "a.txt", "b.txt"], "kernel.c"), (["kernel.c", "ada.zip", "bob.zip"], ""),
        (["kernel.c", "ada.zip"], "kernel.c"), (["lab1/", "2/"], ""), (["ada/", "x.txt"], ""),
        (["01_first_touch/ada/.git/"], ""), (["01_first_touch/.git/"], FIRST),
        (["01_first_touch/ada/.git"], FIRST), (["01_first_touch/ada/x/"], FIRST), ([], ""),
    ],
)  # fmt: skip
def test_what_shows_that_a_delivery_is_one_students(
    labs: dict[str, Lab], texts: list[str], found: str
) -> None:
    two = {name: labs[name] for name in (FIRST, SECOND)}
    entries = [entry(text) for text in texts]
    assert of_intake._hand_in_itself(entries, two) == found


def test_of_hand_ins_of_the_same_files_there_is_one(labs: dict[str, Lab]) -> None:
    first, second = labs[FIRST], labs[SECOND]

    def hand_in(student: Student, source: str, lab: Lab, content: bytes) -> TakenHandIn:
        chosen = Chosen(lab, {"kernel.c": content})
        upload = StudentUpload(source, Person(student.name, {}), ())
        return of_intake._submission(upload, student, chosen, None), chosen.files

    same = [hand_in(BOB, "b", first, b"1"), hand_in(ADA, "a1", second, b"1"),
            hand_in(ADA, "a2", second, b"1"), hand_in(ADA, "a3", first, b"2")]  # fmt: skip
    assert of_intake._resolve_duplicates(same) == ([same[3], same[1], same[0]], [])
    other = hand_in(ADA, "a4", second, b"2")
    kept, problems = of_intake._resolve_duplicates([*same, other])
    assert kept == [same[3], same[0]]
    why = f"{SECOND}: a1 and a2 and a4 both hold files of it, and they differ; hand in one of them."
    assert problems == [Problem("a1", why, ADA)]


def test_a_hand_in_as_it_is_told(labs: dict[str, Lab]) -> None:
    chosen = Chosen(labs[FIRST], {"kernel.f90": b"x", "explanation.txt": b""}, ("b",))
    timed = Person("A", {}, handed_in_at=datetime(2027, 5, 1))
    upload = StudentUpload("a\x1bb", timed, (), ("a",))
    made = of_intake._submission(upload, ADA, chosen, "t")
    assert (made.files, made.languages) == (("explanation.txt", "kernel.f90"), ("fortran",))
    assert (made.source, made.notes, made.is_zone_taken) == (r"a\x1bb", ("a", "b"), True)
    for at in (None, datetime(2027, 5, 1, tzinfo=UTC)):
        told = replace(upload, person=replace(timed, handed_in_at=at))
        assert not of_intake._submission(told, ADA, chosen, None).is_zone_taken


# ---- archives of a student -------------------------------------------------------------------


def archive(folder: Path, name: str, files: dict[str, bytes]) -> Entry:
    (folder / name).write_bytes(zip_bytes(files))
    return Entry((name,), "file", opener=lambda: (folder / name).open("rb"))


def test_the_members_of_a_students_archive(tmp_path: Path) -> None:
    with ExitStack() as stack:
        readers = stack.enter_context(ReaderPool(READER))
        packed = archive(tmp_path, "x.zip", {"a/kernel.c": KERNEL})
        (member,) = of_intake._members(packed, ("x.zip",), readers, stack)
        assert member.path == ("x.zip", "a", "kernel.c")
        for bad, why in (
            (replace(packed, refused="is a link"), "x.zip is a link"),
            (replace(packed, opener=None), "x.zip "),
            (replace(packed, path=("x.7z",)), "x.7z is a 7z archive"),
            (archive(tmp_path, "y.zip", {}), "y.zip is empty"),
            (archive(tmp_path, "z.zip", {".DS_Store": b""}), "z.zip is empty"),
        ):
            with pytest.raises(Refused, match=f"^{why}") as error:
                of_intake._members(bad, (), readers, stack)
            assert isinstance(error.value, ForeignArchive) == ("7z" in why)


def test_archives_of_a_student_are_read_up_to_a_number(
    tmp_path: Path, course: CourseFolder, labs: dict[str, Lab], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One in place of a folder is like it; what lies in one is below its name."""
    assert of_intake.MOST_ARCHIVES == 16
    monkeypatch.setattr(of_intake, "MOST_ARCHIVES", 2)
    choose = partial(choose_files, labs={FIRST: labs[FIRST]})
    empty = [archive(tmp_path, f"{name}.zip", {}) for name in "abc"]
    whole = archive(tmp_path, "lab1.zip", {"kernel.c": KERNEL})
    below = Entry(("w", "x.zip"), "file")
    with ReaderPool(READER) as readers:

        def chosen(*entries: Entry, **more: Any) -> tuple[list[str], list[str]]:
            one = StudentUpload("lab1.zip", Person("x", {}), entries, **more)
            taken, told = of_intake._choose(one, choose, readers)
            return [one.lab.name for one in taken], list(told)

        assert chosen(whole, is_missing=True) == ([], [])
        assert chosen(whole, Entry(("y.zip",), "folder")) == ([FIRST], [])
        assert chosen(whole, empty[0]) == ([FIRST], ["a.zip is empty."])
        assert chosen(*empty[:2]) == ([], ["a.zip is empty.", "b.zip is empty."])
        more = "Of more than 2 archives the others are not read."
        assert chosen(*empty)[1] == ["a.zip is empty.", "b.zip is empty.", more]
        assert chosen(whole, *empty[:2]) == ([FIRST], ["a.zip is empty.", more])
        taken, (why,) = chosen(below)
        assert not taken
        check_text(why)


# ---- lists -----------------------------------------------------------------------------------


def test_a_list_names_who_is_there_and_who_is_not() -> None:
    at = datetime(2026, 11, 21, 23, 30)
    listed = [
        Person("Ada L", {"id": "1"}, handed_in_at=at),
        Person("Zoe", {"id": "3"}, handed_in_at=at),
    ]
    given = Layout(
        "plain",
        (
            StudentUpload("a", Person("ada l", {}), (), ("x",)),
            StudentUpload("b", Person("bob", {}), ()),
        ),
        (Problem("p", "q"),),
    )
    found = of_intake._apply_list(given, listed, "list.csv", ["a remark"])
    note = "This name is not in the list list.csv."
    assert found == Layout(
        "plain",
        (
            StudentUpload("a", listed[0], (), ("x",)),
            StudentUpload("b", Person("bob", {}), (), (note,)),
            StudentUpload("list.csv", listed[1], (), ("Nothing was handed in.",),
                      is_missing=True),
        ),
        (Problem("p", "q"), Problem("list.csv", "a remark")),
    )  # fmt: skip


def test_times_of_a_list_are_held_against_the_rules(labs: dict[str, Lab], tmp_path: Path) -> None:
    zones = of_intake._Zones(parse_rules('timezone = "Asia/Tokyo"', tmp_path / "x"), "l.csv")
    lab = labs[FIRST]
    assert zones.moment(None, ADA, lab) is None and not zones.remarks
    evening = datetime(2026, 11, 21, 23, 30)
    for _ in range(2):
        assert zones.moment(evening, ADA, lab) == "2026-11-21T23:30:00+09:00"
    ((remark, _),) = zones.remarks.items()
    check_text(remark)
    with raises_text(UserError):
        of_intake._Zones(Rules(), "l.csv").moment(datetime.min, ADA, lab)


# ---- a whole delivery ------------------------------------------------------------------------


def test_what_is_written_of_a_delivery(
    tmp_path: Path, course: CourseFolder, labs: dict[str, Lab]
) -> None:
    files = {"ada/lab1/kernel.c": KERNEL, "bob/x.txt": b"", "notes.txt": b"",
             "01_first_touch/notes.txt": b""}  # fmt: skip
    delivery = put(tmp_path / "delivery", files)
    steps: list[str] = []
    two = {name: labs[name] for name in (FIRST, SECOND)}
    intake = import_submissions(delivery, course, two, steps.append)
    check_text(steps)
    assert [one.student.id for one in intake.submissions] == ["ada"]
    assert [(one.source, one.student and one.student.id) for one in intake.problems] == [
        ("notes.txt", None), (FIRST, None), ("bob", "bob")
    ]  # fmt: skip
    check_text(intake.problems[1].why)
    kept = json.loads(course.intake.read_text())
    whole = {"schema": 1, "delivery": str(delivery), **asdict(intake)}
    assert kept == json.loads(json.dumps(whole))
    (ada,) = intake.submissions
    folder = course.submission("ada", FIRST, ada.digest)
    assert [str(p.relative_to(course.submissions)) for p in sorted(folder.rglob("*.c"))] == [
        f"ada/{FIRST}-{ada.digest[:12]}/{FIRST}/kernel.c"
    ]  # fmt: skip
    # What is there is left alone.
    (folder / FIRST / "kernel.c").write_bytes(b"mine")
    import_submissions(delivery, course, two, quiet)
    assert (folder / FIRST / "kernel.c").read_bytes() == b"mine"


def test_times_and_notes_of_a_delivery_with_a_list(
    tmp_path: Path, course: CourseFolder, labs: dict[str, Lab]
) -> None:
    delivery = put(tmp_path / "in", {f"{who}/kernel.c": KERNEL for who in ("ada", "bob", "eve")})
    students = tmp_path / "l.csv"
    students.write_text("name,handed_in_at\nada,2026-11-21 23:30\nbob,2026-11-21T23:30:00+05:00\n")
    rules = parse_rules('timezone = "Europe/Vienna"', tmp_path / "x")
    intake = import_submissions(
        delivery, course, {FIRST: labs[FIRST]}, quiet, students, rules=rules
    )
    assert {one.student.id: (one.handed_in_at, one.is_zone_taken, one.notes)
            for one in intake.submissions} == {
        "ada": ("2026-11-21T23:30:00+01:00", True, ()),
        "bob": ("2026-11-21T23:30:00+05:00", False, ()),
        "eve": (None, False, ("This name is not in the list l.csv.",)),
    }  # fmt: skip
    assert len(intake.remarks) == 1
    check_text(intake.remarks[0])


def test_a_delivery_that_is_an_archive_is_one_students_if_what_it_wraps_is(
    tmp_path: Path, labs: dict[str, Lab]
) -> None:
    path, course = tmp_path / "class.zip", CourseFolder(tmp_path / "courses" / "2027")
    path.write_bytes(zip_bytes({"w/ada/kernel.c": KERNEL, "w/bob/kernel.c": KERNEL}))
    found = import_submissions(path, course, labs, quiet)
    assert [one.student.id for one in found.submissions] == ["ada", "bob"]
    path.write_bytes(zip_bytes({"ada/kernel.c": KERNEL}))
    found = import_submissions(path, course, labs, quiet)
    assert [one.student.id for one in found.submissions] == ["ada"]
    for content in (b"Rar!\x1a\x07\0",
                          b"x" * 100,
                          zip_bytes({})):  # fmt: skip
        path.write_bytes(content)
        with raises_text(UserError):
            import_submissions(path, course, labs, quiet)
