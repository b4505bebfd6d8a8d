"""`numalab grade --on` as a user calls it, and where no virtual node can be had."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from support import invented
from support.commands import (
    Done,
    grade_json,
    numalab_command,
    wait_until_gone,
    without_times,
)

from numalab.errors import Interrupted, UserError
from numalab.evidence.read_record import parse
from numalab.grading.grade import grade
from numalab.grading.kernel_grading import Grading
from numalab.grading.vm_gradings import grade_on_vms, left_out
from numalab.harness.monitor import describe_node
from numalab.installation import Installation
from numalab.judging.effort import effort_for
from numalab.judging.judge import judge
from numalab.judging.places import mark_undecided
from numalab.judging.verdict import merge_machine, verdict_on
from numalab.labs.declaration import KERNEL_FILES, Lab
from numalab.machines.gallery import find_machine
from numalab.reports.verdict_words import criterion_rows
from numalab.virtual import place
from numalab.virtual.place import VirtualPlace, VirtualPlaces
from numalab.virtual.plan import GuestOptions

pytestmark = [pytest.mark.builds, pytest.mark.boots]

Json = dict[str, Any]
NUMA_NODES = {"hydra": 2, "nebula": 8}


# ---- grading on machines -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def solutions(
    installation: Installation, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Done, Json]:
    folder = tmp_path_factory.mktemp("out")
    return grade_json(
        installation, folder, "01", "--solutions", "--quick", "--lang", "fortran",
        "--on", "hydra", "--on", "nebula", "--on", "hydra", **without_times(folder),
    )  # fmt: skip


@pytest.fixture(scope="module", params=["hydra", pytest.param("nebula", marks=pytest.mark.slow)])
def handouts(
    installation: Installation,
    tmp_path_factory: pytest.TempPathFactory,
    request: pytest.FixtureRequest,
) -> tuple[Done, Json]:
    folder = tmp_path_factory.mktemp("out")
    return grade_json(
        installation, folder, "01", "--handouts", "--quick", "--lang", "c", "--on", request.param,
        **without_times(folder),
    )  # fmt: skip


def on(result: Json, where: str) -> dict[str, Json]:
    return {c["name"]: c for c in result["criteria"] if c["where"] == where}


def test_solutions_pass_on_machines(solutions: tuple[Done, Json]) -> None:
    done, data = solutions
    assert done.code == 0, done.err
    assert [result["language"] for result in data["results"]] == ["fortran"]
    for result in data["results"]:
        for machine in ("hydra", "nebula"):
            found = on(result, machine)
            assert found.keys() == {"shared_out", "touched_where_used", "local_pages"}
            assert {c["status"] for c in found.values()} == {"pass"}
            assert found["local_pages"]["value"] == 1
        assert "local_pages" not in on(result, "here")
        timed = sum(c["max_points"] for c in result["criteria"] if c["kind"] == "timing")
        assert result["points"] == result["max_points"] - timed == 10 - timed
    assert [machine["name"] for machine in data["machines"]] == ["hydra", "nebula"]


def test_one_boot_serves_all(solutions: tuple[Done, Json]) -> None:
    """Or two, where a snapshot does not wake or a boot hangs, as one in many does."""
    done, _ = solutions
    for machine in ("hydra", "nebula"):
        begun = re.findall(rf": (booting|waking) {machine}(?! once more)", done.err)
        assert begun in (["waking"], ["booting"], ["waking", "booting"]), done.err


def test_handouts_fail_on_a_machine_with_the_share_of_one_node(
    installation: Installation, handouts: tuple[Done, Json]
) -> None:
    done, data = handouts
    assert done.code == 1
    (machine,) = (machine["name"] for machine in data["machines"])
    for result in data["results"]:
        found = on(result, machine)
        for name in ("local_pages", "touched_where_used"):
            assert found[name]["status"] == "fail"
            assert found[name]["value"] == pytest.approx(1 / NUMA_NODES[machine], abs=0.01)
        assert found["shared_out"]["status"] == "pass"
    assert wait_until_gone(machine) == []


def test_times_are_never_taken_on_machines(
    installation: Installation, handouts: tuple[Done, Json]
) -> None:
    _, data = handouts
    for result in data["results"]:
        for criterion in result["criteria"]:
            assert criterion["kind"] != "timing" or criterion["where"] == "here"
    (machine,) = (machine["name"] for machine in data["machines"])
    folder = installation.results_folder("01_first_touch", "c", "handout") / f"on_{machine}"
    evidence = json.loads((folder / "evidence.json").read_text())
    assert {run["kind"] for run in evidence["runs"]} == {"trace", "placement"}
    assert evidence["machine"]["name"] == machine
    assert evidence["node"]["numa_nodes"] == NUMA_NODES[machine]
    assert evidence["sandbox"] == "virtual_machine"


def parallel_where_long(installation: Installation, language: str, tmp_path: Path) -> str:
    """Hands in the solution, for one thread where the arrays are short. Returns the folder."""
    file = KERNEL_FILES[language]
    solution = (installation.solution_folder("01_first_touch") / file).read_text()
    (tmp_path / "01_first_touch").mkdir()
    handed_in = solution.replace("schedule(static)", "schedule(static) if (n > 1000000)")
    assert handed_in.count("if (n > 1000000)") == 2
    (tmp_path / "01_first_touch" / file).write_text(handed_in)
    return str(tmp_path)


def test_without_on_a_machine_fills_in_what_this_node_can_not_show(
    installation: Installation, tmp_path: Path
) -> None:
    done, data = grade_json(
        installation, tmp_path, "01", "--quick", "--lang", "c", "--anywhere", "--submission",
        parallel_where_long(installation, "c", tmp_path), **without_times(tmp_path),
    )  # fmt: skip
    (result,) = data["results"]
    if data["node"]["numa_nodes"] > 1:
        assert data["machines"] == []
        return
    assert done.code == 0
    assert on(result, "hydra").keys() == {"local_pages"}
    assert on(result, "hydra")["local_pages"]["status"] == "pass"
    assert "On hydra:" in done.out and "scaled down" in done.out


def test_here_only_stays_here(installation: Installation, tmp_path: Path) -> None:
    done, data = grade_json(
        installation, tmp_path, "01", "--quick", "--lang", "fortran", "--here-only", "--submission",
        parallel_where_long(installation, "fortran", tmp_path), **without_times(tmp_path),
    )  # fmt: skip
    (result,) = data["results"]
    assert {c["where"] for c in result["criteria"]} == {"here"}
    assert "fail" not in {c["status"] for c in result["criteria"]}
    assert on(result, "here")["shared_out"]["status"] == "pass"
    assert "hydra" not in done.err
    done = numalab_command(installation, "grade", "--here-only", "--on", "hydra")
    assert done.code == 2
    done = numalab_command(installation, "grade", "--on", "hidra")
    assert done.code == 2 and "Did you mean hydra?" in done.said


# ---- where no virtual node can be had ----------------------------------------------------------


@pytest.fixture
def graded(installation: Installation, first_touch: Lab) -> Iterator[Grading]:
    node = describe_node(installation) | {"numa_nodes": 1}
    with installation.lock():
        session = Grading(
            installation,
            first_touch,
            "c",
            "solution",
            installation.solution_folder(first_touch.name),
            effort_for("default", True),
            node,
            lambda step: None,
            timing_refused="Not now.",
        )
        grade(session)
        yield session


@pytest.mark.parametrize("named", [True, False])
def test_without_qemu_the_rest_is_graded(
    installation: Installation, graded: Grading, monkeypatch: pytest.MonkeyPatch, named: bool
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr("numalab.virtual.place.build_programs", lambda installation: None)
    machines = [find_machine(installation, "hydra")] if named else []
    with VirtualPlaces(installation, GuestOptions()) as places:
        verdict, _ = grade_on_vms(graded, machines, places)
    found = {(c.name, c.where): c for c in verdict.criteria}
    assert found["correct", "here"].status == "pass"
    place, status = ("hydra", "error") if named else ("here", "not_gradable")
    assert found["local_pages", place].status == status
    assert "QEMU, which is not installed" in found["local_pages", place].why


def assert_holds_little(there: VirtualPlace, installation: Installation) -> None:
    """Neither the kit nor a program of the run before, and nothing of this process's."""
    folders = (installation.root, installation.build, "/numalab", "/root")
    script = " ".join([*(f"ls -A {folder};" for folder in folders), "echo told; env"])
    listed, told = there.execute(["/bin/sh", "-c", script], os.environ).output.split("told\n")
    assert listed == ""
    names = {line.split("=")[0] for line in told.splitlines()} - {"PWD", "_", "SHLVL"}
    assert names <= {"PATH", "LD_LIBRARY_PATH", "TMPDIR", "LANG", "LC_ALL"}


@pytest.mark.slow
def test_a_guest_that_is_lost_is_booted_once_more(
    installation: Installation, graded: Grading, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As soon as it has booted, and when it dies later."""
    describe = place.describe_node
    lost = [1]

    def once_lost(installation: Installation, where: Any) -> Json:
        if lost:
            lost.pop()
            raise place.PlaceLost("gone")
        return describe(installation, where)

    monkeypatch.setattr(place, "describe_node", once_lost)
    machine = find_machine(installation, "hydra")
    program = installation.worker(graded.lab.name, "c", "submission")
    guests = []
    with VirtualPlaces(installation, GuestOptions()) as places:
        for _ in range(2):
            verdict, _ = grade_on_vms(graded, [machine], places)
            there = [c for c in verdict.criteria if c.where == "hydra"]
            assert there and {c.status for c in there} == {"pass"}
            assert places.numa_nodes() == {"hydra": 2}
            there = places.get(machine, [program], lambda step: None)
            assert_holds_little(there, installation)
            guests.append(there._guest)
            guests[-1].process.kill()
        places.drop("hydra")
        assert "scaled down" in places.note("hydra")
    assert guests[0] is not guests[1] and not lost


def test_ctrl_c_while_a_machine_boots_keeps_what_was_graded(
    installation: Installation, graded: Grading, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*arguments: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("numalab.virtual.place.make_plan", interrupted)
    here = graded.verdict()
    with (
        VirtualPlaces(installation, GuestOptions()) as places,
        pytest.raises(Interrupted) as stopped,
    ):
        grade_on_vms(graded, [find_machine(installation, "hydra")], places)
    verdict, sessions = stopped.value.args
    assert sessions == []
    there = [c for c in verdict.criteria if c.where == "hydra"]
    assert {c.name for c in there} == {"shared_out", "touched_where_used", "local_pages"}
    assert all(c.status == "inconclusive" and c.cause == "interrupted" for c in there)
    before, after = ({(c.name, c.where): c.status for c in v.criteria} for v in (here, verdict))
    gone = {key for key, status in before.items() if after.get(key) != status}
    assert gone == {("local_pages", "here")}, "what was graded stays"


def test_what_an_interrupt_left_out_is_open(labs: dict[str, Lab]) -> None:
    """Right on the first of three machines is not yet right."""
    hybrid = labs["07_hybrid"]
    record = invented.evidence(invented.ONE_NODE) | {
        "lab": hybrid.name, "runs": [invented.checked(part="code")],
    }  # fmt: skip
    evidence = parse(record)
    here = judge(hybrid, evidence)
    before = mark_undecided(hybrid, evidence, here, hybrid.machines)
    where = [c.where for c in before.criteria if c.name == "ranks_placed"]
    assert where == ["hydra", "nebula", "westmere-ex"], "not: not gradable here"
    assert before.statuses["ranks_placed"] == before.statuses["local_pages"] == "inconclusive"

    (placed,) = [c for c in hybrid.criteria if c.name == "ranks_placed"]
    right = replace(
        here,
        criteria=tuple(
            verdict_on(c, "pass", "reached", "Right.")
            if c is placed
            else verdict_on(c, "not_gradable", "not_run_there", "Not there.")
            for c in hybrid.criteria
        ),
    )
    on_hydra = merge_machine(here, right, "hydra", {"ranks_placed"})
    assert on_hydra.statuses["ranks_placed"] == "pass"
    verdict = mark_undecided(
        hybrid, evidence, on_hydra, ["nebula", "westmere-ex"], includes_first=False
    )
    assert verdict.statuses["ranks_placed"] == "inconclusive"
    assert verdict.statuses["local_pages"] == "not_gradable"
    assert verdict.points == on_hydra.points - 2
    assert verdict.points_of("inconclusive") - here.points_of("inconclusive") == 2
    rows = [r for r in criterion_rows(verdict.criteria) if r.criterion.name == "ranks_placed"]
    assert [(r.criterion.status, r.criterion.where, r.points) for r in rows] == [
        ("pass", "hydra", ""), ("inconclusive", "nebula", "-/2"),
    ]  # fmt: skip
    assert rows[1].elsewhere == ("westmere-ex",)

    record["runs"][0]["checks"][0]["results"] = wrong_results()
    broken = parse(record)
    verdict = mark_undecided(hybrid, broken, judge(hybrid, broken), hybrid.machines)
    assert verdict.statuses["local_pages"] == "not_gradable", "it would not have been run there"


def wrong_results() -> Json:
    return {
        "checked": 9, "mismatches": 1,
        "first_mismatch": {"array": "field", "element": 5, "expected": 1.0, "actual": 2.0,
                        "phase": "an iteration", "repetition": 0, "rank": 0},
    }  # fmt: skip


def test_a_wrong_kernel_is_not_judged_on_machines(
    installation: Installation, first_touch: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not run is not failed, on a machine that was named, either."""
    record = invented.evidence(invented.ONE_NODE)
    record["runs"] = record["runs"][:1]
    record["runs"][0]["checks"][0]["results"] = wrong_results()
    evidence = parse(record)
    session = cast(
        Grading,
        SimpleNamespace(
            installation=installation,
            lab=first_touch,
            evidence=evidence,
            language="c",
            record=SimpleNamespace(),
        ),
    )
    found, there = grade_on_vms(
        session, [find_machine(installation, "hydra")], cast(VirtualPlaces, None)
    )
    on_hydra = [c for c in found.criteria if c.where == "hydra"]
    assert there == [] and len(on_hydra) == 3
    assert {c.status for c in on_hydra} == {"not_gradable"}
    assert {c.why for c in on_hydra} == {"Not run there, until the kernel is right here."}


@pytest.mark.parametrize(
    ("build", "says"),
    [
        ("does_not_compile", "once the kernel can be built."),
        ("ok", "once the kernel is right here"),
    ],
)
def test_why_no_virtual_node_was_asked_is_told(
    installation: Installation, first_touch: Lab, build: str, says: str
) -> None:
    record = invented.evidence(invented.ONE_NODE)
    record["build"]["kernel"]["status"] = build
    record["runs"] = [] if build != "ok" else record["runs"][:1]
    if build == "ok":
        record["runs"][0]["outcome"] = {
            "status": "timed_out", "doing": "compute", "n": 7, "limit_s": 5.0, "printed_bytes": 0,
        }  # fmt: skip
    evidence = parse(record)
    session = SimpleNamespace(
        installation=installation,
        lab=first_touch,
        evidence=evidence,
        language="c",
        record=SimpleNamespace(),
    )
    found, there = grade_on_vms(cast(Grading, session), [], cast(VirtualPlaces, None))
    local = next(c for c in found.criteria if c.name == "local_pages")
    assert local.status == "not_gradable" and there == []
    assert "needs 2 or more. A virtual node shows it, " in local.why and says in local.why
    speedup = next(c for c in found.criteria if c.name == "speedup")
    assert "virtual node" not in speedup.why  # no times there


def test_machines_of_the_lab_that_on_leaves_out_are_named(labs: dict[str, Lab]) -> None:
    """Full points on hydra are not yet what the lab asks for."""
    affinity = labs["02_affinity"]
    said = left_out(affinity, ["hydra"])
    assert said is not None
    assert "nebula, westmere-ex and westmere-ep" in said and "hydra" not in said
    assert left_out(affinity, list(affinity.machines)) is None
    assert left_out(affinity, []) is None  # without --on: all of them
    assert left_out(labs["01_first_touch"], ["nebula"]) is None  # one is enough there


def test_limits_on_a_machine_are_no_failure(
    installation: Installation, graded: Grading, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("numalab.virtual.place.VirtualPlace.slowness", 1e-5)
    with VirtualPlaces(installation, GuestOptions()) as places:
        verdict, _ = grade_on_vms(graded, [find_machine(installation, "hydra")], places)
    there = [c for c in verdict.criteria if c.where == "hydra"]
    assert {c.status for c in there} == {"error"}
    assert {c.name for c in there} == {"shared_out", "touched_where_used", "local_pages"}


def test_what_keeps_a_node_from_booting_is_told_once_and_again(installation: Installation) -> None:
    said: list[str] = []
    with (
        installation.lock(),
        VirtualPlaces(installation, GuestOptions(guest_kernel=Path("/no/such"))) as places,
    ):
        for _ in range(2):
            with pytest.raises(UserError, match="/no/such"):
                places.get(find_machine(installation, "hydra"), [], said.append)
    assert said == []
