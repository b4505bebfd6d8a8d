"""Rounds of an earlier grading of the same program that still count.

Grading the same program again must not be another chance: what was decided stands, and what is
undecided continues. A program is the same if its code is, and it is timed by the same or an equal
version of numalab on a machine of the same kind. Records have a fingerprint of that.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import tempfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from numalab.errors import NumalabError
from numalab.evidence.format import EarlierTimes, GradingRecord, HandedText
from numalab.evidence.kinds import TIMED_ROUND
from numalab.evidence.read_record import load_record
from numalab.evidence.record import Json
from numalab.evidence.repeats import outcomes, why_left_out
from numalab.evidence.run_formats import TimingRun
from numalab.grading.numalab_digests import known_as
from numalab.installation import Installation
from numalab.judging import planner
from numalab.judging.effort import Effort
from numalab.labs.declaration import Lab
from numalab.labs.launch import BadPolicy, parse_policy
from numalab.untrusted.tools import TOOL_LIMITS, TookTooLong, run_limited

# Machines that agree in these are of one kind. In a cluster, gradings seldom get the same machine
# twice.
_ALIKE = ("cpu_model", "packages", "numa_nodes", "cores", "pus")
RECORD = "evidence.json"
# In the same folder: the last record with another fingerprint, for a student who returns to that
# program.
OTHER_RECORD = "timed.json"


def alike(node: Json) -> list[Any]:
    """Return the values in which machines of one kind agree. node: a machine's description."""
    return [node.get(key) for key in _ALIKE]


def _code(program: Path) -> bytes:
    """Return a program without its symbols, debug information and build id, which depend on the
    folder of the build; whole where these can't be removed, and "-" where there is no program."""
    if not program.is_file():
        return b"-"
    options = ["--strip-all", "--remove-section=.note.gnu.build-id"]
    with tempfile.TemporaryDirectory(prefix="numalab-") as scratch:
        stripped = Path(scratch) / program.name
        try:
            code, _ = run_limited(["objcopy", *options, str(program), str(stripped)], TOOL_LIMITS)
        except TookTooLong:
            code = -1
        return (stripped if code == 0 else program).read_bytes()


def _timed_settings(lab: Lab, handed_in: Iterable[HandedText]) -> Iterator[tuple[str, Any]]:
    """Yield name and settings of the files under which programs are timed, the same however they
    are written; of a launch file that can't be used, its text. Other files, such as predictions,
    change no times."""
    placed = () if lab.timed_placements is None else (lab.timed_placements.file.name,)
    launched = [lab.launch_of(timed.part).name for timed in planner.timings(lab) if timed.slow]
    for handed in handed_in:
        name = handed.file
        if name in placed:
            yield name, handed.variables
        elif name in launched:
            try:
                yield name, repr(parse_policy(handed.text, name))
            except BadPolicy:
                yield name, handed.text


def fingerprints(
    installation: Installation,
    lab: Lab,
    submission: Path,
    node: Json,
    effort: Effort,
    threads: int,
    record: GradingRecord,
) -> tuple[str, ...]:
    """Return the fingerprint of a grading's times, and behind it those that it would have with
    versions of numalab that are proved equal (numalab_digests.known_as).

    It changes with numalab as far as evidence depends on it, how it was built, the program and
    files that are timed, the sandbox, the effort, the number of threads and the kind of machine.
    Where placements or launches alone are timed, the submission's program does not count.

    submission: the program that is timed, which may be missing. record: the record so far.
    """
    # Where placements or launches are compared, numalab's own program runs under them.
    is_kits = lab.timed_placements is not None or all(timed.slow for timed in planner.timings(lab))
    digest = hashlib.sha256(b"-" if is_kits else _code(submission))
    facts = (
        {key: value for key, value in msgspec.to_builtins(record.build).items() if key != "kernel"},
        list(_timed_settings(lab, record.handed_in)),
        record.sandbox,
        repr(effort),
        threads,
        alike(node),
    )
    made = []
    for measured in known_as(installation, lab.name):
        each = digest.copy()
        each.update(json.dumps((measured, *facts), sort_keys=True).encode())
        made.append(each.hexdigest())
    return tuple(made)


@dataclass(frozen=True)
class Earlier:
    """Rounds with which a grading begins."""

    runs: Sequence[TimingRun] = ()  # the rounds, oldest first
    taken: Sequence[EarlierTimes] = ()  # how many of them are from which gradings


def earlier_times(folders: Iterable[Path], now: Collection[str]) -> Earlier:
    """Return the rounds of the first record with a fingerprint among `now`; none where there is no
    such record, or an outcome in its rounds is not "ok". That may have been the machine's fault, so
    times are then taken anew.

    folders: of kept gradings, the newest first. now: fingerprints of the present grading.
    """
    for folder in folders:
        for name in (RECORD, OTHER_RECORD):
            with contextlib.suppress(NumalabError):
                record = load_record(folder / name)
                if record.fingerprint in now:
                    return _times_of(record)
    return Earlier()


def _times_of(record: GradingRecord) -> Earlier:
    runs = [
        run
        for run in record.runs
        if isinstance(run, TimingRun) and why_left_out(TIMED_ROUND, run) is None
    ]
    if any(outcome.status != "ok" for run in runs for outcome in outcomes(run)):
        return Earlier()
    own = len(runs) - sum(earlier.generations for earlier in record.earlier_times)
    new = [EarlierTimes(record.started_at, own)] if own else []
    return Earlier(runs, [*record.earlier_times, *new])
