"""What processors announce of their topology by CPUID, and what an OpenMP runtime without hwloc
makes of it. Pure functions.

hwloc and libgomp read the topology in Linux's /sys. LLVM's libomp without hwloc detects it by
CPUID, from leaves that a processor need not fill.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from numalab.machines.machine import ARCHITECTURES, NATIVE, Machine


class TopologyShape(NamedTuple):
    """The packages, cores and hardware threads of a machine, as one way to detect them has them."""

    packages: int
    cores: int  # of a package
    threads: int  # of a core


class Widths(NamedTuple):
    """How many bits of an APIC id are below the core's number, and below the package's."""

    core: int
    package: int


@dataclass(frozen=True)
class Recorded:
    """A machine that hwloc's developers recorded (hwloc's file tests/hwloc/x86/RECORDING.tar.bz2).

    Attributes:
        name: the processor's.
        shape: the machine's true one.
        l3_caches: of a package.
        leaf_b: what leaf 0xB has in EAX bits 4 to 0 of its levels; None: it is empty or missing.
        has_leaf_4: leaf 4 is filled.
    """

    name: str
    recording: str
    shape: TopologyShape
    l3_caches: int
    leaf_b: Widths | None
    has_leaf_4: bool


RECORDED = {
    name: Recorded(name, recording, TopologyShape(*shape), l3_caches, leaf_b, has_leaf_4)
    for name, recording, shape, l3_caches, leaf_b, has_leaf_4 in (
        ("Xeon X5550", "Intel-Nehalem-2xXeon-X5550", (2, 4, 2), 1, Widths(1, 4), True),
        ("Xeon X5650", "Intel-Westmere-2xXeon-X5650", (2, 6, 2), 1, Widths(1, 5), True),
        ("Opteron 6164 HE", "AMD-K10-MagnyCours-2xOpteron-6164HE", (2, 12, 1), 2, None, False),
        ("EPYC 7451", "AMD-17h-Zen-2xEpyc-7451", (2, 24, 2), 8, None, False),
        ("EPYC 9654", "AMD-19h-Zen4-2xEpyc-9654", (2, 96, 2), 12, Widths(1, 8), False),
        ("Xeon Max 9460", "Intel-SapphireRapids-2xXeonMax9460", (2, 40, 2), 1, Widths(1, 7), True),
    )
}

_ANNOUNCES = RECORDED["EPYC 9654"]  # AMD's that announces its cores


def libomp_shape(recorded: Recorded) -> TopologyShape:
    """Return the shape that libomp 19 without hwloc detects by CPUID: the true one where leaf 0xB
    or leaf 4 is filled, else packages of one core with all of their PUs as its hardware threads.
    (LLVM, openmp/runtime/src/kmp_affinity.cpp, __kmp_affinity_create_x2apicid_map and
    __kmp_affinity_create_apicid_map.)"""
    shape = recorded.shape
    if recorded.leaf_b is not None or recorded.has_leaf_4:
        return shape
    return TopologyShape(shape.packages, 1, shape.cores * shape.threads)


def announces_cores(machine: Machine) -> bool:
    """Tell whether libomp without hwloc detects the true shape of the real machine. False for
    machines with another instruction set than NATIVE; else True where the processor is not on
    record."""
    if not machine.is_native:
        return False
    if machine.processor is None:
        return True
    recorded = RECORDED[machine.processor]
    return libomp_shape(recorded) == recorded.shape


def other_processors(architecture: str) -> str:
    """Return the end of a sentence on a virtual machine whose instruction set is not the real
    machine's (architecture); empty where it is."""
    if architecture == NATIVE:
        return ""
    own = ARCHITECTURES.get(architecture, architecture)
    return (
        f"; with {ARCHITECTURES[NATIVE]} processors, whose instruction set is not its own ({own})"
    )


def _unshown(machine: Machine) -> list[str]:
    """Return sentences on what the machine has and its virtual machine does not show."""
    said = []
    if len(machine.core_kinds) > 1:
        said.append("Its cores are all of one kind.")
    if any(not core.has_l3 for node in machine.numa_nodes for core in node.cores):
        said.append("Cores without an L3 share one that the machine has not.")
    if any(machine.memory_kinds) or any(n.memory_side_cache_mb for n in machine.numa_nodes):
        said.append("Memory is of one kind, without memory-side caches.")
    return said


def own_and_other(machine: Machine) -> tuple[str, ...]:
    """Return sentences on what of the virtual machine is as in the real one, and what is not."""
    if machine.seed is not None:
        return ("All of it is the machine's own but times, sizes of caches, and the processor.",)
    said = [
        "The machine's own are the PU numbers, packages, NUMA nodes, distances, cores and their "
        "hardware threads, and which cores share an L3. Times, sizes of memory and caches, the "
        "processor's name, and that hardware threads of a core have an L1 each, are not.",
        *_unshown(machine),
    ]
    if not machine.is_native:
        other = ARCHITECTURES[machine.architecture]
        said.append(
            f"Its processors are {ARCHITECTURES[NATIVE]}, and the machine's own are {other}: "
            f"programs are built for {NATIVE}, and CPUID, which {other} has not, says of it what "
            "such processors of this shape would. libomp without hwloc looks there, and what it "
            "does is not judged; libgomp and hwloc look in /sys, which is the machine's."
        )
        return tuple(said)
    said.append("CPUID announces packages, cores and hardware threads, and no dies.")
    if machine.processor is None:
        said[-1] += " That the real processors do, too, is inferred."
        return tuple(said)
    recorded = RECORDED[machine.processor]
    found, source = libomp_shape(recorded), f" By hwloc's recording the {recorded.name} announces"
    if announces_cores(machine):
        said[-1] += f"{source} them, too."
        return tuple(said)
    said[-1] += (
        f"{source} packages alone: libomp without hwloc takes "
        f"one there for a single core of {found.threads} hardware threads, and the places `cores` "
        "for packages. What libomp does with them here it does on processors that announce their "
        f"cores, such as {_ANNOUNCES.name}; it is not judged. libgomp and hwloc look in /sys, "
        "which is the machine's."
    )
    return tuple(said)
