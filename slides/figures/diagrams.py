"""Sketches: how something works, drawn to no scale, and curves that follow from a formula."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from matplotlib.patches import FancyArrowPatch, Polygon, Rectangle
from matplotlib.ticker import FuncFormatter

from figures.common import LEAST_POINTS, WIDTH_PX, Draw, Drawn, Sources, paper, sketch
from numalab.explore.wording import bytes_words
from numalab.palette import BLUE, GREEN, GREY, THREAD_COLOURS, VERMILION, ink_on, thinned

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SKETCH = "Sketch, to no scale"
PALE = "#EEF4F8"
INK = "#1A1A1A"


def box(
    axes: Axes, x: float, y: float, w: float, h: float, fill: str = "white", edge: str = INK,
    text: str = "", points: float = LEAST_POINTS, zorder: float = 1,
) -> None:  # fmt: skip
    """zorder: 3 is above lines."""
    shape = Rectangle((x, y), w, h, facecolor=fill, edgecolor=edge, linewidth=1.5, zorder=zorder)
    axes.add_patch(shape)
    if text:
        ink = ink_on(fill) if fill.startswith("#") else INK
        axes.text(x + w / 2, y + h / 2, text, ha="center", va="center", fontsize=points, color=ink)


def arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], colour: str = INK,
          both: bool = False, dashed: bool = False) -> None:  # fmt: skip
    axes.add_patch(
        FancyArrowPatch(
            start, end, arrowstyle="<|-|>" if both else "-|>", mutation_scale=22, linewidth=2.5,
            color=colour, shrinkA=0, shrinkB=0, linestyle="--" if dashed else "-",
        )
    )  # fmt: skip


def say(axes: Axes, x: float, y: float, text: str, ha: str = "left", va: str = "center",
        points: float = LEAST_POINTS, colour: str = INK, bold: bool = False) -> None:  # fmt: skip
    axes.text(x, y, text, ha=ha, va=va, fontsize=points, color=colour,
              fontweight="bold" if bold else "normal")  # fmt: skip


# ---- machines ---------------------------------------------------------------------------


def two_packages(_: Sources) -> Drawn:
    figure, axes = sketch(470)
    for number, (left, colour) in enumerate(((40, THREAD_COLOURS[0]), (680, THREAD_COLOURS[1]))):
        box(axes, left, 30, 440, 270, PALE)
        say(axes, left + 18, 58, f"Package {number}", bold=True)
        for core in range(4):
            box(axes, left + 20 + 103 * core, 90, 90, 70, thinned(colour, 0.6), text="core")
        box(axes, left + 20, 180, 400, 45, "#FFFFFF", text="L3")
        box(axes, left + 20, 240, 400, 45, "#FFFFFF", text="memory controller")
        box(axes, left, 350, 440, 90, colour, text=f"memory of NUMA node {number}", points=17)
        arrow(axes, (left + 220, 300), (left + 220, 350), both=True)
    arrow(axes, (480, 202), (680, 202), VERMILION, both=True)
    say(axes, 580, 178, "link", "center", colour=VERMILION, bold=True)
    say(axes, 580, 232, "longer, and\nshared by all", "center", "top", colour=VERMILION)
    return Drawn(figure, SKETCH)


def close_spread(_: Sources) -> Drawn:
    figure, axes = sketch(430)
    rows = (
        ("close", {0: [0], 1: [1], 2: [2], 3: [3]}),
        ("spread", {0: [0], 2: [1], 4: [2], 6: [3]}),
        ("primary", {0: [0, 1, 2, 3]}),
    )
    left, width = 170, 120
    say(axes, 20, 40, "places", bold=True)
    for place in range(8):
        say(axes, left + width * (place + 0.5), 40, str(place), "center", bold=True)
    for row, (word, threads) in enumerate(rows):
        y = 75 + 115 * row
        say(axes, 20, y + 45, word, points=18, colour=BLUE, bold=True)
        for place in range(8):
            box(axes, left + width * place + 5, y, width - 10, 90, PALE)
            held = threads.get(place, [])
            for index, thread in enumerate(held):
                wide = (width - 22) / max(1, min(2, len(held)))
                high = 78 / max(1, (len(held) + 1) // 2)
                x = left + width * place + 11 + wide * (index % 2)
                box(axes, x, y + 6 + high * (index // 2), wide, high, THREAD_COLOURS[thread],
                    text=f"t{thread}")  # fmt: skip
    return Drawn(figure, "Sketch: four threads t0 to t3 on a list of eight places")


# ---- pages ------------------------------------------------------------------------------


def page_fault(_: Sources) -> Drawn:
    figure, axes = sketch(440)
    steps = (
        ("malloc", "addresses only,\nno memory", "#FFFFFF"),
        ("first write\nby thread 1", "page fault: the\nkernel is called", THREAD_COLOURS[1]),
        ("the kernel", "takes a page of the NUMA\nnode where thread 1 runs,\nfills it with zeros",
         "#FFFFFF"),
        ("later accesses\nof any thread", "find the page\nwhere it is", THREAD_COLOURS[0]),
    )  # fmt: skip
    width = 250
    for number, (head, text, fill) in enumerate(steps):
        x = 20 + 290 * number
        box(axes, x, 30, width, 95, fill, text=head, points=17)
        say(axes, x + width / 2, 145, text, "center", "top")
        if number:
            arrow(axes, (x - 40, 77), (x, 77))
    for node, colour in enumerate(THREAD_COLOURS[:2]):
        x = 20 + 590 * node
        box(axes, x, 290, 530, 120, thinned(colour, 0.35))
        where = "; thread 1 runs here" if node else ""
        say(axes, x + 15, 388, f"memory of NUMA node {node}{where}", bold=True)
    for page in range(6):
        box(axes, 650 + 60 * page, 305, 50, 55, "#FFFFFF" if page else THREAD_COLOURS[1])
    arrow(axes, (675, 240), (675, 303), VERMILION)
    return Drawn(figure, SKETCH)


def page_walk(_: Sources) -> Drawn:
    figure, axes = sketch(480)
    parts = (("index", 9), ("index", 9), ("index", 9), ("index", 9), ("offset", 12))
    x = 90.0
    say(axes, 90, 24, "virtual address of 48 bits", bold=True)
    centres = []
    for number, (word, bits) in enumerate(parts):
        wide = 20.0 * bits
        fill = THREAD_COLOURS[number] if word == "index" else "#FFFFFF"
        box(axes, x, 48, wide, 62, fill, text=f"{word}\n{bits} bits")
        centres.append(x + wide / 2)
        x += wide
    for number in range(4):
        left = centres[number] - 55
        fill = thinned(THREAD_COLOURS[number], 0.3)
        box(axes, left, 190, 110, 150, fill)
        box(axes, left, 250, 110, 36, THREAD_COLOURS[number], text="entry")
        say(axes, left + 55, 362, f"table {number + 1}", "center")
        arrow(axes, (centres[number], 110), (centres[number], 188), GREY, dashed=True)
        end = centres[number + 1] - (55 if number < 3 else 70)
        arrow(axes, (left + 110, 268), (end, 268), VERMILION)
    box(axes, centres[4] - 70, 190, 140, 150, PALE, text="page\n(4 KiB)")
    arrow(axes, (centres[4], 110), (centres[4], 188), GREY, dashed=True)
    say(axes, 90, 425, "four reads, one after another: each entry tells where the next table lies",
        colour=VERMILION, points=17)  # fmt: skip
    return Drawn(figure, "Sketch of x86-64 with four levels")


def tlb_reach(_: Sources) -> Drawn:
    figure = paper(450)
    axes = figure.subplots()
    entries = [2**power for power in range(3, 13)]
    for page_bytes, colour, marker in ((4096, BLUE, "o"), (2**21, VERMILION, "s")):
        axes.plot(entries, [count * page_bytes for count in entries], color=colour, marker=marker)
        at = (entries[6], entries[6] * page_bytes)
        axes.annotate(f"pages of {bytes_words(page_bytes)}", at, xytext=(-14, 10), ha="right",
                      textcoords="offset points", color=colour)  # fmt: skip
    for count, page_bytes in ((512, 4096), (32, 2**21)):
        axes.plot([count], [count * page_bytes], marker="D", markersize=13, color=INK, zorder=3)
        axes.annotate(f"Nehalem: {count}", (count, count * page_bytes), xytext=(12, -22),
                      textcoords="offset points", color=INK)  # fmt: skip
    axes.axhline(2**30, color=GREY, linestyle="--", linewidth=1.5)
    axes.annotate("a table of 1 GiB", (entries[0], 2**30), xytext=(0, 6),
                  textcoords="offset points", color=GREY)  # fmt: skip
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    axes.set_xticks(entries, [str(count) for count in entries])
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: bytes_words(int(value))))
    axes.set_xlabel("entries of the TLB")
    axes.set_ylabel("reach")
    return Drawn(
        figure, "Worked out: entries times page size; Nehalem's entries: Tom's Hardware, 2008"
    )


def alignment(_: Sources) -> Drawn:
    figure, axes = sketch(430)
    step, left = 180.0, 90.0
    for number in range(6):
        x: float = left + step * number
        axes.plot([x, x], [55, 390], color=GREY, linewidth=1.2, linestyle="--")
        say(axes, x, 35, f"{2 * number}", "center")
    say(axes, 20, 35, "MiB")
    for y, start, words in ((90, 2.0, "starts at a multiple of 2 MiB"),
                            (250, 3.0, "starts anywhere")):  # fmt: skip
        end = start + 4
        axes.text(left + start * step / 2 + 6, y - 2, f"a table of 4 MiB that {words}",
                  va="bottom", fontsize=LEAST_POINTS, backgroundcolor="white")  # fmt: skip
        at = start
        while at < end:
            whole = at % 2 == 0 and at + 2 <= end
            upto = at + 2 if whole else min(end, (at // 2 + 1) * 2)
            x, wide = left + at * step / 2, (upto - at) * step / 2
            if whole:
                box(axes, x, y + 12, wide, 80, THREAD_COLOURS[2], text="fits a\nhuge page")
            else:
                small = 8
                for piece in range(small):
                    box(axes, x + wide * piece / small, y + 12, wide / small, 80, "#FFFFFF", GREY)
            at = upto
    say(axes, left, 405, "white: room for small pages of 4 KiB only")
    return Drawn(figure, SKETCH)


# ---- schedules --------------------------------------------------------------------------

ITERATIONS, THREADS = 64, 4


def shares(schedule: str) -> list[tuple[int, int, int]]:
    """(thread, first, count) of each part dealt out, in order, for iterations of equal work: a
    dynamic chunk goes to whoever is free first. guided: a chunk is what is left over the number
    of threads, as GNU's runtime does it."""
    parts: list[tuple[int, int, int]] = []
    free_at = [0] * THREADS
    first = 0
    while first < ITERATIONS:
        left = ITERATIONS - first
        if schedule == "static":
            count, thread = ITERATIONS // THREADS, len(parts)
        elif schedule == "static,4":
            count, thread = 4, len(parts) % THREADS
        else:
            count = 4 if schedule == "dynamic,4" else max(1, -(-left // THREADS))
            # Nothing is quite equal: who got a chunk of equal length is free in another order.
            thread = min(range(THREADS), key=lambda t: (free_at[t], (3 * t + len(parts)) % THREADS))
        count = min(count, left)
        parts.append((thread, first, count))
        free_at[thread] += count
        first += count
    return parts


def who_gets_what(_: Sources) -> Drawn:
    figure, axes = sketch(440)
    left, wide = 180, (WIDTH_PX - 200) / ITERATIONS
    for row, schedule in enumerate(("static", "static,4", "dynamic,4", "guided")):
        y = 30 + 98 * row
        say(axes, 10, y + 32, schedule, points=17, colour=BLUE, bold=True)
        for thread, first, count in shares(schedule):
            text = f"t{thread}" if count >= 2 else ""
            box(axes, left + wide * first, y, wide * count, 64, THREAD_COLOURS[thread], text=text)
    say(axes, left, 420, "iteration 0")
    say(axes, left + wide * ITERATIONS, 420, f"{ITERATIONS - 1}", "right")
    note = f"Worked out for {THREADS} threads t0 to t3 and iterations of equal work"
    return Drawn(figure, f"{note}; the lower two differ from run to run")


def triangle_shares(threads: int) -> list[Fraction]:
    """Of the work of rows of 1, 2, ... terms, each thread's part when rows are shared equally."""
    return [Fraction((t + 1) ** 2 - t**2, threads**2) for t in range(threads)]


def triangle(_: Sources) -> Drawn:
    figure, axes = sketch(470)
    top, high, left = 20, 430, 250
    for thread, share in enumerate(triangle_shares(THREADS)):
        y0, y1 = top + high * thread / THREADS, top + high * (thread + 1) / THREADS
        x0, x1 = 640 * thread / THREADS, 640 * (thread + 1) / THREADS
        fill = THREAD_COLOURS[thread]
        corners = [(left, y0), (left + x0, y0), (left + x1, y1), (left, y1)]
        axes.add_patch(Polygon(corners, facecolor=fill, edgecolor=INK, linewidth=1.5))
        middle = (y0 + y1) / 2
        say(axes, 20, middle, f"thread {thread}", points=17)
        over = Fraction(1, THREADS**2)
        say(axes, left + x1 + 25, middle, f"{share / over} of {THREADS**2} parts", points=17)
    arrow(axes, (210, top), (210, top + high), GREY)
    say(axes, 198, top + 20, "rows", "right", colour=GREY)
    return Drawn(figure, "Worked out: row i has i terms, schedule(static), four threads")


def balance_bound(_: Sources) -> Drawn:
    figure = paper(360)
    axes = figure.subplots()
    counts = [1, 2, 4, 8, 16, 32, 64]
    bounds = [float(triangle_shares(count)[-1] * count) for count in counts]
    axes.plot(counts, bounds, color=BLUE, marker="o")
    for count, bound in zip(counts[1:5], bounds[1:], strict=False):
        axes.annotate(f"{bound:.4g}", (count, bound), xytext=(8, -20), textcoords="offset points")
    axes.axhline(2, color=GREY, linestyle="--", linewidth=1.5)
    axes.set_xscale("log", base=2)
    axes.set_xticks(counts, [str(count) for count in counts])
    axes.set_ylim(0.9, 2.12)
    axes.set_xlabel("threads T")
    axes.set_ylabel("most that can be won")
    return Drawn(figure, "Worked out: the last thread's share of the work over a fair share")


def false_sharing(_: Sources) -> Drawn:
    figure, axes = sketch(290)
    left, width, high = 150, 118, 62
    for y, words, is_shared in ((40, "one line", True), (170, "a line\neach", False)):
        say(axes, 20, y + high / 2, words, points=17, colour=BLUE, bold=True)
        for thread in range(8):
            x = left + width * thread
            fill = THREAD_COLOURS[thread % len(THREAD_COLOURS)]
            if is_shared:
                box(axes, x, y, width, high, fill, text=f"t{thread}")
                continue
            box(axes, x + 4, y, width - 8, high, "#FFFFFF")
            box(axes, x + 4, y, 30, high, fill)
            say(axes, x + 40, y + high / 2, f"t{thread}")
    box(axes, left - 3, 37, 8 * width + 6, high + 6, "none", VERMILION)
    say(axes, left, 125, "64 bytes: each write takes the line away from all other cores",
        colour=VERMILION, points=17)  # fmt: skip
    say(axes, left, 258, "8 bytes of 64 each: every line stays where its thread runs", points=17)
    return Drawn(figure, "Sketch: eight threads t0 to t7, each with a counter of its own")


COUNTERS, LINE_BYTES, BLOCK_THREADS = 6, 64, 4  # as lab 10 has them


def _ruler(axes: Axes, y: float, high: float, left: float, byte_px: float, lines: int) -> None:
    """Borders of lines."""
    for line in range(lines + 1):
        x = left + line * LINE_BYTES * byte_px
        axes.plot([x, x], [y - 6, y + high + 6], color=VERMILION, linewidth=3, zorder=4)


def _blocks(axes: Axes, y: float, left: float, byte_px: float, distance_bytes: int,
            begin_bytes: int = 0) -> None:  # fmt: skip
    for thread in range(BLOCK_THREADS):
        x = left + (begin_bytes + thread * distance_bytes) * byte_px
        box(axes, x, y, 8 * COUNTERS * byte_px, 54, THREAD_COLOURS[thread])
        say(axes, x + 8, y + 27, f"t{thread}", colour=ink_on(THREAD_COLOURS[thread]))


def blocks_in_lines(_: Sources) -> Drawn:
    figure, axes = sketch(250)
    left, byte_px = 40, 5.6
    for line in range(3):
        middle = left + (line + 0.5) * LINE_BYTES * byte_px
        say(axes, middle, 40, f"line {line}", "center", colour=VERMILION, bold=True)
    _blocks(axes, 80, left, byte_px, 8 * COUNTERS)
    _ruler(axes, 80, 54, left, byte_px, 3)
    say(axes, left, 185, "six counters of 8 bytes each: 48 bytes for each thread, in lines of 64")
    return Drawn(figure, "Sketch: blocks of four threads t0 to t3, the first at a line's begin")


def padded_blocks(_: Sources) -> Drawn:
    figure, axes = sketch(440)
    left, byte_px = 330, 2.5
    rows = ((56, 0, "56 bytes apart"), (80, 0, "80 bytes apart"),
            (64, 32, "64, from byte 32 on"), (64, 0, "64, from byte 0 on"))  # fmt: skip
    for row, (distance, begin, words) in enumerate(rows):
        y = 30 + 98 * row
        say(axes, 10, y + 27, words, points=17, colour=BLUE, bold=True)
        _blocks(axes, y, left, byte_px, distance, begin)
        _ruler(axes, y, 54, left, byte_px, 5)
    say(axes, left, 420, "blocks of 48 bytes; a line of 64 from bar to bar")
    return Drawn(figure, "Sketch: four threads t0 to t3, and what of lines they have")


def line_goes_round(_: Sources) -> Drawn:
    figure, axes = sketch(430)
    left, step = 190, 230
    _lanes(axes, 430, ("core 0", "core 1"), (110, 290))
    for turn in range(4):
        x = left + step * turn
        y, other = (110, 290) if turn % 2 == 0 else (290, 110)
        box(axes, x, y - 28, 120, 56, THREAD_COLOURS[turn % 2], text="modified", zorder=3)
        say(axes, x + 60, other + 22, "invalid", "center", colour=GREY)
        if turn < 3:
            arrow(axes, (x + 120, y), (x + step, other), VERMILION)
    say(axes, left, 40, "stores to counters of thread 0, which is on core 0")
    say(axes, left, 360, "stores to counters of thread 1, in the same line")
    return Drawn(figure, SKETCH)


# ---- messages -----------------------------------------------------------------------------


def _lanes(axes: Axes, height: float, names: Sequence[str], tops: Sequence[float]) -> None:
    for name, y in zip(names, tops, strict=True):
        say(axes, 20, y, name, points=17, bold=True)
        axes.plot([130, WIDTH_PX - 20], [y, y], color=GREY, linewidth=2)
    say(axes, WIDTH_PX - 20, height - 15, "time", "right", colour=GREY)


def ping_pong(_: Sources) -> Drawn:
    figure, axes = sketch(430)
    up, down, step = 110, 290, 150
    _lanes(axes, 430, ("rank 0", "rank 1"), (up, down))
    for trip in range(3):
        x = 190 + 2 * step * trip
        arrow(axes, (x, up), (x + step, down), BLUE)
        arrow(axes, (x + step, down), (x + 2 * step, up), VERMILION)
    arrow(axes, (190, 60), (490, 60), GREY, both=True)
    say(axes, 340, 38, "a round trip: two messages", "center")
    for x, words in ((190, "clock"), (1090, "clock")):
        axes.plot([x, x], [75, 125], color=INK, linewidth=3)
        say(axes, x, 145, words, "center", "top")
    say(axes, 190, 375, "one way = time between the clocks / (2 x round trips)", points=17)
    return Drawn(figure, SKETCH)


T0_US, B_BYTES_PER_US = 1.0, 5000.0  # round numbers, of no machine


def hockney(_: Sources) -> Drawn:
    figure = paper(450)
    axes = figure.subplots()
    sizes = [2.0**power for power in range(3, 23)]
    axes.plot(sizes, [T0_US + size / B_BYTES_PER_US for size in sizes], color=BLUE, linewidth=3,
              label="t(n) = t0 + n / B")  # fmt: skip
    axes.axhline(T0_US, color=GREEN, linestyle="--", label="t0 = 1 us: latency")
    bytes_only = [size for size in sizes if size >= 512]
    axes.plot(bytes_only, [size / B_BYTES_PER_US for size in bytes_only], color=VERMILION,
              linestyle=":", label="n / B, B = 5000 MB/s")  # fmt: skip
    equal = T0_US * B_BYTES_PER_US
    axes.plot([equal], [2 * T0_US], color=INK, marker="D", linestyle="none")
    axes.annotate(f"both equal:\n{equal:.0f} bytes", (equal, 2 * T0_US), xytext=(-20, 24),
                  textcoords="offset points", ha="right")  # fmt: skip
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    ticks = [2.0**power for power in range(3, 23, 3)]
    axes.set_xticks(ticks, [bytes_words(int(tick)) for tick in ticks])
    axes.set_ylim(0.1, 2000)
    axes.set_xlabel("size of the message n")
    axes.set_ylabel("time [us]")
    axes.legend(loc="upper left")
    return Drawn(
        figure, "Worked out with round numbers, of no machine. Model: R. W. Hockney (1994)"
    )


def shared_memory(_: Sources) -> Drawn:
    figure, axes = sketch(430)
    for x, words, colour in ((10, "rank 0, sender", 0), (890, "rank 1, receiver", 1)):
        box(axes, x, 40, 260, 300, thinned(THREAD_COLOURS[colour], 0.3))
        say(axes, x + 15, 65, words, bold=True)
        box(axes, x + 30, 190, 200, 90, "#FFFFFF", text="its buffer")
    box(axes, 415, 130, 300, 210, PALE)
    say(axes, 430, 155, "memory that both see", bold=True)
    box(axes, 460, 190, 210, 90, THREAD_COLOURS[2], text="flag + message")
    arrow(axes, (240, 235), (458, 235), BLUE)
    say(axes, 350, 210, "copy", "center", "bottom", colour=BLUE)
    arrow(axes, (672, 252), (918, 252), VERMILION)
    say(axes, 795, 270, "copy", "center", "top", colour=VERMILION)
    arrow(axes, (918, 215), (674, 215), GREY, dashed=True)
    say(axes, 795, 200, "looks, looks ...", "center", "bottom", colour=GREY)
    say(axes, 580, 385, "what a short message waits for: a cache line, from one core to the other",
        "center", points=17)  # fmt: skip
    return Drawn(figure, SKETCH)


def protocols(_: Sources) -> Drawn:
    figure, axes = sketch(480)
    for left, name in ((20, "eager: short messages"), (600, "rendezvous: long ones")):
        say(axes, left, 25, name, points=18, bold=True, colour=BLUE)
        for x, rank in ((left + 60, "sender"), (left + 400, "receiver")):
            say(axes, x, 68, rank, "center", bold=True)
            axes.plot([x, x], [90, 450], color=GREY, linewidth=2)
    axes.plot([580, 580], [20, 460], color="#C8D4DC", linewidth=2)
    arrow(axes, (80, 130), (420, 180), VERMILION)
    say(axes, 250, 138, "data", "center", "bottom", colour=VERMILION)
    say(axes, 92, 195, "MPI_Send returns", va="top")
    box(axes, 300, 200, 240, 60, PALE, text="kept by the library", zorder=3)
    say(axes, 408, 330, "MPI_Recv", "right", colour=INK)
    arrow(axes, (420, 262), (420, 352), GREY)
    arrow(axes, (660, 130), (1000, 170), GREY)
    say(axes, 830, 130, "may I?", "center", "bottom", colour=GREY)
    say(axes, 988, 225, "MPI_Recv", "right")
    arrow(axes, (1000, 250), (660, 290), GREY)
    say(axes, 830, 300, "yes, here", "center", "bottom", colour=GREY)
    arrow(axes, (660, 355), (1000, 400), VERMILION)
    say(axes, 830, 362, "data", "center", "bottom", colour=VERMILION)
    say(axes, 672, 420, "MPI_Send returns", va="top")
    return Drawn(figure, SKETCH)


# ---- ranks --------------------------------------------------------------------------------


def halo(_: Sources) -> Drawn:
    figure, axes = sketch(470)
    wide, high = 360, 56
    for left, rank, colour in ((60, 0, THREAD_COLOURS[0]), (690, 1, THREAD_COLOURS[1])):
        say(axes, left, 25, f"rank {rank}", points=18, bold=True)
        kinds = ("halo" if rank else "halo: boundary, always 0", "own", "own", "halo")
        for row, kind in enumerate(kinds):
            y = 60 + 92 * row
            fill = colour if kind == "own" else "#FFFFFF"
            box(axes, left, y, wide, high, fill, text=kind)
            say(axes, left - 14, y + high / 2, str(row), "right")
    middle = [60 + 92 * number + high / 2 for number in range(4)]
    arrow(axes, (420, middle[2]), (655, middle[0]), BLUE)
    say(axes, 565, middle[1] - 62, "down", "center", colour=BLUE, bold=True)
    arrow(axes, (655, middle[1]), (420, middle[3]), VERMILION)
    say(axes, 560, middle[2] + 62, "up", "center", colour=VERMILION, bold=True)
    arrow(axes, (1050, middle[2]), (1140, middle[2]), GREY, dashed=True)
    arrow(axes, (1140, middle[3]), (1050, middle[3]), GREY, dashed=True)
    say(axes, 1095, middle[2] - 30, "rank 2", "center", colour=GREY)
    say(axes, 60, 440, "rows 0 and 3 are copies of a neighbour's rows; two ranks of several")
    return Drawn(figure, SKETCH)


def two_parts(_: Sources) -> Drawn:
    figure, axes = sketch(470)
    box(axes, 20, 170, 200, 110, PALE, text="launcher\n(mpiexec, srun)", points=16)
    for rank, y in ((0, 40), (1, 270)):
        colour = THREAD_COLOURS[rank]
        arrow(axes, (220, 225), (320, y + 75), BLUE)
        box(axes, 320, y, 360, 150, thinned(colour, 0.3))
        say(axes, 340, y + 25, f"rank {rank} may use these PUs", bold=True)
        for pu in range(4):
            x = 340 + 82 * pu
            box(axes, x, y + 65, 70, 60, "#FFFFFF", text=str(4 * rank + pu), points=16)
        arrow(axes, (860, y + 75), (684, y + 75), VERMILION)
        box(axes, 860, y + 20, 280, 110, PALE, text=f"OpenMP in rank {rank}\nplaces, threads",
            points=16)  # fmt: skip
    say(axes, 230, 452, "1: which PUs has a rank?", "left", colour=BLUE, points=17)
    say(axes, 700, 452, "2: which of them has a thread?", "left", colour=VERMILION, points=17)
    return Drawn(figure, SKETCH)


FIGURES: dict[str, Draw] = {
    "alignment": alignment,
    "balance_bound": balance_bound,
    "blocks_in_lines": blocks_in_lines,
    "close_spread": close_spread,
    "false_sharing": false_sharing,
    "halo": halo,
    "hockney": hockney,
    "line_goes_round": line_goes_round,
    "padded_blocks": padded_blocks,
    "page_fault": page_fault,
    "page_walk": page_walk,
    "ping_pong": ping_pong,
    "protocols": protocols,
    "shared_memory": shared_memory,
    "tlb_reach": tlb_reach,
    "triangle": triangle,
    "two_packages": two_packages,
    "two_parts": two_parts,
    "who_gets_what": who_gets_what,
}
