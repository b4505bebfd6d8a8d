"""Linux's frequency policies and their statistics, read from /sys of a machine or a recorded tree.

A policy has the PUs whose clock changes together. What is missing, empty or unreadable is None; a
file that exists and can't be read or understood is named. For files, units and tables see Linux's
admin-guide/pm/cpufreq.rst and cpu-freq/cpufreq-stats.rst."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from numalab.files import read_text

PU_FOLDER = "sys/devices/system/cpu"
_ETERNAL_NS = 2**32 - 1  # CPUFREQ_ETERNAL: the driver does not know its latency

T = TypeVar("T")
Pairs = Mapping[tuple[int, int], int]


@dataclass(frozen=True)
class Sampling:
    """Settings of the governors ondemand and conservative; None: unknown.

    Attributes:
        rate_us: time between two samples of the load.
        up_threshold: load in percent above which the frequency goes up.
    """

    rate_us: int | None
    up_threshold: int | None


@dataclass(frozen=True)
class FrequencyPolicy:
    """A frequency policy; None: unknown.

    Attributes:
        name: of its folder, such as policy0.
        pus: the online PUs that it is for.
        governors: those that could be chosen.
        limits_khz: the lowest and the highest frequency that the governor may choose.
        hardware_khz: the lowest and the highest that the hardware has.
        latency_ns: of a transition; None, too, where the driver does not know it.
        sampling: None: the governor is neither ondemand nor conservative, or not known.
        has_stats: whether there is a folder of statistics.
        ticks: time at each frequency in kHz, in units of 10 ms.
        transitions: their number by the frequencies in kHz before and after, without zeros.
        total: number of all transitions, by its own file.
        bad: files that exist and could not be read or understood.
    """

    name: str
    pus: tuple[int, ...] | None
    driver: str | None
    governor: str | None
    governors: tuple[str, ...] | None
    limits_khz: tuple[int, int] | None
    hardware_khz: tuple[int, int] | None
    latency_ns: int | None
    sampling: Sampling | None
    has_stats: bool
    ticks: Mapping[int, int] | None
    transitions: Pairs | None
    total: int | None
    bad: tuple[str, ...]

    @property
    def shares(self) -> dict[int, float] | None:
        """The share [0..1] of the counted time at each frequency in kHz, the highest first; None
        where no time is counted."""
        all_ticks = sum((self.ticks or {}).values())
        if self.ticks is None or all_ticks == 0:
            return None
        return {khz: self.ticks[khz] / all_ticks for khz in sorted(self.ticks, reverse=True)}

    @property
    def average_khz(self) -> float | None:
        """The frequency averaged over the time; None where no time is counted."""
        shares = self.shares
        return None if shares is None else sum(khz * share for khz, share in shares.items())


class _Reader:
    """Reads files in a folder, and keeps the names of those that exist and can't be read or
    understood."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bad: list[str] = []

    def read(self, name: str, meant: Callable[[str], T]) -> T | None:
        path = self.folder / name
        text = read_text(path)
        if text is None:
            if path.is_symlink() or path.exists():
                self.bad.append(name)
            return None
        if not text:
            return None  # some versions of Linux count nothing where the driver sets the clock
        try:
            return meant(text)
        except ValueError:
            self.bad.append(name)
            return None

    def limits(self, stem: str) -> tuple[int, int] | None:
        least, most = (self.read(stem.format(end), _number) for end in ("min", "max"))
        return None if least is None or most is None else (least, most)


def _number(text: str) -> int:
    """Return a number that is written in 1 to 18 digits. Raises ValueError for another text."""
    if not re.fullmatch(r"[0-9]{1,18}", text):
        raise ValueError(text)
    return int(text)


def _word(text: str) -> str:
    if not re.fullmatch(r"[\w-]{1,40}", text, re.ASCII):
        raise ValueError(text)
    return text


def _pus(text: str) -> tuple[int, ...]:
    return tuple(sorted(map(_number, text.split())))


def _time_in_state(text: str) -> dict[int, int]:
    rows = [line.split() for line in text.splitlines()]
    if not rows or any(len(row) != 2 for row in rows):
        raise ValueError(text)
    return {_number(khz): _number(ticks) for khz, ticks in rows}


def _trans_table(text: str) -> dict[tuple[int, int], int]:
    """Return the numbers of transitions by frequencies before (rows) and after (columns), without
    zeros."""
    _, heads, *rows = [*text.splitlines(), ""]
    taken = [_number(word) for word in heads.partition(":")[2].split()]
    found: dict[tuple[int, int], int] = {}
    for row in filter(None, rows):
        left, _, counts = row.partition(":")
        numbers = [_number(word) for word in counts.split()]
        if len(numbers) != len(taken):
            raise ValueError(row)
        khz = _number(left.strip())
        found |= {(khz, to): count for to, count in zip(taken, numbers, strict=True) if count}
    if not taken or len([row for row in rows if row]) != len(taken):
        raise ValueError(text)
    return found


def _latency(text: str) -> int | None:
    found = _number(text)
    return None if found == _ETERNAL_NS else found


def _sampling(reader: _Reader, governor: str | None, shared: Path) -> Sampling | None:
    """Return a governor's settings, the policy's own or else those of all policies; None for
    another governor than ondemand and conservative. shared: the folder with those of all
    policies."""
    if governor not in ("ondemand", "conservative"):
        return None
    of_all = _Reader(shared)
    found = []
    for name in ("sampling_rate", "up_threshold"):
        own = reader.read(f"{governor}/{name}", _number)
        found.append(own if own is not None else of_all.read(f"{governor}/{name}", _number))
    reader.bad += [f"../{name}" for name in of_all.bad]
    return Sampling(*found)


def _read_policy(folder: Path, shared: Path, name: str) -> FrequencyPolicy:
    reader = _Reader(folder)
    governor = reader.read("scaling_governor", _word)
    return FrequencyPolicy(
        name=name,
        pus=reader.read("affected_cpus", _pus),
        driver=reader.read("scaling_driver", _word),
        governor=governor,
        governors=reader.read(
            "scaling_available_governors", lambda text: tuple(map(_word, text.split()))
        ),
        limits_khz=reader.limits("scaling_{}_freq"),
        hardware_khz=reader.limits("cpuinfo_{}_freq"),
        latency_ns=reader.read("cpuinfo_transition_latency", _latency),
        sampling=_sampling(reader, governor, shared),
        has_stats=(folder / "stats").is_dir(),
        ticks=reader.read("stats/time_in_state", _time_in_state),
        transitions=reader.read("stats/trans_table", _trans_table),
        total=reader.read("stats/total_trans", _number),
        bad=tuple(reader.bad),
    )


def _numbered(folder: Path, stem: str) -> Iterator[tuple[int, Path]]:
    for path in folder.glob(f"{stem}[0-9]*"):
        number = path.name.removeprefix(stem)
        if number.isdecimal():
            yield int(number), path


def _folders(pu_folder: Path) -> dict[str, Path]:
    """Return the folder of each policy by name, in the order of numbers: cpufreq/policyN, or, where
    there are none, cpuN/cpufreq where that is not a link."""
    policies = {path.name: path for _, path in sorted(_numbered(pu_folder / "cpufreq", "policy"))}
    if policies:
        return policies
    of_pus = {path.name: path / "cpufreq" for _, path in sorted(_numbered(pu_folder, "cpu"))}
    return {name: path for name, path in of_pus.items() if path.is_dir() and not path.is_symlink()}


def read_policies(root: Path = Path("/")) -> tuple[FrequencyPolicy, ...]:
    """Return the policies in the order of their numbers; none where Linux has no folder of a
    policy. root: the folder that holds sys."""
    pu_folder = root / PU_FOLDER
    return tuple(
        _read_policy(folder, pu_folder / "cpufreq", name)
        for name, folder in _folders(pu_folder).items()
    )
