"""What each picture for a terminal draws, whole: characters, columns and colours."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import structs
from rich.text import Text
from support import invented
from support.drawn import of_lines
from support.evidence_parts import (
    CRASHED,
    drawn_series,
    grouped_programs,
    modelled_pair,
    placing,
    roof,
    stores,
    with_memory,
)
from support.golden_texts import check_text

from numalab.evidence.kinds import MEMORY, PLACEMENT
from numalab.evidence.read_record import parse
from numalab.evidence.record import Json
from numalab.evidence.run_formats import Thread
from numalab.evidence.work import WorkShare
from numalab.installation import find_installation
from numalab.judging.rates import ReferenceShare
from numalab.machines.gallery import gallery_folder, load_gallery
from numalab.modelling.speedups import ModelledSpeedup
from numalab.reports.answer_picture import answer_picture
from numalab.reports.comparison import AnswerView, GroupView, LineView, PlacingView, WorkView
from numalab.reports.group_table import group_picture
from numalab.reports.home_table import home_picture
from numalab.reports.latency_report import _figure, latency_lines
from numalab.reports.line_picture import line_picture
from numalab.reports.memory_table import memory_caption, memory_columns, memory_rows
from numalab.reports.modelled_picture import modelled_pictures
from numalab.reports.roofline import roof_lines
from numalab.reports.thread_map import thread_map, thread_maps
from numalab.reports.touch_map import rows_by_array, symbol, touch_map_picture
from numalab.reports.work_picture import work_picture

ONE, TWO, EIGHT = invented.ONE_NODE, invented.TWO_NODES, invented.EIGHT_NODES


def homes(columns: int, owner: str = "same") -> list[Text]:
    """The table's last NUMA nodes are left out where there is no room."""
    return home_picture(PlacingView("hydra", placing(), owner), columns)


def cache_lines(columns: int, is_compared: bool) -> list[Text]:
    yours, solution = stores(), stores(1) if is_compared else None
    return line_picture(LineView("here", "count", yours, solution), columns)


def shares(*of_thread: float) -> WorkShare:
    return WorkShare(of_thread, sum(of_thread) / len(of_thread), 0.5, 0)


def work(columns: int, *of_thread: float, solution: Sequence[float] = ()) -> list[Text]:
    theirs = shares(*solution) if solution else None
    return work_picture(WorkView("hydra", "x", shares(*of_thread), theirs, 0.5), columns)


# ---- pages -------------------------------------------------------------------------------


def mixed_record() -> Json:
    """Of 80 pages the first ten by nobody, ten by both in turn, the rest by their owners; two used
    by both."""
    return invented.evidence(
        ONE,
        writer=lambda owner, page: -1 if page < 10 else page % 2 if page < 20 else owner,
        users=lambda owner, page: [0, 1] if page in (3, 40) else [owner],
    )


def pages(columns: int, record: Json, with_homes: bool = False) -> list[Text]:
    return touch_map_picture(parse(record), columns, with_homes=with_homes)


def pages_beside(columns: int) -> list[Text]:
    """Arrays a and b look alike, c does not."""
    record = invented.evidence(EIGHT, home=lambda owner, page: owner // 2)
    for run in record["runs"]:
        for array in run.get("touch_map", {}).get("arrays", []):
            if array["array"] == "c":
                array["first_writer"] = [[0, 640]]
    yours = parse(record)
    solution = parse(invented.evidence(EIGHT))
    return touch_map_picture(yours, columns, "nebula", solution, True)


def long_names() -> list[Text]:
    """A name that is longer than three short ones makes room for itself, and stands alone."""
    record = invented.evidence(ONE)
    for run in record["runs"]:
        for array in (*run.get("touch_map", {}).get("arrays", []), *run.get("residency", [])):
            array["array"] = {"b": "velocity"}.get(array["array"], array["array"])
    return touch_map_picture(parse(record), 65)


# ---- threads -----------------------------------------------------------------------------


def seats(*allowed: tuple[int, ...]) -> list[Thread]:
    return [Thread(number, pus, -1, -1, -1) for number, pus in enumerate(allowed)]


def two_a_core() -> Json:
    """PUs 0 and 2 are a core, and so on."""
    node = TWO.describe()
    for entry in node["pu_list"]:
        entry["core"] = entry["pu"] // 4 * 2 + entry["pu"] % 2
    return node


def ragged() -> Json:
    """Two cores on NUMA node 0, of which the first has the last PU, too; one on node 1."""
    node = TWO.describe()
    node["pu_list"] = [entry for entry in node["pu_list"] if entry["pu"] in (0, 1, 2, 4, 6)]
    for entry in node["pu_list"]:
        entry["core"] = {0: 7, 6: 7, 2: 3, 4: 3}.get(entry["pu"], 1)
    return node


CROWDED = seats((0,), (0,), (1, 3), (5,), (5,), (7,), (7,), (0, 2, 4), (0, 1), (99,), (4, 6))


def on_threads(columns: int) -> list[Text]:
    return thread_map(two_a_core(), CROWDED, columns, symbol)


def in_packages() -> list[Text]:
    """NUMA nodes 0 to 3 are a package's: one thread may run in it, another one anywhere."""
    node = EIGHT.describe()
    of_package = tuple(entry["pu"] for entry in node["pu_list"] if entry["package"] == 0)
    return thread_map(node, seats(of_package, (0, 4), (0, 8), (3,)), 60, symbol)


def teams(columns: int, *of_team: Sequence[Thread]) -> list[Text]:
    found = list(zip(("yours", "solution"), of_team, strict=True))
    return thread_maps(two_a_core(), found, columns, symbol)


# ---- models, roofs -----------------------------------------------------------------------


def modelled(columns: int, *found: ModelledSpeedup) -> list[Text]:
    return [line for lines in modelled_pictures(found, columns) for line in lines]


def bars(lines: Sequence[Text]) -> list[Text]:
    """Without sentences, of which a narrow line has a word or two."""
    return [line for line in lines if re.match(r"controller \d  |link|busiest| {10}", line.plain)]


def several_modelled() -> tuple[ModelledSpeedup, ...]:
    first = modelled_pair()
    return (
        replace(first, yours=None, why_not="No rate."), first, replace(first, subject="omp.env"),
        replace(modelled_pair(4), subject="a.toml"),
        replace(first, subject="b.toml", baseline="the same team on one NUMA node"),
        replace(first, machine="nebula", theirs=None, why_not="Nothing is known of nebula."),
    )  # fmt: skip


def roofline(columns: int) -> list[Text]:
    one = roof()
    slow, top, yours = one.points
    slow = replace(slow, share=ReferenceShare(0.01, None, None, 9))
    beyond = replace(yours, share=ReferenceShare(None, None, None, 9))
    return list(roof_lines(replace(one, points=(slow, top, beyond)), columns))


PICTURES: dict[str, Callable[[], list[Text]]] = {
    "answers": lambda: answer_picture(AnswerView("hydra", "decide", drawn_series(3)), 76),
    "answers_narrow": lambda: answer_picture(AnswerView("here", None, drawn_series(2)[:5]), 30),
    "groups": lambda: group_picture(GroupView("here", grouped_programs())),
    "homes": lambda: homes(76),
    "homes_narrow": lambda: homes(44, "reversed"),
    "homes_of_one_node": lambda: homes(30),
    "lines": lambda: cache_lines(76, True),
    "lines_alone": lambda: cache_lines(40, False),
    "work": lambda: work(60, 1.0, 0.5, 0.25, 0.0),
    "work_beside": lambda: work(76, 1.0, 0.2, solution=(0.9, 0.8, 0.7)),
    "work_of_16": lambda: work(60, *[n / 16 for n in range(1, 17)]),
    "work_of_17": lambda: work(60, *[n / 17 for n in range(1, 18)]),
    "work_of_many": lambda: work(60, *[n / 36 for n in range(1, 37)]),
    "touch_mixed": lambda: pages(65, mixed_record()),
    "touch_narrow": lambda: pages(40, mixed_record()),
    "touch_wide": lambda: pages(120, mixed_record()),
    "touch_two_nodes": lambda: pages(
        65, invented.evidence(TWO, home=lambda owner, page: page % 2), True
    ),
    "touch_beside": lambda: pages_beside(76),
    "touch_long_names": long_names,
    "threads": lambda: on_threads(70),
    "threads_narrow": lambda: on_threads(26),
    "threads_in_packages": in_packages,
    "teams_ragged": lambda: thread_maps(
        ragged(), [("yours", seats((0, 6), (1,))), ("solution", seats((2,), (4,)))], 70, symbol
    ),
    "teams": lambda: teams(70, CROWDED, seats((0,), (1,))),
    "teams_below": lambda: teams(40, CROWDED, seats((0, 1), (1, 0))),
    "modelled": lambda: modelled(78, *several_modelled()),
    "modelled_narrow": lambda: bars(modelled(40, modelled_pair(), modelled_pair(4))),
    "modelled_five": lambda: modelled(66, modelled_pair(4)),
    "modelled_below": lambda: modelled(65, modelled_pair(4)),
    "modelled_least": lambda: bars(modelled(24, modelled_pair())),
    "roofline_wide": lambda: roofline(200),
    "roofline": lambda: roofline(76),
    "roofline_narrow": lambda: roofline(40),
}


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_draws_what_it_is_given(name: str) -> None:
    check_text(of_lines(PICTURES[name]()))


def test_two_crowds_are_named_and_of_three_one_is_counted() -> None:
    def crowds(*allowed: tuple[int, ...]) -> str:
        lines = thread_map(TWO.describe(), seats(*allowed), 60, symbol)
        return next(line.plain for line in lines if line.plain.startswith("+ is"))

    two = crowds((0,), (0,), (1,), (1,))
    check_text(two)
    assert crowds((0,), (0,), (1,), (1,), (2,), (2,)) == f"{two}; 1 more"


@pytest.mark.parametrize(("columns", "lines"), [(27, 2), (26, 4), (23, 4), (22, 4)])
def test_cores_go_into_the_next_line_where_they_do_not_fit(columns: int, lines: int) -> None:
    """Before them are 19 columns, and four are a core's."""
    found = thread_map(two_a_core(), seats((0,)), columns, symbol)
    assert len(found) == (lines if columns > 22 else lines + 2)


def test_teams_stand_beside_each_other_where_they_fit() -> None:
    right, left = seats((0,)), seats((1,))
    assert len(teams(19 + 8 + 2 + 8, left, right)) == 3
    assert len(teams(19 + 8 + 2 + 8 - 1, left, right)) == 6
    nowhere = seats((99,))
    head = "yours: thread 0 on no PU of this node"
    assert teams(len(head), nowhere, nowhere)[0].plain == head
    assert teams(len(head) - 1, nowhere, nowhere)[0].plain == "yours:"


def test_tracings_that_differ_are_told() -> None:
    record = invented.evidence(ONE)
    assert not any("Traced" in line.plain for line in pages(65, record))
    arrays = record["runs"][2]["touch_map"]["arrays"]
    arrays[0]["users"] = [[[0, 1], 80]]
    (told,) = [line.plain for line in pages(65, record) if "Traced" in line.plain]
    assert told.startswith("   Traced 3 times")
    with_homes = [line.plain for line in pages(65, invented.evidence(TWO), True)]
    assert any("'lives on' was seen" in line for line in with_homes)
    assert not any("was seen" in line.plain for line in pages(65, invented.evidence(TWO)))


def test_an_array_that_the_solution_lacks_has_yours_alone() -> None:
    yours, solution = (invented.evidence(ONE) for _ in range(2))
    for run in solution["runs"]:
        if "touch_map" in run:
            run["touch_map"]["arrays"] = run["touch_map"]["arrays"][:2]
    lines = touch_map_picture(parse(yours), 76, "here", parse(solution))
    heads = [re.split(r" +(?:yours|solution)", line.plain)[0] for line in lines[1:]]
    assert [head for head in heads if head and " used" not in head] == ["a, b", "c"]
    assert sum("solution" in line.plain for line in lines) == 1


def test_a_roof_without_points_is_a_roof() -> None:
    title, foot = (line.plain for line in roof_lines(replace(roof(), points=()), 76))
    assert foot.endswith("| roof: 2.5 GFLOP/s")
    check_text(title)


def test_threads_that_no_core_holds_are_told_by_where_they_may_run() -> None:
    told = [line.plain for line in in_packages()][-3:]
    check_text([line.split(" may run on ")[1] for line in told])
    outside = [line.plain for line in thread_map(TWO.describe(), seats((99,), ()), 60, symbol)]
    check_text(outside)


@pytest.mark.parametrize(
    ("name", "files", "is_predicted"),
    [
        ("own", [None], True),
        ("hidden", ["near.toml"], False),
        ("all", ["near.toml", "far.toml"], True),
        ("mixed", [None, "far.toml"], True),
    ],
)
def test_messages_are_a_table_and_a_picture(
    name: str, files: list[str | None], is_predicted: bool
) -> None:
    record = invented.evidence(TWO if name == "all" else ONE)
    record["runs"] += [
        invented.latency("placement", file, 0.5 + number) for number, file in enumerate(files)
    ]
    published = load_gallery(gallery_folder(find_installation("gnu")))["hydra"].latencies
    found = latency_lines(parse(record), is_predicted, published)
    assert max(map(len, found)) <= 78
    check_text(of_lines(list(map(Text, found))))


@pytest.mark.parametrize(
    ("files", "machine", "notes"),
    [
        ([None], TWO, ["2 cores:"]),
        ([None, "far.toml"], TWO, ["2 cores:"]),
        (["near.toml", "far.toml"], TWO, []),
        (["near.toml"], ONE, ["This node"]),
        (["near.toml", "far.toml"], ONE, ["This node"]),
        ([None, "far.toml"], ONE, ["2 cores:", "This node"]),
    ],
)
def test_notes_say_what_a_launch_can_not_show(
    files: list[str | None], machine: invented.Machine, notes: list[str]
) -> None:
    record = invented.evidence(machine)
    record["runs"] += [invented.latency("placement", file) for file in files]
    found = latency_lines(parse(record), True, ())
    told = found[found.index(next(line for line in found if line[1:3] == ": ")) + 1 :]
    assert [line[: len(note)] for line, note in zip(told, notes, strict=True)] == notes
    if notes[-1:] == ["This node"]:
        assert ("far is no farther" in told[-1]) == ("far.toml" in files)


def test_where_nothing_can_be_shown_yet_the_scale_has_no_ends() -> None:
    """All sizes that were timed are to be predicted."""
    record = invented.evidence(TWO)
    run = invented.latency("placement")
    run["samples"] = [one for one in run["samples"] if one["bytes"] in (4096, 65536)]
    record["runs"].append(run)
    found = latency_lines(parse(record), False, ())
    assert [line.split()[0] for line in found[2:4]] == ["4", "64"]
    assert len(found) == 5


@pytest.mark.parametrize(
    ("value", "told"),
    [(None, ""), (0.5, "0.50"), (99.994, "99.99"), (100.0, "100"), (8e6, "8,000,000")],
)
def test_a_figure_of_messages_has_digits_below_a_hundred(value: float | None, told: str) -> None:
    assert _figure(value) == told


def test_of_several_launches_each_has_the_sizes_that_it_was_timed_at() -> None:
    record = invented.evidence(TWO)
    near, far, crashed = (
        invented.latency("placement", file) for file in ("near.toml", "far.toml", "x.toml")
    )
    near["samples"] = [one for one in near["samples"] if one["bytes"] in (0, 8)]
    far["samples"] = [one for one in far["samples"] if one["bytes"] in (0, 16)]
    crashed["outcome"] = {"status": "crashed", "signal": "SIGSEGV", "printed_bytes": 0}
    record["runs"] += [near, far, crashed]
    lines = latency_lines(parse(record), True, ())
    check_text([line[:47].rstrip() for line in lines[1:5]])
    record["runs"] = [crashed]
    assert latency_lines(parse(record), True, ()) == []


def test_a_table_that_was_not_seen_to_its_end_has_no_column() -> None:
    evidence = with_memory(parse(invented.evidence(ONE)))
    (_, last) = evidence.runs_of(MEMORY, "solution")
    crashed = evidence.having(MEMORY, [last, structs.replace(last, outcome=CRASHED)], "solution")
    assert [column.name for column in memory_columns(crashed)] == ["4 KiB pages", "yours"]
    assert memory_columns(evidence.having(MEMORY, [])) == []


def test_where_pages_live_is_drawn_as_far_as_the_system_told() -> None:
    evidence = parse(invented.evidence(TWO))
    (look,) = evidence.runs_of(PLACEMENT)
    assert look.residency is not None
    some = {name: homes for name, homes in look.residency.items() if name != "b"}
    for residency, rows in ((look.residency, 3), (some, 2), (None, 0)):
        one = evidence.having(PLACEMENT, [replace(look, residency=residency)])
        found = rows_by_array(one, True).values()
        assert sum("lives on" in dict(of_array) for of_array in found) == rows
        assert not any("lives on" in dict(each) for each in rows_by_array(one, False).values())


def test_empty_messages_alone_have_times_and_no_rates() -> None:
    record = invented.evidence(TWO)
    run = invented.latency("placement")
    run["samples"] = [one for one in run["samples"] if one["bytes"] == 0]
    record["runs"].append(run)
    assert latency_lines(parse(record), True, ())[2] == "    0 B        0.50          n"


@pytest.mark.parametrize("kinds", [1, 2])
def test_answers_that_are_there_are_explained(kinds: int) -> None:
    (title, *_) = answer_picture(AnswerView("here", None, drawn_series(kinds)), 76)
    check_text(title.plain.split("; ")[1])


def test_one_value_alone_stands_at_the_left() -> None:
    record = invented.evidence(TWO)
    run = invented.latency("placement")
    run["samples"] = [one for one in run["samples"] if one["bytes"] == 8]
    record["runs"].append(run)
    line = latency_lines(parse(record), True, ())[2]
    assert line == "    8 B        0.50   15.97  n              n"


@pytest.mark.parametrize(
    ("times", "is_noisy"),
    [([1.0, 1.0, 1.0, 1.3, 1.3], True), ([1.0, 1.0, 1.0, 1.25, 1.25], False), ([1.0], False),
     ([1.0, 1.6], True), ([1.0, 1.0, 1.0, 1.0, 9.0], False)],
)  # fmt: skip
@pytest.mark.parametrize("role", ["handout", "solution", "submission"])
def test_times_are_noisy_where_their_quartiles_are_apart(
    times: list[float], is_noisy: bool, role: str
) -> None:
    others = dict.fromkeys(("handout", "solution", "submission"), 0.5)
    taken = [others | {role: time / 1.02} for time in times]
    evidence = with_memory(parse(invented.evidence(ONE, times=taken)))
    columns = memory_columns(evidence)
    told = memory_caption(evidence, columns)
    check_text(told)
    assert ("noisy" in told) == is_noisy
    (updates,) = [values for label, values in memory_rows(columns) if label == "random updates"]
    at = ["handout", "solution", "submission"].index(role)
    assert float(updates[at].split()[0]) == pytest.approx(statistics.median(times), abs=0.01)
    assert [value for n, value in enumerate(updates) if n != at] == ["510 ms", "510 ms"]


def test_a_row_is_there_where_one_column_knows_it() -> None:
    first, *others = memory_columns(with_memory(parse(invented.evidence(ONE))))
    known: Any = SimpleNamespace(most_bytes=8 << 20)
    rows = dict(memory_rows([replace(first, page_tables=known), *others]))
    assert rows["page tables (VmPTE)"] == ["8.0 MiB", "", ""]


def test_what_a_table_takes_is_told_by_its_last_life() -> None:
    columns = memory_columns(with_memory(parse(invented.evidence(ONE))))
    assert [column.name for column in columns] == ["4 KiB pages", "2 MiB pages", "yours"]
    assert [values for _, values in memory_rows(columns)] == [
        ["0 %", "100 %", "75 %"],
        ["16,384", "32", "1,234"],
        ["20 ms", "10 ms", "12.5 ms"],
        ["1.5 s", "750 ms", "800 ms"],
    ]
