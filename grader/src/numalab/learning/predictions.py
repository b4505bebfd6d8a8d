"""What a learner expects before she measures, kept so that it is met again beside the result.
What only others have measured lies beside the solution, in solutions/NN_name/published.toml, so
that nobody meets it before she has predicted."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from numalab.errors import KitError, UserError, reason_of
from numalab.files import read_json, write_json
from numalab.labs.solution_files import solution_text
from numalab.toml_files.tables import parse_table

Value = float | int | str
FILE = "predictions.json"
PUBLISHED_FILE = "published.toml"
WIDTH = 78
_UNITS = {"kib": "KiB", "mib": "MiB", "numa": "NUMA"}


@dataclass(frozen=True)
class Prediction:
    """first: what was said first, last: what it was changed to."""

    first: Value
    last: Value


@dataclass(frozen=True)
class Published:
    """says: the figure behind the value, and its source."""

    value: float
    says: str


def read_published(folder: Path) -> dict[str, Published]:
    """By the name of the prediction; none where the lab has no such file. Raises KitError."""
    text = solution_text(folder, PUBLISHED_FILE)
    if text is None:
        return {}
    top = parse_table(text, str(folder / PUBLISHED_FILE), KitError, None)
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
        name: Prediction(values["first"], values["last"])
        for name, values in data.items()
        if isinstance(values, dict) and values.keys() >= {"first", "last"}
    }


def keep_predictions(folder: Path, values: Mapping[str, Value | None]) -> dict[str, Prediction]:
    """Adds what has a value and returns all. A changed one keeps what was said first. Raises
    UserError for what is no number or text, and KitError."""
    kept = read_predictions(folder)
    for name, value in values.items():
        if value is None:
            continue
        complaint = _complaint(name, value)
        if complaint:
            raise UserError(f"{name} = {value!r}: {complaint}")
        kept[name] = Prediction(kept[name].first if name in kept else value, value)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        data = {name: {"first": said.first, "last": said.last} for name, said in kept.items()}
        write_json(folder / FILE, data)
    except OSError as error:
        raise KitError(f"the predictions can't be kept: {reason_of(error)}") from error
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


def _shown(value: Value | None) -> str:
    if value is None:
        return "-"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def words(name: str) -> str:
    """A prediction's name as it is read."""
    return " ".join(_UNITS.get(word, word) for word in name.split("_"))


def _said(prediction: Prediction | None) -> str:
    if prediction is None:
        return "-"
    first, last = prediction.first, prediction.last
    return _shown(first) + (f" (then {_shown(last)})" if last != first else "")


def compared(
    kept: Mapping[str, Prediction],
    measured: Mapping[str, Value | None],
    published: Mapping[str, Published],
) -> str:
    """Predicted beside measured, a line each; a dash where there is none. Below it what was
    published, as soon as it is predicted."""
    rows = [("", "predicted", "measured")]
    rows += [(words(name), _said(kept.get(name)), _shown(v)) for name, v in measured.items()]
    for name, figure in published.items():
        value = f"{_shown(figure.value)}, published" if name in kept else "predict it first"
        rows.append((words(name), _said(kept.get(name)), value))
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    lines = [
        f"{name:<{widths[0]}}  {said:<{widths[1]}}  {value}".rstrip() for name, said, value in rows
    ]
    for name, figure in published.items():
        if name in kept:
            lines += ["", *textwrap.wrap(figure.says, WIDTH)]
    return "\n".join(lines)
