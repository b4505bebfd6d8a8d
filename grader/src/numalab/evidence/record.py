"""What is judged: the evidence of a session, as frozen values. format.py has the records that it is
read from (read_record), and says which roles there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal, TypeVar, cast

from numalab.evidence.cpusets import Cpusets
from numalab.evidence.format import Build, EarlierTimes, HandedText, SeededNode
from numalab.evidence.live_stops import LiveStops
from numalab.evidence.mixes import ThreadRates, UnseenLoops
from numalab.evidence.numa_nodes import usable_numa_nodes
from numalab.evidence.placed_pages import Placing
from numalab.evidence.results import ComparedRun, KernelRun, Outcome, Results, RollEntry
from numalab.evidence.run_formats import (
    DrawnSeries,
    KernelTable,
    LocatedThread,
    OtherLevel,
    Rank,
    RankLevel,
    Slots,
    Thread,
    WhyLeftOut,
)
from numalab.evidence.sample import Sample
from numalab.evidence.store_notes import Stores
from numalab.evidence.traced_pages import TracedArray

SUBMISSION, SOLUTION, CONTROL, HANDOUT = "submission", "solution", "control", "handout"
PROBE = "probe"

Json = dict[str, Any]


@dataclass(frozen=True)
class Race:
    """A run that looks for data races. found: whether there was one; then the outcome is not ok.
    accesses: kernel lines of the two, as far as known. searched: whether it saw the one that the
    kit made when the kernel was done; None: it did not come to that, or an older record does not
    tell."""

    part: str | None
    outcome: Outcome
    found: bool
    accesses: tuple[str, ...]
    searched: bool | None = None


@dataclass(frozen=True)
class Memory(ComparedRun):
    huge_pages_allowed: bool
    tables: tuple[KernelTable, ...]


@dataclass(frozen=True)
class PageTablesOfLife:
    """What the process's page tables take, in bytes: before one life of the arrays, and after
    each of its phases (allocate, initialize, compute, release). Linux counts the small tables
    that it keeps in store for transparent huge pages, too. bytes: of all arrays."""

    n: int
    bytes: int
    before_bytes: int
    after_bytes: Mapping[str, int]

    @property
    def most_bytes(self) -> int:
        """That were added in any phase."""
        return max(self.after_bytes.values(), default=self.before_bytes) - self.before_bytes


@dataclass(frozen=True)
class PageTables(ComparedRun):
    lives: tuple[PageTablesOfLife, ...]


@dataclass(frozen=True)
class Series(KernelRun):
    """What a kernel answered, in the order in which the series were drawn, which is random."""

    series: tuple[DrawnSeries, ...]


@dataclass(frozen=True)
class Binding:
    """Where the threads of the kit's program may run under a placement file."""

    part: str | None
    outcome: Outcome
    file: str
    runtime: str
    threads: tuple[Thread, ...]
    team: int


@dataclass(frozen=True)
class Locate(KernelRun):
    """rounds: in which each thread was bound to a PU; free_rounds: in which it could use two, and
    was where the worker saw it."""

    rounds: tuple[tuple[LocatedThread, ...], ...]
    team: int
    free_rounds: tuple[tuple[LocatedThread, ...], ...] = ()

    @property
    def all_rounds(self) -> tuple[tuple[LocatedThread, ...], ...]:
        return (*self.rounds, *self.free_rounds)


@dataclass(frozen=True)
class Launched:
    """Where the ranks of the kit's program may run under a launch file. refused: why it
    can't be meant on the node, or None; team: threads that each rank is to have."""

    part: str | None
    outcome: Outcome
    file: str
    refused: str | None
    ranks: tuple[Rank, ...]
    team: int


@dataclass(frozen=True)
class ThreadLevel(KernelRun):
    """other_levels: with libraries that provide less than they are asked for, or more; empty: not
    tried. ended: how the kernel ended its program there, if it did."""

    ranks: tuple[RankLevel, ...]
    other_levels: tuple[OtherLevel, ...]
    ended: Outcome | None
    team: int


@dataclass(frozen=True)
class Latency:
    """A ping-pong of the kit's. file: the launch file that it ran under, None: the kit's own
    launch; one_way_us: of each size in bytes, what a message took, sample by sample."""

    part: str | None
    outcome: Outcome
    file: str | None
    ranks: tuple[Rank, ...]
    one_way_us: dict[int, tuple[float, ...]]
    team: int


@dataclass(frozen=True)
class Checked:
    """ranks: of the job, None where the lab has none. messages: that each of them has sent to
    others, in so many round_trips or repetitions of another pattern; empty: not followed."""

    n: int
    ranks: int | None
    results: Results
    messages: tuple[int, ...] = ()
    round_trips: int = 0


@dataclass(frozen=True)
class Check(KernelRun):
    checked: tuple[Checked, ...]

    @property
    def all_results(self) -> Iterable[tuple[Results, int | None, int | None]]:
        return ((checked.results, checked.n, checked.ranks) for checked in self.checked)


@dataclass(frozen=True)
class Trace(ComparedRun):
    """closings: moments at which the pages in use were closed while it computed; None: there were
    to be none."""

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
    """Of one thread: time on a core, waiting for one, and taken from its core by the host of a
    virtual machine. longest_s: cpu_s of the calls in which no other thread had more. busy_s: all
    three, without waiting for threads of its own team, of each call at most the cpu_s of its
    longest thread."""

    cpu_s: float
    waiting_s: float
    stolen_s: float
    longest_s: float
    busy_s: float

    @property
    def lost_s(self) -> float:
        """In which it was kept from its core."""
        return self.waiting_s + self.stolen_s


@dataclass(frozen=True)
class OneThread:
    """The same kernel with one thread, beside a team; CPU time of a call, None: none ended.
    ended_cpu_s: what of the team's, over all calls, is that of no thread which was there after
    them."""

    outcome: Outcome
    cpu_s: float | None
    team_cpu_s: float
    ended_cpu_s: float = 0.0


@dataclass(frozen=True)
class Placement(ComparedRun):
    n: int
    threads: tuple[Thread, ...]
    residency: dict[str, tuple[int, ...]] | None  # NUMA node of each page of these; -1: absent
    samples: dict[str, Sample]
    cpu_time: tuple[CpuTime, ...]  # of each thread in the compute phases
    team: int
    one_thread: OneThread | None = None


@dataclass(frozen=True)
class AtWork(ComparedRun):
    """Who works on the arrays at some moments of the compute phase; of each thread. moments: 0
    where nobody could look."""

    moments: int
    threads: tuple[RollEntry, ...]
    team: int


@dataclass(frozen=True)
class RolePart:
    outcome: Outcome
    results: Results
    initialize_s: float
    slots: Slots | None = None  # after its last repetition, of a kernel whose threads count


@dataclass(frozen=True)
class Generation:
    """slow: the launch that its handout ran under, where launches are compared. bytes_moved: by a
    repetition, between cores and memory; bytes_allocated: of these, lines that stores fetch before
    they write to them; None: an earlier record, whose bytes_moved leaves them out. loads_in_chain:
    of a repetition, loads that wait for one another; 0 where it is not about them."""

    part: str | None
    slow: str | None
    n: int
    bytes_moved: int
    roles: dict[str, RolePart]
    elapsed_s: dict[str, tuple[float, ...]]  # timed repetitions of each role, in order
    cut: frozenset[str] = frozenset()  # roles whose last took longer, and was ended
    is_second_try: bool = False  # the first was late, disturbed, or one of several held up
    taken_s: Mapping[str, float] = field(default_factory=dict)  # of each role: waited for it in all
    bytes_allocated: int | None = None
    loads_in_chain: int = 0

    @property
    def ok(self) -> bool:
        return all(part.outcome.ok for part in self.roles.values())


AnyRun = (
    Check | Trace | Placement | AtWork | Memory | PageTables | Locate | ThreadLevel | Race | Stores
    | Placing | Cpusets | Series | LiveStops | Binding | Launched | Latency | UnseenLoops
    | ThreadRates | Generation
)  # fmt: skip


Whose = Literal["kernel", "kit", "probe", "all roles"]
Run = TypeVar("Run")
Read = TypeVar("Read", covariant=True)


@dataclass(frozen=True)
class Kind(Generic[Read]):
    """A kind of evidence: one row of the table in kinds.py.

    name: the monitor's run, unless `run` names it, where several kinds share one: then mark is
    the field of the run's record that is set in this kind's alone. parse: one run's record.

    whose: whose processes are looked at; program: the ending of its name, where a kernel is built
    in another way for it; in_soundness: a bad end or a wrong result there speaks
    against the kernel. doing: what is told while a grading looks at a kernel so; empty: it is
    taken in a way of its own. looks: options of each look that is taken; most_looks: how often
    one is repeated while the judge leaves open what it shows. beside: the kit's own kernels that
    are looked at just before. here_only: nothing new shows on a virtual node; there_only: it is not
    for a node that others use. team: the size of the team, None: one thread per core; is_unbound:
    its threads are placed by nobody. is_timed: times are what is looked at, which a pause of the
    node spoils.
    """

    name: str
    parse: Callable[[Any], Read]
    whose: Whose
    run: str = ""
    mark: str = ""
    program: str = ""
    in_soundness: bool = False
    doing: str = ""
    looks: tuple[tuple[str, ...], ...] = ((),)
    most_looks: int = 1
    beside: tuple[str, ...] = ()
    here_only: bool = False
    there_only: bool = False
    team: int | None = None
    is_unbound: bool = False
    is_timed: bool = False


@dataclass(frozen=True)
class LeftOut:
    """A run that does not count (repeats.py has the rules). slow: as of Generation; paused_s: how
    long the node stood still in it; is_last: no run follows that counts."""

    kind: str
    role: str
    part: str | None
    slow: str | None
    why: WhyLeftOut
    paused_s: float
    is_last: bool


@dataclass(frozen=True)
class Evidence:
    """A session's record. runs: what was looked at, by the name of the kind and the role, in
    order; see of. announces_cores: unless a virtual node's processors announce by CPUID the cores
    that its machine's don't."""

    lab: str
    language: str
    variant: str
    size: str
    quick: bool
    node: Json
    is_virtual: bool
    announces_cores: bool
    timing_refused: str | None  # why nothing was timed on this node
    timing_error: str | None  # what of the kit kept it from being timed
    build: Build
    race_error: str | None  # why data races can't be looked for
    handed_in: tuple[HandedText, ...]
    runs: Mapping[tuple[str, str], tuple[AnyRun, ...]]
    unchanged_files: frozenset[str] = frozenset()  # still the handout's, byte for byte
    is_starting_code: bool = False  # all that was handed in, whatever comments and blanks it has
    interrupted: bool = False  # before all was seen
    race_refused: str | None = None  # why not, where that is the kernel's fault
    left_out: tuple[LeftOut, ...] = ()  # what is on record and not in runs, in order
    earlier_times: tuple[EarlierTimes, ...] = ()  # that it began with, oldest first
    seeded_node: SeededNode | None = None  # where a file answers questions about one
    monitor_lost: str | None = None  # how it ended without a record, by the kernel's doing

    def of(self, kind: Kind[Run], role: str = SUBMISSION) -> tuple[Run, ...]:
        """All runs of a kind. role: SUBMISSION is the kernel that is graded; SOLUTION and
        HANDOUT the kit's own in the same session, to compare with. Where launches are compared
        there is a generation for each, under SUBMISSION."""
        return cast("tuple[Run, ...]", self.runs.get((kind.name, role), ()))

    def handed(self, file: str) -> HandedText | None:
        """What was handed in by this name; None: the record has no such file."""
        return next((text for text in self.handed_in if text.file == file), None)

    def having(self, kind: Kind[Run], runs: Iterable[Run], role: str = SUBMISSION) -> Evidence:
        """The same with other runs of a kind."""
        changed = cast("tuple[AnyRun, ...]", tuple(runs))
        return replace(self, runs={**self.runs, (kind.name, role): changed})

    def of_parts(self, *parts: str | None) -> Evidence:
        """What belongs to some of the lab's kernels."""
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
        """Whether the node paused so often that something was not seen."""
        return any(run.is_last and run.why == "paused" for run in self.left_out)

    def as_control(self) -> Evidence:
        """The evidence of the kit's solution in the place of the submission's."""
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
        """Files of which the solution's has been tried."""
        return {
            run.file
            for (_, role), runs in self.runs.items()
            if role == SOLUTION
            for run in runs
            if isinstance(run, Binding | Cpusets | Launched | Placing) and run.file
        }

    @property
    def numa_nodes(self) -> int:
        return usable_numa_nodes(self.node)


Seen = Sequence[tuple[str, Evidence]]  # places and their evidence, this node first
