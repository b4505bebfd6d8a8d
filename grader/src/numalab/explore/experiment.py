"""What a lab's exploration measures, and its measurements.

An experiment is a kind of exploration that explore.toml names: it has its programs' configurations,
its tables, sentences and picture. Modules of labs register their classes here.
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
MIN_ELEMENTS = 8192  # of a table or an array, of 8 bytes each: 64 KiB

# Loops of the program common/probe.
CHASE = "chase"
COPY, TRIAD = "copy", "triad"
# Placements of threads, set by OMP_PLACES and OMP_PROC_BIND.
DEFAULT, COMPACT, SCATTER = "default", "compact", "scatter"


@dataclass(frozen=True)
class Configuration:
    """A program's arguments and environment.

    Attributes:
        key: values that the program's record must have, such as its number of threads.
        arguments, environment: of the program; the environment comes on top of the shell's.
        is_seeded: whether the program takes a random seed, which is the round's number.
    """

    key: dict[str, int | str]
    arguments: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)
    is_seeded: bool = False

    def arguments_in(self, round_number: int) -> tuple[str, ...]:
        """Return the arguments for a round; rounds are numbered from 0."""
        return (*self.arguments, f"seed={round_number}") if self.is_seeded else self.arguments


def thread_counts(cores: int) -> list[int]:
    """Return the powers of two up to a number of cores, and that number, in ascending order."""
    return sorted({*(2**power for power in range(cores.bit_length())), cores})


@dataclass(frozen=True)
class VirtualMachine:
    """A virtual machine on which pages are observed.

    Attributes:
        name: the machine's name in the gallery.
        cores_per_numa_node: the number of cores that each of its NUMA nodes is booted with.
        array_bytes, rounds: the size of each array and the number of rounds on it.
    """

    name: str
    cores_per_numa_node: int
    array_bytes: int
    rounds: int


class Experiment(ABC):
    """What is measured, and at which size. Subclasses are frozen dataclasses."""

    KEYS: ClassVar[tuple[str, ...]]  # keys of explore.toml besides those that all kinds have
    MEMORY: ClassVar[str]  # what takes the memory, as messages call it
    HAS_OWN_PROGRAM: ClassVar[bool] = False  # runs the lab's explore.c, not common/probe
    NEEDS_DESCRIPTION: ClassVar[bool] = False  # needs what the program prints for `describe`
    OBSERVES_PAGES: ClassVar[bool] = False  # has virtual_machine(), for machines of one NUMA node
    LOAD_EFFECT: ClassVar[str] = ""  # end of a sentence: what other load does besides noise

    rounds: int

    @classmethod
    @abstractmethod
    def read(cls, top: Table, size: str) -> Self:
        """Return the experiment at a size, the name of its table in explore.toml.
        top: all of explore.toml. Raises NumalabError for a missing key or an impossible value."""

    @abstractmethod
    def resize(self, n: int) -> Self:
        """Return the experiment at another --n. Raises UserError for an n that can't be."""

    def repeat(self, rounds: int) -> Self:
        """Return the experiment with another number of rounds."""
        return dataclasses.replace(self, rounds=rounds)  # type: ignore[type-var]

    @property
    @abstractmethod
    def needed_bytes(self) -> int:
        """The memory in bytes that the largest configuration takes."""

    @abstractmethod
    def configurations(self, node: Json) -> list[Configuration]:
        """Return what is run in each round. node: this machine, as describe_node describes it."""

    def virtual_machine(self) -> VirtualMachine | None:
        """Return the virtual machine on which pages are observed if this machine has one NUMA node;
        None: they are not."""
        return None

    def virtual_configurations(self, node: Json) -> list[Configuration]:
        """Return what is run on that virtual machine.
        node: the virtual machine, as describe_node describes it."""
        raise NotImplementedError

    @abstractmethod
    def size_text(self, measurements: Measurements) -> str:
        """Describe the sizes, for the heading of the report."""

    @abstractmethod
    def sentences(self, measurements: Measurements) -> list[str]:
        """Return sentences on the measurements, as on which differences survive repetition."""

    @abstractmethod
    def show(self, measurements: Measurements, console: Console) -> None:
        """Print the tables, and pictures where there are any."""

    @abstractmethod
    def draw(self, figure: Figure, measurements: Measurements) -> None:
        """Draw the picture into an empty figure."""

    @abstractmethod
    def title_text(self, measurements: Measurements) -> str:
        """Describe the sizes, for the figure's title. The text begins with a comma."""

    def figure_size_in(self, measurements: Measurements) -> tuple[float, float]:
        """Return the figure's width and height in inches."""
        return (12, 7.5)

    def pages_figure(
        self, measurements: Measurements, size_in: tuple[float, float] | None
    ) -> Figure | None:
        """Draw where pages were on the virtual machine; None where none were observed.
        size_in: width and height in inches; None: the experiment's own."""
        return None

    def divergence_bytes(self, measurements: Measurements) -> int | None:
        """Return the table size in bytes from which on small pages are slower than huge ones.
        None where they are not, or the experiment has no tables."""
        return None


_KINDS: dict[str, type[Experiment]] = {}
_AnyExperiment = TypeVar("_AnyExperiment", bound=type[Experiment])


def register(kind: str) -> Callable[[_AnyExperiment], _AnyExperiment]:
    """Return a class decorator that lets explore.toml name the class by its `kind`."""

    def add(experiment: _AnyExperiment) -> _AnyExperiment:
        _KINDS[kind] = experiment
        return experiment

    return add


def experiment_kinds() -> Mapping[str, type[Experiment]]:
    """Import labs' experiments, and return the registered kinds by their names in explore.toml,
    sorted."""
    lab_modules.load_experiments()
    return dict(sorted(_KINDS.items()))


@dataclass(frozen=True)
class Exploration:
    """What ./numalab explore measures for a lab.

    Attributes:
        lab: the name of the lab's folder.
        title: the heading of reports and pictures.
        what: the experiment at the chosen size.
    """

    lab: str
    title: str
    what: Experiment


@dataclass(frozen=True)
class ProgramRun:
    """One process from start to end.

    Attributes:
        configuration: index of its configuration.
        round, order: the number of its round, and its position within the round, both from 0.
        started_s: when the process was started, in seconds since run_rounds began.
        record: what the program wrote, maybe without times.
    """

    configuration: int
    round: int
    order: int
    started_s: float
    record: Json

    @property
    def elapsed_s(self) -> float:
        """The record's `elapsed_s`, in seconds."""
        return float(self.record["elapsed_s"])

    def step_ns(self, kernel: str) -> float:
        """Return ns per step of a kernel's shortest repetition, since other load only adds time.
        Raises NumalabError where none of the record's times are of the kernel."""
        times = self._times(kernel)
        return 1e9 * min(map(float, times["elapsed_s"])) / int(times["steps"])

    def rate_gb_s(self, kernel: str) -> float:
        """Return 10^9 bytes per second between cores and memory, of a kernel's shortest repetition.
        Raises NumalabError where none of the record's times are of the kernel."""
        times = self._times(kernel)
        return 1e-9 * int(times["bytes_moved"]) / min(map(float, times["elapsed_s"]))

    def _times(self, kernel: str) -> Json:
        for times in self.record["times"]:
            if times["kernel"] == kernel:
                return dict(times)
        raise NumalabError(f"the record has no times of {kernel}")


def runs_each(configurations: Sequence[Configuration], runs: Sequence[ProgramRun]) -> list[int]:
    """Return the number of runs of each configuration, in the order of the configurations; those
    without any are left out."""
    each = Counter(run.configuration for run in runs)
    return [each[index] for index in range(len(configurations)) if each[index]]


@dataclass(frozen=True)
class VirtualPages:
    """Where pages were on a virtual machine.

    Attributes:
        machine: the virtual machine, as evidence records it.
        node: its description by describe_node.
        configurations, runs: what was run. Times on it mean nothing.
        trouble: why it did not run; None: nothing is known to be wrong.
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
    """The measurements of an exploration, and how they were made.

    Attributes:
        configurations: what was run in each round.
        runs: the processes that ended, in their order.
        node: this machine, as describe_node describes it.
        description: what the program printed for `describe`; empty: it was not run for that.
        build: compiler, flags and OpenMP runtime of the programs.
        seed: the seed of the random order within rounds.
        interrupted: whether Ctrl-C ended the measurement early.
        virtual: pages on a virtual machine; None: none were observed.
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
        """Yield the runs of the configuration with this key; nothing if there is none."""
        return (run for run in self.runs if self.configurations[run.configuration].key == key)

    def times_s(self, **key: int | str) -> dict[int, float]:
        """Return elapsed_s by round, of the configuration with this key."""
        return {run.round: run.elapsed_s for run in self._runs_of(key)}

    def steps_ns(self, kernel: str, **key: int | str) -> dict[int, float]:
        """Return ns per step of a kernel by round, of the configuration with this key."""
        return {run.round: run.step_ns(kernel) for run in self._runs_of(key)}

    def rates_gb_s(self, kernel: str, **key: int | str) -> dict[int, float]:
        """Return 10^9 bytes per second of a kernel by round, of the configuration with this key."""
        return {run.round: run.rate_gb_s(kernel) for run in self._runs_of(key)}

    def records(self, **key: int | str) -> list[Json]:
        """Return the records of the configuration with this key, in the order of the runs."""
        return [run.record for run in self._runs_of(key)]

    @property
    def runs_each(self) -> list[int]:
        """The number of runs of each configuration, in the order of `configurations`; those without
        any are left out."""
        return runs_each(self.configurations, self.runs)

    def json_data(self) -> Json:
        """Return the measurements as values that JSON has; without the lists of PUs."""
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
    """Return describe_node's description without its list of PUs."""
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
