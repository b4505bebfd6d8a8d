"""Questions about a recording of a frequency governor: the correct answers, the mistakes that lead
to wrong ones, and the file of a student's answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from governor_tree import GOVERNOR, POLICY, TICK_US, Recording, make_recording

from numalab.labs.seeded_answers import (
    SEED,
    AnswerFile,
    BadAnswers,
    SeededAnswers,
    read_seed,
    register,
)
from numalab.toml_files.tables import Table, parse_table

_EXAMPLE = f"write {SEED} = 1234, and answers such as transitions = 815"
_HUGE = 1e15


@dataclass(frozen=True)
class GovernorQuestion:
    """A question about a recording.

    Attributes:
        key: its key in the file of answers.
        text: the question.
        answer: returns the correct answer.
        mistakes: yields the answers that mistakes lead to, each with words on the mistake.
        file: a file of the recording that the answer follows from, or its folder.
        tolerance: the share of the correct answer by which a student's may be off.
    """

    key: str
    text: str
    answer: Callable[[Recording], float]
    mistakes: Callable[[Recording], Iterator[tuple[float, str]]]
    file: str
    tolerance: float = 0.0

    def is_correct(self, given: float, recording: Recording) -> bool:
        """Tell whether an answer is within the tolerance; NaN is not."""
        answer = self.answer(recording)
        return abs(given - answer) <= self.tolerance * answer

    def mistake(self, given: float, recording: Recording) -> str | None:
        """Return the words on the first known mistake that leads to about the given answer and not
        to the correct one; None: there is none."""
        for mistaken, sentence in self.mistakes(recording):
            near = abs(given - mistaken) <= max(self.tolerance, 1e-9) * abs(mistaken)
            if near and not self.is_correct(mistaken, recording):
                return sentence
        return None


_SWAPPED = "in trans_table a row is left and a column taken up"
_OWN_TIME = "that is where it spent most time, and no transition"


def _longest(recording: Recording) -> float:
    return max(recording.ticks, key=lambda khz: recording.ticks[khz])


def _end_mistakes(recording: Recording, end: int) -> Iterator[tuple[float, str]]:
    """Yield the mistakes on the most frequent transition. end: 0: what was left; 1: taken up."""
    yield recording.most_often[1 - end], _SWAPPED
    yield recording.most_often[end] / 1000, "the table is in kHz, and so is the answer"
    yield _longest(recording), _OWN_TIME


def _total_mistakes(recording: Recording) -> Iterator[tuple[float, str]]:
    yield len(recording.transitions), "that is how many kinds of transition there were"
    yield max(recording.transitions.values()), "that is the most frequent kind alone"
    yield recording.total / 2, "up and down are a transition each"
    yield sum(recording.ticks.values()), "that is a time, in time_in_state's unit"


def _average_mhz(recording: Recording) -> float:
    spent = sum(khz * ticks for khz, ticks in recording.ticks.items())
    return spent / sum(recording.ticks.values()) / 1000


def _average_mistakes(recording: Recording) -> Iterator[tuple[float, str]]:
    table = recording.frequencies_khz
    yield _average_mhz(recording) * 1000, "that is in kHz; it is asked for in MHz"
    yield sum(table) / len(table) / 1000, "each frequency counts as long as it lasted"
    used = [khz for khz, ticks in recording.ticks.items() if ticks]
    yield sum(used) / len(used) / 1000, "each frequency counts as long as it lasted"
    yield (table[0] + table[-1]) / 2000, "the middle of the ends is not the average"
    reached = sum(to * count for (_, to), count in recording.transitions.items())
    yield reached / recording.total / 1000, "that weighs by transitions, not by time"


def _latency_us(recording: Recording) -> float:
    return recording.latency_ns / 1000


def _up_least_us(recording: Recording) -> float:
    """Return the least time to the highest frequency, in us: load appears when the rest of the
    governor's window is just enough to reach the threshold."""
    return recording.sampling_us * recording.up_threshold / 100 + _latency_us(recording)


def _up_most_us(recording: Recording) -> float:
    """Return the longest time to the highest frequency, in us: load appears a little too late for
    its first window, and counts in the next one."""
    return _up_least_us(recording) + recording.sampling_us


_NO_LATENCY = "the transition takes time, too"
_NANO = "a transition latency is in ns, a sampling rate in us"


def _up_mistakes(recording: Recording) -> Iterator[tuple[float, str]]:
    window, up = recording.sampling_us, recording.sampling_us * recording.up_threshold / 100
    yield up, _NO_LATENCY
    yield up + window, _NO_LATENCY
    yield up + window + recording.latency_ns, _NANO
    yield _latency_us(recording), "the governor looks once per sampling period only"
    yield _up_most_us(recording), "that is the most, and the least is asked for"
    yield _up_least_us(recording), "that is the least, and the most is asked for"
    whole = "of the window in which load appears the part up_threshold has to be busy, not all"
    yield window + _latency_us(recording), whole
    yield 2 * window + _latency_us(recording), whole
    yield window, whole
    yield 2 * window, whole


def _transitions_ms(recording: Recording) -> float:
    return recording.total * recording.latency_ns / 1e6


def _time_mistakes(recording: Recording) -> Iterator[tuple[float, str]]:
    answer = _transitions_ms(recording)
    # This is also the answer if the latency is taken to be in us.
    yield answer * 1000, "a latency of so many ns, not us, and the answer in ms"
    yield answer / 1000, "that is in s; it is asked for in ms"
    ticks = sum(recording.ticks.values())
    yield ticks * TICK_US / 1000, "that is how long was recorded"


QUESTIONS = (
    GovernorQuestion(
        "most_from_khz", "the most frequent transition: the frequency that was left, in kHz",
        lambda recording: recording.most_often[0], lambda recording: _end_mistakes(recording, 0),
        f"{POLICY}/stats/trans_table",
    ),
    GovernorQuestion(
        "most_to_khz", "and the frequency that was taken up, in kHz",
        lambda recording: recording.most_often[1], lambda recording: _end_mistakes(recording, 1),
        f"{POLICY}/stats/trans_table",
    ),
    GovernorQuestion(
        "transitions", "all transitions, whatever they were",
        lambda recording: recording.total, _total_mistakes, f"{POLICY}/stats/trans_table",
    ),
    GovernorQuestion(
        "average_mhz", "the average frequency over the time of the recording, in MHz",
        _average_mhz, _average_mistakes, f"{POLICY}/stats/time_in_state", tolerance=0.002,
    ),
    GovernorQuestion(
        "up_least_us",
        "an idle processor gets work that keeps it busy all the time: how long, in us, the clock "
        "takes at least to be at its highest frequency",
        _up_least_us, _up_mistakes, f"{GOVERNOR}/", tolerance=1e-6,
    ),
    GovernorQuestion(
        "up_most_us", "and at most, in us",
        _up_most_us, _up_mistakes, f"{GOVERNOR}/", tolerance=1e-6,
    ),
    GovernorQuestion(
        "transitions_ms", "how long all transitions took together, in ms",
        _transitions_ms, _time_mistakes, f"{POLICY}/cpuinfo_transition_latency", tolerance=0.002,
    ),
)  # fmt: skip
KEYS = tuple(question.key for question in QUESTIONS)


RecordAnswers = SeededAnswers[float]


def read_record_answers(text: str, expected: int | None = None) -> RecordAnswers:
    """Return the answers in a file. expected: the seed that it has to have; None: any. Raises
    BadAnswers where the file can't be used, or has another seed."""
    table = parse_table(text, "", BadAnswers, (SEED, *KEYS), _EXAMPLE)
    seed = read_seed(table, expected, "that recording")
    return RecordAnswers(seed, {key: _answer(table, key) for key in KEYS})


def _answer(table: Table, key: str) -> float | None:
    """Return the answer to the question of a key; None where it is missing or ""."""
    if table.values.get(key, "") == "":
        return None
    found = table.number(key)
    if not math.fabs(found) < _HUGE:
        table.refuse(key, "that is more than anything that is asked about")
    return found


def _correct_answers(seed: int) -> str:
    recording = make_recording(seed)
    return "\n".join(f"{one.key} = {one.answer(recording):.10g}" for one in QUESTIONS)


register(AnswerFile("governor", read_record_answers, "governor_answers", _correct_answers))
