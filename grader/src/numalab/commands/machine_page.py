"""What ./numalab machine show prints of a machine: picture, memory, distances, figures, notes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from numalab.errors import UserError
from numalab.machines.announced import own_and_other
from numalab.machines.machine import ARCHITECTURES
from numalab.machines.picture import distance_table, kinds_line, memory_words, summary, terminal
from numalab.machines.rates import rate_name, unknown_rates
from numalab.modelling.times import why_not
from numalab.pu_lists import format_pus
from numalab.terminal import stripped
from numalab.virtual import plan
from numalab.words import listed

if TYPE_CHECKING:
    from rich.console import Console

    from numalab.machines.machine import Figure, Machine


def _numbers(values: Sequence[float]) -> str:
    """All with the decimals of the longest, as a source prints them."""
    texts = [str(value) for value in values]
    decimals = max(len(text.partition(".")[2]) for text in texts)
    return ", ".join(f"{value:.{decimals}f}" for value in values)


def _figures(title: str, figures: Sequence[Figure]) -> list[object]:
    from rich.padding import Padding
    from rich.text import Text

    if not figures:
        return []
    parts: list[object] = [Text(title, style="bold")]
    for figure in figures:
        text = Text(f"{figure.what}: ")
        text.append(f"{_numbers(figure.values)} {figure.unit}", "bold")
        text.append(f" ({figure.source})", style="dim")
        parts.append(Padding(text, (0, 0, 0, 2)))
    return parts


def _rates(one: Machine, with_values: bool) -> list[object]:
    """Those that modelled times are made of, and what has none."""
    from rich.padding import Padding
    from rich.text import Text

    has_l3s = one.groups_per_node.most > 1
    unknown = unknown_rates(one.rates, one.spanned_distances, one.memory_kinds, has_l3s)
    parts: list[object] = [Text("Rates, for modelled times", style="bold")]
    for rate in one.rates:
        text = Text(rate_name(rate))
        if with_values:
            text.append(f": {rate.gb_s:g} GB/s", "bold")
        text.append(f" ({rate.source}{f': {rate.how}' if with_values else ''})", style="dim")
        parts.append(Padding(text, (0, 0, 0, 2)))
    if unknown:
        parts.append(Padding(Text(f"unknown: {listed(unknown)}"), (0, 0, 0, 2)))
    if why_not(one) is not None:
        why = "No time is modelled on it, since no controller's rate is known."
        parts.append(Padding(Text(why), (0, 0, 0, 2)))
    return parts


def _memory(one: Machine) -> str:
    if any(node.memory_kind or node.memory_side_cache_mb for node in one.numa_nodes):
        return _unlike_memory(one)
    sizes = [node.memory_mb for node in one.numa_nodes]
    if None in sizes and len(set(sizes)) == 1:
        return "Memory: not given in the source"
    listed = " ".join("-" if size is None else str(size) for size in sizes)
    if len(set(sizes)) == 1:
        listed = f"{sizes[0]}" + (" each" if len(sizes) > 1 else "")
    return f"Memory of NUMA nodes, MiB: {listed}"


def _unlike_memory(one: Machine) -> str:
    """A line for NUMA nodes with memory of one size and kind."""
    nodes: dict[str, list[int]] = {}
    for node in one.numa_nodes:
        nodes.setdefault(memory_words(node) or "not given in the source", []).append(node.number)
    if len(nodes) == 1:
        return f"Memory of each NUMA node: {next(iter(nodes))}"
    lines = [
        f"  NUMA node{'' if len(numbers) == 1 else 's'} {format_pus(numbers)}: {words}"
        for words, numbers in nodes.items()
    ]
    return "\n".join(["Memory:", *lines])


def _most_bootable(one: Machine) -> list[object]:
    """How much of it a virtual node can have, where that is not all."""
    from rich.text import Text

    try:
        most = plan.bootable(one)
    except UserError as error:
        return [Text(str(error))]
    if most is one:
        return []
    return [
        Text(
            f"At most {most.cores_per_node} of its cores per NUMA node can be booted: --cores "
            f"{most.cores_per_node.most} ({most.pus} PUs)"
        )
    ]


def show_machine(one: Machine, console: Console, with_published: bool) -> None:
    """Prints all that is known of it; with_published: also what labs let students predict."""
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    parts: list[object] = [
        Text(f"{one.name}: {one.title}", style="bold"),
        Text(f"Source: {one.source}"),
        Text(summary(one)),
    ]
    if kinds_line(one):
        parts.append(Text(f"Cores: {kinds_line(one)}"))
    if not one.is_native:
        parts.append(
            Text(
                f"Instruction set: {ARCHITECTURES[one.architecture]} ({one.architecture}); a "
                "virtual node has its topology on x86 processors."
            )
        )
    if one.scaled_from is not None:
        parts.append(
            Text(
                f"Scaled down from {one.scaled_from.cores_per_node} cores per NUMA node; "
                "published figures are the whole machine's."
            )
        )
    parts += ["", *terminal(one, console.width), "", Text(_memory(one))]
    if one.lacks_distances:
        parts.append(Text("Distances: not given in the source; virtual nodes use 10 and 20"))
    elif one.distances is not None:
        parts += [Text(line, no_wrap=True) for line in distance_table(one)]
    parts += _figures("Caches", one.caches)
    parts += _rates(one, with_published)
    published = (("Bandwidths", one.bandwidths), ("Latencies", one.latencies))
    for title, figures in published if with_published else ():
        parts += _figures(title, figures)
    for title, sentences in (("Notes", one.notes), ("As a virtual node", own_and_other(one))):
        if sentences:
            parts.append(Text(title, style="bold"))
            listed_ones = Table.grid(padding=(0, 1))
            for sentence in sentences:
                listed_ones.add_row("-", Text(sentence))
            parts.append(Padding(listed_ones, (0, 0, 0, 2)))
    parts += _most_bootable(one)
    kinds = [title.lower() for title, figures in published if figures]
    kinds += ["rates"] if one.rates else []
    if kinds and not with_published:
        parts.append(Text(f"Published {listed(kinds)}, for afterwards: --published"))
    with stripped(console):
        for part in parts:
            console.print(part)
