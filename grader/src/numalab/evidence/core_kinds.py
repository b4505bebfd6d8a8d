"""Which cores of a node are alike. Pure functions.

Many processors have cores of two kinds, one faster than the other. Equal parts of a loop then take
unlike time, and what follows from equal cores (a bound, a share, a speedup) does not hold."""

from __future__ import annotations

from dataclasses import dataclass

from numalab.evidence.record import Json
from numalab.pu_lists import format_pus


@dataclass(frozen=True)
class CoreKind:
    """pus: as Linux numbers them; name: the kind's, or None."""

    pus: tuple[int, ...]
    name: str | None


def core_kinds(node: Json) -> tuple[CoreKind, ...] | None:
    """The kinds of a node's cores, the weakest first as far as it is known which that is; None
    where its record does not tell."""
    told = node.get("core_kinds")
    if told is None:
        return None
    return tuple(CoreKind(tuple(sorted(kind["pus"])), kind["name"]) for kind in told)


def kinds_in_words(kinds: tuple[CoreKind, ...]) -> str:
    """As in: PUs 0-7 (IntelCore), PUs 8-15 (IntelAtom); the last kind first."""
    return ", ".join(
        f"PU{'s' if len(kind.pus) > 1 else ''} {format_pus(kind.pus)}"
        + (f" ({kind.name})" if kind.name else "")
        for kind in reversed(kinds)
    )
