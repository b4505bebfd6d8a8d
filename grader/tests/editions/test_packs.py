"""A student's edition grades a variant that staff have packed."""

from __future__ import annotations

import shutil
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from numalab.editions.search import plain_lines
from numalab.editions.write import pack_variant, write_edition
from numalab.errors import NumalabError, UserError
from numalab.grading import variant_installations
from numalab.grading.grade import grade
from numalab.grading.kernel_grading import Grading
from numalab.grading.variant_installations import (
    load_variant,
    make_variant,
    pack_path,
    the_lab,
    unpack_variant,
    write_own_files,
)
from numalab.harness.build import build_targets, configure
from numalab.harness.monitor import describe_node
from numalab.installation import EDITION, Installation
from numalab.judging.effort import effort_for
from numalab.labs.declaration import KERNEL_FILES, load_labs
from numalab.labs.seeds import Seed

LAB = "01_first_touch"
VARIANT = f"{LAB}_variant"
SEED = Seed(17, "ada")


def silent(step: str) -> None:
    del step


@pytest.fixture
def edition(installation: Installation, tmp_path: Path) -> Installation:
    """As far as it is asked whether it is one."""
    root = tmp_path / "edition"
    shutil.copytree(installation.root / "labs" / LAB, root / "labs" / LAB)
    (root / EDITION).write_text("{}")
    return Installation(root, installation.preset, tmp_path / "builds")


def packed(path: Path, names: list[str], compression: int = zipfile.ZIP_STORED) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", compression) as pack:
        for name in names:
            pack.writestr(name, "x")


def test_a_pack_that_is_missing_or_another_is_told(edition: Installation) -> None:
    folder = edition.variants_root / VARIANT
    folder.mkdir(parents=True)
    (folder / variant_installations.TICKET).write_text(variant_installations.ticket_text(LAB, SEED))
    with pytest.raises(UserError, match="makes no variants"):
        load_variant(edition, LAB)
    path = pack_path(folder)
    path.write_text("no zip")
    with pytest.raises(UserError, match="can't be read"):
        load_variant(edition, LAB)
    packed(path, [f"labs/{VARIANT}/grading/lab.toml"], zipfile.ZIP_DEFLATED)
    damaged = bytearray(path.read_bytes())
    at = damaged.index(b"lab.toml") + len("lab.toml")
    damaged[at : at + 3] = b"\xff\xff\xff"
    path.write_bytes(damaged)
    with pytest.raises(UserError, match="instructor"):
        load_variant(edition, LAB)
    for name in ("labs/02_affinity_variant/grading/lab.toml", f"labs/{VARIANT}/../../x", "/etc/x"):
        packed(path, [f"labs/{VARIANT}/grading/lab.toml", name])
        with pytest.raises(UserError, match=f"is not of {VARIANT}"):
            load_variant(edition, LAB)


def test_a_pack_becomes_a_kit_of_its_own(edition: Installation) -> None:
    packed(pack_path(edition.variants_root / VARIANT), [f"labs/{VARIANT}/grading/lab.toml"])
    made = unpack_variant(edition, VARIANT, SEED)
    assert (made.root / "labs" / VARIANT / "grading/lab.toml").read_text() == "x"
    assert made.is_edition
    assert made.origin == edition.root


@pytest.mark.builds
@pytest.mark.slow
def test_an_edition_grades_as_the_kit_does(installation: Installation, tmp_path: Path) -> None:
    """The handout and the solution of a variant, and no line of that in the pack."""
    labs = load_labs(installation.root)
    root = tmp_path / "edition"
    write_edition(installation, [labs[LAB]], root, silent)
    edition = Installation(root, installation.preset, tmp_path / "builds")
    made, files, own_kit = make_variant(installation, LAB, SEED)
    lab = the_lab(own_kit, made)
    folder = write_own_files(
        replace(installation, variants=edition.variants_root), lab, files, SEED
    )
    pack_variant(own_kit, lab, pack_path(folder), silent)
    opened, lab = load_variant(edition, LAB)
    solution = own_kit.solution_folder(VARIANT) / KERNEL_FILES["c"]
    given = [path.read_bytes() for path in (opened.root / "labs").rglob("*") if path.is_file()]
    shown = {line for content in given for line in plain_lines(content)}
    secret = {line for line in plain_lines(solution.read_bytes()) if len(line) > 12} - shown
    assert secret
    with zipfile.ZipFile(pack_path(folder)) as pack:
        assert not [name for name in pack.namelist() if name.endswith("solutions/kernel.c")]
        for name in pack.namelist():
            assert not secret & set(plain_lines(pack.read(name)))
    configure(opened)
    build_targets(opened, ["describe_node", opened.monitor(lab.name).name])
    statuses = {}
    for what, kernel in (("handout", folder / KERNEL_FILES["c"]), ("solution", solution)):
        handed_in = tmp_path / what
        handed_in.mkdir()
        shutil.copy(kernel, handed_in / KERNEL_FILES["c"])
        session = Grading(
            opened, lab, "c", "submission", handed_in, effort_for("quick", True),
            describe_node(opened), silent, timing_refused="not asked for", no_vms=True,
        )  # fmt: skip
        statuses[what] = grade(session, takes_times=False).statuses
    assert statuses["solution"]["touched_where_used"] == "pass"
    assert statuses["handout"]["touched_where_used"] == "fail"


def test_a_pack_that_would_show_the_labs_solution_is_not_written(
    installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, _, own_kit = make_variant(installation, LAB, SEED)
    lab = the_lab(own_kit, made)
    copied = tmp_path / "kit"
    shutil.copytree(own_kit.root, copied, symlinks=True)
    public = (installation.root / "solutions" / LAB / KERNEL_FILES["c"]).read_text()
    with (copied / "labs" / VARIANT / "grading/driver.c").open("a") as driver:
        driver.write(public)

    def no_objects(made: Installation, labs: object, target: Path, progress: object) -> None:
        (target / VARIANT).mkdir(parents=True)

    monkeypatch.setattr("numalab.editions.write.make_objects", no_objects)
    path = tmp_path / "variant.pack"
    with pytest.raises(NumalabError, match="would show lines of solutions"):
        pack_variant(replace(own_kit, root=copied), lab, path, silent)
    assert not path.exists()
