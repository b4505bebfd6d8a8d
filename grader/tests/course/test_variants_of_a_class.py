"""Variants that a class hands in: who has which code, and whose variant is taken."""

from __future__ import annotations

import stat
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.commands import numalab_command
from support.deliveries import put
from support.golden_texts import check_text

from numalab.course.codes import format_codes, list_codes
from numalab.course.course_folder import CourseFolder
from numalab.course.gradebook.overview import table_lines
from numalab.course.gradebook.standing import Standing, StandingRow
from numalab.course.intake.choosing import lab_in_name
from numalab.course.intake.intake import import_submissions
from numalab.course.records import Student
from numalab.course.secret import seed_of
from numalab.errors import UserError
from numalab.grading.variant_installations import parse_ticket, ticket_text
from numalab.installation import Installation
from numalab.labs.declaration import Lab
from numalab.labs.seeds import Seed, personal_seed
from numalab.labs.variants import labs_and_variants

KERNEL = b'#include "first_touch.h"\nvoid initialize(void) {}\n'
LAB, VARIANT = "01_first_touch", "01_first_touch_variant"


@pytest.fixture
def course(tmp_path: Path) -> CourseFolder:
    return CourseFolder(tmp_path / "course")


@pytest.fixture
def all_labs(kit_root: Path) -> dict[str, Lab]:
    return labs_and_variants(kit_root)


def quiet(step: str) -> None:
    del step


@dataclass(frozen=True)
class Taken:
    labs: dict[str, tuple[str, ...]]  # and the files, of the one student
    told: str


def taken(tmp_path: Path, course: CourseFolder, labs: dict[str, Lab], ticket: str | None) -> Taken:
    """What is taken of ada's lab and variant, with this ticket in the variant's folder."""
    files = {f"ada/{LAB}/kernel.c": KERNEL, f"ada/{VARIANT}/kernel.c": KERNEL}
    if ticket is not None:
        files[f"ada/{VARIANT}/variant.toml"] = ticket.encode()
    put(tmp_path / "delivery", files)
    intake = import_submissions(tmp_path / "delivery", course, labs, quiet)
    assert {one.student.id for one in intake.submissions} == {"ada"}
    assert {one.student.id for one in intake.problems if one.student} <= {"ada"}
    told = " ".join(problem.why for problem in intake.problems)
    return Taken({one.lab: one.files for one in intake.submissions}, told)


def test_ones_own_variant_is_taken(tmp_path, course, all_labs):
    found = taken(tmp_path, course, all_labs, ticket_text(LAB, seed_of(course, "ada")))
    assert found.labs == {LAB: ("kernel.c",), VARIANT: ("kernel.c", "variant.toml")}


def of_another_course(course: CourseFolder) -> Seed:
    del course
    return personal_seed(b"another secret", "ada")


@pytest.mark.parametrize(
    ("ticket", "says"),
    [
        (lambda course: None, "variant.toml is missing"),
        (lambda course: ticket_text(LAB, seed_of(course, "bob")), "the variant of 'bob'"),
        (lambda course: ticket_text(LAB, of_another_course(course)), "the variant of 'ada'"),
        (lambda course: ticket_text(LAB, Seed(17, "seed 17")), "the variant of 'seed 17'"),
        (lambda course: ticket_text("02_affinity", seed_of(course, "ada")), "of 02_affinity"),
        (
            lambda course: ticket_text(LAB, seed_of(course, "bob")).replace("bob", "ada"),
            "does not belong to 'ada'",
        ),
        (lambda course: "for = \x1b[31m", "variant.toml"),
    ],
)
def test_another_ones_variant_is_told_and_all_else_is_taken(
    tmp_path, course, all_labs, ticket, says
):
    found = taken(tmp_path, course, all_labs, ticket(course))
    assert found.labs == {LAB: ("kernel.c",)}
    assert says in found.told
    assert "./numalab variant 01 --for ada --code CODE" in found.told
    assert "\x1b" not in found.told


def answers(seed: Seed, lab: str = LAB) -> str:
    return f'lab = "{lab}"\nfor = "{seed.owner}"\ncode = "{seed.code}"\nanswers = ["b", "a"]\n'


def test_what_was_predicted_and_answered_is_taken_with_the_kernels(tmp_path, course, all_labs):
    own = seed_of(course, "ada")
    put(
        tmp_path / "delivery",
        {
            f"ada/{LAB}/kernel.c": KERNEL,
            f"ada/{LAB}/diagnose.toml": answers(own).encode(),
            f"ada/{LAB}/predictions.toml": b"",
            f"ada/{VARIANT}/kernel.c": KERNEL,
            f"ada/{VARIANT}/variant.toml": ticket_text(LAB, own).encode(),
            f"ada/{VARIANT}/predictions.toml": b"pages = 0.5\n",
        },
    )
    intake = import_submissions(tmp_path / "delivery", course, all_labs, quiet)
    assert not intake.problems
    assert {one.lab: one.files for one in intake.submissions} == {
        LAB: ("diagnose.toml", "kernel.c"),
        VARIANT: ("kernel.c", "predictions.toml", "variant.toml"),
    }
    (lab, _) = intake.submissions
    check_text(lab.notes)
    digest = lab.digest
    put(tmp_path / "delivery", {f"ada/{LAB}/diagnose.toml": answers(own).encode() + b"\n"})
    again = import_submissions(tmp_path / "delivery", course, all_labs, quiet)
    assert again.submissions[0].digest != digest  # what is graded is what was answered last


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (lambda course: answers(seed_of(course, "bob")), "answers to the case of 'bob'"),
        (lambda course: answers(of_another_course(course)), "answers to the case of 'ada'"),
        (lambda course: answers(Seed(17, "seed 17")), "answers to the case of 'seed 17'"),
        (lambda course: answers(seed_of(course, "ada"), "02_affinity"), "a case of 02_affinity"),
        (lambda course: answers(seed_of(course, "bob")).replace("bob", "ada"), "not belong to"),
        (lambda course: "for = \x1b[31m", "not TOML"),
        (lambda course: f"{answers(seed_of(course, 'ada'))}# {'x' * 5000}", "larger than 4 KiB"),
        (lambda course: f"{answers(seed_of(course, 'ada'))}points = 10", "unknown key 'points'"),
    ],
)
def test_answers_to_another_ones_case_are_told_and_the_kernel_is_taken(
    tmp_path, course, all_labs, text, says
):
    files = {
        f"ada/{LAB}/kernel.c": KERNEL,
        f"ada/{LAB}/diagnose.toml": text(course).encode(),
        "bob/02_affinity/diagnose.toml": answers(seed_of(course, "ada"), "02_affinity").encode(),
    }
    put(tmp_path / "delivery", files)
    intake = import_submissions(tmp_path / "delivery", course, all_labs, quiet)
    (taken_in,) = intake.submissions
    assert (taken_in.student.id, taken_in.files) == ("ada", ("kernel.c",))
    told = {one.student.id: one.why for one in intake.problems if one.student}
    assert says in told["ada"]
    assert (
        "./numalab diagnose 01 --for ada --code CODE, with the code that your instructor"
        in told["ada"]
    )
    assert "diagnose.toml counts beside what is graded, and not alone" in told["bob"]
    assert "\x1b" not in told["ada"]
    written = course.submission("ada", LAB, taken_in.digest) / LAB
    assert [path.name for path in written.iterdir()] == ["kernel.c"]


def test_a_kernel_outside_of_a_labs_folder_is_no_variants(tmp_path, course, all_labs):
    put(tmp_path / "delivery", {"ada/kernel.c": KERNEL, "bob/kernel.c": KERNEL})
    intake = import_submissions(tmp_path / "delivery", course, all_labs, quiet)
    assert [one.lab for one in intake.submissions] == [LAB, LAB]


def test_a_deliverys_name_tells_lab_or_variant(all_labs):
    assert lab_in_name("hand-ins 01_first_touch.zip", all_labs) == LAB
    assert lab_in_name("hand-ins 01_first_touch_variant.zip", all_labs) == VARIANT


def test_codes_are_those_of_the_ids_that_hand_ins_will_have(tmp_path, course):
    listed = tmp_path / "class.csv"
    listed.write_text("Name,Email\nAda L,ada@x.org\n=1+1,eve@x.org\n")
    codes, remarks = list_codes(course, listed)
    assert not remarks
    assert {student.id: seed for student, seed in codes} == {
        student.id: seed_of(course, student.id) for student, _ in codes
    }
    assert list_codes(course) == (codes, [])
    table = format_codes(codes)
    assert f"ada-l,Ada L,{seed_of(course, 'ada-l').code}" in table
    assert "'=1+1" in table
    with pytest.raises(UserError, match="knows no students yet"):
        list_codes(CourseFolder(tmp_path / "other"))


def test_codes_at_the_command_line(installation: Installation, tmp_path, course):
    listed = tmp_path / "class.csv"
    listed.write_text("Name,Email\nAda L,ada@x.org\n")
    done = numalab_command(
        installation, "gradebook", "codes", str(course.root), "--students", str(listed)
    )
    assert done.out == f"ada-l  {seed_of(course, 'ada-l').code}  Ada L\n"
    path = tmp_path / "codes.csv"
    told = numalab_command(
        installation, "gradebook", "codes", str(course.root), "--csv", str(path), "--for", "ada-l"
    )
    assert (told.code, told.out) == (0, "")
    assert "Keep it to yourself" in told.err
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text().splitlines()[1:] == [f"ada-l,Ada L,{seed_of(course, 'ada-l').code}"]
    wrong = numalab_command(installation, "gradebook", "codes", str(course.root), "--for", "bob")
    assert wrong.code == 2
    assert "no such student" in wrong.err
    written = numalab_command(
        installation, "variant", "01", "--for", "ada-l", "--course", str(course.root),
        "--out", str(tmp_path / "out"),
    )  # fmt: skip
    assert written.code == 0
    ticket = (tmp_path / "out" / VARIANT / "variant.toml").read_text()
    assert ticket == ticket_text(LAB, seed_of(course, "ada-l"))


def test_a_table_tells_lab_and_variant_apart():
    ada = Student("ada", "Ada", {})
    rows = tuple(
        StandingRow(ada, lab, None, (), points, 10, None, False, 0.0, 0.0, "", ())
        for lab, points in ((LAB, 9.0), (VARIANT, 4.0))
    )
    lines = list(table_lines(Standing(rows, (), "", "2026-01-01T00:00:00+00:00")))
    assert lines[0].split() == ["student", "01", "01v"]
    assert lines[1].split()[-2:] == ["9", "4"]
    assert any(line.startswith("v: ") for line in lines)


def test_a_ticket_holds_any_id() -> None:
    for owner in ('a"b', "c:\\d", "Łódź", "two\nlines"):
        seed = Seed(17, owner)
        assert parse_ticket(ticket_text(LAB, seed), "variant.toml") == (LAB, seed)
