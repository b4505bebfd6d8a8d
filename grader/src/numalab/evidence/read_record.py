"""Reads evidence records, which the monitor and the grader wrote, into record's values."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from numalab.errors import NumalabError
from numalab.evidence.beside_runs import EarlierTimes, SeededNode
from numalab.evidence.kinds import kind_of
from numalab.evidence.left_out import LeftOut
from numalab.evidence.record import (
    SCHEMA_VERSION,
    SUBMISSION,
    AnyRun,
    Build,
    Evidence,
    HandedText,
    Json,
    Kind,
)
from numalab.evidence.repeats import paused_s, why_left_out
from numalab.strangers.visible import shortened, visible

_MOST_SAID = 300  # characters of what a record has in the wrong place


def _role_of(kind: Kind[Any], run: Json) -> str:
    """Whose run it is; one of all roles is the submission's, which it is taken for."""
    return SUBMISSION if kind.whose == "all roles" else str(run["role"])


def _followed(run: LeftOut, what: tuple[str, str, str | None, str | None]) -> LeftOut:
    """As it is where one that counts comes after it. what: of that one."""
    stands_for_it = (run.kind, run.role, run.part, run.slow) == what
    return replace(run, is_last=False) if stands_for_it else run


# What earlier records said in the place of `interrupted`.
_INTERRUPTED = "Interrupted before it was decided."


def parse(data: Json) -> Evidence:
    """Reads a session's record. Raises NumalabError for another version of the format."""
    if data.get("schema") != SCHEMA_VERSION:
        raise NumalabError(
            f"the evidence has schema version {data.get('schema')}, this kit reads "
            f"version {SCHEMA_VERSION}"
        )

    runs: dict[tuple[str, str], list[AnyRun]] = {}
    left_out: list[LeftOut] = []
    for run in data["runs"]:
        try:
            kind = kind_of(run)
        except LookupError as error:
            raise NumalabError(
                f"the evidence has a run '{error}', which this kit can't read"
            ) from error
        why = why_left_out(kind, run)
        what = (kind.name, _role_of(kind, run), run["part"], run.get("slow"))
        if why is None:
            runs.setdefault(what[:2], []).append(kind.parse(run))
            left_out = [_followed(other, what) for other in left_out]
        else:
            left_out.append(LeftOut(*what, why, paused_s(run), is_last=True))
    return Evidence(
        lab=data["lab"],
        language=data["language"],
        variant=data["variant"],
        size=data["size"],
        quick=data["quick"],
        node=data["node"],
        is_virtual=data["machine"] is not None,
        announces_cores=(data["machine"] or {}).get("announces_cores", True),
        timing_refused=data["timing_refused"],
        timing_error=None if data["timing_error"] == _INTERRUPTED else data["timing_error"],
        build=Build(**data["build"]["kernel"]),
        race_error=data["race_error"],
        race_refused=data.get("race_refused"),
        monitor_lost=data.get("monitor_lost"),
        seeded_node=SeededNode(**data["seeded_node"]) if data.get("seeded_node") else None,
        handed_in=tuple(HandedText(**entry) for entry in data["handed_in"]),
        runs={key: tuple(of_kind) for key, of_kind in runs.items()},
        unchanged_files=frozenset(data.get("unchanged_files", ())),
        is_starting_code=data.get("starting_code", _is_given_as_it_was(data)),
        left_out=tuple(left_out),
        interrupted=data.get("interrupted") or data["timing_error"] == _INTERRUPTED,
        earlier_times=tuple(EarlierTimes(**session) for session in data.get("earlier_times", ())),
    )


def _is_given_as_it_was(data: Json) -> bool:
    """Return whether an earlier record is of starting code, byte for byte: it tells no more."""
    unchanged = set(data.get("unchanged_files", ()))
    files = {
        file["file"] for file in data["handed_in"] if file.get("text") or file.get("variables")
    }
    return any(name.startswith("kernel.") for name in unchanged) and files <= unchanged


def load(path: Path, schema: Path) -> Evidence:
    """Reads a stored record after validating it. Raises NumalabError."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise NumalabError(f"can't read the evidence {path}: {error}") from error
    validate(data, schema)
    return parse(data)


def validate(data: Json, schema: Path) -> None:
    """Raises NumalabError, naming the place, when a record does not follow the schema."""
    import jsonschema

    validator = jsonschema.Draft202012Validator(json.loads(schema.read_text(encoding="utf-8")))
    error = jsonschema.exceptions.best_match(validator.iter_errors(data))
    if error is not None:
        raise NumalabError(
            f"not a valid evidence record: {shortened(visible(error.json_path), _MOST_SAID)}: "
            f"{shortened(visible(error.message), _MOST_SAID)}"
        )
