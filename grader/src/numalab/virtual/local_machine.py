"""What virtual machines need of this machine: whether KVM is worth using, the rate of the time
stamp counter, and the folder of Linux kernels and snapshots."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from numalab.errors import NumalabError, UserError
from numalab.files import read_text, write_json
from numalab.processes import shell_variables, starting

PROBE_LIMIT_S = 30


def cache_folder() -> Path:
    """Return the folder numalab in XDG_CACHE_HOME, by default ~/.cache; it is made if need be.
    Raises UserError where it can't be."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    try:
        folder = Path(base).expanduser().absolute() / "numalab"
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError) as error:
        raise UserError(
            f"can't make the folder {base}/numalab, where virtual nodes keep their kernel: "
            f"{error}. Set XDG_CACHE_HOME to a folder that you may write to."
        ) from error
    return folder


@dataclass(frozen=True)
class LocalMachine:
    """What the probe finds. tsc_khz: rate of the time stamp counter, 0: unknown; kvm: whether KVM
    runs code at a useful speed; why: what was observed that decides this."""

    tsc_khz: int
    kvm: bool
    why: str


def _boot_id() -> str:
    return read_text(Path("/proc/sys/kernel/random/boot_id")) or ""


def _kvm_access() -> str:
    """Return a text that changes when access to /dev/kvm is given or taken away."""
    try:
        status = Path("/dev/kvm").stat()
    except OSError:
        return "missing"
    usable = os.access("/dev/kvm", os.R_OK | os.W_OK)
    return f"{status.st_uid}:{status.st_gid}:{status.st_mode:o}:{usable}"


def examine(probe: Path, cache: Path) -> LocalMachine:
    """Return what the probe (common/guest/probe_host.c) finds, kept in a file of the cache, a
    folder, until this machine boots again or access to /dev/kvm changes. After PROBE_LIMIT_S KVM
    counts as useless, and nothing is kept. Raises NumalabError where the probe can't be run or
    prints no JSON."""
    kept = cache / "host.json"
    now = {"boot_id": _boot_id(), "kvm_access": _kvm_access()}
    try:
        known = json.loads(kept.read_text())
        if now["boot_id"] and {key: known[key] for key in now} == now:
            return LocalMachine(known["tsc_khz"], known["kvm"], known["why"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    try:
        done = starting.run([probe], shell_variables.observer_environment(), limit_s=PROBE_LIMIT_S)
        probed = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        return LocalMachine(0, False, f"examining it took more than {PROBE_LIMIT_S} s")
    except (OSError, json.JSONDecodeError) as error:
        raise NumalabError(f"the host can't be examined with {probe}: {error}") from error
    write_json(kept, now | probed, indent=None)
    return LocalMachine(probed["tsc_khz"], probed["kvm"], probed["why"])
