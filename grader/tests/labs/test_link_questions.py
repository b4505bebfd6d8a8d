"""What is asked about links, what is right, which mistakes are known, and files that can't be
read."""

from __future__ import annotations

from fractions import Fraction

import pytest
from support.commands import numalab_command

from numalab.kit import Kit
from numalab.labs.link_answers import PUBLISHED_SEED, BadRates, read_rates
from numalab.labs.link_questions import (
    CLOSE,
    KEYS,
    QUESTIONS,
    asked_about,
    is_close,
    mistake_in,
)
from numalab.labs.link_rates import LANES, Link

SEEDS = range(1, 301)
BY_KEY = {question.key: question for question in QUESTIONS}
BY_NAME = {lane.name: lane for lane in LANES}


# ---- rates -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("width", "lane", "signal", "data"),
    [
        (1, "SDR", "2.5", "2"), (4, "SDR", "10", "8"), (12, "SDR", "30", "24"),
        (4, "QDR", "40", "32"), (4, "EDR", "103.125", "100"), (4, "HDR", "212.5", "200"),
        (4, "NDR", "425", "400"),
    ],
)  # fmt: skip
def test_rates_are_those_that_are_published(width: int, lane: str, signal: str, data: str) -> None:
    link = Link(BY_NAME[lane], width)
    assert (link.signal_gbit_s, link.data_gbit_s) == (Fraction(signal), Fraction(data))


def test_fdr_is_named_by_what_it_signals() -> None:
    link = Link(BY_NAME["FDR"], 4)
    assert round(float(link.signal_gbit_s)) == 56
    assert float(link.data_gbit_s) == pytest.approx(54.545, abs=0.001)


# ---- questions ---------------------------------------------------------------------------------


def test_what_a_seed_asks_is_fixed() -> None:
    asked = asked_about(PUBLISHED_SEED)
    assert [link.name for link in (asked.old, asked.newer, asked.pam4, asked.both)] == [
        "4X QDR", "4X FDR", "1X NDR", "12X QDR",
    ]  # fmt: skip
    assert (asked.message.name, asked.message_mib, asked.counter) == ("4X EDR", 216, 1702000048)
    assert [link.name for link in asked.path] == ["4X DDR", "12X SDR", "1X HDR"]
    assert (asked.slot_port.name, asked.slot.name) == ("4X EDR", "8X Gen3")
    assert (asked.items, asked.item_bytes) == (48_000, 16)


def test_what_is_right_of_links_that_one_can_work_out() -> None:
    asked = asked_about(PUBLISHED_SEED)
    right = {question.key: float(question.right(asked)) for question in QUESTIONS}
    assert right == pytest.approx({
        "old_gbit_s": 32.0,
        "newer_gbit_s": 56.25 * 64 / 66,
        "pam4_gbit_s": 100.0,
        "both_ways_gb_s": 24.0,
        "message_ms": 216 * 1048576 * 8 / 100e9 * 1000,
        "counted_mib": 1702000048 * 4 / 1048576,
        "around_s": 17179869184 * 8 / 400e9,
        "alone_mb": 48_000 * (16 + 14 + 20 + 32) / 1e6,
        "together_mb": (768_000 + 531 * 66) / 1e6,  # 530.4 segments of 1448 bytes
        "path_gbit_s": 16.0,
        "slot_gbit_s": 64 * 128 / 130,
    })  # fmt: skip


def test_the_kits_own_answers_are_right(kit: Kit) -> None:
    text = (kit.solution_folder("09_interconnect") / "rates.toml").read_text("utf-8")
    answers = read_rates(text)
    assert answers.seed == PUBLISHED_SEED
    asked = asked_about(answers.seed)
    for question in QUESTIONS:
        given = answers.given[question.key]
        assert given is not None and is_close(given, question.right(asked)), question.key


def test_the_handout_has_all_keys_and_another_seed(kit: Kit) -> None:
    answers = read_rates((kit.lab_folder("09_interconnect") / "rates.toml").read_text("utf-8"))
    assert answers.are_none and answers.seed != PUBLISHED_SEED


def test_the_narrowest_of_a_path_is_not_told_by_lanes_alone() -> None:
    for seed in SEEDS:
        path = asked_about(seed).path
        narrowest = min(path, key=lambda link: link.data_gbit_s)
        assert narrowest.width > min(link.width for link in path)
        assert narrowest.lane.signal_gbit_s > min(link.lane.signal_gbit_s for link in path)


def test_slots_are_slower_than_their_port_mostly_and_not_always() -> None:
    pairs = [(asked_about(seed).slot_port, asked_about(seed).slot) for seed in SEEDS]
    slower = sum(slot.data_gbit_s < port.data_gbit_s for port, slot in pairs)
    assert len(pairs) / 2 < slower < len(pairs)


def test_no_answer_is_right_for_many_seeds() -> None:
    for key, question in BY_KEY.items():
        answers = [question.right(asked_about(seed)) for seed in SEEDS]
        assert max(map(answers.count, set(answers))) < 0.4 * len(SEEDS), key
    all_of_them = {tuple(q.right(asked_about(seed)) for q in QUESTIONS) for seed in SEEDS}
    assert len(all_of_them) == len(SEEDS)


# ---- mistakes ----------------------------------------------------------------------------------


def test_three_digits_are_enough() -> None:
    for seed in SEEDS:
        for question in QUESTIONS:
            right = question.right(asked_about(seed))
            assert is_close(Fraction(f"{float(right):.2e}"), right), (seed, question.key)
            assert not is_close(right * (1 + 2 * CLOSE), right)


def test_no_mistake_is_told_of_what_is_right() -> None:
    for seed in SEEDS:
        asked = asked_about(seed)
        for question in QUESTIONS:
            assert mistake_in(question, question.right(asked), asked) is None, (seed, question.key)


def test_no_mistake_tells_what_is_right() -> None:
    for seed in SEEDS:
        asked = asked_about(seed)
        for question in QUESTIONS:
            told = " ".join(sentence for _, sentence in question.mistakes(asked))
            assert f"{float(question.right(asked)):.3g}" not in told.split(), (seed, question.key)


def test_each_mistake_is_met_by_some_seed() -> None:
    """Else its sentence would never be said."""
    known: set[tuple[str, str]] = set()
    met: set[tuple[str, str]] = set()
    for seed in SEEDS:
        asked = asked_about(seed)
        for question in QUESTIONS:
            for wrong, sentence in question.mistakes(asked):
                known.add((question.key, sentence))
                if mistake_in(question, wrong, asked) == sentence:
                    met.add((question.key, sentence))
    assert len(known) > 40
    assert known == met


@pytest.mark.parametrize("key", KEYS)
def test_of_a_guess_nothing_is_said(key: str) -> None:
    assert mistake_in(BY_KEY[key], Fraction("123456.789"), asked_about(PUBLISHED_SEED)) is None


# ---- the file ----------------------------------------------------------------------------------


def test_answers_are_numbers_whole_or_not() -> None:
    answers = read_rates('seed = 7\nold_gbit_s = 8\nnewer_gbit_s = 54.5\npam4_gbit_s = ""\n')
    assert (answers.seed, answers.given["old_gbit_s"]) == (7, 8)
    assert answers.given["newer_gbit_s"] == Fraction("54.5")
    assert answers.given["pam4_gbit_s"] is None and answers.given["slot_gbit_s"] is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("old_gbit_s = 8\n", "'seed' is missing"),
        ("seed = 0\n", "1 or more"),
        ("seed = 4294967296\n", "it can be 1 to 4294967295"),
        ("seed = 1\nold_gbit = 8\n", "Did you mean 'old_gbit_s'?"),
        ("seed = 1\nold_gbit_s = [8]\n", "write a number"),
        ("seed = 1\nold_gbit_s = true\n", "write a number"),
        ("seed = 1\nold_gbit_s = nan\n", "write a finite number"),
        ("seed = 1\nold_gbit_s = 1e300\n", "or less"),
        ("seed = 1\nold_gbit_s = 0\n", "it must be above 0"),
        ('seed = 1\nold_gbit_s = "8 Gbit/s"\n', "without quotes and without its unit"),
        ("seed = 1\nold_gbit_s = 8 Gbit/s\n", "line 2: this is not TOML"),
    ],
)
def test_what_can_not_be_read_is_named(text: str, says: str) -> None:
    with pytest.raises(BadRates, match=says.replace("?", r"\?")):
        read_rates(text)


# ---- the command -------------------------------------------------------------------------------


def test_the_command_asks_all_of_them(kit: Kit) -> None:
    done = numalab_command(kit, "rates", "1630")
    assert done.code == 0, done.err
    assert "seed = 1630" in done.out
    assert all(f"  {key} " in done.out for key in KEYS)
    assert "PortXmitData has gone up by 1702000048" in done.out
    assert all(len(line) <= 80 for line in done.out.splitlines())
    refused = numalab_command(kit, "rates", "0")
    assert refused.code != 0 and "0 is not in the range" in refused.said
