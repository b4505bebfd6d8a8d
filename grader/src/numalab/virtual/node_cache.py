"""What describe_node reports on a virtual machine that is booted to be described. It is kept in a
file named by a digest of what the guest's snapshot depends on, and of describe_node itself."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path

from numalab.errors import NumalabError, reason_of
from numalab.evidence.record import Json
from numalab.files import read_json, write_json
from numalab.harness.sandbox import hidden_folders
from numalab.installation import Installation
from numalab.machines.machine import Machine
from numalab.virtual import guest_sandbox, local_machine, snapshots
from numalab.virtual.booting import boot
from numalab.virtual.place import PlaceLost, VirtualPlace
from numalab.virtual.plan import GuestOptions, build_programs, make_plan
from numalab.virtual.qemu_process import find_qemu
from numalab.words import StepReport

MOST_KEPT = 1000  # files of a few KiB each


def kept_folder() -> Path:
    return local_machine.cache_folder() / "seen"


def described_node(installation: Installation, machine: Machine, progress: StepReport) -> Json:
    """Return what describe_node reports on the whole machine, booted where that is not kept. The
    caller has to hold the build folder's lock. Raises UserError or NumalabError where it can't be
    booted."""
    program = find_qemu()
    build_programs(installation)
    system = guest_sandbox.folders_for([installation.describe_node], hidden_folders(installation))
    options = GuestOptions(full=True)
    plan, store = make_plan(installation, machine, [], options, progress, system)
    try:
        program_digest = hashlib.sha256(installation.describe_node.read_bytes()).hexdigest()
        key = snapshots.key_of([plan.key(program, plan.initrd()), program_digest])
    except OSError as error:
        raise NumalabError(f"{machine.name} can't be booted: {reason_of(error)}") from error
    kept = kept_folder() / f"{key}.json"
    node: Json | None = read_json(kept)
    if isinstance(node, dict):
        return node
    try:
        with boot(plan, store, progress) as guest:
            node = VirtualPlace(installation, machine, guest, options).node
    except PlaceLost:
        # A snapshot that is damaged may be why; so this boot uses none.
        with boot(plan, None, progress) as guest:
            node = VirtualPlace(installation, machine, guest, options).node
    with suppress(OSError):  # a full disk costs another boot, and nothing else
        kept.parent.mkdir(exist_ok=True)
        write_json(kept, node)
        _tidy(kept.parent)
    return node


def _tidy(folder: Path) -> None:
    newest = sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in newest[MOST_KEPT:]:
        path.unlink(missing_ok=True)  # another process may tidy, too
