"""The machines that the kit describes, in common/machines."""

from __future__ import annotations

import difflib
from pathlib import Path

from numalab.errors import UserError
from numalab.kit import Kit
from numalab.machines.machine import Figure, Machine
from numalab.machines.machine_file import load_machine
from numalab.machines.seeded import PREFIX, is_seeded, seed_in, seeded_machine

MEASURED_MACHINE = "hydra"  # the one whose latencies a run of the kit's is shown beside


def gallery_folder(kit: Kit) -> Path:
    return kit.root / "common" / "machines"


def machine_names(kit: Kit) -> list[str]:
    """Of the gallery, in order."""
    return sorted(path.stem for path in gallery_folder(kit).glob("*.toml"))


def load_gallery(folder: Path) -> dict[str, Machine]:
    """All machines of a folder by name, in the names' order."""
    return {path.stem: load_machine(path) for path in sorted(folder.glob("*.toml"))}


def find_machine(kit: Kit, name: str) -> Machine:
    """A machine of the gallery by its name, of any file by its path, or one that is made from the
    seed in its name. Raises UserError."""
    if "/" in name or name.endswith(".toml"):
        return load_machine(Path(name).expanduser())
    if is_seeded(name):
        return seeded_machine(seed_in(name))
    folder, names = gallery_folder(kit), machine_names(kit)
    if name not in names:
        near = difflib.get_close_matches(name.lower(), names, n=3, cutoff=0.5)
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        raise UserError(
            f"there is no machine '{name}'.{hint} The machines are: {', '.join(names)}; "
            f"{PREFIX}N is made from the number N, and your own file is named by its path, such as "
            "./mine.toml"
        )
    return load_machine(folder / f"{name}.toml")


def published_latencies(kit: Kit) -> tuple[Figure, ...]:
    """What others have measured of messages and memory. Raises UserError."""
    return find_machine(kit, MEASURED_MACHINE).latencies
