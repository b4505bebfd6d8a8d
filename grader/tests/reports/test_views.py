"""Which of the evidence is drawn: of which place, which part and which look, beside what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs
from support import invented
from support.evidence_parts import (
    CRASHED,
    answered,
    grouped,
    grouped_programs,
    line_writers,
    placed,
    placing,
    stores,
)
from support.invented import EIGHT_NODES, ONE_NODE, SOME_CAUSE, TWO_NODES
from support.run_values import changed
from support.sessions import bound, session, told, worked

from numalab.evidence.kinds import CPUSETS, PLACING, SERIES, STORES, TRACE
from numalab.evidence.read_record import parse
from numalab.evidence.record import SOLUTION, Evidence
from numalab.evidence.work import WorkShare
from numalab.judging.rules import reads
from numalab.judging.verdict import CriterionVerdict, Verdict
from numalab.labs.declaration import Lab
from numalab.reports.comparison import (
    WorkView,
    answer_views,
    group_views,
    line_views,
    located_views,
    place_words,
    placing_views,
    seat_views,
    touch_views,
    work_views,
)

BARE = replace(parse(invented.evidence(TWO_NODES)), runs={})
PLACES = ("here", "hydra", "nebula")


def failing(*failed: tuple[str, str]) -> Verdict:
    """Of criteria by name and place."""
    found = [
        CriterionVerdict(name, "evidence", "fail", SOME_CAUSE["fail"], "", 0, 1, where=where)
        for name, where in failed
    ]
    return Verdict("x", "c", "submission", tuple(found))


def of_rule(lab: Lab, rule: str) -> Any:
    return next(criterion for criterion in lab.criteria if criterion.rule == rule)


def lab_of(labs: dict[str, Lab], rule: str) -> Lab:
    return next(lab for lab in labs.values() if any(c.rule == rule for c in lab.criteria))


def test_places_are_called_by_their_names() -> None:
    assert [place_words(where) for where in PLACES] == ["this node", "hydra", "nebula"]


def test_the_first_place_that_failed_is_drawn_of_what_is_placed(labs: dict[str, Lab]) -> None:
    lab = lab_of(labs, "blocks_local")
    criterion = of_rule(lab, "blocks_local")

    def drawn(verdict: Verdict, *seen: Evidence) -> list[str]:
        places = list(zip(PLACES, seen, strict=False))
        return [view.where for view in placing_views(lab, verdict, places)]

    full = placed(BARE)
    one_node = BARE.having(PLACING, [replace(placing(), thread_nodes=(0, 0, 0, 0))])
    assert drawn(failing(), full, full, full) == ["here"]
    assert drawn(failing((criterion.name, "nebula")), full, full, full) == ["nebula"]
    both = failing((criterion.name, "nebula"), (criterion.name, "hydra"))
    assert drawn(both, full, full, full) == ["hydra"]
    assert drawn(failing(("speedup", "hydra")), full, full) == ["here"]
    assert drawn(failing(), one_node, BARE, full) == ["nebula"]
    assert drawn(failing(), one_node, BARE) == []
    (view,) = placing_views(lab, failing(), [("here", full)])
    assert view.owner == criterion.placing.owner
    assert view.yours == full.runs_of(PLACING)[-1]
    (other,) = placing_views(labs["01_first_touch"], failing(), [("here", full)])
    assert other.owner == "same"


def test_the_first_place_that_failed_is_drawn_of_groups(first_touch: Lab) -> None:
    criterion = replace(first_touch.criteria[0], rule="confined", part=None)
    lab = replace(first_touch, criteria=(criterion,))
    full = grouped(BARE)
    crashed = BARE.having(CPUSETS, [replace(grouped_programs(), outcome=CRASHED)])
    found = list(group_views(lab, failing(), list(zip(PLACES, (crashed, full, full), strict=True))))
    assert [(view.where, view.yours) for view in found] == [("hydra", grouped_programs())]
    places = [("here", full), ("hydra", full)]
    (view,) = group_views(lab, failing((criterion.name, "hydra")), places)
    assert view.where == "hydra"
    assert list(group_views(lab, failing(), [("here", crashed)])) == []


def part_of(evidence: Evidence, part: str | None) -> Evidence:
    runs = {key: tuple(changed(run, part=part) for run in of) for key, of in evidence.runs.items()}
    return replace(evidence, runs=runs)


def test_lines_are_drawn_here_and_where_they_failed(labs: dict[str, Lab]) -> None:
    lab = labs["10_false_sharing"]
    criterion = next(c for c in lab.criteria if reads(c, STORES))
    (part, *_) = lab.kernel_parts
    yours = part_of(line_writers(BARE), part)
    last = structs.replace(stores(2), part=part)
    unwritten = structs.replace(last, most_written=[])
    both = yours.having(STORES, [structs.replace(last, lost=1), last, unwritten], SOLUTION)
    both = both.having(STORES, [last, structs.replace(stores(3), part=part), unwritten])
    places = [("here", both), ("hydra", both)]
    (view,) = line_views(lab, failing(), places)
    assert (view.where, view.part, view.solution) == ("here", part, None)
    assert view.yours == structs.replace(stores(3), part=part)
    here, there = line_views(lab, failing((criterion.name, "hydra")), places)
    assert (here.solution, there.where, there.solution) == (None, "hydra", last)
    (alone,) = line_views(lab, failing((criterion.name, "here")), [("here", yours)])
    assert alone.solution is None
    assert list(line_views(lab, failing(), [("here", BARE)])) == []


def test_answers_are_drawn_where_they_failed(labs: dict[str, Lab]) -> None:
    lab = lab_of(labs, "decided")
    criterion = of_rule(lab, "decided")
    evidence = part_of(answered(BARE), criterion.part)
    places = [("here", evidence), ("hydra", evidence)]
    assert list(answer_views(lab, failing(), places)) == []
    (view,) = answer_views(lab, failing((criterion.name, "hydra")), places)
    assert (view.where, view.part) == ("hydra", criterion.part)
    assert view.yours == evidence.runs_of(SERIES)[-1].series
    assert list(answer_views(lab, failing((criterion.name, "here")), [("here", BARE)])) == []


def test_pages_are_drawn_here_and_where_they_failed(first_touch: Lab) -> None:
    there = parse(invented.evidence(TWO_NODES))
    here = parse(invented.evidence(ONE_NODE))
    first, *others = here.runs_of(TRACE)
    here = here.having(TRACE, [*others, replace(first, arrays=())])
    places = [("here", here), ("hydra", there)]
    assert [view.where for view in touch_views(first_touch, failing(), places)] == ["here"]
    found = list(touch_views(first_touch, failing(("local_pages", "hydra")), places))
    assert [(view.where, view.with_homes, view.solution) for view in found] == [
        ("here", False, None), ("hydra", True, None),
    ]  # fmt: skip
    (view, _) = touch_views(first_touch, failing(("touched_where_used", "hydra")), places)
    assert not view.with_homes
    assert list(touch_views(first_touch, failing(("speedup", "hydra")), [places[1]])) == []


def test_work_is_drawn_here_and_where_it_failed(labs: dict[str, Lab]) -> None:
    lab = labs["03_scheduling"]
    criterion = of_rule(lab, "balanced")
    yours = worked(ONE_NODE, "submission", [0.1, 0.4]) | {"part": criterion.part}
    theirs = worked(ONE_NODE, "solution", [0.4, 0.39]) | {"part": criterion.part}
    both = parse(session(lab.name, ONE_NODE, *3 * [yours], theirs))
    alone = parse(session(lab.name, ONE_NODE, *3 * [yours]))

    def views(verdict: Verdict, *seen: Evidence) -> list[WorkView]:
        return list(work_views(lab, verdict, list(zip(PLACES, seen, strict=False))))

    (view,) = views(failing(), both, both)
    assert (view.where, view.part, view.solution) == ("here", criterion.part, None)
    assert view.at_least == criterion.at_least
    assert view.yours.share == pytest.approx(0.625)
    here, there = views(failing((criterion.name, "hydra")), both, both)
    assert here.solution is None and there.solution is not None
    assert there.solution.share == pytest.approx(0.9875)
    (view,) = views(failing((criterion.name, "here")), alone)
    assert view.solution is None
    assert views(failing(), BARE) == []


@pytest.mark.parametrize(("share", "is_disturbed"), [(0.89, True), (0.9, False)])
def test_a_solution_that_misses_it_is_disturbed(share: float, is_disturbed: bool) -> None:
    yours, theirs = (WorkShare((1.0,), each, each, 0) for each in (0.5, share))
    assert WorkView("here", None, yours, theirs, 0.9).solution_is_disturbed == is_disturbed
    assert not WorkView("here", None, yours, None, 0.9).solution_is_disturbed
    assert [WorkView("here", None, yours, None, 0.9, says).is_spinning for says in
            ("spins", "even", None)] == [True, False, False]  # type: ignore[arg-type]  # fmt: skip


# ---- threads and ranks -------------------------------------------------------------------


CLOSE = [[0], [2], [4], [6]]


def placed_threads(*runs: Any) -> Evidence:
    return parse(session("02_affinity", TWO_NODES, *runs))


def seats(labs: dict[str, Lab], *seen: Evidence) -> list[tuple[str, str, str, int]]:
    """Place, file, runtime and who is misplaced."""
    places = list(zip(PLACES, seen, strict=False))
    return [
        (view.where, view.file, view.runtime, view.misplaced)
        for view in seat_views(labs["02_affinity"], places)
    ]


def test_a_file_is_drawn_where_it_misses_its_goal(labs: dict[str, Lab]) -> None:
    """A virtual node before this one, the first that misses before others."""

    def close(*allowed: Sequence[int]) -> Evidence:
        return placed_threads(bound("kmp_close.env", "libomp", "submission", *allowed))

    right, wrong = close(*CLOSE), close([0], [1], [2], [3])
    assert seats(labs, right) == [("here", "kmp_close.env", "libomp", 0)]
    assert seats(labs, wrong, right) == [("hydra", "kmp_close.env", "libomp", 0)]
    (found,) = seats(labs, right, right, wrong)
    assert found[:3] == ("nebula", "kmp_close.env", "libomp") and found[3] > 0
    (found,) = seats(labs, right, wrong, wrong)
    assert found[0] == "hydra"
    assert seats(labs, BARE) == []
    crashed = bound("kmp_close.env", "libomp", "submission", *CLOSE)
    crashed["outcome"] = {"status": "crashed", "signal": "SIGSEGV", "printed_bytes": 0}
    assert seats(labs, placed_threads(crashed)) == []


def test_the_solution_stands_beside_the_same_file_and_runtime(labs: dict[str, Lab]) -> None:
    evidence = placed_threads(
        bound("omp_close.env", "libomp", "submission", [0], [1], [2], [3]),
        bound("omp_close.env", "libgomp", "solution", [0], [0], [0], [0]),
        bound("omp_close.env", "libomp", "solution", *CLOSE),
        bound("omp_close.env", "libomp", "solution", [6], [4], [2], [0]),
    )
    (view,) = seat_views(labs["02_affinity"], [("here", evidence)])
    assert view.compared is not None
    assert [thread.allowed_pus for thread in view.compared] == [(0,), (2,), (4,), (6,)]
    assert (view.title, view.heads) == ("omp_close.env on this node, libomp", ("yours", "solution"))


def test_what_runtimes_do_alike_is_drawn_once(labs: dict[str, Lab]) -> None:
    def under(runtime: str, *allowed: Sequence[int]) -> Any:
        return bound("omp_close.env", runtime, "submission", *allowed)

    alike = placed_threads(under("libomp", *CLOSE), under("libgomp", *CLOSE))
    (view,) = seat_views(labs["02_affinity"], [("here", alike)])
    assert (view.runtime, view.compared) == ("libomp and libgomp", None)
    turned = placed_threads(under("libomp", *CLOSE), under("libgomp", [2], [0], [4], [6]))
    (view,) = seat_views(labs["02_affinity"], [("here", turned)])
    assert view.runtime == "" and view.compared is not None
    assert view.heads == ("under libomp", "under libgomp")
    assert view.compared[0].allowed_pus == (2,)


def test_near_and_far_are_drawn_where_there_are_two_numa_nodes(labs: dict[str, Lab]) -> None:
    lab = labs["06_message_latency"]

    def run(file: str, role: str, *pus: int, refused: str | None = None) -> Any:
        ranks = invented.job(*([[pu]] for pu in pus))
        return invented.launched(file, "placement", ranks, 1, role, refused)

    def drawn(machine: invented.Machine, *runs: Any) -> list[tuple[str, bool, bool]]:
        evidence = parse(session(lab.name, machine, *runs))
        return [
            (view.file, view.misplaced > 0, view.compared is not None)
            for view in seat_views(lab, [("here", evidence)])
        ]

    near = run("near.toml", "submission", 0, 1)
    assert drawn(TWO_NODES, near) == [("near.toml", True, False)]
    assert drawn(EIGHT_NODES, run("near.toml", "submission", 0, 8)) == [("near.toml", False, False)]
    assert drawn(ONE_NODE, run("far.toml", "submission", 0, 1)) == []
    assert drawn(TWO_NODES, run("near.toml", "submission", 0, 2, refused="No.")) == []
    beside = run("near.toml", "solution", 0, 2), run("far.toml", "solution", 0, 1)
    assert drawn(TWO_NODES, near, *beside) == [("near.toml", True, True)]
    assert drawn(TWO_NODES, near, run("near.toml", "solution", 0, 2, refused="No.")) == [
        ("near.toml", True, False)
    ]
    right = run("near.toml", "submission", 0, 2)
    assert drawn(TWO_NODES, right, *beside) == [("near.toml", False, False)]


def test_the_first_round_that_was_told_wrongly_is_drawn(labs: dict[str, Lab]) -> None:
    lab = labs["02_affinity"]
    criterion = of_rule(lab, "located")
    right = told("submission", [(0, 0), (1, 1)])
    wrong = told("submission", [(0, 0), (1, 1)], [(1, 0), (0, 0)], [(0, 1), (1, 0)])
    later = told("submission", [(0, 1), (1, 1)])
    evidence = parse(session(lab.name, ONE_NODE, later, wrong, right))
    places = [("here", evidence), ("hydra", evidence)]
    verdict = failing((criterion.name, "here"), (criterion.name, "hydra"))
    (view,) = located_views(lab, verdict, places)
    assert (view.where, view.file, view.misplaced) == ("here", criterion.part or criterion.name, 1)
    assert view.heads == ("it said", "they were") and view.compared is not None
    assert [thread.allowed_pus for thread in view.drawn] == [(0,), (0,)]
    assert [thread.allowed_pus for thread in view.compared] == [(1,), (0,)]
    assert list(located_views(lab, failing(), places)) == []
    all_right = parse(session(lab.name, ONE_NODE, right))
    assert list(located_views(lab, verdict, [("here", all_right)])) == []
