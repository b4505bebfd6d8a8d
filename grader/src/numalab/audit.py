"""Proves the labs: the handout fails exactly what lab.toml names, the solution passes."""

from __future__ import annotations

from numalab.lab import Lab
from numalab.verdict import Verdict


def complaints(lab: Lab, verdict: Verdict, numa_nodes: int) -> list[str]:
    """What is not as the lab declares it; empty when all is. Criteria that this node
    can't show prove nothing either way."""
    found = []
    for criterion, result in zip(lab.criteria, verdict.criteria, strict=True):
        if result.status == "not_gradable":
            continue
        must_fail = (
            verdict.variant == "handout"
            and criterion.handout_fails_from is not None
            and numa_nodes >= criterion.handout_fails_from
        )
        wanted = "fail" if must_fail else "pass"
        if result.status != wanted:
            found.append(
                f"{verdict.variant} in {verdict.language}: {criterion.name} is "
                f"'{result.status}', lab.toml says '{wanted}'. {result.why}"
            )
    return found
