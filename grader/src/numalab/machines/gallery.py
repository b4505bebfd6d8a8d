"""The machines that the kit describes, in common/machines."""

from __future__ import annotations

import difflib
from pathlib import Path

from numalab.errors import UserError
from numalab.kit import Kit
from numalab.machines.machine import Figure, Machine
from numalab.machines.machine_file import load_machine

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
    """A machine of the gallery by its name, or of any file by its path. Raises UserError."""
    if "/" in name or name.endswith(".toml"):
        return load_machine(Path(name).expanduser())
    folder, names = gallery_folder(kit), machine_names(kit)
    if name not in names:
        near = difflib.get_close_matches(name.lower(), names, n=3, cutoff=0.5)
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        raise UserError(
            f"there is no machine '{name}'.{hint} The machines are: {', '.join(names)}; "
            "your own file is named by its path, such as ./mine.toml"
        )
    return load_machine(folder / f"{name}.toml")


def published_latencies(kit: Kit) -> tuple[Figure, ...]:
    """What others have measured of messages and memory. Raises UserError."""
    return find_machine(kit, MEASURED_MACHINE).latencies
