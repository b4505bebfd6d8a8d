"""diagnose.toml: what it is worth, and that the first answers stay."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.commands import numalab_command

from numalab.diagnosing.case import Case, make_case
from numalab.diagnosing.handed_in import (
    FILE,
    MOST_BYTES,
    answered,
    diagnosis_words,
    file_text,
    keep_first,
    score_diagnosis,
    scored,
)
from numalab.errors import UserError
from numalab.files import read_json
from numalab.installation import Installation, find_installation
from numalab.labs.declaration import load_labs
from numalab.labs.seeds import Seed

KIT = find_installation("gnu")
LABS = load_labs(KIT.root)
LAB = LABS["01_first_touch"]
SEED = Seed(4711, "ada")


@pytest.fixture(scope="module")
def case() -> Case:
    return make_case(KIT, LAB, SEED)


def right(case: Case) -> dict[str, str]:
    return {question.name: question.answer for question in case.questions}


def wrong(case: Case) -> dict[str, str]:
    return {
        question.name: next(choice for choice in question.choices if choice != question.answer)
        for question in case.questions
    }


def test_right_answers_are_worth_all(case: Case) -> None:
    found = scored(KIT, LAB, file_text(case, right(case)))
    assert found["score"] == 1
    assert found["case"] == f"01_first_touch {SEED.code}"
    assert all(question["right"] for question in found["questions"])


def test_each_question_is_worth_the_same(case: Case) -> None:
    first = case.questions[0].name
    found = scored(KIT, LAB, file_text(case, wrong(case) | {first: right(case)[first]}))
    assert found["score"] == pytest.approx(1 / len(case.questions), abs=1e-4)
    assert scored(KIT, LAB, file_text(case, wrong(case)))["score"] == 0


def test_a_file_to_fill_in_is_worth_nothing_until_it_is(case: Case) -> None:
    text = file_text(case)
    assert scored(KIT, LAB, text)["score"] == 0
    for question in case.questions:
        line = next(
            line for line in text.splitlines()
            if line.startswith(f"# {question.name} = ") and question.answer[:20] in line
        )  # fmt: skip
        text = text.replace(line, line.removeprefix("# "))
    assert scored(KIT, LAB, text)["score"] == 1
    assert len(text.encode()) < MOST_BYTES


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (('"01_first_touch"', '"03_scheduling"'), "is not 01_first_touch"),
        (('"ada"', '"bob"'), "does not belong to 'bob'"),
        (("mistake = ", "mistakes = "), "mistakes"),
        (("mistake = ", 'mistake = "none of these" #'), "none of its choices"),
        (("[answers]", "[answers"), "TOML"),
        (("mistake = ", "mistake = nan #"), "mistake"),
    ],
)
def test_a_file_that_is_none_is_told(case: Case, change: tuple[str, str], told: str) -> None:
    with pytest.raises(UserError, match=re.escape(told)):
        scored(KIT, LAB, file_text(case, right(case)).replace(*change))


def test_what_can_not_be_scored_is_worth_nothing_and_says_why(case: Case, tmp_path: Path) -> None:
    assert score_diagnosis(KIT, LAB, tmp_path) is None
    path = tmp_path / FILE
    path.write_text(file_text(case, right(case)))
    assert diagnosis_words(LAB.name, score_diagnosis(KIT, LAB, tmp_path) or {}).endswith(
        f"{len(case.questions)} of {len(case.questions)} answers are right."
    )
    for content, told in (
        (b"#" * (MOST_BYTES + 1), "larger"),
        (b"\xff\xfe", "UTF-8"),
        (b"lab = 1\n", "has no key"),
    ):
        path.write_bytes(content)
        found = score_diagnosis(KIT, LAB, tmp_path)
        assert found is not None
        assert found["score"] == 0
        assert told in found["complaint"]
    path.unlink()
    path.symlink_to("/etc/passwd")
    found = score_diagnosis(KIT, LAB, tmp_path)
    assert found is not None
    assert "link" in found["complaint"]


def test_the_first_answers_stay(case: Case, tmp_path: Path) -> None:
    assert keep_first(tmp_path / "new", case, wrong(case))
    first = (tmp_path / "new" / FILE).read_text()
    assert not keep_first(tmp_path / "new", case, right(case))
    assert (tmp_path / "new" / FILE).read_text() == first


def test_answers_to_another_case_are_not_overwritten(case: Case, tmp_path: Path) -> None:
    keep_first(tmp_path, case, right(case))
    other = make_case(KIT, LAB, Seed(4712, "ada"))
    with pytest.raises(UserError, match="answers to another case"):
        keep_first(tmp_path, other, right(other))


def test_answers_are_choices(case: Case) -> None:
    assert not any(answer.is_correct for answer in answered(case, {}))
    with pytest.raises(UserError, match="none of its choices"):
        answered(case, {case.questions[0].name: "a"})


@pytest.mark.builds
def test_a_grading_scores_the_file_beside_the_kernel(
    installation: Installation, case: Case, tmp_path: Path
) -> None:
    folder = tmp_path / LAB.name
    folder.mkdir()
    for name in ("kernel.c",):
        (folder / name).write_bytes((installation.lab_folder(LAB.name) / name).read_bytes())
    (folder / FILE).write_text(file_text(case, right(case)))
    out = tmp_path / "out.json"
    done = numalab_command(
        installation,
        "grade",
        "01",
        "--submission",
        str(tmp_path),
        "--lang",
        "c",
        "--quick",
        "--here-only",
        "--json",
        str(out),
    )
    asked = len(case.questions)
    assert f"01_first_touch, diagnosis: {asked} of {asked} answers are right." in done.out
    assert read_json(out)["results"][0]["diagnosis"]["score"] == 1
