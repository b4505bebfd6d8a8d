"""Machines of the literature: drawn, and what was measured on them. The numbers come from
common/machines and from published.toml."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from figures.common import Draw, Drawn, Sources, paper
from numalab.errors import NumalabError
from numalab.machines.machine import LOCAL_DISTANCE, Machine
from numalab.machines.machine import Figure as Published
from numalab.palette import BLUE, GREY, THREAD_COLOURS, VERMILION, thinned
from numalab.reports.figures import topology_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer

STREAM = ("Copy", "Scale", "Add", "Triad")


def published(figures: Sequence[Published], words: str) -> Published:
    """The one figure whose description has these words. Raises NumalabError."""
    found = [figure for figure in figures if words in figure.what]
    if len(found) != 1:
        raise NumalabError(f"{len(found)} published figures are about {words!r}, and not one")
    return found[0]


def _drawn_machine(name: str, width_in: float) -> Draw:
    def draw(sources: Sources) -> Drawn:
        machine = sources.machine(name)
        figure = topology_figure(machine, width_in=width_in, distances=False)
        return Drawn(figure, f"Source: {machine.source}")

    return draw


def _distances(name: str, points: float) -> Draw:
    def draw(sources: Sources) -> Drawn:
        machine = sources.machine(name)
        assert machine.distances is not None
        figure = paper(500)
        axes = figure.subplots()
        nodes = range(len(machine.distances))
        span = max(map(max, machine.distances)) - LOCAL_DISTANCE
        for i, row in enumerate(machine.distances):
            for j, distance in enumerate(row):
                shade = thinned(THREAD_COLOURS[0], 0.95 * (distance - LOCAL_DISTANCE) / span)
                axes.fill([j, j + 1, j + 1, j], [i, i, i + 1, i + 1], color=shade, linewidth=0)
                axes.text(j + 0.5, i + 0.5, str(distance), ha="center", va="center",
                          fontsize=points)  # fmt: skip
        _package_borders(axes, machine)
        axes.set_xlim(0, len(nodes))
        axes.set_ylim(len(nodes), 0)
        axes.set_xticks([node + 0.5 for node in nodes], [str(node) for node in nodes])
        axes.set_yticks([node + 0.5 for node in nodes], [str(node) for node in nodes])
        axes.xaxis.tick_top()
        axes.tick_params(length=0)
        axes.grid(False)
        axes.set_ylabel("from NUMA node")
        axes.set_title("to NUMA node", fontsize=16)
        note = "; black lines: packages" if machine.nodes_per_package.most > 1 else ""
        damaged = any("reconstruction" in note for note in machine.notes)
        rebuilt = " (reconstructed: the print is damaged)" if damaged else ""
        return Drawn(figure, f"Source: {machine.source}{rebuilt}{note}")

    return draw


def _package_borders(axes: Axes, machine: Machine) -> None:
    if machine.nodes_per_package.most > 1:
        for border in range(0, len(machine.numa_nodes) + 1, machine.nodes_per_package.most):
            axes.axhline(border, color="black", linewidth=2.5)
            axes.axvline(border, color="black", linewidth=2.5)


def _label_bars(axes: Axes, bars: BarContainer, form: str | Callable[[float], str]) -> None:
    axes.bar_label(bars, fmt=form, padding=3, fontsize=15)


def _whole(value: float) -> str:
    """Halves up, as people round; Python takes 22720.5 to the even 22720."""
    return f"{math.floor(value + 0.5)}"


def numa_factors(sources: Sources) -> Drawn:
    rows: list[tuple[str, float, str]] = []  # name, factor, times
    used = []
    for name, words, kinds in (
        ("westmere-ep", "Westmere-EP", ("",)),
        ("westmere-ex", "Westmere-EX", ("",)),
        ("magny-cours", "Magny-Cours", (", remote", ", farther")),
    ):
        figure = published(sources.machine(name).latencies, "memory access")
        local, *remote = figure.values
        used.append(figure.source)
        for kind, far in zip(kinds, remote, strict=True):
            rows.append((f"{words}{kind}", far / local, f"{far:g} / {local:g} {figure.unit}"))
    near, far = sources.published["epyc_7002"]["latency_ns"]
    used.append(sources.published["epyc_7002"]["source"])
    rows.append(("EPYC 7002", far / near, f"{far} / {near} ns"))
    figure_ = paper(430)
    axes = figure_.subplots()
    places = range(len(rows))
    axes.barh(places, [factor for _, factor, _ in rows], color=BLUE, height=0.62)
    for place, (_, factor, times) in enumerate(rows):
        axes.text(factor + 0.02, place, f"{factor:.2f}   ({times})", va="center", fontsize=15)
    axes.axvline(1, color=GREY, linestyle="--", linewidth=1.5)
    axes.set_yticks(places, [name for name, _, _ in rows])
    axes.invert_yaxis()
    axes.set_xlim(0, 2.7)
    axes.grid(axis="x")
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("remote latency / local latency")
    return Drawn(figure_, f"Sources: {', '.join(dict.fromkeys(used))}")


def _stream(cases: Sequence[tuple[str, Published]], colours: Sequence[str]) -> Drawn:
    figure = paper(450)
    axes = figure.subplots()
    width = 0.38
    for index, ((words, one), colour) in enumerate(zip(cases, colours, strict=True)):
        at = [place + (index - 0.5) * (width + 0.02) for place in range(len(STREAM))]
        hatch = "//" if index else ""
        bars = axes.bar(at, one.values, width, color=colour, edgecolor="black", hatch=hatch,
                        label=words)  # fmt: skip
        _label_bars(axes, bars, _whole)
    axes.set_xticks(range(len(STREAM)), STREAM)
    axes.set_ylabel("MB/s")
    axes.set_ylim(0, 1.32 * max(max(one.values) for _, one in cases))
    axes.legend(loc="upper left", ncols=2)
    return Drawn(figure, f"Source: {cases[0][1].source}")


def janus_stream(sources: Sources) -> Drawn:
    figures = sources.machine("janus").bandwidths
    cases = (
        ("by default", published(figures, "6 threads, by default")),
        ("all memory on node 0", published(figures, "memory bound to node 0")),
    )
    drawn = _stream(cases, (THREAD_COLOURS[0], THREAD_COLOURS[1]))
    return Drawn(drawn.figure, f"{drawn.source}: STREAM, six threads, two packages of six cores")


def nebula_stream(sources: Sources) -> Drawn:
    figures = sources.machine("nebula").bandwidths
    cases = (
        ("one NUMA node (PUs 0, 16)", published(figures, "on one NUMA node")),
        ("two NUMA nodes (PUs 0, 2)", published(figures, "on two NUMA nodes")),
    )
    drawn = _stream(cases, (THREAD_COLOURS[1], THREAD_COLOURS[0]))
    return Drawn(drawn.figure, f"{drawn.source}: STREAM, two threads")


def hlrs_first_touch(sources: Sources) -> Drawn:
    about = sources.published["first_touch"]
    times = [about["serial_s"], about["parallel_s"]]
    rates = [about["bytes_moved"] / 1e9 / seconds for seconds in times]
    figure = paper(430)
    left, right = figure.subplots(1, 2)
    for axes, values, words, form in (
        (left, times, "time of a += b*c [s]", "%.3f s"),
        (right, rates, "data moved [GB/s]", "%.1f GB/s"),
    ):
        bars = axes.bar(
            ("serial\ninitialisation", "parallel\ninitialisation"), values, width=0.55,
            color=(THREAD_COLOURS[1], THREAD_COLOURS[0]), edgecolor="black",
        )  # fmt: skip
        _label_bars(axes, bars, form)
        axes.set_ylabel(words)
        axes.set_ylim(0, 1.18 * max(values))
    source = f"Source: {about['source']}: eight threads, two packages, three arrays of 2 GiB"
    return Drawn(figure, source)


def osu_latency(sources: Sources) -> Drawn:
    figures = sources.machine("hydra").latencies
    sizes = [2**power for power in range(8)]
    figure = paper(450)
    axes = figure.subplots()
    for words, label, colour, marker in (
        ("same package", "same package", BLUE, "o"),
        ("different packages", "different packages", VERMILION, "s"),
    ):
        one = published(figures, words)
        axes.plot(sizes, one.values, color=colour, marker=marker, label=label)
        for size, value in zip(sizes, one.values, strict=True):
            axes.annotate(f"{value:.2f}", (size, value), xytext=(0, 10), ha="center",
                          textcoords="offset points", color=colour, fontsize=15)  # fmt: skip
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.set_ylim(0, 1.25)
    axes.set_xlabel("bytes")
    axes.set_ylabel("one way [us]")
    axes.legend(loc="lower right", ncols=2)
    return Drawn(figure, f"Source: {one.source}: OSU latency on hydra")


FIGURES: dict[str, Draw] = {
    "distances_nebula": _distances("nebula", 17),
    "hlrs_first_touch": hlrs_first_touch,
    "janus_stream": janus_stream,
    "machine_hydra": _drawn_machine("hydra", 8.4),
    "machine_nebula": _drawn_machine("nebula", 10.0),
    "machine_westmere_ex": _drawn_machine("westmere-ex", 10.0),
    "nebula_stream": nebula_stream,
    "numa_factors": numa_factors,
    "osu_latency": osu_latency,
}
