"""When a learner's files have changed, and what that changed.

Files are polled: events of a file system don't cross a network, and homes on clusters lie on
one. What is in a file decides, not its time, so that neither a save that changes nothing nor a
clock that is off starts a grading; reading a file is also what makes NFS ask its server anew.
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
# An editor that saves in two steps, or by renaming, is done in this time.
SETTLE_S = 0.3
JUDGED: tuple[Status, ...] = ("pass", "fail")


@dataclass(frozen=True)
class Mark:
    """A file as it was seen."""

    size_bytes: int
    mtime_ns: int
    digest: str


# None: the file is not there, or can't be read.
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
    """The files with another content."""

    def digest(marks: Marks, path: Path) -> str | None:
        mark = marks.get(path)
        return mark.digest if mark else None

    return [path for path in now if digest(earlier, path) != digest(now, path)]


def next_change(
    graded: Marks, pause: Callable[[float], bool], read_marks: Callable[[], Marks]
) -> Marks | None:
    """Waits until files differ from those that were graded, and for a moment no more from
    themselves. pause: waits so many seconds, and tells whether to stop waiting: then None."""
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
    """Criteria that pass, or fail, and did not before."""

    passing: tuple[str, ...]
    failing: tuple[str, ...]


def change_of(earlier: Mapping[str, Status], now: Mapping[str, Status]) -> Change:
    """What was not graded before is news, too, such as times that are taken for the first time."""
    news = {name: status for name, status in now.items() if earlier.get(name) != status}
    return Change(
        passing=tuple(name for name, status in news.items() if status == "pass"),
        failing=tuple(name for name, status in news.items() if status == "fail"),
    )


def remembered(earlier: Mapping[str, Status], now: Mapping[str, Status]) -> dict[str, Status]:
    """The last that is known of each criterion; a grading without times leaves times alone."""
    return {**earlier, **{name: status for name, status in now.items() if status in JUDGED}}
