"""Files that one process at a time may hold, wherever the file system lies."""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from numalab.errors import BusyError, UserError, reason_of
from numalab.files import read_text


@contextmanager
def held(path: Path, busy: Callable[[str], str]) -> Iterator[None]:
    """Keeps others out for as long as this process lives; the file says who it is. busy: what is
    said where another one has it, from who that is. Raises BusyError, and UserError where there can
    be no lock."""
    try:
        file = path.open("a+", encoding="utf-8")
    except OSError as error:
        raise UserError(f"can't write to {path.parent}: {reason_of(error)}") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BusyError(busy(read_text(path) or "another process")) from error
        except OSError as error:
            raise UserError(
                f"the file system of {path.parent} has no file locks ({error.strerror}), and two "
                "commands at once would spoil what lies there. Keep it on another one."
            ) from error
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}\n")
        file.flush()
        yield
