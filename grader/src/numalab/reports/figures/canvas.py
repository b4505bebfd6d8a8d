"""What all figures share: their settings, and words on where something was seen."""

from __future__ import annotations

import functools
import textwrap
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import matplotlib
from matplotlib.figure import Figure

from numalab.evidence.record import Evidence
from numalab.palette import PLOT_SETTINGS

WIDTH_IN = 8.0  # at which the smallest letters have 12 points
DPI = 110
LEAST_POINTS = 12
TITLE_POINTS = 14
SETTINGS = PLOT_SETTINGS | {
    "font.size": 13,
    "axes.titlesize": TITLE_POINTS,
    "xtick.labelsize": LEAST_POINTS,
    "ytick.labelsize": LEAST_POINTS,
    "legend.fontsize": LEAST_POINTS,
    "text.parse_math": False,  # a name with dollar signs is a name
}
LETTER_IN = 0.6 / 72  # width of a letter of one point, on the wide side

Parameters = ParamSpec("Parameters")
Drawn = TypeVar("Drawn")


def styled(draw: Callable[Parameters, Drawn]) -> Callable[Parameters, Drawn]:
    """Draws under the settings, and leaves matplotlib's own as they were."""

    @functools.wraps(draw)
    def under_settings(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Drawn:
        with matplotlib.rc_context(SETTINGS):
            return draw(*args, **kwargs)

    return under_settings


def new_figure(width_in: float, height_in: float) -> Figure:
    """A figure of its own, without pyplot, needs no display."""
    return Figure(figsize=(width_in, height_in), dpi=DPI, layout="constrained")


def broken(text: str, width_in: float, points: float) -> list[str]:
    """The text in lines that fit the width."""
    return textwrap.wrap(text, max(12, int(width_in / (points * LETTER_IN)))) or [""]


def node_words(evidence: Evidence) -> str:
    """Where it was seen. A virtual node shows placement and no times, so it is always named."""
    name = evidence.node["name"]
    return f"virtual node {name}" if evidence.is_virtual else f"node {name}"
