"""Times that are there already: what goes on with them, what stands, and what begins anew."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from support import invented
from support.lab_folders import write_grading
from support.mpi_labs import HYBRID_LAB, LATENCY_LAB, PREDICTION, lab_of
from support.run_values import kept_runs

from numalab.evidence import read_record
from numalab.evidence.format import Build
from numalab.evidence.read_record import record_of
from numalab.files import write_json
from numalab.grading import kernel_grading as grading
from numalab.grading import timing_reuse
from numalab.grading.grade import grade
from numalab.grading.kernel_grading import Grading
from numalab.grading.node_lock import NodeLock, Note
from numalab.grading.stored_gradings import judge_again, read_grading
from numalab.grading.timing_reuse import OTHER_RECORD, RECORD, fingerprints
from numalab.harness import monitor
from numalab.installation import Installation
from numalab.judging.effort import effort_for
from numalab.judging.timing_account import timing_accounts
from numalab.judging.verdict import Verdict
from numalab.labs.declaration import Lab, load_lab, load_labs
from numalab.reports.verdict_words import AFRESH, earlier_words

Json = dict[str, Any]
NAME = "30_lab"
LAB = """
title = "A lab"
minutes = 1
languages = ["c", "fortran"]
contract = "x.h"
functions = ["compute"]

[[criterion]]
name = "correct"
kind = "correctness"
points = 2
at_most = 0

[[criterion]]
name = "efficiency"
kind = "timing"
points = 1
at_least = 0.8
"""
SESSION = 8  # generations at most
TIMED_OUT = {"status": "timed_out", "doing": "compute", "limit_s": 20.0, "n": 7, "printed_bytes": 0}
NODE = invented.TWO_NODES.describe()
FAST, SLOW = ({"solution": 0.23, "control": 0.23, "submission": s} for s in (0.23, 0.46))
EFFORTS = {
    is_quick: replace(effort_for("default", is_quick), max_replicates=SESSION)
    for is_quick in (True, False)
}


@dataclass
class FakePlace:
    """Answers as the monitor does; times: of the generations, one after another, the last for all
    that follow; how: every generation's submission ended."""

    times: Sequence[Mapping[str, float]] = (FAST,)
    how: Mapping[str, Any] = field(default_factory=lambda: invented.OK)
    generations: int = 0
    name = "here"
    slowness = 1.0
    monitor_options: Sequence[str] = ()

    def execute(self, command: Sequence[str], environment: Mapping[str, str]) -> monitor.Finished:
        named = itertools.pairwise(command)
        roles = [value.split("=")[0] for option, value in named if option == "--worker"]
        record: Json = {
            "kind": "check", "lab": NAME, "part": None, "team": 8, "role": roles[0], "seed": "0",
            "checks": [{"n": 7, "results": invented.RIGHT}], "outcome": invented.OK,
        }  # fmt: skip
        if command[1] == "generation":
            times = self.times[min(self.generations, len(self.times) - 1)]
            self.generations += 1
            record = invented.generation(invented.TWO_NODES, {role: times[role] for role in roles})
            record["roles"] = [
                role | {"outcome": self.how} if role["role"] == "submission" else role
                for role in record["roles"]
            ]
        return monitor.Finished(0, json.dumps(record), "")


@dataclass
class Graded:
    lab: Lab
    taken: int  # generations, now
    session: Grading
    verdict: Verdict

    @property
    def status(self) -> str:
        return self.verdict.statuses["efficiency"]

    @property
    def earlier(self) -> list[int]:
        return [each.generations for each in self.session.record.earlier_times]

    @property
    def in_record(self) -> int:
        return sum(run["kind"] == "generation" for run in kept_runs(self.session))


@dataclass
class Bench:
    """A checkout with one lab, whose program a test writes."""

    root: Path
    schema: Path
    program: str = "a program"
    build: Build = field(default_factory=lambda: Build("ok", "", ""))

    def grade(self, place: FakePlace | None = None, **more: Any) -> Graded:
        place = place or FakePlace()
        keeps = more.pop("keeps", True)
        quick = more.pop("quick", True)
        installation = Installation(self.root)
        lab = load_lab(installation.lab_folder(NAME))
        worker = installation.worker(NAME, "c", "submission")
        worker.parent.mkdir(parents=True, exist_ok=True)
        worker.write_text(self.program)
        session = Grading(
            installation, lab, "c", "submission", installation.lab_folder(NAME), EFFORTS[quick],
            more.pop("node", NODE), lambda step: None, place=place, **more,
        )  # fmt: skip
        verdict = grade(session)
        read_record.record_of(read_record.record_json(session.record))
        if keeps:
            session.keep(verdict)
        return Graded(lab, place.generations, session, verdict)

    @property
    def kept(self) -> Path:
        return Installation(self.root).results_folder(NAME, "c", "submission")


@pytest.fixture
def bench(tmp_path: Path, schema: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    for folder in ("labs", "solutions"):
        (tmp_path / folder / NAME).mkdir(parents=True)
    write_grading(tmp_path / "labs" / NAME, LAB)
    made = Bench(tmp_path, schema)
    monkeypatch.setattr(grading, "build_kernel", lambda *_: made.build)
    monkeypatch.setattr(grading, "build_facts", lambda _: {"c_compiler": "GNU 13"})
    monkeypatch.setattr(grading, "build_targets", lambda *_: None)
    return made


def wavering() -> FakePlace:
    """Two of a session's eight generations are slow, the control's, too: that decides nothing."""
    return FakePlace([SLOW | {"control": 0.46} if g in (2, 5) else FAST for g in range(SESSION)])


# ---- what is decided -----------------------------------------------------------------------


@pytest.mark.parametrize(("times", "status"), [(FAST, "pass"), (SLOW, "fail")])
def test_what_was_decided_stands_and_takes_no_new_times(
    bench: Bench, times: dict[str, float], status: str
) -> None:
    first = bench.grade(FakePlace([times]))
    assert (first.status, first.earlier) == (status, []) and first.taken
    other = SLOW if times is FAST else FAST  # would decide otherwise
    for _ in range(2):
        again = bench.grade(FakePlace([other]))
        assert (again.status, again.taken) == (status, 0)
        assert again.earlier == [first.taken] and again.in_record == first.taken


class CountedTurns(NodeLock):
    """Nobody else is there; tells how often times asked to be alone."""

    @contextmanager
    def exclusive(self, progress: Note) -> Iterator[None]:
        waits.append("waits")
        yield


waits: list[str] = []


def test_only_new_times_wait_for_their_turn(bench: Bench) -> None:
    waits.clear()
    bench.build = Build("does_not_compile", "kernel.c does not compile.", "")
    assert bench.grade(node_lock=CountedTurns()).taken == 0 and waits == []
    bench.build = Build("ok", "", "")
    assert bench.grade(node_lock=CountedTurns(), timing_refused="a login node").taken == 0
    assert waits == []
    assert bench.grade(node_lock=CountedTurns()).taken and waits == ["waits"]
    assert bench.grade(node_lock=CountedTurns()).taken == 0, "what is decided stands"
    assert waits == ["waits"]


def test_what_is_open_goes_on_and_each_session_is_counted(bench: Bench) -> None:
    first = bench.grade(wavering())
    assert first.status == "inconclusive" and first.taken == SESSION
    second = bench.grade(wavering())
    assert second.status == "inconclusive" and second.earlier == [SESSION]
    third = bench.grade(FakePlace([FAST]))
    assert third.earlier == [SESSION, SESSION] and third.status == "pass"
    assert third.in_record == 2 * SESSION + third.taken
    assert third.verdict.points == 3


def test_afresh_forgets_and_is_kept_in_its_place(bench: Bench) -> None:
    first = bench.grade(FakePlace([SLOW]))
    fresh = bench.grade(FakePlace([FAST]), afresh=True)
    assert fresh.status == "pass" and fresh.earlier == [] and fresh.in_record == fresh.taken
    assert bench.grade(FakePlace([SLOW])).status == "pass" != first.status


@pytest.mark.parametrize(
    "change",
    [
        {"quick": False},
        {"node": NODE | {"cores": 9}},
        {"node": NODE | {"cpu_model": "y"}},
    ],
    ids=["effort", "cores", "cpu"],
)
def test_what_makes_times_incomparable_begins_anew(bench: Bench, change: dict[str, Any]) -> None:
    bench.grade()
    assert bench.grade(**change).taken
    assert bench.grade(node=NODE | {"name": "n2"}, keeps=False).taken == 0, "of the same kind"


def test_another_program_begins_anew_and_going_back_does_not(bench: Bench) -> None:
    first = bench.grade(FakePlace([FAST]))
    bench.program = "another program"
    assert bench.grade(FakePlace([SLOW])).status == "fail"
    bench.program = "a program"
    back = bench.grade(FakePlace([SLOW]))
    assert (back.status, back.taken, back.earlier) == ("pass", 0, [first.taken])


def test_a_grading_that_comes_to_no_times_wipes_out_none(bench: Bench) -> None:
    """Stopped before, refused on a login node, or of a kernel that can't be built."""
    first = bench.grade()
    bench.build = Build("does_not_compile", "kernel.c:1: error", "")
    assert bench.grade().verdict.points == 0
    bench.grade()
    bench.build = Build("ok", "", "")
    assert bench.grade(timing_refused="a login node").taken == 0
    assert bench.grade(wavering()).earlier == [first.taken]


def test_a_process_that_did_not_end_is_no_time_and_all_begin_anew(bench: Bench) -> None:
    """It may have been the node's fault; what came before it does not count either, or who ends a
    process that is about to lose would keep what was won."""
    bench.grade(wavering())
    failed = bench.grade(FakePlace([FAST], how=TIMED_OUT))
    assert failed.status == "fail" and failed.earlier == [SESSION]
    again = bench.grade(FakePlace([FAST]))
    assert again.earlier == [] and again.status == "pass"


def test_damaged_records_are_no_records(bench: Bench) -> None:
    bench.grade()
    (bench.kept / RECORD).write_text('{"fingerprint": ')
    assert bench.grade().taken
    write_json(bench.kept / RECORD, ["no", "record"])
    assert bench.grade().taken


# ---- of other gradings ---------------------------------------------------------------------


def test_the_newest_of_other_gradings_of_the_same_counts(bench: Bench, tmp_path: Path) -> None:
    """As a job has them: its own folder is empty."""
    folders = []
    for number, place in enumerate((wavering(), wavering(), FakePlace([SLOW]))):
        if number == 2:
            bench.program = "another program"
        bench.grade(place, earlier=folders)
        folders.insert(0, bench.kept.rename(tmp_path / f"attempt{number}"))
    bench.program = "a program"
    again = bench.grade(FakePlace([FAST]), earlier=folders)
    assert again.earlier == [SESSION, SESSION] and again.status == "pass"
    assert not (bench.kept / OTHER_RECORD).exists()


# ---- what is told --------------------------------------------------------------------------


def test_report_and_json_tell_of_when_times_are(bench: Bench) -> None:
    first = bench.grade(wavering())
    stored = read_grading(bench.kept, {NAME: first.lab}, is_foreign=True)
    judged = judge_again(Installation(bench.root), stored)
    assert earlier_words(judged) is None and "earlier_times" not in judged.json_data()
    second = bench.grade(FakePlace([FAST]))
    judged = judge_again(
        Installation(bench.root), read_grading(bench.kept, {NAME: first.lab}, is_foreign=True)
    )
    said = earlier_words(replace(judged, afresh=AFRESH))
    assert said is not None and "8 generations of 20" in said and said.endswith(AFRESH)
    assert f"and {second.taken} taken now." in said
    assert judged.json_data()["earlier_times"][0]["generations"] == SESSION
    bench.grade()
    judged = judge_again(
        Installation(bench.root), read_grading(bench.kept, {NAME: first.lab}, is_foreign=True)
    )
    said = earlier_words(judged)
    assert said is not None and said.endswith("none was taken now, since that decides them.")
    assert timing_accounts(first.lab, judged.verdict, judged.local_evidence)


# ---- what is the same ----------------------------------------------------------------------


def of(installation: Installation, lab: Lab, **handed_in: Any) -> str:
    """handed_in: by file, without its ending, its text or its variables."""
    texts = [
        {"file": file.name, "complaint": None,
         "variables": given if isinstance(given, dict) else {},
         "text": given if isinstance(given, str) else ""}
        for file in lab.files
        for given in [handed_in[file.name.partition(".")[0]]]
    ]  # fmt: skip
    record = record_of(invented.evidence(invented.ONE_NODE) | {
        "sandbox": "none", "handed_in": texts,
    })  # fmt: skip
    quick = effort_for("default", True)
    return fingerprints(installation, lab, installation.root / "x", NODE, quick, 4, record)[0]


def test_a_launch_counts_by_what_it_says(tmp_path: Path) -> None:
    lab = lab_of(tmp_path / "labs", "31_hybrid", HYBRID_LAB)
    now = of(Installation(tmp_path), lab, launch='ranks = 4\nbind_to = "core"')
    same = '# a remark\nbind_to = "core"\n\nranks    = 4\nthreads = 1\n'
    assert of(Installation(tmp_path), lab, launch=same) == now
    assert of(Installation(tmp_path), lab, launch='ranks = 2\nbind_to = "core"') != now
    assert of(Installation(tmp_path), lab, launch="ranks = ") != now


def test_what_steers_no_time_does_not_count(tmp_path: Path) -> None:
    lab = lab_of(tmp_path / "labs", "31_messages", LATENCY_LAB)
    given = {"near": "ranks = 2", "far": "ranks = 2", "predict": PREDICTION}
    now = of(Installation(tmp_path), lab, **given)
    assert of(Installation(tmp_path), lab, **given | {"predict": "time_64_kib_us = 9"}) == now


def test_of_placements_only_the_one_that_is_timed_counts(installation: Installation) -> None:
    lab = load_labs(installation.root)["02_affinity"]
    assert lab.timed_placements is not None
    timed = lab.timed_placements.file.name.partition(".")[0]
    names = [file.name.partition(".")[0] for file in lab.files]
    given: dict[str, Any] = {name: {"OMP_PLACES": "cores", "A": "b"} for name in names}
    now = of(installation, lab, **given)
    swapped = {name: dict(reversed(values.items())) for name, values in given.items()}
    assert of(installation, lab, **swapped) == now
    others = {name: {"OMP_PLACES": "threads"} for name in names if name != timed}
    assert others and of(installation, lab, **given | others) == now
    assert of(installation, lab, **given | {timed: {"OMP_PLACES": "threads"}}) != now


def test_where_the_kits_own_is_timed_the_students_program_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Path] = []

    def code(program: Path) -> bytes:
        asked.append(program)
        return b""

    monkeypatch.setattr(timing_reuse, "_code", code)
    hybrid = lab_of(tmp_path / "labs", "31_hybrid", HYBRID_LAB)
    of(Installation(tmp_path), hybrid, launch="ranks = 2")
    assert asked == []
    messages = lab_of(tmp_path / "labs", "31_messages", LATENCY_LAB)
    of(Installation(tmp_path), messages, near="", far="", predict="")
    assert asked == [tmp_path / "x"]
