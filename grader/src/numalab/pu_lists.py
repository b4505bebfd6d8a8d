"""Lists of PU numbers as the kernel writes them: 0-3,8."""

from __future__ import annotations

from collections.abc import Iterable


class BadList(ValueError):
    """A text that is no list of PUs."""


def parse_pus(text: str) -> frozenset[int]:
    """Nothing, and "(null)" of older kernels, is no PU. Raises BadList."""
    found: set[int] = set()
    for item in text.replace("(null)", "").strip().split(","):
        first, is_range, last = item.partition("-")
        if not item:
            continue
        try:
            found |= set(range(int(first), int(last if is_range else first) + 1))
        except ValueError as error:
            raise BadList(f"no list of PUs: {text!r}") from error
    return frozenset(found)


def list_pus(pus: Iterable[int]) -> str:
    """The shortest such list."""
    runs: list[list[int]] = []
    for pu in sorted(pus):
        if runs and runs[-1][1] == pu - 1:
            runs[-1][1] = pu
        else:
            runs.append([pu, pu])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)
