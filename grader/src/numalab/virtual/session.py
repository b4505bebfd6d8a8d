"""`numalab machine run`: one command in a virtual node, as if it ran here."""

from __future__ import annotations

import errno
import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from numalab.errors import KitError, UserError
from numalab.processes import shell_variables
from numalab.virtual.guest import Ended, Guest
from numalab.virtual.guest_plan import Share
from numalab.virtual.plan import is_home_or_above, is_under
from numalab.virtual.qemu_process import GuestFailed
from numalab.virtual.terminal import HostInput, is_interactive, window_size

OWN_FOLDERS = ("/tmp", "/run", "/dev", "/proc", "/sys", "/root", "/etc")
EXIT_NOT_FOUND, EXIT_NOT_EXECUTABLE = 127, 126
RESULTS_VARIABLE = "NUMALAB_RESULTS"

# What tells programs of the host's own surroundings, which the guest does not have: a job
# of a cluster, a desktop, temporary folders, a Python environment's start-up.
_LEFT_OUT = ("SLURM", "PMI_", "PMIX_", "XDG_", "DBUS_", "SSH_", "NUMALAB_", "PYTHON", "VIRTUAL_ENV")


def guest_environment(
    environment: Mapping[str, str], machine: str, results: Path | None
) -> dict[str, str]:
    """The caller's, with what the guest does not have left out or replaced."""
    kept = {k: v for k, v in environment.items() if not k.startswith(_LEFT_OUT)}
    kept |= {
        "HOME": "/root",
        "USER": "root",
        "LOGNAME": "root",
        "SHELL": "/bin/sh",
        "TMPDIR": "/tmp",
        "NUMALAB_MACHINE": machine,
    }
    kept.setdefault("PATH", "/usr/local/bin:/usr/bin:/bin")
    if results is not None:
        kept[RESULTS_VARIABLE] = str(results)
    return kept


def shares_for(folder: Path, results: Path | None, more: Sequence[Path]) -> list[Share]:
    """The current folder, the one for results and others that were asked for. Raises
    UserError."""
    own = [path for path in OWN_FOLDERS if folder == Path(path)]
    if own:
        raise UserError(
            f"the current folder is {folder}, and a virtual node has a {folder} of its own. "
            "Change to a folder below it (cd), then try again."
        )
    if is_home_or_above(folder) and folder != results:
        raise UserError(
            f"the current folder, {folder}, is or contains your home folder, which a virtual "
            "node does not get to see. Change to a folder of its own below it (cd), then try "
            "again."
        )
    shares = [Share(folder)] if folder != results else []
    for path in more:
        if not path.is_dir():
            raise UserError(f"--share {path}: there is no such folder")
        shares.append(Share(path.resolve()))
    if results is not None:
        shares.append(Share(results, writable=True))
    return shares


def results_folder(path: Path) -> Path:
    """The folder of --results, made if it is not there. Raises UserError."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"--results {path}: {error.strerror}") from error
    if not os.access(path, os.W_OK | os.X_OK):
        raise UserError(f"--results {path}: you may not write to this folder")
    return path.resolve()


def why_refused(reason: int, command: str, folder: Path, shares: Sequence[Share]) -> str:
    """What to tell of a command that the guest could not start."""
    visible = [share.path for share in shares]
    sees = f"It sees {', '.join(map(str, visible))}"
    program = shutil.which(command, path=os.environ.get("PATH"))
    here = Path(command) if "/" in command else Path(program) if program else None
    if here is None:
        return f"there is no command {command}, neither here nor in the virtual node"
    path = folder / here
    if not path.exists():
        return f"there is no program {command}, neither here nor in the virtual node"
    real = path.resolve()
    for place in (path, real):
        if not is_under(place, visible):
            link = f" (a link to {real})" if real != path else ""
            return (
                f"{path}{link} is there on this host, but the virtual node does not see it. "
                f"{sees}; more with --share DIR."
            )
    if reason == errno.EACCES:
        return f"{path} may not be executed: chmod +x it, or name what runs it"
    if reason == errno.ENOEXEC:
        return f"{path} is no program: does its first line lack #! and an interpreter?"
    return (
        f"{path} can't be started in the virtual node ({os.strerror(reason)}): its interpreter "
        f"or loader is not visible there. {sees}; more with --share DIR."
    )


def write_all(descriptor: int, data: bytes) -> None:
    """Raises OSError."""
    while data:
        data = data[os.write(descriptor, data) :]


def run_command(
    guest: Guest,
    command: Sequence[str],
    folder: Path,
    results: Path | None,
    run: Callable[..., Ended | None] | None = None,
) -> int:
    """Runs it with this process's input, output and Ctrl-C. run: in place of guest.run. Returns
    its exit code, 128 and the signal's number where one ended it."""
    interactive = is_interactive()
    out, err = sys.stdout.fileno(), sys.stderr.fileno()
    environment = guest_environment(shell_variables.for_guests(), guest.plan.machine.name, results)
    try:
        with HostInput(interactive).attached() as source:
            ended = (run or guest.run)(
                command,
                str(folder),
                environment,
                lambda data: write_all(out, data),
                lambda data: write_all(err, data),
                source,
                window_size() if interactive else (0, 0),
            )
    except GuestFailed as error:
        raise KitError(str(error)) from error
    assert ended is not None  # without a limit it comes to its end
    return exit_code(ended, command[0], folder, guest.plan.shares)


def exit_code(ended: Ended, command: str, folder: Path, shares: Sequence[Share]) -> int:
    """As a shell has it; says why a command could not be started."""
    if ended.refused:
        why = why_refused(ended.refused, command, folder, shares)
        print(f"numalab: {why}", file=sys.stderr)
        return EXIT_NOT_EXECUTABLE if ended.refused == errno.EACCES else EXIT_NOT_FOUND
    return 128 + ended.signal if ended.signal else ended.code
