"""The machines that a user has described or imported, in a folder of the user's own.

Kept outside the kit, so that they outlive a copy of it, and work where it can only be read. The
kit's names go before: what labs name has to be the same for everybody.
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
    """NUMALAB_MACHINES, else numalab/machines where the system keeps a user's data: XDG_DATA_HOME,
    by default ~/.local/share. It need not be there. Raises UserError where a user has no home."""
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
    """Raises UserError where a user has no home."""
    return own_folder() / f"{name}.toml"


def own_names() -> list[str]:
    """In order; none where there is no such folder or it can't be read."""
    try:
        return sorted(path.stem for path in own_folder().iterdir() if path.suffix == ".toml")
    except (OSError, UserError):
        return []


def load_own(taken: Container[str]) -> tuple[dict[str, Machine], list[str]]:
    """All that can be read by name, and of every other one a sentence on what is wrong with it.
    taken: the kit's names."""
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
