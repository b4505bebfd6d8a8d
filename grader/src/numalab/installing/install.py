"""Installation of numalab below a prefix: its files, a Python environment, a Linux kernel for
virtual machines if there is one, a command and modulefiles.

Users share no build: CMake's folders can't be moved. There is one build in a temporary folder, so
that missing programs are reported to the administrator. An installation is complete once its record
is written and the mark is removed."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from numalab import __version__
from numalab.errors import NumalabError, UserError, reason_of
from numalab.files import write_json, write_whole
from numalab.installation import Installation
from numalab.installing.copying import copy_files, make_readable, numalab_files
from numalab.installing.prefix import Prefix, is_readable_by_all
from numalab.processes import shell_variables, starting
from numalab.virtual import local_machine
from numalab.virtual.kernel import find_kernel
from numalab.words import StepReport

# ---- modulefiles ---------------------------------------------------------------------


# Names of modules: foss/2024a, GCC/13.3.0, mpi/openmpi-4.1
_MODULE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+/-]*")
_SUFFIXES = {"lmod": "lua", "tcl": "tcl"}
_NEEDING = {"lmod": 'depends_on("{}")', "tcl": "module load {}"}


def check_needs(needs: Sequence[str]) -> None:
    """Raise UserError for a name that can't be a module's."""
    for name in needs:
        if not _MODULE.fullmatch(name):
            raise UserError(f"--needs {name}: that is no module's name, such as GCC/13.3.0")


def modulefile(
    templates: Path, kind: str, prefix: Prefix, version: str, needs: Sequence[str]
) -> str:
    """Return the text of a modulefile. templates: the folder of the templates; kind: one of KINDS;
    needs: modules that are loaded with it."""
    text = (templates / f"numalab.{_SUFFIXES[kind]}").read_text(encoding="utf-8")
    lines = "\n".join(_NEEDING[kind].format(name) for name in needs)
    text = text.replace("@NEEDS@\n", f"{lines}\n" if lines else "")
    return text.replace("@PREFIX@", str(prefix.path)).replace("@VERSION@", version)


# ---- the installation ----------------------------------------------------------------


KINDS = ("lmod", "tcl")
_LAST_LINES = 20


@dataclass(frozen=True)
class Wish:
    """What is to be installed. needs: modules that are loaded with numalab's."""

    prefix: Prefix
    has_notebooks: bool = True
    needs: Sequence[str] = ()


@dataclass(frozen=True)
class Installed:
    """A complete installation.

    Attributes:
        no_kernel: why it got no Linux kernel for virtual machines; None: it has one.
        is_for_all: by the modes every user can reach and list its folder.
    """

    prefix: Prefix
    no_kernel: str | None
    is_for_all: bool


def install(installation: Installation, wish: Wish, progress: StepReport) -> Installed:
    """Install numalab below a prefix; a call goes on with an installation that did not come to its
    end. The process's umask is 022 meanwhile. Raises NumalabError where files can't be written or
    numalab can't be set up."""
    prefix = wish.prefix
    umask = os.umask(0o022)
    try:
        prefix.root.mkdir(parents=True, exist_ok=True)
        prefix.mark.write_text(f"process {os.getpid()} on {os.uname().nodename}\n")
        progress("copying the kit")
        copy_files(installation.root, prefix.root, numalab_files(installation.root))
        _set_up(installation, wish, progress)
        progress("looking for a kernel of virtual nodes")
        no_kernel = _keep_kernel(prefix, progress)
        progress("writing the command and modulefiles")
        _write_command(prefix)
        _write_modulefiles(installation, wish)
        progress("opening it to readers")
        make_readable(prefix.root)
        write_json(prefix.record, _record(installation, wish))
        prefix.mark.unlink()
    except OSError as error:
        raise NumalabError(
            f"the installation in {prefix.path} is not whole: {reason_of(error)}. Once that is "
            "fixed, the same command goes on."
        ) from error
    finally:
        os.umask(umask)
    return Installed(prefix, no_kernel, is_readable_by_all(prefix.root))


def environment_for(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without numalab's variables, and with those folders in PATH that every
    user can reach, with their Python: one in the administrator's home folder would be of no use to
    others."""
    kept = {key: value for key, value in environment.items() if not key.startswith("NUMALAB_")}
    folders = kept.get("PATH", os.defpath).split(os.pathsep)
    return kept | {"PATH": os.pathsep.join(filter(_is_for_all, folders))}


def _is_for_all(folder: str) -> bool:
    """Tell whether every user can reach a folder of PATH, and its python3 if it has one, which in a
    virtual environment is a link."""
    python = Path(folder) / "python3"
    is_anybodys = is_readable_by_all(python) or not os.path.lexists(python)
    return bool(folder) and is_readable_by_all(Path(folder)) and is_anybodys


def _set_up(installation: Installation, wish: Wish, progress: StepReport) -> None:
    """Install Python packages, and build once in a temporary folder. Raises NumalabError with the
    last lines of what failed, or where other users could reach numalab, but not its Python."""
    with tempfile.TemporaryDirectory(prefix="numalab-install-") as folder:
        environment = environment_for(shell_variables.numalab_environment())
        environment["NUMALAB_BUILD"] = folder
        more = ["--notebooks"] if wish.has_notebooks else []
        setup = ["--preset", installation.preset, "setup", "--yes", *more]
        command = ["sh", str(wish.prefix.root / "numalab"), *setup]
        said: list[str] = []
        with starting.start_with_text(
            command,
            environment,
            cwd=wish.prefix.root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as process:
            assert process.stdout is not None
            try:
                for line in process.stdout:
                    said.append(line.rstrip())
                    progress(said[-1].removeprefix("numalab: "))
            except BaseException:
                process.terminate()
                raise
    if process.returncode != 0:
        last = "\n".join(said[-_LAST_LINES:])
        raise NumalabError(f"the kit can't be set up in {wish.prefix.root}:\n{last}")
    python = wish.prefix.root / ".venv" / "bin" / "python"
    if is_readable_by_all(wish.prefix.root) and not is_readable_by_all(python):
        raise NumalabError(
            f"the installation's Python is {python.resolve()}, which other users can't reach. "
            f"Put a Python 3.11 or newer that they can into PATH, remove "
            f"{python.parent.parent}, and install again."
        )


def _keep_kernel(prefix: Prefix, progress: StepReport) -> str | None:
    """Put a Linux kernel for virtual machines into the installation. Return why there is none;
    None: there is one."""
    try:
        kernel = find_kernel(local_machine.cache_folder() / "kernels", None, progress)
    except (UserError, NumalabError) as error:
        return str(error)
    kept = prefix.root / "kernels" / kernel.image.parent.name
    partial = kept.with_name(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    if not kept.is_dir():
        shutil.copytree(kernel.image.parent, partial)
        partial.rename(kept)
    make_readable(prefix.root / "kernels")
    return None


def _write_command(prefix: Prefix) -> None:
    prefix.command.parent.mkdir(parents=True, exist_ok=True)
    kits = shlex.quote(str(prefix.root / "numalab"))
    write_whole(prefix.command, f'#!/bin/sh\nexec sh {kits} "$@"\n')
    prefix.command.chmod(0o755)


def _write_modulefiles(installation: Installation, wish: Wish) -> None:
    templates = installation.root / "grader" / "recipes" / "modules"
    for kind in KINDS:
        path = wish.prefix.modulefile(kind, __version__)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, modulefile(templates, kind, wish.prefix, __version__, wish.needs))


def _record(installation: Installation, wish: Wish) -> dict[str, object]:
    return {
        "version": __version__,
        "installed_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "installed_from": str(installation.root),
        "preset": installation.preset,
        "notebooks": wish.has_notebooks,
        "needs": list(wish.needs),
    }
