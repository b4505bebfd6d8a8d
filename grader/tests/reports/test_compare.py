"""The solution's evidence beside yours: when it is drawn, and what."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import pytest
from rich.console import Console
from support import invented
from support.golden_texts import check_text
from support.invented import ONE_NODE, TWO_NODES, Machine
from support.sessions import bound, message_session, session, told, with_control, worked

from numalab.evidence.read_record import parse
from numalab.evidence.run_formats import Thread
from numalab.evidence.work import WorkShare
from numalab.grading.graded import GradedKernel
from numalab.judging.judge import judge
from numalab.judging.verdict import merge_machine
from numalab.labs.declaration import Lab
from numalab.reports import report
from numalab.reports.comparison import WorkView
from numalab.reports.thread_map import thread_maps
from numalab.reports.touch_map import symbol
from numalab.reports.work_picture import work_picture

Json = dict[str, Any]
HEADS = ("yours", "solution")
MANY = Machine(packages=1, nodes=1, cores=40, in_turn=False)


def shown(lab: Lab, here: Json, hydra: Json | None = None) -> list[str]:
    """The pictures of a report, with those of a virtual hydra."""
    seen = [("here", parse(here))]
    verdict = judge(lab, seen[0][1])
    if hydra is not None:
        seen.append(("hydra", parse(hydra)))
        verdict = merge_machine(verdict, judge(lab, seen[1][1]), "hydra", None)
    file = io.StringIO()
    console = Console(file=file, width=80, highlight=False)
    report.show_verdict(console, GradedKernel(lab, verdict, seen, (), again="again"))
    lines = file.getvalue().splitlines()
    assert all(len(line) <= 80 for line in lines)
    # The rows of criteria are the first paragraph.
    return [line.rstrip() for line in [*lines, ""][[*lines, ""].index("", 1) :]]


# ---- pages -----------------------------------------------------------------------------


def rows(lines: Sequence[str], label: str) -> list[str]:
    return [line.split(label)[1].strip() for line in lines if label in line]


def test_a_failed_touch_map_is_held_against_the_solutions(first_touch: Lab) -> None:
    record = invented.evidence(ONE_NODE, writer=invented.master_writes)
    lines = shown(first_touch, with_control(record, ONE_NODE))
    (head,) = [number for number, line in enumerate(lines) if "Touch map" in line]
    check_text(lines[head].strip())
    check_text(lines[head + 1])
    check_text(lines[head + 3])
    yours, solution = rows(lines, "first written by")
    assert set(yours) == {"0"} and set(solution) == {"0", "1"}
    assert len(yours) == len(solution)
    assert not any("lives on" in line for line in lines)


@pytest.mark.parametrize("with_run", [True, False])
def test_a_touch_map_that_passes_or_has_no_match_stands_alone(
    first_touch: Lab, with_run: bool
) -> None:
    """with_run: the solution was looked at, and nothing failed."""
    writer = invented.owner_writes if with_run else invented.master_writes
    record = invented.evidence(ONE_NODE, writer=writer)
    lines = shown(first_touch, with_control(record, ONE_NODE) if with_run else record)
    assert len(rows(lines, "first written by")) == 1
    assert not any("yours" in line or "solution first" in line for line in lines)


def test_the_solution_is_no_measure_where_it_fails_too(first_touch: Lab) -> None:
    record = invented.evidence(ONE_NODE, writer=invented.master_writes)
    lines = shown(first_touch, with_control(record, ONE_NODE, invented.master_writes))
    assert len(rows(lines, "first written by")) == 1


def test_where_pages_live_is_drawn_where_that_failed(first_touch: Lab) -> None:
    """Touched rightly, and bound to one NUMA node all the same."""
    here = invented.evidence(ONE_NODE)
    there = invented.evidence(TWO_NODES, home=lambda owner, page: 1)
    lines = shown(first_touch, here, with_control(there, TWO_NODES))
    assert len(rows(lines, "first written by")) == 3  # one here, two on hydra
    yours, solution = rows(lines, "lives on ")
    assert set(yours) == {"1"} and set(solution) == {"0", "1"}
    check_text("\n".join(lines))
    there = invented.evidence(TWO_NODES)
    lines = shown(first_touch, here, with_control(there, TWO_NODES))
    assert not any("hydra" in line for line in lines)


# ---- work ------------------------------------------------------------------------------


def test_uneven_work_is_held_against_the_solutions(labs: dict[str, Lab]) -> None:
    lab = labs["03_scheduling"]
    yours = worked(ONE_NODE, "submission", [0.1, 0.4])
    solution = worked(ONE_NODE, "solution", [0.4, 0.39])
    lines = shown(lab, session(lab.name, ONE_NODE, *3 * [yours], solution))
    text = "\n".join(lines)
    check_text(text)
    (head,) = [number for number, line in enumerate(lines) if "yours" in line]
    assert "solution" in lines[head]
    first, second = lines[head + 1 : head + 3]
    assert first.split()[2:] == ["000000" + "." * 16, "25", "%", "0" * 22, "100", "%"]
    assert second.split()[2:] == ["1" * 22, "100", "%", "1" * 21 + ".", "98", "%"]
    even = worked(ONE_NODE, "submission", [0.4, 0.39])
    text = "\n".join(shown(lab, session(lab.name, ONE_NODE, even, solution)))
    assert "yours" not in text
    check_text(text)
    text = "\n".join(shown(lab, session(lab.name, ONE_NODE, *3 * [yours])))
    assert "yours" not in text
    check_text(text)


def test_many_threads_share_lines(labs: dict[str, Lab]) -> None:
    lab = labs["03_scheduling"]
    yours = worked(MANY, "submission", [0.4] + [0.1] * 38)  # the 40th never started
    solution = worked(MANY, "solution", [0.4] * 40)
    lines = shown(lab, session(lab.name, MANY, yours, solution))
    bars = [line for line in lines if line.startswith("  threads ")]
    assert len(bars) == 16
    assert bars[0].split()[1] == "0-1" and "62 %" in bars[0]
    assert bars[-1].split()[1] == "37-39" and "17 %" in bars[-1]


# ---- threads and ranks -----------------------------------------------------------------


def picture(lines: Sequence[str], title: str) -> list[str]:
    """Of one file."""
    start = next(number for number, line in enumerate(lines) if title in line)
    end = next((n for n in range(start, len(lines)) if not lines[n]), len(lines))
    return [line.strip() for line in lines[start:end]]


def test_threads_are_held_against_the_solutions(labs: dict[str, Lab]) -> None:
    lab = labs["02_affinity"]
    record = session(
        lab.name, TWO_NODES,
        bound("kmp_spread.env", "libomp", "submission", [0], [2]),
        bound("kmp_spread.env", "libomp", "solution", [0], [1]),
        bound("omp_spread.env", "libomp", "submission", [0], [1]),
        bound("omp_spread.env", "libgomp", "submission", range(8), range(8)),
        bound("omp_spread.env", "libomp", "solution", [4], [5]),
        bound("omp_spread.env", "libgomp", "solution", [2], [3]),
        bound("kmp_close.env", "libomp", "submission", [0], [2], [4], [6]),
        bound("kmp_close.env", "libomp", "solution", [1], [3], [5], [7]),
        bound("kmp_full.env", "libomp", "submission", [0], [0]),
    )  # fmt: skip
    lines = shown(lab, record)
    check_text(picture(lines, "kmp_spread.env on"))
    check_text(picture(lines, "omp_spread.env on"))
    for alone, below in (("kmp_close.env", []), ("kmp_full.env", ["+ is threads 0 and 1"])):
        found = picture(lines, alone)  # it passes; there is no match
        assert found[3:] == below and not any("yours" in line for line in found)


def test_a_goal_reached_under_two_runtimes_is_drawn_under_both(labs: dict[str, Lab]) -> None:
    lab = labs["02_affinity"]
    record = session(
        lab.name, TWO_NODES,
        bound("omp_spread.env", "libomp", "submission", [0], [1]),
        bound("omp_spread.env", "libgomp", "submission", [0, 2, 4, 6], [1, 3, 5, 7]),
        bound("omp_full.env", "libomp", "submission", *([pu] for pu in (0, 2, 4, 6, 1, 3, 5, 7))),
        bound("omp_full.env", "libgomp", "submission", *([pu] for pu in range(8))),
        bound("omp_close.env", "libomp", "submission", *[[0, 2, 4, 6]] * 4),
        bound("omp_close.env", "libgomp", "submission", *[[0, 2, 4, 6]] * 4),
    )  # fmt: skip
    lines = shown(lab, record)
    check_text(picture(lines, "omp_spread.env on"))
    check_text(picture(lines, "omp_full.env on"))
    check_text(picture(lines, "omp_close.env on"))


def test_maps_that_are_too_wide_go_below_each_other() -> None:
    node = MANY.describe()

    def drawn(columns: int) -> list[str]:
        teams = [
            (head, [Thread(0, (pu,), -1, -1, -1)]) for head, pu in zip(HEADS, (0, 39), strict=True)
        ]
        return [line.plain for line in thread_maps(node, teams, columns, symbol)]

    lines = drawn(76)
    assert lines[0] == "yours:" and "solution:" in lines
    assert all(len(line) <= 76 for line in lines)
    assert sum(line.count("[") for line in lines) == 80
    assert len(drawn(300)) == 2


def test_what_locate_said_is_drawn_beside_where_threads_were(labs: dict[str, Lab]) -> None:
    lab = labs["02_affinity"]
    wrong = told("submission", [(0, 0), (1, 1)], [(1, 0), (0, 1)])
    right = told("solution", [(0, 0), (1, 1)], [(0, 0), (1, 1)])
    check_text(picture(shown(lab, session(lab.name, ONE_NODE, wrong, right)), "locate on"))
    nowhere = told("submission", [(0, -1), (1, -1)])
    check_text(picture(shown(lab, session(lab.name, ONE_NODE, nowhere)), "locate on")[1:])
    fine = told("submission", [(0, 0), (1, 1)])
    check_text("\n".join(shown(lab, session(lab.name, ONE_NODE, fine))))


def test_ranks_are_held_against_the_solutions(labs: dict[str, Lab]) -> None:
    lines = shown(labs["06_message_latency"], message_session())
    assert picture(lines, "near.toml on")[1:] == [
        "yours         solution",
        "package 0  node 0  [0][.][.][.]  [0][1][.][.]",
        "package 1  node 1  [1][.][.][.]  [.][.][.][.]",
    ]
    assert len(picture(lines, "far.toml on")) == 3
    assert "yours" not in "\n".join(picture(lines, "far.toml on"))


@pytest.mark.parametrize("share", [0.79, 1.0])
def test_an_uneven_solution_beside_a_failure_is_explained(share: float) -> None:
    yours = WorkShare((1.0, 0.3), 0.65, 0.65, 0)
    solution = WorkShare((1.0, 2 * share - 1), share, 0.95, 0)
    lines = [line.plain for line in work_picture(WorkView("here", "x", yours, solution, 0.9), 76)]
    assert max(map(len, lines)) <= 76
    assert ("lost cores to other programs" in " ".join(lines)) == (share < 0.9)


def test_threads_that_are_busy_and_do_not_work_are_not_left_to_the_bars() -> None:
    yours = WorkShare((1.0, 0.96), 0.98, 0.98, 0, inflation=1.5)
    for says in ("spins", "even"):
        sight = WorkView("here", "x", yours, None, 0.9, says)
        lines = " ".join(line.plain for line in work_picture(sight, 76))
        assert ("takes 1.50 times the CPU time of one thread" in lines) == (says == "spins")
