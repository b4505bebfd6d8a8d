"""Names that copies of kernels have, and which file is meant by a name."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from numalab.labs.declaration import Lab
from numalab.labs.kernel_names import (
    file_names,
    is_copy_name,
    is_probably_kernel,
    meant_by,
    not_graded_words,
    similar_names,
)


def test_a_kernel_is_handed_in_with_the_files_of_its_lab(labs: dict[str, Lab]) -> None:
    affinity = labs["02_affinity"]
    beside = tuple(file.name for file in affinity.files)
    assert len(beside) >= 3
    assert file_names(affinity, "c") == ("kernel.c", *beside)
    assert file_names(affinity, "fortran") == ("kernel.f90", *beside)
    assert file_names(labs["01_first_touch"], "c") == ("kernel.c",)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("KERNEL.C", "kernel.c"),
        (" kernel.c ", "kernel.c"),
        ("kernel (1).c", "kernel.c"),
        ("kernel-2.c", "kernel.c"),
        ("kernel (1) (2).C", "kernel.c"),
        ("kernel - Kopie.c", "kernel.c"),
        ("kernel - Kopie (2).c", "kernel.c"),
        ("kernel copie 2.c", "kernel.c"),
        ("kernel copy.c", "kernel.c"),
        ("kernel (copy).c", "kernel.c"),
        ("kernel (another copy).c", "kernel.c"),
        ("kernel (3rd copy).c", "kernel.c"),
        ("kernel (másolat).c", "kernel.c"),
        ("kernel - コピー.c", "kernel.c"),
        ("kernel — копия.c", "kernel.c"),
        ("Copy of kernel.c", "kernel.c"),
        ("Copy 2 of kernel.c", "kernel.c"),
        ("Copy of kernel (1).c", "kernel.c"),
        ("Kopie von kernel.c", "kernel.c"),
        ("Copie de kernel.c", "kernel.c"),
        ("Copia di kernel.c", "kernel.c"),
        ("kernel.f95", "kernel.f90"),
        ("kernel.F90", "kernel.f90"),
        ("kernel (1).f03", "kernel.f90"),
        ("kernel.f18", "kernel.f90"),
        ("kernel.f08", "kernel.f90"),
        ("omp_spread (1).env", "omp_spread.env"),
        ("OMP_SPREAD.env", "omp_spread.env"),
    ],
)
def test_what_marks_a_copy(name: str, wanted: str) -> None:
    assert is_copy_name(name, wanted)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("kernel.c", "kernel.c"),
        ("kernel.f90", "kernel.c"),
        ("kernel (1).cpp", "kernel.c"),
        ("kernel.f", "kernel.f90"),
        ("kernel.c", "kernel.f90"),
        ("my kernel.c", "kernel.c"),
        ("von kernel.c", "kernel.c"),
        ("2 kernel.c", "kernel.c"),
        ("2nd kernel.c", "kernel.c"),
        ("copy of my kernel.c", "kernel.c"),
        ("kernel old.c", "kernel.c"),
        ("kernel of.c", "kernel.c"),
        ("kernel copy of.c", "kernel.c"),
        ("kernel kernel.c", "kernel.c"),
        ("kernels.c", "kernel.c"),
        ("copy.c", "kernel.c"),
        ("spread (1).env", "omp_spread.env"),
        ("omp (1).env", "omp_spread.env"),
        ("omp_close (1).env", "omp_spread.env"),
        ("spread omp copy.env", "omp_spread.env"),
        ("omp_spread (1).toml", "omp_spread.env"),
        ("", "kernel.c"),
    ],
)
def test_what_is_no_copy(name: str, wanted: str) -> None:
    assert not is_copy_name(name, wanted)


def test_the_name_may_be_a_later_one_of_its_words() -> None:
    """Copy is a word that marks one, and here also a part of the name."""
    assert is_copy_name("copy of copy.c", "copy.c")
    assert is_copy_name("copy copy copy.c", "copy.c")
    assert is_copy_name("kernel 2 copy of kernel 2.c".removeprefix("kernel 2 "), "kernel 2.c")


def is_starting(content: bytes) -> bool:
    return content == b"start"


@pytest.mark.parametrize(
    ("files", "meant"),
    [
        ([], None),
        ([("kernel.c", b"a")], 0),
        ([("kernel (1).c", b"a")], 0),
        ([("kernel.c", b"start")], 0),
        # Equal ones: that of the name, then that which differs in case alone, then the first.
        ([("kernel (1).c", b"a"), ("kernel.c", b"a")], 1),
        ([("kernel (1).c", b"a"), ("KERNEL.C", b"a")], 1),
        ([("kernel (1).c", b"a"), (" Kernel.c ", b"a")], 1),
        ([("KERNEL.C", b"a"), ("kernel.c", b"a")], 1),
        ([("kernel (2).c", b"a"), ("kernel (1).c", b"a")], 0),
        # One alone was worked on.
        ([("kernel.c", b"start"), ("kernel (1).c", b"a")], 1),
        ([("kernel.c", b"start"), ("kernel (1).c", b"a"), ("kernel (2).c", b"a")], 1),
        ([("kernel.c", b"start"), ("kernel (1).c", b"a"), ("KERNEL.C", b"a")], 2),
        ([("kernel (1).c", b"start"), ("kernel.c", b"a")], 1),
        ([("kernel.c", b"start"), ("kernel (1).c", b"start")], 0),
        # Of two that were, that of the name; but no copy, and not where names are alike.
        ([("kernel (1).c", b"b"), ("kernel.c", b"a")], 1),
        ([("kernel (1).c", b"a"), ("kernel (2).c", b"b")], None),
        ([("kernel.c", b"a"), ("KERNEL.C", b"b")], None),
        ([("kernel.c", b"start"), ("kernel (1).c", b"a"), ("kernel (2).c", b"b")], 0),
    ],
)
def test_which_file_is_meant(files: Sequence[tuple[str, bytes]], meant: int | None) -> None:
    assert meant_by("kernel.c", files, is_starting) == meant


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("kernel.cpp", "C++"),
        ("KERNEL.CC", "C++"),
        ("kernel.f", "Fortran in fixed form"),
        ("kernel.F77 ", "Fortran in fixed form"),
        ("a.ipynb", "a notebook"),
        ("kernel.jl", "Julia"),
        ("kernel.c", ""),
        ("kernel.f90", ""),
        ("kernel", ""),
    ],
)
def test_languages_that_are_not_graded(name: str, words: str) -> None:
    said = not_graded_words(name)
    assert (words in said and name.strip() in said) if words else said == ""


def test_names_that_were_meant_to_be_the_wanted_one() -> None:
    names = ["kernel.c", "x.c", "kernel.c.txt", "KERNEL.C.TXT", "kernel.txt", "kernel (1).c"]
    assert similar_names(names, "kernel.c") == ["KERNEL.C.TXT", "kernel (1).c", "kernel.c.txt"]
    assert similar_names(["kernel.c"], "kernel.c") == []


@pytest.mark.parametrize(
    ("name", "for_c", "for_fortran"),
    [
        ("kernel.c", False, False),
        ("kernel.f90", False, False),
        ("solution.c", True, False),
        ("solution.C~", True, False),
        ("solution.c.txt", True, False),
        ("kernel.c.txt", True, False),
        ("solution.f90", False, True),
        ("solution.F08", False, True),
        ("solution.f", False, True),
        ("kernel.f95", False, True),
        ("kernel.for", False, True),
        ("kernel.cpp", True, False),
        ("kernel (1).cu", True, False),
        ("kernel.py", True, True),
        ("Copy of kernel.rs", True, True),
        ("kernel", True, True),
        ("kernel.txt", True, True),
        ("kernel (1)", True, True),
        ("solution.cpp", False, False),
        ("solution.txt", False, False),
        ("solution", False, False),
        ("kernel.pdf", False, False),
        ("notes.md", False, False),
        ("mine.c", False, False),
    ],
)
def test_what_may_be_meant_to_be_a_kernel(name: str, for_c: bool, for_fortran: bool) -> None:
    found = [is_probably_kernel(name, language, ["mine.c"]) for language in ("c", "fortran")]
    assert found == [for_c, for_fortran]
