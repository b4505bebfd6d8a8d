"""Import the Python of labs, labs/NN_name/grading/*.py: rules, questions and experiments
(NAME_experiment*.py). The modules are imported by their file's name, from the root of numalab's own
copy."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType

from numalab.errors import UserError

ROOT = Path(__file__).resolve().parents[4]  # of numalab's own copy
EXPERIMENTS = "*_experiment*.py"  # pattern of the names of modules that measure and don't judge


class _Finder(MetaPathFinder):
    """An import finder that finds the modules of labs by their names."""

    def __init__(self, files: Mapping[str, Path]) -> None:
        self.files = files

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        file = self.files.get(fullname) if path is None else None
        return None if file is None else spec_from_file_location(fullname, file)


def module_files(root: Path = ROOT) -> dict[str, Path]:
    """Return the files of labs' modules, by the module's name. root: numalab's."""
    return {path.stem: path for path in sorted(root.glob("labs/[0-9]*/grading/*.py"))}


@cache
def make_importable() -> Mapping[str, Path]:
    """Let import statements find the labs' modules, and return their files by name."""
    files = module_files()
    sys.meta_path.insert(0, _Finder(files))
    return files


@cache
def load_all() -> None:
    """Import labs' modules except those of experiments, so that what they register is there."""
    for name, path in make_importable().items():
        if not path.match(EXPERIMENTS):
            import_module(name)


@cache
def load_experiments() -> None:
    """Import labs' experiments (NAME_experiment.py), so that what they register is there."""
    for name, path in make_importable().items():
        if path.match("*_experiment.py"):
            import_module(name)


def need_module(name: str, lab: str) -> None:
    """Make labs' modules importable, and check that one is there. name: the module's; lab: what
    messages call the lab. Raises UserError where this copy of numalab lacks the module."""
    if name not in make_importable():
        raise UserError(f"this copy of numalab does not have {lab}, which this command belongs to")
