"""What the tests share: the kit, its labs, and one grading at a time."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from numalab.kit import Kit, find_kit
from numalab.lab import Lab, load_labs

os.environ.pop("NUMALAB_STARTED", None)


@pytest.fixture(scope="session")
def kit() -> Kit:
    return find_kit(os.environ.get("NUMALAB_PRESET", "gnu"))


@pytest.fixture(scope="session")
def kit_root(kit: Kit) -> Path:
    return kit.root


@pytest.fixture(scope="session")
def labs(kit: Kit) -> dict[str, Lab]:
    return load_labs(kit.root)


@pytest.fixture(scope="session")
def first_touch(labs: dict[str, Lab]) -> Lab:
    return labs["01_first_touch"]


@pytest.fixture(scope="session")
def schema(kit: Kit) -> Path:
    return kit.root / "common" / "schema" / "evidence.schema.json"
