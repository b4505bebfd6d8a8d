"""A competing load: one process with one thread that wants a core 60 % of the time, in bursts,
such as another program of the node's user is. Not bound, so it goes where the system puts it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

BUSY_SHARE = 0.6
SHORTEST_S, LONGEST_S = 0.005, 0.2
_PR_SET_PDEATHSIG = 1


def bursts(generator: random.Random) -> Iterator[tuple[float, float]]:
    """Busy seconds and the idle seconds after them, again and again: a burst of random
    length, then idle until the share is reached."""
    while True:
        busy_s = generator.uniform(SHORTEST_S, LONGEST_S)
        yield busy_s, busy_s * (1 - BUSY_SHARE) / BUSY_SHARE


@contextlib.contextmanager
def competing_load(cell: str) -> Iterator[None]:
    """Runs the load in a loaded cell, and nothing in a quiet one. It ends with this process,
    however that ends."""
    if cell != "loaded":
        yield
        return
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__).resolve()), str(os.getpid())],
        stdin=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        process.kill()
        process.wait()


def end_with(parent: int) -> None:
    """Has the system end this process when its parent ends, which may just have happened."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit()


def work_in_bursts(generator: random.Random) -> None:
    for busy_s, idle_s in bursts(generator):
        until = time.monotonic() + busy_s
        while time.monotonic() < until:
            pass
        time.sleep(idle_s)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends this
    end_with(int(sys.argv[1]))
    work_in_bursts(random.Random())
