"""Report a student's progress in a terminal and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from numalab import words
from numalab.judging.verdict import rounded_points
from numalab.labs.declaration import LANGUAGE_NAMES, Lab
from numalab.labs.hints import Levels
from numalab.labs.quantities import FILE
from numalab.learning.initial_answers import InitialAnswer, initial_answer_words
from numalab.learning.progress import (
    LearnerProgress,
    Result,
    Task,
    best_language,
    is_done,
    next_task,
)
from numalab.terminal import plain_table

Hints = Mapping[str, Levels]  # by lab


def count_read_hints(lab: Lab, hints: Hints) -> int:
    """Return how many hints were read, over all of the lab's ladders."""
    levels = hints.get(lab.name, {})
    return sum(min(levels.get(ladder.topic, 0), len(ladder.levels)) for ladder in lab.hints)


def _state(result: Result) -> tuple[str, str]:
    """Return the state of a result in words, and their style."""
    failed = result.having("fail")
    if failed:
        more = f" and {len(failed) - 1} more" if failed[1:] else ""
        return f"to fix: {failed[0]}{more}", "bold red"
    if result.having("inconclusive", "error"):
        word = "interrupted" if result.interrupted else "open"
        return f"{word}: {words.some(result.having('inconclusive', 'error'))}", "yellow"
    if result.left_out:
        return f"not yet graded: {words.listed(result.left_out)}", "yellow"
    return "done" + (" (with --quick)" if result.quick else ""), "bold green"


def _day(result: Result) -> str:
    return datetime.fromisoformat(result.graded_at).astimezone().strftime("%Y-%m-%d")


def _rows(table: Table, lab: Lab, results: Mapping[str, Result], hints: Hints) -> None:
    label = lab.name
    shown_hints = str(count_read_hints(lab, hints) or "")
    if not results:
        state = "begun, not graded" if shown_hints else "not begun"
        table.add_row(label, "", "", "", shown_hints, Text(state, style="dim"))
    for language, result in results.items():
        state, style = _state(result)
        points = f"{result.points} of {result.gradable_points}"
        table.add_row(
            label, LANGUAGE_NAMES[language], points, _day(result), shown_hints,
            Text(state, style=style),
        )  # fmt: skip
        label = shown_hints = ""


def show_progress(
    console: Console,
    labs: Sequence[Lab],
    progress: LearnerProgress,
    hints: Hints,
    initial_answers: Mapping[str, Sequence[InitialAnswer]] | None = None,
) -> None:
    """Print a student's progress and next task. initial_answers: by lab; None: none are shown."""
    table = plain_table()
    for name in ("lab", "language", "points", "graded"):
        table.add_column(name, no_wrap=True)
    table.add_column("hints", justify="right")
    table.add_column("state", ratio=1)
    results = {lab.name: progress.results_of(lab) for lab in labs}
    for lab in labs:
        _rows(table, lab, results[lab.name], hints)
    console.print(table)
    done = sum(map(is_done, results.values()))
    best = [of_lab[best_language(of_lab) or ""] for of_lab in results.values() if of_lab]
    points = rounded_points(sum(result.points for result in best))
    gradable = sum(result.gradable_points for result in best)
    console.print()
    total = f"{done} of {words.count(len(labs), 'lab')} done"
    if best:
        total += f", {points} of the {gradable} points that could be graded so far"
    console.print(Text(f"{total}.", style="bold"))
    for lab in labs:
        if initial_answers and initial_answers.get(lab.name):
            place = FILE if lab.is_variant else "its notebook"
            console.print(
                f"First said in {place}, {lab.name}: "
                f"{initial_answer_words(initial_answers[lab.name])}."
            )
    _show_task(console, next_task(labs, progress, hints))


def _show_task(console: Console, task: Task | None) -> None:
    if task is None:
        console.print("Next: nothing. All labs are done, as far as this node can show.")
        return
    language = f", {LANGUAGE_NAMES[task.language]}" if task.language else ""
    console.print(f"Next: {task.lab}{language}: {task.what}.")
    table = Table.grid(padding=(0, 3, 0, 0), pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(ratio=1)
    for command, does in task.commands:
        table.add_row(Text(f"  {command}"), Text(does))
    console.print(table)


def progress_json(
    labs: Sequence[Lab],
    progress: LearnerProgress,
    hints: Hints,
    initial_answers: Mapping[str, Sequence[InitialAnswer]] | None = None,
) -> dict[str, Any]:
    """Return the progress for other programs. initial_answers: as for show_progress."""
    task = next_task(labs, progress, hints)
    return {
        "schema": 1,
        "labs": [
            {
                "lab": lab.name,
                "title": lab.title,
                "done": is_done(progress.results_of(lab)),
                "results": [
                    {"language": language, "done": result.is_done, **asdict(result)}
                    for language, result in progress.results_of(lab).items()
                ],
                "hints_seen": count_read_hints(lab, hints),
                "hints": sum(len(ladder.levels) for ladder in lab.hints),
                "first_said": [
                    asdict(entry) for entry in (initial_answers or {}).get(lab.name, ())
                ],
            }
            for lab in labs
        ],
        "next": None if task is None else task.json_data(),
    }
