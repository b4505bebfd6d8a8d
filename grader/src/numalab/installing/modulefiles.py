"""Modulefiles of an installation, for Lmod and for Environment Modules."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from numalab.errors import UserError
from numalab.installing.prefix import Prefix

# As modules are named: foss/2024a, GCC/13.3.0, mpi/openmpi-4.1
_MODULE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+/-]*")
_SUFFIXES = {"lmod": "lua", "tcl": "tcl"}
_NEEDING = {"lmod": 'depends_on("{}")', "tcl": "module load {}"}


def check_needs(needs: Sequence[str]) -> None:
    """Raises UserError for what is no module's name."""
    for name in needs:
        if not _MODULE.fullmatch(name):
            raise UserError(f"--needs {name}: that is no module's name, such as GCC/13.3.0")


def modulefile(
    templates: Path, kind: str, prefix: Prefix, version: str, needs: Sequence[str]
) -> str:
    """templates: the folder with both; kind: lmod, tcl; needs: modules that are loaded with it.
    Raises OSError."""
    text = (templates / f"numalab.{_SUFFIXES[kind]}").read_text(encoding="utf-8")
    lines = "\n".join(_NEEDING[kind].format(name) for name in needs)
    text = text.replace("@NEEDS@\n", f"{lines}\n" if lines else "")
    return text.replace("@PREFIX@", str(prefix.path)).replace("@VERSION@", version)
