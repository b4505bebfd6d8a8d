"""The format of a node's description in a record: what describe_node and the grader tell of it."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

Count = Annotated[int, Meta(ge=0)]
Positive = Annotated[int, Meta(ge=1)]


class Object(Struct, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A JSON object."""


class Value(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A JSON object that does not change."""


class CacheLevel(Object, kw_only=True):
    level: str
    count: Count
    bytes_each: Count


class NodeMemory(Object, kw_only=True):
    numa_node: Count
    memory_bytes: Count
    not_allowed: bool | UnsetType = UNSET  # it has PUs, of which none may be used here


class NodePu(Object, kw_only=True):
    pu: Count
    core: int
    package: int
    numa_node: int
    l3: int | UnsetType = (
        UNSET  # number of the L3 that it shares, -1: none; earlier records do not tell
    )


class NodeCoreKind(Object, kw_only=True):
    pus: list[Count]
    name: str | None


class NodeDescription(Object, kw_only=True):
    name: str
    kernel: str | UnsetType | None = UNSET
    architecture: str | UnsetType | None = UNSET
    cpu_model: str | UnsetType | None = UNSET
    packages: Count | UnsetType | None = UNSET
    numa_nodes: Positive
    cores: Positive
    pus: Positive
    pus_online: Positive | UnsetType | None = UNSET  # of the whole node
    page_bytes: Count
    memory_bytes: Count  # installed, or the control group's limit if that is less
    last_level_cache_bytes: Count  # all together; 0: unknown
    caches: list[CacheLevel] | UnsetType | None = UNSET
    numa_node_list: list[NodeMemory] | UnsetType | None = UNSET
    distances: list[list[Count]] | UnsetType | None = UNSET
    pu_list: list[NodePu]
    # PUs by the kind of their cores, the weakest kind first if hwloc knows; null where it knows no
    # kinds; not in earlier records
    core_kinds: list[NodeCoreKind] | UnsetType | None = UNSET
    huge_page_mode: str | UnsetType | None = UNSET
    # what the kit tried here and the system refused, in the system's words; left out: nothing, or
    # an earlier record
    refused: dict[str, str] | UnsetType | None = UNSET
    # what workers see that may have huge pages: madvise where the system's mode is always and
    # Linux (6.18) lets one process have those that it asks for only; else the system's mode, as
    # of records that lack it
    worker_huge_page_mode: str | UnsetType | None = UNSET
    governor: str | UnsetType | None = UNSET
    clock_source: str | UnsetType | None = UNSET
    numa_balancing: bool | UnsetType | None = UNSET
    load_1min: float | UnsetType | None = UNSET
    cgroup_memory_max_bytes: Count | UnsetType | None = UNSET
    # on memory, address space and processor time of what the kit starts, in words; left out:
    # none, a virtual machine, or an earlier record
    limits: list[str] | UnsetType | None = UNSET
