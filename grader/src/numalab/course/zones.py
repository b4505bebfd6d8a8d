"""Times without a zone, as course systems write them, and the zone that is assumed for them."""

from __future__ import annotations

from datetime import datetime, timezone
from zoneinfo import ZoneInfo


class BadZone(Exception):
    """A zone's name is not known; the message says what to write."""


def zone_named(name: str) -> ZoneInfo:
    """Return the zone of an IANA name, from the system or the package tzdata. Raises BadZone if
    there is none."""
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, LookupError) as error:
        raise BadZone(
            "write a name of the IANA time zone database, such as Europe/Vienna"
        ) from error


def _moments(local: datetime, zone: ZoneInfo | None) -> list[datetime]:
    """Return the two moments, equal but for times that clocks show twice or never, that a clock
    shows as `local`. Their offsets are fixed, since two times of one zone are compared by what its
    clocks show."""
    found = []
    for fold in (0, 1):
        naive = local.replace(tzinfo=None, fold=fold)
        if zone is None:
            found.append(naive.astimezone())
        else:
            offset = naive.replace(tzinfo=zone).utcoffset()
            assert offset is not None
            found.append(naive.replace(tzinfo=timezone(offset), fold=0))
    return found


def first_moment(local: datetime, zone: ZoneInfo | None) -> datetime:
    """Return the moment that a clock in the zone shows as `local`; zone None: this machine's.

    If clocks are put back, some times have two moments, and the earlier one is returned. If they
    are put forward, some have none, and the offset, before or after the change, that makes the
    moment earlier is used. So a hand-in is not late because of the change. Raises OverflowError,
    OSError and ValueError at the ends of the calendar.
    """
    return min(_moments(local, zone))


def last_moment(local: datetime, zone: ZoneInfo) -> datetime:
    """Return the later of the two moments that a clock shows as `local`, which is what a deadline
    means. Raises as first_moment does."""
    return max(_moments(local, zone))


def taken_moment(local: datetime, name: str, deadline: datetime | None) -> tuple[datetime, str]:
    """Return the moment of a time, and a text on the zone that was assumed, which is empty if the
    time has one.

    Without a name the zone is this machine's, unless there is a deadline and this machine's offset
    at the deadline is another one: then the deadline's offset is used, since machines of a cluster
    are often set to UTC.

    Args:
        name: course.toml's timezone; empty: it has none.
        deadline: the deadline with which the time is compared; None: there is none.

    Raises:
        BadZone: there is no zone of that name.
        OverflowError, OSError, ValueError: the time is at the ends of the calendar.
    """
    if local.tzinfo is not None:
        return local, ""
    taken_as = "Times without a zone are taken as"
    if name:
        return first_moment(local, zone_named(name)), f"{taken_as} {name}'s (course.toml)."
    how = 'write timezone = "AREA/CITY" into course.toml'
    if deadline is not None and deadline.astimezone().utcoffset() != deadline.utcoffset():
        return local.replace(tzinfo=deadline.tzinfo), (
            f"{taken_as} {_offset_words(deadline)}, which the deadline has, and not as this "
            f"machine's zone, {_machine_words(deadline)}. If that is wrong, {how}."
        )
    moment = first_moment(local, None)
    return moment, (
        f"{taken_as} this machine's zone, {_machine_words(moment)}. If that is wrong, {how}."
    )


def _offset_words(moment: datetime) -> str:
    """Return a moment's offset, such as UTC+01:00, or UTC."""
    text = moment.isoformat()[-6:]
    return "UTC" if text == "+00:00" else f"UTC{text}"


def _machine_words(moment: datetime) -> str:
    """Return this machine's zone at a moment, such as CET (UTC+01:00), or UTC."""
    here = moment.astimezone()
    offset = _offset_words(here)
    return offset if here.tzname() == offset else f"{here.tzname()} ({offset})"
