"""Run an exploration: a small measurement on a lab's subject, repeated in rounds.

A round runs each configuration once, in a random order of its own, so that what disturbs the
machine for a while may hit any of them, and runs of one round can be compared. Each run is a
process of its own, since where its pages are, and so how they share the caches, may differ from
process to process.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import msgspec

from numalab.errors import Interrupted, NumalabError, UserError
from numalab.evidence.format import ShownMachine
from numalab.evidence.record import Json
from numalab.explore.experiment import (
    MIB,
    Configuration,
    Experiment,
    Exploration,
    Measurements,
    ProgramRun,
    VirtualPages,
)
from numalab.harness.monitor import THIS_MACHINE, Place
from numalab.installation import Installation
from numalab.processes import shell_variables
from numalab.processes.limits import limits_in_force, limits_sentence
from numalab.words import CountedStep

MEMORY_SHARE = 0.8  # the part of the free memory that may be taken
EXIT_NO_MEMORY = 3  # exit code of explore.c and common/probe
KILLED, INTERRUPTED = -9, -2  # by SIGKILL, by SIGINT


def available_bytes(meminfo: str, limit_bytes: int | None) -> int:
    """Return MemAvailable in bytes, or the limit where that is less.
    meminfo: the text of /proc/meminfo; limit_bytes: the control group's, None: it has none. Raises
    NumalabError where /proc/meminfo has no MemAvailable."""
    for line in meminfo.splitlines():
        if line.startswith("MemAvailable:"):
            free = int(line.split()[1]) * 1024
            return free if limit_bytes is None else min(free, limit_bytes)
    raise NumalabError("/proc/meminfo has no MemAvailable; the kit needs Linux 3.14 or newer")


def check_memory(exploration: Exploration, available: int) -> None:
    """Raise UserError if the largest configuration takes more than MEMORY_SHARE of the available
    bytes."""
    needed = exploration.what.needed_bytes
    if needed <= MEMORY_SHARE * available:
        return
    raise UserError(
        f"the {exploration.what.MEMORY} would take {needed // MIB} MiB, and {available // MIB} MiB "
        f"are free (at most {MEMORY_SHARE:.0%} of it is taken). Use --quick or a smaller --n, or "
        "end what else takes memory."
    )


class VirtualNode(Place, Protocol):
    """A place that is a virtual machine.
    machine: the described machine that it stands for, as evidence records it; node: itself, as
    describe_node describes it."""

    @property
    def machine(self) -> ShownMachine: ...

    @property
    def node(self) -> Json: ...


def orders(configurations: int, rounds: int, seed: int) -> list[list[int]]:
    """Return for each round the indices of all configurations in a random order.
    configurations, rounds: their numbers. The same seed gives the same orders."""
    generator = random.Random(seed)
    return [generator.sample(range(configurations), configurations) for _ in range(rounds)]


def parse_record(output: str, key: Mapping[str, int | str]) -> Json:
    """Return a program's record, a JSON text, checked against a configuration's key.
    A runtime may give another number of threads or another schedule. Raises NumalabError where it
    is no record, the least time is not above 0, or a value differs from the key's; a chunk of 0
    and the placement are not compared."""
    try:
        record = json.loads(output)
        entries = record["times"] if "times" in record else [{"elapsed_s": [record["elapsed_s"]]}]
        elapsed_s = min(float(time_s) for entry in entries for time_s in entry["elapsed_s"])
    except (json.JSONDecodeError, KeyError, TypeError, ValueError) as error:
        raise NumalabError(f"the program gave no record, but: {output.strip()[:200]!r}") from error
    if not elapsed_s > 0:
        raise NumalabError(f"the program gave a time of {elapsed_s} s; the clock can't be trusted")
    for name, value in key.items():
        if (name == "chunk" and value == 0) or name == "placement":
            continue  # records have the runtime's value for chunk 0, and no placement
        if record.get(name) != value:
            raise NumalabError(f"asked for {name} {value}, the program ran with {record.get(name)}")
    return dict(record)


def run_program(
    program: Path,
    arguments: Sequence[str],
    environment: Mapping[str, str],
    place: Place = THIS_MACHINE,
) -> str:
    """Run a program and return its standard output. environment: all variables that it gets.
    Raises Interrupted after Ctrl-C, UserError where it ran out of memory or was killed, and
    NumalabError where it failed or can't be started."""
    done = place.execute([str(program), *arguments], environment)
    complaint = done.complaint.strip()
    if done.code == 0:
        return done.output
    if done.code == INTERRUPTED:
        raise Interrupted
    if done.code == KILLED:
        raise UserError(
            f"{program.name} was killed, most likely for lack of memory. Use --quick or a "
            f"smaller --n.{limits_sentence(limits_in_force()) if place is THIS_MACHINE else ''}"
        )
    if done.code == EXIT_NO_MEMORY:
        raise UserError(f"too little memory: {complaint}. Use --quick or a smaller --n.")
    raise NumalabError(
        f"{program.name} {' '.join(arguments)} failed (exit code {done.code}): "
        f"{complaint or 'it said nothing'}"
    )


def run_rounds(
    program: Path,
    configurations: Sequence[Configuration],
    order: Sequence[Sequence[int]],
    progress: Callable[[str], None],
    place: Place = THIS_MACHINE,
    done: int = 0,
) -> Iterator[ProgramRun]:
    """Run configurations in the given order, and yield each run when its process has ended.
    order: for each round the indices of the configurations, as orders() returns them; done: the
    number of rounds at its beginning that are skipped. Raises as run_program and parse_record."""
    step = "measuring" if place is THIS_MACHINE else f"looking at pages on virtual {place.name}"
    surroundings = shell_variables.observer_environment()
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
    """Measure an exploration on this machine; its program must have been built.
    node: this machine, as describe_node describes it. After Ctrl-C while programs run, the
    measurements so far are returned, marked as interrupted; they may be none. Raises UserError
    where memory is short or a program is killed, and NumalabError where one fails, or as
    available_bytes and read_build."""
    meminfo = Path("/proc/meminfo").read_text(encoding="utf-8")
    check_memory(exploration, available_bytes(meminfo, node["cgroup_memory_max_bytes"]))
    what = exploration.what
    program = installation.exploration(exploration.lab)
    chosen = what.configurations(node)
    seed = random.SystemRandom().randrange(2**32)
    description: Json = {}
    build = read_build(installation)
    runs: list[ProgramRun] = []
    interrupted = False
    try:
        if what.NEEDS_DESCRIPTION:
            output = run_program(program, ["describe"], shell_variables.observer_environment())
            try:
                description = json.loads(output)
            except ValueError as error:
                raise NumalabError(f"{program} describe printed no JSON: {error}") from error
        order = orders(len(chosen), what.rounds, seed)
        for sample in run_rounds(program, chosen, order, progress):
            runs.append(sample)
    except (Interrupted, KeyboardInterrupt):
        interrupted = True
    return Measurements(
        exploration, tuple(chosen), tuple(runs), node, description, build, seed, interrupted
    )


def observe_pages(
    installation: Installation,
    experiment: Experiment,
    place: VirtualNode,
    progress: Callable[[str], None],
) -> tuple[VirtualPages, bool]:
    """Observe where pages are on an experiment's virtual machine, and leave times out of records.
    experiment: has a virtual machine; place: that, booted. Returns the pages, and whether Ctrl-C
    ended it early. Raises UserError where memory is short or a program is killed, and NumalabError
    where one fails."""
    machine = experiment.virtual_machine()
    assert machine is not None
    chosen = experiment.virtual_configurations(place.node)
    order = orders(len(chosen), machine.rounds, random.SystemRandom().randrange(2**32))
    runs: list[ProgramRun] = []
    interrupted = False
    try:
        for run in run_rounds(installation.probe, chosen, order, progress, place):
            record = {key: value for key, value in run.record.items() if key != "times"}
            runs.append(replace(run, record=record))
    except (Interrupted, KeyboardInterrupt):
        interrupted = True
    return VirtualPages(
        msgspec.to_builtins(place.machine), place.node, tuple(chosen), tuple(runs)
    ), interrupted


def read_build(installation: Installation) -> Json:
    """Return the build folder's exploration.json: compiler, flags and OpenMP runtime of the
    programs. Raises NumalabError where that can't be read."""
    path = installation.build / "exploration.json"
    try:
        build: Json = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise NumalabError(f"{path} can't be read; run ./numalab setup") from error
    return build
