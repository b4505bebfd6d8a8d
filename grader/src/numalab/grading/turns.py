"""Gradings that share a node: one that takes times is alone on it, all else goes on side by side.

A grading holds a file locked (flock(2)), shared with the others, but alone while it takes times.
Who waits to be alone holds a second file, past which nobody begins: so its turn comes.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from numalab.errors import UserError, reason_of

VARIABLE = "NUMALAB_TURNS"  # the file's name, for each process of a node that takes part


@dataclass(frozen=True)
class Turns:
    """A grading's part in it. None: it shares its node with nobody."""

    file: IO[str] | None = None
    turnstile: IO[str] | None = None

    def _take(self, how: int) -> None:
        assert self.file is not None and self.turnstile is not None
        fcntl.flock(self.turnstile, fcntl.LOCK_EX)
        try:
            fcntl.flock(self.file, how)
        finally:
            fcntl.flock(self.turnstile, fcntl.LOCK_UN)

    @contextmanager
    def alone(self, progress: Callable[[str], None]) -> Iterator[None]:
        """Waits until nobody else is at work. progress: is told so. Where it ends by an
        exception, as when it is to stop, the rest is not waited for either."""
        if self.file is None:
            yield
            return
        progress("waiting until the others' gradings make room for its times")
        fcntl.flock(self.file, fcntl.LOCK_UN)
        self._take(fcntl.LOCK_EX)
        yield
        fcntl.flock(self.file, fcntl.LOCK_UN)
        self._take(fcntl.LOCK_SH)


NOBODY_ELSE = Turns()


@contextmanager
def taken(path: Path, alone: bool = False) -> Iterator[Turns]:
    """Waits for its turn. path: of the file that is locked. Raises OSError."""
    with path.open("a") as file, path.with_name(f"{path.name}.next").open("a") as turnstile:
        turns = Turns(file, turnstile)
        turns._take(fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        yield turns


@contextmanager
def shared_node() -> Iterator[Turns]:
    """Waits while somebody takes times. Raises UserError where the file can't be written."""
    name = os.environ.get(VARIABLE)
    if not name:
        yield NOBODY_ELSE
        return
    with ExitStack() as held:
        try:
            turns = held.enter_context(taken(Path(name)))
        except OSError as error:
            raise UserError(f"{VARIABLE}: can't write {name}: {reason_of(error)}") from error
        yield turns
