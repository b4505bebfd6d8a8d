"""Which rows, pictures and sections a page has, on small submissions."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any
from xml.etree.ElementTree import Element

import pytest
from matplotlib.figure import Figure
from support import invented, portraits
from support.evidence_parts import (
    answered,
    grouped,
    line_writers,
    modelled_pair,
    placed,
    with_memory,
)
from support.golden_texts import check_text
from support.invented import ONE_NODE, SOME_CAUSE
from support.pages import all_of, local, read, rows_of, words
from support.run_values import changed

from numalab.evidence.format import Build
from numalab.evidence.read_record import parse
from numalab.evidence.record import Evidence
from numalab.grading.graded import GradedKernel
from numalab.judging.verdict import Cause, CriterionVerdict, Status, Verdict
from numalab.labs.declaration import Lab
from numalab.portrait.plan import portrait_plan
from numalab.portrait.record import Portrait
from numalab.portrait.values import Occasion as Measuring
from numalab.portrait.values import portrait_of
from numalab.reports import html_page, report_figures
from numalab.reports import portrait_page as portrait_pages
from numalab.reports.comparison import LineView, TouchView, WorkView
from numalab.reports.html_page import _steps, page, ungraded_steps
from numalab.reports.inline_svg import inline_svg, svg_file
from numalab.reports.occasion import Occasion, Submission
from numalab.reports.portrait_page import portrait_page

BARE = replace(parse(invented.evidence(ONE_NODE)), runs={})
NODE = {"name": "node7", "packages": 2, "memory_bytes": 3 << 30, "numa_balancing": 0}
NOW = Occasion("now", NODE)


def one(name: str, status: Status = "pass", **more: Any) -> CriterionVerdict:
    points = int(status == "pass")
    told = {"kind": "evidence", "cause": SOME_CAUSE[status], "why": "Why.", "max_points": 1} | more
    return CriterionVerdict(name, status=status, points=points, **told)


def kernel(
    lab: Lab, *criteria: CriterionVerdict, evidence: Evidence = BARE, variant: str = "submission",
    **more: Any,
) -> GradedKernel:  # fmt: skip
    found = Verdict(lab.name, "c", variant, criteria or (one("correct"),))
    return GradedKernel(lab, found, [("here", evidence)], (), again="again", **more)


def root_of(*kernels: GradedKernel, occasion: Occasion = NOW, name: str = "") -> Element:
    return read(page([Submission(name, kernels)], occasion))


def captions(root: Element) -> list[str]:
    return [words(next(all_of(one, "figcaption"))) for one in all_of(root, "figure")]


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures are made and not written, which takes long."""

    def svg(figure: Figure, name: str, title: str, description: str) -> str:
        return f'<svg role="img" aria-labelledby="{name}-title {name}-desc"></svg>'

    monkeypatch.setattr(html_page, "inline_svg", svg)
    monkeypatch.setattr(portrait_pages, "inline_svg", svg)


# ---- heads -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variant", "unchanged"),
    [("handout", True), ("handout", False),
     ("submission", False), ("solution", True)],
)  # fmt: skip
def test_a_kernel_is_called_by_whose_it_is(first_touch: Lab, variant: str, unchanged: bool) -> None:
    root = root_of(kernel(first_touch, variant=variant, unchanged=unchanged))
    (row,) = rows_of(root, "Results by lab and language")[1:]
    check_text(row)


@pytest.mark.parametrize(
    "names",
    [("",), ("Ada", ""),
     ("Ada", "Grace")],
)  # fmt: skip
def test_a_title_names_the_only_one(names: tuple[str, ...]) -> None:
    root = read(page([Submission(name, []) for name in names], NOW))
    check_text(words(next(all_of(root, "h1"))))


def test_a_node_has_rows_for_what_it_tells(first_touch: Lab) -> None:
    rows = rows_of(root_of(kernel(first_touch)), "Node node7")
    assert rows == [
        ["Fact", "Value"], ["Packages", "2"], ["Memory", "3.0 GiB"],
        ["Automatic NUMA balancing", "off"],
    ]  # fmt: skip
    more = {"numa_balancing": 1, "load_1min": 0.126, "page_bytes": 4096, "cores": 0}
    rows = rows_of(root_of(kernel(first_touch), occasion=Occasion("now", more)), "Node")
    assert rows[1:] == [
        ["Cores", "0"], ["Page", "4.0 KiB"], ["Automatic NUMA balancing", "on"],
        ["Load when grading began", "0.13"],
    ]  # fmt: skip


def test_virtual_nodes_are_told_where_they_were_seen(first_touch: Lab) -> None:
    there = replace(BARE, node=BARE.node | {"name": "v"})
    one = replace(kernel(first_touch), evidence_by_place=[("here", BARE), ("hydra", there)])
    occasion = replace(NOW, machines=[("hydra", "Scaled."), ("nebula", "Not seen.")])
    root = root_of(one, occasion=occasion)
    assert rows_of(root, "Virtual node hydra") and not rows_of(root, "Virtual node nebula")
    assert "Scaled." in words(root) and "Not seen." not in words(root)
    assert not rows_of(root, "Virtual node here")


# ---- what was not graded, and what comes next --------------------------------------------


def test_each_cause_has_its_sentence_and_its_criteria() -> None:
    def open_one(name: str, cause: Cause, where: str = "here") -> CriterionVerdict:
        return one(name, "inconclusive", cause=cause, where=where)

    found = Verdict("x", "c", "submission", (
        open_one("a", "interrupted"), open_one("b", "not_measured"), open_one("c", "node_paused"),
        open_one("a", "interrupted", "hydra"), open_one("d", "implausible"),
        open_one("e", "too_noisy"), one("f", "not_gradable"), one("g", "error"), one("h", "fail"),
        one("i"), one("f", "not_gradable", where="hydra"),
    ))  # fmt: skip
    steps = list(ungraded_steps(found))
    assert [step.split(": ")[1] for step in steps] == ["a", "b, c", "d", "e", "f", "g"]
    assert len({step.split(": ")[0] for step in steps}) == 6
    assert ["grading again" in step for step in steps] == [True, True, False, True, False, True]


@pytest.mark.parametrize("failed", [1, 2])
def test_several_that_fail_are_listed(first_touch: Lab, failed: int) -> None:
    names = ("shared_out", "local_pages")[:failed]
    places = [one(name, "fail", where=where) for name in names for where in ("here", "hydra")]
    said = list(_steps(kernel(first_touch, *places)))
    listed = f"Failed: {', '.join(names)}."
    assert any(line.startswith(listed) for line in said) == (failed > 1)
    assert not any(line.startswith("(") for line in said)
    build = Build("does_not_compile", "", "no")
    said = list(_steps(kernel(first_touch, *places, evidence=replace(BARE, build=build))))
    assert not any("Failed: " in line for line in said)
    open_one = one("speedup", "inconclusive", kind="timing")
    more = replace(kernel(first_touch, open_one), again="./numalab grade\n(it goes on)")
    check_text(next(_steps(more)))


def test_what_was_not_graded_has_a_section_with_reasons(first_touch: Lab) -> None:
    found = [one("a"), one("b", "not_gradable"), one("c", "inconclusive"), one("d", "error"),
             one("e", "fail")]  # fmt: skip
    text = page([Submission("", [kernel(first_touch, *found)])], NOW)
    assert 'href="#not-graded"' in text
    states = "not gradable here|open|error of the kit"
    assert re.findall(rf"\b(\w), (?:{states}) Why", words(read(text))) == ["b", "c", "d"]
    assert "not-graded" not in page([Submission("", [kernel(first_touch)])], NOW)


# ---- pictures ----------------------------------------------------------------------------


@pytest.mark.usefixtures("undrawn")
def test_each_kind_of_evidence_has_its_picture(labs: dict[str, Lab], first_touch: Lab) -> None:
    lab = labs["04_huge_pages"]
    root = root_of(
        kernel(lab, evidence=with_memory(BARE), modelled=(modelled_pair(),)),
        kernel(first_touch, evidence=grouped(placed(BARE))),
    )
    assert captions(root) == [
        "Modelled on hydra", "Memory of a table", "Pages by NUMA node", "Control groups",
    ]  # fmt: skip
    ids = [svg.attrib["aria-labelledby"] for svg in all_of(root, "svg")]
    assert sorted(ids) == [f"picture{n}-title picture{n}-desc" for n in (1, 2, 3, 4)]
    (table,) = [t for t in all_of(root, "table") if "64.0 MiB" in words(next(all_of(t, "caption")))]
    assert [words(cell) for cell in all_of(table, "th")][:4] == [
        "Measured", "4 KiB pages", "2 MiB pages", "yours",
    ]  # fmt: skip


@pytest.mark.usefixtures("undrawn")
def test_others_that_are_modelled_are_told_below_the_picture(first_touch: Lab) -> None:
    first, elsewhere = modelled_pair(), replace(modelled_pair(), machine="nebula")
    second = replace(first, subject="b.toml")
    root = root_of(kernel(first_touch, modelled=(first, elsewhere, second)))
    assert captions(root) == ["Modelled on hydra", "Modelled on nebula"]
    on_hydra, on_nebula = map(words, all_of(root, "figure"))
    assert "b.toml (2 threads): 2.0 times" in on_hydra and "b.toml" not in on_nebula


def test_widths_of_pictures_go_by_what_is_compared() -> None:
    evidence = parse(invented.evidence(ONE_NODE))
    (run, *_) = line_writers(evidence).runs[("stores", "submission")][1:]
    alone: Any = LineView("here", None, run, None)  # type: ignore[arg-type]
    figure = report_figures.lines(alone, line_writers(evidence))
    assert (figure.get_figwidth(), len(figure.axes)) == (4.8, 1)
    both = report_figures.lines(replace(alone, solution=run), with_solutions_lines(evidence))
    assert (both.get_figwidth(), len(both.axes)) == (7.0, 2)
    share: Any = object()
    work = report_figures.work(WorkView("here", None, share, None), evidence)
    assert (work.get_figwidth(), len(work.axes)) == (4.8, 1)


def with_solutions_lines(evidence: Evidence) -> Evidence:
    told = line_writers(evidence)
    return replace(told, runs=told.runs | {
        ("stores", "solution"): told.runs[("stores", "submission")]
    })  # fmt: skip


def test_arrays_are_alike_where_all_their_rows_are() -> None:
    yours = parse(invented.evidence(ONE_NODE))
    record = invented.evidence(ONE_NODE)
    for run in record["runs"]:
        for array in run.get("touch_map", {}).get("arrays", []):
            if array["array"] == "b":
                array["first_writer"] = [[0, 80]]
    other = parse(record)
    alike = report_figures.alike_arrays
    assert alike(TouchView("here", None, yours, None, False)) == [["a", "b", "c"]]
    assert alike(TouchView("here", None, other, None, False)) == [["a", "c"], ["b"]]
    assert alike(TouchView("here", None, yours, other, False)) == [["a", "c"], ["b"]]


def test_what_can_not_be_drawn_is_told_in_words(labs: dict[str, Lab]) -> None:
    found = replace(modelled_pair(), theirs=None, why_not="No rate of it is known.")
    root = root_of(kernel(labs["01_first_touch"], modelled=(found,)))
    assert captions(root) == ["Modelled on hydra"]
    assert not list(all_of(root, "svg"))
    assert "No rate of it is known." in words(root)


@pytest.mark.usefixtures("undrawn")
def test_answers_that_were_wrong_are_drawn(labs: dict[str, Lab]) -> None:
    lab = labs["08_quiet_node"]
    asked = next(c for c in lab.criteria if c.rule == "decided")
    evidence = answered(BARE)
    runs = {key: tuple(changed(run, part=asked.part) for run in of) for key, of in
            evidence.runs.items()}  # fmt: skip
    evidence = replace(evidence, runs=runs)
    wrong = kernel(lab, one(asked.name, "fail"), evidence=evidence)
    (caption,) = captions(root_of(wrong))
    assert caption.startswith(f"Answers of {asked.part}")
    assert captions(root_of(kernel(lab, one(asked.name), evidence=evidence))) == []


# ---- svg ---------------------------------------------------------------------------------


def small() -> Figure:
    figure = Figure(figsize=(2.0, 1.5))
    figure.subplots().plot([0, 1], [0, 1])
    return figure


def test_an_inline_picture_has_its_own_ids_and_width() -> None:
    text = inline_svg(small(), "p1", "A title", "Words.")
    root = read(f"<!DOCTYPE html><title>x</title>{text}")
    (svg,) = all_of(root, "svg")
    check_text(svg.attrib["style"])
    assert not {"width", "height", "version"} & svg.attrib.keys()
    assert [local(child) for child in svg][:2] == ["title", "desc"]
    ids = [element.attrib["id"] for element in svg.iter() if "id" in element.attrib]
    assert len(ids) > 5 and all(name.startswith("p1-") for name in ids)
    assert not list(all_of(svg, "style", "metadata"))
    used = re.findall(r'href="([^"]*)"|url\(([^)]*)\)', text)
    assert used and all((a or b).startswith("#p1-") for a, b in used)
    assert text == inline_svg(small(), "p1", "A title", "Words.")


def test_a_picture_file_has_its_size_and_ends_with_a_line() -> None:
    text = svg_file(small(), "A title", "Words.")
    assert text.endswith("</svg>\n") and 'xmlns="http://www.w3.org/2000/svg"' in text
    assert 'width="192"' in text and 'height="144"' in text
    assert "class=" not in text.split(">")[0]


# ---- a node's portrait -------------------------------------------------------------------


def measured(node: Any) -> Portrait:
    asked = portrait_plan(node, 32 * portraits.GIB)
    occasion = Measuring("made up", "0", node, portraits.ABOUT, portraits.BUILD, False, False)
    return portrait_of(asked, portraits.samples_of(asked), occasion)


@pytest.mark.usefixtures("undrawn")
def test_a_portrait_has_a_table_beside_each_picture() -> None:
    """Memory alone on NUMA node 1: it has a column, and no row."""
    found = measured(portraits.memory_only())
    root = read(portrait_page(found))
    pairs = [t for t in all_of(root, "table") if "memory on 0" in words(t)]
    assert len(pairs) == 3
    heads = [[words(cell) for cell in all_of(table, "th")] for table in pairs]
    assert all(head[1:] == ["memory on 0", "memory on 1", "threads on 0"] for head in heads)
    assert len(list(all_of(root, "svg"))) == 3 + len(pairs)
    (streams,) = [t for t in all_of(root, "table") if "as STREAM counts" in words(t)]
    rows = [[words(cell) for cell in all_of(row, "th", "td")] for row in all_of(streams, "tr")][1:]
    assert len(rows) == len(found.streams)
    for row, rate in zip(rows, found.streams, strict=True):
        assert float(row[2]) == pytest.approx(rate.stream_share * rate.gb_s.median, abs=0.051)


def test_a_portrait_without_measurements_says_so() -> None:
    found = replace(measured(portraits.hydra()), curves=(), streams=(), tlb=(), pairs=())
    root = read(portrait_page(found))
    assert words(root).count("Nothing was measured.") == 3
    assert not list(all_of(root, "svg", "table"))


@pytest.mark.usefixtures("undrawn")
def test_one_pair_is_a_table_and_no_picture() -> None:
    root = read(portrait_page(measured(portraits.unlike_cores())))
    assert [t for t in all_of(root, "table") if "memory on 0" in words(t)]
    assert len(list(all_of(root, "svg"))) == 3
