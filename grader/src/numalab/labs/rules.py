"""Which rules a kind of run is needed for."""

from __future__ import annotations

# Which rules a kind of run is needed for.
RULES_OF_RUN: dict[str, frozenset[str]] = {
    "trace": frozenset({"shared_out", "touched_where_used", "local_pages"}),
    "placement": frozenset({"local_pages", "balanced"}),
    "memory": frozenset({"huge_pages", "no_waste", "released"}),
    "race": frozenset({"race_free"}),
    "locate": frozenset({"located"}),
    "binding": frozenset({"binding"}),
    "synchronous_check": frozenset({"deadlock_free"}),
    "thread_level": frozenset({"thread_level"}),
    "ranks": frozenset({"launch"}),
    "latency": frozenset({"predicted"}),
}
