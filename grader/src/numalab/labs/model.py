"""Parse the file in which a student models a machine: bytes of six loops, a share, a time. Pure
functions.

    share = "..."               # of the rate of all cores of a NUMA node, that `threads` reach
    time_ns = "..."             # of an iteration of a loop of so many loads, stores and updates

    [bytes]                     # that cross between cores and memory per iteration
    fill = 16

The parts are parsed separately: a value that can't be used leaves the other parts usable."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from numalab.evidence.run_formats import Mix
from numalab.labs import loop_times, saturation
from numalab.labs.formula import BadFormula, Formula, Language, read_formula
from numalab.toml_files.tables import Table, parse_table
from numalab.words import short

BYTES, SHARE, TIME = "bytes", "share", "time_ns"
_EXAMPLE = 'write a line such as share = "threads / cores"'


class BadModel(ValueError):
    """A model that can't be used; the message says why."""


@dataclass(frozen=True)
class Loop:
    """A loop whose bytes a student counts."""

    code: str  # its body
    element_bytes: int  # of each array
    # loads, stores, updates: numbers of arrays that are only read, only written, read and written.
    loads: int
    stores: int
    updates: int
    stride: int = 1  # elements from one iteration to the next

    @property
    def bytes_moved(self) -> int:
        """Return the bytes that move between cores and memory per iteration, on an x86 processor
        with ordinary stores and arrays larger than the caches. A store fetches its line first.
        Lines move as a whole, so the bytes that a stride skips count, too; a stride is taken to be
        shorter than a line."""
        arrays = self.loads + 2 * self.stores + 2 * self.updates
        return self.element_bytes * self.stride * arrays


# The loops by their keys. a, b, c: arrays of double; x, y: of float; s, sum: variables.
LOOPS: Mapping[str, Loop] = {
    "fill": Loop("a[i] = s", 8, 0, 1, 0),
    "copy_float": Loop("x[i] = y[i]", 4, 1, 1, 0),
    "scale": Loop("a[i] = s * a[i]", 8, 0, 0, 1),
    "dot": Loop("sum += a[i] * b[i]", 8, 2, 0, 0),
    "accumulate": Loop("a[i] += b[i] * c[i]", 8, 2, 0, 1),
    "every_fourth": Loop("sum += a[4 * i]", 8, 1, 0, 0, stride=4),
}


def mistaken_bytes(loop: Loop) -> dict[str, float]:
    """Return the bytes per iteration that each of several mistakes leads to, by a sentence on it.
    Several may lead to the same number, and one to the correct number."""
    loads, stores, updates = loop.loads, loop.stores, loop.updates
    size, step, moved = loop.element_bytes, loop.stride, loads + 2 * stores + 2 * updates
    no_fetch, half_update = loads + stores + 2 * updates, loads + 2 * stores + updates
    fetched_again = loads + 2 * stores + 3 * updates
    return {
        "a store to a line that no cache holds fetches the line first": size * step * no_fetch,
        "an array that is read and written crosses twice": size * step * half_update,
        "a line that was read anyway is not fetched once more for the store":
            size * step * fetched_again,
        "an array that is only read does not go back": size * step * 2 * (loads + stores + updates),
        "memory is read by whole cache lines": size * moved,
        "a float has 4 bytes, and not a double's 8": 8 * step * moved,
        "it is bytes that are asked for, of one iteration": moved,
    }  # fmt: skip


@dataclass(frozen=True)
class Model:
    """A model file, whose parts its methods parse."""

    table: Table

    def counted(self) -> dict[str, float]:
        """Return the student's bytes per iteration of each loop, by its key. Raises BadModel where
        one is missing or can't be used."""
        top = self.table
        if BYTES not in top:
            top.fail(f"[{BYTES}] is missing; write it with the keys {', '.join(LOOPS)}")
        table = top.table(BYTES, tuple(LOOPS))
        table.need(*LOOPS)
        return {name: table.number(name, least=0) for name in LOOPS}

    def share(self) -> Formula:
        """Return the formula for the share. Raises BadModel where it is missing, can't be used, or
        lacks `threads`."""
        formula = self._formula(SHARE, saturation.LANGUAGE, saturation.values_for(3, 8, 10.0, 40.0))
        if "threads" not in formula.names:
            self.table.refuse(
                SHARE, "it does not have the name threads, so it is the same for every number"
            )
        return formula

    def time_ns(self) -> Formula:
        """Return the formula for the time of an iteration in ns. Raises BadModel where it is
        missing, can't be used, or lacks rates."""
        rates = loop_times.Rates(20.0, 22.0, 30.0)
        tried = {mix: loop_times.values_for(mix, rates, 4) for mix in loop_times.all_unseen()}
        of_all_kinds = loop_times.values_for(Mix(3, 2, 1), rates, 4)
        formula = self._formula(TIME, loop_times.LANGUAGE, of_all_kinds)
        if not formula.names & set(loop_times.RATES):
            self.table.refuse(
                TIME,
                f"it has none of the rates {', '.join(loop_times.RATES)}, so it can hold on one "
                "machine at most",
            )
        for mix, values in tried.items():
            loop = f"{mix.loads} loads, {mix.stores} stores and {mix.updates} updates"
            try:
                found = formula.value(values)
            except BadFormula as error:
                self.table.fail(f"{TIME}: {error} for a loop of {loop}", TIME)
            if not 0 < found < math.inf:
                self.table.fail(
                    f"{TIME} is {short(found)} for a loop of {loop} where the rates are 20, 22 and "
                    "30 GB/s; a time has to be above 0, and finite",
                    TIME,
                )
        return formula

    def _formula(self, key: str, language: Language, tried: Mapping[str, float]) -> Formula:
        if key not in self.table:
            self.table.fail(f"{key} is missing; write {key} = a formula in quotes")
        value = self.table.values[key]
        if isinstance(value, int | float) and not isinstance(value, bool):
            value = repr(value)
        if not isinstance(value, str) or not value.strip():
            self.table.refuse(key, "write a formula in quotes")
        try:
            return read_formula(value, language, tried)
        except BadFormula as error:
            self.table.fail(f"{key}: {error}", key)


def read_model(text: str) -> Model:
    """Parse a model file; of its parts only the keys are checked. Raises BadModel for a text that
    is no model file at all, or has an unknown key."""
    table = parse_table(text, "", BadModel, (SHARE, TIME, BYTES), _EXAMPLE)
    table.table(BYTES, tuple(LOOPS))
    return Model(table)


def value_of(formula: Formula, values: Mapping[str, float], key: str) -> float:
    """Return the value of a formula of a model. key: what messages call it. Raises BadModel where
    the value is not above 0 and finite."""
    try:
        found = formula.value(values)
    except BadFormula as error:
        raise BadModel(f"{key}: {error}") from error
    if not 0 < found < math.inf:
        with_values = ", ".join(f"{name} = {short(value, 4)}" for name, value in values.items())
        raise BadModel(
            f"{key} is {short(found)} with {with_values}; it has to be above 0, and finite"
        )
    return found
