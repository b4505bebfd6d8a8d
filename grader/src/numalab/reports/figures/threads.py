"""Where threads and ranks may run, and were seen, on the drawn node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from numalab import words
from numalab.errors import NothingToDraw
from numalab.evidence.kinds import BINDING, PLACEMENT, RANKS, TRACE
from numalab.evidence.record import Evidence, Json, Placement, Trace
from numalab.evidence.run_formats import Thread
from numalab.palette import ink_on, place_colour
from numalab.reports.figures.boxes import (
    LABELLED_PU_H,
    PAD,
    Box,
    Layout,
    add_box,
    draw_outlines,
    lay_out,
    shape_of,
)
from numalab.reports.figures.canvas import WIDTH_IN, broken, node_words, styled
from numalab.reports.figures.topology import LINE_H, paper, write

LEGEND = "Above: the {noun} that may run there ({letter}0, {letter}1, ...); below: the PU."
NO_PU = "no PU of the node"
SEEN_LEGEND = " Dot: seen there."
CROWD_LEGEND = " 4 {letter}: four of them."


@dataclass(frozen=True)
class Sitting:
    """Threads of one run on a node. threads: with noun "rank" those of a rank share its number.
    seen: the PUs on which each number was seen, where that is known."""

    label: str
    node: Json
    threads: tuple[Thread, ...]
    noun: str
    seen: Mapping[int, frozenset[int]]


def _last_seen(threads: Sequence[Thread]) -> dict[int, frozenset[int]]:
    seen: dict[int, set[int]] = {}
    for thread in threads:
        if thread.last_pu >= 0:
            seen.setdefault(thread.number, set()).add(thread.last_pu)
    return {number: frozenset(pus) for number, pus in seen.items()}


def sittings(label: str, evidence: Evidence, file: str | None = None) -> Iterator[Sitting]:
    """Where threads sat under a placement file (on each runtime), where ranks sat under a launch
    file; without a file, the threads of the graded kernel."""
    where = node_words(evidence)
    for binding in evidence.runs_of(BINDING):
        if binding.file == file and binding.outcome.ok:
            name = f"{label}: {file}, {binding.runtime}, {where}"
            seen = _last_seen(binding.threads)
            yield Sitting(name, evidence.node, binding.threads, "thread", seen)
    for job in evidence.runs_of(RANKS):
        if job.file == file and job.outcome.ok and job.refused is None:
            threads = tuple(
                Thread(rank.number, thread.allowed_pus, -1, -1, -1, thread.last_pu)
                for rank in job.ranks
                for thread in rank.threads[: job.team]
            )
            name = f"{label}: {file}, {where}"
            yield Sitting(name, evidence.node, threads, "rank", _last_seen(threads))
    if file is None:
        runs: list[Placement | Trace] = [*evidence.runs_of(PLACEMENT), *evidence.runs_of(TRACE)]
        run = next((run for run in runs if run.threads), None)
        if run is not None:
            team = run.threads[: run.team]
            yield Sitting(f"{label}: {where}", evidence.node, team, "thread", _last_seen(team))


# ---- drawing -----------------------------------------------------------------------


def _numbers(of_pu: Sequence[int], letter: str) -> str:
    """What fits above a PU: T0, 0,1 or how many."""
    if len(of_pu) == 1:
        return f"{letter}{of_pu[0]}"
    text = ",".join(map(str, of_pu))
    return text if len(text) <= 3 else f"{len(of_pu)} {letter}"


def _bound(sitting: Sitting) -> tuple[dict[int, list[int]], dict[str, list[int]]]:
    """Of each PU the numbers that may run there, of those that are kept to one core, or to one
    of several NUMA nodes; the others, by where they may run."""
    of_pu = {entry["pu"]: entry for entry in sitting.node["pu_list"]}
    has_several = len({entry["numa_node"] for entry in of_pu.values()}) > 1
    bound: dict[int, list[int]] = {}
    loose: dict[str, list[int]] = {}
    for thread in sitting.threads:
        pus = [pu for pu in thread.allowed_pus if pu in of_pu]
        is_kept = len({of_pu[pu]["core"] for pu in pus}) == 1
        is_kept |= has_several and len({of_pu[pu]["numa_node"] for pu in pus}) == 1
        places = [bound.setdefault(pu, []) for pu in pus] if is_kept else []
        for numbers in places or [loose.setdefault(_reach(pus, of_pu), [])]:
            if thread.number not in numbers:
                numbers.append(thread.number)
    return bound, loose


def _reach(pus: Sequence[int], of_pu: Mapping[int, Json]) -> str:
    """The smallest unit that holds PUs of several cores, or of none."""
    if not pus:
        return NO_PU
    for key, name in (("numa_node", "NUMA node"), ("package", "package")):
        units = {of_pu[pu][key] for pu in pus}
        if len(units) == 1 and len({entry[key] for entry in of_pu.values()}) > 1:
            return f"any core of {name} {units.pop()}"
    return "any core of the node" if len(pus) == len(of_pu) else f"{len(pus)} PUs"


def _notes(sitting: Sitting, loose: Mapping[str, Sequence[int]]) -> list[str]:
    named = words.ranks if sitting.noun == "rank" else words.threads
    return [
        f"{words.first_upper(named(numbers))} may run on {where}"
        + ("." if where == NO_PU else f": nothing binds {'it' if len(numbers) == 1 else 'them'}.")
        for where, numbers in loose.items()
    ]


@dataclass(frozen=True)
class _Block:
    """A sitting with what is written around it."""

    sitting: Sitting
    layout: Layout
    title: list[str]
    notes: list[str]
    bound: Mapping[int, Sequence[int]]

    @property
    def height(self) -> float:
        lines = len(self.title) + len(self.notes)
        return lines * LINE_H + (2.5 if self.notes else 2) * PAD + self.layout.height

    def draw(self, axes: Axes, x: float, y: float) -> None:
        for line in self.title:
            write(axes, x, y, line, bold=True)
            y += LINE_H
        y += PAD / 2
        draw_outlines(axes, self.layout, x, y)
        letter = self.sitting.noun[0].upper()
        seen: dict[int, list[int]] = {}
        for number, pus in self.sitting.seen.items():
            for pu in pus:
                seen.setdefault(pu, []).append(number)
        for pu, box in self.layout.pu_boxes():
            where = Box(x + box.x, y + box.y, box.width, box.height)
            here = self.bound.get(pu, [])
            fill = place_colour(here[0]) if len(here) == 1 else "#333333" if here else "#FFFFFF"
            add_box(axes, where, fill, "#999999", 0.6)
            ink = ink_on(fill)
            middle = where.x + where.width / 2
            if here:
                axes.text(middle, where.y + 0.13, _numbers(here, letter), ha="center",
                          va="center", fontsize=12, fontweight="bold", color=ink)  # fmt: skip
            axes.text(middle, where.y + 0.34, str(pu), ha="center", va="center", fontsize=12,
                      color=ink if here else "#595959")  # fmt: skip
            if pu in seen and not here:
                axes.plot(middle, where.y + 0.13, "o", color="#333333", markersize=6)
        for _, box in self.layout.core_boxes():
            add_box(axes, Box(x + box.x, y + box.y, box.width, box.height), "none", "#333333", 1.2)
        y += self.layout.height + 1.5 * PAD
        for line in self.notes:
            write(axes, x, y, line)
            y += LINE_H


def _block(sitting: Sitting, width: float) -> _Block:
    bound, loose = _bound(sitting)
    layout = lay_out(shape_of(sitting.node), width, LABELLED_PU_H)
    notes = [line for note in _notes(sitting, loose) for line in broken(note, width, 12)]
    return _Block(sitting, layout, broken(sitting.label, width, 13.5), notes, bound)


@styled
def thread_figure(seen: Sequence[Sitting], *, width_in: float = WIDTH_IN) -> Figure:
    """One or several sittings, side by side where the drawn nodes are narrow enough for it. A
    thread that may run on one core is drawn there; one that may run on several is named below.
    Raises NothingToDraw."""
    if not seen:
        raise NothingToDraw("nobody looked where threads run, so there is nothing to draw")
    inner = width_in - 2 * PAD
    needed = max(lay_out(shape_of(sitting.node), inner, LABELLED_PU_H).width for sitting in seen)
    across = min(len(seen), max(1, int((inner + 2 * PAD) / (max(needed, 2.4) + 2 * PAD))))
    width = (inner + 2 * PAD) / across - 2 * PAD
    blocks = [_block(sitting, width) for sitting in seen]
    rows = [blocks[first : first + across] for first in range(0, len(blocks), across)]
    noun = seen[0].noun
    legend = LEGEND.format(noun=noun, letter=noun[0].upper())
    if any(sitting.seen and _bound(sitting)[1] for sitting in seen):
        legend += SEEN_LEGEND
    crowds = (numbers for block in blocks for numbers in block.bound.values())
    if any(_numbers(numbers, "").endswith(" ") for numbers in crowds):
        legend += CROWD_LEGEND.format(letter=noun[0].upper())
    legend_lines = broken(legend, inner, 12)
    height = sum(max(block.height for block in row) for row in rows)
    figure, axes = paper(width_in, height + PAD + LINE_H * len(legend_lines) + PAD)
    y = PAD
    for row in rows:
        for column, block in enumerate(row):
            block.draw(axes, PAD + column * (width + 2 * PAD), y)
        y += max(block.height for block in row)
    for line in legend_lines:
        write(axes, PAD, y, line)
        y += LINE_H
    return figure
