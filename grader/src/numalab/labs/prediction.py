"""The file in which a student predicts what a message will take. Pure functions."""

from __future__ import annotations

import math

from numalab.labs.formula import BadFormula, Formula, Language, read_formula
from numalab.toml_files.tables import parse_table

KEY = "time_64_kib_us"
PREDICTED_BYTES = 65_536
NAMES = ("latency_us", "bandwidth_mb_s")
_LANGUAGE = Language(NAMES)


class BadPrediction(ValueError):
    """A prediction that can't be used; the text says why and what to write."""


def read_prediction(text: str) -> str:
    """The formula that a file of this text predicts by; a number is one, too. Raises
    BadPrediction."""
    example = f"write {KEY} = a number, or a formula in quotes"
    table = parse_table(text, "", BadPrediction, (KEY,), example)
    if KEY not in table:
        table.fail(f"{KEY} is missing; {example}")
    value = table.values[KEY]
    if isinstance(value, str):
        return _read(value).text
    if isinstance(value, bool) or not isinstance(value, int | float):
        table.wrong(KEY, "write a number, or a formula in quotes")
    if not 0 < value < math.inf:
        table.wrong(KEY, "a message takes a time above 0; what do you expect?")
    return repr(value)


def predict(formula: str, latency_us: float, bandwidth_mb_s: float) -> float:
    """Its value in microseconds, above 0. Raises BadPrediction."""
    values = dict(zip(NAMES, (latency_us, bandwidth_mb_s), strict=True))
    try:
        time_us = _read(formula).value(values)
    except BadFormula as error:
        raise BadPrediction(str(error)) from error
    if not 0 < time_us < math.inf:
        raise BadPrediction(f"`{formula}` is {time_us:.3g} us here; a message takes a time above 0")
    return time_us


def _read(formula: str) -> Formula:
    """Raises BadPrediction."""
    try:
        return read_formula(formula, _LANGUAGE, dict.fromkeys(_LANGUAGE.names, 1.0))
    except BadFormula as error:
        raise BadPrediction(str(error)) from error
