"""One submission from file to verdict: build, evidence, timing, judgement."""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import numalab
from numalab.errors import Interrupted, KitError
from numalab.evidence import read_record
from numalab.evidence.record import (
    CONTROL,
    HANDOUT,
    SCHEMA_VERSION,
    SOLUTION,
    SUBMISSION,
    Evidence,
    Json,
)
from numalab.files import write_json
from numalab.grading import handed_in, mpi_runs
from numalab.grading.handout import unchanged_files
from numalab.grading.turns import NOBODY_ELSE, Turns
from numalab.harness import monitor
from numalab.harness.build import build_facts, build_kernel, build_kit
from numalab.harness.sandbox import Sandbox, level_of
from numalab.judging import judge, thread_goals
from numalab.judging.effort import Effort
from numalab.judging.verdict import Verdict
from numalab.kit import Kit
from numalab.labs.declaration import Lab
from numalab.words import StepReport

VIRTUAL_TRACED_PAGES = "384"  # each costs a millisecond or two under emulation
TRACE_ORDERS = ("natural", "ascending", "descending")
MOST_PLACEMENTS = 8  # where other load leaves the work share open
LEAST_RACE_THREADS = 4
LEVEL_THREADS = 4  # enough to see who calls MPI


@dataclass(frozen=True)
class _Setup:
    """How a generation's processes are started. programs: of each role; placement: in the
    place of the lab's environment; options: more of the monitor's, by role."""

    programs: dict[str, Path]
    threads: int
    placement: Mapping[str, str] | None
    options: dict[str, list[str]]


@dataclass
class Session:
    """What one grading has seen so far; kept when it is interrupted."""

    kit: Kit
    lab: Lab
    language: str
    variant: str
    folder: Path  # of the kernel that is graded
    effort: Effort
    node: Json
    progress: StepReport
    parts: tuple[str | None, ...] = ()  # whose kernel is run here; empty: all
    timing_refused: str | None = None  # why nothing may be timed on this node
    place: monitor.Place = monitor.HERE
    machine: Json | None = None  # what stands behind a virtual node
    sandbox: Sandbox | None = None  # what workers and compilers run in on this node
    turns: Turns = NOBODY_ELSE  # with other gradings on this node
    # Runs of the kit's own, which are the same for all kernels of a call.
    controls: dict[str, list[Json]] = field(default_factory=dict)
    data: Json = field(default_factory=dict)
    spent_s: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        environment = monitor.worker_environment(self.lab, self.threads)
        self.parts = self.parts or self.lab.kernel_parts
        self.data = {
            "schema": SCHEMA_VERSION,
            "kit_version": numalab.__version__,
            "lab": self.lab.name,
            "language": self.language,
            "variant": self.variant,
            "size": self.effort.size,
            "quick": self.effort.quick,
            "started_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": self.machine,
            "node": {key: value for key, value in self.node.items() if key != "evidence"},
            "environment": monitor.recorded_environment(environment),
            "sandbox": level_of(self.sandbox) if self.machine is None else "virtual_machine",
            "timing_refused": self.timing_refused,
            "timing_error": None,
            "race_error": None,
            "handed_in": [],
            "unchanged_files": unchanged_files(self.kit, self.lab, self.language, self.folder),
            "build": {"kernel": {"status": "ok", "message": "", "output": ""}},
            "runs": [],
        }

    @property
    def threads(self) -> int:
        return int(self.node["cores"])

    @property
    def evidence(self) -> Evidence:
        return read_record.parse(self.data)

    @contextlib.contextmanager
    def spending(self, on: str) -> Iterator[None]:
        start = time.monotonic()
        try:
            yield
        finally:
            self.spent_s[on] = self.spent_s.get(on, 0.0) + time.monotonic() - start

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
            built = build_kernel(self.kit, self.lab, self.language, self.folder, self.sandbox)
            self.data["build"] = {
                "kernel": {
                    "status": built.status, "message": built.message, "output": built.output
                },
                **build_facts(self.kit),
            }  # fmt: skip
        return built.status == "ok"

    def program(self, role: str, suffix: str = "") -> Path:
        variant = {SUBMISSION: "submission", HANDOUT: "handout"}.get(role, "solution")
        return self.kit.worker(self.lab.name, self.language, variant + suffix)

    def _build_own(self, *roles: str) -> None:
        with self.spending("build"):
            build_kit(self.kit, sorted({self.program(role).name for role in roles}))

    # ---- evidence ----------------------------------------------------------

    def monitor(
        self, run: str, program: Path, role: str, options: list[str], environment: dict[str, str]
    ) -> bool:
        """One run of one role; True if the worker came to its end."""
        options = [*monitor.worker_option(role, program), *options]
        done = self._run_monitor(run, options, environment)
        self.data["runs"].append(done)
        return bool(done["outcome"]["status"] == "ok")

    def _run_monitor(self, run: str, options: list[str], environment: dict[str, str]) -> Json:
        kept_apart = [] if self.sandbox is None else self.sandbox.monitor_options()
        return monitor.run_monitor(
            self.kit, self.lab, run, [*kept_apart, *options], environment, self.place
        )

    def _run(
        self,
        run: str,
        role: str,
        part: str | None,
        *more: str,
        limit_s: float = 0,
        threads: int = 0,
    ) -> bool:
        """As monitor, for evidence. Waiting threads sleep, so that CPU time is work and a
        thread at a barrier can be told."""
        size = "quick" if self.effort.quick else "default"  # of traces, whatever is timed
        virtual = ["--soft-ends", "--traced-pages", VIRTUAL_TRACED_PAGES]
        limit_s = (limit_s or self.effort.phase_limit_s) * self.place.slowness
        threads = threads or self.threads
        options = [
            *monitor.common_options(part, threads, size, limit_s),
            *(virtual if self.machine is not None else []),
            *more,
        ]
        is_shared = run == "thread_level"  # by ranks, whose threads need not take the same cores
        environment = monitor.worker_environment(
            self.lab, threads, passive=True, placement={} if is_shared else None
        )
        return self.monitor(run, self.program(role), role, options, environment)

    def _look(self, role: str, part: str | None) -> None:
        """All evidence of one kernel that the lab's criteria ask for."""
        if judge.is_needed("trace", self.lab, part):
            for order in TRACE_ORDERS:
                if not self._run("trace", role, part, "--order", order):
                    return
        if judge.is_needed("placement", self.lab, part):
            for _ in range(MOST_PLACEMENTS):
                if not self._run("placement", role, part):
                    return
                evidence = self.evidence if role == SUBMISSION else self.evidence.as_control()
                if not judge.needs_another_look(self.lab, evidence, part):
                    break
        if judge.is_needed("locate", self.lab, part):
            self._run("locate", role, part)
        if judge.is_needed("memory", self.lab, part):
            self._run("memory", role, part)
        if self.machine is None and judge.is_needed("thread_level", self.lab, part):
            self._run("thread_level", role, part, threads=LEVEL_THREADS)

    def gather_evidence(self) -> None:
        for part in self.parts:
            of_part = f"{part}: " if part else ""
            with self.spending("evidence"):
                if self.machine is None:  # elsewhere only what has been checked here is run
                    self.progress(f"{of_part}checking results")
                    limit_s = self.effort.check_limit_s
                    if not self._run("check", SUBMISSION, part, limit_s=limit_s):
                        continue
                    if judge.is_needed("synchronous_check", self.lab, part):
                        self.progress(f"{of_part}looking for deadlocks")
                        more = "--synchronous-sends"
                        self._run("check", SUBMISSION, part, more, limit_s=limit_s)
                doing = self._looking_at(part)
                if doing is not None:
                    self.progress(f"{of_part}{doing}{self.there}")
                self._look_at_kits_memory(part)
                self._look(SUBMISSION, part)
            if judge.needs_control(self.lab, self.evidence, part):
                self._look_at_control(part)
            if self.machine is None and judge.is_needed("race", self.lab, part):
                self.progress(f"{of_part}looking for data races")
                with self.spending("data races"):
                    self._look_for_races(part)

    def _look_at_kits_memory(self, part: str | None) -> None:
        """The kit's own kernels just before the submission: huge pages may have run out by
        now, and the report shows what they are worth."""
        if self.machine is None and judge.is_needed("memory", self.lab, part):
            self._build_own(SOLUTION, HANDOUT)
            for role in (HANDOUT, SOLUTION):
                self._run("memory", role, part)

    def _looking_at(self, part: str | None) -> str | None:
        for run, doing in (
            ("trace", "tracing who touches which page"),
            ("memory", "looking at its memory"),
            ("locate", "asking where its threads are"),
            ("placement", "looking how the work is shared"),
            ("thread_level", "looking who calls MPI"),
        ):
            if judge.is_needed(run, self.lab, part):
                return doing
        return None

    def _look_at_control(self, part: str | None) -> None:
        name = f"{self.program(SOLUTION).name} {part or ''}"
        if name in self.controls:
            self.data["runs"] += self.controls[name]
            return
        try:
            self._build_own(SOLUTION)
        except KitError:
            return  # nothing to compare with; timing will tell why
        self.progress(f"looking at the solution{self.there}, to compare")
        before = len(self.data["runs"])
        with self.spending("evidence"):
            self._look(SOLUTION, part)
        self.controls[name] = self.data["runs"][before:]

    # ---- data races ----------------------------------------------------------

    def _look_for_races(self, part: str | None) -> None:
        program = self.program(SUBMISSION, "-race")
        if not self.data["build"].get("race_compiler"):
            self.data["race_error"] = (
                "Data races are found by clang's ThreadSanitizer, and it is not there beside the "
                "kit's OpenMP runtime; ./numalab setup installs it where it can."
            )
        elif self.data["race_error"] is None:
            try:
                build_kit(self.kit, [f"{program.name}-built"], self.sandbox)
            except KitError as error:
                self.data["race_error"] = (
                    "Data races can't be looked for, since the kernel does not compile with "
                    f"ThreadSanitizer: {_first_error(str(error))}"
                )
        if self.data["race_error"] is not None:
            return
        threads = max(self.threads, LEAST_RACE_THREADS)
        environment = monitor.worker_environment(self.lab, threads, passive=True)
        environment["TSAN_OPTIONS"] = monitor.RACE_OPTIONS
        options = monitor.common_options(part, threads, "quick", self.effort.phase_limit_s)
        self.monitor("race", program, SUBMISSION, options, environment)

    # ---- timing ------------------------------------------------------------

    def _setup(self, timed: judge.Timed, roles: Sequence[str]) -> _Setup | None:
        """How a generation's processes are started. None: not at all on this node."""
        own = {role: self.program(role) for role in roles}
        kits = dict.fromkeys(roles, self.program(SOLUTION))
        placements = self.lab.timed_placements
        if timed.slow is not None:
            plans = mpi_runs.plans_of_roles(self, timed)
            if plans is None:
                return None
            more = {
                role: [
                    *monitor.launch_options(role, plans[role]),
                    *monitor.set_options(role, plans[role].environment),
                ]
                for role in roles
            }
            return _Setup(kits, plans[SOLUTION].threads, {}, more)
        if self.lab.launch is not None:
            plan = mpi_runs.kits_plan(self)
            more = {role: monitor.launch_options(role, plan) for role in roles}
            return _Setup(own, plan.threads, plan.environment, more)
        if placements is not None:
            environments = handed_in.timed_environments(self)
            more = {role: monitor.set_options(role, environments[role]) for role in roles}
            team = thread_goals.team_of(placements.fast.goal, self.node)
            return _Setup(kits, team, {}, more)
        return _Setup(own, self.threads, None, {})

    def _generation(
        self, timed: judge.Timed, setup: _Setup, roles: Sequence[str], cut_s: float | None
    ) -> None:
        environment = monitor.worker_environment(self.lab, setup.threads, placement=setup.placement)
        options = [
            *(
                word
                for role in roles
                for word in monitor.worker_option(role, setup.programs[role])
            ),
            *(word for role in roles for word in setup.options.get(role, [])),
            *(["--cut", f"{SUBMISSION}:{cut_s:g}"] if cut_s is not None else []),
            *monitor.common_options(
                timed.part, setup.threads, self.effort.size, self.effort.phase_limit_s
            ),
            "--repetitions", str(self.effort.repetitions),
            "--budget-s", f"{self.effort.generation_s:g}",
            *(["--one-at-a-time"] if self.effort.one_at_a_time else []),
        ]  # fmt: skip
        done = self._run_monitor("generation", options, environment)
        if timed.slow is not None:
            done["slow"] = timed.slow
        self.data["runs"].append(done)

    def take_times(self) -> None:
        roles = {
            timed: judge.timing_roles(self.lab, self.evidence, timed)
            for timed in judge.timings(self.lab)
        }
        if not any(roles.values()):
            return
        try:
            self._build_own(*({role for of in roles.values() for role in of} - {SUBMISSION}))
        except KitError as error:
            self.data["timing_error"] = str(error)
            return
        self._continue_earlier()
        for timed, of_timed in roles.items():
            setup = self._setup(timed, (*of_timed, CONTROL)) if of_timed else None
            if setup is not None:
                with self.spending("timing"):
                    self._take_times_of(timed, setup, of_timed)

    def _take_times_of(self, timed: judge.Timed, setup: _Setup, roles: Sequence[str]) -> None:
        """The control joins once it is to tell whose fault it is that nothing is decided."""
        effort = self.effort
        least = effort.least_generations
        what = " against ".join(name for name in (timed.part, timed.slow) if name)
        start = time.monotonic()
        evidence = self.evidence
        for number in range(1, effort.most_generations + 1):
            at_least = f" of {least} or more" if number <= least else ""
            self.progress(f"{what}{': ' if what else ''}timing, generation {number}{at_least}")
            is_open = judge.timed_generations(self.lab, evidence, timed) >= least
            self._generation(
                timed,
                setup,
                (*roles, CONTROL) if is_open else roles,
                judge.timing_cut_s(self.lab, evidence, timed),
            )
            spent_s = time.monotonic() - start
            evidence = self.evidence
            if judge.timing_is_decided(self.lab, evidence, timed):
                return
            enough = number >= least
            if spent_s > effort.budget_s * (1 if enough else 3):
                return

    # ---- keeping -----------------------------------------------------------

    @property
    def _results(self) -> Path:
        folder = self.kit.results_folder(self.lab.name, self.language, self.variant)
        return folder if self.machine is None else folder / f"on_{self.place.name}"

    def _fingerprint(self) -> str:
        """Changes with anything that makes earlier generations no longer count."""
        digest = hashlib.sha256()
        programs = {self.program(role) for role in (SUBMISSION, SOLUTION, HANDOUT)}
        slow = {c.slow for c in self.lab.criteria if c.slow is not None}
        files = {self.kit.lab_folder(self.lab.name) / name for name in slow}
        files |= {self.kit.solution_folder(self.lab.name) / one.name for one in self.lab.files}
        for path in sorted(programs | files | {self.kit.monitor(self.lab.name)}):
            digest.update(path.read_bytes() if path.is_file() else b"-")
        digest.update(json.dumps(self.data["handed_in"]).encode())
        level = level_of(self.sandbox)
        facts = (self.effort, self.threads, self.node["name"], numalab.__version__, level)
        digest.update(repr(facts).encode())
        return digest.hexdigest()

    def _continue_earlier(self) -> None:
        """A session that ended undecided is taken up again where it stopped."""
        self.data["fingerprint"] = self._fingerprint()
        try:
            verdict = json.loads((self._results / "verdict.json").read_text(encoding="utf-8"))
            earlier = json.loads((self._results / "evidence.json").read_text(encoding="utf-8"))
        except (OSError, json.JSONDecodeError):
            return
        is_open = any(c["status"] == "inconclusive" for c in verdict["criteria"])
        if is_open and earlier.get("fingerprint") == self.data["fingerprint"]:
            self.data["runs"] += [r for r in earlier["runs"] if r["kind"] == "generation"]

    def keep(self, verdict: Verdict) -> None:
        """Stores evidence and verdict, each renamed into place. Raises KitError."""
        try:
            self._results.mkdir(parents=True, exist_ok=True)
            write_json(self._results / "evidence.json", self.data, indent=None)
            write_json(self._results / "verdict.json", verdict.to_json())
        except OSError as error:
            raise KitError(
                f"the results can't be kept in {self._results}: {error.strerror}"
            ) from error


def _first_error(said: str) -> str:
    """The line of a compiler's output that says most."""
    lines = said.splitlines()
    return next((line for line in lines if "error:" in line.lower()), lines[-1]).strip()


def grade(session: Session, with_times: bool = True) -> Verdict:
    """Does all there is to do and judges; without times: all but racing the solution. Raises
    Interrupted; what was seen until then is in the session and can be judged."""
    try:
        handed_in.read_files(session)
        if session.build():
            session.gather_evidence()
        handed_in.gather_placements(session)
        turns = session.turns if session.timing_refused is None else NOBODY_ELSE
        with turns.alone(session.progress):
            mpi_runs.time_messages(session)
            if with_times:
                session.take_times()
    except (KeyboardInterrupt, Interrupted) as error:
        session.data["interrupted"] = True
        raise Interrupted from error
    return session.verdict()


def time_kits_own(session: Session, timed: judge.Timed, roles: Sequence[str]) -> Iterator[Evidence]:
    """Takes generations of the kit's own programs, which are built already, as a grading takes
    them and as many as are asked for; yields the evidence, with the newest at the end of its
    generations. session: of the solution, with its files read. There are none where a launch
    has no meaning on the node. Raises KitError and Interrupted."""
    setup = session._setup(timed, roles)
    while setup is not None:
        session._generation(timed, setup, roles, None)
        yield session.evidence
