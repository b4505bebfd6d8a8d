"""What messages between two virtual nodes carried over their sizes."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from numalab.explore.wording import bytes_words
from numalab.palette import BLUE, GREY, VERMILION
from numalab.reports.figures.canvas import WIDTH_IN, new_figure, styled
from numalab.words import short

# Of a frame of Ethernet with TCP and its time stamps (RFC 791, RFC 9293, RFC 7323).
FRAME_BYTES, PAYLOAD_BYTES = 1514, 1448


@styled
def crossing_figure(
    one_way_us: Mapping[int, float], rate_mbit_s: float, *, width_in: float = WIDTH_IN
) -> Figure:
    """one_way_us: by size in bytes; an empty message carries nothing and is left out. Beside them
    what the link carries, with headers and without."""
    figure = new_figure(width_in, 4.2)
    axes = figure.subplots()
    sizes = [size for size in one_way_us if size > 0]
    link_mb_s = rate_mbit_s / 8
    axes.axhline(
        link_mb_s, color=GREY, linestyle="--", label=f"the link, {short(link_mb_s, 4)} MB/s"
    )
    plateau_mb_s = link_mb_s * PAYLOAD_BYTES / FRAME_BYTES
    axes.axhline(
        plateau_mb_s, color=VERMILION, linestyle=":",
        label=f"{PAYLOAD_BYTES} of {FRAME_BYTES} bytes of it, {short(plateau_mb_s, 4)} MB/s",
    )  # fmt: skip
    axes.plot(sizes, [size / one_way_us[size] for size in sizes], marker="o", color=BLUE,
              label="seen, one way")  # fmt: skip
    axes.set_xscale("log", base=2)
    axes.set_ylim(0, link_mb_s * 1.08)
    axes.grid(axis="both")
    axes.xaxis.set_major_locator(FixedLocator([float(size) for size in sizes]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(
        FuncFormatter(lambda value, _: bytes_words(round(value)).replace(" bytes", " B"))
    )
    axes.tick_params(axis="x", rotation=45)
    axes.set_xlabel("message")
    axes.set_ylabel("MB/s")
    axes.set_title(f"A link of {rate_mbit_s:g} Mbit/s between two virtual nodes")
    figure.legend(loc="outside lower center", ncols=1)
    return figure
