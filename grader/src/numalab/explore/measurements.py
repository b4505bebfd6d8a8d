"""What an exploration runs, and what it found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from numalab.errors import NumalabError
from numalab.evidence.record import Json
from numalab.explore.declaration import Exploration, Schedules, Streams, TableSizes

CHASE, UPDATE = "chase", "update"  # kernels of common/probe
TABLE_KERNELS = (UPDATE, CHASE)
COPY, TRIAD = "copy", "triad"
STREAM_KERNELS = (COPY, TRIAD)

# What a run is told of places. Not KMP_AFFINITY: these words every runtime knows.
DEFAULT, COMPACT, SCATTER = "default", "compact", "scatter"
PLACEMENTS: Mapping[str, Mapping[str, str]] = {
    DEFAULT: {},
    COMPACT: {"OMP_PLACES": "cores", "OMP_PROC_BIND": "close"},
    SCATTER: {"OMP_PLACES": "cores", "OMP_PROC_BIND": "spread"},
}
ALL_THREADS, MAIN_THREAD = (
    "all",
    "one",
)  # threads that write the arrays first, each what it will use
FIRST_TOUCHES = (ALL_THREADS, MAIN_THREAD)
MOST_COUNTED = 16  # numbers of threads: up to here each one


@dataclass(frozen=True)
class Configuration:
    """One thing that is timed. key: what the record has to say of it. is_seeded: the program draws
    something, anew in each round, and in it the same for all."""

    key: dict[str, int | str]
    arguments: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)
    is_seeded: bool = False

    def arguments_in(self, number: int) -> tuple[str, ...]:
        """Of a round, from 0."""
        return (*self.arguments, f"seed={number}") if self.is_seeded else self.arguments


def thread_counts(cores: int) -> list[int]:
    """1, 2, 4, ... and all cores."""
    return sorted({*(2**power for power in range(cores.bit_length())), cores})


def stream_thread_counts(pus: int, cores: int, numa_nodes: int) -> list[int]:
    """Each number up to all PUs. Beyond 16 PUs: 1, 2, 3, 4, 6, 8, 12 and so on, powers of two and
    halfway between, with the cores of one NUMA node, all cores and all PUs."""
    if pus <= MOST_COUNTED:
        return list(range(1, pus + 1))
    powers = [2**power for power in range(pus.bit_length())]
    wanted = {*powers, *(power * 3 // 2 for power in powers[1:]), cores // numa_nodes, cores, pus}
    return sorted(number for number in wanted if 1 <= number <= pus)


def stream_configurations(
    array_bytes: int, repetitions: int, kernels: Sequence[str], threads: Iterable[int]
) -> list[Configuration]:
    """One process runs all kernels, on the same pages."""
    return [
        Configuration(
            {"threads": number, "placement": placement, "first_touch": first_touch},
            (
                ",".join(kernels), "pages=small", f"bytes={array_bytes}",
                f"first_touch={first_touch}", f"repetitions={repetitions}",
            ),
            {"OMP_NUM_THREADS": str(number), "OMP_DYNAMIC": "false", **PLACEMENTS[placement]},
        )
        for number in threads
        for placement in PLACEMENTS
        for first_touch in FIRST_TOUCHES
    ]  # fmt: skip


def schedule_configurations(what: Schedules, cores: int) -> list[Configuration]:
    """Chunks with which some thread would get no row are left out."""
    made = []
    for threads in thread_counts(cores):
        for schedule in what.schedules:
            for chunk in what.chunks:
                if chunk * (threads - 1) >= what.n:
                    continue
                environment = what.environment | {
                    "OMP_NUM_THREADS": str(threads),
                    "OMP_DYNAMIC": "false",
                    "OMP_SCHEDULE": f"{schedule},{chunk}" if chunk else schedule,
                }
                key: dict[str, int | str] = {
                    "threads": threads, "schedule": schedule, "chunk": chunk
                }  # fmt: skip
                made.append(Configuration(key, (str(what.n),), environment))
    return made


def table_configurations(what: TableSizes, huge: bool) -> list[Configuration]:
    """huge: on huge pages too. One process runs both kernels, on the same pages."""
    return [
        Configuration(
            {"bytes": size, "pages": pages},
            (
                ",".join(TABLE_KERNELS), f"pages={pages}", f"bytes={size}", f"steps={what.steps}",
                f"repetitions={what.repetitions}",
            ),
            is_seeded=True,
        )
        for size in what.sizes
        for pages in (("small", "huge") if huge else ("small",))
    ]  # fmt: skip


def configurations(exploration: Exploration, node: Json) -> list[Configuration]:
    """What is run on a node."""
    what = exploration.what
    if isinstance(what, Schedules):
        return schedule_configurations(what, node["cores"])
    if isinstance(what, Streams):
        threads = stream_thread_counts(node["pus"], node["cores"], node["numa_nodes"])
        return stream_configurations(what.array_bytes, what.repetitions, STREAM_KERNELS, threads)
    return table_configurations(what, node["huge_page_mode"] not in (None, "never"))


@dataclass(frozen=True)
class ProgramRun:
    """One process. order: its place in the round; record: the program's own words."""

    configuration: int
    round: int
    order: int
    started_s: float
    record: Json

    @property
    def elapsed_s(self) -> float:
        return float(self.record["elapsed_s"])

    def step_ns(self, kernel: str) -> float:
        """Of the kernel's best repetition: what else runs only adds time."""
        times = self._times(kernel)
        return 1e9 * min(map(float, times["elapsed_s"])) / int(times["steps"])

    def rate_gb_s(self, kernel: str) -> float:
        """As step_ns; bytes that cross between cores and memory, in 10^9 per second."""
        times = self._times(kernel)
        return 1e-9 * int(times["bytes_moved"]) / min(map(float, times["elapsed_s"]))

    def _times(self, kernel: str) -> Json:
        for times in self.record["times"]:
            if times["kernel"] == kernel:
                return dict(times)
        raise NumalabError(f"the record has no times of {kernel}")


def runs_each(configurations: Sequence[Configuration], runs: Sequence[ProgramRun]) -> list[int]:
    """How many each configuration has that has any."""
    each = [0] * len(configurations)
    for sample in runs:
        each[sample.configuration] += 1
    return [number for number in each if number]


@dataclass(frozen=True)
class Virtual:
    """Where pages lived on a virtual machine, under the same program; its times mean nothing and
    are not in the samples. machine: its name, what it stands for and how it ran; trouble: why
    there is nothing, or less than was asked for."""

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
    """All that was measured, and what a reader has to know of it. description: what the program
    says of the node; build: of compiler and runtime; virtual: of streams, where this node has one
    NUMA node."""

    exploration: Exploration
    configurations: tuple[Configuration, ...]
    runs: tuple[ProgramRun, ...]
    node: Json
    description: Json
    build: Json
    seed: int
    interrupted: bool
    virtual: Virtual | None = None

    def times_s(self, **key: int | str) -> dict[int, float]:
        """Seconds by round of the one configuration with this key; empty if there is none."""
        return {
            sample.round: sample.elapsed_s
            for sample in self.runs
            if self.configurations[sample.configuration].key == key
        }

    def steps_ns(self, kernel: str, **key: int | str) -> dict[int, float]:
        """Nanoseconds per step by round; empty if there is no configuration with this key."""
        return {
            sample.round: sample.step_ns(kernel)
            for sample in self.runs
            if self.configurations[sample.configuration].key == key
        }

    def rates_gb_s(self, kernel: str, **key: int | str) -> dict[int, float]:
        """By round, as steps_ns."""
        return {
            sample.round: sample.rate_gb_s(kernel)
            for sample in self.runs
            if self.configurations[sample.configuration].key == key
        }

    def records(self, **key: int | str) -> list[Json]:
        return [s.record for s in self.runs if self.configurations[s.configuration].key == key]

    @property
    def runs_each(self) -> list[int]:
        """How many samples each configuration has that has any."""
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
        if isinstance(what, Streams):
            whole["virtual"] = None if self.virtual is None else _virtual_data(self.virtual)
        return whole


def _shown_node(node: Json) -> Json:
    """Without its PUs, one by one."""
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


def _virtual_data(virtual: Virtual) -> Json:
    return {
        "machine": virtual.machine,
        "node": _shown_node(virtual.node),
        "trouble": virtual.trouble,
        **_runs_data(virtual.configurations, virtual.runs),
    }
