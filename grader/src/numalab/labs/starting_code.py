"""Recognise a lab's starting code by digests, which don't count comments and blanks, and read which
criteria earn points only together with another one. Pure functions."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from numalab.labs.code_tokens import c_tokens, decode_source, fortran_tokens
from numalab.toml_files.tables import Table

EARNS_WITH, STARTING_CODE = "earns_with", "starting_code"

_LINES = re.compile(r"#[^\n]*")


def code_of(name: str, content: bytes) -> str:
    """Return the text of a file without comments and blanks. The suffix of `name` tells the
    language: C (.c) or Fortran (.f90; the text is in lower case). Of a notebook (.ipynb) it is the
    text of the cells, without outputs but with comments; in other files, a # and what follows in
    its line are left out."""
    text = decode_source(content)
    suffix = Path(name).suffix
    if suffix == ".c":
        text = "".join(c_tokens(text))
    elif suffix == ".f90":
        text = "".join(fortran_tokens(text)).lower()
    elif suffix == ".ipynb":
        text = _cells(text)
    else:
        text = _LINES.sub("", text)
    return "".join(text.split())


def _cells(text: str) -> str:
    """Return the text of a notebook's cells; the whole text where it is no notebook."""
    try:
        sources = [cell["source"] for cell in json.loads(text)["cells"]]
        return "".join("".join(source) for source in sources)
    except (ValueError, RecursionError, LookupError, TypeError):
        return text


def digest_of(name: str, content: bytes) -> str:
    """Return the digest of a file, as lab.toml has those of starting code: the first 32 digits of
    the SHA-256 of code_of()."""
    return hashlib.sha256(code_of(name, content).encode()).hexdigest()[:32]


def read_digests(table: Table) -> dict[str, Sequence[str]]:
    """Return [starting_code] of a lab.toml: the digests of each file, in the order in which they
    are written. Raises the table's error for what is no digest."""
    found: dict[str, Sequence[str]] = {}
    for name, value in table.values.items():
        found[name] = table.texts(name) if isinstance(value, list) else (table.text(name),)
        if not found[name] or not all(re.fullmatch(r"[0-9a-f]{32}", one) for one in found[name]):
            table.fail("a digest has 32 hexadecimal digits", name)
    return found


def read_earnings(names: Sequence[str], tables: Sequence[Table]) -> dict[str, str]:
    """Return for each criterion that earns points only if another one passes the name of that one.
    names: of all criteria, in the order of their tables. Raises the tables' error where that is no
    other criterion, or is in the result itself."""
    found: dict[str, str] = {}
    for name, table in zip(names, tables, strict=True):
        if EARNS_WITH in table:
            found[name] = table.choice(EARNS_WITH, [other for other in names if other != name])
    for name, needed in found.items():
        if needed in found:
            table = tables[names.index(name)]
            table.fail(f"{needed} earns with {found[needed]} itself; name that one", EARNS_WITH)
    return found


def is_unchanged(
    files: Mapping[str, bytes], digests: Mapping[str, Sequence[str]], kernel: str
) -> bool:
    """Tell whether the kernel is among the files, and each file has one of its digests. files:
    contents by name; digests: what read_digests returns; kernel: the kernel's file name."""
    return kernel in files and all(
        digest_of(name, content) in digests.get(name, ()) for name, content in files.items()
    )


def is_of_earlier_release(name: str, content: bytes, digests: Sequence[str]) -> bool:
    """Tell whether a file has a digest of an earlier release. digests: those of the file, this
    release's first."""
    return digest_of(name, content) in digests[1:]
