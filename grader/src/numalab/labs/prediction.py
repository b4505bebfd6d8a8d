"""The file in which a student predicts what a message will take. Pure functions."""

from __future__ import annotations

import ast
import difflib
import math
import warnings

from numalab.toml_files.tables import parse_table

KEY = "time_64_kib_us"
PREDICTED_BYTES = 65_536
NAMES = ("latency_us", "bandwidth_mb_s")
LONGEST_FORMULA = 200
_ALLOWED = f"numbers, + - * / ( ), and the names {' and '.join(NAMES)}"


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
        formula = value.strip()
        _evaluated(_parsed(formula), dict.fromkeys(NAMES, 1.0))
        return formula
    if isinstance(value, bool) or not isinstance(value, int | float):
        table.wrong(KEY, "write a number, or a formula in quotes")
    if not 0 < value < math.inf:
        table.wrong(KEY, "a message takes a time above 0; what do you expect?")
    return repr(value)


def predict(formula: str, latency_us: float, bandwidth_mb_s: float) -> float:
    """Its value in microseconds, above 0. Raises BadPrediction."""
    values = dict(zip(NAMES, (latency_us, bandwidth_mb_s), strict=True))
    time_us = _evaluated(_parsed(formula), values)
    if not 0 < time_us < math.inf:
        raise BadPrediction(f"`{formula}` is {time_us:.3g} us here; a message takes a time above 0")
    return time_us


def _parsed(formula: str) -> ast.expr:
    if len(formula) > LONGEST_FORMULA:
        raise BadPrediction(f"the formula is longer than {LONGEST_FORMULA} characters")
    try:
        with warnings.catch_warnings(action="ignore"):
            return ast.parse(formula, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise BadPrediction(f"`{formula}` is no formula; it can have {_ALLOWED}") from error


def _evaluated(node: ast.expr, values: dict[str, float]) -> float:
    match node:
        case ast.Constant(value=value) if type(value) in (int, float):
            assert isinstance(value, int | float)
            return float(value)
        case ast.Name(id=name) if name in values:
            return values[name]
        case ast.Name(id=name):
            near = difflib.get_close_matches(name, values, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]}?" if near else f"it can have {_ALLOWED}"
            raise BadPrediction(f"the formula has the name {name}; {hint}")
        case ast.UnaryOp(op=ast.UAdd() | ast.USub() as sign, operand=operand):
            value = _evaluated(operand, values)
            return -value if isinstance(sign, ast.USub) else value
        case ast.BinOp(left=left, op=operator, right=right):
            a, b = _evaluated(left, values), _evaluated(right, values)
            match operator:
                case ast.Add():
                    return a + b
                case ast.Sub():
                    return a - b
                case ast.Mult():
                    return a * b
                case ast.Div() if b == 0:
                    raise BadPrediction("the formula divides by 0")
                case ast.Div():
                    return a / b
    raise BadPrediction(f"`{ast.unparse(node)}` can't stand in the formula; it can have {_ALLOWED}")
