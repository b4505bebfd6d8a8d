"""Modelled times in words and pictures, and beside which times they stand. Evidence and rates are
made up."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rich.console import Console
from support import invented
from support.golden_texts import check_text, raises_text
from support.invented import ONE_NODE, TWO_NODES
from support.pages import assert_legible, assert_sound
from support.sessions import bound, session

from numalab.errors import NothingToDraw
from numalab.evidence.read_record import parse
from numalab.evidence.record import Evidence, Json
from numalab.grading.graded import GradedKernel
from numalab.grading.modelled import model_ungradable
from numalab.installation import Installation
from numalab.judging.judge import judge
from numalab.labs.declaration import Lab
from numalab.machines.gallery import find_machine
from numalab.machines.rates import PublishedRate
from numalab.modelling.speedups import ModelledSpeedup, modelled_speedups
from numalab.reports.figures import modelled_figure
from numalab.reports.html_page import page
from numalab.reports.modelled_picture import modelled_pictures
from numalab.reports.modelled_words import NO_TIMES, rows, sentences, times_words
from numalab.reports.occasion import Occasion, Submission
from numalab.reports.report import show_verdict

RATES = (
    PublishedRate("core", 10.0, "me", "made up", 10), PublishedRate("core", 5.0, "me", "made up"),
    PublishedRate("controller", 40.0, "me", "made up"),
    PublishedRate("link", 20.0, "me", "made up"),
)  # fmt: skip


def there(lab: str = "01_first_touch") -> Json:
    """On a machine like hydra with four cores on a NUMA node: all pages of a thread are node 1's,
    where nobody's of a are."""
    return invented.evidence(TWO_NODES, home=lambda owner, page: 0) | {"lab": lab}


def of_pages(
    installation: Installation,
    lab: Lab,
    record: Json | None = None,
    rates: tuple[PublishedRate, ...] = RATES,
) -> ModelledSpeedup:
    hydra = replace(find_machine(installation, "hydra"), rates=rates).scaled(4)
    speedup = next(c for c in lab.criteria if c.name == "speedup")
    (found,) = modelled_speedups(lab, speedup, parse(record or there()), hydra, {})
    return found


@pytest.fixture
def lab(labs: dict[str, Lab]) -> Lab:
    return labs["01_first_touch"]


def lines_of(found: list[ModelledSpeedup], columns: int = 78) -> list[str]:
    return [line.plain for lines in modelled_pictures(found, columns) for line in lines]


# ---- words -----------------------------------------------------------------------------


def test_a_model_has_few_digits() -> None:
    assert [times_words(value) for value in (1.96, 0.994, 0.52, 12.34)] == [
        "2.0 times", "1.0 times", "0.52 times", "12.3 times",
    ]  # fmt: skip


def test_the_headline_says_modelled_and_where_the_pages_are(
    installation: Installation, lab: Lab
) -> None:
    first, second = sentences(of_pages(installation, lab))
    check_text(first)
    check_text(second)
    right = sentences(of_pages(installation, lab, invented.evidence(TWO_NODES)))
    check_text(right[0])
    check_text(right[1])


def test_an_array_behind_one_controller_is_named(installation: Installation, lab: Lab) -> None:
    record = invented.evidence(TWO_NODES)
    placement = next(run for run in record["runs"] if run["kind"] == "placement")
    placement["residency"][0]["numa_node"] = [[1, 320]]
    said = sentences(of_pages(installation, lab, record))[0]
    check_text(said)
    placement["residency"][0]["numa_node"] = [[1, 256], [0, 64]]
    said = sentences(of_pages(installation, lab, record))[0]
    check_text(said)


def test_what_is_left_out_is_told(installation: Installation, lab: Lab) -> None:
    said = sentences(of_pages(installation, lab, rates=(RATES[0], RATES[2])))
    check_text(said[2])
    shared = invented.evidence(TWO_NODES, users=lambda owner, page: (0, 7))
    check_text(sentences(of_pages(installation, lab, shared))[-1])


def test_parts_without_a_rate_make_it_a_bound(installation: Installation, lab: Lab) -> None:
    """They only ever take longer: of the handout, of what is as remote, or of the kernel alone."""
    known = (RATES[0], RATES[2])
    right = of_pages(installation, lab, invented.evidence(TWO_NODES), known)
    check_text(sentences(right)[0])
    swapped = replace(right, yours=right.theirs, theirs=right.yours)
    check_text(sentences(swapped)[0])
    both = replace(right, yours=right.theirs)
    check_text(sentences(both)[0])


def test_without_rates_the_reason_stands_there(installation: Installation, lab: Lab) -> None:
    found = of_pages(installation, lab, rates=())
    check_text(" ".join(lines_of([found])))
    assert rows(found) == []
    with raises_text(NothingToDraw):
        modelled_figure(found)


# ---- pictures ----------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [78, 58, 38])
def test_the_terminals_picture_fits_and_marks_the_bottleneck(
    installation: Installation, lab: Lab, columns: int
) -> None:
    lines = lines_of([of_pages(installation, lab, invented.evidence(TWO_NODES))], columns)
    assert all(len(line) <= columns for line in lines), lines
    first = " ".join(line for line in lines if line.startswith("controller 0"))
    assert first.count("*") == 2 and "12.5" in first and "25.0" in first
    link = " ".join(line for line in lines if line.startswith("link 1 to 0"))
    assert link.count("*") == 1 and "50 %" in link, "the handout's"
    assert NO_TIMES in " ".join(lines)


def test_a_link_without_a_rate_still_shows_its_traffic(
    installation: Installation, lab: Lab
) -> None:
    lines = lines_of([of_pages(installation, lab, rates=(RATES[0], RATES[2]))])
    (link,) = (line for line in lines if line.startswith("link 1 to 0"))
    assert link.count("no rate") == 2 and link.count("50 %") == 2


def test_the_figure_is_legible_and_shows_both(installation: Installation, lab: Lab) -> None:
    found = of_pages(installation, lab, invented.evidence(TWO_NODES))
    for width_in in (4.8, 8.0):
        figure = modelled_figure(found, width_in=width_in)
        assert_legible(figure)
        yours, theirs, bars = (axes for part in figure.subfigs for axes in part.axes)
        assert [text.get_text() for text in yours.texts] == ["50 %", "50 %"]
        assert [text.get_position() for text in theirs.texts] == [(0, 0), (0, 1)]
        assert sorted(text.get_text().strip() for text in bars.texts if "*" in text.get_text()) == [
            "12.5 *", "12.5 *", "25.0 *", "25.0 *",
        ]  # fmt: skip


# ---- where they stand --------------------------------------------------------------------


def seen(here: Json, hydra: Json) -> list[tuple[str, Evidence]]:
    return [("here", parse(here)), ("hydra", parse(hydra))]


def test_they_stand_beside_times_that_want_more_numa_nodes(
    installation: Installation, lab: Lab
) -> None:
    places = seen(invented.evidence(ONE_NODE), there())
    found = model_ungradable(installation, lab, judge(lab, places[0][1]), places)
    assert [(one.criterion, one.machine) for one in found] == [
        ("speedup", "hydra"), ("speedup", "nebula"),
    ]  # fmt: skip
    where_times_count = seen(invented.evidence(TWO_NODES), there())
    verdict = judge(lab, where_times_count[0][1])
    assert model_ungradable(installation, lab, verdict, where_times_count) == ()


def test_a_machine_that_has_changed_is_told_and_ends_nothing(
    installation: Installation, lab: Lab
) -> None:
    places = seen(invented.evidence(ONE_NODE), invented.evidence(invented.EIGHT_NODES))
    found, _ = model_ungradable(installation, lab, judge(lab, places[0][1]), places)
    assert found.speedup is None
    check_text(found.why_not)


def test_placement_files_are_modelled_each(
    installation: Installation, labs: dict[str, Lab]
) -> None:
    lab = labs["02_affinity"]
    here = session(lab.name, ONE_NODE)
    hydra = session(
        lab.name, TWO_NODES,
        bound("omp_spread.env", "libgomp", "submission", [0], [1]),
        bound("omp_close.env", "libgomp", "submission", [0], [2], [4], [6]),
    )  # fmt: skip
    places = seen(here, hydra)
    found = model_ungradable(installation, lab, judge(lab, places[0][1]), places)
    assert {one.criterion for one in found} == {"bandwidth"}
    text = " ".join(" ".join(line.split()) for line in lines_of(list(found)))
    check_text(text)


def test_reports_pages_and_json_label_it(
    installation: Installation, lab: Lab, capsys: pytest.CaptureFixture[str]
) -> None:
    places = seen(invented.evidence(ONE_NODE), there())
    verdict = judge(lab, places[0][1])
    found = of_pages(installation, lab)
    kernel = GradedKernel(lab, verdict, places, (), modelled=(found,))
    show_verdict(Console(width=80), kernel)
    printed = " ".join(capsys.readouterr().out.split())
    check_text(printed)
    assert NO_TIMES in printed
    occasion = Occasion("2026-01-01 12:00 UTC", ONE_NODE.describe())
    html = page([Submission("ada", [kernel])], occasion)
    assert_sound(html)
    assert "Modelled on hydra" in html and NO_TIMES in html
    (told,) = kernel.json_data()["modelled"]
    assert told["modelled"] is True and told["speedup"] == pytest.approx(1)
    assert told["yours"]["bottleneck"] == [["controller", 0], ["link", 1, 0]]
    earned = replace(kernel, modelled=()).json_data()
    assert {key: value for key, value in kernel.json_data().items() if key != "modelled"} == earned
