"""The prefix of an installation: the paths below it, and checks of whether it can be used."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from numalab.errors import UserError
from numalab.files import expand_home, read_json
from numalab.installation import RECORD

# PATH can't have colons, the first line of a script no blanks, and other characters would have to
# be quoted in Lua, in Tcl and in a shell, each in its own way.
_PLAIN_PATH = re.compile(r"[A-Za-z0-9_./+@,=-]+")


@dataclass(frozen=True)
class Prefix:
    """The prefix of an installation. path: absolute."""

    path: Path

    @property
    def root(self) -> Path:
        """The folder of numalab's files."""
        return self.path / "share" / "numalab"

    @property
    def command(self) -> Path:
        return self.path / "bin" / "numalab"

    @property
    def modules(self) -> Path:
        """The folder that has one for each kind of modulefiles; from a common one Lmod would read
        both."""
        return self.path / "share" / "modulefiles"

    def modulefile(self, kind: str, version: str) -> Path:
        """Return the path of a modulefile. kind: lmod or tcl."""
        suffix = ".lua" if kind == "lmod" else ""
        return self.modules / kind / "numalab" / f"{version}{suffix}"

    @property
    def mark(self) -> Path:
        """The file that marks an installation which is not complete."""
        return self.root / ".installing"

    @property
    def record(self) -> Path:
        return self.root / RECORD


def chosen_prefix(path: Path, source_root: Path, version: str) -> Prefix:
    """Return the prefix that a path names, resolved. Raises UserError where nothing can be
    installed there, as far as can be told before anything is written. source_root: of the copy that
    would be installed."""
    full = expand_home(path).absolute().resolve()
    source = source_root.resolve()
    prefix = Prefix(full)
    if full == Path("/"):
        raise UserError("--prefix /: name a folder, such as /opt/numalab")
    if full.is_relative_to(source):
        raise UserError(
            f"--prefix {path} lies in this copy of the kit ({source}), which would copy itself. "
            "Name a folder elsewhere, such as /opt/numalab."
        )
    if source.is_relative_to(prefix.root):
        raise UserError(
            f"--prefix {path}: this copy of the kit lies in {prefix.root} itself. Run "
            "./numalab install from a checkout that lies elsewhere."
        )
    if not _PLAIN_PATH.fullmatch(str(full)):
        raise UserError(
            f"--prefix {path}: the path has blanks or signs that PATH, scripts or modulefiles "
            "can't hold. Use letters, digits and _ . + @ , = -"
        )
    above = next(folder for folder in (full, *full.parents) if folder.exists())
    if not above.is_dir():
        raise UserError(f"{above} is a file; name another folder with --prefix")
    _check_unoccupied(prefix, version)
    if not os.access(above, os.W_OK | os.X_OK):
        raise UserError(
            f"you may not write to {above}. Name a folder of yours with --prefix, one that your "
            "class may read, or have somebody install it who may write there."
        )
    return prefix


def _check_unoccupied(prefix: Prefix, version: str) -> None:
    if prefix.record.exists():
        there = read_json(prefix.record)
        known = there.get("version", "") if isinstance(there, dict) else ""
        raise UserError(
            f"numalab {known} is installed in {prefix.path} already, and may be in use. Install "
            "beside it, in a folder of the version's name, and users choose by module; or remove "
            f"it first: rm -r {prefix.root} {prefix.command} {prefix.modules}/*/numalab"
        )
    if prefix.mark.exists():
        return  # its files are those of an interrupted installation
    written = (prefix.root, prefix.command, *(
        prefix.modulefile(kind, version) for kind in ("lmod", "tcl")
    ))  # fmt: skip
    for one in written:
        if os.path.lexists(one) and not (one.is_dir() and not any(one.iterdir())):
            raise UserError(
                f"{one} is there already, and was not made by ./numalab install. Move it away, or "
                "name another folder with --prefix."
            )


def is_readable_by_all(path: Path) -> bool:
    """Tell by the modes whether every user can reach a path, and read and execute it, or list it if
    it is a folder; False where that can't be found out."""
    try:
        real = path.resolve(strict=True)
        wanted = stat.S_IROTH | stat.S_IXOTH
        return real.stat().st_mode & wanted == wanted and all(
            folder.stat().st_mode & stat.S_IXOTH for folder in real.parents
        )
    except OSError:
        return False
