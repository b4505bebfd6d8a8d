"""Formulas that students write, and the two files that have them: predictions of messages, and a
model of a node."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

import pytest

from numalab.evidence.run_formats import Mix
from numalab.labs import loop_times
from numalab.labs.formula import LONGEST_FORMULA, BadFormula, Language, read_formula
from numalab.labs.loop_times import Rates, factor_off
from numalab.labs.model import LOOPS, BadModel, Model, read_model, value_of
from numalab.labs.prediction import (
    NAMES,
    PREDICTED,
    TIMES,
    BadPrediction,
    predict,
    read_predictions,
)

VALUES = {"size": 8.0, "rate": 2.0, "zero": 0.0}
PLAIN = Language(tuple(VALUES))
WITH_CALLS = Language(tuple(VALUES), ("min", "max"))
ALLOWED = "it can have numbers, + - * / ( ), and the names size, rate and zero"

# ---- formulas --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("2.5e1", 25),
        (" size ", 8),
        ("size + rate * 3", 14),
        ("(size - rate) / 4", 1.5),
        ("-size", -8),
        ("+size", 8),
        ("- -size", 8),
        ("size\n  - 1", 7),
        ("min(size, rate)", 2),
        ("max(size, rate, 9)", 9),
        ("1" + "0" * 150 + ".0 * 0", 0),
    ],
)
def test_what_a_formula_comes_to(text: str, value: float) -> None:
    found = read_formula(text, WITH_CALLS, VALUES)
    assert found.value(VALUES) == value and found.text == text.strip()


def test_the_longest_numbers() -> None:
    assert read_formula("9" * LONGEST_FORMULA, PLAIN, VALUES).value(VALUES) == pytest.approx(1e200)
    assert read_formula("1e999", PLAIN, VALUES).value(VALUES) == math.inf


def test_names_of_a_formula_are_no_functions() -> None:
    assert read_formula("min(size, 2) + size", WITH_CALLS, VALUES).names == {"size"}
    assert read_formula("1", WITH_CALLS, VALUES).names == frozenset()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("1" * (LONGEST_FORMULA + 1), "longer than 200 characters"),
        ("", f"`` is no formula; {ALLOWED}"),
        ("2 size", f"`2 size` is no formula; {ALLOWED}"),
        ("2 = 2", "is no formula"),
        ("\0", "is no formula"),
        ("rat", "the formula has the name rat; did you mean rate?"),
        ("length", f"the formula has the name length; {ALLOWED}"),
        ("size / 0", "divides by 0"),
        ("size / zero", "divides by 0"),
        ("size ** 2", f"`size ** 2` can't stand in the formula; {ALLOWED}"),
        ("size % 2", "can't stand"),
        ("size // 2", "can't stand"),
        ("not size", "can't stand"),
        ("~size", "can't stand"),
        ("True", "`True` can't stand"),
        ("'2'", "can't stand"),
        ("2j", "can't stand"),
        ("size.real", "can't stand"),
        ("[size]", "can't stand"),
        ("size < 2", "can't stand"),
        ("min(size, rate)", "`min(size, rate)` can't stand"),
    ],
)
def test_what_is_no_formula(text: str, says: str) -> None:
    with pytest.raises(BadFormula, match=re.escape(says)):
        read_formula(text, PLAIN, VALUES)


@pytest.mark.parametrize(
    "text", ["min(size)", "min()", "abs(size, 2)", "min(size, key=2)", "min(size, 2, key=2)"]
)
def test_functions_have_two_values_or_more(text: str) -> None:
    with pytest.raises(BadFormula, match=r"\+ - \* / \( \), min\(,\), max\(,\), and the names"):
        read_formula(text, WITH_CALLS, VALUES)


def test_what_only_other_values_divide_by_is_told_then() -> None:
    formula = read_formula("1 / (size - 8)", PLAIN, VALUES | {"size": 9.0})
    assert formula.value({"size": 10.0}) == 0.5
    with pytest.raises(BadFormula, match="divides by 0"):
        formula.value(VALUES)


# ---- messages --------------------------------------------------------------------------------

AT = {name: float(number) for number, name in enumerate(NAMES, start=1)}


def test_sizes_are_those_that_keys_name() -> None:
    for key, size in (PREDICTED | dict(TIMES)).items():
        number, unit = re.fullmatch(r"time_(\d+)_(kib|mib)_us", key).groups()  # type: ignore[union-attr]
        assert size == int(number) * (1024 if unit == "kib" else 1024 * 1024)
    assert NAMES[:2] == ("latency_us", "bandwidth_mb_s") and len(NAMES) == 7


def test_predictions_are_numbers_or_formulas() -> None:
    found = read_predictions('time_4_kib_us = 2.5\ntime_64_kib_us = " latency_us + 1 "\n')
    assert found.formulas == {"time_4_kib_us": "2.5", "time_64_kib_us": "latency_us + 1"}
    assert found.complaints == {}
    assert predict("latency_us * 4 + time_1_mib_us", AT) == 11


def test_one_that_can_be_used_is() -> None:
    found = read_predictions("time_64_kib_us = 7\n")
    assert found.formulas == {"time_64_kib_us": "7"}
    assert found.complaints.keys() == {"time_4_kib_us"}
    assert "time_4_kib_us is missing" in found.complaints["time_4_kib_us"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "time_4_kib_us is missing"),
        ("time_64_kib_us = true\n", "'time_64_kib_us' is true; write a number"),
        ("time_64_kib_us = [1]\n", "write a number, or a formula in quotes"),
        ("time_4_kib_us = 0\n", "'time_4_kib_us' is 0; a message takes a time above 0"),
        ("time_4_kib_us = -1\n", "above 0"),
        ("time_4_kib_us = inf\n", "above 0"),
        ("time_4_kib_us = nan\n", "above 0"),
        ('time_4_kib_us = "latency"\n', "did you mean latency_us?"),
        ('time_4_kib_us = "1 / (time_8_kib_us - time_8_kib_us)"\n', "divides by 0"),
        ('time_4_kib_us = "min(latency_us, 2)"\n', "can't stand"),
        ("time_4_kib = 1\n", "Did you mean 'time_4_kib_us'"),
        ("time_4_kib_us = 1 us\n", "line 1"),
    ],
)
def test_predictions_that_can_not_be_used(text: str, says: str) -> None:
    with pytest.raises(BadPrediction, match=re.escape(says)):
        read_predictions(text)


def test_differences_of_what_is_measured_are_not_nothing() -> None:
    """No two names have the same value when a formula is tried, and none has none."""
    for name in NAMES:
        read_predictions(f'time_4_kib_us = "1 / {name}"\n')
    for one in NAMES:
        for other in NAMES:
            if one != other:
                read_predictions(f'time_4_kib_us = "1 / ({one} - {other})"\n')


@pytest.mark.parametrize(
    ("formula", "says"),
    [
        ("latency_us - 1", "`latency_us - 1` is 0 us here; a message takes a time above 0"),
        ("latency_us - 3", "is -2 us here"),
        ("1e999", "is inf us here"),
        ("1e999 - 1e999", "is nan us here"),
        ("2 / (latency_us - 1)", "divides by 0"),
    ],
)
def test_no_message_takes_such_a_time(formula: str, says: str) -> None:
    with pytest.raises(BadPrediction, match=re.escape(says)):
        predict(formula, AT)


# ---- a model of a node -----------------------------------------------------------------------

BYTES = "[bytes]\n" + "".join(f"{name} = {n}\n" for n, name in enumerate(LOOPS))
TIME = "8 * loads / read_gb_s + 16 * stores / write_gb_s + 16 * updates / update_gb_s"


def model(share: object = '"threads / cores"', time: object = f'"{TIME}"') -> Model:
    return read_model(f"share = {share}\ntime_ns = {time}\n{BYTES}")


def test_parts_of_a_model() -> None:
    assert model().counted() == {name: float(n) for n, name in enumerate(LOOPS)}
    assert model().share().text == "threads / cores"
    assert model().time_ns().text == TIME
    longer = model('"min(1, threads * one_gb_s / all_gb_s)"').share()
    assert value_of(longer, {"threads": 3, "one_gb_s": 10, "all_gb_s": 40}, "share") == 0.75


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "[bytes] is missing; write it with the keys fill, copy_float"),
        ("[bytes]\nfill = 1\n", "has no key 'copy_float'"),
        (BYTES.replace("dot = 3", "dot = -1"), "'dot' is -1"),
        (BYTES.replace("dot = 3", 'dot = "3"'), "'dot' is '3'"),
    ],
)
def test_bytes_that_are_not_counted(text: str, says: str) -> None:
    with pytest.raises(BadModel, match=re.escape(says)):
        read_model(text).counted()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[bytes]\nfil = 1\n", "Did you mean 'fill'?"),
        ("bytes = 3\n", "bytes"),
        ("shares = 3\n", "Did you mean 'share'?"),
        ("share", "line 1"),
    ],
)
def test_what_is_no_such_file(text: str, says: str) -> None:
    with pytest.raises(BadModel, match=re.escape(says)):
        read_model(text)


@pytest.mark.parametrize(
    ("share", "says"),
    [
        ("0.5", "it does not have the name threads"),
        ('"cores / cores"', "it does not have the name threads"),
        ("true", "'share' is true; write a formula in quotes"),
        ("[1]", "write a formula in quotes"),
        ('""', "write a formula in quotes"),
        ('" "', "write a formula in quotes"),
        ('"thread"', "share: the formula has the name thread; did you mean threads?"),
        ('"threads / (cores - 8)"', "divides by 0"),
    ],
)
def test_a_share_that_can_not_be_used(share: str, says: str) -> None:
    with pytest.raises(BadModel, match=re.escape(says)):
        model(share).share()


@pytest.mark.parametrize(
    ("time", "says"),
    [
        ("2", "it has none of the rates read_gb_s, write_gb_s, update_gb_s"),
        ('"loads / cores"', "it has none of the rates"),
        ('"loads / read_gb_s"', "time_ns is 0 for a loop of 0 loads, 2 stores and 0 updates"),
        ('"1 / read_gb_s - updates"', "time_ns is -1.95 for a loop of 0 loads, 0 stores and 2"),
        ('"1 / (loads * read_gb_s)"', "divides by 0 for a loop of 0 loads, 2 stores"),
        ('"1e999 * read_gb_s"', "time_ns is inf for a loop of 1 loads, 0 stores and 0 updates"),
        ('"loads / (read_gb_s - 20)"', "time_ns: the formula divides by 0"),
        ('"loads / (cores - 4) + read_gb_s"', "divides by 0"),
    ],
)
def test_a_time_that_can_not_be_used(time: str, says: str) -> None:
    with pytest.raises(BadModel, match=re.escape(says)):
        model(time=time).time_ns()


@pytest.mark.parametrize("key", ["share", "time_ns"])
def test_a_formula_that_is_missing(key: str) -> None:
    with pytest.raises(BadModel, match=f"{key} is missing; write {key} = a formula in quotes"):
        getattr(read_model(BYTES), key)()


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"threads": 0.0, "cores": 4.0}, "share is 0 with threads = 0, cores = 4; it has to be"),
        ({"threads": -2.0, "cores": 4.0}, "share is -0.5 with"),
        ({"threads": math.inf, "cores": 4.0}, "share is inf with"),
        ({"threads": 2.0, "cores": 0.0}, "share: the formula divides by 0"),
        ({"threads": 0.0, "cores": 1.23456}, "cores = 1.235"),
    ],
)
def test_a_value_is_above_nothing(values: Mapping[str, float], says: str) -> None:
    with pytest.raises(BadModel, match=re.escape(says)):
        value_of(model().share(), values, "share")


# ---- times of loops --------------------------------------------------------------------------


def test_loops_that_are_timed_and_predicted() -> None:
    assert set(loop_times.MEASURED) == {Mix(1, 2, 0), Mix(1, 0, 2), Mix(3, 0, 1)}
    unseen = (Mix(1, 0, 0), Mix(2, 0, 0), Mix(0, 2, 0), Mix(0, 0, 2), Mix(2, 0, 1))
    assert loop_times.all_unseen() == unseen
    drawn = {loop_times.draw_unseen(str(seed)) for seed in range(20)}
    assert drawn == {(first, *unseen[2:]) for first in unseen[:2]}
    assert (loop_times.READ_BYTES, loop_times.WRITTEN_BYTES, loop_times.UPDATED_BYTES) == (
        8, 16, 16,
    )  # fmt: skip


def test_a_loop_takes_what_its_arrays_take() -> None:
    rates = Rates(8.0, 4.0, 2.0)
    assert [loop_times.time_ns(Mix(*one), rates) for one in ((1, 0, 0), (0, 1, 0), (0, 0, 1))] == [
        1, 4, 8,
    ]  # fmt: skip
    assert loop_times.time_ns(Mix(3, 2, 1), rates) == 19


@pytest.mark.parametrize(
    ("predicted", "factor"),
    [(2.0, 1.0), (4.0, 2.0), (1.0, 2.0), (0.0, math.inf), (-2.0, math.inf),
     (math.inf, math.inf), (math.nan, math.inf), (0.5, 4.0)],
)  # fmt: skip
def test_by_which_factor_a_prediction_is_off(predicted: float, factor: float) -> None:
    assert factor_off(predicted, 2.0) == factor
