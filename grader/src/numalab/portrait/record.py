"""A machine's portrait as values, and as the file node.json.

node.json has a version (`schema`). A measured value has one number of each process, and the
interval that is computed from them. README.md in this folder lists the keys."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec

from numalab.errors import NumalabError, UserError, reason_of
from numalab.evidence.record import Json
from numalab.explore.intervals import MedianInterval, median_interval
from numalab.files import NotPlain, read_plain_text
from numalab.untrusted.visible import may_hide, visible_json

SCHEMA = 1
KIND = "numalab portrait"


@dataclass(frozen=True)
class Measured:
    """A measured value. processes: the value of each process, one or more."""

    processes: Annotated[tuple[float, ...], msgspec.Meta(min_length=1)]

    @property
    def interval(self) -> MedianInterval:
        return median_interval(self.processes)

    @property
    def median(self) -> float:
        return self.interval.median


@dataclass(frozen=True)
class Point:
    """The latency of a load whose address the load before it gave, in a table of a size."""

    table_bytes: int
    ns: Measured


@dataclass(frozen=True)
class Curve:
    """Latency over the size of a table with a link in every cache line. threads_on, memory_on: NUMA
    nodes; kind: the name of the core's kind, None where cores are alike."""

    pu: int
    threads_on: int
    memory_on: int
    kind: str | None
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Pair:
    """Threads on one NUMA node, and memory on another or the same. latency_ns: of one thread in the
    largest table, None where no run counts; gb_s: 10^9 bytes per second of one thread per core
    together, with write-allocate, by kernel, empty where no run counts."""

    threads_on: int
    memory_on: int
    latency_ns: Measured | None
    gb_s: Mapping[str, Measured]


@dataclass(frozen=True)
class StreamRate:
    """The rate of a kernel with a number of threads, in 10^9 bytes per second with write-allocate.
    placement: compact, spread, or alone, which is one thread on a core of `kind`; kind: None unless
    alone; stream_share: the part (0 to 1) of the bytes that STREAM counts."""

    placement: str
    kind: str | None
    threads: int
    pus: tuple[int, ...]
    array_bytes: int
    kernel: str
    stream_share: float
    gb_s: Measured


@dataclass(frozen=True)
class TlbCurve:
    """Latency over the size of a table with a link in one line of each small page.
    pages: small or huge: those that the table is on."""

    pages: str
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Portrait:
    """What was measured of a machine; README.md lists the fields.

    Attributes:
        about: sizes of pages, and cpuid's values on TLBs.
        build: compiler, flags and OpenMP runtime of common/probe.
        is_virtual_machine: None: not known.
        curve_pages: the pages of curves and latencies of pairs, small or huge.
        not_measured: sentences on what could not be measured, or may not be what it seems.
    """

    made_at: str
    kit_version: str
    node: Json
    about: Json
    build: Json
    is_virtual_machine: bool | None
    rounds: int
    interrupted: bool
    curve_pages: str
    table_bytes: int
    pair_array_bytes: int
    curves: tuple[Curve, ...]
    pairs: tuple[Pair, ...]
    streams: tuple[StreamRate, ...]
    tlb: tuple[TlbCurve, ...]
    not_measured: tuple[str, ...]

    def pair(self, threads_on: int, memory_on: int) -> Pair | None:
        """Return the pair of two NUMA nodes; None where it was not measured."""
        for pair in self.pairs:
            if (pair.threads_on, pair.memory_on) == (threads_on, memory_on):
                return pair
        return None

    def json_data(self) -> Json:
        return {"schema": SCHEMA, "kind": KIND, **_json_value(self)}


def _json_value(value: Any) -> Any:
    if isinstance(value, Measured):
        return {"processes": list(value.processes), **asdict(value.interval)}
    if is_dataclass(value):
        return {field.name: _json_value(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {key: _json_value(inner) for key, inner in value.items()}
    return list(map(_json_value, value)) if isinstance(value, tuple) else value


def read_portrait(data: Json) -> Portrait:
    """Return the portrait of which data is the JSON. Raises NumalabError for data of another kind,
    version or form."""
    try:
        if data["kind"] != KIND or data["schema"] != SCHEMA:
            raise NumalabError(
                f"this is {data['kind']}, version {data['schema']}, not a {KIND}, version {SCHEMA}"
            )
        return msgspec.convert(data, Portrait)
    except (KeyError, TypeError, ValueError) as error:
        raise NumalabError(f"not what ./numalab portrait --json writes: {error!r}") from error


MOST_BYTES = 16 * 2**20  # of a file; a portrait of 16 NUMA nodes and 100 rounds has less


def load_portrait(path: Path) -> Portrait:
    """Read a portrait from an untrusted file; characters that may hide something are made visible.
    Raises UserError where the file can't be read or is no portrait."""
    try:
        text = read_plain_text(path, MOST_BYTES, follow_links=True)
        data = json.loads(text)
        return read_portrait(visible_json(data) if may_hide(text) else data)
    except OSError as error:
        raise UserError(f"{path} can't be read: {reason_of(error)}") from error
    except NotPlain as error:
        raise UserError(f"{path} can't be read: it {error}") from error
    except (ValueError, RecursionError, NumalabError) as error:
        raise UserError(f"{path} is no portrait: {error}") from error
