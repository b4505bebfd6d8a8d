"""The terminal: its encoding and width, and output whose layout is the same in files."""

from __future__ import annotations

import locale
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import TextIOWrapper

from rich.console import Console
from rich.table import Table

WIDTH = 80
MATRIX_COLUMNS = 8
# Stands for a blank at which no line may end; `stripped` turns it into one. (rich breaks lines at
# Unicode's own no-break spaces, too.)
_NO_BREAK = "\ue000"
_UNITS = re.compile(r"(?<=\d) (?=(?:%|us|ms|s|GB/s|MB/s|bytes|KiB|MiB|GiB)(?!\w))")


def show_what_the_terminal_can() -> None:
    """Have standard output and error written in the locale's encoding, with "?" for a character
    that the encoding lacks; in UTF-8 for the locale C."""
    encoding = locale.getencoding()
    if encoding == "ANSI_X3.4-1968":
        encoding = "utf-8"
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding=encoding, errors="replace")


def make_console(is_stderr: bool = False) -> Console:
    """Return a console of 40 to 80 columns, by the terminal's width; of 80 where it is no terminal.
    is_stderr: it writes to standard error."""
    stream = sys.stderr if is_stderr else sys.stdout
    width = WIDTH
    if stream.isatty():
        width = min(WIDTH, os.get_terminal_size(stream.fileno()).columns or WIDTH)
    return Console(stderr=is_stderr, width=max(40, width), highlight=False, soft_wrap=False)


def plain_table(gap: int = 2) -> Table:
    """Return a table without lines. gap: blanks between columns."""
    return Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style="bold")


def matrix_tables(cells: Mapping[tuple[int, int], str]) -> Iterator[Table]:
    """Yield a matrix of NUMA nodes as tables of at most MATRIX_COLUMNS columns. cells: texts by
    (row, column), for each row and each column."""
    columns = sorted({column for _, column in cells})
    for start in range(0, len(columns), MATRIX_COLUMNS):
        block = columns[start : start + MATRIX_COLUMNS]
        table = plain_table()
        for name in ("", *map(str, block)):
            table.add_column(name, justify="right", no_wrap=True)
        for row in sorted({row for row, _ in cells}):
            table.add_row(str(row), *(cells[row, column] for column in block))
        yield table


def kept_together(text: str) -> str:
    """Keep each number and its unit, if among _UNITS, on one line. The text has to be printed
    within `stripped`."""
    return _UNITS.sub(_NO_BREAK, text)


@contextmanager
def stripped(console: Console) -> Iterator[None]:
    """Strip blanks at the line ends of what the block prints (tables are padded to the full width),
    and turn what kept_together put in back into blanks. Nothing is printed before the block ends,
    or where it raises."""
    with console.capture() as capture:
        yield
    shown = capture.get().replace(_NO_BREAK, " ")
    console.file.write("\n".join(line.rstrip() for line in shown.split("\n")))
    console.file.flush()
