"""What is run, sample by sample, and how an exploration is written and read back."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from schedule_experiment import Schedules
from stream_experiment import Streams, stream_configurations, stream_thread_counts
from support.explorations import (
    BUILD,
    MIB,
    SCHEDULES,
    SIXTEEN,
    STREAMS,
    TABLES,
    TWO,
    VIRTUAL,
    invented,
    made_up,
    on_two_cores,
)  # fmt: skip
from table_experiment import TableSizes, table_configurations

from numalab.errors import Interrupted, NumalabError, UserError
from numalab.explore import explore
from numalab.explore.experiment import (
    Configuration,
    Exploration,
    Measurements,
    ProgramRun,
    runs_each,
    thread_counts,
)
from numalab.explore.intervals import coverage, median_interval
from numalab.explore.tlb import Reach, tlb_reaches, walked_bytes
from numalab.harness.monitor import Finished
from numalab.installation import Installation

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "slides"))

from figures.explorations import read_found


def test_one_thing_that_is_timed_of_each_kind() -> None:
    two = Schedules(("static",), (0, 5), {"A": "b"}, 10, 1).configurations({"cores": 2})
    assert two == [
        Configuration({"threads": threads, "schedule": "static", "chunk": chunk}, ("10",),
                      {"A": "b", "OMP_NUM_THREADS": str(threads), "OMP_DYNAMIC": "false",
                       "OMP_SCHEDULE": "static,5" if chunk else "static"})
        for threads in (1, 2) for chunk in (0, 5)
    ]  # fmt: skip
    # Of 5 rows in chunks of 5 the second thread gets none.
    few = Schedules(("static",), (0, 5), {}, 5, 1).configurations({"cores": 2})
    assert [(one.key["threads"], one.key["chunk"]) for one in few] == [(1, 0), (1, 5), (2, 0)]
    assert table_configurations(TableSizes(8, 8, 2, 3, 4, 1), True) == [
        Configuration({"bytes": 8, "pages": pages},
                      ("update,chase", f"pages={pages}", "bytes=8", "steps=3", "repetitions=4"),
                      is_seeded=True)
        for pages in ("small", "huge")
    ]  # fmt: skip
    assert table_configurations(TableSizes(8, 8, 2, 3, 4, 1), False)[0].arguments_in(7) == (
        "update,chase", "pages=small", "bytes=8", "steps=3", "repetitions=4", "seed=7",
    )  # fmt: skip
    first, *_, last = stream_configurations(16, 5, ("copy", "triad"), [3])
    assert first == Configuration(
        {"threads": 3, "placement": "default", "first_touch": "all"},
        ("copy,triad", "pages=small", "bytes=16", "first_touch=all", "repetitions=5"),
        {"OMP_NUM_THREADS": "3", "OMP_DYNAMIC": "false"},
    )
    assert last.key == {"threads": 3, "placement": "scatter", "first_touch": "one"}
    assert last.environment["OMP_PROC_BIND"] == "spread"
    assert first.arguments_in(7) == first.arguments
    on_node = SCHEDULES.configurations({"cores": 3})
    assert {one.key["threads"] for one in on_node} == {1, 2, 3}


def test_numbers_of_threads_double_up_to_all_cores() -> None:
    assert [thread_counts(cores) for cores in (1, 2, 3, 4, 5, 16)] == [
        [1], [1, 2], [1, 2, 3], [1, 2, 4], [1, 2, 4, 5], [1, 2, 4, 8, 16],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("largest", "growth", "sizes"),
    [(8, 2, (8,)), (9, 2, (8, 9)), (16, 2, (8, 16)), (24, 2, (8, 16, 24)),
     (72, 3, (8, 24, 72))],
)  # fmt: skip
def test_the_largest_table_is_among_the_sizes(
    largest: int, growth: int, sizes: tuple[int, ...]
) -> None:
    assert TableSizes(8, largest, growth, 1, 1, 1).sizes == sizes


def test_seventeen_pus_are_too_many_to_count_each() -> None:
    assert stream_thread_counts(17, 17, 2) == [1, 2, 3, 4, 6, 8, 12, 16, 17]
    assert stream_thread_counts(34, 26, 2) == [1, 2, 3, 4, 6, 8, 12, 13, 16, 24, 26, 32, 34]
    assert stream_thread_counts(18, 2, 3) == [1, 2, 3, 4, 6, 8, 12, 16, 18]


def test_what_a_sample_says() -> None:
    times = [{"kernel": "chase", "steps": 4, "bytes_moved": 6, "elapsed_s": ["3e-9", 2e-9]}]
    sample = ProgramRun(0, 1, 2, 3.0, {"elapsed_s": "0.5", "times": times})
    assert (sample.elapsed_s, sample.step_ns("chase")) == (0.5, 0.5)
    assert sample.rate_gb_s("chase") == pytest.approx(3.0)
    with pytest.raises(NumalabError, match="no times of update"):
        sample.step_ns("update")


def test_samples_of_each_configuration_that_has_any() -> None:
    made = [Configuration({}, ()), Configuration({}, ()), Configuration({}, ())]
    taken = [ProgramRun(index, 0, 0, 0.0, {}) for index in (2, 0, 2)]
    assert runs_each(made, taken) == [1, 2]


def test_values_of_a_configuration_by_round() -> None:
    found = invented(SCHEDULES, lambda key, number: 1.0 * int(key["threads"]) + number, rounds=2)
    key: dict[str, int | str] = {"threads": 2, "schedule": "static", "chunk": 4}
    assert found.times_s(**key) == {0: 2.0, 1: 3.0}
    assert found.times_s(**key | {"chunk": 5}) == found.times_s(threads=2) == {}
    assert [record["elapsed_s"] for record in found.records(**key)] == [2.0, 3.0]
    assert found.runs_each == [2] * 24
    tables = invented(TABLES, lambda *_: 4e-6, rounds=1, update_s=lambda *_: 2e-6)
    assert tables.steps_ns("chase", bytes=MIB, pages="huge") == pytest.approx({0: 4.0})
    assert tables.steps_ns("update", bytes=MIB, pages="huge") == pytest.approx({0: 2.0})
    assert tables.steps_ns("update", bytes=MIB, pages="none") == {}
    streams = made_up(rounds=1)
    alone: dict[str, int | str] = {"threads": 1, "placement": "compact", "first_touch": "all"}
    assert streams.rates_gb_s("triad", **alone) == pytest.approx({0: 6.0})


@pytest.mark.parametrize(
    "found",
    [
        invented(SCHEDULES, lambda *_: 1e-3, 2, interrupted=True),
        invented(TABLES, lambda *_: 1e-3, 2),
        invented(replace(TABLES, largest_bytes=65536, growth=2), lambda *_: 1e-3, 2),
        made_up(rounds=1),
        on_two_cores(),
    ],
    ids=["schedules", "tables", "one_table", "streams", "virtual"],
)
def test_all_of_an_exploration_comes_back(found: Measurements) -> None:
    data = json.loads(json.dumps(found.json_data()))
    again = read_found(data)
    node = {key: value for key, value in found.node.items() if key != "pu_list"}
    assert (again.runs, again.node) == (found.runs, node)
    assert [replace(one, is_seeded=False) for one in found.configurations] == [
        *again.configurations
    ]
    assert (again.description, again.build, again.seed, again.interrupted) == (
        found.description, found.build, found.seed, found.interrupted,
    )  # fmt: skip
    what = found.exploration.what
    if isinstance(what, Streams):
        what = replace(what, virtual=None)
    assert again.exploration == replace(found.exploration, what=what)
    assert data["schema"] == 1 and ("virtual" in data) == isinstance(what, Streams)
    assert (again.virtual is None) == (found.virtual is None)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"schema": 2}, "schema version 2, not 1"),
        ({"configurations": [], "samples": []}, "not what"),
        ({"node": None, "samples": [{}]}, "not what"),
        ({"configurations": [{"table_bytes": 8, "arguments": [], "environment": {}}]},
         "an earlier version of the kit"),
    ],
)  # fmt: skip
def test_what_is_no_exploration_is_refused(changes: dict[str, Any], says: str) -> None:
    data = invented(SCHEDULES, lambda *_: 1e-3, 1).json_data()
    with pytest.raises(NumalabError, match=says):
        read_found(data | changes)
    with pytest.raises(NumalabError, match="not what"):
        read_found({})


# ---- memory ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("what", "needed"),
    [
        (replace(SCHEDULES, n=1024), 24 * MIB),
        (replace(STREAMS, array_bytes=5 * MIB), 19 * MIB),
        (replace(TABLES, largest_bytes=4 * MIB), 8 * MIB),
    ],
)
def test_memory_that_the_largest_takes(what: Schedules | Streams | TableSizes, needed: int) -> None:
    exploration = Exploration("a", "t", what)
    assert exploration.what.needed_bytes == needed
    explore.check_memory(exploration, needed * 5 // 4)
    with pytest.raises(UserError, match=f"would take {needed // MIB} MiB"):
        explore.check_memory(exploration, needed * 5 // 4 - 8)


def test_memory_that_is_free() -> None:
    text = "MemFree: 1 kB\nMemAvailable:    2048 kB\n"
    assert explore.available_bytes(text, None) == 2 * MIB
    assert explore.available_bytes(text, 3 * MIB) == 2 * MIB
    assert explore.available_bytes(text, MIB) == MIB
    with pytest.raises(NumalabError, match="no MemAvailable"):
        explore.available_bytes("MemFree: 1 kB\n", None)


def test_the_best_time_of_any_kernel_is_looked_at() -> None:
    record = {"times": [{"elapsed_s": [0.5, 0.25]}, {"elapsed_s": [0.0, 1.0]}]}
    with pytest.raises(NumalabError, match=r"time of 0\.0 s"):
        explore.parse_record(json.dumps(record), {})
    assert explore.parse_record('{"elapsed_s": 1e-9, "chunk": 3}', {"chunk": 0}) == {
        "elapsed_s": 1e-9, "chunk": 3,
    }  # fmt: skip
    with pytest.raises(NumalabError, match="asked for threads 0, the program ran with None"):
        explore.parse_record('{"elapsed_s": 1.0}', {"threads": 0})


# ---- rounds ------------------------------------------------------------------------------


class Told:
    """A place that remembers what it was asked to run, and is interrupted in the end."""

    name, slowness, monitor_options = "nhm", 1.0, ()
    machine = {"name": "nhm"}  # noqa: RUF012
    node = {"pus": 2, "numa_nodes": 2, "cores": 2}  # noqa: RUF012

    def __init__(self, answers: int = 99) -> None:
        self.asked: list[list[str]] = []
        self.environments: list[Mapping[str, str]] = []
        self.answers = answers

    def execute(self, command: Sequence[str], environment: Mapping[str, str]) -> Finished:
        if len(self.asked) == self.answers:
            raise Interrupted
        self.asked.append([*command])
        self.environments.append(environment)
        said = dict(word.split("=") for word in command if "=" in word)
        record: dict[str, Any] = {"times": [{"elapsed_s": [1.0]}], "local_share": 0.5, **said}
        if "OMP_NUM_THREADS" in environment:
            record["threads"] = int(environment["OMP_NUM_THREADS"])
        return Finished(0, json.dumps(record), "")


def ticking() -> SimpleNamespace:
    """A clock on which a second passes from look to look, and a trifle that nobody notes."""
    seconds = iter(range(100, 200))
    return SimpleNamespace(monotonic=lambda: next(seconds) * (1 + 6e-8))


@pytest.mark.parametrize(
    ("done", "samples", "steps"),
    [
        (0, [(1, 0, 0, 1.0), (0, 0, 1, 2.0), (0, 1, 0, 4.0), (1, 1, 1, 5.0), (1, 2, 0, 7.0),
             (0, 2, 1, 8.0)],
         ["round 1 of 3", "round 2 of 3, about 6 s left", "round 3 of 3, about 3 s left"]),
        (1, [(0, 1, 0, 1.0), (1, 1, 1, 2.0), (1, 2, 0, 4.0), (0, 2, 1, 5.0)],
         ["round 2 of 3", "round 3 of 3, about 3 s left"]),
        (3, [], []),
    ],
)  # fmt: skip
def test_rounds_are_taken_in_their_order(
    monkeypatch: pytest.MonkeyPatch,
    done: int,
    samples: list[tuple[int, int, int, float]],
    steps: list[str],
) -> None:
    monkeypatch.setattr(explore, "time", ticking())
    chosen = [
        Configuration({"a": "0"}, ("a=0",), {"OWN": "x"}),
        Configuration({"a": "1"}, ("a=1",), is_seeded=True),
    ]
    place, told = Told(), list[str]()
    order = [[1, 0], [0, 1], [1, 0]]
    taken = list(explore.run_rounds(Path("p"), chosen, order, told.append, place, done))
    assert [(s.configuration, s.round, s.order, s.started_s) for s in taken] == samples
    assert told == [f"looking at pages on virtual nhm, {step}" for step in steps]
    assert place.asked == [
        ["p", f"a={index}", *([f"seed={number}"] if index else [])]
        for index, number, _, _ in samples
    ]
    assert [env.get("OWN") for env in place.environments] == [
        None if index else "x" for index, *_ in samples
    ]
    assert all(sample.record["a"] == str(sample.configuration) for sample in taken)


def test_where_it_runs_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    here, told = Told(), list[str]()
    monkeypatch.setattr(explore, "THIS_MACHINE", here)
    list(explore.run_rounds(Path("p"), [Configuration({}, ())], [[0]], told.append, here))
    assert told == ["measuring, round 1 of 1"]


@pytest.mark.parametrize("is_here", [True, False])
def test_limits_are_told_of_what_was_killed_here(
    monkeypatch: pytest.MonkeyPatch, is_here: bool
) -> None:
    place = SimpleNamespace(execute=lambda *_: Finished(-9, "", ""))
    monkeypatch.setattr(explore, "limits_sentence", lambda _: " A limit.")
    if is_here:
        monkeypatch.setattr(explore, "THIS_MACHINE", place)
    with pytest.raises(UserError, match=r"was killed.* smaller --n\.( A limit\.)?$") as told:
        explore.run_program(Path("p"), [], {}, place)
    assert str(told.value).endswith(" A limit.") is is_here


def test_pages_are_looked_at_with_each_number_of_threads(installation: Installation) -> None:
    place = Told()
    seen, interrupted = explore.observe_pages(installation, STREAMS, place, lambda _: None)
    assert (seen.machine, seen.node, seen.trouble, interrupted) == (
        place.machine, place.node, None, False,
    )  # fmt: skip
    assert [tuple(one.key.values()) for one in seen.configurations] == [
        (threads, placement, touch) for threads in (1, 2)
        for placement in ("default", "compact", "scatter") for touch in ("all", "one")
    ]  # fmt: skip
    assert {one.arguments[0] for one in seen.configurations} == {"copy"}
    assert {one.arguments[2:5:2] for one in seen.configurations} == {
        (f"bytes={VIRTUAL.array_bytes}", "repetitions=1")
    }
    assert {env["OMP_WAIT_POLICY"] for env in place.environments} == {"passive"}
    for number in range(VIRTUAL.rounds):
        of_round = [one for one in seen.runs if one.round == number]
        assert sorted(one.configuration for one in of_round) == list(range(12))
        assert [one.order for one in of_round] == list(range(12))
    assert not any("times" in one.record for one in seen.runs)
    seen, interrupted = explore.observe_pages(installation, STREAMS, Told(3), lambda _: None)
    assert (len(seen.runs), interrupted) == (3, True)


@pytest.mark.parametrize("what", [SCHEDULES, TABLES])
@pytest.mark.parametrize("ends", [False, True])
def test_all_of_an_exploration_or_what_there_is_by_then(
    installation: Installation,
    monkeypatch: pytest.MonkeyPatch,
    what: Schedules | TableSizes,
    ends: bool,
) -> None:
    asked: list[list[str]] = []
    orders: list[list[int]] = []

    def ran(program: Path, arguments: Sequence[str], environment: Mapping[str, str]) -> str:
        asked.append([program.name, *arguments])
        return '{"page_bytes": 4096}'

    def taken(
        program: Path, chosen: Sequence[Configuration], order: list[list[int]], progress: Any
    ) -> Iterator[ProgramRun]:
        orders.extend(order)
        yield ProgramRun(1, 0, 0, 0.5, {"program": program.name})
        if ends:
            raise Interrupted

    monkeypatch.setattr(explore, "run_program", ran)
    monkeypatch.setattr(explore, "run_rounds", taken)
    monkeypatch.setattr(explore, "read_build", lambda installation: BUILD)
    exploration = Exploration("04_huge_pages", "t", what)
    node = {**TWO, "huge_page_mode": "never", "pu_list": []}
    found = explore.explore(installation, exploration, node, lambda _: None)
    assert found.runs == (ProgramRun(1, 0, 0, 0.5, {"program": installation.probe.name}),)
    assert (found.interrupted, found.build, found.node) == (ends, BUILD, node)
    assert [*found.configurations] == exploration.what.configurations(node)
    assert orders == explore.orders(len(found.configurations), what.rounds, found.seed)
    is_of_tables = isinstance(what, TableSizes)
    assert found.description == ({"page_bytes": 4096} if is_of_tables else {})
    assert asked == ([[installation.probe.name, "describe"]] if is_of_tables else [])


def test_a_description_that_is_no_json_is_numalabs_error(
    monkeypatch: pytest.MonkeyPatch, installation: Installation
) -> None:
    monkeypatch.setattr(explore, "run_program", lambda *_: "killed")
    monkeypatch.setattr(explore, "read_build", lambda installation: BUILD)
    exploration = Exploration("04_huge_pages", "t", TableSizes(8, 8, 2, 3, 4, 1))
    node = {**TWO, "huge_page_mode": "never", "pu_list": []}
    with pytest.raises(NumalabError, match="JSON"):
        explore.explore(installation, exploration, node, lambda _: None)


def test_how_the_programs_were_built(tmp_path: Path) -> None:
    installation = Installation(tmp_path)
    with pytest.raises(NumalabError, match="numalab setup"):
        explore.read_build(installation)
    installation.build.mkdir(parents=True)
    (installation.build / "exploration.json").write_text(json.dumps(BUILD))
    assert explore.read_build(installation) == BUILD


# ---- intervals and reaches ---------------------------------------------------------------


def test_coverage_and_ranks_at_their_ends() -> None:
    assert [coverage(6, rank) for rank in (0, 1, 2, 3)] == pytest.approx(
        [1, 62 / 64, 50 / 64, 20 / 64]
    )
    assert coverage(6, 4) == 0.0
    for wanted, ends in (
        (0.96, (1, 6)),
        (0.97, (1, 6)),
        (0.78, (2, 5)),
        (0.3, (3, 4)),
        (0, (3, 4)),
    ):
        found = median_interval([4.0, 2.0, 1.0, 6.0, 3.0, 5.0], wanted)
        assert (found.low, found.high, found.median) == (*ends, 3.5)
        assert found.coverage == pytest.approx(coverage(6, int(found.low)))


def test_of_several_tlbs_of_a_level_the_largest_counts() -> None:
    load, store, other = 4, 5, 2

    def leaf(ways: int, sets: int, kind: int, level: int, pages: int = 1) -> list[int]:
        return [0, ways << 16 | pages, sets, level << 5 | kind]

    def of(*leaves: list[int]) -> list[Reach]:
        return tlb_reaches({"cpuid_18": [*leaves]}, 4096)

    assert of(leaf(4, 16, load, 1), leaf(16, 1, store, 1)) == [Reach(4096, 64, 1)]
    assert of(leaf(16, 1, store, 1), leaf(4, 16, load, 1)) == [Reach(4096, 64, 1)]
    assert of(leaf(4, 16, other, 1), leaf(0, 16, load, 2), leaf(4, 0, load, 3)) == []
    assert of(leaf(4, 16, load, 1, pages=2), leaf(4, 16, 16 + load, 1)) == []
    assert of(leaf(2, 1, load, 7)) == [Reach(4096, 2, 7)]
    assert Reach(4096, 64, 1).reach_bytes == 256 * 1024
    assert (walked_bytes(4096, 4096), walked_bytes(4097, 4096)) == (8, 16)


def test_what_is_run_on_these_nodes() -> None:
    for node, threads in ((SIXTEEN, range(1, 17)), (TWO, range(1, 3))):
        chosen = STREAMS.configurations(node)
        assert [one.key["threads"] for one in chosen[::6]] == list(threads)
