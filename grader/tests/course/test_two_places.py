"""Of several places and names of one lab: the one that is not the starting code, or a question."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.deliveries import Files, put, zip_bytes
from support.golden_texts import check_text

from numalab.course.course_folder import CourseFolder
from numalab.course.intake.intake import import_submissions
from numalab.course.intake.starting import StartingCode
from numalab.course.records import Intake, Submission
from numalab.course.secret import seed_of
from numalab.grading.variant_installations import ticket_text
from numalab.installation import Installation
from numalab.labs.declaration import Lab
from numalab.labs.seeds import Seed
from numalab.labs.starting_code import digest_of
from numalab.labs.variants import draw_variant, lab_files, labs_and_variants, read_draws

FIRST = "01_first_touch"


class Desk:
    """Who takes in one student's files, of all labs or of one."""

    def __init__(self, installation: Installation, labs: dict[str, Lab], folder: Path) -> None:
        self.installation, self.labs, self.folder = installation, labs, folder
        self.given = (installation.lab_folder(FIRST) / "kernel.c").read_bytes()
        self.fortran = (installation.lab_folder(FIRST) / "kernel.f90").read_bytes()
        self.done = (installation.solution_folder(FIRST) / "kernel.c").read_bytes()
        # As some editors leave the starting code: other blanks, another comment, ends of Windows.
        self.touched = b"/* Ada */\r\n" + self.given.replace(b"\n", b"\r\n").replace(b"  ", b"\t")

    def take(self, files: Files) -> Intake:
        put(self.folder / "delivery" / "ada", files)
        return import_submissions(
            self.folder / "delivery", CourseFolder(self.folder / "course"), self.labs,
            lambda _: None, is_starting=StartingCode(self.installation.root),
        )  # fmt: skip

    def taken(self, files: Files) -> tuple[bytes, str]:
        """The kernel in C and what is said."""
        intake = self.take(files)
        assert not intake.problems
        (one,) = intake.submissions
        return self.content(one), " ".join(one.notes)

    def content(self, one: Submission) -> bytes:
        folder = CourseFolder(self.folder / "course").submission("ada", one.lab, one.digest)
        return (folder / one.lab / "kernel.c").read_bytes()

    def refused(self, files: Files) -> str:
        intake = self.take(files)
        assert not intake.submissions
        return " ".join(problem.why for problem in intake.problems)


@pytest.fixture
def desk(installation: Installation, labs: dict[str, Lab], tmp_path: Path) -> Desk:
    return Desk(installation, labs, tmp_path)


PLACES = {
    "a copy of the kit": (f"numalab/labs/{FIRST}/kernel.c", f"numalab/notebooks/{FIRST}/kernel.c"),
    "a deeper copy": (f"{FIRST}/kernel.c", f"final/{FIRST}/kernel.c"),
    "below it": (f"{FIRST}/kernel.c", f"{FIRST}/old/kernel.c"),
    "in itself": (f"{FIRST}/kernel.c", f"{FIRST}/{FIRST}/kernel.c"),
    "no lab's folder": (f"{FIRST}/kernel.c", "work/kernel.c"),
    "a longer name": (f"{FIRST}/kernel.c", f"{FIRST}_final/kernel.c"),
    "two of no lab's": ("kernel.c", "abgabe/kernel.c"),
    "beside it": ("old/kernel.c", "new/kernel.c"),
}


@pytest.mark.parametrize("places", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize("is_first", [True, False])
def test_the_place_that_is_changed(desk: Desk, places: tuple[str, str], is_first: bool) -> None:
    given, done = places if is_first else places[::-1]
    content, said = desk.taken({given: desk.touched, done: desk.done})
    assert content == desk.done
    check_text(said)


@pytest.mark.parametrize("places", PLACES.values(), ids=PLACES)
def test_two_places_that_are_changed(desk: Desk, places: tuple[str, str]) -> None:
    said = desk.refused({places[0]: desk.done, places[1]: desk.done + b"int x;\n"})
    check_text(said)


@pytest.mark.parametrize("places", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize("is_done", [True, False])
def test_two_places_that_say_the_same(desk: Desk, places: tuple[str, str], is_done: bool) -> None:
    text = desk.done if is_done else desk.given
    content, said = desk.taken(dict.fromkeys(places, text))
    assert (content, said) == (text, "")


def test_an_archive_beside_its_folder(desk: Desk) -> None:
    """Whatever the archive has in it, and whether both are called as the lab."""
    for number, (folder, member) in enumerate(
        (("abgabe", "abgabe/kernel.c"), ("abgabe", "kernel.c"), (FIRST, f"{FIRST}/kernel.c"))
    ):
        one = Desk(desk.installation, desk.labs, desk.folder / str(number))
        files = {f"{folder}/kernel.c": one.given, f"{folder}.zip": zip_bytes({member: one.done})}
        assert one.taken(files)[0] == one.done
        changed = one.refused({f"{folder}/kernel.c": one.given.replace(b"0", b"1")})
        assert f"{folder}.zip/" in changed
        assert f"{folder}/" in changed
    two = Desk(desk.installation, desk.labs, desk.folder / "two")
    versions = {"v1.zip": two.done, "v2.zip": two.given}
    zipped = {name: zip_bytes({"kernel.c": text}) for name, text in versions.items()}
    assert two.taken(zipped)[0] == two.done
    beside = Desk(desk.installation, desk.labs, desk.folder / "beside")
    files = {"kernel.c": beside.given, "abgabe.zip": zip_bytes({"kernel.c": beside.done})}
    content, said = beside.taken(files)
    assert content == beside.done
    check_text(said)


def test_one_language_changed(desk: Desk) -> None:
    """Starting code in the other language is none of a place's work."""
    files = {f"labs/{FIRST}/kernel.c": desk.given, f"labs/{FIRST}/kernel.f90": desk.fortran,
             f"x/{FIRST}/kernel.c": desk.done, f"x/{FIRST}/kernel.f90": desk.fortran}  # fmt: skip
    assert desk.taken(files)[0] == desk.done


def test_a_copy_of_the_whole_kit(desk: Desk) -> None:
    """Its tests, tools and templates are nobody's work, changed as they are."""
    files = {
        f"numalab/labs/{FIRST}/kernel.c": desk.done,
        f"numalab/labs/{FIRST}/variant/kernel.c": b"int @x@;\n",
        "numalab/grader/bench/kernel.c": desk.done + b"int x;\n",
        f"numalab/grader/tests/hostile/{FIRST}/kernel.c": b"int main;\n",
        f"numalab/solutions/{FIRST}/kernel.c": desk.done + b"int y;\n",
        f"numalab/solutions/{FIRST}/wrong/kernel.c": desk.done + b"int z;\n",
    }
    assert desk.taken(files) == (desk.done, "")
    untouched = files | {f"numalab/labs/{FIRST}/kernel.c": desk.given}
    assert desk.taken(untouched) == (desk.given, "")
    in_notebooks = {f"numalab/notebooks/{FIRST}/kernel.c": desk.done}
    assert desk.taken(untouched | in_notebooks)[0] == desk.done


def test_what_lies_elsewhere_is_named(desk: Desk) -> None:
    files = {f"{FIRST}/kernel.c": desk.done, f"{FIRST}/tries/kernel.cpp": b"x",
             "03_other_course/kernel.c": desk.done, "notes/kernel.c": b"int main;\n"}  # fmt: skip
    _, said = desk.taken(files)
    assert "taken: 03_other_course/kernel.c, notes/kernel.c." in said


# ---- names -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["kernel (1).c", "kernel-1.c", "kernel - Kopie.c", "kernel - Kopie (2).c", "KERNEL.C",
     "Kernel.c", "kernel copy 2.c", "Copy of kernel.c", "Kopie von kernel.c", "kernel copie.c",
     "kernel - C\u00f3pia.c", "kernel (another copy).c", "kernel (3rd copy).c", "kernel[1].c",
     "\u043a\u043e\u043f\u0438\u044f kernel.c", "kernel \u526f\u672c.c"],
)  # fmt: skip
def test_a_kernel_by_a_copys_name(desk: Desk, name: str) -> None:
    content, said = desk.taken({f"{FIRST}/{name}": desk.done})
    assert content == desk.done
    check_text(said)


@pytest.mark.parametrize("name", ["Kernel.F90", "kernel.F90", "kernel.f95", "kernel (1).f08"])
def test_fortran_by_another_name(desk: Desk, name: str) -> None:
    (one,) = desk.take({f"{FIRST}/{name}": b"end\n"}).submissions
    assert one.languages == ("fortran",)
    check_text(one.notes)


def test_copies_beside_each_other(desk: Desk) -> None:
    (desk.folder / "delivery").mkdir()
    both = f"{FIRST}/kernel (1).c", f"{FIRST}/kernel (2).c"
    asked = desk.refused({both[0]: desk.done, both[1]: desk.done + b"int x;\n"})
    check_text(asked)
    content, said = desk.taken({both[0]: desk.done, both[1]: desk.touched})
    assert content == desk.done
    check_text(said)


def test_a_copy_beside_the_kernel(desk: Desk) -> None:
    own, copy = f"{FIRST}/kernel.c", f"{FIRST}/kernel (1).c"
    content, said = desk.taken({own: desk.given, copy: desk.done})
    assert content == desk.done
    check_text(said)
    content, said = desk.taken({own: desk.done, copy: desk.given})
    assert content == desk.done
    check_text(said)
    content, said = desk.taken({own: desk.done, copy: desk.done + b"int x;\n"})
    assert content == desk.done


@pytest.mark.parametrize("name", ["kernel.cpp", "kernel.cc", "kernel (1).cxx"])
def test_another_language_is_named(desk: Desk, name: str) -> None:
    said = desk.refused({f"{FIRST}/{name}": desk.done})
    check_text(said)


# ---- texts -------------------------------------------------------------------------------


def test_line_ends_of_old_macs(desk: Desk) -> None:
    content, said = desk.taken({f"{FIRST}/kernel.c": desk.done.replace(b"\n", b"\r")})
    assert content == desk.done
    check_text(said)


@pytest.mark.parametrize(
    "start",
    [
        b"%PDF-1.7\n",
        b"{\\rtf1\\ansi ",
        b"<!DOCTYPE html><html><body><pre>",
        b"--- a/kernel.c\n+++ b/kernel.c\n@@ -1,3 +1,4 @@\n",
        b'{"cells": [], "nbformat": 4}',
        b"PK\x03\x04",
    ],
)
def test_documents_are_named(desk: Desk, start: bytes) -> None:
    why = desk.refused({f"{FIRST}/kernel.c": start + desk.done})
    check_text(why)


def test_marks_of_a_merge_are_named(desk: Desk) -> None:
    text = b"<<<<<<< HEAD\n" + desk.done + b"=======\n" + desk.given + b">>>>>>> other\n"
    _, said = desk.taken({f"{FIRST}/kernel.c": text})
    check_text(said)


# ---- variants ----------------------------------------------------------------------------------


class VariantDesk(Desk):
    """Of all labs and variants; ada's variant of a lab, as she gets it."""

    def __init__(self, installation: Installation, folder: Path, lab: str) -> None:
        super().__init__(installation, labs_and_variants(installation.root), folder)
        seed = seed_of(CourseFolder(folder / "course"), "ada")
        draws = read_draws(installation.root, lab)
        variant = draw_variant(draws, seed)
        self.ticket = {"variant.toml": ticket_text(lab, seed).encode()}
        self.untouched = {
            name: text.encode()
            for name, text in lab_files(installation.root, draws, variant).items()
        }

    def files(self, place: str, name: str, text: bytes, has_ticket: bool = True) -> Files:
        ticket = self.ticket if has_ticket else {}
        return {f"{place}/{one}": of for one, of in {name: text, **ticket}.items()}

    def taken_of(self, files: Files, name: str) -> bytes:
        intake = self.take(files)
        assert not intake.problems
        (one,) = intake.submissions
        folder = CourseFolder(self.folder / "course").submission("ada", one.lab, one.digest)
        return (folder / one.lab / name).read_bytes()


@pytest.mark.parametrize(
    ("lab", "name"),
    [(FIRST, "kernel.c"), (FIRST, "kernel.f90"), ("07_hybrid", "kernel.c"),
     ("08_quiet_node", "governor.toml")],
)  # fmt: skip
@pytest.mark.parametrize("has_ticket", [True, False])
@pytest.mark.parametrize("is_first", [True, False])
def test_of_two_places_of_a_variant_the_changed_one(
    installation: Installation,
    tmp_path: Path,
    lab: str,
    name: str,
    has_ticket: bool,
    is_first: bool,
) -> None:
    """The starting code of whoever's it is; with what says that in one of the places, or both."""
    desk = VariantDesk(installation, tmp_path, lab)
    places = [f"{lab}_variant", f"old/{lab}_variant"]
    given, done = places if is_first else places[::-1]
    text = desk.untouched[name]
    changed = text.replace(b'""', b'"7"') if name.endswith(".toml") else text + b"x\n"
    assert changed != desk.untouched[name]
    files = desk.files(done, name, changed) | desk.files(
        given, name, desk.untouched[name].replace(b"\n", b"\r\n"), has_ticket
    )
    assert desk.taken_of(files, name) == changed


def test_another_ones_starting_code_is_none(installation: Installation, tmp_path: Path) -> None:
    """It was drawn otherwise, so that it says something else."""
    desk = VariantDesk(installation, tmp_path, "10_false_sharing")
    kernel, place = desk.untouched["kernel.f90"], "10_false_sharing_variant"
    draws = read_draws(installation.root, "10_false_sharing")
    others = (
        lab_files(installation.root, draws, draw_variant(draws, Seed(number, "bob")))[
            "kernel.f90"
        ].encode()
        for number in range(40)
    )
    other = next(
        text for text in others if digest_of("kernel.f90", text) != digest_of("kernel.f90", kernel)
    )
    said = desk.refused(
        desk.files(place, "kernel.f90", kernel + b"x\n")
        | desk.files(f"old/{place}", "kernel.f90", other)
    )
    check_text(said)
