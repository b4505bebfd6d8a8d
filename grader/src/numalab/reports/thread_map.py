"""Draws which threads sit on which PU, core, NUMA node and package; of two teams side by side,
or one below the other where there is no room. So are threads and ranks drawn under the files that
were handed in, and what a kernel said of its threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rich.text import Text

from numalab import words
from numalab.evidence.record import EvidenceByPlace, Json
from numalab.evidence.run_formats import Thread
from numalab.judging.verdict import Verdict
from numalab.labs.declaration import Lab
from numalab.reports.comparison import SeatView, located_views, seat_views

Style = Callable[[int], tuple[str, str]]  # a thread's character and colour
Named = Callable[[Sequence[int]], str]
NOBODY, CROWD = ".", "+"
TOLD_CROWDS = 2  # in one line


def _core(pus: Sequence[int], bound: dict[int, list[int]], style: Style) -> Text:
    """[0.]: a character for each PU of a core: the thread that is bound there; a thread that
    may use the whole core is followed by dashes."""
    text = Text("[")
    before: list[int] | None = None
    for pu in pus:
        threads = bound.get(pu)
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
    """The smallest unit that holds PUs of several cores, or of none."""
    if not pus:
        return "on no PU of this node"
    for key, name in (("numa_node", "NUMA node"), ("package", "package")):
        units = {of_pu[pu][key] for pu in pus}
        if len(units) == 1:
            return f"may run on any core of {name} {units.pop()}"
    return "may run on cores of several packages"


def _crowds(bound: dict[int, list[int]], named: Named) -> Iterator[str]:
    """Who the first of those marked as several are, and how many more marks there are."""
    crowds = list(dict.fromkeys(tuple(numbers) for numbers in bound.values() if numbers[1:]))
    if crowds:
        names = [named(numbers) for numbers in sorted(crowds)]
        more = [f"{len(names) - TOLD_CROWDS} more"] if len(names) > TOLD_CROWDS else []
        yield f"{CROWD} is {'; '.join([*names[:TOLD_CROWDS], *more])}"


def _add(numbers: list[int], number: int) -> None:
    if number not in numbers:
        numbers.append(number)


@dataclass(frozen=True)
class _Seats:
    """rows: one for each NUMA node, its label and the cores; none where no core holds a thread.
    below: who shares a PU, and the threads that no core holds."""

    rows: list[tuple[str, list[Text]]]
    below: list[Text]

    @property
    def columns(self) -> int:
        """Of the widest row, without its label."""
        return max(sum(map(len, cores)) for _, cores in self.rows)

    def lines(self, columns: int) -> list[Text]:
        lines = []
        for label, cores in self.rows:
            line = Text(label)
            for core in cores:
                if len(line) + len(core) > columns:
                    lines.append(line)
                    line = Text(" " * len(label))
                line.append_text(core)
            lines.append(line)
        return lines + self.below


def _seats(node: Json, threads: Sequence[Thread], style: Style, named: Named) -> _Seats:
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
    if not bound:
        places = []  # there would be nothing to see
    rows = []
    for package, numa_node in places:
        cores: dict[int, list[int]] = {}
        for entry in of_pu.values():
            if entry["numa_node"] == numa_node and entry["package"] == package:
                cores.setdefault(entry["core"], []).append(entry["pu"])
        drawn = [
            _core(sorted(cores[core]), bound, style)
            for core in sorted(cores, key=lambda core: min(cores[core]))
        ]
        rows.append((f"package {package}  node {numa_node:<2} ", drawn))
    told = [f"{named(numbers)} {reach}" for reach, numbers in loose.items()]
    return _Seats(rows, [Text(line, style="bold") for line in (*_crowds(bound, named), *told)])


def thread_map(
    node: Json,
    threads: Sequence[Thread],
    columns: int,
    style: Style,
    named: Named = words.threads,
) -> list[Text]:
    """One line per NUMA node, more where its cores don't fit; below, who shares a PU, and threads
    that no core holds. node: as a record has it. named: how they are told; threads of one number
    are drawn as one, such as those of an MPI rank."""
    return _seats(node, threads, style, named).lines(columns)


def thread_maps(
    node: Json,
    teams: Sequence[tuple[str, Sequence[Thread]]],
    columns: int,
    style: Style,
    named: Named = words.threads,
) -> list[Text]:
    """As thread_map, of two teams with what heads call them."""
    heads = [head for head, _ in teams]
    left, right = (_seats(node, threads, style, named) for _, threads in teams)
    if left.rows and right.rows:
        label = len(left.rows[0][0])
        apart = label + max(left.columns, len(heads[0])) + 2  # where the right one begins
        if apart + max(right.columns, len(heads[1])) <= columns:
            lines = [Text(f"{'':<{label}}{heads[0]:<{apart - label}}{heads[1]}")]
            for (name, ours), (_, theirs) in zip(left.rows, right.rows, strict=True):
                line = Text(name).append_text(Text().join(ours))
                line.append(" " * (apart - len(line)))
                lines.append(line.append_text(Text().join(theirs)))
            for head, seats in zip(heads, (left, right), strict=True):
                lines += [Text(f"{head}: ").append_text(line) for line in seats.below]
            return lines
    lines = []
    for head, seats in zip(heads, (left, right), strict=True):
        drawn = seats.lines(columns - 2)
        if len(drawn) == 1 and len(head) + 2 + len(drawn[0]) <= columns:
            lines.append(Text(f"{head}: ").append_text(drawn[0]))
        else:
            lines += [Text(f"{head}:"), *(Text("  ").append_text(line) for line in drawn)]
    return lines


def _picture(lab: Lab, sight: SeatView, columns: int, style: Style) -> list[Text]:
    named = words.ranks if lab.mpi else words.threads
    node = sight.evidence.node
    if sight.compared is None:
        return thread_map(node, sight.drawn, columns, style, named)
    teams = list(zip(sight.heads, (sight.drawn, sight.compared), strict=True))
    return thread_maps(node, teams, columns, style, named)


def placement_pictures(
    lab: Lab, verdict: Verdict, seen: EvidenceByPlace, columns: int, style: Style
) -> Iterator[tuple[str, bool, list[Text]]]:
    """What is drawn, whether the goal is reached, and the lines."""
    for sight in (*located_views(lab, verdict, seen), *seat_views(lab, seen)):
        yield sight.title, sight.misplaced == 0, _picture(lab, sight, columns, style)


def legend(lab: Lab) -> str:
    """What the characters of the pictures mean."""
    what = "rank" if lab.mpi else "thread"
    return f"[ ] a core, a character per PU: {what}; . nobody; + several; - as to its left"
