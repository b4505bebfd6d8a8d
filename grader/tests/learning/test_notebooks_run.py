"""Each notebook runs from top to bottom as it is handed out, on this node and one virtual one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from numalab.commands.notebook import jupyter_environment
from numalab.kit import Kit, find_kit
from numalab.labs.declaration import load_labs
from numalab.learning.notebook_files import kits_notebook, with_notebooks

KIT = find_kit("gnu")
START_LIMIT_S, CELL_LIMIT_S = 300, 900  # on a busy node
# Cells that draw on every node with two cores, though nobody has edited anything.
DRAWN = {
    "01_first_touch": {"this-node", "gallery", "touch-map", "threads", "virtual", "timing"},
    "02_affinity": {"this-node", "gallery", "threads-kmp-spread", "threads-omp-full"},
    "03_scheduling": {"this-node", "gallery", "work", "touch-map", "virtual", "timing-pair"},
    "04_huge_pages": {"this-node", "gallery", "memory", "timing"},
    "06_message_latency": {"this-node", "gallery", "ranks-near", "ranks-far", "messages"},
    "07_hybrid": {"this-node", "gallery", "ranks"},
}


def drawn(cell: Any) -> bool:
    return any("image/png" in output.get("data", {}) for output in cell.outputs)


def printed(cell: Any) -> str:
    return "".join(o.text for o in cell.outputs if o.output_type == "stream")


@pytest.mark.parametrize("lab", with_notebooks(KIT, load_labs(KIT.root)))
def test_a_notebook_runs_from_top_to_bottom(
    kit: Kit, lab: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key, value in jupyter_environment(kit, os.environ).items():
        monkeypatch.setenv(key, value)
    monkeypatch.setenv("NUMALAB_NOTEBOOKS", str(tmp_path / "notebooks"))
    monkeypatch.setenv("PYTHONPATH", str(kit.root / "grader" / "src"))
    own = sorted(kit.lab_folder(lab).iterdir())
    before = {path: path.read_bytes() for path in own if path.is_file()}
    notebook = nbformat.read(kits_notebook(kit, lab), 4)
    nbformat.validate(notebook)
    NotebookClient(
        notebook, timeout=CELL_LIMIT_S, startup_timeout=START_LIMIT_S, kernel_name="python3",
        resources={"metadata": {"path": str(tmp_path)}},
    ).execute()  # fmt: skip
    cells = {cell.id: cell for cell in notebook.cells if cell.cell_type == "code"}
    for name in DRAWN[lab]:
        assert drawn(cells[name]), f"{name}: {printed(cells[name])}"
    assert "points" in printed(cells["grade"])
    assert "predicted" in printed(cells["compare"])
    assert "No answer yet" in printed(cells[next(name for name in cells if "question" in name)])
    assert {path: path.read_bytes() for path in before} == before
    assert sorted(kit.lab_folder(lab).iterdir()) == own
