"""Deliveries as systems of 2026 make them, of a class that is made up: names, logins, times."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from support.deliveries import KERNEL_BYTES as KERNEL
from support.deliveries import RAR, SEVEN_ZIP, clone, put, zip_bytes
from support.golden_texts import check_text, raises_text

from numalab.course.course_folder import CourseFolder
from numalab.course.intake.clone_layouts import assignment_prefix
from numalab.course.intake.intake import import_submissions
from numalab.course.intake.layouts import read_layout
from numalab.course.intake.student_list import read_student_list
from numalab.course.intake.trees import walk_folder
from numalab.course.intake.uploads import CollectionContext
from numalab.course.records import Intake
from numalab.errors import UserError
from numalab.labs.declaration import Lab

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="no git")
FIRST, SECOND = "01_first_touch", "02_affinity"
MORNING, NIGHT = "2026-10-05T09:00:00+02:00", "2026-10-06T23:30:00+02:00"


def quiet(step: str) -> None:
    del step


@pytest.fixture
def course(tmp_path: Path) -> CourseFolder:
    return CourseFolder(tmp_path / "course")


def logins(intake: Intake) -> dict[str, tuple[str, str | None]]:
    """Lab and time, by login."""
    return {
        one.student.external["login"]: (one.lab, one.handed_in_at) for one in intake.submissions
    }


def whys(intake: Intake) -> dict[str, str]:
    """By the student's id, or by the source where it is nobody's."""
    return {one.student.id if one.student else one.source: one.why for one in intake.problems}


# ---- Classroom 50 ------------------------------------------------------------------------------

# As `gh teacher download made-up-org pp first-touch` names it, and as its source writes the files.
DOWNLOAD = "pp-first-touch_submissions_2026_10_07_T_08_00_00"
SCORES = (
    "username,first_name,last_name,email,section,score,max_score,datetime,submission_tag,"
    "submitted_by,review_url,late,override\n"
    "Ada-L,Ada,Lovelace,ada@example.org,A,4,10,2026-10-06T21:30:00Z,"
    "submit/2026-10-06T21-31-07Z-1234567,Ada-L,https://example.org/r,true,\n"
    "Ada-L,Ada,Lovelace,ada@example.org,A,2,10,2026-10-01T08:00:00Z,"
    "submit/2026-10-01T08-01-00Z-7654321,Ada-L,https://example.org/r,false,\n"
    "bob,Bob,Made Up,bob@example.org,A,,,,,,,,\n"
    "cem,Cem,Missing,cem@example.org,B,,,,,,,,\n"
    "dee,Dee,Teammate,dee@example.org,B,4,10,2026-10-06T21:30:00Z,"
    "submit/2026-10-06T21-31-07Z-1234567,Ada-L,https://example.org/r,false,\n"
)


def marker(login: str, assignment: str = "first-touch") -> bytes:
    return (
        f"schema: classroom50/repo-config/v1\nclassroom: pp\nassignment: {assignment}\n"
        f"owner:\n  username: {login}\n  id: 1\n"
    ).encode()


def history(committed: str, tag: str, type_: str = "individual") -> bytes:
    result = {"datetime": committed, "assignment_type": type_}
    return json.dumps([{"submission_tag": tag, "result": result}]).encode()


def classroom50(folder: Path, scores: str | None = SCORES) -> Path:
    """Ada's commit is dated before a tag that is hours later; bob has handed in nothing that
    Classroom 50 knows of; cem has no repository; dee is in Ada's group."""
    ada = {"kernel.c": KERNEL, ".classroom50.yaml": marker("Ada-L")}
    clone(folder / "pp-first-touch-ada-l", ada, NIGHT)
    results = history("2026-10-06T21:30:00Z", "submit/2026-10-07T05-00-00Z-1234567")
    put(folder / "pp-first-touch-ada-l", {"results.json": results, "result.json": b"{}"})
    # Who says to be Ada, of another assignment, is still who the repository is of.
    bob = {f"{FIRST}/kernel.c": b"int bob;\n", ".classroom50.yaml": marker("ada-l", "other")}
    clone(folder / "pp-first-touch-bob", bob, MORNING)
    eve = {"kernel.c": b"int eve;\n", ".classroom50.yaml": marker("eve")}
    clone(folder / "pp-first-touch-eve", eve, MORNING)
    if scores is not None:
        put(folder, {"scores.csv": scores.encode()})
    return folder


@needs_git
def test_a_download_of_classroom_50(
    tmp_path: Path, course: CourseFolder, labs: dict[str, Lab]
) -> None:
    intake = import_submissions(classroom50(tmp_path / DOWNLOAD), course, labs, quiet)
    assert intake.layout == "classroom50"
    assert logins(intake) == {
        "Ada-L": (FIRST, NIGHT), "bob": (FIRST, MORNING), "eve": (FIRST, MORNING)
    }  # fmt: skip
    found = {one.student.id: one for one in intake.submissions}
    ada = found["Ada-L"]
    assert (ada.student.name, ada.student.external["email"]) == ("Ada Lovelace", "ada@example.org")
    told = " ".join(ada.notes)
    check_text(told)
    assert "result" not in told.replace("results", "").replace("Classroom", "")
    check_text(" ".join(found["bob"].notes))
    why = whys(intake)
    assert sorted(why) == ["cem", "dee"]
    check_text(why["cem"])
    check_text(why["dee"])


@needs_git
@pytest.mark.parametrize("name", ["submissions", DOWNLOAD])
def test_a_download_by_pattern_has_no_scores(
    tmp_path: Path, course: CourseFolder, labs: dict[str, Lab], name: str
) -> None:
    """With roster.csv as the list of the class, which names who is missing, and times that the
    instructor gives, which come before those of commits."""
    folder = classroom50(tmp_path / name, scores=None)
    put(folder / "pp-first-touch-ada-l", {"results.json": b"[{}"})  # damaged: nothing is told
    roster = tmp_path / "roster.csv"
    roster.write_text(
        "username,first_name,last_name,email,section,github_id,handed_in_at\n"
        "Ada-L,Ada,Lovelace,ada@example.org,A,11,2026-10-07T07:00:00+02:00\n"
        "Bob,Bob,Made Up,bob@example.org,A,12,\n"
        "cem,Cem,Missing,cem@example.org,B,13,\n"
    )
    intake = import_submissions(folder, course, {FIRST: labs[FIRST]}, quiet, roster)
    assert intake.layout == "classroom50"
    assert logins(intake) == {
        "ada-l": (FIRST, "2026-10-07T07:00:00+02:00"), "bob": (FIRST, MORNING),
        "eve": (FIRST, MORNING),
    }  # fmt: skip
    found = {one.student.id: one for one in intake.submissions}
    assert (found["Ada-L"].student.name, found["Ada-L"].notes) == ("Ada Lovelace", ())
    check_text(" ".join(found["eve"].notes))
    assert whys(intake) == {"cem": "Nothing was handed in."}


@needs_git
def test_a_groups_repository(tmp_path: Path, course: CourseFolder, labs: dict[str, Lab]) -> None:
    folder = classroom50(tmp_path / DOWNLOAD, scores=None)
    group = history("2026-10-06T21:30:00Z", "submit/2026-10-06T21-31-00Z-1234567", "group")
    put(folder / "pp-first-touch-ada-l", {"results.json": group})
    (ada,) = [
        one
        for one in import_submissions(folder, course, labs, quiet).submissions
        if one.student.id == "ada-l"
    ]
    assert len(ada.notes) == 1
    check_text(ada.notes[0])


@pytest.mark.parametrize(
    "results",
    [
        b"[" * 100_000,
        b"null",
        b"[]",
        b"[7]",
        b'[{"submission_tag": 5, "result": 7}]',
        b"\xff\0",
        b'[{"submission_tag": "submit/2026-13-99T99-99-99Z-1", "result": {"datetime": "now"}}]',
        b'[{"submission_tag": "submit/2026-10-07T05-00-00Z-1", "result": {"datetime": 9}}]',
        b'[{"submission_tag": "submit/2026-10-07T05-00-00Z-1", "result": '
        b'{"datetime": "0001-01-01T00:00:00+14:00"}}]',
        b"[" + b"1," * (1 << 20) + b"1]",
    ],
    ids=range(10),
)
def test_results_that_are_none_tell_nothing(
    tmp_path: Path, course: CourseFolder, labs: dict[str, Lab], results: bytes
) -> None:
    """A student can have written the file; it changes neither who that is nor a grade."""
    delivery = fake_clones(tmp_path / "pp-lab1_submissions_2026_10_07_T_08_00_00", "pp-lab1-eve")
    put(delivery / "pp-lab1-eve", {"results.json": results, ".classroom50.yaml": b"\0: \xff"})
    intake = import_submissions(delivery, course, {FIRST: labs[FIRST]}, quiet)
    (eve,) = intake.submissions
    assert (eve.student.id, eve.notes, intake.problems) == ("eve", (), ())


# ---- GitLab ------------------------------------------------------------------------------------

# Folder below the delivery, and the login and lab that it is of.
GITLAB = {
    # glab repo clone -g GROUP, a project for each student
    "flat": {"lab1-ada": ("ada", FIRST), "lab1-bob": ("bob", FIRST), "lab1-cem": ("cem", FIRST)},
    # --preserve-namespace, a subgroup for each assignment
    "by assignment": {
        "pp26/01_first_touch/stud-01": ("stud-01", FIRST),
        "pp26/01_first_touch/stud-02": ("stud-02", FIRST),
        "pp26/01_first_touch/stud-03": ("stud-03", FIRST),
        "pp26/02_affinity/stud-01": ("stud-01", SECOND),
        "pp26/02_affinity/stud-03": ("stud-03", SECOND),
    },
    # a subgroup for each student
    "by student": {
        "ada/lab1": ("ada", FIRST), "ada/affinity": ("ada", SECOND), "bob/lab1": ("bob", FIRST)
    },
    # a subgroup for each assignment, and its name in the project's again
    "named twice": {
        "first-touch/first-touch-ada": ("ada", FIRST), "first-touch/first-touch-bob": ("bob", FIRST)
    },
}  # fmt: skip


@needs_git
@pytest.mark.parametrize("how", GITLAB)
def test_clones_of_a_gitlab_group(
    tmp_path: Path, course: CourseFolder, labs: dict[str, Lab], how: str
) -> None:
    delivery = tmp_path / "pp26-clones"
    for number, (place, (login, _)) in enumerate(GITLAB[how].items()):
        repository = clone(
            delivery / place,
            {"kernel.c": f"int {login[:3]};\n".encode()},
            f"2026-10-0{number + 1}T09:00:00+02:00",
        )
        (repository / ".git" / "config").write_text(
            f'[remote "origin"]\n\turl = git@git.example.edu:pp26/{place}.git\n'
        )
    wanted = {FIRST: labs[FIRST]} if how == "flat" else {lab: labs[lab] for lab in (FIRST, SECOND)}
    intake = import_submissions(delivery, course, wanted, quiet)
    assert intake.layout == "gitlab"
    assert not intake.problems
    found = {
        (one.student.external["login"], one.lab, one.handed_in_at) for one in intake.submissions
    }
    assert found == {
        (login, lab, f"2026-10-0{number + 1}T09:00:00+02:00")
        for number, (login, lab) in enumerate(GITLAB[how].values())
    }


def fake_clones(folder: Path, *places: str) -> Path:
    """What is told by where clones lie needs no commits."""
    for place in places:
        put(folder / place, {"kernel.c": KERNEL, ".git/HEAD": b"ref: refs/heads/main\n"})
    return folder


def test_whose_a_clone_is_does_not_show(
    tmp_path: Path, course: CourseFolder, labs: dict[str, Lab]
) -> None:
    """Of two parts of the paths either could be the student; a list of the class tells."""
    delivery = fake_clones(tmp_path / "clones", "x/ada", "x/bob", "y/ada", "y/bob")
    with raises_text(UserError):
        import_submissions(delivery, course, {FIRST: labs[FIRST]}, quiet)
    members = tmp_path / "members.csv"
    members.write_text("Username,Name\nada,Ada Lovelace\nbob,Bob Made Up\n")
    found = read_layout(
        list(walk_folder(delivery)),
        CollectionContext("clones", {"kernel.c"}, frozenset({"ada", "bob"})),
    )
    assert [(one.source, one.person.name) for one in found.uploads] == [
        ("x/ada", "ada"), ("x/bob", "bob"), ("y/ada", "ada"), ("y/bob", "bob")
    ]  # fmt: skip
    # The same file twice is one hand-in.
    assert {one.student.name for one in import_submissions(
        delivery, course, {FIRST: labs[FIRST]}, quiet, members).submissions
    } == {"Ada Lovelace", "Bob Made Up"}  # fmt: skip


def test_nothing_of_a_group_is_lost(
    tmp_path: Path, course: CourseFolder, labs: dict[str, Lab]
) -> None:
    """A template beside the students' projects, files beside clones, a folder without .git; and
    plain folders of students of whom most happened to hand in a clone."""
    delivery = fake_clones(tmp_path / "a", "lab1/ada", "lab1/bob", "lab1/cem", "template")
    put(delivery, {"lab1/dee/kernel.c": b"int dee;\n", "lab1/notes.txt": b""})
    intake = import_submissions(delivery, course, {FIRST: labs[FIRST]}, quiet)
    assert set(logins(intake)) == {"ada", "bob", "cem", "dee"}
    assert sorted(whys(intake)) == ["lab1/notes.txt", "template"]
    plain = fake_clones(tmp_path / "b", "ada/mine", "bob/work", "cem/repo", "dee")
    put(plain, {"eve/kernel.c": b"int eve;\n", "ada/more.txt": b""})
    intake = import_submissions(
        plain, CourseFolder(tmp_path / "b-course"), {FIRST: labs[FIRST]}, quiet
    )
    assert {one.student.id for one in intake.submissions} == {"ada", "bob", "cem", "dee", "eve"}
    assert not intake.problems


SHORT = "Username,Name,Access granted,Access expires,Max role,Source,Last activity\n"
LONG = (
    "Name,Username,Email,Path,Group or project name,Type,Role,Role type,Membership type,"
    "Membership status,Membership source,Access granted,Access expiration,Last activity\n"
)


@pytest.mark.parametrize(
    "text",
    [
        SHORT + "prof,Prof,2026-09-01,,Owner,DIRECT_MEMBER,\nada,Ada,2026-09-02,,Developer,x,\n",
        LONG + "Prof,prof,p@example.org,pp26,PP,Group,Owner,default,direct,approved,pp26,,,\n"
        + "Ada,ada,a@example.org,pp26,PP,Group,Developer,default,direct,approved,pp26,,,\n"
        + "Ada,ada,a@example.org,pp26/lab1,Lab,Group,Owner,default,inherited,approved,pp26,,,\n",
    ],
)  # fmt: skip
def test_members_of_a_gitlab_group(tmp_path: Path, text: str) -> None:
    """Once for each member, who is an owner of the group apart."""
    path = tmp_path / "members.csv"
    path.write_text(text)
    listed, remarks = read_student_list(path)
    assert [(one.name, one.external["login"]) for one in listed] == [("Ada", "ada")]
    assert "prof" in remarks[0]


@pytest.mark.parametrize(
    ("names", "delivery", "known", "told", "prefix"),
    [
        (["lab1-stud-1", "lab1-stud-2"], "x", {"stud-1"}, [], "lab1-"),
        (["stud-1", "stud-2"], "x", {"stud-1", "stud-2"}, [], ""),
        (["Stud-1", "stud-2"], "stud-submissions", {"stud-1", "stud-2"}, [], ""),
        (["a-b-c", "a-b-d"], "x", {"nobody"}, [], "a-b-"),
        (["pp-x-ada"], "y", set(), ["pp-x-"], "pp-x-"),
    ],
)
def test_what_names_begin_with(
    names: list[str], delivery: str, known: set[str], told: list[str], prefix: str
) -> None:
    assert assignment_prefix(names, delivery, known, told) == prefix


# ---- 7z and RAR --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("lab.7z", SEVEN_ZIP),
        ("my lab.rar", RAR),
        ("lab.zip", RAR),  # with a false ending
        ("lab.tar.gz", SEVEN_ZIP),
        ("kernel.c.gz", b"\x1f\x8b"),
    ],
)
@pytest.mark.parametrize("form", ["folder", "moodle", "zipped"])
def test_archives_of_other_kinds(
    tmp_path: Path, course: CourseFolder, labs: dict[str, Lab], name: str, content: bytes,
    form: str,
) -> None:  # fmt: skip
    """Wherever they lie: the student is named, and whoever grades is told the commands."""
    where = "Ada Made Up_7_assignsubmission_file" if form != "folder" else "Ada Made Up"
    files = {f"{where}/{name}": content, f"{where.replace('Ada', 'Bob')}/kernel.c": KERNEL}
    if form == "zipped":
        delivery = tmp_path / "class.zip"
        delivery.write_bytes(zip_bytes(files))
    else:
        delivery = put(tmp_path / "class", files)
    intake = import_submissions(delivery, course, {FIRST: labs[FIRST]}, quiet)
    (problem,) = intake.problems
    assert problem.student is not None
    check_text(problem.student.name)
    check_text(problem.why)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("hand ins.7z", SEVEN_ZIP, "7z x -o'{folder}/hand ins' '{folder}/hand ins.7z'"),
        ("class.zip", RAR, "unar -D -o {folder}/class {folder}/class.zip"),
    ],
)
def test_a_class_in_an_archive_of_another_kind(
    tmp_path: Path, course: CourseFolder, labs: dict[str, Lab], name: str, content: bytes, said: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError) as told:
        import_submissions(tmp_path / name, course, labs, quiet)
    assert said.format(folder=tmp_path) in str(told.value)
    assert not course.root.exists()


@pytest.mark.skipif(shutil.which("bsdtar") is None, reason="no bsdtar")
@pytest.mark.parametrize(("name", "content"), [("Ada.7z", SEVEN_ZIP), ("Ada.rar", RAR)])
def test_the_commands_make_a_hand_in(
    tmp_path: Path, course: CourseFolder, labs: dict[str, Lab], name: str, content: bytes
) -> None:
    delivery = put(tmp_path / "class", {name: content})
    (problem,) = import_submissions(delivery, course, {FIRST: labs[FIRST]}, quiet).problems
    commands = [part for part in problem.why.split("`")[1::2] if "bsdtar" in part or "rm " in part]
    assert len(commands) == 2
    for command in commands:
        subprocess.run(["sh", "-ec", command], cwd=delivery, check=True)
    intake = import_submissions(delivery, course, {FIRST: labs[FIRST]}, quiet)
    assert [one.student.id for one in intake.submissions] == ["ada"]
    assert not intake.problems
