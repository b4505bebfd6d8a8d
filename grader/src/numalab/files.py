"""Files that appear whole or not at all, and such as may not be there."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from pathlib import Path
from typing import Any


def read_text(path: Path) -> str | None:
    """Without white space around it; None where it can't be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def read_json(path: Path) -> Any:
    """None where there is no such file, or no JSON in it."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def partial_path(path: Path) -> Path:
    """Where a file is written before it is renamed into place."""
    return path.with_name(f".{path.name}.partial")


def write_whole(path: Path, text: str) -> None:
    """Raises OSError; then the file is as it was, and nothing is left beside it."""
    partial = partial_path(path)
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        raise


def write_json(path: Path, data: Any, indent: int | None = 2) -> None:
    """As write_whole."""
    text = json.dumps(data, indent=indent, ensure_ascii=False, allow_nan=False)
    write_whole(path, text + "\n")


def link_or_copy(source: Path, target: Path) -> None:
    """The same file at a second place, or a copy where the file system has no links; for files
    that are never changed. Raises FileNotFoundError where there is no source, FileExistsError
    where there is a target, and OSError; then there is nothing at the target."""
    try:
        os.link(source, target)
    except (FileExistsError, FileNotFoundError):
        raise
    except OSError:
        partial = partial_path(target)
        try:
            shutil.copyfile(source, partial)
            partial.replace(target)
        except OSError:
            with contextlib.suppress(OSError):
                partial.unlink(missing_ok=True)
            raise
