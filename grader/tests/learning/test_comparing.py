"""Predictions are held against the run that they were about: the starting code's."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from support import invented

from numalab.errors import NumalabError
from numalab.evidence.read_record import parse
from numalab.evidence.record import Json
from numalab.grading.file_choice import language_digests
from numalab.installation import Installation, find_installation
from numalab.judging.judge import judge
from numalab.judging.verdict import merge_machine
from numalab.labs.declaration import Lab, load_labs
from numalab.learning import comparing
from numalab.learning.api import LearnerLab
from numalab.learning.comparing import StartingRuns
from numalab.learning.notebook import NotebookLab, open_notebook
from numalab.learning.notebook_files import WHICH_KERNEL, given_notebook, labs_with_notebook
from numalab.learning.predictions import FILE
from numalab.learning.run import GradedRun, Run
from numalab.learning.variant_notebook import variant_notebook

LABS = load_labs(find_installation("gnu").root)
SHARE = "touched_where_used"


def elsewhere(run: Run) -> float | None:
    share = run.value(SHARE)
    return None if share is None else 1 - share


def lab_run(
    lab: LearnerLab,
    writer: invented.Writer,
    *,
    is_starting: bool = False,
    language: str = "c",
    node: invented.Machine = invented.ONE_NODE,
    there: str = "",
) -> Run:
    """What would be seen on a node of this kind, and there."""

    def record(machine: invented.Machine, on: str | None) -> Json:
        found = invented.evidence(machine, writer=writer)
        recorded = lab.recorded_path(on or "")
        named = None if on is None else json.loads(recorded.read_text())["machine"]
        return found | {"starting_code": is_starting, "language": language, "machine": named}

    records = [record(node, None), *([record(invented.EIGHT_NODES, there)] if there else [])]
    seen = tuple(zip(["here", there], map(parse, records), strict=False))
    verdict = judge(lab.declared, seen[0][1])
    if there:
        verdict = merge_machine(verdict, judge(lab.declared, seen[1][1]), there, None)
    return Run(lab.installation, lab.declared, "yours", seen[-1][0], seen, verdict, tuple(records))


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> NotebookLab:
    """Whose calls can run nothing, so that all that is found was kept."""
    monkeypatch.setenv("NUMALAB_NOTEBOOKS", str(tmp_path / "notebooks"))

    def run(*_: Any, **__: Any) -> Run:
        raise NumalabError("there is no QEMU here.")

    monkeypatch.setattr(LearnerLab, "run", run)
    monkeypatch.setattr(NotebookLab, "_predicted_on", lambda _: None)
    return open_notebook("01")


@pytest.fixture
def told(lab: NotebookLab, capsys: pytest.CaptureFixture[str]) -> Callable[..., list[list[str]]]:
    """The cells of each line that compare shows."""

    def call(**measured: Any) -> list[list[str]]:
        capsys.readouterr()
        lab.compare(**measured)
        lines = capsys.readouterr().out.replace("\r", "\n").splitlines()
        return [
            re.split(r"  +", line.strip())
            for line in lines
            if line.strip(" ") and "running the" not in line
        ]

    return call


def test_a_right_prediction_reads_as_right_once_the_lab_is_solved(
    lab: NotebookLab, told: Callable[..., list[list[str]]]
) -> None:
    lab.predict(share_here=0.5, share_on_nebula=0.875)
    given = lab_run(lab, invented.master_writes, is_starting=True, there="nebula")
    StartingRuns(lab).keep(given)
    solved = lab_run(lab, invented.owner_writes, there="nebula")
    StartingRuns(lab).keep(solved)  # is no starting code, and takes nobody's place
    rows = told(
        share_here=(solved.on("here"), elsewhere),
        share_on_nebula=(solved, elsewhere),
        speedup=(solved, "speedup"),
    )
    assert rows[:4] == [
        ["predicted", "starting code", "measured now"],
        ["share here", "0.5", "0.5", "0"],
        ["share on nebula", "0.875", "0.875", "0"],
        ["speedup", "-", "predict it first"],
    ]
    rows = told(share_here=(given.on("here"), elsewhere))
    assert rows[1] == ["share here", "0.5", "0.5", "0.5"]


def test_of_what_is_not_predicted_nothing_is_measured(
    lab: NotebookLab, told: Callable[..., list[list[str]]]
) -> None:
    def never(run: Run) -> float:
        raise AssertionError(run)

    solved = lab_run(lab, invented.owner_writes)
    rows = told(share_here=(solved, never), gb_s=12.5)
    assert rows[:3] == [
        ["predicted", "measured"],
        ["share here", "-", "predict it first"],
        ["gb s", "-", "predict it first"],
    ]
    assert "12.5" not in str(rows) and "1.93" not in str(rows)


def test_what_was_never_run_is_run_or_told(
    lab: NotebookLab, told: Callable[..., list[list[str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of each language by itself, of what was recorded, and of a machine that can't be booted."""
    lab.predict(share_here=0.5)
    StartingRuns(lab).keep(lab_run(lab, invented.master_writes, is_starting=True))
    fortran = lab_run(lab, invented.owner_writes, language="fortran")
    rows = told(share_here=(fortran, elsewhere))
    assert rows[1] == ["share here", "0.5", "-", "0"]
    words = " ".join(" ".join(row) for row in rows)
    assert "share here: the starting code was not run here, since there is no QEMU" in words
    assert "Once that is fixed, run this cell again." in words

    texts: list[str] = []

    def run(asked: LearnerLab, language: str, *, source: Path, label: str) -> Run:
        assert asked.machine is None and (language, label) == ("fortran", "starting code")
        texts.extend(path.read_text() for path in source.iterdir())
        return lab_run(lab, invented.master_writes, is_starting=True, language=language)

    monkeypatch.setattr(LearnerLab, "run", run)
    for _ in range(2):  # and is kept
        assert told(share_here=(fortran, elsewhere))[1] == ["share here", "0.5", "0.5", "0"]
    assert texts == [lab.handout("fortran")]


def test_a_machine_that_cant_be_booted_shows_what_was_recorded(
    lab: NotebookLab, told: Callable[..., list[list[str]]]
) -> None:
    lab.predict(share_on_nebula=0.875)
    recorded = lab.on("nebula").recorded()
    solved = lab_run(lab, invented.owner_writes, there="nebula")
    for run, now in ((recorded, "-"), (solved, "0")):
        rows = told(share_on_nebula=(run, elsewhere))
        assert rows[1] == ["share on nebula", "0.875", "0.875", now]
        assert "share on nebula: recorded on nebula" in str(rows)
    # Nothing was seen there, whatever is known of this node.
    unseen = replace(lab_run(lab, invented.master_writes), where="nebula")
    assert told(share_on_nebula=(unseen, elsewhere))[1][-1] == "-"


def test_on_another_computer_a_prediction_is_still_about_the_one_it_was_made_on(
    lab: NotebookLab, told: Callable[..., list[list[str]]]
) -> None:
    lab.predict(share_here=0.5)
    lab.predict(share_here=0.5)  # to run the cell again says nothing new
    path = lab.folder / FILE
    kept = json.loads(path.read_text())
    here, other = (
        lab_run(lab, invented.master_writes, is_starting=True, node=node)
        for node in (invented.ONE_NODE, invented.EIGHT_NODES)
    )
    StartingRuns(lab).keep(here)
    kept["share_here"]["on"] = {"name": "first", "alike": comparing.alike(here.here.node)}
    path.write_text(json.dumps(kept))
    solved = lab_run(lab, invented.owner_writes, node=invented.EIGHT_NODES)
    rows = told(share_here=(solved, elsewhere))
    assert rows[1] == ["share here", "0.5", "0.5", "0"]
    assert "predicted on first, so" in str(rows)
    kept["share_here"]["on"] = {"name": "third", "alike": ["?"]}
    path.write_text(json.dumps(kept))
    rows = told(share_here=(other, elsewhere))
    assert rows[1][2] == "0.875"
    assert "predicted on third, where no run of the starting code was kept" in str(rows)


def test_files_that_are_given_anew_have_runs_of_their_own(lab: NotebookLab) -> None:
    """As those of a variant of another seed have."""
    runs = StartingRuns(lab)
    given = lab_run(lab, invented.master_writes, is_starting=True)
    solved = lab_run(lab, invented.owner_writes)
    runs.keep(given)
    assert runs.find(solved).run is not None
    changed = replace(lab.declared, starting_code={"kernel.c": "0" * 32})
    assert StartingRuns(replace(lab, declared=changed)).find(solved).run is None
    (kept,) = (lab.folder / comparing.FOLDER).iterdir()
    kept.write_text("{")  # as one of another version
    assert runs.find(solved).run is None
    broken = {**given.records[0], "build": {"kernel": {"status": "failed"}}}
    assert broken["starting_code"]
    evidence = replace(given.here, build=structs.replace(given.here.build, status="does_not_link"))
    kept.unlink()
    runs.keep(replace(given, places=(("here", evidence),)))
    assert not kept.exists()


@pytest.mark.parametrize(
    ("language", "name"),
    [(language, name) for name, lab in sorted(LABS.items()) for language in lab.languages],
)
def test_starting_code_is_what_students_get(
    installation: Installation, name: str, language: str
) -> None:
    lab = LABS[name]
    told = language_digests(installation, lab, language)
    bare = replace(lab, starting_code={})  # as a variant is, whose files tell it
    assert told == language_digests(installation, bare, language)
    assert len(told) == 1 + len(lab.files)


def test_a_speed_over_its_own_is_no_measurement(
    installation: Installation, labs: dict[str, Lab]
) -> None:
    """Neither in a picture nor beside a prediction; a changed file's is."""
    declared = labs["03_scheduling"]
    record = invented.evidence(invented.ONE_NODE, writer=invented.owner_writes)
    lab = LearnerLab(installation, declared, installation.root)
    for starting, unchanged, says in (
        (True, [], "still the starting code"),
        (False, ["kernel.c"], "still the starting code"),
        (False, [], "was not timed"),
    ):
        data = record | {"starting_code": starting, "unchanged_files": unchanged}
        evidence = parse(data)
        verdict = judge(lab.declared, evidence)
        graded = GradedRun(
            installation, declared, "", "here", (("here", evidence),), verdict, (data,)
        )
        assert graded.is_of_starting_code("pair_speedup") is (says != "was not timed")
        assert not graded.is_of_starting_code("balanced")


# ---- the notebooks -----------------------------------------------------------------


def cells_of(installation: Installation, lab: str) -> dict[str, str]:
    notebook = json.loads(given_notebook(installation, lab).read_text(encoding="utf-8"))
    return {cell["id"]: "".join(cell["source"]) for cell in notebook["cells"]}


@pytest.mark.parametrize("name", labs_with_notebook(find_installation("gnu"), LABS))
def test_a_notebook_compares_what_it_asks_to_predict(installation: Installation, name: str) -> None:
    """Each by its name, speedups as such, and nothing of a run by its value alone: that is the
    learner's as it is now, whatever was predicted."""
    cells = cells_of(installation, name)
    asked = set(re.findall(r"^    (\w+)=None", cells["predict"], re.M))
    compared = dict(
        re.findall(r"^    (\w+)=(.+),", cells["compare"].partition("compare(")[2], re.M)
    )
    published = installation.solution_folder(name) / "published.toml"
    by_others = (
        set(re.findall(r"^\[(\w+)\]", published.read_text(), re.M))
        if published.is_file()
        else set()
    )
    assert asked == set(compared) | by_others and not set(compared) & by_others
    for what in compared.values():
        assert ".value(" not in what, what
    speedups = [c.name for c in LABS[name].criteria if c.rule == "speedup"]
    for criterion in re.findall(r'\((?:run|graded), "(\w+)"\)', cells["compare"]):
        assert criterion in {c.name for c in LABS[name].criteria}
        assert ("speed" in criterion) == (criterion in speedups)
    held = "What you predicted of the starting code stands beside a run of it"
    of_starting = re.findall(r"=\((?:run|there), ", cells["compare"]) or name.startswith("08")
    assert (held in cells["compare-text"]) == bool(of_starting)


def test_a_variants_notebook_says_which_kernel_it_needs(
    installation: Installation, labs: dict[str, Lab]
) -> None:
    lab = labs["01_first_touch"]
    files = {
        path.name: path.read_text()
        for path in installation.lab_folder(lab.name).glob("*.*")
        if path.is_file()
    }
    for language in lab.languages:
        alone = variant_notebook(replace(lab, languages=(language,)), files)
        sources = {one["id"]: "".join(one["source"]) for one in json.loads(alone)["cells"]}
        assert sources["setup"].endswith(f'\nlanguage = "{language}"')
        assert "language" not in sources["kernel-text"]
    cells = json.loads(variant_notebook(lab, files))["cells"]
    first = "".join(cells[0]["source"])
    title, _, text = first.partition("\n\n")
    assert title == files["README.md"].splitlines()[0]
    assert text.startswith(WHICH_KERNEL)
    assert first.endswith(files["README.md"].rstrip("\n").partition("\n")[2])
