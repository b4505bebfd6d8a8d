"""Where a job builds and grades: a folder among the temporary ones of its machine."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from numalab.errors import UserError, reason_of

FOLDER = "numalab-batch-"  # how the name of a job's folder begins
_OWNED = "owned"  # the file in it that the job keeps locked as long as it lives
_UNLOCKED = f"{_OWNED}.new"  # that file's name until it is locked
_YOUNG_S = 60  # a younger folder without that file may be one that is just being made
ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)  # signals by which a job is ended


@contextmanager
def node_folder() -> Iterator[Path]:
    """Yield a new folder for this job among this machine's temporary ones, and remove it
    afterwards, even if signals to end arrive while it is made or removed. Folders of killed jobs
    are removed, too, as far as possible. Raises UserError if it can't be made."""
    heard = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        try:
            folder = Path(tempfile.mkdtemp(prefix=FOLDER))
            # The file is renamed once it is locked: until then the folder counts as just being
            # made.
            unlocked = folder / _UNLOCKED
            file = unlocked.open("w")
        except OSError as error:
            raise UserError(
                f"this node has no folder for temporary files ({reason_of(error)}); set TMPDIR"
            ) from error
        try:
            with file:
                with suppress(OSError):  # without locks such folders are never removed
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    unlocked.rename(folder / _OWNED)
                    remove_stale_workdirs(folder.parent)
                signal.pthread_sigmask(signal.SIG_SETMASK, heard)
                yield folder
        finally:
            signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
            with suppress(OSError):  # then the next job tries
                _remove(folder)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, heard)


def remove_stale_workdirs(parent: Path | None = None) -> None:
    """Remove folders of this user's jobs that ended without removing them, as far as possible.
    parent: where they lie; None: this process's folder for temporary files."""
    for folder in (parent or Path(tempfile.gettempdir())).glob(f"{FOLDER}*"):
        with suppress(OSError):
            if folder.lstat().st_uid == os.geteuid():
                _remove_if_dead(folder)


def _remove_if_dead(folder: Path) -> None:
    """Remove a folder unless it is just being made; raise OSError if its job is alive and holds
    it."""
    for name in (_OWNED, _UNLOCKED):
        if (folder / name).is_file():
            with (folder / name).open("r+") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if name == _OWNED or time.time() - folder.stat().st_mtime > _YOUNG_S:
                    _remove(folder)
            return
    if time.time() - folder.stat().st_mtime > _YOUNG_S:
        _remove(folder)


def _make_accessible(folder: Path) -> None:
    """Make folders accessible again that an untrusted program has closed, so that what is left in
    them can be removed."""
    for place, folders, _ in os.walk(folder):
        for name in (".", *folders):
            path = Path(place, name)
            if not path.is_symlink():
                with suppress(OSError):
                    path.chmod(0o700)


def _remove(folder: Path) -> None:
    """Remove a folder, with the file that marks its owner last. If a job that is being killed, or a
    grading that outlives it, writes to it meanwhile, the folder stays."""
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
            _make_accessible(path)
            shutil.rmtree(path, ignore_errors=True)
        elif path.name not in (_OWNED, _UNLOCKED):
            path.unlink(missing_ok=True)
    if all(path.name in (_OWNED, _UNLOCKED) for path in folder.iterdir()):
        shutil.rmtree(folder, ignore_errors=True)
