"""How the kit compiles what was handed in."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

from numalab.kit import Kit


def command_for(kit: Kit, lab: str, source: Path, folder: Path) -> list[str]:
    """What compiles source as a hand-in of the language is, into folder. The kit is configured."""
    # Where no hand-in was built before, gfortran warns of its folder, which is searched for files.
    (kit.build / "submissions" / lab).mkdir(parents=True, exist_ok=True)
    language = "c" if source.suffix == ".c" else "fortran"
    worker = kit.worker(lab, language, "submission")
    asked = ("ninja", "-C", kit.build, "-t", "commands", worker.relative_to(kit.build))
    told = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    compiles = [line for line in told.splitlines() if " -c " in line and "-kernel.dir/" in line]
    words = shlex.split(next(line for line in compiles if f"kernel{source.suffix}" in line))
    words[words.index("-c") + 1] = str(source)
    words[words.index("-o") + 1] = str(folder / "kernel.o")
    words = [f"-J{folder}" if word.startswith("-J") else word for word in words]
    return [word for word in words if word != "-fpreprocessed"]
