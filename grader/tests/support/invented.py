"""Evidence of machines we don't have, put together from what a kernel would do there.

Used to write the golden cases (python tests/invented.py) and by tests that need a record
with one thing changed. Times are invented and mean nothing beyond the case.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from numalab.judging.verdict import Cause, Status

Json = dict[str, Any]
ARRAYS = ("a", "b", "c")
GOLDEN = Path(__file__).parents[1] / "judging" / "golden"


class Machine:
    """packages x NUMA nodes x cores, one PU per core; PUs numbered over the nodes in turn
    (as on hydra and nebula) or node by node."""

    def __init__(self, packages: int, nodes: int, cores: int, in_turn: bool) -> None:
        self.packages, self.nodes, self.cores = packages, nodes, cores
        total = nodes * cores
        self.node_of_pu = [pu % nodes if in_turn else pu // cores for pu in range(total)]
        # spread over cores in order of the topology: thread t sits on node t // cores
        by_node = sorted(range(total), key=lambda pu: (self.node_of_pu[pu], pu))
        self.pu_of_thread = by_node
        self.threads = total

    def node_of_thread(self, thread: int) -> int:
        return self.node_of_pu[self.pu_of_thread[thread]]

    def describe(self) -> Json:
        return {
            "name": f"invented-{self.nodes}",
            "packages": self.packages,
            "numa_nodes": self.nodes,
            "cores": self.threads,
            "pus": self.threads,
            "page_bytes": 4096,
            "memory_bytes": 64 * 2**30,
            "last_level_cache_bytes": 64 * 2**20,
            "pu_list": [
                {"pu": pu, "core": pu, "package": node * self.packages // self.nodes,
                 "numa_node": node}
                for pu, node in enumerate(self.node_of_pu)
            ],
        }  # fmt: skip

    def describe_threads(self) -> list[Json]:
        return [
            {"thread": t, "allowed_pus": [pu], "last_pu": pu, "core": pu,
             "package": self.node_of_pu[pu] * self.packages // self.nodes,
             "numa_node": self.node_of_pu[pu]}
            for t, pu in enumerate(self.pu_of_thread)
        ]  # fmt: skip


TWO_NODES = Machine(packages=2, nodes=2, cores=4, in_turn=True)
EIGHT_NODES = Machine(packages=2, nodes=8, cores=2, in_turn=True)
ONE_NODE = Machine(packages=1, nodes=1, cores=2, in_turn=False)

PAGES_PER_THREAD = 40


def runs(values: Sequence[Any]) -> list[list[Any]]:
    """Run-length code, as the monitor writes it."""
    coded: list[list[Any]] = []
    for value in values:
        if coded and coded[-1][0] == value:
            coded[-1][1] += 1
        else:
            coded.append([value, 1])
    return coded


OK = {"status": "ok", "printed_bytes": 0}
RIGHT = {"checked": 1000, "mismatches": 0}
# What a virtual machine shows.
MACHINE: Json = {
    "name": "hydra", "source": "a file", "accelerator": "tcg", "guest_kernel": "6.1",
    "cores_per_numa_node": 1, "cores_per_numa_node_of_machine": 4,
    "numa_node_memory_bytes": 1 << 28,
}  # fmt: skip

Writer = Callable[[int, int], int]  # (thread whose part it is, page) -> first writer
Users = Callable[[int, int], Sequence[int]]


def owner_writes(owner: int, page: int) -> int:
    return owner


def master_writes(owner: int, page: int) -> int:
    return 0


def owner_uses(owner: int, page: int) -> Sequence[int]:
    return [owner]


def trace(machine: Machine, order: str, writer: Writer, users: Users, role: str) -> Json:
    pages = machine.threads * PAGES_PER_THREAD
    owners = [page // PAGES_PER_THREAD for page in range(pages)]
    return {
        "kind": "trace", "lab": "01_first_touch", "part": None, "team": machine.threads,
        "role": role, "n": pages * 1024, "results": RIGHT, "threads": machine.describe_threads(),
        "outcome": OK,
        "touch_map": {
            "method": "userfaultfd", "order": order, "sees_write_after_read": True,
            "arrays": [
                {"array": name,
                 "first_writer": runs([writer(o, p) for p, o in enumerate(owners)]),
                 "users": runs([sorted(users(o, p)) for p, o in enumerate(owners)])}
                for name in ARRAYS
            ],
        },
    }  # fmt: skip


def placement(machine: Machine, home: Callable[[int, int], int], role: str) -> Json:
    """home: (thread whose part it is, page) -> NUMA node, -1: absent."""
    pages = machine.threads * PAGES_PER_THREAD
    return {
        "kind": "placement", "lab": "01_first_touch", "part": None, "team": machine.threads,
        "role": role, "n": pages * 1024, "computes": 10, "results": RIGHT,
        "threads": machine.describe_threads(), "outcome": OK,
        "residency": [
            {"array": name,
             "numa_node": runs([home(p // PAGES_PER_THREAD, p) for p in range(pages)])}
            for name in ARRAYS
        ],
        "cpu_time": [{"thread": t, "cpu_s": 0.1, "runqueue_wait_s": 0.0, "steal_s": 0.0,
                      "longest_s": 0.1, "demand_s": 0.1} for t in range(machine.threads)],
    }  # fmt: skip


def one_thread(team_cpu_s: float, over: float = 1.0) -> Json:
    """What a team of one call was compared with. over: how many times the CPU time of one thread
    the team takes."""
    return {"computes": 1, "cpu_s": team_cpu_s / over, "team_cpu_s": team_cpu_s, "outcome": OK}


def generation(machine: Machine, times: dict[str, float]) -> Json:
    """Three repetitions of each role around its time."""
    samples = [
        {"role": role, "repetition": r, "order": 4 * r + i, "warm_up": r == 0, "cut": False,
         "started_s": 0.1 * (4 * r + i), "elapsed_s": round(time * (1 + 0.02 * r), 6)}
        for r in range(4) for i, (role, time) in enumerate(times.items())
    ]  # fmt: skip
    return {
        "kind": "generation", "lab": "01_first_touch", "part": None, "team": machine.threads,
        "seed": "0", "n": 1 << 24, "bytes_moved": 1 << 28, "one_at_a_time": False,
        "roles": [{"role": role, "environment": {}, "initialize_s": 0.1, "results": RIGHT,
                   "outcome": OK} for role in times],
        "samples": samples,
    }  # fmt: skip


def sample(record: Json, every: int) -> None:
    """What was looked at is one page of so many: the arrays are as many times larger."""
    for run in record["runs"]:
        arrays = run.get("touch_map", {}).get("arrays", []) + run.get("residency", [])
        for array in arrays:
            pages = sum(count for _, count in array.get("users") or array["numa_node"])
            array["pages"] = every * pages
            array["blocks"] = [[every * page + 1, 1] for page in range(pages)]


def cut_off(run: Json, elapsed_s: float) -> None:
    """Of a generation: the submission was stopped in its first repetition, after that time."""
    others = [sample for sample in run["samples"] if sample["role"] != "submission"]
    first = next(sample for sample in run["samples"] if sample["role"] == "submission")
    run["samples"] = [*others, first | {"cut": True, "elapsed_s": elapsed_s}]


def evidence(
    machine: Machine,
    writer: Writer = owner_writes,
    users: Users = owner_uses,
    home: Callable[[int, int], int] | None = None,
    times: Sequence[dict[str, float]] = (),
    variant: str = "submission",
    quick: bool = False,
) -> Json:
    """A whole session's record. home: as the writers place it, unless given."""

    def toml_value(owner: int, page: int) -> int:
        return machine.node_of_thread(writer(owner, page))

    record: Json = {
        "schema": 2, "kit_version": "0.1.0", "lab": "01_first_touch", "language": "c",
        "variant": variant, "size": "default", "quick": quick,
        "started_at": "2026-01-01T00:00:00+00:00", "machine": None, "timing_refused": None,
        "timing_error": None, "race_error": None, "handed_in": [],
        "node": machine.describe(), "environment": {"OMP_PLACES": "cores"},
        "build": {"kernel": {"status": "ok", "message": "", "output": ""}},
        "runs": [
            {"kind": "check", "lab": "01_first_touch", "part": None, "team": machine.threads,
             "role": "submission", "seed": "0", "checks": [{"n": 7, "results": RIGHT}],
             "outcome": OK},
            *(trace(machine, order, writer, users, "submission")
              for order in ("natural", "ascending", "descending")),
            placement(machine, home or toml_value, "submission"),
            *(generation(machine, one) for one in times),
        ],
    }  # fmt: skip
    return record


# A cause for each status, where it matters to nobody which.
SOME_CAUSE: dict[Status, Cause] = {
    "pass": "reached",
    "fail": "missed",
    "not_gradable": "too_few_numa_nodes",
    "inconclusive": "too_noisy",
    "error": "kit",
}


# ---- MPI -----------------------------------------------------------------------------


def checked(*entries: Json, part: str, synchronous: bool = False, **more: Any) -> Json:
    """A check of an MPI lab; entries: of its list."""
    return {
        "kind": "check", "lab": "x", "part": part, "team": 2, "role": "submission", "seed": "0",
        "synchronous_sends": synchronous,
        "checks": list(entries) or [{"n": 7, "ranks": 3, "results": RIGHT}], "outcome": OK,
    } | more  # fmt: skip


def job(*ranks: Sequence[Sequence[int]]) -> list[Json]:
    """Ranks by the allowed PUs of their threads."""
    return [
        {"rank": number, "threads": [
            {"thread": t, "allowed_pus": list(pus), "last_pu": pus[0], "core": -1, "package": -1,
             "numa_node": -1}
            for t, pus in enumerate(threads)
        ]}
        for number, threads in enumerate(ranks)
    ]  # fmt: skip


def launched(
    file: str, part: str, ranks: Sequence[Json], team: int = 1, role: str = "submission",
    refused: str | None = None, **more: Any,
) -> Json:  # fmt: skip
    return {
        "kind": "ranks", "lab": "x", "part": part, "team": team, "role": role, "file": file,
        "refused": refused, "ranks": list(ranks), "outcome": OK,
    } | more  # fmt: skip


def thread_level(part: str, *ranks: Json, answer_to_less: int | None = 0, **more: Any) -> Json:
    """answer_to_less: None: not tried."""
    levels = ("single", "funneled", "serialized", "multiple")
    asked = ranks[0]["requested"] or "single"
    less = {"requested": asked, "provided": levels[max(0, levels.index(asked) - 1)]}
    others = [] if answer_to_less is None else [less | {"answer": answer_to_less}]
    return {
        "kind": "thread_level", "lab": "x", "part": part, "team": 4, "role": "submission",
        "ranks": list(ranks), "other_levels": others, "outcome": OK,
    } | more  # fmt: skip


def rank_level(
    asked: str | None, provided: str | None = "multiple", answer: int | None = 1, threads: int = 4,
    main: int = 10, main_in_parallel: int = 0, other: int = 0, at_once: int = 0,
) -> Json:  # fmt: skip
    return {
        "rank": 0, "requested": asked, "provided": provided, "answer": answer, "threads": threads,
        "calls": {"main": main, "main_in_parallel": main_in_parallel, "other": other,
                  "at_once": at_once},
    }  # fmt: skip


def latency(
    part: str, file: str | None = "near.toml", latency_us: float = 0.5,
    bandwidth_mb_s: float = 8192.0, samples: Sequence[float] = (0.99, 1.0, 1.01), **more: Any,
) -> Json:  # fmt: skip
    """Times of latency + size / bandwidth. samples: by what factor each of a size is off."""
    sizes = [0, *(1 << power for power in range(23))]
    found = []
    for size in sizes:
        one_way_s = 1e-6 * (latency_us + size / bandwidth_mb_s)
        found.append({"bytes": size, "repetitions": 10, "elapsed_s": 1.0, "warm_up": True})
        found += [
            {"bytes": size, "repetitions": 10, "elapsed_s": 20 * one_way_s * factor,
             "warm_up": False}
            for factor in samples
        ]  # fmt: skip
    return {
        "kind": "latency", "lab": "x", "part": part, "team": 1, "role": "submission",
        "file": file, "ranks": job([[0]], [[1]]), "samples": found, "outcome": OK,
    } | more  # fmt: skip


def steady(count: int, **times: float) -> list[dict[str, float]]:
    """Generations alike but for a wobble of 1 %."""
    return [
        {role: round(time * (1 + 0.01 * ((g * 7 + i) % 3 - 1)), 6)
         for i, (role, time) in enumerate(times.items())}
        for g in range(count)
    ]  # fmt: skip


# The published pair, 0.44 s against 0.23 s, as times of handout and solution.
FAST = {"handout": 0.44, "solution": 0.23, "control": 0.23, "submission": 0.23}
SLOW = FAST | {"submission": 0.44}


def cases() -> dict[str, Json]:
    """The golden evidence by name; the verdicts beside it are written by hand."""
    two, eight = TWO_NODES, EIGHT_NODES

    def neighbour(owner: int, page: int) -> int:
        return owner ^ 1  # the other core of the same node, on both machines

    def everybody(owner: int, page: int) -> Sequence[int]:
        return range(eight.threads)

    def dealt(owner: int, page: int) -> int:
        return page % eight.threads

    noisy = [
        FAST | {"submission": 0.23 if g % 2 else 0.36, "control": 0.23 if g % 2 else 0.36}
        for g in range(60)
    ]
    unstable = [FAST | {"submission": 0.2 if g % 2 else 0.6} for g in range(60)]
    failed_control = evidence(ONE_NODE, writer=master_writes)
    failed_control["runs"] += [
        trace(ONE_NODE, "natural", master_writes, owner_uses, "solution"),
        placement(ONE_NODE, lambda owner, page: 0, "solution"),
    ]
    return {
        "two_nodes_right": evidence(two, times=steady(9, **FAST)),
        "two_nodes_handout": evidence(
            two, writer=master_writes, times=steady(13, **SLOW), variant="handout"
        ),
        "two_nodes_neighbour_writes": evidence(two, writer=neighbour, times=steady(9, **FAST)),
        "two_nodes_interleaved": evidence(
            two, home=lambda owner, page: page % 2, times=steady(13, **SLOW)
        ),
        "two_nodes_absent_pages": evidence(
            two,
            home=lambda owner, page: -1 if page % 8 == 0 else two.node_of_thread(owner),
            times=steady(9, **FAST),
        ),
        "two_nodes_no_effect": evidence(
            two, times=steady(13, **(FAST | {"handout": 0.23, "submission": 0.23}))
        ),
        "two_nodes_noisy": evidence(two, times=noisy),
        "two_nodes_unstable": evidence(two, times=unstable),
        "eight_nodes_right": evidence(eight, times=steady(9, **FAST)),
        "eight_nodes_handout": evidence(
            eight, writer=master_writes, times=steady(13, **SLOW), variant="handout"
        ),
        "eight_nodes_dealt_out": evidence(
            eight, writer=dealt, users=everybody, times=steady(13, **SLOW)
        ),
        "eight_nodes_serial": evidence(
            eight, writer=master_writes, users=lambda owner, page: [0],
            times=steady(13, **(FAST | {"submission": 2.0})),
        ),
        "one_node_solution_misses_too": failed_control,
    }  # fmt: skip


def write_golden() -> None:
    for name, record in cases().items():
        folder = GOLDEN / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "evidence.json").write_text(json.dumps(record) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write_golden()
