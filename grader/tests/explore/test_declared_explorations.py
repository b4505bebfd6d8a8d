"""What explore.toml declares, and which one a name means."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from schedule_experiment import Schedules
from stream_experiment import Streams
from support.explorations import SCHEDULES, STREAMS, TABLES
from support.lab_folders import write_grading
from table_experiment import TableSizes

from numalab.errors import NumalabError, UserError
from numalab.explore.declaration import find_exploration, load_exploration, resized
from numalab.explore.experiment import Experiment, Exploration, VirtualMachine

SCHEDULED = """\
kind = "schedules"
title = "t"
schedules = ["static", "guided"]
chunks = [0, 4]
environment = { OMP_PROC_BIND = "close" }
[default]
n = 1
rounds = 1
[quick]
n = 6
rounds = 7
"""
SIZED = """\
kind = "table_sizes"
title = "t"
smallest_bytes = 8
[default]
largest_bytes = 8
growth = 2
steps = 1
repetitions = 1
rounds = 1
[quick]
largest_bytes = 64
growth = 4
steps = 5
repetitions = 6
rounds = 7
"""
STREAMED = """\
kind = "streams"
title = "t"
[virtual]
machine = "hydra"
cores_per_numa_node = 1
array_bytes = 65536
[default]
array_bytes = 65536
repetitions = 1
rounds = 1
virtual_rounds = 1
[quick]
array_bytes = 65544
repetitions = 3
rounds = 4
virtual_rounds = 5
"""


@pytest.mark.parametrize(
    ("text", "default", "quick"),
    [
        (SCHEDULED,
         Schedules(("static", "guided"), (0, 4), {"OMP_PROC_BIND": "close"}, 1, 1),
         Schedules(("static", "guided"), (0, 4), {"OMP_PROC_BIND": "close"}, 6, 7)),
        (SIZED, TableSizes(8, 8, 2, 1, 1, 1), TableSizes(8, 64, 4, 5, 6, 7)),
        (STREAMED, Streams(65536, 1, 1, VirtualMachine("hydra", 1, 65536, 1)),
         Streams(65544, 3, 4, VirtualMachine("hydra", 1, 65536, 5))),
    ],
)  # fmt: skip
def test_both_sizes_of_a_declaration(
    tmp_path: Path, text: str, default: Experiment, quick: Experiment
) -> None:
    write_grading(tmp_path, text, "explore.toml")
    assert load_exploration(tmp_path) == Exploration(tmp_path.name, "t", default)
    assert load_exploration(tmp_path, quick=True) == Exploration(tmp_path.name, "t", quick)


@pytest.mark.parametrize(
    ("text", "old", "new", "name"),
    [
        (SCHEDULED, "n = 1", "n = 0", "n"),
        (SCHEDULED, "rounds = 1", "rounds = 0", "rounds"),
        (SCHEDULED, "[0, 4]", "[-1, 4]", "chunks"),
        (SIZED, "smallest_bytes = 8", "smallest_bytes = 7", "smallest_bytes"),
        (SIZED, "largest_bytes = 8", "largest_bytes = 7", "largest_bytes"),
        (SIZED, "growth = 2", "growth = 1", "growth"),
        (SIZED, "steps = 1", "steps = 0", "steps"),
        (SIZED, "repetitions = 1", "repetitions = 0", "repetitions"),
        (SIZED, "rounds = 1", "rounds = 0", "rounds"),
        (STREAMED, "cores_per_numa_node = 1", "cores_per_numa_node = 0", "cores_per_numa_node"),
        (STREAMED, "array_bytes = 65536\n[def", "array_bytes = 65535\n[def", "array_bytes"),
        (STREAMED, "array_bytes = 65536\nrep", "array_bytes = 65535\nrep", "array_bytes"),
        (STREAMED, "repetitions = 1", "repetitions = 0", "repetitions"),
        (STREAMED, "\nrounds = 1", "\nrounds = 0", "rounds"),
        (STREAMED, "virtual_rounds = 1", "virtual_rounds = 0", "virtual_rounds"),
    ],
)
def test_what_is_too_little(tmp_path: Path, text: str, old: str, new: str, name: str) -> None:
    assert old in text
    write_grading(tmp_path, text.replace(old, new, 1), "explore.toml")
    with pytest.raises(NumalabError, match=f"'{name}'"):
        load_exploration(tmp_path)


def explorable(name: str, what: Experiment) -> Exploration:
    return Exploration(name, "t", what)


def test_other_numbers_of_rounds_and_sizes() -> None:
    matrices, tables = explorable("a", SCHEDULES), explorable("b", TABLES)
    streams = explorable("c", STREAMS)
    for one in (matrices, tables, streams):
        assert resized(one, None, None) == one
        assert resized(one, 1, None) == replace(one, what=replace(one.what, rounds=1))
    assert resized(matrices, None, 2**20).what == replace(SCHEDULES, n=2**20)
    assert resized(tables, None, 8192).what == replace(TABLES, largest_bytes=65536)
    assert resized(streams, None, 8192).what == replace(STREAMS, array_bytes=65536)
    for one, n in ((matrices, 2**20 + 1), (tables, 8191), (tables, 12288), (tables, 4096),
                   (streams, 8191)):  # fmt: skip
        with pytest.raises(UserError, match=f"--n {n}: "):
            resized(one, None, n)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, files in (("01_first_touch", ["lab.toml"]), ("03_scheduling", ["explore.toml"]),
                        ("12_tables", ["lab.toml", "explore.toml"]), ("notes", [])):  # fmt: skip
        (tmp_path / "labs" / name).mkdir(parents=True)
        for file in files:
            write_grading(tmp_path / "labs" / name, "", file)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("3", "03_scheduling"), ("03", "03_scheduling"), ("scheduling", "03_scheduling"),
        ("03_scheduling", "03_scheduling"), ("labs/03_scheduling/", "03_scheduling"),
        ("12", "12_tables"), ("tables", "12_tables"),
    ],
)  # fmt: skip
def test_which_exploration_a_name_means(root: Path, name: str, found: str) -> None:
    assert find_exploration(root, name) == root / "labs" / found


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("1", "lab 01_first_touch has no exploration"),
        ("first_touch", "lab 01_first_touch has no exploration"),
        ("2", "there is no lab '2'. Labs"),
        ("notes", "there is no lab 'notes'. Did you mean 12_tables?"),
        ("scheduled", "there is no lab 'scheduled'. Did you mean 03_scheduling?"),
        ("12_tabels", "there is no lab '12_tabels'. Did you mean 12_tables?"),
    ],
)
def test_which_explorations_there_are(root: Path, name: str, says: str) -> None:
    with pytest.raises(UserError) as told:
        find_exploration(root, name)
    assert str(told.value).startswith(says)
    assert str(told.value).endswith("Labs with an exploration: 03_scheduling, 12_tables")


def test_a_kit_without_explorations_says_so(tmp_path: Path) -> None:
    (tmp_path / "labs").mkdir()
    with pytest.raises(UserError, match=r"Labs with an exploration: none$"):
        find_exploration(tmp_path, "3")
