"""Evidence records: what the monitor saw, read into frozen values.

The format is common/schema/evidence.schema.json. A session's record holds the node, the
build, the environment, and a list of runs; the graded kernel has the role "submission"
in every run, whatever it is, and the kit's own kernels the roles "solution", "control" (a
second process of the solution) and "handout".
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from numalab.errors import KitError

SCHEMA_VERSION = 1
SUBMISSION, SOLUTION, CONTROL, HANDOUT = "submission", "solution", "control", "handout"

Json = dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    """How one worker's part of a run ended; detail holds what else is known."""

    status: str
    detail: Json = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        return self.status == "ok"


@dataclass(frozen=True)
class Mismatch:
    """The first wrong element: index from 0, the values, and when it was seen."""

    array: str
    element: int
    expected: float
    found: float
    phase: str
    repetition: int


@dataclass(frozen=True)
class Results:
    checked: int
    wrong: int
    first_wrong: Mismatch | None
    wrote_before_array: str | None


@dataclass(frozen=True)
class Thread:
    """A thread of the worker; core, package, numa_node: -1 when its PUs span several."""

    number: int
    allowed_pus: tuple[int, ...]
    core: int
    package: int
    numa_node: int


@dataclass(frozen=True)
class TracedArray:
    """One entry a page: who wrote it first (-1: nobody), and who used it."""

    name: str
    first_writer: tuple[int, ...]
    users: tuple[frozenset[int], ...]


@dataclass(frozen=True)
class Race:
    """A run that looks for data races. found: where, None if there was none; outcome is not
    ok in either case that matters. accesses: kernel lines of the two, as far as known."""

    part: str | None
    outcome: Outcome
    found: bool
    accesses: tuple[str, ...]


@dataclass(frozen=True)
class KernelTable:
    """One life of the arrays that a kernel makes, from outside. Bytes but for the times."""

    n: int
    bytes: int
    huge_bytes: int
    create_s: float
    initialize_s: float
    compute_s: float
    initialize_page_faults: int
    resident_before_bytes: int
    resident_during_bytes: int
    resident_after_bytes: int
    address_space_before_bytes: int
    address_space_after_bytes: int


@dataclass(frozen=True)
class Memory:
    part: str | None
    outcome: Outcome
    results: Results
    huge_pages_allowed: bool
    tables: tuple[KernelTable, ...]


@dataclass(frozen=True)
class Binding:
    """Where the threads of the kit's program may run under a placement file."""

    part: str | None
    outcome: Outcome
    file: str
    runtime: str
    threads: tuple[Thread, ...]
    team: int


@dataclass(frozen=True)
class Told:
    """Where a thread was, and where the kernel said that it was."""

    thread: int
    pu: int
    numa_node: int
    told_pu: int
    told_numa_node: int


@dataclass(frozen=True)
class Locate:
    part: str | None
    outcome: Outcome
    rounds: tuple[tuple[Told, ...], ...]
    team: int


@dataclass(frozen=True)
class PlacementText:
    """A placement file as it was handed in. complaint: why it can't be used, or None."""

    file: str
    complaint: str | None
    variables: dict[str, str]


@dataclass(frozen=True)
class Check:
    part: str | None
    outcome: Outcome
    results: tuple[tuple[int, Results], ...]  # (n, what was found)


@dataclass(frozen=True)
class Trace:
    part: str | None
    outcome: Outcome
    results: Results
    threads: tuple[Thread, ...]
    method: str
    order: str
    sees_write_after_read: bool
    arrays: tuple[TracedArray, ...]
    team: int


@dataclass(frozen=True)
class CpuTime:
    """Of one thread: time on a core and waiting for one; longest_s: cpu_s of the calls in
    which no other thread had more; last_s: the same of cpu_s + waiting_s."""

    cpu_s: float
    waiting_s: float
    longest_s: float
    last_s: float


@dataclass(frozen=True)
class Placement:
    part: str | None
    outcome: Outcome
    results: Results
    threads: tuple[Thread, ...]
    residency: dict[str, tuple[int, ...]] | None  # NUMA node of each page; -1: absent
    cpu_time: tuple[CpuTime, ...]  # of each thread in the compute phases
    team: int


@dataclass(frozen=True)
class RolePart:
    outcome: Outcome
    results: Results
    initialize_s: float


@dataclass(frozen=True)
class Generation:
    part: str | None
    n: int
    bytes_moved: int
    roles: dict[str, RolePart]
    elapsed_s: dict[str, tuple[float, ...]]  # timed repetitions of each role, in order

    @property
    def ok(self) -> bool:
        return all(part.outcome.ok for part in self.roles.values())


@dataclass(frozen=True)
class Build:
    """status: ok, missing, does_not_compile, wrong_interface, does_not_link."""

    status: str
    message: str  # one or more sentences for the student
    output: str  # the compiler's or linker's, short


@dataclass(frozen=True)
class Evidence:
    """A session's record. runs: as the monitor wrote them; the rest is parsed from it."""

    lab: str
    language: str
    variant: str
    size: str
    quick: bool
    node: Json
    is_virtual: bool
    timing_refused: str | None  # why nothing was timed on this node
    timing_error: str | None  # what of the kit kept it from being timed
    build: Build
    checks: tuple[Check, ...]
    traces: tuple[Trace, ...]
    placements: tuple[Placement, ...]
    control_traces: tuple[Trace, ...]  # the kit's solution in the same session
    control_placements: tuple[Placement, ...]
    generations: tuple[Generation, ...]
    races: tuple[Race, ...]
    race_error: str | None  # why data races can't be looked for
    memories: tuple[Memory, ...]
    control_memories: tuple[Memory, ...]
    handout_memories: tuple[Memory, ...]  # without huge pages, to compare with
    locates: tuple[Locate, ...]
    control_locates: tuple[Locate, ...]
    placement_files: tuple[PlacementText, ...]
    bindings: tuple[Binding, ...]
    control_bindings: tuple[Binding, ...]  # under the solution's files

    def of_part(self, part: str | None) -> Evidence:
        """What belongs to one of the lab's kernels."""
        of_part: dict[str, Any] = {
            name: tuple(run for run in getattr(self, name) if run.part == part) for name in _RUNS
        }
        return replace(self, **of_part)

    def as_control(self) -> Evidence:
        """The evidence of the kit's solution in the place of the submission's."""
        return replace(
            self,
            checks=(),
            traces=self.control_traces,
            placements=self.control_placements,
            memories=self.control_memories,
            locates=self.control_locates,
            bindings=self.control_bindings,
            placement_files=tuple(
                PlacementText(run.file, None, {}) for run in self.control_bindings
            ),
            generations=(),
            races=(),
        )

    @property
    def numa_nodes(self) -> int:
        return int(self.node["numa_nodes"])


_RUNS = (
    "checks", "traces", "placements", "control_traces", "control_placements", "generations",
    "races", "memories", "control_memories", "handout_memories", "locates", "control_locates",
    "bindings", "control_bindings",
)  # fmt: skip

# ---- reading ---------------------------------------------------------------


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
        ),
        wrote_before_array=data.get("wrote_before_array"),
    )


def _threads(data: Sequence[Json]) -> tuple[Thread, ...]:
    return tuple(
        Thread(
            number=entry["thread"],
            allowed_pus=tuple(entry["allowed_pus"]),
            core=entry["core"],
            package=entry["package"],
            numa_node=entry["numa_node"],
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
            CpuTime(entry["cpu_s"], entry["waiting_s"], entry["longest_s"], entry["last_s"])
            for entry in data.get("cpu_time", ())
        ),
        team=data["team"],
    )


def _check(data: Json) -> Check:
    return Check(
        part=data["part"],
        outcome=_outcome(data["outcome"]),
        results=tuple((entry["n"], _results(entry["results"])) for entry in data["checks"]),
    )


def _generation(data: Json) -> Generation:
    elapsed: dict[str, list[float]] = {}
    for sample in data["samples"]:
        if not sample["warm_up"]:
            elapsed.setdefault(sample["role"], []).append(sample["elapsed_s"])
    return Generation(
        part=data["part"],
        n=data["n"],
        bytes_moved=data["bytes_moved"],
        roles={
            entry["role"]: RolePart(
                _outcome(entry["outcome"]), _results(entry["results"]), entry["initialize_s"]
            )
            for entry in data["roles"]
        },
        elapsed_s={role: tuple(times) for role, times in elapsed.items()},
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

    return Evidence(
        lab=data["lab"],
        language=data["language"],
        variant=data["variant"],
        size=data["size"],
        quick=data["quick"],
        node=data["node"],
        is_virtual=data["machine"] is not None,
        timing_refused=data["timing_refused"],
        timing_error=data["timing_error"],
        build=Build(**data["build"]["kernel"]),
        checks=tuple(map(_check, of("check", SUBMISSION))),
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
        placement_files=tuple(PlacementText(**entry) for entry in data["placement_files"]),
        bindings=tuple(map(_binding, of("binding", SUBMISSION))),
        control_bindings=tuple(map(_binding, of("binding", SOLUTION))),
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
