"""Kernels that say the same, whatever names and blanks they have; and what is kept of whom."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from support.commands import numalab_command
from support.golden_texts import check_text, raises_text

from numalab.course.course_folder import CourseFolder
from numalab.course.gradebook.counting import HandIn
from numalab.course.privacy import paragraph
from numalab.course.similarity import (
    Kernel,
    changed_tokens,
    compare_hand_ins,
    find_equal_kernels,
    group_equal_kernels,
    tokens_of,
)
from numalab.errors import UserError
from numalab.installation import Installation
from numalab.labs.declaration import Lab

HANDOUT = """\
void initialize(size_t n, float *a)
{
    for (size_t i = 0; i < n; i++) a[i] = 0.0f;
}
"""
SOLUTION = HANDOUT.replace("    for", "#pragma omp parallel for schedule(static)\n    for")
RENAMED = """\
/* All my own work. */
void initialize(size_t count, float *values) {
  #pragma omp  parallel for  schedule( static )
    for (size_t k=0;k<count;k++)
        values[k] = 0.0f; // zero
}
"""
DYNAMIC = SOLUTION.replace("static", "dynamic")
FORTRAN = """\
subroutine initialize(n, a) bind(c)
  !$omp parallel do schedule(static)
  do i = 1, n
     a(i) = 0.0
  end do
end subroutine initialize
"""


def test_names_blanks_and_comments_change_nothing():
    assert tokens_of(RENAMED, "c") == tokens_of(SOLUTION, "c")
    assert tokens_of(FORTRAN.upper().replace("A(I)", "A( I )"), "fortran") == tokens_of(
        FORTRAN.replace("  do i", "  ! a comment\n  do i"), "fortran"
    )


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (DYNAMIC, "c"),
        (HANDOUT, "c"),
        (SOLUTION.replace("i < n", "i <= n"), "c"),
        (SOLUTION.replace("a[i]", "a[n]"), "c"),
        (SOLUTION.replace("0.0f", "1.0f"), "c"),
        (FORTRAN.replace("static", "dynamic"), "fortran"),
        (FORTRAN.replace("!$omp", "! $omp"), "fortran"),
    ],
)
def test_what_a_kernel_does_counts(text, language):
    assert tokens_of(text, language) != tokens_of({"c": SOLUTION, "fortran": FORTRAN}[language],
                                                  language)  # fmt: skip


def kernel(student: str, text: str, lab: str = "01_first_touch") -> Kernel:
    return Kernel(student, lab, "c", tokens_of(text, "c"), tokens_of(HANDOUT, "c"))


def test_who_is_listed():
    own = SOLUTION.replace("static", "static, 4096")
    class_ = [
        kernel("ada", SOLUTION), kernel("bob", RENAMED), kernel("cy", HANDOUT),
        kernel("di", HANDOUT), kernel("eve", DYNAMIC), kernel("flo", DYNAMIC), kernel("gus", own),
        kernel("hal", SOLUTION, "01_first_touch_variant"),
    ]  # fmt: skip
    found = group_equal_kernels(class_, {("01_first_touch", "c"): tokens_of(SOLUTION, "c")})
    assert [(one.students, one.is_solution, one.changed) for one in found] == [
        (("ada", "bob"), True, 9),
        (("eve", "flo"), False, 9),
    ]
    assert changed_tokens(tokens_of(HANDOUT, "c"), tokens_of(HANDOUT, "c")) == 0


def test_what_is_kept_of_a_person(installation, tmp_path):
    (tmp_path / "course.toml").write_text('title = "Parallel 1"\n')
    done = numalab_command(
        installation,
        "gradebook",
        "privacy",
        str(tmp_path),
        "--until",
        "2027-10-01",
        "--contact",
        "me@x.org",
    )
    assert done.code == 0
    text = " ".join(done.out.split())
    assert text == " ".join(paragraph("Parallel 1", "2027-10-01", "me@x.org").split())
    check_text(text)
    assert max(map(len, done.out.splitlines())) <= 80
    check_text(paragraph("", None, None))
    text = 'title = "Parallel 1"\nkept_until = 2027-10-02\ncontact = "you@x.org"\n'
    (tmp_path / "course.toml").write_text(text)
    told = numalab_command(installation, "gradebook", "privacy", str(tmp_path)).out
    assert told.split() == paragraph("Parallel 1", "2027-10-02", "you@x.org").split()
    other = numalab_command(
        installation, "gradebook", "privacy", str(tmp_path), "--until", "2028"
    ).out
    assert "until 2028." in " ".join(other.split())


@pytest.mark.parametrize(
    ("text", "language", "tokens"),
    [
        ("int a = b; // c\n/* d */ a++;", "c",
         ("int", "name0", "=", "name1", ";", "name0", "+", "+", ";")),
        ('#include <omp.h>\nf("x y");', "c",
         ("#", "include", "name0", "(", '"', "xy", '"', ")", ";")),
        ("a = 1\n!$OMP BARRIER\nb = A", "fortran",
         ("name0", "=", "1", "!", "$", "omp", "barrier", "name1", "=", "name0")),
        ("a \\\n= b;", "c", ("name0", "=", "name1", ";")),
        ("", "c", ()),
    ],
)  # fmt: skip
def test_tokens_of_a_kernel(text: str, language: str, tokens: tuple[str, ...]) -> None:
    assert tokens_of(text, language) == tokens


def test_names_in_directives_are_numbered_as_in_code() -> None:
    text = "for (i = 0; i < n; i++);\n#pragma omp parallel private({})\n"
    assert tokens_of(text.format("i"), "c") != tokens_of(text.format("n"), "c")
    swapped = text.format("n").replace("i =", "k =").replace("i <", "k <").replace("i++", "k++")
    assert tokens_of(swapped.replace("n", "i"), "c") == tokens_of(swapped, "c")


@pytest.mark.parametrize(
    ("handout", "text", "changed"),
    [("abc", "abc", 0), ("abc", "axc", 1), ("abc", "abcd", 1), ("abc", "", 0), ("abc", "cb", 1)],
)
def test_changed_tokens_are_those_that_the_handout_has_not(
    handout: str, text: str, changed: int
) -> None:
    assert changed_tokens(tuple(handout), tuple(text)) == changed


def test_many_of_the_same_token_are_compared_too() -> None:
    """As difflib would not, of 200 and more."""
    assert changed_tokens(("x",) * 300, ("x",) * 300) == 0
    assert changed_tokens(("x",) * 300, (*("x",) * 150, "y", *("x",) * 150)) == 1


def test_those_alike_are_by_lab_language_and_students() -> None:
    def one(student: str, lab: str, language: str, text: str = "t") -> Kernel:
        return Kernel(student, lab, language, (text,), ("h",))

    class_ = [
        one("zoe", "02", "c"), one("bob", "02", "c"), one("ada", "01", "fortran"),
        one("zoe", "01", "fortran"), one("bob", "01", "c", "s"), one("cy", "01", "c", "u"),
        one("ada", "01", "c", "v"), one("di", "01", "c", "v"),
    ]  # fmt: skip
    found = group_equal_kernels(class_, {("01", "c"): ("s",), ("01", "fortran"): ("x",)})
    assert [
        (one.lab, one.language, one.students, one.description, one.changed) for one in found
    ] == [
        ("01", "c", ("ada", "di"), "as each other", 1),
        ("01", "c", ("bob",), "as the public solution", 1),
        ("01", "fortran", ("ada", "zoe"), "as each other", 1),
        ("02", "c", ("bob", "zoe"), "as each other", 1),
    ]


def test_what_was_handed_in_last_is_compared(
    installation: Installation, labs: dict[str, Lab], tmp_path: Path
) -> None:
    """With the public solution, whatever was in its place before; starting code says nothing."""
    lab = "01_first_touch"
    course = CourseFolder(tmp_path)
    solution, handout = (
        (folder / "kernel.c").read_text()
        for folder in (installation.solution_folder(lab), installation.lab_folder(lab))
    )
    hand_ins = {}
    for student, texts in (("ada", (handout, solution)), ("bob", (solution, handout))):
        some = []
        for digest, text in zip(("d1", "d2"), texts, strict=True):
            folder = course.submission(student, lab, digest) / lab
            folder.mkdir(parents=True)
            (folder / "kernel.c").write_text(text)
            some.append(HandIn(digest, None, datetime(2027, 5, 1, tzinfo=UTC)))
        hand_ins[student, lab] = some
    hand_ins["cy", lab], hand_ins["ada", "99_gone"] = [], hand_ins["ada", lab]
    (one,) = compare_hand_ins(course, installation, labs, hand_ins)
    assert (one.lab, one.language, one.students, one.is_solution) == (lab, "c", ("ada",), True)
    assert one.changed > 0


def test_without_a_handout_everything_is_changed(labs: dict[str, Lab], tmp_path: Path) -> None:
    lab, course = "01_first_touch", CourseFolder(tmp_path / "course")
    hand_ins = {}
    for student in ("ada", "bob"):
        folder = course.submission(student, lab, "d1") / lab
        folder.mkdir(parents=True)
        (folder / "kernel.f90").write_text("end")
        hand_ins[student, lab] = [HandIn("d1", None, datetime(2027, 5, 1, tzinfo=UTC))]
    (one,) = compare_hand_ins(course, Installation(tmp_path / "kit"), labs, hand_ins)
    assert (one.language, one.students, one.changed) == ("fortran", ("ada", "bob"), 1)


def test_a_course_without_a_gradebook_is_left_alone(
    installation: Installation, tmp_path: Path
) -> None:
    with raises_text(UserError):
        find_equal_kernels(CourseFolder(tmp_path), installation)
    assert list(tmp_path.iterdir()) == []
