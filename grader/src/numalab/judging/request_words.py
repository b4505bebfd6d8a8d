"""Sentences for a student about requests of MPI. Pure functions."""

from __future__ import annotations

from numalab.evidence.run_formats import OpenRequests
from numalab.words import count


def _were(number: int) -> str:
    return "was" if number == 1 else "were"


def open_requests(found: OpenRequests, size: str, ranks: int | None) -> str:
    """Why messages that a rank has started are not what they should be. size: of the problem, in
    words, or empty; ranks: of the job, None: not known."""
    size = f" ({size})" if size else ""
    rank = f"Rank {found.rank}" + (f" of {ranks}" if ranks is not None else "")
    at = f" at {found.line}" if found.line else ""
    if found.fault == "send_changed":
        return (
            f"{rank} changed the buffer of a message in {found.phase}{size} before it was sent: "
            f"{found.call}{at} starts it, and until MPI_Wait has returned for its request (or "
            "MPI_Waitall and the like) the buffer has to stay as it is. What arrives is chance."
        )
    requests = count(found.count, "request")
    first = "by" if found.count == 1 else "the first by"
    if found.fault == "given_up":
        return (
            f"{rank} gave up {requests} in {found.phase}{size} by MPI_Request_free, started "
            f"{first} {found.call}{at}: nothing can tell any more when its buffer may be used "
            "again. Complete it by MPI_Wait instead."
        )
    them = "it" if found.count == 1 else "them"
    return (
        f"{rank} started {requests} in {found.phase}{size} that {_were(found.count)} never "
        f"completed, {first} {found.call}{at}. Until MPI_Wait has returned for {them} (or "
        "MPI_Waitall and the like) a message may still be under way, and its buffer is MPI's."
    )
