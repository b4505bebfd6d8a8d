"""The tables of a class's page, row by row."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from xml.etree.ElementTree import Element

import pytest
from support.courses import (
    ADA,
    BOB,
    LAB,
    ONE_NUMA_NODE,
    OTHER_LAB,
    TWO_NUMA_NODES,
    VARIANT,
    ZOE,
    attempt,
    criterion,
    result,
)
from support.golden_texts import check_text
from support.invented_class import row, standing
from support.pages import all_of, assert_sound, rows_of, words

from numalab.course.gradebook.parts import GradePart
from numalab.course.gradebook.standing import Standing
from numalab.course.pages import class_page as class_page_module
from numalab.course.pages.class_facts import class_facts
from numalab.course.pages.class_page import class_page, lab_page
from numalab.course.records import Attempt, Problem
from numalab.course.similarity import EqualKernels
from numalab.labs.declaration import Lab

Json = dict[str, Any]
HERE = "1 package, 1 NUMA node, 4 cores (Laptop)"
THERE = "2 packages, 2 NUMA nodes, 32 cores (Server)"


def timed(still_open: int, decided: int) -> Json:
    statuses = ["inconclusive"] * still_open + ["pass"] * decided
    some = [criterion(f"t{k}", one, 1, kind="timing") for k, one in enumerate(statuses)]
    return result(decided) | {"max_points": still_open + decided, "criteria": some}


def lost(state: Any, number: int, name: str) -> Attempt:
    return replace(attempt(ADA, state=state, number=number), node={"name": name})


@pytest.fixture(scope="module")
def made() -> Standing:
    ended = (
        lost("lost", 2, "n1"), lost("lost", 3, "n1"), lost("preempted", 4, "n1"),
        lost("node_failed", 5, "n2"), attempt(ADA, result(1, 9), number=6, node=TWO_NUMA_NODES),
    )  # fmt: skip
    variant = row(ADA, VARIANT, None, is_part=True)
    rows = [
        row(ADA, LAB, attempt(ADA, result(6, 2, 2)), others=ended, variant=variant),
        row(ADA, OTHER_LAB, None, notes=("Not graded.", "A note.")),
        row(BOB, LAB, attempt(BOB, timed(2, 8), node=ONE_NUMA_NODE | {"name": ""}),
            max_points=16.0, points=12.8),
        row(BOB, OTHER_LAB, None, is_handed_in=False),
        row(ZOE, LAB, replace(attempt(ZOE, timed(0, 20)), sandbox="bubblewrap"), points=10.0),
    ]  # fmt: skip
    times = {
        ("ada", LAB, "d1".ljust(64, "0")): datetime(2027, 5, 1, tzinfo=UTC),
        ("bob", LAB, "d1".ljust(64, "0")): datetime(2027, 5, 3, tzinfo=UTC),
    }
    return replace(
        standing(rows, Problem("x", "y", ZOE), Problem("", "z"), title=""), handed_in=times
    )


@pytest.fixture(scope="module")
def text(made: Standing, labs: dict[str, Lab]) -> str:
    return class_page(made, class_facts(made, labs), labs)


@pytest.fixture(scope="module")
def page(text: str) -> Element:
    return unlinked(text)


def unlinked(text: str) -> Element:
    return assert_sound(re.sub(r'href="[^#"][^"]*"', 'href="#main"', text))


@pytest.mark.parametrize(
    ("caption", "rows"),
    [
        ("Handed in, and without a grade",
         [["Ada Lovelace", "02 Affinity", "Not graded. A note."]]),
        ("Grades of which points are not decided",
         [["Bob <b>Bold</b>", "01 First touch", "t0 (1 point) and t1 (1 point)", "3.2 of 16"]]),
        ("What could not be taken in",
         [["x", "Zoë Ångström", "y"], ["the delivery", "-", "z"]]),
        ("Nodes, the noisiest first",
         [["not known noisy", "10", "2 (20 %)", "1", "0", HERE],
          ["n1", "20", "0 (0 %)", "2", "2: the job left no result; 1: the job had to make room for "
           "another", HERE],
          ["n2", "0", "0 (0 %)", "1", "1: the node failed", THERE]]),
        ("Types of node", [[HERE, "2", "3"], [THERE, "1", "1"]]),
        ("Students whose gradings of a lab ran on different types of node",
         [["Ada Lovelace", "01 First touch", f"{HERE} and {THERE}"]]),
        ("Gradings that the infrastructure ended",
         [["the job left no result", "2"], ["the job had to make room for another", "1"],
          ["the node failed", "1"]]),
        ("Criteria that nobody passes",
         [["local_pages", "01 First touch", "0", "1 (100 %)", "0", "0"]]),
        ("Criteria on which nobody could be graded",
         [["speedup", "01 First touch", "0", "0", "0", "1"]]),
        ("Progress over the days",
         [["2027-05-01", "1", "11 %"], ["2027-05-02", "0", "11 %"], ["2027-05-03", "1", "31 %"],
          ["2027-05-04", "1", "46 %"]]),
        ("Results by lab; each lab's page has all students and criteria",
         [["01 First touch", "3", "3", "80 %", "0", "0", "local_pages"],
          ["01 First touch, variant", "1", "0", "-", "0", "0", "-"],
          ["02 Affinity", "1", "0", "-", "0", "0", "-"]]),
        ("Points of each student by lab",
         [["Ada Lovelace", "7.5", "7.5", "?"], ["Bob <b>Bold</b>", "12.8", "12.8", "-"],
          ["Zoë Ångström", "10", "10", "-"]]),
    ],
)  # fmt: skip
def test_a_table_of_the_page(page: Element, caption: str, rows: list[list[str]]) -> None:
    assert rows_of(page, caption)[1:] == rows


def test_what_is_said_beside_the_tables(page: Element, text: str) -> None:
    check_text(words(next(all_of(page, "h1"))))
    said = words(page)
    assert "As of 2027-05-02 08:00 UTC." in said
    heads = rows_of(page, "Points of each student by lab")[0]
    check_text(heads[2:])
    assert re.findall('<svg class="values days".*?aria-labelledby="(.*?)"', text) == [
        "days-title days-desc"
    ]


def test_the_summary_of_a_noisy_node(page: Element) -> None:
    (section,) = (s for s in all_of(page, "section") if s.attrib["aria-labelledby"] == "summary")
    links = {words(link): link.attrib["href"] for link in all_of(section, "a")}
    assert links == {
        "1 submission without a grade.": "#waiting",
        "1 grade with points that are still open.": "#open",
        "2 problems in what was delivered.": "#problems",
        "Nobody passes local_pages.": "#criteria",
        "Times are noisy on a node without a name.": "#nodes",
        "1 submission graded on different types of node.": "#mixed",
        "3 gradings ran without a sandbox.": "#ended",
    }


@pytest.mark.parametrize(
    ("more", "cell"),
    [
        ({"points": 10.0}, ("pass", "10", "")), ({"points": 10.5}, ("pass", "10.5", "")),
        ({"points": 9.5}, ("part", "9.5", "")), ({"points": 0.5}, ("part", "0.5", "")),
        ({"points": 0.0}, ("fail", "0", "")), ({"late_s": 0.5}, ("error", "?", "l")),
        ({"is_handed_in": False}, ("none", "-", "")),
        ({"is_handed_in": False, "is_not_taken": True}, ("error", "#", "")),
        ({"is_handed_in": False, "points": 1.0, "override_reason": "x"}, ("part", "1", "s")),
        ({"points": 10.0, "is_preliminary": True, "is_late_unknown": True}, ("pass", "10", "pc")),
    ],
)  # fmt: skip
def test_a_cell_of_the_grid(more: Json, cell: tuple[str, str, str]) -> None:
    assert class_page_module._cell(row(ADA, LAB, None, **more)) == cell


def test_a_quick_variant_makes_one_grade_quick(labs: dict[str, Lab]) -> None:
    variant = row(
        ADA, VARIANT, attempt(ADA, timed(0, 3), lab=VARIANT, effort="quick"), is_part=True
    )
    found = standing([row(ADA, LAB, attempt(ADA, result(10)), variant=variant)])
    text = class_page(found, class_facts(found, labs), labs)
    assert re.findall(r"(\d+ grades?) with --quick", text) == ["1 grade"]


def part(name: Any, most: float, points: float) -> GradePart:
    return GradePart(name, "graded", 1.0, weight=1.0, max_points=most, points=points)


def test_parts_and_pages_of_a_lab(labs: dict[str, Lab]) -> None:
    parts = (part("kernel", 8, 8), part("viva", 2, 1))
    rows = [
        row(ZOE, LAB, None, points=9.0, parts=parts),
        row(ADA, LAB, None, is_handed_in=False, parts=parts),
        row(BOB, OTHER_LAB, None, points=3.0, parts=(part("diagnose", 5, 3),)),
    ]
    found = replace(standing(rows), parts=("kernel", "diagnose", "viva"))
    text = class_page(found, class_facts(found, labs), labs)
    assert rows_of(unlinked(text), "What the grades of each student are made of") == [
        ["Student", "Sum", "kernel", "diagnose", "viva"],
        ["Ada Lovelace", "-", "-", "-", "-"],
        ["Bob <b>Bold</b>", "3", "-", "3 of 5", "-"],
        ["Zoë Ångström", "9", "8 of 8", "-", "1 of 2"],
    ]
    first, _ = class_facts(found, labs).labs
    text = lab_page(found, first, labs)
    assert rows_of(unlinked(text), "Each student's criteria") == [
        ["Student", "Points of 10", "kernel", "viva"],
        ["Zoë Ångström", "9", "8 of 8", "1 of 2"], ["Ada Lovelace", "-", "-", "-"],
    ]  # fmt: skip
    assert "../students/zoe/index.html" in text
    check_text(words(next(all_of(unlinked(text), "h1"))))
    nameless = replace(found, title="")
    text = lab_page(nameless, first, labs)
    check_text(words(next(all_of(unlinked(text), "h1"))))


def test_those_alike_most_often_come_first(labs: dict[str, Lab]) -> None:
    found = standing([row(ADA, LAB, None)])

    def one(lab: str, *students: str) -> EqualKernels:
        return EqualKernels(lab, "c", students, is_solution=False, changed=3)

    alike = [one(LAB, "eve", "zoe"), one(LAB, "ada", "eve"), one(LAB, "mia", "zoe"),
             one(OTHER_LAB, "mia", "zoe")]  # fmt: skip
    text = class_page(found, class_facts(found, labs), labs, alike)
    assert [line[0] for line in rows_of(unlinked(text), "Hand-ins that are alike")[1:]] == [
        "mia, zoe", "Ada Lovelace, eve", "eve, zoe"
    ]  # fmt: skip
