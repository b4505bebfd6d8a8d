"""A machine's portrait as values, and as the file node.json.

node.json has a version (`schema`). Each measured value is a list with one number of each process,
and the interval that is computed from them. README.md in this folder lists the keys.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

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

    processes: tuple[float, ...]

    @property
    def interval(self) -> MedianInterval:
        return median_interval(self.processes)

    @property
    def median(self) -> float:
        return self.interval.median

    def json_data(self) -> Json:
        return {"processes": list(self.processes), **asdict(self.interval)}


def read_measured(data: Json) -> Measured:
    """Return the value that json_data() made. Raises KeyError, TypeError, ValueError or
    OverflowError."""
    values = tuple(float(value) for value in data["processes"])
    if not values:
        raise ValueError("a value without processes")
    return Measured(values)


@dataclass(frozen=True)
class Point:
    """The latency of a load whose address the load before it gave, in a table of a size."""

    table_bytes: int
    ns: Measured


@dataclass(frozen=True)
class Curve:
    """Latency over the size of a table with a link in every cache line.
    threads_on, memory_on: NUMA nodes; kind: the name of the core's kind, None where cores are
    alike."""

    pu: int
    threads_on: int
    memory_on: int
    kind: str | None
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Pair:
    """Threads on one NUMA node, one per core, and memory on another or the same.
    latency_ns: of one thread in the largest table, None where no run counts; gb_s: 10^9 bytes per
    second of all with write-allocate by kernel, empty where no run counts."""

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
    """All that was measured of a machine; README.md lists the fields.

    Attributes:
        about: sizes of pages, and cpuid's values on TLBs.
        build: compiler, flags and OpenMP runtime of common/probe.
        is_virtual_machine: None where the processor does not report it.
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
        plain = {
            name: getattr(self, name)
            for name in self.__dataclass_fields__
            if name not in ("curves", "pairs", "streams", "tlb", "not_measured")
        }
        return {
            "schema": SCHEMA,
            "kind": KIND,
            **plain,
            "curves": [
                _replace_fields(curve, points=_points(curve.points)) for curve in self.curves
            ],
            "pairs": [
                _replace_fields(
                    pair,
                    latency_ns=pair.latency_ns and pair.latency_ns.json_data(),
                    gb_s={kernel: rate.json_data() for kernel, rate in pair.gb_s.items()},
                )
                for pair in self.pairs
            ],
            "streams": [
                _replace_fields(rate, pus=list(rate.pus), gb_s=rate.gb_s.json_data())
                for rate in self.streams
            ],
            "tlb": [_replace_fields(curve, points=_points(curve.points)) for curve in self.tlb],
            "not_measured": list(self.not_measured),
        }


def _replace_fields(value: Curve | Pair | StreamRate | TlbCurve, **instead: object) -> Json:
    return {name: instead.get(name, getattr(value, name)) for name in value.__dataclass_fields__}


def _points(points: tuple[Point, ...]) -> list[Json]:
    return [{"table_bytes": point.table_bytes, "ns": point.ns.json_data()} for point in points]


def _read_points(data: list[Json]) -> tuple[Point, ...]:
    return tuple(Point(int(value["table_bytes"]), read_measured(value["ns"])) for value in data)


def read_portrait(data: Json) -> Portrait:
    """Return the portrait that Portrait.json_data() made.
    Raises NumalabError for another kind or version of data, or data of another form."""
    try:
        if data["kind"] != KIND or data["schema"] != SCHEMA:
            raise NumalabError(
                f"this is {data['kind']}, version {data['schema']}, not a {KIND}, version {SCHEMA}"
            )
        made = Portrait(
            **{
                name: data[name]
                for name in Portrait.__dataclass_fields__
                if name not in ("curves", "pairs", "streams", "tlb", "not_measured")
            },
            curves=(), pairs=(), streams=(), tlb=(), not_measured=tuple(data["not_measured"]),
        )  # fmt: skip
        return replace(
            made,
            curves=tuple(
                Curve(**{**value, "points": _read_points(value["points"])}) for value in
            data["curves"] ),
            pairs=tuple(
                Pair(**{
                    **value,
                    "latency_ns": value["latency_ns"] and read_measured(value["latency_ns"]),
                    "gb_s": {name: read_measured(rate) for name, rate in value["gb_s"].items()},
                })
                for value in data["pairs"]
            ),
            streams=tuple(
                StreamRate(**{
                    **value, "pus": tuple(value["pus"]), "gb_s": read_measured(value["gb_s"])
                })
                for value in data["streams"]
            ),
            tlb=tuple(
                TlbCurve(**{**value, "points": _read_points(value["points"])}) for value in
            data["tlb"] ),
        )  # fmt: skip
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
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
