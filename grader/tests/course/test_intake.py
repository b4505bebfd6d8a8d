"""Deliveries of a class, of every layout and of every kind of trouble."""

from __future__ import annotations

import json
import random
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from support.deliveries import clone, git, make_class, put, tar_bytes, zip_bytes
from support.golden_texts import check_text, raises_text
from support.published_labs import published

from numalab.course.course_folder import CourseFolder
from numalab.course.intake.clone_layouts import assignment_prefix
from numalab.course.intake.intake import import_submissions
from numalab.course.intake.student_list import match_students, read_student_list
from numalab.course.intake.students import Person, identify, read_known, slug
from numalab.course.records import Intake, Student
from numalab.errors import UserError
from numalab.installation import Installation
from numalab.labs.declaration import Lab

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
    intake = import_submissions(delivery, course, labs, quiet)
    assert intake.layout == "plain"
    assert by_student(intake) == {"ada-lovelace": [FIRST], "bob": [FIRST]}
    ada, bob = intake.submissions
    assert (ada.student.name, ada.languages, ada.files) == ("Ada Lovelace", ("c",), ("kernel.c",))
    assert bob.digest == ada.digest
    assert "report.pdf" in " ".join(bob.notes)
    folder = course.submission("bob", FIRST, bob.digest)
    assert (folder / FIRST / "kernel.c").read_bytes() == KERNEL
    assert [problem.source for problem in intake.problems] == ["notes.txt"]
    kept = json.loads(course.intake.read_text())
    assert [one["digest"] for one in kept["submissions"]] == [ada.digest, bob.digest]


def test_an_explanation_is_taken_beside_a_kernel_and_is_nothing_alone(
    delivery: Path, course: CourseFolder, labs: dict[str, Lab]
) -> None:
    said = b"Thread 0 wrote all pages.\n"
    files = {f"{who}/{FIRST}/kernel.c": KERNEL for who in ("ada", "bob")}
    put(delivery, files | {f"{who}/{FIRST}/explanation.txt": said for who in ("ada", "zoe")})
    intake = import_submissions(delivery, course, labs, quiet)
    ada, bob = intake.submissions
    assert ada.files == ("explanation.txt", "kernel.c")
    assert ada.notes == bob.notes == ()
    assert ada.digest != bob.digest  # so that what is said later is taken, too
    folder = course.submission("ada", FIRST, ada.digest)
    assert (folder / FIRST / "explanation.txt").read_bytes() == said
    (problem,) = intake.problems
    check_text(problem.why)


def test_the_same_delivery_again_changes_nothing(
    delivery: Path, course: CourseFolder, labs: dict[str, Lab]
) -> None:
    put(delivery, {"ada/kernel.c": KERNEL, "bob/02_affinity/kernel.f90": b"end\n", "c/x": b""})
    first = import_submissions(delivery, course, labs, quiet)
    before = {path: path.stat().st_mtime_ns for path in course.root.rglob("*")}
    assert import_submissions(delivery, course, labs, quiet) == first
    assert {path: path.stat().st_mtime_ns for path in course.root.rglob("*")} == before


def test_what_a_killed_intake_left_goes_away(
    delivery: Path, course: CourseFolder, labs: dict[str, Lab]
) -> None:
    put(delivery, {"ada/kernel.c": KERNEL})
    (one,) = import_submissions(delivery, course, labs, quiet).submissions
    folder = course.submission("ada", FIRST, one.digest)
    shutil.move(folder, folder.with_name(".partial-x"))
    assert import_submissions(delivery, course, labs, quiet).submissions == (one,)
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


def test_what_is_no_delivery(delivery: Path, course: CourseFolder, labs: dict[str, Lab]) -> None:
    with raises_text(UserError):
        import_submissions(delivery, course, labs, quiet)
    with raises_text(UserError):
        import_submissions(delivery / "x", course, labs, quiet)
    put(delivery, {"01_first_touch/kernel.c": KERNEL})
    with raises_text(UserError):
        import_submissions(delivery, course, labs, quiet)
    with raises_text(UserError):
        import_submissions(delivery, CourseFolder(delivery / "course"), labs, quiet)
    assert not course.root.exists()


def test_a_class_of_forty(
    installation: Installation, tmp_path: Path, course: CourseFolder, first_touch: Lab
) -> None:
    delivery, students, expected = make_class(installation, tmp_path)
    intake = import_submissions(delivery, course, {FIRST: first_touch}, quiet, students)
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
            folder = (
                installation.solution_folder(FIRST)
                if one.kind == "right"
                else installation.lab_folder(FIRST)
            )
            (file,) = found.files
            place = course.submission(id_, FIRST, found.digest) / FIRST / file
            assert place.read_bytes() == (folder / file).read_bytes()
        elif one.kind == "missing":
            check_text(troubled[id_].why)
        else:
            assert one.entry in troubled[id_].why
    # Without the list names tell who is who, and nobody is lost or mixed up with another.
    alone = import_submissions(delivery, CourseFolder(tmp_path / "b"), {FIRST: first_touch}, quiet)
    handed_in = sum(one.kind != "missing" for one in expected)
    assert (
        len({one.student.id for one in (*alone.submissions, *alone.problems) if one.student})
        == handed_in
    )


# ---- the layouts of the course systems ---------------------------------------------------------


def keys(intake: Intake) -> dict[str, dict[str, str]]:
    return {one.student.id: dict(one.student.external) for one in intake.submissions}


def whys(intake: Intake) -> dict[str, str]:
    return {one.source: one.why for one in intake.problems}


MOODLE = {
    "Ada Lovelace_101_assignsubmission_file/kernel.c": KERNEL,
    "Ada Lovelace_101_assignsubmission_onlinetext/onlinetext.html": b"<p>see file</p>",
    "Zo\u00eb Jan_102_assignsubmission_file_/01_first_touch/kernel.f90": b"end\n",
    "Jan Novak_103_assignsubmission_file_/submission.zip": zip_bytes({"w/kernel.c": KERNEL}),
    "Jan Novak_104_assignsubmission_file_/submission.zip": zip_bytes({"kernel.c": b"int x;\n"}),
    "Only Text_105_assignsubmission_onlinetext_/onlinetext.html": b"code",
}


@pytest.mark.parametrize("form", ["folder", "wrapped", "zip", "tar"])
def test_moodle(
    delivery: Path, tmp_path: Path, course: CourseFolder, labs: dict[str, Lab], form: str
) -> None:
    """With an underscore at the end before Moodle 4, and the lab told by the file's name."""
    name = "CS1-Lab 1: First touch-4711"
    if form in ("folder", "wrapped"):
        path = put(delivery / name, MOODLE)
        path = delivery if form == "wrapped" else path
    else:
        path = tmp_path / f"{name}.{form}"
        path.write_bytes(zip_bytes(MOODLE) if form == "zip" else tar_bytes(MOODLE, ""))
    wanted = labs if form != "wrapped" else {FIRST: labs[FIRST]}
    intake = import_submissions(path, course, wanted, quiet)
    assert intake.layout == "moodle"
    assert keys(intake) == {
        "ada-lovelace": {"identifier": "Participant 101"},
        "zoe-jan": {"identifier": "Participant 102"},
        "jan-novak": {"identifier": "Participant 103"},
        "jan-novak-2": {"identifier": "Participant 104"},
    }
    digests = {one.student.id: one.digest for one in intake.submissions}
    assert digests["jan-novak"] == digests["ada-lovelace"] != digests["jan-novak-2"]
    assert "onlinetext" in " ".join(intake.submissions[0].notes)
    assert list(whys(intake)) == ["Only Text_105"]
    check_text(whys(intake)["Only Text_105"])


def test_moodle_without_folders(delivery: Path, course: CourseFolder, labs: dict[str, Lab]) -> None:
    put(delivery, {
        "Ada Lovelace_101_assignsubmission_file_kernel.c": KERNEL,
        "Ada Lovelace_101_assignsubmission_file_my_notes.txt": b"x",
        "Bob_102_assignsubmission_file_work.tar.gz": tar_bytes({"kernel.c": KERNEL}),
        "readme.txt": b"",
    })  # fmt: skip
    intake = import_submissions(delivery, course, labs, quiet)
    assert by_student(intake) == {"ada-lovelace": [FIRST], "bob": [FIRST]}
    assert "my_notes.txt" in " ".join(intake.submissions[0].notes)
    assert list(whys(intake)) == ["readme.txt"]


CANVAS = {
    "lovelaceada_LATE_11_501_kernel.c": b"int old;\n",
    "lovelaceada_LATE_11_502_kernel-1.c": KERNEL,
    "turingalan_12_503_my lab.tar-2.gz": tar_bytes({"01_first_touch/kernel.f90": b"end\n"}),
    "łukaszzoë_13_504_near.toml": b"ranks = 2\n",
    "łukaszzoë_13_505_kernel.c": b'#include "message_latency.h"\n',
    "textedith_14_text.html": b"<p>my kernel</p>",
    "LATE_anon_aB3xY_506_kernel.c": KERNEL,
    "anon_qQ1zz_507_kernel.c": KERNEL,
    "moredoug_15_508_kernel-v2.c": KERNEL,
}


@pytest.mark.parametrize("form", ["folder", "zip"])
def test_canvas(
    delivery: Path, tmp_path: Path, course: CourseFolder, labs: dict[str, Lab], form: str
) -> None:
    path = put(delivery, CANVAS) if form == "folder" else tmp_path / "submissions.zip"
    if form == "zip":
        path.write_bytes(zip_bytes(CANVAS))
    intake = import_submissions(path, course, labs, quiet)
    assert intake.layout == "canvas"
    assert keys(intake) == {
        "lovelaceada": {"id": "11"}, "turingalan": {"id": "12"}, "lukaszzoe": {"id": "13"},
        "anon-ab3xy": {"identifier": "anon_aB3xY"}, "anon-qq1zz": {"identifier": "anon_qQ1zz"},
    }  # fmt: skip
    found = {one.student.id: one for one in intake.submissions}
    late = found["lovelaceada"]
    assert (
        course.submission("lovelaceada", FIRST, late.digest) / FIRST / "kernel.c"
    ).read_bytes() == KERNEL
    check_text(late.notes[:2])
    assert found["lukaszzoe"].lab == "06_message_latency"
    assert found["lukaszzoe"].files == ("kernel.c", "near.toml")
    check_text(found["anon-ab3xy"].notes[0])
    check_text(whys(intake)["moredoug_15"])
    check_text(whys(intake)["textedith_14"])


@pytest.mark.skipif(shutil.which("git") is None, reason="no git")
def test_github_classroom(delivery: Path, course: CourseFolder, labs: dict[str, Lab]) -> None:
    class_folder = delivery / "first-touch-submissions"
    ada = clone(
        class_folder / "first-touch-ada-l", {"kernel.c": KERNEL}, "2026-03-01T10:00:00+01:00"
    )
    installation = {
        "labs/01_first_touch/kernel.c": KERNEL,
        "solutions/01_first_touch/kernel.c": b"no",
    }
    bob = clone(class_folder / "first-touch-Bob", installation, "2026-03-02T23:59:59-05:00")
    git(bob, "gc", "-q")
    # A repository that would start a program in several ways, if its configuration were read.
    started = delivery.parent / "started"
    trap = delivery.parent / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {started}\n")
    trap.chmod(0o755)
    for key in ("core.fsmonitor", "core.pager", "gpg.program", "core.sshCommand", "core.editor"):
        git(ada, "config", key, str(trap))
    git(ada, "config", "log.showSignature", "true")
    put(ada / ".git/hooks", {"post-checkout": trap.read_bytes()})
    # And one that would fetch the commit that it lacks by a program of its own.
    mal = clone(class_folder / "first-touch-mal", {"kernel.c": KERNEL}, "2026-03-03T10:00:00Z")
    git(mal, "config", "core.repositoryFormatVersion", "1")
    git(mal, "config", "extensions.partialClone", "origin")
    git(mal, "config", "remote.origin.promisor", "true")
    git(mal, "config", "remote.origin.url", str(bob))
    git(mal, "config", "remote.origin.uploadpack", str(trap))
    shutil.rmtree(mal / ".git/objects")
    (mal / ".git/objects").mkdir()
    (class_folder / "first-touch-eve").mkdir()
    (class_folder / "first-touch-eve/kernel.c").symlink_to("/etc/passwd")
    intake = import_submissions(class_folder, course, labs, quiet)
    assert intake.layout == "github_classroom"
    assert keys(intake) == {name: {"login": name} for name in ("ada-l", "Bob", "mal")}
    times = {one.student.id: one.handed_in_at for one in intake.submissions}
    assert times == {
        "ada-l": "2026-03-01T10:00:00+01:00", "Bob": "2026-03-02T23:59:59-05:00", "mal": None,
    }  # fmt: skip
    assert all(one.digest == intake.submissions[0].digest for one in intake.submissions)
    assert not started.exists()
    assert whys(intake) == {"first-touch-eve": f"{FIRST}: kernel.c is a link; it was not taken."}


@pytest.mark.parametrize(
    ("names", "delivery", "assignment"),
    [
        (["lab1-ada", "lab1-bob"], "hand-ins", "lab1-"),
        (["lab-1-ada-x", "lab-1-ada-y"], "lab-1-submissions", "lab-1-"),
        (["lab-1-ada"], "x", ""),
        (["ada", "bob"], "x", ""),
    ],
)
def test_the_assignment_of_clones(names: list[str], delivery: str, assignment: str) -> None:
    assert assignment_prefix(names, delivery) == assignment


def test_each_lab_that_is_not_taken_has_its_own_reason(
    delivery: Path, course: CourseFolder, labs: dict[str, Lab]
) -> None:
    for lab in (FIRST, SECOND):
        (delivery / "eve" / lab).mkdir(parents=True)
        (delivery / "eve" / lab / "kernel.c").symlink_to("/etc/passwd")
    intake = import_submissions(delivery, course, labs, quiet)
    assert [problem.lab for problem in intake.problems] == [FIRST, SECOND]
    assert not any(SECOND in one.why for one in intake.problems if one.lab == FIRST)


# ---- the same student again ----------------------------------------------------------------


def test_ids_stay_between_deliveries(
    delivery: Path, course: CourseFolder, first_touch: Lab
) -> None:
    """By keys, then by name, in whatever form of Unicode; a new one never gets an old id."""
    lab = {FIRST: first_touch}
    put(delivery / "1", {"Jos\u00e9_7_assignsubmission_file/kernel.c": KERNEL,
                         "Jose_8_assignsubmission_file/kernel.c": KERNEL})  # fmt: skip
    first = import_submissions(delivery / "1", course, lab, quiet)
    assert keys(first) == {"jose": {"identifier": "Participant 8"},
                           "jose-2": {"identifier": "Participant 7"}}  # fmt: skip
    # Renamed, in the next assignment with another number, and with nothing but a name.
    put(delivery / "2", {"Joey_8_assignsubmission_file/kernel.c": b"int a;\n"})
    put(delivery / "3", {"JOSE\u0301_21_assignsubmission_file/kernel.c": b"int b;\n"})
    put(delivery / "4", {"Jose\u0301/kernel.c": b"int c;\n", "jose/kernel.c": b"int d;\n"})
    assert by_student(import_submissions(delivery / "2", course, lab, quiet)) == {"jose": [FIRST]}
    assert by_student(import_submissions(delivery / "3", course, lab, quiet)) == {"jose-2": [FIRST]}
    fourth = import_submissions(delivery / "4", course, lab, quiet)
    assert {one.student.name: one.student.id for one in fourth.submissions} == {
        "Jos\u00e9": "jose-2", "jose": "jose-3",
    }  # fmt: skip
    # The first assignment's number is not what Moodle knows the student by in another one.
    assert {one.student.id: dict(one.student.external) for one in fourth.submissions} == {
        "jose-2": {}, "jose-3": {},
    }  # fmt: skip
    assert len(list(course.submissions.glob("*/*"))) == 6


def test_nobody_is_guessed(delivery: Path, course: CourseFolder, labs: dict[str, Lab]) -> None:
    """Two of one name in the next assignment, where Moodle's numbers are others."""
    put(delivery / "1", {"Jan_1_assignsubmission_file/kernel.c": KERNEL,
                         "Jan_2_assignsubmission_file/kernel.c": KERNEL})  # fmt: skip
    put(delivery / "2", {"Jan_3_assignsubmission_file/kernel.c": KERNEL,
                         "Jan_4_assignsubmission_file/kernel.c": KERNEL})  # fmt: skip
    students = delivery / "grades.csv"
    students.write_text(
        "Identifier,Full name,Email address,Status,Last modified (submission)\n"
        "Participant 1,Jan,j1@x.org,,-\nParticipant 2,Jan,j2@x.org,,-\n"
    )
    put(delivery / "0", {"Jan_1_assignsubmission_file/kernel.c": KERNEL})
    one_known = CourseFolder(course.root.with_name("one"))
    import_submissions(delivery / "0", one_known, labs, quiet)
    assert not import_submissions(delivery / "2", one_known, labs, quiet).submissions
    import_submissions(delivery / "1", course, labs, quiet, students)
    guessed = import_submissions(delivery / "2", course, labs, quiet)
    assert not guessed.submissions
    assert all("--students" in why for why in whys(guessed).values())
    students.write_text(
        "\ufeffIdentifier,Full name,Email address,Status,Last modified (submission)\n"
        'Participant 3,Jan,j2@x.org,,"Sunday, 1 March 2026, 9:30 PM"\n'
        "Participant 4,Jan,j1@x.org,,-\nParticipant 5,Eva,e@x.org,,-\n"
    )
    told = import_submissions(delivery / "2", course, labs, quiet, students)
    before = {one.external["email"]: one.id for one in told_students(course)}
    assert {one.student.external["identifier"]: one.student.id for one in told.submissions} == {
        "Participant 3": before["j2@x.org"], "Participant 4": before["j1@x.org"],
    }  # fmt: skip
    times = {one.student.external["email"]: one.handed_in_at for one in told.submissions}
    assert times["j1@x.org"] is None
    assert str(times["j2@x.org"]).startswith("2026-03-01T21:30:00")
    (missing,) = told.problems
    assert missing.student and missing.student.id == "eva"
    check_text(missing.why)


def told_students(course: CourseFolder) -> list[Student]:
    return [one.student for one in read_known(course.students)]


@pytest.mark.parametrize(
    ("text", "people", "expected"),
    [
        ("id,name,email\ns1,Ada Lovelace,a@x.org\n", Person("s1", {}), "Ada Lovelace"),
        ("id;name;email\ns1;Ada Lovelace;a@x.org\n", Person("lovelace ADA", {}), "Ada Lovelace"),
        ("name,email\nAda,a@x.org\nAda,b@x.org\n", Person("Ada", {}), None),
        ("name,email\nAda,a@x.org\nAda,b@x.org\n", Person("b@x.org", {}), "Ada"),
        ("First name,Email address\nAda,a@x.org\n", Person("Ada", {}), "Ada"),
        ("Surname,Email address\nLovelace,a@x.org\n", Person("Lovelace", {}), "Lovelace"),
        ("First name,Surname,Email address\nAda,Lovelace,a@x.org\n",
         Person("Ada Lovelace", {"identifier": "Participant 1"}), "Ada Lovelace"),
        ('Student,ID,SIS User ID,SIS Login ID,Section\n"    Points Possible",,,,\n'
         '"Lovelace, Ada",11,x,ada,A\n', Person("lovelaceada", {"id": "11"}), "Ada Lovelace"),
        ('Student,ID,SIS User ID,SIS Login ID,Section\n"Lovelace, Ada",12,x,ada,A\n',
         Person("lovelaceada", {"id": "11"}), "Ada Lovelace"),
        ("identifier,github_username,github_id,name\nada@x.org,adal,1,Ada\n",
         Person("adal", {"login": "ADAL"}), "Ada"),
    ],
)  # fmt: skip
def test_student_lists(tmp_path: Path, text: str, people: Person, expected: str | None) -> None:
    path = tmp_path / "list.csv"
    path.write_text(text, encoding="utf-8")
    listed, remarks = read_student_list(path)
    (found,) = match_students([people], listed)
    assert not remarks
    assert (found and found.name) == expected


def test_lists_that_are_none(tmp_path: Path, delivery: Path, course: CourseFolder) -> None:
    path = tmp_path / "list.csv"
    for content in (b"a,b\n1,2\n", b"\xff\xfe",
                          b'id,name\n1,"x\n', b"",
                          b"id,handed_in_at\n1,noon\n"):  # fmt: skip
        path.write_bytes(content)
        with raises_text(UserError):
            read_student_list(path)
    path.write_text('Full name,Last modified (submission)\nAda,"lundi 1 mars"\n')
    assert "lundi" in read_student_list(path)[1][0]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Zo\u00eb \u0141ukasz-Wei\u00df", "zoe-lukasz-weiss"), ("../../etc/passwd", "etc-passwd"),
        ("李雷", "student-3a47328a"), ("...", "student-"), ("x" * 500, "x" * 40), ("", "student-"),
    ],
)  # fmt: skip
def test_slugs(name: str, expected: str) -> None:
    assert slug(name).startswith(expected)


def test_ids_are_always_fit_for_files() -> None:
    """Of any names, in any order: as many ids as people, all fit for a file name, none like
    another, and the same in another order."""
    chance = random.Random(1)
    letters = "aA\u00e9\u0301 ._-/\\\0\n\u202e李\u0131ß=@\U0001f600'\"<"
    names = {"".join(chance.choices(letters, k=chance.randrange(1, 6))) for _ in range(400)}
    people = [Person(name, {"id": str(i)}) for i, name in enumerate(sorted(names))]
    found, _ = identify(people, ())
    ids = [one.id for one in found if isinstance(one, Student)]
    assert len({one.casefold() for one in ids}) == len(people)
    assert all(re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]*", one) for one in ids)
    backwards, known = identify(people[::-1], ())
    assert backwards == found[::-1]
    assert identify(people, known)[0] == found


# ---- which files, of which lab -----------------------------------------------------------------


def take_files(
    files: dict[str, bytes], delivery: Path, course: CourseFolder, labs: Mapping[str, Lab]
) -> Intake:
    put(delivery / "eve", files)
    return import_submissions(delivery, course, labs, quiet)


@pytest.mark.parametrize(
    "folder", ["01_first_touch", "01", "1", "lab1", "Lab 01", "first-touch", "First Touch",
               "lab01_first_touch", "a/b/01_first_touch"],
)  # fmt: skip
def test_names_of_a_labs_folder(
    delivery: Path, course: CourseFolder, labs: dict[str, Lab], folder: str
) -> None:
    intake = take_files({f"{folder}/kernel.c": b"\n"}, delivery, course, labs)
    assert by_student(intake) == {"eve": [FIRST]}


def test_a_whole_copy_of_the_kit(
    delivery: Path, course: CourseFolder, labs: dict[str, Lab]
) -> None:
    """The student's own files are in labs/; what the kit brings along is no hand-in."""
    names = ("labs", "solutions", "build/gnu/handouts")
    files = {f"numalab/{one}/{lab}/kernel.c": one.encode() for one in names for lab in labs}
    files |= {f"numalab/labs/{FIRST}/{name}": b"" for name in ("README.md", "lab.toml")}
    intake = take_files(files, delivery, course, {FIRST: labs[FIRST], SECOND: labs[SECOND]})
    assert by_student(intake) == {"eve": [FIRST, SECOND]}
    assert not intake.problems
    for one in intake.submissions:
        folder = course.submission("eve", one.lab, one.digest)
        assert (folder / one.lab / "kernel.c").read_bytes() == b"labs"
    assert intake.submissions[0].notes == ()


def test_another_labs_files_are_not_taken(
    delivery: Path, course: CourseFolder, first_touch: Lab
) -> None:
    for name in (f"{SECOND}/kernel.c", f"{SECOND}/src/kernel.c"):
        intake = take_files({name: KERNEL}, delivery, course, {FIRST: first_touch})
        assert not intake.submissions
        check_text(whys(intake)["eve"])


def test_a_lab_told_by_its_functions(
    delivery: Path, course: CourseFolder, labs: dict[str, Lab], kit_root: Path
) -> None:
    """A Fortran kernel names no contract. A lab that is not published may have the functions of
    another one."""
    labs = {name: lab for name, lab in published(labs).items() if "fortran" in lab.languages}
    for lab in labs:
        put(
            delivery / lab[3:],
            {"kernel.f90": (kit_root / "labs" / lab / "kernel.f90").read_bytes()},
        )
    put(delivery / "unclear", {"kernel.f90": b"end\n"})
    intake = import_submissions(delivery, course, labs, quiet)
    assert {one.student.name: one.lab for one in intake.submissions} == {
        lab[3:]: lab for lab in labs
    }
    check_text(whys(intake)["unclear"])


def test_a_kernel_in_capitals_of_a_lab_that_is_not_said(
    delivery: Path, course: CourseFolder, labs: dict[str, Lab]
) -> None:
    (found,) = take_files({"Kernel.C": KERNEL}, delivery, course, labs).submissions
    assert (found.lab, found.notes) == (FIRST, ("Kernel.C is taken as kernel.c.",))


def test_files_beside_the_kernel(
    delivery: Path, course: CourseFolder, labs: dict[str, Lab]
) -> None:
    names = [file.name for file in labs[SECOND].files]
    files = {f"{SECOND}/{name}": b"A=1\r\n" for name in names[1:]}
    put(
        delivery / "ada", {**files, f"{SECOND}/kernel.f90": b"end\n", f"{SECOND}/a.out": b"\x7fELF"}
    )
    put(delivery / "bob", files)
    ada, bob = import_submissions(delivery, course, labs, quiet).submissions
    assert ada.languages == ("fortran",)
    assert ada.files == tuple(sorted(["kernel.f90", *names[1:]]))
    check_text(ada.notes)
    # Without a kernel the rest is graded still, in one language.
    assert bob.languages == ("c",)
    check_text(bob.notes)


def test_times_of_a_list(
    delivery: Path, tmp_path: Path, course: CourseFolder, first_touch: Lab
) -> None:
    put(delivery, {"ada/kernel.c": KERNEL, "bob/kernel.c": KERNEL})
    labs = {FIRST: first_touch}
    students = tmp_path / "students.csv"
    first = import_submissions(delivery, course, labs, quiet)
    students.write_text("id,name,handed_in_at\nx1,Ada,2026-03-01T10:00:00+01:00\n")
    ada, bob = import_submissions(delivery, course, labs, quiet, students).submissions
    assert (ada.handed_in_at, bob.handed_in_at) == ("2026-03-01T10:00:00+01:00", None)
    assert ada.student.id == "ada"  # which she had before the list was there
    assert ada.digest == first.submissions[0].digest
    check_text(bob.notes)


def test_ids_that_are_lost(delivery: Path, course: CourseFolder, first_touch: Lab) -> None:
    put(delivery, {"ada/kernel.c": KERNEL})
    put(course.root, {"students.json": b"[]"})
    with raises_text(UserError):
        import_submissions(delivery, course, {FIRST: first_touch}, quiet)
