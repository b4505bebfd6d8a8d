"""Machines made from a seed: the same for ever, unlike one another, and in a guest as described.

seen_on_seeded.json is what hwloc saw in guests (QEMU 7.2, Linux 6.1, emulated), recorded once for
each of its seeds, of which it has the keys that are compared:
./numalab machine run seeded-489 -- build/gnu/common/describe_node
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest
from support.commands import numalab_command

from numalab.errors import UserError
from numalab.evidence.record import Json
from numalab.installation import Installation, find_installation
from numalab.machines.gallery import find_machine, gallery_folder, load_gallery
from numalab.machines.machine import LOCAL_DISTANCE, Machine
from numalab.machines.machine_file import MAX_DISTANCE, parse_machine
from numalab.machines.seeded import (
    LEAST_PUS,
    MOST_NODES,
    MOST_PUS,
    SEEDS,
    draw,
    is_seeded,
    seed_in,
    seeded_machine,
)
from numalab.machines.structure import structure_of_machine, structure_of_node
from numalab.virtual import qemu

SEEN: dict[str, Json] = json.loads(
    Path(__file__).with_name("seen_on_seeded.json").read_text("utf-8")
)
MANY = [seeded_machine(seed) for seed in range(1, 601)]


def shape(machine: Machine) -> tuple[int, ...]:
    return (
        machine.packages, machine.nodes_per_package.most, machine.cores_per_node.most,
        machine.threads_per_core.most, machine.groups_per_node.most,
    )  # fmt: skip


# ---- the same for ever ---------------------------------------------------------------------------


def test_draws_are_fixed() -> None:
    assert [draw(1, "shape", 1000), draw(2, "shape", 1000), draw(1, "other", 1000)] == [
        206,
        404,
        903,
    ]


def digest(machine: Machine) -> str:
    """Of all that a machine is. Its parts have got fields since that it makes no use of."""
    told = repr((machine.numa_nodes, machine.distances))
    for unused in (
        ", kind='', has_l3=True",
        ", memory_kind='', memory_side_cache_mb=None, peak_gb_s=None",
    ):
        told = told.replace(unused, "")
    return hashlib.sha256(told.encode()).hexdigest()[:16]


@pytest.mark.parametrize(
    ("seed", "expected"),
    [
        (1, "1ceb8c45b5631f4e"),
        (2, "8f5da3025ffac29f"),
        (489, "ace182a49b753a35"),
        (4294967295, "ae271707e1de7532"),
    ],
)
def test_machines_are_fixed(seed: int, expected: str) -> None:
    assert digest(seeded_machine(seed)) == expected


def test_many_machines_are_fixed() -> None:
    told = "".join(map(digest, MANY))
    assert hashlib.sha256(told.encode()).hexdigest()[:16] == "461ab88f38782546"


def test_what_a_seed_does_not_draw() -> None:
    one = seeded_machine(489)
    assert (one.name, one.seed, one.text) == ("seeded-489", 489, "seed = 489\n")
    assert (one.notes, one.caches, one.bandwidths, one.latencies, one.rates) == ((),) * 5
    assert one.processor is None and one.scaled_from is None and one.is_native
    for seed in (0, -1, 2**32):
        with pytest.raises(ValueError, match=f"no seed: {seed}"):
            seeded_machine(seed)


# ---- each is one that can be ---------------------------------------------------------------------


def test_they_are_small_and_have_several_numa_nodes() -> None:
    assert (LEAST_PUS, MOST_PUS, MOST_NODES) == (8, 24, 8)
    for machine in MANY:
        assert LEAST_PUS <= machine.pus <= MOST_PUS
        assert 2 <= len(machine.numa_nodes) <= MOST_NODES
        assert machine.packages <= 4 and machine.nodes_per_package.most <= 4
        pus = [pu for node in machine.numa_nodes for pu in node.pus]
        assert sorted(pus) == list(range(machine.pus))
        assert [node.number for node in machine.numa_nodes] == list(range(len(machine.numa_nodes)))
        assert qemu.apic_ids(machine)[0] == 0  # the processor that boots is PU 0


def as_file(machine: Machine) -> str:
    """As common/machines has them, under a name that is not kept for them."""
    lines = ["name = 'made'", "title = 't'", "source = 's'"]
    lines.append(f"distances = {json.dumps(machine.distances)}")
    for node in machine.numa_nodes:
        threads = zip(*(core.pus for core in node.cores), strict=True)
        pus = [",".join(map(str, numbers)) for numbers in threads]
        lines += ["[[numa_node]]", f"package = {node.package}", f"memory_mb = {node.memory_mb}"]
        lines += [f"pus = {json.dumps(pus)}", f"l3_groups = {machine.groups_per_node.most}"]
    return "\n".join(lines)


def test_each_could_be_described_in_a_file() -> None:
    for machine in MANY[:200]:
        read = parse_machine(as_file(machine), Path("made.toml"))
        assert (read.numa_nodes, read.distances) == (machine.numa_nodes, machine.distances)


def test_distances_are_as_firmware_gives_them() -> None:
    for machine in MANY:
        distances = machine.distances
        assert distances is not None
        for a in machine.numa_nodes:
            for b in machine.numa_nodes:
                value = distances[a.number][b.number]
                assert value == distances[b.number][a.number] <= MAX_DISTANCE
                assert (value == LOCAL_DISTANCE) == (a is b)
                assert value >= LOCAL_DISTANCE
        inside, outside = (
            {distances[a.number][b.number]
             for a in machine.numa_nodes for b in machine.numa_nodes
             if a is not b and (a.package == b.package) is is_inside}
            for is_inside in (True, False)
        )  # fmt: skip
        assert not inside or not outside or max(inside) < min(outside)


def test_one_numa_node_has_far_the_most_memory() -> None:
    """More than Linux takes of it: 53 MiB of NUMA node 0's in the recorded guests."""
    for machine in MANY:
        *_, second, most = sorted(node.memory_mb or 0 for node in machine.numa_nodes)
        assert most - second >= 96


# ---- unlike one another, and anything published --------------------------------------------------


def test_twenty_seeds_have_a_dozen_shapes_or_more() -> None:
    shapes = [shape(machine) for machine in MANY]
    fewest = min(len(set(shapes[first : first + 20])) for first in range(len(shapes) - 19))
    assert fewest >= 12


def test_all_ways_of_numbering_are_met() -> None:
    """Siblings last and beside one another, PUs in blocks and in turn, NUMA nodes in turn."""
    several = [m for m in MANY if m.packages > 1 and m.nodes_per_package.most > 1]
    with_siblings = [m for m in MANY if m.threads_per_core.most == 2]
    beside = [m for m in with_siblings if m.numa_nodes[0].cores[0].pus == (0, 1)]
    blocks = [m for m in MANY if m.numa_nodes[0].pus == tuple(range(len(m.numa_nodes[0].pus)))]
    in_turn = [m for m in several if [n.package for n in m.numa_nodes[:2]] == [0, 1]]
    for some, all_ in (
        (beside, with_siblings), (blocks, MANY), (in_turn, several), (with_siblings, MANY),
        ([m for m in MANY if m.groups_per_node.most > 1], MANY),
        ([m for m in MANY if len({v for row in m.guest_distances() for v in row}) > 2], MANY),
    ):  # fmt: skip
        assert 0.1 * len(all_) < len(some) < 0.9 * len(all_)


def test_none_is_of_the_gallery() -> None:
    published = {
        shape(one)[:3] for one in load_gallery(gallery_folder(find_installation("gnu"))).values()
    }
    assert not published & {shape(machine)[:3] for machine in MANY}


# ---- in a guest ----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEN)
def test_recorded_guests_are_the_machines(seed: str) -> None:
    seen, made = structure_of_node(SEEN[seed]), structure_of_machine(seeded_machine(int(seed)))
    assert seen == made
    assert len(seen.pus) > len(seen.cores) or seeded_machine(int(seed)).threads_per_core.most == 1


def test_recorded_guests_number_otherwise_than_hwloc() -> None:
    """So that the comparison above could fail by an order that was not Linux's."""
    seen = [structure_of_node(node) for node in SEEN.values()]
    assert any(list(one.numa_nodes) != sorted(one.numa_nodes) for one in seen)
    assert any([pu.number for pu in one.pus] != sorted(pu.number for pu in one.pus) for one in seen)


def test_a_pu_that_there_is_not() -> None:
    with pytest.raises(LookupError, match="999"):
        structure_of_machine(seeded_machine(489)).pu(999)


def test_what_is_missing_of_a_node_is_said() -> None:
    node = SEEN["489"] | {"distances": None}
    with pytest.raises(LookupError, match="distances"):
        structure_of_node(node)


def test_another_machine_is_another_structure() -> None:
    made = structure_of_machine(seeded_machine(489))
    scaled = structure_of_machine(seeded_machine(489).scaled(1))
    assert made != scaled and made != structure_of_machine(seeded_machine(27))
    assert replace(made, largest=frozenset({0})) != made


# ---- names ---------------------------------------------------------------------------------------


def test_names_are_read() -> None:
    assert is_seeded("seeded-1") and not is_seeded("hydra")
    assert seed_in(f"seeded-{SEEDS[-1]}") == SEEDS[-1] == 2**32 - 1


@pytest.mark.parametrize(
    "name",
    [
        "seeded-",
        "seeded-0",
        "seeded--1",
        "seeded-01",
        "seeded-x",
        "seeded-1.5",
        "seeded-4294967296",
    ],
)
def test_what_is_no_seed_is_refused(installation: Installation, name: str) -> None:
    with pytest.raises(UserError, match=r"1 to 4294967295, such as seeded-1234"):
        find_machine(installation, name)


def test_their_names_are_kept_for_them(installation: Installation) -> None:
    machine = find_machine(installation, "seeded-1234")
    assert machine == seeded_machine(1234) and machine.name == "seeded-1234"
    text = as_file(machine).replace("'made'", "'seeded-1234'")
    with pytest.raises(UserError, match="made from a seed"):
        parse_machine(text, Path("seeded-1234.toml"))


def test_show_does_not_tell_what_is_asked(installation: Installation) -> None:
    done = numalab_command(installation, "machine", "show", "seeded-489")
    assert done.code == 0
    assert "./numalab machine run seeded-489 -- lstopo-no-graphics" in done.out
    assert "./numalab machine questions seeded-489" in done.out
    for told in ("24 PUs", "6 NUMA", "352", "22"):
        assert told not in done.out
    done = numalab_command(installation, "machine", "show", "seeded-489", "--svg", "x.svg")
    assert done.code == 2 and "add --answers" in done.err
    done = numalab_command(installation, "machine", "show", "seeded-489", "--answers")
    assert done.code == 0 and "24 PUs" in done.out


def test_questions_name_what_is_drawn(installation: Installation) -> None:
    done = numalab_command(installation, "machine", "questions", "seeded-489")
    assert done.code == 0 and "Which PUs does NUMA node 4 have?" in done.out
    done = numalab_command(installation, "machine", "questions", "hydra")
    assert done.code == 2 and "nothing is asked about it" in done.said
