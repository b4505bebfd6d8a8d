"""Cases are run: what they show, the command, and that mistakes show as their lab declares them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from support.commands import numalab_command

from numalab.diagnosing.case import Case, Suspect, bank, case_of, make_case, needs_several_nodes
from numalab.diagnosing.case_run import run_case
from numalab.diagnosing.handed_in import FILE
from numalab.diagnosing.report import LETTERS, chosen_by_letters, report_lines
from numalab.errors import UserError
from numalab.installation import Installation, find_installation
from numalab.labs.declaration import load_labs
from numalab.labs.seeds import Seed, chosen_seed
from numalab.virtual.place import VirtualPlaces
from numalab.virtual.plan import GuestOptions

pytestmark = pytest.mark.builds

ROOT_KIT = find_installation("gnu")
LABS = load_labs(ROOT_KIT.root)
BANKS = {name: cases for name, lab in LABS.items() if (cases := bank(ROOT_KIT, lab))}
# What verdicts say of a cause, which is what is asked for.
GIVES_AWAY = ("initialised", "schedule(", "is its if clause", "pieces smaller than a page")


@pytest.fixture(scope="module")
def places(installation: Installation) -> Iterator[VirtualPlaces]:
    with VirtualPlaces(installation, GuestOptions()) as found:
        yield found


def silent(step: str) -> None:
    del step


def shown(installation: Installation, case: Case, places: VirtualPlaces) -> str:
    looked = run_case(installation, case, places, silent)
    return "\n".join(line.plain for line in report_lines(case, looked, 78))


def _named(lab: str, name: str, language: str) -> Suspect:
    return next(one for one in BANKS[lab] if (one.known.name, one.language) == (name, language))


def test_a_report_shows_evidence_and_no_cause(
    installation: Installation, places: VirtualPlaces
) -> None:
    lab = LABS["03_scheduling"]
    suspect = _named(lab.name, "one_thread", "c")
    report = shown(
        installation, case_of(installation, lab, suspect, BANKS[lab.name], Seed(7, "a")), places
    )
    assert "correct: " in report
    assert "Touch map" in report
    assert "Work in pair_energy" in report
    assert not [said for said in GIVES_AWAY if said in report]
    assert suspect.known.name not in report


@pytest.mark.slow
@pytest.mark.boots
def test_a_machine_made_from_the_seed_shows_where_pages_live(
    installation: Installation, places: VirtualPlaces
) -> None:
    lab = LABS["01_first_touch"]
    suspect = _named(lab.name, "cleared_before_loop", "fortran")
    report = shown(
        installation, case_of(installation, lab, suspect, BANKS[lab.name], Seed(7, "a")), places
    )
    assert "virtual node seeded-" in report
    assert "lives on" in report
    assert not [said for said in GIVES_AWAY if said in report]


_ALL = [
    pytest.param(name, suspect, id=f"{name}-{suspect.language}-{suspect.known.name}")
    for name, cases in BANKS.items()
    for suspect in cases
]


@pytest.mark.slow
@pytest.mark.boots
@pytest.mark.parametrize(("name", "suspect"), _ALL)
def test_each_case_shows_as_declared(
    installation: Installation, places: VirtualPlaces, name: str, suspect: Suspect
) -> None:
    lab = LABS[name]
    report = shown(
        installation, case_of(installation, lab, suspect, BANKS[name], Seed(7, "a")), places
    )
    assert ("virtual node" in report) == needs_several_nodes(lab, suspect.known)


# ---- the command --------------------------------------------------------------------------------


def _seed_of_wrong_results() -> tuple[str, Case]:
    """Of a case that needs no virtual node."""
    for number in range(1, 200):
        case = make_case(ROOT_KIT, LABS["01_first_touch"], chosen_seed(str(number), None))  # type: ignore[arg-type]
        if case.machine_seed is None and case.suspect.known.cause == "wrong_result":
            return str(number), case
    raise AssertionError("no such case")


def test_the_command_asks_and_grades_at_once(installation: Installation) -> None:
    seed, case = _seed_of_wrong_results()
    letters = ",".join(LETTERS[q.choices.index(q.answer)] for q in case.questions)
    done = numalab_command(installation, "diagnose", "01", "--seed", seed, "--answers", letters)
    assert done.code == 0
    assert f"{len(case.questions)} of {len(case.questions)} right." in done.out
    assert max(map(len, done.out.splitlines())) <= 80
    asked = numalab_command(installation, "diagnose", "01", "--seed", seed)
    assert asked.code == 130
    assert "no answer, so that nothing is kept" in asked.said


def test_a_letter_beyond_the_choices_is_refused() -> None:
    _, case = _seed_of_wrong_results()
    first, *others = case.questions
    short = replace(case, questions=(replace(first, choices=first.choices[:3]), *others))
    letters = ",".join("d" for _ in case.questions)
    with pytest.raises(UserError, match=first.name):
        chosen_by_letters(short, letters)


def test_a_sheet_is_written_for_who_has_no_mistakes(
    installation: Installation, tmp_path: Path
) -> None:
    seed, case = _seed_of_wrong_results()
    done = numalab_command(installation, "diagnose", "01", "--seed", seed, "--write", str(tmp_path))
    assert done.code == 0
    text = (tmp_path / "case.txt").read_text()
    assert "What is wrong in this kernel?" in text
    assert max(map(len, text.splitlines())) <= 80
    assert (tmp_path / FILE).read_text().count("# mistake = ") == len(case.questions[0].choices)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("01", "--seed", "7", "--answers", "a"), "write one letter from a to d for each"),
        (("01", "--seed", "7", "--answers", "a,b,x"), "write one letter from a to d for each"),
        (("00", "--seed", "7"), "has no cases for diagnosis"),
        (("01",), "say whose it is"),
        (("01", "--for", "ada", "--code", "7KX-0QM-2F9"), "does not belong to 'ada'"),
        (("01", "--seed", "7", "--answers", "a,b,c", "--write", "x"), "exclude each other"),
    ],
)
def test_wrong_use_is_told(installation: Installation, words: tuple[str, ...], told: str) -> None:
    done = numalab_command(installation, "diagnose", *words)
    assert done.code in (2, 3)
    assert told in done.said
