"""Cases for diagnosis: what a seed draws, and that one choice is right."""

from __future__ import annotations

from dataclasses import replace

import pytest

from numalab.diagnosing.case import (
    CHOICES,
    CRITERIA,
    CURE,
    MAX_CORES,
    MISTAKE,
    NO_CRITERION,
    Suspect,
    bank,
    case_of,
    differ_in_report,
    make_case,
    needs_several_nodes,
)
from numalab.errors import NumalabError
from numalab.installation import find_installation
from numalab.labs.declaration import Lab, load_labs
from numalab.labs.seeds import Seed
from numalab.machines.seeded import seeded_machine

KIT = find_installation("gnu")
LABS = load_labs(KIT.root)
BANKS: dict[str, list[Suspect]] = {name: bank(KIT, lab) for name, lab in LABS.items()}
LAB: Lab = LABS["01_first_touch"]
LEAST_CASES = 60
WITH_CASES = [name for name, cases in BANKS.items() if cases]


def test_the_bank_has_many_cases() -> None:
    assert sum(map(len, BANKS.values())) >= LEAST_CASES


def test_a_case_follows_from_its_seed() -> None:
    cases = [make_case(KIT, LAB, Seed(number, "a")) for number in range(1, 9)]
    again = [make_case(KIT, LAB, Seed(number, "b")) for number in range(1, 9)]
    assert [replace(case, seed=Seed(1, "c")) for case in cases] == [
        replace(case, seed=Seed(1, "c")) for case in again
    ]
    assert len({case.questions[0].answer for case in cases}) > 1
    assert len({case.size_seed for case in cases}) == len(cases)


@pytest.mark.parametrize("name", WITH_CASES)
def test_one_choice_of_each_question_is_right(name: str) -> None:
    places: dict[str, set[int]] = {}
    for number, suspect in enumerate(BANKS[name] * 3, 1):
        case = case_of(KIT, LABS[name], suspect, BANKS[name], Seed(number, "a"))
        assert {MISTAKE, CURE} <= {question.name for question in case.questions}
        for question in case.questions:
            assert len(set(question.choices)) == CHOICES
            assert question.choices.count(question.answer) == 1
            places.setdefault(question.name, set()).add(question.choices.index(question.answer))
        by_name = {question.name: question for question in case.questions}
        assert by_name[MISTAKE].answer == suspect.known.mistake
        assert by_name[CURE].answer == suspect.cure
    assert all(found == set(range(CHOICES)) for found in places.values())


@pytest.mark.parametrize("name", WITH_CASES)
def test_other_choices_have_other_reports(name: str) -> None:
    by_mistake = {suspect.known.mistake: suspect.known for suspect in BANKS[name]}
    for suspect in BANKS[name]:
        case = case_of(KIT, LABS[name], suspect, BANKS[name], Seed(7, "a"))
        others = set(case.questions[0].choices) - {suspect.known.mistake}
        assert all(differ_in_report(suspect.known, by_mistake[other]) for other in others)


def test_mistakes_with_the_same_reports_are_not_told_apart() -> None:
    wrongs = {suspect.known.name: suspect.known for suspect in BANKS[LAB.name]}
    assert not differ_in_report(wrongs["dynamic_in_compute"], wrongs["dynamic_in_both"])
    assert not differ_in_report(wrongs["only_b_in_parallel"], wrongs["cleared_before_loop"])
    assert differ_in_report(wrongs["dynamic_in_compute"], wrongs["one_thread"])
    assert differ_in_report(wrongs["static_1_in_both"], wrongs["other_way_round"])


def _criteria(lab: str, name: str) -> tuple[str, str]:
    """Text and right choice of the question on criteria."""
    suspect = next(one for one in BANKS[lab] if one.known.name == name)
    case = case_of(KIT, LABS[lab], suspect, BANKS[lab], Seed(7, "a"))
    question = next(question for question in case.questions if question.name == CRITERIA)
    return question.text, question.answer


def test_what_fails_elsewhere_is_what_the_suite_holds_wrong_kernels_to() -> None:
    text, right = _criteria("01_first_touch", "no_openmp")
    assert "with one NUMA node" in text
    assert right == "shared_out"
    text, right = _criteria("03_scheduling", "no_work_sharing")
    assert "NUMA nodes" in text
    assert right == "race_free, balanced and touched_where_used"


def test_wrong_results_are_not_asked_about_elsewhere() -> None:
    suspect = next(one for one in BANKS[LAB.name] if one.known.name == "other_pattern")
    case = case_of(KIT, LAB, suspect, BANKS[LAB.name], Seed(7, "a"))
    assert [question.name for question in case.questions] == [MISTAKE, CURE]
    assert case.machine_seed is None


def test_machines_of_cases_have_several_numa_nodes() -> None:
    suspect = next(one for one in BANKS[LAB.name] if one.known.name == "only_b_in_parallel")
    assert needs_several_nodes(LAB, suspect.known)
    for number in range(1, 40):
        machine_seed = case_of(KIT, LAB, suspect, BANKS[LAB.name], Seed(number, "a")).machine_seed
        assert machine_seed is not None
        machine = seeded_machine(machine_seed)
        assert len(machine.numa_nodes) > 1
        assert machine.cores <= MAX_CORES


def test_the_kernel_of_a_case_has_other_names() -> None:
    for suspect in BANKS[LAB.name]:
        case = case_of(KIT, LAB, suspect, BANKS[LAB.name], Seed(7, "a"))
        assert case.kernel != suspect.known.kernels[suspect.language].read_text()
        for lines in case.questions[0].lines.values():
            assert NO_CRITERION not in lines
        for line in case.questions[0].lines.get(suspect.known.mistake, ()):
            assert line.split()[0] in case.kernel


def test_a_lab_without_cases_is_told() -> None:
    with pytest.raises(NumalabError, match="has no cases for diagnosis"):
        make_case(KIT, LABS["00_know_your_node"], Seed(7, "a"))
    with pytest.raises(NumalabError, match="'ada'"):
        make_case(KIT, LAB, Seed(7, "a"), "ada")
