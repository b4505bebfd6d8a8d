"""What somebody edits who works with a kit that many share (kit.py).

A folder that looks like the kit's as far as its texts speak of it: labs/NN_name/ with the files to
edit, copied once and never written again; links to the texts and the contract beside them, and to
the solutions; and the command, so that `./numalab grade 01` means there what it means everywhere.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from numalab.errors import KitError, reason_of
from numalab.files import read_text, write_whole
from numalab.kit import Kit
from numalab.labs.declaration import KERNEL_FILES, Lab

_OURS = "# Of numalab, which wrote it and brings it up to date."


def provide(kit: Kit, labs: Sequence[Lab], note: Callable[[str], None]) -> None:
    """Makes the folder, and in it those of labs that are not there. note: is told where they are.
    Nothing where the kit is its user's own. Raises KitError."""
    if kit.work is None:
        return
    new = [lab for lab in labs if not kit.own_folder(lab.name).exists()]
    try:
        _make_top(kit.root, kit.work)
        for lab in new:
            _copy(kit, lab)
        for lab in labs:
            for name in _read_only(kit, lab):
                _link(kit.own_folder(lab.name) / name, kit.lab_folder(lab.name) / name)
    except OSError as error:
        raise KitError(
            f"your files of the labs can't be put into {kit.work}: {reason_of(error)}. Set "
            "NUMALAB_WORK to a folder that you may write to."
        ) from error
    if new:
        named = new[0].name if not new[1:] else f"{len(new)} labs"
        note(f"numalab: your files of {named} are in {kit.work / 'labs'}. Work in {kit.work}")


def _editable(lab: Lab) -> list[str]:
    kernels = [KERNEL_FILES[language] for language in lab.languages]
    return [*kernels, *(file.name for file in lab.files)]


def _read_only(kit: Kit, lab: Lab) -> list[str]:
    headers = sorted(path.name for path in kit.lab_folder(lab.name).glob("*.h"))
    return ["README.md", *headers]


def _make_top(root: Path, work: Path) -> None:
    """Raises OSError."""
    if not work.is_dir():
        work.parent.mkdir(parents=True, exist_ok=True)
        work.mkdir(mode=0o700)
    (work / "labs").mkdir(exist_ok=True)
    _link(work / "solutions", root / "solutions")
    command = work / "numalab"
    text = f'#!/bin/sh\n{_OURS}\nexec sh {shlex.quote(str(root / "numalab"))} "$@"\n'
    there = read_text(command)
    if there is None or (_OURS in there and there != text.strip()):
        write_whole(command, text)
        command.chmod(0o755)


def _copy(kit: Kit, lab: Lab) -> None:
    """Whole or not at all. Raises OSError."""
    final = kit.own_folder(lab.name)
    partial = final.with_name(f".{lab.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    for name in _editable(lab):
        source = kit.lab_folder(lab.name) / name
        if source.is_file():
            shutil.copyfile(source, partial / name)  # not its mode, which may be read-only
    partial.rename(final)


def _link(path: Path, target: Path) -> None:
    """Unless its user has put something else there. Raises OSError."""
    if path.is_symlink():
        if path.readlink() == target:
            return
        path.unlink()
    if not path.exists():
        path.symlink_to(target)
