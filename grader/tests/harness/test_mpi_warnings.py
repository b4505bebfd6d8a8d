"""Right calls of MPI compile without a warning, by the commands that a hand-in is compiled with."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

import pytest

from numalab.harness.build import compiler_output, configure
from numalab.kit import Kit

HERE = Path(__file__).parent
CALLS = sorted((HERE / "mpi_calls").iterdir())
HONEST = [HERE.parent / "hostile" / "honest" / "waitall_ignoring.c"]
LAB = "07_hybrid"


def command_for(kit: Kit, source: Path, folder: Path) -> list[str]:
    """Compiles source as a hand-in of the language is, into folder."""
    language = "c" if source.suffix == ".c" else "fortran"
    worker = kit.worker(LAB, language, "submission")
    asked = ("ninja", "-C", kit.build, "-t", "commands", worker.relative_to(kit.build))
    told = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    compiles = [line for line in told.splitlines() if " -c " in line and "-kernel.dir/" in line]
    words = shlex.split(next(line for line in compiles if f"kernel{source.suffix}" in line))
    words[words.index("-c") + 1] = str(source)
    words[words.index("-o") + 1] = str(folder / "kernel.o")
    return [word for word in words if word != "-fpreprocessed"]


@pytest.mark.builds
@pytest.mark.parametrize("source", [*CALLS, *HONEST], ids=lambda path: path.name)
def test_right_calls_are_not_warned_of(kit: Kit, source: Path, tmp_path: Path) -> None:
    configure(kit)
    if not json.loads((kit.build / "build.json").read_text())["mpi"]:
        pytest.skip("this build of the kit has no MPI")
    command = command_for(kit, source, tmp_path)
    done = subprocess.run(command, cwd=kit.build, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert compiler_output(done.stderr, {}) == ""


def test_a_wrong_argument_is_warned_of() -> None:
    """Of what has an interface, each stays."""
    said = (
        "kernel.f90:9:12:\n\n    9 |   call own(x)\n      |           1\n"
        "Warning: Type mismatch in argument 'n' at (1); passed REAL(8) to INTEGER(4)"
    )
    assert "Type mismatch in argument" in compiler_output(said, {})
