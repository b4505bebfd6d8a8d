"""The suite in parts that take about as long, by recorded durations."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

RECORDED = Path(__file__).parent.parent / "durations.json"
# Of a case that is not recorded: a short one, or one that was not there.
UNKNOWN_S = 0.1

Durations = dict[str, dict[str, float]]  # seconds of one case, by file and function


def read_part(text: str) -> tuple[int, int]:
    """Read K/N, as in 1/4. Raises ValueError."""
    number, _, count = text.partition("/")
    part = int(number), int(count)
    if not 1 <= part[0] <= part[1]:
        raise ValueError(text)
    return part


def read_durations(path: Path = RECORDED) -> Durations:
    """Return the recorded seconds of a case of each test function."""
    recorded: Durations = json.loads(path.read_text())
    return recorded


def function_of(nodeid: str) -> tuple[str, str]:
    """Return file and function of a test case."""
    file, _, name = nodeid.partition("::")
    return file, name.partition("[")[0]


def parts_of(weights: Mapping[str, float], count: int) -> list[set[str]]:
    """Deal out groups of tests to parts, the longest first, each to the shortest part so far.

    weights: seconds of each group. The same groups give the same parts, in whatever order they
    come.
    """
    parts: list[tuple[float, int, set[str]]] = [(0.0, number, set()) for number in range(count)]
    for name, seconds in sorted(weights.items(), key=lambda group: (-group[1], group[0])):
        total, number, names = min(parts)
        parts[number] = (total + seconds, number, names | {name})
    return [names for _, _, names in parts]


def seconds_of_groups(grouped: Iterable[tuple[str, str]]) -> dict[str, float]:
    """Return how long each group takes, by recorded durations. grouped: group and id of each test
    case."""
    recorded = read_durations()
    seconds: defaultdict[str, float] = defaultdict(float)
    for group, nodeid in grouped:
        file, function = function_of(nodeid)
        seconds[group] += recorded.get(file, {}).get(function, UNKNOWN_S)
    return seconds


class Recorder:
    """Adds up how long each test function takes, set-up and clean-up included, and writes the
    mean of its cases into the file of recorded durations, beside what it has of others."""

    def __init__(self) -> None:
        self.seconds: defaultdict[tuple[str, str], float] = defaultdict(float)
        self.cases: defaultdict[tuple[str, str], set[str]] = defaultdict(set)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        function = function_of(report.nodeid)
        self.seconds[function] += report.duration
        self.cases[function].add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        recorded = read_durations() if RECORDED.is_file() else {}
        for (file, name), seconds in self.seconds.items():
            mean_s = round(seconds / len(self.cases[file, name]), 2)
            of_file = recorded.setdefault(file, {})
            of_file.pop(name, None)
            if mean_s > UNKNOWN_S:
                of_file[name] = mean_s
        there = {
            file: recorded[file]
            for file in sorted(recorded)
            if recorded[file] and Path(file).is_file()
        }
        lines = (f"{json.dumps(f)}: {json.dumps(there[f], sort_keys=True)}" for f in there)
        RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n")
