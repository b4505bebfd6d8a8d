"""The principles of numalab's rules: what a good answer to "why does that matter?" says, and what
to ask next."""

from __future__ import annotations

from numalab.judging import (
    correctness_rules,
    cpuset_rules,
    memory_rules,
    message_rules,
    model_rules,
    mpi_rules,
    page_rules,
    placing_rules,
    store_rules,
    thread_rules,
    timing_claims,
    work_rules,
)
from numalab.judging.principles import Principle, explain, principles
from numalab.judging.registry import Rule

_PRINCIPLES: dict[Rule, Principle] = {
    correctness_rules.correct: Principle(
        "A wrong result is wrong at any speed: nothing else of the kernel says anything before its "
        "results are right, for every n.",
        "Which n would you try first, and why? (A small and an odd one: bounds and rests show.)",
        ("correct", "result", "wrong", "bound"),
    ),
    page_rules.shared_out: Principle(
        "Only pages that a thread uses can be near it; where one thread does all the work there is "
        "nothing to place, and the memory controllers of the other NUMA nodes are idle.",
        "What if n were 100? (A loop that short is over before a team has started.)",
        ("parallel", "team", "share"),
    ),
    page_rules.touched_where_used: Principle(
        "A page is placed by the first write to it, near the thread that writes. So the loop that "
        "writes first has to give each thread what it uses later: as a rule by the same "
        "team, range and schedule.",
        "Why is 0.95 asked for, and not 1? (A page at the border of two shares has two users.)",
        ("touch", "first", "page", "initiali", "static", "written"),
    ),
    page_rules.local_pages: Principle(
        "A page lives on the NUMA node of the thread that wrote to it first. Remote pages are read "
        "over the link, and pages that crowd on one NUMA node have one memory controller for all.",
        "What could move pages later? (Automatic NUMA balancing, or calls such as move_pages.)",
        ("local", "remote", "numa", "node", "live", "controller"),
    ),
    timing_claims.SPEEDUP: Principle(
        "It is held against the geometric middle of the handout's and the solution's times, taken "
        "in turns on the same node: what it has to show is the effect of the lab, whatever the "
        "node's speed.",
        "Why the geometric middle? (It is as many times faster than the one as slower than the "
        "other.)",
        ("fast", "speed", "slow", "time"),
    ),
    timing_claims.EFFICIENCY: Principle(
        "It is the solution's time over the submission's, taken in turns on the same node. It says "
        "how near to the solution it comes, not how near to what the memory can do: that is "
        "lightspeed.",
        "What would be measured on a busy node? (Both get slower; the ratio stays, and its "
        "interval gets wide.)",
        ("fast", "speed", "efficien", "time"),
    ),
    thread_rules.located: Principle(
        "A thread can be moved between two calls, and machines number their PUs in different ways: "
        "so where it is has to be asked each time, in variables of the thread's own.",
        "When does an answer hold for good? (When the thread is bound to one PU.)",
        ("cpu", "where", "getcpu"),
    ),
    thread_rules.binding: Principle(
        "Places and their order are said in words, and the runtime asks the machine which PUs they "
        "are: so one file suits machines that number their PUs in other ways.",
        "What would a list of PU numbers do on another machine? (Name other cores: numbering "
        "differs between machines.)",
        ("place", "bind", "spread", "close", "core", "socket", "affinity"),
    ),
    correctness_rules.race_free: Principle(
        "Two threads that touch the same memory without an order, one of them writing, are an "
        "error even where the result happens to be right: it depends on who comes first.",
        "Why may a thousand right results prove nothing? (The bad order is rare, not impossible.)",
        ("race", "atomic", "private", "reduction"),
    ),
    work_rules.balanced: Principle(
        "The call ends with its last thread. Where iterations cost unequal work (in the lab "
        "row i has i terms), equal numbers of them are no equal shares; chunks that are dealt out "
        "while the loop runs even it out.",
        "What does schedule(dynamic,1) cost more than guided? (A call to the runtime per row.)",
        ("balanc", "guided", "dynamic", "triang", "schedule", "wait"),
    ),
    memory_rules.huge_pages: Principle(
        "A huge page is had only where 2 MiB of addresses are aligned and asked for before the "
        "first write; one entry of the TLB then covers 512 times as much.",
        "Why ask before the first write? (Small pages that are there already stay.)",
        ("huge", "tlb", "madvise", "align"),
    ),
    memory_rules.no_waste: Principle(
        "Each huge page that is begun takes 2 MiB, so what is rounded up or aligned has to stay "
        "small beside the table.",
        "What does it waste for a table of 5 MiB? (At most what fills up the last huge page.)",
        ("waste", "round"),
    ),
    memory_rules.released: Principle(
        "What is mapped has to be unmapped from where the mapping begins, with its whole length; "
        "an aligned address within it is not that.",
        "How would a leak show in a program that runs for days? (Addresses or memory only grow.)",
        ("free", "munmap", "release", "leak"),
    ),
    placing_rules.table_interleaved: Principle(
        "A table that all threads use at random has no right NUMA node: in turn on all of them, it "
        "has the bandwidth of all memory controllers.",
        "What share of the accesses is local with k NUMA nodes? (1/k, for every thread.)",
        ("interleav", "table"),
    ),
    placing_rules.blocks_local: Principle(
        "The pages are written already, so a policy alone does nothing: they have to be moved to "
        "the NUMA node of their thread.",
        "When is moving not worth it? (When the pages are used less often than moving costs.)",
        ("move", "migrat", "block"),
    ),
    placing_rules.handed_over: Principle(
        "Part of the matrix is written already: that has to be moved, and the rest needs a policy "
        "for its first touch.",
        "What happens when that NUMA node is full? (preferred falls back, bind does not.)",
        ("hand", "prefer", "matrix"),
    ),
    placing_rules.contained: Principle(
        "A policy of the thread holds for all that it touches later, a policy of a range for that "
        "range alone; so what is set for the thread has to be put back.",
        "Which call changes a range only? (mbind.)",
        ("policy", "mbind", "restore"),
    ),
    placing_rules.falls_back: Principle(
        "bind takes memory from the named NUMA node and from nowhere else, and the program is "
        "ended when it is full; preferred takes the next one.",
        "Which is better for a measurement? (bind: it fails rather than measure something else.)",
        ("bind", "prefer", "full"),
    ),
    placing_rules.fast_memory: Principle(
        "The nearest memory is not always the fastest for a stream: which one has most bandwidth "
        "for the caller the system tells, and no number in the code.",
        "And for a chain of loads? (Then latency counts, and the nearest may win.)",
        ("bandwidth", "hbm", "fast"),
    ),
    placing_rules.binary_interleaved: Principle(
        "A policy that a program is started with holds for all memory that it touches first, "
        "without a change of its code.",
        "What is interleaved that had better not be? (Stacks and private data, too.)",
        ("numactl", "interleav"),
    ),
    cpuset_rules.confined: Principle(
        "A cpuset says where a program may run, whatever it asks for; and words of the topology "
        "say it on any machine, where numbers of PUs are one machine's.",
        "Why not taskset? (A program may change its own affinity, and others are not kept out.)",
        ("cpuset", "cpus", "group", "pu"),
    ),
    cpuset_rules.memory_confined: Principle(
        "Which PUs a program may use says nothing of its memory: pages come from any NUMA node, "
        "and those that it had before it was confined stay, until mems leaves their node out.",
        "What does Linux do with pages that are on other nodes then? (It moves them.)",
        ("mems", "memory", "page", "node"),
    ),
    cpuset_rules.others_out: Principle(
        "A job has a node for itself only if everybody else is told to stay away, from its PUs and "
        "from its memory. A partition does the first, and nothing does the second by itself.",
        "What is left that disturbs the job? (Interrupts, and what all share: links, power.)",
        ("other", "partition", "mems", "exclusive"),
    ),
    mpi_rules.deadlock_free: Principle(
        "A send may wait for its receive. Where all send first it works only as long as the "
        "library buffers the message.",
        "At which size would it hang without a buffer? (Where the library changes to rendezvous.)",
        ("deadlock", "send", "receive", "buffer"),
    ),
    mpi_rules.launch: Principle(
        "Where ranks run is said when they are started; the launch file says it in words of the "
        "topology, so that it holds on every machine.",
        "How can a job see where its ranks are? (The launcher's report of bindings, or the mask of "
        "each process.)",
        ("rank", "launch", "bind", "map"),
    ),
    message_rules.predicted: Principle(
        "A message takes latency plus its bytes over the bandwidth; both come from measurements of "
        "other sizes.",
        "Which of the two counts for 8 bytes? (Latency.)",
        ("predict", "latency", "bandwidth"),
    ),
    mpi_rules.thread_level: Principle(
        "The least level that the calls need is asked for, and what the library provides may be "
        "less than that: it has to be looked at.",
        "Who calls MPI in your kernel? (If only the main thread does, FUNNELED is enough.)",
        ("funneled", "thread", "level", "init"),
    ),
    store_rules.no_shared_lines: Principle(
        "A core that writes needs the cache line for itself. Counters of several threads in one "
        "line go from core to core with each store, though no two threads share a counter.",
        "Why is there no data race? (No two threads write to the same bytes, only to one line.)",
        ("line", "false", "pad", "cache"),
    ),
    store_rules.slots_true: Principle(
        "The kit looks at where threads say that they count; so that has to be what is counted in.",
        "What would be seen if a thread counted elsewhere? (Its block would not add up.)",
        ("slot", "block"),
    ),
    store_rules.slots_apart: Principle(
        "One or two cache lines between blocks are enough; more only takes room in the caches.",
        "Why two lines rather than one? (Some processors fetch lines in pairs.)",
        ("pad", "apart", "waste"),
    ),
    timing_claims.CHAIN: Principle(
        "Each load needs the one before it, so their latencies add up: nothing in the loop may be "
        "added to them, and nothing can overlap them.",
        "What would two walks at once take? (Little more than one: their loads overlap.)",
        ("chain", "load", "latency"),
    ),
    model_rules.counted: Principle(
        "Counted is what crosses between cores and memory: each array that is read, each that is "
        "written, and the line that a store fetches first.",
        "When is that line not fetched? (Stores past the caches.)",
        ("byte", "count", "store"),
    ),
    model_rules.saturation: Principle(
        "A few cores can use up what a memory controller delivers; from there on more cores add "
        "nothing.",
        "What do the other cores do best? (Work on what is in their caches.)",
        ("saturat", "core"),
    ),
    model_rules.predicted_times: Principle(
        "The time of a loop that memory bounds is its bytes over the bandwidth of the level that "
        "they come from.",
        "For which loop is that wrong? (One that computes longer than its bytes take.)",
        ("lightspeed", "byte", "bandwidth"),
    ),
}  # fmt: skip


# In place of touched_where_used's where several threads use the same pages: there the same schedule
# in both loops does not help.
CONTESTED = Principle(
    "A page has hundreds of elements. Dealt out in smaller pieces, each page has elements of "
    "several threads, and no first touch is right for it; dealt out anew in each call, "
    "it has other users each time. Each thread needs one large share, the same in each call.",
    "From which chunk on would schedule(static, k) be good? (Whole pages, in arrays that begin "
    "with one.)",
    (),
)
# In place of touched_where_used's where numalab's loop has placed the pages already.
NUMALAB_WRITES = Principle(
    "The arrays are written already (in the lab itself by the kit, with schedule(static) over all "
    "elements): a thread finds its pages near only where this loop gives it what lies there.",
    "What would show it if times did not? (The touch map: who uses the pages that a thread wrote.)",
    (),
)


for _rule, _principle in _PRINCIPLES.items():
    explain(_rule, _principle)


def principle_of(rule: str) -> Principle | None:
    """Return the principle of a rule by the rule's name; None where there is none."""
    return principles().get(rule)
