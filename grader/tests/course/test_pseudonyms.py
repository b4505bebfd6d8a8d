"""The list of pseudonyms, and what students are told of what is kept."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.courses import ADA
from support.golden_texts import check_text, raises_text

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
    "lines",
    [
        "a,b,p-1\n,b,p-2\n", "a,b,\n",
        "a,b,p-1,x\n", "a,b,p-1\nb,b,p-1\n",
    ],
)  # fmt: skip
def test_a_list_of_pseudonyms_that_cannot_be_meant_is_refused(tmp_path: Path, lines: str) -> None:
    path = tmp_path / "p.csv"
    path.write_text(f"student,name,pseudonym\n{lines}")
    with raises_text(UserError):
        assign(path, [ADA])


def test_what_is_kept_is_told_as_far_as_the_course_says() -> None:
    text = paragraph("HPC", "2028-01-31", "me@example.org")
    check_text(text)
    text = paragraph("", None, "")
    check_text(text)
