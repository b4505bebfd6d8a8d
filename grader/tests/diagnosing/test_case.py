"""Cases for diagnosis: what a seed draws, that one choice is right, and what answers are worth."""

from __future__ import annotations

import json

import pytest

from numalab.diagnosing.case import (
    CHOICES,
    LETTERS,
    Suspect,
    answered,
    bank,
    case_json,
    case_of,
    diagnosis_json,
    make_case,
    told_apart,
)
from numalab.errors import KitError, UserError
from numalab.kit import find_kit
from numalab.labs.declaration import Lab, load_labs
from numalab.labs.seeds import Seed

KIT = find_kit("gnu")
LABS = load_labs(KIT.root)
BANKS: dict[str, list[Suspect]] = {name: bank(KIT, lab) for name, lab in LABS.items()}
LAB: Lab = LABS["01_first_touch"]
LEAST_CASES = 60


def test_the_bank_has_many_cases() -> None:
    assert sum(map(len, BANKS.values())) >= LEAST_CASES


def test_a_case_follows_from_its_seed() -> None:
    cases = [make_case(KIT, LAB, Seed(number, "a")) for number in range(1, 9)]
    assert cases == [make_case(KIT, LAB, Seed(number, "b")) for number in range(1, 9)]
    assert len({case.questions[0].right for case in cases}) > 1


@pytest.mark.parametrize("name", [name for name, cases in BANKS.items() if cases])
def test_one_choice_of_each_question_is_right(name: str) -> None:
    for suspect in BANKS[name]:
        case = case_of(LABS[name], suspect, BANKS[name], suspect.wrong.name)
        right = [[a.right for a in answered(case, letter * 2)] for letter in LETTERS]
        for question, of_question in zip(case.questions, zip(*right, strict=True), strict=True):
            assert len(set(question.choices)) == CHOICES
            assert sum(of_question) == 1
        chosen = case.questions[0].choices[[first for first, _ in right].index(True)]
        assert chosen == suspect.wrong.mistake


@pytest.mark.parametrize("name", [name for name, cases in BANKS.items() if cases])
def test_other_choices_have_other_verdicts(name: str) -> None:
    by_mistake = {suspect.wrong.mistake: suspect.wrong for suspect in BANKS[name]}
    for suspect in BANKS[name]:
        case = case_of(LABS[name], suspect, BANKS[name], suspect.wrong.name)
        others = set(case.questions[0].choices) - {suspect.wrong.mistake}
        assert all(told_apart(suspect.wrong, by_mistake[other]) for other in others)


def test_mistakes_with_the_same_verdicts_are_not_told_apart() -> None:
    wrongs = {suspect.wrong.name: suspect.wrong for suspect in BANKS[LAB.name]}
    assert not told_apart(wrongs["dynamic_in_compute"], wrongs["dynamic_in_both"])
    assert told_apart(wrongs["dynamic_in_compute"], wrongs["one_thread"])


def test_a_case_as_json_does_not_say_what_is_right() -> None:
    suspect = BANKS[LAB.name][0]
    text = json.dumps(case_json(case_of(LAB, suspect, BANKS[LAB.name], "draw")))
    assert text.count(suspect.wrong.mistake) == 1
    assert suspect.wrong.name not in text


def test_answers_are_scored() -> None:
    case = make_case(KIT, LAB, Seed(7, "a"))
    best = [next(x for x in LETTERS if answered(case, x * 2)[number].right) for number in range(2)]
    assert diagnosis_json("x", answered(case, best))["score"] == 1
    other = next(letter for letter in LETTERS if letter != best[1])
    half = diagnosis_json("x", answered(case, [best[0], other]))
    assert half["score"] == 0.5
    assert [question["right"] for question in half["questions"]] == [True, False]


@pytest.mark.parametrize("letters", [["a"], ["a", "e"], ["a", ""], ["a", "ab"], ["a", "b", "c"]])
def test_answers_that_are_none_are_refused(letters: list[str]) -> None:
    with pytest.raises(UserError, match="one letter from a to d for each of the 2"):
        answered(make_case(KIT, LAB, Seed(7, "a")), letters)


def test_a_lab_without_cases_is_told() -> None:
    with pytest.raises(KitError, match="has no cases for diagnosis"):
        make_case(KIT, LABS["00_know_your_node"], Seed(7, "a"))
