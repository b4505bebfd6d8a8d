"""Kernels that are no program's text, or have in them what no program has: told in one sentence."""

from __future__ import annotations

import base64
import subprocess
from pathlib import Path

import pytest
from support.compiling import command_for
from support.deliveries import put

from numalab.errors import NumalabError
from numalab.evidence.format import Build
from numalab.harness.build import _explain_oddity, _missing, compiler_output, configure
from numalab.harness.monitor import THIS_MACHINE
from numalab.installation import Installation
from numalab.labs.declaration import FILE_BYTES, Lab
from numalab.untrusted.text_kinds import kind_of_text

CODE = '#include "first_touch.h"\nvoid initialize(void) {}\n'
DOCUMENTS = {
    "a PDF document": b"%PDF-1.7\n%\xe2\xe3\n",
    "a PostScript document": b"%!PS-Adobe-3.0\n",
    "a rich text document (RTF)": b"{\\rtf1\\ansi ",
    "a web page (HTML)": b"\n<!DOCTYPE html><html><body><pre>",
    "an XML document": b'<?xml version="1.0"?>',
    "a Jupyter notebook": b'{"cells": [], "nbformat": 4}',
    "a diff, which says what to change,": b"--- a/kernel.c\n+++ b/kernel.c\n@@ -1 +1 @@\n",
    "a compiled program or object file": b"\x7fELF\x02\x01",
    "a ZIP archive": b"PK\x03\x04",
}
MARKED = {
    "has the marks of a merge that was not ended, first in line 1": (
        f"<<<<<<< HEAD\n{CODE}=======\n{CODE}>>>>>>> theirs\n"
    ),
    "has a code fence of Markdown in line 2": f"Here it is:\n```c\n{CODE}```\n",
    "has typographic quotes in line 1": CODE.replace('"', "\u201d"),
    "has blanks of a word processor in line 2": CODE.replace("void ", "void\u00a0"),
    "has the line ends of old Macs": CODE.replace("\n", "\r"),
    "has typographic dashes in line 3": CODE + "int x = 1 \u2013 1;\n",
    "has full-width characters in line 2": CODE.replace("{}", "\uff5b\uff5d"),
    "has a web page's &lt; or &quot; in line 1": CODE.replace('"', "&quot;"),
    "ends with DOS's mark of a file's end": CODE + "\x1a",
}


@pytest.mark.parametrize("what", DOCUMENTS)
def test_documents(what: str) -> None:
    kind = kind_of_text(DOCUMENTS[what] + CODE.encode())
    assert kind is not None
    assert not kind.is_text
    assert f"is {what}" in kind.why


def test_what_a_mail_carries() -> None:
    text = base64.encodebytes(CODE.encode() * 9)
    kind = kind_of_text(text)
    assert kind is not None
    assert not kind.is_text
    assert kind.why.startswith("is text in Base64, as mails carry files")


@pytest.mark.parametrize("head", [b"", b"#include", b"\n#", CODE.encode()])
@pytest.mark.parametrize("fill", [b"\n", b" ", b"A", b"A" * 70 + b"\n", b"&", b"/*", b"&lt;"])
def test_long_texts_are_looked_at_once(head: bytes, fill: bytes) -> None:
    """As long as a file may be: the suite would stand still."""
    kind_of_text(head + fill * (FILE_BYTES // len(fill)) + b"#")


@pytest.mark.parametrize("what", MARKED)
def test_what_no_program_has(what: str) -> None:
    kind = kind_of_text(MARKED[what].encode())
    assert kind is not None
    assert kind.is_text
    assert what in kind.why


@pytest.mark.parametrize(
    "blank", ["\u3000", "\u2028", "\u2029", "\x85", "\u2003", "\u200b", "\u00ad"]
)
def test_blanks_that_no_keyboard_has(blank: str) -> None:
    kind = kind_of_text(CODE.replace(" {", f"{blank}{{").encode())
    assert kind is not None
    assert "has blanks of a word processor in line 2" in kind.why


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le"])
def test_wide_texts(encoding: str) -> None:
    kind = kind_of_text(CODE.encode(encoding))
    assert kind is not None
    assert kind.why.startswith(f"is text in {encoding[:6].upper()}")


def test_programs_are_programs(installation: Installation) -> None:
    """All kernels of the kit, right ones and wrong ones; and what a comment or a text may have."""
    kernels = [
        path
        for suffix in ("c", "f90")
        for folder in ("labs", "solutions")
        for path in (installation.root / folder).rglob(f"*.{suffix}")
    ]
    assert len(kernels) > 100
    for path in kernels:
        assert kind_of_text(path.read_bytes()) is None, path
    for text in (
        "/* \u201cquotes\u201d and a\u00a0blank */\n" + CODE,
        "// --- a\n// +++ b\n" + CODE,
        "/*\n=======\n*/\n" + CODE,
        CODE.replace("\n", "\r\n"),
        "",
    ):
        assert kind_of_text(text.encode()) is None, text


def test_what_a_failed_build_says(tmp_path: Path) -> None:
    failed = Build("does_not_compile", "kernel.c does not compile.", "kernel.c:1: error: stray")
    file = tmp_path / "kernel.c"
    file.write_bytes(b"%PDF-1.7\n")
    told = _explain_oddity(failed, file)
    assert told.message.startswith("kernel.c is a PDF document and no program text; hand in")
    assert (told.status, told.output) == ("does_not_compile", "")
    file.write_text(MARKED["has typographic quotes in line 1"], encoding="utf-8")
    told = _explain_oddity(failed, file)
    assert told.message.startswith("kernel.c does not compile. It has typographic quotes in line 1")
    assert told.output == failed.output
    file.write_text("int x\n", encoding="utf-8")
    assert _explain_oddity(failed, file) == failed


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("kernel.cpp", "kernel.cpp is C++, which is not graded; kernels are C or Fortran"),
        ("kernel (1).c", "The folder has kernel (1).c: rename the kernel to kernel.c."),
        ("KERNEL.C", "The folder has KERNEL.C: rename the kernel to kernel.c."),
        ("kernel.ipynb", "kernel.ipynb is a notebook, which is not graded"),
    ],
)
def test_a_kernel_that_is_missing(
    installation: Installation, first_touch: Lab, tmp_path: Path, name: str, said: str
) -> None:
    put(tmp_path, {name: CODE.encode()})
    assert said in _missing(installation, first_touch, tmp_path, "c").message


def odd_but_right(installation: Installation) -> dict[str, bytes]:
    """Texts of right kernels as editors and languages of the world leave them."""
    solution = installation.solution_folder("01_first_touch")
    c, fortran = (solution / name for name in ("kernel.c", "kernel.f90"))
    in_c, in_fortran = c.read_bytes(), fortran.read_bytes()
    first = in_fortran.index(b"implicit none")
    comment = b"implicit none ! " + b"x" * 3000
    return {
        "cr.c": in_c.replace(b"\n", b"\r"),
        "mixed.c": in_c.replace(b"\n", b"\r\n", 5).replace(b"}\n", b"}\r"),
        "cp1252.c": "/* für Übung \u2013 größer */\n".encode("cp1252") + in_c,
        "bom.c": b"\xef\xbb\xbf" + in_c,
        "cr.f90": in_fortran.replace(b"\n", b"\r"),
        "bom.f90": b"\xef\xbb\xbf" + in_fortran,
        "tabs.f90": in_fortran.replace(b"  ", b"\t"),
        "long.f90": in_fortran[:first] + comment + in_fortran[first + len(b"implicit none") :],
        "cp1252.f90": "! für Übung \u2013 größer\n".encode("cp1252") + in_fortran,
    }


@pytest.mark.builds
def test_odd_texts_compile_without_a_word(installation: Installation, tmp_path: Path) -> None:
    configure(installation)
    for name, text in odd_but_right(installation).items():
        source = tmp_path / name
        source.write_bytes(text)
        command = command_for(installation, "01_first_touch", source, tmp_path)
        done = subprocess.run(command, cwd=installation.build, capture_output=True, text=True)
        assert (done.returncode, compiler_output(done.stderr, {})) == (0, ""), name


def test_a_program_that_can_not_be_started_is_numalabs_error(tmp_path: Path) -> None:
    with pytest.raises(NumalabError, match=r"/missing"):
        THIS_MACHINE.execute([str(tmp_path / "missing")], {})
