"""Placement files as students hand them in."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

_THREAD_COUNTS = (
    "OMP_NUM_THREADS", "OMP_THREAD_LIMIT", "OMP_DYNAMIC", "KMP_ALL_THREADS",
    "KMP_DEVICE_THREAD_LIMIT", "KMP_TEAMS_THREAD_LIMIT", "OMP_NESTED", "OMP_MAX_ACTIVE_LEVELS",
)  # fmt: skip


_KNOWN = (
    "OMP_PLACES", "OMP_PROC_BIND", "KMP_AFFINITY", "KMP_HW_SUBSET", "GOMP_CPU_AFFINITY",
    "OMP_DISPLAY_AFFINITY", "OMP_AFFINITY_FORMAT", "OMP_SCHEDULE", "OMP_WAIT_POLICY",
    "OMP_STACKSIZE", "KMP_BLOCKTIME", *_THREAD_COUNTS,
)  # fmt: skip


# Behind a value; no value of theirs has such a thing in it.
_SETTING = re.compile(r"[\s;]((?:OMP|KMP|GOMP)_[A-Z_]+) *=")

LONGEST_VALUE = 16 << 10  # characters; a list of all PUs of the largest node has half of that


class BadPlacement(ValueError):
    """A line that a placement file can't have; the text says which and what to do."""


def read_placement(text: str, allowed: Sequence[str]) -> dict[str, str]:
    """The variables of a placement file. Raises BadPlacement."""
    variables: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        key, equals, value = line.partition("=")
        key, value = key.strip(), value.strip()
        where = f"line {number}, `{line[:40]}`"
        if key.startswith(("export ", "set ")):
            raise BadPlacement(f"{where}: write KEY=VALUE alone, without {key.split()[0]}")
        if not equals:
            raise BadPlacement(f"{where}: it is not of the form KEY=VALUE")
        if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
            value = value[1:-1]
        if key not in allowed:
            raise BadPlacement(f"{where}: {_refusal(key, allowed)}")
        second = _SETTING.search(value)
        if second:
            raise BadPlacement(
                f"{where}: {second[1]} is a second setting in the line; give it a line of its own"
            )
        if key in variables:
            raise BadPlacement(f"{where}: {key} is set twice")
        if not value.isprintable():
            raise BadPlacement(f"{where}: the value has a character that can't be printed")
        if len(value) > LONGEST_VALUE:
            raise BadPlacement(f"{where}: the value is longer than {LONGEST_VALUE:,} characters")
        variables[key] = value
    return variables


def _refusal(key: str, allowed: Sequence[str]) -> str:
    names = ", ".join(allowed)
    if key in _THREAD_COUNTS:
        return f"the kit sets the number of threads itself; take {key} out"
    if key in _KNOWN:
        return f"{key} has no place in this file; it can have {names}"
    near = difflib.get_close_matches(key.upper(), allowed, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else f"it can have {names}"
    return f"{key} is unknown here; {hint}"
