"""What of the kit a result depends on, in one number: when it changes, a class is graded anew."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from numalab.kit import Kit

# Made beside the sources by those who run or look at them.
_NOT_SOURCES = ("__pycache__", ".ipynb_checkpoints")


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not any(name in path.parts for name in _NOT_SOURCES):
            yield path


def _digest_of(root: Path, folders: Iterable[str]) -> bytes:
    digest = hashlib.sha256()
    for folder in folders:
        for path in _files(root / folder):
            content = path.read_bytes()
            # Lengths, so that no two trees have one digest by where a file ends.
            digest.update(f"{path.relative_to(root).as_posix()}\0{len(content)}\0".encode())
            digest.update(content)
    return digest.digest()


@lru_cache(maxsize=4)
def _shared(root: Path) -> bytes:
    return _digest_of(root, ("common", "grader/src"))


def kit_digest(kit: Kit, lab: str) -> str:
    """SHA-256 over the grader, common/, and the lab with its solution, as they lie in the
    checkout. Raises OSError."""
    own = _digest_of(kit.root, (f"labs/{lab}", f"solutions/{lab}"))
    return hashlib.sha256(_shared(kit.root) + own).hexdigest()
