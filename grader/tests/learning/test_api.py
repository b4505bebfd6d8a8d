"""The kit in Python: what a call returns, draws and refuses."""

from __future__ import annotations

import fcntl
import json
import re
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure
from support import invented
from table_experiment import TableSizes

from numalab.errors import Interrupted, NothingToDraw, NumalabError, UserError
from numalab.evidence.kinds import CHECK, TRACE
from numalab.evidence.read_record import parse
from numalab.evidence.record import Json
from numalab.explore.declaration import load_exploration
from numalab.explore.experiment import Exploration
from numalab.grading import grade as grading
from numalab.grading import node_lock
from numalab.installation import Installation, find_installation
from numalab.judging.judge import judge
from numalab.learning import crossing, exploring
from numalab.learning.api import LearnerLab, find_lab
from numalab.learning.run import GradedRun, Run, load_run
from numalab.virtual import place, plan

pytestmark = [pytest.mark.builds, pytest.mark.boots]

WRONG = "int x;\n#include <nowhere.h>\n"


@pytest.fixture(scope="module")
def first(installation: Installation) -> LearnerLab:
    return find_lab("01", installation)


@pytest.fixture(scope="module")
def handout(first: LearnerLab) -> Run:
    return first.run("c", source=first.handout("c"), label="handout")


def test_importing_is_cheap_and_the_lab_is_found_by_call(installation: Installation) -> None:
    code = (
        "import sys, numalab; assert 'matplotlib' not in sys.modules and 'rich' not in sys.modules;"
        "print(numalab.lab('1').name, numalab.lab('02').name)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["01_first_touch", "02_affinity"], done.stderr


def test_an_exploration_has_its_tables_and_its_figure(
    installation: Installation, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def smaller(folder: Path, quick: bool) -> Exploration:
        declared = load_exploration(folder, quick)
        assert isinstance(declared.what, TableSizes)
        return replace(declared, what=replace(declared.what, largest_bytes=2**20))

    monkeypatch.setattr(exploring, "load_exploration", smaller)
    found = find_lab("04", installation).explore(rounds=2)
    assert "Nanoseconds per dependent load" in str(found)
    assert isinstance(found.figure(), Figure)
    assert found.parting_bytes is None  # two rounds decide nothing
    assert json.loads(found.save(tmp_path / "found.json").read_text())["samples"]
    with pytest.raises(UserError, match="lab 01_first_touch has no exploration"):
        find_lab("01", installation).explore()


def test_a_run_holds_records_and_draws_them(first: LearnerLab, handout: Run) -> None:
    assert handout.is_built
    assert handout.criterion("correct").status == "pass"
    cores = handout.evidence.node["cores"]
    assert handout.value("touched_where_used") == pytest.approx(1 / cores, abs=0.02)
    assert {c.kind for c in handout.verdict.criteria} == {"correctness", "evidence"}
    assert isinstance(handout.touch_map(handout, arrays=["a"]), Figure)
    assert len(handout.touch_map(handout).axes) == 2
    assert isinstance(handout.threads(), Figure)
    assert isinstance(handout.topology(), Figure)
    assert isinstance(first.topology(), Figure)
    with first.installation.lock():  # a grading is under way, and nothing is measured here
        assert isinstance(first.topology(), Figure)
    assert [look.order for look in handout.looks("trace")] == ["natural", "ascending", "descending"]
    assert handout.looks("memory", "handout") == ()
    with pytest.raises(UserError, match=r"no evidence 'traces' \(did you mean trace\?\)"):
        handout.looks("traces")
    assert "first written by thread 0" in str(handout)
    with pytest.raises(NothingToDraw, match="nothing was timed"):
        handout.timing()
    with pytest.raises(UserError, match="did you mean correct"):
        handout.value("corect")


def test_a_kernel_that_does_not_compile_is_a_result(
    first: LearnerLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLICOLOR_FORCE", "1")  # as notebooks' kernels have it
    monkeypatch.setenv("FORCE_COLOR", "1")
    run = first.run("c", source=WRONG)
    assert not run.is_built
    assert "kernel.c:2:10: fatal error: nowhere.h" in run.compiler_output
    assert "FAILED" not in run.compiler_output
    assert "\x1b" not in run.compiler_output + str(run)
    assert "kernel.c does not compile." in str(run)
    assert run.criterion("correct").status == "fail"
    with pytest.raises(NothingToDraw, match=r"does not compile\.\nSo no page was traced"):
        run.touch_map()


def test_sources_are_texts_files_and_folders(first: LearnerLab, tmp_path: Path) -> None:
    folder = tmp_path / first.name
    folder.mkdir()
    (folder / "kernel.c").write_text(WRONG)
    for source in (folder / "kernel.c", str(folder / "kernel.c"), folder, tmp_path):
        with first._sources("c", source, None) as (_, there):
            assert (there / "kernel.c").read_text() == WRONG
    with first.at(tmp_path)._sources("c", None, None) as (_, there):
        assert there == folder
    with first._sources("c", "int x;\n", None) as (_, there):
        assert (there / "kernel.c").read_text() == "int x;\n"
    assert not there.exists()
    with pytest.raises(UserError, match=r"there is no nowhere.c"):
        first.run("c", source="nowhere.c")


def test_files_beside_the_kernel_can_be_replaced(installation: Installation) -> None:
    lab = find_lab("02", installation)
    with lab._sources("c", None, {"omp_full.env": "OMP_PLACES=cores\n"}) as (_, there):
        assert (there / "omp_full.env").read_text() == "OMP_PLACES=cores\n"
        own = installation.lab_folder(lab.name)
        for name in ("kernel.c", "kmp_full.env"):
            assert (there / name).read_bytes() == (own / name).read_bytes()
    assert "OMP_PROC_BIND=false" in (own / "omp_full.env").read_text()


def test_one_of_several_kernels_can_be_run_alone(installation: Installation) -> None:
    lab = find_lab("03", installation)
    run = lab.run("c", source=lab.handout("c"), parts=["stream_update"])
    assert {one.part for one in run.evidence.runs_of(TRACE)} == {"stream_update"}
    assert {one.part for one in run.evidence.runs_of(CHECK)} == {"stream_update"}
    assert [c.name for c in run.verdict.criteria] == ["touched_where_used"]
    with pytest.raises(UserError, match="did you mean stream_update"):
        lab.run("c", parts=["stream_updat"])


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda lab: find_lab("99", lab.installation), "there is no lab '99'"),
        (lambda lab: lab.run("fortan"), "did you mean fortran"),
        (lambda lab: lab.run(size="huge"), "there is no size 'huge'"),
        (
            lambda lab: lab.run(files={"a.env": ""}),
            "no file 'a.env' beside the kernel. It has none",
        ),
        (lambda lab: lab.on("hidra"), "hydra"),
        (lambda lab: lab.handout("C"), "there is no language 'C'"),
    ],
)
def test_wrong_use_gets_a_sentence(first: LearnerLab, call: object, says: str) -> None:
    with pytest.raises(UserError, match=says):
        call(first)  # type: ignore[operator]


def test_while_a_command_measures_a_call_waits_for_its_turn(first: LearnerLab) -> None:
    """Told once, and run as soon as the lock is free; a step of the progress frees it."""
    steps: list[str] = []
    with ExitStack() as other:
        other.enter_context(first.installation.lock())

        def progress(step: str) -> None:
            steps.append(step)
            if "waiting until it is done" in step:
                other.close()

        run = replace(first, progress=progress).run("c", source=WRONG)
    assert not run.is_built
    assert steps[0].startswith("another numalab command is measuring")
    assert steps.count(steps[0]) == 1 and "building" in steps


@pytest.mark.parametrize(
    ("number", "call", "how"),
    [
        ("03", "run", {}),
        ("03", "sweep", {"part": "pair_energy"}),
        ("04", "explore", {"rounds": 2}),
        ("06", "across", {}),
    ],
)
def test_who_waits_for_the_lock_holds_no_turn(
    installation: Installation,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    number: str,
    call: str,
    how: Json,
) -> None:
    """Who has the lock waits for a turn: two that wait for each other would wait for ever."""
    path = tmp_path / "turns"
    monkeypatch.setenv(node_lock.VARIABLE, str(path))
    monkeypatch.setattr(crossing, "_build", lambda *_: None)
    monkeypatch.setattr(plan, "programs_are_built", lambda *_, **__: False)

    def progress(step: str) -> None:
        if "another numalab command" in step:
            with path.open("a") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            raise Interrupted

    lab = replace(find_lab(number, installation), progress=progress)
    with installation.lock(), pytest.raises(Interrupted):
        getattr(lab, call)(**how)


def test_a_grading_has_points_times_and_feedback(first: LearnerLab, tmp_path: Path) -> None:
    graded = first.grade("c", source=first.handout("c"))
    assert isinstance(graded, GradedRun)
    assert graded.status in ("fail", "error")
    assert graded.verdict.max_points == 10
    assert "not gradable here" in graded.report
    if graded.here.numa_nodes == 1:  # and what it can't show, a virtual machine has
        assert [where for where, _ in graded.places] == ["here", "hydra"]
        assert graded.on("hydra").value("local_pages") == 0.5
        assert graded.where == "here" and "(hydra, scaled down to " in graded.report
    with pytest.raises(UserError, match=r"not graded on 'hidra' \(did you mean hydra"):
        graded.on("hidra")
    assert "This is still the starting code" in graded.report
    assert isinstance(graded.timing("efficiency"), Figure)
    with pytest.raises(UserError, match="did you mean efficiency"):
        graded.timing("eficiency")
    path = graded.save(tmp_path / "evidence.json")
    again = load_run(path, "stored", first.installation)
    assert again.evidence == graded.evidence
    assert again.is_recorded
    path.write_text(path.read_text().replace(f'"{graded.lab.name}"', '"77_gone"'))
    with pytest.raises(NumalabError, match="77_gone"):
        load_run(path, "stored", first.installation)
    with pytest.raises(UserError, match="can't be written"):
        graded.save(tmp_path / "nowhere" / "evidence.json")


def test_a_machine_that_cant_be_booted_is_said_or_replaced_by_what_was_recorded(
    first: LearnerLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none() -> Path:
        raise UserError("there is no QEMU here")

    monkeypatch.setattr(place, "find_qemu", none)
    measured: list[Any] = []
    really = LearnerLab._measure

    def once(lab: LearnerLab, *args: Any) -> Any:
        measured[:] = measured or [really(lab, *args)]
        return measured[0]

    monkeypatch.setattr(LearnerLab, "_measure", once)
    hydra = first.on("hydra")
    with pytest.raises(NumalabError, match="there is no QEMU here"):
        hydra.run("c", source=first.handout("c"))
    with pytest.raises(UserError, match=r"no record of 'uv1000'\. There is: hydra, nebula"):
        first.on("uv1000").recorded()
    modelled = hydra.recorded().modelled()
    assert "controller 0" in {label.get_text() for label in modelled.axes[-1].get_yticklabels()}
    said: list[str] = []
    recorded = replace(hydra, progress=said.append).run(
        "c", source=first.handout("c"), or_recorded=True
    )
    assert any("there is no QEMU here" in text for text in said)
    assert recorded.is_recorded
    assert recorded.where == "hydra"
    assert recorded.value("touched_where_used") == 0.5
    figure = recorded.touch_map()
    assert "the handout, recorded on virtual hydra" in figure.axes[0].get_title(loc="left")


def test_a_touch_map_is_this_nodes_where_nothing_was_traced_elsewhere(
    installation: Installation,
) -> None:
    record = invented.evidence(invented.ONE_NODE, writer=invented.master_writes)
    here = parse(record)
    lab = find_lab("01", installation)
    untraced = replace(here.having(TRACE, []), is_virtual=True)
    seen = (("here", here), ("hydra", untraced))
    run = Run(
        installation,
        lab.declared,
        "yours",
        "hydra",
        seen,
        judge(lab.declared, here),
        (record,) * 2,
    )
    title = run.touch_map().axes[0].get_title(loc="left")
    assert "yours" in title and "virtual" not in title
    with pytest.raises(NothingToDraw, match="no page was traced"):
        replace(run, places=(("here", here.having(TRACE, [])), ("hydra", untraced))).touch_map()


def test_what_was_seen_before_an_interruption_comes_with_it(
    first: LearnerLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(grading, "take_times", interrupted)
    with pytest.raises(Interrupted) as caught:
        first.run("c", source=first.handout("c"), times=True)
    (run,) = caught.value.args
    assert isinstance(run, Run)
    assert run.criterion("correct").status == "pass"
    with first.installation.lock():
        pass  # it is free again


@pytest.mark.parametrize(
    "path", sorted(find_installation("gnu").root.glob("labs/*/grading/recorded/*.json"))
)
def test_what_the_kit_has_recorded_can_be_drawn(installation: Installation, path: Path) -> None:
    run = load_run(path, "recorded", installation)
    assert run.where == path.stem
    assert run.lab.name == path.parents[2].name
    assert isinstance(run.touch_map(), Figure)
    record: Json = run.records[0]
    assert not any(one["kind"] == "generation" for one in record["runs"])  # no times there
    assert not re.search(r"/(home|root|tmp|work)/", path.read_text(encoding="utf-8"))


def test_no_picture_answers_what_a_seeded_machine_is_asked(first: LearnerLab) -> None:
    with pytest.raises(UserError, match="machine run seeded-7 -- bash"):
        first.on("seeded-7").topology()
    assert isinstance(first.on("hydra").topology(), Figure)
