"""Notebooks: magics, predictions, questions, the files' form, and the command."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from IPython.core.interactiveshell import InteractiveShell
from matplotlib.figure import Figure
from support.commands import SOON_LIMIT_S, environment, numalab_command
from support.desks import make_desk
from support.golden_texts import check_text
from support.lab_folders import write_grading
from support.published_labs import is_published, published_names
from traitlets.config import Config

from numalab.commands import notebook as jupyter
from numalab.commands.notebook import jupyter_command, jupyter_environment
from numalab.errors import Interrupted, NumalabError, UserError
from numalab.grading import explanation
from numalab.installation import Installation, find_installation
from numalab.labs.declaration import RUN_UNDER, Lab, load_labs
from numalab.learning import api
from numalab.learning.api import LearnerLab, find_lab
from numalab.learning.initial_answers import read_initial_answers
from numalab.learning.notebook import description, open_notebook
from numalab.learning.notebook_files import (
    complaints,
    explanation_prompt,
    given_notebook,
    labs_with_notebook,
    read_notebook,
    tidied,
    working_copy,
)
from numalab.learning.predictions import (
    FILE,
    PUBLISHED_FILE,
    keep_predictions,
    read_predictions,
    read_published,
)
from numalab.learning.questions import (
    ANSWERS_FILE,
    AnsweredQuestion,
    find_question,
    first_answer,
    load_questions,
)
from numalab.learning.run import Run

ROOT = find_installation("gnu").root
LABS = labs_with_notebook(find_installation("gnu"), load_labs(ROOT))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A learner's folder of notebooks."""
    monkeypatch.setenv("NUMALAB_NOTEBOOKS", str(tmp_path / "notebooks"))
    return tmp_path / "notebooks"


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: Path) -> Iterator[Any]:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    config = Config()
    config.HistoryManager.enabled = False
    found: Any = InteractiveShell(config=config)
    found.run_line_magic("load_ext", "numalab")
    yield found


# ---- magics ------------------------------------------------------------------------


@pytest.mark.builds
def test_a_kernel_cell_is_kept_run_and_shown(
    shell: Any, folder: Path, installation: Installation, capsys: pytest.CaptureFixture[str]
) -> None:
    own = installation.lab_folder("01_first_touch") / "kernel.c"
    before = own.read_bytes()
    text = find_lab("01", installation).handout("c").replace("Edit this file", "Edited")
    assert shell.run_cell(f"%%kernel 01_first_touch c --into mine\n{text}").success
    said = capsys.readouterr().out
    assert (folder / "01_first_touch" / "kernel.c").read_text() == text
    assert own.read_bytes() == before
    run = shell.user_ns["mine"]
    assert isinstance(run, Run)
    assert run.criterion("correct").status == "pass"
    assert "Every element is right" in said
    assert "labs/ is as it was" in said
    assert "cp " in said
    assert "--submission" in said


@pytest.mark.builds
def test_a_kernel_cell_that_does_not_compile_shows_the_compilers_words(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shell.run_cell("%%kernel 01 fortran\nprogramm x\nend\n").success
    said = capsys.readouterr().out
    assert "kernel.f90 does not compile." in said
    assert re.search(r"kernel\.f90:\d+:\d+:", said)
    assert "Error:" in said
    assert not shell.user_ns["run"].is_built


def test_the_cell_of_the_other_language_leaves_itself_out(
    shell: Any, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.user_ns["language"] = "fortran"
    assert shell.run_cell("%%kernel 01_first_touch c\nint x;\n").success
    assert 'language is "fortran"' in capsys.readouterr().out
    assert "int x;" not in (folder / "01_first_touch" / "kernel.c").read_text()
    assert "run" not in shell.user_ns


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        ("%%kernel 01_frist_touch c\nx", "Did you mean 01_first_touch?"),
        ("%%kernel 01_first_touch kernel.f\nx", "there is no language 'kernel.f'"),
        ("%%kernel 01_first_touch\nx", "Missing argument 'LANGUAGE'"),
        ("%%kernel 01 c --fast\nx", "Write %%kernel [OPTIONS] LAB LANGUAGE"),
        ("%%kernel 01 c --on hidra\nx", "hydra"),
        ("%%kernel 01 c --into 2x\nx", "no name for a variable"),
        ("%%labfile 02 omp_sprad.env\nx", "did you mean omp_spread.env?"),
        ("%%labfile 01 launch.toml\nranks = 2", "It has none"),
    ],
)
def test_a_mistake_in_a_magic_gets_a_sentence_and_no_traceback(
    shell: Any, capsys: pytest.CaptureFixture[str], cell: str, says: str
) -> None:
    result = shell.run_cell(cell)
    said = "".join(capsys.readouterr())
    assert not result.success
    assert isinstance(result.error_in_exec, UserError)
    assert says in said
    assert "Traceback" not in said


def test_a_file_beside_the_kernel_is_kept(
    shell: Any, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shell.run_cell("%%labfile 02 omp_full.env\nOMP_PLACES=threads").success
    kept = folder / "02_affinity"
    assert (kept / "omp_full.env").read_text() == "OMP_PLACES=threads\n"
    assert "Kept in" in capsys.readouterr().out
    assert (kept / "kmp_full.env").is_file()  # the handout's, to begin with
    open_notebook("02")
    assert (kept / "omp_full.env").read_text() == "OMP_PLACES=threads\n"


def test_a_file_that_cant_be_used_yet_is_kept_and_said_to_be_so(
    shell: Any, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for file, text, says in (
        ("02_affinity/omp_full.env", "OMP_NUM_THREADS=4", "the kit sets the number of threads"),
        ("07_hybrid/launch.toml", "ranks =", "launch.toml"),
        ("06_message_latency/predict.toml", "time_4_kib_us = 0", "a message takes a time above 0"),
    ):
        lab, name = file.split("/")
        assert shell.run_cell(f"%%labfile {lab} {name}\n{text}").success
        said = " ".join(capsys.readouterr().out.split())
        assert "It can't be used yet: " in said
        assert says in said
        assert (folder / file).read_text() == f"{text}\n"


def test_figures_are_shown_with_words_for_those_who_cant_see_them(shell: Any) -> None:
    figure = find_lab("01").on("hydra").topology()
    data, more = shell.display_formatter.format(figure)
    assert data["image/png"].startswith(b"\x89PNG")
    assert "NUMA node 1" in more["image/png"]["alt"]
    assert "NUMA node 1" in description(figure)


@pytest.mark.builds
def test_what_cant_be_drawn_is_said(
    folder: Path, installation: Installation, capsys: pytest.CaptureFixture[str]
) -> None:
    lab = open_notebook("01")
    run = lab.run("c", source="int x\n")
    assert lab.show(run.touch_map) is None
    told = capsys.readouterr().out.rpartition("No picture: ")[2]
    assert told.startswith("kernel.c does not compile.\nSo ") and len(told.splitlines()) == 2
    assert lab.show(run.timing) is None
    told = capsys.readouterr().out
    assert told == "No picture: kernel.c does not compile.\nSo nothing was timed.\n"
    assert isinstance(lab.show(lab.topology), Figure)


# ---- predictions -------------------------------------------------------------------


def test_what_was_said_first_is_met_again(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lab = open_notebook("01")
    lab.predict(share=None, speedup=2)
    lab.predict(share=0.25, speedup=1.5)
    lab.compare(share=0.5, speedup=1.93, other=7.25)
    said = capsys.readouterr().out
    assert "Not predicted yet: share." in said
    assert [line.split() for line in said.splitlines()[-5:-1]] == [
        ["predicted", "measured"],
        ["share", "0.25", "0.5"],
        ["speedup", "2", "(then", "1.5)", "1.93"],
        ["other", "-", "predict", "it", "first"],
    ]
    assert "7.25" not in said
    lab.predict(share=None, speedup=None, other=None)  # the cell as it was given, run once more
    said = capsys.readouterr().out
    assert said == "share: 0.25\nspeedup: 2 (then 1.5)\nNot predicted yet: other.\n"
    first = {one.name: (one.kind, one.said) for one in read_initial_answers(lab.folder)}
    assert first == {"speedup": ("prediction", 2), "share": ("prediction", 0.25)}


def test_a_published_figure_is_told_once_it_is_predicted(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lab = open_notebook("01")
    lab.compare(share_here=0.5)
    said = capsys.readouterr().out
    assert said.count("predict it first") == 2
    assert "speedup with two NUMA nodes  -          predict it first" in said
    assert "1.93" not in said and "0.443941" not in said
    lab.predict(speedup_with_two_numa_nodes=4)
    lab.compare(share_here=0.5)
    said = capsys.readouterr().out
    assert "speedup with two NUMA nodes  4          1.93, published" in said
    assert "0.443941 s" in said and "HLRS" in said
    assert max(map(len, said.splitlines())) <= 78


@pytest.mark.parametrize(
    ("name", "number", "inner"),
    [("run", "01", "_measure"), ("grade", "01", "_measure"), ("sweep", "01", "_sources"),
     ("across", "06", "_sources"), ("explore", "02", "explored"), ("node", "01", "node")],
)  # fmt: skip
def test_every_measurement_ends_its_line_and_takes_an_interrupt(
    name: str, number: str, inner: str,
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    def interrupted(*args: Any, **kwargs: Any) -> Any:
        lab.progress("waiting for another command")
        raise KeyboardInterrupt

    lab = open_notebook(number)
    monkeypatch.setattr(LearnerLab if hasattr(LearnerLab, inner) else api, inner, interrupted)
    with pytest.raises(Interrupted):
        getattr(lab, name)()
    assert capsys.readouterr().out.endswith(f"\r{'':<72}\r")


@pytest.mark.parametrize("text", ["[]", "{}", '{"cells": 5}', '{"cells": [5]}', '"x"', "null", "{"])
def test_what_is_no_notebook_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.ipynb").write_text(text)
    with pytest.raises(UserError, match=r"x\.ipynb"):
        read_notebook(tmp_path / "x.ipynb")


def test_a_broken_file_of_published_figures_is_told(tmp_path: Path) -> None:
    assert read_published(tmp_path) == {}
    (tmp_path / "published.toml").mkdir()
    with pytest.raises(NumalabError, match=r"published\.toml"):
        read_published(tmp_path)
    (tmp_path / "published.toml").rmdir()
    for text, says in (
        ("[", "1: this is not TOML"),
        ("x = 1", "1: "),
        ("[x]\nvalue = 1\n", "1: .*'says'"),
        ('[x]\nvalue = "a"\nsays = ""\n', "2: 'value' is 'a'; write a number"),
    ):
        (tmp_path / PUBLISHED_FILE).write_text(text)
        with pytest.raises(NumalabError, match=f"{PUBLISHED_FILE}:{says}"):
            read_published(tmp_path)


@pytest.mark.parametrize("lab", LABS)
def test_published_figures_are_predicted_and_stand_beside_the_solution_only(
    installation: Installation, lab: str
) -> None:
    notebook = given_notebook(installation, lab).read_text(encoding="utf-8")
    handout = (installation.lab_folder(lab) / "README.md").read_text(encoding="utf-8")
    for name, one in read_published(installation.solution_folder(lab)).items():
        assert f"{name}=None" in notebook
        figures = re.findall(r"\d+\.\d+", one.says)
        assert figures
        for figure in (*figures, f"{one.value:.2f}"):
            assert figure not in notebook and figure not in handout, figure


def test_a_broken_file_of_predictions_is_begun_anew(tmp_path: Path) -> None:
    for text in ("{", "[]", '{"x": 3}', '{"x": {"first": 1}}', '{"x": {"first": 1, "last": NaN}}'):
        (tmp_path / FILE).write_text(text)
        assert read_predictions(tmp_path) == {}
        assert keep_predictions(tmp_path, {"y": 1})["y"].first == 1
    for value in (float("nan"), True, "50 %", " 2.5", "-.5"):
        with pytest.raises(UserError, match=r"y = .*: predict a number"):
            keep_predictions(tmp_path, {"y": value})
    with pytest.raises(UserError, match="smaller"):
        keep_predictions(tmp_path, {"y": 10**400})
    with pytest.raises(UserError):
        keep_predictions(tmp_path, {"y": "\ud800"})
    for value in (2.5, -0.1, "two", "50 %", True, float("nan")):
        with pytest.raises(UserError, match=r"share_here = .*: predict a share between 0 and 1"):
            keep_predictions(tmp_path, {"share_here": value})
    assert keep_predictions(tmp_path, {"share_here": 1, "y": "all"})["share_here"].last == 1
    with pytest.raises(NumalabError, match="can't be kept"):
        keep_predictions(tmp_path / FILE, {"y": 1})


# ---- questions ---------------------------------------------------------------------


@pytest.mark.parametrize("lab", LABS)
def test_each_question_has_one_right_answer_and_a_sentence_for_every_choice(
    installation: Installation, lab: str
) -> None:
    questions = load_questions(installation, lab)
    assert len(questions) >= (3 if is_published(lab) else 0)
    for question in questions.values():
        said = [question.checked(letter) for letter in question.choices]
        assert sum(text.startswith("Right.") for text in said) == 1
        assert question.checked(question.correct).startswith("Right.")
        assert len(set(said)) == len(said)
        assert all(len(text) > 20 for text in said)
        assert all(len(line) <= 80 for line in question.question_text().splitlines())


def test_no_answer_lies_in_a_notebook(installation: Installation) -> None:
    for lab in LABS:
        text = given_notebook(installation, lab).read_text(encoding="utf-8")
        for question in load_questions(installation, lab).values():
            assert all(sentence not in text for sentence in question.says.values())


def test_answers_are_checked(
    folder: Path, installation: Installation, capsys: pytest.CaptureFixture[str]
) -> None:
    lab = open_notebook("01")
    right = find_question(installation, lab.name, "reading_first").correct
    wrong = next(letter for letter in "abc" if letter != right)
    for answer, says in (("", "No answer yet"), (f" {right.upper()}) ", "Right."), (wrong, "Not")):
        lab.question("reading_first", answer)
        assert says in capsys.readouterr().out
    for typo in ("bb", "d", "1"):
        with pytest.raises(UserError, match="answer with a, b or c"):
            lab.question("reading_first", typo)
    with pytest.raises(UserError, match=r"Did you mean reading_first\?"):
        lab.question("reading_frist")


def test_answers_that_do_not_fit_their_questions_are_the_kits_fault(
    installation: Installation, tmp_path: Path
) -> None:
    other = Installation(tmp_path)
    other.solution_folder("x").mkdir(parents=True)
    question = '[q]\ntext = "?"\n[q.choices]\na = "1"\nb = "2"\n'
    write_grading(other.lab_folder("x"), question, "questions.toml")
    answers = other.solution_folder("x") / "answers.toml"
    for text, says in (
        ("", "what is asked is"),
        ('[q]\nright = "c"\n[q.says]\na = "1"\nb = "2"\n', "its choices are not"),
        ('[q]\nright = "a"\n[q.says]\na = "1"\n', "its choices are not"),
        ("[", r"answers.toml:1: this is not TOML"),
    ):
        answers.write_text(text)
        with pytest.raises(NumalabError, match=says):
            load_questions(other, "x")
    answers.write_text('[q]\nright = "a"\n[q.says]\na = "yes"\nb = "no"\n')
    assert load_questions(other, "x")["q"] == AnsweredQuestion(
        "q", "?", {"a": "1", "b": "2"}, "a", {"a": "yes", "b": "no"}
    )


def test_what_was_answered_first_is_kept(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lab = open_notebook("01")
    question = find_question(lab.installation, lab.name, "reading_first")
    wrong, *_ = (letter for letter in question.choices if letter != question.correct)
    lab.question("reading_first", wrong)
    lab.question("reading_first", question.correct.upper())
    said = capsys.readouterr().out
    assert said.count("Your first answer") == 1
    assert said.endswith(f"(Your first answer was {wrong}.)\n")
    kept = folder / "01_first_touch" / ANSWERS_FILE
    assert json.loads(kept.read_text()) == {"reading_first": wrong}
    (one,) = read_initial_answers(kept.parent)
    assert (one.kind, one.name, one.said, one.record) == ("question", "reading_first", wrong, None)
    for text in ("{", "[]", '{"reading_first": 3}'):  # is begun anew
        kept.write_text(text)
        assert first_answer(kept.parent, "reading_first", "c") == ("c", True)
    with pytest.raises(NumalabError, match="the answers can't be kept"):
        first_answer(kept, "reading_first", "a")


# ---- explanations ------------------------------------------------------------------------------


def test_an_explanation_is_kept_beside_the_kernel(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lab = open_notebook("01")
    path = folder / "01_first_touch" / explanation.FILE
    lab.explain("\n\n")
    assert "Nothing said yet" in capsys.readouterr().out
    assert not path.exists()
    lab.explain("\nOne. Two.\nThree.\n")
    said = capsys.readouterr().out
    assert path.read_text() == "One. Two.\nThree.\n"
    assert "hand it in beside your kernel" in said and "sentences" not in said
    assert explanation.read_explanation(lab.folder) == "One. Two.\nThree."
    lab.explain("Why? " * 7)
    assert "It has 7 sentences. Which 3 say it all?" in capsys.readouterr().out
    lab.explain(" ")
    assert path.read_text().startswith("Why?")  # an empty cell takes nothing away
    with pytest.raises(UserError, match="4,001 characters; 4,000 are kept"):
        lab.explain("x" * 4_001)


@pytest.mark.parametrize("lab", LABS)
def test_every_notebook_asks_for_an_explanation_and_keeps_first_answers(
    installation: Installation, lab: str
) -> None:
    notebook = json.loads(given_notebook(installation, lab).read_text(encoding="utf-8"))
    cells = {cell["id"]: "".join(cell["source"]) for cell in notebook["cells"]}
    assert cells["explain"] == 'lab.explain("""\n\n""")'
    assert "three sentences" in cells["explain-text"]
    prompt = explanation_prompt(notebook)
    assert len(prompt) > 60 and prompt.endswith("?") and prompt[1:] in cells["explain-text"]
    assert "first answer is kept" in cells["questions-text"]
    order = list(cells)
    assert order.index("compare") < order.index("explain") < order.index("questions-text")


@pytest.mark.parametrize("lab", LABS)
def test_every_file_that_is_handed_in_has_a_cell(
    installation: Installation, labs: dict[str, Lab], lab: str
) -> None:
    """With what is handed out for it, but comments."""
    notebook = json.loads(given_notebook(installation, lab).read_text(encoding="utf-8"))
    texts = ["".join(cell["source"]) for cell in notebook["cells"]]
    for file in labs[lab].files:
        (text,) = (text for text in texts if text.startswith(f"%%labfile {lab} {file.name}\n"))
        handed_out = (installation.lab_folder(lab) / file.name).read_text()
        said = [
            [line for line in one.splitlines() if line.strip() and not line.startswith(("#", "%"))]
            for one in (text, handed_out)
        ]
        assert said[0] == said[1]
        if file.kind in RUN_UNDER:  # and so has a picture
            drawn = "show(there.groups)" if file.kind == "groups" else f'file="{file.name}")'
            assert any(drawn in text for text in texts), file.name


# ---- files -------------------------------------------------------------------------


def test_every_published_lab_has_a_notebook() -> None:
    assert {*published_names()} <= {*LABS}


@pytest.mark.parametrize("lab", LABS)
def test_notebooks_are_kept_without_outputs_and_with_the_handouts_kernels(
    installation: Installation, lab: str
) -> None:
    path = given_notebook(installation, lab)
    notebook = json.loads(path.read_text(encoding="utf-8"))
    handout = find_lab(lab, installation).handout
    assert list(complaints(notebook, handout)) == []
    assert tidied(notebook, handout) == path.read_text(encoding="utf-8")
    text = json.dumps(notebook)
    for language in find_lab(lab, installation).declared.languages:
        assert f"%%kernel {lab} {language}" in text
    for call in ("lab.topology()", "lab.predict(", "lab.compare(", "lab.grade(", "lab.question("):
        assert call in text or (call == "lab.grade(" and ".grade(language)" in text), call
    linked = re.findall(r"\]\(([^)]+)\)", text)
    assert linked
    assert all((path.parent / target).exists() for target in linked)


def test_what_is_not_as_the_kit_keeps_notebooks_is_found_and_tidied(
    installation: Installation,
) -> None:
    lab = "01_first_touch"
    handout = find_lab(lab, installation).handout
    good = json.loads(given_notebook(installation, lab).read_text(encoding="utf-8"))
    code = next(i for i, cell in enumerate(good["cells"]) if cell["cell_type"] == "code")
    kernel = next(
        i for i, cell in enumerate(good["cells"]) if cell["source"][0].startswith("%%kernel")
    )

    def broken(index: int, **change: Any) -> list[str]:
        notebook = deepcopy(good)
        notebook["cells"][index] |= change
        found = list(complaints(notebook, handout))
        again = json.loads(tidied(notebook, handout))
        if "source" not in change or index == kernel:
            assert list(complaints(again, handout)) == []
        return found

    assert "outputs" in broken(code, outputs=[{"output_type": "stream"}])[0]
    assert "outputs" in broken(code, execution_count=3)[0]
    assert "metadata" in broken(code, metadata={"tags": []})[0]
    assert "id" in broken(code, id=good["cells"][0]["id"])[0]
    assert "id" in broken(code, id="No Good")[0]
    assert "absolute path" in broken(code, source=["open('/home/me/x')"])[0]
    assert "Change Kernel" in broken(0, source=["# Lab 01: first touch\n"])[0]
    assert "not the handout" in broken(kernel, source=[f"%%kernel {lab} c\n", "int x;"])[0]
    other = deepcopy(good) | {"metadata": {"kernelspec": {"name": "conda"}}, "nbformat_minor": 4}
    assert len(list(complaints(other, handout))) == 2


def test_a_learners_copy_is_never_overwritten(folder: Path, installation: Installation) -> None:
    path, is_new = working_copy(installation, "01_first_touch")
    assert is_new
    assert path.is_relative_to(folder)
    assert path.read_bytes() == given_notebook(installation, "01_first_touch").read_bytes()
    path.write_text("mine")
    assert working_copy(installation, "01_first_touch") == (path, False)
    assert path.read_text() == "mine"
    with pytest.raises(UserError, match="08_x has no notebook"):
        working_copy(installation, "08_x")


# ---- the command -------------------------------------------------------------------


def test_jupyter_keeps_out_of_the_home_folder(installation: Installation) -> None:
    given = {"HOME": "/home/x", "JUPYTER_PATH": "/home/x/j", "IPYTHON_X": "1", "PATH": "/bin"}
    found = jupyter_environment(installation, given)
    assert "JUPYTER_PATH" not in found
    assert "IPYTHON_X" not in found
    folders = [key for key in found if key.endswith("DIR")]
    assert len(folders) == 7
    for key in folders:
        assert Path(found[key]).is_relative_to(installation.build), key
    command = jupyter_command(Path("/x y"), 9000, "t")
    assert "--ServerApp.ip=127.0.0.1" in command
    assert "--ServerApp.root_dir=/x y" in command


def test_without_locks_what_jupyter_keeps_by_sqlite_stays_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else IPython takes its history for damaged, moves it away and says so five times."""
    given = jupyter_environment(Installation(tmp_path, "gnu"), {})
    history = Path(given["IPYTHONDIR"]) / "profile_default" / "ipython_kernel_config.json"
    trusted = Path(given["JUPYTER_CONFIG_DIR"]) / "jupyter_server_config.json"
    jupyter._prepare(given)
    assert not history.exists() and not trusted.exists()
    monkeypatch.setattr(jupyter, "has_record_locks", lambda path: False)
    jupyter._prepare(given)
    assert json.loads(history.read_text()) == {"HistoryManager": {"hist_file": ":memory:"}}
    assert json.loads(trusted.read_text()) == {"NotebookNotary": {"db_file": ":memory:"}}
    monkeypatch.setattr(jupyter, "has_record_locks", lambda path: True)
    jupyter._prepare(given)
    assert not history.exists() and not trusted.exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["99"], "there is no lab '99'"),
        (["01", "--port", "99999999"], "--port"),
        (["--publish"], "wants the lab"),
    ],
)
def test_wrong_use_of_the_command(
    installation: Installation, folder: Path, words: list[str], says: str
) -> None:
    done = numalab_command(
        installation, "notebook", *words, "--no-browser", NUMALAB_NOTEBOOKS=str(folder)
    )
    assert done.code == 2
    assert says in done.err


def test_a_port_that_is_taken_is_said(installation: Installation, folder: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = numalab_command(
            installation,
            "notebook",
            "01",
            "--no-browser",
            "--port",
            port,
            NUMALAB_NOTEBOOKS=str(folder),
        )
    assert done.code == 2
    assert f"--port {port} is in use" in done.err


def _kernels(folder: Path) -> list[list[str]]:
    """Command lines of the kernels that were started for this folder of notebooks."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_text().split("\0")
            is_ours = f"NUMALAB_NOTEBOOKS={folder}" in (entry / "environ").read_text().split("\0")
        except (OSError, UnicodeDecodeError):
            continue
        if is_ours and "ipykernel_launcher" in words:
            found.append(words)
    return found


def _answer(url: str, posted: bytes | None = None) -> Any:
    with urllib.request.urlopen(url, data=posted, timeout=SOON_LIMIT_S) as reply:
        return json.loads(reply.read())


@pytest.mark.builds
def test_the_command_serves_the_copy_with_the_kits_own_python_and_ends_cleanly(
    installation: Installation, folder: Path
) -> None:
    command = [str(installation.root / "numalab"), "notebook", "01", "--no-browser"]
    env = environment(installation, NUMALAB_NOTEBOOKS=str(folder), HOME=str(folder.parent))
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env
    ) as process:
        try:
            assert process.stdout is not None
            url = next(line.strip() for line in process.stdout if "http://" in line)
            found = re.fullmatch(r"(http://127\.0\.0\.1:(\d+))/lab/tree/(\S+)\?token=(\w+)", url)
            assert found
            base, port, path, token = found.groups()
            assert path == "01_first_touch/explore.ipynb"
            assert (folder / path).is_file()
            specs = _answer(f"{base}/api/kernelspecs?token={token}")
            spec = specs["kernelspecs"][specs["default"]]
            assert spec["name"] == "numalab"
            _answer(f"{base}/api/kernels?token={token}", b"{}")
            (kernel,) = _kernels(folder)
            assert kernel[0].startswith(f"{installation.root}/.venv/bin/python")
            kept = _answer(f"{base}/api/contents/{path}?token={token}")
            assert kept["type"] == "notebook"
            with pytest.raises(urllib.error.HTTPError, match="403"):
                _answer(f"{base}/api/contents/{path}")  # nobody else reads it
        finally:
            process.send_signal(signal.SIGINT)
            code = process.wait(timeout=SOON_LIMIT_S)
    assert code == 0
    deadline = time.monotonic() + SOON_LIMIT_S
    while _kernels(folder) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert _kernels(folder) == []
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", int(port))) != 0
    left = sorted(entry.name for entry in folder.parent.iterdir())
    assert left == ["notebooks"], left  # nothing in the home folder


def test_what_publishing_replaces_is_kept(tmp_path: Path, folder: Path) -> None:
    """It was edited in labs/, or pulled, after the copy was made."""
    lab, kit = "01_first_touch", Installation(tmp_path)
    kit.lab_folder(lab).parent.mkdir()
    shutil.copytree(ROOT / "labs" / lab, kit.lab_folder(lab))
    given, (copy, _) = given_notebook(kit, lab), working_copy(kit, lab)
    written = given.read_bytes()

    def publish() -> str:
        done = CliRunner().invoke(jupyter.notebook, [lab, "--publish"], obj=kit)
        assert done.exit_code == 0, done.output
        return done.output

    check_text(publish())
    assert given.read_bytes() == written
    for edit in (b"mine\n", b"pulled\n", b"mine\n"):
        given.write_bytes(edit)
        check_text(publish())
        assert given.read_bytes() == written
    kept = sorted(path for path in copy.parent.iterdir() if path != copy)
    assert [path.read_bytes() for path in kept] == [b"mine\n", b"pulled\n"]
    assert not [path for path in given.parent.iterdir() if "kept" in path.name]


def test_authors_put_their_copy_back_without_outputs(
    installation: Installation, folder: Path, tmp_path: Path
) -> None:
    """In labs of its own: others of the suite read the kit's meanwhile."""
    lab, desk = "01_first_touch", make_desk(installation, tmp_path)
    source = given_notebook(desk, lab)
    before = source.read_text(encoding="utf-8")
    copy, _ = working_copy(desk, lab)
    notebook = json.loads(before)
    notebook["cells"][1] |= {"outputs": [{"output_type": "stream"}], "execution_count": 7}
    copy.write_text(json.dumps(notebook), encoding="utf-8")
    source.write_text("replaced", encoding="utf-8")
    done = numalab_command(desk, "notebook", "01", "--publish", NUMALAB_NOTEBOOKS=str(folder))
    assert done.code == 0, done.err
    assert source.read_text(encoding="utf-8") == before
    copy.write_text("{")
    done = numalab_command(desk, "notebook", "01", "--publish", NUMALAB_NOTEBOOKS=str(folder))
    assert done.code == 2
    assert "is no notebook" in done.err
    assert os.environ["NUMALAB_NOTEBOOKS"] == str(folder)
