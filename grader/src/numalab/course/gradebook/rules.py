"""course.toml: which attempt counts, what being late costs, and what was set by hand.

Everything has a default, and what is not understood is refused: a misspelt deadline must not
become no deadline. Nothing of it is stored with the grades, so a change of course.toml takes
effect the next time that they are read and no grading is repeated.
"""

from __future__ import annotations

import difflib
import math
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, get_args

from numalab.errors import UserError, reason_of
from numalab.labs.declaration import LANGUAGES

Counts = Literal["last", "best", "best_before_deadline"]
COUNTS: tuple[Counts, ...] = get_args(Counts)
LAB_POINTS = 10.0  # as every lab of the kit has
DAY_S = 24 * 60 * 60


@dataclass(frozen=True)
class LabRules:
    """deadline: None where there is none; points: what the lab is worth in this course, whatever
    its criteria add up to."""

    deadline: datetime | None = None
    points: float = LAB_POINTS


@dataclass(frozen=True)
class LateRules:
    """per_day: share of the points taken off for each day begun after the deadline; most: of
    all days together; grace_s: who is no later than that is in time; cut_off_s: who is later
    earns nothing, None: never."""

    per_day: float = 0.0
    most: float = 1.0
    grace_s: float = 0.0
    cut_off_s: float | None = None

    def penalty(self, late_s: float) -> float:
        """Share of the points that is taken off, 0 to 1."""
        if late_s <= self.grace_s:
            return 0.0
        if self.cut_off_s is not None and late_s > self.cut_off_s:
            return 1.0
        return min(self.most, self.per_day * math.ceil(late_s / DAY_S))


@dataclass(frozen=True)
class Override:
    """Points set by hand, of the lab's points; nothing is taken off them. at: as written."""

    student_id: str
    lab: str
    points: float
    reason: str
    by: str
    at: str


@dataclass(frozen=True)
class Extension:
    """One student's own deadline."""

    student_id: str
    lab: str
    deadline: datetime
    reason: str


@dataclass(frozen=True)
class Rules:
    """provisional_below: a grade is provisional where a smaller share of the lab's points could
    be graded; languages: those that count."""

    title: str = ""
    counts: Counts = "last"
    provisional_below: float = 0.8
    languages: tuple[str, ...] = LANGUAGES
    late: LateRules = LateRules()
    labs: Mapping[str, LabRules] = field(default_factory=dict)
    overrides: tuple[Override, ...] = ()
    extensions: tuple[Extension, ...] = ()

    def lab(self, name: str) -> LabRules:
        return self.labs.get(name, LabRules())

    def override(self, student_id: str, lab: str) -> Override | None:
        """The last one in the file, so that a change of mind can be written below the first."""
        found = [o for o in self.overrides if (o.student_id, o.lab) == (student_id, lab)]
        return found[-1] if found else None

    def deadline(self, student_id: str, lab: str) -> datetime | None:
        """The student's own, or the lab's."""
        found = [e for e in self.extensions if (e.student_id, e.lab) == (student_id, lab)]
        return found[-1].deadline if found else self.lab(lab).deadline


# ---- reading ------------------------------------------------------------------------

_KINDS = {str: "a text in quotes", bool: "true or false", float: "a number", list: "a list"}


class _Table:
    """A table of course.toml, of which each key is taken once. where: for messages."""

    def __init__(self, table: Mapping[str, Any], where: str, keys: Collection[str]) -> None:
        self._table, self._where = table, where
        for key in table:
            if key not in keys:
                near = difflib.get_close_matches(key, keys, n=1)
                meant = f" Did you mean {near[0]}?" if near else ""
                raise UserError(
                    f"{where}: there is no key '{key}'.{meant} The keys are: {', '.join(keys)}"
                )

    def wrong(self, key: str, what: str) -> UserError:
        return UserError(f"{self._where}: '{key}' is {self._table[key]!r}; it has to be {what}")

    def _needed(self, key: str) -> Any:
        if key not in self._table:
            raise UserError(f"{self._where}: the key '{key}' is missing")
        return self._table[key]

    def text(self, key: str, default: str | None = None) -> str:
        found = self._needed(key) if default is None else self._table.get(key, default)
        if not isinstance(found, str):
            raise self.wrong(key, _KINDS[str])
        if default is None and not found.strip():
            raise self.wrong(key, "more than nothing")
        return found

    def number(self, key: str, least: float, most: float, default: float | None = None) -> float:
        found = self._needed(key) if default is None else self._table.get(key, default)
        if not isinstance(found, int | float) or isinstance(found, bool):
            raise self.wrong(key, _KINDS[float])
        if not least <= found <= most or not math.isfinite(found):
            reach = f"{least:g} to {most:g}" if most < math.inf else f"{least:g} or more"
            raise self.wrong(key, reach)
        return float(found)

    def moment(self, key: str) -> datetime:
        found = self._needed(key)
        if not isinstance(found, datetime):
            raise self.wrong(key, "a time without quotes, such as 2027-05-03T23:59:00+02:00")
        if found.tzinfo is None:
            raise self.wrong(key, "a time with its zone, such as 2027-05-03T23:59:00+02:00")
        return found

    def has(self, key: str) -> bool:
        return key in self._table

    def tables(self, key: str) -> list[Mapping[str, Any]]:
        """Of a [[key]]."""
        found = self._table.get(key, [])
        if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
            raise self.wrong(key, f"written as [[{key}]]")
        return found

    def table(self, key: str) -> Mapping[str, Any]:
        """Of a [key]."""
        found = self._table.get(key, {})
        if not isinstance(found, dict):
            raise self.wrong(key, f"written as [{key}]")
        return found

    def names(self, key: str, allowed: Collection[str]) -> tuple[str, ...]:
        found = self._table.get(key, list(allowed))
        if not isinstance(found, list) or not found or not set(map(str, found)) <= set(allowed):
            raise self.wrong(key, f"a list of some of: {', '.join(allowed)}")
        return tuple(found)


def _late(table: Mapping[str, Any], where: str) -> LateRules:
    keys = ("per_day", "most", "grace_minutes", "cut_off_days")
    late = _Table(table, f"{where}, [late]", keys)
    cut_off_s = None
    if late.has("cut_off_days"):
        cut_off_s = DAY_S * late.number("cut_off_days", 0, math.inf)
    return LateRules(
        per_day=late.number("per_day", 0, 1, 0.0),
        most=late.number("most", 0, 1, 1.0),
        grace_s=60 * late.number("grace_minutes", 0, math.inf, 0.0),
        cut_off_s=cut_off_s,
    )


def _lab(table: Any, where: str) -> LabRules:
    if not isinstance(table, dict):
        raise UserError(f"{where}: it has to be a table")
    lab = _Table(table, where, ("deadline", "points"))
    return LabRules(
        deadline=lab.moment("deadline") if lab.has("deadline") else None,
        points=lab.number("points", 0, math.inf, LAB_POINTS),
    )


def _lab_name(name: str, lab_names: Collection[str] | None, where: str) -> str:
    if lab_names is not None and name not in lab_names:
        near = difflib.get_close_matches(name, lab_names, n=1, cutoff=0.3)
        meant = f" Did you mean {near[0]}?" if near else ""
        raise UserError(
            f"{where}: there is no lab '{name}'.{meant} The labs are: {', '.join(lab_names)}"
        )
    return name


def _at(found: _Table, table: Mapping[str, Any]) -> str:
    at = table.get("at", "")
    if not isinstance(at, str) and not hasattr(at, "isoformat"):
        raise found.wrong("at", "a date or a time")
    return at if isinstance(at, str) else str(at.isoformat())


def parse_rules(text: str, where: str, lab_names: Collection[str] | None = None) -> Rules:
    """As read_rules; where: what messages call it."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:  # says the line
        raise UserError(f"{where}: {error}") from error
    keys = ("title", "counts", "provisional_below", "languages", "late", "labs", "override",
            "extension")  # fmt: skip
    course = _Table(data, where, keys)
    counts = course.text("counts", "last")
    if counts not in COUNTS:
        raise course.wrong("counts", f"one of: {', '.join(COUNTS)}")
    labs = {
        _lab_name(name, lab_names, f"{where}, [labs]"): _lab(table, f"{where}, [labs.{name}]")
        for name, table in course.table("labs").items()
    }
    rules = Rules(
        title=course.text("title", ""),
        counts=counts,
        provisional_below=course.number("provisional_below", 0, 1, 0.8),
        languages=course.names("languages", LANGUAGES),
        late=_late(course.table("late"), where),
        labs=labs,
    )
    overrides, extensions = [], []
    for number, table in enumerate(course.tables("override"), start=1):
        here = f"{where}, [[override]] {number}"
        found = _Table(table, here, ("student", "lab", "points", "reason", "by", "at"))
        lab = _lab_name(found.text("lab"), lab_names, here)
        overrides.append(
            Override(
                student_id=found.text("student"),
                lab=lab,
                points=found.number("points", 0, rules.lab(lab).points),
                reason=found.text("reason"),
                by=found.text("by", ""),
                at=_at(found, table),
            )
        )
    for number, table in enumerate(course.tables("extension"), start=1):
        here = f"{where}, [[extension]] {number}"
        found = _Table(table, here, ("student", "lab", "deadline", "reason"))
        extensions.append(
            Extension(
                student_id=found.text("student"),
                lab=_lab_name(found.text("lab"), lab_names, here),
                deadline=found.moment("deadline"),
                reason=found.text("reason", ""),
            )
        )
    return replace(rules, overrides=tuple(overrides), extensions=tuple(extensions))


def read_rules(path: Path, lab_names: Collection[str] | None = None) -> Rules:
    """The defaults where there is no such file. lab_names: of the kit; None: any may be named.
    Raises UserError, which names file and key."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Rules()
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8: {error}. Save it as UTF-8.") from error
    except OSError as error:
        raise UserError(f"can't read {path}: {reason_of(error)}") from error
    return parse_rules(text, str(path), lab_names)


# What `gradebook init` writes: the defaults, said. A test reads it back and compares.
TEMPLATE = """\
# How this course counts. Changes take effect at once; nothing is graded again for them.
title = ""

# Which grading of a lab counts: "last" (of what was handed in last), "best" (after what being
# late costs), or "best_before_deadline" (the best in time; where none is, the best late one).
counts = "last"

# A grade is marked provisional where less than this share of the lab's points could be graded.
provisional_below = 0.8

# Of a lab that is handed in in both languages the better one counts.
languages = ["c", "fortran"]

[late]
per_day = 0.0        # share of the points taken off for each day begun after the deadline
most = 1.0           # never more than this share
grace_minutes = 0    # who is no later than this is in time
# cut_off_days = 7   # who is later than this earns nothing

# [labs.01_first_touch]
# deadline = 2027-05-03T23:59:00+02:00   # with its zone
# points = 10

# [[extension]]
# student = "ada"
# lab = "01_first_touch"
# deadline = 2027-05-10T23:59:00+02:00
# reason = "ill"

# [[override]]                # points set by hand; nothing is taken off them
# student = "ada"
# lab = "01_first_touch"
# points = 8
# reason = "explained her kernel at the board"
# by = "me"
# at = 2027-05-12
"""
