"""Files that a user edits, apart from the files as they were given.

A user of an installation that many share has a folder of their own. It has what handouts speak of:
labs/NN_name/ with the files to edit, links to handouts, contracts and solutions, and the command,
so that `./numalab grade 01` works there. In an unpacked archive, the files to edit are in labs/
itself, and as they were given in installation.RELEASED.

Removed files are not put back. Starting code of an earlier release is replaced by this one's, and
kept in earlier_release/.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shlex
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from numalab.errors import NumalabError, reason_of
from numalab.files import MIB, NotPlain, read_plain, read_text, write_whole
from numalab.installation import RELEASED, Installation
from numalab.labs.declaration import Lab
from numalab.labs.kernel_names import NOTEBOOK, edited_names
from numalab.labs.starting_code import digest_of, is_of_earlier_release
from numalab.processes import shell_variables, starting

# Where files of an earlier release are kept, also by common/setup/unpacked.sh.
ASIDE = "earlier_release"
_LARGEST_FILE = 64 * MIB  # a notebook with its pictures
_MOST_COMMITS = 100

_OURS = "# Of numalab, which wrote it and brings it up to date."


def provide(installation: Installation, labs: Sequence[Lab], note: Callable[[str], None]) -> None:
    """Make the user's folder with the labs that it lacks, and bring starting code up to date. Where
    the user works in numalab's own folder, no folder is made. note: called with lines on where
    files are, and which were replaced. Raises NumalabError where files can't be written."""
    if installation.work is None:
        _bring_up_to_date(installation, labs, note)
        return
    new = [lab for lab in labs if not installation.own_folder(lab.name).exists()]
    try:
        _make_top(installation.root, installation.work)
        for lab in new:
            _copy(installation, lab)
        _bring_up_to_date(installation, labs, note)
        for lab in labs:
            for name in _read_only(installation, lab):
                _link(
                    installation.own_folder(lab.name) / name,
                    installation.lab_folder(lab.name) / name,
                )
    except OSError as error:
        raise NumalabError(
            f"your files of the labs can't be put into {installation.work}: {reason_of(error)}. "
            "Set NUMALAB_WORK to a folder that you may write to."
        ) from error
    if new:
        named = new[0].name if not new[1:] else f"{len(new)} labs"
        note(
            f"numalab: your files of {named} are in {installation.work / 'labs'}. Work in "
            f"{installation.work}"
        )


def _edited(installation: Installation, lab: Lab) -> list[str]:
    """Return the names of a lab's files that a user edits; in a shared installation without the
    notebook, which is opened as a copy."""
    return [name for name in edited_names(lab) if name != NOTEBOOK or installation.work is None]


def _bring_up_to_date(
    installation: Installation, labs: Sequence[Lab], note: Callable[[str], None]
) -> None:
    for lab in labs:
        given, own = installation.given_folder(lab.name), installation.own_folder(lab.name)
        for name in _edited(installation, lab) if given != own else ():
            try:
                _bring(installation, lab, given / name, own / name, note)
            except OSError as error:
                raise NumalabError(f"{own / name} can't be written: {reason_of(error)}") from error


def _bring(
    installation: Installation, lab: Lab, given: Path, own: Path, note: Callable[[str], None]
) -> None:
    try:
        content = read_plain(own, _LARGEST_FILE)
    except (FileNotFoundError, NotPlain):  # it was removed, or is a link to somewhere else
        return
    if (
        given.is_file()
        and content != given.read_bytes()
        and is_of_earlier_release(own.name, content, lab.starting_code.get(own.name, ()))
    ):
        kept = _put_aside(installation, own)
        write_whole(own, given.read_text("utf-8"))
        note(
            f"numalab: {installation.shown(own)} was the starting code of an earlier release, "
            f"and is this one's now. What it was is kept in {installation.shown(kept)}"
        )


def _put_aside(installation: Installation, path: Path) -> Path:
    """Copy a file to a new place below ASIDE, and return it."""
    kept = installation.work_root / ASIDE / path.relative_to(installation.work_root)
    kept.parent.mkdir(parents=True, exist_ok=True)
    places = itertools.chain(
        [kept], (kept.with_name(f"{kept.name}.{n}") for n in itertools.count(2))
    )
    free = next(place for place in places if not os.path.lexists(place))
    shutil.copy2(path, free)
    return free


# ---- starting code, by which edits are recognised ----------------------------------------------


def keep_starting_code(installation: Installation, labs: Sequence[Lab]) -> None:
    """Correct the starting code that the build keeps, where that was copied from an edited file or
    an earlier release. Where the correct text is not found, the kept one stays. Raises NumalabError
    where it can't be written."""
    for lab in labs:
        for name, (digest, *_) in lab.starting_code.items():
            kept = installation.pristine_folder(lab.name) / name
            try:
                now = kept.read_bytes()
                released = installation.lab_folder(lab.name) / RELEASED / name
                if released.is_file():
                    right: bytes | None = released.read_bytes()
                elif digest_of(name, now) == digest:
                    right = _committed_file(installation, lab, name, now)
                else:
                    texts = _texts(installation, lab, name)
                    right = next((text for text in texts if digest_of(name, text) == digest), None)
                if right is not None and right != now:
                    write_whole(kept, right.decode("utf-8"))
            except FileNotFoundError:
                continue  # this build has no such lab
            except OSError as error:
                raise NumalabError(f"{kept} can't be written: {reason_of(error)}") from error


def _texts(installation: Installation, lab: Lab, name: str) -> Iterator[bytes]:
    """Yield texts that may be the starting code: the file's own, those that the build folder has
    kept, and those of the last commits to it, the newest first."""
    for path in (
        installation.lab_folder(lab.name) / name,
        *installation.build.glob(f"handouts/*/{lab.name}/{name}"),
    ):
        with contextlib.suppress(OSError):
            yield path.read_bytes()
    file = f"labs/{lab.name}/{name}"
    commits = _git(installation, "log", f"-{_MOST_COMMITS}", "--format=%H", "--", file) or ""
    for commit in commits.split():
        text = _git(installation, "show", f"{commit}:{file}")
        if text is not None:
            yield text.encode()


def _committed_file(installation: Installation, lab: Lab, name: str, kept: bytes) -> bytes | None:
    """Return a checkout's file if it is as committed and differs from the kept one in comments and
    blanks only, as after a git pull; else None."""
    path = installation.lab_folder(lab.name) / name
    now = path.read_bytes() if path.is_file() else kept
    if now == kept or digest_of(name, now) != digest_of(name, kept):
        return None
    committed = _git(installation, "show", f"HEAD:labs/{lab.name}/{name}")
    return now if committed is not None and committed.encode() == now else None


def _git(installation: Installation, *words: str) -> str | None:
    """Return the output of a git command in the checkout; None where it fails or is missing."""
    command = ["git", "-C", str(installation.root), "-c", "safe.directory=*", *words]
    try:
        done = starting.run(command, shell_variables.builder_environment())
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


# ---- a user's folder of a shared installation --------------------------------------------------


def _read_only(installation: Installation, lab: Lab) -> list[str]:
    headers = sorted(path.name for path in installation.lab_folder(lab.name).glob("*.h"))
    return ["README.md", *headers]


def _make_top(root: Path, work: Path) -> None:
    """Make the user's folder, with the command and a link to the solutions. A command that numalab
    has not written stays."""
    if not work.is_dir():
        work.parent.mkdir(parents=True, exist_ok=True)
        work.mkdir(mode=0o700)
    (work / "labs").mkdir(exist_ok=True)
    _link(work / "solutions", root / "solutions")
    command = work / "numalab"
    text = f'#!/bin/sh\n{_OURS}\nexec sh {shlex.quote(str(root / "numalab"))} "$@"\n'
    present = read_text(command)
    if present is None or (_OURS in present and present != text.strip()):
        write_whole(command, text)
        command.chmod(0o755)


def _copy(installation: Installation, lab: Lab) -> None:
    """Copy a lab's files to edit into its folder, which appears with all of them or not at all."""
    final = installation.own_folder(lab.name)
    partial = final.with_name(f".{lab.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    for name in _edited(installation, lab):
        source = installation.given_folder(lab.name) / name
        if source.is_file():
            shutil.copyfile(source, partial / name)  # not its mode, which may be read-only
    partial.rename(final)


def _link(path: Path, target: Path) -> None:
    """Make a link, or correct where it leads, unless the user has put a file or folder in its
    place."""
    if path.is_symlink():
        if path.readlink() == target:
            return
        path.unlink()
    if not path.exists():
        path.symlink_to(target)
