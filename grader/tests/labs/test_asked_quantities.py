"""What a lab asks to be predicted, the file for it, and what can stand there."""

from __future__ import annotations

import re

import pytest

from numalab.errors import NumalabError
from numalab.labs.quantities import (
    OBSERVED,
    PREDICTED_KEYS,
    BadPredictions,
    Predicted,
    Quantity,
    read_predictions,
    read_quantities,
    template,
)
from numalab.toml_files.tables import parse_table

CRITERIA = ("correct", "local_pages")
RATIO = 'of = "ratio"\nrole = "solution"\nover = "handout"\n'
TIME = 'of = "time"\nrole = "submission"\n'
VALUE = 'of = "value"\ncriterion = "correct"\nunit = "keys"\n'
SEEN_OF = 'of = "seen"\nwhat = "used_by_lower_half"\narray = "b"\nfirst = 0\nlast = 0.25\n'


def read(*given: str, parts: tuple[str | None, ...] = (None,)) -> tuple[Quantity, ...]:
    text = "".join(
        f'[[predicted]]\nname = "q{number}"\nquestion = "How?"\n{one}'
        for number, one in enumerate(given)
    )
    top = parse_table(text, "lab.toml", NumalabError, ("predicted",))
    return read_quantities(top.tables("predicted", PREDICTED_KEYS), CRITERIA, parts)


@pytest.mark.parametrize(
    ("text", "quantity"),
    [
        (TIME, Quantity("q0", "How?", "time", "s", role="submission")),
        (
            TIME.replace("time", "rate"),
            Quantity("q0", "How?", "rate", "GB/s", role="submission"),
        ),
        (
            RATIO,
            Quantity("q0", "How?", "ratio", "times as fast", role="solution", over="handout"),
        ),
        (VALUE, Quantity("q0", "How?", "value", "keys", criterion="correct")),
        (
            VALUE + 'where = "hydra"\n',
            Quantity("q0", "How?", "value", "keys", criterion="correct", where="hydra"),
        ),
        (
            'of = "message"\nbytes = 0\nfile = "near.toml"\n',
            Quantity("q0", "How?", "message", "us", bytes=0, file="near.toml"),
        ),
        ('of = "message"\nbytes = 9\n', Quantity("q0", "How?", "message", "us", bytes=9)),
        (
            SEEN_OF,
            Quantity(
                "q0", "How?", "seen", "share", what="used_by_lower_half", array="b", last=0.25
            ),
        ),
        (
            'of = "seen"\nwhat = "of_rank"\nrank = 0\n',
            Quantity("q0", "How?", "seen", "share", what="of_rank", rank=0),
        ),
        (
            'of = "seen"\nwhat = "met"\n',
            Quantity("q0", "How?", "seen", "of 100 keys", what="met"),
        ),
    ],
)
def test_each_kind_has_its_keys(text: str, quantity: Quantity) -> None:
    assert read(text) == (quantity,)
    assert quantity.is_share == (quantity.unit == "share")


def test_where_a_lab_has_parts_one_is_named() -> None:
    (found,) = read(TIME + 'part = "b"\n', parts=("a", "b"))
    assert found.part == "b"
    (of_all,) = read(VALUE, parts=("a", "b"))
    assert of_all.part is None
    with pytest.raises(NumalabError, match="has no key 'part'"):
        read(TIME, parts=("a", "b"))
    with pytest.raises(NumalabError, match="It can be: a, b"):
        read(TIME + 'part = "c"\n', parts=("a", "b"))


def test_they_stay_in_order() -> None:
    assert [one.name for one in read(TIME, VALUE, RATIO)] == ["q0", "q1", "q2"]
    assert read() == ()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "has no key 'of'"),
        ('of = "speed"\n', "It can be: value, time, rate, ratio, message, seen"),
        (RATIO.replace("handout", "solution"), "as fast as itself"),
        (RATIO.replace('over = "handout"', ""), "has no key 'over'"),
        (TIME.replace("submission", "student"), "It can be: submission, handout, solution"),
        (TIME + 'over = "handout"\n', "'over' has no meaning for a quantity of time"),
        (TIME + 'part = "a"\n', "the lab has one kernel; leave out 'part'"),
        (TIME + 'unit = "s"\n', "'unit' has no meaning"),
        (VALUE.replace("correct", "corect"), "Did you mean 'correct'?"),
        (VALUE.replace('unit = "keys"', ""), "has no key 'unit'"),
        (VALUE + "bytes = 1\n", "'bytes' has no meaning"),
        ('of = "message"\nbytes = -1\n', "must be 0 or more"),
        ('of = "message"\n', "has no key 'bytes'"),
        ('of = "seen"\nwhat = "seen"\n', "used_by_lower_half"),
        (SEEN_OF.replace("0.25", "0"), "'last' is 0; it lies behind first"),
        (SEEN_OF.replace("first = 0", "first = 0.25"), "it lies behind first"),
        (SEEN_OF.replace("0.25", "1.1"), "'last' is 1.1"),
        (SEEN_OF.replace("first = 0", "first = -0.1"), "'first' is -0.1"),
        (SEEN_OF.replace('array = "b"', ""), "has no key 'array'"),
        (SEEN_OF + "rank = 1\n", "'rank' has no meaning for a quantity of used_by_lower_half"),
        ('of = "seen"\nwhat = "of_rank"\nrank = -1\n', "must be 0 or more"),
        ('of = "seen"\nwhat = "met"\nfirst = 0\n', "'first' has no meaning for a quantity of met"),
    ],
)
def test_a_slip_is_told(text: str, says: str) -> None:
    with pytest.raises(NumalabError, match=re.escape(says)):
        read(text)


def test_names_are_there_once() -> None:
    top = parse_table(
        f'[[predicted]]\nname = "a"\nquestion = "?"\n{TIME}' * 2, "lab.toml", NumalabError, None
    )
    with pytest.raises(
        NumalabError, match=r"lab\.toml:7: two quantities are called a; name each once"
    ):
        read_quantities(top.tables("predicted", PREDICTED_KEYS), CRITERIA, (None,))


def test_what_is_seen_has_its_unit() -> None:
    shares = {what for what, (unit, _) in OBSERVED.items() if unit == "share"}
    assert shares == {"used_by_lower_half", "written_by_lower_half", "of_rank"}


# ---- the file --------------------------------------------------------------------------------

ASKED = (
    Quantity("gain", "How many times as fast?", "ratio", "times as fast"),
    Quantity("local", "Which part is local, where a range is meant that lies near the start, "
             "half-open?", "value", "share"),
    Quantity("met", "How many?", "seen", "of 100 keys"),
)  # fmt: skip


def test_the_file_as_it_is_handed_out() -> None:
    assert template(ASKED) == (
        "# What will the run show that is graded, on the staff's node? Write a number\n"
        '# in the place of each "", before you measure; a share is 0 to 1.\n'
        "\n"
        "# How many times as fast? (times as fast)\n"
        'gain = ""\n'
        "\n"
        "# Which part is local, where a range is meant that lies near the start,\n"
        "# half-open? (a share)\n"
        'local = ""\n'
        "\n"
        "# How many? (of 100 keys)\n"
        'met = ""\n'
    )
    assert read_predictions(template(ASKED), ASKED) == Predicted()


def test_numbers_are_read_as_they_are_meant() -> None:
    found = read_predictions("met = 100\ngain = 0.001\nlocal = 1\n", ASKED)
    assert found == Predicted({"met": 100.0, "gain": 0.001, "local": 1.0})
    assert read_predictions("local = 0\n", ASKED).values == {"local": 0.0}
    assert read_predictions("", ()).is_empty


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("gain", '"2"', "this is no number: write it without quotes and without a unit"),
        ("gain", "true", "this is no number: write it without quotes and without a unit"),
        ("gain", "[2]", "this is no number: write it without quotes and without a unit"),
        ("gain", "inf", "this is no finite number"),
        ("local", "nan", "this is no finite number"),
        ("local", "1.01", "a share is 0 to 1, such as 0.5 for 50 %"),
        ("local", "-0.01", "a share is 0 to 1, such as 0.5 for 50 %"),
        ("gain", "0", "it has to be above 0"),
        ("gain", "-1", "it has to be above 0"),
        ("met", "100.5", "it is of 100 keys, so it can't be more than 100"),
    ],
)
def test_what_can_not_be_held_against_anything(name: str, value: str, why: str) -> None:
    found = read_predictions(f"{name} = {value}\n", ASKED)
    assert found == Predicted({}, {name: why}) and not found.is_empty


def test_keys_that_nobody_asked_for_are_told_a_few_of_them() -> None:
    long = "x" * 80
    found = read_predictions(f"gian = 1\n{long} = 2\n", ASKED)
    assert found.unknown[0] == "Unknown key 'gian'. Did you mean 'gain'?"
    shown, asked = found.unknown[1].split("'. ")
    assert asked == "Asked for: gain, local, met."
    assert len(shown.removeprefix("Unknown key '")) == 60
    assert not found.is_empty and not found.values
    many = "".join(f"x{number} = 1\n" for number in range(9))
    assert len(read_predictions(many, ASKED).unknown) == 5


def test_what_is_no_toml_is_told_with_what_to_write() -> None:
    with pytest.raises(BadPredictions, match=r"line 1.*write gain = a number"):
        read_predictions("gain\n", ASKED)
    with pytest.raises(BadPredictions, match="line 1"):
        read_predictions("gain\n", ())
