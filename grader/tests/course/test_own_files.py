"""Whether what was made for one student was made for her who hands it in."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from support.golden_texts import check_text

from numalab.course.course_folder import CourseFolder
from numalab.course.intake.own_files import check_owner
from numalab.course.intake.starting import StartingCode
from numalab.course.intake.taking import Chosen
from numalab.course.records import Student
from numalab.course.secret import seed_of
from numalab.grading.variant_installations import TICKET_BYTES, ticket_text
from numalab.installation import Installation
from numalab.labs.declaration import Lab
from numalab.labs.starting_code import digest_of
from numalab.labs.variants import draw_variant, lab_files, labs_and_variants, read_draws

LAB, VARIANT = "01_first_touch", "01_first_touch_variant"
ADA = Student("ada", "Ada", {})


@pytest.fixture
def course(tmp_path: Path) -> CourseFolder:
    return CourseFolder(tmp_path / "course")


@pytest.fixture(scope="module")
def all_labs(installation: Installation) -> dict[str, Lab]:
    return labs_and_variants(installation.root)


def answers(course: CourseFolder, student: str = "ada") -> bytes:
    seed = seed_of(course, student)
    return f'lab = "{LAB}"\nfor = "{seed.owner}"\ncode = "{seed.code}"\nanswers = []\n'.encode()


def padded(text: bytes, size: int) -> bytes:
    return text + b"#" * (size - len(text))


def test_all_else_is_taken_without_a_look(course: CourseFolder, all_labs: dict[str, Lab]) -> None:
    chosen = [Chosen(all_labs[LAB], {"kernel.c": b"x"}), Chosen(all_labs["02_affinity"], {})]
    assert check_owner(course, ADA, chosen) == (tuple(chosen), ())
    assert not course.root.exists()


def test_answers_to_ones_own_case(course: CourseFolder, all_labs: dict[str, Lab]) -> None:
    of_all = {"kernel.c": b"x", "diagnose.toml": padded(answers(course), TICKET_BYTES)}
    mine = Chosen(all_labs[LAB], of_all, ("n",))
    assert check_owner(course, ADA, [mine]) == ((mine,), ())
    longer = replace(mine, files=of_all | {"diagnose.toml": of_all["diagnose.toml"] + b"#"})
    ((kept,), (why,)) = check_owner(course, ADA, [longer])
    assert kept == replace(mine, files={"kernel.c": b"x"})
    check_text(why)


def test_of_answers_to_another_ones_case_what_is_graded_is_taken(
    course: CourseFolder, all_labs: dict[str, Lab]
) -> None:
    theirs = {"diagnose.toml": answers(course, "bob")}
    for files, is_kept in (
        ({"kernel.c": b"x"}, True),
        ({"explanation.txt": b"x"}, False),
        ({}, False),
    ):
        kept, (why,) = check_owner(course, ADA, [Chosen(all_labs[LAB], theirs | files)])
        assert [one.files for one in kept] == ([files] if is_kept else [])
        assert why.startswith(f"{LAB}: diagnose.toml has answers to the case of 'bob'")


def test_nothing_is_taken_of_another_ones_variant(
    course: CourseFolder, all_labs: dict[str, Lab]
) -> None:
    def taken(ticket: str | None) -> tuple[int, str]:
        files = {"kernel.c": b"x"} | ({} if ticket is None else {"variant.toml": ticket.encode()})
        kept, told = check_owner(course, ADA, [Chosen(all_labs[VARIANT], files)])
        return len(kept), "".join(told)

    mine = ticket_text(LAB, seed_of(course, "ada"))
    assert taken(mine) == (1, "")
    for ticket, said in (
        (None, "variant.toml is missing, so that"),
        (ticket_text(LAB, seed_of(course, "bob")), "this is the variant of 'bob'"),
        (ticket_text("02_affinity", seed_of(course, "ada")), "variant.toml is of a variant of"),
        (mine + "#" * TICKET_BYTES, "variant.toml is larger than 4 KiB"),
    ):
        count, told = taken(ticket)
        assert count == 0 and told.startswith(f"{VARIANT}: {said}")
        assert "./numalab variant 01 --for ada --code CODE" in told


def test_what_is_starting_code(
    installation: Installation, course: CourseFolder, all_labs: dict[str, Lab]
) -> None:
    is_starting, lab, variant = StartingCode(installation.root), all_labs[LAB], all_labs[VARIANT]
    given = (installation.lab_folder(LAB) / "kernel.c").read_bytes()
    assert is_starting(lab, "kernel.c", given + b"\n/* Ada */\n", None)
    assert not is_starting(lab, "kernel.c", given + b"int x;\n", None)
    assert not is_starting(lab, "kernel.f90", given, None)
    assert not is_starting(lab, "other.c", given, None)
    digests = (*lab.starting_code["kernel.c"], digest_of("kernel.c", b"int before;\n"))
    since = replace(lab, starting_code={"kernel.c": digests})
    assert is_starting(since, "kernel.c", b"int before; // Ada\n", None)
    assert not is_starting(lab, "kernel.c", b"int before;\n", None)
    seed = seed_of(course, "ada")
    draws = read_draws(installation.root, LAB)
    mine = lab_files(installation.root, draws, draw_variant(draws, seed))["kernel.c"].encode()
    assert digest_of("kernel.c", mine) != digest_of("kernel.c", given)
    ticket = ticket_text(LAB, seed).encode()
    assert is_starting(variant, "kernel.c", mine, ticket)
    assert not is_starting(variant, "kernel.c", given, ticket)
    other = ticket_text("02_affinity", seed).encode()
    for none in (None, b"x", other):
        assert not is_starting(variant, "kernel.c", mine, none)
