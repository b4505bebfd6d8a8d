"""Records of schema 1 are read as those of schema 2, whatever they hold under a renamed key."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support import invented
from support.run_values import filled

from numalab.errors import NumalabError
from numalab.evidence.former_keys import convert_schema_1
from numalab.evidence.read_record import load_record, record_of
from numalab.evidence.record import Json
from numalab.evidence.run_formats import AnyRunRecord

ONE = invented.Machine(1, 1, 2, False)
FORMS = {form.__struct_config__.tag: form for form in AnyRunRecord.__args__}
OUTCOME = {"status": "ok", "printed_bytes": 0}
MISMATCH = {"array": "a", "element": 3, "expected": 1.0, "phase": "one", "repetition": 0}
RANK = {"rank": 0, "provided": "multiple", "answer": 1, "threads": 4}
CALLS = {"main": 0, "main_in_parallel": 0, "other": 0, "at_once": 0}
PLACED = {"thread": 0, "pu": 1, "numa_node": 2}

# Of each kind with renamed keys what a record of schema 1 holds, and the same of schema 2.
RUNS: list[tuple[str, Json, Json]] = [
    ("check", {"outcome": OUTCOME | {"kits_own": "ok"}},
     {"outcome": OUTCOME | {"baseline_status": "ok"}}),
    ("check", {"checks": [{"n": 8, "results": {"checked": 9, "wrong": 2, "first_wrong":
        MISMATCH | {"found": 2.0, "expected_digits": "1", "found_digits": "2"}}}]},
     {"checks": [{"n": 8, "results": {"checked": 9, "mismatches": 2, "first_mismatch":
        MISMATCH | {"actual": 2.0, "expected_digits": "1", "actual_digits": "2"}}}]}),
    ("check", {"checks": [{"n": 8, "results": {"checked": 9, "wrong": 0,
        "too_few_messages": {"asked": 4, "seen": 3}, "too_few_bytes": {"asked": 2, "seen": 1}}}]},
     {"checks": [{"n": 8, "results": {"checked": 9, "mismatches": 0,
        "too_few_messages": {"required": 4, "observed": 3},
        "too_few_bytes": {"required": 2, "observed": 1}}}]}),
    ("placement", {"threads": [], "cpu_time": [{"thread": 0, "cpu_s": 1.0, "waiting_s": 2.0,
        "stolen_s": 3.0,
        "longest_s": 4.0, "busy_s": 5.0}]},
     {"threads": [], "cpu_time": [{"thread": 0, "cpu_s": 1.0, "runqueue_wait_s": 2.0,
        "steal_s": 3.0,
        "longest_s": 4.0, "demand_s": 5.0}]}),
    ("at_work", {"moments": 9, "threads": [{"thread": 0, "works": 1, "busy_else": 2}]},
     {"moments": 9, "threads": [{"thread": 0, "works": 1, "spins": 2}]}),
    ("series", {"series": [{"kind": "steps", "length": 9, "truth": [1], "told": [2]}]},
     {"series": [{"kind": "steps", "length": 9, "truth": [1], "answers": [2]}]}),
    ("stops", {"gap_s": 0.1, "least_s": 0.2, "watch_s": 0.3, "elapsed_s": 0.4, "taken_s": 0.5,
        "stops": [], "told": [3, 4], "waiting_s": 0.6},
     {"gap_s": 0.1, "least_s": 0.2, "watch_s": 0.3, "elapsed_s": 0.4, "taken_s": 0.5,
        "stops": [], "reported": [3, 4], "runqueue_wait_s": 0.6}),
    ("locate", {"rounds": [[PLACED | {"told_pu": 3, "told_numa_node": 4}]]},
     {"rounds": [[PLACED | {"reported_pu": 3, "reported_numa_node": 4}]]}),
    ("thread_level", {"ranks": [RANK | {"asked": "serialized", "calls": CALLS}],
        "other_levels": [{"asked": "multiple", "provided": "single", "answer": None}]},
     {"ranks": [RANK | {"requested": "serialized", "calls": CALLS}],
        "other_levels": [{"requested": "multiple", "provided": "single", "answer": None}]}),
    ("on_link", {"end": "ok", "code": 0, "said": "done", "limit_s": 9.0, "items": 4,
        "payload_bytes": 100, "sent_bytes": 300, "sent_frames": 5, "received_bytes": 70,
        "wrong": 1,
        "first_wrong": {"item": 2, "length": 3, "expected_length": 4, "number": None}},
     {"end": "ok", "code": 0, "output": "done", "limit_s": 9.0, "items": 4,
        "payload_bytes": 100, "sent_bytes": 300, "sent_frames": 5, "received_bytes": 70,
        "mismatches": 1,
        "first_mismatch": {"item": 2, "length": 3, "expected_length": 4, "number": None}}),
    ("generation", {"roles": [{"role": "submission", "environment": {"told": "seen"}}]},
     {"roles": [{"role": "submission", "environment": {"told": "seen"}}]}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "former", "present"), RUNS, ids=[f"{row[0]}-{i}" for i, row in enumerate(RUNS)]
)
def test_runs_of_schema_1(kind: str, former: Json, present: Json) -> None:
    record = invented.evidence(ONE)
    new, old = (filled(FORMS[kind], run) | {"kind": kind} for run in (present, former))
    assert record_of(record | {"schema": 1, "runs": [old]}) == record_of(record | {"runs": [new]})


def test_stored_records_of_schema_1() -> None:
    files = sorted(invented.GOLDEN.glob("*/schema_1.json"))
    assert len(files) == 3
    for path in files:
        assert json.loads(path.read_text("utf-8"))["schema"] == 1
        assert load_record(path) == load_record(path.with_name("evidence.json"))


@pytest.mark.parametrize("runs", [None, 5, "x", {}, [5], [[]], [{"wrong": {"wrong": [1]}}]])
def test_what_is_no_record_is_refused_by_the_format(runs: Any) -> None:
    record = invented.evidence(ONE) | {"schema": 1, "runs": runs}
    with pytest.raises(NumalabError, match=r"\$\.runs"):
        record_of(record)


def test_how_deep_a_record_is_read() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    assert convert_schema_1({"runs": deep})["schema"] == 2
