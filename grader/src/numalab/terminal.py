"""The terminal: its width, and a console that says the same wherever it is read."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

WIDTH = 80


def make_console(to_stderr: bool = False) -> Console:
    """At most 80 columns, whatever the terminal; no colour into files."""
    stream = sys.stderr if to_stderr else sys.stdout
    width = WIDTH
    if stream.isatty():
        width = min(WIDTH, os.get_terminal_size(stream.fileno()).columns or WIDTH)
    return Console(stderr=to_stderr, width=max(40, width), highlight=False, soft_wrap=False)


@contextmanager
def stripped(console: Console) -> Iterator[None]:
    """Takes the blanks off the line ends of what the block prints: tables are padded to the
    full width, and nobody wants that in a file."""
    with console.capture() as capture:
        yield
    console.file.write("\n".join(line.rstrip() for line in capture.get().split("\n")))
    console.file.flush()
