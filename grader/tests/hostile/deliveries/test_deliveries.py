"""One student's bytes against a class: whatever eve hands in is hers to bear, ada is graded, and
nobody waits."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from support.deliveries import put, zip_bytes
from support.hostile_files import ARCHIVES, KERNEL, put_no_files

from numalab.course.course_folder import CourseFolder
from numalab.course.intake import intake as intake_module
from numalab.course.intake import trees
from numalab.course.intake.intake import import_submissions
from numalab.course.records import Intake
from numalab.errors import UserError
from numalab.labs.declaration import Lab
from numalab.untrusted import reader_pool
from numalab.untrusted.visible import visible

FIRST = "01_first_touch"


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same limits, met sooner."""
    reader = reader_pool.Limits(computing_s=1, memory_bytes=256 << 20, file_bytes=64 << 20)
    monkeypatch.setattr(
        intake_module,
        "STUDENT_LIMITS",
        replace(intake_module.STUDENT_LIMITS, reader=reader),
    )


def taken(
    folder: Path, labs: dict[str, Lab], layout: str | None = None, students: Path | None = None
) -> Intake:
    course = CourseFolder(folder / "course")
    return import_submissions(folder / "delivery", course, labs, lambda _: None, students, layout)


def texts(intake: Intake) -> Iterable[str]:
    for one in intake.submissions:
        yield from (one.student.id, one.student.name, one.source, *one.notes)
    for problem in intake.problems:
        yield from (problem.source, problem.why)


def ids(intake: Intake) -> set[str]:
    return {one.student.id for one in intake.submissions}


# Whose kernels are read to find out which lab they are of.
LOOKED_INTO = ("overlapping", "same_name", "many_folders", "names")


@pytest.mark.parametrize(
    ("name", "of_all"), [*((name, False) for name in ARCHIVES), *((n, True) for n in LOOKED_INTO)]
)
def test_archives(tmp_path: Path, labs: dict[str, Lab], name: str, of_all: bool) -> None:
    suffix, make = ARCHIVES[name]
    lab_of = labs if of_all else {FIRST: labs[FIRST]}
    put(tmp_path / "delivery", {"ada/01_first_touch/kernel.c": KERNEL, f"eve{suffix}": make()})
    intake = taken(tmp_path, lab_of)
    assert "ada" in ids(intake)
    told = {problem.student.id for problem in intake.problems if problem.student}
    assert "eve" in told | ids(intake)
    assert all(text == visible(text) and len(text) < 2_000 for text in texts(intake))
    if name in ("pax_of_digits", "pax_of_a_gibibyte", "pax_in_pax", "many_members", "overlapping"):
        assert "eve" not in ids(intake)


def test_what_is_no_file(tmp_path: Path, labs: dict[str, Lab]) -> None:
    put(tmp_path / "delivery", {"ada/01_first_touch/kernel.c": KERNEL})
    made = put_no_files(tmp_path / "delivery", "kernel.c")
    intake = taken(tmp_path, {FIRST: labs[FIRST]})
    assert ids(intake) == {"ada"}
    why = {one.student.id: one.why for one in intake.problems if one.student}
    assert why.keys() == made.keys()
    for kind in ("link", "dangling", "loop", "endless"):
        assert "kernel.c is a link" in why[kind]
    assert "kernel.c is no plain file" in why["fifo"]
    assert "kernel.c is no plain file" in why["socket"]
    assert "larger than 1 MiB" in why["sparse"]


def test_a_folder_that_nobody_comes_to_the_end_of(
    tmp_path: Path, labs: dict[str, Lab], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Paths longer than the system takes, and more entries than anybody looks at."""
    put(tmp_path / "delivery", {"ada/kernel.c": KERNEL})
    here = tmp_path / "delivery" / "eve"
    here.mkdir()
    monkeypatch.chdir(here)
    for _ in range(18):
        Path("d" * 250).mkdir()
        monkeypatch.chdir("d" * 250)
    monkeypatch.chdir(tmp_path)
    assert ids(taken(tmp_path, labs | {})) <= {"ada"}
    put(tmp_path / "delivery" / "mallory", {f"x{number}/x": b"" for number in range(40)})
    monkeypatch.setattr(trees.walk_folder, "__defaults__", (30,))
    intake = taken(tmp_path, {FIRST: labs[FIRST]})
    assert ids(intake) == {"ada"}
    (why,) = [one.why for one in intake.problems if one.student and one.student.id == "mallory"]
    assert "None of the files that are graded was found" in why


# ---- one file changes how a class is read ------------------------------------------------------

CLASS = {f"{name}/01_first_touch/kernel.c": KERNEL for name in ("ada", "bob", "cem")}
MISLEADING = {
    "canvas": {"eve_1_2_lab.zip": zip_bytes({"kernel.c": KERNEL})},
    "moodle": {"Eve_7_assignsubmission_file/kernel.c": KERNEL},
    "github_classroom": {"eve/.git/HEAD": b"ref: refs/heads/main\n", "eve/kernel.c": KERNEL},
    "lab": {"01_first_touch/kernel.c": KERNEL},
    "kernel": {"kernel.c": KERNEL},
}


@pytest.mark.parametrize("how", MISLEADING)
def test_one_entry_of_another_layout(tmp_path: Path, labs: dict[str, Lab], how: str) -> None:
    put(tmp_path / "delivery", CLASS | MISLEADING[how])
    intake = taken(tmp_path, {FIRST: labs[FIRST]})
    assert intake.layout == "plain"
    assert {"ada", "bob", "cem"} <= ids(intake)
    if how == "github_classroom":  # a clone is a hand-in like another
        assert (ids(intake), intake.problems) == ({"ada", "bob", "cem", "eve"}, ())
        return
    (told,) = intake.problems
    assert next(iter(MISLEADING[how])).partition("/")[0] in told.why


@pytest.mark.parametrize("how", ["canvas", "moodle", "github_classroom"])
def test_the_layout_that_is_asked_for(tmp_path: Path, labs: dict[str, Lab], how: str) -> None:
    put(tmp_path / "delivery", CLASS | MISLEADING[how])
    intake = taken(tmp_path, {FIRST: labs[FIRST]}, how)
    assert intake.layout == how
    others = {problem.source for problem in intake.problems} | ids(intake)
    assert {"ada", "bob", "cem"} <= others
    with pytest.raises(UserError, match="nothing in the delivery is named as"):
        put(tmp_path / "other" / "delivery", CLASS)
        taken(tmp_path / "other", {FIRST: labs[FIRST]}, how)


def test_plain_is_asked_for(tmp_path: Path, labs: dict[str, Lab]) -> None:
    put(tmp_path / "delivery", {f"{name}_1_2_lab.zip": zip_bytes({"kernel.c": KERNEL})
                                for name in ("ada", "bob")})  # fmt: skip
    assert taken(tmp_path, {FIRST: labs[FIRST]}).layout == "canvas"
    intake = taken(tmp_path, {FIRST: labs[FIRST]}, "plain")
    assert (intake.layout, ids(intake)) == ("plain", {"ada_1_2_lab", "bob_1_2_lab"})
    assert not intake.problems


# ---- texts -------------------------------------------------------------------------------------

STEERING = "\x1b]52;c;cm0gLXJmIH4=\x07\x1b[2J\u202egnp.\u2066exe\u200b\ud800"


def test_names_are_shown_and_steer_nothing(tmp_path: Path, labs: dict[str, Lab]) -> None:
    name = STEERING.replace("\ud800", "")
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for inside in (f"{name}.c", f"x\n{name}/kernel.f90"):
            archive.addfile(tarfile.TarInfo(inside))
    put(tmp_path / "delivery", {
        "ada/01_first_touch/kernel.c": KERNEL,
        f"{name}/kernel (1).c": KERNEL,
        f"{name}.rar": b"Rar!",
        "eve.tar": packed.getvalue(),
    })  # fmt: skip
    students = tmp_path / "students.csv"
    students.write_text(f"id,name,email\n7,Eve {name},{name}@x\n8,=cmd|' /C calc'!A0,a@x\n")
    intake = taken(tmp_path, {FIRST: labs[FIRST]}, students=students)
    told = list(texts(intake))
    assert all(text == visible(text) for text in told)
    assert any("\\x1b]52" in text and "<U+202E>" in text for text in told)
    keys = [
        value for one in intake.problems if one.student for value in one.student.external.values()
    ]
    assert any("<U+202E>" in value for value in keys)
    assert all(value == visible(value) for value in keys)
