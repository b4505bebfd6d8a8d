"""Which lines of a kernel are called wrong, and other names for its counters."""

from __future__ import annotations

from numalab.diagnosing.lines import MOST_LINES, mistaken_lines, other_names, renamed

RIGHT = """
void compute(size_t n, float *restrict a,
             const float *restrict b)
{
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++) /* all */
        a[i] += b[i];
}
"""


def test_a_changed_line_is_told_and_not_how_lines_are_broken() -> None:
    wrong = RIGHT.replace("static", "dynamic").replace("restrict ", "").replace("a,\n", "a, ")
    assert mistaken_lines(wrong, RIGHT, ".c") == ("#pragma omp parallel for schedule(dynamic)",)


def test_what_is_left_out_has_no_line() -> None:
    wrong = RIGHT.replace("#pragma omp parallel for schedule(static)\n", "")
    assert mistaken_lines(wrong, RIGHT, ".c") == ()


def test_another_kernel_has_no_line() -> None:
    more = "".join(f"    a[{number}] = 1;\n" for number in range(MOST_LINES + 1))
    assert mistaken_lines(RIGHT.replace("{\n", "{\n" + more), RIGHT, ".c") == ()


def test_fortran_goes_on_behind_an_ampersand() -> None:
    right = "subroutine f(a, &\n     b)\n!$omp parallel do\ndo i = 1, n\nend do\n"
    wrong = "subroutine f(a, b)\n!$omp parallel do\ndo i = 0, n ! from 0\nend do\n"
    assert mistaken_lines(wrong, right, ".f90") == ("do i = 0, n",)


def test_counters_get_names_that_the_kernel_has_not() -> None:
    kernel = 'for (size_t i = 0; i < n; i++) { p[i] = q.i + max(i); printf("%i i"); }'
    names = other_names(kernel, "a draw")
    assert not {"p", "q"} & set(names.values())
    assert len(set(names.values())) == len(names) == 3
    i = names["i"]
    other = f"for (size_t {i} = 0; {i} < n; {i}++) {{ p[{i}] = q.i + max({i}"
    assert renamed(kernel, names).startswith(other)
    assert "%i" in renamed(kernel, names)


def test_a_declaration_is_told_only_where_it_is_wrong() -> None:
    """What is declared beside, or in other lines, follows from a change elsewhere."""
    right = "real(c_double) :: d, energy\n!$omp parallel do private(d)\ndo i = 1, n\nend do\n"
    wrong = (
        "real(c_double) :: d\nreal(c_double) :: energy, other\ninteger :: i\ndo i = 1, n\nend do\n"
    )
    assert mistaken_lines(wrong, right, ".f90") == ()
    single = right.replace("real(c_double)", "real(c_float)")
    assert mistaken_lines(single, right, ".f90") == ("real(c_float) :: d, energy",)
    c_right = "void f(void)\n{\n    double sum, x;\n    sum = x;\n}\n"
    assert mistaken_lines(c_right.replace("double", "float"), c_right, ".c") == ("float sum, x;",)
    split = c_right.replace("double sum, x;", "double sum;\n    double x;")
    assert mistaken_lines(split, c_right, ".c") == ()
