"""Traffic, what each part of a machine needs for it, and how it is carried to all cores. All rates
are made up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from numalab.errors import NumalabError
from numalab.installation import find_installation
from numalab.machines.gallery import find_machine
from numalab.machines.machine import Machine
from numalab.machines.rates import PublishedRate, Resource
from numalab.modelling.speedups import fills, scale_to_whole
from numalab.modelling.times import modelled, why_not
from numalab.modelling.traffic import (
    MemoryTraffic,
    own_pages_traffic,
    seats,
    serial_touch_traffic,
    single_node_traffic,
)


def made_up(of: Resource, gb_s: float, distance: int | None = None) -> PublishedRate:
    return PublishedRate(of, gb_s, "me", "made up", distance)


CORE, FAR_CORE = made_up("core", 10, 10), made_up("core", 5)
CONTROLLER, LINK, L3 = made_up("controller", 40), made_up("link", 20), made_up("l3", 15)


def machine(name: str, *rates: PublishedRate) -> Machine:
    return replace(find_machine(find_installation("gnu"), name), rates=rates)


def one_per_core(described: Machine) -> list[tuple[int, ...]]:
    return [core.pus for node in described.numa_nodes for core in node.cores]


# ---- the model -----------------------------------------------------------------------


def test_pages_behind_one_controller_take_as_long_as_it_does() -> None:
    hydra = machine("hydra", CORE, FAR_CORE, CONTROLLER, LINK)
    team = one_per_core(hydra)
    slow, fast = (
        modelled(hydra, serial_touch_traffic(hydra, team)),
        modelled(hydra, own_pages_traffic(hydra, team)),
    )
    assert slow is not None and fast is not None
    assert slow.s_per_gb == pytest.approx(1 / 40)
    # Half of the bytes cross a link of half the rate: as long.
    assert [(d.resource, d.numbers) for d in slow.bottleneck] == [
        ("controller", (0,)),
        ("link", (1, 0)),
    ]
    assert fast.s_per_gb == pytest.approx(0.5 / 40)
    assert [(d.resource, d.numbers) for d in fast.bottleneck] == [
        ("controller", (0,)), ("controller", (1,)),
    ]  # fmt: skip
    assert [(f.user, f.home, f.share) for f in fast.flows] == [
        (0, 0, pytest.approx(0.5)), (1, 1, pytest.approx(0.5)),
    ]  # fmt: skip
    assert slow.threads == 32


def test_times_of_a_core_add_up_over_distances() -> None:
    hydra = machine("hydra", CORE, FAR_CORE, CONTROLLER)
    found = modelled(hydra, MemoryTraffic({(0, 0): 3.0, (0, 1): 1.0}, 1))
    assert found is not None
    assert found.demands_on("core")[0].s_per_gb == pytest.approx(0.75 / 10 + 0.25 / 5)
    assert found.bottleneck == found.demands_on("core")


def test_the_opposite_way_is_another_link() -> None:
    hydra = machine("hydra", CONTROLLER, LINK)
    swapped = modelled(hydra, MemoryTraffic({(0, 1): 1.0, (16, 0): 1.0}, 2))
    assert swapped is not None
    assert [(d.numbers, d.share) for d in swapped.demands_on("link")] == [
        ((0, 1), 0.5),
        ((1, 0), 0.5),
    ]
    assert swapped.s_per_gb == pytest.approx(0.5 / 20)


def test_cores_of_an_l3_share_its_rate() -> None:
    nebula = machine("nebula", CORE, CONTROLLER, L3)
    four = modelled(nebula, MemoryTraffic({(core, 0): 1.0 for core in range(4)}, 4))
    apart = modelled(nebula, MemoryTraffic({(core, 0): 1.0 for core in (0, 1, 4, 5)}, 4))
    assert four is not None and apart is not None
    assert [d.resource for d in four.bottleneck] == ["l3"]
    assert four.s_per_gb == pytest.approx(1 / 15)
    assert apart.s_per_gb == pytest.approx(0.5 / 15)


def test_what_has_no_rate_is_left_out_and_told() -> None:
    nebula = machine("nebula", CORE, CONTROLLER, made_up("link", 20, 16))
    team = one_per_core(nebula)
    found = modelled(nebula, serial_touch_traffic(nebula, team))
    assert found is not None
    assert found.missing == (
        ("core", 16), ("core", 22), ("core", 28), ("l3", None), ("link", 22), ("link", 28),
    )  # fmt: skip
    assert {d.numbers for d in found.demands_on("link")} == {(1, 0), (2, 0), (3, 0)}
    # Farther memory is no faster than the nearer one whose rate is known.
    assert [d.s_per_gb for d in found.demands_on("core")] == [pytest.approx(1 / 64 / 10)] * 64
    far_only = machine("nebula", CONTROLLER, made_up("core", 5, 28))
    some = modelled(far_only, serial_touch_traffic(far_only, team))
    assert some is not None
    distances = far_only.guest_distances()
    rated = {d.numbers[0] // 8 for d in some.demands_on("core")}
    assert rated == {node for node in range(8) if distances[node][0] == 28}
    assert len(found.flows) == 8, "with a rate or without"


def test_without_a_controllers_rate_nothing_is_modelled() -> None:
    hydra = machine("hydra", CORE, FAR_CORE, LINK)
    assert modelled(hydra, MemoryTraffic({(0, 0): 1.0}, 1)) is None
    assert why_not(hydra) == (
        "No time is modelled on hydra: no published rate of one of its memory controllers is known."
    )
    assert why_not(machine("hydra", CONTROLLER)) is None
    assert modelled(machine("hydra", CONTROLLER), MemoryTraffic({}, 0)) is None, "nothing is moved"


# ---- traffic ---------------------------------------------------------------------------


def test_a_thread_that_nothing_binds_is_on_one_core_and_its_pages_anywhere() -> None:
    hydra = machine("hydra")
    anywhere = tuple(range(hydra.pus))
    traffic = own_pages_traffic(hydra, [anywhere] * 3)
    # Dealt out over NUMA nodes first, as a scheduler balances.
    assert traffic.bytes == {
        (core, home): pytest.approx(0.5) for core in (0, 16, 1) for home in (0, 1)
    }
    assert len(own_pages_traffic(hydra, [anywhere] * 32).cores) == 32


def test_bound_threads_keep_their_cores_and_others_go_elsewhere() -> None:
    hydra = machine("hydra")
    anywhere = tuple(range(hydra.pus))
    assert seats(hydra, [anywhere, (0,), (0, 2), (1, 3)]) == (17, 0, 1, 16)


def test_siblings_are_one_core() -> None:
    westmere = machine("westmere-ex")
    core = westmere.numa_nodes[2].cores[3]
    assert seats(westmere, [core.pus]) == (23,)
    for pus in ((westmere.pus,), ()):
        with pytest.raises(NumalabError, match="grade again"):
            seats(westmere, [pus])


def test_a_team_on_one_numa_node_fills_it_core_by_core() -> None:
    nebula = machine("nebula")
    assert single_node_traffic(nebula, 10).bytes == {
        (core, 0): 2.0 if core < 2 else 1.0 for core in range(8)
    }


# ---- all cores of a machine ----------------------------------------------------------------


@pytest.mark.parametrize(("name", "cores"), [("hydra", 4), ("nebula", 2), ("westmere-ex", 4)])
def test_a_full_team_becomes_one_of_all_cores(name: str, cores: int) -> None:
    whole = machine(name, CONTROLLER)
    small = whole.scaled(cores)
    traffic = own_pages_traffic(small, one_per_core(small))
    assert fills(small, traffic)
    large = scale_to_whole(small, traffic, is_filled=True)
    expected = own_pages_traffic(whole, one_per_core(whole))
    assert large.threads == expected.threads
    share = small.cores / whole.cores
    assert large.bytes == {key: pytest.approx(share) for key in expected.bytes}


def test_cores_that_stand_for_no_whole_number_of_others_lose_nothing() -> None:
    whole = machine("westmere-ex")  # ten cores on a NUMA node
    small = whole.scaled(3)
    large = scale_to_whole(small, MemoryTraffic({(1, 0): 6.0, (4, 2): 3.0}, 2), is_filled=True)
    # The second of three stands for a third of ten: 3.33 to 6.67.
    assert large.bytes[3, 0] == pytest.approx(6 * (2 / 3) / (10 / 3))
    assert large.bytes[4, 0] == pytest.approx(6 / (10 / 3))
    assert sum(moved for (_, home), moved in large.bytes.items() if home == 0) == pytest.approx(6)
    assert large.total == pytest.approx(9)


def test_a_team_that_rests_in_part_stays_as_many() -> None:
    whole = machine("nebula")
    small = whole.scaled(2)
    one = MemoryTraffic({(0, 0): 1.0, (3, 0): 1.0}, 16)
    assert not fills(small, one)
    large = scale_to_whole(small, one, is_filled=False)
    assert large.bytes == {(0, 0): 1.0, (12, 0): 1.0}, "the second of two is in the second L3"
    assert large.threads == 16


def test_a_whole_machine_is_left_as_it_is() -> None:
    hydra = machine("hydra")
    traffic = own_pages_traffic(hydra, one_per_core(hydra))
    assert scale_to_whole(hydra, traffic, is_filled=True) is traffic
