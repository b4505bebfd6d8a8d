"""Grade starting code and solutions to prove the labs: starting code fails exactly the criteria
that lab.toml names, and solutions pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from numalab.errors import Interrupted
from numalab.evidence.numa_nodes import usable_numa_nodes
from numalab.evidence.page_mode import mode_of_workers
from numalab.evidence.record import Json
from numalab.grading.request import (
    Listener,
    Request,
    build_own_programs,
    chosen_languages,
    grade_all,
)
from numalab.installation import Installation
from numalab.judging.audit import complaints, is_refuted
from numalab.judging.places import LOCAL
from numalab.judging.verdict import Verdict
from numalab.labs.declaration import Lab
from numalab.virtual.place import VirtualPlaces

MAX_GRADINGS = 5  # of one kernel while times are undecided; each continues the one before


@dataclass(frozen=True)
class Proof:
    """The verdict on one kernel of numalab's, and what of it is not as the lab declares."""

    verdict: Verdict
    complaints: Sequence[str]


def prove(
    installation: Installation, request: Request, places: VirtualPlaces, listener: Listener
) -> tuple[Json, list[Proof]]:
    """Grade starting code and solution of each lab and language.

    Args:
        request: labs, language and machines; its variant and size don't count.

    Returns:
        This machine's description, and a proof for each lab, variant and language.

    Raises:
        Interrupted, UserError, NumalabError.
    """
    labs = build_own_programs(installation, request.labs, request.is_chosen, listener)
    node: Json = {}
    proofs = []
    for lab in labs:
        for variant in ("handout", "solution"):
            for language in chosen_languages(lab, request.language):
                own = Request(
                    [lab], language, variant, size="quick", quick=True, force=True,
                    named_machines=request.named_machines, no_vms=request.no_vms,
                    node_lock=request.node_lock,
                )  # fmt: skip
                node, verdict = _grade(installation, lab, own, places, listener)
                found = complaints(lab, verdict, *_machines(node, places))
                proofs.append(Proof(verdict, found))
    return node, proofs


def _machines(node: Json, places: VirtualPlaces) -> tuple[dict[str, int], str | None]:
    """Return the NUMA nodes of each place where something was graded, and this machine's mode of
    transparent huge pages for workers."""
    return {LOCAL: usable_numa_nodes(node), **places.numa_nodes()}, mode_of_workers(node)


def _grade(
    installation: Installation,
    lab: Lab,
    request: Request,
    places: VirtualPlaces,
    listener: Listener,
) -> tuple[Json, Verdict]:
    """Grade one kernel with new times, until they are decided or the lab's declaration is refuted.
    Returns this machine's description and the verdict."""
    for number in range(MAX_GRADINGS):
        graded = grade_all(installation, replace(request, afresh=number == 0), places, listener)
        if graded.interrupted:
            raise Interrupted
        node, verdict = graded.node, graded.verdicts[0]
        if "inconclusive" not in verdict.statuses.values() or is_refuted(
            lab, verdict, *_machines(node, places)
        ):
            break
    return node, verdict
