"""Builds the benchmark's programs and runs generations of them: the reference does an exact
factor of the candidate's work."""

from __future__ import annotations

import os
import struct
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import msgspec
from other_rules import ASKED_RATIO
from series import CANDIDATE, REFERENCE, Cell

from numalab.errors import NumalabError
from numalab.evidence.record import CONTROL, HANDOUT, Json
from numalab.evidence.run_formats import TimingRun
from numalab.harness import monitor
from numalab.installation import Installation, find_installation
from numalab.labs.declaration import Lab, load_lab

LAB = "01_first_touch"
_TIMED_PASSES = 20  # by which is measured what a pass takes
_N = 1 << 19  # of the arrays, as driver.c has them
_PASSES_VARIABLE = "NUMALAB_BENCH_PASSES"
_PHASE_LIMIT_S = 20.0
_BUILD_LIMIT_S = 300
_DUET_LIMIT_S = 60.0
# As duet.c has them: what both sides meet by, and a repetition: when it started, what it took.
_MEETING_BYTES = 64
_REPETITION = struct.Struct("dd")
_SHARED_MEMORY = Path("/dev/shm")


def bench_kit() -> Installation:
    """The kit, with a build folder of the benchmark's own."""
    return Installation(find_installation("gnu").root, "bench")


def build(installation: Installation) -> None:
    """Builds what there is to run. Raises NumalabError with the tools' last words."""
    folder = installation.root / "grader" / "bench"
    steps: list[list[str]] = []
    if not (installation.build / "build.ninja").is_file():
        steps.append(
            ["cmake", "-S", str(folder), "-B", str(installation.build), "-G", "Ninja",
             "-DCMAKE_C_COMPILER=gcc", "-DCMAKE_Fortran_COMPILER=gfortran"]
        )  # fmt: skip
    targets = [
        installation.monitor(LAB).name,
        installation.worker(LAB, "c", "passes").name,
        "describe_node",
        "duet",
    ]
    steps.append(["ninja", "-C", str(installation.build), *targets])
    for step in steps:
        try:
            done = subprocess.run(
                step, text=True, errors="replace", stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=_BUILD_LIMIT_S,
                check=False,
            )  # fmt: skip
        except FileNotFoundError as error:
            raise NumalabError(f"{step[0]} is missing; run ./numalab setup") from error
        except subprocess.TimeoutExpired as error:
            raise NumalabError(f"{step[0]} did not end within {_BUILD_LIMIT_S} s") from error
        if done.returncode != 0:
            said = "\n".join(done.stdout.strip().splitlines()[-20:])
            raise NumalabError(f"the benchmark's programs can't be built:\n{said}")


# Passes of the processes of a speedup that is not faster than 1.0: handout and solution ask for
# sqrt(72 / 50) = 1.2 times the handout's speed, 60 passes.
_HANDOUT_PASSES, _SOLUTION_PASSES, _LIMIT_PASSES = 72, 50, 60


def passes_of(cell: Cell, scale: int) -> dict[str, int]:
    """How many passes each role makes. scale: a whole number that multiplies them all. An
    efficiency's and a duet's are exact; a speedup's candidate is rounded to whole passes, but
    for the limit, which is exact."""
    if cell.rule == "speedup":
        candidate = round(_LIMIT_PASSES * ASKED_RATIO / cell.ratio)
        solution = scale * _SOLUTION_PASSES
        return {
            HANDOUT: scale * _HANDOUT_PASSES, REFERENCE: solution,
            CANDIDATE: scale * candidate, CONTROL: solution,
        }  # fmt: skip
    ratio = Fraction(str(cell.ratio))
    passes = {REFERENCE: scale * ratio.numerator, CANDIDATE: scale * ratio.denominator}
    return passes if cell.rule == "duet" else passes | {CONTROL: passes[REFERENCE]}


@dataclass(frozen=True)
class Workload:
    """What runs generations. threads: of each process, one per core."""

    installation: Installation
    lab: Lab
    threads: int

    @classmethod
    def built(cls, installation: Installation) -> Workload:
        """Raises NumalabError."""
        build(installation)
        cores = int(monitor.describe_node(installation)["cores"])
        return cls(installation, load_lab(installation.lab_folder(LAB)), cores)

    def _run(self, passes: Mapping[str, int], repetitions: int) -> Json:
        """One generation of fresh processes, one for each role that passes names. Raises
        NumalabError where one of them did not do its work, and Interrupted."""
        program = self.installation.worker(LAB, "c", "passes")
        options = [
            *(word for role in passes for word in monitor.worker_option(role, program)),
            *(
                word
                for role, count in passes.items()
                for word in monitor.set_options(role, {_PASSES_VARIABLE: str(count)})
            ),
            *monitor.common_options(None, self.threads, "quick", _PHASE_LIMIT_S),
            "--least-repetitions", str(repetitions), "--most-repetitions", str(repetitions),
            "--budget-s", "600",
        ]  # fmt: skip
        environment = monitor.worker_environment(self.lab, self.threads)
        run = monitor.MonitorRun("generation", options, environment)
        record = monitor.run_monitor(self.installation, self.lab, run)
        assert isinstance(record, TimingRun)
        for entry in record.roles:
            if entry.outcome.status != "ok" or entry.results.mismatches:
                raise NumalabError(
                    f"the {entry.role} did not end well: {entry.outcome}, "
                    f"{entry.results.mismatches} wrong results"
                )
        timed: Json = msgspec.to_builtins(record)
        return timed

    def scale(self, cell: Cell) -> int:
        """By which a repetition of the candidate takes about so long on this node, undisturbed;
        1 or more."""
        record = self._run({CANDIDATE: _TIMED_PASSES}, 20)
        pass_s: float = min(sample["elapsed_s"] for sample in record["samples"]) / _TIMED_PASSES
        return max(1, round(cell.rep_ms / 1e3 / pass_s / passes_of(cell, 1)[CANDIDATE]))

    def _duet(self, passes: Mapping[str, int], repetitions: int) -> Json:
        """Both sides at once, each with a team as a grading gives it. Raises NumalabError."""
        program = self.installation.monitor(LAB).with_name("duet")
        size = _MEETING_BYTES + 2 * repetitions * _REPETITION.size
        environment = monitor.worker_environment(self.lab, self.threads)
        with tempfile.NamedTemporaryFile(dir=_SHARED_MEMORY) as file:
            file.truncate(size)
            sides: list[subprocess.Popen[bytes]] = []
            try:
                for role in (REFERENCE, CANDIDATE):
                    command = [str(program), file.name, str(len(sides)), str(repetitions), str(_N)]
                    own = environment | {_PASSES_VARIABLE: str(passes[role])}
                    sides.append(subprocess.Popen(command, env=own, stdin=subprocess.DEVNULL))
                codes = [side.wait(_DUET_LIMIT_S) for side in sides]
            except subprocess.TimeoutExpired as error:
                raise NumalabError(f"a duet did not end within {_DUET_LIMIT_S} s") from error
            finally:
                for side in sides:
                    side.kill()
                    side.wait()
            content = Path(file.name).read_bytes()[_MEETING_BYTES:]
        if any(codes):
            raise NumalabError(f"the sides of a duet ended with exit codes {codes}")
        times = list(_REPETITION.iter_unpack(content))
        pairs = zip(times[:repetitions], times[repetitions:], strict=True)
        first_s = min(times)[0]
        return {
            "samples": [
                {"role": role, "order": 2 * place + side, "started_s": started_s - first_s,
                 "elapsed_s": elapsed_s}
                for place, pair in enumerate(pairs)
                for side, (role, (started_s, elapsed_s)) in enumerate(
                    zip((REFERENCE, CANDIDATE), pair, strict=True)
                )
            ]
        }  # fmt: skip

    def generation(
        self,
        cell: Cell,
        scale: int,
        trial: int | None = None,
        roles: Sequence[str] | None = None,
    ) -> Json:
        """A generation as a line of a file. roles: all of the cell's, unless given. Raises
        NumalabError and Interrupted."""
        passes = passes_of(cell, scale)
        if roles is not None:
            passes = {role: passes[role] for role in roles}
        started_at_s = time.time()
        started_s = time.monotonic()
        if cell.rule == "duet":
            record = self._duet(passes, cell.repetitions + 1)
        else:
            record = self._run(passes, cell.repetitions)
        return {
            "kind": "generation",
            "cell": cell.load,
            "rule": cell.rule,
            "ratio": cell.ratio,
            "rep_ms": cell.rep_ms,
            "repetitions": cell.repetitions,
            "scale": scale,
            "passes": passes,
            "trial": trial,
            "started_at_s": started_at_s,
            "ended_at_s": started_at_s + time.monotonic() - started_s,
            "load_1min": os.getloadavg()[0],
            "record": record,
        }
