"""A lab on a model of a node as lab.toml declares it, and records of models that were handed in."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from numalab.evidence.read_record import parse
from numalab.judging.judge import judge
from numalab.judging.verdict import CriterionVerdict
from numalab.labs.declaration import Lab
from support import invented
from support.mpi_labs import criterion

Json = dict[str, Any]

LAB = """
title = "A node"
minutes = 1
languages = ["c", "fortran"]
contract = "x.h"
functions = ["triad"]
kit_parts = ["model"]
""" + "".join((
    criterion("correct", "correctness", "triad", at_most=0),
    criterion("counted", "evidence", "model", at_most=0, file="model.toml", goal="model"),
    criterion("saturation", "timing", "model", at_most=0.1, file="model.toml", goal="model"),
    criterion("lightspeed", "timing", "model", at_most=1.15, file="model.toml", goal="model"),
))  # fmt: skip

BYTES = {
    "fill": 16, "copy_float": 12, "scale": 16, "dot": 16, "accumulate": 32, "every_fourth": 32,
}  # fmt: skip
SHARE = "min(1, threads * one_gb_s / all_gb_s)"
TIME = "8 * loads / read_gb_s + 16 * stores / write_gb_s + 16 * updates / update_gb_s"


def model(
    share: str = SHARE, time_ns: str = TIME, counted: Mapping[str, float] | None = None
) -> str:
    lines = [f"{name} = {value}" for name, value in (BYTES | dict(counted or {})).items()]
    return "\n".join([f'share = "{share}"', f'time_ns = "{time_ns}"', "[bytes]", *lines])


def record(*runs: Json, text: str, cores: int = 16, quick: bool = True, **more: Any) -> Json:
    node = invented.Machine(packages=1, nodes=1, cores=cores, in_turn=False)
    return invented.evidence(node) | {
        "quick": quick,
        "runs": copy.deepcopy(list(runs)),
        "handed_in": [{"file": "model.toml", "complaint": None, "variables": {}, "text": text}],
    } | more  # fmt: skip


def verdicts(lab: Lab, data: Json) -> dict[str, CriterionVerdict]:
    return {found.name: found for found in judge(lab, parse(data)).criteria}


def told(found: CriterionVerdict) -> tuple[str, str]:
    return found.status, found.cause
