"""Right calls of MPI compile without a warning, by the commands that a hand-in is compiled with."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from support.compiling import command_for

from numalab.harness.build import compiler_output, configure
from numalab.installation import Installation

HERE = Path(__file__).parent
CALLS = sorted((HERE / "mpi_calls").iterdir())
HONEST = [HERE.parent / "hostile" / "honest" / "waitall_ignoring.c"]
LAB = "07_hybrid"


@pytest.mark.builds
@pytest.mark.parametrize("source", [*CALLS, *HONEST], ids=lambda path: path.name)
def test_right_calls_are_not_warned_of(
    installation: Installation, source: Path, tmp_path: Path
) -> None:
    configure(installation)
    if not json.loads((installation.build / "build.json").read_text())["mpi"]:
        pytest.skip("this build of the kit has no MPI")
    command = command_for(installation, LAB, source, tmp_path)
    done = subprocess.run(command, cwd=installation.build, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert compiler_output(done.stderr, {}) == ""


def test_a_wrong_argument_is_warned_of() -> None:
    """Of what has an interface, each stays."""
    said = (
        "kernel.f90:9:12:\n\n    9 |   call own(x)\n      |           1\n"
        "Warning: Type mismatch in argument 'n' at (1); passed REAL(8) to INTEGER(4)"
    )
    assert "Type mismatch in argument" in compiler_output(said, {})
