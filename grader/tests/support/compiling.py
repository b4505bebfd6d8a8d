"""How the kit compiles what was handed in."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

from numalab.installation import Installation


def command_for(installation: Installation, lab: str, source: Path, folder: Path) -> list[str]:
    """What compiles source as a hand-in of the language is, into folder. The kit is configured."""
    # Where no hand-in was built before, gfortran warns of its folder, which is searched for files.
    (installation.build / "submissions" / lab).mkdir(parents=True, exist_ok=True)
    language = "c" if source.suffix == ".c" else "fortran"
    worker = installation.worker(lab, language, "submission")
    asked = (
        "ninja",
        "-C",
        installation.build,
        "-t",
        "commands",
        worker.relative_to(installation.build),
    )
    told = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    compiles = [line for line in told.splitlines() if " -c " in line and "-kernel.dir/" in line]
    words = shlex.split(next(line for line in compiles if f"kernel{source.suffix}" in line))
    words[words.index("-c") + 1] = str(source)
    words[words.index("-o") + 1] = str(folder / "kernel.o")
    words = [f"-J{folder}" if word.startswith("-J") else word for word in words]
    return [word for word in words if word != "-fpreprocessed"]
