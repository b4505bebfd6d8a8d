"""What is asked about machines made from a seed, what is right, and files that can't be read."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from node_answers import BadAnswers, read_answers, seed_of
from node_questions import (
    KEYS,
    QUESTIONS,
    DrawnUnits,
    command_for,
    draw_units,
    mistake_in,
    text_of,
)

from numalab.machines.seeded import seeded_machine
from numalab.machines.structure import PuUnits, Structure, structure_of_machine

SEEDS = range(1, 301)
BY_KEY = {question.key: question for question in QUESTIONS}


def made(seed: int) -> Structure:
    return structure_of_machine(seeded_machine(seed))


# ---- questions -----------------------------------------------------------------------------------


def test_what_is_asked_about_a_seed_is_fixed() -> None:
    assert [tuple(draw_units(seed)) for seed in (1, 2, 489)] == [
        (1, 2, 10, 2),
        (1, 9, 16, 0),
        (4, 13, 14, 1),
    ]


def test_seeds_ask_the_same_for_ever() -> None:
    """Whoever has begun keeps the questions."""
    text = repr([tuple(draw_units(seed)) for seed in range(1, 61)])
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "a372f5c6116ec7f8"


def test_what_is_asked_about_is_there() -> None:
    for seed in SEEDS:
        machine, asked = made(seed), draw_units(seed)
        pus = {pu.number for pu in machine.pus}
        assert {asked.core_of_pu, asked.l3_of_pu} <= pus - machine.pu(0).core
        assert asked.pus_of_node in set(machine.numa_nodes) - {0}
        assert asked.nearest_to_node in machine.numa_nodes


def test_what_is_asked_about_differs_between_seeds() -> None:
    assert len({tuple(draw_units(seed)) for seed in SEEDS}) > 200


def test_what_is_right_of_a_machine_that_one_can_count() -> None:
    """Two packages of three NUMA nodes, numbered in turn, each of two cores with two PUs."""
    machine, asked = made(489), draw_units(489)
    assert tuple(asked) == (4, 13, 14, 1)
    assert {q.key: sorted(q.answer(machine, asked)) for q in QUESTIONS} == {
        "packages": [2], "numa_nodes": [6], "cores": [12], "pus": [24],
        "node_pus": [2, 8, 14, 20], "core_pus": [1, 13], "l3_pus": [2, 8, 14, 20],
        "nearest_nodes": [3, 5], "largest_node": [4],
    }  # fmt: skip


def test_questions_name_their_numbers_and_no_answers() -> None:
    told = {q.key: text_of(q, draw_units(489)) for q in QUESTIONS}
    assert told["core_pus"] == "Which PUs are of the same core as PU 13, itself included?"
    assert told["nearest_nodes"] == "Which others are the nearest to NUMA node 1?"
    looks = {command_for(q, 489, draw_units(489)) for q in QUESTIONS}
    assert len(looks) == 4 and all(
        look.startswith("./numalab machine run seeded-489 -- ") for look in looks
    )
    assert not any("{" in text for text in (*told.values(), *looks))


def test_no_answer_is_right_for_many_seeds() -> None:
    """Of those about numbers, lists and the nearest ones."""
    for key in ("node_pus", "core_pus", "l3_pus", "nearest_nodes"):
        answers = [BY_KEY[key].answer(made(seed), draw_units(seed)) for seed in SEEDS]
        most = max(answers.count(answer) for answer in set(answers))
        assert most < len(SEEDS) / 4, key


# ---- mistakes ------------------------------------------------------------------------------------


def test_no_mistake_is_told_of_what_is_right() -> None:
    for seed in SEEDS:
        machine, asked = made(seed), draw_units(seed)
        for question in QUESTIONS:
            right = question.answer(machine, asked)
            assert mistake_in(question, right, machine, asked) is None, (seed, question.key)


def test_no_mistake_tells_what_is_right() -> None:
    """No number of the answer that was not given, or named by the question."""
    for seed in SEEDS:
        machine, asked = made(seed), draw_units(seed)
        for question in QUESTIONS:
            right = question.answer(machine, asked)
            for wrong, sentence in question.mistakes(machine, asked):
                told = {int(word) for word in sentence.replace("#", " ").split() if word.isdigit()}
                assert not told & (right - wrong - set(asked)), (seed, question.key, sentence)


def test_each_mistake_is_met_by_some_seed() -> None:
    """Else its sentence would never be said."""
    met: set[tuple[str, str]] = set()
    known: set[tuple[str, str]] = set()
    for seed in SEEDS:
        machine, asked = made(seed), draw_units(seed)
        for question in QUESTIONS:
            for wrong, sentence in question.mistakes(machine, asked):
                plain = "".join(c for c in sentence if not c.isdigit())
                known.add((question.key, plain))
                if mistake_in(question, wrong, machine, asked) == sentence:
                    met.add((question.key, plain))
    assert known - met == set()


@pytest.mark.parametrize(
    ("key", "given", "told"),
    [
        ("packages", {6}, "number of NUMA nodes"),
        ("cores", {24}, "number of PUs; with SMT"),
        ("pus", {12}, "number of cores; with SMT"),
        ("pus", {23}, "begin at 0"),
        ("node_pus", {8, 9, 10, 11}, "(L#)"),
        ("node_pus", {2, 8}, "siblings are missing"),
        ("core_pus", {13}, "siblings are missing"),
        ("core_pus", {1}, "PU 13 is one of them itself"),
        ("l3_pus", {2, 14}, "share a core"),
        ("nearest_nodes", {1, 3, 5}, "at distance 10"),
        ("nearest_nodes", {0, 2, 3, 4, 5}, "not all of them"),
        ("largest_node", {2}, "(L#)"),
    ],
)
def test_mistakes_are_known(key: str, given: set[int], told: str) -> None:
    found = mistake_in(BY_KEY[key], frozenset(given), made(489), draw_units(489))
    assert found is not None and told in found


PACKAGE = [0, 1, 2, 6, 7, 8, 12, 13, 14, 18, 19, 20]


@pytest.mark.parametrize(
    ("key", "wrong"),
    [
        ("packages", [[6], [6]]),
        ("numa_nodes", [[2], [6]]),
        ("cores", [[24], [6], [2]]),
        ("pus", [[12], [4], [23]]),
        # hwloc calls NUMA node 3 L#4, of PUs 4, 10, 16 and 22.
        ("node_pus", [[8, 9, 10, 11], [4, 10, 16, 22], [16, 17, 18, 19], [2, 8], PACKAGE]),
        # hwloc calls PU 15 L#13.
        ("core_pus", [[13], [1], [13, 14], [12, 13], [4, 5], [3, 15], [12, 13]]),
        ("l3_pus",
         [[2, 8, 20], [2, 14], [2, 8], [2, 8, 14, 20], PACKAGE, [8, 9, 10, 11], [3, 9, 15, 21],
          [12, 13, 14, 15]]),
        # hwloc calls NUMA node 2 L#1.
        ("nearest_nodes",
         [[1], [1, 3, 5], [0, 2, 3, 4, 5], [4, 5], [0, 4], [0, 2], [0, 2, 4]]),
        ("largest_node", [[2]]),
    ],
)  # fmt: skip
def test_what_mistakes_come_to(key: str, wrong: list[list[int]]) -> None:
    found = [sorted(given) for given, _ in BY_KEY[key].mistakes(made(489), draw_units(489))]
    assert found == wrong


def test_without_siblings_other_pus_are_taken_for_them() -> None:
    """Eight PUs on four NUMA nodes; PU 3 is L#5, and PU 6 L#3."""
    machine, asked = made(3), draw_units(3)
    assert [pu.number for pu in machine.pus] == [0, 2, 4, 6, 1, 3, 5, 7]
    assert asked.core_of_pu == 3 and machine.pu(3).core == {3}
    found = list(BY_KEY["core_pus"].mistakes(machine, asked))
    assert [sorted(wrong) for wrong, _ in found] == [
        [3], [], [3, 4], [2, 3], [3, 7], [5], [6], [3],
    ]  # fmt: skip
    assert {told for _, told in found[2:5]} == {
        "are those hardware threads of one core, or two cores?"
    }
    behind = list(BY_KEY["core_pus"].mistakes(machine, asked._replace(core_of_pu=6)))
    assert [sorted(wrong) for wrong, _ in behind[2:5]] == [[6, 7], [6, 7], [2, 6]]


def test_siblings_are_looked_for_half_of_the_pus_further_on() -> None:
    """Of five PUs, where hwloc numbers as Linux does."""
    pus = tuple(PuUnits(n, frozenset({n}), frozenset(), frozenset(range(5)), 0) for n in range(5))
    five = Structure(pus, (0,), {(0, 0): 10}, frozenset({0}))
    for pu, other in ((0, 2), (1, 3), (2, 4), (3, 0)):
        found = list(BY_KEY["core_pus"].mistakes(five, DrawnUnits(0, pu, 1, 0)))
        assert found[4][0] == {pu, other}


def test_a_machine_of_one_numa_node_has_no_nearest_one() -> None:
    pus = tuple(
        PuUnits(n, frozenset({n}), frozenset(), frozenset({0, 1}), numa_node=0) for n in (0, 1)
    )
    alone = Structure(pus, (0,), {(0, 0): 10}, frozenset({0}))
    asked = DrawnUnits(0, 1, 1, 0)
    assert BY_KEY["nearest_nodes"].answer(alone, asked) == frozenset()
    assert list(BY_KEY["nearest_nodes"].mistakes(alone, asked))[-1][0] == {0}


@pytest.mark.parametrize("key", KEYS)
def test_of_a_guess_nothing_is_said(key: str) -> None:
    assert mistake_in(BY_KEY[key], frozenset({200, 201}), made(489), draw_units(489)) is None


# ---- the file ------------------------------------------------------------------------------------


def test_answers_are_numbers_or_lists() -> None:
    text = """seed = 7
packages = 2
cores = "8"
node_pus = "0-2,8"
core_pus = [4, 1]
l3_pus = "0-6:2"
nearest_nodes = 3
pus = []
largest_node = " "
"""
    answers = read_answers(text)
    assert answers.seed == 7 and not answers.are_none
    assert answers.given == {
        "packages": {2}, "numa_nodes": None, "cores": {8}, "pus": None, "node_pus": {0, 1, 2, 8},
        "core_pus": {1, 4}, "l3_pus": {0, 2, 4, 6}, "nearest_nodes": {3}, "largest_node": None,
    }  # fmt: skip


def test_numbers_may_be_the_largest_and_lists_empty() -> None:
    given = read_answers("seed = 7\ncores = 8192\npus = [8192, 0]\npackages = 0\n").given
    assert (given["cores"], given["pus"], given["packages"]) == ({8192}, {8192, 0}, {0})


def test_the_handed_out_file_answers_nothing(kit_root: Path) -> None:
    answers = read_answers((kit_root / "labs/00_know_your_node/node.toml").read_text("utf-8"))
    assert answers.are_none and set(answers.given) == set(KEYS)
    own = read_answers((kit_root / "solutions/00_know_your_node/node.toml").read_text("utf-8"))
    assert own.seed != answers.seed  # what is handed out is not answered for all to see


def test_the_solution_is_right(kit_root: Path) -> None:
    text = (kit_root / "solutions/00_know_your_node/node.toml").read_text("utf-8")
    answers = read_answers(text)
    machine, asked = made(answers.seed), draw_units(answers.seed)
    for question in QUESTIONS:
        assert answers.given[question.key] == question.answer(machine, asked), question.key


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "line 1: 'seed' is missing; write seed = 1234"),
        ("packages = 2", "line 1: 'seed' is missing"),
        ("seed = 0", "line 1: 'seed' is 0; it must be 1 or more"),
        ("seed = -3", "'seed' is -3; it must be 1 or more"),
        ("seed = 4294967296", "'seed' is 4294967296; it can be 1 to 4294967295"),
        ("seed = 1.5", "'seed' is 1.5; write a whole number"),
        ("seed = true", "'seed' is true; write a whole number"),
        ('seed = "7"', "'seed' is '7'; write a whole number"),
        ("seed =", "line 1: this is not TOML"),
        ("seed = 7\nnode_pus = 0-3", "line 2: this is not TOML"),
        ("seed = 7\nnuma_node = 2", "line 2: unknown key 'numa_node'. Did you mean 'numa_nodes'?"),
        ("seed = 7\ncores = 1.5", "line 2: 'cores' is 1.5; write a number, a list such as"),
        ("seed = 7\ncores = true", "'cores' is true"),
        ("seed = 7\ncores = {n = 2}", "'cores' is {'n': 2}"),
        ("seed = 7\ncores = -1", "'cores' holds -1; it can be 0 to 8192"),
        ("seed = 7\ncores = [1, -1]", "'cores' holds -1"),
        ("seed = 7\ncores = [8193, 1]", "'cores' holds 8193"),
        ("seed = 7\ncores = 8193", "'cores' holds 8193; it can be 0 to 8192"),
        ('seed = 7\ncores = "two"', "'cores' is 'two'; write a number"),
        ('seed = 7\ncores = "3-1"', "'cores' is '3-1'"),
        ("seed = 7\ncore_pus = [1, [2]]", "'core_pus' holds [2]; write a number"),
        ("seed = 7\ncore_pus = [true]", "'core_pus' holds true"),
        ("seed = 7\n[answers]\ncores = 2", "unknown key 'answers'"),
    ],
)
def test_what_is_wrong_with_a_file_is_told(text: str, told: str) -> None:
    with pytest.raises(BadAnswers) as caught:
        read_answers(text)
    assert told in str(caught.value)


def test_a_seed_may_be_asked_for() -> None:
    assert seed_of("seed = 7") == seed_of("seed = 7", 7) == 7
    with pytest.raises(BadAnswers, match=r"'seed' is 7; yours is 1234: write seed = 1234"):
        seed_of("seed = 7", 1234)
    with pytest.raises(BadAnswers, match="write seed = 1234, above"):
        seed_of("cores = 7", 1234)
