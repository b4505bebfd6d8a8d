"""Tables as comma separated values (RFC 4180), as spreadsheets and gradebooks read them."""

from __future__ import annotations

import contextlib
import csv
import io
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from numalab.errors import UserError
from numalab.files import NotPlain, partial_path, read_plain
from numalab.untrusted.visible import visible_lines

BOM = "\ufeff"
PRIVATE = 0o600  # the mode of a file that identifies people
MOST_BYTES = 64 * 2**20  # of a table that is read
# How formulas begin; the wide characters are for spreadsheets in East Asian languages.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def escape_formula(text: str) -> str:
    """Return a text as a cell: what begins like a formula gets an apostrophe before it
    (https://owasp.org/www-community/attacks/CSV_Injection), and lines are as visible_lines has
    them."""
    text = visible_lines(text)
    return f"'{text}" if text.lstrip(" \n").startswith(_FORMULA) else text


@dataclass(frozen=True)
class CsvTable:
    """A file's cells, titles included, and the format to write them in; quotes are set anew."""

    rows: Sequence[Sequence[str]]
    delimiter: str = ","
    line_end: str = "\r\n"
    has_bom: bool = False

    def text(self) -> str:
        file = io.StringIO(newline="")
        writer = csv.writer(file, delimiter=self.delimiter, lineterminator=self.line_end)
        writer.writerows(self.rows)
        return (BOM if self.has_bom else "") + file.getvalue()

    def replace_rows(self, rows: Sequence[Sequence[str]]) -> CsvTable:
        return replace(self, rows=rows)


def format_table(header: Sequence[str], rows: Iterable[Sequence[str]], has_bom: bool) -> str:
    return CsvTable([header, *rows], has_bom=has_bom).text()


def read_table(path: Path) -> CsvTable:
    """Read a table in UTF-8 that has at least one row; rows may differ in length. The delimiter is
    the most frequent of comma, semicolon and tab in the first line. Raises UserError if the file
    can't be read, or is no such table."""
    try:
        text = read_plain(path, MOST_BYTES, follow_links=True).decode("utf-8")
    except FileNotFoundError as error:
        raise UserError(f"can't read {path}: there is no such file") from error
    except NotPlain as error:
        raise UserError(f"{path} {error}: is it the right file?") from error
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path} is not UTF-8. Export it once more, and don't save it with a spreadsheet in "
            "between."
        ) from error
    has_bom, text = text.startswith(BOM), text.removeprefix(BOM)
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    line_end = "\r\n" if first.endswith("\r") else "\n"
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise UserError(f"{path} is not a table of comma separated values: {error}") from error
    if not rows:
        raise UserError(f"{path} is empty")
    return CsvTable(rows, delimiter, line_end, has_bom)


def write_private(path: Path, text: str) -> None:
    """Write a file as a whole, which only its owner can read (PRIVATE), and replace one that is
    there."""
    partial = partial_path(path)
    with contextlib.suppress(FileNotFoundError):
        partial.unlink()
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE)
    with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
        file.write(text)
    partial.replace(path)
