"""What of this machine a grading shows in a virtual machine, and what of that a student's code sees
in a sandbox there (common/guest/sandbox.h).

The monitor runs outside of that sandbox, with workers in it. An MPI job runs in it with its
launcher, since a rank may ask the launcher for more processes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from numalab.harness.sandbox import (
    SHARED_BYTES,
    SHARED_BYTES_A_CORE,
    SYSTEM_FOLDERS,
    TMP_BYTES,
    is_below,
    other_roots,
)
from numalab.processes import shell_variables, starting
from numalab.virtual.network import FINALIZE, NODE_NAMES_FILE, REMOTE

APART = "/init"  # the guest's first program, which also makes sandboxes
PROGRAMS = Path("/numalab")  # the guest's folder of the programs of a run
# The user of workers where root grades, and their group then, or where root's is the only one.
STRANGER = 65533
MOST_GROUPS = 64  # sandbox.c's limit

# Variables that programs in the guest get: those of OpenMP, Fortran, MPI and hwloc, and the
# language's; and, of PATH and the library path, the folders that the guest has.
_NEEDED = ("OMP_", "KMP_", "GOMP_", "GFORTRAN_", "MPICH_", "MPIR_", "MPIEXEC_", "HYDRA_", "HWLOC_",
           "UCX_", "FI_")  # fmt: skip
_LANGUAGE = ("LANG", "LC_ALL")
_PATHS = ("PATH", "LD_LIBRARY_PATH")
_USUAL_PATH = "/usr/local/bin:/usr/bin:/bin"

# Files of the guest's own that libraries read.
_SYSTEM_FILES = ("/etc/ld.so.cache", "/etc/alternatives", "/etc/hosts", "/etc/nsswitch.conf")


# ---- what comes into the guest ---------------------------------------------------------------


def library_folders(program: Path) -> set[Path]:
    """Return the folders of the libraries that a program is linked to, by their names and with
    links resolved; none where ldd can't tell. Raises OSError where ldd can't be started."""
    done = starting.run(["ldd", program], shell_variables.observer_environment())
    folders = set()
    for text in done.stdout.splitlines():
        _, _, after = text.partition("=> /")
        if after:
            path = Path("/" + after.split(" (")[0])
            folders |= {path.parent, path.resolve().parent}
    return folders


def system_links() -> Iterator[tuple[str, str]]:
    """Yield the symbolic links (target, path) among SYSTEM_FOLDERS."""
    for name in SYSTEM_FOLDERS:
        if Path(name).is_symlink():
            yield str(Path(name).readlink()), name


def folders_for(programs: Sequence[Path], hidden: Sequence[Path]) -> list[Path]:
    """Return the folders that programs need in a guest: those of SYSTEM_FOLDERS that are there,
    then other ones of mpiexec and of the libraries that the programs are linked to. hidden:
    numalab's root, then further folders; what is within or around one is left out, but for
    SYSTEM_FOLDERS."""
    folders = map(Path, SYSTEM_FOLDERS)
    system = [folder for folder in folders if folder.is_dir() and not folder.is_symlink()]
    others = {Path(root) for root in other_roots(["mpiexec"], {}, hidden[0])}
    others |= {folder for program in programs for folder in library_folders(program)}
    return system + [
        folder
        for folder in sorted(others)
        if not is_below(folder.resolve(), [*system, *hidden])
        and not any(path.is_relative_to(folder.resolve()) for path in hidden)
    ]


def environment_for(given: Mapping[str, str], visible: Sequence[Path]) -> dict[str, str]:
    """Return the variables of an environment that programs get in a guest with these folders, with
    PATH and TMPDIR set."""
    kept = {
        name: value
        for name, value in given.items()
        if name.startswith(_NEEDED) or name in _LANGUAGE
    }
    for name in _PATHS:
        folders = [
            folder
            for folder in given.get(name, "").split(":")
            if folder.startswith("/") and is_below(Path(folder).resolve(), visible)
        ]
        if folders:
            kept[name] = ":".join(folders)
    return {"PATH": _USUAL_PATH, "TMPDIR": "/tmp"} | kept


@dataclass(frozen=True)
class GuestCommand:
    """A command with the guest's paths. programs: this machine's files by the path in the guest."""

    arguments: tuple[str, ...]
    programs: Mapping[str, Path]


def command_for(
    command: Sequence[str], visible: Sequence[Path], hidden: Sequence[Path]
) -> GuestCommand:
    """Return a command in which programs that the guest lacks have the paths that they will get.

    The first word and those after --sandbox and --worker can be programs; others can't, so that no
    student's file is taken for one.

    Args:
        visible: folders that the guest has.
        hidden: folders whose files it lacks, or has in an older state, even within visible ones.

    Raises ValueError where two programs have the same file name.
    """
    programs: dict[str, Path] = {}

    def is_visible(path: Path) -> bool:
        return is_below(path, visible) and not is_below(path, hidden)

    def renamed(text: str) -> str:
        path = Path(text)
        if not path.is_absolute() or is_visible(path.resolve()) or not path.is_file():
            return text
        there = str(PROGRAMS / path.name)
        if programs.setdefault(there, path) != path:
            raise ValueError(f"two programs of a command have the name {path.name}")
        return there

    arguments: list[str] = []
    for number, text in enumerate(command):
        before = command[number - 1] if number else None
        if before == "--worker":
            role, equals, path = text.partition("=")
            arguments.append(f"{role}{equals}{renamed(path)}")
        elif number == 0 or before == "--sandbox":
            arguments.append(renamed(text))
        else:
            arguments.append(text)
    return GuestCommand(tuple(arguments), programs)


# ---- what a kernel sees there ----------------------------------------------------------------


def worker_user() -> tuple[int, list[int]]:
    """Return the user and groups of workers in a guest: this process's, since folders of libraries
    may be readable for that user only, but STRANGER in place of root."""
    uid = os.getuid() or STRANGER
    groups = [group for group in (os.getgid(), *os.getgroups()) if group and os.getuid()]
    return uid, list(dict.fromkeys(groups))[:MOST_GROUPS] or [STRANGER]


@dataclass(frozen=True)
class GuestView:
    """What a kernel sees in a guest with so many cores and so much memory. visible: folders of this
    machine; hidden: folders that are covered by an empty one where a visible one holds them."""

    visible: Sequence[Path]
    hidden: Sequence[Path]
    cores: int
    memory_bytes: int


def sandbox_words(sight: GuestView, *options: str) -> list[str]:
    """Return the words that run a command in a sandbox; "--" and the command follow them. options:
    further ones of sandbox.h."""
    uid, groups = worker_user()
    visible, hidden, memory_bytes = sight.visible, sight.hidden, sight.memory_bytes
    # Files in /dev/shm take the guest's memory, and Linux does not remove any to get some back.
    shared_bytes = min(SHARED_BYTES + SHARED_BYTES_A_CORE * sight.cores, memory_bytes // 4)
    return [
        APART, "--user", ":".join(map(str, [uid, *groups])), *options,
        *(word for folder in visible for word in ("--ro-bind", str(folder), str(folder))),
        *(word for target, path in system_links() for word in ("--symlink", target, path)),
        *(word for name in _SYSTEM_FILES if Path(name).exists()
          for word in ("--ro-bind", name, name)),
        *(word for path in hidden if is_below(path, visible) for word in ("--cover", str(path))),
        "--tmpfs", str(shared_bytes), "/dev/shm",
        "--tmpfs", str(min(TMP_BYTES, memory_bytes // 16)), "/tmp",
    ]  # fmt: skip


def monitor_options(confine: Path, sight: GuestView) -> list[str]:
    """Return the options by which a monitor in a guest runs its workers in sandboxes. confine: the
    path of the program for --sandbox."""
    uid, _ = worker_user()
    words = sandbox_words(sight)
    return [
        "--sandbox", str(confine), "--sandbox-user", str(uid),
        *(option for word in words for option in ("--sandbox-word", word)),
    ]  # fmt: skip


# Files of a cluster's node that a job needs besides its programs: to start ranks on other nodes,
# and to use the link (network.py).
_CLUSTER_PATHS = (APART, FINALIZE, NODE_NAMES_FILE)


def job_words(sight: GuestView, results: str) -> list[str]:
    """Return sandbox_words for an MPI job on a cluster's nodes. results: a folder of the node that
    ranks may write to."""
    return sandbox_words(
        sight, "--share-net",
        *(word for path in (*_CLUSTER_PATHS, str(PROGRAMS)) for word in ("--ro-bind", path, path)),
        "--symlink", APART, REMOTE, "--bind", results, results,
    )  # fmt: skip
