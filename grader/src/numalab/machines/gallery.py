"""Machines by name: those of the gallery, in common/machines, the user's own, and those made from a
seed."""

from __future__ import annotations

import difflib
from pathlib import Path

from numalab.errors import UserError
from numalab.files import expand_home
from numalab.installation import Installation
from numalab.machines.machine import Figure, Machine
from numalab.machines.machine_file import load_machine
from numalab.machines.own import own_file, own_names
from numalab.machines.seeded import PREFIX, is_seeded, seed_in, seeded_machine
from numalab.untrusted.visible import shown

MEASURED_MACHINE = "hydra"  # the gallery's machine whose latencies are shown next to measured ones


def gallery_folder(installation: Installation) -> Path:
    return installation.root / "common" / "machines"


def machine_names(installation: Installation) -> list[str]:
    """Return the names of the gallery's machines, sorted."""
    return sorted(path.stem for path in gallery_folder(installation).glob("*.toml"))


def known_names(installation: Installation) -> list[str]:
    """Return the names of the gallery's machines, then the user's other ones, each sorted."""
    names = machine_names(installation)
    return [*names, *(name for name in own_names() if name not in names)]


def load_gallery(folder: Path) -> dict[str, Machine]:
    """Return all machines of a folder by name, sorted. Raises UserError with a file's mistake."""
    return {path.stem: load_machine(path) for path in sorted(folder.glob("*.toml"))}


def find_machine(installation: Installation, name: str) -> Machine:
    """Return a machine of the gallery or the user's own by its name, of any file by its path (it
    has a slash or ends with .toml), or one that is made from the seed in its name. Raises UserError
    where there is none, or its file has a mistake."""
    if "/" in name or name.endswith(".toml"):
        return load_machine(expand_home(name))
    if is_seeded(name):
        return seeded_machine(seed_in(name))
    if name in machine_names(installation):
        return load_machine(gallery_folder(installation) / f"{name}.toml")
    own = own_names()
    if name in own:
        return load_machine(own_file(name))
    near = difflib.get_close_matches(name.lower(), known_names(installation), n=3, cutoff=0.5)
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    yours = f", and yours {', '.join(map(shown, own))}" if own else ""
    raise UserError(
        f"there is no machine '{name}'.{hint} The machines are: "
        f"{', '.join(machine_names(installation))}"
        f"{yours}; {PREFIX}N is made from the number N, and a file elsewhere is named by its path, "
        "such as ./mine.toml"
    )


def published_latencies(installation: Installation) -> tuple[Figure, ...]:
    """Return the published latencies of MEASURED_MACHINE."""
    return find_machine(installation, MEASURED_MACHINE).latencies
