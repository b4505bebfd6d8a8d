"""Wait for changes of a student's files, and find out which criteria changed with them.

Files are polled, since events of a file system don't cross a network, and home folders on clusters
are on one. The content of a file decides, not its time, so that a save without a change starts no
grading.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from numalab.files import NotPlain, read_plain
from numalab.judging.verdict import Status
from numalab.labs.declaration import FILE_BYTES

POLL_S = 0.5
# For how long files must not change; enough for an editor that saves in two steps or by renaming.
SETTLE_S = 0.3
JUDGED: tuple[Status, ...] = ("pass", "fail")


@dataclass(frozen=True)
class Mark:
    """The state of a file: its size, its time of modification, and its SHA-256."""

    size_bytes: int
    mtime_ns: int
    digest: str


# None: the file is missing, can't be read, or is larger than FILE_BYTES.
Marks = Mapping[Path, Mark | None]


def _mark(path: Path) -> Mark | None:
    try:
        content = read_plain(path, FILE_BYTES, follow_links=True)
        status = path.stat()
    except (OSError, NotPlain):
        return None
    return Mark(status.st_size, status.st_mtime_ns, hashlib.sha256(content).hexdigest())


def read_marks(paths: Iterable[Path]) -> Marks:
    return {path: _mark(path) for path in paths}


def changed(earlier: Marks, now: Marks) -> list[Path]:
    """Return the paths of `now` whose file has another content, or is missing in one of the two."""

    def digest(marks: Marks, path: Path) -> str | None:
        mark = marks.get(path)
        return mark.digest if mark else None

    return [path for path in now if digest(earlier, path) != digest(now, path)]


def next_change(
    graded: Marks, pause: Callable[[float], bool], read_marks: Callable[[], Marks]
) -> Marks | None:
    """Wait until files differ from those that were graded and are at rest; return their marks.
    pause: waits for a number of seconds, and returns whether to stop waiting; then the result is
    None. read_marks: returns the marks now."""
    while not pause(POLL_S):
        marks = read_marks()
        while changed(graded, marks):
            if pause(SETTLE_S):
                return None
            again = read_marks()
            if again == marks:
                return marks
            marks = again
    return None


@dataclass(frozen=True)
class Change:
    """The criteria that pass, and those that fail, and did not before."""

    passing: tuple[str, ...]
    failing: tuple[str, ...]


def change_of(earlier: Mapping[str, Status], now: Mapping[str, Status]) -> Change:
    """Return the change between two gradings' statuses by criterion. A criterion that has no
    earlier status counts as changed."""
    news = {name: status for name, status in now.items() if earlier.get(name) != status}
    return Change(
        passing=tuple(name for name, status in news.items() if status == "pass"),
        failing=tuple(name for name, status in news.items() if status == "fail"),
    )


def remembered(earlier: Mapping[str, Status], now: Mapping[str, Status]) -> dict[str, Status]:
    """Return the earlier statuses, replaced by those of `now` that are "pass" or "fail"."""
    return {**earlier, **{name: status for name, status in now.items() if status in JUDGED}}
