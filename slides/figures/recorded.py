"""What this kit recorded: touch maps, threads and ranks on virtual nodes, and times on a real
one. Never both in one figure: a virtual node has no times.

Records lie in slides/evidence; those of an instructor's own gradings take their place.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from figures.common import LEAST_POINTS, Draw, Drawn, Recorded, Sources, busy, paper
from figures.explorations import read_found
from numalab.errors import NumalabError
from numalab.evidence.kinds import BINDING, TIMED_ROUND
from numalab.evidence.record import SOLUTION, SUBMISSION, TimedRound
from numalab.explore.experiment import Measurements
from numalab.explore.explore_plot import exploration_figure, pages_figure
from numalab.palette import BLUE, GREY, VERMILION
from numalab.reports.figures import (
    latency_figure,
    memory_figure,
    sittings,
    thread_figure,
    touch_figure,
    work_figure,
)

FIRST_TOUCH, AFFINITY = "01_first_touch", "02_affinity"
SCHEDULING, HUGE_PAGES = "03_scheduling", "04_huge_pages"
LATENCY, HYBRID = "06_message_latency", "07_hybrid"
HANDED_OUT = "as handed out"
CLOSE_FILE = "omp_close.env"


def _need_real(recorded: Recorded) -> Recorded:
    """Raises NumalabError where times would come from a virtual node."""
    if recorded.evidence.is_virtual:
        raise NumalabError("times of a virtual node mean nothing, and are not drawn")
    return recorded


# ---- where pages are ---------------------------------------------------------------------


def _touch(machine: str) -> Draw:
    def draw(sources: Sources) -> Drawn:
        found = sources.record(FIRST_TOUCH, "handout", machine)
        return Drawn(touch_figure([(HANDED_OUT, found.evidence)], width_in=9.5), found.words)

    return draw


# ---- where threads and ranks are -----------------------------------------------------------


def cores_close_hydra(sources: Sources) -> Drawn:
    """Under both runtimes: OMP_PLACES=cores, OMP_PROC_BIND=close."""
    found = sources.record(AFFINITY, "submission", "hydra")
    variables = "OMP_PLACES=cores, OMP_PROC_BIND=close"
    runtimes = [run.runtime for run in found.evidence.runs_of(BINDING) if run.file == CLOSE_FILE]
    seen = [
        replace(one, label=f"{variables}: {runtime}")
        for one, runtime in zip(
            sittings("", found.evidence, CLOSE_FILE), runtimes, strict=True
        )
    ]  # fmt: skip
    return Drawn(thread_figure(seen, width_in=7.5), found.words)


def _ranks(lab: str, file: str, width_in: float) -> Draw:
    def draw(sources: Sources) -> Drawn:
        found = sources.record(lab, "handout", "nebula")
        seen = list(sittings(HANDED_OUT, found.evidence, file))
        return Drawn(thread_figure(seen, width_in=width_in), found.words)

    return draw


# ---- how work is shared, memory taken -------------------------------------------------------


def scheduling_work(sources: Sources) -> Drawn:
    found = _need_real(sources.record(SCHEDULING, "handout"))
    figure = work_figure([(HANDED_OUT, found.evidence)], parts=("pair_energy",), width_in=8.0)
    return Drawn(figure, found.words)


def huge_pages_table(sources: Sources) -> Drawn:
    found = _need_real(sources.record(HUGE_PAGES, "handout"))
    return Drawn(memory_figure(found.evidence, width_in=9.0), found.words)


# ---- times ----------------------------------------------------------------------------------


def _times(
    generations: Sequence[TimedRound], roles: Sequence[tuple[str, str]], what: str
) -> Sequence[tuple[str, list[float]]]:
    """For each role with a name the best time of each generation in ms. Raises NumalabError."""
    named = []
    for role, name in roles:
        best = [1e3 * min(g.elapsed_s[role]) for g in generations if g.elapsed_s.get(role)]
        if best:
            named.append((name, best))
    if not named:
        raise NumalabError(f"the record has no times of {what}; grade without --here-only or --on")
    return named


def _dots(named: Sequence[tuple[str, list[float]]], words: str, source: str) -> Drawn:
    figure = paper(430)
    axes = figure.subplots()
    most = max(len(times) for _, times in named)
    looks = ((VERMILION, "s"), (BLUE, "o"), (GREY, "^"))
    for (name, times), (colour, marker) in zip(named, looks, strict=False):
        numbers = range(1, len(times) + 1)
        axes.plot(numbers, times, linestyle="none", marker=marker, color=colour, markersize=11,
                  label=name)  # fmt: skip
    axes.set_xticks(range(1, most + 1))
    axes.set_xlim(0.5, most + 0.5)
    axes.set_ylim(0, 1.25 * max(max(times) for _, times in named))
    axes.set_xlabel("generation (fresh processes that took turns)")
    axes.set_ylabel(words)
    axes.legend(loc="upper right", ncols=3, fontsize=LEAST_POINTS)
    return Drawn(figure, source)


def first_touch_times(sources: Sources) -> Drawn:
    found = _need_real(sources.record(FIRST_TOUCH, "handout"))
    generations = [g for g in found.evidence.runs_of(TIMED_ROUND) if g.ok]
    roles = ((SUBMISSION, HANDED_OUT), (SOLUTION, "the solution"))
    named = _times(generations, roles, "compute")
    return _dots(named, "best time of compute [ms]", found.words)


def launch_times(sources: Sources) -> Drawn:
    found = _need_real(sources.record(HYBRID, "handout"))
    slow = "compared/newcomer.toml"
    generations = [g for g in found.evidence.runs_of(TIMED_ROUND) if g.ok and g.slow == slow]
    roles = ((SUBMISSION, HANDED_OUT), (SOLUTION, "a launch that fits"))
    named = _times(generations, roles, "launches")
    return _dots(named, "best time of an iteration [ms]", found.words)


def latency_curve(sources: Sources) -> Drawn:
    """Without the size that students predict."""
    found = _need_real(sources.record(LATENCY, "handout"))
    return Drawn(latency_figure(found.evidence, width_in=10.0), found.words)


def _found(sources: Sources, lab: str) -> tuple[Measurements, str]:
    """An exploration, and whether the kit recorded it, in words. Raises NumalabError."""
    path, is_own = sources.path(f"explore/{lab}.json")
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, json.JSONDecodeError) as error:
        raise NumalabError(f"{path} can't be read: {error}") from error
    return read_found(data), "" if is_own else ", with this kit"


def _exploration(lab: str) -> Draw:
    def draw(sources: Sources) -> Drawn:
        found, recorder = _found(sources, lab)
        figure = exploration_figure(found, (12.08, 5.2))
        node = found.node
        words = f"Recorded on {node['name']}, {node['cores']} cores{busy(node)}{recorder}"
        return Drawn(figure, words)

    return draw


def stream_pages_nhm(sources: Sources) -> Drawn:
    """Of a virtual machine: it has no times."""
    found, recorder = _found(sources, AFFINITY)
    if found.virtual is None or not found.virtual.runs:  # one's own record may have none
        found, recorder = _found(replace(sources, results=None, used={}), AFFINITY)
    figure = pages_figure(found, (12.08, 4.6))
    if figure is None or found.virtual is None:
        raise NumalabError(
            "the exploration of lab 02 has no pages of a virtual machine; this node's own stand "
            "below its rates"
        )
    machine = found.virtual.machine
    cores = machine["cores_per_numa_node"]
    words = f"Recorded on the virtual {found.virtual.name}, {cores} cores per NUMA node{recorder}"
    return Drawn(figure, words)


FIGURES: dict[str, Draw] = {
    "cores_close_hydra": cores_close_hydra,
    "first_touch_times": first_touch_times,
    "huge_pages_table": huge_pages_table,
    "latency_curve": latency_curve,
    "launch_times": launch_times,
    "ranks_newcomer_nebula": _ranks(HYBRID, "launch.toml", 7.0),
    "ranks_unbound_nebula": _ranks(LATENCY, "near.toml", 7.0),
    "schedules_repeated": _exploration(SCHEDULING),
    "scheduling_work": scheduling_work,
    "stream_pages_nhm": stream_pages_nhm,
    "stream_rates": _exploration(AFFINITY),
    "table_sizes": _exploration(HUGE_PAGES),
    "touch_hydra": _touch("hydra"),
    "touch_nebula": _touch("nebula"),
}
