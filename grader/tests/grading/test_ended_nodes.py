"""Whose fault it is that a virtual node is gone, without one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from numalab.grading import vm_gradings
from numalab.virtual.place import NodeEnded, PlaceLost

KERNEL = NodeEnded("off", ["monitor", "trace", "--worker", "submission=/numalab/worker"])
OWN = NodeEnded("off", ["monitor", "trace", "--worker", "solution=/numalab/worker"])
LOST = PlaceLost("it hangs")


class Places:
    """Gives guests out, and counts those that were dropped."""

    def __init__(self) -> None:
        self.dropped: list[str] = []

    def get(self, *_: object) -> object:
        return object()

    def drop(self, name: str) -> None:
        self.dropped.append(name)


@pytest.mark.parametrize(
    ("first", "second", "ends"),
    [
        pytest.param(KERNEL, KERNEL, vm_gradings.KernelEndsNode, id="the_kernels"),
        pytest.param(KERNEL, LOST, PlaceLost, id="one_end_may_be_chance"),
        pytest.param(LOST, KERNEL, NodeEnded, id="one_end_may_be_chance_too"),
        pytest.param(KERNEL, OWN, NodeEnded, id="it_ends_without_the_kernel"),
        pytest.param(KERNEL, None, None, id="once"),
        pytest.param(None, None, None, id="never"),
    ],
)
def test_a_node_that_ends_twice_under_a_kernel_is_its_doing(
    monkeypatch: pytest.MonkeyPatch, first: Any, second: Any, ends: Any
) -> None:
    steps = [first, second]
    shown = object()

    def gather(*_: object) -> object:
        step = steps.pop(0)
        if step is not None:
            raise step
        return shown

    monkeypatch.setattr(vm_gradings, "gather_on_vm", gather)
    places = Places()
    session = cast(Any, SimpleNamespace(progress=lambda step: None))
    machine = cast(Any, SimpleNamespace(name="hydra"))

    def look() -> object:
        return vm_gradings._gather(session, machine, (), [], cast(Any, places))

    if ends is None:
        assert look() is shown
    else:
        with pytest.raises(ends) as ended:
            look()
        assert type(ended.value) is ends
    lost = [step for step in (first, second) if step is not None]
    assert places.dropped == ["hydra"] * len(lost), "the next kernel gets a guest of its own"
