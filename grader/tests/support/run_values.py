"""Evidence of runs that a test writes as JSON, without what it is not about."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, TypeVar

import msgspec

from numalab.evidence.read_record import record_json, run_of
from numalab.evidence.record import Json, Kind
from numalab.evidence.run_formats import AnyRunRecord, Outcome, ResultsRecord
from numalab.grading.kernel_grading import Grading

Form = TypeVar("Form")
_OF_ALL = {
    "lab": "x", "part": None, "team": 1, "role": "submission", "seed": "0" * 16, "n": 1,
    "computes": 1, "order": 0, "repetition": 0, "started_s": 0.0, "one_at_a_time": False,
    "residency": None, "thread": 0, "thread_pus": [], "bytes_on_huge_pages": 0,
    "cpu_s": 1.0, "team_cpu_s": 1.0, "results": {"checked": 1, "mismatches": 0},
    "initialize_s": 1.0,
    "checks": [], "samples": [], "bytes_moved": 0, "file": None, "ranks": [],
    "frames": [], "environment": {}, "sizes": [], "cpus": None, "mems": None,
    "outcome": {"status": "ok", "printed_bytes": 0}, "printed_bytes": 0,
    "method": "userfaultfd", "sees_write_after_read": True, "first_writer": [], "users": [],
}  # fmt: skip
_FORMS = {form.__struct_config__.tag: form for form in AnyRunRecord.__args__}


def filled(form: Any, data: Json) -> Json:
    """Return a JSON object with the required keys that it lacks, at all depths."""
    if msgspec.inspect.is_struct_type(form) and isinstance(data, dict):
        fields = {field.encode_name: field for field in msgspec.structs.fields(form)}
        whole = {
            name: _OF_ALL[name]
            for name, field in fields.items()
            if field.required and name in _OF_ALL
        }
        for name, value in data.items():
            whole[name] = filled(fields[name].type, value) if name in fields else value
        return whole
    for part in getattr(form, "__args__", ()):
        if isinstance(data, list) and getattr(form, "__origin__", None) in (list, tuple):
            return [filled(part, entry) for entry in data]  # type: ignore[return-value]
        if isinstance(data, list) == (getattr(part, "__origin__", None) in (list, tuple)):
            whole = filled(part, data)
            if whole != data:
                return whole
    return data


def parsed(kind: Kind[Any], data: Json, **more: Any) -> Any:
    """Return the evidence of a run of a kind. data: keys that the kind's runs do not have are left
    out."""
    tag = kind.run or kind.name
    names = {field.encode_name for field in msgspec.structs.fields(_FORMS[tag])}
    own = {name: value for name, value in (data | more).items() if name in names}
    return kind.parse(run_of(filled(_FORMS[tag], own) | {"kind": tag}))


def form_of(form: type[Form], data: Json) -> Form:
    """Return a part of a run's record."""
    return msgspec.convert(filled(form, data), form)


def a_run(form: type[Form], **facts: Any) -> Form:
    """Return the record of a run that came to its end. facts: of its fields; others that it has to
    have are made up."""
    common = {
        "outcome": an_outcome("ok"), "results": ResultsRecord(checked=1, mismatches=0),
    }  # fmt: skip
    required = [field.name for field in msgspec.structs.fields(form) if field.required]  # type: ignore[type-var]
    return form(**{name: (_OF_ALL | common | facts)[name] for name in required} | facts)


def changed(run: Form, **changes: Any) -> Form:
    """Return the evidence of a run, which may be its record, with other fields."""
    if isinstance(run, msgspec.Struct):
        return msgspec.structs.replace(run, **changes)
    return replace(run, **changes)  # type: ignore[type-var]


def an_outcome(status: str, **more: Any) -> Outcome:
    """Return how a worker's part of a run ended. more: keys of its record."""
    return form_of(Outcome, {"status": status, **more})


def recorded_run(data: Json) -> AnyRunRecord:
    """Return a run's record. data: its kind, and what the test is about."""
    return run_of(filled(_FORMS[data["kind"]], data) | {"kind": data["kind"]})


def kept_runs(session: Grading) -> list[Json]:
    """Return a session's runs as they are stored."""
    runs: list[Json] = record_json(session.record)["runs"]
    return runs


def recorded_runs(runs: Iterable[Json]) -> list[AnyRunRecord]:
    """Return runs of a session, of what an earlier one has stored."""
    return [run_of(run) for run in runs]
