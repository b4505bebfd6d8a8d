"""Explorations read back from what ./numalab explore --json writes."""

from __future__ import annotations

from collections.abc import Sequence

from numalab.errors import NumalabError
from numalab.evidence.record import Json
from numalab.explore.experiment import (
    Configuration,
    Experiment,
    Exploration,
    Measurements,
    ProgramRun,
    VirtualPages,
)
from numalab.labs import lab_modules


def _read_runs(data: Json) -> tuple[tuple[Configuration, ...], tuple[ProgramRun, ...]]:
    beside = ("arguments", "environment")
    ours = ("configuration", "round", "order", "started_s")
    made = tuple(
        Configuration(
            {key: value for key, value in entry.items() if key not in beside},
            tuple(entry["arguments"]),
            entry["environment"],
        )
        for entry in data["configurations"]
    )
    runs = tuple(
        ProgramRun(
            configuration=entry["configuration"],
            round=entry["round"],
            order=entry["order"],
            started_s=entry["started_s"],
            record={key: value for key, value in entry.items() if key not in ours},
        )
        for entry in data["samples"]
    )
    return made, runs


def read_found(data: Json) -> Measurements:
    """From what json_data made of it; only the node's PUs are lost. Raises NumalabError."""
    try:
        if data["schema"] != 1:
            raise NumalabError(f"the exploration has schema version {data['schema']}, not 1")
        made, runs = _read_runs(data)
        there = data.get("virtual")
        return Measurements(
            exploration=Exploration(data["lab"], data["title"], _explored(made, data["rounds"])),
            configurations=made,
            runs=runs,
            node=data["node"],
            description=data["about"],
            build=data["build"],
            seed=data["seed"],
            interrupted=data["interrupted"],
            virtual=there
            and VirtualPages(there["machine"], there["node"], *_read_runs(there), there["trouble"]),
        )
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise NumalabError(f"not what ./numalab explore --json writes: {error!r}") from error


def _explored(made: Sequence[Configuration], rounds: int) -> Experiment:
    """Return what was run, from the configurations that it became."""
    lab_modules.make_importable()
    from schedule_experiment import Schedules
    from stream_experiment import Streams
    from table_experiment import TableSizes

    first, keys = made[0], [configuration.key for configuration in made]
    if "table_bytes" in first.key:
        raise NumalabError(
            "an earlier version of the kit made this exploration of tables, which timed updates "
            "only. Run ./numalab explore 04 --json again"
        )
    if "bytes" in first.key:
        sizes = sorted({int(key["bytes"]) for key in keys})
        growth = sizes[1] // sizes[0] if len(sizes) > 1 else 2
        said = dict(argument.split("=") for argument in first.arguments[1:])
        steps, repetitions = int(said["steps"]), int(said["repetitions"])
        return TableSizes(sizes[0], sizes[-1], growth, steps, repetitions, rounds)
    if "placement" in first.key:
        said = dict(argument.split("=") for argument in first.arguments[1:])
        return Streams(int(said["bytes"]), int(said["repetitions"]), rounds, None)
    return Schedules(
        schedules=tuple(dict.fromkeys(str(key["schedule"]) for key in keys)),
        chunks=tuple(dict.fromkeys(int(key["chunk"]) for key in keys)),
        environment={},
        n=int(first.arguments[0]),
        rounds=rounds,
    )
