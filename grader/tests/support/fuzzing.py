"""Runs a property on invented inputs: a few in the suite, the same ones each time; and for as long
as NUMALAB_FUZZ_S says, new ones."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from typing import Any, TypeVar

from hypothesis import HealthCheck, given, seed, settings
from hypothesis.strategies import SearchStrategy

from numalab.untrusted.visible import visible_lines

FOR_S = float(os.environ.get("NUMALAB_FUZZ_S", "0"))  # of each property
_AT_ONCE = 500  # of a long run, between two looks at the clock
Input = TypeVar("Input")


def fuzz(inputs: SearchStrategy[Input], check: Callable[[Input], None], examples: int = 60) -> None:
    """check raises where the property does not hold."""
    usual = settings(
        max_examples=_AT_ONCE if FOR_S else examples,
        derandomize=not FOR_S,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )

    def run(started_with: int | None) -> int:
        done = 0

        def checked(value: Any) -> None:
            nonlocal done
            done += 1
            check(value)

        test = usual(given(inputs)(checked))
        (test if started_with is None else seed(started_with)(test))()
        return done

    if not FOR_S:
        run(None)
        return
    total, end_s = 0, time.monotonic() + FOR_S
    while time.monotonic() < end_s:
        total += run(random.getrandbits(64))
    print(f"{total:,} inputs in {FOR_S:g} s")


def only(expected: type[Exception] | tuple[type[Exception], ...], call: Callable[[], Any]) -> Any:
    """What the call returns, None where it refuses: in words that can be shown, and short."""
    try:
        return call()
    except expected as error:
        said = str(error)
        assert said == visible_lines(said)
        assert len(said) < 4_000
        return None
