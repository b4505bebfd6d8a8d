"""Kinds of other load, each as programs beside what is measured. Not bound: they go where the
system puts them, and end with the program that started them."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from load import end_with, work_in_bursts

MEMORY_BYTES = 64 << 20  # larger than most last level caches have for a core


def _bursts() -> None:
    work_in_bursts(random.Random())


def _hog() -> None:
    while True:
        pass


def _nice_hog() -> None:
    os.nice(10)
    _hog()


def _memory() -> None:
    """Copies from one end of a large buffer to the other."""
    buffer = bytearray(MEMORY_BYTES)
    half = memoryview(buffer)[: MEMORY_BYTES // 2]
    while True:
        buffer[MEMORY_BYTES // 2 :] = half


def _short_processes() -> None:
    while True:
        subprocess.run(["/bin/true"], check=False)


# By name: what a process does, and how many there are.
LOADS: Mapping[str, tuple[Callable[[], None], int]] = {
    "quiet": (_hog, 0),
    "bursts": (_bursts, 1),
    "one_hog": (_hog, 1),
    "two_hogs": (_hog, 2),
    "nice_hogs": (_nice_hog, 2),
    "memory": (_memory, 1),
    "processes": (_short_processes, 2),
}


@contextlib.contextmanager
def other_load(name: str) -> Iterator[None]:
    """Runs one of LOADS."""
    _, count = LOADS[name]
    program = [sys.executable, str(Path(__file__).resolve()), name, str(os.getpid())]
    processes = [subprocess.Popen(program, stdin=subprocess.DEVNULL) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.wait()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends this
    end_with(int(sys.argv[2]))
    LOADS[sys.argv[1]][0]()
