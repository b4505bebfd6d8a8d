"""The texts of imported machines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from support.export_records import MIB, export, node, part

from numalab.machines.hwloc_export import Announced, Distances, HwlocCoreKind, HwlocExport
from numalab.machines.hwloc_import import machine_text
from numalab.machines.machine_file import parse_machine


def text_of(one: HwlocExport) -> str:
    return machine_text(one, "node", "here", "node.xml")


def nodes_text(one: HwlocExport) -> str:
    """Of the first NUMA node on."""
    text = text_of(one)
    return text[text.index("[[numa_node]]") :]


SINGLES = [[0], [1], [2], [3]]
ONE = node(0, range(4))

# ---- whole texts -------------------------------------------------------------------------


def test_a_text_has_all_that_an_export_tells() -> None:
    cores = [[0, 2], [1, 3], [8, 10], [9, 11]]
    halves = [range(4), range(8, 12)]
    nodes = [
        node(5, halves[1], 512, kind="HBM"),
        node(0, halves[0], 1024, side_cache_bytes=512 * MIB),
        node(4, halves[1], 2048.5),
    ]
    one = export(
        cores, nodes,
        infos={"Architecture": "arm64", "CPUModel": "An(R) Arm(TM) CPU 7 Processor 64-Core @ 2GHz"},
        packages=tuple(map(part, halves)),
        l3s=tuple(part(pus, 2 * MIB) for pus in halves),
        distances=Distances((4, 0, 5), ((10, 21, 12), (31, 10, 33), (14, 34, 10))),
        announced=(
            Announced("Capacity", {0: 1}),
            Announced("Bandwidth", {0: 5, 4: 7, 5: 0}),
            Announced("ReadLatency", {5: 90}),
            Announced("WriteBandwidth", {0: 0}),
        ),
    )  # fmt: skip
    head, rest = text_of(one).split("notes = [\n")
    notes, rest = rest.split("]\n", 1)
    assert head == (
        'name = "node"\ntitle = "An Arm 7"\nsource = "here"\narchitecture = "aarch64"\n'
    )
    assert [line[:40].split(" are ")[0] for line in notes.splitlines()] == [
        '    "The machine\'s NUMA nodes 0,4,5', '    "The machine\'s PUs 0-3,8-11',
        '    "NUMA node 5 (HBM) is memory only, b',
    ]  # fmt: skip
    assert notes.endswith('beside NUMA node 4 with the PUs.",\n')
    assert (
        rest
        == """\
distances = [
    [10, 31, 33],
    [21, 10, 12],
    [34, 14, 10],
]

[[numa_node]]
package = 0
memory_mb = 1024
memory_side_cache_mb = 512
pus = ["0,1", "2,3"]

[[numa_node]]
package = 1
memory_mb = 2048
pus = ["4,5", "6,7"]

[[numa_node]]
package = 1
memory_mb = 512
memory_kind = "HBM"
pus = []

[[cache]]
what = "L3, each"
value = 2048
unit = "KiB"
source = "here"

[[bandwidth]]
what = "as the system announces it, read and write, NUMA nodes 0,1 from the nearest PUs"
value = [5, 7]
unit = "MiB/s"
source = "here"

[[latency]]
what = "as the system announces it, read, NUMA node 2 from the nearest PUs"
value = [90]
unit = "ns"
source = "here"
"""
    )


def test_a_text_of_an_export_that_tells_nothing() -> None:
    assert text_of(export(SINGLES, [node(0, range(4), 0)])) == (
        'name = "node"\ntitle = "imported from hwloc"\nsource = "here"\n\n'
        '[[numa_node]]\npackage = 0\npus = ["0-3"]\nl3_groups = 0\n'
    )


KINDS = (
    HwlocCoreKind(frozenset({0, 1}), 1, {"CoreType": "IntelCore"}),
    HwlocCoreKind(frozenset({2, 3}), 0, {"CoreType": "IntelAtom"}),
)
CORES = "[[numa_node.cores]]\n"


@pytest.mark.parametrize(
    ("cores", "l3s", "kinds", "lines"),
    [
        (SINGLES, [range(4)], (), 'pus = ["0-3"]\n'),
        (SINGLES, [], (), 'pus = ["0-3"]\nl3_groups = 0\n'),
        (SINGLES, [[0, 1], [2, 3]], (), 'pus = ["0-3"]\nl3_groups = 2\n'),
        ([[0, 2], [1, 3]], [[0, 2], [1, 3]], (), 'pus = ["0,1", "2,3"]\nl3_groups = 2\n'),
        # An L3's cores come together, in the order of the first of each.
        (SINGLES, [[1, 3], [0, 2]], (), 'pus = ["0,2,1,3"]\nl3_groups = 2\n'),
        (SINGLES, [range(3), [3]], (),
         f'\n{CORES}pus = ["0-2"]\nl3_groups = 1\n\n{CORES}pus = ["3"]\nl3_groups = 1\n'),
        (SINGLES, [[0, 1], [2], [3]], (),
         f'\n{CORES}pus = ["0,1"]\nl3_groups = 1\n\n{CORES}pus = ["2,3"]\nl3_groups = 2\n'),
        (SINGLES, [[0, 1]], (),
         f'\n{CORES}pus = ["0,1"]\nl3_groups = 1\n\n{CORES}pus = ["2,3"]\nl3_groups = 0\n'),
        (SINGLES, [range(4)], KINDS,
         f'\n{CORES}kind = "performance"\npus = ["0,1"]\n'
         f'\n{CORES}kind = "efficiency"\npus = ["2,3"]\n'),
        (SINGLES, [], KINDS,
         f'\n{CORES}kind = "performance"\npus = ["0,1"]\nl3_groups = 0\n'
         f'\n{CORES}kind = "efficiency"\npus = ["2,3"]\nl3_groups = 0\n'),
        (SINGLES, [[0, 1], [2], [3]], KINDS,
         f'\n{CORES}kind = "performance"\npus = ["0,1"]\nl3_groups = 1\n'
         f'\n{CORES}kind = "efficiency"\npus = ["2,3"]\nl3_groups = 2\n'),
        ([[0, 1], [2], [3]], [range(4)], (),
         f'\n{CORES}pus = ["0", "1"]\n\n{CORES}pus = ["2,3"]\n'),
        ([[0, 1], [2], [3]], [[0, 1, 2]], (),
         f'\n{CORES}pus = ["0", "1"]\n\n{CORES}pus = ["2"]\n'
         f'\n{CORES}pus = ["3"]\nl3_groups = 0\n'),
        ([[0, 1], [2], [3]], [[3]], (),
         f'\n{CORES}pus = ["0", "1"]\nl3_groups = 0\n\n{CORES}pus = ["2"]\nl3_groups = 0\n'
         f'\n{CORES}pus = ["3"]\nl3_groups = 1\n'),
    ],
)  # fmt: skip
def test_cores_of_a_numa_node(
    cores: Sequence[Sequence[int]], l3s: Sequence[Sequence[int]], kinds: tuple[HwlocCoreKind, ...],
    lines: str,
) -> None:  # fmt: skip
    one = export(cores, [ONE], l3s=tuple(map(part, l3s)), core_kinds=kinds)
    assert nodes_text(one) == f"[[numa_node]]\npackage = 0\nmemory_mb = 1000\n{lines}"


def test_numa_nodes_of_one_kind_of_cores_each_tell_the_kind() -> None:
    halves = ([0, 1], [2, 3])
    one = export(
        SINGLES, [node(n, pus, 0) for n, pus in enumerate(halves)],
        l3s=tuple(map(part, halves)), core_kinds=KINDS,
    )  # fmt: skip
    assert nodes_text(one) == "\n".join(
        f'[[numa_node]]\npackage = 0\n\n{CORES}kind = "{kind}"\npus = ["{pus}"]\nl3_groups = 1\n'
        for kind, pus in (("performance", "0,1"), ("efficiency", "2,3"))
    )


def test_unlike_cores_may_share_one_l3_beside_others_without() -> None:
    one = export([[0, 1], [2], [3, 4], [5]], [node(0, range(6))], l3s=(part([0, 1, 2]),))
    assert nodes_text(one) == (
        "[[numa_node]]\npackage = 0\nmemory_mb = 1000\n"
        f'\n{CORES}pus = ["0", "1"]\n\n{CORES}pus = ["2"]\n'
        f'\n{CORES}pus = ["3", "4"]\nl3_groups = 0\n\n{CORES}pus = ["5"]\nl3_groups = 0\n'
    )


def test_cores_of_a_second_package_name_it() -> None:
    one = export(SINGLES, [ONE], packages=(part([0, 1]), part([2, 3])), l3s=(part(range(4)),))
    assert nodes_text(one) == (
        "[[numa_node]]\npackage = 0\nmemory_mb = 1000\n"
        f'\n{CORES}pus = ["0,1"]\n\n{CORES}package = 1\npus = ["2,3"]\n'
    )


def test_the_core_of_the_first_pu_comes_first_with_its_l3() -> None:
    one = export(
        [[6], [5], [4], [3], [2], [1]], [node(0, range(1, 7))],
        l3s=(part([6, 5]), part([4, 1, 2]), part([3])),
    )  # fmt: skip
    # 1, then what shares its L3, then the others in their order; numbered from 0 on.
    lists = [line for line in text_of(one).splitlines() if line.startswith("pus")]
    assert lists == ['pus = ["0,3,1"]', 'pus = ["5,4"]', 'pus = ["2"]']


@pytest.mark.parametrize(
    ("mib", "side_mib", "lines"),
    [
        ([0, 0, 0], 0, ["", "", ""]),
        ([1, 2, 3], 1,
         ["memory_mb = 1|memory_side_cache_mb = 1", "memory_mb = 2", "memory_mb = 3"]),
        ([0.99, 1, 0], 0.99, ["memory_mb = 0", "memory_mb = 1", ""]),
        ([0.99, 0.5, 0], 0, ["", "", ""]),
        ([1.99, 1, 0], 1.5,
         ["memory_mb = 1|memory_side_cache_mb = 1", "memory_mb = 1", ""]),
    ],
)  # fmt: skip
def test_sizes_of_memory_are_in_whole_mib(
    mib: Sequence[float], side_mib: float, lines: Sequence[str]
) -> None:
    """The third one is memory only: without a size it is not told to have none."""
    one = export(
        SINGLES,
        [
            node(0, [0, 1], mib[0], side_cache_bytes=int(side_mib * MIB)),
            node(1, [2, 3], mib[1]),
            node(2, [2, 3], mib[2]),
        ],
    )
    found = [
        "|".join(line for line in part.splitlines() if line.startswith("memory"))
        for part in text_of(one).split("[[numa_node]]")[1:]
    ]
    assert found == lines


@pytest.mark.parametrize(
    ("kinds", "told"),
    [
        (("", "HBM"), [None, "HBM"]), (("DDR", "HBM"), ["DDR", "HBM"]),
        (("DDR", "DDR"), [None, None]), (("", ""), [None, None]),
    ],
)  # fmt: skip
def test_kinds_of_memory_are_told_where_there_are_several(
    kinds: Sequence[str], told: Sequence[str | None]
) -> None:
    one = export(SINGLES, [node(n, range(4), kind=kind) for n, kind in enumerate(kinds)])
    found = parse_machine(text_of(one), Path("node.toml")).numa_nodes
    assert [each.memory_kind or None for each in found] == told


@pytest.mark.parametrize(
    ("sizes", "kib"),
    [([1024], 1), ([1023], None), ([3072, 3072], 3), ([2048, 1024], None), ([], 0)],
)
def test_the_size_of_an_l3_is_told_where_all_are_alike(
    sizes: Sequence[int], kib: int | None
) -> None:
    l3s = tuple(part([2 * n, 2 * n + 1], size) for n, size in enumerate(sizes))
    caches = parse_machine(text_of(export(SINGLES, [ONE], l3s=l3s)), Path("node.toml")).caches
    assert [figure.values for figure in caches] == ([(kib,)] if kib else [])


@pytest.mark.parametrize(
    ("name", "table", "unit", "access"),
    [
        ("Bandwidth", "bandwidth", "MiB/s", "read and write"),
        ("ReadBandwidth", "bandwidth", "MiB/s", "read"),
        ("WriteBandwidth", "bandwidth", "MiB/s", "write"),
        ("Latency", "latency", "ns", "read and write"),
        ("ReadLatency", "latency", "ns", "read"),
        ("WriteLatency", "latency", "ns", "write"),
    ],
)
def test_what_a_system_announces(name: str, table: str, unit: str, access: str) -> None:
    one = export(SINGLES, [ONE], announced=(Announced(name, {0: 1}),))
    what = f"as the system announces it, {access}, NUMA node 0 from the nearest PUs"
    assert text_of(one).endswith(
        f'\n[[{table}]]\nwhat = "{what}"\nvalue = [1]\nunit = "{unit}"\nsource = "here"\n'
    )


@pytest.mark.parametrize(
    ("model", "title"),
    [
        ("Intel(R) Xeon(R) CPU E5-2650 v4 @ 2.20GHz", "Intel Xeon E5-2650 v4"),
        ("AMD EPYC 7763 64-Core Processor", "AMD EPYC 7763"),
        ("intel(r) core(tm) i7 cpu", "intel core i7"),
        ("CPUs of 8-Cores", "CPUs of 8-Cores"),
        ("Neoverse-N1", "Neoverse-N1"),
        ("CPU", "imported from hwloc"),
        (" ", "imported from hwloc"),
    ],
)
def test_a_title_is_what_a_processors_name_has_of_its_own(model: str, title: str) -> None:
    one = export(SINGLES, [ONE], infos={"CPUModel": model})
    assert f'\ntitle = "{title}"\n' in text_of(one)


def test_a_text_has_letters_as_they_are() -> None:
    one = machine_text(export(SINGLES, [ONE]), "node", 'é "\U0001f5a5" \x7f\\', "node.xml")
    assert 'source = "é \\"\U0001f5a5\\" \\u007f\\\\"\n' in one


@pytest.mark.parametrize(
    ("told", "line"),
    [
        ("x86_64", ""), ("AMD64", ""), ("i386", ""), ("i686", ""), ("ARM64", "aarch64"),
        ("aarch64", "aarch64"), ("ppc64le", "ppc64le"), ("riscv64", "riscv64"),
    ],
)  # fmt: skip
def test_instruction_sets_have_several_names(told: str, line: str) -> None:
    text = text_of(export(SINGLES, [ONE], infos={"Architecture": told}))
    assert ("architecture" in text) == bool(line) and "notes" not in text
    assert f'source = "here"\narchitecture = "{line}"\n' in text or not line


# ---- distances ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("numbers", "rows", "expected"),
    [
        ((0, 1), ((10, 11), (254, 10)), ((10, 11), (254, 10))),
        ((1, 0), ((10, 11), (254, 10)), ((10, 254), (11, 10))),
        ((0, 1), ((10, 10), (11, 10)), None),
        ((0, 1), ((10, 9), (11, 10)), None),
        ((0, 1), ((10, 255), (11, 10)), None),
        ((0, 1), ((10, 11), (11, 11)), None),
        ((0, 2), ((10, 11), (11, 10)), None),
        ((0, None), ((10, 11), (11, 10)), None),
        ((0, 1, 1), ((10, 11, 12), (11, 10, 12), (11, 12, 10)), None),
        ((0, 1, 2), ((10, 11, 12), (11, 10, 12), (11, 12, 10)), None),
        ((0,), ((10,),), None),
    ],
)
def test_distances_are_taken_where_linux_would(
    numbers: tuple[int | None, ...], rows: tuple[tuple[int, ...], ...], expected: object
) -> None:
    nodes = [node(0, [0, 1]), node(1, [2, 3])]
    one = export(SINGLES, nodes, distances=Distances(numbers, rows))
    found = parse_machine(text_of(one), Path("node.toml"))
    assert found.distances == expected
    assert [note for note in found.notes if "distances" in note] == (
        [] if expected else ["The export gives no distances that Linux would take."]
    )
