"""What of this host a grading lets into a virtual node, and what of that a kernel sees there. Pure
functions, but for a look at the host's folders.

Into the node come the system's programs and libraries, those that the graded programs are linked
to, and, for each run, the programs of its command alone. The monitor is root there. Workers are
another user in a root folder of their own (common/guest/sandbox.h), and so is a whole MPI job on
two nodes, with its launcher, since a rank may ask that for more processes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from numalab.harness.sandbox import (
    SHARED_BYTES,
    SHARED_BYTES_A_CORE,
    TMP_BYTES,
    other_roots,
)
from numalab.processes import shell_variables, starting
from numalab.virtual.network import FINALIZE, NODE_NAMES_FILE, REMOTE
from numalab.virtual.plan import is_under

APART = "/init"  # the guest's first program, which also makes sandboxes
PROGRAMS = Path("/numalab")  # where the guest keeps those of a run
# In place of root, who may grade, and of any who is root's group.
STRANGER = 65533
MOST_GROUPS = 64  # as sandbox.c has it

# Of the caller's environment: OpenMP's, MPI's and the language; PATH and the library path, as far
# as they lead somewhere in the guest.
_NEEDED = ("OMP_", "KMP_", "GOMP_", "GFORTRAN_", "MPICH_", "MPIR_", "MPIEXEC_", "HYDRA_", "HWLOC_",
           "UCX_", "FI_")  # fmt: skip
_LANGUAGE = ("LANG", "LC_ALL")
_PATHS = ("PATH", "LD_LIBRARY_PATH")
_USUAL_PATH = "/usr/local/bin:/usr/bin:/bin"

# Where distributions keep programs and libraries; links among them are made in the guest.
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
# Files of the guest's own that libraries look at.
_SYSTEM_FILES = ("/etc/ld.so.cache", "/etc/alternatives", "/etc/hosts", "/etc/nsswitch.conf")


# ---- what comes into the guest ---------------------------------------------------------------


def library_folders(program: Path) -> set[Path]:
    """Return the folders of the libraries that a program is linked to."""
    done = starting.run(["ldd", program], shell_variables.observer_environment())
    folders = set()
    for text in done.stdout.splitlines():
        _, _, after = text.partition("=> /")
        if after:
            path = Path("/" + after.split(" (")[0])
            folders |= {path.parent, path.resolve().parent}
    return folders


def system_links() -> Iterator[tuple[str, str]]:
    """Yield the symbolic links (target, path) among the system's folders."""
    for name in _SYSTEM:
        if Path(name).is_symlink():
            yield str(Path(name).readlink()), name


def folders_for(programs: Sequence[Path], hidden: Sequence[Path]) -> list[Path]:
    """Return the folders that programs need in a guest, to read only: the system's, MPI's, and
    those of the libraries that they are linked to. hidden: folders that are never among them, nor
    what holds them, outside the system's."""
    system = [Path(name) for name in _SYSTEM if Path(name).is_dir() and not Path(name).is_symlink()]
    others = {Path(root) for root in other_roots(["mpiexec"], {}, hidden[0])}
    others |= {folder for program in programs for folder in library_folders(program)}
    return system + [
        folder
        for folder in sorted(others)
        if not is_under(folder.resolve(), [*system, *hidden])
        and not any(path.is_relative_to(folder.resolve()) for path in hidden)
    ]


def environment_for(given: Mapping[str, str], visible: Sequence[Path]) -> dict[str, str]:
    """Return the part of an environment that programs get in a guest with these folders."""
    kept = {
        name: value
        for name, value in given.items()
        if name.startswith(_NEEDED) or name in _LANGUAGE
    }
    for name in _PATHS:
        folders = [
            folder
            for folder in given.get(name, "").split(":")
            if folder.startswith("/") and is_under(Path(folder).resolve(), visible)
        ]
        if folders:
            kept[name] = ":".join(folders)
    return {"PATH": _USUAL_PATH, "TMPDIR": "/tmp"} | kept


@dataclass(frozen=True)
class GuestCommand:
    """A command as it is run in a guest. programs: by their paths there, the host's files."""

    arguments: tuple[str, ...]
    programs: Mapping[str, Path]


def command_for(
    command: Sequence[str], visible: Sequence[Path], hidden: Sequence[Path]
) -> GuestCommand:
    """Return a command with the paths that its programs will have in the guest, if that lacks them.

    A file of a student's is never taken for a program. hidden: folders that the guest lacks though
    visible ones hold them, or has as they were.
    """
    programs: dict[str, Path] = {}

    def is_visible(path: Path) -> bool:
        return is_under(path, visible) and not is_under(path, hidden)

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
    may be for that user only, but never root."""
    uid = os.getuid() or STRANGER
    groups = [group for group in (os.getgid(), *os.getgroups()) if group and os.getuid()]
    return uid, list(dict.fromkeys(groups))[:MOST_GROUPS] or [STRANGER]


@dataclass(frozen=True)
class GuestView:
    """What a guest with so many cores and so much memory lets a kernel see. visible: folders of
    this machine; hidden: what is covered where one of them holds it."""

    visible: Sequence[Path]
    hidden: Sequence[Path]
    cores: int
    memory_bytes: int


def sandbox_words(sight: GuestView, *options: str) -> list[str]:
    """Return the words before a command that run it in a sandbox, "--" between. options: further
    ones of sandbox.h."""
    uid, groups = worker_user()
    visible, hidden, memory_bytes = sight.visible, sight.hidden, sight.memory_bytes
    # What lies there takes the guest's memory, and its kernel ends no file to get some back.
    shared_bytes = min(SHARED_BYTES + SHARED_BYTES_A_CORE * sight.cores, memory_bytes // 4)
    return [
        APART, "--user", ":".join(map(str, [uid, *groups])), *options,
        *(word for folder in visible for word in ("--ro-bind", str(folder), str(folder))),
        *(word for target, path in system_links() for word in ("--symlink", target, path)),
        *(word for name in _SYSTEM_FILES if Path(name).exists()
          for word in ("--ro-bind", name, name)),
        *(word for path in hidden if is_under(path, visible) for word in ("--cover", str(path))),
        "--tmpfs", str(shared_bytes), "/dev/shm",
        "--tmpfs", str(min(TMP_BYTES, memory_bytes // 16)), "/tmp",
    ]  # fmt: skip


def monitor_options(confine: Path, sight: GuestView) -> list[str]:
    """Return the options of a monitor in a guest. confine: the program that becomes the worker."""
    uid, _ = worker_user()
    words = sandbox_words(sight)
    return [
        "--sandbox", str(confine), "--sandbox-user", str(uid),
        *(option for word in words for option in ("--sandbox-word", word)),
    ]  # fmt: skip


# Of a node of a cluster, beside what it holds for a run: by what a job starts there, and what it
# needs on the link (network.py).
_CLUSTER_PATHS = (APART, FINALIZE, NODE_NAMES_FILE)


def job_words(sight: GuestView, results: str) -> list[str]:
    """Return sandbox_words for an MPI job on a cluster's nodes. results: a folder of each node that
    ranks may write to, and that stays."""
    return sandbox_words(
        sight, "--share-net",
        *(word for path in (*_CLUSTER_PATHS, str(PROGRAMS)) for word in ("--ro-bind", path, path)),
        "--symlink", APART, REMOTE, "--bind", results, results,
    )  # fmt: skip
