"""What a job puts on the link between two nodes: the rule, on invented records, and what compares
items. What real jobs put there: the lab's wrong submissions."""

from __future__ import annotations

import array
from pathlib import Path
from typing import Any

import pytest
from support import invented
from support.golden_texts import check_text, check_verdict
from support.mpi_labs import lab_of

from numalab.evidence.kinds import CHECK
from numalab.evidence.read_record import parse, record_of
from numalab.evidence.run_formats import SLOT_BYTES, TransferMismatch
from numalab.grading.link_runs import Payload, compare, draw_payload
from numalab.judging import planner
from numalab.judging.judge import judge, sound_parts
from numalab.judging.places import vm_requests
from numalab.judging.rules import is_needed
from numalab.judging.verdict import CriterionVerdict
from numalab.labs.declaration import Lab

Json = dict[str, Any]
LAB = """
title = "Link"
minutes = 1
languages = ["c", "fortran"]
contract = "x.h"
functions = ["moved", "deliver"]

[[criterion]]
name = "correct"
part = "moved"
kind = "correctness"
points = 1
at_most = 0

[[criterion]]
name = "on_link"
part = "deliver"
kind = "evidence"
points = 1
at_most = 1.2
on_machines = true
"""
THERE = {
    "name": "hydra", "source": "x", "accelerator": "tcg", "guest_kernel": "6.1",
    "cores_per_numa_node": 4, "cores_per_numa_node_of_machine": 16,
    "numa_node_memory_bytes": 1 << 28,
}  # fmt: skip


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return lab_of(tmp_path, "33_link", LAB)


def job(**more: Any) -> Json:
    """Of 1,000 items with 36,000 bytes of payload, packed well."""
    return {
        "kind": "on_link", "lab": "33_link", "part": "deliver", "team": 2, "role": "submission",
        "end": "ok", "code": 0, "output": "", "limit_s": 60.0, "items": 1000,
        "payload_bytes": 36_000, "mismatches": 0, "first_mismatch": None, "sent_bytes": 39_000,
        "sent_frames": 30, "received_bytes": 2_000, "outcome": invented.OK,
    } | more  # fmt: skip


def session(*runs: Json, virtual: bool = True, **more: Any) -> Json:
    record = invented.evidence(invented.TWO_NODES)
    checked = record["runs"][0] | {"lab": "33_link", "part": "moved"}
    return record | {
        "lab": "33_link", "runs": [checked, *runs], "machine": THERE if virtual else None,
    } | more  # fmt: skip


def judged(lab: Lab, *runs: Json, **more: Any) -> CriterionVerdict:
    return judge(lab, parse(session(*runs, **more))).criteria[1]


def test_few_bytes_beside_those_of_the_items(lab: Lab) -> None:
    record_of(session(job()))
    found = judged(lab, job())
    assert found.value == pytest.approx(39 / 36)
    check_verdict(found, "pass", "reached")


@pytest.mark.parametrize(
    ("more", "cause"),
    [
        ({"sent_bytes": 52_000}, "missed"),
        ({"sent_bytes": 46_000}, "missed"),
        ({"sent_bytes": 70_000}, "missed"),
        (
            {"mismatches": 7, "first_mismatch": {
                "item": 4, "length": 0, "expected_length": 3, "number": 0}},
            "wrong_result",
        ),
        (
            {"mismatches": 1, "first_mismatch": {
                "item": 4, "length": 3, "expected_length": 3, "number": 2}},
            "wrong_result",
        ),
        ({"mismatches": None}, "wrong_result"),
        ({"end": "late", "mismatches": None}, "timed_out"),
        (
            {"end": "code", "code": 14, "output": "==\nAbort(1): Message truncated",
             "mismatches": None},
            "exited",
        ),
        ({"end": "code", "code": 139, "mismatches": None}, "crashed"),
        ({"end": "printed", "mismatches": None}, "over_limit"),
        ({"end": "node", "output": "node2 is gone", "mismatches": None}, "ended_node"),
    ],
)  # fmt: skip
def test_what_fails(lab: Lab, more: Json, cause: str) -> None:
    record_of(session(job(**more)))
    found = judged(lab, job(**more))
    assert (found.status, found.cause) == ("fail", cause)
    check_text(found.why)


def test_fortran_counts_from_1(lab: Lab) -> None:
    first = {"item": 4, "length": 3, "expected_length": 3, "number": 2}
    found = judged(lab, job(mismatches=1, first_mismatch=first), language="fortran")
    check_verdict(found, "fail", "wrong_result")


def test_the_better_of_two_jobs_counts(lab: Lab) -> None:
    late, bad = job(end="late", mismatches=None), job(sent_bytes=60_000)
    assert judged(lab, late, job()).status == "pass"
    assert judged(lab, bad, job()).status == "pass"
    assert judged(lab, late, bad).cause == "missed"


def test_nobody_fails_where_the_solution_does(lab: Lab) -> None:
    bad = job(sent_bytes=60_000)
    found = judged(lab, bad, bad | {"role": "solution"})
    assert (found.status, found.cause) == ("not_gradable", "solution_misses_it")
    assert judged(lab, bad, job(role="solution")).status == "fail"
    assert judged(lab, job(), bad | {"role": "solution"}).status == "pass"


def test_it_is_shown_by_two_nodes_alone(lab: Lab) -> None:
    here = judged(lab, virtual=False)
    assert (here.status, here.cause) == ("not_gradable", "seen_elsewhere")
    assert judged(lab).status == "inconclusive"  # on a machine, where it has not been run


def test_a_kernel_that_nobody_checks_here_is_run_there(lab: Lab) -> None:
    evidence = parse(session(virtual=False))
    assert sound_parts(lab, evidence) == ("moved", "deliver")
    (look,) = vm_requests(lab, evidence)
    assert (look.machine, look.parts, look.only) == ("hydra", ("deliver",), {"on_link"})
    assert not is_needed(CHECK, lab, "deliver") and is_needed(CHECK, lab, "moved")
    not_built = session(virtual=False)
    not_built["build"]["kernel"] = {"status": "does_not_compile", "message": "no", "output": ""}
    assert sound_parts(lab, parse(not_built)) == ()


def test_what_fails_is_held_against_the_solution(lab: Lab) -> None:
    for runs, asked in (((job(),), False), ((job(sent_bytes=60_000),), True), ((), False)):
        evidence = parse(session(*runs))
        assert planner.needs_link_control(lab, evidence, "deliver") == asked
        assert not planner.needs_control(lab, evidence, "deliver")  # that is another one


# ---- items -------------------------------------------------------------------------------------


def test_items_are_drawn_anew_and_fill_their_slots() -> None:
    one, other = draw_payload(500), draw_payload(500)
    assert set(one.lengths) == set(range(1, 9))
    assert one.payload_bytes == 8 * sum(one.lengths)
    assert len(one.content) == 500 * (4 + SLOT_BYTES)
    assert one.content != other.content
    assert one.slots.count(0) < 500 * SLOT_BYTES / 64  # of random bytes one in 256 is 0


def test_items_are_compared_as_far_as_they_are_in_use() -> None:
    payload = Payload(array.array("i", [1, 8, 2]), bytes(range(3 * SLOT_BYTES)))
    assert compare(payload, payload.content) == (0, None)
    got = bytearray(payload.content)
    got[12 + 8] ^= 1  # behind the first item, in its slot
    got[12 + 2 * SLOT_BYTES + 16] ^= 1  # behind the third
    assert compare(payload, bytes(got)) == (0, None)
    got[12 + SLOT_BYTES + 63] ^= 1  # the last byte of the second
    assert compare(payload, bytes(got)) == (1, TransferMismatch(1, 8, 8, 7))
    got[0] = 0
    assert compare(payload, bytes(got)) == (2, TransferMismatch(0, 0, 1, None))


@pytest.mark.parametrize("got", [b"", b"\x01", bytes(12)])
def test_what_is_missing_is_wrong(got: bytes) -> None:
    payload = Payload(array.array("i", [1, 8, 2]), b"x" * 3 * SLOT_BYTES)
    assert compare(payload, got)[0] == 3
    assert compare(payload, payload.content[:-SLOT_BYTES])[0] == 1
