"""Variants as a student has them: written, graded, handed in with a wrong code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.commands import Done, numalab_command, without_times

from numalab.commands.audit import _seeds
from numalab.grading.variant_installations import make_variant
from numalab.installation import Installation
from numalab.labs.seeds import Seed
from numalab.labs.variants import labs_with_variants

NAME = "01_first_touch_variant"
# Of the variant of seed 1234: three pieces per thread from the end on, and of a 72 % to 86 %; a
# word where a number is asked for; and of c nothing.
PREDICTED = 'lower_half_of_a = 0.19\nlower_half_of_b = "half"\n'


def write(installation: Installation, out: Path, *whose: str) -> Done:
    return numalab_command(installation, "variant", "01", *whose, "--out", str(out))


def grade(installation: Installation, above: Path, *more: str) -> Done:
    return numalab_command(
        installation, "grade", "01", "--variant", "--quick", "--here-only", "--lang", "c",
        "--submission", str(above), *more, **without_times(above),
    )  # fmt: skip


def test_what_goes_together_is_told(installation, tmp_path):
    seed = Seed(1234, "ada")
    assert write(installation, tmp_path).said.startswith("numalab: say whose it is")
    assert "needs --code CODE" in write(installation, tmp_path, "--for", "ada").said
    assert "study alone" in write(installation, tmp_path, "--for", "ada", "--seed", "3").said
    wrong = write(installation, tmp_path, "--for", "eve", "--code", seed.code)
    assert (wrong.code, "does not belong to 'eve'" in wrong.said) == (2, True)
    assert not list(tmp_path.iterdir())
    nowhere = grade(installation, tmp_path)
    assert nowhere.code == 2
    assert f"there is no folder {tmp_path / NAME}" in nowhere.err.replace("\n", " ")


def test_files_that_are_there_stay(installation, tmp_path):
    seed = Seed(1234, "ada")
    assert write(installation, tmp_path, "--for", "ada", "--code", seed.code).code == 0
    folder = tmp_path / NAME
    assert 'lower_half_of_a = ""' in (folder / "predictions.toml").read_text()
    for name in ("kernel.c", "predictions.toml"):
        (folder / name).write_text("mine")
    (folder / "README.md").unlink()
    assert write(installation, tmp_path, "--for", "ada", "--code", seed.code).code == 0
    assert (folder / "kernel.c").read_text() == "mine"
    assert (folder / "predictions.toml").read_text() == "mine"
    assert seed.code in (folder / "README.md").read_text()
    other = write(installation, tmp_path, "--seed", "9")
    assert other.code == 2
    assert f"has the variant of 'ada' ({seed.code})" in other.said


@pytest.mark.builds
def test_a_student_solves_hers(installation, tmp_path):
    seed = Seed(1234, "ada")
    write(installation, tmp_path, "--for", "ada", "--code", seed.code)
    folder, results = tmp_path / NAME, tmp_path / "result.json"
    first = grade(installation, tmp_path, "--json", str(results))
    assert first.code == 1
    assert f"Read variants/{NAME}/README.md" in " ".join(first.out.split())
    (result,) = json.loads(results.read_text())["results"]
    assert result["lab"] == NAME
    failed = [c["name"] for c in result["criteria"] if c["status"] == "fail"]
    assert failed == ["touched_where_used"]
    assert "Nothing is predicted: predictions.toml" in first.out
    assert "prediction" not in result

    variant, _, own = make_variant(installation, "01_first_touch", seed)
    solution = own.solution_folder(variant.name) / "kernel.c"
    (folder / "kernel.c").write_text(solution.read_text())
    (folder / "predictions.toml").write_text(PREDICTED)
    second = grade(installation, tmp_path, "--json", str(results))
    assert second.code == 0
    (result,) = json.loads(results.read_text())["results"]
    scores = {one["name"]: one["score"] for one in result["prediction"]["quantities"]}
    assert scores["lower_half_of_a"] > 0.9
    assert scores["lower_half_of_b"] == scores["lower_half_of_c"] == 0
    assert "lower_half_of_b" in second.out


def test_a_ticket_that_was_changed_is_told(installation, tmp_path):
    write(installation, tmp_path, "--seed", "9")
    ticket = tmp_path / NAME / "variant.toml"
    text = ticket.read_text()
    for change, told in (
        (("seed 9", "seed 8"), "does not belong to 'seed 8'"),
        (("01_first_touch", "02_affinity"), "is of a variant of 02_affinity"),
        (("for =", "to ="), "variant.toml"),
    ):
        ticket.write_text(text.replace(*change))
        done = grade(installation, tmp_path)
        assert (done.code, told in done.said) == (2, True), done.err
    ticket.unlink()
    assert "variant.toml is missing" in grade(installation, tmp_path).said


@pytest.mark.builds
@pytest.mark.slow
def test_variants_are_proved(installation):
    done = numalab_command(
        installation, "audit", "01", "--seeds", "1", "--lang", "fortran", "--here-only"
    )
    assert done.code == 0
    assert "ok    01_first_touch  fortran  seed 1\n" in done.out
    assert "different answers, 0 complaints" in done.out


@pytest.mark.slow
@pytest.mark.builds
@pytest.mark.parametrize("lab", labs_with_variants(Path(__file__).resolve().parents[3]))
def test_variants_of_each_lab_are_proved(installation, lab):
    done = numalab_command(installation, "audit", lab, "--seeds", "3")
    assert (done.code, "0 complaints" in done.out) == (0, True), done.out


@pytest.mark.builds
@pytest.mark.parametrize("sandbox", [[], ["--sandbox"]])
def test_a_kernel_does_not_find_what_was_drawn(installation, tmp_path, sandbox):
    """It would be right for everybody."""
    write(installation, tmp_path, "--seed", "1234")
    kernel = tmp_path / NAME / "kernel.c"
    kernel.write_text(f'#include "variant.h"\n{kernel.read_text()}')
    done = grade(installation, tmp_path, *sandbox)
    assert done.code == 1
    assert "kernel.c does not compile" in " ".join(done.out.split())
    assert "variant.h: No such file" in " ".join(done.out.split())


@pytest.mark.parametrize("seeds", ["0", "-3", "3-", "5-2", "a", "9-x", "1001", "", "1-2-3"])
def test_seeds_that_are_none_are_told(installation: Installation, seeds: str) -> None:
    done = numalab_command(installation, "audit", "01", "--seeds", seeds)
    assert done.code == 2
    assert "write how many, such as 20, or which, such as 9-20" in done.said


def test_seeds_are_some_or_a_range_of_them() -> None:
    assert _seeds("20") == range(1, 21)
    assert _seeds("9-20") == range(9, 21)
