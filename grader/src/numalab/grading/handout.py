"""Find out whether files are still starting code."""

from __future__ import annotations

import contextlib
from pathlib import Path

from numalab.files import NotPlain, read_plain
from numalab.grading.file_choice import choose_file, starting_digests
from numalab.installation import Installation
from numalab.labs.declaration import FILE_BYTES, KERNEL_FILES, Lab
from numalab.labs.kernel_names import file_names
from numalab.labs.starting_code import digest_of, is_unchanged


def unchanged_files(installation: Installation, lab: Lab, language: str, folder: Path) -> list[str]:
    """Return the names of handed-in files that are starting code byte for byte: of the kernel and
    the lab's other files. None counts where the build keeps another starting code than lab.toml
    names."""
    pristine = installation.pristine_folder(lab.name)
    unchanged = []
    follow = installation.is_own(folder)
    for file in file_names(lab, language):
        with contextlib.suppress(OSError, NotPlain):
            content = read_plain(
                choose_file(installation, lab, folder, file), FILE_BYTES, follow_links=follow
            )
            is_kept = content == (pristine / file).read_bytes()
            if (
                is_kept
                and digest_of(file, content) in starting_digests(installation, lab, file)[:1]
            ):
                unchanged.append(file)
    return unchanged


def is_pristine(
    installation: Installation, lab: Lab, language: str, folder: Path, includes_files: bool = False
) -> bool:
    """Tell whether the kernel is starting code; includes_files: and the lab's other files, which
    both languages share."""
    unchanged = unchanged_files(installation, lab, language, folder)
    files = [file.name for file in lab.files] if includes_files else []
    return {KERNEL_FILES[language], *files} <= set(unchanged)


def is_starting_code(installation: Installation, lab: Lab, language: str, folder: Path) -> bool:
    """Tell whether all that was handed in is starting code, kernel and files of the lab, whatever
    comments and blanks they have."""
    found = {}
    for file in file_names(lab, language):
        with contextlib.suppress(OSError, NotPlain):
            found[file] = read_plain(
                choose_file(installation, lab, folder, file),
                FILE_BYTES,
                follow_links=installation.is_own(folder),
            )
    digests = {file: starting_digests(installation, lab, file) for file in found}
    return is_unchanged(found, digests, KERNEL_FILES[language])


def language_digests(installation: Installation, lab: Lab, language: str) -> dict[str, str]:
    """Return the digests of a language's starting code, by file name."""
    found = {name: starting_digests(installation, lab, name) for name in file_names(lab, language)}
    return {name: digests[0] for name, digests in found.items() if digests}


def edited_languages(installation: Installation, lab: Lab) -> list[str]:
    """Return the languages whose kernel among the user's files is not starting code any more."""
    folder = installation.own_folder(lab.name)
    return [
        language
        for language in lab.languages
        if (folder / KERNEL_FILES[language]).is_file()
        and not is_pristine(installation, lab, language, folder)
    ]
