"""Draws what a timing criterion rests on: its generations beside what is asked for, and how
the evidence grew. 80 columns of plain characters."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rich.text import Text

from numalab.evidence.record import Evidence
from numalab.judging.timing_account import Side, TimingAccount
from numalab.judging.timing_claims import CLAIMS, SPEEDUP
from numalab.judging.timing_rules import reference_name
from numalab.labs.declaration import Lab
from numalab.reports.timing_words import (
    READING,
    Named,
    asked_words,
    evidence_words,
    heading_words,
    names,
    scale_words,
    sentences,
)
from numalab.words import ratio, short

ENOUGH, TOO_SLOW, AT_MOST = "o", "x", "<"
MOST_ROWS = 12  # generations that get a line each
MOST_HEIGHT = 8  # lines of a stack of dots
MOST_LOOKS = 7  # shown of how the evidence grew, where generations have no lines
LABEL_COLUMNS, EVIDENCE_COLUMNS = 14, 12
UNBROKEN = "\N{NO-BREAK SPACE}"  # while lines are broken
LEAST_SPAN = 1.25  # what the axis shows on each side of what is asked for, at least


# ---- the axis ------------------------------------------------------------------


@dataclass(frozen=True)
class Axis:
    """A logarithmic scale of margins. unit: what a margin of 1 is called on it."""

    low: float
    high: float
    columns: int
    unit: float

    def _plain(self, margin: float) -> int:
        share = math.log(margin / self.low) / math.log(self.high / self.low)
        return 1 + round(share * (self.columns - 3))  # with a column to spare at the ends

    @property
    def asked(self) -> int:
        """The column of what is asked for."""
        return self._plain(1.0)

    def column(self, margin: float) -> int:
        """Never that of what is asked for, so that the side is seen."""
        if margin > 1:
            return max(self._plain(margin), self.asked + 1)
        return min(self._plain(margin), self.asked - 1)

    def tick(self, shown: float) -> int | None:
        """The column of a value as it is shown, None: outside."""
        margin = shown / self.unit
        return self._plain(margin) if self.low <= margin <= self.high else None


def axis_for(margins: Sequence[float], columns: int, unit: float) -> Axis:
    """Holds all margins; each side of 1 gets a third of the other or more."""
    low = min(1 / LEAST_SPAN, *margins)
    high = max(LEAST_SPAN, *margins)
    return Axis(min(low, high ** (-1 / 3)), max(high, low ** (-1 / 3)), columns, unit)


def _round_values(axis: Axis) -> list[float]:
    """Values for ticks, as many as keep their distance."""
    low, high = axis.low * axis.unit, axis.high * axis.unit
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for digits in (
        [1 + 0.1 * k for k in range(90)],
        [1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 9],
        [1, 1.5, 2, 3, 5, 7],
        [1, 2, 5],
        [1],
    ):
        values = [d * 10.0**decade for decade in decades for d in digits]
        values = [v for v in values if low <= v <= high]
        at = [c for c in (axis.tick(v) for v in values) if c is not None]
        if all(b - a >= 7 for a, b in pairwise(at)):
            return values
    return []


def _labelled(columns: int, labels: Sequence[tuple[int, str]]) -> tuple[str, list[int]]:
    """Labels centred on their columns, the first ones first; what does not fit is left out.
    Returns the line, and the columns that got their label."""
    line = [" "] * columns
    placed = []
    for column, label in labels:
        start = max(0, min(column - len(label) // 2, columns - len(label)))
        end = start + len(label)
        if end <= columns and not "".join(line[max(0, start - 1) : end + 1]).strip():
            line[start:end] = label
            placed.append(column)
    return "".join(line).rstrip(), placed


def _axis_lines(axis: Axis, named: Sequence[tuple[float, str]]) -> list[str]:
    """The axis with its ticks, their values, and names of values as they are shown."""
    values = [(axis.unit, short(axis.unit))]
    values += [(value, short(value, 2)) for value in _round_values(axis)]
    rule = ["-"] * axis.columns
    lines = []
    for labels in (values, [(axis.unit, "asked for"), *named]):
        there = [(axis.tick(value), label) for value, label in labels]
        line, ticks = _labelled(axis.columns, [(c, label) for c, label in there if c is not None])
        lines.append(line)
        for column in ticks:
            rule[column] = "+"
    rule[axis.asked] = "|"
    return ["".join(rule), *lines]


# ---- generations ----------------------------------------------------------------


def _mark(margin: float, cut: bool) -> str:
    return AT_MOST if cut else ENOUGH if margin > 1 else TOO_SLOW


def _with_asked(axis: Axis, marks: Sequence[tuple[int, str]]) -> str:
    line = [" "] * axis.columns
    line[axis.asked] = "|"
    for column, mark in marks:
        line[column] = mark
    return "".join(line).rstrip()


def _sides(axis: Axis, side: Side) -> str:
    left = f"{side.bad} ".rjust(axis.asked)[-axis.asked :] if axis.asked else ""
    return f"{left}| {side.good}"


def _interval_line(axis: Axis, low: float | None, high: float | None) -> str:
    """[--|--]; an arrow where an end is not known."""
    line = [" "] * axis.columns
    first = 0 if low is None else axis.column(low)
    last = axis.columns - 1 if high is None else axis.column(high)
    if first == last:  # an end has to give way, and not to what is asked for
        first, last = (first, last + 1) if last > axis.asked else (first - 1, last)
    line[first : last + 1] = "-" * (last + 1 - first)
    line[first] = "<" if low is None else "["
    line[last] = ">" if high is None else "]"
    line[axis.asked] = "|"
    return "".join(line).rstrip()


def _stacked(axis: Axis, account: TimingAccount) -> Iterator[str]:
    """Lines of stacked marks, the highest first; then what a mark stands for, if not one."""
    stacks: dict[int, list[str]] = {}
    for margin, cut in zip(account.side.margins, account.side.cut, strict=True):
        stacks.setdefault(axis.column(margin), []).append(_mark(margin, cut))
    each = math.ceil(max(map(len, stacks.values())) / MOST_HEIGHT)
    heights = {column: math.ceil(len(marks) / each) for column, marks in stacks.items()}
    for level in range(max(heights.values()), 0, -1):
        yield _with_asked(
            axis,
            [(c, sorted(marks)[0]) for c, marks in stacks.items() if heights[c] >= level],
        )
    if each > 1:
        yield f"(a mark stands for up to {each} generations)"


def _is_against(account: TimingAccount) -> bool:
    """Which evidence is shown where there is room for one."""
    claim = account.side.claim
    return claim.e_against > claim.e_for


def _rows(axis: Axis, account: TimingAccount) -> Iterator[tuple[str, str, str]]:
    """Label, line and evidence of each generation."""
    state = account.state
    against = _is_against(account)
    level = state.thresholds.e_to_fail if against else state.thresholds.e_to_pass
    side = account.side
    for number, (margin, cut) in enumerate(zip(side.margins, side.cut, strict=True)):
        shown = ratio(margin * axis.unit)
        label = f"{number + 1:>5} {'<' if cut else ''}{shown}"
        evidence = ""
        if number < len(side.decisions):
            look = side.decisions[number]
            value = look.e_against if against else look.e_for
            evidence = evidence_words(value)
            if look.reached is not None:
                evidence += f" >= {level:,.0f}"
        yield label, _with_asked(axis, [(axis.column(margin), _mark(margin, cut))]), evidence


def _growth(account: TimingAccount) -> Iterator[str]:
    """The evidence after some of the generations, where they have no lines."""
    side = account.side
    looks = side.decisions
    if not looks:
        return
    steps = min(MOST_LOOKS, len(looks))
    picked = sorted({round((i + 1) * len(looks) / steps) for i in range(steps)} | {1})
    shown = [looks[number - 1] for number in picked]
    levels = account.state.thresholds
    rows: tuple[tuple[str, list[str], str], ...] = (
        ("generation", [str(number) for number in picked], "decides at"),
        ("Evidence for:", [], ""),
        (f"  {side.good}", [evidence_words(x.e_for) for x in shown], f"{levels.e_to_pass:,.0f}"),
        (f"  {side.bad}", [evidence_words(x.e_against) for x in shown], f"{levels.e_to_fail:,.0f}"),
    )
    for label, cells, level in rows:
        numbers = "".join(f"{cell:>6}" for cell in cells)
        yield f"{label:<{LABEL_COLUMNS}}{numbers}  {level}".rstrip()


# ---- a criterion ------------------------------------------------------------------


def _legend(account: TimingAccount) -> str:
    there = {
        _mark(margin, cut)
        for margin, cut in zip(account.side.margins, account.side.cut, strict=True)
    }
    meanings = (
        (ENOUGH, account.side.good),
        (TOO_SLOW, account.side.bad),
        (AT_MOST, "stopped, so at most this fast"),
    )
    return ", ".join(f"{mark}{UNBROKEN}{meaning}" for mark, meaning in meanings if mark in there)


def _picture(account: TimingAccount, named: Named, columns: int) -> Iterator[str]:
    unit, _ = scale_words(account)
    state = account.state
    assert account.required is not None
    in_rows = len(account.side.margins) <= MOST_ROWS
    width = columns - LABEL_COLUMNS - (EVIDENCE_COLUMNS + 1 if in_rows else 0)
    axis = axis_for(account.side.margins, max(width, 24), unit)
    reference = [(1.0, reference_name(account.criterion).removeprefix("the "))]
    if SPEEDUP.judges(account.criterion):
        slow = named.slow.removeprefix("the ")
        asked = account.required.median
        reference = [((account.required.effect or 1.0) / asked, "solution"), (1 / asked, slow)]

    def line(label: str, text: str, evidence: str = "") -> str:
        return f"{label:<{LABEL_COLUMNS}}{text:<{axis.columns}} {evidence}".rstrip()

    head = f" gen. {_quantity(account).lower()}" if in_rows else ""
    yield line(head, _sides(axis, account.side), "evidence" if in_rows else "")
    if in_rows:
        yield from (line(*row) for row in _rows(axis, account))
    else:
        yield from (line("", text) for text in _stacked(axis, account))
    low, high = account.interval
    if low is not None or high is not None:
        yield line(
            f"median, {100 * state.thresholds.confidence:.0f} %", _interval_line(axis, low, high)
        )
    yield from (line("", text) for text in _axis_lines(axis, reference))
    if not in_rows:
        yield from _growth(account)


def _quantity(account: TimingAccount) -> str:
    return "Time" if account.side.is_floor else "Speed"


def _account_lines(
    lab: Lab, account: TimingAccount, evidence: Evidence, columns: int
) -> Iterator[Text]:
    named = names(lab, account, evidence)

    def wrapped(text: str, indent: str = "  ") -> Iterator[Text]:
        for part in textwrap.wrap(text, columns, initial_indent=indent, subsequent_indent=indent):
            yield Text(part.replace(UNBROKEN, " "))

    yield Text(heading_words(account), style="bold")
    yield from wrapped(asked_words(account, named))
    unit, of = scale_words(account)
    if account.state.margins and not account.is_effect_lost:
        yield from wrapped(
            f"{_quantity(account)}: {of}, on a logarithmic scale; {_legend(account)}."
        )
        if len(account.state.margins) <= MOST_ROWS:
            side = account.side.bad if _is_against(account) else account.side.good
            yield from wrapped(f"Evidence: that {named.graded} is {side}.")
        yield from map(Text, _picture(account, named, columns))
    for sentence in sentences(account, named, evidence, unit, of):
        yield from wrapped(sentence)


def timing_lines(
    lab: Lab, accounts: Sequence[TimingAccount], evidence: Evidence, columns: int
) -> list[Text]:
    """All there is to say of a kernel's timing criteria."""
    if not accounts:
        return [Text("Times: no criterion was timed here, so there is none to explain.")]
    lines = [Text("How the times were decided", style="bold")]
    lines += map(Text, textwrap.wrap(READING, columns))
    for account in accounts:
        lines.append(Text())
        lines += _account_lines(lab, account, evidence, columns)
    there = {account.criterion.name for account in accounts}
    missing = [c.name for c in lab.criteria if c.rule in CLAIMS and c.name not in there]
    if missing:
        lines += [Text(), Text(f"Not timed, for the reason above: {', '.join(missing)}.")]
    return lines
