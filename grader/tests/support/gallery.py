"""Machines of the gallery that are drawn much as others are, by `./numalab test --all` alone."""

from __future__ import annotations

import pytest

DRAWN_AS_OTHERS = (
    "cxl", "eiger", "genoa", "gh200", "gh200x4", "grace", "spr", "tioga", "ulna", "xeon-max",
)  # fmt: skip


def drawing_marks(name: str) -> tuple[pytest.MarkDecorator, ...]:
    return (pytest.mark.slow,) if name in DRAWN_AS_OTHERS else ()
