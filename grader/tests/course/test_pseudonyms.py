"""The list of pseudonyms, and what students are told of what is kept."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.courses import ADA

from numalab.course.exports.pseudonyms import assign
from numalab.course.privacy import paragraph
from numalab.course.records import Student
from numalab.errors import UserError


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
