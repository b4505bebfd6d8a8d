"""Verdicts for a person at a terminal: 80 columns, in colour where there is a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from numalab import words
from numalab.evidence.format import Build
from numalab.evidence.record import EvidenceByPlace
from numalab.grading.explanation import sentences
from numalab.grading.graded import GradedKernel
from numalab.judging.verdict import CriterionVerdict, Verdict
from numalab.labs.declaration import LANGUAGE_NAMES, VARIANT_NAMES, Lab
from numalab.reports import prediction_report
from numalab.reports.answer_picture import answer_picture
from numalab.reports.comparison import (
    answer_views,
    group_views,
    line_views,
    placing_views,
    touch_views,
    work_views,
)
from numalab.reports.group_table import group_picture
from numalab.reports.home_table import home_picture
from numalab.reports.latency_report import latency_lines
from numalab.reports.line_picture import line_picture
from numalab.reports.memory_table import memory_table
from numalab.reports.modelled_picture import modelled_pictures
from numalab.reports.rate_words import rate_lines, rate_tables
from numalab.reports.thread_map import legend, placement_pictures
from numalab.reports.touch_map import symbol, touch_map_picture
from numalab.reports.verdict_words import (
    STATUS_STYLE,
    bound_words,
    compiler_title,
    criterion_rows,
    earlier_words,
    is_predicted,
    next_step,
    points_notes,
    printed_words,
)
from numalab.reports.work_picture import work_picture
from numalab.terminal import kept_together, stripped
from numalab.untrusted.listing import listing

LONG_REASON = 60  # characters from which on a reason is told once and then referred to


def _criterion_table(criteria: Sequence[CriterionVerdict]) -> Table:
    table = Table.grid(padding=(0, 1))
    table.add_column(width=5)
    table.add_column(width=18)
    rows = list(criterion_rows(criteria))
    table.add_column(width=max([4, *(len(row.points) for row in rows)]), justify="right")
    table.add_column(ratio=1, overflow="fold")
    shared: dict[str, str] = {}  # a reason told once
    for row in rows:
        criterion = row.criterion
        word, style = STATUS_STYLE[criterion.status]
        why = criterion.why
        if why in shared and len(why) > LONG_REASON:
            why = f"The same as for {shared[why]}."
        else:
            shared[why] = criterion.name
        bound = bound_words(criterion)
        place = "" if criterion.where == "here" else f"On {criterion.where}: "
        head = kept_together(place + (f"{bound}. " if bound else ""))
        text = Text(head, style="bold" if bound else "")
        text.append(kept_together(why), style="not bold")
        text.append(row.where_too, style="not bold")
        table.add_row(Text(word, style=style), criterion.name, row.points, text)
    return table


def _heading(verdict: Verdict, unchanged: bool, is_untimed: bool, columns: int) -> Text:
    """columns: that there are for a line; what is not decided stands in one of its own where it
    is too long for the first."""
    style = STATUS_STYLE[verdict.status][1]
    text = Text(f"{verdict.lab}  {LANGUAGE_NAMES[verdict.language]}  ", style="bold")
    text.append(VARIANT_NAMES[verdict.variant])
    if verdict.variant == "handout" and not unchanged:
        text.append(", edited")
    text.append(f"  {verdict.points} of {verdict.earnable_points} points", style=style)
    notes = points_notes(verdict, is_untimed)
    if notes:
        is_long = len(text) + len(notes) + 3 > columns
        text.append("\n  " if is_long else " ")
        text.append(f"({notes})", style="dim")
    return text


def _show_compiler(console: Console, build: Build) -> None:
    if not build.output:
        return
    console.print(Padding(Text(f"{compiler_title(build)}:", style="bold"), (1, 0, 0, 2)))
    for line in listing(build.output, console.width - 4):
        console.print(Text(f"    {line}"), soft_wrap=True)


def _pictures(
    lab: Lab, verdict: Verdict, seen: EvidenceByPlace, columns: int
) -> Iterator[list[Text]]:
    """Of pages and of work; the solution's beside yours where a criterion failed."""
    for touched in touch_views(lab, verdict, seen):
        yield touch_map_picture(
            touched.yours, columns, touched.where, touched.solution, touched.with_homes
        )
    for placed in placing_views(lab, verdict, seen):
        yield home_picture(placed, columns)
    for grouped in group_views(lab, verdict, seen):
        yield group_picture(grouped)
    for lined in line_views(lab, verdict, seen):
        yield line_picture(lined, columns)
    for answered in answer_views(lab, verdict, seen):
        yield answer_picture(answered, columns)
    for worked in work_views(lab, verdict, seen):
        yield work_picture(worked, columns)


def _show_placements(console: Console, lab: Lab, verdict: Verdict, seen: EvidenceByPlace) -> None:
    pictures = placement_pictures(lab, verdict, seen, console.width - 4, symbol)
    is_explained = False
    for what, is_reached, lines in pictures:
        console.print()
        if not is_explained and any("[" in line.plain for line in lines):
            console.print(Padding(Text(legend(lab), style="dim"), (0, 0, 0, 2)))
            is_explained = True
        word, style = STATUS_STYLE["pass" if is_reached else "fail"]
        title = Text(f"{what}: ", style="bold")
        title.append(word, style=style)
        console.print(Padding(title, (0, 0, 0, 2)))
        for line in lines:
            console.print(Padding(line, (0, 0, 0, 4)))


def _show_predictions(console: Console, kernel: GradedKernel) -> None:
    found = kernel.predictions
    if found is None:
        none = prediction_report.none_words(kernel)
        if none:
            console.print(Padding(Text(none), (1, 0, 0, 2)))
        return
    console.print(Padding(Text(prediction_report.title(found), style="bold"), (1, 0, 0, 2)))
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(ratio=1, overflow="fold")
    for row in prediction_report.rows(found):
        name, predicted, measured, score, why = row
        table.add_row(name, score, Text(f"{predicted}; measured: {measured}. {why}"))
    console.print(Padding(table, (0, 0, 0, 2)))
    if found.why:
        console.print(Padding(Text(found.why), (0, 0, 0, 2)))


def show_verdict(console: Console, kernel: GradedKernel, explained: Sequence[Text] = ()) -> None:
    """The whole report of one graded kernel. explained: how the times were decided, if that is
    asked for."""
    lab, verdict, seen, evidence = (
        kernel.lab,
        kernel.verdict,
        kernel.evidence_by_place,
        kernel.local_evidence,
    )
    with stripped(console):
        console.print()
        is_untimed = evidence.timing_refused is not None
        console.print(_heading(verdict, kernel.unchanged, is_untimed, console.width))
        console.print(Padding(_criterion_table(verdict.criteria), (0, 0, 0, 2)))
        _show_predictions(console, kernel)
        earlier = earlier_words(kernel)
        if earlier:
            console.print(Padding(Text(earlier, style="dim"), (1, 0, 0, 2)))
        _show_compiler(console, evidence.build)
        printed = printed_words(evidence)
        if printed:
            console.print(Padding(Text(printed), (1, 0, 0, 2)))
        for picture in _pictures(lab, verdict, seen, console.width - 2):
            console.print()
            for line in picture:
                console.print(Padding(line, (0, 0, 0, 2)))
        _show_placements(console, lab, verdict, seen)
        for picture in modelled_pictures(kernel.modelled, console.width - 2):
            console.print()
            for line in picture:
                console.print(Padding(line, (0, 0, 0, 2)))
        lines = latency_lines(evidence, is_predicted(lab, verdict), kernel.published)
        for number, row in enumerate(lines):
            if number == 0:
                console.print()
            console.print(Padding(Text(row, style="" if number else "bold"), (0, 0, 0, 2)))
        table = memory_table(evidence)
        if table is not None:
            console.print()
            console.print(Padding(table, (0, 0, 0, 2)))
        for found in rate_tables(lab, kernel.accounts, evidence):
            console.print()
            for part in rate_lines(found):
                console.print(Padding(part, (0, 0, 0, 2)))
        for number, line in enumerate(explained):
            console.print(Padding(line, (0 if number else 1, 0, 0, 2)))
        if kernel.taken:
            told = f"{'. '.join(kernel.taken)}."
            console.print(Padding(Text(told), (1, 0, 0, 2)))
        if kernel.explanation:
            told = words.count(sentences(kernel.explanation), "sentence")
            kept = f"Your explanation is kept with this grading ({told})."
            console.print(Padding(Text(kept, style="dim"), (1, 0, 0, 2)))
        step = next_step(kernel)
        if step:
            console.print()
            console.print(Padding(Text(step, style="bold"), (0, 0, 0, 2)))


def show_run(console: Console, title: str, verdict: Verdict, build: Build) -> None:
    """What was seen of a kernel that is not graded: no points count, nothing comes next."""
    with stripped(console):
        console.print(Text(title, style="bold"))
        console.print(Padding(_criterion_table(verdict.criteria), (0, 0, 0, 2)))
        _show_compiler(console, build)


def show_summary(console: Console, verdicts: Sequence[Verdict]) -> None:
    """One line each, when there are several."""
    if len(verdicts) < 2:
        return
    console.print()
    table = Table.grid(padding=(0, 2))
    for verdict in verdicts:
        word, style = STATUS_STYLE[verdict.status]
        table.add_row(
            Text(word, style=style),
            verdict.lab,
            LANGUAGE_NAMES[verdict.language],
            VARIANT_NAMES[verdict.variant],
            f"{verdict.points} of {verdict.earnable_points} points",
        )
    console.print(table)
