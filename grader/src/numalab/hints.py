"""Which hint a learner saw last, kept in one small file of her copy of the kit."""

from __future__ import annotations

import json
from pathlib import Path

from numalab.errors import KitError
from numalab.lab import Lab


def _seen(store: Path) -> dict[str, int]:
    try:
        data = json.loads(store.read_text(encoding="utf-8"))
    except (OSError, json.JSONDecodeError):
        return {}
    return data if isinstance(data, dict) else {}


def next_level(store: Path, lab: Lab) -> int:
    """The hint after the last one seen; the strongest stays the last."""
    return min(_seen(store).get(lab.name, 0) + 1, len(lab.hints))


def remember(store: Path, lab: Lab, level: int) -> None:
    try:
        store.parent.mkdir(parents=True, exist_ok=True)
        store.write_text(json.dumps(_seen(store) | {lab.name: level}) + "\n", encoding="utf-8")
    except OSError as error:
        raise KitError(f"can't write {store}: {error.strerror}") from error
