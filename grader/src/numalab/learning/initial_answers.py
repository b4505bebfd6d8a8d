"""A student's first answer to each prediction and question, with its time and the digest of the
records that came next."""

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
    """The first answer to the prediction or question `name`. said: the value, or the letter of a
    choice; at: the time, in ISO 8601; record: digest_of() the records that came next, None until
    there are any."""

    kind: Kind
    name: str
    said: float | int | str
    at: str
    record: str | None = None


def _entry(data: Any) -> InitialAnswer | None:
    """Return an entry of the file; None where it has another form."""
    try:
        entry = InitialAnswer(**data)
        datetime.fromisoformat(entry.at)
    except (TypeError, ValueError):
        return None
    is_text = isinstance(entry.name, str) and isinstance(entry.record, str | None)
    is_said = isinstance(entry.said, int | float | str)
    return entry if entry.kind in KINDS and is_text and is_said else None


def read_initial_answers(folder: Path) -> tuple[InitialAnswer, ...]:
    """Return the first answers in the order in which they were given.
    Empty where the file is missing or can't be read; entries of another form are left out."""
    data = read_json(folder / FILE)
    entries = map(_entry, data) if isinstance(data, list) else ()
    return tuple(entry for entry in entries if entry is not None)


def _write(folder: Path, entries: Sequence[InitialAnswer]) -> None:
    """Write the file, and make its folder if it is missing."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / FILE, [asdict(entry) for entry in entries])
    except OSError as error:
        raise NumalabError(f"what you said first can't be kept: {reason_of(error)}") from error


def keep_initial_answers(
    folder: Path, kind: Kind, values: Mapping[str, float | int | str], answered_at: datetime
) -> None:
    """Store answers, by name, of those predictions or questions that have none yet.
    answered_at: with a time zone. Raises NumalabError if they can't be written."""
    kept = read_initial_answers(folder)
    known = {(entry.kind, entry.name) for entry in kept}
    moment = answered_at.isoformat(timespec="seconds")
    new = [InitialAnswer(kind, name, value, moment) for name, value in values.items()
           if (kind, name) not in known]  # fmt: skip
    if new:
        _write(folder, [*kept, *new])


def keep_record(folder: Path, records: Sequence[Mapping[str, Any]]) -> None:
    """Store the digest of records with each answer that has none yet: they came next.
    Raises NumalabError if it can't be written."""
    kept = read_initial_answers(folder)
    if all(entry.record is not None for entry in kept):
        return
    digest = digest_of(records)
    _write(folder, [e if e.record is not None else replace(e, record=digest) for e in kept])


def digest_of(records: Sequence[Mapping[str, Any]]) -> str:
    """Return the SHA-256 of records in hexadecimal digits, whatever the order of their keys."""
    return hashlib.sha256(json.dumps(list(records), sort_keys=True).encode()).hexdigest()


def initial_answer_words(entries: Sequence[InitialAnswer]) -> str:
    """Count answers: "2 predictions and 3 questions, 1 of them not followed by a run yet"."""
    counts = [(kind, sum(entry.kind == kind for entry in entries)) for kind in KINDS]
    told = words.listed([words.count(count, kind) for kind, count in counts if count])
    waiting = sum(entry.record is None for entry in entries)
    return f"{told}, {waiting} of them not followed by a run yet" if waiting else told
