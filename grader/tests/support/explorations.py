"""Explorations that are put together from invented times, as values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from schedule_experiment import Schedules
from stream_experiment import ALL_THREADS, Streams
from table_experiment import TableSizes

from numalab.explore import experiment
from numalab.explore.experiment import COMPACT, SCATTER, Exploration, VirtualMachine

MIB = 2**20
SCHEDULES = Schedules(("static", "dynamic", "guided"), (0, 1, 4, 16), {}, 100, 20)
TABLES = TableSizes(65536, 16 * MIB, 4, 1000, 3, 20)
NODE = {
    "name": "invented", "cores": 2, "load_1min": 0.0, "huge_page_mode": "madvise",
    "cgroup_memory_max_bytes": None, "pu_list": [{"pu": 0}],
    "caches": [{"level": "L2", "count": 2, "bytes_each": 2 * MIB}],
}  # fmt: skip
ABOUT = {
    "page_bytes": 4096, "huge_page_bytes": 2 * MIB, "cpuid_18": [], "cpuid_80000005": [],
    "cpuid_80000006": [],
}  # fmt: skip
BUILD = {
    "preset": "gnu", "c_compiler": "GNU 12", "flags": "-O2", "probe_flags": "-O3",
    "openmp_runtime": "libomp",
}  # fmt: skip


def invented(
    what: Schedules | TableSizes,
    time_s: Any,
    rounds: int = 12,
    **changes: Any,
) -> experiment.Measurements:
    """A finding whose times are time_s(key, round), of tables in the best of three repetitions.
    changes: to the node and the rest; update_s: times of the independent kernel, as of the other
    unless given."""
    lab = "03_scheduling" if isinstance(what, Schedules) else "04_huge_pages"
    node = NODE | changes.pop("node", {})
    chosen = what.configurations(node)
    share = changes.pop("share", 1.0)
    update_s = changes.pop("update_s", time_s)

    def kernel_s(key: dict[str, int | str], number: int, kernel: str) -> float:
        return float((update_s if kernel == "update" else time_s)(key, number))

    taken = []
    for number in range(rounds):
        for index, one in enumerate(chosen):
            record = {**one.key, "elapsed_s": time_s(one.key, number)}
            timed = partial(kernel_s, one.key, number)
            if isinstance(what, TableSizes):
                on_huge = share * int(one.key["bytes"]) * (one.key["pages"] == "huge")
                record = {
                    **one.key, "bytes_on_huge_pages": on_huge, "first_touch_cpu_s": 0.25,
                    "page_faults": 512, "times": [
                        {"kernel": kernel, "steps": 1000, "elapsed_s": [9.0, timed(kernel), 9.0]}
                        for kernel in ("update", "chase")
                    ],
                }  # fmt: skip
            taken.append(experiment.ProgramRun(index, number, index, 0.0, record))
    found = experiment.Measurements(
        Exploration(lab, "Title", what), tuple(chosen), tuple(taken), node,
        ABOUT | changes.pop("about", {}), BUILD, 1, False,
    )  # fmt: skip
    return replace(found, **changes)


# ---- streams ----

LAB, TITLE = "02_affinity", "STREAM over threads"
MADE_UP = "made up (no measurement)"
VIRTUAL = VirtualMachine("hydra", 1, MIB, 2)
STREAMS = Streams(64 * MIB, 5, 12, VIRTUAL)
# Two packages of four cores with SMT, as nhm; and what tests run on.
SIXTEEN = {
    "name": MADE_UP, "cores": 8, "pus": 16, "numa_nodes": 2, "load_1min": 0.0,
    "last_level_cache_bytes": 16 * MIB, "cgroup_memory_max_bytes": None, "pu_list": [{"pu": 0}],
}  # fmt: skip
TWO = SIXTEEN | {"cores": 2, "pus": 2, "numa_nodes": 1}

CORE_GB_S, MEMORY_GB_S, REMOTE = 6.0, 15.0, 0.6  # a core, a package's memory, remote over local


def cores_of(threads: int, placement: str) -> list[int]:
    """The core of each thread; cores 0 to 3 are the first package. default: dealt out in turn."""
    if placement == COMPACT:
        return [i if threads <= 8 else i * 8 // threads for i in range(threads)]
    if placement == SCATTER:
        return [i * 8 // threads for i in range(threads)]
    return [i * 3 % 8 for i in range(threads)]


def local_share(threads: int, placement: str, first_touch: str) -> float:
    """Where one has initialised, pages are on the first package."""
    if first_touch == ALL_THREADS:
        return 1.0
    return sum(core < 4 for core in cores_of(threads, placement)) / threads


def rate_gb_s(threads: int, placement: str, first_touch: str) -> float:
    """What cores can take, and the memories that serve them carry."""
    cores = set(cores_of(threads, placement))
    per_package = [sum(core // 4 == package for core in cores) for package in (0, 1)]
    if first_touch == ALL_THREADS:
        return sum(min(MEMORY_GB_S, CORE_GB_S * number) for number in per_package)
    return min(MEMORY_GB_S, CORE_GB_S * (per_package[0] + REMOTE * per_package[1]))


def record_of(
    key: Mapping[str, int | str], number: int, rate: Callable[[int, str, str], float], share: Any
) -> dict[str, Any]:
    """As the probe writes it. Noise of up to 2 % hits all of a round alike."""
    threads, placement = int(key["threads"]), str(key["placement"])
    touch = str(key["first_touch"])
    times = []
    for kernel, arrays in (("copy", 3), ("triad", 4)):
        noise = 1 + 0.01 * (number % 3)
        moved = arrays * STREAMS.array_bytes
        elapsed_s = noise * 1e-9 * moved / rate(threads, placement, touch)
        times.append({
            "kernel": kernel, "bytes_moved": moved, "bytes_allocated": STREAMS.array_bytes,
            "elapsed_s": [2 * elapsed_s, elapsed_s],
        })  # fmt: skip
    return {
        "threads": threads, "first_touch": touch, "bytes": STREAMS.array_bytes,
        "local_share": share(threads, placement, touch), "times": times,
    }  # fmt: skip


def made_up(
    node: dict[str, Any] = SIXTEEN,
    rate: Callable[[int, str, str], float] = rate_gb_s,
    share: Callable[[int, str, str], float | None] = local_share,
    rounds: int = 12,
    **changes: Any,
) -> experiment.Measurements:
    exploration = Exploration(LAB, TITLE, replace(STREAMS, rounds=rounds))
    chosen = exploration.what.configurations(node)
    taken = [
        experiment.ProgramRun(index, number, index, 0.0, record_of(one.key, number, rate, share))
        for number in range(rounds)
        for index, one in enumerate(chosen)
    ]
    found = experiment.Measurements(
        exploration, tuple(chosen), tuple(taken), node, {}, BUILD, 1, False
    )  # fmt: skip
    return replace(found, **changes)


def virtual_of(found: experiment.Measurements) -> experiment.VirtualPages:
    """A virtual machine that showed the pages of a made-up record."""
    seen = [
        replace(one, record={key: one.record[key] for key in one.record if key != "times"})
        for one in found.runs
    ]
    return experiment.VirtualPages({"name": "nhm"}, found.node, found.configurations, tuple(seen))


def flat(threads: int, placement: str, first_touch: str) -> float:
    """As on one NUMA node: a core is all that counts."""
    return CORE_GB_S * threads


def on_two_cores(**changes: Any) -> experiment.Measurements:
    found = made_up(TWO | {"name": "here"}, flat, lambda *_: 1.0)
    return replace(found, **{"virtual": virtual_of(made_up(rounds=3)), **changes})
