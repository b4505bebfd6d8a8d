"""Linux's files on the work of a frequency governor, /sys/devices/system/cpu/cpu0/cpufreq, as they
might have been recorded on a machine. Pure functions of a seed.

Frequencies are published ones (SVP-BLOG) at the ends: 14 states from 1064 to 2661 MHz. The states
in between are not published: here they are 133 MHz apart, as the ends allow, and the highest, 1 MHz
above the next, stands for turbo. One seed has the published settings of `ondemand`: a sampling rate
of 10,000 us, which is the transition latency of 10,000 ns times 1,000, and an up_threshold of 95 %;
others draw theirs. The load is invented: a program that computes, then waits. The governor follows
Linux's admin-guide/pm/cpufreq.rst: above the threshold it chooses the highest frequency, else the
one nearest to a point as far from the lowest to the highest as the load.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from numalab.draws import draw, pick
from numalab.machines.seeded import SEEDS

PUBLISHED_SEED = 2012  # of numalab's own answers; its governor has the published settings

HIGHEST_KHZ, SECOND_KHZ, STEP_KHZ, STATES = 2_661_000, 2_660_000, 133_000, 14
TICK_US = 10_000  # of time_in_state: USER_HZ is 100
_PERIOD_COUNTS = range(4_000, 9_000)
_MOST_ATTEMPTS = 1_000
_FULL = 100


@dataclass(frozen=True)
class Recording:
    """A recording of a frequency governor.

    Attributes:
        frequencies_khz: the frequencies, the highest first.
        latency_ns: the time that a transition takes.
        sampling_us: the sampling period.
        up_threshold: the load in percent above which the highest frequency is chosen.
        ticks: the time at each frequency in kHz, in ticks of TICK_US; a missing one is 0.
        transitions: the number of transitions, by the frequencies before and after in kHz.
        last_khz: the frequency at the end.
    """

    seed: int
    frequencies_khz: tuple[int, ...]
    latency_ns: int
    sampling_us: int
    up_threshold: int
    ticks: Mapping[int, int]
    transitions: Mapping[tuple[int, int], int]
    last_khz: int

    @property
    def total(self) -> int:
        """The number of all transitions."""
        return sum(self.transitions.values())

    @property
    def most_often(self) -> tuple[int, int]:
        """The most frequent transition, from and to, in kHz; of several, one of them."""
        return max(self.transitions, key=lambda pair: self.transitions[pair])


def frequencies() -> tuple[int, ...]:
    """Return the frequencies in kHz, the highest first."""
    return (HIGHEST_KHZ, *(SECOND_KHZ - STEP_KHZ * step for step in range(STATES - 1)))


@lru_cache(maxsize=64)
def make_recording(seed: int) -> Recording:
    """Return the recording of a seed, in which one transition is more frequent than any other.
    Raises ValueError for a number that is no seed."""
    if seed not in SEEDS:
        raise ValueError(f"seed {seed}")
    found = (_recorded(seed, attempt) for attempt in range(_MOST_ATTEMPTS))
    return next(recorded for recorded in found if _is_clear(recorded))


def _is_clear(recorded: Recording) -> bool:
    counts = sorted(recorded.transitions.values(), reverse=True)
    return len(counts) > 1 and counts[0] > counts[1]


def _recorded(seed: int, attempt: int) -> Recording:
    name = f"governor {seed} {attempt}"
    is_published = seed == PUBLISHED_SEED
    latency_ns = 10_000 if is_published else pick(f"{name} latency", (10_000, 20_000, 40_000))
    threshold = 95 if is_published else pick(f"{name} threshold", (70, 75, 80, 85, 90, 95))
    samples = pick(f"{name} samples", _PERIOD_COUNTS)
    sampling_us = latency_ns  # times 1,000, from ns to us
    table = frequencies()
    now = HIGHEST_KHZ
    ticks: Counter[int] = Counter()
    transitions: Counter[tuple[int, int]] = Counter()
    for _, load in zip(range(samples), _loads(name), strict=False):
        ticks[now] += sampling_us // TICK_US
        following = _governed(load, threshold, table)
        if following != now:
            transitions[now, following] += 1
        now = following
    return Recording(seed, table, latency_ns, sampling_us, threshold, ticks, transitions, now)


def _loads(name: str) -> Iterator[int]:
    """Yield the load of each sampling period in percent: some periods of full load, and some of
    waiting, in turn; without end."""
    computing = 2 + draw(f"{name} computing", 10)
    waiting = 1 + draw(f"{name} waiting", 6)
    usual = 5 + draw(f"{name} usual", 60)
    spread = 5 + draw(f"{name} spread", 25)
    phase = 0
    while True:
        phase += 1
        for _ in range(1 + draw(f"{name} {phase} computing", 2 * computing)):
            yield _FULL
        for sample in range(1 + draw(f"{name} {phase} waiting", 2 * waiting)):
            load = usual + draw(f"{name} {phase} {sample}", 2 * spread + 1) - spread
            yield min(_FULL, max(0, load))


def _governed(load: int, threshold: int, table: tuple[int, ...]) -> int:
    """Return the frequency in kHz that ondemand chooses for a load in percent: above the threshold
    the highest, else the nearest one in the table to the load's share of the way from the lowest to
    the highest."""
    if load > threshold:
        return table[0]
    wanted = table[-1] + load * (table[0] - table[-1]) // _FULL
    return min(table, key=lambda khz: (abs(khz - wanted), khz))


# ---- files -------------------------------------------------------------------------------------

_PU = "sys/devices/system/cpu"
# The folders of the first PU, and of the governor, which is the same for all.
POLICY, GOVERNOR = f"{_PU}/cpu0/cpufreq", f"{_PU}/cpufreq/ondemand"


def tree(recorded: Recording) -> dict[str, str]:
    """Return the texts of a recording's files in Linux's form, by path below the recording's
    folder."""
    lowest, highest = recorded.frequencies_khz[-1], recorded.frequencies_khz[0]
    policy = {
        "affected_cpus": "0",
        "cpuinfo_max_freq": f"{highest}",
        "cpuinfo_min_freq": f"{lowest}",
        "cpuinfo_transition_latency": f"{recorded.latency_ns}",
        "related_cpus": "0",
        "scaling_available_frequencies": " ".join(map(str, recorded.frequencies_khz)),
        "scaling_available_governors": "ondemand performance powersave",
        "scaling_cur_freq": f"{recorded.last_khz}",
        "scaling_driver": "acpi-cpufreq",
        "scaling_governor": "ondemand",
        "scaling_max_freq": f"{highest}",
        "scaling_min_freq": f"{lowest}",
        "stats/time_in_state": "\n".join(
            f"{khz} {recorded.ticks.get(khz, 0)}" for khz in recorded.frequencies_khz
        ),
        "stats/total_trans": f"{recorded.total}",
        "stats/trans_table": _trans_table(recorded),
    }
    governor = {
        "ignore_nice_load": "0",
        "sampling_down_factor": "1",
        "sampling_rate": f"{recorded.sampling_us}",
        "up_threshold": f"{recorded.up_threshold}",
    }
    files = {f"{POLICY}/{name}": text for name, text in policy.items()}
    files |= {f"{GOVERNOR}/{name}": text for name, text in governor.items()}
    return {path: f"{text}\n" for path, text in sorted(files.items())}


def _trans_table(recorded: Recording) -> str:
    """Return the text of trans_table: a row for each frequency that was left, a column for each
    that followed."""
    lines = [
        "   From  :    To",
        "         :" + "".join(f"{k:>10}" for k in recorded.frequencies_khz),
    ]
    for left in recorded.frequencies_khz:
        counts = (recorded.transitions.get((left, taken), 0) for taken in recorded.frequencies_khz)
        lines.append(f"{left:>9}:" + "".join(f"{count:>10}" for count in counts))
    return "\n".join(lines)
