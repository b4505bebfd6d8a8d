"""What a learner expects before she measures, kept so that it is met again beside the result.
What only others have measured lies beside the solution, in solutions/NN_name/published.toml, so
that nobody meets it before she has predicted."""

from __future__ import annotations

import math
import re
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
    """The node on which something was predicted. name: its own; alike: what nodes agree in that
    are alike, as grading/timing_reuse.py has it."""

    name: str
    alike: list[Any]


@dataclass(frozen=True)
class Prediction:
    """first: what was said first, last: what it was changed to; on: the node on which that was
    said, None where it is not known."""

    first: Value
    last: Value
    on: PredictedOn | None = None

    @property
    def text(self) -> str:
        """Return both, as they are read."""
        last = f" (then {shown(self.last)})" if self.last != self.first else ""
        return f"{shown(self.first)}{last}"


@dataclass(frozen=True)
class Published:
    """says: the figure behind the value, and its source."""

    value: float
    says: str


def read_published(folder: Path) -> dict[str, Published]:
    """By the name of the prediction; none where the lab has no such file. Raises NumalabError."""
    text = solution_text(folder, PUBLISHED_FILE)
    if text is None:
        return {}
    top = parse_table(text, str(folder / PUBLISHED_FILE), NumalabError, None)
    tables = {name: top.table(name, ("value", "says")) for name in top.values}
    return {
        name: Published(table.number("value"), table.text("says")) for name, table in tables.items()
    }


def read_predictions(folder: Path) -> dict[str, Prediction]:
    """By name; none where the file is missing or not ours."""
    data = read_json(folder / FILE)
    if not isinstance(data, dict):
        return {}
    return {
        name: Prediction(values["first"], values["last"], _predicted_on(values.get("on")))
        for name, values in data.items()
        if isinstance(values, dict) and values.keys() >= {"first", "last"}
    }


def _predicted_on(data: Any) -> PredictedOn | None:
    """None where it is not what is written here."""
    if not isinstance(data, dict) or data.keys() != {"name", "alike"}:
        return None
    return PredictedOn(**data)


def keep_predictions(
    folder: Path, values: Mapping[str, Value | None], predicted_on: PredictedOn | None = None
) -> dict[str, Prediction]:
    """Add predictions that have a value, and return all. A changed one keeps its first value.

    Args:
        folder: the learner's, where predictions.json lies.
        values: by name; None: not predicted yet.
        predicted_on: this machine; None: not known.

    Raises:
        UserError: a value is neither a number nor a text.
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


def _complaint(name: str, value: Value) -> str:
    """Why a value can't be compared with what will be measured; empty: it can."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if "share" in name.split("_"):  # a part of a whole
        is_share = is_number and 0 <= float(value) <= 1
        return "" if is_share else "predict a share between 0 and 1, such as 0.5 for 50 %"
    if isinstance(value, str) and re.match(r"\s*[-+.]?\d", value):
        return "predict a number without quotes and without a unit"
    if not (isinstance(value, str) or (is_number and math.isfinite(value))):
        return "predict a number, or a text in quotes"
    return ""


def shown(value: Value | None) -> str:
    if value is None:
        return "-"
    return short(value) if isinstance(value, float) else str(value)


def words(name: str) -> str:
    """A prediction's name as it is read."""
    return " ".join(_UNITS.get(word, word) for word in name.split("_"))
