"""Recorded generations: the file that they are kept in, and what is read out of them.

A file holds one JSON object per line. A generation:

    {"kind": "generation", "cell": "quiet", "rule": "efficiency", "ratio": 1.2, "rep_ms": 5.0,
     "repetitions": 10,
     "passes": {"solution": 12, "submission": 10, "control": 12}, "trial": null,
     "started_at_s": 1.7e9, "ended_at_s": 1.7e9, "load_1min": 0.1, "record": {...}}

started_at_s, ended_at_s: seconds since 1970 at which the monitor was started and had ended;
record: what it printed, whole. A trial of `live`, after the generations that carry its number:

    {"kind": "trial", "cell": "quiet", "rule": "efficiency", "ratio": 1.2, "mode": "careful",
     "trial": 7, "status": "pass", "cause": "reached", "generations": 9, "spent_s": 1.9}

A duet's record has the same samples, whose sides started at once: twice two pairs are

    {"samples": [{"role": "solution", "order": 0, "started_s": 0.3, "elapsed_s": 0.1},
                 {"role": "submission", "order": 1, "started_s": 0.3, "elapsed_s": 0.09}, ...]}

Only whole lines count, so a file that was being written when the power failed can be read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from numalab.errors import UserError
from numalab.evidence.record import CONTROL, HANDOUT, SOLUTION, SUBMISSION, Json

# The kit's names of the roles; here the solution is the reference, the submission the
# candidate, and the control the reference once more.
REFERENCE, CANDIDATE = SOLUTION, SUBMISSION
ROLES = (REFERENCE, CANDIDATE, CONTROL)

# How a cell is judged, by the processes that run for it. duet: two at once, for a rule in use
# elsewhere.
ROLES_OF_RULE = {
    "efficiency": ROLES,
    "speedup": (HANDOUT, *ROLES),
    "duet": (REFERENCE, CANDIDATE),
}


@dataclass(frozen=True)
class Cell:
    """What was measured: on a quiet or a loaded node, the true ratio, the milliseconds that a
    repetition was to take, how many there are beside the warm-up, and by which rule it is judged.
    ratio: 1.1 times the longest time that passes over the candidate's, which for a duet and an
    efficiency is the reference's time over the candidate's."""

    load: str
    ratio: float
    rep_ms: float
    repetitions: int
    rule: str = "efficiency"

    @property
    def name(self) -> str:
        return f"{self.load}, {self.rule}, true ratio {self.ratio:g}"


@dataclass(frozen=True)
class TimedRound:
    """The times of one generation, in seconds; lists start with the warm-up.

    elapsed_s: of the timed phase. slot_s: from its start to that of the phase that follows,
    whichever role's that is, so with all that the monitor does in between. start_s: start
    and initialisation of one role's process. own_s: the monitor's own start and end.
    """

    elapsed_s: Mapping[str, tuple[float, ...]]
    slot_s: Mapping[str, tuple[float, ...]]
    start_s: float
    own_s: float

    @property
    def repetitions(self) -> int:
        """Beside the warm-up."""
        return min(map(len, self.elapsed_s.values())) - 1

    def took_s(self, roles: Sequence[str], repetitions: int) -> float:
        """What the processes of these roles take for their first so many repetitions, the
        warm-up being one of them; without the monitor's own time. A control that was not
        recorded takes what the reference took."""
        slots = (self.slot_s.get(role, self.slot_s[REFERENCE]) for role in roles)
        return len(roles) * self.start_s + sum(sum(slot[:repetitions]) for slot in slots)


def generation_of(line: Json) -> TimedRound:
    """Reads one line of a file."""
    samples = sorted(line["record"]["samples"], key=lambda sample: sample["order"])
    roles = list(dict.fromkeys(sample["role"] for sample in samples))
    elapsed: dict[str, list[float]] = {role: [] for role in roles}
    slots: dict[str, list[float]] = {role: [] for role in roles}
    for sample, following in zip(samples, [*samples[1:], None], strict=True):
        elapsed[sample["role"]].append(sample["elapsed_s"])
        slots[sample["role"]].append(
            sample["elapsed_s"]
            if following is None
            else following["started_s"] - sample["started_s"]
        )
    first_s = samples[0]["started_s"]
    last_s = samples[-1]["started_s"] + samples[-1]["elapsed_s"]
    return TimedRound(
        elapsed_s={role: tuple(times) for role, times in elapsed.items()},
        slot_s={role: tuple(times) for role, times in slots.items()},
        start_s=first_s / len(roles),
        own_s=max(0.0, line["ended_at_s"] - line["started_at_s"] - last_s),
    )


def cell_of(line: Json) -> Cell:
    rule = line.get("rule", "efficiency")
    if rule not in ROLES_OF_RULE:
        raise KeyError(f"rule {rule!r}")
    return Cell(line["cell"], line["ratio"], line["rep_ms"], line["repetitions"], rule)


def lines_of(path: Path) -> Iterator[Json]:
    """All whole lines of a file. Raises UserError where it can't be read."""
    try:
        with path.open(encoding="utf-8") as file:
            for number, text in enumerate(file, start=1):
                if not text.endswith("\n"):
                    return
                try:
                    yield json.loads(text)
                except json.JSONDecodeError as error:
                    raise UserError(
                        f"{path}, line {number} is no record of this benchmark: {error}"
                    ) from error
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise UserError(f"can't read {path}: {reason}") from error


def read_cells(paths: Sequence[Path]) -> dict[Cell, list[TimedRound]]:
    """The generations of all files by what was measured, in recorded order. Raises UserError
    where there is none or a file is something else."""
    cells: dict[Cell, list[TimedRound]] = {}
    for path in paths:
        for line in lines_of(path):
            try:
                if line["kind"] == "generation":
                    cells.setdefault(cell_of(line), []).append(generation_of(line))
            except (KeyError, TypeError, IndexError) as error:
                raise UserError(f"{path} is no file of this benchmark: {error}") from error
    if not cells:
        raise UserError("the files hold no generation; record some first")
    return dict(sorted(cells.items(), key=lambda item: _order(item[0])))


def _order(cell: Cell) -> tuple[bool, int, float, float, int]:
    rule = list(ROLES_OF_RULE).index(cell.rule)
    return cell.load != "quiet", rule, cell.ratio, cell.rep_ms, cell.repetitions


class Appender:
    """Writes lines to the end of a file, each whole and at once."""

    def __init__(self, path: Path) -> None:
        """Raises UserError. What is left of a line that was cut short is removed."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("ab+")
            self._file.seek(0)
            content = self._file.read()
            self._file.truncate(content.rfind(b"\n") + 1)
        except OSError as error:
            raise UserError(f"can't write to {path}: {error.strerror}") from error

    def append(self, line: Json) -> None:
        """Raises UserError, for a full disk."""
        text = json.dumps(line, separators=(",", ":"), allow_nan=False)
        try:
            self._file.write(text.encode() + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise UserError(f"can't write {self._file.name}: {error.strerror}") from error

    def close(self) -> None:
        self._file.close()
