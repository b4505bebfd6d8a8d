"""Which file of a folder is read as the one that a lab asks for: the one of that name, or one that
stands for it where one is meant, by the choice that intake makes of hand-ins."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

from numalab.files import NotPlain, read_plain
from numalab.installation import Installation
from numalab.labs.declaration import FILE_BYTES, Lab
from numalab.labs.kernel_names import file_names, is_copy_name, meant_by
from numalab.labs.starting_code import digest_of
from numalab.untrusted.visible import shown


def found_file(installation: Installation, lab: Lab, folder: Path, name: str) -> Path:
    """Return the file to read as name; folder / name where no other is meant, which need not be
    there. In a folder of this copy the one of that name counts, whatever lies beside it."""
    asked = folder / name
    is_own = installation.is_own(folder)
    if is_own and os.path.lexists(asked):
        return asked
    try:
        others = [path for path in sorted(folder.iterdir()) if is_copy_name(path.name, name)]
    except OSError:
        return asked
    if not others:
        return asked
    read = []
    for path in (asked, *others):
        with contextlib.suppress(OSError, NotPlain):
            read.append((path.name, read_plain(path, FILE_BYTES, follow_links=is_own)))
    if os.path.lexists(asked) and name not in dict(read):
        return asked  # is told what is wrong with it
    given = starting_digests(installation, lab, name)
    meant = meant_by(name, read, lambda content: digest_of(name, content) in given)
    return asked if meant is None else folder / read[meant][0]


def starting_digests(installation: Installation, lab: Lab, name: str) -> Sequence[str]:
    """Return the digests of a file of the starting code, this release's first: of lab.toml, and of
    a variant, which each student has another one of, of what was built for it. None of them:
    there is no such file."""
    if name in lab.starting_code:
        return lab.starting_code[name]
    try:
        return (digest_of(name, (installation.pristine_folder(lab.name) / name).read_bytes()),)
    except OSError:
        return ()


def taken_words(installation: Installation, lab: Lab, language: str, folder: Path) -> Sequence[str]:
    """A sentence without a full stop for each file that is read in place of one that is asked
    for."""
    told = []
    for name in file_names(lab, language):
        found = found_file(installation, lab, folder, name)
        if found.name != name:
            told.append(f"{shown(found.name)} is taken as {name}")
    return told
