"""One grading of one kernel at one place: what it has seen so far, one run of the monitor, and
what is kept of it."""

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
    HandedText,
    SessionRecord,
    ShownMachine,
)
from numalab.evidence.kinds import GENERATION
from numalab.evidence.read_record import Parsed
from numalab.evidence.record import HANDOUT, PROBE, SOLUTION, SUBMISSION, Evidence, Json, Kind
from numalab.evidence.refused import recorded_node
from numalab.evidence.repeats import (
    blame_submission,
    doubted,
    ended_at_start,
    excuse_submission,
    failed_for_kit,
    outcomes,
    paused_s,
    why_again,
)
from numalab.evidence.run_formats import AnyRunRecord, TimingRun, WhyLeftOut
from numalab.files import read_json, write_json
from numalab.grading.continuing import (
    OTHER_RECORD,
    RECORD,
    earlier_times,
    fingerprints,
)
from numalab.grading.found_files import found_file
from numalab.grading.handout import is_starting_code, unchanged_files
from numalab.grading.turns import NOBODY_ELSE, Turns
from numalab.harness import monitor
from numalab.harness.build import build_facts, build_kernel, build_targets
from numalab.harness.sandbox import Sandbox, level_of
from numalab.installation import Installation
from numalab.judging import judge
from numalab.judging.effort import Effort
from numalab.judging.verdict import Verdict
from numalab.labs.declaration import KERNEL_FILES, Lab
from numalab.words import StepReport

# A run lasts seconds, a generation often less than one. Where a node pauses in each of so many in a
# row, there is nothing to be had from it.
MOST_PAUSED_RUNS = 12

# So many generations that were lost to pauses are done again for nothing: a process that stops the
# monitor whenever it loses looks like a node that pauses again and again.
FREE_HELD_UPS = 2
# How often a run in which the kit failed takes turns with the same run of the kit's own kernel,
# before it is the student's.
TURNS = 2
# What libraries of a job may take of /dev/shm before a kernel is called: UCX 4 to 8 MB per rank.
STARTED_BYTES = 32 << 20

# Options and environment of a run that is the kit's own throughout. Raises NumalabError.
KitsOwn = Callable[[], tuple[Sequence[str], Mapping[str, str]]]

# Why something is done once more, after "since".
_AGAIN: dict[WhyLeftOut, str] = {
    "paused": "the node stood still meanwhile",
    "timed_out": "it did not come to its end in time",
    "bad_protocol": "the talk with its process was disturbed",
    "kit_failed": "the kit failed, and did not with a kernel of its own",
}


@dataclass
class Session:
    """What one grading has seen so far; kept when it is interrupted."""

    installation: Installation
    lab: Lab
    language: str
    variant: str
    folder: Path  # of the kernel that is graded
    effort: Effort
    node: Json
    progress: StepReport
    parts: tuple[str | None, ...] = ()  # whose kernel is run here; empty: all
    timing_refused: str | None = None  # why nothing may be timed on this node
    place: monitor.Place = monitor.THIS_MACHINE
    machine: ShownMachine | None = None  # what stands behind a virtual node
    sandbox: Sandbox | None = None  # what workers and compilers run in on this node
    turns: Turns = NOBODY_ELSE  # with other gradings on this node
    waits_its_turn: Callable[[], None] = lambda: None  # before anything is timed
    earlier: Sequence[Path] = ()  # records of other gradings of it, the newest first
    here_only: bool = False  # no virtual node may be booted
    afresh: bool = False  # whatever was kept, times begin anew
    explanation: str = ""  # what the student says of it
    # Runs of the kit's own, which are the same for all kernels of a call.
    controls: dict[str, list[AnyRunRecord]] = field(default_factory=dict)
    record: SessionRecord = field(init=False)
    parsed: Parsed = field(default_factory=dict)  # of its runs
    spent_s: dict[str, float] = field(default_factory=dict)
    paused_s: float = 0.0  # how long the node stood still while the monitor ran
    is_held_up: bool = False  # the node paused in the newest run, however often it was repeated
    held_up: int = 0  # generations that were lost to pauses of the node
    # Whose runs of which kind were done once more, since they ended in a doubtful way.
    benefited: set[tuple[str, str | None, str]] = field(default_factory=set)
    # What is put together needs the same: n of page evidence and the pages follow from it.
    seed: str = field(default_factory=lambda: secrets.token_hex(8))

    def __post_init__(self) -> None:
        environment = monitor.worker_environment(self.lab, self.threads)
        self.parts = self.parts or self.lab.kernel_parts
        known: dict[str, Any] = {
            "language": self.language, "variant": self.variant, "size": self.effort.size,
        }  # fmt: skip
        self.record = SessionRecord(
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
            elsewhere=None,  # until other places are asked
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
        return int(self.node["cores"])

    @property
    def evidence(self) -> Evidence:
        return read_record.evidence_of(self.record, self.parsed)

    @contextlib.contextmanager
    def turns_for_times(self) -> Iterator[None]:
        """Be alone on the node from the first call of waits_its_turn to the end: what needs no new
        times waits for nobody."""
        with contextlib.ExitStack() as alone:

            def wait() -> None:
                if not is_alone and self.timing_refused is None:
                    is_alone.append(True)
                    alone.enter_context(self.turns.alone(self.progress))

            is_alone: list[bool] = []
            self.waits_its_turn = wait
            yield

    @contextlib.contextmanager
    def spending(self, on: str) -> Iterator[None]:
        start = time.monotonic()
        try:
            yield
        finally:
            self.spent_s[on] = self.spent_s.get(on, 0.0) + time.monotonic() - start

    def handed(self, file: str) -> HandedText:
        """Return a file beside the kernel as it was handed in; files are read."""
        return next(text for text in self.record.handed_in if text.file == file)

    def keep_for_others(self, name: str, taken: Sequence[AnyRunRecord]) -> None:
        """Keep runs of numalab's own for the other kernels of a call."""
        self.controls[name] = list(taken)

    def take_kept(self, name: str) -> bool:
        """Take runs that an earlier kernel of the call has left. Returns whether there are any."""
        self.record.runs += self.controls.get(name, [])
        return name in self.controls

    def read_again(self, run: AnyRunRecord) -> None:
        """Note that a run has changed since its evidence was asked for."""
        self.parsed.pop(id(run), None)

    def verdict(self) -> Verdict:
        with self.spending("judging"):
            return judge.judge(self.lab, self.evidence)

    @property
    def there(self) -> str:
        return "" if self.machine is None else f" on {self.place.name}"

    # ---- build -------------------------------------------------------------

    def build(self) -> bool:
        self.progress("building")
        with self.spending("build"):
            built = build_kernel(
                self.installation, self.lab, self.language, self.folder, self.sandbox,
                found_file(self.installation, self.lab, self.folder, KERNEL_FILES[self.language]),
            )  # fmt: skip
            kernel = Build(built.status, built.message, built.output)
            self.record.build = BuildFacts(kernel=kernel, **build_facts(self.installation))
        return built.status == "ok"

    def program(self, role: str, suffix: str = "") -> Path:
        if role == PROBE:
            return self.installation.probe_worker(self.lab.name)
        variant = {SUBMISSION: "submission", HANDOUT: "handout"}.get(role, "solution")
        return self.installation.worker(self.lab.name, self.language, variant + suffix)

    def build_own(self, *roles: str) -> None:
        with self.spending("build"):
            build_targets(self.installation, sorted({self.program(role).name for role in roles}))

    def build_own_for(self, kind: Kind[Any]) -> None:
        """The solution, as it is looked at. Raises NumalabError."""
        if not kind.program:
            self.build_own(SOLUTION)
        else:
            with self.spending("build"):
                build_targets(
                    self.installation, [f"{self.program(SOLUTION, kind.program).name}-built"]
                )

    # ---- runs of the monitor -----------------------------------------------

    def run(
        self,
        kind: Kind[Any],
        options: Sequence[str],
        environment: dict[str, str],
        kits_own: KitsOwn | None = None,
        pus: Sequence[int] = (),
        **facts: Any,
    ) -> bool:
        """One run of the monitor, kept with what else is known of it; True if what it started
        came to its end. Done again where that says nothing of the kernel. kits_own: options and
        environment of what a failure of the kit is held against; None: the same run with the
        kit's own kernel. pus: which it may use, empty: all. Raises Interrupted and NumalabError."""
        kept_apart = [] if self.sandbox is None else self.sandbox.monitor_options()
        run = monitor.MonitorRun(
            kind.run or kind.name, [*kept_apart, *options], environment, facts, pus, self.sandbox
        )
        if kits_own is None:

            def own() -> monitor.MonitorRun:
                return self._with_kits_own(kind, run)

        else:

            def own() -> monitor.MonitorRun:
                words, variables = kits_own()
                return monitor.MonitorRun(run.run, [*kept_apart, *words], variables)

        record = self._held_against_kit(kind, run, own)
        return record is not None and all(outcome.status == "ok" for outcome in outcomes(record))

    def _with_kits_own(self, kind: Kind[Any], run: monitor.MonitorRun) -> monitor.MonitorRun:
        """Raises NumalabError."""
        self.build_own_for(kind)
        program = self.program(SOLUTION, kind.program)
        return monitor.replace_submission(run, SOLUTION, program)

    def _goes_well(self, own: Callable[[], monitor.MonitorRun]) -> bool:
        """Whether what is the kit's own comes to its end just now. Nothing of it is kept: it says
        nothing but that."""
        try:
            record = monitor.run_monitor(self.installation, self.lab, own(), self.place)
        except NumalabError:
            return False
        return all(outcome.status == "ok" for outcome in outcomes(record))

    def _held_against_kit(
        self, kind: Kind[Any], run: monitor.MonitorRun, own: Callable[[], monitor.MonitorRun]
    ) -> AnyRunRecord | None:
        """One run that counts. Where the kit fails in one of a student's, that takes turns with the
        same run of the kit's own: what fails each time, beside a kit that does not, is the
        student's doing; what fails with the kit's own, too, is the kit's. A kernel that brings it
        about when it loses gains nothing by it, as in _taken. None: there is no record, which is
        the student's doing. Raises NumalabError where it is not."""
        if not monitor.is_of_submission(run):
            return self._taken(kind, run)
        for turn in range(1, TURNS + 1):
            record, lost = self._taken_or_lost(kind, run)
            if record is not None and (
                self.is_held_up or not (failed_for_kit(record) or ended_at_start(record))
            ):
                if turn > 1 and isinstance(record, TimingRun):
                    record.second_try = True
                break
            if not self._goes_well(own):
                if record is None:
                    raise lost or NumalabError("the monitor gave no record")
                monitor.check_room(run, self.place, STARTED_BYTES)
                excuse_submission(record)
                break
            # A student's launch file is its own case: one that fails says nothing of another.
            what = f"kit_failed {run.facts.get('file', '')}"
            who = (kind.name, None if record is None else record.part, what)
            if turn == TURNS or who in self.benefited:
                self._blame_submission(record, lost)
                break
            if record is not None:
                record.tried_again = "kit_failed"
            if kind is not GENERATION:
                self.benefited.add(who)
            self.progress(f"once more, since {_AGAIN['kit_failed']}{self.there}")
        return record

    def _taken_or_lost(
        self, kind: Kind[Any], run: monitor.MonitorRun
    ) -> tuple[AnyRunRecord | None, monitor.NoRecord | None]:
        """A record, or why there is none."""
        try:
            return self._taken(kind, run), None
        except monitor.NoRecord as error:
            return None, error

    def _blame_submission(self, record: AnyRunRecord | None, lost: monitor.NoRecord | None) -> None:
        if record is not None:
            blame_submission(record)
        elif lost is not None:
            self.record.monitor_lost = str(lost)

    def _taken(self, kind: Kind[Any], run: monitor.MonitorRun) -> AnyRunRecord:
        """One run that counts, and before it those that do not, all kept. What a pause of the node
        has spoilt is done again, a number of times; what was late or disturbed once. A kernel that
        brings that about when it loses gains nothing by it: a generation can't be won by its
        second try, which that after a pause is, too, once there were several; and of other looks a
        session has one second try."""
        pauses, is_second, is_doubted, self.is_held_up = 0, False, False, False
        while True:
            record = monitor.run_monitor(self.installation, self.lab, run, self.place)
            self.record.runs.append(record)
            if is_doubted and isinstance(record, TimingRun):
                record.second_try = True
            self.paused_s += paused_s(record)
            why = why_again(kind, record)
            if why == "paused":
                pauses += 1
                self.held_up += kind is GENERATION
                is_doubted = is_doubted or (kind is GENERATION and self.held_up > FREE_HELD_UPS)
                self.is_held_up = pauses > MOST_PAUSED_RUNS
                if self.is_held_up:
                    return record
            elif why is None or is_second or doubted(kind, record) & self.benefited:
                return record
            else:
                is_second = True
                if kind is GENERATION:
                    is_doubted = (kind.name, record.part, SUBMISSION) in doubted(kind, record)
                else:
                    self.benefited |= doubted(kind, record)
            record.tried_again = why
            self.progress(f"once more, since {_AGAIN[why]}{self.there}")

    # ---- keeping -----------------------------------------------------------

    @property
    def results(self) -> Path:
        """The folder in which it is kept."""
        folder = self.installation.results_folder(self.lab.name, self.language, self.variant)
        return folder if self.machine is None else folder / f"on_{self.place.name}"

    def continue_earlier(self) -> None:
        """Begins with the times of an earlier session of the same, decided or not."""
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
        """The record before this one where it has times of something else, or this one came to
        none: somebody stopped it earlier, or the kernel was not right. Raises OSError."""
        before = self.results / RECORD
        record = read_json(before)
        kept = record.get("fingerprint") if isinstance(record, dict) else None
        if kept is not None and kept != self.record.fingerprint:
            before.replace(self.results / OTHER_RECORD)

    def keep(self, verdict: Verdict) -> None:
        """Stores evidence and verdict, each renamed into place. Raises NumalabError."""
        try:
            self.results.mkdir(parents=True, exist_ok=True)
            self._set_aside()
            write_json(self.results / RECORD, read_record.as_json(self.record), indent=None)
            write_json(self.results / "verdict.json", verdict.json_data())
        except OSError as error:
            raise NumalabError(
                f"the results can't be kept in {self.results}: {error.strerror}"
            ) from error
