"""What the tests share: the kit, its labs, and who runs beside whom."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from commands import STARTED_BY
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from numalab.declaration import Lab, load_labs
from numalab.kit import Kit, find_kit

os.environ.pop("NUMALAB_STARTED", None)
os.environ[STARTED_BY] = str(os.getpid())

# These files build nothing in the kit's own build folder, and measure nothing in it. In a suite
# of two processes they run beside those that do, which stay in one process.
BESIDE = frozenset(
    f"test_{name}"
    for name in (
        "bench", "compare", "completion", "doctor", "doctor_facts", "figures", "golden", "hints",
        "judge", "kit_copy", "launch", "machine_run", "machines", "mpi_rules", "mpi_runs",
        "placement", "progress", "rules", "sequential", "slides", "style", "timing_account",
        "timing_plot", "virtual_nodes", "virtual_parts", "wording", "words",
    )
)  # fmt: skip
# Both boot machines of the same name and look whether they are gone.
SHARED = {"test_virtual_nodes": "test_machine_run"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What is timed comes last, when the other process is likely to have come to its end."""
    items.sort(key=lambda item: item.get_closest_marker("timed") is not None)


class Scheduling(LoadScopeScheduling):
    """Gives a process a file's tests together, and what is not beside to one and the same."""

    def _split_scope(self, nodeid: str) -> str:
        file = Path(nodeid.split("::", 1)[0]).stem
        return SHARED.get(file, file) if file in BESIDE else "kit"


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Scheduling:
    return Scheduling(config, log)


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
