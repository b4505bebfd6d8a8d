"""Grades the kit's own kernels to prove the labs: the handout fails exactly what lab.toml names,
the solution passes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from numalab.errors import Interrupted
from numalab.evidence.numa_nodes import usable_numa_nodes
from numalab.evidence.page_mode import mode_of_workers
from numalab.evidence.record import Json
from numalab.grading.request import (
    Graded,
    Listener,
    Request,
    build_own_programs,
    chosen_languages,
    grade_all,
)
from numalab.installation import Installation
from numalab.judging.audit import complaints, is_refuted
from numalab.judging.verdict import Verdict
from numalab.labs.declaration import Lab
from numalab.virtual.place import VirtualPlaces

TRIES = 5  # where times stay open; each goes on where the one before stopped


@dataclass(frozen=True)
class Proof:
    """complaints: what of the verdict is not as the lab declares it."""

    verdict: Verdict
    complaints: Sequence[str]


def prove(
    installation: Installation, asked: Request, places: VirtualPlaces, listener: Listener
) -> tuple[Json, list[Proof]]:
    """asked: labs, language, and where; not variant or size. Returns this node's description, and a
    proof for each lab, variant and language. Raises Interrupted, UserError and NumalabError."""
    built = build_own_programs(installation, asked.labs, asked.is_chosen, listener)
    node: Json = {}
    proofs = []
    for lab in built:
        for variant in ("handout", "solution"):
            for chosen in chosen_languages(lab, asked.language):
                request = Request(
                    [lab], chosen, variant, size="quick", quick=True, force=True,
                    on=asked.on, here_only=asked.here_only, turns=asked.turns,
                )  # fmt: skip
                graded = _graded(installation, lab, request, places, listener)
                node, verdict = graded.node, graded.verdicts[0]
                mode = mode_of_workers(node)
                told = complaints(lab, verdict, _numa_nodes(node, places), mode)
                proofs.append(Proof(verdict, told))
    return node, proofs


def _numa_nodes(node: Json, places: VirtualPlaces) -> dict[str, int]:
    """Of each place where something was graded."""
    return {"here": usable_numa_nodes(node), **places.numa_nodes()}


def _graded(
    installation: Installation,
    lab: Lab,
    request: Request,
    places: VirtualPlaces,
    listener: Listener,
) -> Graded:
    """Of one kernel, until its times are decided or something is refuted; with times of now."""
    for number in range(TRIES):
        graded = grade_all(installation, replace(request, afresh=number == 0), places, listener)
        if graded.interrupted:
            raise Interrupted
        verdict, node = graded.verdicts[0], graded.node
        if "inconclusive" not in verdict.statuses.values() or is_refuted(
            lab, verdict, _numa_nodes(node, places), mode_of_workers(node)
        ):
            break
    return graded
