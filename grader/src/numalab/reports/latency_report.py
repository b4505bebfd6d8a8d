"""What messages took, as a table and a picture over their sizes."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from numalab.evidence.kinds import LATENCY
from numalab.evidence.record import Evidence
from numalab.evidence.run_formats import LatencyRun
from numalab.labs.prediction import PREDICTED
from numalab.machines.machine import Figure

PLOT_COLUMNS = 14
BOTH = "*"


def run_name(run: LatencyRun) -> str:
    """What ran: the launch file's name, or that it was the kit's."""
    return "2 cores" if run.file is None else run.file.removesuffix(".toml")


def _size(size_bytes: int) -> str:
    for unit, scale in (("MiB", 2**20), ("KiB", 2**10)):
        if size_bytes >= scale:
            return f"{size_bytes // scale} {unit}"
    return f"{size_bytes} B"


def _figure(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.2f}" if value < 100 else f"{value:,.0f}"


def _plotted(values: Sequence[float | None], marks: Sequence[str], ends: Sequence[float]) -> str:
    """A line of a picture over a logarithmic scale between the two ends."""
    low, high = math.log(ends[0]), math.log(ends[1])
    line = [" "] * PLOT_COLUMNS
    for value, mark in zip(values, marks, strict=True):
        if value is not None:
            share = (math.log(value) - low) / (high - low) if high > low else 0.0
            column = round(share * (PLOT_COLUMNS - 1))
            line[column] = mark if line[column] == " " else BOTH
    return "".join(line)


def _ends(values: Sequence[Sequence[float | None]]) -> tuple[float, float]:
    known = [value for line in values for value in line if value is not None]
    return min(known, default=1.0), max(known, default=1.0)


def latency_lines(evidence: Evidence, is_predicted: bool, published: Sequence[Figure]) -> list[str]:
    """At most 78 columns; nothing where no message was timed. is_predicted: whether the time
    of what is predicted may be shown, since it has been. published: latencies of a machine
    to look at beside then, since they are to be predicted, too."""
    runs = [run for run in evidence.runs_of(LATENCY) if run.outcome.ok and run.message_us]
    if not runs:
        return []
    sizes = sorted({size for run in runs for size in run.message_us})
    hidden = set() if is_predicted else set(PREDICTED.values())
    times: list[list[float | None]] = [
        [
            statistics.median(run.message_us[size])
            if size in run.message_us and size not in hidden
            else None
            for run in runs
        ]
        for size in sizes
    ]
    rates = [
        [size / us if size and us is not None else None for us in of_size]
        for size, of_size in zip(sizes, times, strict=True)
    ]
    labels = [run_name(run) for run in runs]
    marks = ["o" if run.file is None else run.file[0] for run in runs]
    meaning = ", ".join(f"{m}: {name}" for m, name in zip(marks, labels, strict=True))
    both = f", {BOTH}: both" if len(runs) > 1 else ""
    heads = "".join(f"{f'{name}, us':>12}{'MB/s':>8}" for name in labels)
    lines = [
        "A message one way, median; pictures with logarithmic scales",
        f"{'':7}{heads}  {'us':<{PLOT_COLUMNS}} {'MB/s':<{PLOT_COLUMNS}}",
    ]
    time_ends, rate_ends = _ends(times), _ends(rates)
    for size, of_time, of_rate in zip(sizes, times, rates, strict=True):
        if size in hidden:
            lines.append(f"{_size(size):>7}  left out: predict it")
            continue
        figures = "".join(
            f"{_figure(us):>12}{_figure(rate):>8}"
            for us, rate in zip(of_time, of_rate, strict=True)
        )
        pictures = (_plotted(of_time, marks, time_ends), _plotted(of_rate, marks, rate_ends))
        lines.append(f"{_size(size):>7}{figures}  {pictures[0]} {pictures[1]}".rstrip())
    lines.append(f"{meaning}{both}")
    lines += _notes(evidence, runs)
    return [*lines, *_published_lines(published if is_predicted else ())]


def _notes(evidence: Evidence, runs: Sequence[LatencyRun]) -> list[str]:
    notes = []
    if any(run.file is None for run in runs):
        notes.append("2 cores: the kit's own launch, for a file that gives no core to each rank.")
    packages = {pu["package"] for pu in evidence.node["pu_list"]}
    if len(packages) == 1 and any(run.file == "far.toml" for run in runs):
        notes.append("This node has one package, so far is no farther than near.")
    elif len(packages) == 1:
        notes.append("This node has one package, so nothing is far.")
    return notes


def published_series(published: Sequence[Figure]) -> list[Figure]:
    """Those that belong to sizes of messages."""
    return [figure for figure in published if figure.sizes_bytes]


def _published_lines(published: Sequence[Figure]) -> list[str]:
    lines: list[str] = []
    for figure in published_series(published):
        if not lines:
            columns = "".join(f"{size:>6}" for size in figure.sizes_bytes)
            lines.append(f"Published for hydra ({figure.source}), {figure.unit}, sizes in bytes:")
            lines.append(f"{'':22}{columns}")
        values = "".join(f"{value:6.2f}" for value in figure.values)
        lines.append(f"  {figure.topic:<20}{values}")
    if lines:
        lines.append("(Five labels of sizes are lost in the print; values are in their order.)")
    return lines
