"""States of booted guests, kept so that the next start takes a second or two.

One file each, named by all that it depends on. The least recently used ones go when
together they are too large. A file appears whole or not at all.
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

# Of how states are made and kept, beside what a key is made of. Another one forgets all states that
# users have: it is no release's number, and changes only where old states would not do.
FORMAT = "0.1.0"
MOST_BYTES = 10**9
_NEW = ".new-"  # how one begins that is being written under a name
_LEFT_S = 3600  # since it was written to: its process is gone


def key_of(parts: Sequence[str]) -> str:
    """Return the name of a snapshot that depends on these parts."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


@dataclass(frozen=True)
class Store:
    folder: Path
    most_bytes: int = MOST_BYTES

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.state"

    def read_state(self, key: str) -> int | None:
        """Return a descriptor to read a snapshot from, None where there is none."""
        try:
            file = os.open(self._path(key), os.O_RDONLY)
        except OSError:
            return None
        with contextlib.suppress(OSError):
            os.utime(file)  # used last now
        return file

    def drop(self, key: str) -> None:
        self._path(key).unlink(missing_ok=True)

    @contextlib.contextmanager
    def writing(self, key: str) -> Iterator[int | None]:
        """Yield a descriptor to write a snapshot to, which is kept if the block ends well; None
        where there can be no file.

        Where the file system can have such files, it has no name till then, so that a killed
        process leaves none.
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
        """Raises OSError."""
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
        """Remove the oldest beyond the limit; the one just written stays if it can."""
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
