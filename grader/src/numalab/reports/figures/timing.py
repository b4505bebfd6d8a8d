"""What a timing criterion rests on: its generations beside what is asked for, the interval of
their median, and how the evidence grew."""

from __future__ import annotations

from collections.abc import Callable

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from numalab.errors import NothingToDraw
from numalab.evidence.record import SOLUTION, SUBMISSION
from numalab.judging.timing_account import TimingAccount
from numalab.judging.timing_claims import CHAIN, EFFICIENCY
from numalab.judging.timing_rules import reference_name
from numalab.palette import BLUE, VERMILION
from numalab.reports.figures.canvas import WIDTH_IN, broken, new_figure, styled
from numalab.reports.rate_words import percent_words, rate_words
from numalab.reports.timing_plot import axis_for
from numalab.reports.timing_words import heading_words

INTERVAL_COLOUR = "#BBBBBB"


def _unit(account: TimingAccount) -> tuple[float, str]:
    """What a margin of 1 is on the scale, and what the scale is called."""
    if EFFICIENCY.judges(account.criterion):
        criterion = account.criterion
        return criterion.required_share or 1.0, f"speed / {reference_name(criterion)}'s speed"
    if account.side.is_floor:
        return account.criterion.at_least or 1.0, "time / the solution's time"
    if CHAIN.judges(account.criterion):
        return 1 / (account.criterion.at_most or 1.0), "speed / the solution's speed"
    return 1.0, "speed / the speed that is asked for"


def _draw_margins(axes: Axes, account: TimingAccount) -> None:
    unit, words = _unit(account)
    state, side = account.state, account.side
    scale = axis_for(side.margins, 40, unit)
    ends = (scale.low * unit / 1.06, scale.high * unit * 1.06)
    low, high = account.interval
    if low is not None or high is not None:
        first = ends[0] if low is None else low * unit
        last = ends[1] if high is None else high * unit
        axes.axvspan(first, last, color=INTERVAL_COLOUR, alpha=0.55,
                     label=f"median, {100 * state.thresholds.confidence:.0f} %")  # fmt: skip
    axes.axvline(unit, color="#000000", linewidth=2, label="asked for")
    groups: tuple[tuple[str, str, str, Callable[[float, bool], bool]], ...] = (
        (side.good, BLUE, "o", lambda margin, cut: margin > 1 and not cut),
        (side.bad, VERMILION, "X", lambda margin, cut: margin <= 1 and not cut),
        ("stopped: at most this fast", VERMILION, "<", lambda margin, cut: cut),
    )
    for label, colour, marker, belongs in groups:
        chosen = [
            (number, margin * unit)
            for number, (margin, cut) in enumerate(
                zip(side.margins, side.cut, strict=True), start=1
            )
            if belongs(margin, cut)
        ]
        if chosen:
            axes.plot([x for _, x in chosen], [y for y, _ in chosen], marker, color=colour,
                      label=label, linestyle="none")  # fmt: skip
    axes.set_xscale("log")
    axes.set_xlim(*ends)
    subs = (1.0, 2.0, 5.0) if ends[1] / ends[0] > 6 else (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)
    axes.xaxis.set_major_locator(LogLocator(subs=subs))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_ylim(len(side.margins) + 0.7, 0.3)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=8))
    axes.set_ylabel("generation")
    axes.set_xlabel(words)
    axes.grid(axis="x")


def _draw_growth(axes: Axes, account: TimingAccount) -> None:
    side = account.side
    numbers = range(1, len(side.decisions) + 1)
    levels = account.state.thresholds
    axes.plot([look.e_for for look in side.decisions], numbers, "o-", color=BLUE,
              label=f"for {side.good}")  # fmt: skip
    axes.plot([look.e_against for look in side.decisions], numbers, "X--", color=VERMILION,
              label=f"for {side.bad}")  # fmt: skip
    axes.axvline(levels.e_to_pass, color=BLUE, linewidth=1.5, linestyle="-")
    axes.axvline(levels.e_to_fail, color=VERMILION, linewidth=1.5, linestyle="--")
    axes.set_xscale("log")
    axes.set_xlim(right=3 * levels.e_to_fail)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    same = levels.e_to_pass == levels.e_to_fail
    decides = f"{levels.e_to_pass:g}" if same else f"{levels.e_to_pass:g} or {levels.e_to_fail:g}"
    axes.set_xlabel(f"evidence\n(decides at {decides})")
    axes.grid(axis="x", color="#DDDDDD")


def _rate_words(account: TimingAccount) -> list[str]:
    """The submission's rate with its interval, beside the solution's, and its share of
    lightspeed."""
    rates = account.rates
    if rates is None or not rates.has_rates:
        return []
    told = {rate.role: rate_words(rate.gb_per_s) for rate in rates.roles if rate.gb_per_s}
    beside = f"; the solution {told[SOLUTION]}" if SOLUTION in told else ""
    lines = [f"GB/s: {told[SUBMISSION]}{beside}"]
    own = rates.rate_of(SUBMISSION)
    if own is not None and own.reference_share is not None:
        lines.append(f"Percent of lightspeed: {percent_words(own.reference_share)}")
    return lines


@styled
def timing_figure(account: TimingAccount, *, width_in: float = WIDTH_IN) -> Figure:
    """Left each generation and the interval, right the evidence after each, up to the decision.
    Raises NothingToDraw."""
    state = account.state
    if not state.margins:
        raise NothingToDraw(
            f"{account.criterion.name}: no generation came to its end, so there are no times to "
            "draw"
        )
    if account.is_effect_lost:
        raise NothingToDraw(
            f"{account.criterion.name}: the node is too noisy now to show a speedup, so there is "
            "nothing to compare times with"
        )
    height = 2.2 + min(0.24 * max(len(state.margins), 5), 5.0) + 0.7
    figure = new_figure(width_in, height)
    told = [heading_words(account), *_rate_words(account)]
    lines = [line for text in told for line in broken(text, width_in, 15)]
    figure.suptitle("\n".join(lines), fontsize=14)
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
    _draw_margins(left, account)
    _draw_growth(right, account)
    handles, labels = left.get_legend_handles_labels()
    more, names = right.get_legend_handles_labels()
    figure.legend([*handles, *more], [*labels, *names], loc="outside lower center", ncols=3)
    return figure
