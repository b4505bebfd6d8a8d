"""The machines that a user has described or imported, in a folder of the user's own.

A gallery's machine of the same name has precedence, so that the names in labs mean the same for
everybody.
"""

from __future__ import annotations

import os
from collections.abc import Container
from pathlib import Path

from numalab.errors import UserError
from numalab.machines.machine import Machine
from numalab.machines.machine_file import load_machine
from numalab.untrusted.visible import shown


def own_folder() -> Path:
    """Return the folder that NUMALAB_MACHINES names, else numalab/machines in XDG_DATA_HOME, by
    default ~/.local/share. It need not exist. Raises UserError where it would be in the user's home
    and there is none."""
    named = os.environ.get("NUMALAB_MACHINES")
    if named:
        return Path(named).absolute()
    data = Path(os.environ.get("XDG_DATA_HOME") or "")
    if not data.is_absolute():  # the XDG Base Directory Specification has such ones ignored
        try:
            data = Path.home() / ".local" / "share"
        except RuntimeError as error:
            raise UserError(
                "there is no home folder to keep machines in; name a folder in NUMALAB_MACHINES"
            ) from error
    return data / "numalab" / "machines"


def own_file(name: str) -> Path:
    """Return the file of an own machine, which need not exist. Raises as own_folder."""
    return own_folder() / f"{name}.toml"


def own_names() -> list[str]:
    """Return the names of the own machines' files without .toml, sorted; none where there is no
    folder or it can't be read."""
    try:
        return sorted(path.stem for path in own_folder().iterdir() if path.suffix == ".toml")
    except (OSError, UserError):
        return []


def load_own(taken: Container[str]) -> tuple[dict[str, Machine], list[str]]:
    """Return the own machines by name, and a message for each file that can't be used or has a name
    in `taken`, the gallery's."""
    machines, mistakes = {}, []
    for name in own_names():
        path = own_file(name)
        if name in taken:
            mistakes.append(
                f"{path}: the kit has a machine '{shown(name)}' itself, and shows that one; rename "
                "the file and the name in it"
            )
            continue
        try:
            machines[name] = load_machine(path)
        except UserError as error:
            mistakes.append(str(error))
    return machines, mistakes
