"""A learner's copy of the kit: labs of its own, and the kit's programs."""

from __future__ import annotations

import shutil
from pathlib import Path

from numalab.kit import Kit


def make_desk(kit: Kit, folder: Path) -> Kit:
    """What a learner may edit is copied; the build is the kit's own, with its lock, and what
    the copy keeps of her lies beside it."""
    root = folder / "numalab"
    (root / "build").mkdir(parents=True)
    (root / "build" / kit.preset).symlink_to(kit.build)
    shutil.copytree(kit.root / "labs", root / "labs")
    for name in ("common", "grader", "solutions", ".venv", "numalab", "CMakePresets.json"):
        (root / name).symlink_to(kit.root / name)
    desk = Kit(root, kit.preset)
    for lab in (root / "labs").iterdir():
        pristine = kit.pristine_folder(lab.name)
        for file in pristine.iterdir() if pristine.is_dir() else ():
            shutil.copy(file, lab / file.name)
    return desk
