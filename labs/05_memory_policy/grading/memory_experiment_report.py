"""Tables and a plot of the experiments on local and remote memory, printed in a terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import median

from memory_experiment import (
    HEALED,
    POLICIES,
    SCAN_MS,
    Copies,
    Copy,
    Healing,
    JobRates,
    Products,
    VirtualPair,
    VirtualPairs,
)
from rich.console import Console
from rich.text import Text

from numalab import words
from numalab.explore.text_plot import Axis, PlotSeries, text_plot
from numalab.explore.wording import three_digits
from numalab.terminal import matrix_tables, plain_table

SINGLE_NUMA_NODE = (
    "This computer has one NUMA node: near is all there is, and interleaving over it changes "
    "nothing. ./numalab explore 05 --on hydra shows a machine with two."
)


# ---- pairs -------------------------------------------------------------------------------


def _share(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f} %"


def _rate(pair: VirtualPair) -> str:
    if pair.gb_s is None:
        return "-"
    rate = three_digits(pair.gb_s)
    return f"<= {rate}" if pair.is_at_most else rate


def _print_matrix(console: Console, title: str, cells: Mapping[tuple[int, int], str]) -> None:
    console.print()
    console.print(Text(title, "bold"))
    for table in matrix_tables(cells):
        console.print(table)


def show_virtual_pairs(pairs: VirtualPairs, console: Console) -> None:
    """Print a matrix of the shares of pages placed as requested, and one of modelled GB/s, or the
    sentence on why there are none."""

    def cells(cell: Callable[[VirtualPair], str]) -> dict[tuple[int, int], str]:
        return {(pair.threads_on, pair.memory_on): cell(pair) for pair in pairs.pairs}

    shares = cells(lambda pair: _share(pair.share))
    title = f"{pairs.machine}: threads (rows), memory (columns), pages that are there"
    _print_matrix(console, title, shares)
    if pairs.not_modelled:
        console.print(Text(pairs.not_modelled, "dim"))
        return
    title = (
        f"{pairs.machine}: modelled [GB/s], a thread on each core of the whole machine's NUMA node"
    )
    _print_matrix(console, title, cells(_rate))
    note = (
        "Modelled from published rates (common/machines), not measured: a virtual node has "
        "no times. <=: the link's rate is not known."
    )
    console.print(Text(note, "dim"))


# ---- copies ------------------------------------------------------------------------------


def show_copies(copies: Copies, is_timed: bool, console: Console) -> None:
    """Print a matrix of GB/s copied; without times (is_timed), one of the shares of pages placed as
    requested."""

    def cell(copy: Copy) -> str:
        if not is_timed:
            return _share(copy.share)
        return three_digits(median(copy.gb_s)) if copy.gb_s else "-"

    what = "memcpy [GB/s copied]" if is_timed else "memcpy, pages that are there"
    cells = {(copy.source, copy.destination): cell(copy) for copy in copies.copies}
    _print_matrix(console, f"{what}: source (rows), destination (columns)", cells)
    console.print(Text(f"By a thread on NUMA node {copies.thread_on}.", "dim"))


# ---- jobs --------------------------------------------------------------------------------


def show_jobs(jobs: Sequence[JobRates], console: Console) -> None:
    console.print()
    console.print(Text("At the same time: triad [GB/s], of each job or team", "bold"))
    table = plain_table()
    table.add_column("", no_wrap=True)
    for name in ("each", "all together"):
        table.add_column(name, justify="right", no_wrap=True)
    for rates in jobs:
        if not rates.gb_s:
            table.add_row(rates.kind.what, "-", "-")
            continue
        each = median(rates.gb_s)
        table.add_row(
            rates.kind.what, three_digits(each), three_digits(each * rates.kind.processes)
        )
    console.print(table)
    refused = sum(rates.refused for rates in jobs)
    if refused:
        note = f"{words.count(refused, 'round')} left out: memory came from another NUMA node."
        console.print(Text(note, "dim"))
    console.print(Text("Medians over rounds; lines that stores fetch count, too.", "dim"))


# ---- products ------------------------------------------------------------------------------


def show_products(products: Products | str, has_single_node: bool, console: Console) -> None:
    console.print()
    if isinstance(products, str):
        console.print(Text(products))
        return
    title = (
        f"Matrix product, {products.n} x {products.n}, {words.count(products.threads, 'thread')}"
    )
    console.print(Text(f"{title}, matrices written by one [GFLOP/s]", "bold"))
    table = plain_table()
    for name in ("policy", "median of processes"):
        table.add_column(name, no_wrap=True)
    for policy in POLICIES:
        table.add_row(policy, three_digits(median(products.gflops[policy])))
    console.print(table)
    ratio = products.ratio
    console.print(
        Text(
            f"Interleaved {ratio.median:.3f} times as fast ({ratio.low:.3f} to {ratio.high:.3f}, "
            f"{words.count(products.rounds, 'round')}, in turns)."
        )
    )
    if has_single_node:
        console.print(Text("Both policies are the same with one NUMA node.", "dim"))


# ---- healing -------------------------------------------------------------------------------


def show_healing(healing: Healing, console: Console) -> None:
    on, off = healing.balanced, healing.unbalanced
    console.print(
        Text(f"{healing.machine}: pages on the NUMA node of the thread that uses them [%]", "bold")
    )
    longest = max((on, off), key=lambda run: len(run.seconds))  # on, where both are as long
    labels = [f"{at:.1f}" for at in longest.seconds]
    series = [
        PlotSeries(mark, name, {at: 100 * share for at, share in enumerate(run.local)})
        for mark, name, run in (("o", "balancing on", on), ("x", "off", off))
    ]
    for line in text_plot(series, labels, {}, Axis("%")):
        console.print(Text(line))
    periods = ", ".join(f"{name} {on.scan_ms[name]}" for name in SCAN_MS)
    console.print(
        Text(f"Below: seconds. Scan periods, set for this: {periods}. By numa_maps.", "dim")
    )
    after = on.healed_after_s
    if on.is_healed and after is not None:
        change = f"With balancing {100 * HEALED:.0f} % and more are local after {after:.1f} s"
    else:
        change = f"With balancing {100 * on.local[-1]:.0f} % are local in the end"
    flat = "as many as at first" if off.is_flat else f"{100 * off.local[-1]:.0f} %, from"
    console.print(Text(f"{change}; without, {flat} {100 * off.local[0]:.0f} %."))
