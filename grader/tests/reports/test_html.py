"""The page of a report: whole, safe, and readable for everybody."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import pytest
from support import invented
from support.commands import (
    SOON_LIMIT_S,
    assert_all_gone,
    command_under_way,
    numalab_command,
    wait_for,
    without_times,
)  # fmt: skip
from support.golden_texts import check_text
from support.invented import ONE_NODE, TWO_NODES
from support.pages import all_of, assert_legible, assert_sound, rows_of, words
from support.sessions import bound, message_session, session, told, with_control, worked

from numalab.evidence.read_record import parse
from numalab.grading.graded import GradedKernel
from numalab.installation import Installation
from numalab.judging.judge import judge
from numalab.judging.timing_account import timing_accounts
from numalab.judging.verdict import merge_machine
from numalab.labs.declaration import Lab
from numalab.machines.gallery import find_machine
from numalab.reports import report_figures
from numalab.reports.comparison import seat_views, touch_views
from numalab.reports.html_page import page, ungraded_steps
from numalab.reports.occasion import Occasion, Submission

Json = dict[str, Any]
SCRIPT = "<script>alert(1)</script>"
NAME = "a<script>$x$"
OCCASION = Occasion("2026-01-01 12:00 UTC", ONE_NODE.describe())


def graded(lab: Lab, here: Json, hydra: Json | None = None, **more: Any) -> GradedKernel:
    seen = [("here", parse(here))]
    verdict = judge(lab, seen[0][1])
    if hydra is not None:
        seen.append(("hydra", parse(hydra)))
        verdict = merge_machine(verdict, judge(lab, seen[1][1]), "hydra", None)
    accounts = timing_accounts(lab, verdict, seen[0][1])
    return GradedKernel(lab, verdict, seen, accounts, again="./numalab grade", **more)


def figures(root: Element) -> dict[str, Element]:
    return {words(next(all_of(one, "figcaption"))): one for one in all_of(root, "figure")}


def drawn(figure: Element) -> list[str]:
    """The texts in a figure's picture."""
    return [words(text) for text in all_of(next(all_of(figure, "svg")), "text")]


# ---- what it says ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def handout(labs: dict[str, Lab]) -> GradedKernel:
    """Of lab 01: serial initialisation, on one NUMA node and on two."""
    times = invented.steady(13, **invented.SLOW)
    here = invented.evidence(ONE_NODE, writer=invented.master_writes, times=times)
    there = invented.evidence(TWO_NODES, writer=invented.master_writes)
    return graded(
        labs["01_first_touch"], with_control(here, ONE_NODE), with_control(there, TWO_NODES)
    )


@pytest.fixture(scope="module")
def root(handout: GradedKernel) -> Element:
    machines = [("hydra", "hydra, scaled down")]
    occasion = replace(OCCASION, machines=machines)
    return assert_sound(page([Submission("", [handout])], occasion))


def test_criteria_have_points_status_and_reason(root: Element) -> None:
    rows = {row[0]: row[1:] for row in rows_of(root, "Criteria")}
    assert rows["Criterion"] == ["Result", "Points", "Why"]
    assert rows["correct"][:2] == ["passed", "2/2"]
    assert rows["touched_where_used"][:2] == ["failed", "0/2"]
    check_text(rows["touched_where_used"][2])
    assert rows["local_pages on hydra"][:2] == ["failed", "0/2"]
    assert rows["speedup"][:2] == ["not gradable here", "-/2"]
    (summary,) = rows_of(root, "Results by lab and language")[1:]
    check_text(summary[0])
    check_text(summary[1:])
    text = words(root)
    assert "What to do next Next: fix touched_where_used" in text


def test_touch_maps_are_drawn_beside_the_solutions(root: Element) -> None:
    found = figures(root)
    here, there = found["Touch map"], found["Touch map on hydra"]
    for figure in (here, there):
        assert [t.partition(":")[0] for t in drawn(figure) if "node " in t][:2] == [
            "yours",
            "solution",
        ]
    assert drawn(there).count("lives on") == 2
    check_text(drawn(here))
    check_text(words(here))
    (description,) = all_of(there, "desc")
    check_text(words(description))


def test_times_are_drawn_and_told(root: Element) -> None:
    figure = figures(root)["efficiency: failed after 13 generations"]
    check_text(drawn(figure))
    check_text(words(figure))


def test_nodes_are_told(root: Element) -> None:
    assert ["NUMA nodes", "1"] in rows_of(root, "Node invented-1")
    assert ["NUMA nodes", "2"] in rows_of(root, "Virtual node hydra")
    assert "hydra, scaled down" in words(root)


def test_what_passes_stands_alone(labs: dict[str, Lab]) -> None:
    record = with_control(invented.evidence(ONE_NODE), ONE_NODE)
    text = page([Submission("", [graded(labs["01_first_touch"], record)])], OCCASION)
    figure = figures(assert_sound(text))["Touch map"]
    assert drawn(figure).count("used by") == 1
    assert not any("solution" in text for text in drawn(figure))


def test_threads_ranks_and_work_are_drawn(labs: dict[str, Lab]) -> None:
    affinity, scheduling, messages = (
        labs[name] for name in ("02_affinity", "03_scheduling", "06_message_latency")
    )
    placed = session(
        affinity.name, TWO_NODES,
        bound("kmp_spread.env", "libomp", "submission", [0], [2]),
        bound("kmp_spread.env", "libomp", "solution", [0], [1]),
        told("submission", [(0, -1), (1, 0)]),
    )  # fmt: skip
    shared = session(
        scheduling.name, ONE_NODE,
        *3 * [worked(ONE_NODE, "submission", [0.1, 0.4])],
        worked(ONE_NODE, "solution", [0.4, 0.39]),
    )  # fmt: skip
    kernels = [
        graded(affinity, placed), graded(scheduling, shared), graded(messages, message_session())
    ]  # fmt: skip
    found = figures(assert_sound(page([Submission("", kernels)], OCCASION)))
    threads = found["kmp_spread.env on this node, libomp: goal missed"]
    check_text(words(threads))
    assert drawn(threads).count("T0") == 2
    said = found["locate on this node: goal missed"]
    check_text(words(said))
    work = found["How evenly the work is shared in pair_energy"]
    check_text(words(work))
    ranks = found["near.toml on this node: goal missed"]
    check_text(words(ranks))
    assert found["far.toml on this node: goal reached"] is not None


@pytest.mark.parametrize("is_good", [False, True])
def test_what_was_published_waits_for_the_prediction(
    installation: Installation, labs: dict[str, Lab], is_good: bool
) -> None:
    lab = labs["06_message_latency"]
    text = f"time_4_kib_us = 1.0\ntime_64_kib_us = {8.5 if is_good else 900}"
    handed = [{"file": "predict.toml", "complaint": None, "variables": {}, "text": text}]
    record = session(lab.name, TWO_NODES, invented.latency("placement")) | {"handed_in": handed}
    one = graded(lab, record, published=find_machine(installation, "hydra").latencies)
    root = assert_sound(page([Submission("", [one])], OCCASION))
    assert ("TUW-NUMA" in words(root)) == is_good
    assert ("left out: predict it" in words(root)) != is_good


def test_pictures_are_legible_at_the_width_of_a_page(
    handout: GradedKernel, labs: dict[str, Lab]
) -> None:
    found = [
        report_figures.touch(sight)
        for sight in touch_views(handout.lab, handout.verdict, handout.evidence_by_place)
    ]
    found += [report_figures.timing(account) for account in handout.accounts]
    lab = labs["06_message_latency"]
    found += [
        report_figures.seats(sight, True)
        for sight in seat_views(lab, [("here", parse(message_session()))])
    ]
    assert len(found) == 6
    for figure in found:
        assert_legible(figure)


def test_tables_in_memory_are_told(labs: dict[str, Lab]) -> None:
    lab = labs["04_huge_pages"]
    table = {
        "n": 8, "bytes": 2**22, "huge_bytes": 2**21, "create_s": 0.1, "initialize_s": 0.2,
        "compute_s": 0.3, "initialize_page_faults": 513, "resident_before_bytes": 0,
        "resident_during_bytes": 2**22, "resident_after_bytes": 0,
        "address_space_before_bytes": 0, "address_space_after_bytes": 0,
    }  # fmt: skip
    runs = [
        {"kind": "memory", "lab": lab.name, "part": None, "team": 2, "role": role,
         "results": invented.RIGHT, "huge_pages_allowed": True, "tables": [table],
         "outcome": invented.OK}
        for role in ("handout", "solution", "submission")
    ]  # fmt: skip
    record = session(lab.name, ONE_NODE, *runs)
    root = assert_sound(page([Submission("", [graded(lab, record)])], OCCASION))
    rows = rows_of(root, "A table of 4.0 MiB, one run")
    assert rows[0] == ["Measured", "4 KiB pages", "2 MiB pages", "yours"]
    assert ["on huge pages", "50 %", "50 %", "50 %"] in rows


def test_what_was_not_graded_is_told_by_its_cause(first_touch: Lab) -> None:
    record = invented.evidence(ONE_NODE)
    record["runs"] = [run for run in record["runs"] if run["kind"] == "check"]

    def steps(**more: object) -> list[str]:
        return list(ungraded_steps(judge(first_touch, parse(record | more))))

    at_once, there = steps()
    check_text(at_once)
    check_text(there)
    check_text(steps(interrupted=True)[0])


def test_times_under_launches_are_told(labs: dict[str, Lab]) -> None:
    lab = labs["07_hybrid"]
    run = invented.generation(TWO_NODES, invented.SLOW | {"submission": 0.3})
    record = session(
        lab.name, TWO_NODES, run | {"part": "launch", "slow": "compared/newcomer.toml"}
    )  # fmt: skip
    root = assert_sound(page([Submission("", [graded(lab, record)])], OCCASION))
    (rows,) = (
        [[words(cell) for cell in all_of(row, "th", "td")] for row in all_of(table, "tr")]
        for table in all_of(root, "table")
        if "an iteration takes" in words(next(all_of(table, "caption")))
    )
    assert rows == [
        ["Whose", "time"], ["yours", "306 ms"], ["the kit's launch", "235 ms"],
        ["compared/newcomer.toml", "449 ms"],
    ]  # fmt: skip


def test_several_submissions_are_told_apart(labs: dict[str, Lab]) -> None:
    kernel = graded(labs["01_first_touch"], invented.evidence(ONE_NODE))
    people = [Submission(name, [kernel]) for name in ("Ada", "Grace")]
    text = page(people, OCCASION)
    assert text == page(people, OCCASION)
    root = assert_sound(text)
    assert [words(head) for head in all_of(root, "h2")][1:3] == ["Ada", "Grace"]
    rows = rows_of(root, "Results by lab and language")
    assert [row[0] for row in rows] == ["Submission", "Ada", "Grace"]


# ---- what comes from a student ---------------------------------------------------------


def hostile(lab: Lab) -> GradedKernel:
    """Markup wherever a student, or a node, has a say."""
    record = invented.evidence(ONE_NODE, writer=invented.master_writes)
    record["node"] |= {"name": SCRIPT, "cpu_model": SCRIPT, "kernel": "</table>" + SCRIPT}
    record["build"]["kernel"] = {"status": "ok", "message": "", "output": f"k.c: {SCRIPT}"}
    for run in record["runs"]:
        for array in run.get("touch_map", {}).get("arrays", []):
            array["array"] = array["array"].replace("a", NAME)
        if run["kind"] == "placement":
            run["residency"] = []
    record["runs"][0]["outcome"] = invented.OK | {"printed": f"{SCRIPT}\n", "printed_bytes": 30}
    return graded(lab, record)


def test_markup_of_a_student_is_text(labs: dict[str, Lab]) -> None:
    affinity = labs["02_affinity"]
    kernel = hostile(labs["01_first_touch"])
    broken = invented.evidence(ONE_NODE)
    broken["build"]["kernel"] = {
        "status": "does_not_compile", "message": f"It does not: {SCRIPT}", "output": SCRIPT
    }  # fmt: skip
    broken["runs"] = []
    placed = session(affinity.name, TWO_NODES) | {
        "handed_in": [
            {"file": "kmp_spread.env", "complaint": f"line 1, `{SCRIPT}`: no", "variables": {},
             "text": SCRIPT}
        ]
    }  # fmt: skip
    kernels = [kernel, graded(labs["01_first_touch"], broken), graded(affinity, placed)]
    kernels = [replace(one, again=f"./numalab {SCRIPT}") for one in kernels]
    occasion = replace(
        OCCASION, node=kernel.evidence_by_place[0][1].node, machines=[("hydra", SCRIPT)]
    )
    text = page([Submission(SCRIPT, kernels), Submission("x", [])], occasion)
    root = assert_sound(text)
    assert "<script" not in text
    said = words(root)
    for sentence in (
        f"k.c: {SCRIPT}", f"Your kernel prints. The first line: {SCRIPT}",
        f"It does not: {SCRIPT}", f"line 1, `{SCRIPT}`: no", f"on the node {SCRIPT}",
    ):  # fmt: skip
        assert sentence in said, sentence
    assert ["Processor", SCRIPT] in rows_of(root, f"Node {SCRIPT}")
    assert any(NAME in text for text in drawn(figures(root)["Touch map"]))


# ---- the command -----------------------------------------------------------------------


@pytest.mark.builds
def test_grade_writes_the_page(
    installation: Installation, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path / "report.html"
    arguments = ("01", "--lang", "c", "--handouts", "--quick", "--here-only")
    env = without_times(tmp_path_factory.mktemp("env"))
    done = numalab_command(installation, "grade", *arguments, "--html", str(path), **env)
    assert done.code == 1, done.err
    assert f"Page: {path}" in done.out
    root = assert_sound(path.read_text(encoding="utf-8"))
    rows = {row[0]: row[1] for row in rows_of(root, "Criteria")}
    assert rows["touched_where_used"] == "failed" and rows["correct"] == "passed"
    assert any("solution" in text for text in drawn(figures(root)["Touch map"]))
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_a_page_that_can_not_be_written_is_refused_at_once(
    installation: Installation, tmp_path: Path
) -> None:
    done = numalab_command(
        installation, "grade", "01", "--html", str(tmp_path / "no" / "report.html")
    )
    assert done.code == 2
    assert "--html" in done.err
    check_text(done.said)
    done = numalab_command(installation, "grade", "01", "--html", str(tmp_path))
    assert done.code == 2
    check_text(done.said)


@pytest.mark.builds
def test_an_interrupt_keeps_what_there_is(installation: Installation, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    arguments = ("grade", "01", "--lang", "c", "--solutions", "--here-only", "--html", str(path))
    arguments += ("--afresh",)
    with command_under_way(installation, *arguments) as process:
        wait_for("timing", process)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=SOON_LIMIT_S)
        assert process.returncode == 130
    assert_all_gone(installation)
    root = assert_sound(path.read_text(encoding="utf-8"))
    assert "Interrupted. What was found until then is here" in words(root)
    rows: Sequence[Sequence[str]] = rows_of(root, "Criteria")
    assert ["correct", "passed"] in [list(row[:2]) for row in rows]
