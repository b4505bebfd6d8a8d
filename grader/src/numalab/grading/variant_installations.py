"""Installations for variants: the lab and its solution, from the seed or a pack, and links to what
else is needed. What students edit is in a folder of their own, which they hand in."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

from numalab.errors import NumalabError, UserError, reason_of
from numalab.files import NotPlain, read_plain_text, write_whole
from numalab.harness.build_folder import say
from numalab.installation import EDITION, Installation
from numalab.judging.rules import load_labs
from numalab.labs import quantities
from numalab.labs.declaration import KERNEL_FILES, Lab, choose_labs, load_lab
from numalab.labs.seeds import Seed, seed_of_code
from numalab.labs.variants import (
    Variant,
    draw_variant,
    lab_files,
    lab_of_variant,
    lab_with_variants,
    read_draws,
    solution_files,
    variant_name,
)
from numalab.toml_files.tables import parse_table

TICKET = "variant.toml"  # in the student's folder: the owner of the variant
TICKET_BYTES = 4096
_KEYS = ("lab", "for", "code")
_LINKED = (
    "common", "grader", "CMakeLists.txt", "CMakePresets.json", "numalab", ".venv", EDITION
)  # fmt: skip
_SHOWN = ("README.md", *KERNEL_FILES.values())


def make_variant(
    installation: Installation, lab: str, seed: Seed
) -> tuple[Variant, Mapping[str, str], Installation]:
    """Make the variant of a seed. lab: the lab's name. Returns the variant, the files of its lab by
    path in the lab's folder, and the installation that grades it. Raises UserError in a student
    copy."""
    installation.need_solutions("./numalab variant")
    draws = read_draws(installation.root, lab)
    variant = draw_variant(draws, seed)
    files, solution = (
        lab_files(installation.root, draws, variant),
        solution_files(installation.root, draws, variant),
    )
    digest = hashlib.sha256(repr((sorted(files.items()), sorted(solution.items()))).encode())

    def write(root: Path) -> None:
        _write(root / "labs" / variant.name, files)
        _write(root / "solutions" / variant.name, solution)

    return (
        variant,
        files,
        made_installation(installation, variant.name, seed, digest.hexdigest(), write),
    )


def made_installation(
    installation: Installation, name: str, seed: Seed, digest: str, write: Callable[[Path], None]
) -> Installation:
    """Return the installation of a variant; it is made where it is missing, and one of the same
    name and seed with another digest is removed then. Raises NumalabError where it can't be
    written.

    Args:
        name: of the variant.
        digest: of the variant's files or pack. It is part of the folder's name, since a build keeps
            starting code and objects.
        write: writes the lab and its solution below a root; may raise OSError.
    """
    parent = installation.build_root / "variants"
    root = parent / f"{name}-{seed.number}-{digest[:12]}"
    try:
        if root.is_dir() and not _is_linked_to(root, installation):
            # In a copied or moved installation, the links still lead to the old place.
            say(f"{root} was made in another folder; making it anew")
            shutil.rmtree(root)
        if not root.is_dir():
            for old in parent.glob(f"{name}-{seed.number}-*"):
                shutil.rmtree(old, ignore_errors=True)
            parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=parent, prefix=".") as folder:
                begun = Path(folder) / "kit"
                write(begun)
                for linked in _LINKED:
                    if (installation.root / linked).exists():
                        (begun / linked).symlink_to(installation.root / linked)
                _put_in_place(begun, root)
    except OSError as error:
        raise NumalabError(f"can't make the variant in {root}: {reason_of(error)}") from error
    return Installation(
        root,
        installation.preset,
        root / "build",
        installation.work_root,
        installation.state_root,
        installation.root,
        installation.variants_root,
    )


def _is_linked_to(root: Path, installation: Installation) -> bool:
    """Tell whether the links in the folder of a variant's installation lead to this one."""
    linked = [name for name in _LINKED if (installation.root / name).exists()]
    return all(
        (root / name).exists() and (root / name).samefile(installation.root / name)
        for name in linked
    )


def _put_in_place(begun: Path, root: Path) -> None:
    """Rename a folder to `root`, unless another process has made that already."""
    try:
        begun.rename(root)
    except OSError:
        if not root.is_dir():
            raise


def _write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def the_lab(made: Installation, variant: Variant) -> Lab:
    """Return the declaration of a variant's lab. made: the variant's installation."""
    return load_lab(made.lab_folder(variant.name))


# ---- a student's folder ------------------------------------------------------------------------


def ticket_text(lab: str, seed: Seed) -> str:
    """Return the text of a variant's ticket. lab: the name of the lab that it is a variant of."""
    return (
        "# Whose variant this is. Hand it in with the files beside it, as it is.\n"
        f'lab = "{lab}"\nfor = {json.dumps(seed.owner)}\ncode = "{seed.code}"\n'
    )


def read_ticket(folder: Path, *, follow_links: bool = False) -> tuple[str, Seed]:
    """Return the lab's name and the seed of the variant in a folder. follow_links: as for
    files.read_plain_text. Raises UserError where there is no ticket, or it can't be read."""
    path = folder / TICKET
    try:
        text = read_plain_text(path, TICKET_BYTES, follow_links=follow_links)
    except FileNotFoundError as error:
        raise UserError(
            f"{path} is missing: it says whose variant this is. ./numalab variant NN --for ID "
            "--code CODE writes it anew, and leaves your files as they are."
        ) from error
    except (NotPlain, UnicodeDecodeError) as error:
        raise UserError(f"{path} can't be read: {error}. Hand in the file itself.") from error
    return parse_ticket(text, str(path))


def parse_ticket(text: str, where: str) -> tuple[str, Seed]:
    """Return the lab's name and the seed of a ticket. where: what messages call the ticket. Raises
    UserError for a text that is no ticket."""
    table = parse_table(text, where, UserError, _KEYS)
    return table.text("lab"), seed_of_code(table.text("for"), table.text("code"))


def write_own_files(
    installation: Installation, lab: Lab, files: Mapping[str, str], seed: Seed
) -> Path:
    """Write into the student's folder the files to edit that it lacks, and handout, contract and
    ticket anew. lab: the variant's; files: of the variant, by path in its lab's folder. Returns the
    folder. Raises UserError where it holds a variant of another seed, or a damaged ticket, or can't
    be written."""
    folder = installation.variants_root / lab.name
    if (folder / TICKET).is_file():
        _, present = read_ticket(folder, follow_links=True)
        if present != seed:
            raise UserError(
                f"{installation.shown(folder)} has the variant of '{present.owner}' "
                f"({present.code}), with its files. Move or remove that folder first."
            )
    editable = {*KERNEL_FILES.values(), *(file.name for file in lab.files), quantities.FILE}
    if lab.predicted:
        files = {**files, quantities.FILE: quantities.template(lab.predicted)}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            is_shown = name in _SHOWN or name == lab.contract or name in editable
            if is_shown and not (name in editable and (folder / name).exists()):
                write_whole(folder / name, text)
        write_whole(folder / TICKET, ticket_text(lab_of_variant(lab.name), seed))
    except OSError as error:
        raise UserError(
            f"can't write your variant into {folder}: {reason_of(error)}. Set NUMALAB_WORK to a "
            "folder that you may write to."
        ) from error
    return folder


def lab_of_named_variant(installation: Installation, name: str) -> str:
    """Return the name of a lab that has variants, which is not checked in a student copy. name: of
    the lab or of its variant, or the lab's number."""
    lab = lab_of_variant(name)
    if not installation.is_edition:
        return lab_with_variants(installation.root, lab)
    (chosen,) = choose_labs(load_labs(installation.root), [lab])  # whose variants come packed
    return chosen.name


def load_variant(
    installation: Installation, lab: str, parent: Path | None = None
) -> tuple[Installation, Lab]:
    """Return installation and lab of a student's variant; the former is made where it is missing.
    lab: name of the lab that it is a variant of. parent: folder that holds the variant's folder;
    None: that of the user's own variants. Raises UserError where there is no variant, or its ticket
    or pack is not valid."""
    folder = (parent or installation.variants_root) / variant_name(lab)
    if not folder.is_dir():
        raise UserError(
            f"there is no folder {installation.shown(folder)}. ./numalab variant "
            f"{lab.split('_')[0]} --for "
            "ID --code CODE, or to study alone --seed today, writes your variant."
        )
    follow = folder.parent == installation.variants_root
    named, seed = read_ticket(folder, follow_links=follow)
    if named != lab:
        raise UserError(
            f"{folder / TICKET} is of a variant of {named}, and {variant_name(lab)} is to be "
            "graded. Put each variant's files into the folder of its own name."
        )
    if installation.is_edition:
        made = unpack_variant(installation, variant_name(lab), seed)
    else:
        made = make_variant(installation, lab, seed)[2]
    return made, load_lab(made.lab_folder(variant_name(lab)))


# ---- in a student copy -------------------------------------------------------------------------


def pack_path(folder: Path) -> Path:
    """Return the path of a variant's pack, which is next to the student's folder, since it is not
    handed in. folder: the student's."""
    return folder.with_name(f"{folder.name}.pack")


def write_pack(tree: Path, path: Path) -> None:
    """Write a variant's pack. tree: folder with labs/ and solutions/ of the variant, as a student
    copy has them; path: the pack's."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as pack:
        for file in sorted(file for file in tree.rglob("*") if file.is_file()):
            pack.write(file, file.relative_to(tree).as_posix())


def unpack_variant(installation: Installation, name: str, seed: Seed) -> Installation:
    """Return the installation of a variant, made from its pack. Raises UserError where the pack is
    missing, damaged or another variant's."""
    path = pack_path(installation.variants_root / name)
    if not path.is_file():
        raise UserError(
            f"{installation.shown(path)} is missing: a student's edition makes no variants. Your "
            f"instructor has it for you; put it beside {name}/."
        )
    try:
        content = path.read_bytes()
        with zipfile.ZipFile(path) as pack:
            names = pack.namelist()
            allowed = tuple(f"{top}/{name}/" for top in ("labs", "solutions"))
            if not all(path.startswith(allowed) and ".." not in path for path in names):
                raise UserError(
                    f"{installation.shown(path)} is not of {name}; ask your instructor for it"
                )
            digest = hashlib.sha256(content).hexdigest()
            return made_installation(
                installation, name, seed, digest, lambda root: pack.extractall(root)
            )
    except (OSError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise UserError(
            f"{installation.shown(path)} can't be read ({error}); ask your instructor for it "
            "once more"
        ) from error
