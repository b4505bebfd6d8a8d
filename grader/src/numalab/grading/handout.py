"""Whether files are still the handout's."""

from __future__ import annotations

import contextlib
from pathlib import Path

from numalab.files import NotPlain, read_plain
from numalab.kit import Kit
from numalab.labs.declaration import FILE_BYTES, KERNEL_FILES, Lab
from numalab.labs.starting_code import digest_of, is_unchanged


def unchanged_files(kit: Kit, lab: Lab, language: str, folder: Path) -> list[str]:
    """The kernel and the files beside it, as far as they are still the handout's, byte for
    byte."""
    pristine = kit.pristine_folder(lab.name)
    unchanged = []
    follow = kit.is_own(folder)
    for file in (KERNEL_FILES[language], *(file.name for file in lab.files)):
        with contextlib.suppress(OSError, NotPlain):
            content = read_plain(folder / file, FILE_BYTES, follow_links=follow)
            if content == (pristine / file).read_bytes():
                unchanged.append(file)
    return unchanged


def is_pristine(
    kit: Kit, lab: Lab, language: str, folder: Path, with_placements: bool = False
) -> bool:
    """Whether the kernel is still the handout; with_placements: and the placement files, which
    both languages share."""
    unchanged = unchanged_files(kit, lab, language, folder)
    files = [file.name for file in lab.files] if with_placements else []
    return {KERNEL_FILES[language], *files} <= set(unchanged)


def is_starting_code(kit: Kit, lab: Lab, language: str, folder: Path) -> bool:
    """Return whether all that was handed in is the starting code: kernel and files of the lab, and
    none that says anything else, whatever comments and blanks they have. The digests of lab.toml
    tell it, and of a variant, which each student has another one of, what was built for it."""
    kernel, found = KERNEL_FILES[language], {}
    names = (kernel, *(file.name for file in lab.files))
    for file in names:
        with contextlib.suppress(OSError, NotPlain):
            found[file] = read_plain(folder / file, FILE_BYTES, follow_links=kit.is_own(folder))
    digests = dict(lab.starting_code)
    pristine = kit.pristine_folder(lab.name)
    for file in () if digests else names:
        with contextlib.suppress(OSError):
            digests[file] = digest_of(file, (pristine / file).read_bytes())
    return is_unchanged(found, digests, kernel)


def edited_languages(kit: Kit, lab: Lab) -> list[str]:
    """Those whose kernel in labs/ is not the handout any more."""
    folder = kit.own_folder(lab.name)
    return [
        language
        for language in lab.languages
        if (folder / KERNEL_FILES[language]).is_file()
        and not is_pristine(kit, lab, language, folder)
    ]
