"""What a class's results say together, figure by figure: criteria, nodes, days and pictures."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any
from xml.etree import ElementTree
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
from support.pages import assert_sound, rows_of

from numalab.course.gradebook.parts import GradePart
from numalab.course.gradebook.standing import Standing, StandingRow
from numalab.course.pages.class_facts import CriterionFacts, NodeGradings, class_facts
from numalab.course.pages.class_page import class_page, digest_of, lab_page
from numalab.course.pages.days import Days, picture, progress, progress_words
from numalab.course.pages.heat_map import heat_map, lab_cells, points_words, student_link
from numalab.course.pages.mistakes import MOST, mistakes
from numalab.course.pages.part_tables import PartSum, added_up, part_sum, part_sums
from numalab.course.records import Attempt, Problem, Student
from numalab.judging.verdict import CriterionVerdict
from numalab.labs.declaration import Lab

Json = dict[str, Any]
DAY = date(2027, 5, 1)


def graded(criteria: list[Json], most: int = 10) -> Json:
    """A result with these criteria; those that pass earn their points."""
    earned = sum(one["points"] for one in criteria)
    return result(0) | {"points": earned, "max_points": most, "criteria": criteria}


def timed(*statuses: str) -> Json:
    return graded([criterion(f"t{k}", one, 1, kind="timing") for k, one in enumerate(statuses)])


def of(student: Student, one: Json, node: Json = ONE_NUMA_NODE, **more: Any) -> StandingRow:
    return row(student, LAB, attempt(student, one, node=node), **more)


def unlinked(text: str) -> Element:
    return assert_sound(re.sub(r'href="[^#"][^"]*"', 'href="#main"', text))


# ---- criteria ------------------------------------------------------------------------


def test_criteria_are_counted_over_all_places() -> None:
    here = {"value": 0.25, "unit": "", "at_least": 0.5}
    rows = [
        of(ADA, graded([
            criterion("b", "fail", 2, "Far there.", where="hydra", value=0.75, unit="share"),
            criterion("b", "pass", 2, **here),
        ])),
        of(BOB, graded([
            criterion("a", "not_gradable", 1, value=None, at_least=None, at_most=3),
            criterion("b", "pass", 2, value=None),
        ])),
        row(ZOE, LAB, None, is_handed_in=False),
    ]  # fmt: skip
    (lab,) = class_facts(standing(rows), {}).labs
    assert [seat.statuses for seat in lab.seats] == [
        {"b": "fail"}, {"a": "not_gradable", "b": "pass"}, {}
    ]  # fmt: skip
    b, a = lab.criteria
    assert (b.lab, b.name, b.max_points, b.unit) == (LAB, "b", 2, "share")
    assert (b.lower_bound, b.upper_bound, b.values) == (0.95, None, [0.25])
    assert b.counts == {"fail": 1, "pass": 1}
    assert [one.why for one in b.failures] == ["Far there."]
    assert (b.decided, b.failed_share, b.nobody_passes) == (2, 0.5, False)
    assert (a.lower_bound, a.upper_bound, a.values, a.counts) == (None, 3, [], {"not_gradable": 1})
    assert (a.decided, a.failed_share, a.nobody_passes) == (0, 0.0, False)


def test_a_value_is_of_the_node_itself_where_it_has_one() -> None:
    def value_of(*places: tuple[str, float | None]) -> list[float]:
        some = [criterion("a", "pass", 1, where=where, value=value) for where, value in places]
        return class_facts(standing([of(ADA, graded(some))]), {}).labs[0].criteria[0].values

    assert value_of(("hydra", 2.0), ("here", 1.0)) == [1.0]
    assert value_of(("here", None), ("hydra", 2.0), ("nebula", 3.0)) == [2.0]
    assert value_of(("here", None)) == []


def test_criteria_are_in_the_labs_order_and_unknown_ones_last(labs: dict[str, Lab]) -> None:
    names = [one.name for one in labs[LAB].criteria]
    some = [criterion(name, "pass", 1) for name in ("unknown", *reversed(names))]
    (lab,) = class_facts(standing([of(ADA, graded(some))]), labs).labs
    assert [one.name for one in lab.criteria] == [*names, "unknown"]


def test_labs_are_in_order_and_shares_are_of_those_who_have_a_grade() -> None:
    rows = [
        replace(of(ADA, result(10)), lab=OTHER_LAB),
        of(ADA, result(5, 5), max_points=20.0),
        of(BOB, result(5, 5), points=None),
        of(ZOE, result(5, 5), max_points=0.0),
    ]
    first, second = class_facts(standing(rows), {}).labs
    assert (first.name, first.shares) == (LAB, [0.25])
    assert (second.name, second.shares) == (OTHER_LAB, [1.0])


def facts(
    name: str, failed: int, passed: int, follow: int = 0, causes: tuple[str, ...] = ()
) -> CriterionFacts:
    """failed: by what they did there; follow: fail since another does."""
    found = CriterionFacts(LAB, name, 2, "", None, None)
    found.counts = Counter({"fail": failed + follow, "pass": passed})
    for k in range(failed):
        cause: Any = causes[k] if causes else "missed"
        found.failures.append(CriterionVerdict(name, "evidence", "fail", cause, f"w{k}", 0, 2))
    for k in range(follow):
        cause = "not_right_yet" if k % 2 else "missed"
        by = "" if k % 2 else "x"
        found.failures.append(
            CriterionVerdict(name, "evidence", "fail", cause, "f", 0, 2, explained_by=by)
        )
    return found


def test_mistakes_are_in_order_of_how_many_make_them() -> None:
    some = [
        facts("few", 1, 9), facts("many", 3, 5), facts("larger_share", 3, 1),
        facts("follows", 0, 5, follow=4), facts("both", 2, 0, follow=3),
    ]  # fmt: skip
    found = mistakes(some)
    assert [(one.criterion.name, one.failed, one.following) for one in found] == [
        ("larger_share", 3, 0), ("many", 3, 0), ("both", 2, 3), ("few", 1, 0)
    ]  # fmt: skip
    assert MOST == 10
    assert len(mistakes([facts(f"c{k}", 1, 1) for k in range(12)])) == 10


def test_a_mistakes_cause_is_the_most_frequent() -> None:
    (one,) = mistakes([facts("a", 3, 0, causes=("crashed", "missed", "missed"))])
    assert (one.cause_count, one.typical) == (2, "w1")
    check_text(one.cause)


# ---- nodes ---------------------------------------------------------------------------


def on(name: str, *statuses: str, **more: Any) -> StandingRow:
    student = Student(f"{name}{len(statuses)}{more}", name, {})
    return of(student, timed(*statuses), TWO_NUMA_NODES | {"name": name}, **more)


def test_nodes_are_counted_by_name() -> None:
    untimed = graded([criterion("a", "inconclusive", 1), criterion("b", "error", 1, kind="timing"),
                      criterion("c", "not_gradable", 1, kind="timing")])  # fmt: skip
    lost = replace(attempt(ADA, state="lost"), node={"name": "n2"})
    rows = [
        on("n2", "pass", "fail", "inconclusive", others=(lost, lost)),
        of(ADA, untimed, {"name": "n1"}, others=(attempt(ADA, timed("pass")),)),
        of(BOB, timed("inconclusive"), {}),
    ]
    found = class_facts(standing(rows), {})
    here = "1 package, 1 NUMA node, 4 cores (Laptop)"
    there = "2 packages, 2 NUMA nodes, 32 cores (Server)"
    assert found.nodes == [
        NodeGradings("", "", graded=1, timed=1, undecided=1),
        NodeGradings("n2", there, graded=1, timed=3, undecided=1, ended=Counter(lost=2)),
        NodeGradings("n1", here, graded=2, timed=1, undecided=0),
    ]
    assert [node.undecided_share for node in found.nodes] == [1, pytest.approx(1 / 3), 0]
    assert found.types == {here: {"nodes": 1, "graded": 2}, there: {"nodes": 1, "graded": 1}}
    assert list(found.types) == [here, there]
    assert found.ended == {"graded": 4, "lost": 2}
    assert found.unsandboxed == 4
    assert (found.mixed, NodeGradings("n9").undecided_share) == ([], 0)


@pytest.mark.parametrize(
    ("timed_there", "open_there", "timed_else", "open_else", "noisy"),
    [
        (10, 1, 0, 0, True),  # alone, and a tenth
        (9, 9, 0, 0, False),  # too few to say
        (20, 1, 0, 0, False),  # less than a tenth
        (10, 2, 10, 1, True),  # twice the others'
        (10, 2, 9, 1, False),
        (10, 2, 11, 1, True),
    ],
)
def test_when_a_node_is_noisy(
    timed_there: int, open_there: int, timed_else: int, open_else: int, noisy: bool
) -> None:
    def statuses(timed_: int, still_open: int) -> list[str]:
        return ["inconclusive"] * still_open + ["pass"] * (timed_ - still_open)

    rows = [on("loud", *statuses(timed_there, open_there))]
    rows += [on("still", *statuses(timed_else, open_else))] if timed_else else []
    names = [node.name for node in class_facts(standing(rows), {}).noisy]
    assert ("loud" in names) is noisy


# ---- the summary ---------------------------------------------------------------------

WAITS = row(ADA, OTHER_LAB, None, others=(attempt(ADA, state="lost", lab=OTHER_LAB),))
ABSENT = row(BOB, OTHER_LAB, None, is_handed_in=False)
BROKEN = replace(ABSENT, student=ZOE, is_not_taken=True)


def small_class() -> Standing:
    quick = graded([criterion("t", "pass", 5, kind="timing"), criterion("u", "fail", 5)])
    two = (attempt(ADA, result(1, 9), node=TWO_NUMA_NODES, number=2),)
    variant = replace(of(ADA, result(5, 0, still_open=5)), lab=VARIANT, is_part=True, late_s=9.0)
    rows = [
        of(ADA, result(6, 2, still_open=2), others=two, is_preliminary=True, late_s=1.0,
           points=6.0, variant=variant),
        replace(of(BOB, quick, points=10.0, is_late_unknown=True, override_reason=""),
                attempt=attempt(BOB, quick, effort="quick")),
        of(ZOE, result(0, 10), points=0.0, override_reason="oral", max_points=12.0),
        WAITS, ABSENT, BROKEN,
    ]  # fmt: skip
    return standing(rows, Problem("x", "y"))


@pytest.fixture(scope="module")
def page(labs: dict[str, Lab]) -> Element:
    """That of the small class."""
    found = small_class()
    return unlinked(class_page(found, class_facts(found, labs), labs))


def test_the_class_in_figures(page: Element) -> None:
    assert rows_of(page, "The class in figures")[1:] == [
        ["Students", "3"], ["Labs", "2"], ["Handed in", "4 of 6"],
        ["Handed in, and can't be taken", "1"], ["Graded", "3"], ["Without a grade", "1"],
        ["Provisional grades", "1"], ["Grades with open points", "1"], ["Late hand-ins", "2"],
        ["Late by Canvas, hours unknown", "1"], ["Set by hand", "1"],
        ["Gradings, with repeated ones", "5"],
    ]  # fmt: skip
    heads, ada, bob, zoe = rows_of(page, "Points of each student by lab")
    check_text(heads)
    assert ada == ["Ada Lovelace", "6", "6 pl", "?"]
    assert bob == ["Bob <b>Bold</b>", "10", "10 c", "-"]
    assert zoe == ["Zoë Ångström", "0", "0 s", "#"]


def test_what_somebody_should_look_at(page: Element) -> None:
    (section,) = (
        one for one in page.iter("section")
        if one.attrib["aria-labelledby"] == "summary"
    )  # fmt: skip
    said = [" ".join("".join(item.itertext()).split()) for item in section.iter("li")]
    check_text([one.partition(":")[0] for one in said])


def test_a_lab_has_a_line(page: Element) -> None:
    lines = [
        line
        for line in rows_of(page, "Results by lab; each lab's page has all students and criteria")
        if line
    ]
    by_title = {line[0]: line[1:] for line in lines}
    assert by_title["01 First touch"] == ["3", "3", "60 %", "1", "1", "local_pages and u"]
    assert by_title["02 Affinity"] == ["1", "0", "-", "0", "0", "-"]


def test_a_labs_page_as_it_is_asked_for(labs: dict[str, Lab]) -> None:
    def one(value: float, status: str, student: Student) -> StandingRow:
        return of(student, graded([
            criterion("a", status, 6, value=value, unit="s", at_least=None, at_most=0.5),
            criterion("b", "pass", 4, value=value),
            criterion("c", "pass", 0, value=1.0, unit="x", at_least=None),
        ]))  # fmt: skip

    found = standing([one(0.25, "pass", ADA), one(0.75, "fail", BOB)])
    text = lab_page(found, class_facts(found, {}).labs[0], {})
    caption = "How many students passed each criterion, and what was measured; the dashed line is "
    _, a, b, c = rows_of(unlinked(text), f"{caption}what is asked for")
    assert a[1] == "1 passed 1 failed"
    check_text(a[2])
    check_text(b[2])
    check_text(c[2])
    assert "Asked" not in c[2]
    assert re.findall('<title id="(.*?)">(.*?)</title>', text) == [
        ("grades", "Grades as shares of the lab&#39;s points"), ("values0", "Values of a"),
        ("values1", "Values of b"),
    ]  # fmt: skip
    assert "2 of 2 handed in, 2 graded." in " ".join(text.split())


def test_a_labs_page_without_grades_has_no_picture(labs: dict[str, Lab]) -> None:
    found = standing([WAITS, ABSENT])
    text = lab_page(found, class_facts(found, labs).labs[0], labs)
    assert "<svg" not in text
    assert "1 of 2 handed in, 0 graded." in " ".join(text.split())


# ---- the heat map --------------------------------------------------------------------


def test_cells_lead_to_where_it_is_told() -> None:
    made = list(lab_cells(LAB, {"b": "pass", "c d": "fail"}, ["a", "b", "c d"], "x.html"))
    assert made == [
        '<td class="none first">-</td>',
        f'<td class="pass"><a href="x.html#{LAB}-b">passed</a></td>',
        f'<td class="fail"><a href="x.html#{LAB}-c%20d">failed</a></td>',
    ]
    assert student_link(WAITS, "../") == "../students/ada/index.html"


def test_the_heat_map_has_a_line_for_everybody(labs: dict[str, Lab]) -> None:
    variant = replace(of(ADA, result(5, 5)), lab=VARIANT, is_part=True, points=3.0)
    rows = [of(ZOE, result(10)), of(ADA, result(5, 5), variant=variant), BROKEN, ABSENT]
    heads, lines = heat_map(class_facts(standing(rows), labs), labs)
    assert heads == [
        ("01 First touch", f"labs/{LAB}.html", ["correct", "local_pages"]),
        ("01 variant", f"labs/{VARIANT}.html", ["correct", "local_pages"]),
    ]
    assert [(of.student.id, points, cells.count("<td")) for of, _, points, cells in lines] == [
        ("ada", "5", 4), ("bob", "-", 4), ("zoe", "10", 4)
    ]  # fmt: skip
    assert lines[0][1] == "students/ada/index.html"
    assert lines[2][3].count('class="none') == 3


def test_a_sum_is_of_grades_that_there_are() -> None:
    rows = [replace(WAITS, points=points) for points in (0.1, 0.2, None)]
    assert points_words(rows) == "0.3"
    assert points_words([*rows, replace(WAITS, points=5.0, is_part=True)]) == "0.3"
    assert points_words(rows[2:]) == "-"
    assert points_words([replace(WAITS, points=0.0)]) == "0"


# ---- parts ---------------------------------------------------------------------------


def part(name: Any, state: Any, most: float, points: float, why: str = "") -> GradePart:
    return GradePart(name, state, 0.0, why, weight=1.0, max_points=most, points=points)


@pytest.mark.parametrize(
    ("state", "points", "most", "words", "kind", "left"),
    [
        ("graded", 3.2, 4, "3.2 of 4", "part", 0.8), ("graded", 4, 4, "4 of 4", "pass", 0),
        ("graded", 0, 4, "0 of 4", "fail", 4), ("open", 0, 4, "0 of 4", "inconclusive", 4),
        ("waiting", 2, 4, "2 of 4", "inconclusive", 2), ("left out", 0, 0, "-", "none", 0),
        ("graded", 5, 4, "5 of 4", "pass", 0),
    ],
)  # fmt: skip
def test_how_a_sum_of_parts_is_shown(
    state: Any, points: float, most: float, words: str, kind: str, left: float
) -> None:
    found = PartSum("kernel", state, points, most)
    assert (found.words, found.kind, found.left) == (words, kind, left)
    assert (found.state_words == "") is (state == "graded")


def test_parts_of_one_name_are_added_up() -> None:
    some = [part("kernel", "missing", 4, 0, "a"), part("kernel", "graded", 3.11, 1.22, "b")]
    assert part_sum(some) == PartSum("kernel", "graded", 1.22, 7.11)
    assert part_sum(some[1:]) == PartSum("kernel", "graded", 1.22, 3.11, "b")
    states = ["left out", "missing", "not taken", "graded", "open", "waiting"]
    for number, state in enumerate(states):
        found = part_sum([part("viva", one, 1, 0) for one in states[: number + 1]])
        assert found.state == state
    rows = [replace(WAITS, parts=tuple(some[:1]), points=1.0), replace(WAITS, parts=(some[1],))]
    assert part_sums(iter(rows), ["viva", "kernel"]) == [None, part_sum(some)]
    by_hand = replace(rows[0], override_reason="oral")
    assert added_up([*rows, by_hand]) == rows[:1]


# ---- days ----------------------------------------------------------------------------


def days_of(rows: list[StandingRow], *times: tuple[str, int]) -> list[Days]:
    """times: digests of Ada's, and days on which they came."""
    begin = datetime(2027, 5, 1, 10, tzinfo=UTC)
    handed = {
        ("ada", LAB, digest.ljust(64, "0")): begin + timedelta(days=day) for digest, day in times
    }
    return progress(replace(standing(rows), handed_in=handed))


def with_digest(one: Json, digest: str, **more: Any) -> Attempt:
    return attempt(ADA, one, digest=digest, **more)


def test_days_have_the_best_until_then() -> None:
    later = with_digest(result(4, 2, 4), "d3")
    others = (
        with_digest(result(5, 5), "d1"), with_digest(result(1, 9), "d2"),
        with_digest(result(0, 0, 10), "d2", number=2), attempt(ADA, state="lost", digest="d1"),
    )  # fmt: skip
    rows = [row(ADA, LAB, later, others=others), row(BOB, LAB, None, max_points=30.0)]
    found = days_of(rows, ("d1", 0), ("d2", 1), ("d3", 3))
    assert [(one.first, one.days, one.handed_in) for one in found] == [
        (DAY + timedelta(days=k), 1, many) for k, many in enumerate((1, 1, 0, 1))
    ]
    assert [one.reached for one in found] == pytest.approx([0.125, 0.125, 0.125, 10 / 60])
    assert days_of([row(ADA, LAB, later, max_points=0.0)], ("d3", 0))[0].reached == 0


def test_of_two_the_first_hand_in_and_of_languages_the_better_one_is_ahead() -> None:
    both = result(2, 8), result(5, 5, language="fortran"), result(3, 7)
    first = with_digest(both[0], "d1", number=2)
    first = replace(first, results=both)
    found = days_of([row(ADA, LAB, with_digest(result(9, 1), "d2"), others=(first,))],
                    ("d1", 0), ("d2", 1))  # fmt: skip
    assert [one.reached for one in found] == pytest.approx([0.5, 0.9])


@pytest.mark.parametrize(("days", "step", "bars"), [(60, 1, 60), (61, 2, 31), (120, 2, 60)])
def test_a_bar_stands_for_as_many_days_as_it_takes(days: int, step: int, bars: int) -> None:
    found = days_of([of(ADA, result(10))], ("d1", 0), ("d2", days - 1))
    assert (len(found), found[0].days, found[1].first) == (bars, step, DAY + timedelta(days=step))
    assert (found[0].handed_in, found[-1].handed_in) == (1, 1)
    assert found[0].label == ("2027-05-01" if step == 1 else "2027-05-01 to 2027-05-02")


def test_progress_in_words_and_as_a_picture() -> None:
    found = [Days(DAY, 2, 1, 0.25), Days(date(2027, 5, 3), 2, 0, 0.25),
             Days(date(2027, 5, 5), 2, 100, 0.5)]  # fmt: skip
    said = progress_words(found)
    check_text(said)
    svg = picture(found, "days")
    root = ElementTree.fromstring(svg)
    assert root.attrib["viewBox"] == "0 0 640 250"
    check_text(root.attrib["aria-labelledby"])
    bars = [
        (one.get("class", ""), *(float(one.attrib[key]) for key in ("x", "y", "width", "height")))
        for one in root.iter("rect")
    ]
    assert bars == [
        ("", 44, 112, 194.5, 2), ("reached", 44, 207, 194.5, 21), ("reached", 240, 207, 194.5, 21),
        ("", 436, 30, 194.5, 84), ("reached", 436, 186, 194.5, 42),
    ]  # fmt: skip
    texts = [(one.attrib["x"], one.attrib["y"], one.text) for one in root.iter("text")]
    assert texts == [
        ("0", "22", "Hand-ins per 2 days"), ("38", "40", "100"), ("38", "114", "0"),
        ("0", "136", "Points of the class so far"), ("38", "154", "100 %"), ("38", "228", "0"),
        ("44", "246", "2027-05-01"), ("632", "246", "2027-05-06"),
    ]  # fmt: skip
    assert [one.attrib["d"] for one in root.iter("path")] == ["M44 114H632", "M44 228H632"]
    one_day = ElementTree.fromstring(picture([Days(DAY, 1, 1, 1.0)], "d"))
    check_text(next(one.text for one in one_day.iter("text")))
    assert len(list(one_day.iter("text"))) == 7
    two_bars = ElementTree.fromstring(picture(found[:2], "d"))
    assert [one.text for one in two_bars.iter("text")][-2:] == ["2027-05-01", "2027-05-04"]
    many = ElementTree.fromstring(picture([replace(found[0], days=1)] * 588, "d"))
    assert {one.attrib["width"] for one in many.iter("rect")} == {"1.0"}


def test_a_script_is_named_by_its_digest() -> None:
    assert digest_of("") == "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="


def test_of_one_name_ids_are_in_order_whatever_the_rows_are_in(labs: Mapping[str, Lab]) -> None:
    twins = [replace(WAITS, student=Student(id_, "Same", {})) for id_ in ("a", "b")]
    for rows in (twins, twins[::-1]):
        _, lines = heat_map(class_facts(standing(rows), labs), labs)
        assert [first.student.id for first, *_ in lines] == ["a", "b"]
        text = class_page(standing(rows), class_facts(standing(rows), labs), labs)
        grid = text[text.index("Points of each student by lab") :]
        assert grid.index("students/a/") < grid.index("students/b/")
