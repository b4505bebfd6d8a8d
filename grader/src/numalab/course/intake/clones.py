"""Find out when a clone's last commit was made, without running anything of the repository.

A repository's own configuration can name programs that git starts. So git is run in an empty
repository of numalab's and reads of the clone only objects; HEAD and refs are read here.
"""

from __future__ import annotations

import os
import re
from datetime import datetime, timedelta, timezone
from pathlib import Path

from numalab.course.intake.trees import Refused, plain_file, read_limited
from numalab.untrusted.tools import TookTooLong, ToolLimits, run_limited

_REF = re.compile(r"ref: (refs/[\w./-]+)")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_COMMITTER = re.compile(r"^committer .*> (\d{1,11}) ([+-])(\d\d)(\d\d)$", re.MULTILINE | re.ASCII)
_REFS_BYTES = 1 << 24
_COMMIT_BYTES = 1 << 16
_LIMITS = ToolLimits(
    computing_s=20,
    memory_bytes=8 << 30,
    file_bytes=1 << 20,
    output_bytes=_COMMIT_BYTES,
    wall_s=60.0,
)


def make_empty_repository(folder: Path) -> Path:
    """Make a folder that git takes for a repository, and return it."""
    (folder / "objects").mkdir(parents=True)
    (folder / "refs").mkdir()
    (folder / "HEAD").write_text("ref: refs/heads/none\n")
    return folder


def last_commit_at(repository: Path, empty: Path) -> str | None:
    """Return when the commit that is checked out was made, in ISO 8601 with a zone, by the
    committer's date, which a student can set; None if that can't be read. repository: the clone's
    .git; empty: what make_empty_repository made."""
    commit = _head(repository)
    if commit is None:
        return None
    command = ["git", f"--git-dir={empty}", "cat-file"]
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(empty),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_OBJECT_DIRECTORY": str(repository / "objects"),
    }
    try:
        size = _git([*command, "-s", commit], environment)
        if size is None or not size.strip().isdigit() or int(size) > _COMMIT_BYTES:
            return None
        text = _git([*command, "commit", commit], environment)
    except (OSError, TookTooLong):
        return None
    return _time(text or "")


def _git(command: list[str], environment: dict[str, str]) -> str | None:
    code, said = run_limited(command, _LIMITS, environment, takes_stderr=False)
    return said if code == 0 else None


def _text(path: Path) -> str:
    """Return a file's text; empty if it can't be opened, is no regular file, or is too large."""
    try:
        with plain_file(path) as file:
            return read_limited(file, _REFS_BYTES, path.name).decode("utf-8", "replace")
    except Refused:
        return ""


def _head(repository: Path) -> str | None:
    text = _text(repository / "HEAD").strip()
    ref = _REF.fullmatch(text)
    if ref is not None and ".." not in ref[1]:
        text = _text(repository / ref[1]).strip()
        if not text:
            packed = _text(repository / "packed-refs").splitlines()
            text = next((line[:40] for line in packed if line[41:] == ref[1]), "")
    return text if _COMMIT.fullmatch(text) else None


def _time(commit: str) -> str | None:
    found = _COMMITTER.search(commit.partition("\n\n")[0])
    if found is None:
        return None
    offset = timedelta(hours=int(found[3]), minutes=int(found[4]))
    try:
        zone = timezone(-offset if found[2] == "-" else offset)
        return datetime.fromtimestamp(int(found[1]), zone).isoformat()
    except (ValueError, OverflowError, OSError):
        return None
