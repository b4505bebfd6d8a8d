"""Whether files are still the handout's."""

from __future__ import annotations

import contextlib
from pathlib import Path

from numalab.files import NotPlain, read_plain
from numalab.grading.found_files import found_file, starting_digests
from numalab.installation import Installation
from numalab.labs.declaration import FILE_BYTES, KERNEL_FILES, Lab
from numalab.labs.kernel_names import file_names
from numalab.labs.starting_code import digest_of, is_unchanged


def unchanged_files(installation: Installation, lab: Lab, language: str, folder: Path) -> list[str]:
    """The kernel and the files beside it, as far as they are still the handout's, byte for byte;
    none where what was kept as the handout is not what lab.toml says that it is."""
    pristine = installation.pristine_folder(lab.name)
    unchanged = []
    follow = installation.is_own(folder)
    for file in file_names(lab, language):
        with contextlib.suppress(OSError, NotPlain):
            content = read_plain(
                found_file(installation, lab, folder, file), FILE_BYTES, follow_links=follow
            )
            is_kept = content == (pristine / file).read_bytes()
            if (
                is_kept
                and digest_of(file, content) in starting_digests(installation, lab, file)[:1]
            ):
                unchanged.append(file)
    return unchanged


def is_pristine(
    installation: Installation, lab: Lab, language: str, folder: Path, with_placements: bool = False
) -> bool:
    """Whether the kernel is still the handout; with_placements: and the placement files, which
    both languages share."""
    unchanged = unchanged_files(installation, lab, language, folder)
    files = [file.name for file in lab.files] if with_placements else []
    return {KERNEL_FILES[language], *files} <= set(unchanged)


def is_starting_code(installation: Installation, lab: Lab, language: str, folder: Path) -> bool:
    """Return whether all that was handed in is the starting code: kernel and files of the lab, and
    none that says anything else, whatever comments and blanks they have."""
    found = {}
    for file in file_names(lab, language):
        with contextlib.suppress(OSError, NotPlain):
            found[file] = read_plain(
                found_file(installation, lab, folder, file),
                FILE_BYTES,
                follow_links=installation.is_own(folder),
            )
    digests = {file: starting_digests(installation, lab, file) for file in found}
    return is_unchanged(found, digests, KERNEL_FILES[language])


def language_digests(installation: Installation, lab: Lab, language: str) -> dict[str, str]:
    """Return the digest of each file of the starting code of a language, by its name."""
    found = {name: starting_digests(installation, lab, name) for name in file_names(lab, language)}
    return {name: digests[0] for name, digests in found.items() if digests}


def edited_languages(installation: Installation, lab: Lab) -> list[str]:
    """Those whose kernel in labs/ is not the handout any more."""
    folder = installation.own_folder(lab.name)
    return [
        language
        for language in lab.languages
        if (folder / KERNEL_FILES[language]).is_file()
        and not is_pristine(installation, lab, language, folder)
    ]
