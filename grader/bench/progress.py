"""What a command that takes long says while it works."""

from __future__ import annotations

import sys
import time

SECONDS_BETWEEN_LINES = 5.0


class Progress:
    """A line on the error output every few seconds: how much is done, and how long is left."""

    def __init__(self, what: str, done: int, wanted: int) -> None:
        self._what, self._first, self._wanted = what, done, wanted
        self._start_s = self._shown_s = time.monotonic()

    def step(self, done: int, more: str = "") -> None:
        now_s = time.monotonic()
        if now_s - self._shown_s < SECONDS_BETWEEN_LINES and done < self._wanted:
            return
        self._shown_s = now_s
        each_s = (now_s - self._start_s) / (done - self._first)
        left_s = each_s * (self._wanted - done)
        print(f"{done} of {self._wanted} {self._what}{more}, {left_s:.0f} s left", file=sys.stderr)
