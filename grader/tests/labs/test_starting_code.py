"""Starting code: how it is told, and what earns with what."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence

import pytest

from numalab.errors import NumalabError
from numalab.installation import Installation
from numalab.labs.declaration import KERNEL_FILES, Lab
from numalab.labs.kernel_names import NOTEBOOK
from numalab.labs.starting_code import (
    code_of,
    digest_of,
    is_of_earlier_release,
    is_unchanged,
    read_digests,
    read_earnings,
)
from numalab.toml_files.tables import Table, parse_table

C = b"""/* Lab. */
#include "first_touch.h"
void f(double *a) { a[0] = 1; } // one
const char *text = "/* no comment */ // nor this";
"""
FORTRAN = b"""! Lab
module m
!$omp parallel do
  x = a + & ! goes on
      b
  print *, "! no comment"
end module
"""


@pytest.mark.parametrize(
    ("name", "given", "other"),
    [
        ("kernel.c", C, C.replace(b"\n", b"\r\n")),
        ("kernel.c", C, b"\xef\xbb\xbf" + C),
        ("kernel.c", C, C.replace(b"/* Lab. */", b"/* Ada,\n 12 */")),
        ("kernel.c", C, C.replace(b"// one", b"")),
        ("kernel.c", C, C.replace(b"a[0] = 1", b"a[ 0 ]\n\t=  1")),
        ("kernel.f90", FORTRAN, FORTRAN.upper().replace(b"! LAB", b"")),
        ("kernel.f90", FORTRAN, FORTRAN.replace(b"& ! goes on\n      b", b"b")),
        ("policy.env", b"A=1 # one\n", b"\n# two\nA=1\n"),
    ],
)
def test_comments_and_blanks_change_no_code(name: str, given: bytes, other: bytes) -> None:
    assert digest_of(name, given) == digest_of(name, other)


@pytest.mark.parametrize(
    ("name", "given", "other"),
    [
        ("kernel.c", C, C.replace(b"= 1", b"= 2")),
        ("kernel.c", C, C.replace(b"no comment", b"no word")),
        ("kernel.c", C, C.replace(b'"first', b'"//first')),
        ("kernel.f90", FORTRAN, FORTRAN.replace(b"!$omp", b"!omp")),
        ("kernel.f90", FORTRAN, FORTRAN.replace(b"no comment", b"a word")),
        ("policy.env", b"A=1\n", b"A=2\n"),
    ],
)
def test_what_is_read_is_code(name: str, given: bytes, other: bytes) -> None:
    assert digest_of(name, given) != digest_of(name, other)


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("kernel.c", 'A/*x*/ = \'"\' // "\n+ \\\n"/* */"', 'A=\'"\'+"/**/"'),
        ("kernel.f90", "A = '!x' ! y\n!$omp do\n+ &\n  & B", "a='!x'!$ompdo+b"),
        ("a.toml", "a = 1 # b\r# c\n // d", "a=1//d"),
    ],
)
def test_what_is_left_of_a_text(name: str, text: str, code: str) -> None:
    assert code_of(name, text.encode()) == code
    assert len(digest_of(name, text.encode())) == 32


def tables(*earns_with: str) -> list[Table]:
    """Of criteria a, b, c; empty: they earn alone."""
    text = "".join(
        f'[[criterion]]\nearns_with = "{other}"\n' if other else "[[criterion]]\n"
        for other in earns_with
    )
    return parse_table(text, "lab.toml", NumalabError, ("criterion",)).tables("criterion", None)


def test_what_earns_with_another_criterion() -> None:
    assert read_earnings("abc", tables("c", "c", "")) == {"a": "c", "b": "c"}
    assert read_earnings("abc", tables("", "", "")) == {}
    with pytest.raises(NumalabError, match="It can be: a, c"):
        read_earnings("abc", tables("", "b", ""))
    with pytest.raises(NumalabError, match=r"lab\.toml:2: b earns with c itself; name that one"):
        read_earnings("abc", tables("b", "c", ""))


def test_digests_have_32_digits() -> None:
    def read(value: object) -> dict[str, Sequence[str]]:
        return read_digests(parse_table(f"a = {value!r}\n", "lab.toml", NumalabError, None))

    now, earlier = "0f" * 16, "1e" * 16
    assert read(now) == {"a": (now,)}
    assert read([now, earlier]) == {"a": (now, earlier)}
    for wrong in ("0f" * 15, "0f" * 16 + "0", "0F" * 16):
        for value in (wrong, [now, wrong], []):
            with pytest.raises(NumalabError, match="32 hexadecimal digits"):
                read(value)


def test_a_comment_that_does_not_end_is_no_hang() -> None:
    assert code_of("kernel.c", b"/* " * 100_000) == ""
    assert len(code_of("kernel.c", b'"\\' * 100_000)) > 0


def test_all_that_is_handed_in_decides() -> None:
    digests = {"kernel.c": (digest_of("kernel.c", C),), "a.env": (digest_of("a.env", b"A=1"),)}
    assert is_unchanged({"kernel.c": C}, digests, "kernel.c")
    assert is_unchanged({"kernel.c": C, "a.env": b"A = 1 # mine"}, digests, "kernel.c")
    assert not is_unchanged({"kernel.c": C, "a.env": b"A=2"}, digests, "kernel.c")
    assert not is_unchanged({"a.env": b"A=1"}, digests, "kernel.c")
    assert not is_unchanged({"kernel.f90": FORTRAN}, digests, "kernel.f90")


def test_starting_code_of_an_earlier_release_is_starting_code() -> None:
    now, earlier, own = b"int n = 1;", b"int n = 2; // ours", b"int n = 3;"
    digests = {"kernel.c": [digest_of("kernel.c", content) for content in (now, earlier)]}
    for content, is_starting, is_earlier in (
        (now, True, False), (b"int n = 2;", True, True), (own, False, False),
    ):  # fmt: skip
        assert is_unchanged({"kernel.c": content}, digests, "kernel.c") is is_starting
        found = is_of_earlier_release("kernel.c", content, digests["kernel.c"])
        assert found is is_earlier, content
    assert not is_of_earlier_release("kernel.c", own, ())


def test_a_notebook_says_what_its_cells_say() -> None:
    def notebook(source: object, outputs: object) -> bytes:
        return json.dumps({"cells": [{"source": source, "outputs": outputs}]}).encode()

    given = digest_of(NOTEBOOK, notebook(["# a\n", "b"], []))
    assert digest_of(NOTEBOOK, notebook("# a\nb", [1])) == given
    assert digest_of(NOTEBOOK, notebook("# c\nb", [])) != given
    for content in (b"no notebook", b"[" * 100_000, b'{"cells": [1]}', b"{}"):
        assert digest_of(NOTEBOOK, content)


def test_each_lab_keeps_the_digests_of_its_starting_code(
    installation: Installation, labs: dict[str, Lab]
) -> None:
    for lab in labs.values():
        folder = installation.root / "labs" / lab.name
        files = [*(KERNEL_FILES[language] for language in lab.languages)]
        files += [file.name for file in lab.files]
        there = {name for name in files if (folder / name).is_file()}
        now = {name: digest_of(name, (folder / name).read_bytes()) for name in sorted(there)}
        assert {name: first for name, (first, *_) in lab.starting_code.items()} == now, (
            f"write these into [starting_code] of {folder}/grading/lab.toml"
        )


def test_solutions_are_no_starting_code(installation: Installation, labs: dict[str, Lab]) -> None:
    """Of this release or an earlier one; nor does an earlier one's digest make any kept mistake
    starting code that it else is not."""
    for lab in labs.values():
        for name, digests in lab.starting_code.items():
            assert len({*digests}) == len(digests), f"{lab.name}: {name}"
            solved = (installation.solution_folder(lab.name) / name).read_bytes()
            assert digest_of(name, solved) not in digests, f"{lab.name}: {name}"
        of_this = {name: digests[:1] for name, digests in lab.starting_code.items()}
        for folder in {
            path.parent for path in installation.solution_folder(lab.name).glob("wrong/**/*")
        }:
            files = {name: (folder / name).read_bytes() for name in lab.starting_code
                     if (folder / name).is_file()}  # fmt: skip
            for kernel in KERNEL_FILES.values():
                now = is_unchanged(files, of_this, kernel)
                assert is_unchanged(files, lab.starting_code, kernel) is now, folder


def test_what_a_release_gave_is_known_in_later_ones(
    installation: Installation, labs: dict[str, Lab]
) -> None:
    """As far as this clone has tags; what a lab had no digest of then was not handed in."""

    def git(*words: str) -> str:
        command = ["git", "-C", str(installation.root), *words]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout

    for tag in git("tag", "--list", "v*", "--merged").split():
        for lab in labs.values():
            for name, digests in lab.starting_code.items():
                given = git("show", f"{tag}:labs/{lab.name}/{name}")
                digest = digest_of(name, given.encode())
                assert not given or digest in digests, (
                    f"put {digest}, of {tag}, behind the first of {name} in lab.toml of {lab.name}"
                )


def test_what_starting_code_passes_earns_beside_what_it_fails(labs: dict[str, Lab]) -> None:
    """Of a kernel criterion that it passes everywhere the points come with one that it fails: a
    kernel whose names alone were changed earns no more than a fifth."""
    for lab in labs.values():
        by_name = {criterion.name: criterion for criterion in lab.criteria}
        passed = [c for c in lab.criteria if c.handout_fails_from is None and c.kind != "timing"]
        free = sum(c.points for c in passed if c.name not in lab.earns_with)
        assert free <= lab.max_points / 5, lab.name
        for needed in lab.earns_with.values():
            assert by_name[needed].name not in lab.earns_with
