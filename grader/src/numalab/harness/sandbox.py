"""The sandbox that untrusted code runs in: bubblewrap, what is visible inside, and whether it works
here."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from numalab.files import read_text
from numalab.installation import Installation
from numalab.processes import shell_variables, starting

# ---- user namespaces -----------------------------------------------------------------


PROFILE = "bwrap-userns-restrict"
_EXTRA = f"/usr/share/apparmor/extra-profiles/{PROFILE}"
LOAD_PROFILE = (
    f"sudo install -m 0644 {_EXTRA} /etc/apparmor.d/ && "
    f"sudo apparmor_parser -r /etc/apparmor.d/{PROFILE}"
)


def no_user_namespaces(why: str, root: Path = Path("/")) -> NoSandbox:
    """Return why there is no sandbox, with the remedy for a user who may not make user namespaces,
    by Linux's settings. root: of the file system."""

    def setting(name: str) -> str | None:
        return read_text(root / "proc/sys" / name.replace(".", "/"))

    for name, refuses, allows in (
        ("user.max_user_namespaces", "0", "10000"),
        ("kernel.unprivileged_userns_clone", "0", "1"),
    ):
        if setting(name) == refuses:
            return NoSandbox(
                why,
                "ask your administrator to let users make user namespaces:",
                f"sudo sysctl {name}={allows}",
            )
    if setting("kernel.apparmor_restrict_unprivileged_userns") == "1":
        return NoSandbox(
            why,
            "ask your administrator to load AppArmor's profile for bubblewrap (the package "
            "apparmor-profiles has it), unless one for /usr/bin/bwrap is there already; it leaves "
            "other programs restricted, as sysctl kernel.apparmor_restrict_unprivileged_userns=0 "
            "would not:",
            LOAD_PROFILE,
        )
    return NoSandbox(
        why,
        "ask your administrator to let users make user namespaces. A container has to allow clone "
        "and unshare with new namespaces, mount and pivot_root, and to leave its own /proc "
        "unmasked (docker run --security-opt seccomp=unconfined --security-opt "
        "systempaths=unconfined; podman run --security-opt unmask=ALL): give that only to "
        "containers that are thrown away",
    )


# ---- the sandbox ---------------------------------------------------------------------


Level = Literal["bubblewrap", "none"]

REMEDY_MISSING = (
    "install the package bubblewrap (./numalab setup does where it can), or ask your "
    "administrator for it"
)
# Sizes of folders in memory, which count for no process; large enough for honest use.
TMP_BYTES = 16 << 20
COMPILER_TMP_BYTES = 256 << 20
SHARED_BYTES = 64 << 20
SHARED_BYTES_A_CORE = 16 << 20  # added for each PU, since ranks share memory
COVER_BYTES = 1 << 20  # of an empty folder that covers a hidden one
_PROBE_LIMIT_S = 20

# Where distributions keep programs and libraries. Few have all of these.
SYSTEM_FOLDERS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_SYSTEM_FILES = ("/etc/ld.so.cache", "/etc/alternatives")
# Variables by which a site's modules say where their programs and libraries are.
_PATHS = ("LD_LIBRARY_PATH", "LIBRARY_PATH", "CPATH", "C_INCLUDE_PATH", "COMPILER_PATH")
# Variables with folders above those of conda's and Spack's programs and libraries.
_PREFIXES = ("CMAKE_PREFIX_PATH", "CONDA_PREFIX")
# Variables that a compiler gets in addition.
_COMPILER_VARIABLES = ("PATH", "GCC_EXEC_PREFIX")


@dataclass(frozen=True)
class NoSandbox:
    """The reason why there is no sandbox on this machine, and what would help."""

    why: str  # the reason, without a full stop
    remedy: str  # what to do
    command: str = ""  # the command that does it; empty: there is none

    @property
    def advice(self) -> str:
        """Return remedy and command as the end of a text; without a command the remedy gets a full
        stop."""
        return f"{self.remedy} {self.command}" if self.command else f"{self.remedy}."


@dataclass(frozen=True)
class Sandbox:
    """A sandbox by bubblewrap, for this machine."""

    bwrap: str  # path of bubblewrap
    confine: Path  # numalab's program that sets limits and becomes the worker
    launcher: Path  # the shell script that runs a compiler in the sandbox of compiler_environment()
    # Folders outside the system's that are visible, of compilers and libraries.
    roots: tuple[str, ...] = ()
    hidden: tuple[Path, ...] = ()  # not visible, unless a visible folder is in them

    def _covered(self) -> list[str]:
        """Return the hidden folders below visible ones that have none of these in them; an empty
        folder has to cover them."""
        visible = [Path(root).resolve() for root in (*SYSTEM_FOLDERS, *self.roots)]
        return [
            str(folder)
            for folder in dict.fromkeys(folder.resolve() for folder in self.hidden)
            if folder.is_dir()
            and is_below(folder, visible)
            and not any(root.is_relative_to(folder) for root in visible)
        ]

    def _words(self, tmp_bytes: int, shared_bytes: int) -> list[str]:
        return [
            self.bwrap,
            "--unshare-all", "--unshare-user", "--cap-drop", "ALL",
            "--die-with-parent", "--new-session",
            *_system_words(),
            *(word for root in self.roots for word in ("--ro-bind", root, root)),
            # Empty, with room for the places where more is put into it.
            *(word for folder in self._covered()
              for word in ("--size", str(COVER_BYTES), "--tmpfs", folder)),
            "--dev", "/dev",
            "--size", str(shared_bytes), "--tmpfs", "/dev/shm",
            "--size", str(tmp_bytes), "--tmpfs", "/tmp",
            "--remount-ro", "/dev",
        ]  # fmt: skip

    def _words_to_run(self, shared_bytes: int) -> list[str]:
        return [
            *self._words(TMP_BYTES, shared_bytes),
            # In /proc the system can be changed by root, which the grader may be.
            "--proc", "/proc", "--remount-ro", "/proc",
            # Runtimes read there where PUs and NUMA nodes are.
            "--ro-bind", "/sys", "/sys",
        ]  # fmt: skip

    def monitor_options(self) -> list[str]:
        """Return the options by which the monitor starts workers in the sandbox."""
        shared_bytes = SHARED_BYTES + SHARED_BYTES_A_CORE * (os.cpu_count() or 1)
        words = [*self._words_to_run(shared_bytes), "--chdir", "/tmp"]
        return [
            "--sandbox", str(self.confine),
            *(option for word in words for option in ("--sandbox-word", word)),
        ]  # fmt: skip

    def tool_command(self, command: Sequence[str], files: Sequence[Path]) -> list[str]:
        """Return the command that runs a system's tool on untrusted files in the sandbox. files:
        added to what is visible there; `command` has to name them itself."""
        return [
            *self._words(TMP_BYTES, TMP_BYTES), "--clearenv",
            *(word for file in files for word in ("--ro-bind", str(file), str(file))),
            "--remount-ro", "/", "--", *command,
        ]  # fmt: skip

    def compiler_environment(self) -> dict[str, str]:
        """Return the variables by which common/cmake/compile_apart runs a compiler in its sandbox:
        the sandbox as JSON, and the path of Python. Of this process's variables the JSON has only
        those by which compilers, headers and libraries are found. /proc is an empty folder there.
        """
        kept = {
            name: os.environ[name] for name in _COMPILER_VARIABLES + _PATHS if name in os.environ
        }
        kept |= {"LC_ALL": "C", "TMPDIR": "/tmp", "CCACHE_DISABLE": "1"}
        described = {
            "words": [*self._words(COMPILER_TMP_BYTES, SHARED_BYTES), "--dir", "/proc"],
            "environment": kept,
            "roots": [*SYSTEM_FOLDERS, *_SYSTEM_FILES, *self.roots],
            "hidden": self._covered(),
        }
        return {"NUMALAB_COMPILE_APART": json.dumps(described), "NUMALAB_PYTHON": sys.executable}


def hidden_folders(installation: Installation) -> list[Path]:
    """Return the folders of numalab and its user that a sandbox hides, the root first. Links in
    their paths are resolved."""
    origin = (
        () if installation.origin is None else (installation.origin, installation.origin / "build")
    )
    own = (
        installation.build_root,
        installation.state_root,
        installation.work_root,
        installation.variants_root,
        installation.notebooks,
    )
    return list(dict.fromkeys(folder.resolve() for folder in (installation.root, *origin, *own)))


def _system_words() -> Iterator[str]:
    for name in SYSTEM_FOLDERS:
        path = Path(name)
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), name)
        elif path.is_dir():
            yield from ("--ro-bind", name, name)
    for name in _SYSTEM_FILES:
        if Path(name).exists():
            yield from ("--ro-bind", name, name)


def is_below(path: Path, folders: Iterable[str | Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


def other_roots(programs: Sequence[str], environment: dict[str, str], hidden: Path) -> list[str]:
    """Return folders outside the system's that compilers, MPI's launcher and libraries need,
    sorted: of each program the parent of its folder, such as /opt/gcc of /opt/gcc/bin/gcc, and the
    folders that modules name in `environment`. hidden: numalab's root; it, folders in it and
    folders that contain it or the user's home folder are left out."""
    found = []
    for program in programs:
        place = shutil.which(program)
        for path in (Path(place), Path(place).resolve()) if place else ():
            found.append(path.parent.parent)
    for name in (*_PATHS, *_PREFIXES):
        found += [Path(path) for path in environment.get(name, "").split(":") if path]
    try:
        home = Path.home()
    except RuntimeError:  # a user without one
        home = Path("/")
    return sorted(
        {
            str(path)
            for path in found
            if path.is_absolute()
            and path.is_dir()
            and not is_below(path.resolve(), SYSTEM_FOLDERS)
            and not is_below(hidden, [path, path.resolve()])
            and not is_below(path.resolve(), [hidden])
            and not is_below(home, [path, path.resolve()])
        }
    )


def find_sandbox(installation: Installation) -> Sandbox | NoSandbox:
    """Return the sandbox, after a trial has shown that bubblewrap works, or why there is none.
    numalab need not be built yet."""
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        return NoSandbox("bubblewrap (bwrap) is not installed", REMEDY_MISSING)
    missing = read_text(installation.confine_missing)
    if missing is not None:
        return NoSandbox(missing, REMEDY_MISSING)
    programs = ["gcc", "gfortran", "clang", "mpiexec", "mpicc"]
    roots = other_roots(
        programs, shell_variables.builder_environment(), installation.root.resolve()
    )
    hidden = tuple(hidden_folders(installation))
    found = Sandbox(bwrap, installation.confine, installation.compile_apart, tuple(roots), hidden)
    command = [*found._words_to_run(SHARED_BYTES), "--remount-ro", "/", "--", "/bin/sh", "-c", ":"]
    try:
        done = starting.run(command, shell_variables.observer_environment(), limit_s=_PROBE_LIMIT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        return no_user_namespaces(f"bubblewrap can't be run here ({error})")
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()
        return no_user_namespaces(
            f"bubblewrap can't make a sandbox here ({said[-1] if said else 'it does not say why'})"
        )
    return found


def level_of(sandbox: Sandbox | None) -> Level:
    return "none" if sandbox is None else "bubblewrap"
