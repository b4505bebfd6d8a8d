"""What a student's page says of each grading, and when which page is made again."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import msgspec
import pytest
from support.courses import (
    ADA,
    BOB,
    LAB,
    OTHER_LAB,
    TWO_NUMA_NODES,
    VARIANT,
    ZOE,
    attempt,
    criterion,
    result,
)
from support.golden_texts import check_text, raises_text
from support.invented_class import row, standing
from support.pages import all_of, assert_sound, rows_of, words

from numalab.course import records
from numalab.course.course_folder import CourseFolder
from numalab.course.gradebook.parts import GradePart
from numalab.course.gradebook.standing import StandingRow
from numalab.course.pages import graded_page, reports
from numalab.course.pages import student_page as student_page_module
from numalab.course.pages.graded_pictures import Picture
from numalab.course.pages.reports import write_class_reports, write_reports
from numalab.course.pages.student_page import (
    attempt_name,
    lab_title,
    moment,
    pictured_row,
    steps,
    student_page,
    sum_words,
)
from numalab.course.records import Attempt
from numalab.errors import NumalabError, UserError
from numalab.evidence.format import Build
from numalab.files import write_json
from numalab.installation import Installation
from numalab.judging.verdict import read_verdict
from numalab.labs.declaration import Lab

Json = dict[str, Any]
NONE: Mapping[str, Lab] = {}
PASSED = row(ADA, LAB, attempt(ADA, result(10)))
FAILED = row(ADA, OTHER_LAB, attempt(ADA, result(4, 6), lab=OTHER_LAB))
ABSENT = row(ADA, "03_x", None, is_handed_in=False, notes=("Nothing was handed in.",))


def part(name: Any, state: Any, most: float, points: float) -> GradePart:
    return GradePart(name, state, 0.0, weight=1.0, max_points=most, points=points)


def page(
    *rows: StandingRow, labs: Mapping[str, Lab] = NONE, title: str = "HPC", **more: Any
) -> Element:
    return assert_sound(student_page(ADA, rows, labs, title, (), **more))


def section(root: Element, name: str) -> Element:
    (found,) = (s for s in all_of(root, "section") if s.attrib["aria-labelledby"] == name)
    return found


def next_step(*rows: StandingRow, labs: Mapping[str, Lab] = NONE) -> tuple[str, str, list[str]]:
    """Where it leads, its title, and what is to be done."""
    found = section(page(*rows, labs=labs), "next")
    (link,) = all_of(found, "a")
    return link.attrib["href"], words(link), [words(item) for item in all_of(found, "li")]


# ---- names and times -----------------------------------------------------------------


def test_names_of_attempts_and_labs(labs: dict[str, Lab]) -> None:
    assert attempt_name(attempt(ADA, number=7)) == f"{LAB}-d10000000000-k10000000000-default-7"
    assert moment("2027-05-04T23:59:59+02:00") == "2027-05-04 23:59 UTC+02:00"
    check_text(lab_title(LAB, labs))
    assert lab_title(LAB, {}) == LAB


@pytest.mark.parametrize(
    "points",
    [
        [],
        [None],
        [0.0],
        [0.1, 0.2, None],
    ],
)
def test_a_sum_in_words(points: list[float | None]) -> None:
    rows = [replace(PASSED, points=one) for one in points]
    check_text(sum_words(rows))
    check_text(sum_words([*rows, replace(PASSED, is_part=True)]))


# ---- the next step -------------------------------------------------------------------


def test_the_next_step_is_what_fails_first(labs: dict[str, Lab]) -> None:
    assert next_step(PASSED, FAILED) == (
        f"#{OTHER_LAB}-local_pages", f"{OTHER_LAB} in C", ["Next: fix local_pages."]
    )  # fmt: skip
    one = result(5, 5) | {
        "criteria": [
            criterion("a", "fail", 5, explained_by="b"), criterion("b", "fail", 5),
            criterion("c", "not_gradable", 1),
        ],
    }  # fmt: skip
    link, _, said = next_step(replace(FAILED, attempt=attempt(ADA, one)))
    assert link == f"#{OTHER_LAB}-b"
    check_text(said[0])
    check_text(said[1])
    link, title, said = next_step(replace(FAILED, lab=LAB), labs=labs)
    assert link == f"#{LAB}-local_pages"
    check_text(title)
    assert said == ["Next: fix local_pages.", *said[1:-1], f"The text: labs/{LAB}/README.md"]


def test_without_a_failure_the_next_step_is_what_is_not_there(labs: dict[str, Lab]) -> None:
    nothing = "Nothing is handed in yet."
    assert next_step(PASSED, ABSENT) == ("#lab-03_x", "03_x", [nothing])
    here = replace(ABSENT, lab=LAB)
    check_text(next_step(here, ABSENT, labs=labs)[2])
    broken = replace(ABSENT, is_not_taken=True, notes=("Nothing.", "Torn."))
    check_text(next_step(broken)[2])
    is_part = replace(ABSENT, is_part=True)
    assert next_step(PASSED, is_part, replace(ABSENT, lab="09_z"))[1] == "09_z"
    lacks = replace(
        PASSED, lab="04_y", points=3.0,
        parts=(part("kernel", "graded", 3, 3), part("variant", "missing", 2.5, 0),
               part("prediction", "not taken", 0.25, 0), part("diagnose", "missing", 0, 0),
               part("viva", "open", 1, 0)),
    )  # fmt: skip
    assert next_step(PASSED, lacks) == (
        "#lab-04_y", "04_y",
        ["Not handed in yet: variant and prediction. Worth 2.75 of 10 points."],
    )  # fmt: skip
    by_hand = replace(lacks, override_reason="oral")
    assert next_step(by_hand, ABSENT)[1] == "03_x"


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"points": None},
        {"attempt": attempt(ADA, result(5, still_open=5))},
    ],
)
def test_where_nothing_is_to_be_done_it_is_said_why(more: Json) -> None:
    check_text(words(section(page(replace(PASSED, **more)), "next")))


def test_one_lab_that_waits_is_enough_to_wait() -> None:
    waits = replace(PASSED, lab="04_y", points=None)
    check_text(words(section(page(PASSED, waits), "next")))


def test_the_better_language_says_how_a_grading_went() -> None:
    both = attempt(ADA, result(2, 8), result(10, language="fortran"))
    root = page(row(ADA, LAB, attempt(ADA, result(10), number=2), others=(both,)))
    assert rows_of(root, f"Other gradings of {LAB}, the newest first")[1][1] == "passed"


def test_steps_of_a_kernel() -> None:
    right, wrong = read_verdict(result(10)), read_verdict(result(4, 6, language="fortran"))
    still = read_verdict(result(4, still_open=6))
    broken = Build("does_not_compile", "", "")
    check_text(list(steps(None, wrong, broken)))
    assert list(steps(None, wrong, None)) == ["Next: fix local_pages."]
    assert list(steps(None, wrong, Build("ok", "", ""))) == ["Next: fix local_pages."]
    check_text(list(steps(None, right, None)))
    (said,) = steps(None, replace(still, criteria=still.criteria[1:]), None)
    check_text(said)


# ---- a lab ---------------------------------------------------------------------------


def lines(root: Element) -> dict[str, list[str]]:
    return {line[0]: line[1:] for line in rows_of(root, "Grades by lab")[1:]}


def test_each_lab_says_where_it_stands() -> None:
    waits = replace(PASSED, lab="04_y", attempt=None, points=None)
    taken = replace(ABSENT, lab="05_z", is_not_taken=True)
    late = replace(PASSED, lab="06_z", late_s=1.0, is_late_unknown=True, override_reason="x")
    variant = replace(FAILED, lab=VARIANT, is_part=True, points=1.0, max_points=3.0)
    kernel = (part("kernel", "missing", 4, 0), part("viva", "graded", 1, 1))
    no_kernel = replace(waits, lab="07_z", parts=kernel, points=1.0)
    found = lines(page(PASSED, FAILED, ABSENT, waits, taken, late, no_kernel, variant))
    assert {lab: line[:2] for lab, line in found.items()} == {
        LAB: ["passed", "10 of 10 points"], OTHER_LAB: ["failed", "4 of 10 points"],
        "03_x": ["not handed in", "No grade"], "04_y": ["not graded yet", "No grade"],
        "05_z": ["handed in, and can't be taken", "No grade"],
        "06_z": ["passed", "10 of 10 points, late, late by Canvas, set by hand"],
        "07_z": ["kernel: not handed in", "1 of 10 points"],
        VARIANT: ["failed", "1 of 3 points in the lab's grade"],
    }  # fmt: skip
    check_text(found[OTHER_LAB][2])
    assert found["03_x"][2:] == ["-", "-"]


def test_the_language_that_counts_comes_first_and_alone_has_anchors() -> None:
    both = attempt(ADA, result(4, 6), result(9, 1, language="fortran"))
    root = page(row(ADA, LAB, both, language="fortran", points=9.0))
    heads = [words(head) for head in all_of(root, "h3")]
    check_text(heads[:2])
    ids = [element.attrib["id"] for element in root.iter() if "id" in element.attrib]
    assert [one for one in ids if one.startswith(f"{LAB}-")] == [
        f"{LAB}-correct", f"{LAB}-local_pages"
    ]  # fmt: skip
    alone = page(row(ADA, LAB, attempt(ADA, result(10))))
    assert words(next(all_of(alone, "h3"))) == "C"


def test_a_criterion_of_several_places_has_one_anchor() -> None:
    one = result(5, 5) | {
        "criteria": [
            criterion("a", "pass", 5), criterion("a", "fail", 5, where="hydra"),
            criterion("a", "fail", 5, "Else.", where="nebula"),
        ]
    }  # fmt: skip
    root = page(row(ADA, LAB, attempt(ADA, one)))
    found = [e for e in root.iter() if e.attrib.get("id") == f"{LAB}-a"]
    assert len(found) == 1
    (tr,) = (line for line in all_of(root, "tr") if found[0] in list(line.iter()))
    assert "failed" in words(tr)


def test_gradings_that_do_not_count_are_listed() -> None:
    others = (
        attempt(ADA, result(5, 3, 2), result(8, 2, language="fortran"), number=1,
                node=TWO_NUMA_NODES),
        attempt(ADA, number=2), attempt(ADA, state="lost", why="Gone.", number=3),
    )  # fmt: skip
    root = page(row(ADA, LAB, attempt(ADA, result(10), number=4, node={}), others=others))
    _, *found = rows_of(root, f"Other gradings of {LAB}, the newest first")
    assert [line[1:3] for line in found] == [
        ["the job left no result", "Gone."], ["nothing was graded", ""],
        ["failed", "C: 5 of 8 points; Fortran: 8 of 10 points"],
    ]  # fmt: skip
    check_text(found[2][3])
    assert "Graded 2027-05-04 10:00 UTC." in words(root)
    assert "Graded 2027-05-04 10:00 UTC on n1: 1 package" in words(page(PASSED))


def test_what_the_compiler_said_is_shown() -> None:
    built = result(10) | {"build": msgspec.to_builtins(Build("ok", "", "unused"))}
    root = page(row(ADA, LAB, attempt(ADA, built)))
    check_text([words(head) for head in all_of(root, "h4")])
    assert [words(pre) for pre in all_of(root, "pre")] == ["unused"]


def test_the_title_is_the_courses(labs: dict[str, Lab]) -> None:
    check_text(words(next(all_of(page(PASSED), "h1"))))
    check_text(words(next(all_of(page(PASSED, title=""), "h1"))))
    seen = [Picture("Touch map", "Words.", "data:image/svg+xml;base64,", 10, 10)]
    root = page(PASSED, labs=labs, pictures=seen)
    check_text(words(section(root, "seen")))


def test_what_parts_give_over_all_labs() -> None:
    first = replace(PASSED, parts=(part("viva", "graded", 1, 1), part("kernel", "graded", 4, 3)))
    second = replace(FAILED, parts=(part("kernel", "graded", 4, 1),), points=1.0)
    by_hand = replace(second, lab="04_y", override_reason="x")
    root = page(first, second, by_hand)
    assert rows_of(root, "What parts of the grades give over all labs")[1:] == [
        ["kernel", "4 of 8"], ["viva", "1 of 1"]
    ]  # fmt: skip


def test_pictured_is_what_fails_or_was_graded_last() -> None:
    def at(day: int, one: StandingRow) -> StandingRow:
        assert one.attempt is not None
        return replace(one, attempt=replace(one.attempt, ended_at=f"2027-05-0{day}"))

    older, newer = at(1, PASSED), at(2, replace(PASSED, lab="04_y"))
    assert pictured_row([newer, older]) is pictured_row([older, newer]) is newer
    assert pictured_row([newer, at(1, FAILED), at(3, FAILED)]) == at(1, FAILED)
    empty = replace(PASSED, attempt=attempt(ADA))
    assert pictured_row([ABSENT, empty]) is None


# ---- which pages are made ------------------------------------------------------------

CHANGED: Json = {
    "points": 1.0, "max_points": 20.0, "gradable_points": 1.0, "is_preliminary": True,
    "late_s": 1.0, "penalty": 0.5, "override_reason": "x", "notes": ("x",), "language": "c",
    "is_handed_in": False, "is_not_taken": True, "is_late_unknown": True, "is_part": True,
    "attempt": attempt(ADA, result(10), number=2), "others": (attempt(ADA, number=3),),
    "parts": (part("kernel", "graded", 4, 3),), "lab": OTHER_LAB,
    "student": replace(ADA, name="A"),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGED)
def test_a_page_is_another_with_anything_that_it_shows(name: str) -> None:
    before = reports._digest([PASSED], "kit")
    assert before == reports._digest([replace(PASSED)], "kit")
    assert before != reports._digest([replace(PASSED, **{name: CHANGED[name]})], "kit")
    assert before != reports._digest([PASSED], "other")


@pytest.fixture
def course(tmp_path: Path) -> CourseFolder:
    return CourseFolder(tmp_path / "course")


def ignore(step: str) -> None:
    pass


def drawn(course: CourseFolder, one: Attempt, text: str) -> None:
    folder = course.attempt(one.target, one.number)
    folder.mkdir(parents=True)
    (folder / "report.html").write_text(text)


def test_pages_of_gradings_lie_beside_a_students(
    installation: Installation, course: CourseFolder
) -> None:
    counting = attempt(ADA, result(10), number=3)
    old, lost = attempt(ADA, result(9, 1)), attempt(ADA, state="lost", number=2)
    for one in (counting, old, lost):
        drawn(course, one, f"page {one.number}")
    no_page = attempt(ADA, result(8, 2), number=4)
    found = standing([row(ADA, LAB, counting, others=(old, lost, no_page))])
    assert write_reports(course, installation, found, ignore, ("ada",)) == (
        course.student_report("ada") / "index.html"
    )
    folder = course.student_report("ada")
    assert {path.name: path.read_text() for path in folder.iterdir() if "-" in path.name} == {
        f"{attempt_name(counting)}.html": "page 3", f"{attempt_name(old)}.html": "page 1"
    }  # fmt: skip
    links = set(re.findall(r'href="([^"#]+)"', (folder / "index.html").read_text()))
    assert links == {f"{attempt_name(one)}.html" for one in (counting, old)}


def test_of_some_students_the_folder_is_named(
    installation: Installation, course: CourseFolder
) -> None:
    found = standing([row(one, LAB, attempt(one, result(10))) for one in (ADA, BOB, ZOE)])
    folder = course.report / "students"
    assert write_reports(course, installation, found, ignore, ("ada", "zoe")) == folder
    assert sorted(path.name for path in folder.iterdir()) == ["ada", "zoe"]
    assert not (course.report / "labs").exists()
    with raises_text(UserError):
        write_reports(course, installation, found, ignore, ("ada", "eve"))


def test_a_page_is_drawn_again_of_the_kits_own_rules_alone(
    installation: Installation,
    labs: dict[str, Lab],
    course: CourseFolder,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[Path] = []

    def no_records(folder: Path, *more: object) -> None:
        read.append(folder)
        raise UserError("no records")

    monkeypatch.setattr(graded_page, "judged_by", lambda installation, lab: "now")
    monkeypatch.setattr(graded_page, "read_grading", no_records)
    monkeypatch.setattr(graded_page, "keep_matplotlib_in", lambda folder: None)
    one = replace(attempt(ADA, result(10)), rejudged_at="2027-06-01T10:00:00+00:00")
    folder = course.attempt(one.target, 1)
    assert graded_page.drawn_page(course, installation, labs, one) is None
    folder.mkdir(parents=True)
    for rules, known in (("before", labs), ("now", {})):
        kept = records.attempt_json(replace(one, judged_by=rules))
        write_json(folder / "attempt.json", kept)
        assert graded_page.drawn_page(course, installation, known, one) is None
    assert read == []
    assert graded_page.drawn_page(course, installation, labs, one) is None
    assert read == [folder / "evidence" / "c"]


def test_what_was_judged_again_has_its_page_drawn_once(
    installation: Installation, course: CourseFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn_of: list[int] = []

    def draw(
        course: CourseFolder, installation: Installation, labs: Mapping[str, Lab], one: Attempt
    ) -> str | None:
        drawn_of.append(one.number)
        return "drawn" if one.number == 1 else None

    monkeypatch.setattr(reports, "drawn_page", draw)
    some = [replace(attempt(ADA, result(10), number=n), rejudged_at="x") for n in (1, 2)]
    never = attempt(ADA, result(9, 1), number=3)
    found = row(ADA, LAB, some[0], others=(some[1], never))
    for points in (10.0, 9.0):
        write_reports(
            course, installation, standing([replace(found, points=points)]), ignore, ["ada"]
        )
    assert drawn_of == [1, 2, 2]
    folder = course.student_report("ada")
    assert (folder / f"{attempt_name(some[0])}.html").read_text() == "drawn"
    assert len(list(folder.iterdir())) == 2


def test_a_page_is_put_where_none_is(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    assert not reports._put(source, target)
    source.write_text("a")
    assert reports._put(source, target) and target.read_text() == "a"
    source.unlink()
    source.write_text("b")
    assert reports._put(source, target) and target.read_text() == "a"


def test_progress_is_told_now_and_then(
    installation: Installation, course: CourseFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    course.report.mkdir(parents=True)
    monkeypatch.setattr(reports._StudentsPages, "_write_student", lambda *of: None)
    ids = [f"s{number}" for number in range(51)]
    found = standing([row(replace(ADA, id=id_), LAB, None) for id_ in ids])
    told: list[str] = []
    write_reports(course, installation, found, told.append, ids[:50])
    check_text(told)
    told.clear()
    assert (
        write_class_reports(course, installation, found, told.append)
        == course.report / "index.html"
    )
    assert told == ["the class's pages"]


def test_what_did_not_change_is_not_written(
    installation: Installation, course: CourseFolder
) -> None:
    found = standing([PASSED])
    told: list[str] = []
    for _ in range(2):
        write_reports(course, installation, found, told.append, ["ada"])
        os.utime(course.pages_made, (0, 0))
    check_text(told)
    assert course.pages_made.stat().st_mtime == 0
    folder = course.student_report("ada")
    (folder / "index.html").unlink()
    write_reports(course, installation, found, told.append, ["ada"])
    assert (folder / "index.html").is_file()


@pytest.mark.parametrize("bad", ["", ".a", "a/b", "a\0b"])
def test_an_id_that_is_no_folders_name_is_refused(
    installation: Installation, course: CourseFolder, bad: str
) -> None:
    rows = [replace(PASSED, student=replace(ADA, id=bad))]
    with raises_text(NumalabError):
        write_reports(course, installation, standing(rows), ignore)


@pytest.mark.parametrize(
    ("points", "most", "bar"),
    [(None, 10.0, None), (1.0, 0.0, None), (2.5, 10.0, (2.5, 7.5)), (11.0, 10.0, (11.0, 0.0))],
)
def test_a_bar_is_of_what_is_reached_and_what_is_not(
    points: float | None, most: float, bar: tuple[float, float] | None
) -> None:
    made = student_page_module._bar(replace(PASSED, points=points, max_points=most))
    assert made == bar


def test_a_file_in_the_place_of_the_pages_is_told(
    installation: Installation, course: CourseFolder
) -> None:
    course.root.mkdir()
    course.report.write_text("")
    with raises_text(NumalabError):
        write_reports(course, installation, standing([PASSED]), ignore)
