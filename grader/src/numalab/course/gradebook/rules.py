"""course.toml: which attempt counts, what being late costs, what the parts of a grade weigh, and
what was set by hand.

What is not understood is refused: a misspelt deadline must not become no deadline.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time
from functools import cached_property
from pathlib import Path
from typing import Literal, get_args

from numalab.course.gradebook.parts import PART_NAMES, VARIANT_PARTS, PartName
from numalab.course.zones import BadZone, last_moment, zone_named
from numalab.errors import UserError
from numalab.labs.declaration import LANGUAGES
from numalab.labs.variants import is_variant_name, lab_of_variant, variant_name
from numalab.toml_files.tables import Table, parse_table, read_text

Counts = Literal["last", "best", "best_before_deadline"]
COUNTS: tuple[Counts, ...] = get_args(Counts)
LAB_POINTS = 10.0  # the points of each of numalab's labs
VIVA_POINTS = 10.0  # the points in which a viva's mark may be given
DAY_S = 24 * 60 * 60


@dataclass(frozen=True)
class LabRules:
    """What course.toml says of a lab.

    Attributes:
        deadline: the lab's deadline; None: there is none.
        points: what the lab is worth in the course, whatever its criteria add up to.
        parts: parts of its grade; None: all that numalab has for it.
    """

    deadline: datetime | None = None
    points: float = LAB_POINTS
    parts: tuple[PartName, ...] | None = None


@dataclass(frozen=True)
class LateRules:
    """What being late costs.

    Attributes:
        daily_share: share of the points taken off per day begun after the deadline.
        max_share: the largest share taken off for all days together.
        grace_s: a hand-in that is no later than this is in time.
        cut_off_s: a hand-in that is later than this earns nothing; None: there is no such limit.
    """

    daily_share: float = 0.0
    max_share: float = 1.0
    grace_s: float = 0.0
    cut_off_s: float | None = None

    def penalty(self, late_s: float) -> float:
        """Return the share of the points that is taken off, 0 to 1. late_s: seconds after the
        deadline."""
        if late_s <= self.grace_s:
            return 0.0
        if self.cut_off_s is not None and late_s > self.cut_off_s:
            return 1.0
        return min(self.max_share, self.daily_share * math.ceil(late_s / DAY_S))


@dataclass(frozen=True)
class Override:
    """Points set by hand, on the scale of the lab's points. author and date may be empty."""

    student_id: str
    lab: str
    points: float
    reason: str
    author: str
    date: str


@dataclass(frozen=True)
class VivaMark:
    """A mark of an oral examination.

    Attributes:
        lab: the lab that it is about; empty: all labs that have no mark of their own.
        share: the mark, 0 to 1.
        author, date, note: may be empty.
    """

    student_id: str
    lab: str
    share: float
    author: str
    date: str
    note: str


@dataclass(frozen=True)
class Extension:
    """One student's own deadline."""

    student_id: str
    lab: str
    deadline: datetime
    reason: str


@dataclass(frozen=True)
class Rules:
    """What course.toml says.

    Attributes:
        counts: which grading of a lab counts.
        min_gradable_share: a grade is preliminary if a smaller share of its points is gradable on
            the machine.
        languages: those that count.
        allow_quick: gradings with --quick count, too.
        starting_code_counts: unchanged starting code earns what its criteria would.
        parts: weights of the parts of a grade; empty: only kernels count, and a variant is a lab
            of its own.
        labs_by_part: the labs that have a part; any lab may have a part that is not a key.
        kept_until, contact: for the statement on what is kept (privacy.py); may be empty.
        timezone: the IANA name of the zone of times that name none; empty: course.toml has none.
    """

    title: str = ""
    counts: Counts = "last"
    min_gradable_share: float = 0.8
    languages: tuple[str, ...] = LANGUAGES
    allow_quick: bool = False
    starting_code_counts: bool = False
    late: LateRules = LateRules()
    labs: Mapping[str, LabRules] = field(default_factory=dict)
    overrides: tuple[Override, ...] = ()
    extensions: tuple[Extension, ...] = ()
    parts: Mapping[PartName, float] = field(default_factory=dict)
    vivas: tuple[VivaMark, ...] = ()
    labs_by_part: Mapping[PartName, Collection[str]] = field(default_factory=dict)
    kept_until: str = ""
    contact: str = ""
    timezone: str = ""

    def lab(self, name: str) -> LabRules:
        """Return a lab's rules; the defaults if course.toml does not name it."""
        return self.labs.get(name, LabRules())

    def override(self, student_id: str, lab: str) -> Override | None:
        """Return the points set by hand for a student's lab; None if there are none. Of several the
        last one in the file counts, so that a correction can be added below."""
        found = [o for o in self.overrides if (o.student_id, o.lab) == (student_id, lab)]
        return found[-1] if found else None

    def deadline(self, student_id: str, lab: str) -> datetime | None:
        """Return the student's own deadline, or else the lab's; None if there is none. A variant
        that is part of its lab's grade has the lab's deadline unless it has one of its own."""
        found = [e for e in self.extensions if (e.student_id, e.lab) == (student_id, lab)]
        deadline = found[-1].deadline if found else self.lab(lab).deadline
        if deadline is None and self.parts and is_variant_name(lab):
            return self.deadline(student_id, lab_of_variant(lab))
        return deadline

    def weights(self, lab: str) -> dict[PartName, float]:
        """Return the weights above 0 of the parts that a lab has; none if grades have no parts."""
        has = self.lab(lab).parts
        if has is None:
            has = tuple(part for part in PART_NAMES if lab in self.labs_by_part.get(part, (lab,)))
        return {part: weight for part, weight in self.parts.items() if weight and part in has}

    @cached_property
    def _vivas_of(self) -> Mapping[str, list[VivaMark]]:
        """Marks by student, each student's in the order of the file."""
        found: dict[str, list[VivaMark]] = {}
        for mark in self.vivas:
            found.setdefault(mark.student_id, []).append(mark)
        return found

    def viva(self, student_id: str, lab: str) -> VivaMark | None:
        """Return a student's mark for the lab, or else the one for all labs; None if there is none.
        Of several of a kind the last one in the file counts."""
        own = self._vivas_of.get(student_id, [])
        found = [m for m in own if m.lab == lab] or [m for m in own if not m.lab]
        return found[-1] if found else None


def signed(mark: Override | VivaMark) -> str:
    """Return by whom and when something was set, such as " by me, 2027-05-12"; may be empty."""
    by = f" by {mark.author}" if mark.author else ""
    return by + (f", {mark.date}" if mark.date else "")


# ---- reading ------------------------------------------------------------------------

COURSE_KEYS = (
    "title", "counts", "provisional_below", "languages", "allow_quick", "kept_until", "contact",
    "starting_code", "timezone", "late", "parts", "labs", "override", "viva", "extension",
)  # fmt: skip
STARTING_CODE = ("nothing", "counts")
LATE_KEYS = ("per_day", "most", "grace_minutes", "cut_off_days")
LAB_KEYS = ("deadline", "points", "parts")
OVERRIDE_KEYS = ("student", "lab", "points", "reason", "by", "at")
VIVA_KEYS = ("student", "lab", "points", "share", "by", "at", "note")
EXTENSION_KEYS = ("student", "lab", "deadline", "reason")


def _late(late: Table) -> LateRules:
    return LateRules(
        daily_share=float(late.number("per_day", 0, 1, default=0.0)),
        max_share=float(late.number("most", 0, 1, default=1.0)),
        grace_s=60 * float(late.number("grace_minutes", 0, default=0.0)),
        cut_off_s=late.maybe("cut_off_days", lambda key: DAY_S * late.number(key, 0)),
    )


def _timezone(course: Table) -> str:
    name = course.text("timezone", "")
    if name:
        try:
            zone_named(name)
        except BadZone as error:
            course.refuse("timezone", str(error))
    return name


def _deadline(table: Table, timezone: str) -> datetime:
    """Read the key deadline. A time without a zone is refused unless the course has one, in which
    it then is; of an hour that clocks show twice the later one is taken."""
    moment = table.moment("deadline", needs_zone=not timezone)
    return moment if moment.tzinfo is not None else last_moment(moment, zone_named(timezone))


def _lab(lab: Table, timezone: str) -> LabRules:
    return LabRules(
        deadline=lab.maybe("deadline", lambda _: _deadline(lab, timezone)),
        points=float(lab.number("points", 0, default=LAB_POINTS)),
        parts=lab.maybe("parts", lambda key: lab.choices(key, PART_NAMES)),
    )


def _parts(course: Table) -> dict[PartName, float]:
    """Read the weights of parts; none without [parts]."""
    if "parts" not in course:
        return {}
    parts = course.table("parts", PART_NAMES)
    weights = {name: float(parts.number(name, 0, default=0.0)) for name in PART_NAMES}
    if not any(weights.values()):
        parts.fail(
            "[parts] has no weight above 0. Give some, such as kernel = 40 and viva = 10; without "
            "[parts] kernels alone count"
        )
    return weights


def _check_lab_parts(labs: Table, rules: Rules) -> None:
    """Check the parts that labs name: the lab is no variant, [parts] has weights, and one of its
    parts has a weight above 0."""
    for name, lab in rules.labs.items():
        if lab.parts is None:
            continue
        if is_variant_name(name):
            labs.fail(f"[labs.{name}]: a variant is a part and has none", name, "parts")
        if not rules.parts:
            labs.fail(f"[labs.{name}]: 'parts' needs the weights of [parts]", name, "parts")
        if not rules.weights(name):
            labs.fail(f"[labs.{name}]: none of its parts has a weight above 0", name, "parts")


def _override(table: Table, lab_names: Collection[str] | None, rules: Rules) -> Override:
    lab = _check_lab(table, table.text("lab"), lab_names, "lab")
    return Override(
        student_id=table.text("student"),
        lab=lab,
        points=float(table.number("points", 0, rules.lab(lab).points)),
        reason=table.text("reason"),
        author=table.text("by", ""),
        date=_read_date(table),
    )


def _viva(table: Table, lab_names: Collection[str] | None) -> VivaMark:
    lab = table.text("lab", "")
    if lab:
        _check_lab(table, lab, lab_names, "lab")
        if is_variant_name(lab):
            table.refuse("lab", f"a viva is about a lab and all of it: {lab_of_variant(lab)}")
    if ("points" in table) == ("share" in table):
        table.fail(f"{table.header} needs either points, of {VIVA_POINTS:g}, or share, from 0 to 1")
    if "share" in table:
        share = float(table.number("share", 0, 1))
    else:
        share = float(table.number("points", 0, VIVA_POINTS)) / VIVA_POINTS
    student, by, note = table.text("student"), table.text("by", ""), table.text("note", "")
    return VivaMark(student, lab, share, by, _read_date(table), note)


def _check_lab(
    table: Table, name: str, lab_names: Collection[str] | None, *place: str | int
) -> str:
    """Check that a lab of this name exists, and return the name. lab_names: None: any name is
    accepted; place: the name's place in the table."""
    if lab_names is not None and name not in lab_names:
        near = difflib.get_close_matches(name, lab_names, n=1, cutoff=0.3)
        meant = f" Did you mean {near[0]}?" if near else ""
        inside = f"{table.header}: " if table.header else ""
        labs = ", ".join(lab_names)
        table.fail(f"{inside}there is no lab '{name}'.{meant} The labs are: {labs}", *place)
    return name


def _read_date(table: Table, key: str = "at") -> str:
    """Return a text, or a date or a time as text; empty if there is none."""
    at = table.values.get(key, "")
    if isinstance(at, str):
        return at
    if not isinstance(at, date | time):  # a datetime is a date
        table.refuse(key, "write a date or a time")
    return at.isoformat()


NOT_KNOWN: Mapping[PartName, Collection[str]] = {}  # where it isn't known which labs have a part


def _labs_by_part(
    lab_names: Collection[str] | None, known: Mapping[PartName, Collection[str]]
) -> dict[PartName, frozenset[str]]:
    """Return the labs that have a part, for parts of which that is known: of the parts of variants
    only labs that have a variant. lab_names: None: which have one is not known."""
    found = {part: frozenset(labs) for part, labs in known.items()}
    if lab_names is not None:
        varied = frozenset(name for name in lab_names if variant_name(name) in lab_names)
        found |= {part: varied & found.get(part, varied) for part in VARIANT_PARTS}
    return found


def parse_rules(
    text: str,
    where: str,
    lab_names: Collection[str] | None = None,
    labs_by_part: Mapping[PartName, Collection[str]] = NOT_KNOWN,
) -> Rules:
    """Parse the text of a course.toml. where: its name in messages. The other arguments and what is
    raised are as for read_rules."""
    course = parse_table(text, where, UserError, COURSE_KEYS)
    labs = course.table("labs", None)
    for name in labs.values:
        _check_lab(labs, name, lab_names, name)
    timezone = _timezone(course)
    rules = Rules(
        title=course.text("title", ""),
        counts=course.choice("counts", COUNTS, "last"),
        min_gradable_share=float(course.number("provisional_below", 0, 1, default=0.8)),
        languages=course.choices("languages", LANGUAGES, LANGUAGES),
        allow_quick=course.truth("allow_quick", default=False),
        starting_code_counts=course.choice("starting_code", STARTING_CODE, "nothing") == "counts",
        late=_late(course.table("late", LATE_KEYS)),
        labs={name: _lab(labs.table(name, LAB_KEYS), timezone) for name in labs.values},
        parts=_parts(course),
        labs_by_part=_labs_by_part(lab_names, labs_by_part),
        kept_until=_read_date(course, "kept_until"),
        contact=course.text("contact", ""),
        timezone=timezone,
    )
    _check_lab_parts(labs, rules)
    return replace(
        rules,
        overrides=tuple(
            _override(table, lab_names, rules) for table in course.tables("override", OVERRIDE_KEYS)
        ),
        extensions=tuple(
            Extension(
                student_id=table.text("student"),
                lab=_check_lab(table, table.text("lab"), lab_names, "lab"),
                deadline=_deadline(table, timezone),
                reason=table.text("reason", ""),
            )
            for table in course.tables("extension", EXTENSION_KEYS)
        ),
        vivas=tuple(_viva(table, lab_names) for table in course.tables("viva", VIVA_KEYS)),
    )


def read_rules(
    path: Path,
    lab_names: Collection[str] | None = None,
    labs_by_part: Mapping[PartName, Collection[str]] = NOT_KNOWN,
) -> Rules:
    """Read a course.toml; return the default rules if there is none.

    Args:
        lab_names: labs, variants included, that may be named; None: any may.
        labs_by_part: as in Rules.

    Raises:
        UserError: the file can't be read, or something in it is not understood.
    """
    try:
        text = read_text(path, UserError)
    except FileNotFoundError:
        return Rules()
    return parse_rules(text, str(path), lab_names, labs_by_part)


# What `gradebook init` writes: the defaults, explained. A test reads it back and compares.
TEMPLATE = """\
# How this course counts. Changes take effect at once; nothing is graded again for them.
title = ""

# Which grading of a lab counts: "last" (of what was handed in last), "best" (after what being
# late costs), or "best_before_deadline" (the best in time; where none is, the best late one).
counts = "last"

# A grade is marked provisional while points of it are open, which count as not earned until they
# are decided, and where the node can show less than this share of the lab's points.
provisional_below = 0.8

# Of a lab that is handed in in both languages the better one counts.
languages = ["c", "fortran"]

# Whether gradings with --quick count. They decide up to 1 in 20 kernels wrongly that are just at
# a limit of time; without --quick up to 1 in 100 pass wrongly, and 1 in 1,000 fail.
allow_quick = false

# What starting code earns that nobody has changed: "nothing", or "counts", what its criteria would.
starting_code = "nothing"

# The zone of times that name none, in Moodle's worksheet, handed_in_at and deadlines. Without it:
# this machine's if it has the deadline's offset then, else the deadline's offset.
# timezone = "Europe/Vienna"

# What ./numalab gradebook privacy tells students of what is kept of them.
# kept_until = 2027-10-01
# contact = "office@example.org"

[late]
per_day = 0.0        # share of the points taken off for each day begun after the deadline
most = 1.0           # never more than this share
grace_minutes = 0    # who is no later than this is in time
# cut_off_days = 7   # who is later than this earns nothing

# [parts]             # what parts of a lab's grade weigh; without them kernels alone count,
#                     # and a variant is a lab of its own
# kernel = 20         # public solutions earn it in full
# variant = 45        # 01_first_touch_variant/, where the lab has variants
# prediction = 10     # predictions.toml in it, where the variant asks for some
# diagnose = 10       # diagnose.toml, beside the kernel: ./numalab diagnose
# viva = 15           # [[viva]], below; counts 0 until there is a mark

# [labs.01_first_touch]
# deadline = 2027-05-03T23:59:00+02:00   # of its variant, too, if that has none
# points = 10
# parts = ["kernel", "variant", "viva"]  # where the lab has not all of [parts]

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

# [[viva]]
# student = "ada"
# lab = "01_first_touch"      # left out: the mark holds for every lab
# points = 9                  # of 10; or share = 0.9
# by = "me"
# at = 2027-05-14
# note = "knew why nebula needs spread"
"""
