"""Reads evidence records, which the monitor and the grader wrote, into record's values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from numalab.errors import KitError
from numalab.evidence.kinds import kind_of
from numalab.evidence.record import (
    SCHEMA_VERSION,
    SUBMISSION,
    AnyRun,
    Build,
    EarlierTimes,
    Evidence,
    HandedText,
    Json,
    Kind,
)


def _role_of(kind: Kind[Any], run: Json) -> str:
    """Whose run it is; one of all roles is the submission's, which it is taken for."""
    return SUBMISSION if kind.whose == "all roles" else str(run["role"])


# What earlier records said in the place of `interrupted`.
_INTERRUPTED = "Interrupted before it was decided."


def parse(data: Json) -> Evidence:
    """Reads a session's record. Raises KitError for another version of the format."""
    if data.get("schema") != SCHEMA_VERSION:
        raise KitError(
            f"the evidence has schema version {data.get('schema')}, this kit reads "
            f"version {SCHEMA_VERSION}"
        )

    runs: dict[tuple[str, str], list[AnyRun]] = {}
    for run in data["runs"]:
        try:
            kind = kind_of(run)
        except LookupError as error:
            raise KitError(
                f"the evidence has a run '{error}', which this kit can't read"
            ) from error
        runs.setdefault((kind.name, _role_of(kind, run)), []).append(kind.parse(run))
    return Evidence(
        lab=data["lab"],
        language=data["language"],
        variant=data["variant"],
        size=data["size"],
        quick=data["quick"],
        node=data["node"],
        is_virtual=data["machine"] is not None,
        timing_refused=data["timing_refused"],
        timing_error=None if data["timing_error"] == _INTERRUPTED else data["timing_error"],
        build=Build(**data["build"]["kernel"]),
        race_error=data["race_error"],
        handed_in=tuple(HandedText(**entry) for entry in data["handed_in"]),
        runs={key: tuple(of_kind) for key, of_kind in runs.items()},
        unchanged_files=frozenset(data.get("unchanged_files", ())),
        interrupted=data.get("interrupted", False) or data["timing_error"] == _INTERRUPTED,
        earlier_times=tuple(EarlierTimes(**session) for session in data.get("earlier_times", ())),
    )


def load(path: Path, schema: Path) -> Evidence:
    """Reads a stored record after validating it. Raises KitError."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, json.JSONDecodeError) as error:
        raise KitError(f"can't read the evidence {path}: {error}") from error
    validate(data, schema)
    return parse(data)


def validate(data: Json, schema: Path) -> None:
    """Raises KitError, naming the place, when a record does not follow the schema."""
    import jsonschema

    validator = jsonschema.Draft202012Validator(json.loads(schema.read_text(encoding="utf-8")))
    error = jsonschema.exceptions.best_match(validator.iter_errors(data))
    if error is not None:
        raise KitError(f"not a valid evidence record: {error.json_path}: {error.message}")
