"""What a node could do: sketches of what limits bandwidth and latency, and the curve that follows
from it. Of no machine, and to no scale."""

from __future__ import annotations

from typing import TYPE_CHECKING

from figures.common import WIDTH_PX, Draw, Drawn, Sources, paper, sketch
from figures.diagrams import INK, PALE, SKETCH, arrow, box, say
from numalab.palette import BLUE, GREEN, GREY, THREAD_COLOURS, VERMILION, thinned

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Round numbers, of no machine.
ONE_GB_S, ALL_GB_S, CORES = 12.5, 80.0, 16


def rate_of_model(threads: int) -> float:
    """GB/s of so many cores, each of which alone moves ONE_GB_S, on a memory that carries
    ALL_GB_S: the cores add up until the memory is the limit."""
    return min(threads * ONE_GB_S, ALL_GB_S)


def saturation_model(_: Sources) -> Drawn:
    figure = paper(450)
    axes = figure.subplots()
    counts = range(1, CORES + 1)
    axes.plot(counts, [threads * ONE_GB_S for threads in counts], color=GREY, linestyle=":",
              label="what the cores ask for")  # fmt: skip
    axes.axhline(ALL_GB_S, color=GREEN, linestyle="--", label="what the memory carries")
    axes.plot(counts, [rate_of_model(threads) for threads in counts], color=BLUE, marker="o",
              linewidth=3, label="the smaller of both")  # fmt: skip
    axes.set_xlim(0.5, CORES + 0.5)
    axes.set_ylim(0, 1.5 * ALL_GB_S)
    axes.set_xticks([1, 4, 8, 12, 16])
    axes.set_xlabel("threads on one NUMA node, each on a core of its own")
    axes.set_ylabel("GB/s")
    axes.legend(loc="lower right")
    return Drawn(
        figure, "Worked out with round numbers, of no machine; a measured curve is rounder"
    )


LINES = 10  # that a core can wait for at once, of no machine


def lines_under_way(_: Sources) -> Drawn:
    figure, axes = sketch(430)
    box(axes, 20, 60, 210, 250, PALE)
    say(axes, 125, 90, "core", "center", bold=True, points=17)
    say(axes, 125, 160, f"can wait for\n{LINES} lines,\nnot for more", "center")
    box(axes, 930, 60, 210, 250, THREAD_COLOURS[1])
    say(axes, 1035, 185, "memory", "center", bold=True, points=17)
    for number in range(LINES):
        x = 262 + 65 * number
        box(axes, x, 110 + 70 * (number % 2), 52, 44, thinned(THREAD_COLOURS[0], 0.5), text="64 B")
    arrow(axes, (920, 275), (240, 275), BLUE)
    arrow(axes, (240, 355), (920, 355), GREY, both=True)
    say(axes, 580, 338, "latency: how long one line is under way", "center", "bottom")
    say(axes, 580, 400, "bytes under way = latency x bandwidth", "center", points=18, bold=True,
        colour=BLUE)  # fmt: skip
    return Drawn(figure, "Sketch, to no scale; the number of lines differs")


def write_allocate(_: Sources) -> Drawn:
    """One cache line of the array that is written, from memory and back."""
    figure, axes = sketch(450)
    say(axes, 20, 28, "an ordinary store to a line that is in no cache", bold=True, points=17)
    box(axes, 20, 70, 300, 330, PALE)
    say(axes, 170, 98, "core and caches", "center", bold=True)
    box(axes, 840, 70, 300, 330, thinned(THREAD_COLOURS[1], 0.35))
    say(axes, 990, 98, "memory", "center", bold=True)
    steps = (
        (165, "1  the line is fetched: 64 bytes", VERMILION, False),
        (345, "3  later the line is written back: 64 bytes", BLUE, True),
    )
    for y, words, colour, is_back in steps:
        ends = ((330, y), (830, y))
        arrow(axes, *(ends if is_back else ends[::-1]), colour=colour)
        say(axes, 580, y - 14, words, "center", "bottom", colour=colour)
        box(axes, 870, y - 30, 240, 60, "#FFFFFF", text="line of b")
    box(axes, 50, 225, 240, 60, THREAD_COLOURS[0], text="2  b(i) is changed")
    arrow(axes, (170, 168), (170, 222), INK)
    arrow(axes, (170, 288), (170, 342), INK)
    say(axes, 580, 245, "the loop names 64 bytes,\n128 cross between core and memory", "center",
        points=17, bold=True)  # fmt: skip
    return Drawn(figure, f"{SKETCH}; x86 with ordinary stores")


def _loads(axes: Axes, y: float, starts: list[float], length: float, chained: bool) -> None:
    for number, start in enumerate(starts):
        row = y if chained else y + 34 * number
        box(axes, start, row, length, 28, THREAD_COLOURS[number % 4])
        if chained and number:
            arrow(axes, (start - 14, row + 14), (start, row + 14), VERMILION)


def chain_or_not(_: Sources) -> Drawn:
    """Four loads one after another, and four at once."""
    figure, axes = sketch(450)
    length, left = 215.0, 240.0
    say(axes, 20, 84, "a chain: each\nload brings the\nnext address", points=15)
    _loads(axes, 70, [left + 1.07 * length * number for number in range(4)], length, True)
    say(axes, left, 130, "4 x latency: what one load takes, measured", colour=VERMILION)
    say(axes, 20, 240, "independent:\nall addresses\nare known", points=15)
    _loads(axes, 190, [left + 12.0 * number for number in range(4)], length, False)
    say(axes, left + 290, 255, "little more than 1 x latency for all four:\nlatency can't be seen "
        "from here", colour=BLUE)  # fmt: skip
    arrow(axes, (left, 390), (WIDTH_PX - 20, 390), GREY)
    say(axes, WIDTH_PX - 20, 415, "time", "right", colour=GREY)
    return Drawn(figure, "Sketch, to no scale: four loads that miss all caches")


FIGURES: dict[str, Draw] = {
    "chain_or_not": chain_or_not,
    "lines_under_way": lines_under_way,
    "saturation_model": saturation_model,
    "write_allocate": write_allocate,
}
