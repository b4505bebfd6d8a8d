"""Stops a grading with all its processes again and again, and lets it go on: as a batch system
does that has jobs take turns on a node, or a virtual machine that is held. Counts what is told of
the kit's solutions then, which no pause may fail. See README.md."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from numalab.evidence.read_record import load_record
from numalab.evidence.repeats import outcomes, paused_s
from numalab.installation import Installation, find_installation

Json = dict[str, Any]
NEVER = ("fail", "error")  # what a pause may not make of a solution
_LIMITED = "--limited"  # as the first word: this program grades, with shorter limits


def descendants(pid: int) -> list[int]:
    """A process and all that it or one of those has started, parents first. Those whose parent has
    ended are the monitor's, which is among them."""
    found = [pid]
    for process in found:
        for task in (Path("/proc") / str(process) / "task").glob("*"):
            with contextlib.suppress(OSError):
                found += map(int, (task / "children").read_text().split())
    return found


def _send(pids: Sequence[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def pause(pid: int, pause_s: float, chance: random.Random) -> int:
    """Stops a process and all below it, and continues them in another order. Returns how many."""
    stopped: list[int] = []
    while True:  # until nobody is left who could have started another
        fresh = [other for other in descendants(pid) if other not in stopped]
        if not fresh:
            break
        _send(fresh, signal.SIGSTOP)
        stopped += fresh
    time.sleep(pause_s)
    _send(chance.sample(stopped, len(stopped)), signal.SIGCONT)
    return len(stopped)


def is_measuring(pid: int) -> bool:
    """Whether a process has a monitor at work."""
    for other in descendants(pid):
        with contextlib.suppress(OSError):
            words = (Path("/proc") / str(other) / "cmdline").read_bytes().split(b"\0")
            if words[0].endswith(b"-monitor"):
                return True
    return False


@dataclass(frozen=True)
class Pauses:
    """How a grading is paused. least_s, most_s: a pause; between_s: at most from its end to the
    next; most: of a grading; in_runs: only while a monitor is at work."""

    least_s: float
    most_s: float
    between_s: float
    most: int
    in_runs: bool = False

    def during(self, process: subprocess.Popen[bytes], chance: random.Random) -> list[float]:
        """Until it ends. Returns their lengths."""
        lengths_s: list[float] = []
        while len(lengths_s) < self.most:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(chance.uniform(0.0, self.between_s))
                return lengths_s
            while self.in_runs and process.poll() is None and not is_measuring(process.pid):
                time.sleep(0.01)
            pause_s = chance.uniform(self.least_s, self.most_s)
            pause(process.pid, pause_s, chance)
            lengths_s.append(pause_s)
        process.wait()
        return lengths_s


def grading(installation: Installation, words: Sequence[str], limit_s: float | None) -> list[str]:
    """The command. limit_s: in the place of a phase's usual limits."""
    command = ["grade", "--afresh", *words]
    if limit_s is None:
        return [str(installation.root / "numalab"), *command]
    return [sys.executable, str(Path(__file__).resolve()), _LIMITED, str(limit_s), *command]


def paused_grading(
    installation: Installation,
    lab: str,
    more: Sequence[str],
    pauses: Pauses,
    chance: random.Random,
    limit_s: float | None = None,
) -> Json:
    """Grades the solution while it is paused. Returns what became of it: the criteria by status,
    runs of the monitor that were left out, by reason, and sentences of what may not be."""
    with tempfile.TemporaryDirectory(prefix="pauses-") as folder:
        path = Path(folder) / "out.json"
        words = [lab, "--solutions", "--lang", "c", "--quick", "--here-only", *more]
        command = grading(installation, [*words, "--json", str(path)], limit_s)
        start_s = time.monotonic()
        with (Path(folder) / "said").open("wb") as said:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, cwd=installation.root
            )
            try:
                lengths_s = pauses.during(process, chance)
            finally:
                _send(descendants(process.pid), signal.SIGCONT)
                process.terminate()
                process.wait()
        if not path.is_file():
            told = (Path(folder) / "said").read_text("utf-8", "replace")
            return {"lab": lab, "pauses": len(lengths_s), "faults": [told[-800:]]}
        result = json.loads(path.read_text("utf-8"))["results"][0]
    evidence = installation.results_folder(result["lab"], "c", "solution") / "evidence.json"
    runs = load_record(evidence).runs
    left_out = Counter(run.tried_again for run in runs if run.tried_again is not None)
    ends = Counter(
        outcome.status for run in runs for outcome in outcomes(run) if outcome.status != "ok"
    )
    return {
        "lab": result["lab"],
        "pauses": len(lengths_s),
        "paused_s": round(sum(lengths_s), 1),
        "seen_s": round(sum(map(paused_s, runs)), 1),
        "elapsed_s": round(time.monotonic() - start_s, 1),
        "statuses": dict(Counter(c["status"] for c in result["criteria"])),
        "open": sorted({c["cause"] for c in result["criteria"] if c["status"] == "inconclusive"}),
        "left_out": dict(left_out),
        "ends": dict(ends),
        "faults": [
            f"{c['name']}: {c['status']}: {c['why']}"
            for c in result["criteria"]
            if c["status"] in NEVER
        ],
    }


def _limited(limit_s: float, words: Sequence[str]) -> None:
    """Grades with shorter limits of a phase, in this process."""
    from numalab.commands.root import main as numalab
    from numalab.grading import request

    usual = request.effort_for

    def shorter(size: str, quick: bool) -> Any:
        return replace(usual(size, quick), check_limit_s=limit_s, phase_limit_s=limit_s)

    request.effort_for = shorter  # type: ignore[assignment]
    sys.argv = ["numalab", *words]
    numalab()


def main(tell: Callable[[str], None] = print) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("labs", nargs="*", default=["03", "01"], help="03 and 01, if none is given")
    parser.add_argument("--pauses", type=int, default=50, help="of each lab, in all (50)")
    parser.add_argument("--least-s", type=float, default=0.2, help="of a pause (0.2)")
    parser.add_argument("--most-s", type=float, default=3.0, help="of a pause (3)")
    parser.add_argument(
        "--between-s", type=float, default=3.0, help="at most from one pause to the next (3)"
    )
    parser.add_argument("--limit-s", type=float, help="of a phase, in the place of the usual")
    parser.add_argument("--sandbox", action="store_true", help="as grade's")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    chance, installation = random.Random(given.seed), find_installation("gnu")
    faults = 0
    for lab in given.labs:
        pauses = 0
        while pauses < given.pauses:
            how = Pauses(given.least_s, given.most_s, given.between_s, given.pauses - pauses)
            more = ["--sandbox"] if given.sandbox else []
            found = paused_grading(installation, lab, more, how, chance, given.limit_s)
            pauses += found["pauses"]
            faults += bool(found["faults"])
            tell(json.dumps(found))
    tell(f"{faults} gradings with faults")
    return 1 if faults else 0


if __name__ == "__main__":
    if sys.argv[1:2] == [_LIMITED]:
        _limited(float(sys.argv[2]), sys.argv[3:])
    else:
        sys.exit(main())
