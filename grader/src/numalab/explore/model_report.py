"""Print modelled and measured bandwidths."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from numalab.explore.intervals import MedianInterval
from numalab.explore.model import Compared, ModelComparison, RatedRun
from numalab.machines.rates import LOCAL, PublishedRate, rate_name
from numalab.terminal import plain_table
from numalab.words import count

CLOSE = 0.15  # the relative error that the model may have on published runs
_RESOURCE_NAMES = {
    "core": "core", "l3": "L3", "controller": "controller", "link": "link",
}  # fmt: skip


def _gb_s(interval: MedianInterval) -> str:
    return f"{interval.median:.1f} [{interval.low:.1f}..{interval.high:.1f}]"


def _ratio(interval: MedianInterval) -> str:
    return f"{interval.median:.2f} [{interval.low:.2f}..{interval.high:.2f}]"


def _rate_row(rated: RatedRun, interval: MedianInterval) -> tuple[str, str]:
    name = rate_name(PublishedRate(rated.resource, interval.median, "", "", rated.distance))
    if rated.resource == "controller":
        name += f", all cores at distance {LOCAL}"
    return name, _gb_s(interval)


def verdict_words(compared: Compared) -> str:
    """Return what the interval of measured over modelled says: within CLOSE of 1, faster or slower
    than that, or not decided."""
    ratio = compared.measured_over_modelled
    if ratio.low > 1 + CLOSE:
        return "faster than modelled"
    if ratio.high < 1 - CLOSE:
        return "slower than modelled"
    if ratio.low >= 1 - CLOSE and ratio.high <= 1 + CLOSE:
        return f"within {CLOSE:.0%}".replace("%", " %")
    return "not decided"


def show(comparison: ModelComparison, console: Console) -> None:
    """Print the rates and the predicted placements; a sentence where no round is whole."""
    console.print(Text("Modelled beside measured: triad, GB/s", style="bold"))
    rates, compared = comparison.rates(), comparison.compared()
    if not compared:
        console.print("No round was measured whole, so there is nothing to compare.")
        return
    table = plain_table()
    table.add_column("rate")
    table.add_column("measured", justify="right")
    for rated, interval in rates:
        table.add_row(*_rate_row(rated, interval))
    console.print(table)
    console.print()
    table = plain_table()
    table.add_column("placement, predicted from these", ratio=1)
    for head in ("modelled", "measured", "measured over\nmodelled"):
        table.add_column(head, justify="right")
    for one in compared:
        limit = " and ".join(_RESOURCE_NAMES[of] for of in one.bottleneck)
        what = Text(f"{one.what} ({count(one.threads, 'thread')})\nbottleneck: {limit}")
        table.add_row(
            what, f"{one.modelled_gb_s.median:.1f}", f"{one.measured_gb_s.median:.1f}",
            f"{_ratio(one.measured_over_modelled)}\n{verdict_words(one)}",
        )  # fmt: skip
    console.print(table)
    coverage = f"{100 * compared[0].measured_over_modelled.coverage:.0f} %"
    console.print(
        f"\nMedians of {count(comparison.rounds, 'round')}; brackets hold them with {coverage}. "
        "Each prediction is made of rates of its own round, none of which is a placement above. "
        f"Arrays of {comparison.plan.array_bytes >> 20} MiB."
    )
    if not compared[0].measured_over_modelled.is_wide_enough:
        console.print("Too few rounds for an interval of 95 %; leave out --rounds, or take more.")
