"""The distribution of values, as a small picture and in words. The picture is SVG that is written
directly, since a class's pages have many of them, and its colours follow the page's. Pure
functions."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from markupsafe import Markup

from numalab.words import count, short

BINS = 16
TEXT = Markup('<text x="{}" y="{}" text-anchor="{}">{}</text>')
_WIDTH, _HEIGHT, _BASE = 320, 78, 58  # px: width, height, and how far down the base line is
_ENDS = 0.02  # share of the values at each end that does not set the scale


def _scale(ordered: Sequence[float], bound: float | None) -> tuple[float, float]:
    """Return the ends of the scale, which leaves out a share _ENDS of the values at each end and
    includes the bound. ordered: one or more values, ascending."""
    cut = int(_ENDS * len(ordered))
    inner = ordered[cut : len(ordered) - cut]
    low, high = inner[0], inner[-1]
    if bound is not None:
        low, high = min(low, bound), max(high, bound)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def bins(values: Sequence[float], low: float, high: float) -> list[int]:
    """Count the values in each of BINS equal bins from low to high; values outside count in the
    outermost bins."""
    found = [0] * BINS
    for value in values:
        at = int(BINS * (value - low) / (high - low))
        found[min(max(at, 0), BINS - 1)] += 1
    return found


def values_words(values: Sequence[float], unit: str) -> str:
    """Describe a distribution in a sentence. values: one or more."""
    told = f"{count(len(values), 'value')}, median {short(statistics.median(values))}"
    if len(values) >= 4:
        quarters = statistics.quantiles(values, n=4, method="inclusive")
        told += f", the middle half from {short(quarters[0])} to {short(quarters[2])}"
    told += f", all from {short(min(values))} to {short(max(values))}"
    return f"{told}{' ' + unit if unit else ''}."


def histogram(values: Sequence[float], bound: float | None, name: str, title: str) -> Markup:
    """Draw a distribution as SVG.

    Args:
        values: one or more.
        bound: what is required, drawn as a line; None: nothing.
        name: the id of the picture's title, unique on the page.
    """
    low, high = _scale(sorted(values), bound)
    found = bins(values, low, high)
    most, step = max(found), _WIDTH / BINS
    parts = [
        Markup(
            '<svg class="values" viewBox="0 0 {} {}" role="img" aria-labelledby="{}">'
            '<title id="{}">{}</title>'
        ).format(_WIDTH, _HEIGHT, name, name, title)
    ]
    for at, many in enumerate(found):
        if many:
            tall = max(2.0, (_BASE - 4) * many / most)
            parts.append(
                Markup('<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>').format(
                    at * step + 1, _BASE - tall, step - 2, tall
                )
            )
    parts.append(Markup('<path d="M0 {}H{}"/>').format(_BASE, _WIDTH))
    if bound is not None:
        x = min(max(_WIDTH * (bound - low) / (high - low), 1), _WIDTH - 1)
        parts.append(Markup('<path class="bound" d="M{:.1f} 0V{}"/>').format(x, _BASE + 4))
    # What lies outside the scale is in the outermost bins, and said there.
    left = ("≤ " if min(values) < low else "") + short(low)
    right = ("≥ " if max(values) > high else "") + short(high)
    parts.append(TEXT.format(0, _HEIGHT - 4, "start", left))
    parts.append(TEXT.format(_WIDTH, _HEIGHT - 4, "end", right))
    return Markup("").join([*parts, Markup("</svg>")])
