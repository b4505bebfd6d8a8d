"""Where memory is that a kernel has placed: a table of arrays by NUMA node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.text import Text

from numalab import words
from numalab.evidence.placed_pages import Placing
from numalab.labs.goals import LAB_PLACING, OWNERS
from numalab.reports.comparison import PlacingView, place_words

PARTS = "blocks"  # the array of which each thread has a part
LABEL_COLUMNS, CELL_COLUMNS = 28, 8
MOST_ROWS_OF_PARTS = 8


@dataclass(frozen=True)
class HomeRow:
    """shares: of its pages, by NUMA node; absent ones are on none."""

    label: str
    shares: dict[int, float]


def _row(label: str, homes: Iterable[int]) -> HomeRow:
    counts = Counter(homes)
    pages = counts.total()
    counts.pop(-1, None)
    return HomeRow(label, {node: count / pages for node, count in sorted(counts.items())})


def home_rows(run: Placing, owner: str = LAB_PLACING.owner) -> list[HomeRow]:
    """A row for each array; of the parts one for the threads of each NUMA node. owner: of OWNERS,
    whose each part is."""
    rows = []
    for array, homes in (run.homes or {}).items():
        if array != PARTS or not 1 < len(run.nodes) <= MOST_ROWS_OF_PARTS:
            rows.append(_row(array, homes))
            continue
        parts = [run.thread_of_page(page, len(homes)) for page in range(len(homes))]
        threads = len(run.thread_nodes)
        owners = [None if part is None else OWNERS[owner](part, threads) for part in parts]
        for node in run.nodes:
            of_node = [
                home
                for home, thread in zip(homes, owners, strict=True)
                if thread is not None and run.thread_nodes[thread] == node
            ]
            if of_node:
                rows.append(_row(f"{array} of node {node}'s threads", of_node))
    return rows


def drawn_nodes(rows: Sequence[HomeRow], run: Placing) -> list[int]:
    """Those with threads or with pages."""
    return sorted({node for row in rows for node in row.shares} | set(run.nodes))


def home_title(sight: PlacingView) -> str:
    place = "" if sight.where == "here" else f" on {place_words(sight.where)}"
    return f"Pages{place} by NUMA node"


def home_picture(sight: PlacingView, columns: int) -> list[Text]:
    """As a table, of as many NUMA nodes as there is room for."""
    run = sight.yours
    rows = home_rows(run, sight.owner)
    nodes = drawn_nodes(rows, run)
    room = max(1, (columns - LABEL_COLUMNS) // CELL_COLUMNS)
    lines = [Text(home_title(sight), style="bold")]
    heads = "".join(f"{f'node {node}':>{CELL_COLUMNS}}" for node in nodes[:room])
    lines.append(Text(f"{'':<{LABEL_COLUMNS}}{heads}"))
    for row in rows:
        cells = "".join(f"{_cell(row.shares.get(node)):>{CELL_COLUMNS}}" for node in nodes[:room])
        lines.append(Text(f"{row.label:<{LABEL_COLUMNS}}{cells}"))
    if nodes[room:]:
        lines.append(Text(f"and {words.count(len(nodes) - room, 'NUMA node')} more", style="dim"))
    return lines


def _cell(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f} %"


def home_words(run: Placing, owner: str = LAB_PLACING.owner) -> str:
    """The same, for those who hear a page."""
    said = []
    for row in home_rows(run, owner):
        where = [f"{_cell(share)} on node {node}" for node, share in row.shares.items()]
        said.append(f"{row.label}: {words.listed(where) if where else 'nowhere'}")
    return f"Pages by NUMA node. {'; '.join(said)}."
