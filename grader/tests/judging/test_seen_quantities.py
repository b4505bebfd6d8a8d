"""What the kit's own kernels show of a run, as predictions are held against it."""

from __future__ import annotations

from typing import Any

import pytest
from support.golden_texts import raises_text
from support.invented import TWO_NODES, evidence
from support.run_values import a_run, an_outcome

from numalab.evidence.checked_pages import CheckedPages
from numalab.evidence.kinds import MEMORY, STORES, SYNCHRONOUS_CHECK, WHOLE_TRACE
from numalab.evidence.read_record import parse
from numalab.evidence.record import (
    HANDOUT,
    SOLUTION,
    SUBMISSION,
    Evidence,
    Kind,
    Trace,
)
from numalab.evidence.run_formats import (
    CheckedSize,
    CheckRun,
    KernelTable,
    MemoryRun,
    NotedLine,
    Origin,
    ResultsRecord,
    SentMessages,
    Slots,
    StoresRun,
    Thread,
)
from numalab.evidence.traced_pages import TracedArray
from numalab.installation import Installation
from numalab.judging.observed_quantities import NotMeasured, measure_quantity
from numalab.labs.declaration import load_lab
from numalab.labs.quantities import Quantity, What, read_predictions, template
from numalab.labs.seeds import Seed
from numalab.labs.variants import (
    draw_variant,
    lab_files,
    labs_with_variants,
    read_draws,
    templates,
    variant_lab,
)

OK = an_outcome("ok")
RIGHT = ResultsRecord(checked=1000, mismatches=0)


def quantity(what: What, **more: Any) -> Quantity:
    return Quantity("x", "What?", "seen", "", what=what, **more)


def record(kind: Kind[Any], role: str, *runs: Any) -> Evidence:
    return parse(evidence(TWO_NODES, times=[])).having(kind, runs, role)


# ---- pages -----------------------------------------------------------------------------


EACH = 50  # pages


def trace(*users: set[int], team: int, sample: CheckedPages | None = None) -> Evidence:
    """Of EACH pages with the same users, one after another."""
    pages = tuple(frozenset(page) for page in users for _ in range(EACH))
    all_of_it = CheckedPages(len(pages), ((0, len(pages)),))
    array = TracedArray("b", (0,) * len(pages), pages, sample or all_of_it)
    return record(
        WHOLE_TRACE, SOLUTION, Trace(None, OK, RIGHT, 1, (), "", "", True, (array,), team)
    )


def used(
    here: Evidence, first: float = 0.0, last: float = 1.0, array: str = "b"
) -> tuple[float, float]:
    return measure_quantity(
        quantity("used_by_lower_half", array=array, first=first, last=last), here
    )


def test_pages_of_the_lower_half_of_a_team_are_told_of_a_stretch() -> None:
    """A page more or less."""
    here = trace({0}, {1}, {2}, {3}, {1, 2}, {3}, {0}, {0}, team=4)
    page = 1 / (8 * EACH)
    assert used(here) == pytest.approx((4.5 / 8 - page, 4.5 / 8 + page))
    page = 1 / (2 * EACH)
    assert used(here, 0.0, 0.25) == pytest.approx((1 - page, 1))
    assert used(here, 0.25, 0.5) == pytest.approx((0, page))
    assert used(here, 0.5, 0.75) == pytest.approx((0.25 - page, 0.25 + page))
    assert measure_quantity(quantity("written_by_lower_half", array="b"), here)[1] == 1.0


def test_a_half_is_of_cores_whoever_works_there() -> None:
    """Threads 4 to 7 are where 3 to 0 have been put."""
    team = tuple(Thread(number, (number,), number, 0, number // 2) for number in range(4))
    origins = [Origin(7 - core, core, core, core // 2) for core in range(4)]
    pages = tuple(origin for origin in origins for _ in range(EACH))
    array = TracedArray(
        "b", tuple(origin.thread for origin in pages),
        tuple(frozenset({origin.thread}) for origin in pages), CheckedPages(200, ((0, 200),)),
        written_from=pages, used_from=tuple(frozenset({origin}) for origin in pages),
    )  # fmt: skip
    run = Trace(None, OK, RIGHT, 1, team, "", "", True, (array,), 4)
    here = record(WHOLE_TRACE, SOLUTION, run)
    for what in ("used_by_lower_half", "written_by_lower_half"):
        assert measure_quantity(quantity(what, array="b", first=0.0, last=0.5), here)[1] == 1.0
        assert measure_quantity(quantity(what, array="b", first=0.5, last=1.0), here)[0] == 0.0


def test_of_an_odd_team_the_middle_thread_is_half_of_the_lower_half() -> None:
    low, high = used(trace({0}, {1}, {2}, team=3))
    assert low < 0.5 < high


def test_where_pages_were_left_out_a_stretch_is_still_found_by_its_place() -> None:
    looked_at = CheckedPages(1000, ((100, EACH), (200, EACH), (800, EACH)))
    here = trace({3}, {3}, {0}, team=4, sample=looked_at)
    assert used(here, 0.0, 0.5)[0] == 0.0
    assert used(here, 0.0, 0.5)[1] < 0.02
    assert used(here, 0.5, 1.0)[1] == 1.0
    assert used(here, 0.5, 1.0)[0] > 0.97


@pytest.mark.parametrize(
    ("here", "array"),
    [
        (trace({0}, team=1), "b"),
        (trace({0}, team=4), "c"),
        (trace(set(), team=4), "b"),
        (parse(evidence(TWO_NODES, times=[])), "b"),
    ],
)
def test_what_tells_nothing_of_pages_is_not_measured(here: Evidence, array: str) -> None:
    with raises_text(NotMeasured):
        used(here, array=array)


def test_a_kernel_that_is_handed_in_makes_no_prediction_come_true() -> None:
    """Its author might have it use one thread only, and predict that."""
    (run,) = trace({0}, {0}, team=4).runs_of(WHOLE_TRACE, SOLUTION)
    with pytest.raises(NotMeasured):
        used(record(WHOLE_TRACE, SUBMISSION, run))


# ---- tables ----------------------------------------------------------------------------

MIB = 1 << 20


def table(size: int, huge: int, faults: int) -> KernelTable:
    return KernelTable(size // 8, size, huge, 0, 0, 0, faults, 0, 0, 0, 0, 0)


def test_small_pages_of_two_tables() -> None:
    small = 8 * MIB + (64 << 10)
    tables = (table(small, 8 * MIB - 4416, 70), table(256 * MIB, 256 * MIB - 4416, 130))
    here = record(MEMORY, SOLUTION, a_run(MemoryRun, huge_pages_allowed=True, tables=tables))
    assert measure_quantity(quantity("on_small_pages"), here)[0] == pytest.approx(64 + 4416 / 1024)
    assert measure_quantity(quantity("faults_of_small_pages"), here) == (2, 2)
    none = tuple(table(t.bytes, 0, 1000) for t in tables)
    without = record(MEMORY, SOLUTION, a_run(MemoryRun, huge_pages_allowed=True, tables=none))
    for what in (quantity("on_small_pages"), quantity("faults_of_small_pages")):
        with raises_text(NotMeasured):
            measure_quantity(what, without)


# ---- lines -----------------------------------------------------------------------------


def test_keys_in_shared_lines() -> None:
    """Of 1000, as chance has it."""
    lines = (
        NotedLine(line=0, stores=400, by_thread=[(0, 400)]),
        NotedLine(line=1, stores=200, by_thread=[(0, 120), (1, 80)]),
        NotedLine(line=2, stores=400, by_thread=[(1, 400)]),
    )
    slots = Slots(2, 0, 0, 500, True, 1000, 192)
    stores = a_run(
        StoresRun, n=1000, threads=2, line_bytes=64, lines=3, stores=1010, lost=0, shared_lines=1,
        shared_stores=80, most_written=lines, by_thread=[(1, 1), (1, 1)], slots=slots, noted=True,
    )  # fmt: skip
    here = record(STORES, HANDOUT, stores)
    expected: tuple[tuple[What, float], ...] = (("in_shared_lines", 20.0), ("met", 8.0))
    for what, of_100 in expected:
        low, high = measure_quantity(quantity(what), here)
        assert (low + high) / 2 == pytest.approx(of_100)
        assert of_100 / 1.5 < low < high < 1.5 * of_100


# ---- messages --------------------------------------------------------------------------


def test_messages_are_told_by_repetition() -> None:
    few = SentMessages(messages=[50, 100, 50], round_trips=50)
    many = SentMessages(messages=[8, 16, 8], round_trips=8)
    checks = [
        CheckedSize(n=8, ranks=3, results=RIGHT, sent=few),
        CheckedSize(n=4096, ranks=3, results=RIGHT, sent=many),
    ]
    here = record(SYNCHRONOUS_CHECK, SOLUTION, a_run(CheckRun, checks=checks))
    assert measure_quantity(quantity("messages"), here) == (4.0, 4.0)
    assert measure_quantity(quantity("of_rank", rank=1), here) == (0.5, 0.5)
    with raises_text(NotMeasured):
        measure_quantity(quantity("of_rank", rank=3), here)
    alone = [CheckedSize(n=8, ranks=3, results=RIGHT)]
    older = record(SYNCHRONOUS_CHECK, SOLUTION, a_run(CheckRun, checks=alone))
    with raises_text(NotMeasured):
        measure_quantity(quantity("messages"), older)


# ---- what variants ask -----------------------------------------------------------------

ASKING = ("01", "03", "04", "06", "10")


def test_variants_ask_for_two_numbers_or_more_and_their_file_says_nothing_yet(
    installation: Installation,
) -> None:
    asking = {
        lab: variant_lab(installation.root, lab).predicted
        for lab in labs_with_variants(installation.root)
        if lab.startswith(ASKING)
    }
    assert len(asking) == len(ASKING)
    for asked in asking.values():
        assert len(asked) >= 2
        text = template(asked)
        assert read_predictions(text, asked).is_empty
        assert max(map(len, text.splitlines())) <= 80
        filled = text.replace('= ""', "= 0.5")
        assert set(read_predictions(filled, asked).values) == {one.name for one in asked}


@pytest.mark.parametrize("lab", ["01_first_touch", "03_scheduling"])
def test_what_is_asked_is_drawn(installation: Installation, lab: str) -> None:
    draws = read_draws(installation.root, lab)
    asked = set()
    for number in range(1, 40):
        variant = draw_variant(draws, Seed(number, "ada"))
        text = lab_files(installation.root, draws, variant)["grading/lab.toml"]
        found = load_lab(templates(installation.root, lab), text).predicted
        asked.add(tuple((one.first, one.last) for one in found))
    assert len(asked) > 15
