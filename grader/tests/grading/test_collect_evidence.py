"""Looks at how the work is shared: whose turn it is, and when it is enough. On invented records."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from support import invented
from support.invented import ONE_NODE
from support.sessions import worked

from numalab.errors import NumalabError
from numalab.evidence.kinds import PLACEMENT
from numalab.evidence.read_record import parse
from numalab.evidence.record import SOLUTION, SUBMISSION, Evidence, Json, Kind
from numalab.grading import collect_evidence
from numalab.grading.kernel_grading import Grading
from numalab.labs.declaration import Lab

PART = "pair_energy"
EVEN, UNEVEN = (0.29, 0.3), (0.1, 0.3)
KEPT = (0.2, 0.3)  # thread 0 was kept from its core meanwhile


@dataclass
class Pretended:
    """What looks need of a session. script: of each look its role, CPU times and how many times
    the CPU time of one thread they are; has_solution: whether it builds."""

    lab: Lab
    script: Iterator[tuple[str, tuple[float, ...], float]]
    has_solution: bool = True
    record: Json = field(default_factory=lambda: invented.evidence(ONE_NODE) | {"runs": []})
    taken: list[str] = field(default_factory=list)
    asked: list[tuple[str, ...]] = field(default_factory=list)

    @property
    def evidence(self) -> Evidence:
        return parse(self.record)

    def build_own(self, *roles: str) -> None:
        if not self.has_solution:
            raise NumalabError("the solution does not build")

    def look(self, role: str, more: tuple[str, ...]) -> None:
        due, busy_s, over = next(self.script)
        assert role == due
        run = worked(ONE_NODE, role, busy_s)
        run["one_thread"] = invented.one_thread(sum(busy_s), over)
        if busy_s == KEPT:
            run["cpu_time"][0] |= {"runqueue_wait_s": 0.1, "demand_s": 0.3}
        self.record["runs"].append(run)
        self.asked.append(more)


def looked(
    monkeypatch: pytest.MonkeyPatch, lab: Lab, *script: tuple[Any, ...], builds: bool = True
) -> Pretended:
    """A session after all of the script's looks, which have to be all that it takes."""
    steps = iter([(role, busy_s, *(over or (1.0,))) for role, busy_s, *over in script])
    session = Pretended(lab, cast("Any", steps), builds)

    def run(there: Any, kind: Kind[Any], role: str, part: str | None, *more: str) -> bool:
        there.look(role, more)
        return True

    monkeypatch.setattr(collect_evidence, "_run", run)
    collect_evidence._observe(cast(Grading, session), [PLACEMENT], SUBMISSION, PART)
    assert next(session.script, None) is None
    return session


@pytest.fixture
def scheduling(labs: dict[str, Lab]) -> Lab:
    return labs["03_scheduling"]


def test_a_kernel_that_shares_evenly_needs_two_looks_and_no_solution(
    monkeypatch: pytest.MonkeyPatch, scheduling: Lab
) -> None:
    session = looked(monkeypatch, scheduling, *2 * [(SUBMISSION, EVEN)])
    assert session.asked == 2 * [("--with-one-thread",)]


def test_the_solution_has_its_turn_after_each_look_against_the_kernel(
    monkeypatch: pytest.MonkeyPatch, scheduling: Lab
) -> None:
    """So that load which ends in between fails nobody."""
    turn = [(SUBMISSION, UNEVEN), (SOLUTION, UNEVEN)]
    quiet = [(SUBMISSION, EVEN)]
    looked(monkeypatch, scheduling, *turn, *turn, *3 * quiet)
    session = looked(monkeypatch, scheduling, *3 * turn)
    assert session.asked == 3 * [("--with-one-thread",), ()]


def test_of_who_spins_the_solution_tells_what_a_team_takes_here(
    monkeypatch: pytest.MonkeyPatch, scheduling: Lab
) -> None:
    turn = [(SUBMISSION, EVEN, 1.5), (SOLUTION, EVEN, 1.02)]
    session = looked(monkeypatch, scheduling, *3 * turn)
    assert session.asked == 6 * [("--with-one-thread",)]
    # Where one thread is faster than a team's, it is for the solution, too.
    looked(
        monkeypatch, scheduling, (SUBMISSION, EVEN, 1.5), (SOLUTION, EVEN, 1.45),
        (SUBMISSION, EVEN, 1.5),
    )  # fmt: skip


def test_a_solution_that_does_not_build_keeps_nobody_waiting(
    monkeypatch: pytest.MonkeyPatch, scheduling: Lab
) -> None:
    looked(monkeypatch, scheduling, *3 * [(SUBMISSION, UNEVEN)], builds=False)


def test_looks_that_tell_nothing_come_to_an_end(
    monkeypatch: pytest.MonkeyPatch, scheduling: Lab
) -> None:
    looked(monkeypatch, scheduling, *8 * [(SUBMISSION, KEPT)])
    looked(monkeypatch, scheduling, *5 * [(SUBMISSION, KEPT)], *2 * [(SUBMISSION, EVEN)])


def test_the_compiler_of_the_search_for_races_names_the_students_file() -> None:
    output = (
        "the kit's own 03_scheduling-c-submission-race can't be built:\n"
        "kernel.c: In function 'f':\n"
        "/kit/build/gnu/submissions/03_scheduling/kernel.c:19:29: error: call to undeclared sqrt"
    )
    assert collect_evidence.first_error(output) == "kernel.c:19:29: error: call to undeclared sqrt"
    assert collect_evidence.first_error("one\nld: cannot find -lx") == "ld: cannot find -lx"
