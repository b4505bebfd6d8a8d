"""A student's predictions, and the published values to compare them with."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from numalab.errors import NumalabError, UserError, reason_of
from numalab.files import read_json, write_json
from numalab.labs.solution_files import solution_text
from numalab.toml_files.tables import parse_table
from numalab.words import short

Value = float | int | str
FILE = "predictions.json"
PUBLISHED_FILE = "published.toml"
_UNITS = {"kib": "KiB", "mib": "MiB", "numa": "NUMA"}


@dataclass(frozen=True)
class PredictedOn:
    """The machine on which something was predicted. alike: what timing_reuse.alike() returns for
    it."""

    name: str
    alike: list[Any]


@dataclass(frozen=True)
class Prediction:
    """A prediction. first, last: the first value, and the one that it was changed to.
    on: the machine on which `last` was given; None where it is not known."""

    first: Value
    last: Value
    on: PredictedOn | None = None

    @property
    def text(self) -> str:
        """Return the first value as text, with the last one in brackets where it differs."""
        last = f" (then {shown(self.last)})" if self.last != self.first else ""
        return f"{shown(self.first)}{last}"


@dataclass(frozen=True)
class Published:
    """A published value. says: a sentence on what was measured, with its source."""

    value: float
    says: str


def read_published(folder: Path) -> dict[str, Published]:
    """Return published values by the prediction's name; empty where the lab has none.
    folder: the solution's. Raises NumalabError where the file is malformed or can't be read."""
    try:
        text = solution_text(folder, PUBLISHED_FILE)
    except OSError as error:
        raise NumalabError(f"can't read {folder / PUBLISHED_FILE}: {reason_of(error)}") from error
    except UnicodeDecodeError as error:
        raise NumalabError(f"{folder / PUBLISHED_FILE} is not UTF-8 text") from error
    if text is None:
        return {}
    top = parse_table(text, str(folder / PUBLISHED_FILE), NumalabError, None)
    tables = {name: top.table(name, ("value", "says")) for name in top.values}
    return {
        name: Published(table.number("value"), table.text("says")) for name, table in tables.items()
    }


def read_predictions(folder: Path) -> dict[str, Prediction]:
    """Return predictions by name; empty where the file is missing or can't be read.
    Entries without a first and a last value that can be predicted are left out."""
    data = read_json(folder / FILE)
    if not isinstance(data, dict):
        return {}
    return {
        name: Prediction(values["first"], values["last"], _predicted_on(values.get("on")))
        for name, values in data.items()
        if isinstance(values, dict)
        and not any(_complaint(name, values.get(key)) for key in ("first", "last"))
    }


def _predicted_on(data: Any) -> PredictedOn | None:
    """Return the machine of an entry; None where that has another form."""
    if not isinstance(data, dict) or data.keys() != {"name", "alike"}:
        return None
    return PredictedOn(**data)


def keep_predictions(
    folder: Path, values: Mapping[str, Value | None], predicted_on: PredictedOn | None = None
) -> dict[str, Prediction]:
    """Store predictions that have a value, and return them with those that were kept. A changed
    one keeps its first value. A file that can't be read is replaced.

    Args:
        folder: the student's, which holds predictions.json; made if missing.
        values: by name; None: not predicted yet.
        predicted_on: this machine; None: not known.

    Raises:
        UserError: a value can't be compared with a measurement, such as a number in quotes, or a
            share is not between 0 and 1.
        NumalabError: they can't be written.
    """
    kept = read_predictions(folder)
    for name, value in values.items():
        if value is None:
            continue
        complaint = _complaint(name, value)
        if complaint:
            raise UserError(f"{name} = {value!r}: {complaint}")
        if name not in kept:
            kept[name] = Prediction(value, value, predicted_on)
        elif value != kept[name].last:
            kept[name] = Prediction(kept[name].first, value, predicted_on)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / FILE, {name: asdict(said) for name, said in kept.items()})
    except OSError as error:
        raise NumalabError(f"the predictions can't be kept: {reason_of(error)}") from error
    return kept


def _complaint(name: str, value: object) -> str:
    """Return what to predict instead of a value that no measurement can be compared with.
    Empty where it can be compared."""
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else None
    if isinstance(number, int) and abs(number) > sys.float_info.max:
        return "predict a smaller number"
    if "share" in name.split("_"):  # a part of a whole
        is_share = number is not None and 0 <= number <= 1
        return "" if is_share else "predict a share between 0 and 1, such as 0.5 for 50 %"
    if isinstance(value, str):
        if re.match(r"\s*[-+]?\.?\d", value):
            return "predict a number without quotes and without a unit"
        is_text = not re.search(r"[\ud800-\udfff]", value)  # JSON in UTF-8 has no halves of pairs
        return "" if is_text else "predict a text of whole characters"
    is_number = number is not None and math.isfinite(number)
    return "" if is_number else "predict a number, or a text in quotes"


def shown(value: Value | None) -> str:
    """Format a value for tables; "-" for None."""
    if value is None:
        return "-"
    return short(value) if isinstance(value, float) else str(value)


def words(name: str) -> str:
    """Return a prediction's name as words: table_mib gives "table MiB"."""
    return " ".join(_UNITS.get(word, word) for word in name.split("_"))
