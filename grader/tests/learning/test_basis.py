"""Results say which texts they are of, and whether the files are still as they were."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure
from support import invented

from numalab.errors import Interrupted, NothingToDraw, NumalabError
from numalab.evidence.kinds import TRACE
from numalab.evidence.read_record import parse
from numalab.installation import Installation
from numalab.judging.judge import judge
from numalab.learning import api
from numalab.learning.api import LearnerLab, find_lab
from numalab.learning.basis import Basis, Text, calling, digest_of_file
from numalab.learning.crossing import Crossing
from numalab.learning.notebook import description, open_notebook
from numalab.learning.run import GradedRun, Run
from numalab.learning.sources import find_sources
from numalab.learning.sweep import Setting, Sweep

RECORD = invented.evidence(invented.ONE_NODE, writer=invented.master_writes)


def digits(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:8]


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    (tmp_path / "kernel.c").write_text("int x;\n")
    return tmp_path / "kernel.c"


def of_file(path: Path, *call: str) -> Basis:
    with calling(*(call or ("run", str(path)))) as basis:
        return replace(basis, texts={path.name: Text(digest_of_file(path), path)})


def run_of(installation: Installation, basis: Basis | None, label: str = "yours") -> Run:
    here, lab = parse(RECORD), find_lab("01", installation).declared
    seen = (("here", here),)
    return Run(installation, lab, label, "here", seen, judge(lab, here), (RECORD,), basis=basis)


RESULTS: dict[str, Callable[[Installation, Basis], Any]] = {
    "run": run_of,
    "grading": lambda installation, basis: GradedRun(
        **vars(run_of(installation, basis)), report_text="6 of 6 points"
    ),
    "sweep": lambda installation, basis: Sweep(
        find_lab("01", installation).declared,
        None,
        {Setting(1, None): (1.0, 2.0)},
        parse(RECORD),
        basis=basis,
    ),
    "ping-pong": lambda installation, basis: Crossing(
        50.0, "        0        364.5      0.000    0.0 %\n", "", basis=basis
    ),
}


def drawn(result: Any) -> str:
    return " ".join(description((getattr(result, "touch_map", None) or result.figure)()).split())


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_says_which_text_it_is_of(
    installation: Installation, kernel: Path, name: str
) -> None:
    """In words and in pictures, as long as the file is as it was, and after it was changed,
    removed, and put back."""
    result = RESULTS[name](installation, of_file(kernel, name, str(kernel)))
    then, before = digits(kernel), kernel.read_text()
    for said in (str(result), drawn(result)):
        assert f"Of kernel.c {then} as it is now, {result.basis.began_at}." in said
    kernel.write_text("int y;\n")
    now = digits(kernel)
    stale = (
        f"kernel.c changed since this {name} of {result.basis.began_at} ({then} then, {now} now)"
    )
    for said in (" ".join(str(result).split()), drawn(result)):
        assert f"Stale: {stale}." in said
        assert "as it is now" not in said
    assert max(map(len, result.noted("").splitlines())) <= 80
    kernel.unlink()
    assert result.stale.endswith(f"({then} then, missing now).")
    kernel.write_text(before)
    assert not result.stale and "as it is now" in str(result)
    assert "Of " not in str(replace(result, basis=None))


def test_a_picture_keeps_its_room_and_names_what_lies_beside(
    installation: Installation, kernel: Path
) -> None:
    mine = run_of(installation, of_file(kernel))
    bare = replace(mine, basis=None)
    figure = mine.touch_map()
    assert figure.get_figheight() > bare.touch_map().get_figheight()
    figure.draw_without_rendering()
    title, *axes = figure._suptitle, *figure.axes  # type: ignore[attr-defined]
    for one in axes:
        assert one.get_tightbbox().y1 <= title.get_window_extent().y0 + 1
    given = Basis(("run",), 0, "10:00:00", {"kernel.c": Text("a" * 64, None)})
    both = description(mine.touch_map(run_of(installation, given, "handout")))
    kernel.write_text("int y;\n")
    assert f"yours: Of kernel.c {mine.basis.texts['kernel.c'].digest[:8]} as it" in both  # type: ignore[union-attr]
    assert "handout: Of kernel.c aaaaaaaa, 10:00:00." in both
    assert "yours: Stale: " in description(mine.touch_map(run_of(installation, given, "handout")))
    blank = replace(mine, places=(("here", parse(RECORD).having(TRACE, [])),))
    with pytest.raises(NothingToDraw, match=r"no page was traced[^$]*Stale: kernel\.c changed"):
        blank.touch_map()


def test_what_is_compared_says_that_it_is_stale(
    installation: Installation,
    kernel: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("NUMALAB_NOTEBOOKS", str(kernel.parent))
    lab, mine = open_notebook("01"), run_of(installation, of_file(kernel))
    for text, times in (("int x;\n", 0), ("int y;\n", 1)):
        kernel.write_text(text)
        lab.compare(share=(mine, "touched_where_used"), speedup=(mine, "speedup"))
        assert capsys.readouterr().out.count("Stale: kernel.c changed") == times


def test_files_beside_the_kernel_count(kernel: Path) -> None:
    there, missing = kernel.with_name("omp_full.env"), kernel.with_name("omp_close.env")
    there.write_text("OMP_PLACES=cores\n")
    texts = {path.name: Text(digest_of_file(path), path) for path in (kernel, there, missing)}
    basis = Basis(("grading",), 0, "10:00:00", texts)
    assert basis.texts_note.endswith("and 1 file beside it as they are now, 10:00:00.")
    there.write_text("OMP_PLACES=threads\n")
    missing.write_text("OMP_PLACES=sockets\n")
    assert basis.stale.startswith("Stale: omp_full.env and omp_close.env changed since")
    assert "(omp_full.env " in basis.stale
    there.write_text("OMP_PLACES=cores\n")
    assert basis.stale.endswith(f"(missing then, {digits(missing)} now).")


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (KeyboardInterrupt(), "was interrupted"),
        (Interrupted(), "was interrupted"),
        (NumalabError(), "ended without a result"),
    ],
)
def test_an_earlier_result_is_told_from_that_of_a_later_call_that_has_none(
    installation: Installation, kernel: Path, error: BaseException, says: str
) -> None:
    call = ("grading", str(kernel), says)
    old, other = of_file(kernel, *call), of_file(kernel, "grading", "another")
    with pytest.raises(type(error)), calling(*call):
        raise error
    graded = GradedRun(**vars(run_of(installation, old)), report_text="6 of 6 points")
    for said in (str(graded), graded.report, drawn(graded)):
        assert f"{says}; this is the grading of {old.began_at}. " in " ".join(said.split()) + " "
        assert "Of kernel.c" in said
    assert not other.superseded and not of_file(kernel, *call).superseded


def test_calls_of_a_lab_know_what_they_try(
    installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text that was built, whatever an editor saves meanwhile; of a text that was given no
    file; and of an interrupted call the sentence."""
    monkeypatch.setenv("NUMALAB_NOTEBOOKS", str(tmp_path))
    lab = open_notebook("01")
    own = lab.folder / "kernel.c"
    own.write_text("int x\n")
    build = api.grade_kernel

    def saved_meanwhile(*args: Any, **how: Any) -> Any:
        own.write_text("int x =\n")
        return build(*args, **how)

    with monkeypatch.context() as patch:
        patch.setattr(api, "grade_kernel", saved_meanwhile)
        run = lab.run("c")
    assert run.basis is not None and run.basis.texts["kernel.c"].digest == digest_of_file(own)
    assert not run.stale
    given = lab.run("c", source="int y\n", label="other")
    own.write_text("int z\n")
    assert run.stale and run.stale in " ".join(str(run).split())
    assert not given.stale and "Of kernel.c" in str(given)
    assert given.placed_in(lab.folder).stale

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(LearnerLab, "_measure", interrupted)
    with pytest.raises(Interrupted):
        lab.run("c")
    assert f"was interrupted; this is the run of {run.basis.began_at}." in str(run)
    assert "interrupted" not in str(given)


def test_a_file_of_its_own_is_held_against_that_file(
    installation: Installation, tmp_path: Path
) -> None:
    path = tmp_path / "ada.c"
    path.write_bytes(b"int \xff;\r\n")
    lab = find_lab("01", installation)
    sources = find_sources(lab.declared, lab.folder, "c", path, None)
    with sources.laid_out() as tried:
        text = sources.texts(tried)["kernel.c"]
        assert (tried / "kernel.c").read_bytes() == path.read_bytes()
    assert text.path == path and not text.is_changed
    path.write_text("int x;\n")
    assert text.is_changed


def test_what_was_recorded_is_of_no_text(installation: Installation) -> None:
    run = find_lab("01", installation).on("hydra").recorded()
    assert run.notes == [] and isinstance(run.touch_map(), Figure)
