"""What the slides' figures share: where their numbers come from, paper that is as large as it is
shown, and files that say what they show.

Every figure names its source below itself: a publication by its short name, a record of this
kit by where it was taken, or that it is a sketch.
"""

from __future__ import annotations

import io
import re
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib
from matplotlib.figure import Figure

from numalab.evidence.read_record import load
from numalab.evidence.record import Evidence, Json
from numalab.files import write_whole
from numalab.machines.machine import Machine
from numalab.machines.machine_file import load_machine
from numalab.palette import PLOT_SETTINGS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = ROOT / "slides" / "evidence"
WIDTH_PX, HEIGHT_PX = 1160, 515  # what a slide of 1280 x 720 has below its title, less a source
DPI = 96  # of CSS: a figure's inch is 96 px on the slide
LEAST_POINTS = 15  # 20 px
SOURCE_PX = 34  # the strip below a figure
SOURCE_LETTERS = 100  # that fit there
SETTINGS: Any = PLOT_SETTINGS | {
    "font.size": 16,
    "axes.titlesize": 17,
    "xtick.labelsize": LEAST_POINTS,
    "ytick.labelsize": LEAST_POINTS,
    "legend.fontsize": LEAST_POINTS,
    # Letters as shapes: the figure looks the same wherever it is shown.
    "svg.fonttype": "path",
}


BUSY = 0.25  # load a core from which on times were taken beside other programs


def busy(node: Json) -> str:
    """That a node was, so that nobody takes its times for those of a quiet one."""
    load = node.get("load_1min") or 0.0
    return f", busy (load {load:.0f})" if load > BUSY * node["cores"] else ""


@dataclass(frozen=True)
class Recorded:
    """evidence: a record; is_own: an instructor's, and not the one that comes with the kit."""

    evidence: Evidence
    is_own: bool

    @property
    def words(self) -> str:
        """Where it was taken. A virtual node shows placement, never times."""
        node = self.evidence.node
        recorder = "" if self.is_own else ", with this kit"
        if self.evidence.is_virtual:
            cores = node["cores"] // node["numa_nodes"]
            return f"Recorded on the virtual {node['name']}, {cores} cores per NUMA node{recorder}"
        nodes = f"{node['numa_nodes']} NUMA node{'s' if node['numa_nodes'] > 1 else ''}"
        return f"Recorded on {node['name']}, {node['cores']} cores, {nodes}{busy(node)}{recorder}"


@dataclass(frozen=True)
class Sources:
    """results: of an instructor's own gradings, laid out as build/gnu/results, or None. used: the
    records that figures took, and whose they were."""

    results: Path | None = None
    used: dict[Path, bool] = field(default_factory=dict)

    def machine(self, name: str) -> Machine:
        return load_machine(ROOT / "common" / "machines" / f"{name}.toml")

    @cached_property
    def published(self) -> dict[str, Any]:
        path = Path(__file__).with_name("published.toml")
        return tomllib.loads(path.read_text(encoding="utf-8"))

    def path(self, relative: str) -> tuple[Path, bool]:
        """A record's file, and whether it is the instructor's own."""
        own = None if self.results is None else self.results / relative
        is_own = own is not None and own.is_file()
        self.used[Path(relative)] = is_own
        return (own if own is not None and is_own else SHIPPED / relative), is_own

    def record(self, lab: str, variant: str, machine: str | None = None) -> Recorded:
        """The C part's. Raises NumalabError where it is no valid record."""
        where = f"on_{machine}/" if machine else ""
        path, is_own = self.path(f"{lab}/c/{variant}/{where}evidence.json")
        return Recorded(load(path), is_own)


@dataclass(frozen=True)
class Drawn:
    """source: the line below the figure."""

    figure: Figure
    source: str


Draw = Callable[[Sources], Drawn]


@contextmanager
def style() -> Iterator[None]:
    with matplotlib.rc_context(SETTINGS):
        yield


def paper(height_px: int = 480, width_px: int = WIDTH_PX) -> Figure:
    """For axes that lay themselves out."""
    return Figure(figsize=(width_px / DPI, height_px / DPI), dpi=DPI, layout="constrained")


def sketch(height_px: int = 480) -> tuple[Figure, Axes]:
    """For drawing by hand: axes in pixels of the slide, from the upper left corner."""
    figure = Figure(figsize=(WIDTH_PX / DPI, height_px / DPI), dpi=DPI)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_xlim(0, WIDTH_PX)
    axes.set_ylim(height_px, 0)
    axes.axis("off")
    return figure, axes


def _svg_of(figure: Figure, salt: str) -> str:
    """Without the lines before the picture. salt: figures that become one file have parts with
    names of their own."""
    text = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": salt}):
        figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue().partition("<svg ")[2]


def _strip(words: str) -> Figure:
    figure = Figure(figsize=(WIDTH_PX / DPI, SOURCE_PX / DPI), dpi=DPI)
    figure.text(0.005, 0.25, words, fontsize=LEAST_POINTS, color="#444444", va="bottom")
    return figure


def picture(name: str, drawn: Drawn) -> str:
    """The figure above its source, as wide as a slide, or as high where it is higher than wide.
    Raises ValueError where the source is longer than a line."""
    if len(drawn.source) > SOURCE_LETTERS:
        raise ValueError(f"{name}: the source has more than {SOURCE_LETTERS} letters")
    width_in, height_in = drawn.figure.get_size_inches()
    scale = min(WIDTH_PX / width_in, HEIGHT_PX / height_in)
    width, height = round(scale * width_in), round(scale * height_in)
    parts = []
    for salt, figure, (x, y, w, h) in (
        ("figure", drawn.figure, ((WIDTH_PX - width) // 2, 0, width, height)),
        ("source", _strip(drawn.source), (0, height, WIDTH_PX, SOURCE_PX)),
    ):
        inner = _svg_of(figure, salt)
        size = re.compile(r'width="[\d.]+pt" height="[\d.]+pt"')
        place = f'x="{x}" y="{y}" width="{w}" height="{h}"'
        parts.append("<svg " + size.sub(place, inner, count=1))
    total = height + SOURCE_PX
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'width="{WIDTH_PX}" height="{total}" viewBox="0 0 {WIDTH_PX} {total}" role="img">\n'
        f"<title>{escape(name)}</title>\n<desc>{escape(drawn.source)}</desc>\n"
    )
    return head + "".join(parts) + "</svg>\n"


def save(name: str, drawn: Drawn, path: Path) -> None:
    """Raises OSError."""
    write_whole(path, picture(name, drawn))
