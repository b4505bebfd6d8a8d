"""Invented records of whole sessions: a submission beside the solution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numalab.evidence.record import Json
from support import invented
from support.invented import TWO_NODES, Machine


def with_control(record: Json, machine: Machine, solution_writes: Any = None) -> Json:
    writes = solution_writes or invented.owner_writes
    record["runs"] += [
        invented.trace(machine, "natural", writes, invented.owner_uses, "solution"),
        invented.placement(
            machine, lambda owner, page: machine.node_of_thread(writes(owner, page)), "solution"
        ),
    ]
    return record


def worked(machine: Machine, role: str, busy_s: Sequence[float]) -> Json:
    run = invented.placement(machine, lambda owner, page: 0, role)
    longest = max(busy_s)
    run |= {"part": "pair_energy", "lab": "03_scheduling"}
    run["cpu_time"] = [
        {"thread": t, "cpu_s": s, "runqueue_wait_s": 0.0, "steal_s": 0.0,
         "longest_s": s if s == longest else 0.0, "demand_s": s}
        for t, s in enumerate(busy_s)
    ]  # fmt: skip
    return run | {"computes": 1, "one_thread": invented.one_thread(sum(busy_s))}


def session(lab: str, machine: Machine, *runs: Json) -> Json:
    record = invented.evidence(machine)
    return record | {"lab": lab, "runs": list(runs)}


def bound(file: str, runtime: str, role: str, *allowed: Sequence[int]) -> Json:
    (job,) = invented.job(allowed)
    return {
        "kind": "binding", "lab": "02_affinity", "part": "stream", "team": len(allowed),
        "role": role, "file": file, "runtime": runtime, "threads": job["threads"],
        "outcome": invented.OK,
    }  # fmt: skip


def told(role: str, *rounds: Sequence[tuple[int, int]]) -> Json:
    """rounds: PU and what was said of it, by thread."""
    return {
        "kind": "locate", "lab": "02_affinity", "part": "locate", "team": 2, "role": role,
        "seed": "0", "outcome": invented.OK,
        "rounds": [
            [{"thread": t, "pu": pu, "numa_node": 0, "reported_pu": said, "reported_numa_node": 0}
             for t, (pu, said) in enumerate(one)]
            for one in rounds
        ],
    }  # fmt: skip


def message_session() -> Json:
    """Of messages: near is far, and far is far."""

    def run(file: str, role: str, *pus: int) -> Json:
        return invented.launched(file, "placement", invented.job(*([[pu]] for pu in pus)), 1, role)

    return session(
        "06_message_latency", TWO_NODES,
        run("near.toml", "submission", 0, 1), run("near.toml", "solution", 0, 2),
        run("far.toml", "submission", 0, 1), run("far.toml", "solution", 2, 3),
    )  # fmt: skip
