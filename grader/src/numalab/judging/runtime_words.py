"""What OpenMP runtimes said of their environment, for a student. Pure functions."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from numalab.evidence.record import Binding
from numalab.judging.verdict import Warned


def runtime_warnings(runs: Sequence[Binding]) -> tuple[Warned, ...]:
    """What OpenMP runtimes said of their environment, if anything: the first of it for each."""
    warnings = []
    for run in runs:
        lines = str(run.outcome.detail.get("printed", "")).splitlines()
        said = [line.strip() for line in lines if "arning" in line or "nvalid" in line]
        if said:
            words = said[0][:160].rstrip(".").removeprefix(f"{run.runtime}: ")
            warnings.append(Warned(run.runtime, words))
    return tuple(warnings)


def warning_words(warnings: Sequence[Warned], quoted: Collection[str] = ()) -> str:
    """A sentence for each, with a space before it. told: what has been said before, of another
    criterion, which is only referred to."""
    text = ""
    before = ""
    for warned in warnings:
        said = f"said: {warned.words}"
        if warned.words == before:
            said = "said the same"
        elif warned.words in quoted:
            said = "gave the same warning as above"
        text += f" {warned.runtime} {said}."
        before = warned.words
    return text
