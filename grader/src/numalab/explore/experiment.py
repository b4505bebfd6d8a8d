"""What a lab's exploration measures, and what it measured.

An experiment is a kind of exploration that explore.toml names: its programs' configurations, its
tables, sentences and picture. Each lies in the lab that has it (labs/NN_name/grading/
NAME_experiment.py) and registers itself here by its name; rounds, intervals and files are alike for
all.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Self, TypeVar

from numalab.errors import NumalabError
from numalab.evidence.record import Json
from numalab.labs import lab_modules
from numalab.toml_files.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console

MIB = 2**20
MIN_ELEMENTS = 8192  # of a table or an array, 8 bytes each: 64 KiB

# Kernels of the probe (common/probe).
CHASE = "chase"
COPY, TRIAD = "copy", "triad"
# How threads are bound. Not KMP_AFFINITY: every runtime reads these variables.
DEFAULT, COMPACT, SCATTER = "default", "compact", "scatter"


@dataclass(frozen=True)
class Configuration:
    """One thing that is timed.

    Attributes:
        key: what the program's record has to say of itself, such as its number of threads.
        arguments, environment: of the program.
        is_seeded: the program draws something, anew in each round, the same for all of a round.
    """

    key: dict[str, int | str]
    arguments: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)
    is_seeded: bool = False

    def arguments_in(self, round_number: int) -> tuple[str, ...]:
        """Return the arguments in a round, from 0."""
        return (*self.arguments, f"seed={round_number}") if self.is_seeded else self.arguments


def thread_counts(cores: int) -> list[int]:
    """Return 1, 2, 4, ... and all cores."""
    return sorted({*(2**power for power in range(cores.bit_length())), cores})


@dataclass(frozen=True)
class VirtualMachine:
    """Where pages are observed if this machine has one NUMA node.

    Attributes:
        name: of the gallery's machine.
        cores_per_numa_node: how many of it are booted.
        array_bytes: of each array there.
        rounds: there; what one round shows the next one shows again, but for unbound threads.
    """

    name: str
    cores_per_numa_node: int
    array_bytes: int
    rounds: int


class Experiment(ABC):
    """What is measured, at one of the sizes of explore.toml. A subclass is a frozen dataclass."""

    KEYS: ClassVar[tuple[str, ...]]  # of explore.toml, besides those that all kinds have
    MEMORY: ClassVar[str]  # what takes the memory, as messages call it
    HAS_OWN_PROGRAM: ClassVar[bool] = False  # the lab's explore.c; else the probe that all share
    NEEDS_DESCRIPTION: ClassVar[bool] = False  # of the processor, by the program's `describe`
    OBSERVES_PAGES: ClassVar[bool] = False  # on a virtual machine where this one has one NUMA node
    LOAD_EFFECT: ClassVar[str] = ""  # of other load on what is compared, beside wider intervals

    rounds: int

    @classmethod
    @abstractmethod
    def read(cls, top: Table, size: str) -> Self:
        """Read explore.toml at one size, the name of its table. Raises the file's error."""

    @abstractmethod
    def resize(self, n: int) -> Self:
        """Return it with another --n. Raises UserError where that can't be."""

    def repeat(self, rounds: int) -> Self:
        """Return it with another number of rounds."""
        return dataclasses.replace(self, rounds=rounds)  # type: ignore[type-var]

    @property
    @abstractmethod
    def needed_bytes(self) -> int:
        """Memory of the largest configuration."""

    @abstractmethod
    def configurations(self, node: Json) -> list[Configuration]:
        """Return what is run on a machine that describe_node has described."""

    def virtual_machine(self) -> VirtualMachine | None:
        """Return the virtual machine on which pages are observed; None: on none."""
        return None

    def virtual_configurations(self, node: Json) -> list[Configuration]:
        """Return what is run on that virtual machine."""
        raise NotImplementedError

    @abstractmethod
    def size_text(self, measurements: Measurements) -> str:
        """Describe the sizes, for the heading of the report."""

    @abstractmethod
    def sentences(self, measurements: Measurements) -> list[str]:
        """Return what survives repetition, in sentences."""

    @abstractmethod
    def show(self, measurements: Measurements, console: Console) -> None:
        """Print the tables, and pictures where there are any."""

    @abstractmethod
    def draw(self, figure: Figure, measurements: Measurements) -> None:
        """Draw the picture into an empty figure."""

    @abstractmethod
    def title_text(self, measurements: Measurements) -> str:
        """Describe the sizes, for the figure's title; begins with a comma."""

    def figure_size_in(self, measurements: Measurements) -> tuple[float, float]:
        """Return width and height of the figure in inches."""
        del measurements
        return (12, 7.5)

    def pages_figure(
        self, measurements: Measurements, size_in: tuple[float, float] | None
    ) -> Figure | None:
        """Return a picture of a virtual machine's pages; None where there is none."""
        del measurements, size_in
        return None

    def divergence_bytes(self, measurements: Measurements) -> int | None:
        """Return the table size from which on small pages take longer; None where they don't, or
        something else is measured."""
        del measurements
        return None


_KINDS: dict[str, type[Experiment]] = {}
_AnyExperiment = TypeVar("_AnyExperiment", bound=type[Experiment])


def register(kind: str) -> Callable[[_AnyExperiment], _AnyExperiment]:
    """Let explore.toml name a class of experiments by its `kind`."""

    def add(experiment: _AnyExperiment) -> _AnyExperiment:
        _KINDS[kind] = experiment
        return experiment

    return add


def experiment_kinds() -> Mapping[str, type[Experiment]]:
    """Return all kinds of experiments by their names in explore.toml."""
    lab_modules.load_experiments()
    return dict(sorted(_KINDS.items()))


@dataclass(frozen=True)
class Exploration:
    """What ./numalab explore measures of a lab, which is its folder's name."""

    lab: str
    title: str
    what: Experiment


@dataclass(frozen=True)
class ProgramRun:
    """One process.

    Attributes:
        configuration: index of what it ran.
        round, order: number of the round, and its place within that, from 0.
        started_s: seconds since the first one began.
        record: what the program wrote.
    """

    configuration: int
    round: int
    order: int
    started_s: float
    record: Json

    @property
    def elapsed_s(self) -> float:
        return float(self.record["elapsed_s"])

    def step_ns(self, kernel: str) -> float:
        """Return ns per step of the kernel's best repetition: other load only adds time."""
        times = self._times(kernel)
        return 1e9 * min(map(float, times["elapsed_s"])) / int(times["steps"])

    def rate_gb_s(self, kernel: str) -> float:
        """Return 10^9 bytes per second between cores and memory, of the best repetition."""
        times = self._times(kernel)
        return 1e-9 * int(times["bytes_moved"]) / min(map(float, times["elapsed_s"]))

    def _times(self, kernel: str) -> Json:
        for times in self.record["times"]:
            if times["kernel"] == kernel:
                return dict(times)
        raise NumalabError(f"the record has no times of {kernel}")


def runs_each(configurations: Sequence[Configuration], runs: Sequence[ProgramRun]) -> list[int]:
    """Return the number of runs of each configuration that has any."""
    each = Counter(run.configuration for run in runs)
    return [each[index] for index in range(len(configurations)) if each[index]]


@dataclass(frozen=True)
class VirtualPages:
    """Where pages were on a virtual machine, under the same program.

    Attributes:
        machine: its name, what it stands for and how it ran.
        node: what describe_node said there.
        configurations, runs: what was run; its times mean nothing, so no record has any.
        trouble: why there is nothing, or less than was requested.
    """

    machine: Json
    node: Json
    configurations: tuple[Configuration, ...] = ()
    runs: tuple[ProgramRun, ...] = ()
    trouble: str | None = None

    @property
    def name(self) -> str:
        return str(self.machine["name"])


@dataclass(frozen=True)
class Measurements:
    """All that was measured, and what a reader has to know of it.

    Attributes:
        exploration: what was measured.
        configurations, runs: what was run, and what each process wrote.
        node: this machine, as describe_node has it.
        description: the processor and its pages, as the program's `describe` has them.
        build: compiler, flags and runtime of the programs.
        seed: of the random order of the rounds.
        interrupted: Ctrl-C ended it.
        virtual: pages of a virtual machine, where this machine has one NUMA node.
    """

    exploration: Exploration
    configurations: tuple[Configuration, ...]
    runs: tuple[ProgramRun, ...]
    node: Json
    description: Json
    build: Json
    seed: int
    interrupted: bool
    virtual: VirtualPages | None = None

    def _runs_of(self, key: Mapping[str, int | str]) -> Iterator[ProgramRun]:
        """Yield the runs of the configuration with this key; none if there is no such one."""
        return (run for run in self.runs if self.configurations[run.configuration].key == key)

    def times_s(self, **key: int | str) -> dict[int, float]:
        """Return seconds by round of the configuration with this key."""
        return {run.round: run.elapsed_s for run in self._runs_of(key)}

    def steps_ns(self, kernel: str, **key: int | str) -> dict[int, float]:
        """Return nanoseconds per step of a kernel by round of the configuration with this key."""
        return {run.round: run.step_ns(kernel) for run in self._runs_of(key)}

    def rates_gb_s(self, kernel: str, **key: int | str) -> dict[int, float]:
        """Return 10^9 bytes per second of a kernel by round of the configuration with this key."""
        return {run.round: run.rate_gb_s(kernel) for run in self._runs_of(key)}

    def records(self, **key: int | str) -> list[Json]:
        """Return what the programs wrote of the configuration with this key."""
        return [run.record for run in self._runs_of(key)]

    @property
    def runs_each(self) -> list[int]:
        """Number of runs of each configuration that has any."""
        return runs_each(self.configurations, self.runs)

    def json_data(self) -> Json:
        what = self.exploration.what
        whole: Json = {
            "schema": 1,
            "lab": self.exploration.lab,
            "title": self.exploration.title,
            "interrupted": self.interrupted,
            "node": _shown_node(self.node),
            "about": self.description,
            "build": self.build,
            "rounds": what.rounds,
            "seed": self.seed,
            **_runs_data(self.configurations, self.runs),
        }
        if what.OBSERVES_PAGES:
            whole["virtual"] = None if self.virtual is None else _virtual_data(self.virtual)
        return whole


def _shown_node(node: Json) -> Json:
    """Return what describe_node said without its list of PUs."""
    return {key: value for key, value in node.items() if key != "pu_list"}


def _runs_data(configurations: Sequence[Configuration], runs: Sequence[ProgramRun]) -> Json:
    return {
        "configurations": [
            {**c.key, "arguments": list(c.arguments), "environment": c.environment}
            for c in configurations
        ],
        "samples": [
            {
                "configuration": s.configuration, "round": s.round, "order": s.order,
                "started_s": s.started_s, **s.record,
            }
            for s in runs
        ],
    }  # fmt: skip


def _virtual_data(virtual: VirtualPages) -> Json:
    return {
        "machine": virtual.machine,
        "node": _shown_node(virtual.node),
        "trouble": virtual.trouble,
        **_runs_data(virtual.configurations, virtual.runs),
    }
