"""Which compilers the kit is built with, where a preset's own names are not what a site has:
modules, conda and Spack name theirs in CC and FC, and not every clang is called clang-19."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Mapping

from numalab.processes import shell_variables, starting

_CLANGS = ("clang-19", "clang-20", "clang-21", "clang-18", "clang-17", "clang")
_LLVM_PRESETS = ("llvm", "fuzz")
_VERSION_LIMIT_S = 20

Says = Callable[[str], str]
"""What a compiler prints of itself when it is asked for its version; nothing where it can't run."""


def says_version(compiler: str) -> str:
    try:
        done = starting.run(
            [compiler, "--version"], shell_variables.builder_environment(), limit_s=_VERSION_LIMIT_S
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout


def _is_gnu(compiler: str, says: Says) -> bool:
    return "Free Software Foundation" in says(compiler)


def chosen_compilers(
    preset: str,
    environment: Mapping[str, str],
    says: Says = says_version,
    which: Callable[[str], str | None] = shutil.which,
) -> list[str]:
    """Options for CMake beside the preset's. CC and FC count where they name compilers of the
    preset's kind: gcc (clang for llvm) and gfortran. Another one, such as a vendor's that a module
    has set, is left alone, since the kit knows no other."""
    c_compiler, fortran = environment.get("CC", ""), environment.get("FC", "")
    chosen = []
    if preset in _LLVM_PRESETS:
        if not (c_compiler and "clang" in says(c_compiler)):
            c_compiler = next((name for name in _CLANGS if which(name)), "")
        if c_compiler:
            chosen.append(f"-DCMAKE_C_COMPILER={c_compiler}")
    elif c_compiler and _is_gnu(c_compiler, says):
        chosen.append(f"-DCMAKE_C_COMPILER={c_compiler}")
    if fortran and _is_gnu(fortran, says):
        chosen.append(f"-DCMAKE_Fortran_COMPILER={fortran}")
    return chosen
