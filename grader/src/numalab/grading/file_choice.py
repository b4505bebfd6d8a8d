"""The choice of the file of a folder that is read as one that a lab asks for, and whether files are
still starting code. The file of that name is read, or a renamed copy such as `kernel (1).c` where
one is clearly meant."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

from numalab.files import NotPlain, read_plain
from numalab.installation import Installation
from numalab.labs.declaration import FILE_BYTES, KERNEL_FILES, Lab
from numalab.labs.kernel_names import file_names, is_copy_name, meant_by
from numalab.labs.starting_code import digest_of, is_unchanged
from numalab.untrusted.visible import shown


def choose_file(installation: Installation, lab: Lab, folder: Path, name: str) -> Path:
    """Return the path of the file to read as `name`: folder / name, which may be missing, unless a
    copy is clearly meant. Among the user's own files the one of that name counts where it is there.
    """
    exact = folder / name
    is_own = installation.is_own(folder)
    if is_own and os.path.lexists(exact):
        return exact
    try:
        others = [path for path in sorted(folder.iterdir()) if is_copy_name(path.name, name)]
    except OSError:
        return exact
    if not others:
        return exact
    read = []
    for path in (exact, *others):
        with contextlib.suppress(OSError, NotPlain):
            read.append((path.name, read_plain(path, FILE_BYTES, follow_links=is_own)))
    if os.path.lexists(exact) and name not in dict(read):
        return exact  # can't be read, and the reader will say why
    given = starting_digests(installation, lab, name)
    meant = meant_by(name, read, lambda content: digest_of(name, content) in given)
    return exact if meant is None else folder / read[meant][0]


def starting_digests(installation: Installation, lab: Lab, name: str) -> Sequence[str]:
    """Return the digests of a file of the starting code; empty where there is no such file. They
    are lab.toml's, this release's first; for a file without any there, as of a variant, that of the
    file that the build keeps."""
    if name in lab.starting_code:
        return lab.starting_code[name]
    try:
        return (digest_of(name, (installation.pristine_folder(lab.name) / name).read_bytes()),)
    except OSError:
        return ()


def taken_words(installation: Installation, lab: Lab, language: str, folder: Path) -> Sequence[str]:
    """Return a sentence without a full stop for each file that is read under another name."""
    chosen = {
        name: choose_file(installation, lab, folder, name) for name in file_names(lab, language)
    }
    return [
        f"{shown(path.name)} is taken as {name}"
        for name, path in chosen.items()
        if path.name != name
    ]


# ---- starting code -------------------------------------------------------------------------------


def unchanged_files(installation: Installation, lab: Lab, language: str, folder: Path) -> list[str]:
    """Return the names of handed-in files, kernel and the lab's others, that are starting code byte
    for byte. A file of which the build keeps other starting code than this release's is not among
    them."""
    pristine = installation.pristine_folder(lab.name)
    unchanged = []
    for file, content in _contents(installation, lab, language, folder).items():
        with contextlib.suppress(OSError):
            is_kept = content == (pristine / file).read_bytes()
            digests = starting_digests(installation, lab, file)
            if is_kept and digest_of(file, content) in digests[:1]:
                unchanged.append(file)
    return unchanged


def _contents(
    installation: Installation, lab: Lab, language: str, folder: Path
) -> dict[str, bytes]:
    """Return the contents of handed-in files, by the name that the lab asks for, without those that
    can't be read."""
    found, follow_links = {}, installation.is_own(folder)
    for name in file_names(lab, language):
        with contextlib.suppress(OSError, NotPlain):
            path = choose_file(installation, lab, folder, name)
            found[name] = read_plain(path, FILE_BYTES, follow_links=follow_links)
    return found


def is_pristine(
    installation: Installation, lab: Lab, language: str, folder: Path, includes_files: bool = False
) -> bool:
    """Tell whether the kernel is starting code byte for byte. includes_files: and so are the lab's
    other files."""
    unchanged = unchanged_files(installation, lab, language, folder)
    files = [file.name for file in lab.files] if includes_files else []
    return {KERNEL_FILES[language], *files} <= set(unchanged)


def is_starting_code(installation: Installation, lab: Lab, language: str, folder: Path) -> bool:
    """Tell whether what was handed in, with the kernel in it, is starting code of this or an
    earlier release, but for comments and blanks."""
    found = _contents(installation, lab, language, folder)
    digests = {file: starting_digests(installation, lab, file) for file in found}
    return is_unchanged(found, digests, KERNEL_FILES[language])


def language_digests(installation: Installation, lab: Lab, language: str) -> dict[str, str]:
    """Return the digests of this release's starting code in a language, by file name."""
    found = {name: starting_digests(installation, lab, name) for name in file_names(lab, language)}
    return {name: digests[0] for name, digests in found.items() if digests}


def edited_languages(installation: Installation, lab: Lab) -> list[str]:
    """Return the languages in which the user has a kernel that differs from starting code."""
    folder = installation.own_folder(lab.name)
    return [
        language
        for language in lab.languages
        if (folder / KERNEL_FILES[language]).is_file()
        and not is_pristine(installation, lab, language, folder)
    ]
