"""Codes: whose seed is whose, and what is told of a wrong one."""

from __future__ import annotations

from datetime import date

import pytest

from numalab.errors import UserError
from numalab.labs.seeds import SEEDS, Seed, chosen_seed, personal_seed, seed_of_code

SECRET = b"a secret of this course"


def test_a_seed_is_the_same_for_ever():
    assert personal_seed(SECRET, "ada").number == 304238169
    assert personal_seed(SECRET, "ada") == personal_seed(SECRET, "ada")
    assert personal_seed(b"another", "ada").number != personal_seed(SECRET, "ada").number


@pytest.mark.parametrize("number", [1, 2, 20261125, SEEDS[-1]])
def test_a_code_holds_its_seed(number):
    seed = Seed(number, "ada")
    assert seed_of_code("ada", seed.code) == seed
    assert seed_of_code("ada", seed.code.lower().replace("-", " ")) == seed


def test_codes_say_what_is_drawn_from():
    """Those of before are what they were; and no slip of one sign leads from one to the other."""
    assert Seed(17, "ada", 1).code == "000-004-DHV"
    for number in range(1, 200):
        old, new = Seed(number, "ada", 1), Seed(number, "ada", 2)
        assert (seed_of_code("ada", old.code), seed_of_code("ada", new.code)) == (old, new)
        assert sum(a != b for a, b in zip(old.code, new.code, strict=True)) >= 2


def test_what_is_drawn_from_where_nothing_else_is_said():
    assert Seed(17, "ada") == Seed(17, "ada", 2)
    assert personal_seed(SECRET, "ada") == Seed(304238169, "ada", 2)
    assert personal_seed(SECRET, "ada", 1).draws == 1


@pytest.mark.parametrize(
    ("number", "code"),
    [(1, "000-000-88Z"), (20261125, "04T-JJ1-DJZ"), (2**32 - 1, "ZZZ-ZZZ-ZXW")],
)
def test_a_code_is_the_same_for_ever(number, code):
    assert Seed(number, "ada").code == code
    assert len(code.replace("-", "")) == 9


def test_signs_that_look_alike_are_read_as_one():
    code = Seed(17, "ada", 1).code
    assert seed_of_code("ada", code.replace("0", "o")) == Seed(17, "ada", 1)
    for number in range(1, 60):
        seed = Seed(number, "ada")
        for sign in "IL":
            assert seed_of_code("ada", seed.code.replace("1", sign)) == seed


@pytest.mark.parametrize("code", ["000-004-DHU", "000-004-DH\u0661", "0000004DHVV", ""])
def test_what_is_no_code(code):
    with pytest.raises(UserError, match="is no code"):
        seed_of_code("ada", code)


@pytest.mark.parametrize("draws", [1, 2])
def test_no_code_holds_a_number_that_is_no_seed(draws):
    with pytest.raises(UserError, match="does not belong"):
        seed_of_code("ada", Seed(0, "ada", draws).code)


def test_a_code_of_another_person_is_told():
    refused = 0
    for number in range(200):
        code = personal_seed(SECRET, f"student{number}").code
        try:
            seed_of_code("ada", code)
        except UserError as error:
            refused += "does not belong to 'ada'" in str(error)
    assert refused >= 199  # a check of 13 bits, of which two are right


def test_a_slip_is_told():
    code = Seed(20261125, "ada").code
    wrong = ("B" if code[0] != "B" else "C") + code[1:]
    with pytest.raises(UserError, match="does not belong"):
        seed_of_code("ada", wrong)
    with pytest.raises(UserError, match="is no code"):
        seed_of_code("ada", code[:-1])


def test_seeds_for_who_studies_alone():
    assert chosen_seed("today", date(2026, 11, 25)) == Seed(20261125, "2026-11-25")
    assert chosen_seed("17", date(2026, 11, 25)).number == 17
    with pytest.raises(UserError, match="--seed"):
        chosen_seed("1" * 5_000, date(2026, 11, 25))
    assert chosen_seed("4294967295", date(2026, 11, 25)) == Seed(2**32 - 1, "seed 4294967295")
    assert chosen_seed("1", date(2026, 11, 25)) == Seed(1, "seed 1")
    for text in ("+5", "1_0", " 5", "", "\u00b2", "0", "-1", "4294967296", "x", "\u0661"):
        with pytest.raises(UserError, match="--seed"):
            chosen_seed(text, date(2026, 11, 25))
