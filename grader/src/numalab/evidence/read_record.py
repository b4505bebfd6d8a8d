"""Reads evidence records, which the monitor and the grader wrote, into record's values."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numalab.errors import KitError
from numalab.evidence.record import (
    HANDOUT,
    SCHEMA_VERSION,
    SOLUTION,
    SUBMISSION,
    Binding,
    Build,
    Check,
    Checked,
    CpuTime,
    Evidence,
    Generation,
    HandedText,
    Json,
    KernelTable,
    Latency,
    Launched,
    Locate,
    Memory,
    Mismatch,
    MpiCalls,
    Outcome,
    Placement,
    Race,
    Rank,
    RankLevel,
    Results,
    RolePart,
    Thread,
    ThreadLevel,
    Told,
    TooFewMessages,
    Trace,
    TracedArray,
)


def _number(value: float | str) -> float:
    return float(value)  # "NaN", "Infinity" and "-Infinity" included


def _outcome(data: Json) -> Outcome:
    detail = {key: value for key, value in data.items() if key != "status"}
    return Outcome(data["status"], detail)


def _results(data: Json) -> Results:
    first = data.get("first_wrong")
    return Results(
        checked=data["checked"],
        wrong=data["wrong"],
        first_wrong=first
        and Mismatch(
            array=first["array"],
            element=first["element"],
            expected=_number(first["expected"]),
            found=_number(first["found"]),
            phase=first["phase"],
            repetition=first["repetition"],
            rank=first.get("rank"),
            row=first.get("row"),
            column=first.get("column"),
            row_name=first.get("row_name"),
            remark=first.get("remark", ""),
        ),
        wrote_before_array=data.get("wrote_before_array"),
        too_few_messages=TooFewMessages(**data["too_few_messages"])
        if "too_few_messages" in data
        else None,
        n_unit=data.get("n_unit", ""),
    )


def _threads(data: Sequence[Json]) -> tuple[Thread, ...]:
    return tuple(
        Thread(
            number=entry["thread"],
            allowed_pus=tuple(entry["allowed_pus"]),
            core=entry["core"],
            package=entry["package"],
            numa_node=entry["numa_node"],
            last_pu=entry["last_pu"],
        )
        for entry in data
    )


def _expand(runs: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
    return tuple(value for value, count in runs for _ in range(count))


def _trace(data: Json) -> Trace:
    touch_map = data.get("touch_map") or {}
    return Trace(
        part=data["part"],
        outcome=_outcome(data["outcome"]),
        results=_results(data["results"]),
        threads=_threads(data["threads"]),
        method=touch_map.get("method", ""),
        order=touch_map.get("order", ""),
        sees_write_after_read=touch_map.get("sees_write_after_read", False),
        arrays=tuple(
            TracedArray(
                name=entry["array"],
                first_writer=_expand(entry["first_writer"]),
                users=_expand([(frozenset(users), count) for users, count in entry["users"]]),
            )
            for entry in touch_map.get("arrays", ())
        ),
        team=data["team"],
    )


def _placement(data: Json) -> Placement:
    residency = data.get("residency")
    return Placement(
        part=data["part"],
        outcome=_outcome(data["outcome"]),
        results=_results(data["results"]),
        threads=_threads(data["threads"]),
        residency=None
        if residency is None
        else {entry["array"]: _expand(entry["numa_node"]) for entry in residency},
        cpu_time=tuple(
            CpuTime(
                entry["cpu_s"],
                entry["waiting_s"],
                entry["stolen_s"],
                entry["longest_s"],
                entry["busy_s"],
            )
            for entry in data.get("cpu_time", ())
        ),
        team=data["team"],
    )


def _check(data: Json) -> Check:
    return Check(
        part=data["part"],
        outcome=_outcome(data["outcome"]),
        checked=tuple(
            Checked(entry["n"], entry.get("ranks"), _results(entry["results"]))
            for entry in data["checks"]
        ),
    )


def _generation(data: Json) -> Generation:
    elapsed: dict[str, list[float]] = {}
    for sample in data["samples"]:
        if sample["cut"] or not sample["warm_up"]:
            elapsed.setdefault(sample["role"], []).append(sample["elapsed_s"])
    return Generation(
        part=data["part"],
        slow=data.get("slow"),
        n=data["n"],
        bytes_moved=data["bytes_moved"],
        roles={
            entry["role"]: RolePart(
                _outcome(entry["outcome"]), _results(entry["results"]), entry["initialize_s"]
            )
            for entry in data["roles"]
        },
        elapsed_s={role: tuple(times) for role, times in elapsed.items()},
        cut=frozenset(sample["role"] for sample in data["samples"] if sample["cut"]),
    )


def _race(data: Json) -> Race:
    found = data.get("race")
    return Race(
        part=data["part"],
        outcome=_outcome(data["outcome"]),
        found=found is not None,
        accesses=tuple(found["accesses"]) if found else (),
    )


def _memory(data: Json) -> Memory:
    return Memory(
        part=data["part"],
        outcome=_outcome(data["outcome"]),
        results=_results(data["results"]),
        huge_pages_allowed=data["huge_pages_allowed"],
        tables=tuple(KernelTable(**entry) for entry in data["tables"]),
    )


def _binding(data: Json) -> Binding:
    return Binding(
        part=data["part"],
        outcome=_outcome(data["outcome"]),
        file=data["file"],
        runtime=data["runtime"],
        threads=_threads(data["threads"]),
        team=data["team"],
    )


def _locate(data: Json) -> Locate:
    return Locate(
        part=data["part"],
        outcome=_outcome(data["outcome"]),
        rounds=tuple(tuple(Told(**entry) for entry in told) for told in data["rounds"]),
        team=data["team"],
    )


def _ranks(data: Sequence[Json]) -> tuple[Rank, ...]:
    return tuple(Rank(entry["rank"], _threads(entry["threads"])) for entry in data)


def _launched(data: Json) -> Launched:
    return Launched(
        part=data["part"],
        outcome=_outcome(data["outcome"]),
        file=data["file"],
        refused=data["refused"],
        ranks=_ranks(data["ranks"]),
        team=data["team"],
    )


def _thread_level(data: Json) -> ThreadLevel:
    return ThreadLevel(
        part=data["part"],
        outcome=_outcome(data["outcome"]),
        ranks=tuple(
            RankLevel(**(entry | {"calls": MpiCalls(**entry["calls"])})) for entry in data["ranks"]
        ),
        answer_to_less=data["answer_to_less"],
        team=data["team"],
    )


def _latency(data: Json) -> Latency:
    one_way_us: dict[int, list[float]] = {}
    for sample in data["samples"]:
        if not sample["warm_up"]:
            us = 1e6 * sample["elapsed_s"] / (2 * sample["repetitions"])
            one_way_us.setdefault(sample["bytes"], []).append(us)
    return Latency(
        part=data["part"],
        outcome=_outcome(data["outcome"]),
        file=data["file"],
        ranks=_ranks(data["ranks"]),
        one_way_us={size: tuple(times) for size, times in sorted(one_way_us.items())},
        team=data["team"],
    )


# What earlier records said in the place of `interrupted`.
_INTERRUPTED = "Interrupted before it was decided."


def parse(data: Json) -> Evidence:
    """Reads a session's record. Raises KitError for another version of the format."""
    if data.get("schema") != SCHEMA_VERSION:
        raise KitError(
            f"the evidence has schema version {data.get('schema')}, this kit reads "
            f"version {SCHEMA_VERSION}"
        )

    def of(kind: str, role: str | None = None) -> list[Json]:
        return [
            run
            for run in data["runs"]
            if run["kind"] == kind and (role is None or run["role"] == role)
        ]

    checks = of("check", SUBMISSION)
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
        checks=tuple(_check(run) for run in checks if not run.get("synchronous_sends")),
        synchronous_checks=tuple(_check(run) for run in checks if run.get("synchronous_sends")),
        traces=tuple(map(_trace, of("trace", SUBMISSION))),
        placements=tuple(map(_placement, of("placement", SUBMISSION))),
        control_traces=tuple(map(_trace, of("trace", SOLUTION))),
        control_placements=tuple(map(_placement, of("placement", SOLUTION))),
        generations=tuple(map(_generation, of("generation"))),
        races=tuple(map(_race, of("race", SUBMISSION))),
        race_error=data["race_error"],
        memories=tuple(map(_memory, of("memory", SUBMISSION))),
        control_memories=tuple(map(_memory, of("memory", SOLUTION))),
        handout_memories=tuple(map(_memory, of("memory", HANDOUT))),
        locates=tuple(map(_locate, of("locate", SUBMISSION))),
        control_locates=tuple(map(_locate, of("locate", SOLUTION))),
        handed_in=tuple(HandedText(**entry) for entry in data["handed_in"]),
        bindings=tuple(map(_binding, of("binding", SUBMISSION))),
        control_bindings=tuple(map(_binding, of("binding", SOLUTION))),
        thread_levels=tuple(map(_thread_level, of("thread_level", SUBMISSION))),
        control_thread_levels=tuple(map(_thread_level, of("thread_level", SOLUTION))),
        launches=tuple(map(_launched, of("ranks", SUBMISSION))),
        control_launches=tuple(map(_launched, of("ranks", SOLUTION))),
        slow_launches=tuple(map(_launched, of("ranks", HANDOUT))),
        latencies=tuple(map(_latency, of("latency", SUBMISSION))),
        unchanged_files=frozenset(data.get("unchanged_files", ())),
        interrupted=data.get("interrupted", False) or data["timing_error"] == _INTERRUPTED,
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
