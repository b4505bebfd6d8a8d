"""A learner's copy of the kit: labs of its own, and the kit's programs."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from numalab.installation import Installation

_CACHE = "CMakeCache.txt"


def make_desk(installation: Installation, folder: Path) -> Installation:
    """Return a copy of the kit in a new folder, for the price of a few links.

    What a learner may edit is copied. The build is the kit's own, with its lock: links to what
    is in it, and a cache that names the copy, since the kit builds anew what another folder's
    build is. What a command keeps for the learner lies beside the build.
    """
    root = folder / "numalab"
    _link_build(installation.build, root, root / "build" / installation.preset)
    shutil.copytree(installation.root / "labs", root / "labs")
    for name in ("common", "grader", "solutions", ".venv", "numalab", "CMakePresets.json"):
        (root / name).symlink_to(installation.root / name)
    desk = Installation(root, installation.preset)
    for lab in (root / "labs").iterdir():
        pristine = installation.pristine_folder(lab.name)
        for file in pristine.iterdir() if pristine.is_dir() else ():
            shutil.copy(file, lab / file.name)
    return desk


def _link_build(build: Path, root: Path, folder: Path) -> None:
    folder.mkdir(parents=True)
    (build / "submissions").mkdir(exist_ok=True)  # Ninja knows it by its place in the kit's build
    for path in build.iterdir():
        if path.name != _CACHE:
            (folder / path.name).symlink_to(path)
    cache, own = build / _CACHE, folder / _CACHE
    text = cache.read_text()
    for name, value in (("CMAKE_HOME_DIRECTORY", root), ("CMAKE_CACHEFILE_DIR", folder)):
        text = re.sub(f"^{name}:.*$", f"{name}:INTERNAL={value}", text, flags=re.MULTILINE)
    own.write_text(text)
    shutil.copystat(cache, own)  # a later one would be configured anew
