"""The pages of a course: what they say of a class and of a student, that they are safe and can be
read by everybody, and which of them are written."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import msgspec
import pytest
from click.testing import CliRunner
from support.courses import (
    ADA,
    BOB,
    ONE_NUMA_NODE,
    TWO_NUMA_NODES,
    ZOE,
    attempt,
    intake,
    submission,
)
from support.golden_texts import check_text, raises_text
from support.invented_class import lab_result, large_class, row, standing
from support.pages import all_of, assert_sound, rows_of, words

from numalab.commands.root import cli
from numalab.course.course_folder import CourseFolder
from numalab.course.gradebook.gradebook import use_gradebook
from numalab.course.gradebook.standing import Standing, StandingRow
from numalab.course.pages.class_facts import class_facts
from numalab.course.pages.class_page import class_page, lab_page
from numalab.course.pages.histogram import BINS, bins, histogram, values_words
from numalab.course.pages.reports import write_reports
from numalab.course.pages.student_page import attempt_name, student_page
from numalab.course.records import Attempt, Problem, Student
from numalab.errors import NumalabError, UserError
from numalab.evidence.format import Build
from numalab.installation import Installation
from numalab.judging.verdict import CriterionVerdict, Verdict, Warned, read_verdict
from numalab.labs.declaration import Lab
from numalab.palette import luminance
from numalab.reports.html_page import TEMPLATES

FIRST, SECOND = "01_first_touch", "03_scheduling"
SCRIPT = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def lab(labs: dict[str, Lab]) -> Lab:
    return labs[FIRST]


def of_student(
    rows: list[StandingRow], labs: Mapping[str, Lab], pages: Collection[str] = ()
) -> Element:
    return assert_sound(student_page(rows[0].student, rows, labs, "HPC", pages))


def of_class(rows: list[StandingRow], labs: Mapping[str, Lab], *problems: Problem) -> Element:
    """The class's page; its links lead to pages that are not there."""
    found = standing(rows, *problems)
    return unlinked(class_page(found, class_facts(found, labs), labs))


def unlinked(text: str) -> Element:
    return assert_sound(re.sub(r'href="[^#"][^"]*"', 'href="#main"', text))


def summary_of(root: Element) -> list[str]:
    """What is to be looked at."""
    (section,) = (s for s in all_of(root, "section") if s.attrib["aria-labelledby"] == "summary")
    return [words(item) for item in all_of(section, "li")]


# ---- what is read back -------------------------------------------------------------------


def test_a_verdict_is_read_back_as_it_was() -> None:
    verdict = Verdict(
        FIRST, "c", "submission",
        (
            CriterionVerdict("a", "evidence", "fail", "missed", "why", 0, 2, 0.5, 0.9, None, "x"),
            CriterionVerdict(
                "b", "timing", "pass", "reached", "", 3, 3, 1.5, None, 2.0, "s", (1, None), "x",
                warnings=(Warned("libomp", "OMP: Warning #42: bad value"),),
            ),
        ),
    )  # fmt: skip
    assert read_verdict(verdict.json_data()) == verdict


def test_the_better_language_counts_unless_one_is_named(lab: Lab) -> None:
    worse, better = lab_result(lab, {"correct": "fail"}), lab_result(lab, {}, "fortran")
    found = row(ADA, FIRST, attempt(ADA, worse, better))
    assert found.result is better
    assert replace(found, language="c").result is worse
    assert row(ADA, FIRST, None).result is None


def test_few_points_that_are_all_beat_many_that_are_not(lab: Lab) -> None:
    ungraded = {c.name: "not_gradable" for c in lab.criteria if c.name != "correct"}
    all_of_few = lab_result(lab, ungraded)  # type: ignore[arg-type]
    none_at_all = lab_result(lab, ungraded | {"correct": "not_gradable"})  # type: ignore[arg-type]
    most_of_many = lab_result(lab, {"correct": "fail"})
    found = row(ADA, FIRST, attempt(ADA, none_at_all, most_of_many, all_of_few))
    assert found.result is all_of_few


# ---- a student ---------------------------------------------------------------------------


def test_a_students_page_says_what_passed_and_why_not(labs: dict[str, Lab], lab: Lab) -> None:
    counting = attempt(ADA, lab_result(lab, {"local_pages": "fail", "speedup": "not_gradable"}))
    root = of_student([row(ADA, FIRST, counting)], labs)
    rows = {one[0]: one[1:] for one in rows_of(root, "Criteria of 01 First touch in C")}
    check_text(rows["correct"])
    check_text(rows["local_pages"])
    assert rows["speedup"][:2] == ["not gradable here", "-/2"]
    text = words(root)
    assert "failed: 6 of 8 points in C (2 not gradable here)" in text
    check_text(rows_of(root, "Grades by lab")[1])


def test_what_a_grade_rests_on_is_told(labs: dict[str, Lab], lab: Lab) -> None:
    found = row(
        ADA, FIRST, attempt(ADA, lab_result(lab, {})), points=4.5, gradable_points=6.0,
        is_preliminary=True, late_s=3 * 86400.0, penalty=0.25, notes=("A note.",),
        override_reason="shown at the board",
    )  # fmt: skip
    text = words(of_student([found], labs))
    assert "Provisional: the node could show 6 of the 10 points." in text
    assert "A note." in text


def test_nothing_of_it_is_told_of_a_plain_grade(labs: dict[str, Lab], lab: Lab) -> None:
    root = of_student([row(ADA, FIRST, attempt(ADA, lab_result(lab, {})))], labs)
    assert not [p for p in all_of(root, "p") if p.attrib.get("class") == "notice"]
    assert "Other gradings" not in words(root)


def test_what_does_not_build_shows_the_compiler(labs: dict[str, Lab], lab: Lab) -> None:
    said = f"kernel.c:1: error: {SCRIPT}"
    result = lab_result(lab, {one.name: "fail" for one in lab.criteria})
    result["build"] = msgspec.to_builtins(Build("does_not_compile", "", said))
    root = of_student([row(ADA, FIRST, attempt(ADA, result))], labs)
    (pre,) = all_of(root, "pre")
    assert words(pre) == said
    assert "What to do next Fix kernel.c so that it can be built" in words(root)
    result["build"] = msgspec.to_builtins(Build("ok", "", "warning: unused"))
    root = of_student([row(ADA, FIRST, attempt(ADA, result))], labs)
    assert "Warnings warning: unused" in words(root)


def test_infrastructure_failures_are_told_and_nobodys_fault(labs: dict[str, Lab]) -> None:
    lost = attempt(ADA, state="node_failed", why="n7 does not answer")
    found = row(ADA, FIRST, None, others=(lost,), notes=("Not graded: the node failed.",))
    root = of_student([found], labs)
    assert rows_of(root, "Grades by lab")[1] == [
        "01 First touch",
        "not graded yet",
        "No grade",
        "-",
        "-",
    ]
    (other,) = rows_of(root, "Other gradings of 01 First touch, the newest first")[1:]
    check_text(other[1:3])


def test_what_a_student_says_of_a_result_stands_with_it(labs: dict[str, Lab], lab: Lab) -> None:
    result = lab_result(lab, {})
    assert "In your words" not in words(of_student([row(ADA, FIRST, attempt(ADA, result))], labs))
    result["explanation"] = f"All pages were near thread 0. {SCRIPT}"
    root = of_student([row(ADA, FIRST, attempt(ADA, result))], labs)
    assert f"In your words All pages were near thread 0. {SCRIPT}" in words(root)


def test_every_attempt_is_listed_and_linked_where_it_has_a_page(
    labs: dict[str, Lab], lab: Lab
) -> None:
    old, new, counting = (
        attempt(ADA, lab_result(lab, {}), number=n, at=f"2027-05-0{n}T10:00:00+00:00")
        for n in (1, 2, 3)
    )
    pages = {attempt_name(old), attempt_name(counting)}
    page = student_page(ADA, [row(ADA, FIRST, counting, others=(old, new))], labs, "", pages)
    assert re.findall(r'href="([^#"]+)"', page) == [
        f"{attempt_name(counting)}.html", f"{attempt_name(counting)}.html",
        f"{attempt_name(old)}.html",
    ]  # fmt: skip
    others = rows_of(unlinked(page), "Other gradings of 01 First touch, the newest first")[1:]
    assert [one[0][:10] for one in others] == ["2027-05-02", "2027-05-01"]
    assert len({attempt_name(one) for one in (old, new, counting)}) == 3


def test_a_lab_that_the_kit_has_not_is_shown_by_its_name(labs: dict[str, Lab], lab: Lab) -> None:
    result = lab_result(lab, {"correct": "fail"})
    gone = row(ADA, "99_gone", attempt(ADA, result, lab="99_gone"))
    assert rows_of(of_student([gone], labs), "Grades by lab")[1][0] == "99_gone"


def test_whatever_a_student_wrote_is_text(labs: dict[str, Lab], lab: Lab) -> None:
    mallory = Student("mallory", f"Mallory {SCRIPT}", {})
    result = lab_result(lab, {"correct": "fail"})
    result["criteria"][0]["why"] = SCRIPT
    counting = attempt(mallory, result, node=TWO_NUMA_NODES | {"name": SCRIPT})
    lost = attempt(mallory, state="lost", why=SCRIPT)
    rows = [
        row(mallory, FIRST, counting, others=(lost,), notes=(SCRIPT,), override_reason=SCRIPT),
        row(mallory, SECOND, None, notes=(SCRIPT,)),
    ]
    assert words(of_student(rows, labs)).count(SCRIPT) >= 6
    root = of_class(rows, labs, Problem(SCRIPT, SCRIPT, mallory))
    assert words(root).count(SCRIPT) >= 7
    found = standing(rows)
    assert SCRIPT in words(unlinked(lab_page(found, class_facts(found, labs).labs[0], labs)))


# ---- a class -----------------------------------------------------------------------------


def test_a_class_is_told_at_what_risk_quick_gradings_decide(labs: dict[str, Lab], lab: Lab) -> None:
    """Each student is, too; where no time was decided there is none."""
    untimed: dict[str, Any] = {"speedup": "not_gradable", "efficiency": "inconclusive"}
    ada = row(ADA, FIRST, attempt(ADA, lab_result(lab, {}), effort="quick"))
    bob = row(BOB, FIRST, attempt(BOB, lab_result(lab, untimed), effort="quick"))
    told = [text for text in summary_of(of_class([ada, bob], labs)) if "1 in 20" in text]
    assert len(told) == 1
    check_text(told[0])
    assert words(of_student([ada], labs)).count("1 in 20") == 1
    assert "1 in 20" not in words(of_student([bob], labs))


def test_a_class_is_told_what_nobody_passes_and_what_most_fail(
    labs: dict[str, Lab], lab: Lab
) -> None:
    rows = [
        row(one, FIRST, attempt(one, lab_result(lab, {"speedup": "not_gradable", **failed})))
        for one, failed in (
            (ADA, {"local_pages": "fail", "efficiency": "fail"}),
            (BOB, {"local_pages": "fail", "efficiency": "fail"}),
            (ZOE, {"local_pages": "inconclusive"}),
        )
    ]
    root = of_class(rows, labs)
    check_text(summary_of(root))
    assert rows_of(root, "Grades of which points are not decided")[1:] == [
        ["Zoë Ångström", "01 First touch", "local_pages (2 points)", "2.5 of 10"]
    ]
    nobody = rows_of(root, "Criteria that nobody passes")[1:]
    assert nobody == [["local_pages", "01 First touch", "0", "2 (100 %)", "1", "0"]]
    most = rows_of(root, "Criteria that most students fail, and what the kit says of it")[1:]
    assert [one[:3] for one in most] == [
        ["local_pages", "01 First touch", "2 of 2"], ["efficiency", "01 First touch", "2 of 3"]
    ]  # fmt: skip
    (unseen,) = rows_of(root, "Criteria on which nobody could be graded")[1:]
    assert unseen[0] == "speedup"


def test_a_class_without_trouble_is_told_so(labs: dict[str, Lab], lab: Lab) -> None:
    counting = replace(attempt(ADA, lab_result(lab, {})), sandbox="bubblewrap")
    root = of_class([row(ADA, FIRST, counting)], labs)
    assert "Nothing needs a look" in words(root)


def test_the_grid_has_every_student_and_lab(labs: dict[str, Lab], lab: Lab) -> None:
    rows = [
        row(ZOE, FIRST, attempt(ZOE, lab_result(lab, {})), is_preliminary=True, late_s=1.0),
        row(ZOE, SECOND, None, is_handed_in=False),
        row(ADA, FIRST, None, others=(attempt(ADA, state="lost"),)),
        row(ADA, SECOND, attempt(ADA, lab_result(labs[SECOND], {}), lab=SECOND), points=0.0),
    ]
    root = of_class(rows, labs)
    head, ada, zoe = rows_of(root, "Points of each student by lab")
    check_text(head)
    assert ada == ["Ada Lovelace", "0", "?", "0"]
    assert zoe == ["Zoë Ångström", "10", "10 pl", "-"]
    (waiting,) = rows_of(root, "Handed in, and without a grade")[1:]
    check_text(waiting[0])
    figures = dict(map(tuple, rows_of(root, "The class in figures")))  # type: ignore[arg-type]
    assert figures["Handed in"] == "3 of 4"
    assert figures["Without a grade"] == "1"
    assert figures["Gradings, with repeated ones"] == "2"


def test_problems_and_infrastructure_are_counted(labs: dict[str, Lab], lab: Lab) -> None:
    states = ("node_failed", "node_failed", "preempted")
    lost = tuple(attempt(ADA, state=state, number=n) for n, state in enumerate(states, start=2))  # type: ignore[arg-type]
    rows = [row(ADA, FIRST, attempt(ADA, lab_result(lab, {})), others=lost)]
    root = of_class(rows, labs, Problem("a/b.zip", "broken", BOB), Problem("c", "empty"))
    assert dict(map(tuple, rows_of(root, "Gradings that the infrastructure ended")[1:])) == {  # type: ignore[arg-type]
        "the node failed": "2", "the job had to make room for another": "1",
    }  # fmt: skip
    assert rows_of(root, "What could not be taken in")[1:] == [
        ["a/b.zip", "Bob <b>Bold</b>", "broken"], ["c", "-", "empty"]
    ]  # fmt: skip
    check_text(summary_of(root))


def on_node(name: str, lab: Lab, number: int, still_open: bool) -> StandingRow:
    student = Student(f"{name}-{number}", name, {})
    result = lab_result(lab, {"efficiency": "inconclusive"} if still_open else {})
    return row(student, FIRST, attempt(student, result, node=TWO_NUMA_NODES | {"name": name}))


def test_a_noisy_node_is_found_and_a_class_of_them_is_not(labs: dict[str, Lab], lab: Lab) -> None:
    noisy = [on_node("loud", lab, n, n < 4) for n in range(8)]
    quiet = [on_node("still", lab, n, n < 1) for n in range(8)]
    check_text(summary_of(of_class(noisy + quiet, labs)))
    (first, *_) = rows_of(of_class(noisy + quiet, labs), "Nodes, the noisiest first")[1:]
    assert first[:4] == ["loud noisy", "16", "4 (25 %)", "8"]
    also = [on_node("other", lab, n, n < 4) for n in range(8)]
    assert not class_facts(standing(noisy + also), labs).noisy
    assert not class_facts(standing(noisy[:4] + quiet), labs).noisy  # too few to say


def test_gradings_on_different_types_of_node_are_pointed_out(
    labs: dict[str, Lab], lab: Lab
) -> None:
    result = lab_result(lab, {})
    here = attempt(ADA, result, node=TWO_NUMA_NODES)
    again = attempt(ADA, result, node=TWO_NUMA_NODES | {"name": "n3"}, number=2)
    there = attempt(ADA, result, node=ONE_NUMA_NODE, number=3)
    alike = class_facts(standing([row(ADA, FIRST, here, others=(again,))]), labs)
    assert not alike.mixed and len(alike.types) == 1
    root = of_class([row(ADA, FIRST, here, others=(again, there))], labs)
    check_text(summary_of(root))
    assert [one[1:] for one in rows_of(root, "Types of node")[1:]] == [["2", "2"], ["1", "1"]]


def test_a_labs_page_has_every_criterion_and_letter(labs: dict[str, Lab], lab: Lab) -> None:
    statuses: dict[str, Any] = {
        "shared_out": "fail", "local_pages": "not_gradable", "speedup": "inconclusive",
        "efficiency": "error",
    }  # fmt: skip
    rows = [
        row(ADA, FIRST, attempt(ADA, lab_result(lab, statuses, touched_where_used=0.97))),
        row(BOB, FIRST, attempt(BOB, lab_result(lab, {}, touched_where_used=0.5))),
        row(ZOE, FIRST, None, is_handed_in=False),
    ]
    found = standing(rows)
    root = unlinked(lab_page(found, class_facts(found, labs).labs[0], labs))
    head, ada, bob, zoe = rows_of(root, "Each student's criteria")
    assert head[2:] == [one.name for one in lab.criteria]
    check_text(ada[2:])
    assert bob[2:] == ["passed"] * 6
    assert zoe[1:] == ["-"] * 7
    parts = {one[0].split()[0]: one for one in rows_of(
        root, "How many students passed each criterion, and what was measured; the dashed line "
        "is what is asked for")}  # fmt: skip
    check_text(parts["efficiency"][1])
    check_text(parts["touched_where_used"][2])
    assert "2 of 3 handed in, 2 graded." in words(root)


def test_a_value_is_in_one_bin_and_what_is_far_off_in_the_last() -> None:
    values = [k / 100 for k in range(100)]
    found = bins([*values, 50.0, -3.0], 0.0, 1.0)
    assert len(found) == BINS and sum(found) == 102
    assert found[-1] > bins(values, 0.0, 1.0)[-1] and found[0] > bins(values, 0.0, 1.0)[0]
    svg = histogram([*values, 1e6], 0.8, "v", "Values of <x>")
    assert "&lt;x&gt;" in svg and "≥ 0.9" in svg  # one that is far off does not flatten the rest
    check_text(values_words([0.0, 1e6], "s"))


# ---- for everybody -----------------------------------------------------------------------


def palettes() -> list[dict[str, str]]:
    """Light and dark, as the styles have them."""
    text = (TEMPLATES / "report.css").read_text()
    light: dict[str, str] = {}
    dark: dict[str, str] = {}
    for block in re.findall(
        r"(@media \(prefers-color-scheme: dark\) \{\s*)?:root \{(.*?)\}", text, re.S
    ):
        (dark if block[0] else light).update(re.findall(r"--([\w-]+): (#\w{6})", block[1]))
    assert light.keys() == dark.keys()
    return [light, dark]


@pytest.mark.parametrize("palette", palettes(), ids=("light", "dark"))
def test_all_text_stands_out_from_what_is_behind_it(palette: dict[str, str]) -> None:
    """4.5:1 or more, as WCAG 2.1 asks for at level AA."""
    pairs = [(ink, paper) for ink in ("text", "soft", "link") for paper in ("page", "shade")]
    pairs += [(kind, "page") for kind in ("pass", "fail", "other", "open", "error")]
    pairs += [(kind, f"{kind}-shade") for kind in ("pass", "fail", "other", "open", "error")]
    pairs += [("soft", f"{kind}-shade") for kind in ("pass", "fail", "error")]  # marks in the grid
    found = {pair: contrast(palette[pair[0]], palette[pair[1]]) for pair in pairs}
    assert {pair: ratio for pair, ratio in found.items() if ratio < 4.5} == {}


def test_paper_has_every_row() -> None:
    """What is scrolled on a screen can't be there."""
    _, _, on_paper = (TEMPLATES / "report.css").read_text().partition("@media print {")
    rules = dict(re.findall(r"([^{}]+)\{([^{}]*)\}", on_paper))
    for scrolled in (".grid", ".many"):
        (rule,) = (r for names, r in rules.items() if scrolled in map(str.strip, names.split(",")))
        assert "overflow: visible" in rule and "max-height: none" in rule


def contrast(one: str, other: str) -> float:
    """WCAG's ratio of contrast, 1 to 21."""
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def test_contrast_is_what_the_guidelines_say() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


# ---- what is written ---------------------------------------------------------------------


@pytest.fixture
def course(tmp_path: Path) -> CourseFolder:
    return CourseFolder(tmp_path / "course")


def keep(course: CourseFolder, one: Attempt, page: str = "the page") -> None:
    folder = course.attempt(one.target, one.number)
    folder.mkdir(parents=True)
    (folder / "report.html").write_text(page)


def written(
    course: CourseFolder, installation: Installation, found: Standing, **more: Any
) -> list[str]:
    """Which students' pages were."""
    before = {path: path.stat().st_mtime_ns for path in course.root.rglob("index.html")}
    for path in before:
        os.utime(path, ns=(0, 0))
    write_reports(course, installation, found, lambda step: None, **more)
    return sorted(
        path.parent.name
        for path in course.student_report("x").parent.glob("*/index.html")
        if path.stat().st_mtime_ns
    )


@pytest.fixture
def pair(lab: Lab, course: CourseFolder) -> list[StandingRow]:
    rows = [row(one, FIRST, attempt(one, lab_result(lab, {}))) for one in (ADA, BOB)]
    for one in rows:
        assert one.attempt is not None
        keep(course, one.attempt, f"the page of {one.student.id}")
    return rows


def test_all_pages_are_there_and_linked(
    installation: Installation, course: CourseFolder, pair: list[StandingRow]
) -> None:
    page = write_reports(course, installation, standing(pair), lambda step: None)
    assert page == course.report / "index.html"
    pages = sorted(course.report.rglob("*.html"))
    assert len(pages) == 6
    for path in pages:
        if "default" not in path.name:  # an attempt's page, which is not made here
            assert_sound(path.read_text(), path.parent)
    ada = course.student_report("ada")
    assert pair[0].attempt is not None
    check_text((ada / f"{attempt_name(pair[0].attempt)}.html").read_text())
    assert not list(course.report.rglob("*.partial"))


def test_a_students_folder_shows_nothing_of_others(
    installation: Installation, course: CourseFolder, pair: list[StandingRow]
) -> None:
    write_reports(course, installation, standing(pair), lambda step: None)
    for path in course.student_report("ada").iterdir():
        assert "bob" not in path.read_text().lower() and "../" not in path.read_text()


def test_only_what_changed_is_written_again(
    installation: Installation, course: CourseFolder, pair: list[StandingRow]
) -> None:
    assert written(course, installation, standing(pair)) == ["ada", "bob"]
    assert (
        written(course, installation, replace(standing(pair), made_at="2028-01-01T00:00:00+00:00"))
        == []
    )
    ada, bob = pair
    assert written(course, installation, standing([ada, replace(bob, points=3.0)])) == ["bob"]
    more = replace(ada, others=(attempt(ADA, state="lost", number=2),))
    assert written(course, installation, standing([more, replace(bob, points=3.0)])) == ["ada"]
    (course.student_report("bob") / "index.html").unlink()
    assert written(course, installation, standing([more, replace(bob, points=3.0)])) == ["bob"]
    assert written(course, installation, standing([more, bob], title="Other")) == ["ada", "bob"]


def test_what_was_made_before_an_interruption_is_not_made_again(
    installation: Installation,
    course: CourseFolder,
    pair: list[StandingRow],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from numalab.course.pages import reports

    def stopped(student: Student, *arguments: Any) -> str:
        if student.id == "bob":
            raise KeyboardInterrupt
        return student_page(student, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(reports, "student_page", stopped)
        with pytest.raises(KeyboardInterrupt):
            write_reports(course, installation, standing(pair), lambda step: None)
    assert written(course, installation, standing(pair)) == ["bob"]


def test_damaged_notes_only_cost_time(
    installation: Installation, course: CourseFolder, pair: list[StandingRow]
) -> None:
    written(course, installation, standing(pair))
    course.pages_made.write_text("{")
    assert written(course, installation, standing(pair)) == ["ada", "bob"]


def test_one_students_page_is_written_alone(
    installation: Installation, course: CourseFolder, pair: list[StandingRow]
) -> None:
    assert written(course, installation, standing(pair), students=("bob",)) == ["bob"]
    assert not (course.report / "index.html").exists()
    with raises_text(UserError):
        write_reports(course, installation, standing(pair), lambda step: None, ("bop",))


def test_pages_are_copied_where_there_are_no_links(
    installation: Installation,
    course: CourseFolder,
    pair: list[StandingRow],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(source: Path, target: Path) -> None:
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", refuse)
    write_reports(course, installation, standing(pair), lambda step: None)
    assert pair[0].attempt is not None
    copy = course.student_report("ada") / f"{attempt_name(pair[0].attempt)}.html"
    assert copy.stat().st_nlink == 1
    check_text(copy.read_text())


@pytest.mark.parametrize("bad", ["..", "a/b", "", ".x"])
def test_an_id_that_leads_elsewhere_is_refused(
    installation: Installation, course: CourseFolder, bad: str
) -> None:
    rows = [row(Student(bad, "x", {}), FIRST, None)]
    with raises_text(NumalabError):
        write_reports(course, installation, standing(rows), lambda step: None)
    assert not course.root.exists()


def test_a_large_class_is_whole(labs: dict[str, Lab]) -> None:
    """Every student and lab, whatever came of it."""
    found = large_class(labs, students=60, copies=1)
    facts = class_facts(found, labs)
    grid = rows_of(unlinked(class_page(found, facts, labs)), "Points of each student by lab")
    assert len(grid) == 61 and {len(line) for line in grid} == {2 + len(labs)}
    for one in facts.labs:
        seen = [facts.counts.total() for facts in one.criteria]
        assert seen and max(seen) == sum(bool(seat.statuses) for seat in one.seats)


def test_the_command_writes_what_the_gradebook_says(
    course: CourseFolder, lab: Lab, pair: list[StandingRow]
) -> None:
    with use_gradebook(course) as book:
        book.add_submissions(intake(submission(ADA), submission(BOB)))
        book.add_attempts([one.attempt for one in pair if one.attempt is not None])
    done = CliRunner().invoke(cli, ["report", str(course.root)])
    assert done.exit_code == 0, done.output
    check_text(done.output)
    root = assert_sound((course.report / "index.html").read_text(), course.report)
    assert rows_of(root, "Points of each student by lab")[1] == ["Ada Lovelace", "10", "10"]
    students = course.report / "students"
    students.rename(course.root / "aside")
    assert CliRunner().invoke(cli, ["report", str(course.root), "--class-only"]).exit_code == 0
    assert not students.exists()
    nobody = CliRunner().invoke(cli, ["report", str(course.root / "nowhere")])
    assert isinstance(nobody.exception, UserError)
