"""Pictures of machines in a terminal, line by line, and what is said of machines in words."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from numalab.installation import find_installation
from numalab.machines import picture
from numalab.machines.gallery import gallery_folder
from numalab.machines.machine import Core, Machine, NumaNode, Span
from numalab.machines.machine_file import load_machine, parse_machine
from numalab.palette import THREAD_COLOURS

FILES = Path(__file__).parent / "files"
GALLERY = gallery_folder(find_installation("gnu"))


def made(*nodes: str) -> Machine:
    """nodes: what stands in each [[numa_node]]."""
    text = 'name = "made"\ntitle = "Made"\nsource = "me"\n'
    return parse_machine(text + "".join(f"[[numa_node]]\n{n}\n" for n in nodes), Path("made.toml"))


def drawn(machine: Machine, width: int) -> list[str]:
    return [line.plain for line in picture.terminal(machine, width)]


# A node with an L3 of two kinds of cores and one that has none, one of memory only, one with a
# cache before its memory, and one whose memory is unknown.
ODD = made(
    'package = 0\nmemory_mb = 4096\nmemory_kind = "DDR5"\n'
    '[[numa_node.cores]]\nkind = "performance"\npus = ["0,2", "1,3"]\n'
    '[[numa_node.cores]]\nkind = "efficiency"\npus = ["4-6"]\n'
    '[[numa_node.cores]]\nkind = "low power"\npus = ["7,8"]\nl3_groups = 0',
    'package = 1\nmemory_mb = 65536\nmemory_kind = "CXL"\npus = []',
    'package = 0\nmemory_mb = 4096\nmemory_kind = "DDR5"\nmemory_side_cache_mb = 512\n'
    'pus = ["9-12"]\nl3_groups = 2',
    'package = 1\nmemory_kind = "DDR5"\npus = ["13-15"]',
)


def test_a_picture_has_all_that_is_told_of_a_machine() -> None:
    assert drawn(ODD, 65) == [
        "┌ Package 0 ───────────────────┐ ┌ Package 1 ───────────────────┐",
        "│ ┌ NUMA node 0 4096 MiB ────┐ │ │ ┌ NUMA node 1 65536 MiB ───┐ │",
        "│ │ DDR5                     │ │ │ │ CXL                      │ │",
        "│ │ L3: performance: 0+1 2+3 │ │ │ │ memory only              │ │",
        "│ │     efficiency: 4 5 6    │ │ │ └──────────────────────────┘ │",
        "│ │ no L3: low power: 7 8    │ │ │ ┌ NUMA node 3 ─────────────┐ │",
        "│ └──────────────────────────┘ │ │ │ DDR5                     │ │",
        "│ ┌ NUMA node 2 4096 MiB ────┐ │ │ │ 13 14 15                 │ │",
        "│ │ DDR5                     │ │ │ └──────────────────────────┘ │",
        "│ │ cache 512 MiB            │ │ │                              │",
        "│ │ L3: 9 10                 │ │ │                              │",
        "│ │ L3: 11 12                │ │ │                              │",
        "│ └──────────────────────────┘ │ │                              │",
        "└──────────────────────────────┘ └──────────────────────────────┘",
        "Numbers are PUs; + joins the threads of a core; L3: cores that",
        "share one; cache: of the memory's side",
    ]


def test_packages_stand_side_by_side_as_far_as_there_is_room() -> None:
    machine = load_machine(GALLERY / "westmere-ex.toml").scaled(3)
    assert drawn(machine, 60) == [
        "┌ Package 0 ────┐ ┌ Package 1 ────┐ ┌ Package 2 ────┐",
        "│ ┌ node 0 ───┐ │ │ ┌ node 1 ───┐ │ │ ┌ node 2 ───┐ │",
        "│ │ 32209 MiB │ │ │ │ 32320 MiB │ │ │ │ 32320 MiB │ │",
        "│ │ 0+12 4+16 │ │ │ │ 2+14 6+18 │ │ │ │ 1+13 5+17 │ │",
        "│ │ 8+20      │ │ │ │ 10+22     │ │ │ │ 9+21      │ │",
        "│ └───────────┘ │ │ └───────────┘ │ │ └───────────┘ │",
        "└───────────────┘ └───────────────┘ └───────────────┘",
        "┌ Package 3 ────┐",
        "│ ┌ node 3 ───┐ │",
        "│ │ 32320 MiB │ │",
        "│ │ 3+15 7+19 │ │",
        "│ │ 11+23     │ │",
        "│ └───────────┘ │",
        "└───────────────┘",
        "Numbers are PUs; + joins the threads of a core",
    ]


@pytest.mark.parametrize(("width", "across"), [(200, 4), (71, 4), (70, 3), (53, 3), (52, 2)])
def test_at_most_four_packages_stand_side_by_side(width: int, across: int) -> None:
    """Here each takes 17 columns or more, and one is left between two."""
    machine = load_machine(GALLERY / "uv1000.toml").scaled(2)
    lines = drawn(machine, width)
    tops = [line for line in lines if "Package" in line]
    assert [line.count("Package") for line in tops][:-1] == [across] * (-(-16 // across) - 1)
    assert " ".join(lines).count("Package") == 16
    assert max(map(len, lines)) <= width


@pytest.mark.parametrize(
    ("width", "top", "next_line"),
    [
        (57, "│ ┌ NUMA node 0 4096 MiB ┐ │", "│ │ 0 1                  │ │"),
        (56, "│ ┌ node 0 4096 MiB ┐ │", "│ │ 0 1             │ │"),
        (47, "│ ┌ node 0 4096 MiB ┐ │", "│ │ 0 1             │ │"),
        (46, "│ ┌ node 0 ──┐ │", "│ │ 4096 MiB │ │"),
    ],
)
def test_memory_stands_in_the_border_where_there_is_room(
    width: int, top: str, next_line: str
) -> None:
    machine = load_machine(FILES / "crossing.toml")
    lines = drawn(machine, width)
    assert lines[1].startswith(top) and lines[2].startswith(next_line)
    assert max(map(len, lines)) <= width


@pytest.mark.parametrize(
    ("width", "title"), [(43, "NUMA node 0"), (39, "NUMA node 0"), (38, "node 0 ┐ │")]
)
def test_the_name_of_a_numa_node_is_short_where_there_is_no_room(width: int, title: str) -> None:
    machine = made('package = 0\npus = ["0"]', 'package = 1\npus = ["1"]')
    assert drawn(machine, width)[1].startswith(f"│ ┌ {title}")
    assert drawn(machine, width)[0].count("Package") == 2


def test_the_memory_of_a_node_in_two_packages_stands_in_the_first() -> None:
    machine = load_machine(FILES / "crossing.toml")
    assert drawn(machine, 80) == [
        "┌ Package 0 ───────────────┐ ┌ Package 1 ───────────────┐",
        "│ ┌ NUMA node 0 4096 MiB ┐ │ │ ┌ NUMA node 0 ─────────┐ │",
        "│ │ 0 1                  │ │ │ │ 4 5                  │ │",
        "│ └──────────────────────┘ │ │ └──────────────────────┘ │",
        "│ ┌ NUMA node 1 4096 MiB ┐ │ │ ┌ NUMA node 1 ─────────┐ │",
        "│ │ 2 3                  │ │ │ │ 6 7                  │ │",
        "│ └──────────────────────┘ │ │ └──────────────────────┘ │",
        "└──────────────────────────┘ └──────────────────────────┘",
        "Numbers are PUs; memory of a node in several packages stands in the first",
    ]


@pytest.mark.parametrize(("pus", "rows"), [(69, 6), (70, 1)])
def test_more_than_six_rows_of_pus_become_ranges(pus: int, rows: int) -> None:
    """In 32 columns: ten numbers of one digit and four of two, then eleven of two a row."""
    lines = drawn(made(f'package = 0\npus = ["0-{pus - 1}"]'), 40)
    assert len(lines) == 4 + rows + 1
    assert [max(map(len, lines[:-1])), lines[-1]] == (
        [40, "Numbers are PUs"] if rows > 1 else [19, "Numbers are PUs, 0-6:2 is 0,2,4,6"]
    )
    assert lines[2].startswith("│ │ 0 1 2 3" if rows > 1 else "│ │ 0-69")


def test_one_numa_node_with_many_pus_makes_ranges_in_all() -> None:
    lines = drawn(made('package = 0\npus = ["0-2"]', 'package = 0\npus = ["3-72"]'), 40)
    assert [lines[2], lines[5]] == ["│ │ 0-2         │ │", "│ │ 3-72        │ │"]


def test_packages_with_ranges_stand_side_by_side() -> None:
    lines = drawn(made('package = 0\npus = ["0-199"]', 'package = 1\npus = ["200-399"]'), 80)
    assert lines[2] == "│ │ 0-199       │ │ │ │ 200-399     │ │"


def test_each_l3_may_have_a_row_of_its_own() -> None:
    eight = made('package = 0\npus = ["0-15"]\nl3_groups = 8')
    assert drawn(eight, 40) == [
        "┌ Package 0 ──────┐",
        "│ ┌ NUMA node 0 ┐ │",
        *(f"│ │ {f'L3: {pu} {pu + 1}':11} │ │" for pu in range(0, 16, 2)),
        "│ └─────────────┘ │",
        "└─────────────────┘",
        "Numbers are PUs; L3: cores that share",
        "one",
    ]
    wide = made('package = 0\npus = ["0-79"]\nl3_groups = 8')  # of ten cores, which take two rows
    assert drawn(wide, 40)[2:4] == ["│ │ L3: 0-9     │ │", "│ │ L3: 10-19   │ │"]


def test_ranges_break_at_commas_and_threads_are_joined() -> None:
    """Numbers without a step, twice."""
    first = [pu for pu in range(112) if bin(pu).count("1") % 2 == 0]
    lists = [",".join(str(2 * pu + thread) for pu in first) for thread in (0, 1)]
    rest = sorted(set(range(224)) - {int(pu) for text in lists for pu in text.split(",")})
    machine = made(
        f'package = 0\npus = ["{lists[0]}", "{lists[1]}"]',
        f'package = 1\npus = ["{",".join(map(str, rest))}"]',
    )
    lines = drawn(machine, 40)
    rows = [line[4:36] for line in lines if line.startswith("│ │ ")]
    text = " ".join(" ".join(rows).split())
    assert [line.count("Package") for line in lines if "Package" in line] == [1, 1]
    assert {len(line) for line in lines if line[0] in "┌│└"} == {40}
    assert text.startswith("0, 6, 10, 12, 18, 20, ")
    assert ", 212, 216, 222 + 1, 7, 11, " in text and " 217, 223 2-5, 8, " in text
    assert lines[-2] == "Numbers are PUs, 0-6:2 is 0,2,4,6; +"


def test_a_legend_explains_what_is_there() -> None:
    both = made('package = 0\npus = ["0-99", "100-199"]')
    assert drawn(both, 80)[2] == "│ │ 0-99 + 100-199 │ │"
    assert drawn(both, 80)[-1] == (
        "Numbers are PUs, 0-6:2 is 0,2,4,6; + joins the threads of each core"
    )
    side = made('package = 0\nmemory_side_cache_mb = 8\npus = ["0"]')
    assert drawn(side, 80)[-1] == "Numbers are PUs; cache: of the memory's side"


def test_each_numa_node_has_its_colour_and_no_line_wraps() -> None:
    machine = load_machine(FILES / "memoryless.toml")
    lines = picture.terminal(machine, 80)
    assert all(line.no_wrap for line in lines)
    assert lines[-1].style == "dim" and {lines[0].spans[0].style} == {"bold"}
    styles = {str(span.style).removeprefix("bold ") for line in lines for span in line.spans}
    assert len(styles - {"bold", "default"}) == 3
    first = str(THREAD_COLOURS[0])
    assert any(str(span.style) == f"bold {first}" for span in lines[1].spans)
    # After the last colour comes the first one again.
    count = len(THREAD_COLOURS)
    many = made(*(f'package = 0\npus = ["{pu}"]' for pu in range(count + 1)))
    tops = [line for line in picture.terminal(many, 80) if "NUMA node" in line.plain]
    told = [[str(span.style) for span in line.spans] for line in tops]
    assert told[count] == told[0] and len({str(each) for each in told}) == count


@pytest.mark.parametrize(
    ("node", "across"),
    [
        (f'memory_kind = "{"k" * 18}"\npus = ["0"]', 3),
        (f'memory_kind = "{"k" * 19}"\npus = ["0"]', 2),
        (f'[[numa_node.cores]]\nkind = "{"k" * 17}"\npus = ["0"]', 3),
        (f'[[numa_node.cores]]\nkind = "{"k" * 18}"\npus = ["0"]', 2),
        ('memory_side_cache_mb = 12345678\npus = ["0"]', 3),  # "cache 12345678 MiB"
        ('memory_side_cache_mb = 123456789\npus = ["0"]', 2),
        ('memory_mb = 12345678901234\npus = ["0"]', 3),
        ('memory_mb = 123456789012345\npus = ["0"]', 2),
        ('memory_mb = 1\npus = ["0"]', 4),
    ],
)
def test_boxes_are_as_wide_as_their_widest_line(node: str, across: int) -> None:
    """Three in 80 columns have 18 each inside."""
    others = (f'package = {package}\npus = ["{package}"]' for package in range(1, 5))
    lines = drawn(made(f"package = 0\n{node}", *others), 80)
    assert lines[0].count("Package") == across and max(map(len, lines)) <= 80


@pytest.mark.parametrize(
    ("length", "rows"),
    [
        (20, [f"no L3: {'k' * 20}: 0+1", f"{' ' * 29}2+3"]),
        (21, [f"no L3: {'k' * 21}:", "  0+1 2+3"]),
        (24, [f"no L3: {'k' * 24}:", "  0+1 2+3"]),
    ],
)
def test_a_kind_that_leaves_no_room_has_a_line_of_its_own(length: int, rows: list[str]) -> None:
    """In 32 columns, of which a PU and its sibling take three."""
    machine = made(
        f'package = 0\n[[numa_node.cores]]\nkind = "{"k" * length}"\npus = ["0,2", "1,3"]\n'
        "l3_groups = 0"
    )
    lines = drawn(machine, 40)
    assert [line[4:-4].rstrip() for line in lines if line.startswith("│ │ ")] == rows
    assert max(map(len, lines)) <= 40


def test_sizes_of_memory_stand_all_in_borders_or_all_inside() -> None:
    sizes = (5, 1000000)
    machine = made(
        *(f'package = {n}\nmemory_mb = {mb}\npus = ["{n}"]' for n, mb in enumerate(sizes))
    )
    assert drawn(machine, 47)[:4] == [
        "┌ Package 0 ──────┐ ┌ Package 1 ──────┐",
        "│ ┌ node 0 ─────┐ │ │ ┌ node 1 ─────┐ │",
        "│ │ 5 MiB       │ │ │ │ 1000000 MiB │ │",
        "│ │ 0           │ │ │ │ 1           │ │",
    ]


# ---- distances ---------------------------------------------------------------------------


@pytest.mark.parametrize(("count", "widths"), [(18, [18]), (19, [18, 1]), (36, [18, 18])])
def test_distances_come_in_blocks_of_eighteen(count: int, widths: list[int]) -> None:
    lines = picture.distance_table(made(*(f'package = {n}\npus = ["{n}"]' for n in range(count))))
    assert lines[0] == "node distances:" and len(lines) == 1 + len(widths) * (1 + count)
    for block, width in enumerate(widths):
        head, *rows = lines[1 + block * (count + 1) : 1 + (block + 1) * (count + 1)]
        own = range(18 * block, 18 * block + width)
        assert head.split() == ["node", *map(str, own)] and len(head) == 4 + 4 * width
        for number, row in enumerate(rows):
            assert row.split() == [f"{number}:", *("10" if number == n else "20" for n in own)]
            assert len(row) == len(head) <= 80


# ---- in words ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("machine", "words"),
    [
        (made('package = 0\npus = ["0"]'),
         "1 package x 1 NUMA node x 1 core x 1 thread = 1 PU"),
        (made('package = 0\npus = ["0,1", "2,3"]'),
         "1 package x 1 NUMA node x 2 cores x 2 threads = 4 PUs"),
        (made('package = 0\npus = ["0"]', 'package = 0\nmemory_mb = 0\npus = ["1"]'),
         "1 package x 2 NUMA nodes x 1 core x 1 thread = 2 PUs, 1 NUMA node without memory"),
        (made('package = 0\npus = ["0"]', 'package = 0\nmemory_mb = 0\npus = ["1"]',
              'package = 0\nmemory_mb = 0\npus = ["2"]', "package = 0\npus = []",
              "package = 0\npus = []"),
         "1 package x 3 NUMA nodes x 1 core x 1 thread = 3 PUs, 2 NUMA nodes without memory, and "
         "2 NUMA nodes of memory only"),
        (load_machine(FILES / "crossing.toml"),
         "2 packages and 2 NUMA nodes that cross them, with 4 cores x 1 thread = 8 PUs"),
        (made('package = 0\n[[numa_node.cores]]\npus = ["0"]\n'
              '[[numa_node.cores]]\npackage = 1\npus = ["1"]'),
         "2 packages and 1 NUMA node that crosses them, with 2 cores x 1 thread = 2 PUs"),
        (ODD,
         "2 packages x 1-2 NUMA nodes x 3-7 cores x 1-2 threads = 16 PUs, and 1 NUMA node of "
         "memory only"),
    ],
)  # fmt: skip
def test_a_summary_counts_what_there_is(machine: Machine, words: str) -> None:
    assert picture.summary(machine) == words


def test_kinds_of_cores_are_counted() -> None:
    assert picture.kinds_line(ODD) == (
        "2 performance cores: PUs 0-3; 3 efficiency cores: PUs 4-6; 2 low power cores: PUs 7,8; "
        "7 other cores: PUs 9-15"
    )
    one = made(
        'package = 0\n[[numa_node.cores]]\nkind = "fast"\npus = ["0"]\n'
        '[[numa_node.cores]]\nkind = "slow"\npus = ["1", "2"]'
    )
    assert picture.kinds_line(one) == "1 fast core: PU 0; 1 slow core: PUs 1,2"
    alike = made('package = 0\n[[numa_node.cores]]\nkind = "fast"\npus = ["0-3"]')
    assert picture.kinds_line(alike) == ""


@pytest.mark.parametrize(
    ("memory_mb", "kind", "cache_mb", "words"),
    [
        (None, "", None, ""),
        (4096, "", None, "4096 MiB"),
        (0, "", None, "0 MiB"),
        (None, "HBM", None, "HBM"),
        (4096, "DDR4", None, "4096 MiB DDR4"),
        (4096, "DDR4", 16, "4096 MiB DDR4, behind 16 MiB of memory-side cache"),
        (None, "", 16, "memory behind 16 MiB of memory-side cache"),
    ],
)
def test_memory_in_words(
    memory_mb: int | None, kind: str, cache_mb: int | None, words: str
) -> None:
    node = NumaNode(3, 0, memory_mb, ((Core((0,)),),), kind, cache_mb)
    assert picture.memory_words(node) == words
    assert picture.node_label(node) == ("NUMA node 3, " + words if words else "NUMA node 3")


def test_a_heading_says_that_a_machine_is_scaled() -> None:
    assert picture.heading(ODD) == "Made"
    assert picture.heading(ODD.scaled(2)) == "Made (scaled to 2 cores per NUMA node)"


def test_a_description_has_each_core() -> None:
    summary, kinds, rest = picture.description(ODD).split(". ", 2)
    assert [summary, kinds] == [picture.summary(ODD), picture.kinds_line(ODD)]
    assert rest == (
        "NUMA node 0, 4096 MiB DDR5, in package 0: PUs by core, L3 group 0: 0+1 2+3 4 5 6; "
        "without L3: 7 8. NUMA node 1, 65536 MiB CXL, in package 1: memory only. "
        "NUMA node 2, 4096 MiB DDR5, behind 512 MiB of memory-side cache, in package 0: "
        "PUs by core, L3 group 0: 9 10; L3 group 1: 11 12. "
        "NUMA node 3, DDR5, in package 1: PUs by core, L3 group 0: 13 14 15."
    )


def test_a_description_names_all_packages_of_a_numa_node() -> None:
    _, rest = picture.description(load_machine(FILES / "crossing.toml")).split(". ", 1)
    assert rest == (
        "NUMA node 0, 4096 MiB, in packages 0,1: PUs by core, L3 group 0: 0 1 4 5. "
        "NUMA node 1, 4096 MiB, in packages 0,1: PUs by core, L3 group 0: 2 3 6 7."
    )


def test_a_span_is_one_number_or_two() -> None:
    assert [str(Span.enclose([2, 2])), str(Span.enclose([3, 1, 2]))] == ["2", "1-3"]
    assert Span.enclose([3, 1, 2]) == (1, 3)
    assert replace(ODD, numa_nodes=ODD.numa_nodes[:1]).threads_per_core == (1, 2)
