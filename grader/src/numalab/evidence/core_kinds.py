"""Which cores of a node are alike. Pure functions.

Some processors have cores of two kinds, one faster than the other. Equal parts of a loop then take
unlike time."""

from __future__ import annotations

from dataclasses import dataclass

from numalab.evidence.record import Json
from numalab.pu_lists import format_pus


@dataclass(frozen=True)
class CoreKind:
    """PUs whose cores are of one kind. pus: as Linux numbers them; name: the kind's, or None."""

    pus: tuple[int, ...]
    name: str | None


def core_kinds(node: Json) -> tuple[CoreKind, ...] | None:
    """Return the kinds of a node's cores in the record's order, the weakest first as far as that is
    known; None where the record does not tell."""
    told = node.get("core_kinds")
    if told is None:
        return None
    return tuple(CoreKind(tuple(sorted(kind["pus"])), kind["name"]) for kind in told)


def kinds_in_words(kinds: tuple[CoreKind, ...]) -> str:
    """Return kinds in words, the last one first, as in: PUs 0-7 (IntelCore), PUs 8-15
    (IntelAtom)."""
    return ", ".join(
        f"PU{'s' if len(kind.pus) > 1 else ''} {format_pus(kind.pus)}"
        + (f" ({kind.name})" if kind.name else "")
        for kind in reversed(kinds)
    )
