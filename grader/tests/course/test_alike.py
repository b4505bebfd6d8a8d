"""Kernels that say the same, whatever names and blanks they have; and what is kept of whom."""

from __future__ import annotations

import pytest
from support.commands import numalab_command

from numalab.course.alike import Kernel, alike, changed_tokens, tokens_of
from numalab.course.privacy import paragraph

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
    found = alike(class_, {("01_first_touch", "c"): tokens_of(SOLUTION, "c")})
    assert [(one.students, one.is_solution, one.changed) for one in found] == [
        (("ada", "bob"), True, 9),
        (("eve", "flo"), False, 9),
    ]
    assert changed_tokens(tokens_of(HANDOUT, "c"), tokens_of(HANDOUT, "c")) == 0


def test_what_is_kept_of_a_person(kit, tmp_path):
    (tmp_path / "course.toml").write_text('title = "Parallel 1"\n')
    done = numalab_command(
        kit, "gradebook", "privacy", str(tmp_path), "--until", "2027-10-01", "--contact", "me@x.org"
    )
    assert done.code == 0
    text = " ".join(done.out.split())
    assert text == " ".join(paragraph("Parallel 1", "2027-10-01", "me@x.org").split())
    assert text.startswith("In the course Parallel 1 your hand-ins")
    assert text.endswith("It is kept until 2027-10-01. Questions, and wishes to see or correct "
                         "what is kept of you: me@x.org.")  # fmt: skip
    assert max(map(len, done.out.splitlines())) <= 80
    assert "until the instructors remove" in paragraph("", None, None)
    text = 'title = "Parallel 1"\nkept_until = 2027-10-02\ncontact = "you@x.org"\n'
    (tmp_path / "course.toml").write_text(text)
    told = numalab_command(kit, "gradebook", "privacy", str(tmp_path)).out
    assert told.split() == paragraph("Parallel 1", "2027-10-02", "you@x.org").split()
    other = numalab_command(kit, "gradebook", "privacy", str(tmp_path), "--until", "2028").out
    assert "until 2028." in " ".join(other.split())
