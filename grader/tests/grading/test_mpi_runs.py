"""What the monitor is asked to run of a lab on MPI: its command lines, at a place that answers
without running anything."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from msgspec import structs
from support import invented, mpi_labs
from support.lab_folders import write_grading
from support.mpi_labs import PREDICTION, node_of
from support.run_values import kept_runs

from numalab.evidence.format import Build, ShownMachine
from numalab.evidence.kinds import LATENCY, RANKS
from numalab.evidence.read_record import record_json, record_of
from numalab.evidence.record import CONTROL, SOLUTION
from numalab.grading import handed_files, timing
from numalab.grading import kernel_grading as grading
from numalab.grading.grade import grade
from numalab.grading.kernel_grading import Grading
from numalab.harness import monitor
from numalab.installation import Installation
from numalab.judging import planner
from numalab.judging.effort import effort_for
from numalab.judging.verdict import Verdict
from numalab.labs.declaration import Lab, load_lab

Json = dict[str, Any]


@dataclass(frozen=True)
class Asked:
    """One command of the monitor."""

    run: str
    options: Sequence[str]
    environment: Mapping[str, str]

    def of(self, name: str) -> list[str]:
        """The values of an option that may be repeated."""
        pairs = zip(self.options, self.options[1:], strict=False)
        return [value for option, value in pairs if option == name]

    def of_role(self, name: str, role: str) -> list[str]:
        return [v.partition(":")[2] for v in self.of(name) if v.startswith(f"{role}:")]


@dataclass
class FakePlace:
    """Answers as the monitor does where all is well; changes: what it says else of a kind,
    and "wavering" if the submission is too slow in every other generation."""

    changes: dict[str, Json] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    name = "here"
    slowness = 1.0
    monitor_options: Sequence[str] = ()

    def execute(self, command: Sequence[str], environment: Mapping[str, str]) -> monitor.Finished:
        asked = Asked(command[1], command[2:], environment)
        self.asked.append(asked)
        record = self._record(asked)
        return monitor.Finished(0, json.dumps(record | self.changes.get(asked.run, {})), "")

    def _record(self, asked: Asked) -> Json:
        part = (asked.of("--part") or [""])[0]
        roles = [value.split("=")[0] for value in asked.of("--worker")]
        if asked.run == "generation":
            times = {role: 0.44 if role == "handout" else 0.23 for role in roles}
            if "wavering" in self.changes and len(self.of("generation")) % 2:
                times["submission"] = 0.44
            return invented.generation(invented.TWO_NODES, times) | {"part": part}
        made: dict[str, Callable[[], Json]] = {
            "check": lambda: invented.checked(
                part=part, synchronous="--synchronous-sends" in asked.options
            ),
            "thread_level": lambda: invented.thread_level(part, invented.rank_level("funneled")),
            "ranks": lambda: invented.launched("", part, self._ranks(asked)),
            "latency": lambda: invented.latency(part),
        }
        found = made[asked.run]() | {"role": roles[0], "team": int(asked.of("--threads")[0])}
        for key in ("file", "refused"):  # which the monitor does not know
            found.pop(key, None)
        return found

    def _ranks(self, asked: Asked) -> list[Json]:
        """Where hydra would put them."""
        even, odd = range(0, 32, 2), range(1, 32, 2)
        words = [value.partition(":")[2] for value in asked.of("--launch")]
        if words == BY_CORE:
            return invented.job([[0]], [[2]])
        if words == BY_PACKAGE:
            return invented.job([[0]], [[1]])
        if "numa" in words:
            return invented.job(*([[pu] for pu in pus] for pus in (even, odd)))
        return invented.job(*([range(32)] for _ in range(int(asked.of("--ranks")[0][-1]))))

    def of(self, run: str) -> list[Asked]:
        return [asked for asked in self.asked if asked.run == run]


@dataclass
class Graded:
    lab: Lab
    place: FakePlace
    session: Grading
    verdict: Verdict

    def status(self, name: str) -> str:
        return next(c.status for c in self.verdict.criteria if c.name == name)


BY_CORE = ["-bind-to", "core", "-map-by", "core"]
BY_PACKAGE = ["-bind-to", "core", "-map-by", "socket"]
CORES = 'ranks = 2\nbind_to = "core"\n'
FAR = f'{CORES}map_by = "package"\n'
PER_NODE = 'ranks = { one_per = "numa_node" }\nthreads = { one_per = "core" }\n'
NEWCOMER = 'ranks = { one_per = "core" }\nthreads = { one_per = "pu" }\nbind_to = "none"\n'
FLAT = 'ranks = { one_per = "core" }\n'
SOLUTIONS = {
    "near.toml": CORES, "far.toml": FAR, "predict.toml": PREDICTION, "launch.toml": PER_NODE,
}  # fmt: skip


@pytest.fixture
def run(tmp_path: Path, installation: Installation, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Grades a lab with files that were handed in, the solution's where there is none."""
    monkeypatch.setattr(grading, "build_kernel", lambda *_: Build("ok", "", ""))
    monkeypatch.setattr(grading, "build_facts", lambda _: {"mpi": "MPICH 4.0.2"})
    for module in (grading, handed_files):
        monkeypatch.setattr(module, "build_targets", lambda *_: None)
    monkeypatch.setenv("UCX_TLS", "tcp")
    monkeypatch.setenv("PMI_RANK", "3")
    monkeypatch.setenv("MPIR_CVAR_ENABLE_GPU", "1")
    monkeypatch.setenv("SLURM_JOB_ID", "7")

    def graded(
        text: str, files: dict[str, str] | None = None, machine: str = "hydra", **changes: Json
    ) -> Graded:
        name = "30_lab"
        for folder in ("labs", "solutions", "mine"):
            (tmp_path / folder / name).mkdir(parents=True, exist_ok=True)
        write_grading(tmp_path / "labs" / name, text)
        (tmp_path / "labs" / name / "compared").mkdir(exist_ok=True)
        (tmp_path / "labs" / name / "compared" / "newcomer.toml").write_text(NEWCOMER)
        (tmp_path / "labs" / name / "compared" / "flat.toml").write_text(FLAT)
        for file, content in SOLUTIONS.items():
            (tmp_path / "solutions" / name / file).write_text(content)
            (tmp_path / "mine" / name / file).write_text((files or {}).get(file, content))
        place = FakePlace(changes)
        session = Grading(
            Installation(tmp_path), load_lab(tmp_path / "labs" / name), "c", "submission",
            tmp_path / "mine" / name, effort_for("default", True), node_of(installation, machine),
            lambda step: None, place=place,
        )  # fmt: skip
        verdict = grade(session)
        record_of(record_json(session.record))
        return Graded(session.lab, place, session, verdict)

    return graded


def test_a_lab_of_messages(run: Any) -> None:
    found = run(mpi_labs.LATENCY_LAB)
    place = found.place
    assert [asked.run for asked in place.asked[:6]] == [
        "check", "check", "ranks", "ranks", "latency", "latency",
    ]  # fmt: skip
    for asked in place.of("check"):
        assert asked.of("--part") == ["ping_pong"] and not asked.of("--ranks")
        assert asked.of("--worker")[0].endswith("-submission")
    plain, synchronous = place.of("check")
    assert "--synchronous-sends" not in plain.options
    assert "--synchronous-sends" in synchronous.options
    near, far = place.of("ranks")
    for asked in (near, far, *place.of("latency")):
        assert asked.of("--ranks") == ["submission:2"] and asked.of("--threads") == ["1"]
        assert asked.of("--part") == ["placement"]
        assert asked.of("--worker")[0].endswith("-solution")
        assert asked.environment["OMP_NUM_THREADS"] == "1"
        given = {"SLURM_JOB_ID", "UCX_TLS", "PMI_RANK", "MPIR_CVAR_ENABLE_GPU"}
        assert not given & asked.environment.keys()
    assert near.of_role("--launch", "submission") == BY_CORE
    assert far.of_role("--launch", "submission") == BY_PACKAGE
    assert [asked.of_role("--launch", "submission") for asked in place.of("latency")] == [
        BY_CORE, BY_PACKAGE,
    ]  # fmt: skip
    latencies = found.session.evidence.runs_of(LATENCY)
    assert [one.file for one in latencies] == ["near.toml", "far.toml"]
    assert found.status("predicted") == "pass"
    for asked in place.of("generation"):
        roles = [value.split("=")[0] for value in asked.of("--worker")]
        assert roles == ["solution", "submission"]
        for role in roles:
            assert asked.of_role("--ranks", role) == ["2"]
            assert asked.of_role("--launch", role) == BY_CORE
        assert asked.of("--threads") == ["1"] and not asked.of("--set")
        assert asked.of("--worker")[1].endswith("-submission")
    assert place.of("generation")
    assert found.status("efficiency") == "pass"


def test_a_check_that_does_not_end_is_made_once_more(run: Any) -> None:
    waits = {"status": "timed_out", "doing": "ping_pong", "n": 1, "limit_s": 5.0, "ranks": 2,
             "printed_bytes": 0}  # fmt: skip
    found = run(mpi_labs.LATENCY_LAB, check={"outcome": waits})
    assert len(found.place.of("check")) == 2
    assert not found.place.of("generation")
    # What is of the kit's own kernel is looked at even so.
    assert len(found.place.of("ranks")) >= 2 and found.place.of("latency")
    assert found.status("predicted") == "pass"


def test_a_launch_without_meaning_is_not_started(run: Any) -> None:
    found = run(mpi_labs.LATENCY_LAB, {"near.toml": 'ranks = 40\nbind_to = "core"'})
    launched = found.session.evidence.runs_of(RANKS)
    assert launched[0].refused is not None
    assert launched[0].refused.startswith("near.toml: 40 ranks can't be bound to a core of their")
    # The solution's is held against it, and starts.
    solutions = [asked for asked in found.place.of("ranks") if asked.of_role("--ranks", "solution")]
    assert [asked.of_role("--launch", "solution") for asked in solutions] == [BY_CORE]
    # Messages are timed by the kit's launch in its stead.
    assert [one.file for one in found.session.evidence.runs_of(LATENCY)] == [None, "far.toml"]


@pytest.mark.parametrize(
    "near", ["ranks = 2", "ranks = 3", 'ranks = 2\nbind_to = "core"\nmap_by = "pu"', "ranks = ?"]
)
def test_messages_are_timed_on_a_core_each(run: Any, near: str) -> None:
    """westmere-ex's second PU is a sibling of the first."""
    files = {"near.toml": near, "far.toml": 'ranks = 2\nbind_to = "none"'}
    found = run(mpi_labs.LATENCY_LAB, files, "westmere-ex")
    assert [one.file for one in found.session.evidence.runs_of(LATENCY)] == [None]
    (asked,) = found.place.of("latency")
    assert asked.of_role("--launch", "submission") == BY_CORE


def test_a_lab_without_launch_files_times_messages_too(run: Any) -> None:
    text = mpi_labs.LATENCY_LAB
    start, end = text.index('\n[[criterion]]\nname = "near"'), text.index('name = "predicted"')
    found = run(text[:start] + "\n[[criterion]]\n" + text[end:])
    assert [one.file for one in found.session.evidence.runs_of(LATENCY)] == [None]
    assert found.status("predicted") == "pass"


def test_far_too_many_ranks_are_not_started(run: Any) -> None:
    found = run(mpi_labs.LATENCY_LAB, {"near.toml": "ranks = 100000"})
    refused = found.session.evidence.runs_of(RANKS)[0].refused
    assert refused is not None and "the kit starts at most 256 ranks" in refused
    found = run(mpi_labs.LATENCY_LAB, {"near.toml": "ranks = 2\nthreads = 100000"})
    assert found.session.evidence.runs_of(RANKS)[0].refused is not None


def test_a_hybrid_lab(run: Any) -> None:
    found = run(mpi_labs.HYBRID_LAB)
    (level,) = found.place.of("thread_level")
    assert level.of("--threads") == ["4"]
    assert level.environment["OMP_NUM_THREADS"] == "4"
    assert level.of("--worker")[0].endswith("-submission")
    (ranks,) = found.place.of("ranks")
    assert ranks.of("--ranks") == ["submission:2"] and ranks.of("--threads") == ["16"]
    assert ranks.of("--launch") == [
        f"submission:{word}" for word in ("-bind-to", "numa", "-map-by", "numa")
    ]
    wanted = {"OMP_NUM_THREADS": "16", "OMP_PLACES": "cores", "OMP_PROC_BIND": "spread"}
    assert wanted.items() <= ranks.environment.items()
    series: dict[str, list[Asked]] = {}
    slow = [r["slow"] for r in kept_runs(found.session) if r["kind"] == "generation"]
    for name, asked in zip(slow, found.place.of("generation"), strict=True):
        series.setdefault(name, []).append(asked)
    assert list(series) == ["compared/newcomer.toml", "compared/flat.toml"]
    unpinned = ["OMP_NUM_THREADS=1", "OMP_PROC_BIND=false"]
    for name, pinned in (
        ("compared/newcomer.toml", unpinned),  # 32 ranks share 32 PUs
        ("compared/flat.toml", ["OMP_NUM_THREADS=1", "OMP_PLACES=cores", "OMP_PROC_BIND=spread"]),
    ):
        asked = series[name][0]
        programs = dict(value.split("=") for value in asked.of("--worker"))
        assert list(programs) == ["handout", "solution", "submission"]
        assert all(program.endswith("-solution") for program in programs.values())
        assert asked.of_role("--ranks", "handout") == ["32"]
        assert asked.of_role("--set", "handout") == pinned
        for role in ("solution", "submission"):
            assert asked.of_role("--ranks", role) == ["2"]
            assert asked.of_role("--set", role) == [f"{k}={v}" for k, v in wanted.items()]
        # Only what a role is told places its threads.
        assert not {"OMP_PLACES", "OMP_PROC_BIND"} & asked.environment.keys()
    assert found.status("launch_speedup") == found.status("over_flat") == "pass"


def test_the_students_launch_is_what_is_timed(run: Any) -> None:
    found = run(mpi_labs.HYBRID_LAB, {"launch.toml": 'ranks = 4\nthreads = 2\nbind_to = "none"'})
    asked = found.place.of("generation")[0]
    assert asked.of_role("--ranks", "submission") == ["4"]
    assert asked.of_role("--launch", "submission") == ["-bind-to", "none"]
    assert asked.of_role("--set", "submission") == ["OMP_NUM_THREADS=2", "OMP_PROC_BIND=false"]


def test_the_control_joins_with_the_solutions_launch(run: Any) -> None:
    """Where so many generations as can decide have not."""
    found = run(mpi_labs.HYBRID_LAB, wavering={})
    slow = [r["slow"] for r in kept_runs(found.session) if r["kind"] == "generation"]
    asked = [a for a, s in zip(found.place.of("generation"), slow, strict=True) if "newc" in s]
    least = found.session.effort.min_replicates
    with_control = [bool(one.of_role("--ranks", "control")) for one in asked]
    assert with_control == [number >= least for number in range(len(asked))]
    assert len(asked) == found.session.effort.max_replicates
    assert asked[-1].of_role("--ranks", "control") == ["2"]
    assert asked[-1].of_role("--set", "control") == asked[-1].of_role("--set", "solution")


def test_another_launch_file_makes_earlier_generations_void(run: Any) -> None:
    first = run(mpi_labs.HYBRID_LAB).session.record.fingerprint
    assert run(mpi_labs.HYBRID_LAB).session.record.fingerprint == first
    other = {"launch.toml": 'ranks = 4\nbind_to = "core"'}
    assert run(mpi_labs.HYBRID_LAB, other).session.record.fingerprint != first


SHOWN = msgspec.convert(invented.MACHINE, ShownMachine)


def test_on_a_virtual_node_a_file_is_looked_at_once_for_both_languages(run: Any) -> None:
    first = run(mpi_labs.HYBRID_LAB).session
    place = FakePlace()
    there = [
        replace(first, place=place, machine=SHOWN, language=language, parsed={}, spent_s={})
        for language in ("c", "fortran")
    ]
    for session in there:
        session.record.build = first.record.build
        session.record.handed_in = first.record.handed_in
        handed_files.gather_placements(session)
    assert len(place.of("ranks")) == 1
    found = [[r for r in kept_runs(session) if r["kind"] == "ranks"] for session in there]
    assert len(found[0]) == 1 and found[0] == found[1]
    changed = [structs.replace(one, text="ranks = 1\n") for one in first.record.handed_in]
    other = replace(there[1], parsed={}, spent_s={})
    other.record.build, other.record.handed_in = first.record.build, changed
    handed_files.gather_placements(other)
    assert len(place.of("ranks")) == 3  # and the solution, since it misses its goal


def test_a_launch_without_meaning_is_not_timed(run: Any) -> None:
    found = run(mpi_labs.HYBRID_LAB, {"launch.toml": 'ranks = 33\nbind_to = "core"'})
    assert not found.place.of("generation")
    assert found.status("launch_speedup") == found.status("ranks_placed") == "fail"


def test_on_one_core_no_ranks_are_timed(run: Any) -> None:
    one = invented.Machine(1, 1, 1, False).describe() | {"pus_online": 1}
    found = run(mpi_labs.LATENCY_LAB)
    session = found.session
    session.node, session.place = one, FakePlace()
    session.parsed = {}
    session.__post_init__()
    verdict = {c.name: c.status for c in grade(session).criteria}
    assert verdict["predicted"] == verdict["efficiency"] == "not_gradable"
    assert not session.place.of("latency") and not session.place.of("generation")


@pytest.mark.parametrize("is_passive", [True, False])
def test_only_files_are_timed_with_the_runtimes_own_way_to_wait(
    monkeypatch: pytest.MonkeyPatch, labs: dict[str, Lab], is_passive: bool
) -> None:
    """A student's kernel is not told by it when it is timed; a launch costs what it costs a user.
    Also where the kit's own programs alone are timed, as the doctor has it."""
    lab = labs["01_first_touch" if is_passive else "07_hybrid"]
    timed = next(one for one in planner.timings(lab) if (one.slow is None) == is_passive)
    plans = {role: SimpleNamespace(threads=2, environment={}) for role in (SOLUTION, CONTROL)}
    monkeypatch.setattr(timing.mpi_runs, "plans_of_roles", lambda *_: plans)
    monkeypatch.setattr(timing.monitor, "launch_options", lambda *_: [])
    session = SimpleNamespace(lab=lab, threads=2, program=lambda role: Path(role))
    setup = timing._setup(session, timed, (SOLUTION, CONTROL))  # type: ignore[arg-type]
    assert setup is not None
    environment = monitor.worker_environment(lab, 2, is_of_file=setup.is_of_file)
    assert ("OMP_WAIT_POLICY" in environment) == is_passive
