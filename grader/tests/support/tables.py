"""Tables of rich, cell by cell and as they are printed."""

from __future__ import annotations

import io
from collections.abc import Callable
from itertools import pairwise

from rich.console import Console
from rich.table import Table


def rows(table: Table) -> list[list[str]]:
    """Heads, then each row."""
    columns = [[str(column.header), *map(str, column.cells)] for column in table.columns]
    return [[*row] for row in zip(*columns, strict=True)]


def printed(table: Table) -> list[str]:
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(table)
    return console.export_text().splitlines()


def paragraphs(show: Callable[[Console], None]) -> list[str]:
    """The first lines of what stands between blank lines."""
    console = Console(width=80, record=True, file=io.StringIO())
    show(console)
    lines = ["", *(line.rstrip() for line in console.export_text().splitlines())]
    return [line for before, line in pairwise(lines) if line and not before]


def laid_out(table: Table) -> list[str]:
    """Columns two spaces apart, none before the first and behind the last one, and no line between
    rows."""
    lines = [[cell.replace("\\[", "[") for cell in row] for row in rows(table)]
    widths = [max(len(row[column]) for row in lines) for column in range(len(lines[0]))]
    return [
        "  ".join(
            f"{cell:{'>' if column.justify == 'right' else '<'}{width}}"
            for cell, width, column in zip(row, widths, table.columns, strict=True)
        )
        for row in lines
    ]


def kinds_of_columns(table: Table) -> str:
    """A letter for each column, r: right, n: not wrapped, b: both, -: neither."""
    letters = {(True, False): "r", (False, True): "n", (True, True): "b", (False, False): "-"}
    return "".join(letters[one.justify == "right", one.no_wrap] for one in table.columns)
