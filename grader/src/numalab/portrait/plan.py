"""The plan of what a portrait runs on a machine: PUs, NUMA nodes of memory, sizes. Pure functions.
`node` is the machine, as describe_node describes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

from numalab.errors import UserError
from numalab.evidence.core_kinds import core_kinds
from numalab.evidence.record import Json
from numalab.explore.experiment import CHASE, COMPACT, COPY, TRIAD, Configuration
from numalab.machines.topology import (
    Topology,
    core_pus,
    memory_nodes,
    thread_nodes,
    topology_of_node,
)

KIB, MIB = 2**10, 2**20
LOAD, STORE = "load", "store"  # loops of common/probe, as copy and triad are
STREAMS = (COPY, TRIAD, LOAD, STORE)
PAIR_STREAMS = (LOAD, TRIAD)
SPREAD, ALONE = "spread", "alone"
SMALL, HUGE = "small", "huge"

# The size of tables and arrays over that of caches. The limits below bound the time of a process,
# which lays out a table's chain, or writes three arrays, before it measures.
TIMES_CACHES = 4
SMALLEST_TABLE, LARGEST_TABLE = 16 * KIB, 256 * MIB
LEAST_LARGEST_TABLE = 64 * MIB
SMALLEST_TLB_TABLE, LARGEST_TLB_TABLE = 64 * KIB, 256 * MIB
LEAST_ARRAY, ARRAY_PER_CORE = 64 * MIB, 64 * MIB
TABLE_SHARE, ARRAY_SHARE = 8, 16  # divisors: the most bytes are memory over these
STEPS, TABLE_REPETITIONS, STREAM_REPETITIONS = 4096, 3, 4

Part = Literal["curve", "pair_latency", "pair_bandwidth", "streams", "tlb"]


@dataclass(frozen=True)
class ProbeProcess:
    """A process of common/probe that is run once in each round.

    Attributes:
        threads_on, memory_on: NUMA nodes by Linux's numbers; -1 for streams, which may use several.
        pus: the PU of each thread.
        size_bytes: the size of the table or of each array.
        pages: SMALL or HUGE.
        kind: the name of the core's kind; None where kinds are not told apart, for pair_bandwidth,
            and for streams that are not ALONE.
        placement: of streams: COMPACT, SPREAD, or ALONE for one thread on a core of a kind; empty
            for other parts.
    """

    part: Part
    threads_on: int
    memory_on: int
    pus: tuple[int, ...]
    size_bytes: int
    pages: str
    configuration: Configuration
    kind: str | None = None
    placement: str = ""


@dataclass(frozen=True)
class Plan:
    """The processes of a round, and their largest sizes. curve_pages: the pages of latency curves
    and pairs, SMALL or HUGE; table_bytes: of the largest table; array_bytes, pair_array_bytes: of
    an array of streams, and of pairs."""

    processes: tuple[ProbeProcess, ...]
    curve_pages: str
    table_bytes: int
    array_bytes: int
    pair_array_bytes: int


# ---- the machine -----------------------------------------------------------------------


def kind_names(node: Json) -> Mapping[int, str]:
    """Return the name of its core's kind by PU; empty unless two kinds or more are known."""
    kinds = core_kinds(node) or ()
    if len(kinds) < 2:
        return {}
    names = [kind.name for kind in kinds]
    return {
        pu: kind.name if kind.name and names.count(kind.name) == 1
        else f"{kind.name or 'core'} of kind {number}"
        for number, kind in enumerate(kinds, start=1) for pu in kind.pus
    }  # fmt: skip


def strongest(node: Json, pus: Sequence[int]) -> int:
    """Return of some PUs, one or more, the first of those whose core's kind core_kinds lists last;
    the first of all where kinds are not known."""
    rank = {
        pu: number for number, kind in enumerate(core_kinds(node) or ()) for pu in kind.pus
    }  # fmt: skip
    return max(pus, key=lambda pu: (rank.get(pu, 0), -pus.index(pu)))


def pu_of_each_kind(node: Json, topology: Topology) -> list[int]:
    """Return a PU on a core of each kind, in the reverse of core_kinds' order; one PU where kinds
    are not told apart."""
    cores = core_pus(topology)
    names = kind_names(node)
    kinds = core_kinds(node) or ()
    if not names:
        return [strongest(node, cores)]
    found = [[pu for pu in cores if pu in kind.pus] for kind in reversed(kinds)]
    return [pus[0] for pus in found if pus]


def farthest(node: Json, numa_node: int) -> int | None:
    """Return the NUMA node with memory that is the farthest by the firmware's distances, or the
    last one where it gives none. The one that `nearest` returns is left out; None: there is no
    other."""
    others = [number for number in memory_nodes(node) if number != nearest(node, numa_node)]
    distances = _distances_from(node, numa_node)
    if not distances:
        return others[-1] if others else None
    return max(others, key=lambda number: distances[number], default=None)


def nearest(node: Json, numa_node: int) -> int:
    """Return the NUMA node itself if it has memory (memory_nodes), or else the nearest one that
    has."""
    numbers, distances = memory_nodes(node), _distances_from(node, numa_node)
    if numa_node in numbers:
        return numa_node
    return min(numbers, key=lambda number: distances.get(number, 0))


def _distances_from(node: Json, numa_node: int) -> dict[int, int]:
    """Return distances by NUMA node; empty where the firmware gives none, or the machine has no
    such node."""
    listed, rows = [one["numa_node"] for one in node["numa_node_list"]], node.get("distances")
    if not rows or numa_node not in listed:
        return {}
    return dict(zip(listed, rows[listed.index(numa_node)], strict=True))


def compact_pus(topology: Topology) -> list[int]:
    """Return all PUs: the first of each core, and then the others."""
    first = core_pus(topology)
    return [*first, *(pu.number for pu in topology.pus if pu.number not in set(first))]


def spread_pus(topology: Topology) -> list[int]:
    """Return PUs: first those that are the first of a core, one of each NUMA node in turn, then the
    others likewise. NUMA nodes of different packages alternate."""
    package = {pu.numa_node: pu.package for pu in topology.pus}
    places: dict[int, int] = {}
    for numa_node in thread_nodes(topology):
        of_package = [one for one in places if package[one] == package[numa_node]]
        places[numa_node] = len(of_package)
    turns = sorted(places, key=lambda numa_node: (places[numa_node], package[numa_node]))
    first = set(core_pus(topology))
    order = []
    for is_first in (True, False):
        lists = [
            [pu.number for pu in topology.pus
             if pu.numa_node == numa_node and (pu.number in first) == is_first]
            for numa_node in turns
        ]  # fmt: skip
        order += [pu for turn in zip_longest(*lists) for pu in turn if pu is not None]
    return order


def thread_counts(topology: Topology) -> list[int]:
    """Return the numbers of threads to measure, ascending: powers of two, the cores of the first
    NUMA node, all cores, and all PUs."""
    pus, cores = len(topology.pus), len(core_pus(topology))
    wanted = {2**power for power in range(pus.bit_length())}
    of_node = len(core_pus(topology, thread_nodes(topology)[0]))
    return sorted(number for number in {*wanted, of_node, cores, pus} if number <= pus)


# ---- sizes ----------------------------------------------------------------------------


def last_cache(node: Json) -> Json | None:
    """Return the last entry of the node's caches; None without any."""
    return node["caches"][-1] if node["caches"] else None


def _power_of_two_from(size_bytes: int) -> int:
    return 1 << max(0, size_bytes - 1).bit_length()


def _power_of_two_to(size_bytes: int) -> int:
    return 1 << (max(1, size_bytes).bit_length() - 1)


def largest_table(node: Json, available_bytes: int) -> int:
    """Return the bytes of the largest table with a link in every cache line, a power of two. Raises
    UserError where available_bytes are too few."""
    cache = last_cache(node)
    wanted = _power_of_two_from(TIMES_CACHES * cache["bytes_each"]) if cache else 0
    wanted = min(max(wanted, LEAST_LARGEST_TABLE), LARGEST_TABLE)
    fitting = min(wanted, _power_of_two_to(available_bytes // TABLE_SHARE))
    if fitting < LEAST_LARGEST_TABLE:
        raise UserError(
            f"a portrait takes {LEAST_LARGEST_TABLE // MIB} MiB for its largest table, and at most "
            f"1/{TABLE_SHARE} of what is free: {available_bytes // MIB} MiB are. End what else "
            "takes memory, or ask for more in the job."
        )
    return fitting


def array_bytes(node: Json, threads: int, cores: int, room_bytes: int) -> int:
    """Return the bytes of each of three arrays, whole MiB and 1 MiB or more. They are LEAST_ARRAY,
    or TIMES_CACHES the last-level caches that `threads` can reach if that is more, but no more than
    `cores` get through in time, nor than room_bytes / ARRAY_SHARE."""
    cache = last_cache(node)
    reached = cache["bytes_each"] * min(cache["count"], threads) if cache else 0
    most = max(2 * LEAST_ARRAY, ARRAY_PER_CORE * cores)
    size = min(max(TIMES_CACHES * reached, LEAST_ARRAY), most)
    return max(min(size, room_bytes // ARRAY_SHARE), MIB) // MIB * MIB


def sizes_to(smallest: int, largest: int) -> list[int]:
    """Return the smallest size and its doubles, up to the first that is not below the largest."""
    sizes = [smallest]
    while sizes[-1] < largest:
        sizes.append(2 * sizes[-1])
    return sizes


# ---- the parts -------------------------------------------------------------------------


def _chased(
    part: Part, pu: int, places: tuple[int, int], table: tuple[int, str, str], kind: str | None
) -> ProbeProcess:
    """Return a process that follows a table's chain on one PU. places: the NUMA nodes of thread and
    memory; table: its bytes, its pages, and "all" or "one" for a link in every line or page."""
    size_bytes, pages, lines = table
    threads_on, memory_on = places
    key: dict[str, int | str] = {
        "bytes": size_bytes, "pages": pages, "lines": lines, "memory_node": memory_on
    }  # fmt: skip
    arguments = (
        CHASE, f"pages={pages}", f"bytes={size_bytes}", f"lines={lines}", f"pus={pu}",
        f"memory_node={memory_on}", f"steps={STEPS}", f"repetitions={TABLE_REPETITIONS}",
    )  # fmt: skip
    made = Configuration(key, arguments, is_seeded=True)
    return ProbeProcess(part, threads_on, memory_on, (pu,), size_bytes, pages, made, kind)


def _streamed(
    part: Part, pus: tuple[int, ...], size_bytes: int, memory_on: int, kernels: Sequence[str]
) -> Configuration:
    key: dict[str, int | str] = {"threads": len(pus), "bytes": size_bytes}
    arguments: tuple[str, ...] = (
        ",".join(kernels), "pages=small", f"bytes={size_bytes}", "first_touch=all",
        f"pus={','.join(map(str, pus))}", f"repetitions={STREAM_REPETITIONS}",
    )  # fmt: skip
    if part == "pair_bandwidth":
        key["memory_node"] = memory_on
        arguments = (*arguments, f"memory_node={memory_on}")
    return Configuration(key, arguments)


def _curves(node: Json, topology: Topology, largest: int, pages: str) -> Iterator[ProbeProcess]:
    """Yield processes of latency curves: with near memory on a PU of each kind of core, with far
    memory, if there is some, on the first of these."""
    names = kind_names(node)
    for number, pu in enumerate(pu_of_each_kind(node, topology)):
        own = topology.numa_node[pu]
        far = farthest(node, own) if number == 0 else None
        for memory_on in (nearest(node, own), *([] if far is None else [far])):
            for size in sizes_to(SMALLEST_TABLE, largest):
                table = (size, pages, "all")
                yield _chased("curve", pu, (own, memory_on), table, names.get(pu))


def _pairs(
    node: Json, topology: Topology, largest: int, pages: str, pair_bytes: int
) -> Iterator[ProbeProcess]:
    """Yield processes of latency and bandwidth of each NUMA node with PUs to each with memory."""
    names = kind_names(node)
    for threads_on in thread_nodes(topology):
        pus = core_pus(topology, threads_on)
        pu = strongest(node, pus)
        for memory_on in memory_nodes(node):
            table = (largest, pages, "all")
            yield _chased("pair_latency", pu, (threads_on, memory_on), table, names.get(pu))
            made = _streamed("pair_bandwidth", tuple(pus), pair_bytes, memory_on, PAIR_STREAMS)
            yield ProbeProcess(
                "pair_bandwidth", threads_on, memory_on, tuple(pus), pair_bytes, SMALL, made
            )  # fmt: skip


def _streams(node: Json, topology: Topology, room_bytes: int) -> Iterator[ProbeProcess]:
    """Yield processes of streams over threads: compact, and spread if several NUMA nodes have PUs.
    Then one thread on a core of each kind, where there are several."""
    compact, spread = compact_pus(topology), spread_pus(topology)
    cores = len(core_pus(topology))
    for threads in thread_counts(topology):
        size_bytes = array_bytes(node, threads, cores, room_bytes)
        for placement, order in ((COMPACT, compact), (SPREAD, spread)):
            pus = tuple(order[:threads])
            if placement == SPREAD and len(thread_nodes(topology)) == 1:
                continue
            made = _streamed("streams", pus, size_bytes, -1, STREAMS)
            yield ProbeProcess("streams", -1, -1, pus, size_bytes, SMALL, made, placement=placement)
    names = kind_names(node)
    for pu in pu_of_each_kind(node, topology) if names else ():
        size_bytes = array_bytes(node, 1, cores, room_bytes)
        made = _streamed("streams", (pu,), size_bytes, -1, STREAMS)
        yield ProbeProcess("streams", -1, -1, (pu,), size_bytes, SMALL, made, names[pu], ALONE)


def _tlb(
    node: Json, topology: Topology, largest: int, kinds: Sequence[str]
) -> Iterator[ProbeProcess]:
    pu = pu_of_each_kind(node, topology)[0]
    own = topology.numa_node[pu]
    places = own, nearest(node, own)
    for size in sizes_to(SMALLEST_TLB_TABLE, min(largest, LARGEST_TLB_TABLE)):
        for pages in kinds:
            yield _chased("tlb", pu, places, (size, pages, "one"), kind_names(node).get(pu))


def portrait_plan(node: Json, available_bytes: int) -> Plan:
    """Return what a portrait runs on a machine. available_bytes: its free memory. Raises UserError
    where that is too small."""
    topology = topology_of_node(node)
    has_huge = node["huge_page_mode"] not in (None, "never")
    pages = HUGE if has_huge else SMALL
    largest = largest_table(node, available_bytes)
    of_node = max(len(core_pus(topology, one)) for one in thread_nodes(topology))
    measured = set(memory_nodes(node))
    smallest_memory = min(
        one["memory_bytes"] for one in node["numa_node_list"] if one["numa_node"] in measured
    )
    pair_bytes = array_bytes(node, of_node, of_node, min(available_bytes, smallest_memory))
    processes = [
        *_curves(node, topology, largest, pages),
        *_pairs(node, topology, largest, pages, pair_bytes),
        *_streams(node, topology, available_bytes),
        *_tlb(node, topology, largest, [SMALL, HUGE] if has_huge else [SMALL]),
    ]
    streams = [one.size_bytes for one in processes if one.part == "streams"]
    return Plan(tuple(processes), pages, largest, max(streams), pair_bytes)
