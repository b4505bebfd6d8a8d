"""Verdicts for a person at a terminal: 80 columns, in colour where there is a terminal."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from numalab import words
from numalab.evidence.record import (
    HANDOUT,
    SOLUTION,
    SUBMISSION,
    Build,
    Evidence,
    Generation,
    KernelTable,
    Seen,
)
from numalab.grading.graded import GradedKernel
from numalab.judging import explain
from numalab.judging.timing_rules import best_s
from numalab.judging.verdict import CriterionVerdict, Verdict, over_all_places
from numalab.labs.declaration import KERNEL_FILES, LANGUAGE_NAMES, VARIANT_NAMES, Lab
from numalab.labs.hints import NONE_SEEN, Levels, hint_command, is_exhausted
from numalab.labs.rules import RULES_OF_RUN
from numalab.reports.comparison import touch_sights, work_sights
from numalab.reports.latency_report import latency_lines
from numalab.reports.launch_times import launch_times
from numalab.reports.placement_pictures import legend, placement_pictures
from numalab.reports.touch_map import symbol, touch_map_picture
from numalab.reports.work_picture import work_picture
from numalab.terminal import stripped

LONG_REASON = 60  # characters from which on a reason is told once and then referred to
NOISY = 1.25  # third over first quartile of times that a table shows as one
STATUS_STYLE = {
    "pass": ("pass", "bold green"),
    "fail": ("FAIL", "bold red"),
    "not_gradable": ("n/a", "cyan"),
    "inconclusive": ("open", "yellow"),
    "error": ("error", "magenta"),
}


# ---- memory --------------------------------------------------------------------


def _with_medians(table: KernelTable, generations: Sequence[Generation], role: str) -> KernelTable:
    timed = [g for g in generations if g.ok and g.elapsed_s.get(role)]
    if not timed:
        return table
    return replace(
        table,
        initialize_s=statistics.median(g.roles[role].initialize_s for g in timed),
        compute_s=statistics.median(best_s(g, role) for g in timed),
    )


def memory_columns(evidence: Evidence) -> list[tuple[str, KernelTable]]:
    """The large table on small pages, on huge pages and as it was handed in, each with its
    name; times are medians over the generations where there are any."""
    whose = {"submission": "yours", "solution": "the solution", "handout": "the handout"}
    columns = [
        (name, _with_medians(runs[-1].tables[-1], evidence.generations, role))
        for name, role, runs in (
            ("4 KiB pages", HANDOUT, evidence.handout_memories),
            ("2 MiB pages", SOLUTION, evidence.control_memories),
            (whose[evidence.variant], SUBMISSION, evidence.memories),
        )
        if runs and runs[-1].outcome.ok
    ]
    return columns if evidence.memories else []


MEMORY_ROWS: tuple[tuple[str, Callable[[KernelTable], str]], ...] = (
    ("on huge pages", lambda one: words.percent(one.huge_bytes / one.bytes)),
    ("page faults while it is zeroed", lambda one: f"{one.initialize_page_faults:,}"),
    ("zeroing it", lambda one: f"{1e3 * one.initialize_s:.0f} ms"),
    ("random updates", lambda one: f"{1e3 * one.compute_s:.0f} ms"),
)


def _are_noisy(generations: Sequence[Generation]) -> bool:
    """Whether the times of a role differ by more than NOISY between the quartiles."""
    for role in (HANDOUT, SOLUTION, SUBMISSION):
        times = [best_s(g, role) for g in generations if g.ok and g.elapsed_s.get(role)]
        if len(times) > 1:
            low, _, high = statistics.quantiles(times, n=4, method="inclusive")
            if high > NOISY * low:
                return True
    return False


def memory_caption(evidence: Evidence, columns: Sequence[tuple[str, KernelTable]]) -> str:
    size = words.amount(columns[-1][1].bytes)
    if not evidence.generations:
        return f"A table of {size}, one run"
    return f"A table of {size}{', times noisy' if _are_noisy(evidence.generations) else ''}"


def memory_table(evidence: Evidence) -> Table | None:
    """What the large table costs."""
    columns = memory_columns(evidence)
    if not columns:
        return None
    table = Table.grid(padding=(0, 3))
    table.add_row(
        Text(memory_caption(evidence, columns), style="bold"),
        *(Text(name, style="bold", justify="right") for name, _ in columns),
    )
    for label, value in MEMORY_ROWS:
        table.add_row(f"  {label}", *(Text(value(one), justify="right") for _, one in columns))
    return table


# ---- a verdict -----------------------------------------------------------------


def bound_words(criterion: CriterionVerdict) -> str:
    """Value and threshold of what failed; what passed says enough in its sentence."""
    if criterion.value is None or criterion.status not in ("fail", "inconclusive"):
        return ""
    if criterion.kind != "evidence":
        return ""  # the sentence names both
    text = f"{criterion.value:.0f}" if criterion.value.is_integer() else f"{criterion.value:.2f}"
    unit = criterion.unit
    if not unit:
        return ""  # there is nothing to count
    if criterion.value == 1:
        for noun in ("thread", "answer", "rank", "fault"):
            unit = unit.replace(f"{noun}s", noun)
    if criterion.at_least is not None:
        return f"{text}, asked for: {criterion.at_least:g} or more"
    if criterion.at_most == 0:
        return f"{text} {unit}"  # that none should be goes without saying
    return f"{text} {unit}, allowed: {criterion.at_most:g} or less"


def _alike(criteria: Sequence[CriterionVerdict]) -> Iterator[list[CriterionVerdict]]:
    """Criteria in order; those of several virtual nodes that got the same status together, and
    with this node's where the reason is the same."""
    here = {(c.name, c.status, c.why, c.warnings) for c in criteria if c.where == "here"}
    groups: dict[tuple[str, str, bool], list[CriterionVerdict]] = {}
    for criterion in criteria:
        told = (criterion.name, criterion.status, criterion.why, criterion.warnings)
        is_as_here = told in here
        if criterion.where != "here" and is_as_here and _holds_anywhere(criterion):
            continue
        key = (criterion.name, criterion.status, is_as_here)
        groups.setdefault(key, []).append(criterion)
    yield from groups.values()


def _holds_anywhere(criterion: CriterionVerdict) -> bool:
    """Whether it fails by what no place changes: a file that is refused, a kernel that can't be
    built."""
    return criterion.status == "fail" and criterion.value is None


@dataclass(frozen=True)
class CriterionRow:
    """A criterion with the other places at which it got the same status. points: such as 1/2,
    empty where another row counts them."""

    criterion: CriterionVerdict
    elsewhere: tuple[str, ...]
    points: str

    @property
    def where_too(self) -> str:
        """A sentence with a space before it, or nothing."""
        if not self.elsewhere:
            return ""
        verb = {"pass": "Passes", "fail": "Fails"}.get(self.criterion.status, "The same")
        return f" {verb} on {words.listed(self.elsewhere)}, too."


def criterion_rows(criteria: Sequence[CriterionVerdict]) -> Iterator[CriterionRow]:
    """All criteria in order, each with its reason as it is printed: what runtimes said is at its
    end, and only once where it is the same."""
    counted: set[str] = set()
    told: set[str] = set()
    for first, *others in _alike(criteria):
        criterion = replace(
            first, why=first.why + explain.warning_words(first.warnings, told), warnings=()
        )
        told.update(warned.words for warned in first.warnings)
        status = over_all_places([c for c in criteria if c.name == criterion.name])
        points = (
            f"{criterion.points}/{criterion.max_points}"
            if criterion.status in ("pass", "fail")
            else f"-/{criterion.max_points}"
        )
        if criterion.name in counted or criterion.status != status:
            points = ""  # graded in several places, it counts once
        else:
            counted.add(criterion.name)
        yield CriterionRow(criterion, tuple(one.where for one in others), points)


def _criterion_table(criteria: Sequence[CriterionVerdict]) -> Table:
    table = Table.grid(padding=(0, 1))
    table.add_column(width=5)
    table.add_column(width=18)
    table.add_column(width=4, justify="right")
    table.add_column(ratio=1, overflow="fold")
    shared: dict[str, str] = {}  # a reason told once
    for row in criterion_rows(criteria):
        criterion = row.criterion
        word, style = STATUS_STYLE[criterion.status]
        why = criterion.why
        if why in shared and len(why) > LONG_REASON:
            why = f"The same as for {shared[why]}."
        else:
            shared[why] = criterion.name
        bound = bound_words(criterion)
        place = "" if criterion.where == "here" else f"On {criterion.where}: "
        text = Text(place + (f"{bound}. " if bound else ""), style="bold" if bound else "")
        text.append(why, style="not bold")
        text.append(row.where_too, style="not bold")
        table.add_row(Text(word, style=style), criterion.name, row.points, text)
    return table


def points_notes(verdict: Verdict, is_untimed: bool) -> str:
    """What of the points is not among those that could be earned; may be empty."""
    still_open = verdict.points_of("inconclusive")
    notes = []
    if still_open:
        notes.append(f"{still_open} open")
    if verdict.ungraded_points > still_open:
        why_not = "not graded" if is_untimed else "not gradable here"
        notes.append(f"{verdict.ungraded_points - still_open} {why_not}")
    return ", ".join(notes)


def _heading(verdict: Verdict, unchanged: bool, is_untimed: bool) -> Text:
    gradable = verdict.max_points - verdict.ungraded_points
    style = STATUS_STYLE[verdict.status][1]
    text = Text(f"{verdict.lab}  {LANGUAGE_NAMES[verdict.language]}  ", style="bold")
    text.append(VARIANT_NAMES[verdict.variant])
    if verdict.variant == "handout" and not unchanged:
        text.append(", edited")
    text.append(f"  {verdict.points} of {gradable} points", style=style)
    notes = points_notes(verdict, is_untimed)
    if notes:
        text.append(f" ({notes})", style="dim")
    return text


def to_mend(lab: Lab, verdict: Verdict, hints_seen: Levels = NONE_SEEN) -> str:
    """The first thing to mend, how many there are, and where help is, a line each."""
    failed = [name for name, status in verdict.statuses.items() if status == "fail"]
    of_kernel = [c.name for c in verdict.failed() if c.kind == "correctness"]
    first = (of_kernel or failed)[0]
    told = f"Next: mend {first}"
    if of_kernel:
        told = f"Next: mend {KERNEL_FILES[verdict.language]}, {first} fails"
    if failed[1:]:
        told += f" (the first of {len(failed)} criteria that fail)"
    lines = [f"{told}."]
    array = verdict.wrong_arrays.get(first, "")
    hint = hint_command(lab, first, array, hints_seen)
    if is_exhausted(lab, first, hints_seen, array):
        lines.append(f"All hints on it are read; the solution is in solutions/{lab.name}/.")
    elif hint:
        lines.append(f"A hint: {hint}")
    return "\n".join([*lines, f"The text: labs/{lab.name}/README.md"])


def grade_again(command: str) -> str:
    """What to do about times that stayed open."""
    return f"{command}\n(it goes on where this stopped)"


def next_step(kernel: GradedKernel) -> str | None:
    """What a student does now, in words."""
    verdict, evidence = kernel.verdict, kernel.here
    if verdict.variant != "submission":
        return None
    failed = verdict.failed()
    text = f"labs/{verdict.lab}/README.md"
    file = KERNEL_FILES[verdict.language]
    if kernel.unchanged and failed:
        kinds = sorted({one.file.rpartition(".")[2] for one in evidence.handed_in})
        more = f" and the .{' and .'.join(kinds)} files" if kinds else ""
        return f"This is still the handout. Read {text}, edit {file}{more}, then grade again."
    if evidence.build.status != "ok":
        return f"Next: mend {file} so that it can be built, then grade again."
    if failed:
        return to_mend(kernel.lab, verdict, kernel.hints_seen)
    if any(criterion.status == "inconclusive" for criterion in verdict.criteria):
        return f"Next: {kernel.again}"
    if verdict.status == "error":
        return None
    if evidence.timing_refused and any(c.kind == "timing" for c in verdict.criteria):
        return "Right as far as was looked at: no times were taken."
    return (
        f"Done: all that this node can show. solutions/{verdict.lab}/README.md says why it works."
    )


def _show_compiler(console: Console, build: Build) -> None:
    if not build.output:
        return
    title = "The compiler warns:" if build.status == "ok" else "The compiler says:"
    console.print(Padding(Text(title, style="bold"), (1, 0, 0, 2)))
    for line in build.output.splitlines():
        # As the compiler wrote it: its marks stand below what they mean.
        console.print(Text(f"    {line}"), soft_wrap=True)


def printed_words(evidence: Evidence) -> str | None:
    """A kernel that prints is told so: it costs time, and nobody sees it."""
    outcomes = [check.outcome for check in evidence.checks]
    outcomes += [trace.outcome for trace in evidence.traces]
    outcomes += [placement.outcome for placement in evidence.placements]
    for outcome in outcomes:
        first = explain.printed_lines(outcome)
        if outcome.ok and first:
            return (
                f"Your kernel prints. The first line: {first[0][:100]}\n"
                "Take it out before you look at times."
            )
    return None


def _pictures(lab: Lab, verdict: Verdict, seen: Seen, columns: int) -> Iterator[list[Text]]:
    """Of pages and of work; the solution's beside yours where a criterion failed."""
    for touched in touch_sights(lab, verdict, seen):
        yield touch_map_picture(
            touched.yours, columns, touched.where, touched.solution, touched.with_homes
        )
    for worked in work_sights(lab, verdict, seen):
        yield work_picture(worked, columns)


def _show_placements(console: Console, lab: Lab, verdict: Verdict, seen: Seen) -> None:
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


def is_predicted(lab: Lab, verdict: Verdict) -> bool:
    """Whether what is to be predicted has been, and may be shown."""
    wanted = [c.name for c in lab.criteria if c.rule in RULES_OF_RUN["latency"]]
    return any(c.name in wanted and c.status == "pass" for c in verdict.criteria)


def show_verdict(console: Console, kernel: GradedKernel, explained: Sequence[Text] = ()) -> None:
    """The whole report of one graded kernel. explained: how the times were decided, if that is
    asked for."""
    lab, verdict, seen, evidence = kernel.lab, kernel.verdict, kernel.seen, kernel.here
    with stripped(console):
        console.print()
        console.print(_heading(verdict, kernel.unchanged, evidence.timing_refused is not None))
        console.print(Padding(_criterion_table(verdict.criteria), (0, 0, 0, 2)))
        _show_compiler(console, evidence.build)
        printed = printed_words(evidence)
        if printed:
            console.print(Padding(Text(printed), (1, 0, 0, 2)))
        for picture in _pictures(lab, verdict, seen, console.width - 2):
            console.print()
            for line in picture:
                console.print(Padding(line, (0, 0, 0, 2)))
        _show_placements(console, lab, verdict, seen)
        lines = latency_lines(evidence, is_predicted(lab, verdict), kernel.published)
        for number, row in enumerate(lines):
            if number == 0:
                console.print()
            console.print(Padding(Text(row, style="" if number else "bold"), (0, 0, 0, 2)))
        for table in (memory_table(evidence), launch_times(lab, evidence)):
            if table is not None:
                console.print()
                console.print(Padding(table, (0, 0, 0, 2)))
        for number, line in enumerate(explained):
            console.print(Padding(line, (0 if number else 1, 0, 0, 2)))
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
        gradable = verdict.max_points - verdict.ungraded_points
        table.add_row(
            Text(word, style=style),
            verdict.lab,
            LANGUAGE_NAMES[verdict.language],
            VARIANT_NAMES[verdict.variant],
            f"{verdict.points} of {gradable} points",
        )
    console.print(table)
