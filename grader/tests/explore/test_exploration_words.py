"""Sizes, intervals and differences in words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from schedule_experiment import chunk_words
from support.explorations import SCHEDULES, TABLES, invented, made_up

from numalab.explore.differences import Difference, survivors
from numalab.explore.experiment import Measurements
from numalab.explore.intervals import MedianInterval, PairedComparison
from numalab.explore.wording import (
    bytes_words,
    comparison_words,
    disturbance,
    interval_words,
    ratio_words,
    short_bytes,
    three_digits,
)


@pytest.mark.parametrize(
    ("size", "words", "short"),
    [
        (1023, "1023 bytes", "1023bytes"),
        (1024, "1 KiB", "1K"),
        (1536, "1.5 KiB", "1.5K"),
        (2**20 - 1024, "1023 KiB", "1023K"),
        (2**20, "1 MiB", "1M"),
        (2**30, "1 GiB", "1G"),
        (3 * 2**40, "3072 GiB", "3072G"),
    ],
)
def test_sizes_in_words(size: int, words: str, short: str) -> None:
    assert (bytes_words(size), short_bytes(size)) == (words, short)


@pytest.mark.parametrize(
    ("value", "digits"),
    [(0.1234, "0.12"), (9.99, "9.99"), (9.994, "9.99"), (9.995, "10.0"), (99.94, "99.9"),
     (99.95, "100"), (1234.5, "1234")],
)  # fmt: skip
def test_three_digits_of_a_value(value: float, digits: str) -> None:
    assert three_digits(value) == digits


def test_intervals_and_chunks_in_words() -> None:
    assert interval_words(MedianInterval(12.34, 9.5, 120.0, 0.96)) == "12.3 [9.50, 120]"
    assert interval_words(MedianInterval(12.34, 12.34, 12.34, 0.0)) == "12.3"
    assert (chunk_words(0), chunk_words(1)) == ("default", "1")


@pytest.mark.parametrize(
    ("ratio", "words"),
    [(1.0, "1.00"), (1.004, "1.004"), (0.996, "0.996"), (1.006, "1.01"), (2, "2.00")],
)  # fmt: skip
def test_ratios_that_are_nearly_1(ratio: float, words: str) -> None:
    assert ratio_words(ratio) == words


def compared(
    low: float, high: float, coverage: float = 0.96, median: float = 0.0
) -> PairedComparison:
    return PairedComparison(MedianInterval(median or (low + high) / 2, low, high, coverage), 9)


@pytest.mark.parametrize(
    ("comparison", "words"),
    [
        (None, ""),
        (compared(1.25, 1.75, 0.9), "1.50?"),
        (compared(1.25, 1.75, 0.95), "1.25-1.75*"),
        (compared(0.25, 0.75), "0.25-0.75*"),
        (compared(0.75, 1.25), "0.75-1.25 "),
        (compared(1.0, 1.25), "1.00-1.25 "),
        (compared(0.75, 1.0), "0.75-1.00 "),
    ],
)
def test_comparisons_in_a_table(comparison: PairedComparison | None, words: str) -> None:
    assert comparison_words(comparison) == words


def difference(name: str, *numbers: float) -> Difference:
    return Difference(name, "other", "here", compared(*numbers))


def test_the_largest_differences_are_told_whichever_way() -> None:
    told = [
        difference("a", 1.25, 1.75), difference("b", 0.25, 0.25), difference("c", 0.5, 0.5),
        difference("d", 0.75, 1.25), difference("e", 1.25, 1.75, 0.5),
    ]  # fmt: skip
    assert [one.size for one in told] == [1.5, 4.0, 2.0, 1.0, 1.5]
    assert [one.survives for one in told] == [True, True, True, False, False]
    words = survivors(told, "things")
    assert "3 of 4 differences survive repetition" in words
    assert "about 0.2 through" in words  # four times 0.04
    # Two of them, the larger one first.
    assert words.split(": ", 1)[1] == (
        "here: b took 0.25 times as long as other (0.25 to 0.25); "
        "here: c took 0.50 times as long as other (0.50 to 0.50)."
    )
    one = survivors([*told[:1], told[3]], "things")
    assert "1 of 2 differences survives repetition" in one
    assert one.endswith("here: a took 1.50 times as long as other (1.25 to 1.75).")
    none = survivors(told[3:4], "things")
    assert "0 of 1 difference survive repetition" in none and none.endswith("through.")
    assert "a 95 % interval needs 6" in survivors(told[4:], "things")
    assert survivors([], "things").startswith("No two things")
    moved = replace(told[0], verb="moved {} times the bytes of")
    assert moved.sentence() == "here: a moved 1.50 times the bytes of other (1.25 to 1.75)"


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (lambda node: invented(SCHEDULES, lambda *_: 1e-3, 1, node=node), "late evades"),
        (lambda node: invented(TABLES, lambda *_: 1e-3, 1, node=node), "need be."),
        (lambda node: made_up(rounds=1, node={**made_up(rounds=0).node, **node}), "binds evade"),
    ],
)
def test_load_is_told_by_what_it_does(made: Any, says: str) -> None:
    busy: Measurements = made({"load_1min": 9.25})
    (words,) = disturbance(busy)
    assert "load 9.2 before" in words and says in words
    assert sum(each in words for each in ("late evades", "need be.", "binds evade")) == 1
    assert disturbance(made({"load_1min": 0.0})) == []
