"""Deliveries of a class, of every layout and of every kind of trouble."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from deliveries import make_class, put

from numalab.batch.course_folder import CourseFolder
from numalab.batch.intake import read_submissions, take_in
from numalab.batch.records import Intake
from numalab.declaration import Lab
from numalab.errors import UserError
from numalab.kit import Kit

KERNEL = b'#include "first_touch.h"\nvoid initialize(void) {}\n'
FIRST, SECOND = "01_first_touch", "02_affinity"


def quiet(step: str) -> None:
    del step


@pytest.fixture
def course(tmp_path: Path) -> CourseFolder:
    return CourseFolder(tmp_path / "course")


@pytest.fixture
def delivery(tmp_path: Path) -> Path:
    folder = tmp_path / "delivery"
    folder.mkdir()
    return folder


def by_student(intake: Intake) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one in intake.submissions:
        found.setdefault(one.student.id, []).append(one.lab)
    return found


def test_a_plain_folder(delivery: Path, course: CourseFolder, labs: dict[str, Lab]) -> None:
    put(delivery, {"Ada Lovelace/01_first_touch/kernel.c": KERNEL, "bob/kernel.c": KERNEL,
                   "bob/report.pdf": b"%PDF", "notes.txt": b"mine"})  # fmt: skip
    intake = take_in(delivery, course, labs, quiet)
    assert intake.layout == "plain"
    assert by_student(intake) == {"ada-lovelace": [FIRST], "bob": [FIRST]}
    ada, bob = intake.submissions
    assert (ada.student.name, ada.languages, ada.files) == ("Ada Lovelace", ("c",), ("kernel.c",))
    assert bob.digest == ada.digest
    assert "report.pdf" in " ".join(bob.notes)
    folder = course.submission("bob", FIRST, bob.digest)
    assert (folder / FIRST / "kernel.c").read_bytes() == KERNEL
    assert [problem.source for problem in intake.problems] == ["notes.txt"]
    assert read_submissions(course) == intake.submissions


def test_the_same_delivery_again_changes_nothing(
    delivery: Path, course: CourseFolder, labs: dict[str, Lab]
) -> None:
    put(delivery, {"ada/kernel.c": KERNEL, "bob/02_affinity/kernel.f90": b"end\n", "c/x": b""})
    first = take_in(delivery, course, labs, quiet)
    before = {path: path.stat().st_mtime_ns for path in course.root.rglob("*")}
    assert take_in(delivery, course, labs, quiet) == first
    assert {path: path.stat().st_mtime_ns for path in course.root.rglob("*")} == before


def test_what_a_killed_intake_left_goes_away(
    delivery: Path, course: CourseFolder, labs: dict[str, Lab]
) -> None:
    put(delivery, {"ada/kernel.c": KERNEL})
    (one,) = take_in(delivery, course, labs, quiet).submissions
    folder = course.submission("ada", FIRST, one.digest)
    shutil.move(folder, folder.with_name(".partial-x"))
    assert take_in(delivery, course, labs, quiet).submissions == (one,)
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


def test_what_is_no_delivery(delivery: Path, course: CourseFolder, labs: dict[str, Lab]) -> None:
    with pytest.raises(UserError, match="is empty"):
        take_in(delivery, course, labs, quiet)
    with pytest.raises(UserError, match="there is no"):
        take_in(delivery / "x", course, labs, quiet)
    put(delivery, {"01_first_touch/kernel.c": KERNEL})
    with pytest.raises(UserError, match="one student's hand-in"):
        take_in(delivery, course, labs, quiet)
    assert not course.root.exists()


def test_a_class_of_forty(kit: Kit, tmp_path: Path, course: CourseFolder, first_touch: Lab) -> None:
    delivery, students, expected = make_class(kit, tmp_path)
    intake = take_in(delivery, course, {FIRST: first_touch}, quiet, students)
    assert len(expected) == 40
    taken = {one.student.id: one for one in intake.submissions}
    troubled = {one.student.id: one for one in intake.problems if one.student}
    assert {*taken, *troubled} == {f"s{number:02d}" for number in range(40)}
    assert not {*taken} & {*troubled}
    assert all(one.student for one in intake.problems)
    for number, one in enumerate(expected):
        id_ = f"s{number:02d}"
        if one.kind in ("right", "wrong"):
            found = taken[id_]
            assert found.languages == (one.language,)
            folder = kit.solution_folder(FIRST) if one.kind == "right" else kit.lab_folder(FIRST)
            (file,) = found.files
            place = course.submission(id_, FIRST, found.digest) / FIRST / file
            assert place.read_bytes() == (folder / file).read_bytes()
        elif one.kind == "missing":
            assert troubled[id_].why == "Nothing was handed in."
        else:
            assert one.entry in troubled[id_].why
    # Without the list names tell who is who, and nobody is lost or mixed up with another.
    alone = take_in(delivery, CourseFolder(tmp_path / "b"), {FIRST: first_touch}, quiet)
    handed_in = sum(one.kind != "missing" for one in expected)
    assert (
        len({one.student.id for one in (*alone.submissions, *alone.problems) if one.student})
        == handed_in
    )
