"""Draws who first wrote and who uses each page, with plain characters."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from rich.text import Text

from numalab import words
from numalab.evidence.kinds import PLACEMENT, TRACE
from numalab.evidence.record import Evidence
from numalab.evidence.touch import (
    UNBOUND,
    drawn_place_of,
    shown_trace,
    unbound_threads,
    written_from,
)
from numalab.palette import THREAD_COLOURS

DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
NOBODY, MIXED, SEVERAL, ANYWHERE = ".", "~", "*", "?"
WRITTEN, USED, HOMES = "first written by", "used by", "lives on"
OWNERS = ("yours", "solution")
MOST_NAMES = len("a, b, c")  # columns for names of arrays that look alike

Places = Sequence[frozenset[int]]  # of each page


def symbol(place: int) -> tuple[str, str]:
    """The character and the colour of a thread, a rank or a NUMA node."""
    if place == UNBOUND:
        return ANYWHERE, "bold"
    if place < 0:
        return NOBODY, "dim"
    digit = DIGITS[place] if place < len(DIGITS) else "+"
    return digit, THREAD_COLOURS[place % len(THREAD_COLOURS)]


def _strip(places: Places, columns: int) -> Text:
    """One character a stretch of pages: their place; MIXED where the pages differ, SEVERAL
    where a page has more than one."""
    text = Text()
    columns = min(columns, len(places))
    for column in range(columns):
        first = column * len(places) // columns
        last = (column + 1) * len(places) // columns
        found = frozenset().union(*places[first:last])
        if len(found) == 1:
            character, style = symbol(next(iter(found)))
            is_somewhere = character not in (NOBODY, ANYWHERE)
            text.append(character, style=f"{style} reverse" if is_somewhere else style)
        elif not found:
            text.append(NOBODY, style="dim")
        else:
            is_shared = any(len(page) > 1 for page in places[first:last])
            text.append(SEVERAL if is_shared else MIXED, style="bold")
    return text


def rows_by_array(evidence: Evidence, with_homes: bool) -> dict[str, list[tuple[str, Places]]]:
    """The rows of each array, by the tracing that judges worst; places are NUMA nodes, or with
    one of them threads."""
    seen = shown_trace(evidence)
    if seen is None:
        return {}
    worst, uses = seen
    show = drawn_place_of(evidence)
    residency = evidence.runs_of(PLACEMENT)[0].residency if evidence.runs_of(PLACEMENT) else None
    found: dict[str, list[tuple[str, Places]]] = {}
    for array in worst.arrays:
        found[array.name] = [
            (WRITTEN, [frozenset({show(write)}) for write in written_from(worst, array)]),
            (USED, [frozenset(map(show, page)) for page in uses[array.name]]),
        ]
        if with_homes and residency is not None and array.name in residency:
            homes = [frozenset({home}) for home in residency[array.name]]
            found[array.name].append((HOMES, homes))
    return found


def unbound_words(evidence: Evidence) -> str:
    """Who it is that wrote or used pages and sits on no NUMA node."""
    seen = shown_trace(evidence)
    threads = unbound_threads(*seen, evidence) if seen is not None else ()
    if not threads:
        return "a thread that is bound to no NUMA node"
    which = "which is" if len(threads) == 1 else "which are"
    return f"{words.threads(threads)}, {which} bound to no NUMA node"


def sampled(evidence: Evidence) -> list[str]:
    """A sentence, where not all pages were traced."""
    seen = shown_trace(evidence)
    samples = [array.checked_pages for array in seen[0].arrays] if seen is not None else []
    if all(sample.is_whole for sample in samples):
        return []
    looked_at, pages = samples[0].count, samples[0].pages
    return [f"{looked_at:,} of the {pages:,} pages of an array were traced, all over it."]


Rows = list[tuple[str, str, Text]]  # owner, label and strip


def _drawn(
    by_owner: Sequence[tuple[str, dict[str, list[tuple[str, Places]]]]], columns: int
) -> list[tuple[str, Rows]]:
    """Names and rows; arrays that follow each other and look alike are drawn once."""
    found: list[tuple[str, Rows]] = []
    for array in by_owner[0][1]:
        rows = [
            (owner if number == 0 else "", label, _strip(places, columns))
            for owner, of_arrays in by_owner
            for number, (label, places) in enumerate(of_arrays.get(array, []))
        ]
        names = f"{found[-1][0]}, {array}" if found else array
        if found and found[-1][1] == rows and len(names) <= MOST_NAMES:
            found[-1] = (names, rows)
        else:
            found.append((array, rows))
    return found


def touch_map_picture(
    evidence: Evidence,
    columns: int,
    where: str = "here",
    solution: Evidence | None = None,
    with_homes: bool = False,
) -> list[Text]:
    """The tracing that judges worst, drawn, and below each array the solution's of the same;
    nothing where there is none. with_homes: also the NUMA nodes on which the pages live."""
    arrays = rows_by_array(evidence, with_homes)
    if not arrays:
        return []
    by_node = evidence.numa_nodes > 1
    by_owner = [("", arrays)]
    if solution is not None:
        theirs = rows_by_array(solution, with_homes)
        by_owner = list(zip(OWNERS, (arrays, theirs), strict=True))
    pages = len(next(iter(arrays.values()))[0][1])
    owner_columns = 0 if solution is None else 1 + max(map(len, OWNERS))
    name_columns = 1 + max(MOST_NAMES, *map(len, arrays))
    before = name_columns + owner_columns + len(WRITTEN) + 1
    strip_columns = columns - before - 2
    per_symbol = round(pages / min(strip_columns, pages))
    meaning = "NUMA node of the thread" if by_node else "thread"
    if by_node and with_homes:
        meaning = "NUMA node"
    place = "" if where == "here" else f" on {where}"
    lines = [
        Text(
            f"Touch map{place}: {pages} pages per array, {per_symbol} per character; "
            f"digit: {meaning}",
            style="bold",
        )
    ]
    for names, rows in _drawn(by_owner, strip_columns):
        for number, (owner, label, strip) in enumerate(rows):
            head = f"{'' if number else names:<{name_columns}}{owner:<{owner_columns}}"
            lines.append(Text(f"{head}{label:<{len(WRITTEN) + 1}}").append_text(strip))
    shown = "".join(line.plain[before:] for line in lines[1:])
    places = "NUMA nodes" if by_node else "threads"
    characters = [
        text
        for character, text in (
            (NOBODY, f"{NOBODY} nobody"),
            (ANYWHERE, f"{ANYWHERE} {unbound_words(evidence)}"),
            (MIXED, f"{MIXED} pages of different {places}"),
            (SEVERAL, f"{SEVERAL} pages that several {places} use"),
        )
        if character in shown
    ]
    notes = [", ".join(characters)] if characters else []
    notes += sampled(evidence)
    if any(label == HOMES for of in by_owner for row in of[1].values() for label, _ in row):
        notes.append(
            f"{HOMES!r} was seen in another run than the rows above it: they differ where chance "
            "decides who writes first, or where the kernel has its threads write on other cores "
            "than the kit gives them (proc_bind)."
        )
    traces = [trace for trace in evidence.runs_of(TRACE) if trace.arrays]
    if any(trace.arrays != traces[0].arrays for trace in traces):
        notes.append(
            f"Traced {len(traces)} times, with different threads held back: {USED!r} shows the "
            f"users of all tracings, {WRITTEN!r} the tracing that fits worst."
        )
    for note in notes:
        lines += [Text(f"   {line}", style="dim") for line in textwrap.wrap(note, columns - 3)]
    return lines
