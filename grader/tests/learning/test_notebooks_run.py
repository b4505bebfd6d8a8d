"""Each notebook runs from top to bottom as it is handed out, on this node and one virtual one."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat
import pytest
from support.published_labs import published, row_of

from numalab.commands.notebook import jupyter_environment
from numalab.installation import Installation, find_installation
from numalab.labs.declaration import Lab, load_labs
from numalab.learning.notebook_files import METADATA, NAME, given_notebook, labs_with_notebook

pytestmark = [pytest.mark.builds, pytest.mark.boots]

KIT = find_installation("gnu")
START_LIMIT_S, CELL_LIMIT_S = 300, 900  # on a busy node
FILE = Path(__file__).name
# Cells that draw on every node with two cores, though nobody has edited anything.
FILES_OF_02 = ("kmp_spread", "kmp_close", "kmp_full", "omp_spread", "omp_close", "omp_full")
DRAWN = {
    "00_know_your_node": {"touch-map", "threads"},
    "01_first_touch": {"touch-map", "threads", "virtual", "timing", "sweep"},
    "02_affinity": {
        "sweep",
        "explore-figure",
        *(f"threads-{file.replace('_', '-')}" for file in FILES_OF_02),
    },
    "03_scheduling": {"work", "touch-map", "virtual", "sweep"},
    "04_huge_pages": {"memory"},
    "06_message_latency": {"ranks-near", "ranks-far", "messages"},
    "07_hybrid": {"ranks"},
    "05_memory_policy": {"virtual", "virtual-file"},
    "08_quiet_node": {"clocks", "times", "groups-look"},
    "09_interconnect": set(),
    "10_false_sharing": {"lines"},
}
# One of those on which the grading looks at what is given, whatever it is worth.
MACHINES = {"02_affinity": "nebula", "06_message_latency": "nebula", "07_hybrid": "westmere-ex"}
# Cells whose picture would be of a speed over the starting code's, which it still is.
NO_SPEED = {
    "03_scheduling": {"timing-pair", "timing-stream"},
    "04_huge_pages": {"timing"},
    "07_hybrid": {"timing"},
    "10_false_sharing": {"timing"},
}


def drawn(cell: Any) -> bool:
    return any("image/png" in output.get("data", {}) for output in cell.outputs)


def printed(cell: Any) -> str:
    return "".join(o.text for o in cell.outputs if o.output_type == "stream")


def execute(
    python: Path, notebook: Path, out: Path, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """By nbconvert, with the kernel that the notebook names. out: where the result goes, and where
    the command is called."""
    out.mkdir()
    return subprocess.run(
        [python, "-m", "nbconvert", "--to", "notebook", "--execute", "--output-dir", out,
         f"--ExecutePreprocessor.timeout={CELL_LIMIT_S}",
         f"--ExecutePreprocessor.startup_timeout={START_LIMIT_S}", notebook],
        cwd=out, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture
def environment(installation: Installation, tmp_path: Path) -> dict[str, str]:
    """Nothing in it says where the package lies."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    return jupyter_environment(installation, kept) | {
        "NUMALAB_NOTEBOOKS": str(tmp_path / "notebooks")
    }


# Most take half a minute or more: a quick one with kernels and times for every change.
USUAL = ("10_false_sharing",)
NOTEBOOKS = labs_with_notebook(KIT, load_labs(KIT.root))


@pytest.mark.parametrize(
    "lab",
    [pytest.param(lab, marks=[] if lab in USUAL else [pytest.mark.slow]) for lab in NOTEBOOKS],
)
def test_a_notebook_runs_from_top_to_bottom(
    installation: Installation, lab: str, tmp_path: Path, environment: dict[str, str]
) -> None:
    own = sorted(installation.lab_folder(lab).iterdir())
    before = {path: path.read_bytes() for path in own if path.is_file()}
    done = execute(
        Path(sys.executable), given_notebook(installation, lab), tmp_path / "out", environment
    )
    assert done.returncode == 0, done.stderr
    notebook = nbformat.read(tmp_path / "out" / NAME, 4)
    nbformat.validate(notebook)
    cells = {cell.id: cell for cell in notebook.cells if cell.cell_type == "code"}
    for name in DRAWN.get(lab, set()) | {"this-node", "gallery"}:
        assert drawn(cells[name]), f"{name}: {printed(cells[name])}"
    for name in NO_SPEED.get(lab, ()):
        assert not drawn(cells[name]) and "No picture: " in printed(cells[name]), name
    assert "points" in printed(cells["grade"])
    if lab in MACHINES:
        assert f"({MACHINES[lab]}, scaled down to" in printed(cells["grade"])
    told = printed(cells["compare"]).splitlines()
    rows = told[[line.split() for line in told].index(["predicted", "measured"]) + 1 :]
    assert rows and all(row.endswith("-          predict it first") for row in rows), told
    assert "Nothing said yet" in printed(cells["explain"])
    assert "No answer yet" in printed(cells[next(name for name in cells if "question" in name)])
    assert {path: path.read_bytes() for path in before} == before
    assert sorted(installation.lab_folder(lab).iterdir()) == own


def test_what_published_notebooks_draw_is_known(labs: dict[str, Lab]) -> None:
    for name in published(labs):
        assert name in DRAWN, row_of(name, "a row to DRAWN", f"grader/tests/learning/{FILE}")


def test_another_jupyter_finds_the_kits_kernel(
    installation: Installation, tmp_path: Path, environment: dict[str, str]
) -> None:
    """One that has the same packages, but neither the kit's kernel nor its package. Starting code
    in a notebook that it converts does not replace a learner's kernel."""
    venv.create(tmp_path / "other", symlinks=True)
    (packages,) = (tmp_path / "other" / "lib").glob("python3*/site-packages")
    for path in Path(nbformat.__file__).parents[1].iterdir():
        if "numalab" not in path.name:
            (packages / path.name).symlink_to(path)
    notebook = nbformat.v4.new_notebook(metadata=METADATA)
    source = "%load_ext numalab\nlab = open_notebook('01')\nimport sys\nprint(sys.prefix, lab.name)"
    notebook.cells.append(nbformat.v4.new_code_cell(source))
    own = tmp_path / "notebooks" / "01_first_touch" / "kernel.c"
    own.parent.mkdir(parents=True)
    own.write_text("int solved;\n")
    kernel = (
        "%%kernel 01 c\n" + (installation.lab_folder("01_first_touch") / "kernel.c").read_text()
    )
    stops = {"tags": ["raises-exception"]}
    notebook.cells.append(nbformat.v4.new_code_cell(kernel, metadata=stops))
    nbformat.write(notebook, tmp_path / NAME)
    other = tmp_path / "other" / "bin" / "python"
    done = execute(other, tmp_path / NAME, tmp_path / "without", environment)
    assert done.returncode != 0
    assert "No such kernel named numalab" in done.stderr
    seen = environment | {"JUPYTER_PATH": str(Path(sys.prefix) / "share" / "jupyter")}
    done = execute(other, tmp_path / NAME, tmp_path / "with", seen)
    assert done.returncode == 0, done.stderr
    cell, stopped = nbformat.read(tmp_path / "with" / NAME, 4).cells
    assert printed(cell).split() == [sys.prefix, "01_first_touch"]
    assert own.read_text() == "int solved;\n"
    assert own.with_name("kernel.c.kept-1").read_text() == "int solved;\n"
    said = "".join("".join(o.get("traceback", [])) for o in stopped.outputs)
    assert "kernel.c stays as it is" in said and "%%kernel 01 c --replace" in said
