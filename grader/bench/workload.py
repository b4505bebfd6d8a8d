"""Builds the benchmark's programs and runs generations of them: the reference does an exact
factor of the candidate's work."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from series import CANDIDATE, REFERENCE, ROLES, Cell

from numalab.errors import KitError
from numalab.evidence.record import CONTROL, Json
from numalab.harness import monitor
from numalab.kit import Kit, find_kit
from numalab.labs.declaration import Lab, load_lab

LAB = "01_first_touch"
# The candidate does a multiple of this, so that all ratios give whole numbers of passes.
PASSES_UNIT = 10
_PASSES_VARIABLE = "NUMALAB_BENCH_PASSES"
_PHASE_LIMIT_S = 20.0
_BUILD_LIMIT_S = 300


def bench_kit() -> Kit:
    """The kit, with a build folder of the benchmark's own."""
    return Kit(find_kit("gnu").root, "bench")


def build(kit: Kit) -> None:
    """Builds what there is to run. Raises KitError with the tools' last words."""
    folder = kit.root / "grader" / "bench"
    steps: list[list[str]] = []
    if not (kit.build / "build.ninja").is_file():
        steps.append(
            ["cmake", "-S", str(folder), "-B", str(kit.build), "-G", "Ninja",
             "-DCMAKE_C_COMPILER=gcc", "-DCMAKE_Fortran_COMPILER=gfortran"]
        )  # fmt: skip
    targets = [kit.monitor(LAB).name, kit.worker(LAB, "c", "passes").name, "describe_node"]
    steps.append(["ninja", "-C", str(kit.build), *targets])
    for step in steps:
        try:
            done = subprocess.run(
                step, text=True, errors="replace", stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=_BUILD_LIMIT_S,
                check=False,
            )  # fmt: skip
        except FileNotFoundError as error:
            raise KitError(f"{step[0]} is missing; run ./numalab setup") from error
        except subprocess.TimeoutExpired as error:
            raise KitError(f"{step[0]} did not end within {_BUILD_LIMIT_S} s") from error
        if done.returncode != 0:
            said = "\n".join(done.stdout.strip().splitlines()[-20:])
            raise KitError(f"the benchmark's programs can't be built:\n{said}")


def passes_of(ratio: float, candidate_passes: int) -> dict[str, int]:
    """How many passes each role makes for a true ratio of 1.0, 1.2 or 1.5."""
    reference_passes = round(ratio * candidate_passes)
    return {
        REFERENCE: reference_passes,
        CANDIDATE: candidate_passes,
        CONTROL: reference_passes,
    }


@dataclass(frozen=True)
class Workload:
    """What runs generations. threads: of each process, one a core."""

    kit: Kit
    lab: Lab
    threads: int

    @classmethod
    def built(cls, kit: Kit) -> Workload:
        """Raises KitError."""
        build(kit)
        cores = int(monitor.describe_node(kit)["cores"])
        return cls(kit, load_lab(kit.lab_folder(LAB)), cores)

    def _run(self, passes: Mapping[str, int], repetitions: int) -> Json:
        """One generation of fresh processes, one for each role that passes names. Raises
        KitError where one of them did not do its work, and Interrupted."""
        program = self.kit.worker(LAB, "c", "passes")
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
        record = monitor.run_monitor(self.kit, self.lab, run)
        for entry in record["roles"]:
            if entry["outcome"]["status"] != "ok" or entry["results"]["wrong"]:
                raise KitError(
                    f"the {entry['role']} did not end well: {entry['outcome']}, "
                    f"{entry['results']['wrong']} wrong results"
                )
        return record

    def candidate_passes(self, rep_ms: float) -> int:
        """As many as take about so long on this node, undisturbed."""
        record = self._run({CANDIDATE: PASSES_UNIT}, 20)
        unit_s: float = min(sample["elapsed_s"] for sample in record["samples"])
        return PASSES_UNIT * max(1, round(rep_ms / 1e3 / unit_s))

    def generation(
        self,
        cell: Cell,
        candidate_passes: int,
        trial: int | None = None,
        roles: Sequence[str] = ROLES,
    ) -> Json:
        """A generation as a line of a file. Raises KitError and Interrupted."""
        passes = passes_of(cell.ratio, candidate_passes)
        passes = {role: passes[role] for role in roles}
        started_at_s = time.time()
        started_s = time.monotonic()
        record = self._run(passes, cell.repetitions)
        return {
            "kind": "generation",
            "cell": cell.load,
            "ratio": cell.ratio,
            "rep_ms": cell.rep_ms,
            "repetitions": cell.repetitions,
            "passes": passes,
            "trial": trial,
            "started_at_s": started_at_s,
            "ended_at_s": started_at_s + time.monotonic() - started_s,
            "load_1min": os.getloadavg()[0],
            "record": record,
        }
