"""What cells of notebooks replace in a learner's folder, and what stays."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from numalab.errors import NumalabError, UserError
from numalab.grading import explanation
from numalab.installation import find_installation
from numalab.learning import cell_files
from numalab.learning.api import LearnerLab
from numalab.learning.cell_files import FILE, CellFile, Notebook
from numalab.learning.notebook import open_notebook

LAB = "01_first_touch"
GIVEN = "int x; /* Edit this. */\n"
SOLVED = "int x = 1;\n"
OWN = "explore.ipynb"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NUMALAB_NOTEBOOKS", str(tmp_path / "notebooks"))
    folder = tmp_path / "notebooks" / LAB
    folder.mkdir(parents=True)
    restart()
    return folder


def restart() -> None:
    """As a restarted kernel is: a process that has written nothing."""
    cell_files._written.clear()
    cell_files._notebooks.clear()


def cell_of(
    folder: Path, name: str = OWN, at: Path | None = None, file: str = "kernel.c"
) -> CellFile:
    """A cell of a notebook in the learner's folder, or elsewhere."""
    given = GIVEN if file == "kernel.c" else None
    return CellFile(folder / file, Notebook(at or folder, name), given, "%%kernel --replace")


def copies(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(folder.glob("*.kept-*"))}


def test_a_notebooks_own_cell_says_nothing(folder: Path) -> None:
    """Edited and run, run again, and both after a restart; the starting code at first."""
    cell_of(folder).begin()
    for text in (GIVEN, SOLVED, SOLVED, "int y;\n", GIVEN, "int z;\n"):
        assert cell_of(folder).write(text) is None
        assert (folder / "kernel.c").read_text() == text
    restart()
    before = (folder / "kernel.c").stat().st_mtime_ns
    assert cell_of(folder).write("int z;\n") is None
    assert (folder / "kernel.c").stat().st_mtime_ns == before
    restart()
    assert cell_of(folder).write(SOLVED) is None
    assert (folder / "kernel.c").read_text() == SOLVED and not copies(folder)
    (folder / "kernel.c").unlink()
    restart()
    assert cell_of(folder).write("int new;\n") is None


def test_what_an_editor_wrote_stays(folder: Path) -> None:
    for text in ("int edited;\n", GIVEN.replace("Edit this", "My notes"), ""):
        cell_of(folder).write(SOLVED, replace=True)
        (folder / "kernel.c").write_text(text)
        for _ in range(2):
            with pytest.raises(UserError, match="changed in an editor") as refused:
                cell_of(folder).write("int other;\n")
            assert (folder / "kernel.c").read_text() == text
            assert "nothing was run" in str(refused.value)
            assert "%%kernel --replace" in str(refused.value) and "%load" in str(refused.value)
            (name,) = (name for name, kept in copies(folder).items() if kept == text)
            assert name in str(refused.value)
    # The cell with the file's text goes on, whatever an editor did to its line ends.
    (folder / "kernel.c").write_bytes(b"int edited;\r\n\r\n")
    assert cell_of(folder).write("int edited;\n") is None
    assert cell_of(folder).write("int more;\n") is None
    assert list(copies(folder).values()) == [
        "int edited;\n",
        GIVEN.replace("Edit this", "My notes"),
        "",
    ]


@pytest.mark.parametrize("text", [GIVEN, GIVEN.replace("Edit", "To do: edit"), "int  x ;\n"])
def test_starting_code_replaces_only_what_its_own_process_wrote(folder: Path, text: str) -> None:
    """As the notebook in labs/ has it, or one's own that was not saved; comments do not matter."""
    cell_of(folder).write(SOLVED)
    given = cell_of(folder, at=folder.parents[2] / "labs" / LAB, name="")
    for cell in (given, cell_of(folder)):
        restart()
        with pytest.raises(UserError, match="this cell has the starting code"):
            cell.write(text)
        assert (folder / "kernel.c").read_text() == SOLVED
    assert cell_of(folder).write(SOLVED) is None
    assert cell_of(folder).write(text) is None, "its own text, in the same process"


def test_of_two_notebooks_neither_replaces_the_others_text(folder: Path) -> None:
    one, other = cell_of(folder), cell_of(folder, "Untitled.ipynb")
    elsewhere = cell_of(folder, at=folder.parent / "copies")
    one.write(SOLVED)
    for cell in (other, elsewhere):
        restart()
        with pytest.raises(UserError, match="another notebook's cell wrote it"):
            cell.write("int other;\n")
        assert cell.write(SOLVED) is None  # the same text is nobody's loss
    restart()
    assert one.write("int mine;\n") is None
    restart()
    copy = other.write("int other;\n", replace=True)
    assert copy is not None and copy.read_text() == "int mine;\n"
    restart()
    with pytest.raises(UserError, match="another notebook's"):
        one.write("int new;\n")


def test_a_notebook_without_a_name_leaves_a_copy(folder: Path) -> None:
    """nbconvert tells no name: of the same folder it may be the same notebook."""
    cell_of(folder).write(SOLVED)
    restart()
    copy = cell_of(folder, "").write("int converted;\n")
    assert copy is not None and copy.read_text() == SOLVED
    restart()
    copy = cell_of(folder).write("int mine;\n")
    assert copy is not None and copy.read_text() == "int converted;\n"


def test_starting_code_with_other_comments_is_no_work(folder: Path) -> None:
    """As the notebooks' cells of files have it; one's own notes in a cell are its own text."""
    notes = GIVEN.replace("Edit this", "My notes")
    for name, text in (("Untitled.ipynb", notes), (OWN, GIVEN), (OWN, notes), (OWN, SOLVED)):
        restart()
        assert cell_of(folder, name).write(text) is None
    assert not copies(folder)


def test_a_moved_folder_knows_its_notebook(folder: Path) -> None:
    cell_of(folder).write(SOLVED)
    moved = folder.parents[1] / "moved" / LAB
    shutil.copytree(folder, moved)
    restart()
    assert cell_of(moved).write("int new;\n") is None


def test_starting_code_of_an_older_kit_is_replaced(folder: Path) -> None:
    cell_of(folder).begin()
    newer = CellFile(folder / "kernel.c", Notebook(folder, OWN), "int newer;\n", "")
    assert newer.write("int newer;\n") is None
    assert not copies(folder)


@pytest.mark.parametrize(
    "store", ["{", "[]", '{"kernel.c": 3}', '{"kernel.c": {"explore.ipynb": 1}}', None]
)
def test_what_cant_be_told_stays(folder: Path, store: str | None) -> None:
    cell_of(folder).write(SOLVED)
    if store is None:
        (folder / FILE).unlink()
    else:
        (folder / FILE).write_text(store)
    assert cell_of(folder).write("int y;\n") is None, "this process knows what it wrote"
    (folder / FILE).write_text("{")
    restart()
    with pytest.raises(UserError, match="not what this cell wrote last"):
        cell_of(folder).write("int z;\n")
    assert cell_of(folder).write("int y;\n") is None
    restart()
    assert cell_of(folder).write("int z;\n") is None


def test_what_cant_be_written_is_told_and_stays(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An interrupted write, a full disk, a folder that may be read only."""

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    cell_of(folder).write(SOLVED)
    for name, says in (
        ("write_whole", "kernel.c can't be written"),
        ("write_json", f"{FILE} can't"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(cell_files, name, full)
            with pytest.raises(NumalabError, match=says):
                cell_of(folder).write(f"int {name};\n")
            restart()
            if name == "write_json":  # the file is there, and the same cell goes on
                assert cell_of(folder).write(f"int {name};\n") is None
    (folder / "kernel.c").write_text("int edited;\n")
    with monkeypatch.context() as patch:
        patch.setattr(cell_files, "_write_new", full)
        with pytest.raises(UserError, match="changed in an editor") as refused:
            cell_of(folder).write(SOLVED)
        assert "A copy" not in str(refused.value)
        with pytest.raises(NumalabError, match=r"no copy of .*kernel\.c can be kept"):
            cell_of(folder).write(SOLVED, replace=True)
    assert (folder / "kernel.c").read_text() == "int edited;\n"
    assert sorted(path.name for path in folder.iterdir()) == [FILE, "kernel.c"]


# ---- the cells -----------------------------------------------------------------------------


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: Path) -> Any:
    """Where nothing is built: a kernel cell's run is its text."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setattr(LearnerLab, "run", lambda *args, **_: _Ran(args[2]))
    monkeypatch.chdir(folder)
    monkeypatch.setenv("JPY_SESSION_NAME", f"{LAB}/{OWN}")
    config = Config()
    config.HistoryManager.enabled = False
    found: Any = InteractiveShell(config=config)
    found.run_line_magic("load_ext", "numalab")
    return found


class _Ran(str):
    records: tuple[object, ...] = ()
    is_recorded = True

    def placed_in(self, folder: Path) -> _Ran:
        assert (folder / "explore.ipynb").parent.is_dir()
        return self


def test_cells_of_each_kind_stop_where_a_file_was_written_elsewhere(
    shell: Any, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = {
        "kernel.c": f"%%kernel {LAB} c --into mine{{}}\n{SOLVED}",
        "kernel.f90": f"%%kernel {LAB} fortran --into mine{{}}\nend\n",
        explanation.FILE: f'open_notebook("{LAB}").explain("First touch."{{}})',
    }
    (folder.parent / "02_affinity").mkdir()
    cells["../02_affinity/omp_full.env"] = "%%labfile 02 omp_full.env{}\nOMP_PLACES=cores\n"
    for file, cell in cells.items():
        assert shell.run_cell(cell.format("")).success
        assert shell.user_ns.get("mine") == (cell.split("\n", 1)[1] if "mine" in cell else None)
        written = (folder / file).read_text()
        (folder / file).write_text("edited\n")
        shell.user_ns.pop("mine", None)
        capsys.readouterr()
        assert isinstance(shell.run_cell(cell.format("")).error_in_exec, UserError)
        said = "".join(capsys.readouterr())
        assert "numalab: " in said and "stays as it is" in said and "Traceback" not in said
        assert "mine" not in shell.user_ns
        assert (folder / file).read_text() == "edited\n"
        is_call = file == explanation.FILE
        line = "%%" + cell.format(" --replace").split("\n", 1)[0].lstrip("%")
        assert f"run it once as {'lab.explain(..., replace=True)' if is_call else line}." in said
        assert shell.run_cell(cell.format(", replace=True" if is_call else " --replace")).success
        said = capsys.readouterr().out
        name = Path(file).name
        assert f"What was in {name} is kept in {name}.kept-1 beside it." in said
        assert (folder / file).read_text() == written
        assert (folder / f"{file}.kept-1").read_text() == "edited\n"
        assert shell.run_cell(cell.format("")).success
        assert "kept-" not in capsys.readouterr().out
        shell.user_ns.pop("mine", None)


def test_a_notebook_as_it_was_given_leaves_a_solved_kernel_alone(
    shell: Any, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its own starting code, by nbconvert in the folder of the lab, and in one's own folder
    by a notebook that was not saved."""
    handout = open_notebook(LAB).handout("c")
    solved = handout.replace("{", "{ /* mine */ int solved = 1; (void)solved;", 1)
    for text in (handout, solved):
        assert shell.run_cell(f"%%kernel {LAB} c\n{text}").success
    monkeypatch.delenv("JPY_SESSION_NAME")
    for there in (find_installation("gnu").lab_folder(LAB), folder):
        restart()
        monkeypatch.chdir(there)
        open_notebook(LAB)
        capsys.readouterr()
        assert not shell.run_cell(f"%%kernel {LAB} c\n{handout}").success
        assert "this cell has the starting code" in "".join(capsys.readouterr())
        assert (folder / "kernel.c").read_text() == solved
    assert shell.run_cell(f"%%kernel {LAB} c\n{solved}").success
    kept = json.loads((folder / FILE).read_text())["kernel.c"]
    assert set(kept) == {"", "explore.ipynb", "?"}
    assert copies(folder) == {"kernel.c.kept-1": solved}
