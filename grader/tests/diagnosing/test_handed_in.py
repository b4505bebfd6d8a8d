"""diagnose.toml: what it is worth, whose it is, and that the first answers stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from numalab.diagnosing.case import LETTERS, answered, make_case
from numalab.diagnosing.handed_in import FILE, keep_first, scored
from numalab.errors import UserError
from numalab.kit import find_kit
from numalab.labs.declaration import load_labs
from numalab.labs.seeds import Seed

KIT = find_kit("gnu")
LAB = load_labs(KIT.root)["01_first_touch"]
SEED = Seed(4711, "ada")


def _text(tmp_path: Path, letters: tuple[str, ...]) -> str:
    assert keep_first(tmp_path, LAB, SEED, letters)
    return (tmp_path / FILE).read_text()


def test_right_answers_are_worth_all(tmp_path: Path) -> None:
    case = make_case(KIT, LAB, SEED)
    best = tuple(next(x for x in LETTERS if answered(case, x * 2)[q].right) for q in range(2))
    result = scored(KIT, LAB, "ada", _text(tmp_path, best))
    assert result["score"] == 1
    assert result["case"] == f"01_first_touch {SEED.code}"


def test_the_first_answers_stay(tmp_path: Path) -> None:
    first = _text(tmp_path, ("a", "b"))
    assert not keep_first(tmp_path, LAB, SEED, ("c", "d"))
    assert (tmp_path / FILE).read_text() == first


def test_answers_to_another_case_are_not_overwritten(tmp_path: Path) -> None:
    _text(tmp_path, ("a", "b"))
    with pytest.raises(UserError, match="another case"):
        keep_first(tmp_path, LAB, Seed(4712, "ada"), ("c", "d"))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (SEED.code, Seed(4711, "bob").code, "does not belong to 'ada'"),
        (SEED.code, "xyz", "is no code"),
        ("01_first_touch", "03_scheduling", "is not 01_first_touch"),
        ('"a", "b"', '"a"', "one letter"),
        ('"a", "b"', "7", "answers"),
        ("answers", "answer", "answer"),
        ("lab =", "lab", "TOML"),
    ],
)
def test_what_is_wrong_is_told(tmp_path: Path, old: str, new: str, says: str) -> None:
    text = _text(tmp_path, ("a", "b"))
    assert old in text
    with pytest.raises(UserError, match=says):
        scored(KIT, LAB, "ada", text.replace(old, new, 1))


def test_another_persons_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="bob handed it in"):
        scored(KIT, LAB, "bob", _text(tmp_path, ("a", "b")))


def test_an_id_with_quotes_stays_one(tmp_path: Path) -> None:
    keep_first(tmp_path, LAB, Seed(4711, 'a "b" c'), ("a", "b"))
    assert len(scored(KIT, LAB, 'a "b" c', (tmp_path / FILE).read_text())["questions"]) == 2
