"""Colours and settings of pictures. Those that tell threads apart are Okabe and Ito's, which
colour-blind readers can tell apart, with grey for black."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

THREAD_COLOURS = (
    "#56B4E9", "#E69F00", "#009E73", "#F0E442", "#CC79A7", "#D55E00", "#0072B2", "#999999",
)  # fmt: skip
BLUE, VERMILION, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#666666"
NOBODY_COLOUR, SEVERAL_COLOUR, MIXED_COLOUR = "#FFFFFF", "#333333", "#6B4423"
UNBOUND_COLOUR = "#5B2A86"

# matplotlib's settings, legible when projected.
PLOT_SETTINGS: Any = {
    "font.size": 14,
    "axes.titlesize": 15,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.color": "#DDDDDD",
    "lines.linewidth": 2,
    "lines.markersize": 8,
    "errorbar.capsize": 4,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "svg.fonttype": "none",
}


def _rgb(colour: str) -> tuple[int, int, int]:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return red, green, blue


def thinned(colour: str, share: float) -> str:
    """Return a colour (#RRGGBB) thinned with white. share: of the colour, 0 (white) to 1."""
    return "#" + "".join(f"{round(255 - (255 - part) * share):02x}" for part in _rgb(colour))


def place_colour(number: int) -> str:
    """Return the colour of a thread, rank or NUMA node. From number 8 on the eight colours come
    again, paler, and from number 16 on paler still; from number 24 on they repeat."""
    again, index = divmod(number, len(THREAD_COLOURS))
    return thinned(THREAD_COLOURS[index], (1.0, 0.6, 0.35)[min(again, 2)])


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour by WCAG, 0 (black) to 1 (white)."""

    def linear(part: int) -> float:
        share = part / 255
        return share / 12.92 if share <= 0.04045 else float(((share + 0.055) / 1.055) ** 2.4)

    red, green, blue = map(linear, _rgb(colour))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def ink_on(colour: str) -> str:
    """Return black for writing on a light colour, or white for writing on a dark one."""
    return "#000000" if luminance(colour) > 0.18 else "#FFFFFF"


def keep_matplotlib_in(folder: Path) -> None:
    """Let matplotlib keep its own files, such as its list of fonts, in a folder, unless
    MPLCONFIGDIR is set. The folder is made in either case. Call this before matplotlib is imported.
    Raises OSError."""
    os.environ.setdefault("MPLCONFIGDIR", str(folder))
    folder.mkdir(parents=True, exist_ok=True)
