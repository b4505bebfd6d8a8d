"""Two labs on MPI as lab.toml declares them, for tests that need no kit."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

from numalab.installation import Installation
from numalab.judging.rules import check_criterion
from numalab.labs.declaration import Lab, load_lab
from numalab.machines.gallery import find_machine
from numalab.machines.topology import topology_of_machine
from support import invented
from support.lab_folders import write_grading

Json = dict[str, Any]


def criterion(name: str, kind: str, part: str, **keys: Any) -> str:
    lines = {"name": name, "kind": kind, "part": part, "points": 1} | keys
    shown = {key: f'"{v}"' if isinstance(v, str) else str(v).lower() for key, v in lines.items()}
    return "\n[[criterion]]\n" + "".join(f"{key} = {value}\n" for key, value in shown.items())


LATENCY_LAB = """
title = "Messages"
minutes = 1
languages = ["c", "fortran"]
contract = "x.h"
functions = ["ping_pong"]
mpi = true
kit_parts = ["placement"]

[launch]
ranks = 2
bind_to = "core"
""" + "".join((
    criterion("correct", "correctness", "ping_pong", at_most=0),
    criterion("deadlock_free", "correctness", "ping_pong", at_most=0),
    criterion("efficiency", "timing", "ping_pong", at_least=0.8),
    *(
        criterion(goal, "evidence", "placement", rule="launch", at_most=0, file=f"{goal}.toml",
                  goal=goal, needs_numa_nodes=2, on_machines=True)
        for goal in ("near", "far")
    ),
    criterion("predicted", "timing", "placement", file="predict.toml",
              goal="prediction"),
))  # fmt: skip

HYBRID_LAB = """
title = "Hybrid"
minutes = 1
languages = ["c", "fortran"]
contract = "x.h"
functions = ["start_mpi"]
mpi = true
kit_parts = ["launch"]

[environment]
OMP_PLACES = "cores"
OMP_PROC_BIND = "spread"
""" + "".join((
    criterion("correct", "correctness", "code", at_most=0),
    criterion("deadlock_free", "correctness", "code", at_most=0),
    criterion("thread_level", "evidence", "code", at_most=0),
    criterion("ranks_placed", "evidence", "launch", rule="launch", at_most=0,
              file="launch.toml", goal="rank_a_numa_node", needs_numa_nodes=2, on_machines=True),
    criterion("launch_speedup", "timing", "launch", rule="speedup", slow="compared/newcomer.toml"),
    criterion("over_flat", "timing", "launch", rule="speedup", slow="compared/flat.toml",
              needs_numa_nodes=2),
))  # fmt: skip


def lab_of(folder: Path, name: str, text: str) -> Lab:
    write_grading(folder / name, text)
    return load_lab(folder / name, check=check_criterion)


def node_of(installation: Installation, machine: str) -> Json:
    """A machine of the gallery as describe_node would tell it."""
    found = topology_of_machine(find_machine(installation, machine))
    return invented.TWO_NODES.describe() | {
        "numa_nodes": len(set(found.numa_node.values())),
        "cores": len(set(found.core.values())),
        "pus": len(found.pus),
        "pus_online": len(found.pus),
        "pu_list": [
            {"pu": pu.number, "core": pu.core, "package": pu.package, "numa_node": pu.numa_node}
            for pu in found.pus
        ],
    }


PREDICTION = """
time_4_kib_us = "latency_us + 4096 / bandwidth_mb_s"
time_64_kib_us = "latency_us + 65536 / bandwidth_mb_s"
"""


def session(*runs: Json, files: dict[str, str] | None = None, **more: Any) -> Json:
    """A record; files: texts that were handed in."""
    return invented.evidence(invented.TWO_NODES) | {
        "runs": copy.deepcopy(list(runs)),
        "handed_in": [
            {"file": name, "complaint": None, "variables": {}, "text": text}
            for name, text in (files or {}).items()
        ],
    } | more  # fmt: skip
