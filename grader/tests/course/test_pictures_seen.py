"""Pictures on a student's page: of which lab, and taken from the page of its grading."""

from __future__ import annotations

import base64
from xml.etree import ElementTree

from support import invented
from support.courses import ADA, attempt
from support.demo_course import SECTION
from support.golden_texts import check_text
from support.invented_class import lab_result, row
from support.pages import all_of, assert_sound

from numalab.course.pages.graded_pictures import MOST_CHARACTERS, first_pictures
from numalab.course.pages.student_page import pictured_row, student_page
from numalab.evidence.read_record import parse
from numalab.grading.graded import GradedKernel
from numalab.judging.judge import judge
from numalab.labs.declaration import Lab
from numalab.reports.html_page import page
from numalab.reports.occasion import Occasion, Submission

FIRST, SECOND = "01_first_touch", "03_scheduling"
NAME = "a<b>$x$"


def test_pictures_are_of_what_fails_or_of_what_was_graded_last(labs: dict[str, Lab]) -> None:
    passed = row(ADA, FIRST, attempt(ADA, lab_result(labs[FIRST], {})))
    before = "2027-05-03T10:00:00+00:00"
    failing = lab_result(labs[SECOND], {"balanced": "fail"})
    failed = row(ADA, SECOND, attempt(ADA, failing, at=before))
    right = row(ADA, SECOND, attempt(ADA, lab_result(labs[SECOND], {}), at=before))
    assert pictured_row([passed, failed]) is failed
    assert pictured_row([right, passed]) is passed
    assert pictured_row([row(ADA, FIRST, None)]) is None


def graded_page(lab: Lab) -> str:
    record = invented.evidence(invented.ONE_NODE, writer=invented.master_writes)
    for run in record["runs"]:
        for array in run.get("touch_map", {}).get("arrays", []):
            array["array"] = array["array"].replace("a", NAME)
    sight = parse(record)
    kernel = GradedKernel(lab, judge(lab, sight), [("here", sight)], [], again="./numalab grade")
    return page(
        [Submission("", [kernel])],
        Occasion("2026-01-01 12:00 UTC", invented.ONE_NODE.describe()),
    )


def test_pictures_are_taken_from_the_page_of_a_grading(labs: dict[str, Lab]) -> None:
    """As it is drawn: of the language that counts, whole, and read out."""
    text = graded_page(labs[FIRST])
    first, *_ = first_pictures(text, "C")
    assert first_pictures(text, "Fortran") == []
    check_text(first.title)
    assert NAME in first.words
    kind, _, data = first.address.partition(",")
    assert kind == "data:image/svg+xml;base64"
    root = ElementTree.fromstring(base64.b64decode(data))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert int(root.attrib["width"]) == first.width > 200
    assert int(root.attrib["height"]) == first.height > 100
    failing = row(ADA, FIRST, attempt(ADA, lab_result(labs[FIRST], {"local_pages": "fail"})))
    found = assert_sound(student_page(ADA, [failing], labs, "", (), [first]))
    (image,) = all_of(found, "img")
    check_text(image.attrib["alt"])


def test_what_is_no_picture_of_the_kits_is_left_out() -> None:
    section = SECTION.format(lab="01", language="C", share=1, rest=1, percent=1)
    assert len(first_pictures(section, "C")) == 1
    assert first_pictures(section.replace("</svg>", "</g></svg>"), "C") == []
    assert first_pictures(section.replace("viewBox", "box"), "C") == []
    large = f"<desc>{'x' * MOST_CHARACTERS}</desc></svg>"
    assert first_pictures(section.replace("</svg>", large), "C") == []
    assert first_pictures("", "C") == []


def test_the_first_two_pictures_are_taken() -> None:
    def figure(name: str, box: str = "0 0 72 36", more: str = "") -> str:
        return (
            f'<figure><figcaption>{name} &amp; x</figcaption><div class="p"><svg viewBox="{box}" '
            f'style="s">{more}</svg></div><p>W &lt; {name}</p></figure>'
        )

    figures = figure("bad", "0 0 1") + figure("one") + figure("two") + figure("three")
    page = f'<section class="kernel"><h2>01, C: 5</h2>{figures}</section>'
    other = f'<section class="kernel"><h3>01, Fortran: 5</h3>{figure("f")}</section>'
    found = first_pictures(other + page, "C")
    assert [(one.title, one.words, one.width, one.height) for one in found] == [
        ("one & x", "W < one", 96, 48), ("two & x", "W < two", 96, 48)
    ]  # fmt: skip
    root = ElementTree.fromstring(base64.b64decode(found[0].address.partition(",")[2]))
    assert root.attrib == {"viewBox": "0 0 72 36", "width": "96", "height": "48"}
    assert [one.title for one in first_pictures(other + page, "Fortran")] == ["f & x"]
    plain = page.replace(' style="s"', "")
    assert first_pictures(plain, "C") == found
    svg = '<svg viewBox="0 0 72 36" style="s"></svg>'
    for more, many in ((40_000 - len(svg), 1), (40_001 - len(svg), 0)):
        section = (
            f'<section class="kernel"><h2>1, C: 5</h2>{figure("x", more="x" * more)}</section>'
        )
        assert len(first_pictures(section, "C")) == many
