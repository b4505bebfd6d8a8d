"""Records of schema 1: the same objects under keys that schema 2 has renamed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Of runs, whatever object they are in; no other key of a run has one of these names but below.
_RENAMED: Mapping[str, str] = {
    "kits_own": "baseline_status",
    "found": "actual",
    "found_digits": "actual_digits",
    "wrong": "mismatches",
    "first_wrong": "first_mismatch",
    "seen": "observed",
    "asked": "requested",
    "waiting_s": "runqueue_wait_s",
    "stolen_s": "steal_s",
    "busy_s": "demand_s",
    "busy_else": "spins",
    "told": "reported",
    "told_pu": "reported_pu",
    "told_numa_node": "reported_numa_node",
    "said": "output",
}
# In objects under these keys some of them have another name.
_RENAMED_BELOW: Mapping[str, Mapping[str, str]] = {
    "too_few_messages": {**_RENAMED, "asked": "required"},
    "too_few_bytes": {**_RENAMED, "asked": "required"},
    "series": {**_RENAMED, "told": "answers"},
}
_FREE = ("environment",)  # whose keys are not the format's


_MAX_DEPTH = 16  # of a run's objects; what is deeper is no record


def _rename(value: Any, names: Mapping[str, str], depth: int = 0) -> Any:
    if depth > _MAX_DEPTH or not isinstance(value, list | dict):
        return value
    if isinstance(value, list):
        return [_rename(entry, names, depth + 1) for entry in value]
    return {
        names.get(key, key): entry
        if key in _FREE
        else _rename(entry, _RENAMED_BELOW.get(key, names), depth + 1)
        for key, entry in value.items()
    }


def convert_schema_1(data: dict[str, Any]) -> dict[str, Any]:
    """Return a record of schema 1 as one of schema 2. What does not fit the format stays as it is,
    for the format to refuse."""
    return data | {"schema": 2, "runs": _rename(data.get("runs"), _RENAMED)}
