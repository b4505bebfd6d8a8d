"""A file system without locks, for programs that a test starts."""

from __future__ import annotations

import subprocess
from pathlib import Path


def no_locks(folder: Path, what: str = "") -> dict[str, str]:
    """Compile no_locks.c into a folder. Return the variables that have a program meet it. what: is
    missing alone: flock, posix or tmpfile; empty: all of them."""
    library = folder / "no_locks.so"
    source = Path(__file__).with_suffix(".c")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"], check=True)
    return {"LD_PRELOAD": str(library)} | ({"NO_LOCKS": what} if what else {})
