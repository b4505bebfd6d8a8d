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
class InitialAnswer:
    """at: ISO 8601, with the time zone; record: SHA-256 of the next run's or grading's records,
    None until there is one."""

    kind: Kind
    name: str
    said: float | int | str
    at: str
    record: str | None = None


def _entry(data: Any) -> InitialAnswer | None:
    """None where it is not what is written here."""
    try:
        entry = InitialAnswer(**data)
        datetime.fromisoformat(entry.at)
    except (TypeError, ValueError):
        return None
    is_text = isinstance(entry.name, str) and isinstance(entry.record, str | None)
    is_said = isinstance(entry.said, int | float | str)
    return entry if entry.kind in KINDS and is_text and is_said else None


def read_initial_answers(folder: Path) -> tuple[InitialAnswer, ...]:
    """In the order in which it was said; none where the file is missing or not ours."""
    data = read_json(folder / FILE)
    entries = map(_entry, data) if isinstance(data, list) else ()
    return tuple(entry for entry in entries if entry is not None)


def _write(folder: Path, entries: Sequence[InitialAnswer]) -> None:
    """Raises NumalabError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / FILE, [asdict(entry) for entry in entries])
    except OSError as error:
        raise NumalabError(f"what you said first can't be kept: {reason_of(error)}") from error


def keep_initial_answers(
    folder: Path, kind: Kind, values: Mapping[str, float | int | str], answered_at: datetime
) -> None:
    """Adds what is said for the first time; the rest stays as it was. Raises NumalabError."""
    kept = read_initial_answers(folder)
    known = {(entry.kind, entry.name) for entry in kept}
    moment = answered_at.isoformat(timespec="seconds")
    new = [InitialAnswer(kind, name, value, moment) for name, value in values.items()
           if (kind, name) not in known]  # fmt: skip
    if new:
        _write(folder, [*kept, *new])


def keep_record(folder: Path, records: Sequence[Mapping[str, Any]]) -> None:
    """That these records came after all that was said so far. Raises NumalabError."""
    kept = read_initial_answers(folder)
    if all(entry.record is not None for entry in kept):
        return
    digest = digest_of(records)
    _write(folder, [e if e.record is not None else replace(e, record=digest) for e in kept])


def digest_of(records: Sequence[Mapping[str, Any]]) -> str:
    """Of records, whatever the order of their keys."""
    return hashlib.sha256(json.dumps(list(records), sort_keys=True).encode()).hexdigest()


def initial_answer_words(entries: Sequence[InitialAnswer]) -> str:
    """2 predictions and 3 questions, 1 of them not followed by a run yet."""
    counts = [(kind, sum(entry.kind == kind for entry in entries)) for kind in KINDS]
    told = words.listed([words.count(count, kind) for kind, count in counts if count])
    waiting = sum(entry.record is None for entry in entries)
    return f"{told}, {waiting} of them not followed by a run yet" if waiting else told
