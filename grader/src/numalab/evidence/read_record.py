"""Read records (format.py) into evidence (record.py)."""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from numalab.errors import NumalabError
from numalab.evidence.format import SCHEMA_VERSION, GradingRecord
from numalab.evidence.former_keys import convert_schema_1
from numalab.evidence.kinds import kind_of
from numalab.evidence.record import SUBMISSION, AnyRun, Evidence, Json, LeftOut
from numalab.evidence.repeats import paused_s, why_left_out
from numalab.evidence.run_formats import AnyRunRecord, TimingRun
from numalab.untrusted.visible import shortened, visible

_MAX_SHOWN = 300  # characters of a value that does not fit the format


def _role_of(run: AnyRunRecord) -> str:
    """Return the role of a run; a timed round of all roles counts as the submission's."""
    return SUBMISSION if isinstance(run, TimingRun) else run.role


def _followed(run: LeftOut, what: tuple[str, str, str | None, str | None]) -> LeftOut:
    """Return a run that was left out, knowing that one that counts follows it, if it is of the same
    kind, role, part and launch. what: these of that one."""
    is_same = (run.kind, run.role, run.part, run.slow) == what
    return replace(run, is_last=False) if is_same else run


# What earlier records said in the place of `interrupted`.
_INTERRUPTED = "Interrupted before it was decided."


# Runs that are already parsed, by the identity of their records.
Parsed = MutableMapping[int, AnyRun]


def evidence_of(record: GradingRecord, parsed: Parsed | None = None) -> Evidence:
    """Return the evidence of a grading's record.

    Args:
        parsed: cache of parsed runs, for a record to which runs are added.

    Raises:
        ValueError, OverflowError: A value fits the format and is impossible.
    """
    known: Parsed = {} if parsed is None else parsed
    runs: dict[tuple[str, str], list[AnyRun]] = {}
    left_out: list[LeftOut] = []
    for run in record.runs:
        kind = kind_of(run)
        why = why_left_out(kind, run)
        slow = run.slow if isinstance(run, TimingRun) else None
        what = (kind.name, _role_of(run), run.part, slow)
        if why is None:
            if id(run) not in known:
                known[id(run)] = kind.parse(run)
            runs.setdefault(what[:2], []).append(known[id(run)])
            left_out = [_followed(other, what) for other in left_out]
        else:
            left_out.append(LeftOut(*what, why, paused_s(run), is_last=True))
    is_interrupted = record.timing_error == _INTERRUPTED
    machine, given = record.machine, record.starting_code
    return Evidence(
        lab=record.lab,
        language=record.language,
        variant=record.variant,
        size=record.size,
        quick=record.quick,
        node=msgspec.to_builtins(record.node),
        is_virtual=machine is not None,
        announces_cores=machine is None or machine.announces_cores,
        timing_refused=record.timing_refused,
        timing_error=None if is_interrupted else record.timing_error,
        build=record.build.kernel,
        race_error=record.race_error,
        race_refused=record.race_refused,
        monitor_lost=record.monitor_lost,
        seeded_node=record.seeded_node,
        handed_in=tuple(record.handed_in),
        runs={key: tuple(of_kind) for key, of_kind in runs.items()},
        unchanged_files=frozenset(record.unchanged_files),
        is_starting_code=given if isinstance(given, bool) else _is_given_as_it_was(record),
        left_out=tuple(left_out),
        interrupted=record.interrupted or is_interrupted,
        earlier_times=tuple(record.earlier_times),
    )


def _is_given_as_it_was(record: GradingRecord) -> bool:
    """Return whether an earlier record, which does not tell, is of starting code: its unchanged
    files have the kernel's and those handed in that are not empty."""
    unchanged = set(record.unchanged_files)
    files = {given.file for given in record.handed_in if given.text or given.variables}
    return any(name.startswith("kernel.") for name in unchanged) and files <= unchanged


def parse(data: Json) -> Evidence:
    """Return the evidence of a record as JSON. Raises as record_of and evidence_of."""
    return evidence_of(record_of(data))


def record_of(data: Any) -> GradingRecord:
    """Return a grading's record that was read as JSON.

    Raises:
        NumalabError: Its schema has another version, or it has what the format does not have;
            names the place of that.
    """
    version = data.get("schema") if isinstance(data, dict) else None
    if version == 1:
        data = convert_schema_1(data)
    elif version != SCHEMA_VERSION:
        raise NumalabError(
            f"the evidence has schema version {version}; numalab reads up to {SCHEMA_VERSION}"
        )
    try:
        return msgspec.convert(data, GradingRecord)
    except msgspec.ValidationError as error:
        raise NumalabError(
            f"not a valid evidence record: {shortened(visible(str(error)), _MAX_SHOWN)}"
        ) from error


def run_of(data: Any) -> AnyRunRecord:
    """Return a run's record that was read as JSON. Raises msgspec.ValidationError."""
    run: AnyRunRecord = msgspec.convert(data, AnyRunRecord)
    return run


def load_record(path: Path) -> GradingRecord:
    """Return a stored record. Raises as record_of, and for a file that can't be read."""
    try:
        data = msgspec.json.decode(path.read_bytes())
    except (OSError, msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise NumalabError(f"can't read the evidence {path}: {error}") from error
    return record_of(data)


def load(path: Path) -> Evidence:
    """Return the evidence of a stored record. Raises as load_record and evidence_of."""
    return evidence_of(load_record(path))


def schema() -> Json:
    """Return the format as a JSON Schema, for other programs."""
    described = msgspec.json.schema(GradingRecord)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"numalab evidence, version {SCHEMA_VERSION}",
        "description": "Written from grader/src/numalab/evidence/format.py, which explains it.",
        **described,
    }


def record_json(record: GradingRecord) -> Json:
    """Return a record as it is stored."""
    data: Json = msgspec.json.decode(msgspec.json.encode(record))
    return data
