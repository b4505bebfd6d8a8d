"""Draws which threads sit on which PU, core, NUMA node and package."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.text import Text

from numalab import explain
from numalab.record import Json, Thread

Style = Callable[[int], tuple[str, str]]  # a thread's character and colour
NOBODY, CROWD = ".", "+"


def _core(pus: Sequence[int], bound: dict[int, list[int]], style: Style) -> Text:
    """[0.]: a character for each PU of a core: the thread that is bound there; a thread that
    may use the whole core is followed by dashes."""
    text = Text("[")
    before: list[int] = []
    for pu in pus:
        threads = bound.get(pu, [])
        if not threads:
            text.append(NOBODY, style="dim")
        elif threads == before:
            text.append("-", style=style(threads[0])[1])
        elif len(threads) == 1:
            symbol, colour = style(threads[0])
            text.append(symbol, style=f"{colour} reverse")
        else:
            text.append(CROWD, style="bold")
        before = threads
    text.append("]")
    return text


def _reach(pus: Sequence[int], of_pu: dict[int, Json]) -> str:
    """The smallest unit that holds PUs of several cores."""
    for key, name in (("numa_node", "NUMA node"), ("package", "package")):
        units = {of_pu[pu][key] for pu in pus}
        if len(units) == 1:
            return f"any core of {name} {units.pop()}"
    return "cores of several packages"


def _add(numbers: list[int], number: int) -> None:
    if number not in numbers:
        numbers.append(number)


def thread_map(
    node: Json,
    threads: Sequence[Thread],
    columns: int,
    style: Style,
    named: Callable[[Sequence[int]], str] = explain.threads,
) -> list[Text]:
    """One line a NUMA node, more where its cores don't fit; below, threads that no core
    holds. node: as a record has it. named: how they are told; threads of one number are drawn
    as one, such as those of an MPI rank."""
    of_pu = {entry["pu"]: entry for entry in node["pu_list"]}
    bound: dict[int, list[int]] = {}
    loose: dict[str, list[int]] = {}
    for thread in threads:
        pus = [pu for pu in thread.allowed_pus if pu in of_pu]
        if len({of_pu[pu]["core"] for pu in pus}) == 1:
            for pu in pus:
                _add(bound.setdefault(pu, []), thread.number)
        else:
            _add(loose.setdefault(_reach(pus, of_pu), []), thread.number)
    places = sorted({(entry["package"], entry["numa_node"]) for entry in of_pu.values()})
    lines = []
    if not bound:
        places = []  # there would be nothing to see
    for package, numa_node in places:
        label = f"package {package}  node {numa_node:<2} "
        cores: dict[int, list[int]] = {}
        for entry in of_pu.values():
            if entry["numa_node"] == numa_node and entry["package"] == package:
                cores.setdefault(entry["core"], []).append(entry["pu"])
        line = Text(label)
        for core in sorted(cores, key=lambda core: min(cores[core])):
            drawn = _core(sorted(cores[core]), bound, style)
            if len(line) + len(drawn) > columns:
                lines.append(line)
                line = Text(" " * len(label))
            line.append_text(drawn)
        lines.append(line)
    for reach, numbers in loose.items():
        lines.append(Text(f"{named(numbers)} may run on {reach}", style="bold"))
    return lines
