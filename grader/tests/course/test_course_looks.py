"""What the pages of a course look like and lead to, of a course of made-up students: the heat map,
what most got wrong, progress, the next step, parts of grades, and hand-ins that are alike."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.etree.ElementTree import Element

import pytest
from support.courses import ADA, BOB, ZOE, attempt
from support.demo_course import demo_course
from support.golden_texts import check_text
from support.invented_class import lab_result, row, standing
from support.pages import all_of, assert_sound, rows_of, words
from support.published_labs import is_published

from numalab.course.course_folder import CourseFolder
from numalab.course.gradebook.gradebook import use_gradebook
from numalab.course.gradebook.parts import PartScore, score_parts
from numalab.course.gradebook.rules import read_rules
from numalab.course.gradebook.standing import Standing, StandingRow
from numalab.course.pages.class_facts import class_facts
from numalab.course.pages.class_page import class_page, lab_page
from numalab.course.pages.days import MOST_BARS, progress, progress_words
from numalab.course.pages.mistakes import mistakes, typical
from numalab.course.pages.reports import write_reports
from numalab.course.pages.student_page import lab_title, student_page
from numalab.course.records import Student
from numalab.course.similarity import EqualKernels
from numalab.installation import Installation
from numalab.labs.declaration import Lab
from numalab.labs.variants import lab_of_variant, labs_and_variants
from numalab.reports.html_page import STATUS_WORDS, TEMPLATES

FIRST, SECOND = "01_first_touch", "03_scheduling"
SCRIPT = "<script>alert(1)</script>"
STYLE = (TEMPLATES / "report.css").read_text()
STUDENTS = 30
HEAT = "Each student's criteria by lab"


def published_with_variants(installation: Installation) -> dict[str, Lab]:
    every = labs_and_variants(installation.root)
    return {name: lab for name, lab in every.items() if is_published(lab_of_variant(name))}


@pytest.fixture(scope="module")
def demo(
    installation: Installation, labs: dict[str, Lab], tmp_path_factory: pytest.TempPathFactory
) -> CourseFolder:
    """With all its pages."""
    every = published_with_variants(installation)
    root = tmp_path_factory.mktemp("demo") / "course"
    course = demo_course(root, list(every.values()), STUDENTS)
    with use_gradebook(course) as book:
        found = book.standing(read_rules(course.rules, every))
    write_reports(course, installation, found, lambda step: None)
    return course


@pytest.fixture(scope="module")
def page(demo: CourseFolder) -> str:
    return (demo.report / "index.html").read_text()


class _Cells(HTMLParser):
    """Rows of the heat map's body, a cell each as its class, link and words."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[tuple[str, str, str]]] = []
        self.heads: list[dict[str, str]] = []
        self._cell: list[str] | None = None
        self._is_body = False
        heat = text[text.index('class="grid heat"') :]
        self.feed(heat[: heat.index("</table>")])

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {key: value or "" for key, value in attrs}
        if tag == "tbody":
            self._is_body = True
        elif tag == "th" and not self._is_body:
            self.heads.append(found | {"words": ""})
        elif tag == "tr" and self._is_body:
            self.rows.append([])
        elif tag in ("td", "th"):
            self._cell = [found.get("class", ""), "", ""]
        elif tag == "a" and self._cell is not None:
            self._cell[1] = found["href"]

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th") and self._is_body and self._cell is not None:
            self.rows[-1].append((self._cell[0], self._cell[1], self._cell[2]))
            self._cell = None

    def handle_data(self, data: str) -> None:
        if self._cell is not None:
            self._cell[2] += data
        elif self.heads and not self._is_body:
            self.heads[-1]["words"] += data.strip()


# ---- the heat map ------------------------------------------------------------------------


def test_all_links_of_all_pages_lead_to_files_and_places_that_are_there(
    demo: CourseFolder,
) -> None:
    pages = [
        *demo.report.glob("*.html"),
        *demo.report.glob("labs/*.html"),
        *demo.report.glob("students/*/index.html"),
    ]
    assert len(pages) > STUDENTS
    for path in pages:
        assert_sound(path.read_text(), path.parent)


def test_a_column_of_the_heat_map_is_its_criterions(page: str, installation: Installation) -> None:
    labs = published_with_variants(installation)
    found = _Cells(page)
    assert len(found.rows) == STUDENTS
    columns = {int(head["data-column"]): head for head in found.heads if "data-column" in head}
    assert sorted(columns) == list(range(len(found.rows[0])))
    assert {len(cells) for cells in found.rows} == {len(columns)}
    names = [f"{lab.name}-{one.name}" for lab in labs.values() for one in lab.criteria]
    assert [columns[number]["words"] for number in range(2, len(columns))] == [
        name.partition("-")[2] for name in names
    ]
    kinds = [columns[number]["data-sort"] for number in range(len(columns))]
    assert kinds == ["text", "number", *["status"] * len(names)]
    groups = [head for head in found.heads if head.get("scope") == "colgroup"]
    assert [int(head["colspan"]) for head in groups] == [len(lab.criteria) for lab in labs.values()]
    seen = set()
    for cells in found.rows:
        for name, (kind, link, text) in zip(names, cells[2:], strict=True):
            status = kind.split()[0]
            seen.add(status)
            if status == "none":
                assert (link, text) == ("", "-")
            else:
                assert text == STATUS_WORDS[status]
                assert unquote(link.partition("#")[2]) == name
                assert link.startswith(cells[0][1])  # the student's
    assert seen == {"none", *STATUS_WORDS}


def test_students_are_in_order_before_anything_sorts(page: str) -> None:
    found = _Cells(page)
    names = [cells[0][2] for cells in found.rows]
    assert names == sorted(names, key=str.casefold)
    assert [head["words"] for head in found.heads if "aria-sort" in head] == ["Student"]


def test_every_status_has_a_sign_of_its_own() -> None:
    """Told apart without colour, and on paper."""
    signs = dict(re.findall(r'td\.(\w+) > a::before, \.key\.\1::before \{ content: "(.*?)"', STYLE))
    assert signs.keys() == STATUS_WORDS.keys()
    assert len(set(signs.values())) == len(signs)
    # The words that the sign stands for are read out, not the sign.
    assert (
        len(re.findall(r'\.key\.\w+::before \{ content: "(.*?)"; content: "\1" / ""', STYLE)) == 5
    )


def test_the_heat_map_is_printed_across_a_page_of_its_own() -> None:
    _, _, on_paper = STYLE.partition("@media print {")
    assert re.search(r"\.heat \{ page: across; \}", on_paper)
    assert re.search(r"@page across \{ size: landscape", on_paper)
    check_text(on_paper)


def test_pages_stay_small(demo: CourseFolder, page: str) -> None:
    """The class's opens at once, with all labs and variants, and a student's can be mailed."""
    cells = len(re.findall("<td", page))
    assert len(page.encode()) < 50_000 + 120 * cells
    sizes = [path.stat().st_size for path in demo.report.glob("students/*/index.html")]
    assert max(sizes) < 150_000


def test_without_scripts_nothing_is_missing(page: str) -> None:
    """Buttons that would do nothing are made by the script."""
    assert "<button" not in page and "onclick" not in page
    assert page.count("<script>") == 1 and page.index("<script>") > page.index("</main>")


# ---- what most got wrong -----------------------------------------------------------------


def failing(lab: Lab, name: str, cause: str, why: str, **more: Any) -> dict[str, Any]:
    result = lab_result(lab, {name: "fail"})
    (criterion,) = (one for one in result["criteria"] if one["name"] == name)
    criterion.update(cause=cause, why=why, **more)
    return result


def test_what_most_got_wrong_comes_with_its_cause_and_a_typical_sentence(
    labs: dict[str, Lab],
) -> None:
    lab = labs[FIRST]
    told = [
        ("missed", "50 % of the pages live elsewhere."),
        ("missed", "Nothing of a is shared out."),
        ("missed", "48 % of the pages live elsewhere."),
        ("bad_file", "It can't be read."),
    ]
    rows = [
        row(replace(ADA, id=f"s{k}"), FIRST, attempt(ADA, failing(lab, "local_pages", *one)))
        for k, one in enumerate(told)
    ]
    rows.append(row(BOB, FIRST, attempt(BOB, failing(lab, "efficiency", "too_slow", "Slow."))))
    text = class_page(standing(rows), class_facts(standing(rows), labs), labs)
    first, second = rows_of(
        assert_sound(re.sub(r'href="[^#"][^"]*"', 'href="#main"', text)),
        "Criteria that most students fail, and what the kit says of it",
    )[1:]
    check_text(first)
    assert second[0] == "efficiency"


def test_what_fails_only_since_another_does_is_no_mistake_of_its_own(
    labs: dict[str, Lab],
) -> None:
    lab = labs[FIRST]
    rows = [
        row(ADA, FIRST, attempt(ADA, failing(lab, "speedup", "not_right_yet", "Not judged."))),
        row(
            BOB,
            FIRST,
            attempt(BOB, failing(lab, "speedup", "too_slow", "S", explained_by="local_pages")),
        ),
    ]
    assert mistakes(class_facts(standing(rows), labs).criteria) == []
    rows.append(row(ZOE, FIRST, attempt(ZOE, failing(lab, "speedup", "too_slow", "S"))))
    (one,) = mistakes(class_facts(standing(rows), labs).criteria)
    assert (one.failed, one.following, one.cause_count) == (1, 2, 1)


def test_sentences_that_differ_in_figures_are_the_same() -> None:
    assert typical(["a", "1.5 of 20 pages", "3 of 4 pages", "a, too"]) == "1.5 of 20 pages"


# ---- progress ----------------------------------------------------------------------------


def with_times(rows: list[StandingRow], *days: tuple[str, str, int]) -> Standing:
    """days: student, digest, day."""
    begin = datetime(2027, 5, 1, 10, tzinfo=UTC)
    times = {
        (student, FIRST, digest.ljust(64, "0")): begin + timedelta(days=day)
        for student, digest, day in days
    }
    return replace(standing(rows), handed_in=times)


def test_progress_is_what_was_handed_in_and_the_best_of_it(labs: dict[str, Lab]) -> None:
    lab = labs[FIRST]
    worse, better = lab_result(lab, {"local_pages": "fail"}), lab_result(lab, {})
    points = worse["points"] / worse["max_points"]
    counting = attempt(ADA, worse, digest="d3")
    others = (attempt(ADA, worse, digest="d1"), attempt(ADA, better, digest="d2"))
    rows = [row(ADA, FIRST, counting, others=others), row(BOB, FIRST, None)]
    found = progress(with_times(rows, ("ada", "d1", 0), ("ada", "d2", 2), ("ada", "d3", 3)))
    assert [one.handed_in for one in found] == [1, 0, 1, 1]
    assert [one.reached for one in found] == pytest.approx([points / 2, points / 2, 0.5, 0.5])
    check_text(progress_words(found))


def test_many_days_are_drawn_together(labs: dict[str, Lab]) -> None:
    rows = [row(ADA, FIRST, attempt(ADA, lab_result(labs[FIRST], {}), digest="d1"))]
    found = progress(with_times(rows, ("ada", "d1", 0), ("ada", "d2", 3 * MOST_BARS - 1)))
    assert len(found) == MOST_BARS and {one.days for one in found} == {3}
    assert sum(one.handed_in for one in found) == 2
    assert found[0].label == "2027-05-01 to 2027-05-03"


def test_without_times_of_deliveries_gradings_tell(labs: dict[str, Lab]) -> None:
    rows = [row(ADA, FIRST, attempt(ADA, lab_result(labs[FIRST], {})))]
    (day,) = progress(standing(rows))
    assert (str(day.first), day.handed_in, day.reached) == ("2027-05-04", 1, 1.0)
    assert progress(standing([row(ADA, FIRST, None)])) == []


def test_the_gradebook_tells_when_things_were_handed_in(demo: CourseFolder) -> None:
    with use_gradebook(demo) as book:
        found = book.standing(read_rules(demo.rules))
    assert min(found.handed_in.values()) < datetime(2027, 4, 24, tzinfo=UTC)


# ---- a student's next step ---------------------------------------------------------------


def section(root: Element, name: str) -> str:
    (found,) = (s for s in all_of(root, "section") if s.attrib["aria-labelledby"] == name)
    return words(found)


def next_step(rows: list[StandingRow], labs: Mapping[str, Lab]) -> str:
    text = student_page(ADA, rows, labs, "HPC", ())
    assert text.index('id="next"') < text.index('id="summary"')
    return section(assert_sound(text), "next")


def test_a_students_page_begins_with_the_next_step(labs: dict[str, Lab]) -> None:
    passed = row(ADA, FIRST, attempt(ADA, lab_result(labs[FIRST], {})))
    failed = row(ADA, SECOND, attempt(ADA, lab_result(labs[SECOND], {"balanced": "fail"})))
    told = next_step([passed, failed], labs)
    check_text(told)
    absent = row(ADA, SECOND, None, is_handed_in=False)
    check_text(next_step([passed, absent], labs))
    still = row(ADA, SECOND, attempt(ADA, lab_result(labs[SECOND], {"balanced": "inconclusive"})))
    check_text(next_step([passed, still], labs))
    check_text(next_step([passed], labs))


def test_of_a_lab_that_the_kit_has_not_the_next_step_is_its_criterion(
    labs: dict[str, Lab],
) -> None:
    result = lab_result(labs[FIRST], {"local_pages": "fail"})
    gone = row(ADA, "99_gone", attempt(ADA, result, lab="99_gone"))
    check_text(next_step([gone], labs))


def test_a_variants_title_is_its_labs(labs: dict[str, Lab]) -> None:
    check_text(lab_title("01_first_touch_variant", labs))
    assert lab_title("99_gone_variant", labs) == "99_gone_variant"
    own = {"01_first_touch_variant": replace(labs[FIRST], title="First touch, variant")}
    check_text(lab_title("01_first_touch_variant", labs | own))


def test_a_students_page_goes_on_with_pictures_of_the_next_step(demo: CourseFolder) -> None:
    for number in range(STUDENTS):
        text = (demo.report / "students" / f"s{number:03}" / "index.html").read_text()
        assert text.index('id="next"') < text.index('id="seen"') < text.index('id="summary"')
        (image,) = re.findall('<img src="data:image/svg[^>]*alt="([^"]*)"', text)
        check_text(image)
        step = re.search(r'<p><a href="#[^"]*">(.*?)</a></p>\n<ul>\n  <li>Next', text)
        if step is not None:  # something fails
            title, _, _ = step[1].rpartition(" in ")
            assert f'<h2 id="seen">What was seen of {title}</h2>' in text


# ---- parts -------------------------------------------------------------------------------

WEIGHTS = {"kernel": 4.0, "variant": 3.0, "prediction": 1.0, "viva": 2.0}


def with_parts(student: Student, labs: Mapping[str, Lab], *shown: PartScore) -> list[StandingRow]:
    """A row and its variant's."""
    parts = score_parts(shown, WEIGHTS, 10)  # type: ignore[arg-type]
    variant = next(part for part in parts if part.name == "variant")
    own = lab_result(labs[FIRST], {"local_pages": "fail"})
    of_variant = row(
        student, f"{FIRST}_variant", attempt(student, own, lab=f"{FIRST}_variant"),
        points=variant.points, max_points=variant.max_points, is_part=True,
    )  # fmt: skip
    first = attempt(student, lab_result(labs[FIRST], {}))
    points = round(sum(part.points for part in parts), 2)
    return [
        row(student, FIRST, first, parts=parts, points=points, variant=of_variant), of_variant
    ]  # fmt: skip


COPIED = (
    PartScore("kernel", "graded", 1.0, "10 of 10 points in C"), PartScore("variant", "graded", 0.5),
    PartScore("prediction", "missing"), PartScore("viva", "open"),
)  # fmt: skip
UNDERSTOOD = (
    PartScore("kernel", "graded", 0.75), PartScore("variant", "graded", 1.0),
    PartScore("prediction", "graded", 0.8), PartScore("viva", "graded", 0.9),
)  # fmt: skip


def class_standing(labs: Mapping[str, Lab]) -> Standing:
    rows = [with_parts(ADA, labs, *UNDERSTOOD)[0], with_parts(BOB, labs, *COPIED)[0]]
    return replace(standing(rows), parts=tuple(WEIGHTS))  # type: ignore[arg-type]


def of_class(
    found: Standing, labs: Mapping[str, Lab], alike: Sequence[EqualKernels] = ()
) -> Element:
    text = class_page(found, class_facts(found, labs), labs, alike)
    return assert_sound(re.sub(r'href="[^#"][^"]*"', 'href="#main"', text))


def test_a_class_shows_what_each_part_gives(labs: dict[str, Lab]) -> None:
    found = class_standing(labs)
    head, *lines = rows_of(of_class(found, labs), "What the grades of each student are made of")
    assert head == ["Student", "Sum", "kernel", "variant", "prediction", "viva"]
    assert lines == [
        ["Ada Lovelace", "8.6", "3 of 4", "3 of 3", "0.8 of 1", "1.8 of 2"],
        ["Bob <b>Bold</b>", "5.5", "4 of 4", "1.5 of 3", "0 of 1", "0 of 2 ?"],
    ]
    lab = next(one for one in class_facts(found, labs).labs if one.name == FIRST)
    text = re.sub(r'href="[^#"][^"]*"', 'href="#main"', lab_page(found, lab, labs))
    head, ada, bob = rows_of(assert_sound(text), "Each student's criteria")
    assert head[1:7] == ["Points of 10", "kernel", "variant", "prediction", "viva", "correct"]
    assert ada[1:7] == ["8.6", "3 of 4", "3 of 3", "0.8 of 1", "1.8 of 2", "passed"]
    assert bob[1:6] == ["5.5", "4 of 4", "1.5 of 3", "0 of 1", "0 of 2 ?"]


def test_a_variant_that_is_a_part_counts_in_its_labs_points_alone(labs: dict[str, Lab]) -> None:
    root = of_class(class_standing(labs), labs)
    head, *lines = rows_of(root, "Points of each student by lab")
    assert [one.split(" of ")[0] for one in head] == ["Student", "Sum", "01 First touch"]
    assert [line[1:] for line in lines] == [["8.6", "8.6"], ["5.5", "5.5"]]
    groups, _, *lines = rows_of(root, HEAT)
    assert groups == ["Student", "Points", "01 First touch", "01 variant"]
    assert [line[1] for line in lines] == ["8.6", "5.5"]


def test_a_students_page_says_what_a_grade_is_made_of(labs: dict[str, Lab]) -> None:
    root = assert_sound(student_page(BOB, with_parts(BOB, labs, *COPIED), labs, "", ()))
    assert rows_of(root, "What the grade of 01 First touch is made of")[1:] == [
        ["kernel", "4 of 4", "10 of 10 points in C"], ["variant", "1.5 of 3", "-"],
        ["prediction", "0 of 1", "not handed in"], ["viva", "0 of 2", "no mark yet"],
    ]  # fmt: skip
    assert rows_of(root, "What parts of the grades give over all labs")[1:] == [
        ["kernel", "4 of 4"], ["variant", "1.5 of 3"], ["prediction", "0 of 1"], ["viva", "0 of 2"]
    ]  # fmt: skip
    check_text(words(next(all_of(root, "header"))))


def test_what_the_parts_give_adds_up_to_the_sum(page: str) -> None:
    """Of every student of the made-up class, whatever of it has no grade yet."""
    text = re.sub(r'href="[^#"][^"]*"', 'href="#main"', page)
    head, *lines = rows_of(assert_sound(text), "What the grades of each student are made of")
    assert len(lines) == STUDENTS
    assert head[2:] == ["kernel", "variant", "prediction", "diagnose", "viva"]
    for name, total, *cells in lines:
        gives = sum(float(cell.split()[0]) for cell in cells if cell != "-")
        assert f"{round(gives, 2):g}" == total, name


def test_what_was_set_by_hand_is_in_no_sum_of_parts(labs: dict[str, Lab]) -> None:
    by_hand = replace(
        with_parts(ADA, labs, *UNDERSTOOD)[0], points=9.0, override_reason="shown at the board"
    )
    root = assert_sound(student_page(ADA, [by_hand], labs, "", ()))
    assert "What parts of the grades give" not in words(root)
    assert "9 of 10 points" in words(next(all_of(root, "header")))


def test_without_parts_nothing_is_said_of_them(labs: dict[str, Lab]) -> None:
    rows = [row(one, FIRST, attempt(one, lab_result(labs[FIRST], {}))) for one in (ADA, BOB)]
    assert "made of" not in words(of_class(standing(rows), labs))
    page = student_page(ADA, rows[:1], labs, "", ())
    assert "made of" not in words(assert_sound(page)) and "parts of the" not in page


def test_the_next_step_is_in_the_variant_and_then_in_what_is_missing(
    labs: dict[str, Lab],
) -> None:
    rows = with_parts(ADA, labs, *COPIED)
    check_text(next_step(rows, labs))
    right = attempt(ADA, lab_result(labs[FIRST], {}), lab=f"{FIRST}_variant")
    told = next_step([rows[0], replace(rows[1], attempt=right)], labs)
    check_text(told)
    every = with_parts(ADA, labs, *UNDERSTOOD)
    told = next_step([every[0], replace(every[1], attempt=None, is_handed_in=False)], labs)
    check_text(told)  # what a part lacks its lab says


def test_a_lab_with_a_variant_alone_says_that_its_kernel_is_missing(labs: dict[str, Lab]) -> None:
    shown = (PartScore("kernel", "missing"), *UNDERSTOOD[1:])
    own, variant = with_parts(ADA, labs, *shown)
    root = assert_sound(student_page(ADA, [replace(own, attempt=None), variant], labs, "", ()))
    first, second = rows_of(root, "Grades by lab")[1:]
    check_text(first[:3])
    check_text(second[:3])


def test_progress_is_of_kernels_and_variants(labs: dict[str, Lab]) -> None:
    """The kernel's 4 points and 8 of 10 of the variant's 3; 7 can be had."""
    rows = with_parts(ADA, labs, *UNDERSTOOD)
    (day,) = progress(standing(rows[:1]))
    share = rows[1].result["points"] / 10  # type: ignore[index]
    assert day.handed_in == 2
    assert day.reached == pytest.approx((4 + 3 * share) / 7)


def test_a_students_page_is_made_again_when_parts_change(
    installation: Installation, labs: dict[str, Lab], tmp_path: Path
) -> None:
    course = CourseFolder(tmp_path / "course")
    index = course.student_report("ada") / "index.html"
    texts = []
    for share in (0.25, 0.75):
        shown = [replace(UNDERSTOOD[0], share=share), *UNDERSTOOD[1:]]
        found = standing(with_parts(ADA, labs, *shown)[:1])
        write_reports(course, installation, found, lambda step: None)
        texts.append(index.read_text())
    assert "1 of 4" in texts[0]
    assert "3 of 4" in texts[1]


# ---- what is alike -----------------------------------------------------------------------


def test_hand_ins_that_are_alike_are_information(labs: dict[str, Lab]) -> None:
    rows = [row(one, FIRST, attempt(one, lab_result(labs[FIRST], {}))) for one in (ADA, BOB)]
    alike = (
        EqualKernels(FIRST, "fortran", ("bob",), is_solution=True, changed=9),
        EqualKernels(FIRST, "c", ("ada", "bob", SCRIPT), is_solution=False, changed=12),
        EqualKernels(SECOND, "c", ("ada", "bob", SCRIPT), is_solution=False, changed=4),
    )
    root = of_class(standing(rows), labs, alike)
    assert rows_of(root, "Hand-ins that are alike")[1:] == [
        [f"Ada Lovelace, Bob <b>Bold</b>, {SCRIPT}", "As each other",
         "01 First touch in C (12); 03 Scheduling in C (4)"],
        ["Bob <b>Bold</b>", "As the public solution", "01 First touch in Fortran (9)"],
    ]  # fmt: skip
    check_text(section(root, "alike"))
    assert "alike" not in words(of_class(standing(rows), labs))
