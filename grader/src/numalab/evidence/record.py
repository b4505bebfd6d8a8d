"""What is judged: the evidence of a grading. format.py has the record that it is read from
(read_record), and says which roles there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal, Protocol, TypeVar, cast

from numalab.evidence.checked_pages import CheckedPages
from numalab.evidence.cpusets import Cpusets
from numalab.evidence.format import Build, EarlierTimes, HandedText, SeededNode
from numalab.evidence.numa_nodes import usable_numa_nodes
from numalab.evidence.placed_pages import Placing
from numalab.evidence.run_formats import (
    AnyRunRecord,
    BindingRun,
    Outcome,
    RanksRun,
    ResultsRecord,
    Thread,
    TimedRole,
    WhyLeftOut,
)
from numalab.evidence.traced_pages import TracedArray

SUBMISSION, SOLUTION, CONTROL, HANDOUT = "submission", "solution", "control", "handout"
PROBE = "probe"

Json = dict[str, Any]


@dataclass(frozen=True)
class Trace:
    """A run that traces who writes and uses which page.

    Attributes:
        closings: moments of the compute phases at which the pages in use were closed, so that
            their next use shows; None: the method can't close any, it did not come to that, or an
            older record does not tell.
    """

    part: str | None
    outcome: Outcome
    results: ResultsRecord
    n: int
    threads: tuple[Thread, ...]
    method: str
    order: str
    sees_write_after_read: bool
    arrays: tuple[TracedArray, ...]
    team: int
    closings: int | None = None


@dataclass(frozen=True)
class CpuTime:
    """What one thread did with its time in the compute phases, in seconds.

    Attributes:
        cpu_s: on a core.
        runqueue_wait_s: waiting for a core.
        steal_s: steal time: its core was taken by the hypervisor.
        longest_s: cpu_s of the calls in which no other thread had more, nor an earlier one as much.
        demand_s: the sum of the first three without waits for threads of its own team, in each
            call at most the cpu_s of the call's longest thread.
    """

    cpu_s: float
    runqueue_wait_s: float
    steal_s: float
    longest_s: float
    demand_s: float

    @property
    def lost_s(self) -> float:
        """Return the time for which the thread was kept from its core."""
        return self.runqueue_wait_s + self.steal_s


@dataclass(frozen=True)
class SingleThread:
    """The same kernel with one thread, run in turns with its team.

    Attributes:
        cpu_s: mean CPU time of a call with one thread; None: no call ended.
        team_cpu_s: mean CPU time of a call of the team's process.
        ended_cpu_s: CPU time of the team's process, over all calls, that belongs to no thread
            which still existed after the call.
    """

    outcome: Outcome
    cpu_s: float | None
    team_cpu_s: float
    ended_cpu_s: float = 0.0


@dataclass(frozen=True)
class Placement:
    part: str | None
    outcome: Outcome
    results: ResultsRecord
    n: int
    threads: tuple[Thread, ...]
    residency: dict[str, tuple[int, ...]] | None  # NUMA node of each checked page; -1: absent
    checked_pages: dict[str, CheckedPages]
    cpu_time: tuple[CpuTime, ...]  # of each thread in the compute phases
    team: int
    single_thread: SingleThread | None = None


@dataclass(frozen=True)
class TimedRound:
    """One round: each program that is compared ran once, their repetitions interleaved, or all of
    one after those of another.

    Attributes:
        slow: numalab's launch of the role HANDOUT, where launches are compared.
        bytes_moved: bytes that a repetition moves between cores and memory.
        bytes_allocated: those of them that stores fetch before they write (write-allocate); None:
            an earlier record, whose bytes_moved leaves them out.
        loads_in_chain: loads of a repetition each of which waits for the one before; 0 where the
            kernel is not about latency.
        elapsed_s: timed repetitions of each role, in order, with the one that was cut.
        cut: roles whose last repetition took longer than allowed, and was ended.
        is_retry: the round was taken again, after a first try that the submission had spoilt.
        taken_s: by role, how long the round waited for it in all.
    """

    part: str | None
    slow: str | None
    n: int
    bytes_moved: int
    roles: dict[str, TimedRole]
    elapsed_s: dict[str, tuple[float, ...]]
    cut: frozenset[str] = frozenset()
    is_retry: bool = False
    taken_s: Mapping[str, float] = field(default_factory=dict)
    bytes_allocated: int | None = None
    loads_in_chain: int = 0

    @property
    def ok(self) -> bool:
        return all(part.outcome.ok for part in self.roles.values())


class KernelRun(Protocol):
    """What all runs of kernels have but timed ones."""

    @property
    def outcome(self) -> Outcome: ...


# Evidence of runs; that of most kinds is the record itself.
AnyRun = AnyRunRecord | Trace | Placement | Placing | Cpusets | TimedRound


Subject = Literal["kernel", "numalab", "probe", "all roles"]
Run = TypeVar("Run")
Read = TypeVar("Read", covariant=True)


@dataclass(frozen=True)
class Kind(Generic[Read]):
    """A kind of evidence: one row of the table in kinds.py.

    Attributes:
        name: also that of the run in records, and for the monitor, unless `run` is.
        parse: reads the record of one run.
        subject: which processes are observed.
        run: the name of the run, where several kinds share one.
        mark: field of the run's record that is set in this kind alone, of those that share a run.
        program: ending of the program's name, where the kernel is built in another way for it.
        counts_for_soundness: whether a bad end or a wrong result there counts against the kernel.
        doing: what the progress line says during such a run; empty: a grading makes these runs in
            another way.
        run_options: options of each run that a grading makes.
        max_runs: how many there are at most while the judge is undecided.
        baselines: roles whose kernels are run just before, to compare with.
        is_local_only: a virtual machine shows nothing that this machine does not.
        is_vm_only: only for a machine that nobody else uses.
        team: size of the team; None: one thread per core.
        is_unbound: nobody places its threads.
        is_timed: times are measured, which a pause of the machine spoils.
    """

    name: str
    parse: Callable[[Any], Read]
    subject: Subject
    run: str = ""
    mark: str = ""
    program: str = ""
    counts_for_soundness: bool = False
    doing: str = ""
    run_options: tuple[tuple[str, ...], ...] = ((),)
    max_runs: int = 1
    baselines: tuple[str, ...] = ()
    is_local_only: bool = False
    is_vm_only: bool = False
    team: int | None = None
    is_unbound: bool = False
    is_timed: bool = False


@dataclass(frozen=True)
class LeftOut:
    """A run that does not count (repeats.py has the rules).

    Attributes:
        slow: as in TimedRound.
        paused_s: how long the machine stood still during the run.
        is_last: whether none that counts follows of the same kind, role, part and launch.
    """

    kind: str
    role: str
    part: str | None
    slow: str | None
    why: WhyLeftOut
    paused_s: float
    is_last: bool


@dataclass(frozen=True)
class Evidence:
    """The evidence of one grading on one machine.

    Attributes:
        announces_cores: False where the processors of a virtual machine announce by CPUID cores
            that those of the real machine don't.
        timing_refused: why nothing was timed on this machine.
        timing_error: why numalab could not time anything.
        race_error: why data races can't be searched for; race_refused: the same, where the kernel
            is the reason.
        runs: runs by the name of their kind and their role, in order; see runs_of.
        unchanged_files: files that are still the starting code's.
        is_starting_code: whether everything handed in is starting code, whatever its comments and
            blanks.
        interrupted: whether the grading was interrupted before all runs were made.
        left_out: recorded runs that do not count, in order.
        earlier_times: rounds of earlier gradings that this one continued, oldest first.
        seeded_node: the machine that a file answers questions about.
        monitor_lost: how the monitor ended without a record, because of the kernel.
    """

    lab: str
    language: str
    variant: str
    size: str
    quick: bool
    node: Json
    is_virtual: bool
    announces_cores: bool
    timing_refused: str | None
    timing_error: str | None
    build: Build
    race_error: str | None
    handed_in: tuple[HandedText, ...]
    runs: Mapping[tuple[str, str], tuple[AnyRun, ...]]
    unchanged_files: frozenset[str] = frozenset()
    is_starting_code: bool = False
    interrupted: bool = False
    race_refused: str | None = None
    left_out: tuple[LeftOut, ...] = ()
    earlier_times: tuple[EarlierTimes, ...] = ()
    seeded_node: SeededNode | None = None
    monitor_lost: str | None = None

    def runs_of(self, kind: Kind[Run], role: str = SUBMISSION) -> tuple[Run, ...]:
        """Return all runs of a kind that count, in order.

        Args:
            role: SUBMISSION for the graded kernel; SOLUTION and HANDOUT for numalab's own, which
                ran in the same grading for comparison. Timed rounds of all roles, and of all
                launches that are compared, are under SUBMISSION.
        """
        return cast("tuple[Run, ...]", self.runs.get((kind.name, role), ()))

    def handed(self, file: str) -> HandedText | None:
        """Return the file that was handed in by this name; None: the record has none."""
        return next((text for text in self.handed_in if text.file == file), None)

    def having(self, kind: Kind[Run], runs: Iterable[Run], role: str = SUBMISSION) -> Evidence:
        """Return the evidence with other runs of a kind in the place of its own."""
        changed = cast("tuple[AnyRun, ...]", tuple(runs))
        return replace(self, runs={**self.runs, (kind.name, role): changed})

    def select_parts(self, *parts: str | None) -> Evidence:
        """Return the evidence that belongs to some of the lab's kernels."""
        return replace(
            self,
            runs={
                key: tuple(run for run in runs if run.part in parts)
                for key, runs in self.runs.items()
            },
            left_out=tuple(run for run in self.left_out if run.part in parts),
        )

    @property
    def is_held_up(self) -> bool:
        """Return whether the machine paused in some run, and no later run of its kind, role, part
        and launch counts."""
        return any(run.is_last and run.why == "paused" for run in self.left_out)

    def control_evidence(self) -> Evidence:
        """Return the evidence with the runs of the reference solution in the place of the
        submission's, its files without their contents, and nothing unchanged."""
        kept = {key: runs for key, runs in self.runs.items() if key[1] != SUBMISSION}
        of_solution = {
            (name, SUBMISSION): runs for (name, role), runs in kept.items() if role == SOLUTION
        }
        return replace(
            self,
            runs=kept | of_solution,
            handed_in=tuple(HandedText(file, None, {}) for file in sorted(self.control_files)),
            unchanged_files=frozenset(),
            is_starting_code=False,
        )

    @property
    def control_files(self) -> set[str]:
        """Return names of files for which the reference solution's version was run."""
        return {
            run.file
            for (_, role), runs in self.runs.items()
            if role == SOLUTION
            for run in runs
            if isinstance(run, BindingRun | Cpusets | RanksRun | Placing) and run.file
        }

    @property
    def numa_nodes(self) -> int:
        return usable_numa_nodes(self.node)


EvidenceByPlace = Sequence[tuple[str, Evidence]]  # by place, this machine first
