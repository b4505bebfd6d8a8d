"""The suite in parts."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from support import parts
from support.parts import parts_of, read_durations, read_part, seconds_of_groups

GROUPS = {f"test_{number}": seconds for number, seconds in enumerate((50, 30, 20, 20, 9, 8, 3, 0))}


@pytest.mark.parametrize("count", [1, 2, 4, 9])
def test_parts_are_the_whole_once(count: int) -> None:
    dealt = parts_of(GROUPS, count)
    assert len(dealt) == count
    assert sorted(name for names in dealt for name in names) == sorted(GROUPS)


def test_parts_are_about_as_long() -> None:
    lengths = [sum(GROUPS[name] for name in names) for names in parts_of(GROUPS, 3)]
    assert max(lengths) == 50 and min(lengths) >= 42


def test_each_process_deals_out_the_same() -> None:
    names = list(GROUPS)
    random.Random(1).shuffle(names)
    assert parts_of({name: GROUPS[name] for name in names}, 3) == parts_of(GROUPS, 3)


def test_recorded_durations_decide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "durations.json"
    path.write_text(json.dumps({"tests/a.py": {"test_x": 100.0}, "tests/b.py": {"test_y": 1.0}}))
    monkeypatch.setattr(parts, "read_durations", lambda: read_durations(path))
    cases = [("a", "tests/a.py::test_x[1]"), ("b", "tests/b.py::test_y"), ("c", "tests/c.py::new")]
    assert seconds_of_groups(cases) == {"a": 100.0, "b": 1.0, "c": parts.UNKNOWN_S}


@pytest.mark.parametrize("text", ["0/4", "5/4", "4", "1/0", "a/b", "", "-1/2"])
def test_what_is_no_part_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        read_part(text)


def test_each_recorded_file_is_there(kit_root: Path) -> None:
    missing = [file for file in read_durations() if not (kit_root / "grader" / file).is_file()]
    assert not missing, "./numalab test --all --record-durations"
