"""A job that is to have a NUMA node for itself: the rules, on invented records of what Linux left
two programs. What Linux does with real files: tests/grading/test_cpusets.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support import invented
from support.cpuset_lab import CRITERIA, FILE, HEAD, RIGHT, RULES
from support.golden_texts import check_text, check_verdict, raises_text
from support.mpi_labs import lab_of

from numalab.errors import NothingToDraw
from numalab.evidence.kinds import CPUSETS
from numalab.evidence.read_record import parse, record_of
from numalab.judging import planner
from numalab.judging.judge import judge
from numalab.judging.verdict import CriterionVerdict
from numalab.labs.declaration import Lab
from numalab.reports.comparison import group_views
from numalab.reports.figures import groups_figure
from numalab.reports.group_table import group_picture, group_words

Json = dict[str, Any]
MACHINE = invented.TWO_NODES  # PUs 0, 2, 4, 6 and 1, 3, 5, 7
FIRST, LAST, ALL = [0, 2, 4, 6], [1, 3, 5, 7], list(range(8))
LAB = (
    HEAD
    + """
[[criterion]]
name = "correct"
kind = "correctness"
points = 1
at_most = 0
"""
    + CRITERIA
)
THERE = {
    "name": "hydra", "source": "x", "accelerator": "tcg", "guest_kernel": "6.1",
    "cores_per_numa_node": 4, "cores_per_numa_node_of_machine": 16,
    "numa_node_memory_bytes": 1 << 28,
}  # fmt: skip


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return lab_of(tmp_path, "33_sets", LAB)


def program(group: str, pus: list[int], node: int, **more: Any) -> Json:
    """As the right file leaves it."""
    return {
        "group": group, "threads": len(pus), "allowed_pus": pus, "allowed_numa_nodes": [node],
        "ran_on_pus": pus, "pages_at_first": [[0, 500], [1, 500]],
        "pages_of_first_half": [[node, 1000]], "pages_of_second_half": [[node, 1000]],
        "cpus": "", "mems": "", "partition": "member",
    } | more  # fmt: skip


def run(job: Json | None = None, others: Json | None = None, **more: Any) -> Json:
    return {
        "kind": "cpusets", "lab": "x", "part": None, "team": 4, "role": "submission", "file": FILE,
        "refusals": [],
        "programs": [
            program("job", LAST, 1) | (job or {}), program("others", FIRST, 0) | (others or {})
        ],
        "outcome": invented.OK,
    } | more  # fmt: skip


def session(*runs: Json, text: str = RIGHT, virtual: bool = True) -> Json:
    record = invented.evidence(MACHINE)
    handed = {"file": FILE, "complaint": None, "variables": {}, "text": text}
    return record | {
        "lab": "33_sets", "runs": [record["runs"][0] | {"lab": "x"}, *runs],
        "handed_in": [handed], "machine": THERE if virtual else None,
    }  # fmt: skip


def judged(lab: Lab, *runs: Json, **more: Any) -> dict[str, CriterionVerdict]:
    verdict = judge(lab, parse(session(*runs, **more)))
    return {one.name: one for one in verdict.criteria if one.name in RULES}


def failed(found: dict[str, CriterionVerdict]) -> set[str]:
    assert {one.status for one in found.values()} <= {"pass", "fail"}
    return {name for name, one in found.items() if one.status == "fail"}


def test_a_node_of_its_own(lab: Lab) -> None:
    record_of(session(run()))
    found = judged(lab, run())
    assert failed(found) == set()
    assert found["confined"].value == 1.0
    check_verdict(found["confined"], "pass", "reached")
    check_verdict(found["memory_confined"], "pass", "reached")
    check_verdict(found["others_out"], "pass", "reached")


def test_some_nodes_of_its_own(tmp_path: Path) -> None:
    """Seven of eight, as a variant of lab 08 asks for; and one of them too few."""
    lab = lab_of(tmp_path, "33_sets", LAB.replace("job_on_last_node", "job_on_all_but_first_node"))
    record = invented.evidence(invented.EIGHT_NODES)
    own = {pu["pu"] for pu in record["node"]["pu_list"] if pu["numa_node"] > 0}
    rest = {pu["pu"] for pu in record["node"]["pu_list"]} - own
    own_pages = [[node, 100] for node in range(1, 8)]

    def judged_with(job: Json) -> dict[str, CriterionVerdict]:
        looked = run(
            {
                "allowed_pus": sorted(own), "allowed_numa_nodes": list(range(1, 8)),
                "ran_on_pus": sorted(own), "threads": len(own),
                "pages_of_first_half": own_pages, "pages_of_second_half": own_pages,
            } | job,
            {"allowed_pus": sorted(rest), "ran_on_pus": sorted(rest)},
        )  # fmt: skip
        text = '[job]\ncpus = "all but node:first"\nmems = "all but node:first"\n'
        changed = session(looked, text=text) | {"node": record["node"]}
        verdict = judge(lab, parse(changed))
        return {one.name: one for one in verdict.criteria if one.name in RULES}

    found = judged_with({})
    assert failed(found) == set()
    check_verdict(found["confined"], "pass", "reached")
    found = judged_with({"allowed_numa_nodes": list(range(2, 8))})
    assert failed(found) == {"memory_confined"}
    check_verdict(found["memory_confined"], "fail", "missed")
    found = judged_with({"pages_of_second_half": [[0, 400], [1, 300]]})
    assert failed(found) == {"memory_confined"}
    assert found["memory_confined"].value == pytest.approx(1000 / 1400)


def test_memory_that_was_there_already_was_not_moved(lab: Lab) -> None:
    job = {"pages_at_first": [[1, 1000]]}
    assert "before" not in judged(lab, run(job))["memory_confined"].why


@pytest.mark.parametrize(
    ("job", "others", "text", "fails", "said"),
    [
        pytest.param(
            {"allowed_numa_nodes": [0, 1], "pages_of_first_half": [[0, 500], [1, 500]]}, {},
            RIGHT.replace('mems = "node:last"\n', "", 1), {"memory_confined"},
            "no mems in [job]: it has what the group above it has. On node 1 are 50 % of the pages "
            "that it brought along, and 100 %", id="cpus alone",
        ),
        pytest.param(
            {"allowed_pus": ALL, "ran_on_pus": ALL}, {},
            RIGHT.replace('cpus = "node:last"\n', "", 1), {"confined"},
            "may run on PUs 0-7; NUMA node 1 has PUs 1,3,5,7. cpuset.toml has no cpus in [job]",
            id="mems alone",
        ),
        pytest.param(
            {}, {"allowed_pus": ALL, "ran_on_pus": ALL, "allowed_numa_nodes": [0, 1]},
            RIGHT.split("[others]")[0], {"others_out"},
            "PUs 1,3,5,7 of them are the job's. cpuset.toml has no cpus in [others]",
            id="others have all",
        ),
        pytest.param(
            {"partition": "root"}, {"allowed_numa_nodes": [0, 1]},
            RIGHT.split("[others]")[0] + 'partition = "root"\n', {"others_out"},
            "may have memory of NUMA nodes 0-1, and node 1 is the job's. cpuset.toml has no mems "
            "in [others]: it has what the group above it has. A partition takes PUs away from all "
            "others, and no memory.", id="a partition keeps no memory",
        ),
        pytest.param(
            {"partition": "isolated", "ran_on_pus": [1]}, {}, RIGHT, {"confined"},
            "all of them stayed on PU 1 of PUs 1,3,5,7. In an isolated partition", id="isolated",
        ),
        pytest.param(
            {"partition": "isolated invalid (Cpu list in cpuset.cpus not exclusive)"},
            {"allowed_pus": LAST, "ran_on_pus": LAST},
            RIGHT.replace("all but node:last", "node:last"), {"others_out"},
            "reads \"isolated invalid (Cpu list in cpuset.cpus not exclusive)\": the other group's "
            "cpus name some of the same PUs.", id="both the same",
        ),
        pytest.param(
            {"allowed_pus": ALL, "ran_on_pus": ALL, "partition": "root invalid (Parent unable to "
             "distribute cpu downstream)"}, {}, RIGHT.replace("node:last", "all", 1), {"confined"},
            "would take every PU, and what runs above it would have none", id="the last PU",
        ),
        pytest.param(
            {"allowed_pus": [0, 2, 4, 6], "ran_on_pus": [0, 2, 4, 6]}, {}, RIGHT, {"confined"},
            "The job may run on PUs 0,2,4,6; NUMA node 1 has PUs 1,3,5,7.", id="the other node",
        ),
        pytest.param(
            {"ran_on_pus": [0, 1, 3, 5, 7]}, {}, RIGHT, {"confined"}, "was seen on PU 0, too",
            id="elsewhere all the same",
        ),
        pytest.param(
            {}, {"ran_on_pus": [0, 1]}, RIGHT, {"others_out"}, "PU 1 of them is the job's",
            id="others ran there",
        ),
        pytest.param(
            {}, {"pages_of_first_half": [[0, 800], [1, 200]]}, RIGHT, {"others_out"},
            "10 % of the other program's pages are still on node 1", id="others' pages stay",
        ),
        pytest.param(
            {}, {"allowed_pus": [0], "ran_on_pus": [0]}, RIGHT.replace("all but node:last", "0"),
            {"others_out"}, "has only PU 0 and NUMA node 0 of what is left: PUs 0,2,4,6",
            id="others are shut away",
        ),
        pytest.param(
            {"pages_of_second_half": [[0, 200], [1, 800]]}, {}, RIGHT, {"memory_confined"},
            "90 % of the job's pages are on node 1", id="pages elsewhere",
        ),
        pytest.param(
            {"allowed_pus": ALL, "ran_on_pus": ALL}, {},
            RIGHT.replace('"node:last"', '"all but all"', 1),
            {"confined"}, "cpus of [job] is an empty set, by which Linux means", id="an empty set",
        ),
    ],
)  # fmt: skip
def test_what_fails(
    lab: Lab, job: Json, others: Json, text: str, fails: set[str], said: str
) -> None:
    found = judged(lab, run(job, others), text=text)
    assert failed(found) == fails
    assert any(said in found[name].why for name in fails), [found[name].why for name in fails]


def test_what_linux_refuses_is_told(lab: Lab) -> None:
    refusals = [
        {"group": "job", "file": "cpuset.cpus", "value": "32-63", "error": "EINVAL"},
        {"group": "job", "file": "cpuset.mems", "value": "5", "error": "EINVAL"},
        {"group": "others", "file": "cgroup.procs", "value": "", "error": "ENOSPC"},
    ]
    free = {"allowed_pus": ALL, "ran_on_pus": ALL, "allowed_numa_nodes": [0, 1]}
    record = run(free, free, refusals=refusals)
    record_of(session(record))
    found = judged(lab, record, text='[job]\ncpus = "32-63"\nmems = "5"\n')
    assert failed(found) == set(RULES)
    check_verdict(found["confined"], "fail", "missed")
    check_verdict(found["memory_confined"], "fail", "missed")
    check_verdict(found["others_out"], "fail", "missed")


@pytest.mark.parametrize("name", ["memory_confined", "others_out"])
def test_pages_that_nobody_can_see_pass_nothing(lab: Lab, name: str) -> None:
    unseen = {"pages_of_first_half": None, "pages_of_second_half": None}
    found = judged(lab, run(**{"job" if name == "memory_confined" else "others": unseen}))
    check_verdict(found.pop(name), "not_gradable", "not_visible_here")
    assert not failed(found)


def test_a_node_that_a_machine_lacks_fails_without_a_run(lab: Lab) -> None:
    found = judged(lab, text='[job]\ncpus = "node:7"\n')
    assert failed(found) == set(RULES)
    check_verdict(found["confined"], "fail", "missed")


def test_a_file_that_can_not_be_used_fails(lab: Lab) -> None:
    record = session()
    record["handed_in"][0] |= {"complaint": "cpuset.toml: line 1: no.", "text": ""}
    verdict = judge(lab, parse(record))
    assert {c.cause for c in verdict.criteria if c.name in RULES} == {"bad_file"}


def test_a_file_that_can_not_be_used_costs_nothing_where_a_right_one_earns_nothing(
    lab: Lab,
) -> None:
    record = session(virtual=False)
    record["handed_in"][0] |= {"complaint": "cpuset.toml: line 1: no.", "text": ""}
    verdict = judge(lab, parse(record))
    of_rules = [c for c in verdict.criteria if c.name in RULES]
    assert {c.status for c in of_rules} == {"not_gradable"}


def test_nothing_is_done_on_a_node_of_somebodys(lab: Lab) -> None:
    found = judged(lab, virtual=False)
    assert {one.status for one in found.values()} == {"not_gradable"}
    here, there = (parse(session(virtual=virtual)) for virtual in (False, True))
    (file,) = lab.files
    assert not planner.can_place(lab, here, file) and planner.can_place(lab, there, file)


def test_no_picture_of_the_solutions_is_made(lab: Lab) -> None:
    bad = parse(session(run({"allowed_pus": ALL})))
    assert planner.files_to_compare(lab, bad) == ()


def test_without_a_run_it_is_open(lab: Lab) -> None:
    assert {one.cause for one in judged(lab).values()} == {"not_measured"}


def test_what_the_kit_could_not_do_is_an_error(lab: Lab) -> None:
    outcome = invented.OK | {"status": "kit_error", "doing": "make control groups", "n": 0,
                             "error": "No such file or directory"}  # fmt: skip
    found = judged(lab, run(outcome=outcome))
    assert {(one.status, one.cause) for one in found.values()} == {("error", "kit")}


def test_without_move_pages_memory_is_not_judged(lab: Lab) -> None:
    found = judged(lab, run({"pages_of_second_half": None}))
    assert found["memory_confined"].status == "not_gradable"
    assert found["confined"].status == "pass"


def test_a_record_is_read(lab: Lab) -> None:
    (seen,) = parse(session(run())).runs_of(CPUSETS)
    assert seen.job.pages == {1: 2000} and seen.others.ran_on == set(FIRST)


# ---- drawn -------------------------------------------------------------------------------------


def test_groups_are_drawn(lab: Lab) -> None:
    record = run({"allowed_pus": ALL, "ran_on_pus": [0, 1, 3, 5, 7]})
    evidence = parse(session(record))
    here, there = parse(session()), evidence
    (sight,) = group_views(lab, judge(lab, there), [("here", here), ("hydra", there)])
    lines = [line.plain for line in group_picture(sight)]
    check_text(lines[0])
    assert [line.split() for line in lines if line.startswith("seen on PUs")] == [
        ["seen", "on", "PUs", "0-1,3,5,7", "0,2,4,6"]
    ]
    assert any("0: 50 % and 1: 50 %" in line for line in lines)
    check_text(group_words(sight.yours))
    figure = groups_figure([("yours", evidence), ("", evidence)])
    check_text([axes.get_title(loc="left") for axes in figure.axes[::2]])


def test_what_is_not_known_is_drawn_as_such(lab: Lab) -> None:
    evidence = parse(session(run({"pages_at_first": None, "partition": None, "allowed_pus": []})))
    (sight,) = group_views(lab, judge(lab, evidence), [("hydra", evidence)])
    assert sum("not known" in line.plain for line in group_picture(sight)) == 2
    check_text(group_words(sight.yours))
    assert groups_figure([("", evidence)])


def test_without_groups_there_is_nothing_to_draw(lab: Lab) -> None:
    evidence = parse(session(virtual=False))
    assert list(group_views(lab, judge(lab, evidence), [("here", evidence)])) == []
    with raises_text(NothingToDraw):
        groups_figure([("", evidence)])
