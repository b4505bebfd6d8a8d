"""Tables that course systems exchange, the list of pseudonyms, and what is told of what is kept."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.courses import ADA

from numalab.course.codes import as_csv, codes_of
from numalab.course.course_folder import CourseFolder
from numalab.course.csv_files import Table, defused, read_table, table_text, write_private
from numalab.course.exports.pseudonyms import assign
from numalab.course.locks import held
from numalab.course.privacy import paragraph
from numalab.course.records import Student
from numalab.errors import BusyError, UserError


@pytest.mark.parametrize(
    ("text", "table"),
    [
        ("a,b;c\n1,2\n", Table([["a", "b;c"], ["1", "2"]], ",", "\n", False)),
        ("a;b,c;d\r\n1;2\r\n", Table([["a", "b,c", "d"], ["1", "2"]], ";", "\r\n", False)),
        ("\ufeffa\tb\n", Table([["a", "b"]], "\t", "\n", True)),
        ("a\n,,,\n", Table([["a"], ["", "", "", ""]], ",", "\n", False)),
        ('"a\nb",c\n', Table([["a\nb", "c"]], ",", "\n", False)),
    ],
)
def test_a_table_is_read_as_it_is_written(tmp_path: Path, text: str, table: Table) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode())
    found = read_table(path)
    assert found == table
    assert found.text() == text


def test_a_table_that_is_linked_to_is_read(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a\n")
    (tmp_path / "link.csv").symlink_to("t.csv")
    assert read_table(tmp_path / "link.csv").rows == [["a"]]
    assert Table([["a", "b"], ["1", "2"]]).text() == "a,b\r\n1,2\r\n"


def test_a_file_of_more_than_64_mib_is_no_table(tmp_path: Path) -> None:
    with (tmp_path / "t.csv").open("wb") as file:
        file.truncate(64 * 2**20 + 1)
    with pytest.raises(UserError, match="is it the right file"):
        read_table(tmp_path / "t.csv")


def test_codes_of_a_class_are_a_table(tmp_path: Path) -> None:
    course = CourseFolder(tmp_path / "courses" / "2027")
    listed = tmp_path / "class.csv"
    listed.write_text("Name,Email\nZoe X,zoe@x.org\n-Ada,ada@x.org\n")
    for _ in range(2):
        found, remarks = codes_of(course, listed)
        assert [student.id for student, _ in found] == ["ada-2", "zoe-x"]
        assert remarks == []
    text = as_csv(found)
    assert text == "id,name,code\r\n" + "".join(
        f"{student.id},{name},{seed.code}\r\n"
        for (student, seed), name in zip(found, ("'-Ada", "Zoe X"), strict=True)
    )
    with pytest.raises(UserError, match="knows no students yet"):
        codes_of(CourseFolder(tmp_path / "other"))
    with held(course.lock, str), pytest.raises(BusyError, match="the course is held by"):
        codes_of(course)


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"", "is empty"), (b"\xff", "not UTF-8"), (b'a,"b', "not a table"), (None, "no such file")],
)
def test_what_is_no_table_is_refused(tmp_path: Path, content: bytes | None, said: str) -> None:
    path = tmp_path / "t.csv"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UserError, match=said):
        read_table(path)


def test_a_private_file_takes_the_place_of_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("old")
    path.chmod(0o644)
    write_private(path, "a\r\nb\n")
    assert path.read_bytes() == b"a\r\nb\n"
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]
    assert table_text(["a", "b,"], [["1", '"']], has_bom=True) == '\ufeffa,"b,"\r\n1,""""\r\n'
    assert table_text(["a"], [], has_bom=False) == "a\r\n"
    assert defused("  \n -x") == "'  \n -x"


def test_pseudonyms_are_kept_in_a_list_that_a_person_can_read(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    names = assign(path, [ADA, Student("eve", "=1", {}), ADA])
    assert path.read_text("utf-8").splitlines() == [
        "\ufeffstudent,name,pseudonym",
        f"ada,Ada Lovelace,{names['ada']}",
        f"eve,'=1,{names['eve']}",
    ]
    assert all(re.fullmatch("p-[2-9a-hj-km-np-z]{8}", name) for name in names.values())
    assert names["ada"] != names["eve"]
    before = path.stat().st_mtime_ns
    assert assign(path, [ADA]) == names
    assert path.stat().st_mtime_ns == before
    assert assign(tmp_path / "new.csv", []) == {}
    assert (tmp_path / "new.csv").is_file()


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("a,b,p-1\n,b,p-2\n", "line 3: it has to have 3 cells"), ("a,b,\n", "line 2"),
        ("a,b,p-1,x\n", "line 2"), ("a,b,p-1\nb,b,p-1\n", "two students have the same pseudonym"),
    ],
)  # fmt: skip
def test_a_list_of_pseudonyms_that_cannot_be_meant_is_refused(
    tmp_path: Path, lines: str, said: str
) -> None:
    path = tmp_path / "p.csv"
    path.write_text(f"student,name,pseudonym\n{lines}")
    with pytest.raises(UserError, match=said):
        assign(path, [ADA])


def test_what_is_kept_is_told_as_far_as_the_course_says() -> None:
    text = paragraph("HPC", "2028-01-31", "me@example.org")
    assert text.startswith("In the course HPC your hand-ins")
    assert text.endswith(
        "It is kept until 2028-01-31. Questions, and wishes to see or correct what is kept of "
        "you: me@example.org."
    )
    text = paragraph("", None, "")
    assert text.startswith("In this course your hand-ins")
    assert text.endswith("It is kept until the instructors remove the course's folder.")
