"""Lab 02 on this node: what only a node with several NUMA nodes is graded by, on a node that
is taken for one."""

from __future__ import annotations

import copy
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.run_values import kept_runs

from numalab.evidence.read_record import record_json, record_of
from numalab.grading.grade import grade
from numalab.grading.kernel_grading import Grading
from numalab.harness.monitor import describe_node
from numalab.installation import Installation
from numalab.judging.effort import effort_for
from numalab.judging.thread_goals import environment_of, timed_team
from numalab.labs.declaration import Lab

Json = dict[str, Any]
LAB = "02_affinity"
# There is nothing to be decided, which would be looked for until the time is over.
FEW = replace(effort_for("default", True), min_replicates=2, max_replicates=2)


@pytest.fixture
def two_nodes(installation: Installation) -> Json:
    """This node's description with its cores divided between two NUMA nodes."""
    node = copy.deepcopy(describe_node(installation))
    if node["cores"] < 2:
        pytest.skip("one core can't be two NUMA nodes")
    cores = sorted({entry["core"] for entry in node["pu_list"]})
    for entry in node["pu_list"]:
        entry["numa_node"] = int(cores.index(entry["core"]) >= len(cores) / 2)
    node["numa_nodes"] = 2
    first = node["numa_node_list"][0]
    node["numa_node_list"] = [first | {"numa_node": number} for number in range(2)]
    return node


@pytest.mark.builds
def test_bandwidth_compares_placements_of_the_kits_program(
    installation: Installation, labs: dict[str, Lab], two_nodes: Json, tmp_path: Path
) -> None:
    lab = labs[LAB]
    for path in installation.solution_folder(LAB).glob("*.*"):
        if path.suffix in (".c", ".env"):
            shutil.copy(path, tmp_path)
    own = {"OMP_PLACES": "cores", "OMP_PROC_BIND": "spread"}
    (tmp_path / "omp_spread.env").write_text("".join(f"{k}={v}\n" for k, v in own.items()))
    session = Grading(
        installation, lab, "c", "submission", tmp_path, FEW, two_nodes,
        lambda step: None,
    )  # fmt: skip
    with installation.lock():
        verdict = grade(session)
    record_of(record_json(session.record))
    found = {c.name: c for c in verdict.criteria}
    # In truth there is one NUMA node, so near and far are alike: no speedup to earn.
    assert found["bandwidth"].status in ("not_gradable", "inconclusive"), found["bandwidth"].why
    generations = [run for run in kept_runs(session) if run["kind"] == "generation"]
    assert generations
    team = timed_team(two_nodes)
    for run in generations:
        assert run["team"] == team.threads == two_nodes["cores"] // 2
        environments = {role["role"]: role["environment"] for role in run["roles"]}
        environments.pop("control", None)  # joins where it stays open, for the probe
        probe = environments.pop("probe", environment_of(team.all_nodes))
        assert probe == environment_of(team.all_nodes)
        assert environments == {
            "handout": environment_of(team.single_node),
            "solution": environment_of(team.all_nodes),
            "submission": own,
        }
    (first, *_) = generations
    outcomes = {role["role"]: role["outcome"]["status"] for role in first["roles"]}
    assert outcomes["probe"] == "ok"
    # The threads went where the file says, and that is told of the node as it was described.
    spread = [run for run in kept_runs(session) if run.get("file") == "omp_spread.env"]
    assert {run["runtime"] for run in spread} == {"libomp", "libgomp"}
    assert [len(thread["allowed_pus"]) for thread in spread[0]["threads"]] == [1, 1]
    assert found["omp_spread"].status == "pass", found["omp_spread"].why


@pytest.mark.builds
def test_placements_are_graded_though_the_kernel_does_not_compile(
    installation: Installation, labs: dict[str, Lab], two_nodes: Json, tmp_path: Path
) -> None:
    for path in installation.solution_folder(LAB).glob("*.env"):
        shutil.copy(path, tmp_path)
    (tmp_path / "kernel.c").write_text("void locate(\n")
    session = Grading(
        installation,
        labs[LAB],
        "c",
        "submission",
        tmp_path,
        effort_for("default", True),
        two_nodes,
        lambda step: None,
    )
    with installation.lock():
        verdict = grade(session)
    found = {c.name: c.status for c in verdict.criteria}
    assert found["kmp_full"] == found["omp_full"] == "pass", json.dumps(found)
    assert found["located"] == found["correct"] == "fail"
