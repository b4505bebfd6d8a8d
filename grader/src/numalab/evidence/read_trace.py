"""Read the touch maps of records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numalab.evidence.read_parts import expand, read_checked_pages
from numalab.evidence.run_formats import Origin, TouchMap, TracedPages
from numalab.evidence.traced_pages import TracedArray

_MOST_USES = 10_000_000  # that are seen in mid-phase, by one thread of what one wrote


def _traced_array(entry: TracedPages, origins: Sequence[Origin]) -> TracedArray:
    writers = expand(entry.first_writer)
    if any(times > _MOST_USES for *_, times in entry.used_again):
        raise ValueError("more uses of a page than any tracing sees")
    users = expand([(frozenset(users), count) for users, count in entry.users])
    if len(users) != len(writers):
        raise ValueError("users of other pages than those that were traced")
    return TracedArray(
        name=entry.array,
        first_writer=writers,
        users=users,
        checked_pages=read_checked_pages(entry, len(writers)),
        used_again={(writer, user): times for writer, user, times in entry.used_again},
        **_accesses_by_origin(entry, origins, len(writers)),
    )


def _accesses_by_origin(
    entry: TracedPages, origins: Sequence[Origin], pages: int
) -> dict[str, Any]:
    """Return the fields that an older record does not have; empty for one."""
    if entry.written_from is None or entry.used_from is None:
        return {}
    origin = dict(enumerate(origins))
    try:
        fields: dict[str, Any] = {
            "written_from": expand(
                [(None if o < 0 else origin[o], count) for o, count in entry.written_from]
            ),
            "used_from": expand(
                [(frozenset(origin[o] for o in users), count) for users, count in entry.used_from]
            ),
            "used_again_from": {
                (None if writer < 0 else origin[writer], origin[user]): times
                for writer, user, times in entry.used_again_from
            },
        }
    except KeyError as error:
        raise ValueError(f"an access from origin {error}, which there is not") from error
    if not len(fields["written_from"]) == len(fields["used_from"]) == pages:
        raise ValueError("origins of other pages than those that were traced")
    return fields


def traced_arrays(touch_map: TouchMap | None) -> tuple[TracedArray, ...]:
    """Return the arrays of a touch map; empty: None was given. Raises ValueError where its pages,
    uses or origins are impossible."""
    if touch_map is None:
        return ()
    return tuple(_traced_array(entry, touch_map.origins) for entry in touch_map.arrays)
