"""What is asked about links, what is right, which mistakes are known, and files that can't be
read."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from fractions import Fraction

import pytest
from link_answers import PUBLISHED_SEED, read_rates
from link_questions import (
    CLOSE,
    KEYS,
    QUESTIONS,
    DrawnLinks,
    _tells_mistakes_apart,
    draw_links,
    is_close,
    mistake_in,
)
from link_rates import LANES, SLOT_LANES, Link
from support.commands import numalab_command

from numalab.installation import Installation
from numalab.labs.seeded_answers import BadAnswers

SEEDS = range(1, 301)
BY_KEY = {question.key: question for question in QUESTIONS}
BY_NAME = {lane.name: lane for lane in LANES}


# ---- rates -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("width", "lane", "signal", "data"),
    [
        (1, "SDR", "2.5", "2"), (4, "SDR", "10", "8"), (12, "SDR", "30", "24"),
        (4, "QDR", "40", "32"), (4, "EDR", "103.125", "100"), (4, "HDR", "212.5", "200"),
        (4, "NDR", "425", "400"), (1, "DDR", "5", "4"), (2, "QDR", "20", "16"),
        (1, "HDR", "53.125", "50"), (2, "EDR", "51.5625", "50"),
    ],
)  # fmt: skip
def test_rates_are_those_that_are_published(width: int, lane: str, signal: str, data: str) -> None:
    link = Link(BY_NAME[lane], width)
    assert (link.signal_gbit_s, link.data_gbit_s) == (Fraction(signal), Fraction(data))


def test_fdr_is_named_by_what_it_signals() -> None:
    link = Link(BY_NAME["FDR"], 4)
    assert round(float(link.signal_gbit_s)) == 56
    assert float(link.data_gbit_s) == pytest.approx(54.545, abs=0.001)


@pytest.mark.parametrize(
    ("lane", "width", "data"),
    [("Gen1", 4, 8), ("Gen2", 8, 32), ("Gen3", 8, Fraction(4096, 65)), ("Gen4", 16, 16_384 / 65)],
)
def test_slots_have_rates_of_their_generation(lane: str, width: int, data: float) -> None:
    (one,) = (one for one in SLOT_LANES if one.name == lane)
    assert float(Link(one, width).data_gbit_s) == pytest.approx(float(data))


# ---- questions ---------------------------------------------------------------------------------


def test_what_a_seed_asks_is_fixed() -> None:
    asked = draw_links(PUBLISHED_SEED)
    assert [link.name for link in (asked.old, asked.newer, asked.pam4, asked.both)] == [
        "4X QDR", "4X FDR", "1X NDR", "12X QDR",
    ]  # fmt: skip
    assert (asked.message.name, asked.message_mib, asked.counter) == ("4X EDR", 216, 1702000048)
    assert [link.name for link in asked.path] == ["4X DDR", "12X SDR", "1X HDR"]
    assert (asked.slot_port.name, asked.slot.name) == ("4X EDR", "8X Gen3")
    assert (asked.entries, asked.entry_bytes) == (48_000, 16)


def drawn(asked: DrawnLinks) -> list[object]:
    return [
        value.name if isinstance(value, Link)
        else [link.name for link in value] if isinstance(value, tuple)
        else value
        for value in vars(asked).values()
    ]  # fmt: skip


def test_seeds_ask_the_same_for_ever() -> None:
    """Whoever has begun keeps the questions."""
    text = "".join(repr(drawn(draw_links(seed))) for seed in range(1, 101))
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "33df51a489c546e4"


@pytest.mark.parametrize(
    ("links", "is_told"),
    [
        # 16, 24 and 50 Gbit/s: neither the fewest lanes nor the slowest.
        (((4, "DDR"), (12, "SDR"), (1, "HDR")), True),
        (((4, "DDR"), (1, "HDR"), (12, "SDR")), True),
        # 16, 50 and 100: the slowest lanes.
        (((4, "DDR"), (1, "HDR"), (1, "NDR")), False),
        # 16, 24 and 32: the fewest.
        (((4, "DDR"), (12, "SDR"), (4, "QDR")), False),
        # 24 twice, and 100.
        (((12, "SDR"), (12, "SDR"), (1, "NDR")), False),
        # 48, 50 and 100 Gbit/s are too near.
        (((12, "DDR"), (1, "HDR"), (4, "EDR")), False),
    ],
)
def test_which_paths_tell_mistakes_apart(links: tuple[tuple[int, str], ...], is_told: bool) -> None:
    path = [Link(BY_NAME[name], width) for width, name in links]
    assert _tells_mistakes_apart([(link.data_gbit_s, link) for link in path]) == is_told


@pytest.mark.parametrize(("least", "is_told"), [(8, True), (Fraction(89, 10), True), (9, False)])
def test_the_narrowest_of_a_path_carries_a_tenth_less(least: int, is_told: bool) -> None:
    links = (Link(BY_NAME["DDR"], 4), Link(BY_NAME["SDR"], 12), Link(BY_NAME["HDR"], 1))
    path = zip((Fraction(least), Fraction(10), Fraction(50)), links, strict=True)
    assert _tells_mistakes_apart(list(path)) == is_told


def test_questions_name_what_was_drawn() -> None:
    asked = draw_links(PUBLISHED_SEED)
    told = {question.key: question.text(asked) for question in QUESTIONS}
    for key, words in (
        ("old_gbit_s", ("a 4X QDR link", "one way")),
        ("newer_gbit_s", ("a 4X FDR link",)),
        ("pam4_gbit_s", ("a 1X NDR link",)),
        ("both_ways_gb_s", ("GB/s", "12X QDR", "both ways")),
        ("message_ms", ("216 MiB", "4X EDR", "ms")),
        ("counted_mib", ("1702000048", "MiB")),
        ("around_s", ("32 bits", "4X NDR", "seconds")),
        ("alone_mb", ("48000 items of 16 bytes", "MB")),
        ("path_gbit_s", ("port is 4X DDR", "switches 12X SDR", "other port 1X HDR")),
        ("slot_gbit_s", ("4X EDR port", "PCIe Gen3 x8")),
    ):
        assert all(word in told[key] for word in words), key


def test_what_is_right_of_links_that_one_can_work_out() -> None:
    asked = draw_links(PUBLISHED_SEED)
    right = {question.key: float(question.answer(asked)) for question in QUESTIONS}
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


def test_the_kits_own_answers_are_right(installation: Installation) -> None:
    text = (installation.solution_folder("09_interconnect") / "rates.toml").read_text("utf-8")
    answers = read_rates(text)
    assert answers.seed == PUBLISHED_SEED
    asked = draw_links(answers.seed)
    for question in QUESTIONS:
        given = answers.given[question.key]
        assert given is not None and is_close(given, question.answer(asked)), question.key


def test_the_handout_has_all_keys_and_another_seed(installation: Installation) -> None:
    answers = read_rates(
        (installation.lab_folder("09_interconnect") / "rates.toml").read_text("utf-8")
    )
    assert answers.are_none and answers.seed != PUBLISHED_SEED


def test_the_narrowest_of_a_path_is_not_told_by_lanes_alone() -> None:
    for seed in SEEDS:
        path = draw_links(seed).path
        narrowest = min(path, key=lambda link: link.data_gbit_s)
        assert narrowest.width > min(link.width for link in path)
        assert narrowest.lane.signal_gbit_s > min(link.lane.signal_gbit_s for link in path)


def test_slots_are_slower_than_their_port_mostly_and_not_always() -> None:
    pairs = [(draw_links(seed).slot_port, draw_links(seed).slot) for seed in SEEDS]
    slower = sum(slot.data_gbit_s < port.data_gbit_s for port, slot in pairs)
    assert len(pairs) / 2 < slower < len(pairs)
    assert {slot.width for _, slot in pairs} == {4, 8, 16}
    faster = {(p.name, s.name) for p, s in pairs if p.data_gbit_s < s.data_gbit_s}
    assert faster == {
        ("4X QDR", "8X Gen3"), ("4X FDR", "16X Gen3"), ("4X EDR", "16X Gen3"),
        ("4X EDR", "8X Gen4"), ("4X HDR", "16X Gen4"),
    }  # fmt: skip


def test_no_answer_is_right_for_many_seeds() -> None:
    for key, question in BY_KEY.items():
        answers = [question.answer(draw_links(seed)) for seed in SEEDS]
        assert max(map(answers.count, set(answers))) < 0.4 * len(SEEDS), key
    all_of_them = {tuple(q.answer(draw_links(seed)) for q in QUESTIONS) for seed in SEEDS}
    assert len(all_of_them) == len(SEEDS)


# ---- mistakes ----------------------------------------------------------------------------------


def test_three_digits_are_enough() -> None:
    for seed in SEEDS:
        for question in QUESTIONS:
            right = question.answer(draw_links(seed))
            assert is_close(Fraction(f"{float(right):.2e}"), right), (seed, question.key)
            assert not is_close(right * (1 + 2 * CLOSE), right)


def test_how_far_off_an_answer_may_be() -> None:
    for right in (Fraction(1), Fraction(1000)):
        for off, close in (("0.005", True), ("0.0051", False), ("0.0049", True)):
            assert is_close(right * (1 + Fraction(off)), right) == close
            assert is_close(right * (1 - Fraction(off)), right) == close


@pytest.mark.parametrize(
    ("key", "wrong"),
    [
        # Of 4 lanes of 10 Gbit/s with 8 bits in 10; then of 14.0625 with 64 in 66.
        ("old_gbit_s", [40, 64, 80, 32, 40 * 64 / 66, 4, 8, 16]),
        ("newer_gbit_s",
         [56.25, 3600 / 33, 112.5, 45, 1800 / 33, 225 / 33, 450 / 33, 900 / 33]),
        ("pam4_gbit_s", [106.25, 200, 212.5, 85, 106.25 * 64 / 66, 12.5, 100, 50]),
        ("both_ways_gb_s", [12, 192, 96, 30, 24e9 / 2**30]),
        ("message_ms",
         [17.28, 18.11939328 * 64 / 66, 9.05969664, 2.26492416, 0.01811939328, 18119.39328]),
        ("counted_mib",
         [1702000048 / 2**20, 1702000048 / 2**17, 6808.000192, 1702.000048, 1702000048 / 2**21]),
        ("around_s",
         [2**32 * 8 / 400e9, 2**32 / 400e9, 2**31 * 32 / 400e9, 2**37 / 425e9, 2**34 / 400e9]),
        ("alone_mb", [0.768, 0.048 * 30, 0.048 * 68, 0.048 * 70, 0.048 * 1514]),
        ("together_mb", [0.768, 3.936, 0.768 + 531 * 14e-6]),
        ("path_gbit_s", [20, 24, 50, 32, 90]),
        ("slot_gbit_s", [100, 4096 / 65, 64, 103.125, 51.2, 4096 / 66, 8192 / 65]),
    ],
)  # fmt: skip
def test_what_mistakes_come_to(key: str, wrong: list[float]) -> None:
    found = [float(given) for given, _ in BY_KEY[key].mistakes(draw_links(PUBLISHED_SEED))]
    assert found == pytest.approx(wrong, rel=1e-9)


def test_a_slot_that_is_faster_leaves_the_port() -> None:
    fast = Link(SLOT_LANES[-1], 16)
    asked = replace(draw_links(PUBLISHED_SEED), slot=fast)
    assert BY_KEY["slot_gbit_s"].answer(asked) == 100
    assert mistake_in(BY_KEY["slot_gbit_s"], fast.data_gbit_s, asked) is not None
    assert mistake_in(BY_KEY["slot_gbit_s"], Fraction(100), asked) is None


def test_segments_that_are_just_full_need_no_further_one() -> None:
    asked = replace(draw_links(PUBLISHED_SEED), entries=1448, entry_bytes=2)
    together = BY_KEY["together_mb"]
    assert together.answer(asked) == Fraction(2 * 1448 + 2 * 66, 10**6)
    assert list(together.mistakes(asked))[2][0] == Fraction(2 * 1448 + 2 * 14, 10**6)
    one_more = replace(asked, entries=2897, entry_bytes=1)
    assert together.answer(one_more) == Fraction(2897 + 3 * 66, 10**6)


def test_no_mistake_is_told_of_what_is_right() -> None:
    for seed in SEEDS:
        asked = draw_links(seed)
        for question in QUESTIONS:
            assert mistake_in(question, question.answer(asked), asked) is None, (seed, question.key)


def test_no_mistake_tells_what_is_right() -> None:
    for seed in SEEDS:
        asked = draw_links(seed)
        for question in QUESTIONS:
            told = " ".join(sentence for _, sentence in question.mistakes(asked))
            assert f"{float(question.answer(asked)):.3g}" not in told.split(), (seed, question.key)


def test_each_mistake_is_met_by_some_seed() -> None:
    """Else its sentence would never be said."""
    known: set[tuple[str, str]] = set()
    met: set[tuple[str, str]] = set()
    for seed in SEEDS:
        asked = draw_links(seed)
        for question in QUESTIONS:
            for wrong, sentence in question.mistakes(asked):
                known.add((question.key, sentence))
                if mistake_in(question, wrong, asked) == sentence:
                    met.add((question.key, sentence))
    assert len(known) > 40
    assert known == met


@pytest.mark.parametrize("key", KEYS)
def test_of_a_guess_nothing_is_said(key: str) -> None:
    assert mistake_in(BY_KEY[key], Fraction("123456.789"), draw_links(PUBLISHED_SEED)) is None


# ---- the file ----------------------------------------------------------------------------------


def test_answers_are_numbers_whole_or_not() -> None:
    answers = read_rates('seed = 7\nold_gbit_s = 8\nnewer_gbit_s = 54.5\npam4_gbit_s = ""\n')
    assert (answers.seed, answers.given["old_gbit_s"]) == (7, 8)
    assert answers.given["newer_gbit_s"] == Fraction("54.5")
    assert read_rates("seed = 7\nold_gbit_s = 1e15\n").given["old_gbit_s"] == 10**15
    assert read_rates("seed = 7\n", 7).are_none
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
        ("seed = 1\nold_gbit_s = -1\n", "it must be above 0"),
        ('seed = 1\nold_gbit_s = "8 Gbit/s"\n', "without quotes and without its unit"),
        ("seed = 1\nold_gbit_s = 8 Gbit/s\n", "line 2: this is not TOML"),
    ],
)
def test_what_can_not_be_read_is_named(text: str, says: str) -> None:
    with pytest.raises(BadAnswers, match=says.replace("?", r"\?")):
        read_rates(text)


# ---- the command -------------------------------------------------------------------------------


def test_the_command_asks_all_of_them(installation: Installation) -> None:
    done = numalab_command(installation, "rates", "1630")
    assert done.code == 0, done.err
    assert "seed = 1630" in done.out
    assert all(f"  {key} " in done.out for key in KEYS)
    assert "PortXmitData has gone up by 1702000048" in done.out
    assert all(len(line) <= 80 for line in done.out.splitlines())
    refused = numalab_command(installation, "rates", "0")
    assert refused.code != 0 and "0 is not in the range" in refused.said
