"""lab.diagnose: a case in a notebook."""

from __future__ import annotations

from pathlib import Path

import pytest

from numalab.diagnosing.case import Case, make_case
from numalab.diagnosing.handed_in import FILE
from numalab.diagnosing.report import LETTERS
from numalab.errors import UserError
from numalab.installation import find_installation
from numalab.labs.declaration import load_labs
from numalab.labs.seeds import Seed
from numalab.learning import notebook
from numalab.learning.notebook import open_notebook

KIT = find_installation("gnu")
LAB = load_labs(KIT.root)["01_first_touch"]


def case_here() -> Case:
    """One that needs no virtual node."""
    cases = (make_case(KIT, LAB, Seed(number, "ada")) for number in range(1, 200))
    return next(
        case for case in cases
        if case.machine_seed is None and case.suspect.known.cause == "wrong_result"
    )  # fmt: skip


@pytest.mark.builds
def test_a_case_is_asked_and_graded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NUMALAB_NOTEBOOKS", str(tmp_path))
    lab, case = open_notebook("01"), case_here()
    whose = {"owner": "ada", "code": case.seed.code}
    lab.diagnose(**whose)  # type: ignore[arg-type]
    asked = capsys.readouterr().out
    assert "What is wrong in this kernel?" in asked
    assert "No answers yet" in asked
    letters = ",".join(LETTERS[q.choices.index(q.answer)] for q in case.questions)
    lab.diagnose(letters, **whose)  # type: ignore[arg-type]
    assert f"{len(case.questions)} of {len(case.questions)} right." in capsys.readouterr().out
    kept = (lab.folder / FILE).read_text()
    lab.diagnose(",".join("abcd"[letters[0] == "a"] for _ in case.questions), **whose)  # type: ignore[arg-type]
    assert (lab.folder / FILE).read_text() == kept
    assert "they count" in capsys.readouterr().out
    with pytest.raises(UserError, match="write one letter"):
        lab.diagnose("e,f", **whose)  # type: ignore[arg-type]


def test_each_language_has_a_case_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though a seed's cases have one name, and are run once each."""
    monkeypatch.setenv("NUMALAB_NOTEBOOKS", str(tmp_path))
    shown: list[str] = []

    def report(case: Case, found: str, width: int) -> list[str]:
        assert case.language == found
        shown.append(found)
        return []

    runs: list[str] = []

    def run(installation: object, case: Case, *more: object) -> str:
        runs.append(case.language)
        return case.language

    monkeypatch.setattr(notebook, "run_case", run)
    monkeypatch.setattr(notebook, "report_lines", report)
    lab = open_notebook("01")
    for language in ("c", "fortran", "c"):
        lab.diagnose(seed="17", language=language)
    assert (shown, runs) == (["c", "fortran", "c"], ["c", "fortran"])


def test_whose_case_it_is_has_to_be_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NUMALAB_NOTEBOOKS", str(tmp_path))
    lab = open_notebook("01")
    lab.diagnose(seed="")
    assert "No case yet" in capsys.readouterr().out
    with pytest.raises(UserError, match="study alone"):
        lab.diagnose(seed="today", owner="ada")
    with pytest.raises(UserError, match="does not belong"):
        lab.diagnose(owner="ada", code="7KX-0QM-2F9")
