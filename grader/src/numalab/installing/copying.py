"""The files of an installation: those of the copy from which it is made, without its history, suite
and benchmarks and what is known to be made by working in it."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path

from numalab.errors import UserError
from numalab.grading.file_choice import unchanged_files
from numalab.installation import RECORD, Installation
from numalab.labs.declaration import Lab
from numalab.labs.kernel_names import file_names

# What is made by working in a copy, and its history, suite and benchmarks.
_LEFT_OUT = (
    ".git", ".venv", ".venv.lock", "build", "notebooks", "variants", "kernels", ".installing",
    RECORD, "earlier_release", ".ci", "grader/tests", "grader/bench", "labs/*/explanation.txt",
)  # fmt: skip
_NAMES_LEFT_OUT = ("__pycache__", ".hypothesis", "*.pyc", "*.mod", ".*_cache", ".ipynb_checkpoints")


def numalab_files(root: Path) -> Iterator[Path]:
    """Yield the files that an installation takes of a copy, as paths from the root. Folders that
    are links are not among them, nor what they hold."""
    for folder, folders, files in os.walk(root):
        here = Path(folder).relative_to(root)
        folders[:] = sorted(name for name in folders if not _is_left_out(here / name))
        yield from (here / name for name in sorted(files) if not _is_left_out(here / name))


def _is_left_out(path: Path) -> bool:
    whole = path.as_posix()
    return any(fnmatch(whole, pattern) for pattern in _LEFT_OUT) or any(
        fnmatch(path.name, pattern) for pattern in _NAMES_LEFT_OUT
    )


def check_handouts(installation: Installation, labs: Sequence[Lab]) -> None:
    """Raise UserError where files in labs/ that are handed in differ from the starting code that
    the build keeps: all users would get them so."""
    edited = [
        f"labs/{lab.name}/{name}"
        for lab in labs
        for language in lab.languages
        for name in file_names(lab, language)
        if (installation.pristine_folder(lab.name) / name).is_file()
        and name
        not in unchanged_files(installation, lab, language, installation.lab_folder(lab.name))
    ]
    if edited:
        named = ", ".join(dict.fromkeys(edited))
        raise UserError(
            f"{named}: no longer the handout, and the whole class would get it so. Install from a "
            "checkout in which nobody has worked (git clone), or take the handout back (git "
            "checkout labs)."
        )


def copy_files(source: Path, target: Path, files: Iterable[Path]) -> int:
    """Copy files, links as links, and return how many they are. files: paths from both folders.
    Their times are the present, so that builds of an earlier installation at the same place are out
    of date. A file at a copy's path is replaced."""
    number = 0
    for path in files:
        number += 1
        copy = target / path
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.unlink(missing_ok=True)
        if (source / path).is_symlink():
            copy.symlink_to((source / path).readlink())
            continue
        shutil.copyfile(source / path, copy)
        is_program = (source / path).stat().st_mode & stat.S_IXUSR
        copy.chmod(0o755 if is_program else 0o644)
    return number


def make_readable(top: Path) -> None:
    """Let all users read a folder and its content, and take the right to write from group and
    others. Links stay as they are."""
    for folder, _, files in os.walk(top):
        for path in (Path(folder), *(Path(folder) / name for name in files)):
            mode = path.lstat().st_mode
            if stat.S_ISLNK(mode):
                continue
            reading = 0o555 if stat.S_ISDIR(mode) or mode & stat.S_IXUSR else 0o444
            path.chmod((stat.S_IMODE(mode) | reading) & ~0o022)
