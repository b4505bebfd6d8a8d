"""Formulas that students write: numbers, + - * / ( ), names of values, and min and max where a file
allows them."""

from __future__ import annotations

import ast
import difflib
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

LONGEST_FORMULA = 200  # characters
_FUNCTIONS: Mapping[str, Callable[[Sequence[float]], float]] = {"min": min, "max": max}


class BadFormula(ValueError):
    """A formula that can't be used; the message says why."""


@dataclass(frozen=True)
class Language:
    """What a formula may consist of."""

    names: tuple[str, ...]  # of values, two or more
    functions: tuple[str, ...] = ()  # of "min" and "max"

    @property
    def allowed(self) -> str:
        """Return what a formula can have, in words for messages."""
        calls = "".join(f"{name}(,), " for name in self.functions)
        names = f"{', '.join(self.names[:-1])} and {self.names[-1]}"
        return f"numbers, + - * / ( ), {calls}and the names {names}"


@dataclass(frozen=True)
class Formula:
    """A formula that was parsed."""

    text: str  # as it was written, without blanks around it
    language: Language
    tree: ast.expr

    @property
    def names(self) -> frozenset[str]:
        """Return the names that the formula uses, except those of the language's functions."""
        names = {node.id for node in ast.walk(self.tree) if isinstance(node, ast.Name)}
        return frozenset(names - set(self.language.functions))

    def value(self, values: Mapping[str, float]) -> float:
        """Evaluate the formula. values: by name. The result may be infinite or NaN. Raises
        BadFormula where it divides by 0, has a name that `values` lacks, or has what no formula
        can have."""
        return _evaluated(self.tree, values, self.language)


def read_formula(text: str, language: Language, tried: Mapping[str, float]) -> Formula:
    """Parse a formula. tried: possible values by name, with which it is evaluated once to find
    mistakes. Raises BadFormula for a text that is too long, is no formula, or can't be evaluated
    with them."""
    text = text.strip()
    if len(text) > LONGEST_FORMULA:
        raise BadFormula(f"the formula is longer than {LONGEST_FORMULA} characters")
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(" ".join(text.split()), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise BadFormula(f"`{text}` is no formula; it can have {language.allowed}") from error
    formula = Formula(text, language, tree)
    formula.value(tried)
    return formula


def _evaluated(node: ast.expr, values: Mapping[str, float], language: Language) -> float:
    match node:
        case ast.Constant(value=value) if type(value) in (int, float):
            assert isinstance(value, int | float)
            return float(value)  # of LONGEST_FORMULA digits at most, which a float can hold
        case ast.Name(id=name) if name in values:
            return values[name]
        case ast.Name(id=name):
            near = difflib.get_close_matches(name, values, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]}?" if near else f"it can have {language.allowed}"
            raise BadFormula(f"the formula has the name {name}; {hint}")
        case ast.UnaryOp(op=ast.UAdd() | ast.USub() as sign, operand=operand):
            value = _evaluated(operand, values, language)
            return -value if isinstance(sign, ast.USub) else value
        case ast.Call(func=ast.Name(id=name), args=[_, _, *_] as args, keywords=[]) if (
            name in language.functions
        ):
            return _FUNCTIONS[name]([_evaluated(each, values, language) for each in args])
        case ast.BinOp(left=left, op=operator, right=right):
            a, b = _evaluated(left, values, language), _evaluated(right, values, language)
            match operator:
                case ast.Add():
                    return a + b
                case ast.Sub():
                    return a - b
                case ast.Mult():
                    return a * b
                case ast.Div() if b == 0:
                    raise BadFormula("the formula divides by 0")
                case ast.Div():
                    return a / b
    raise BadFormula(
        f"`{ast.unparse(node)}` can't stand in the formula; it can have {language.allowed}"
    )
