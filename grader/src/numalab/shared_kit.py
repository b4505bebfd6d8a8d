"""A kit that many share: where the things of each of its users are.

Who may write to the kit's folder works in it. For all others, and for everybody where the kit was
installed (./numalab install), what a command writes goes to folders of the user's own: files to
edit, builds, and what outlives a build. The last two are nobody else's to read.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from numalab.errors import UserError, reason_of

RECORD = "installation.json"  # in the folder of a kit that was installed, once all of it is there
WORK_VARIABLE = "NUMALAB_WORK"


@dataclass(frozen=True)
class OwnPlaces:
    """A user's folders. work: what is edited, in folders as the kit has them; builds: can be made
    again; state: results, progress, hints."""

    work: Path
    builds: Path
    state: Path


def is_shared(root: Path) -> bool:
    """Whether nothing is to be written into the kit's folder."""
    return (root / RECORD).is_file() or not all(
        os.access(folder, os.W_OK) for folder in (root, root / "labs")
    )


def own_places(root: Path, version: str, environment: Mapping[str, str]) -> OwnPlaces:
    """Of this user, as the XDG Base Directory Specification has them. Builds are of one kit, by its
    path; all else is for all kits that the user works with. Raises UserError where there is no home
    folder."""
    try:
        home = Path.home()
    except RuntimeError as error:
        raise UserError(
            f"this user has no home folder, and {root} can't be written to. Set HOME to a folder "
            "that you may write to."
        ) from error
    cache = Path(environment.get("XDG_CACHE_HOME") or home / ".cache").absolute()
    state = Path(environment.get("XDG_STATE_HOME") or home / ".local" / "state").absolute()
    of_path = hashlib.sha256(os.fsencode(root.resolve())).hexdigest()[:12]
    return OwnPlaces(
        Path(environment.get(WORK_VARIABLE) or home / "numalab").absolute(),
        cache / "numalab" / "builds" / f"{version}-{of_path}",
        state / "numalab",
    )


def make_private(folder: Path) -> None:
    """A folder that only its user sees into, whatever the umask; one that is there is closed to
    others. Raises UserError where it can't be made, or is somebody else's."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        facts = folder.stat()
        if facts.st_uid != os.geteuid():
            raise UserError(
                f"{folder} belongs to another user, who could read or change your results there. "
                "Set XDG_STATE_HOME and XDG_CACHE_HOME to folders of your own."
            )
        if stat.S_IMODE(facts.st_mode) & 0o077:
            folder.chmod(0o700)
    except OSError as error:
        raise UserError(
            f"can't make {folder}: {reason_of(error)}. The kit keeps your builds and results "
            "there; set XDG_CACHE_HOME and XDG_STATE_HOME to folders that you may write to."
        ) from error
