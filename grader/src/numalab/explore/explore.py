"""Explorations: a lab's own small measurement, repeated until it can be believed.

explore.toml in the lab's grading/ says what is measured; the program is the lab's own, explore.c
beside it, or the probe that all share (common/probe). One process is one sample. A round runs every
configuration once, in an order of its own: what disturbs the node for a while hits all of them
alike, and samples of one round can be compared. Processes are fresh because where a process's pages
lie, and so how they share the caches, differs from start to start: repetitions within one would all
agree about it.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from numalab.errors import Interrupted, NumalabError, UserError
from numalab.evidence.record import Json
from numalab.explore.declaration import (
    Exploration,
    Schedules,
    Streams,
    TableSizes,
    VirtualMachine,
)
from numalab.explore.measurements import (
    COPY,
    Configuration,
    Measurements,
    ProgramRun,
    Virtual,
    configurations,
    stream_configurations,
    thread_counts,
)
from numalab.harness.monitor import HERE, Place
from numalab.installation import Installation
from numalab.processes import shell_variables
from numalab.processes.limits import limits_in_force, limits_sentence
from numalab.words import CountedStep

MIB = 2**20
MEMORY_SHARE = 0.8  # of what is free may be taken
EXIT_NO_MEMORY = 3  # of the programs
KILLED, INTERRUPTED = -9, -2


def needed_bytes(exploration: Exploration) -> int:
    """Memory that the largest configuration takes."""
    what = exploration.what
    if isinstance(what, Schedules):
        return 3 * 8 * what.n**2
    if isinstance(what, Streams):
        return 3 * what.array_bytes + 4 * MIB
    return what.largest_bytes + 4 * MIB


def available_bytes(meminfo: str, limit_bytes: int | None) -> int:
    """What can be had without swapping, from /proc/meminfo's text and a group's limit."""
    for line in meminfo.splitlines():
        if line.startswith("MemAvailable:"):
            free = int(line.split()[1]) * 1024
            return free if limit_bytes is None else min(free, limit_bytes)
    raise NumalabError("/proc/meminfo has no MemAvailable; the kit needs Linux 3.14 or newer")


def check_memory(exploration: Exploration, available: int) -> None:
    """Raises UserError where the largest configuration does not fit."""
    needed = needed_bytes(exploration)
    if needed <= MEMORY_SHARE * available:
        return
    things = {Schedules: "matrices", TableSizes: "largest table", Streams: "three arrays"}
    thing = things[type(exploration.what)]
    raise UserError(
        f"the {thing} would take {needed // MIB} MiB, and {available // MIB} MiB are free "
        f"(at most {MEMORY_SHARE:.0%} of it is taken). Use --quick or a smaller --n, or end "
        "what else takes memory."
    )


class VirtualNode(Place, Protocol):
    """A place that is a virtual machine. machine: what it stands for; node: what it says of
    itself."""

    @property
    def machine(self) -> Json: ...

    @property
    def node(self) -> Json: ...


def orders(configurations: int, rounds: int, seed: int) -> list[list[int]]:
    """For each round the configurations in its random order."""
    generator = random.Random(seed)
    return [generator.sample(range(configurations), configurations) for _ in range(rounds)]


def parse_record(output: str, key: Mapping[str, int | str]) -> Json:
    """A program's record, once it is seen to be of the configuration that was asked for: a
    runtime that gives other threads or another schedule would spoil it. Raises NumalabError."""
    try:
        record = json.loads(output)
        entries = record["times"] if "times" in record else [{"elapsed_s": [record["elapsed_s"]]}]
        elapsed_s = min(float(time_s) for entry in entries for time_s in entry["elapsed_s"])
    except (json.JSONDecodeError, KeyError, TypeError, ValueError) as error:
        raise NumalabError(f"the program gave no record, but: {output.strip()[:200]!r}") from error
    if not elapsed_s > 0:
        raise NumalabError(f"the program gave a time of {elapsed_s} s; the clock can't be trusted")
    for name, asked in key.items():
        if (name == "chunk" and asked == 0) or name == "placement":
            continue  # the runtime's own word for it differs, or it has none
        if record.get(name) != asked:
            raise NumalabError(f"asked for {name} {asked}, the program ran with {record.get(name)}")
    return dict(record)


def run_program(
    program: Path, arguments: Sequence[str], environment: Mapping[str, str], place: Place = HERE
) -> str:
    """What it wrote. Raises Interrupted, UserError where memory was short, NumalabError."""
    done = place.execute([str(program), *arguments], environment)
    said = done.complaint.strip()
    if done.code == 0:
        return done.output
    if done.code == INTERRUPTED:
        raise Interrupted
    if done.code == KILLED:
        raise UserError(
            f"{program.name} was killed, most likely for lack of memory. Use --quick or a "
            f"smaller --n.{limits_sentence(limits_in_force()) if place is HERE else ''}"
        )
    if done.code == EXIT_NO_MEMORY:
        raise UserError(f"too little memory: {said}. Use --quick or a smaller --n.")
    raise NumalabError(
        f"{program.name} {' '.join(arguments)} failed (exit code {done.code}): "
        f"{said or 'it said nothing'}"
    )


def run_rounds(
    program: Path,
    configurations: Sequence[Configuration],
    order: Sequence[Sequence[int]],
    progress: Callable[[str], None],
    place: Place = HERE,
    done: int = 0,
) -> Iterator[ProgramRun]:
    """Measures, sample by sample. done: of the rounds, how many were measured before."""
    step = "measuring" if place is HERE else f"looking at pages on virtual {place.name}"
    surroundings = shell_variables.for_observers()
    started = time.monotonic()
    for number, this_round in enumerate(order):
        if number < done:
            continue
        left = ""
        if number > done:
            left_s = (time.monotonic() - started) / (number - done) * (len(order) - number)
            left = f", about {left_s:.0f} s left"
        progress(CountedStep(step, f"round {number + 1} of {len(order)}{left}"))
        for place_in_round, index in enumerate(this_round):
            configuration = configurations[index]
            began_s = time.monotonic() - started
            environment = surroundings | configuration.environment
            arguments = configuration.arguments_in(number)
            output = run_program(program, arguments, environment, place)
            record = parse_record(output, configuration.key)
            yield ProgramRun(index, number, place_in_round, round(began_s, 6), record)


def explore(
    installation: Installation,
    exploration: Exploration,
    node: Json,
    progress: Callable[[str], None],
) -> Measurements:
    """Measures all of it. After Ctrl-C: what there is by then, marked interrupted.

    The program has been built. Raises UserError where memory is short, and NumalabError."""
    meminfo = Path("/proc/meminfo").read_text(encoding="utf-8")
    check_memory(exploration, available_bytes(meminfo, node["cgroup_memory_max_bytes"]))
    what = exploration.what
    program = installation.exploration(exploration.lab)
    chosen = configurations(exploration, node)
    seed = random.SystemRandom().randrange(2**32)
    about: Json = {}
    build = read_build(installation)
    runs: list[ProgramRun] = []
    interrupted = False
    try:
        if isinstance(what, TableSizes):
            about = json.loads(run_program(program, ["describe"], shell_variables.for_observers()))
        order = orders(len(chosen), what.rounds, seed)
        for sample in run_rounds(program, chosen, order, progress):
            runs.append(sample)
    except (Interrupted, KeyboardInterrupt):
        interrupted = True
    return Measurements(
        exploration, tuple(chosen), tuple(runs), node, about, build, seed, interrupted
    )


# Of the host's: a thread that spins in the guest would keep one from another that has work.
_FEW_CORES = {"OMP_WAIT_POLICY": "passive"}


def observe_pages(
    installation: Installation,
    requested: VirtualMachine,
    place: VirtualNode,
    progress: Callable[[str], None],
) -> tuple[Virtual, bool]:
    """Where pages live there, with 1, 2, 4, ... threads and all PUs; times are dropped. After
    Ctrl-C what there is by then, and True. Raises UserError and NumalabError."""
    threads = thread_counts(place.node["pus"])
    chosen = [
        replace(one, environment=one.environment | _FEW_CORES)
        for one in stream_configurations(requested.array_bytes, 1, (COPY,), threads)
    ]
    order = orders(len(chosen), requested.rounds, random.SystemRandom().randrange(2**32))
    runs: list[ProgramRun] = []
    interrupted = False
    try:
        for sample in run_rounds(installation.probe, chosen, order, progress, place):
            seen = {key: value for key, value in sample.record.items() if key != "times"}
            runs.append(replace(sample, record=seen))
    except (Interrupted, KeyboardInterrupt):
        interrupted = True
    return Virtual(place.machine, place.node, tuple(chosen), tuple(runs)), interrupted


def read_build(installation: Installation) -> Json:
    """Compiler, flags and runtime of the programs. Raises NumalabError."""
    path = installation.build / "exploration.json"
    try:
        build: Json = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, json.JSONDecodeError) as error:
        raise NumalabError(f"{path} can't be read; run ./numalab setup") from error
    return build
