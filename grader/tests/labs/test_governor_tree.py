"""Recordings of a frequency governor agree with themselves, and answers follow from their files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from numalab.labs.governor_answers import (
    KEYS,
    QUESTIONS,
    BadRecordAnswers,
    Question,
    read_record_answers,
)
from numalab.labs.governor_tree import PUBLISHED_SEED, recording, tree

SEEDS = (PUBLISHED_SEED, 1, 7, 1234, 99_999, 2**32 - 1)
POLICY = "sys/devices/system/cpu/cpu0/cpufreq"
GOVERNOR = "sys/devices/system/cpu/cpufreq/ondemand"
BY_KEY = {question.key: question for question in QUESTIONS}


@dataclass(frozen=True)
class Files:
    """What somebody reads who has the files alone."""

    files: Mapping[str, str]

    def number(self, path: str) -> int:
        return int(self.files[path])

    @property
    def ticks(self) -> dict[int, int]:
        lines = self.files[f"{POLICY}/stats/time_in_state"].splitlines()
        return {int(khz): int(ticks) for khz, ticks in (line.split() for line in lines)}

    @property
    def table(self) -> dict[tuple[int, int], int]:
        head, columns, *rows = self.files[f"{POLICY}/stats/trans_table"].splitlines()
        assert head.split() == ["From", ":", "To"]
        taken = [int(word) for word in columns.split()[1:]]
        counts = {}
        for row in rows:
            left, *cells = row.replace(":", " ").split()
            counts |= {(int(left), to): int(cell) for to, cell in zip(taken, cells, strict=True)}
        return counts


def files_of(seed: int) -> Files:
    return Files(tree(recording(seed)))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_recording_agrees_with_itself(seed: int) -> None:
    files = files_of(seed)
    states = [int(word) for word in files.files[f"{POLICY}/scaling_available_frequencies"].split()]
    assert len(states) == 14 and states == sorted(states, reverse=True)
    assert (max(states), min(states)) == (
        files.number(f"{POLICY}/cpuinfo_max_freq"), files.number(f"{POLICY}/cpuinfo_min_freq")
    ) == (2_661_000, 1_064_000)  # fmt: skip
    assert list(files.ticks) == states and len(files.table) == 14 * 14
    assert sum(files.table.values()) == files.number(f"{POLICY}/stats/total_trans") > 500
    assert all(files.table[khz, khz] == 0 for khz in states)
    # Whoever leaves a frequency has come to it, but at the start and in the end.
    last = files.number(f"{POLICY}/scaling_cur_freq")
    for khz in states:
        left = sum(count for (of, _), count in files.table.items() if of == khz)
        taken = sum(count for (_, to), count in files.table.items() if to == khz)
        assert left - taken == (khz == states[0]) - (khz == last)
        assert bool(files.ticks[khz]) == bool(left + taken)
    sampling_us = files.number(f"{GOVERNOR}/sampling_rate")
    assert sampling_us == files.number(f"{POLICY}/cpuinfo_transition_latency")  # times 1,000
    recorded_us = sum(files.ticks.values()) * 10_000
    assert recorded_us % sampling_us == 0
    assert files.number(f"{POLICY}/stats/total_trans") < recorded_us // sampling_us
    assert 70 <= files.number(f"{GOVERNOR}/up_threshold") <= 95


@pytest.mark.parametrize("seed", SEEDS)
def test_answers_follow_from_the_files(seed: int) -> None:
    files, about = files_of(seed), recording(seed)
    counts = sorted(files.table.items(), key=lambda entry: entry[1])
    assert counts[-1][1] > counts[-2][1]
    latency_ns = files.number(f"{POLICY}/cpuinfo_transition_latency")
    sampling_us = files.number(f"{GOVERNOR}/sampling_rate")
    busy_us = sampling_us * files.number(f"{GOVERNOR}/up_threshold") / 100
    ticks = files.ticks
    found = {
        "most_from_khz": counts[-1][0][0],
        "most_to_khz": counts[-1][0][1],
        "transitions": sum(files.table.values()),
        "average_mhz": sum(k * t for k, t in ticks.items()) / sum(ticks.values()) / 1000,
        "up_least_us": busy_us + latency_ns / 1000,
        "up_most_us": busy_us + sampling_us + latency_ns / 1000,
        "transitions_ms": sum(files.table.values()) * latency_ns / 1e6,
    }
    assert set(found) == set(KEYS)
    for question in QUESTIONS:
        assert question.is_right(found[question.key], about), question.key
        assert not question.is_right(found[question.key] * 1.01 + 1, about)
        assert not question.is_right(float("nan"), about)


def test_the_published_governor() -> None:
    files = files_of(PUBLISHED_SEED)
    assert files.number(f"{POLICY}/cpuinfo_transition_latency") == 10_000
    assert files.number(f"{GOVERNOR}/sampling_rate") == 10_000
    assert files.number(f"{GOVERNOR}/up_threshold") == 95
    about = recording(PUBLISHED_SEED)
    assert BY_KEY["up_least_us"].right(about) == 9_510
    assert BY_KEY["up_most_us"].right(about) == 19_510


def test_seeds_make_recordings_of_their_own() -> None:
    found = [recording(seed) for seed in range(1, 41)]
    assert len({one.total for one in found}) > 35
    assert len({one.most_often for one in found}) > 10
    assert len({(one.up_threshold, one.latency_ns) for one in found}) > 10
    with pytest.raises(ValueError, match="seed 0"):
        recording(0)


@pytest.mark.parametrize(
    ("key", "given", "said"),
    [
        ("most_from_khz", lambda a: a.most_often[1], "a row is left and a column taken up"),
        ("most_to_khz", lambda a: a.most_often[1] / 1000, "in kHz"),
        ("transitions", lambda a: len(a.transitions), "kinds of transition"),
        ("transitions", lambda a: a.total / 2, "a transition each"),
        ("average_mhz", lambda a: sum(a.frequencies_khz) / 14_000, "as long as it lasted"),
        ("average_mhz", lambda a: (1064 + 2661) / 2, "middle of the ends"),
        ("up_least_us", lambda a: a.sampling_us * a.up_threshold / 100, "takes time, too"),
        ("up_least_us", lambda a: a.sampling_us + a.latency_ns / 1000, "the part up_threshold"),
        ("up_most_us", lambda a: a.sampling_us * (a.up_threshold / 100 + 2), "in ns"),
        ("up_most_us", lambda a: 2 * a.sampling_us + a.latency_ns / 1000, "the part up_threshold"),
        ("up_most_us", lambda a: a.latency_ns / 1000, "once per sampling period"),
        ("transitions_ms", lambda a: a.total * a.latency_ns / 1e3, "ns, not us"),
        ("transitions_ms", lambda a: a.total * a.sampling_us / 1e3, "ns, not us"),
        ("transitions_ms", lambda a: a.total * a.latency_ns / 1e9, "in s; it is"),
    ],
)
def test_known_mistakes_are_told(key: str, given: object, said: str) -> None:
    assert callable(given)
    for seed in SEEDS:
        about = recording(seed)
        question: Question = BY_KEY[key]
        told = question.mistake(given(about), about)
        assert told is not None and said in told, (seed, told)
        assert str(int(question.right(about))) not in told


def test_what_is_right_is_no_mistake() -> None:
    for seed in SEEDS:
        about = recording(seed)
        for question in QUESTIONS:
            assert question.mistake(question.right(about), about) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("transitions = 3\n", "'seed' is missing"),
        ("seed = 0\n", "1 or more"),
        (f"seed = {2**32}\n", "it can be 1 to"),
        ("seed = 5\ntransition = 3\n", "Did you mean 'transitions'"),
        ('seed = 5\ntransitions = "many"\n', "write a number"),
        ("seed = 5\ntransitions = nan\n", "finite"),
        ("seed = 5\ntransitions = 1e99\n", "more than anything"),
        ("seed = 5\n[job]\n", "unknown key 'job'"),
    ],
)
def test_files_that_can_not_be_used(text: str, said: str) -> None:
    with pytest.raises(BadRecordAnswers, match=said):
        read_record_answers(text)


def test_a_course_may_fix_the_seed() -> None:
    assert read_record_answers("seed = 5\n", 5).seed == 5
    with pytest.raises(BadRecordAnswers, match="yours is 6: write seed = 6"):
        read_record_answers("seed = 5\n", 6)


def test_empty_answers_are_none() -> None:
    assert read_record_answers('seed = 5\ntransitions = ""\n').are_none
    assert not read_record_answers("seed = 5\ntransitions = 0\n").are_none
