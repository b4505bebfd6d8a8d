"""The figures of a report's pictures, as SVG. matplotlib is imported when the first is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from numalab.evidence.record import Evidence
from numalab.judging.timing_account import TimingAccount
from numalab.machines.machine import Figure as PublishedFigure
from numalab.modelling.speedups import ModelledSpeedup
from numalab.reports.comparison import (
    AnswerView,
    LineView,
    SeatView,
    TouchView,
    WorkView,
    place_words,
)
from numalab.reports.roofline import Roof
from numalab.reports.touch_map import OWNERS, rows_by_array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# In inches. The narrow ones fit a telephone 360 pixels wide.
NARROW_IN, WIDE_IN = 4.8, 7.0


def alike_arrays(sight: TouchView) -> list[list[str]]:
    """The arrays whose rows are all the same, together."""
    owners = [owner for owner in (sight.yours, sight.solution) if owner is not None]
    rows = [rows_by_array(owner, sight.with_homes) for owner in owners]
    groups: list[list[str]] = []
    for array in rows[0]:
        for group in groups:
            if all(of.get(array) == of.get(group[0]) for of in rows):
                group.append(array)
                break
        else:
            groups.append([array])
    return groups


def touch(sight: TouchView) -> Figure:
    """One array of those that look alike."""
    from numalab.reports.figures import touch_figure

    seen = [("", sight.yours)]
    if sight.solution is not None:
        seen = list(zip(OWNERS, (sight.yours, sight.solution), strict=True))
    return touch_figure(
        seen,
        arrays=[group[0] for group in alike_arrays(sight)],
        with_homes=sight.with_homes,
        width_in=NARROW_IN,
    )


def homes(yours: Evidence, owner: str) -> Figure:
    """owner: whose each part is, of labs/goals.py."""
    from numalab.reports.figures import homes_figure

    return homes_figure([("", yours)], owner=owner, width_in=WIDE_IN)


def groups(yours: Evidence) -> Figure:
    from numalab.reports.figures import groups_figure

    return groups_figure([("", yours)], width_in=WIDE_IN)


def lines(sight: LineView, yours: Evidence) -> Figure:
    """As of work."""
    from numalab.reports.figures import lines_figure

    seen = [(OWNERS[0], yours)]
    if sight.solution is not None:
        seen.append((OWNERS[1], yours.control_evidence()))
    return lines_figure(seen, part=sight.part, width_in=WIDE_IN if seen[1:] else NARROW_IN)


def answers(sight: AnswerView, yours: Evidence) -> Figure:
    """yours: of the place."""
    from numalab.reports.figures import answers_figure

    return answers_figure([("", yours)], part=sight.part, width_in=WIDE_IN)


def work(sight: WorkView, yours: Evidence) -> Figure:
    """yours: of the place, with the solution's runs where it is compared."""
    from numalab.reports.figures import work_figure

    seen = [(OWNERS[0], yours)]
    if sight.solution is not None:
        seen.append((OWNERS[1], yours.control_evidence()))
    return work_figure(seen, parts=[sight.part], width_in=WIDE_IN if seen[1:] else NARROW_IN)


def modelled(comparison: ModelledSpeedup) -> Figure:
    from numalab.reports.figures import modelled_figure

    return modelled_figure(comparison, width_in=NARROW_IN)


def seats(sight: SeatView, is_ranks: bool) -> Figure:
    """Side by side where there is room."""
    from numalab.reports.figures import Sitting, thread_figure

    teams = [("", sight.drawn)]
    if sight.compared is not None:
        teams = list(zip(sight.heads, (sight.drawn, sight.compared), strict=True))
    noun = "rank" if is_ranks else "thread"
    place = place_words(sight.where)
    return thread_figure(
        [
            Sitting(
                f"{head}: {place}" if head else place, sight.evidence.node, tuple(team), noun, {}
            )
            for head, team in teams
        ],
        width_in=NARROW_IN,
    )


def timing(account: TimingAccount) -> Figure:
    from numalab.reports.figures import timing_figure

    return timing_figure(account, width_in=WIDE_IN)


def roofline(roof: Roof) -> Figure:
    from numalab.reports.figures import roofline_figure

    return roofline_figure(roof, width_in=WIDE_IN)


def latency(evidence: Evidence, published: Sequence[PublishedFigure], is_predicted: bool) -> Figure:
    from numalab.reports.figures import latency_figure

    return latency_figure(evidence, published, is_predicted=is_predicted)


def memory(evidence: Evidence) -> Figure:
    from numalab.reports.figures import memory_figure

    return memory_figure(evidence, width_in=WIDE_IN)
