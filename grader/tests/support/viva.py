"""Attempts of an invented student at a lab, as questions of an oral exam are made from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numalab.diagnosing.known_mistakes import KnownMistake
from numalab.judging.rates import Middle, ReferenceShare, RoleRate, TimedRates
from numalab.judging.verdict import Status, read_verdict
from numalab.labs.declaration import Lab
from numalab.teaching.viva.story import LabStory, Stage, Touched
from support.invented_class import lab_result

Json = dict[str, Any]
SERIAL = "void initialize(void)\n{\n    for (i = 0; i < n; i++)\n        a[i] = 0;\n}\n"
PARALLEL = SERIAL.replace("    for", "#pragma omp parallel for schedule(static)\n    for")
ONE_WRITER = {"a": Touched({0: 1.0}, 0.0, False)}
TWO_WRITERS = {"a": Touched({0: 0.5, 1: 0.5}, 0.0, False)}


def stage(
    lab: Lab,
    number: int = 1,
    statuses: Mapping[str, Status] | None = None,
    values: Mapping[str, float] | None = None,
    code: str = PARALLEL,
    touched: Mapping[str, Mapping[str, Touched]] | None = None,
    rates: Mapping[str, TimedRates] | None = None,
    nodes: Mapping[str, int] | None = None,
    changed: Mapping[str, Json] | None = None,
    **more: Any,
) -> Stage:
    """statuses: of criteria that don't pass; changed: keys of criteria, by name; more: of the
    result."""
    result = lab_result(lab, statuses or {}, **(values or {})) | more
    criteria = [one | (changed or {}).get(one["name"], {}) for one in result["criteria"]]
    result = result | {"criteria": criteria}
    return Stage(
        number, "2027-05-04T10:00:00+00:00", read_verdict(result), result, {"kernel.c": code},
        touched=touched or {}, rates=rates or {}, numa_nodes=nodes or {"here": 1},
    )  # fmt: skip


def story(lab: Lab, *stages: Stage, mistakes: tuple[KnownMistake, ...] = ()) -> LabStory:
    return LabStory(lab, "c", stages, mistakes, (("hydra", 2), ("nebula", 8)))


def rates(own: float = 0.41, solution: float = 0.42) -> TimedRates:
    """Shares of lightspeed; the submission takes 2 ms for 128 MB."""

    def role(name: str, elapsed_s: float, share: float | None) -> RoleRate:
        found = None if share is None else ReferenceShare(share, share - 0.02, share + 0.02, 9)
        gb_per_s = 0.128 / elapsed_s
        return RoleRate(
            name,
            Middle(elapsed_s, elapsed_s, elapsed_s),
            Middle(gb_per_s, gb_per_s, gb_per_s),
            found,
        )

    return TimedRates(
        None, None, 8_000_000, 9, 0.95, 128_000_000, 0, False,
        (role("submission", 0.002, own), role("solution", 0.002, solution),
         role("handout", 0.008, 0.1), role("probe", 0.001, None)),
    )  # fmt: skip


def modelled(machine: str, speedup: float, homes: int) -> Json:
    """A speedup over the handout, of a kernel with pages on so many NUMA nodes."""

    def model(nodes: int) -> Json:
        return {
            "flows": [{"user": node, "home": node, "share": 1 / nodes} for node in range(nodes)],
            "bottleneck": [["controller", 0]],
            "demands": [{"of": "controller", "numbers": [0], "share": 1 / nodes}],
        }

    return {
        "criterion": "speedup", "machine": machine, "over": "the handout", "speedup": speedup,
        "yours": model(homes), "theirs": model(1),
    }  # fmt: skip
