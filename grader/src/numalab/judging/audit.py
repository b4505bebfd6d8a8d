"""The audit of a lab: which verdicts on its starting code and its solution are not as lab.toml
declares them. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from numalab.judging.verdict import Verdict
from numalab.labs.declaration import Lab


def is_refuted(
    lab: Lab, verdict: Verdict, numa_nodes: Mapping[str, int], huge_page_mode: str | None = None
) -> bool:
    """Tell whether `complaints` has one of a criterion that is not undecided. Arguments as its."""
    decided = tuple(c for c in verdict.criteria if c.status != "inconclusive")
    return bool(complaints(lab, replace(verdict, criteria=decided), numa_nodes, huge_page_mode))


def complaints(
    lab: Lab, verdict: Verdict, numa_nodes: Mapping[str, int], huge_page_mode: str | None = None
) -> list[str]:
    """Return a text for each verdict whose status is not the one that the lab declares. Left out
    are those that are not gradable, and for starting code, where huge pages are "always", those on
    criteria with needs_huge_page_mode.

    Args:
        numa_nodes: the number of NUMA nodes of each machine, by the verdicts' `where`.
        huge_page_mode: the mode that workers have; None: not known.
    """
    declared = {criterion.name: criterion for criterion in lab.criteria}
    told = []
    for result in verdict.criteria:
        if result.status == "not_gradable":
            continue
        needs_mode = declared[result.name].needs_huge_page_mode
        if verdict.variant == "handout" and needs_mode and huge_page_mode == "always":
            continue  # any large table gets huge pages, the handout's too
        fails_from = declared[result.name].handout_fails_from
        must_fail = (
            verdict.variant == "handout"
            and fails_from is not None
            and numa_nodes[result.where] >= fails_from
        )
        declared_status = "fail" if must_fail else "pass"
        if result.status != declared_status:
            place = "" if result.where == "here" else f" on {result.where}"
            told.append(
                f"{verdict.variant} in {verdict.language}: {result.name}{place} is "
                f"'{result.status}', lab.toml says '{declared_status}'. {result.why}"
            )
    return told
