"""Where memory is that a kernel places, or a program's policy: the rules, and how it is drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from support import invented
from support.golden_texts import check_text, check_verdict, raises_text
from support.mpi_labs import lab_of

from numalab.errors import NothingToDraw
from numalab.evidence.kinds import FILE_PLACING, FILLED, PLACING
from numalab.evidence.read_record import parse, record_of
from numalab.judging.judge import judge
from numalab.judging.verdict import CriterionVerdict, Verdict
from numalab.labs.declaration import Lab
from numalab.labs.goals import NODES
from numalab.reports.comparison import placing_views
from numalab.reports.figures import homes_figure
from numalab.reports.home_table import home_picture, home_words
from numalab.reports.verdict_words import printed_words

Json = dict[str, Any]
MACHINE = invented.TWO_NODES  # 8 threads: 0 to 3 on NUMA node 0, 4 to 7 on node 1
TEAM, PAGES, OF_PAGE = 8, 512, 512
N = PAGES * OF_PAGE
PARTS = ("table_interleaved", "blocks_local", "handed_over", "contained", "fast_memory")

THERE = {
    "name": "hydra", "source": "x", "accelerator": "tcg", "guest_kernel": "6.1",
    "cores_per_numa_node": 4, "cores_per_numa_node_of_machine": 16,
    "numa_node_memory_bytes": 1 << 28,
}  # fmt: skip

CRITERIA = "".join(
    f'\n[[criterion]]\nname = "{name}"\nkind = "evidence"\npoints = 1\nat_least = {least}\n'
    for name, least in (*((name, 0.95) for name in PARTS), ("falls_back", 0.6))
)
LAB = f"""
title = "Policies"
minutes = 1
languages = ["c"]
contract = "x.h"
functions = ["place_table"]

[[criterion]]
name = "correct"
kind = "correctness"
points = 1
at_most = 0
{CRITERIA}
[[criterion]]
name = "policy_file"
rule = "binary_interleaved"
kind = "evidence"
points = 1
at_least = 0.95
file = "policy.env"
goal = "interleaved"
"""


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return lab_of(tmp_path, "33_policies", LAB)


def of_thread(thread: int) -> int:
    return MACHINE.node_of_thread(thread)


def own(page: int) -> int:
    """NUMA node of the thread whose part a page is."""
    return of_thread(page * TEAM // PAGES)


def pages(home: Callable[[int], int]) -> Json:
    return {
        "numa_node": invented.runs([home(page) for page in range(PAGES)]),
        "pages": PAGES, "blocks": [[0, PAGES]],
    }  # fmt: skip


RIGHT: dict[str, Callable[[int], int]] = {
    "table": lambda page: page % 2, "blocks": own, "matrix": lambda _: of_thread(TEAM - 1),
    "stream": lambda _: 1, "others": own, "after": own,
}  # fmt: skip


def placing(role: str = "submission", **more: Any) -> Json:
    """As of the right kernel; an array's name: where its pages are instead."""
    homes = RIGHT | {name: more.pop(name) for name in RIGHT if name in more}
    run = {
        "kind": "placing", "lab": "x", "part": None, "team": TEAM, "role": role, "n": N,
        "page_bytes": 4096, "fills_node": False,
        "thread_nodes": [of_thread(thread) for thread in range(TEAM)],
        "policies_before": ["default"] * TEAM, "policies_after": ["default"] * TEAM,
        "residency": [{"array": name, **pages(home)} for name, home in homes.items()],
        "fill": None, "fastest_node": 1, "refused_nodes": None,
        "threads": MACHINE.describe_threads(), "results": invented.RIGHT, "outcome": invented.OK,
    }  # fmt: skip
    return run | more


def filled(role: str = "submission", on_node: int = 900, **more: Any) -> Json:
    """Of 1,000 free pages."""
    there = [[0, 1200 - on_node], [1, on_node]]
    fill = {"numa_node": 1, "free_bytes": 4096 * 1000, "page_bytes": 4096, "pages": there}
    return placing(role, residency=None, **{"fills_node": True, "fill": fill} | more)


def of_file(home: Callable[[int], int], **more: Any) -> Json:
    return placing(table=home, file="policy.env", **more)


def session(*runs: Json, virtual: bool = True, **more: Any) -> Json:
    record = invented.evidence(MACHINE)
    check = record["runs"][0] | {"lab": "x"}
    text = {"file": "policy.env", "complaint": None, "variables": {"NUMACTL": "x"}, "text": ""}
    machine = THERE if virtual else None
    kept = {"lab": "33_policies", "runs": [check, *runs], "handed_in": [text], "machine": machine}
    return record | kept | more


def verdict_on(lab: Lab, *runs: Json, **more: Any) -> Verdict:
    return judge(lab, parse(session(*runs, **more)))


def judged(lab: Lab, *runs: Json, **more: Any) -> dict[str, CriterionVerdict]:
    return {c.name: c for c in verdict_on(lab, *runs, **more).criteria}


def failed(found: dict[str, CriterionVerdict]) -> set[str]:
    return {name for name, verdict in found.items() if verdict.status == "fail"}


# ---- shares ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("goal", "two", "five"),
    [
        ("all", [0, 1], [0, 1, 4, 5, 7]),
        ("upper_half", [1], [5, 7]),
        ("but_lowest", [1], [1, 4, 5, 7]),
        ("every_second", [1], [1, 5]),
    ],
)
def test_some_of_the_nodes(goal: str, two: list[int], five: list[int]) -> None:
    assert NODES[goal]([0, 1]) == two
    assert NODES[goal]([0, 1, 4, 5, 7]) == five


# ---- rules -------------------------------------------------------------------------------------


def test_memory_in_its_place_passes(lab: Lab) -> None:
    runs = [placing(), filled(), of_file(lambda page: page % 2)]
    record_of(session(*runs))
    found = judged(lab, *runs)
    assert {c.status for c in found.values()} == {"pass"}
    assert found["falls_back"].value == pytest.approx(0.9)
    check_verdict(found["fast_memory"], "pass", "reached")


MISPLACED: Sequence[tuple[str, Callable[[int], int], str, str]] = [
    ("table", lambda _: 0, "table_interleaved", "That is where its first touch has put it."),
    ("table", own, "table_interleaved", "They are to be in turn, page by page."),
    ("table", lambda page: page % 3, "table_interleaved", "No thread runs on NUMA node 2"),
    ("table", lambda page: -1, "table_interleaved", "on none, since nobody touched them"),
    (
        "blocks",
        lambda _: 0,
        "blocks_local",
        "Part 4 belongs to thread 4, which runs on NUMA node 1",
    ),
    ("blocks", lambda page: page % 2, "blocks_local", "50 % on NUMA node"),
    ("matrix", lambda _: 0, "handed_over", "0 % are there, and 0 % of those that were touched"),
    ("matrix", lambda page: int(page < 64), "handed_over", "and 0 % of those that were touched"),
    ("matrix", lambda page: int(page > 64), "handed_over", "written before, 0 % are there"),
    ("others", lambda _: 1, "contained", "which it had touched before, was moved away"),
    ("after", lambda page: page % 2, "contained", "which it touched afterwards, lives elsewhere"),
    ("stream", lambda _: 0, "fast_memory", "0 % of the stream's pages are there; in all 100 %"),
]


@pytest.mark.parametrize(("array", "home", "criterion", "said"), MISPLACED)
def test_memory_elsewhere_fails_what_is_about_it(
    lab: Lab, array: str, home: Callable[[int], int], criterion: str, said: str
) -> None:
    found = judged(lab, placing(**{array: home}), filled(), of_file(lambda page: page % 2))
    assert failed(found) == {criterion}
    assert said in found[criterion].why


@pytest.fixture
def other(tmp_path: Path) -> Lab:
    """With goals of a variant."""
    text = LAB.replace('"table_interleaved"', '"table_interleaved"\nnodes = "all"\nrun_pages = 4')
    text = text.replace('"blocks_local"', '"blocks_local"\nowner = "reversed"')
    return lab_of(tmp_path, "34_policies", text.replace('"interleaved"', '"on_node_1"'))


def in_fours(page: int) -> int:
    return page // 4 % 2


def turned(page: int) -> int:
    return 1 - own(page)


@pytest.mark.parametrize(
    ("homes", "fails", "said"),
    [
        ({"table": in_fours, "blocks": turned}, "", ""),
        ({"blocks": turned}, "table_interleaved", "in turn, 4 pages by 4 pages."),
        ({"table": in_fours}, "blocks_local", "Part 0 belongs to thread 7, which runs on NUMA"),
        ({"table": lambda page: (page + 2) // 4 % 2, "blocks": turned}, "table_interleaved", ""),
        ({"table": lambda page: page // 8 % 2, "blocks": turned}, "table_interleaved", ""),
    ],
)
def test_goals_of_a_variant(
    other: Lab, homes: dict[str, Callable[[int], int]], fails: str, said: str
) -> None:
    found = judged(other, placing(**homes), filled(), of_file(lambda _: 1))
    assert failed(found) == ({fails} if fails else set())
    assert not fails or said in found[fails].why


def test_a_table_on_some_of_the_nodes(tmp_path: Path) -> None:
    nodes = '"table_interleaved"\nnodes = "but_lowest"\nrun_pages = 2'
    lab = lab_of(tmp_path, "35_policies", LAB.replace('"table_interleaved"', nodes))
    assert not failed(judged(lab, placing(table=lambda _: 1)))
    for home in (
        lambda page: page // 2 % 2,
        lambda _: 0,
    ):
        found = judged(lab, placing(table=home))
        assert failed(found) == {"table_interleaved"}
        check_verdict(found["table_interleaved"], "fail", "missed")


@pytest.mark.parametrize(
    ("goal", "run", "status", "said"),
    [
        ("on_node_1", of_file(lambda _: 1), "pass", "are on NUMA node 1, as asked for"),
        ("on_node_1", of_file(lambda page: page % 2), "fail", "on NUMA node 1, and on no other."),
        ("interleaved_on_0_and_1", of_file(lambda page: page % 2), "pass", "NUMA node 0 and 1"),
        ("interleaved_on_0_and_1", of_file(lambda page: page % 3), "fail", "33 % on NUMA node 2"),
        ("interleaved_on_0_and_1", of_file(lambda _: 1), "fail", "on no other."),
    ],
)
def test_nodes_of_a_policy_by_number(
    tmp_path: Path, goal: str, run: Json, status: str, said: str
) -> None:
    lab = lab_of(tmp_path, "36_policies", LAB.replace('"interleaved"', f'"{goal}"'))
    found = judged(lab, placing(), run)["policy_file"]
    assert (found.status, said in found.why) == (status, True), found.why


def test_blocks_are_drawn_by_whose_they_are(other: Lab) -> None:
    run = placing(blocks=turned)
    (sight,) = placing_views(other, verdict_on(other, run), [("hydra", parse(session(run)))])
    check_text(home_words(sight.yours, sight.owner))
    check_text(home_words(sight.yours))


def test_a_policy_that_stays_behind_is_found(lab: Lab) -> None:
    run = placing(policies_after=["interleave:0-1", *["default"] * (TEAM - 1)])
    record_of(session(run))
    found = judged(lab, run)
    check_verdict(found["contained"], "fail", "missed")
    # That the grader was started under one is nobody's fault, nor that it can't be read.
    same = placing(policies_before=["bind:0"] * TEAM, policies_after=["bind:0"] * TEAM)
    assert judged(lab, same)["contained"].status == "pass"
    assert judged(lab, placing(policies_after=[None] * TEAM))["contained"].status == "pass"


def test_who_places_nothing_shows_nothing(lab: Lab) -> None:
    found = judged(lab, placing(table=lambda _: 0, blocks=lambda _: 0, matrix=lambda _: 0))
    check_verdict(found["contained"], "fail", "missed")


def test_threads_that_are_moved_are_told(lab: Lab) -> None:
    threads = MACHINE.describe_threads()
    threads[0] = threads[0] | {"numa_node": 1}
    found = judged(lab, placing(after=lambda _: 1, threads=threads))
    check_verdict(found["contained"], "fail", "missed")


def test_a_team_on_one_node_only_fails(lab: Lab) -> None:
    found = judged(lab, placing(thread_nodes=[0] * TEAM))
    assert failed(found) >= set(PARTS)
    check_verdict(found["blocks_local"], "fail", "missed")


def test_a_bound_matrix_is_killed(lab: Lab) -> None:
    fill = {"numa_node": 1, "free_bytes": 200 << 20}
    killed = invented.OK | {"status": "crashed", "signal": "SIGKILL", "doing": "write_rest", "n": 5}
    run = filled(fill=fill, outcome=killed)
    record_of(session(run))
    found = judged(lab, placing(), run)
    assert failed(found) == {"falls_back"}
    assert "NUMA node 1 had 200.0 MiB free" in found["falls_back"].why
    check_verdict(found["falls_back"], "fail", "missed")
    crashed = filled(fill=fill, outcome=killed | {"signal": "SIGABRT"})
    check_verdict(judged(lab, placing(), crashed)["falls_back"], "fail", "crashed")


def test_a_matrix_that_stays_is_not_handed_over(lab: Lab) -> None:
    found = judged(lab, placing(), filled(on_node=100))
    assert found["falls_back"].value == 0.1
    check_verdict(found["falls_back"], "fail", "missed")


def test_nobody_fills_a_node_that_others_use(lab: Lab) -> None:
    found = judged(lab, placing(), virtual=False)
    assert found["falls_back"].status == "not_gradable"
    assert found["table_interleaved"].status == "pass"
    assert FILLED.is_vm_only and not PLACING.is_vm_only


@pytest.mark.parametrize(
    ("fastest", "home", "status"),
    [(None, 0, "not_gradable"), (0, 0, "not_gradable"), (0, 1, "fail"), (1, 1, "pass")],
)
def test_fast_memory_shows_where_it_is_not_ones_own(
    lab: Lab, fastest: int | None, home: int, status: str
) -> None:
    found = judged(lab, placing(fastest_node=fastest, stream=lambda _: home))
    assert found["fast_memory"].status == status


def test_slow_memory_fails_where_the_solution_shows_nothing(lab: Lab) -> None:
    """As on a machine whose memory without processors is the slow one."""
    runs = [
        placing(role, fastest_node=0, stream=lambda _, home=home: home)
        for role, home in (("submission", 1), ("solution", 0))
    ]
    assert judged(lab, *runs)["fast_memory"].status == "fail"


@pytest.mark.parametrize(
    ("run", "status", "said"),
    [
        (of_file(lambda page: page % 2), "pass", "in turn on 2 NUMA nodes"),
        (of_file(lambda page: page % 3), "pass", "in turn on 3 NUMA nodes"),
        (of_file(lambda _: 0), "fail", "Threads that use it run on NUMA node 1, too."),
        (of_file(own), "fail", "50 % on NUMA node"),
        (of_file(lambda _: 0, refused_nodes="5-7"), "fail", "names NUMA node 5-7"),
    ],
)
def test_a_program_under_a_policy(lab: Lab, run: Json, status: str, said: str) -> None:
    found = judged(lab, placing(), run)["policy_file"]
    assert (found.status, said in found.why) == (status, True)
    evidence = parse(session(placing(), run))
    assert len(evidence.runs_of(FILE_PLACING)) == len(evidence.runs_of(PLACING)) == 1


def test_without_move_pages_nothing_is_judged(lab: Lab) -> None:
    found = judged(lab, placing(residency=None), of_file(own, residency=None))
    assert {found[name].status for name in (*PARTS, "policy_file")} == {"not_gradable"}


# ---- drawn -------------------------------------------------------------------------------------


def test_a_table_shows_where_memory_is(lab: Lab) -> None:
    handout = placing(blocks=lambda _: 0)
    record = session(handout)
    verdict, evidence = verdict_on(lab, handout), parse(record)
    (sight,) = placing_views(lab, verdict, [("hydra", evidence)])
    shown = "\n".join(line.plain for line in home_picture(sight, 76))
    assert all(len(line) <= 76 for line in shown.splitlines())
    check_text(shown)
    row = next(line for line in shown.splitlines() if line.startswith("table"))
    assert row.split() == ["table", "50", "%", "50", "%"]
    check_text(home_words(sight.yours))
    assert homes_figure([("", evidence)]).axes
    with raises_text(NothingToDraw):
        homes_figure([("", parse(session()))])


# ---- calls that were refused -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("printed", "refused"),
    [
        ("mbind: Invalid argument\n", "mbind: Invalid argument"),
        ("libnuma: numa_tonode: Operation not permitted\n", "Operation not permitted"),
        ("set_mempolicy: Function not implemented\nmore\n", "Function not implemented"),
        ("I am mbind\n", ""),
        ("mbind: done\n", ""),
    ],
)
def test_a_call_that_was_refused_is_the_reason(lab: Lab, printed: str, refused: str) -> None:
    """What libnuma prints by itself says why memory is not where it is asked for; it is nothing
    that the kernel prints."""
    outcome = invented.OK | {"printed": printed, "printed_bytes": len(printed)}
    nowhere = placing(table=lambda _: 0, blocks=lambda _: 0, outcome=outcome)
    found = judged(lab, nowhere, placing("solution"))
    assert {"table_interleaved", "blocks_local"} <= failed(found)
    for name in ("table_interleaved", "blocks_local"):
        why = found[name].why
        assert why.startswith("A call was refused, and did nothing (") == bool(refused)
        check_verdict(found[name], "fail", "missed")
    record = session(nowhere)
    record["runs"][0] |= {"outcome": outcome}
    told = printed_words(parse(record)) or ""
    assert told.startswith("While your kernel ran, a call" if refused else "Your kernel prints.")
