"""The model against published runs: what is read, predicted and told. All runs are made up."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from numalab.errors import UserError
from numalab.installation import find_installation
from numalab.machines.gallery import find_machine
from numalab.machines.machine import Machine
from numalab.machines.rates import PublishedRate, Resource

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

from model_validation import medians, predictions, read_ratios, table

RUNS = """\
[[run]]
name = "one"
machine = "hydra"
what = "all pages on NUMA node 0"
source = "me"
    [[run.traffic]]
    pus = "0-31"
    pages_on = "0"

[[run]]
name = "own"
machine = "hydra"
what = "each thread's on its own"
source = "me"
    [[run.traffic]]
    pus = "0-31"
    pages_on = "own"

[[run]]
name = "pair"
machine = "hydra"
what = "two threads of one package"
source = "me"
    [[run.traffic]]
    pus = "0,2"
    pages_on = "all"
    bytes = 16

[[ratio]]
name = "32 threads"
slow = "one"
fast = "own"

[[ratio]]
name = "2 threads against 32"
slow = "pair"
fast = "own"
"""
PUBLISHED = """\
[[published]]
ratio = "32 threads"
value = 1.6
source = "me"
where = "nowhere"
"""


def made_up(of: Resource, gb_s: float, distance: int | None = None) -> PublishedRate:
    return PublishedRate(of, gb_s, "me", "made up", distance)


RATES = (
    made_up("core", 10, 10), made_up("core", 5), made_up("controller", 40), made_up("link", 10),
)  # fmt: skip


def hydra(_: str, rates: tuple[PublishedRate, ...] = RATES) -> Machine:
    return replace(find_machine(find_installation("gnu"), "hydra"), rates=rates)


def written(folder: Path, runs: str = RUNS, published: str = PUBLISHED) -> Path:
    (folder / "runs.toml").write_text(runs, "utf-8")
    (folder / "published.toml").write_text(published, "utf-8")
    return folder


def test_ratios_are_predicted_by_the_slowest_part(tmp_path: Path) -> None:
    first, second = predictions(written(tmp_path), hydra)
    # 32 units: half of them over the link at 10 (1.6 s); of its own 16 behind each controller at
    # 40 (0.4 s), or 1 for each core at 10 (0.1 s).
    assert first.modelled == pytest.approx(1.6 / 0.4)
    assert first.rule == 2, "controllers"
    assert first.error == pytest.approx(1.5)
    assert first.error_of_rule == pytest.approx(0.25)
    # Each of two cores moves 8 at 10 and 8 at 5: 2.4 s; the link 16 at 10.
    assert second.modelled == pytest.approx(2.4 / 0.4)
    assert second.rule == 1
    assert second.error is None, "nobody has published it"
    assert medians((first, second)) == (pytest.approx(1.5), pytest.approx(0.25))


def test_table_has_a_row_for_each_ratio_and_the_medians(tmp_path: Path) -> None:
    lines = table(predictions(written(tmp_path), hydra)).splitlines()
    assert lines[2] == "| hydra | 32 threads | 4.00 | 2.00 | 1.60 | 150 % | 25 % | me |"
    assert lines[3] == "| hydra | 2 threads against 32 | 6.00 | 1.00 | - | - | - | - |"
    assert lines[4] == "| | median | | | | 150 % | 25 % | |"


def test_no_value_is_needed_to_predict(tmp_path: Path) -> None:
    folder = written(tmp_path)
    (folder / "published.toml").unlink()
    found = predictions(folder, hydra)
    assert [one.published for one in found] == [None, None]
    assert medians(found) is None


def test_without_a_controllers_rate_nothing_is_predicted(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no published rate of one of its memory controllers"):
        predictions(written(tmp_path), lambda name: hydra(name, RATES[:2]))


BAD = {
    "unequal bytes": ("bytes = 16", "bytes = 15", "let both move equally much"),
    "no such run": ('slow = "one"', 'slow = "two"', "It can be: one, own, pair"),
    "two runs of a name": ('name = "own"', 'name = "one"', "two runs 'one'"),
    "two ratios of a name": ('name = "2 threads against 32"', 'name = "32 threads"', "two ratios"),
    "several machines": ('"hydra"\nwhat = "all', '"nebula"\nwhat = "all', "of nebula and hydra"),
    "pages nowhere": ('pages_on = "0"', 'pages_on = "here"', "PU list"),
    "nothing moved": ("bytes = 16", "bytes = 0", "above 0"),
    "a run without traffic": (
        '    [[run.traffic]]\n    pus = "0,2"\n    pages_on = "all"\n    bytes = 16\n', "",
        "no key 'traffic'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_mistakes_are_refused(case: str, tmp_path: Path) -> None:
    old, new, words = BAD[case]
    assert old in RUNS
    with pytest.raises(UserError, match=words):
        read_ratios(written(tmp_path, RUNS.replace(old, new)))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [('pus = "0-31"', 'pus = "1-32"', "no PU 32"),
     ('pages_on = "0"', 'pages_on = "2"', "no NUMA node 2")],
)  # fmt: skip
def test_places_that_the_machine_has_not(old: str, new: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=words):
        predictions(written(tmp_path, RUNS.replace(old, new)), hydra)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [("value = 1.6", "value = 0", "above 0"),
     ('ratio = "32 threads"', 'ratio = "33 threads"', "It can be")],
)  # fmt: skip
def test_published_values_are_checked(old: str, new: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=words):
        predictions(written(tmp_path, published=PUBLISHED.replace(old, new)), hydra)
