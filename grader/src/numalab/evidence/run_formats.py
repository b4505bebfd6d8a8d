"""The format of runs in a record; format.py has the record."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType, field

from numalab.evidence.node_format import Count, Object, Positive, Value

ELEMENT_BYTES = 8  # of a double
SLOT_BYTES = 64  # of an item: interconnect.h of lab 09

NumberOrNone = Annotated[int, Meta(ge=-1)]  # -1: none, or unknown
NonNegative = Annotated[float, Meta(ge=0)]
PositiveFloat = Annotated[float, Meta(gt=0)]
Digits = Annotated[str, Meta(pattern="^-?[0-9]{1,20}$")]  # where a double leaves digits out
Seed = Annotated[str, Meta(pattern="^[0-9a-f]{16}$")]
Uses = tuple[NumberOrNone, Count, Positive]
Group = Literal["job", "others"]  # control groups
Level = Literal["single", "funneled", "serialized", "multiple"]  # of thread support
LEVELS: tuple[Level, ...] = ("single", "funneled", "serialized", "multiple")  # the least first
JobEnd = Literal["ok", "late", "code", "printed", "node"]
RequestFault = Literal["never_completed", "given_up", "send_changed"]
# Why a run does not count: what follows it was done in its place. paused: the node stood still;
# kit_failed: numalab could not do its part, or a program of its own did not come to its end, where
# it did without the submission; else how the run ended.
WhyLeftOut = Literal["paused", "timed_out", "bad_protocol", "kit_failed"]


class RunRecord(Object, kw_only=True, tag_field="kind"):
    """What all runs have."""

    lab: str
    part: str | None  # which of the lab's kernels; None where there is one
    team: Positive  # threads that were asked for, in each rank; of LinkJob its ranks
    tried_again: WhyLeftOut | None = None


# ---- how a run ended -------------------------------------------------------------------


# By these numalab reports that it could not do its part: obstructed, where a kernel may have caused
# it; kit_error, where the monitor knows no way for a kernel to cause it, or its own kernel did not
# get further.
NUMALAB_FAILED = ("obstructed", "kit_error")


class FaultPlace(Object, kw_only=True):
    array: str
    element: int  # from 0; negative before the array
    elements: Count | None = None  # that the array has


class Outcome(Object, kw_only=True):
    """How the part of one worker, or one job, of a run ended."""

    status: Literal[
        "ok",
        "crashed",
        "exited",
        "timed_out",
        "out_of_memory",
        "too_much_output",
        "too_many_threads",
        "no_array",
        "array_gone",
        "untraceable",
        "bad_protocol",
        "obstructed",
        "cancelled",
        "kit_error",
    ]
    # of bad_protocol: it took CPU time, or was seen to run, while it was to stand still; it, or
    # an MPI launcher for it, started a process while times were taken, or ranks did so in a
    # sandbox; it had memory at two addresses where races are looked for or stores are noted. Not
    # there: another one, such as messages that are not its own
    disturbance: Literal["ran_while_stopped", "started_process", "mapped_twice"] | None = None
    ran_s: float | None = None  # of ran_while_stopped: the CPU time that it took
    # how the same run ended with numalab's own kernel in the place of the submission's, in turns
    # with it, where numalab failed; not there: not well, or not tried
    baseline_status: Literal["ok"] | None = None
    # how long the node, or this job on it, stood still during the run; not there: not at all, or
    # below 0.1 s at a time
    paused_s: PositiveFloat | None = None
    doing: str | None = None  # phase, or numalab's own step
    n: Count | None = None
    n_unit: str | None = None  # what n counts, if not elements
    ranks: Positive | None = None  # of the MPI job
    rank: Count | None = None  # which one is to blame
    signal: str | None = None
    threads: Count | None = None
    limit_threads: Count | None = None
    system_call: str | None = None  # that a sandbox has refused
    # of SIGILL: at an instruction of the program by which compilers end what is undefined; not
    # there: another, or not known
    is_trap: bool = False
    exit_code: int | None = None
    limit_s: float | None = None
    # of timed_out: CPU time of all threads over the cores that the team can use; or wall time in
    # which the monitor ran, too; earlier records mean wall time
    limit_of: Literal["cpu_time", "wall_time"] | None = None
    ranks_waiting: Positive | None = None  # that did not come out in time
    # not this one was too long, but all of the process together; not there: this one
    of_all_phases: bool = False
    went_on: bool = False  # ranks still asked for messages then
    resident_bytes: Count | None = None
    limit_bytes: Count | None = None
    array_bytes: Count | None = None
    makes_arrays: bool = False
    is_map_failed: bool = False
    error: str | None = None
    frames: list[Count] | None = None
    line: str | None = None  # file:line of the innermost frame in the kernel
    address: str | None = None
    access: Literal["read", "write"] | UnsetType | None = UNSET
    place: FaultPlace | UnsetType | None = UNSET
    printed: str | None = None  # the first 4096 bytes
    printed_bytes: Count

    @property
    def ok(self) -> bool:
        """Return whether the worker came to its end."""
        return self.status == "ok"

    @property
    def is_numalab_fault(self) -> bool:
        """Return whether numalab failed, so that the run says nothing of the student's work: its
        own kernel did not get further in the same place, or was not tried."""
        return self.status in NUMALAB_FAILED and self.baseline_status != "ok"

    @property
    def blames(self) -> bool:
        """Return whether the student's kernel is the cause, whichever process failed: with
        numalab's own kernel in its place the run came to its end."""
        return not self.ok and self.baseline_status == "ok"

    @classmethod
    def fine(cls) -> Outcome:
        """Return the outcome of what ran without a worker and came to its end, or needed no run."""
        return cls(status="ok", printed_bytes=0)


class FirstMismatch(Object, kw_only=True):
    array: str
    element: Count
    expected: float | Literal["NaN", "Infinity", "-Infinity"]
    actual: float | Literal["NaN", "Infinity", "-Infinity"]
    expected_digits: Digits | None = None
    actual_digits: Digits | None = None
    phase: str
    repetition: Count
    row: Count | None = None  # of an array with two dimensions
    row_name: str | None = None  # of a row that is not the rank's own
    column: Count | None = None
    rank: Count | None = None  # of the MPI job, to which element belongs
    remark: str | None = None  # what it means, in the lab's words


class IncompleteRequests(Value, frozen=True):
    """Requests of MPI that a rank has not completed as it has to."""

    # never_completed: when the phase ended; given_up: by MPI_Request_free, before they were
    # complete; send_changed: the buffer of a send changed before it was complete
    fault: RequestFault
    count: Positive
    call: str  # the function that started the first of them
    rank: Count
    phase: str  # in which it was noticed
    line: str = ""  # file:line in the kernel of that call; empty: unknown
    frames: tuple[Count, ...] = ()  # offsets into the worker's file


class TooFew(Value, frozen=True):
    """Messages of a rank, or bytes that it sent, of which its round trips take more."""

    required: Positive  # by its round trips
    observed: Count


class ResultsRecord(Object, kw_only=True):
    checked: Count  # elements compared
    n_unit: str = ""  # what n counts, if not elements
    mismatches: Count  # elements with another value than expected
    first_mismatch: FirstMismatch | None = None
    wrote_before_array: str | None = None
    wrote_after_array: str | None = None
    # of a rank: requests of MPI that it has not completed as it has to
    requests: IncompleteRequests | None = None
    # sent and received by a rank, fewer than its round trips take
    too_few_messages: TooFew | None = None
    too_few_bytes: TooFew | None = None  # sent by a rank, fewer than its round trips take
    # sent by a rank while two or more before them had not been answered
    messages_ahead: Count = 0
    # that is not memory of its own any more: what its address leads to is of a file, or two
    # places are the same
    replaced_array: str | None = None

    @property
    def is_without_messages(self) -> bool:
        """Return whether a rank's round trips lack messages, or did not wait for each other."""
        return bool(self.too_few_messages or self.too_few_bytes or self.messages_ahead)


class Thread(Value, frozen=True):
    """Where a thread of a worker may run, of its allowed PUs. core, package, numa_node: -1 where
    these span several, or it is unknown."""

    number: Count = field(name="thread")  # in order of creation; 0 is the main thread
    allowed_pus: tuple[Count, ...]
    core: int
    package: int
    numa_node: int
    last_pu: int = -1  # the PU it was last on; -1: unknown


# ---- check ----------------------------------------------------------------


class SentMessages(Object, kw_only=True):
    """to other ranks, by each; not there: messages are not followed, or an earlier record"""

    round_trips: Count  # repetitions of the pattern, in all calls
    messages: list[Count]


class CheckedSize(Object, kw_only=True):
    n: Count
    ranks: Positive | None = None
    results: ResultsRecord
    sent: SentMessages | None = None


class WorkerRun(RunRecord, kw_only=True):
    """A run of one role: of its kernel, or of numalab's program for it."""

    role: str
    outcome: Outcome


class CheckRun(WorkerRun, kw_only=True, tag="check"):
    seed: str
    synchronous_sends: bool = False  # whether every send waited for its receive
    checks: list[CheckedSize]


# ---- trace ----------------------------------------------------------------


class Origin(Value, frozen=True):
    """Where an access came from: the core and the NUMA node to which all PUs belong on which the
    thread might run at that moment; -1: they belong to several, or it is not known. Of in-process
    traces only the number of these PUs is known: as many as a core has, or fewer, are taken for the
    core's."""

    thread: Count
    pu: NumberOrNone  # on which the thread was
    core: NumberOrNone
    numa_node: NumberOrNone


class TracedPages(Object, kw_only=True):
    array: str
    # of the array; left out, as blocks: an older record, of all pages
    pages: Positive | None = None
    blocks: list[tuple[Count, Positive]] | None = None
    # [thread, pages] in page order, of the pages of the blocks
    first_writer: list[tuple[int, Positive]]
    users: list[tuple[list[Count], Positive]]  # [threads, pages] in page order
    # [first writer, user, times]: pages that were used again after they had been closed; of the
    # thread that was given the page last only if it had used it before; not there as closings
    used_again: tuple[Uses, ...] = ()
    # [origin, pages], as first_writer; -1: nobody. Not there, as used_from: an older record
    written_from: list[tuple[NumberOrNone, Positive]] | None = None
    used_from: list[tuple[list[Count], Positive]] | None = None  # [origins, pages], as users
    # [origin of the first write, of the use, times], as used_again
    used_again_from: tuple[Uses, ...] = ()


class TouchMap(Object, kw_only=True):
    method: Literal["userfaultfd", "in_process"]
    order: Literal["natural", "ascending", "descending"]
    # false: after a read of an untouched page its first write stays unseen
    sees_write_after_read: bool
    # moments of the compute phases at which all pages that were in use were closed, so that it
    # shows who goes on using them; not there: by another method, or an earlier record
    closings: Count | None = None
    # where accesses came from, numbered by their place in this list; not there: an older record
    origins: tuple[Origin, ...] = ()
    arrays: list[TracedPages]


class TraceRun(WorkerRun, kw_only=True, tag="trace"):
    seed: str | None = None  # n and which pages follow from it
    # with fewer threads than the node has cores, and as many cores as threads; left out: no
    another_team: bool = False
    # nearly all pages, of a kernel of numalab's, for predictions; left out: no
    whole: bool = False
    n: Count
    results: ResultsRecord
    threads: tuple[Thread, ...]
    touch_map: TouchMap | None = None


# ---- placement ------------------------------------------------------------


class ResidencyEntry(Object, kw_only=True):
    array: str
    # of the array; left out, as blocks: an older record, of all pages
    pages: Positive | None = None
    blocks: list[tuple[Count, Positive]] | None = None
    # [NUMA node, pages] in page order, of the pages of the blocks
    numa_node: list[tuple[int, Positive]]


class CpuTimeOfThread(Object, kw_only=True):
    thread: Count
    cpu_s: float
    runqueue_wait_s: float  # for a core to run on
    steal_s: float  # taken from its core by the hypervisor
    longest_s: float  # cpu_s of the calls in which no other thread had more, nor an earlier as much
    # cpu_s + runqueue_wait_s + steal_s, of each call at most the cpu_s of its longest thread;
    # without what it waited for others of its own team, in earlier records with it
    demand_s: float


class SingleThreadTimes(Object, kw_only=True):
    """the same kernel with one thread, in turns with the team"""

    computes: Count  # its compute phases
    cpu_s: float  # CPU time of its process in these
    # CPU time of the team's process in its compute phases, with that of threads which have ended
    team_cpu_s: float
    outcome: Outcome


class PlacementRun(WorkerRun, kw_only=True, tag="placement"):
    seed: str | None = None  # n and which pages follow from it
    n: Count
    computes: Count  # compute phases that cpu_time covers
    results: ResultsRecord
    threads: tuple[Thread, ...]
    residency: list[ResidencyEntry] | None
    cpu_time: tuple[CpuTimeOfThread, ...] = ()
    # the same kernel with one thread, in turns with the team
    one_thread: SingleThreadTimes | None = None


# ---- at work --------------------------------------------------------------


class ActiveThread(Object, kw_only=True):
    thread: Count
    works: Count  # moments after which it came to a closed page
    spins: Count  # moments after which it took CPU time and did not


class ActiveThreadsRun(WorkerRun, kw_only=True, tag="at_work"):
    n: Count
    computes: Count  # compute phases that were watched
    # at which all pages in use were closed; 0: this system refuses to, or it did not come to that
    moments: Count
    results: ResultsRecord
    threads: tuple[ActiveThread, ...] = ()


# ---- race -----------------------------------------------------------------


class RaceReport(Object, kw_only=True):
    accesses: list[str]  # file:line in the kernel


class RaceRun(WorkerRun, kw_only=True, tag="race"):
    """A run of a program that ThreadSanitizer watches; it ends at the first race."""

    sizes: list[Positive]  # that came to their end
    # whether a race of numalab's own, made in the end, was seen; null: it did not come to that;
    # not there: an older record
    searched: bool | None = None
    race: RaceReport | None = None  # where there is one, the outcome is not ok

    @property
    def has_race(self) -> bool:
        return self.race is not None


# ---- stores ---------------------------------------------------------------


class NotedLine(Object, kw_only=True):
    line: Count  # counted from the first of these
    stores: Positive
    # [thread, stores], of 32 threads at most, numbered from 1 on as they were first noted
    by_thread: list[tuple[int, int]]

    @property
    def thread_stores(self) -> dict[int, int]:
        """Return the stores by thread."""
        return dict(self.by_thread)


class Slots(Value, frozen=True):
    """Blocks of counters that a kernel names, one for each thread that has any."""

    count: Count
    bad_lengths: Count  # with another number of counters than the lab's
    unreadable: Count  # where no memory is
    least_keys: int  # the smallest sum of one thread's counters
    sums_right: bool  # the counters that were read add up to the results
    most_apart_bytes: Count  # from the beginning of one block to the next, at most
    on_stack: Count = 0  # on a thread's stack, which is gone when the kernel returns
    stores: Count = 0  # to lines that hold any of the counters, where stores were noted
    # keys counted in lines that hold counters of several threads, by all of these but the one that
    # counts most there
    shared_keys: Count = 0


class Overrun(Value, frozen=True):
    """Memory that the kernel wrote and that is not its own."""

    of: Literal["variables", "allocated"]  # beside its variables, or beside an allocated block
    bytes: Count = 0  # of that block


class OtherTeam(Value, frozen=True):
    """A call of the kernel with another number of threads."""

    threads: Positive
    slots: Slots
    overrun: Overrun | None = None


class StoresRun(WorkerRun, kw_only=True, tag="stores"):
    """A call of a kernel whose stores are noted, each by cache line and thread."""

    n: Positive
    threads: Positive  # of the kernel's regions, told to the runtime
    line_bytes: Positive
    lines: Count  # that were written
    stores: Count  # to all lines; one over the end of a line counts in both
    lost: Count  # stores for which there was no room
    shared_lines: Count  # written by several threads
    shared_stores: Count  # to these, of all but the thread that writes a line most
    most_written: list[NotedLine]
    # [bytes loaded of the first array, stores] of each thread that has any
    by_thread: list[tuple[Count, Count]]
    slots: Slots  # blocks of counters that the kernel names, of threads that have any
    # what the kernel wrote that is not its own memory: beside its variables, or beside a block
    # that it has allocated, of so many bytes; null: nothing. Earlier records do not tell
    overrun: Overrun | None = None
    # other numbers of threads, and what the kernel then says of its blocks; it ends with one that
    # brought it to a bad end, or with which it wrote beside its memory
    teams: tuple[OtherTeam, ...] = ()
    # how it ended with the last of them, where it did not go on
    teams_outcome: Outcome | None = None
    teams_results: ResultsRecord | None = None  # with these, where any element is wrong
    # whether stores of numalab's own, made in the end, were noted; null: it did not come to that
    noted: bool | None
    results: ResultsRecord

    @property
    def shared_share(self) -> float:
        """Return shared_stores per element."""
        return self.shared_stores / self.n

    @property
    def counting_threads(self) -> int:
        """Return how many threads load at least half of an equal part of what is counted and,
        where it is counted in memory and not in registers, also store as large a part."""
        loaded = sum(load for load, _ in self.by_thread)
        stored = sum(store for _, store in self.by_thread)
        least_load = loaded / 2 / self.threads
        least_store = stored / 2 / self.threads if 2 * stored > self.n else 0
        return sum(load >= least_load and store >= least_store for load, store in self.by_thread)


# ---- placing --------------------------------------------------------------


class FilledNode(Object, kw_only=True):
    numa_node: Count  # that the matrix is handed to
    free_bytes: Count  # of that, before
    page_bytes: Positive | None = None  # as of the run
    # of the matrix: [NUMA node, pages], -1: absent; left out: it did not come to that, or the
    # system does not tell
    pages: list[tuple[int, Positive]] | None = None


class PlacingRun(WorkerRun, kw_only=True, tag="placing"):
    """Where memory is that a kernel has placed, or the policy of its process."""

    # that the process's policy is from; left out: it is a kernel that places memory
    file: str = ""
    n: Count
    page_bytes: Positive
    # whether the matrix has more than the free memory of the NUMA node that it is handed to, and
    # nothing else is done
    fills_node: bool
    # NUMA node that each thread of the team ran on, before anything was placed; null: it did not
    # come to that
    thread_nodes: list[Count] | None
    policies_before: list[str | None] | None
    policies_after: list[str | None] | None
    residency: list[ResidencyEntry] | None
    fill: FilledNode | None
    # NUMA node with the most bandwidth for the first thread, by hwloc's memory attributes; null:
    # they do not tell
    fastest_node: int | None
    # NUMA nodes of the process's policy that the machine lacks, so that nothing was started
    refused_nodes: str | None
    threads: tuple[Thread, ...]
    results: ResultsRecord


# ---- cpusets --------------------------------------------------------------


class GroupRefusal(Value, frozen=True):
    """What Linux refused to write into a file of a control group."""

    group: Group
    file: str  # cgroup.procs: the program itself was not taken in
    value: str
    error: str  # errno's name, or "unknown"


class GroupProgram(Object, kw_only=True):
    group: Group
    threads: Count
    allowed_pus: list[Count]  # of all threads together, by /proc
    allowed_numa_nodes: list[Count]  # of their memory, by /proc
    ran_on_pus: list[Count]  # that a thread was seen on, in the group
    # of what it wrote before it was put into the group
    pages_at_first: list[tuple[int, Positive]] | None
    pages_of_first_half: list[tuple[int, Positive]] | None  # of the same, in the end
    pages_of_second_half: list[tuple[int, Positive]] | None  # of what it wrote in the group
    cpus: str | None
    mems: str | None
    partition: str | None


class CpusetsRun(WorkerRun, kw_only=True, tag="cpusets"):
    """What control groups leave two programs of numalab's own on a virtual machine: a job, and one
    that asks for everything. Both run and hold memory before they are put into their groups."""

    file: str
    # what Linux refused to write into a file of a group, in order; cgroup.procs: to take a
    # program in
    refusals: list[GroupRefusal]
    programs: Annotated[list[GroupProgram], Meta(min_length=2, max_length=2)]


# ---- series ---------------------------------------------------------------


class DrawnSeries(Value, frozen=True):
    """A series that the monitor drew, and what the kernel answered."""

    kind: str  # as the lab's driver names it
    length: Count  # elements
    truth: Annotated[tuple[int, ...], Meta(min_length=1)]  # the right answer, number by number
    answers: tuple[int, ...]  # the kernel's


class SeriesRun(WorkerRun, kw_only=True, tag="series"):
    """A kernel's answers about series that the monitor draws, in the order of the questions."""

    seed: Seed  # by which all was drawn
    series: list[DrawnSeries]


# ---- stops ----------------------------------------------------------------


class StopsRun(WorkerRun, kw_only=True, tag="stops"):
    """A kernel that detects stops of its thread, which the monitor makes at drawn moments."""

    seed: Seed  # by which all was drawn
    # the longest between two readings of the clock by the monitor itself, before
    gap_s: NonNegative
    least_s: NonNegative  # of what counts as a stop, as the kernel was told
    watch_s: NonNegative  # for which it was to watch
    # for which it did, and what it took to ask it; 0: it did not come to that
    elapsed_s: NonNegative
    # by how much the clock that it was given was ahead of the monitor's in the end: what stops
    # made by that clock took, which are among the stops; earlier records have none
    ahead_s: NonNegative = 0.0
    # [at least, at most] of each, in seconds of the monitor's clock: from when the worker was
    # seen to stand still to when it was told to go on; and with both signals and what the thread
    # waited for a core right before and behind; either with what the worker's clock went ahead
    # meanwhile
    stops: list[tuple[float, float]]
    # the same of interruptions that were made to be too short to count; on a busy node one may be
    # long enough; earlier records have none
    too_short: tuple[tuple[float, float], ...] = ()
    # by the kernel: how many, and nanoseconds in all; null: it did not come to that
    reported: tuple[int, int] | None
    runqueue_wait_s: NonNegative  # for which the thread waited for a core meanwhile
    # so many stops more may have been found in waits for a core that lie apart from the stops and
    # are not much shorter than the least that counts; earlier records do not tell
    arguable_stops: Count | None = None
    arguable_s: NonNegative | None = None  # what those waits took
    # for which the host of a virtual machine took the core, in steps of 10 ms
    taken_s: NonNegative

    @property
    def stopped_s(self) -> tuple[float, float]:
        """Return the (least, most) duration of all stops together."""
        return sum(least for least, _ in self.stops), sum(most for _, most in self.stops)

    @property
    def lost_s(self) -> float:
        """Return how long the machine kept the thread from its core, as far as it may count."""
        waited_s = self.runqueue_wait_s if self.arguable_s is None else self.arguable_s
        return waited_s + self.taken_s

    @property
    def more_stops(self) -> float:
        """Return how many further stops the kernel may have detected while the machine kept its
        thread from its core."""
        if self.arguable_stops is None:
            return self.lost_s / self.least_s
        return self.arguable_stops + self.taken_s / self.least_s


# ---- MPI job on two virtual nodes -----------------------------------------


class TransferMismatch(Value, frozen=True):
    """The first item that rank 1 does not have as rank 0 does. Lengths in numbers."""

    item: Count
    length: int  # in rank 1
    expected_length: Positive
    number: Count | None  # the first wrong number; None: only the length is wrong


class LinkJob(WorkerRun, kw_only=True, tag="on_link"):
    """An MPI job of two ranks on two virtual machines: rank 0 hands items of random bits to rank 1.
    The relay between the two counts."""

    # late: not within the limit; code: another one than 0; printed: more than anybody reads;
    # node: a node has ended
    end: JobEnd
    code: Count  # of mpiexec
    output: str  # of the job, its first words
    limit_s: PositiveFloat
    items: Positive
    payload_bytes: Positive  # of the items, what is in use
    # items that rank 1 has not got as they are; null: it did not come to that
    mismatches: Count | None
    first_mismatch: TransferMismatch | None
    sent_bytes: Count  # by node 1: whole Ethernet frames, with the job's start and end
    sent_frames: Count
    received_bytes: Count  # by node 1

    @property
    def bytes_ratio(self) -> float:
        """Bytes that node 1 sent for each byte of the items."""
        return self.sent_bytes / self.payload_bytes

    @property
    def overhead_bytes(self) -> float:
        """Bytes that node 1 sent for each item, beyond its own."""
        return (self.sent_bytes - self.payload_bytes) / self.items


# ---- binding --------------------------------------------------------------


class BindingRun(WorkerRun, kw_only=True, tag="binding"):
    """Where the threads of numalab's program may run under a placement file."""

    file: str
    runtime: Literal["libomp", "libgomp"]
    threads: tuple[Thread, ...]


# ---- locate ---------------------------------------------------------------


class LocatedThread(Value, frozen=True):
    """Where a thread was, and where the kernel reported it."""

    thread: Count
    pu: Count
    numa_node: int
    reported_pu: int
    reported_numa_node: int


class LocateRun(WorkerRun, kw_only=True, tag="locate"):
    """Threads, each bound to one PU in every one of `rounds`, and what the kernel told of them."""

    seed: str
    rounds: tuple[tuple[LocatedThread, ...], ...]
    # in which each thread could use two PUs; pu: where the worker saw it before the call and
    # after it; none: there is one PU only, it did not come to that, or an earlier record
    free_rounds: tuple[tuple[LocatedThread, ...], ...] = ()

    @property
    def all_rounds(self) -> tuple[tuple[LocatedThread, ...], ...]:
        return (*self.rounds, *self.free_rounds)


# ---- memory ---------------------------------------------------------------


class KernelTable(Value, frozen=True):
    """One life of the arrays that a kernel makes, observed from outside. resident: with hugetlbfs,
    memory files, segments and child processes."""

    n: Positive
    bytes: Positive
    huge_bytes: Count
    create_s: float
    initialize_s: float
    compute_s: float
    initialize_page_faults: Count
    resident_before_bytes: Count
    resident_during_bytes: Count
    resident_after_bytes: Count
    address_space_before_bytes: Count
    address_space_after_bytes: Count
    # None of the next three: an earlier record
    resident_created_bytes: Count | None = None  # before the arrays are initialized
    advised_bytes: Count | None = None  # in mappings for which huge pages were asked
    page_offset_bytes: Count | None = None  # of the first array from the start of its page


class MemoryRun(WorkerRun, kw_only=True, tag="memory"):
    """What the arrays take that the kernel makes, and what is left when it gave them back."""

    huge_pages_allowed: bool
    results: ResultsRecord
    tables: list[KernelTable]


class PageTablePhase(Object, kw_only=True):
    # release: only of arrays that the kernel makes
    phase: Literal["allocate", "initialize", "compute", "release"]
    page_table_bytes: Count


class PageTablesLife(Object, kw_only=True):
    n: Positive
    bytes: Positive  # of all arrays
    page_table_before_bytes: Count
    phases: list[PageTablePhase]

    @property
    def most_bytes(self) -> int:
        """Return by how many bytes page tables exceeded those before after a phase, at most."""
        before = self.page_table_before_bytes
        return max((phase.page_table_bytes for phase in self.phases), default=before) - before


class PageTablesRun(WorkerRun, kw_only=True, tag="page_tables"):
    """What a process's page tables take (VmPTE), before its arrays are there and after each phase.
    For each transparent huge page Linux keeps a table in store and counts it, so the numbers do not
    tell it from small ones in its place."""

    huge_pages_allowed: bool
    results: ResultsRecord
    tables: list[PageTablesLife]  # lives of the arrays, one after the other in one process


# ---- thread levels --------------------------------------------------------


class MpiCalls(Value, frozen=True):
    """Calls of MPI to communicate, by one rank."""

    main: Count  # by the main thread, outside parallel regions
    main_in_parallel: Count
    other: Count  # by other threads
    at_once: Count  # while another thread was inside MPI


class RankLevel(Value, frozen=True):
    """The level of thread support that a rank asked for and got; MPI_Init asks for single. None: it
    has not started MPI."""

    rank: Count
    requested: Level | None
    provided: Level | None
    answer: int | None  # of the kernel's start
    threads: Positive
    calls: MpiCalls


class OtherLevel(Value, frozen=True):
    """A rank for which MPI was to provide another level than the kernel asked for."""

    requested: Level | None
    provided: Level | None
    answer: int | None  # of the kernel's start


class ThreadLevelRun(WorkerRun, kw_only=True, tag="thread_level"):
    """The level of thread support that the kernel asked MPI for, and its threads' calls of MPI."""

    ranks: list[RankLevel]
    # of an earlier record, in place of other_levels: what the start returned when the library
    # provided one level less; null: not tried
    answer_to_less: int | None = None
    # each rank once more, with a library that provides less, or more, than it is asked for
    other_levels: list[OtherLevel] | None = None
    # how the kernel ended its program there, or crashed, if it did
    ended_with_other_level: Outcome | None = None

    @property
    def tried_levels(self) -> tuple[OtherLevel, ...]:
        """Return other_levels; an older record has at most one, of rank 0, one level lower."""
        if self.other_levels is not None:
            return tuple(self.other_levels)
        requested = self.ranks[0].requested if self.ranks else None
        if self.answer_to_less is None or requested in (None, "single"):
            return ()
        less = LEVELS[LEVELS.index(requested) - 1]
        return (OtherLevel(requested, less, self.answer_to_less),)


# ---- launches -------------------------------------------------------------


class Rank(Value, frozen=True):
    """A rank of an MPI job, with its threads in the order of their creation."""

    number: Count = field(name="rank")
    threads: tuple[Thread, ...]


class RanksRun(WorkerRun, kw_only=True, tag="ranks"):
    """Where the ranks of numalab's program may run under a launch file."""

    file: str
    refused: str | None  # why the launch can't be meant on the node; nothing was run then
    ranks: tuple[Rank, ...]


class TimedMessages(Object, kw_only=True):
    bytes: Count
    repetitions: Positive  # round trips
    elapsed_s: PositiveFloat
    warm_up: bool


class LatencyRun(WorkerRun, kw_only=True, tag="latency"):
    """A ping-pong of numalab's: a message takes elapsed_s / (2 * repetitions) one way."""

    file: str | None  # the launch file that it ran under; null: numalab's own launch
    ranks: tuple[Rank, ...]
    samples: list[TimedMessages]

    @property
    def message_us(self) -> dict[int, list[float]]:
        """Return one-way times of a message in microseconds by its size in bytes, in its order."""
        times: dict[int, list[float]] = {}
        for one in sorted(self.samples, key=lambda sample: sample.bytes):
            if not one.warm_up:
                us = 1e6 * one.elapsed_s / (2 * one.repetitions)
                times.setdefault(one.bytes, []).append(us)
        return times


# ---- rates ----------------------------------------------------------------


class Mix(Value, frozen=True, order=True):
    """Arrays of doubles that a loop only reads, only writes, and reads and writes."""

    loads: Count
    stores: Count
    updates: Count

    @property
    def bytes_moved(self) -> int:
        """Bytes that an iteration moves between cores and memory, with ordinary stores, which
        fetch their line first, where the arrays fill no cache."""
        return ELEMENT_BYTES * (self.loads + 2 * self.stores + 2 * self.updates)

    @property
    def argument(self) -> str:
        """The mix as the probe reads it."""
        return f"{self.loads}+{self.stores}+{self.updates}"


class ProbedLoop(Object, kw_only=True):
    loads: Count
    stores: Count
    updates: Count
    # of each repetition, after one that warms up
    elapsed_s: Annotated[list[PositiveFloat], Meta(min_length=1)]


class ProbedProcess(Object, kw_only=True):
    """A process of common/probe/mixes.c."""

    threads: Positive
    thread_pus: list[Count]  # where each thread was in the end
    bytes_on_huge_pages: Count
    loops: Annotated[list[ProbedLoop], Meta(min_length=1)]


class ReferenceRatesRun(WorkerRun, kw_only=True, tag="lightspeed"):
    """Loops that rates are computed from, and loops that a student's model predicts."""

    seed: str  # by which was drawn what is predicted
    array_bytes: Annotated[int, Meta(ge=8)]  # of each array of the pool
    arrays: Positive  # of the pool, which loops go through in turns
    unseen: list[Mix]  # that are predicted; empty: it was interrupted before that
    generations: list[ProbedProcess]  # each a fresh process


class SaturationRound(Object, kw_only=True):
    # fresh ones, in the order in which they ran
    processes: Annotated[list[ProbedProcess], Meta(min_length=1)]


class SaturationRun(WorkerRun, kw_only=True, tag="saturation"):
    """A triad over threads of one NUMA node, by numalab's probe."""

    seed: str  # by which was drawn what is predicted
    array_bytes: Annotated[int, Meta(ge=8)]  # of each array of the pool
    arrays: Positive  # of the pool, which loops go through in turns
    pus: list[Count]  # one of each core that threads may have
    # of which numbers of threads were drawn; empty: it did not come to that
    curve: list[ProbedProcess]
    # numbers of threads that are predicted; none: none tells models apart, or as curve
    drawn: list[Annotated[int, Meta(ge=2)]]
    generations: list[SaturationRound]


# ---- times ----------------------------------------------------------------


class TimedRole(Object, kw_only=True):
    role: str
    environment: dict[str, str]  # of this role, beside that of all
    initialize_s: float
    # the others go on where it does not come to its end, and its time neither adds rounds nor
    # takes any away; absent: no
    may_fail: bool = False
    # where the kernel says, after its last repetition, that its threads counted; of kernels that
    # say so
    slots: Slots | None = None
    # in all that the generation waited for it: until its processes were there, and for each
    # request; earlier records do not tell
    taken_s: NonNegative | None = None
    results: ResultsRecord
    outcome: Outcome


class TimedRepetition(Object, kw_only=True):
    role: str
    repetition: Count
    order: Count  # of all compute phases of the generation
    warm_up: bool
    cut: bool  # took longer than elapsed_s, and was ended; the role's last
    paused: bool = False  # the node paused in its round: it does not count. Not there: it did not
    started_s: float  # since the generation's start
    elapsed_s: PositiveFloat


class TimingRun(RunRecord, kw_only=True, tag="generation"):
    # numalab's launch of the role "handout", where launches of numalab's program are compared
    slow: str | None = None
    # the submission had spoilt the first, which was late, disturbed, or one in which the kit
    # failed, or may have, where a node paused again and again in several: not won, whatever its
    # times
    second_try: bool = False
    seed: str
    n: Count
    # by one compute phase, between cores and memory, with ordinary stores and where the arrays
    # fill no cache: read, written, and allocated; 0 where a rate would say nothing of memory.
    # Earlier records, without bytes_allocated, leave the allocated ones out
    bytes_moved: Count
    # of these, lines that are read only because a store fetches its line first (write-allocate)
    bytes_allocated: Count | None = None
    # loads of one compute phase each of which has its address from the one before it; 0 where the
    # phase is not about them, as in earlier records
    loads_in_chain: Count = 0
    one_at_a_time: bool
    # of repetitions, in which the node paused, and which were done once more; not there: earlier
    # records, of which a pause takes the whole generation
    paused_rounds: Count | None = None
    held_up: bool = False  # there were too many of them: the generation does not count
    roles: list[TimedRole]
    samples: list[TimedRepetition]


AnyRunRecord = (
    CheckRun | TraceRun | PlacementRun | ActiveThreadsRun | RaceRun | StoresRun | PlacingRun
    | CpusetsRun | SeriesRun | StopsRun | LinkJob | BindingRun | LocateRun | MemoryRun
    | PageTablesRun | ThreadLevelRun | RanksRun | LatencyRun | ReferenceRatesRun | SaturationRun
    | TimingRun
)  # fmt: skip
