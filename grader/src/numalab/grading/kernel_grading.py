"""One grading of one kernel on one machine: its record so far, runs of the monitor, and results.

A run of the monitor may say nothing about the kernel. It stays on record and is repeated
(evidence/repeats.py has the conditions) where

- *the machine paused* in it: until a run is without a pause, at most MOST_PAUSED_RUNS times,
- *it was late or its protocol was disturbed*, as when another process stops it: at most once,
- *numalab failed* in a run of the student's program, or the program ended before the kernel was
  called: the same run with numalab's own program, the *baseline*, decides. If the baseline fails as
  well, the student's program is excused. If it succeeds, the run is repeated, and at the latest
  after MAX_ATTEMPTS the student's program is blamed.

A kernel could bring any of that about on purpose, whenever it is about to lose. So a round of
timing that was repeated for a reason that may be the submission's doing can be lost but not won
(`second_try`); for pauses, this begins after FREE_STALLS repeated rounds. Another kind of run of a
part is repeated once in a grading for each role or reason in `retried`, not counting pauses.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numalab
from numalab.errors import NumalabError
from numalab.evidence import read_record
from numalab.evidence.format import (
    SCHEMA_VERSION,
    Build,
    BuildFacts,
    GradingRecord,
    HandedText,
    ShownMachine,
)
from numalab.evidence.kinds import TIMED_ROUND
from numalab.evidence.read_record import Parsed
from numalab.evidence.record import HANDOUT, PROBE, SOLUTION, SUBMISSION, Evidence, Json, Kind
from numalab.evidence.refused import recorded_node
from numalab.evidence.repeats import (
    blame_submission,
    doubted,
    ended_at_start,
    excuse_submission,
    numalab_failures,
    outcomes,
    paused_s,
    why_again,
)
from numalab.evidence.run_formats import AnyRunRecord, TimingRun, WhyLeftOut
from numalab.files import read_json, write_json
from numalab.grading.file_choice import choose_file, is_starting_code, unchanged_files
from numalab.grading.node_lock import NO_LOCK, NodeLock
from numalab.grading.timing_reuse import OTHER_RECORD, RECORD, earlier_times, fingerprints
from numalab.harness import monitor
from numalab.harness.build import build_facts, build_kernel, build_targets
from numalab.harness.sandbox import Sandbox, level_of
from numalab.installation import Installation
from numalab.judging import judge
from numalab.judging.effort import Effort
from numalab.judging.verdict import Verdict
from numalab.labs.declaration import KERNEL_FILES, Lab
from numalab.words import StepReport

# A run lasts seconds, a round of timing often less than one. A machine that pauses in each of so
# many in a row is too unsteady to grade on.
MOST_PAUSED_RUNS = 12

# Rounds lost to pauses that are repeated without a disadvantage. After that a machine that pauses
# again and again can't be told from a program that stops the monitor whenever it loses.
FREE_STALLS = 2
# Runs of the student's program in which numalab failed, each followed by a baseline that succeeded,
# after which at the latest the program is blamed.
MAX_ATTEMPTS = 2
# What libraries of a job may take of /dev/shm before a kernel is called: UCX 4 to 8 MB per rank.
STARTED_BYTES = 32 << 20

# Returns options and environment of a baseline. Raises NumalabError.
Baseline = Callable[[], tuple[Sequence[str], Mapping[str, str]]]

# Why a run is repeated, after "since".
_WHY_AGAIN: dict[WhyLeftOut, str] = {
    "paused": "the node stood still meanwhile",
    "timed_out": "it did not come to its end in time",
    "bad_protocol": "the talk with its process was disturbed",
    "kit_failed": "the kit failed, and did not with a kernel of its own",
}


@dataclass
class Grading:
    """A grading of one kernel on one machine, and what it has recorded so far."""

    # installation, lab, language: what is graded.
    installation: Installation
    lab: Lab
    language: str
    variant: str  # "submission", "handout" or "solution"
    folder: Path  # the folder of the kernel that is graded
    effort: Effort  # how much is measured
    node: Json  # the description of the machine on which the kernel runs
    progress: StepReport  # called with a phrase for each step
    # The parts whose kernel runs on this machine; empty: all of the lab.
    parts: tuple[str | None, ...] = ()
    timing_refused: str | None = None  # why nothing may be timed on this machine; None: it may
    # Where programs run: this machine or a virtual machine.
    place: monitor.Place = monitor.THIS_MACHINE
    # What a virtual machine stands for; None: this is the local machine.
    machine: ShownMachine | None = None
    # The sandbox of workers and compilers on the local machine; None: they run in none.
    sandbox: Sandbox | None = None
    # Shared with other gradings on this machine, exclusive while times are taken.
    node_lock: NodeLock = NO_LOCK
    # Waits for the exclusive lock; called before anything is timed.
    wait_for_node: Callable[[], None] = lambda: None
    # Folders with records of earlier gradings of the same lab and language, the newest first.
    earlier: Sequence[Path] = ()
    no_vms: bool = False  # no virtual machine may be booted
    afresh: bool = False  # times of earlier gradings don't count
    explanation: str = ""  # what the student writes about the result
    # Runs of numalab's own programs by name: on a virtual machine shared by all gradings there.
    controls: dict[str, list[AnyRunRecord]] = field(default_factory=dict)
    record: GradingRecord = field(init=False)  # the record so far
    parsed: Parsed = field(default_factory=dict)  # evidence of its runs, as far as it has been read
    spent_s: dict[str, float] = field(default_factory=dict)  # seconds by activity
    paused_s: float = 0.0  # how long the machine stood still while the monitor ran
    # The machine paused in the newest run, however often that was repeated.
    is_held_up: bool = False
    held_up: int = 0  # rounds of timing that were lost to pauses
    # Kind, part and role (or reason) of runs that were repeated and are not again.
    retried: set[tuple[str, str | None, str]] = field(default_factory=set)
    # Determines n and the traced pages, which are the same for traces and placement runs, since
    # their evidence is combined.
    seed: str = field(default_factory=lambda: secrets.token_hex(8))

    def __post_init__(self) -> None:
        environment = monitor.worker_environment(self.lab, self.threads)
        self.parts = self.parts or self.lab.kernel_parts
        known: dict[str, Any] = {
            "language": self.language, "variant": self.variant, "size": self.effort.size,
        }  # fmt: skip
        self.record = GradingRecord(
            **known,
            schema=SCHEMA_VERSION,
            kit_version=numalab.__version__,
            lab=self.lab.name,
            quick=self.effort.quick,
            started_at=datetime.now(UTC).isoformat(timespec="seconds"),
            machine=self.machine,
            node=recorded_node(self.node),
            environment=monitor.recorded_environment(environment),
            sandbox=level_of(self.sandbox) if self.machine is None else "virtual_machine",
            timing_refused=self.timing_refused,
            timing_error=None,
            race_error=None,
            elsewhere=None,  # until virtual machines are used
            handed_in=[],
            unchanged_files=tuple(
                unchanged_files(self.installation, self.lab, self.language, self.folder)
            ),
            starting_code=is_starting_code(self.installation, self.lab, self.language, self.folder),
            build=BuildFacts(kernel=Build("ok", "", "")),
            runs=[],
        )

    @property
    def threads(self) -> int:
        """Return the number of threads of a team: the number of the machine's cores."""
        return int(self.node["cores"])

    @property
    def evidence(self) -> Evidence:
        """Return the evidence of the runs so far."""
        return read_record.evidence_of(self.record, self.parsed)

    @contextlib.contextmanager
    def exclusive_times(self) -> Iterator[None]:
        """Hold the machine's exclusive lock from the first call of wait_for_node to the end of the
        block, unless times are refused. So a grading that needs no new times waits for nothing."""
        with contextlib.ExitStack() as held:
            is_waited_for = False

            def wait() -> None:
                nonlocal is_waited_for
                if not is_waited_for and self.timing_refused is None:
                    is_waited_for = True
                    held.enter_context(self.node_lock.exclusive(self.progress))

            self.wait_for_node = wait
            yield

    @contextlib.contextmanager
    def spending(self, activity: str) -> Iterator[None]:
        """Count the time of a block as spent on an activity."""
        start = time.monotonic()
        try:
            yield
        finally:
            self.spent_s[activity] = self.spent_s.get(activity, 0.0) + time.monotonic() - start

    def handed(self, file: str) -> HandedText:
        """Return a file as it was handed in with the kernel; handed_files.read_files has to have
        read it."""
        return next(text for text in self.record.handed_in if text.file == file)

    def keep_for_others(self, name: str, taken: Sequence[AnyRunRecord]) -> None:
        """Keep runs under a name, for gradings that share `controls`."""
        self.controls[name] = list(taken)

    def take_kept(self, name: str) -> bool:
        """Add to the record the runs that a grading with the same `controls` kept under a name.
        Returns whether the name is there."""
        self.record.runs += self.controls.get(name, [])
        return name in self.controls

    def read_again(self, run: AnyRunRecord) -> None:
        """Have the evidence of a run read again, since its record has changed."""
        self.parsed.pop(id(run), None)

    def verdict(self) -> Verdict:
        """Judge the evidence that has been recorded so far."""
        with self.spending("judging"):
            return judge.judge(self.lab, self.evidence)

    @property
    def place_words(self) -> str:
        """Return " on MACHINE" for a virtual machine, to end a phrase; empty for this machine."""
        return "" if self.machine is None else f" on {self.place.name}"

    # ---- build -------------------------------------------------------------

    def build(self) -> bool:
        """Build the kernel, and record how that went. Returns whether it could be built. Raises
        what build_kernel and build_facts raise."""
        self.progress("building")
        with self.spending("build"):
            built = build_kernel(
                self.installation, self.lab, self.language, self.folder, self.sandbox,
                choose_file(self.installation, self.lab, self.folder, KERNEL_FILES[self.language]),
            )  # fmt: skip
            kernel = Build(built.status, built.message, built.output)
            self.record.build = BuildFacts(kernel=kernel, **build_facts(self.installation))
        return built.status == "ok"

    def program(self, role: str, suffix: str = "") -> Path:
        """Return the path of a role's program. suffix: of its name, for programs that are built in
        another way (Kind.program); the reference loop's has none."""
        if role == PROBE:
            return self.installation.probe_worker(self.lab.name)
        variant = {SUBMISSION: "submission", HANDOUT: "handout"}.get(role, "solution")
        return self.installation.worker(self.lab.name, self.language, variant + suffix)

    def build_own(self, *roles: str) -> None:
        """Build the programs of roles other than the submission's. Raises what build_targets
        raises."""
        with self.spending("build"):
            build_targets(self.installation, sorted({self.program(role).name for role in roles}))

    def build_own_for(self, kind: Kind[Any]) -> None:
        """Build the solution as runs of a kind need it. Raises what build_targets raises."""
        name = self.program(SOLUTION, kind.program).name
        with self.spending("build"):
            build_targets(self.installation, [f"{name}-built" if kind.program else name])

    # ---- runs of the monitor -----------------------------------------------

    def run(
        self,
        kind: Kind[Any],
        options: Sequence[str],
        environment: dict[str, str],
        baseline: Baseline | None = None,
        pus: Sequence[int] = (),
        **facts: Any,
    ) -> bool:
        """Run the monitor, repeat the run where it says nothing about the kernel, and keep its
        records. Returns whether the outcomes in the record that counts are "ok".

        Raises Interrupted for Ctrl-C, NumalabError where numalab failed and the student's program
        is not at fault, and without `baseline` what build_targets raises.

        Args:
            kind: of the run.
            options, environment: of the monitor; the sandbox's options are added.
            baseline: options and environment of the baseline; None: the same run with the solution
                in the submission's place.
            pus: numbers of the PUs that the monitor and its workers may use; empty: all.
            facts: what else the record says of the run.
        """
        sandboxed = [] if self.sandbox is None else self.sandbox.monitor_options()
        run = monitor.MonitorRun(
            kind.run or kind.name, [*sandboxed, *options], environment, facts, pus, self.sandbox
        )

        def baseline_run() -> monitor.MonitorRun:
            if baseline is None:
                self.build_own_for(kind)
                program = self.program(SOLUTION, kind.program)
                return monitor.replace_submission(run, SOLUTION, program)
            words, variables = baseline()
            return monitor.MonitorRun(run.run, [*sandboxed, *words], variables)

        record = self._run_against_baseline(kind, run, baseline_run)
        return record is not None and all(outcome.status == "ok" for outcome in outcomes(record))

    def _baseline_succeeds(self, baseline_run: Callable[[], monitor.MonitorRun]) -> bool:
        """Run a baseline, and tell whether it comes to its end. It is not recorded."""
        try:
            record = monitor.run_monitor(self.installation, self.lab, baseline_run(), self.place)
        except NumalabError:
            return False
        return all(outcome.status == "ok" for outcome in outcomes(record))

    def _run_against_baseline(
        self,
        kind: Kind[Any],
        run: monitor.MonitorRun,
        baseline_run: Callable[[], monitor.MonitorRun],
    ) -> AnyRunRecord | None:
        """Return the record of a run that counts. Where numalab failed in a run of the student's
        program, decide by a baseline which of them is at fault. None: the monitor gave no record,
        and the student's program is at fault."""
        if not monitor.is_of_submission(run):
            return self._run_until_valid(kind, run)
        for attempt in range(1, MAX_ATTEMPTS + 1):
            record, lost = None, ""
            try:
                record = self._run_until_valid(kind, run)
            except monitor.NoRecord as error:
                lost = str(error)
            if record is not None and (
                self.is_held_up or not (numalab_failures(record) or ended_at_start(record))
            ):
                if attempt > 1 and isinstance(record, TimingRun):
                    record.second_try = True
                break
            if not self._baseline_succeeds(baseline_run):
                if record is None:
                    raise monitor.NoRecord(lost)
                monitor.check_room(run, self.place, STARTED_BYTES)
                excuse_submission(record)
                break
            # Launch files are repeated one by one: that one of them fails says nothing of another.
            reason = f"kit_failed {run.facts.get('file', '')}"
            retry = (kind.name, None if record is None else record.part, reason)
            if attempt == MAX_ATTEMPTS or retry in self.retried:
                if record is None:
                    self.record.monitor_lost = lost
                else:
                    blame_submission(record)
                break
            if record is not None:
                record.tried_again = "kit_failed"
            if kind is not TIMED_ROUND:
                self.retried.add(retry)
            self.progress(f"once more, since {_WHY_AGAIN['kit_failed']}{self.place_words}")
        return record

    def _run_until_valid(self, kind: Kind[Any], run: monitor.MonitorRun) -> AnyRunRecord:
        """Return the record of a run that counts, or of the last one that was paused: repeat it
        after pauses, and once at most where it was late or disturbed. Records of runs before it are
        kept, too. A repeated round of timing is marked (`second_try`) where its repetition could be
        the submission's doing."""
        is_round = kind is TIMED_ROUND
        pauses, is_repeated, is_second_try, self.is_held_up = 0, False, False, False
        while True:
            record = monitor.run_monitor(self.installation, self.lab, run, self.place)
            self.record.runs.append(record)
            if is_second_try and isinstance(record, TimingRun):
                record.second_try = True
            self.paused_s += paused_s(record)
            why = why_again(kind, record)
            if why == "paused":
                pauses += 1
                self.held_up += is_round
                is_second_try = is_second_try or (is_round and self.held_up > FREE_STALLS)
                self.is_held_up = pauses > MOST_PAUSED_RUNS
                if self.is_held_up:
                    return record
            elif why is None or is_repeated or doubted(kind, record) & self.retried:
                return record
            else:
                is_repeated = True
                if is_round:
                    is_second_try = (kind.name, record.part, SUBMISSION) in doubted(kind, record)
                else:
                    self.retried |= doubted(kind, record)
            record.tried_again = why
            self.progress(f"once more, since {_WHY_AGAIN[why]}{self.place_words}")

    # ---- results -----------------------------------------------------------

    @property
    def results(self) -> Path:
        """Return the folder in which the grading is kept; for a virtual machine one in that of the
        local grading."""
        folder = self.installation.results_folder(self.lab.name, self.language, self.variant)
        return folder if self.machine is None else folder / f"on_{self.place.name}"

    def continue_earlier(self) -> None:
        """Begin with the rounds of an earlier grading of the same program, decided or not, unless
        times are to be taken afresh. Sets the record's fingerprint."""
        now = fingerprints(
            self.installation,
            self.lab,
            self.program(SUBMISSION),
            self.node,
            self.effort,
            self.threads,
            self.record,
        )
        self.record.fingerprint = now[0]
        if self.afresh:
            return
        found = earlier_times([self.results, *self.earlier], now)
        self.record.runs += found.runs
        self.record.earlier_times = tuple(found.taken)

    def _set_aside(self) -> None:
        """Rename the previous record where replacing it could lose times: it has a fingerprint, and
        this grading another or none."""
        before = self.results / RECORD
        record = read_json(before)
        kept = record.get("fingerprint") if isinstance(record, dict) else None
        if kept is not None and kept != self.record.fingerprint:
            before.replace(self.results / OTHER_RECORD)

    def keep(self, verdict: Verdict) -> None:
        """Store record and verdict in `results`, each file whole. Raises NumalabError where they
        can't be written."""
        try:
            self.results.mkdir(parents=True, exist_ok=True)
            self._set_aside()
            write_json(self.results / RECORD, read_record.record_json(self.record), indent=None)
            write_json(self.results / "verdict.json", verdict.json_data())
        except OSError as error:
            raise NumalabError(
                f"the results can't be kept in {self.results}: {error.strerror}"
            ) from error
