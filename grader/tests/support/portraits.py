"""Made-up nodes, and what the probe might have said on them: nobody has measured these values."""

from __future__ import annotations

from typing import Any

from numalab.evidence.record import Json
from numalab.explore.experiment import CHASE, ProgramRun
from numalab.portrait.plan import HUGE, Plan, ProbeProcess

KIB, MIB, GIB = 2**10, 2**20, 2**30
ABOUT: Json = {
    "page_bytes": 4096, "huge_page_bytes": 2 * MIB, "cpuid_18": [],
    # AMD's words: 64 and 2048 entries for small pages, 64 and 2048 for huge ones.
    "cpuid_80000005": [64 << 16, 64 << 16, 0, 0],
    "cpuid_80000006": [2 << 28 | 2048 << 16, 2 << 28 | 2048 << 16, 0, 0],
}  # fmt: skip
BUILD: Json = {"c_compiler": "GNU 12.2.0", "probe_flags": "-O3", "openmp_runtime": "libgomp"}
ARRAYS = {"copy": (3, 1), "triad": (4, 1), "load": (1, 0), "store": (2, 1)}  # moved, allocated


def node_of(name: str, pus: list[tuple[int, int, int, int]], numa_nodes: int, **more: Any) -> Json:
    """pus: number, core, package, NUMA node."""
    node: Json = {
        "name": name, "kernel": "6.1.0", "architecture": "x86_64", "cpu_model": f"{name}, made up",
        "packages": len({pu[2] for pu in pus}), "numa_nodes": numa_nodes,
        "cores": len({pu[1] for pu in pus}), "pus": len(pus), "pus_online": len(pus),
        "page_bytes": 4096, "memory_bytes": numa_nodes * 16 * GIB,
        "last_level_cache_bytes": numa_nodes * 8 * MIB,
        "caches": [
            {"level": "L1d", "count": 8, "bytes_each": 32 * KIB},
            {"level": "L2", "count": 8, "bytes_each": 512 * KIB},
            {"level": "L3", "count": numa_nodes, "bytes_each": 8 * MIB},
        ],
        "numa_node_list": [
            {"numa_node": number, "memory_bytes": 16 * GIB} for number in range(numa_nodes)
        ],
        "distances": None,
        "pu_list": [
            {"pu": pu, "core": core, "package": package, "numa_node": numa_node}
            for pu, core, package, numa_node in pus
        ],
        "core_kinds": [{"pus": [pu[0] for pu in pus], "name": None}],
        "huge_page_mode": "madvise", "load_1min": 0.1, "cgroup_memory_max_bytes": None,
    }  # fmt: skip
    return {**node, **more}


def hydra() -> Json:
    """Two packages of four cores whose PUs are numbered in turn."""
    pus = [(2 * i + node, 4 * node + i, node, node) for node in range(2) for i in range(4)]
    return node_of("hydra", pus, 2, distances=[[10, 21], [21, 10]])


def nebula() -> Json:
    """Two packages of four NUMA nodes of two cores."""
    pus = [(8 * i + node, 2 * node + i, node // 4, node) for node in range(8) for i in range(2)]
    distances = [
        [10 if a == b else 16 if a // 4 == b // 4 else 32 for b in range(8)] for a in range(8)
    ]
    return node_of("nebula", pus, 8, distances=distances)


def memory_only() -> Json:
    """One package with two threads per core, and memory beside it."""
    pus = [(4 * thread + core, core, 0, 0) for core in range(4) for thread in range(2)]
    return node_of("beside", pus, 2, distances=[[10, 14], [14, 10]])


def unlike_cores() -> Json:
    """Two fast cores with two threads each, four others; one NUMA node."""
    pus = [(0, 0, 0, 0), (1, 0, 0, 0), (2, 1, 0, 0), (3, 1, 0, 0)]
    pus += [(number, number - 2, 0, 0) for number in range(4, 8)]
    kinds = [
        {"pus": [4, 5, 6, 7], "name": "IntelAtom"}, {"pus": [0, 1, 2, 3], "name": "IntelCore"}
    ]  # fmt: skip
    return node_of("laptop", pus, 1, core_kinds=kinds)


def _step_ns(process: ProbeProcess) -> float:
    """Caches end where node_of tells; what is remote costs half as much again, from memory."""
    lines = process.size_bytes if process.part != "tlb" else process.size_bytes // 64
    memory_ns = 90.0 if process.threads_on == process.memory_on else 135.0
    caches = ((32 * KIB, 1.0), (512 * KIB, 4.0), (8 * MIB, 15.0))
    ns = next((ns for cache_bytes, ns in caches if lines <= cache_bytes), memory_ns)
    if process.kind == "IntelAtom":
        ns *= 1.5
    if process.part == "tlb" and process.pages == "small" and process.size_bytes > 8 * MIB:
        ns *= 2
    return ns


def _rate_gb_s(process: ProbeProcess) -> float:
    rate = min(8.0 * len(process.pus), 30.0)
    return rate if process.threads_on == process.memory_on else 0.5 * rate


def record_of(process: ProbeProcess, scale: float) -> Json:
    """What the probe would have said, with all times longer by a factor."""
    key = process.configuration.key
    shared: Json = {
        **key, "thread_pus": list(process.pus), "memory_node_share": 1.0,
        "bytes_on_huge_pages": process.size_bytes if process.pages == HUGE else 0,
    }  # fmt: skip
    if process.part in ("curve", "pair_latency", "tlb"):
        elapsed = 4096e-9 * scale * _step_ns(process)
        return {**shared, "times": [{"kernel": CHASE, "steps": 4096, "elapsed_s": [elapsed]}]}
    times = []
    for kernel in process.configuration.arguments[0].split(","):
        moved, allocated = (part * process.size_bytes for part in ARRAYS[kernel])
        elapsed = 1e-9 * moved * scale / _rate_gb_s(process)
        times.append({"kernel": kernel, "bytes_moved": moved, "bytes_allocated": allocated,
                      "elapsed_s": [elapsed]})  # fmt: skip
    return {**shared, "times": times}


def samples_of(plan: Plan, rounds: int = 6) -> list[ProgramRun]:
    """Of each process one, a little slower from round to round."""
    return [
        ProgramRun(place, number, place, 0.0, record_of(process, 1 + 0.01 * number))
        for number in range(rounds)
        for place, process in enumerate(plan.processes)
    ]
