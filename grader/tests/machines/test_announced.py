"""What processors announce by CPUID, as it was recorded."""

from __future__ import annotations

import pytest

from numalab.kit import find_kit
from numalab.machines.announced import (
    RECORDED,
    Recorded,
    Shape,
    announces_cores,
    own_and_other,
    without_hwloc,
)
from numalab.machines.gallery import gallery_folder, load_gallery
from numalab.machines.machine import Machine

GALLERY = load_gallery(gallery_folder(find_kit("gnu")))
MACHINES = [pytest.param(machine, id=name) for name, machine in GALLERY.items()]


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("Xeon X5550", Shape(2, 4, 2)),
        ("Xeon X5650", Shape(2, 6, 2)),
        ("EPYC 9654", Shape(2, 96, 2)),
        ("Xeon Max 9460", Shape(2, 40, 2)),
        # Neither leaf 0xB nor leaf 4: the room that leaf 1 announces is one core.
        ("Opteron 6164 HE", Shape(2, 1, 12)),
        ("EPYC 7451", Shape(2, 1, 48)),
    ],
)
def test_what_libomp_finds(name: str, found: Shape) -> None:
    assert without_hwloc(RECORDED[name]) == found


@pytest.mark.parametrize("recorded", RECORDED.values(), ids=RECORDED)
def test_records_agree_in_themselves(recorded: Recorded) -> None:
    _, cores, threads = recorded.shape
    assert cores % recorded.l3_caches == 0
    assert cores * threads <= recorded.logical
    if recorded.leaf_b is not None:
        assert recorded.highest_leaf >= 0xB
        assert 1 << recorded.leaf_b.core == threads
        assert cores * threads <= 1 << recorded.leaf_b.package


@pytest.mark.parametrize("machine", MACHINES)
def test_a_machine_is_built_as_its_processor_is(machine: Machine) -> None:
    """As far as they are of one kind: NUMA nodes and L3 caches of a package; nebula's and aurora's
    processors have more cores than the recorded ones."""
    if machine.processor is None:
        words = "inferred" if machine.is_native else "is not judged"
        assert words in own_and_other(machine)[-1]
        return
    recorded = RECORDED[machine.processor]
    assert machine.groups_per_node.most * machine.nodes_per_package.most == recorded.l3_caches
    assert machine.threads_per_core.most <= recorded.shape.threads
    cores = machine.cores // machine.packages
    assert cores == recorded.shape.cores or machine.name in ("aurora", "nebula")


@pytest.mark.parametrize("machine", MACHINES)
def test_it_is_said_what_is_the_machines_own(machine: Machine) -> None:
    own, *unshown, cpuid = own_and_other(machine)
    assert "PU numbers" in own and "Times" in own
    assert all("Memory" in line or "cores" in line.lower() for line in unshown)
    assert ("no dies" in cpuid) == machine.is_native
    is_less = machine.name in ("nebula", "magny-cours")
    assert ("takes one there for a single core" in cpuid) == is_less
    assert announces_cores(machine) == (machine.is_native and not is_less)
    assert ("inferred" in cpuid) == (machine.processor is None and machine.is_native)
