"""Read the quantities that students predict ([[predicted]] in lab.toml), and the file with
predictions, predictions.toml. Pure functions.

A quantity is of one kind:

| of | is | needs |
|----|----|-------|
| value | what a criterion measures of the student's kernel | `criterion`, `unit`; maybe `where` |
| time | the time of a role, in seconds | `role`; `part`, where the lab names parts |
| rate | the same, in GB/s | `role`; `part` |
| ratio | how many times as fast a role is as another one | `role`, `over`; `part` |
| message | a message of `bytes`, one way, in us | `bytes`; maybe `file`, of the launch |
| seen | an observation, one of OBSERVED | `what`, and what that needs; `part` |
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from numalab.toml_files.tables import Table, did_you_mean, parse_table
from numalab.untrusted.visible import shortened, visible

FILE = "predictions.toml"
_LONGEST_NAME, _MOST_UNKNOWN = 60, 5  # of unknown keys
SHARE = "share"  # the unit of a part of a whole, 0 to 1

QuantityKind = Literal["value", "time", "rate", "ratio", "message", "seen"]
Role = Literal["submission", "handout", "solution"]
ROLES: tuple[Role, ...] = ("submission", "handout", "solution")
UNITS: Mapping[QuantityKind, str] = {
    "time": "s",
    "rate": "GB/s",
    "ratio": "times as fast",
    "message": "us",
}
What = Literal[
    "used_by_lower_half", "written_by_lower_half", "on_small_pages", "faults_of_small_pages",
    "met", "in_shared_lines", "messages", "of_rank",
]  # fmt: skip
# Unit and keys of each observed quantity. It is observed in runs of the solution, or of starting
# code where that is what students can work out (judging/observed_quantities.py), so that no kernel
# can make a student's prediction come true.
_STRETCH = ("array", "first", "last")
OBSERVED: Mapping[What, tuple[str, tuple[str, ...]]] = {
    "used_by_lower_half": (SHARE, _STRETCH),
    "written_by_lower_half": (SHARE, _STRETCH),
    "on_small_pages": ("KiB", ()),
    "faults_of_small_pages": ("page faults", ()),
    "met": ("of 100 keys", ()),
    "in_shared_lines": ("of 100 keys", ()),
    "messages": ("messages", ()),
    "of_rank": (SHARE, ("rank",)),
}
# Keys of each kind besides name, question and of.
_KEYS: Mapping[QuantityKind, tuple[str, ...]] = {
    "value": ("unit", "criterion", "where"),
    "time": ("role", "part"),
    "rate": ("role", "part"),
    "ratio": ("role", "over", "part"),
    "message": ("bytes", "file"),
    "seen": ("what", "part"),
}
PREDICTED_KEYS = (
    "name", "question", "of", "unit", "criterion", "where", "role", "over", "part", "bytes",
    "file", "what", *_STRETCH, "rank",
)  # fmt: skip


class BadPredictions(ValueError):
    """A file that can't be used; the message says why."""


@dataclass(frozen=True)
class Quantity:
    """A quantity that students predict. Fields without a comment are keys of the table above; None:
    it has no such key."""

    name: str  # its key in predictions.toml
    question: str  # a sentence for students
    of: QuantityKind  # its kind
    unit: str  # of its value
    criterion: str | None = None
    where: str = "here"  # the place of the criterion's value: "here", or a virtual machine
    role: Role | None = None
    over: Role | None = None
    part: str | None = None
    bytes: int | None = None
    file: str | None = None
    what: What | None = None
    array: str | None = None
    # first, last: shares (0 to 1) of an array's length.
    first: float = 0.0
    last: float = 1.0
    rank: int | None = None

    @property
    def is_share(self) -> bool:
        """Tell whether it is a part of a whole, 0 to 1."""
        return self.unit == SHARE


def read_quantities(
    tables: Sequence[Table], criteria: Collection[str], parts: Collection[str | None]
) -> tuple[Quantity, ...]:
    """Read [[predicted]] of a lab. criteria: names of all of the lab's; parts: names of its
    kernels, or None for the only one. Raises the tables' error for a mistake."""
    found: dict[str, Quantity] = {}
    for table in tables:
        quantity = _quantity(table, criteria, parts)
        if quantity.name in found:
            table.fail(f"two quantities are called {quantity.name}; name each once", "name")
        found[quantity.name] = quantity
    return tuple(found.values())


def _quantity(table: Table, criteria: Collection[str], parts: Collection[str | None]) -> Quantity:
    of: QuantityKind = table.choice("of", tuple(_KEYS))
    what: What | None = table.choice("what", tuple(OBSERVED)) if of == "seen" else None
    unit, more = OBSERVED[what] if what is not None else (UNITS.get(of), ())
    for key in table.values:
        if key not in ("name", "question", "of", *_KEYS[of], *more):
            table.fail(f"'{key}' has no meaning for a quantity of {what or of}", key)
    first, last = (
        table.number(key, least=0.0, most=1.0) if key in more else default
        for key, default in (("first", 0.0), ("last", 1.0))
    )
    if first >= last:
        table.refuse("last", "it lies behind first")
    roles = {key: table.choice(key, ROLES) for key in ("role", "over") if key in _KEYS[of]}
    if len(set(roles.values())) < len(roles):
        table.refuse("over", "a role is as fast as itself; name another one")
    named = tuple(part for part in parts if part is not None)
    part = table.choice("part", named) if named and "part" in _KEYS[of] else None
    if part is None and "part" in table:
        table.fail("the lab has one kernel; leave out 'part'", "part")
    return Quantity(
        name=table.text("name"),
        question=table.text("question"),
        of=of,
        unit=table.text("unit") if unit is None else unit,
        criterion=table.choice("criterion", tuple(criteria)) if of == "value" else None,
        where=table.text("where", default="here") if of == "value" else "here",
        role=roles.get("role"),
        over=roles.get("over"),
        part=part,
        bytes=table.whole("bytes", 0) if of == "message" else None,
        file=table.maybe("file", table.text),
        what=what,
        array=table.text("array") if "array" in more else None,
        first=first,
        last=last,
        rank=table.whole("rank", 0) if "rank" in more else None,
    )


@dataclass(frozen=True)
class Predicted:
    """The predictions in a file."""

    values: Mapping[str, float] = field(default_factory=dict)  # by name of the quantity
    # Why a value can't be used, by name.
    complaints: Mapping[str, str] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()  # sentences on the first keys that are no quantity

    @property
    def is_empty(self) -> bool:
        """Tell whether there are no values, complaints or unknown keys."""
        return not (self.values or self.complaints or self.unknown)


def read_predictions(text: str, quantities: Sequence[Quantity]) -> Predicted:
    """Parse predictions.toml. A quantity that is missing, or still "" as it was handed out, is in
    neither values nor complaints. quantities: the lab's. Raises BadPredictions where the text can't
    be parsed."""
    by_name = {quantity.name: quantity for quantity in quantities}
    example = f"write {quantities[0].name} = a number" if quantities else ""
    table = parse_table(text, "", BadPredictions, None, example)
    values, complaints, unknown = {}, {}, []
    for name, value in table.values.items():
        if name not in by_name:
            near = did_you_mean(name, by_name) or f" Asked for: {', '.join(by_name)}."
            shown = shortened(visible(name), _LONGEST_NAME)
            unknown.append(f"Unknown key '{shown}'.{near}")
            continue
        if value == "":
            continue
        why = _complaint(by_name[name], value)
        if why:
            complaints[name] = why
        else:
            values[name] = float(value)
    return Predicted(values, complaints, tuple(unknown[:_MOST_UNKNOWN]))


def _complaint(quantity: Quantity, value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "this is no number: write it without quotes and without a unit"
    if not math.isfinite(value):
        return "this is no finite number"
    if quantity.is_share and not 0 <= value <= 1:
        return "a share is 0 to 1, such as 0.5 for 50 %"
    if not quantity.is_share and value <= 0:
        return "it has to be above 0"
    of_whole = re.match(r"of (\d+) ", quantity.unit)
    if of_whole and value > int(of_whole[1]):
        return f"it is {quantity.unit}, so it can't be more than {of_whole[1]}"
    return ""


_COLUMNS = 78


def template(quantities: Sequence[Quantity]) -> str:
    """Return predictions.toml to be filled in: each quantity with question and unit, and "" as
    its value."""
    opening = (
        "What will the run show that is graded, on the staff's node? Write a number in the place "
        'of each "", before you measure; a share is 0 to 1.'
    )
    lines = _comment(opening)
    for quantity in quantities:
        unit = "a share" if quantity.is_share else quantity.unit
        lines += ["", *_comment(f"{quantity.question} ({unit})"), f'{quantity.name} = ""']
    return "\n".join(lines) + "\n"


def _comment(text: str) -> list[str]:
    return textwrap.wrap(
        text, _COLUMNS, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False
    )
