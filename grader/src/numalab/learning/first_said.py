"""What a learner said first, of each prediction and question: when, and the digest of the record
that came after it, so that it can be told from what was said later. Beside her notebook, or beside
a variant's predictions.toml."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from numalab import words
from numalab.errors import NumalabError, reason_of
from numalab.files import read_json, write_json

FILE = "first_said.json"
Kind = Literal["prediction", "question"]
KINDS: tuple[Kind, ...] = ("prediction", "question")


@dataclass(frozen=True)
class FirstSaid:
    """at: ISO 8601, with the time zone; record: SHA-256 of the next run's or grading's records,
    None until there is one."""

    kind: Kind
    name: str
    said: float | int | str
    at: str
    record: str | None = None


def _entry(data: Any) -> FirstSaid | None:
    """None where it is not what is written here."""
    try:
        found = FirstSaid(**data)
        datetime.fromisoformat(found.at)
    except (TypeError, ValueError):
        return None
    is_text = isinstance(found.name, str) and isinstance(found.record, str | None)
    is_said = isinstance(found.said, int | float | str)
    return found if found.kind in KINDS and is_text and is_said else None


def read_first_said(folder: Path) -> tuple[FirstSaid, ...]:
    """In the order in which it was said; none where the file is missing or not ours."""
    data = read_json(folder / FILE)
    entries = map(_entry, data) if isinstance(data, list) else ()
    return tuple(entry for entry in entries if entry is not None)


def _write(folder: Path, entries: Sequence[FirstSaid]) -> None:
    """Raises NumalabError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / FILE, [asdict(entry) for entry in entries])
    except OSError as error:
        raise NumalabError(f"what you said first can't be kept: {reason_of(error)}") from error


def keep_first_said(
    folder: Path, kind: Kind, said: Mapping[str, float | int | str], at: datetime
) -> None:
    """Adds what is said for the first time; the rest stays as it was. Raises NumalabError."""
    kept = read_first_said(folder)
    known = {(entry.kind, entry.name) for entry in kept}
    moment = at.isoformat(timespec="seconds")
    new = [FirstSaid(kind, name, value, moment) for name, value in said.items()
           if (kind, name) not in known]  # fmt: skip
    if new:
        _write(folder, [*kept, *new])


def keep_record(folder: Path, records: Sequence[Mapping[str, Any]]) -> None:
    """That these records came after all that was said so far. Raises NumalabError."""
    kept = read_first_said(folder)
    if all(entry.record is not None for entry in kept):
        return
    digest = digest_of(records)
    _write(folder, [e if e.record is not None else replace(e, record=digest) for e in kept])


def digest_of(records: Sequence[Mapping[str, Any]]) -> str:
    """Of records, whatever the order of their keys."""
    return hashlib.sha256(json.dumps(list(records), sort_keys=True).encode()).hexdigest()


def said_words(entries: Sequence[FirstSaid]) -> str:
    """2 predictions and 3 questions, 1 of them not followed by a run yet."""
    counts = [(kind, sum(entry.kind == kind for entry in entries)) for kind in KINDS]
    told = words.listed([words.count(count, kind) for kind, count in counts if count])
    waiting = sum(entry.record is None for entry in entries)
    return f"{told}, {waiting} of them not followed by a run yet" if waiting else told
