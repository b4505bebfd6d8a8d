"""Recordings of a frequency governor agree with themselves, and answers follow from their files."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

import pytest
from governor_answers import (
    KEYS,
    QUESTIONS,
    GovernorQuestion,
    read_record_answers,
)
from governor_tree import (
    PUBLISHED_SEED,
    Recording,
    _governed,
    _is_clear,
    frequencies,
    make_recording,
    tree,
)

from numalab.labs.seeded_answers import BadAnswers

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
    return Files(tree(make_recording(seed)))


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


@pytest.mark.parametrize(
    ("seed", "latency_ns", "threshold", "transitions", "most_often", "digest"),
    [
        (2012, 10_000, 95, 3635, (1_463_000, 2_661_000), "67b6e0b8059f89a9"),
        (1, 40_000, 70, 1405, (2_661_000, 1_463_000), "78251ebdb0fe83a8"),
        (7, 10_000, 70, 2464, (2_661_000, 1_463_000), "357aa96894481a9b"),
        (1234, 10_000, 75, 2152, (2_661_000, 1_729_000), "2cb3b254693031f8"),
        (2**32 - 1, 40_000, 70, 3088, (2_661_000, 1_463_000), "e8f7b9137e8ba602"),
    ],
)
def test_a_recording_is_the_same_for_ever(
    seed: int, latency_ns: int, threshold: int, transitions: int, most_often: object, digest: str
) -> None:
    """Students have its files, and answers that were found right stay right."""
    one = make_recording(seed)
    assert (one.latency_ns, one.up_threshold, one.total) == (latency_ns, threshold, transitions)
    assert one.most_often == most_often
    text = "".join(f"{path}\n{content}" for path, content in tree(one).items())
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == digest


def test_states_are_133_mhz_apart_below_the_second() -> None:
    assert frequencies()[:3] == (2_661_000, 2_660_000, 2_527_000)
    assert frequencies()[-2:] == (1_197_000, 1_064_000) and len(frequencies()) == 14


@pytest.mark.parametrize(
    ("load", "threshold", "khz"),
    [
        (0, 70, 0), (24, 70, 0), (25, 70, 0), (26, 70, 100), (50, 70, 100), (70, 70, 100),
        (71, 70, 200), (76, 95, 200), (75, 95, 100), (100, 95, 200), (100, 100, 200),
    ],
)  # fmt: skip
def test_the_governor_takes_the_nearest_or_above_the_threshold_the_highest(
    load: int, threshold: int, khz: int
) -> None:
    """Of two that are as near the lower one."""
    assert _governed(load, threshold, (200, 100, 0)) == khz
    assert _governed(load, threshold, (500, 400, 300)) == khz + 300


def small(**changed: object) -> Recording:
    """Three states and two transitions."""
    made = Recording(
        seed=1, frequencies_khz=(300_000, 200_000, 100_000), latency_ns=5_000, sampling_us=10_000,
        up_threshold=80, ticks={300_000: 30, 100_000: 10},
        transitions={(300_000, 100_000): 5, (100_000, 300_000): 3}, last_khz=100_000,
    )  # fmt: skip
    return replace(made, **changed)  # type: ignore[arg-type]


def test_files_are_written_as_linux_does() -> None:
    policy, governor = f"{POLICY}/", f"{GOVERNOR}/"
    assert tree(small()) == {
        f"{policy}affected_cpus": "0\n",
        f"{policy}cpuinfo_max_freq": "300000\n",
        f"{policy}cpuinfo_min_freq": "100000\n",
        f"{policy}cpuinfo_transition_latency": "5000\n",
        f"{policy}related_cpus": "0\n",
        f"{policy}scaling_available_frequencies": "300000 200000 100000\n",
        f"{policy}scaling_available_governors": "ondemand performance powersave\n",
        f"{policy}scaling_cur_freq": "100000\n",
        f"{policy}scaling_driver": "acpi-cpufreq\n",
        f"{policy}scaling_governor": "ondemand\n",
        f"{policy}scaling_max_freq": "300000\n",
        f"{policy}scaling_min_freq": "100000\n",
        f"{policy}stats/time_in_state": "300000 30\n200000 0\n100000 10\n",
        f"{policy}stats/total_trans": "8\n",
        f"{policy}stats/trans_table": (
            "   From  :    To\n"
            "         :    300000    200000    100000\n"
            "   300000:         0         0         5\n"
            "   200000:         0         0         0\n"
            "   100000:         3         0         0\n"
        ),
        f"{governor}ignore_nice_load": "0\n",
        f"{governor}sampling_down_factor": "1\n",
        f"{governor}sampling_rate": "10000\n",
        f"{governor}up_threshold": "80\n",
    }
    assert list(tree(small())) == sorted(tree(small()))


@pytest.mark.parametrize(
    ("counts", "is_clear"),
    [((5, 3), True), ((3, 5), True), ((5, 5), False), ((5,), False), ((5, 3, 5), False),
     ((5, 3, 3), True)],
)  # fmt: skip
def test_one_transition_alone_is_the_most_frequent(counts: tuple[int, ...], is_clear: bool) -> None:
    of = {(khz, 0): count for khz, count in enumerate(counts)}
    assert _is_clear(small(transitions=of)) == is_clear


@pytest.mark.parametrize("seed", SEEDS)
def test_answers_follow_from_the_files(seed: int) -> None:
    files, about = files_of(seed), make_recording(seed)
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
        assert question.is_correct(found[question.key], about), question.key
        assert not question.is_correct(found[question.key] * 1.01 + 1, about)
        assert not question.is_correct(float("nan"), about)


def test_the_published_governor() -> None:
    files = files_of(PUBLISHED_SEED)
    assert files.number(f"{POLICY}/cpuinfo_transition_latency") == 10_000
    assert files.number(f"{GOVERNOR}/sampling_rate") == 10_000
    assert files.number(f"{GOVERNOR}/up_threshold") == 95
    about = make_recording(PUBLISHED_SEED)
    assert BY_KEY["up_least_us"].answer(about) == 9_510
    assert BY_KEY["up_most_us"].answer(about) == 19_510


def test_seeds_make_recordings_of_their_own() -> None:
    found = [make_recording(seed) for seed in range(1, 41)]
    assert len({one.total for one in found}) > 35
    assert len({one.most_often for one in found}) > 10
    assert len({(one.up_threshold, one.latency_ns) for one in found}) > 10
    with pytest.raises(ValueError, match="seed 0"):
        make_recording(0)


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
        about = make_recording(seed)
        question: GovernorQuestion = BY_KEY[key]
        told = question.mistake(given(about), about)
        assert told is not None and said in told, (seed, told)
        assert str(int(question.answer(about))) not in told


@pytest.mark.parametrize(
    ("key", "right", "mistakes"),
    [
        # 8 transitions of 5 us; 400,000 us recorded; an average of (30 * 300 + 10 * 100) / 40.
        ("most_from_khz", 300_000, [100_000, 300, 300_000]),
        ("most_to_khz", 100_000, [300_000, 100, 300_000]),
        ("transitions", 8, [2, 5, 4, 40]),
        ("average_mhz", 250, [250_000, 200, 200, 200, (5 * 100 + 3 * 300) / 8]),
        ("up_least_us", 8_005,
         [8_000, 18_000, 23_000, 5, 18_005, 8_005, 10_005, 20_005, 10_000, 20_000]),
        ("up_most_us", 18_005,
         [8_000, 18_000, 23_000, 5, 18_005, 8_005, 10_005, 20_005, 10_000, 20_000]),
        ("transitions_ms", 0.04, [40, 0.00004, 400]),
    ],
)  # fmt: skip
def test_answers_and_mistakes_of_a_small_recording(
    key: str, right: float, mistakes: list[float]
) -> None:
    question, about = BY_KEY[key], small()
    assert question.answer(about) == pytest.approx(right, rel=1e-12)
    assert [wrong for wrong, _ in question.mistakes(about)] == pytest.approx(mistakes, rel=1e-12)


def test_frequencies_that_were_never_taken_up_count_in_one_mistake_only() -> None:
    about = small(frequencies_khz=(300_000, 200_000, 140_000, 100_000), ticks={
        300_000: 30, 200_000: 0, 140_000: 0, 100_000: 10,
    })  # fmt: skip
    wrong = [number for number, _ in BY_KEY["average_mhz"].mistakes(about)]
    assert wrong[1:4] == pytest.approx([185, 200, 200])


@pytest.mark.parametrize(
    ("key", "tolerance"), [("average_mhz", 0.002), ("transitions_ms", 0.002), ("up_least_us", 1e-6)]
)
def test_how_far_off_an_answer_may_be(key: str, tolerance: float) -> None:
    question, about = BY_KEY[key], small()
    right = question.answer(about)
    for sign in (1, -1):
        assert question.is_correct(right * (1 + sign * 0.99 * tolerance), about)
        assert not question.is_correct(right * (1 + sign * 1.01 * tolerance), about)
    assert BY_KEY["transitions"].is_correct(8, about)
    assert not BY_KEY["transitions"].is_correct(8 + 1e-6, about)


@pytest.mark.parametrize(
    ("given", "is_correct", "said"),
    [
        (1.25, True, None), (1.26, False, None), (0.75, True, None), (0.74, False, None),
        (2.5, False, "twice"), (2.51, False, None), (1.5, False, "twice"), (1.49, False, None),
    ],
)  # fmt: skip
def test_the_tolerance_is_a_share_of_what_is_right_or_mistaken(
    given: float, is_correct: bool, said: str | None
) -> None:
    asked = GovernorQuestion(
        "one", "What?", lambda _: 1.0, lambda _: iter([(2.0, "twice")]), "", tolerance=0.25
    )
    assert asked.is_correct(given, small()) == is_correct
    assert asked.mistake(given, small()) == said


def test_a_mistake_is_told_as_near_as_an_answer_has_to_be() -> None:
    question, about = BY_KEY["average_mhz"], small()
    for given in (200.3, 199.7):
        assert question.mistake(given, about) == "each frequency counts as long as it lasted"
    for given in (201, 199):
        assert question.mistake(given, about) is None
    assert BY_KEY["transitions"].mistake(4.001, about) is None
    # Two transitions of one kind: their number is no answer that says how it came about.
    same = small(transitions={(300_000, 100_000): 1, (100_000, 300_000): 1})
    assert BY_KEY["transitions"].mistake(2, same) is None
    assert BY_KEY["transitions"].mistake(1, same) == "that is the most frequent kind alone"


def test_what_is_right_is_no_mistake() -> None:
    for seed in SEEDS:
        about = make_recording(seed)
        for question in QUESTIONS:
            assert question.mistake(question.answer(about), about) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("transitions = 3\n", "'seed' is missing"),
        ("seed = 0\n", "1 or more"),
        (f"seed = {2**32}\n", "it can be 1 to"),
        ("seed = 5\ntransition = 3\n", "Did you mean 'transitions'"),
        ('seed = 5\ntransitions = "many"\n', "write a number"),
        ("seed = 5\ntransitions = nan\n", "finite"),
        ("seed = 5\ntransitions = 1e15\n", "more than anything"),
        ("seed = 5\ntransitions = -1e15\n", "more than anything"),
        ("seed = 5\n[job]\n", "unknown key 'job'"),
    ],
)
def test_files_that_can_not_be_used(text: str, said: str) -> None:
    with pytest.raises(BadAnswers, match=said):
        read_record_answers(text)


def test_a_course_may_fix_the_seed() -> None:
    assert read_record_answers("seed = 5\n", 5).seed == 5
    with pytest.raises(BadAnswers, match="yours is 6: write seed = 6"):
        read_record_answers("seed = 5\n", 6)


def test_empty_answers_are_none() -> None:
    given = read_record_answers('seed = 5\ntransitions = ""\naverage_mhz = 9.9e14\n').given
    assert given == {key: 9.9e14 if key == "average_mhz" else None for key in KEYS}
    assert read_record_answers('seed = 5\ntransitions = ""\n').are_none
    assert not read_record_answers("seed = 5\ntransitions = 0\n").are_none
