"""Kinds of evidence: one row each, and the same in the monitor and in the schema."""

from __future__ import annotations

import io
import json
import re
from dataclasses import fields
from typing import Any, TypeVar, get_args, get_type_hints

import pytest
from rich.console import Console
from support import invented
from support.golden_texts import check_text
from support.run_values import recorded_run

from numalab.errors import NumalabError
from numalab.evidence import read_record
from numalab.evidence.kinds import (
    CHECK,
    KINDS,
    LATENCY,
    LINK_RUN,
    OBSERVED_KINDS,
    PAGE_TABLES,
    SYNCHRONOUS_CHECK,
    TIMED_ROUND,
    WATCHED,
    kind_of,
)
from numalab.evidence.read_record import parse
from numalab.evidence.record import HANDOUT, SUBMISSION, AnyRun, Json, Kind
from numalab.evidence.run_formats import AnyRunRecord
from numalab.installation import Installation
from numalab.reports.memory_table import memory_columns, memory_table

MIB, KIB = 2**20, 2**10


def page_tables(role: str, *most_bytes: int, status: str = "ok") -> Json:
    """A run's record, with a life of the arrays for each of the growths of page tables."""
    return {
        "kind": "page_tables", "lab": "04_huge_pages", "part": None, "team": 2, "role": role,
        "huge_pages_allowed": role != HANDOUT, "results": invented.RIGHT,
        "tables": [
            {"n": 1000, "bytes": 8000, "page_table_before_bytes": 48 * KIB,
             "phases": [{"phase": "allocate", "page_table_bytes": 48 * KIB},
                        {"phase": "initialize", "page_table_bytes": 48 * KIB + most},
                        {"phase": "compute", "page_table_bytes": 48 * KIB + most},
                        {"phase": "release", "page_table_bytes": 40 * KIB}]}
            for most in most_bytes
        ],
        "outcome": {"status": status, "printed_bytes": 0},
    }  # fmt: skip


def memory(role: str) -> Json:
    table = {
        "n": 2**25, "bytes": 256 * MIB, "huge_bytes": 0, "create_s": 0.0, "initialize_s": 0.1,
        "compute_s": 0.1, "initialize_page_faults": 9, "resident_before_bytes": 0,
        "resident_during_bytes": 256 * MIB, "resident_after_bytes": 0,
        "address_space_before_bytes": 0, "address_space_after_bytes": 0,
    }  # fmt: skip
    return {
        "kind": "memory", "lab": "04_huge_pages", "part": None, "team": 2, "role": role,
        "huge_pages_allowed": role != HANDOUT, "results": invented.RIGHT, "tables": [table],
        "outcome": invented.OK,
    }  # fmt: skip


def of_runs(*runs: Json) -> Json:
    return invented.evidence(invented.ONE_NODE) | {"runs": list(runs)}


def test_monitor_schema_and_table_know_the_same_runs(installation: Installation) -> None:
    runs = {kind.run or kind.name for kind in KINDS}
    others = {kind.name for kind in KINDS if kind.subject == "probe"} | {LINK_RUN.name}
    header = (installation.root / "common" / "monitor" / "runs" / "runs.h").read_text("utf-8")
    assert set(re.findall(r"ROW\((\w+),", header)) == runs - others
    assert {form.__struct_config__.tag for form in get_args(AnyRunRecord)} == runs


def test_what_each_kind_is_read_as_is_a_run_of_evidence() -> None:
    """So that mypy knows it, wherever runs of all kinds are held. Most are read as themselves."""
    read_as = {get_type_hints(kind.parse)["return"] for kind in KINDS}
    made = {of for of in read_as if not isinstance(of, TypeVar)}
    assert made == {*get_args(AnyRun)} - {*get_args(AnyRunRecord)}


def schema_text(schema: Json) -> str:
    """A line for each class, so that a change shows what it is of."""
    head = json.dumps({key: value for key, value in schema.items() if key != "$defs"}, indent=1)
    classes = ",\n".join(f" {json.dumps(n)}: {json.dumps(d)}" for n, d in schema["$defs"].items())
    return f'{head[:-2]},\n "$defs": {{\n{classes}\n }}\n}}\n'


def test_the_stored_schema_is_that_of_the_format(
    installation: Installation, request: pytest.FixtureRequest
) -> None:
    path = installation.root / "common/schema/evidence.schema.json"
    text = schema_text(read_record.schema())
    if request.config.getoption("rewrite_golden"):
        path.write_text(text, "utf-8")
    assert path.read_text("utf-8") == text


def test_names_are_their_own_and_looks_are_at_the_kernel() -> None:
    names = [kind.name for kind in KINDS]
    assert len(names) == len(set(names))
    assert {kind.subject for kind in OBSERVED_KINDS} == {"kernel"}


def test_a_mark_tells_kinds_of_one_run_apart() -> None:
    check = {"kind": "check"}
    assert kind_of(recorded_run(check)) is CHECK
    assert kind_of(recorded_run(check | {"synchronous_sends": True})) is SYNCHRONOUS_CHECK
    assert kind_of(recorded_run(invented.latency("x"))) is LATENCY


def test_a_run_that_this_kit_does_not_know_is_told() -> None:
    with pytest.raises(NumalabError, match=r"'telepathy' - at `\$\.runs\[0\]"):
        parse(of_runs({"kind": "telepathy", "role": SUBMISSION}))


def test_no_tracing_sees_uses_without_end() -> None:
    record = invented.evidence(invented.ONE_NODE)
    trace = next(run for run in record["runs"] if run["kind"] == "trace")
    trace["touch_map"]["arrays"][0]["used_again"] = [[0, 1, 10**12]]
    with pytest.raises(ValueError, match="more uses of a page than any tracing sees"):
        parse(record)


def test_page_tables_are_read_by_role_and_life(installation: Installation) -> None:
    record = of_runs(page_tables(HANDOUT, 16 * KIB, 516 * KIB), page_tables(SUBMISSION, 8 * KIB))
    evidence = parse(record)
    (handout,) = evidence.runs_of(PAGE_TABLES, HANDOUT)
    assert [life.most_bytes for life in handout.tables] == [16 * KIB, 516 * KIB]
    assert handout.tables[0].phases[-1].page_table_bytes == 40 * KIB
    (own,) = evidence.runs_of(PAGE_TABLES)
    assert [life.most_bytes for life in own.tables] == [8 * KIB]


def test_page_tables_are_shown_beside_the_tables_that_they_are_of() -> None:
    both = of_runs(
        memory(HANDOUT), memory(SUBMISSION), page_tables(HANDOUT, 16 * KIB, 516 * KIB),
        page_tables(SUBMISSION, 4 * KIB, status="crashed"),
    )  # fmt: skip
    file = io.StringIO()
    Console(file=file, width=80).print(memory_table(parse(both)))
    (row,) = [line for line in file.getvalue().splitlines() if "page tables" in line]
    assert row.split()[-2:] == ["516.0", "KiB"]  # what crashed has none
    none = parse(of_runs(memory(SUBMISSION)))
    file = io.StringIO()
    Console(file=file, width=80).print(memory_table(none))
    assert "page tables" not in file.getvalue()
    assert [column.page_tables for column in memory_columns(none)] == [None]


def row_words(kind: Kind[Any]) -> str:
    """Return what a kind's row has, but its function, as one line."""
    own = {one.name: getattr(kind, one.name) for one in fields(kind) if one.name != "parse"}
    usual = {one.name: one.default for one in fields(kind)}
    return ", ".join(f"{name}={of!r}" for name, of in own.items() if of != usual[name])


def test_where_kinds_are_taken_and_what_they_are_of() -> None:
    check_text(map(row_words, KINDS))
    assert {kind for kind in KINDS if kind.program} == {*WATCHED}
    assert {kind for kind in KINDS if kind.doing} == {*OBSERVED_KINDS}
    for kind in KINDS:
        assert not (kind.is_local_only and kind.is_vm_only), kind.name
        assert kind.doing or not (kind.baselines or kind.max_runs > 1), kind.name


def test_a_generation_ends_well_where_each_role_does() -> None:
    record = invented.evidence(
        invented.ONE_NODE, times=invented.steady(1, solution=1, submission=2)
    )
    (generation,) = parse(record).runs_of(TIMED_ROUND)
    assert generation.ok
    record["runs"][-1]["roles"][0]["outcome"] = {"status": "crashed", "printed_bytes": 0}
    assert not parse(record).runs_of(TIMED_ROUND)[0].ok
    assert not parse(record).runs_of(TIMED_ROUND)[0].roles["solution"].outcome.ok


def test_an_older_record_tells_of_a_generation_what_its_phases_took() -> None:
    record = invented.evidence(
        invented.ONE_NODE, times=invented.steady(1, solution=1, submission=2)
    )
    run = record["runs"][-1]
    for role in run["roles"]:
        role.pop("taken_s", None)
        role["initialize_s"] = 0.25
    timed = {name: sum(s["elapsed_s"] for s in run["samples"] if s["role"] == name)
             for name in ("solution", "submission")}  # fmt: skip
    (generation,) = parse(record).runs_of(TIMED_ROUND)
    assert timed["submission"] > timed["solution"] > 0
    assert generation.taken_s == {name: 0.25 + of for name, of in timed.items()}
    run["roles"][0]["taken_s"] = 9.0
    assert parse(record).runs_of(TIMED_ROUND)[0].taken_s[run["roles"][0]["role"]] == 9.0


@pytest.mark.parametrize(
    ("machine", "told"),
    [(None, True), ({}, True), ({"announces_cores": False}, False)],
)
def test_processors_announce_cores_unless_a_record_denies_it(
    machine: Json | None, told: bool
) -> None:
    shown = None if machine is None else invented.MACHINE | machine
    evidence = parse(invented.evidence(invented.ONE_NODE) | {"machine": shown})
    assert (evidence.announces_cores, evidence.is_virtual) == (told, machine is not None)
