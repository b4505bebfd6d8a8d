"""The kinds of evidence: one row each. A kind that is added is a row here, with its parser and
its type in record.py, and a row of the monitor's table (common/monitor/runs/runs.c), but for those
that the probe measures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numalab.evidence.cpusets import Cpusets, GroupRefusal, read_program
from numalab.evidence.drawn_series import Series, series_facts
from numalab.evidence.link_jobs import LinkJob, job_facts
from numalab.evidence.live_stops import LiveStops, stops_facts
from numalab.evidence.mixes import thread_rates, unseen_loops
from numalab.evidence.placed_pages import Placing, placing_facts
from numalab.evidence.read_parts import (
    expand,
    read_outcome,
    read_results,
    read_sample,
    read_threads,
)
from numalab.evidence.read_trace import traced_arrays
from numalab.evidence.record import (
    HANDOUT,
    SOLUTION,
    AtWork,
    Binding,
    Check,
    Checked,
    CpuTime,
    Generation,
    Json,
    KernelTable,
    Kind,
    Latency,
    Launched,
    Locate,
    LocatedThread,
    Memory,
    OneThread,
    PageTables,
    PageTablesOfLife,
    Placement,
    Race,
    Rank,
    RolePart,
    ThreadLevel,
    Trace,
)
from numalab.evidence.results import RollEntry
from numalab.evidence.store_notes import Slots, Stores, stores_facts
from numalab.evidence.thread_levels import LEVELS, MpiCalls, OtherLevel, RankLevel


def _trace(data: Json) -> Trace:
    touch_map = data.get("touch_map") or {}
    return Trace(
        part=data["part"],
        outcome=read_outcome(data["outcome"]),
        results=read_results(data["results"]),
        n=data["n"],
        threads=read_threads(data["threads"]),
        method=touch_map.get("method", ""),
        order=touch_map.get("order", ""),
        sees_write_after_read=touch_map.get("sees_write_after_read", False),
        arrays=traced_arrays(touch_map),
        team=data["team"],
        closings=touch_map.get("closings"),
    )


def _placement(data: Json) -> Placement:
    residency = data.get("residency")
    homes = {entry["array"]: expand(entry["numa_node"]) for entry in residency or ()}
    return Placement(
        part=data["part"],
        outcome=read_outcome(data["outcome"]),
        results=read_results(data["results"]),
        n=data["n"],
        threads=read_threads(data["threads"]),
        residency=None if residency is None else homes,
        samples={
            entry["array"]: read_sample(entry, len(homes[entry["array"]]))
            for entry in residency or ()
        },
        cpu_time=tuple(
            CpuTime(
                entry["cpu_s"],
                entry["waiting_s"],
                entry["stolen_s"],
                entry["longest_s"],
                entry["busy_s"],
            )
            for entry in data.get("cpu_time", ())
        ),
        team=data["team"],
        one_thread=_one_thread(data) if "one_thread" in data else None,
    )


def _at_work(data: Json) -> AtWork:
    return AtWork(
        part=data["part"],
        outcome=read_outcome(data["outcome"]),
        results=read_results(data["results"]),
        moments=data["moments"],
        threads=tuple(
            RollEntry(entry["works"], entry["busy_else"]) for entry in data.get("threads", ())
        ),
        team=data["team"],
    )


def _one_thread(placement: Json) -> OneThread:
    data = placement["one_thread"]
    computes = data["computes"]
    of_threads_s = sum(float(entry["cpu_s"]) for entry in placement.get("cpu_time", ()))
    return OneThread(
        outcome=read_outcome(data["outcome"]),
        cpu_s=data["cpu_s"] / computes if computes else None,
        team_cpu_s=data["team_cpu_s"] / max(1, placement["computes"]),
        ended_cpu_s=max(0.0, data["team_cpu_s"] - of_threads_s),
    )


def _check(data: Json) -> Check:
    return Check(
        part=data["part"],
        outcome=read_outcome(data["outcome"]),
        checked=tuple(map(_checked, data["checks"])),
    )


def _checked(entry: Json) -> Checked:
    sent = entry.get("sent", {"messages": (), "round_trips": 0})
    return Checked(
        n=entry["n"],
        ranks=entry.get("ranks"),
        results=read_results(entry["results"]),
        messages=tuple(sent["messages"]),
        round_trips=sent["round_trips"],
    )


def _generation(data: Json) -> Generation:
    """Without a role that may fail and has, or whose results are wrong: it tells of nobody else."""
    roles = {
        entry["role"]: RolePart(
            read_outcome(entry["outcome"]),
            read_results(entry["results"]),
            entry["initialize_s"],
            Slots(**entry["slots"]) if "slots" in entry else None,
        )
        for entry in data["roles"]
        if not _is_beside_and_bad(entry)
    }
    samples = [sample for sample in data["samples"] if sample["role"] in roles]
    elapsed: dict[str, list[float]] = {}
    for sample in samples:
        if sample["cut"] or not (sample["warm_up"] or sample.get("paused")):
            elapsed.setdefault(sample["role"], []).append(sample["elapsed_s"])
    return Generation(
        part=data["part"],
        slow=data.get("slow"),
        n=data["n"],
        bytes_moved=data["bytes_moved"],
        bytes_allocated=data.get("bytes_allocated"),
        loads_in_chain=data.get("loads_in_chain", 0),
        roles=roles,
        elapsed_s={role: tuple(times) for role, times in elapsed.items()},
        cut=frozenset(sample["role"] for sample in samples if sample["cut"]),
        is_second_try=data.get("second_try", False),
        taken_s={
            entry["role"]: _taken_s(entry, samples)
            for entry in data["roles"]
            if entry["role"] in roles
        },
    )


def _is_beside_and_bad(role: Json) -> bool:
    is_bad = role["outcome"]["status"] != "ok" or role["results"]["wrong"] > 0
    return bool(role.get("may_fail") and is_bad)


def _taken_s(role: Json, samples: Sequence[Json]) -> float:
    """How long a generation waited for a role; an older record tells of its phases only."""
    phases_s = sum(sample["elapsed_s"] for sample in samples if sample["role"] == role["role"])
    return float(role.get("taken_s", role["initialize_s"] + phases_s))


def _race(data: Json) -> Race:
    race = data.get("race")
    return Race(
        part=data["part"],
        outcome=read_outcome(data["outcome"]),
        found=race is not None,
        accesses=tuple(race["accesses"]) if race else (),
        searched=data.get("searched"),
    )


def _stores(data: Json) -> Stores:
    return Stores(
        part=data["part"],
        outcome=read_outcome(data["outcome"]),
        results=read_results(data["results"]),
        teams_outcome=read_outcome(data["teams_outcome"]) if "teams_outcome" in data else None,
        teams_results=read_results(data["teams_results"]) if "teams_results" in data else None,
        **stores_facts(data),
    )


def _placing(data: Json) -> Placing:
    residency = data["residency"]
    return Placing(
        part=data["part"],
        outcome=read_outcome(data["outcome"]),
        results=read_results(data["results"]),
        homes=None
        if residency is None
        else {entry["array"]: expand(entry["numa_node"]) for entry in residency},
        **placing_facts(data),
    )


def _cpusets(data: Json) -> Cpusets:
    programs = [read_program(program) for program in data["programs"]]
    return Cpusets(
        part=data["part"],
        outcome=read_outcome(data["outcome"]),
        file=data["file"],
        refusals=tuple(GroupRefusal(**refusal) for refusal in data["refusals"]),
        programs={program.group: program for program in programs},
    )


def _series(data: Json) -> Series:
    return Series(part=data["part"], outcome=read_outcome(data["outcome"]), **series_facts(data))


def _stops(data: Json) -> LiveStops:
    return LiveStops(part=data["part"], outcome=read_outcome(data["outcome"]), **stops_facts(data))


def _link_job(data: Json) -> LinkJob:
    return LinkJob(part=data["part"], **job_facts(data))


def _memory(data: Json) -> Memory:
    return Memory(
        part=data["part"],
        outcome=read_outcome(data["outcome"]),
        results=read_results(data["results"]),
        huge_pages_allowed=data["huge_pages_allowed"],
        tables=tuple(KernelTable(**entry) for entry in data["tables"]),
    )


def _page_tables(data: Json) -> PageTables:
    return PageTables(
        part=data["part"],
        outcome=read_outcome(data["outcome"]),
        results=read_results(data["results"]),
        lives=tuple(
            PageTablesOfLife(
                life["n"],
                life["bytes"],
                life["page_table_before_bytes"],
                {phase["phase"]: phase["page_table_bytes"] for phase in life["phases"]},
            )
            for life in data["tables"]
        ),
    )


def _binding(data: Json) -> Binding:
    return Binding(
        part=data["part"],
        outcome=read_outcome(data["outcome"]),
        file=data["file"],
        runtime=data["runtime"],
        threads=read_threads(data["threads"]),
        team=data["team"],
    )


def _locate(data: Json) -> Locate:
    return Locate(
        part=data["part"],
        outcome=read_outcome(data["outcome"]),
        rounds=_rounds(data["rounds"]),
        team=data["team"],
        free_rounds=_rounds(data.get("free_rounds", ())),
    )


def _rounds(data: Sequence[Sequence[Json]]) -> tuple[tuple[LocatedThread, ...], ...]:
    return tuple(tuple(LocatedThread(**entry) for entry in told) for told in data)


def _ranks(data: Sequence[Json]) -> tuple[Rank, ...]:
    return tuple(Rank(entry["rank"], read_threads(entry["threads"])) for entry in data)


def _launched(data: Json) -> Launched:
    return Launched(
        part=data["part"],
        outcome=read_outcome(data["outcome"]),
        file=data["file"],
        refused=data["refused"],
        ranks=_ranks(data["ranks"]),
        team=data["team"],
    )


def _other_levels(data: Json) -> tuple[OtherLevel, ...]:
    """An older record has one, of rank 0: a level less than it asked for."""
    if "other_levels" in data:
        return tuple(OtherLevel(**entry) for entry in data["other_levels"])
    asked = data["ranks"][0]["asked"] if data["ranks"] else None
    if data.get("answer_to_less") is None or asked in (None, "single"):
        return ()
    less = LEVELS[LEVELS.index(asked) - 1]
    return (OtherLevel(asked, less, data["answer_to_less"]),)


def _thread_level(data: Json) -> ThreadLevel:
    return ThreadLevel(
        part=data["part"],
        outcome=read_outcome(data["outcome"]),
        ranks=tuple(
            RankLevel(**(entry | {"calls": MpiCalls(**entry["calls"])})) for entry in data["ranks"]
        ),
        other_levels=_other_levels(data),
        ended=read_outcome(data["ended_with_other_level"])
        if "ended_with_other_level" in data
        else None,
        team=data["team"],
    )


def _latency(data: Json) -> Latency:
    one_way_us: dict[int, list[float]] = {}
    for sample in data["samples"]:
        if not sample["warm_up"]:
            us = 1e6 * sample["elapsed_s"] / (2 * sample["repetitions"])
            one_way_us.setdefault(sample["bytes"], []).append(us)
    return Latency(
        part=data["part"],
        outcome=read_outcome(data["outcome"]),
        file=data["file"],
        ranks=_ranks(data["ranks"]),
        one_way_us={size: tuple(times) for size, times in sorted(one_way_us.items())},
        team=data["team"],
    )


# ---- the table -------------------------------------------------------------------------

CHECK = Kind("check", _check, "kernel", in_soundness=True)
SYNCHRONOUS_CHECK = Kind(
    "synchronous_check", _check, "kernel",
    run="check", mark="synchronous_sends",
)  # fmt: skip
TRACE = Kind(
    "trace", _trace, "kernel",
    in_soundness=True, doing="tracing who touches which page",
    looks=(("--order", "natural"), ("--order", "ascending"), ("--order", "descending")),
)  # fmt: skip
# Beside the tracings, and not put together with them: of one thread less.
ANOTHER_TEAM = Kind("another_team", _trace, "kernel", run="trace", mark="another_team")
# Of the kit's kernels, for predictions: nearly all pages, not some hundreds of each array.
WHOLE_TRACE = Kind(
    "whole_trace", _trace, "kernel", run="trace", mark="whole",
    looks=(("--order", "natural", "--traced-pages", "16384"),),
)  # fmt: skip
PLACEMENT = Kind(
    "placement", _placement, "kernel",
    in_soundness=True, doing="looking how the work is shared",
    most_looks=8,  # until most of them agree how the work is shared
)  # fmt: skip
AT_WORK = Kind(
    "at_work", _at_work, "kernel",
    in_soundness=True, doing="looking who is at work",
    most_looks=2,  # where the first speaks against the kernel
    here_only=True,
)  # fmt: skip
MEMORY = Kind(
    "memory", _memory, "kernel",
    in_soundness=True, doing="looking at its memory", beside=(HANDOUT, SOLUTION),
)  # fmt: skip
PAGE_TABLES = Kind(
    "page_tables", _page_tables, "kernel",
    in_soundness=True, doing="looking at its page tables", beside=(HANDOUT, SOLUTION),
    here_only=True,
)  # fmt: skip
LOCATE = Kind(
    "locate", _locate, "kernel",
    in_soundness=True, doing="asking where its threads are",
)  # fmt: skip
THREAD_LEVEL = Kind(
    "thread_level", _thread_level, "kernel",
    in_soundness=True, doing="looking who calls MPI", here_only=True,
    team=4, is_unbound=True,  # enough to see who calls; they need no cores of their own
)  # fmt: skip
STORES = Kind(
    "stores", _stores, "kernel",
    program="-stores", in_soundness=True, doing="noting who writes which cache line",
)  # fmt: skip
PLACING = Kind(
    "placing", _placing,
    "kernel", in_soundness=True, doing="looking where it places memory",
)  # fmt: skip
FILLED = Kind(
    "filled", _placing, "kernel", run="placing", mark="fills_node",
    doing="filling a NUMA node", looks=(("--fill-node",),), there_only=True,
)  # fmt: skip
FILE_PLACING = Kind("file_placing", _placing, "kit", run="placing", mark="file")
# Where the monitor is root and nobody else is.
CPUSETS = Kind(
    "cpusets", _cpusets, "kit",
    there_only=True,
)  # fmt: skip
SERIES = Kind(
    "series", _series, "kernel",
    in_soundness=True, doing="asking it about series that are drawn", here_only=True,
)  # fmt: skip
STOPS = Kind(
    "stops", _stops, "kernel",
    in_soundness=True, doing="stopping it while it watches", here_only=True, is_timed=True,
    most_looks=3,  # where the first speaks against the kernel, and the second does not
)  # fmt: skip
# An MPI job on two virtual nodes, without the monitor.
ON_LINK = Kind("on_link", _link_job, "kernel", there_only=True)
RACE = Kind("race", _race, "kernel", program="-race")
BINDING = Kind("binding", _binding, "kit")
RANKS = Kind("ranks", _launched, "kit")
LATENCY = Kind("latency", _latency, "kit", is_timed=True)
LIGHTSPEED = Kind(
    "lightspeed", unseen_loops, "probe", is_timed=True
)  # fmt: skip
SATURATION = Kind(
    "saturation", thread_rates, "probe", is_timed=True
)  # fmt: skip
GENERATION = Kind(
    "generation",
    _generation,
    "all roles",
    is_timed=True,
)

KINDS: tuple[Kind[Any], ...] = (
    CHECK, SYNCHRONOUS_CHECK, TRACE, ANOTHER_TEAM, WHOLE_TRACE, PLACEMENT, AT_WORK, MEMORY,
    PAGE_TABLES, LOCATE, THREAD_LEVEL, STORES, PLACING, FILLED, FILE_PLACING, CPUSETS, SERIES,
    STOPS, ON_LINK, RACE, BINDING, RANKS, LATENCY, LIGHTSPEED, SATURATION, GENERATION,
)  # fmt: skip
WATCHED = tuple(kind for kind in KINDS if kind.program)  # need a kernel whose accesses are told
LOOKS = tuple(kind for kind in KINDS if kind.doing)  # what a grading looks at, in this order


def kind_of(run: Json) -> Kind[Any]:
    """Of a run's record. Raises LookupError for one that this kit does not know."""
    rows = [kind for kind in KINDS if (kind.run or kind.name) == run["kind"]]
    marked = [kind for kind in rows if kind.mark and run.get(kind.mark)]
    for kind in marked or [kind for kind in rows if not kind.mark]:
        return kind
    raise LookupError(run["kind"])
