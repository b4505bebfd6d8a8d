"""What compilers and linkers said, in the columns of a terminal."""

from __future__ import annotations

from itertools import pairwise

import pytest

from numalab.untrusted.listing import CUT, GOES_ON, listing

GCC = (
    "kernel.c:7:{column}: warning: implicit declaration of function 'sqrt'"
    " [-Wimplicit-function-declaration]\n"
    "    7 | {source}\n"
    "      | {mark}"
)


def gcc(source: str, mark: str = "^~~~") -> str:
    column = source.index("sqrt")
    return GCC.format(column=column + 1, source=source, mark=" " * column + mark)


def test_what_fits_is_as_it_was_said() -> None:
    said = "kernel.f90:3:2:\n    3 | x = y\n      | 1\nError: no\n  note"
    assert listing(said, 76) == said.splitlines()


@pytest.mark.parametrize("blanks", [0, 8, 57, 58, 60, 200])
def test_a_line_is_wrapped_however_far_right_it_begins(blanks: int) -> None:
    lines = listing(" " * blanks + "some words " * 12, 60)
    assert max(map(len, lines)) <= 60
    assert " ".join(lines).split() == ["some", "words"] * 12


@pytest.mark.parametrize("blanks", [0, 60, 90, 200])
def test_a_mark_stays_below_what_it_means(blanks: int) -> None:
    """Wherever in a line it is."""
    lines = listing(gcc("double e = 1; " + " " * blanks + "e += sqrt(e) + " + "1 + " * 60), 76)
    assert max(map(len, lines)) <= 76
    source, mark = next((above, below) for above, below in pairwise(lines) if "^" in below)
    assert source[mark.index("^") :].startswith("sqrt(e)")
    assert source.endswith(CUT) and source.startswith("    7 | ")
    assert lines[-1] == GOES_ON


def test_sentences_and_paths_are_wrapped() -> None:
    said = (
        "/usr/bin/ld: kernel.c.o: in function `pair_energy': kernel.c:22: undefined reference to "
        f"`{'long_' * 30}'"
    )
    lines = listing(said, 60)
    assert max(map(len, lines)) <= 60
    assert "".join(line.strip() for line in lines).replace(" ", "") == said.replace(" ", "")
    assert all(line.startswith("  ") for line in lines[1:])
    assert GOES_ON not in lines, "nothing is left out"
