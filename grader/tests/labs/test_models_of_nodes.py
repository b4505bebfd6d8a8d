"""What a node's rates make a loop and a number of threads take: what a student's model is held
against."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import pytest

from numalab.errors import NumalabError
from numalab.evidence.run_formats import Mix
from numalab.labs import loop_times, saturation
from numalab.labs.loop_times import Rates
from numalab.labs.model import LOOPS, mistaken_bytes
from numalab.labs.solution_files import (
    CODED_FILE,
    Coded,
    need_solution_text,
    read_coded,
    solution_text,
    write_coded,
)


def node(*pus: tuple[int, int, int]) -> dict[str, Any]:
    """pus: number, core and NUMA node of each."""
    return {"pu_list": [{"pu": pu, "core": core, "numa_node": n} for pu, core, n in pus]}


# ---- bytes of loops --------------------------------------------------------------------


def test_bytes_that_loops_move() -> None:
    moved = {name: loop.bytes_moved for name, loop in LOOPS.items()}
    assert moved == {
        "fill": 16, "copy_float": 12, "scale": 16, "dot": 16, "accumulate": 32, "every_fourth": 32,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "mistaken"),
    [
        ("fill", [8, 16, 16, 16, 16, 16, 2]),
        ("copy_float", [8, 12, 12, 16, 12, 24, 3]),
        ("scale", [16, 8, 24, 16, 16, 16, 2]),
        ("accumulate", [32, 24, 40, 48, 32, 32, 4]),
        ("every_fourth", [32, 32, 32, 64, 8, 32, 1]),
    ],
)
def test_bytes_of_loops_to_who_makes_a_mistake(name: str, mistaken: list[float]) -> None:
    """In the order: no write-allocate, an update once, a fetch too many, all go back, single
    elements, a float of 8 bytes, arrays."""
    assert list(mistaken_bytes(LOOPS[name]).values()) == mistaken


# ---- times of loops --------------------------------------------------------------------


def times(read_ns: float, write_ns: float, update_ns: float) -> dict[Mix, float]:
    return {
        mix: mix.loads * read_ns + mix.stores * write_ns + mix.updates * update_ns
        for mix in loop_times.MEASURED
    }


@pytest.mark.parametrize("ns", [(0.5, 1.0, 2.0), (4.0, 0.25, 0.125)])
def test_rates_of_arrays_are_those_that_loops_were_timed_with(ns: tuple[float, ...]) -> None:
    rates = loop_times.rates_of(times(*ns))
    assert rates is not None
    found = (rates.read_gb_s, rates.write_gb_s, rates.update_gb_s)
    assert found == pytest.approx((8 / ns[0], 16 / ns[1], 16 / ns[2]))
    assert loop_times.time_ns(Mix(3, 2, 1), rates) == pytest.approx(3 * ns[0] + 2 * ns[1] + ns[2])


@pytest.mark.parametrize("kind", range(3))
def test_an_array_that_takes_no_time_has_no_rate(kind: int) -> None:
    ns = [1.0, 1.0, 1.0]
    for impossible in (0.0, -1.0):
        ns[kind] = impossible
        assert loop_times.rates_of(times(*ns)) is None


def test_the_names_of_a_formula_are_the_loops_and_the_nodes() -> None:
    found = loop_times.values_for(Mix(1, 2, 3), Rates(20.0, 22.0, 30.0), 4)
    assert found == {
        "loads": 1, "stores": 2, "updates": 3, "read_gb_s": 20, "write_gb_s": 22,
        "update_gb_s": 30, "cores": 4,
    }  # fmt: skip
    assert saturation.values_for(3, 8, 10.0, 40.0) == {
        "threads": 3, "cores": 8, "one_gb_s": 10, "all_gb_s": 40,
    }  # fmt: skip


# ---- shares of threads -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("cores", "counts"),
    [
        (1, (1,)),
        (2, (1, 2)),
        (3, (1, 2, 3)),
        (8, (1, 2, 3, 4, 6, 8)),
        (11, (1, 2, 3, 4, 6, 8, 11)),
        (12, (1, 2, 3, 4, 6, 8, 12)),
    ],
)
def test_numbers_of_threads_of_a_curve(cores: int, counts: tuple[int, ...]) -> None:
    assert saturation.curve_counts(cores) == counts


def test_a_curve_has_room_to_bend_from_eight_cores_on() -> None:
    assert saturation.LEAST_CORES == 8
    assert len(saturation.curve_counts(saturation.LEAST_CORES)) == 6


def test_one_pu_of_each_core_of_the_largest_numa_node() -> None:
    pus = ((5, 1, 0), (1, 1, 0), (0, 0, 0), (2, 2, 1), (3, 3, 1), (4, 4, 1), (6, 2, 1))
    assert saturation.cores_of_a_numa_node(node(*pus)) == (2, 3, 4)
    assert saturation.cores_of_a_numa_node(node(*pus[:3], *pus[3:5])) == (0, 1)
    assert saturation.cores_of_a_numa_node(node()) == ()


def test_numbers_that_tell_models_apart() -> None:
    """One core of 16 has a fourth of what all reach."""
    curve = {n: min(100.0, 25.0 * n) for n in saturation.curve_counts(16)}
    assert saturation.telling_counts(curve) == ((2, 3), (6, 8, 12, 16)[:3])
    off = curve | {2: 56.0, 3: 69.0, 6: 94.0}
    assert saturation.telling_counts(off) == ((), (8, 12))


@pytest.mark.parametrize(("one_gb_s", "drawn"), [(7.25, (11, 16)), (7.1875, (11, 16)), (7.185, ())])
def test_all_cores_are_drawn_where_fewer_are_not_told_from_a_rate_that_grows(
    one_gb_s: float, drawn: tuple[int, ...]
) -> None:
    """Unless all together, in proportion, would hardly exceed what they reach."""
    curve = {1: one_gb_s, 11: 84.0, 16: 100.0}
    assert saturation.telling_counts(curve) == ((11,), ())
    assert saturation.draw_counts(curve, "seed") == drawn


@pytest.mark.parametrize(
    ("curve", "told"),
    [
        # A proportion of 0.1 is just near to 0.05, and 3 of 10 just far from 0.15.
        ({1: 0.05, 2: 0.05, 8: 1.0}, ((2,), ())),
        ({1: 0.05, 2: 0.04, 8: 1.0}, ((), ())),
        ({1: 0.05, 3: 0.15, 10: 1.0}, ((3,), ())),
        ({1: 0.05, 3: 0.16, 10: 1.0}, ((), ())),
        ({1: 0.3, 2: 0.6, 8: 1.0}, ((2,), ())),
        ({1: 0.3, 2: 0.66, 8: 1.0}, ((), ())),
        # Nearly all, which 4 times one would exceed, and 3 times hardly.
        ({1: 0.3, 3: 0.88, 4: 0.96, 8: 1.0}, ((), (4,))),
        ({1: 0.29, 3: 0.87, 4: 1.0, 8: 1.0}, ((), (4,))),
        # A share of 0.85 is the largest that is below all, and a proportion of 1.15 the smallest
        # that exceeds it.
        ({1: 0.425, 2: 0.85, 8: 1.0}, ((2,), ())),
        ({1: 0.426, 2: 0.852, 8: 1.0}, ((), ())),
        ({1: 0.575, 2: 1.0, 8: 1.0}, ((), (2,))),
        ({1: 0.574, 2: 1.0, 8: 1.0}, ((), ())),
    ],
)
def test_how_near_and_how_far_models_are(
    curve: dict[int, float], told: tuple[tuple[int, ...], tuple[int, ...]]
) -> None:
    assert saturation.telling_counts(curve) == told


def test_one_number_below_saturation_is_drawn_and_one_at_it() -> None:
    curve = {n: min(100.0, 25.0 * n) for n in saturation.curve_counts(16)}
    drawn = {saturation.draw_counts(curve, str(seed)) for seed in range(80)}
    assert drawn == {(below, at_it) for below in (2, 3) for at_it in (6, 8, 12)}
    off = curve | {2: 56.0, 3: 69.0}
    assert saturation.draw_counts(off, "seed") == ()


def test_shares_grow_in_proportion_until_the_memory_is_the_limit() -> None:
    assert [saturation.modelled_share(n, 10.0, 40.0) for n in (1, 3, 4, 5)] == [0.25, 0.75, 1, 1]


def test_cores_of_one_kind_are_taken() -> None:
    """Three small ones and two large ones of a NUMA node, two of which have siblings, and two of
    another node."""
    pus = ((7, 0, 0), (0, 0, 0), (1, 1, 0), (2, 2, 0), (3, 3, 0), (4, 4, 0), (8, 4, 0), (5, 5, 1),
           (6, 6, 1))  # fmt: skip
    small, large = {"pus": [2, 1, 0, 7], "name": None}, {"pus": [3, 4, 8], "name": None}
    told = node(*pus) | {"core_kinds": [small, large]}
    assert saturation.cores_of_a_numa_node(told) == (0, 1, 2)
    assert saturation.cores_of_a_numa_node(told | {"core_kinds": [large]}) == (0, 1, 2)
    assert saturation.cores_of_a_numa_node(told | {"core_kinds": None}) == (0, 1, 2, 3, 4)


# ---- files of solutions ----------------------------------------------------------------


def test_what_a_students_edition_needs_of_a_solution_is_in_one_file(tmp_path: Path) -> None:
    assert read_coded(tmp_path) == Coded({}, {})
    write_coded(tmp_path, Coded({"a.toml": "coded", "b.toml": "ü"}, {"1": [2]}))
    assert [path.name for path in tmp_path.iterdir()] == [CODED_FILE]
    assert read_coded(tmp_path) == Coded({"a.toml": "coded", "b.toml": "ü"}, {"1": [2]})
    (tmp_path / "a.toml").write_text("as it is")
    assert solution_text(tmp_path, "a.toml") == "as it is"
    assert need_solution_text(tmp_path, "b.toml") == "ü"
    assert solution_text(tmp_path, "c.toml") is None
    with pytest.raises(NumalabError, match="is missing; get"):
        need_solution_text(tmp_path, "c.toml")
    (tmp_path / "d.toml").mkdir()
    with pytest.raises(NumalabError, match=r"d\.toml can't be read: "):
        need_solution_text(tmp_path, "d.toml")


@pytest.mark.parametrize("content", [b"", b"{}", zlib.compress(b"[]"), zlib.compress(b"{")])
def test_a_file_of_a_solution_that_is_spoilt_is_told(tmp_path: Path, content: bytes) -> None:
    (tmp_path / CODED_FILE).write_bytes(content)
    with pytest.raises(NumalabError, match="Unpack this copy of the kit again"):
        read_coded(tmp_path)
