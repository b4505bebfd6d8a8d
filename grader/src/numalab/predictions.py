"""What a learner expects before she measures, kept so that it is met again beside the result."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from numalab.errors import KitError, UserError, reason_of
from numalab.files import read_json, write_json

Value = float | int | str
FILE = "predictions.json"


@dataclass(frozen=True)
class Prediction:
    """first: what was said first, last: what it was changed to."""

    first: Value
    last: Value


def read_predictions(folder: Path) -> dict[str, Prediction]:
    """By name; none where the file is missing or not ours."""
    data = read_json(folder / FILE)
    if not isinstance(data, dict):
        return {}
    return {
        name: Prediction(one["first"], one["last"])
        for name, one in data.items()
        if isinstance(one, dict) and one.keys() >= {"first", "last"}
    }


def keep_predictions(folder: Path, values: Mapping[str, Value | None]) -> dict[str, Prediction]:
    """Adds what has a value and returns all. A changed one keeps what was said first. Raises
    UserError for what is no number or text, and KitError."""
    kept = read_predictions(folder)
    for name, value in values.items():
        if value is None:
            continue
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not (isinstance(value, str) or (is_number and math.isfinite(value))):
            raise UserError(f"{name} = {value!r}: predict a number, or a text in quotes")
        kept[name] = Prediction(kept[name].first if name in kept else value, value)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        data = {name: {"first": one.first, "last": one.last} for name, one in kept.items()}
        write_json(folder / FILE, data)
    except OSError as error:
        raise KitError(f"the predictions can't be kept: {reason_of(error)}") from error
    return kept


def _shown(value: Value | None) -> str:
    if value is None:
        return "-"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def compared(kept: Mapping[str, Prediction], measured: Mapping[str, Value | None]) -> str:
    """Predicted beside measured, a line each; a dash where there is none."""
    rows = [("", "predicted", "measured")]
    for name, value in measured.items():
        one = kept.get(name)
        said = "-" if one is None else _shown(one.first)
        if one is not None and one.last != one.first:
            said += f" (then {_shown(one.last)})"
        rows.append((name.replace("_", " "), said, _shown(value)))
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    return "\n".join(
        f"{name:<{widths[0]}}  {said:<{widths[1]}}  {value}".rstrip() for name, said, value in rows
    )
