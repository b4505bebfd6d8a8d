"""Snapshots: states of booted guests, kept so that the next start is faster than a boot.

Each is a file that is named by a digest of what it depends on, and that appears whole or not at
all. Where together they are too large, those used last stay, as far as they fit.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

# Of how snapshots are made and kept; a part of each key. A new value makes all kept snapshots
# useless: it is not a release's number, and changes only where old ones would not work.
FORMAT = "0.1.0"
MOST_BYTES = 10**9
_NEW = ".new-"  # the prefix of a file that is still being written, where it has to have a name
_LEFT_S = 3600  # age from which on such a file counts as left over


def key_of(parts: Sequence[str]) -> str:
    """Return the key of a snapshot that depends on these parts: 32 hexadecimal digits."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


@dataclass(frozen=True)
class Store:
    """A folder of snapshots, made when one is written. most_bytes: of all together."""

    folder: Path
    most_bytes: int = MOST_BYTES

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.state"

    def read_state(self, key: str) -> int | None:
        """Return a descriptor to read a snapshot from, which the caller closes; None where there is
        no snapshot that can be read. Notes its use in the file's time."""
        try:
            file = os.open(self._path(key), os.O_RDONLY)
        except OSError:
            return None
        with contextlib.suppress(OSError):
            os.utime(file)  # used last now
        return file

    def drop(self, key: str) -> None:
        """Remove a snapshot, if there is one."""
        self._path(key).unlink(missing_ok=True)

    @contextlib.contextmanager
    def writing(self, key: str) -> Iterator[int | None]:
        """Yield a descriptor to write a snapshot to, which is kept, as far as it fits (_tidy), if
        the block ends without an exception; one of the same key may stay instead. Yield None where
        no file can be made.

        Where the file system allows, the file has no name before that, so that a process that is
        killed leaves nothing behind.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            file, name = self._new_file()
        except OSError:
            yield None
            return
        try:
            yield file
            self._give_name(file, name, key)
            self._tidy(key)
        finally:
            os.close(file)
            if name is not None:
                name.unlink(missing_ok=True)

    def _new_file(self) -> tuple[int, Path | None]:
        """Make a file, and return its descriptor and its name; None: it has no name. Where it needs
        one, files that were left longer than _LEFT_S ago are removed."""
        try:
            return os.open(self.folder, os.O_TMPFILE | os.O_RDWR, 0o600), None
        except OSError:
            for path in self.folder.glob(f"{_NEW}*"):
                with contextlib.suppress(OSError):
                    if time.time() - path.stat().st_mtime > _LEFT_S:
                        path.unlink()
            file, made = tempfile.mkstemp(prefix=_NEW, dir=self.folder)
            return file, Path(made)

    def _give_name(self, file: int, name: Path | None, key: str) -> None:
        if name is not None:
            name.replace(self._path(key))
            return
        # Only with a folder's descriptor does Python follow the link to the open file.
        descriptors = os.open("/proc/self/fd", os.O_PATH)
        try:
            with contextlib.suppress(FileExistsError):
                os.link(str(file), self._path(key), src_dir_fd=descriptors, follow_symlinks=True)
        finally:
            os.close(descriptors)

    def _tidy(self, keep: str) -> None:
        """Go through the snapshots, the one just written (keep) first, then from the one used last
        on, and remove each with which those that stay would exceed most_bytes."""
        files = []
        for path in self.folder.glob("*.state"):
            with contextlib.suppress(OSError):
                status = path.stat()
                files.append((path != self._path(keep), -status.st_mtime, status.st_size, path))
        total = 0
        for _, _, size, path in sorted(files):
            if total + size > self.most_bytes:
                path.unlink(missing_ok=True)
            else:
                total += size
