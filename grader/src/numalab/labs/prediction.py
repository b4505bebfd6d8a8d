"""Parse the file in which a student predicts the times of messages of two sizes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from numalab.labs.formula import BadFormula, Formula, Language, read_formula
from numalab.toml_files.tables import Table, parse_table
from numalab.words import short

# Sizes of predicted messages in bytes, by key: on both sides of the limits at which common
# libraries change the protocol within a machine, 4 to 64 KiB.
PREDICTED: Mapping[str, int] = {"time_4_kib_us": 4096, "time_64_kib_us": 65_536}
# Sizes in bytes whose times a formula may use, by the time's name. A good prediction uses sizes
# with the same protocol.
TIMES: Mapping[str, int] = {
    "time_1_kib_us": 1024,
    "time_8_kib_us": 8192,
    "time_16_kib_us": 16_384,
    "time_128_kib_us": 131_072,
    "time_1_mib_us": 1 << 20,
}
NAMES = ("latency_us", "bandwidth_mb_s", *TIMES)
_LANGUAGE = Language(NAMES)


class BadPrediction(ValueError):
    """A prediction that can't be used; the message says why."""


@dataclass(frozen=True)
class Predictions:
    """The predictions of a file, and why others can't be used."""

    formulas: Mapping[str, str]  # formulas or plain numbers, by key
    complaints: Mapping[str, str]  # why there is no usable prediction, by key


def read_predictions(text: str) -> Predictions:
    """Parse a file with predictions. Raises BadPrediction where the text is no such file, or has no
    prediction that can be used."""
    example = "write a number, or a formula in quotes"
    table = parse_table(text, "", BadPrediction, tuple(PREDICTED), example)
    formulas, complaints = {}, {}
    for key in PREDICTED:
        try:
            formulas[key] = _formula(table, key)
        except BadPrediction as error:
            complaints[key] = str(error)
    if not formulas:
        given = [complaint for key, complaint in complaints.items() if key in table]
        raise BadPrediction(next(iter(given or complaints.values())))
    return Predictions(formulas, complaints)


def _formula(table: Table, key: str) -> str:
    if key not in table:
        table.fail(f"{key} is missing; write {key} = a number, or a formula in quotes")
    value = table.values[key]
    if isinstance(value, str):
        return _read(value).text
    if isinstance(value, bool) or not isinstance(value, int | float):
        table.refuse(key, "write a number, or a formula in quotes")
    if not 0 < value < math.inf:
        table.refuse(key, "a message takes a time above 0; what do you expect?")
    return repr(value)


def predict(formula: str, values: Mapping[str, float]) -> float:
    """Return a formula's value in microseconds. values: by name, of all NAMES. Raises BadPrediction
    where it is not above 0 and finite, or the formula can't be used."""
    try:
        time_us = _read(formula).value(values)
    except BadFormula as error:
        raise BadPrediction(str(error)) from error
    if not 0 < time_us < math.inf:
        raise BadPrediction(
            f"`{formula}` is {short(time_us)} us here; a message takes a time above 0"
        )
    return time_us


def _read(formula: str) -> Formula:
    # All different, so that no difference of two is 0.
    tried = {name: 1.0 + number for number, name in enumerate(NAMES)}
    try:
        return read_formula(formula, _LANGUAGE, tried)
    except BadFormula as error:
        raise BadPrediction(str(error)) from error
