"""Timing that stayed open goes on where it stopped: which earlier generations still count."""

from __future__ import annotations

import hashlib
import json
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from numalab.evidence.record import Json
from numalab.files import read_json
from numalab.grading.kit_digests import measured_by
from numalab.judging.effort import Effort
from numalab.kit import Kit
from numalab.labs.declaration import Lab

# Nodes that agree in these are alike; a class's node in a cluster is seldom the same one twice.
_ALIKE = ("cpu_model", "packages", "numa_nodes", "cores", "pus")


def _code(program: Path) -> bytes:
    """What of a program is run, without what tells where and of which lines it was built: a job
    builds in a folder of its own."""
    if not program.is_file():
        return b"-"
    options = ["--strip-all", "--remove-section=.note.gnu.build-id"]
    with tempfile.TemporaryDirectory(prefix="numalab-") as scratch:
        stripped = Path(scratch) / program.name
        try:
            subprocess.run(
                ["objcopy", *options, str(program), str(stripped)], capture_output=True, check=True
            )
        except (OSError, subprocess.CalledProcessError):
            return program.read_bytes()
        return stripped.read_bytes()


def fingerprint(
    kit: Kit, lab: Lab, submission: Path, node: Json, effort: Effort, threads: int, record: Json
) -> str:
    """Changes with anything that makes earlier generations no longer count: the kit as far as
    evidence depends on it, how it was built, what is graded, the effort, and the kind of node;
    rules and thresholds by which times are judged are not among it. submission: the program that
    is timed; record: as far as it is taken. Raises OSError."""
    digest = hashlib.sha256(_code(submission))
    facts = (
        measured_by(kit, lab.name),
        {key: value for key, value in record["build"].items() if key != "kernel"},
        record["handed_in"],
        record["sandbox"],
        repr(effort),
        threads,
        [node.get(key) for key in _ALIKE],
    )
    digest.update(json.dumps(facts, sort_keys=True).encode())
    return digest.hexdigest()


def is_open(verdict: Json) -> bool:
    return any(criterion["status"] == "inconclusive" for criterion in verdict["criteria"])


def earlier_generations(kept: Path, now: str) -> Sequence[Json]:
    """Those of a grading that is kept in a folder, where it stayed open; now: the present
    fingerprint."""
    verdict, record = (read_json(kept / name) for name in ("verdict.json", "evidence.json"))
    if not isinstance(verdict, dict) or not isinstance(record, dict):
        return ()
    if record.get("fingerprint") != now or not is_open(verdict):
        return ()
    return [run for run in record["runs"] if run["kind"] == "generation"]
