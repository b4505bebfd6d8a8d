"""Times go on where an earlier grading of the same stopped: which earlier generations still count.

Whoever grades the same program again is not to get a fresh draw: what was decided stands, and what
is open goes on. The same is what the same program says, run by the same kit on nodes of a kind,
whatever its comments.
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
from numalab.evidence.format import EarlierTimes, HandedText, SessionRecord
from numalab.evidence.kinds import GENERATION
from numalab.evidence.read_record import load_record
from numalab.evidence.record import Json
from numalab.evidence.repeats import outcomes, why_left_out
from numalab.evidence.run_formats import TimingRun
from numalab.grading.former_digests import known_as
from numalab.installation import Installation
from numalab.judging import planner
from numalab.judging.effort import Effort
from numalab.labs.declaration import Lab
from numalab.labs.launch import BadPolicy, parse_policy
from numalab.untrusted.tools import TOOL_LIMITS, TookTooLong, run_limited

# Nodes that agree in these are alike; a class's node in a cluster is seldom the same one twice.
_ALIKE = ("cpu_model", "packages", "numa_nodes", "cores", "pus")
RECORD = "evidence.json"
# Beside it: the last record of something else that has times, for who goes back to that.
OTHER_RECORD = "timed.json"


def alike(node: Json) -> list[Any]:
    """Return what nodes agree in that are alike, of a node's description."""
    return [node.get(key) for key in _ALIKE]


def _code(program: Path) -> bytes:
    """What of a program is run, without what tells where and of which lines it was built: a job
    builds in a folder of its own."""
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


def _error_text(lab: Lab, handed_in: Iterable[HandedText]) -> Iterator[tuple[str, Any]]:
    """What those files say under which something is timed, however they are written. The others
    change no time: a new prediction is no reason for new times."""
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
    record: SessionRecord,
) -> tuple[str, ...]:
    """Changes with anything that makes earlier generations no longer count: the kit as far as
    evidence depends on it, how it was built, what is graded, the effort, and the kind of node;
    rules and thresholds by which times are judged are not among it. The first is the present one;
    behind it are those of versions of the kit that are proved equal. submission: the program that
    is timed; record: as far as it is taken. Raises OSError and NumalabError."""
    # Where placements or launches are compared it is the kit's own that runs under them.
    is_kits = lab.timed_placements is not None or all(timed.slow for timed in planner.timings(lab))
    digest = hashlib.sha256(b"-" if is_kits else _code(submission))
    facts = (
        {key: value for key, value in msgspec.to_builtins(record.build).items() if key != "kernel"},
        list(_error_text(lab, record.handed_in)),
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
    """What a grading begins with. runs: generations, oldest first; taken: how many of them are
    from which sessions, as a record has it."""

    runs: Sequence[TimingRun] = ()
    taken: Sequence[EarlierTimes] = ()


def earlier_times(folders: Iterable[Path], now: Collection[str]) -> Earlier:
    """Those of the first record in these folders that is of the same; folders: of gradings that
    are kept, the newest first, since each has the generations of those before it; now: the present
    fingerprints. None where a process did not come to its end while it was timed: that is no time,
    and it may have been the node's fault, so all are taken anew."""
    for folder in folders:
        for name in (RECORD, OTHER_RECORD):
            with contextlib.suppress(NumalabError):
                record = load_record(folder / name)
                if record.fingerprint in now:
                    return _times_of(record)
    return Earlier()


def _times_of(record: SessionRecord) -> Earlier:
    runs = [
        run
        for run in record.runs
        if isinstance(run, TimingRun) and why_left_out(GENERATION, run) is None
    ]
    if any(outcome.status != "ok" for run in runs for outcome in outcomes(run)):
        return Earlier()
    own = len(runs) - sum(session.generations for session in record.earlier_times)
    new = [EarlierTimes(record.started_at, own)] if own else []
    return Earlier(runs, [*record.earlier_times, *new])
