"""Checks that a build folder is this installation's, and that builds can be made there, and the
choice of compilers.

CMake writes absolute paths into a build. Where numalab was copied together with its build, these
are still the original's, whose kernels would be compiled and graded; where it was moved, they lead
nowhere.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from numalab.errors import NumalabError, UserError, reason_of, wrapped
from numalab.installation import Installation
from numalab.processes import shell_variables, starting

# Folders that CMake and Ninja make in a build folder. Others there stay, such as results and
# starting code as it was given.
_BUILT = ("CMakeFiles", "Testing", "common", "labs", "slides", "submissions")
_LOCK = "lock"  # held while a command builds
# A value with a blank at an end has quotes around it.
_ENTRY = re.compile(r"^(CMAKE_\w+):\w+=('?)(.*)\2$", re.MULTILINE)
# Characters that have a meaning of their own for CMake or Ninja, as in common/setup/folder.sh.
UNUSABLE = '[]$;#"\\|<>\n\r'
OTHER_FOLDER_REMEDY = "set NUMALAB_BUILD to a folder elsewhere"


def say(text: str) -> None:
    """Print a message to standard error."""
    print(wrapped(f"numalab: {text}"), file=sys.stderr, flush=True)


def _is_same(name: str | None, folder: Path) -> bool:
    try:
        return name is not None and Path(name).samefile(folder)
    except OSError:
        return False


def drop_foreign_build(installation: Installation) -> None:
    """Remove a build that was made from another folder, for another build folder, or later than
    now, and print a line.

    Files in the build folder are removed, but for _LOCK, and of its folders those of _BUILT. Raises
    UserError where the folder is another project's, and NumalabError where something can't be
    removed.
    """
    try:
        cache = os.fsdecode(
            (installation.build / "CMakeCache.txt").read_bytes()
        )  # its paths need be no text
    except OSError:
        if not (installation.build / "build.ninja").exists():
            return
        cache = ""
    entries = {name: value for name, _, value in _ENTRY.findall(cache)}
    source = entries.get("CMAKE_HOME_DIRECTORY", "another folder")
    if _is_same(source, installation.root) and _is_same(
        entries.get("CMAKE_CACHEFILE_DIR"), installation.build
    ):
        if not _is_from_the_future(installation.build):
            return
        why = "later than now, by this machine's clock; building anew"
    else:
        why = f"from {source}; building anew from {installation.root}"
    if entries.get("CMAKE_PROJECT_NAME", "numalab") != "numalab":
        raise UserError(
            f"{installation.build} is the build folder of another project, {source}; "
            f"{OTHER_FOLDER_REMEDY}."
        )
    say(f"{installation.build} was built {why}")
    try:
        for path in installation.build.iterdir():
            if path.is_dir() and not path.is_symlink():
                if path.name in _BUILT:
                    shutil.rmtree(path)
            elif path.name != _LOCK:
                path.unlink()
    except OSError as error:
        raise NumalabError(
            f"can't remove what was built {why.split(';')[0]} from {installation.build}: "
            f"{reason_of(error)}. Remove that folder."
        ) from error


def _is_from_the_future(build: Path) -> bool:
    """Tell whether Ninja's log is dated later than now, as after the clock was set back: a source
    that is changed now would be older than what was built from it."""
    try:
        ended_s = (build / ".ninja_log").stat().st_mtime
        if ended_s <= time.time():
            return False
        with tempfile.NamedTemporaryFile(dir=build, prefix=".now-") as now:
            # By the clock of the file system, which may be a server's.
            return ended_s > Path(now.name).stat().st_mtime
    except OSError:
        return False


def check_build_folder(installation: Installation) -> None:
    """Make the build folder, and check that programs can be run there and that CMake can use its
    path and the root's. Raises UserError where one of that fails."""
    for folder, remedy in (
        (installation.root, "move numalab"),
        (installation.build, OTHER_FOLDER_REMEDY),
    ):
        unusable = sorted(set(UNUSABLE).intersection(str(folder.resolve())))
        if unusable:
            raise UserError(
                f"CMake can't build in {folder.resolve()}: its path has "
                f"{' '.join(map(_name, unusable))}. Rename that folder, or {remedy}."
            )
    try:
        runs_programs = _runs_programs(installation.build)
    except OSError as error:
        raise UserError(
            f"can't write to {installation.build}: {reason_of(error)}. Make room there, or "
            f"{OTHER_FOLDER_REMEDY}."
        ) from error
    if not runs_programs:
        raise UserError(
            f"programs can't be run in {installation.build}: it is on a file system without "
            "execute "
            f"permissions, or mounted noexec. Move numalab to your home folder on this machine, or "
            f"{OTHER_FOLDER_REMEDY}."
        )


def _name(character: str) -> str:
    return {"\n": "a line end", "\r": "a carriage return"}.get(character, character)


def _runs_programs(folder: Path) -> bool:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".runs-") as inside:
        program = Path(inside) / "program"
        program.write_text("#!/bin/sh\n")
        try:
            program.chmod(0o700)
            return starting.run([program], {}).returncode == 0
        except PermissionError:
            return False


# ---- compilers -----------------------------------------------------------------------------------


_CLANGS = ("clang-19", "clang-20", "clang-21", "clang-18", "clang-17", "clang")
_LLVM_PRESETS = ("llvm", "fuzz")
_VERSION_LIMIT_S = 20


def says_version(compiler: str) -> str:
    """Return what a compiler prints for --version; empty where it can't run or takes too long."""
    environment = shell_variables.builder_environment()
    return starting.version_text(compiler, environment, _VERSION_LIMIT_S)


def _is_gnu(compiler: str, *, is_fortran: bool) -> bool:
    text = says_version(compiler)
    return "Free Software Foundation" in text and ("GNU Fortran" in text) == is_fortran


def chosen_compilers(preset: str, environment: Mapping[str, str]) -> list[str]:
    """Return options for CMake that override the preset's compilers.

    CC and FC count by what they print for --version: FC if that is gfortran's; CC if it is of
    another of GNU's compilers, or for a preset of _LLVM_PRESETS if it has "clang". Others, such as
    icx and ifx that a module has set, are ignored. Without such a CC, those presets get the first
    of _CLANGS that is installed. environment: has CC and FC, if they are set.
    """
    c_compiler, fortran = environment.get("CC", ""), environment.get("FC", "")
    chosen = []
    if preset in _LLVM_PRESETS:
        if not (c_compiler and "clang" in says_version(c_compiler)):
            c_compiler = next((name for name in _CLANGS if shutil.which(name)), "")
        if c_compiler:
            chosen.append(f"-DCMAKE_C_COMPILER={c_compiler}")
    elif c_compiler and _is_gnu(c_compiler, is_fortran=False):
        chosen.append(f"-DCMAKE_C_COMPILER={c_compiler}")
    if fortran and _is_gnu(fortran, is_fortran=True):
        chosen.append(f"-DCMAKE_Fortran_COMPILER={fortran}")
    return chosen
