"""A variant's kit is there whole or not at all, whoever else makes it at the same moment."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from numalab.errors import NumalabError
from numalab.grading.variant_installations import made_installation
from numalab.installation import Installation
from numalab.labs.seeds import Seed

NAME = "01_first_touch_variant"
SEED = Seed(7, "audit 7")
DIGEST = "0123456789abcdef"


@pytest.fixture
def apart(installation: Installation, tmp_path: Path) -> Installation:
    """With a build folder of its own."""
    return replace(installation, builds=tmp_path)


def put(root: Path, text: str) -> None:
    (root / "labs" / NAME).mkdir(parents=True)
    (root / "labs" / NAME / "kernel.c").write_text(text)


def test_one_that_could_not_be_made_leaves_nothing(apart: Installation) -> None:
    def stops(root: Path) -> None:
        put(root, "half")
        raise OSError(28, "No space left on device")

    with pytest.raises(NumalabError, match="No space left on device"):
        made_installation(apart, NAME, SEED, DIGEST, stops)
    assert list((apart.build_root / "variants").iterdir()) == []
    made = made_installation(apart, NAME, SEED, DIGEST, lambda root: put(root, "whole"))
    assert (made.root / "labs" / NAME / "kernel.c").read_text() == "whole"
    assert (made.root / "common").samefile(apart.root / "common")


def test_who_comes_second_takes_what_is_there(apart: Installation) -> None:
    def meanwhile(root: Path) -> None:
        made_installation(apart, NAME, SEED, DIGEST, lambda other: put(other, "first"))
        put(root, "second")

    made = made_installation(apart, NAME, SEED, DIGEST, meanwhile)
    assert (made.root / "labs" / NAME / "kernel.c").read_text() == "first"
    assert [path.name for path in (apart.build_root / "variants").iterdir()] == [made.root.name]


def test_that_of_an_earlier_kit_is_taken_away(apart: Installation) -> None:
    before = made_installation(apart, NAME, SEED, DIGEST, lambda root: put(root, "before"))
    now = made_installation(apart, NAME, SEED, DIGEST[::-1], lambda root: put(root, "now"))
    assert now.root.is_dir() and not before.root.exists()


def test_that_of_a_copied_kit_is_made_anew_with_links_to_the_copy(
    apart: Installation, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Else the original's sources would be built, or none."""
    (first, second) = (replace(apart, root=tmp_path / name) for name in ("one", "two"))
    for installation in (first, second):
        (installation.root / "common").mkdir(parents=True)
    before = made_installation(first, NAME, SEED, DIGEST, lambda root: put(root, "one's"))
    assert made_installation(first, NAME, SEED, DIGEST, lambda root: put(root, "again")) == before
    assert "anew" not in capsys.readouterr().err
    made = made_installation(second, NAME, SEED, DIGEST, lambda root: put(root, "two's"))
    assert made.root == before.root
    assert (made.root / "common").samefile(second.root / "common")
    assert "anew" in capsys.readouterr().err
