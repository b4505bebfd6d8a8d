"""What each figure draws, whole: positions, sizes, colours and short texts, on evidence of which
one can see by eye what has to be there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from support import invented, portraits
from support.drawn import of_figure
from support.evidence_parts import (
    answered,
    grouped,
    line_writers,
    modelled_pair,
    placed,
    roof,
    sat,
    with_memory,
)
from support.golden_texts import check_text
from support.pages import texts

from numalab.evidence.kinds import PLACEMENT
from numalab.evidence.read_record import parse
from numalab.evidence.record import CpuTime, Evidence
from numalab.explore.intervals import MedianInterval
from numalab.installation import find_installation
from numalab.machines.gallery import gallery_folder, load_gallery
from numalab.machines.topology import topology_of_machine
from numalab.portrait.plan import portrait_plan
from numalab.portrait.record import Portrait
from numalab.portrait.values import Occasion, portrait_of
from numalab.reports import figures
from numalab.reports.figures import portrait as portrait_figures
from numalab.reports.figures.boxes import lay_out, shape_of
from numalab.reports.figures.canvas import broken
from numalab.reports.figures.crossing import crossing_figure
from numalab.reports.figures.share_cells import draw_shares
from numalab.reports.figures.touch import MIXED, cells

GALLERY = load_gallery(gallery_folder(find_installation("gnu")))
ONE, TWO, EIGHT = invented.ONE_NODE, invented.TWO_NODES, invented.EIGHT_NODES
HERE = parse(invented.evidence(TWO))
LONG = "a label that takes more than a line above its part of the paper, which breaks it"
THERE = replace(HERE, is_virtual=True)


# ---- topology ----------------------------------------------------------------------------


def test_how_many_go_into_a_row_on_each_machine() -> None:
    """Of the gallery, on paper of three widths: packages, NUMA nodes, groups and cores in a row,
    and how large it all is."""
    lines = []
    for name, machine in GALLERY.items():
        for width in (3.6, 7.8, 30.0):
            it = lay_out(shape_of(machine), width)
            across = (it.packages_across, it.nodes_across, it.groups_across, it.cores_across)
            lines.append(f"{name} {width}: {across} {it.width:.3f} x {it.height:.3f}")
    check_text(lines)


def node_with_distances() -> Figure:
    """Rows of distances are in another order than NUMA nodes are."""
    nodes = [{"numa_node": n, "memory_bytes": (n + 1) * 2**30} for n in (1, 0)]
    node = TWO.describe() | {"numa_node_list": nodes, "distances": [[10, 21], [32, 11]]}
    return figures.topology_figure(node)


def node_without_distances() -> Figure:
    nodes = [{"numa_node": 0, "memory_bytes": 2**30}, {"numa_node": 1, "memory_bytes": None}]
    return figures.topology_figure(TWO.describe() | {"numa_node_list": nodes}, width_in=6.0)


def node_in_two_packages() -> Figure:
    """Of which the second is not known; its memory is told once, by the larger of two sums."""
    pus = [{"pu": n, "core": n, "package": -(n // 2), "numa_node": 0} for n in range(4)]
    nodes = [{"numa_node": 0, "memory_bytes": 3 << 30}]
    node = {"name": "odd", "pu_list": pus, "numa_node_list": nodes, "memory_bytes": 5 << 30}
    return figures.topology_figure(node, width_in=3.0)


def node_that_tells_little() -> Figure:
    """Neither its memory nor which row of the distances is whose."""
    return figures.topology_figure(
        {key: value for key, value in TWO.describe().items() if key != "memory_bytes"}
        | {"distances": [[10, 20], [30, 10]]}
    )


def of_topology() -> Figure:
    topology = topology_of_machine(GALLERY["noctua2"].scaled(2))
    return figures.topology_figure(topology, title="noctua2")


# ---- threads -----------------------------------------------------------------------------


def crowded() -> Figure:
    """Four threads on a PU, two on another, one on a core of two PUs, one anywhere, one nowhere;
    seen where nobody is bound."""
    node = TWO.describe()
    for entry in node["pu_list"]:
        entry["core"] = entry["pu"] // 4 * 2 + entry["pu"] % 2
    seats = [(0,), (0,), (0,), (0,), (1,), (1,), (4, 6), tuple(range(8)), (77,)]
    return figures.thread_figure([sat("one", node, seats, {7: [3, 7], 6: [4]})])


def side_by_side() -> Figure:
    two = TWO.describe()
    return figures.thread_figure([
        sat("yours", two, [(0, 2, 4, 6), (1,)]), sat("solution", two, [(0,), (2,)]),
        sat("ranks", ONE.describe(), [(0,), (1,)], noun="rank"),
    ])  # fmt: skip


# ---- pages, work, memory -----------------------------------------------------------------


def pages_of_threads() -> Figure:
    record = invented.evidence(
        ONE,
        writer=lambda owner, page: -1 if page < 8 else page % 2 if page < 40 else owner,
        users=lambda owner, page: [0, 1] if page < 10 else [owner],
    )
    return figures.touch_figure([("", parse(record))], arrays=["a"])


def pages_of_nodes() -> Figure:
    record = invented.evidence(TWO, home=lambda owner, page: 1 if page < 100 else owner // 4)
    invented.sample(record, 3)
    yours = parse(record)
    two = [("solution", HERE), (LONG, yours)]
    return figures.touch_figure(two, "hydra", arrays=["a", "c"], with_homes=True, width_in=6.0)


def pages_of_cores(cores: int) -> Figure:
    """As many threads as there are colours, and one more; with several NUMA nodes beside."""
    machine = invented.Machine(packages=1, nodes=1, cores=cores, in_turn=False)
    seen = [("x", parse(invented.evidence(machine)))]
    return figures.touch_figure(seen + ([("y", HERE)] if cores == 1 else []), arrays=["a"])


def works(*cpu_time: CpuTime) -> Evidence:
    (look,) = HERE.runs_of(PLACEMENT)
    return HERE.having(PLACEMENT, [replace(look, cpu_time=cpu_time)])


def work_of_few() -> Figure:
    """The second waits for more than a percent of its time; the third has never started."""
    yours = works(CpuTime(0.4, 0.0, 0.0, 0.4, 0.4), CpuTime(0.1, 0.3, 0.1, 0.0, 0.1))
    longer = works(*[CpuTime(0.2, 0.0, 0.0, 0.2, 0.2)] * 3)
    seen = [("yours", yours), (LONG, longer), ("late", longer)]
    return figures.work_figure(seen, width_in=7.0)


def work_of_many() -> Figure:
    many = works(*(CpuTime(0.01 * t, 0.0, 0.0, 0.3 if t == 24 else 0.0, 0.3) for t in range(25)))
    return figures.work_figure([("", many)])


# ---- times -------------------------------------------------------------------------------


def rated(threads: int) -> Figure:
    curve = {n: MedianInterval(10.0 * n, 9.0 * n, 12.0 * n, 0.95) for n in (1, 2, threads)}
    return figures.rates_figure({"close": curve, "spread": {1: curve[1]}, "x": {}}, "Rates")


def messages(is_predicted: bool, files: int = 2) -> Figure:
    record = invented.evidence(TWO)
    names = ("near.toml", "far.toml")[:files]
    record["runs"] += [invented.latency("placement", name, 0.5 + len(name)) for name in names]
    crashed = invented.latency("placement", "x.toml")
    record["runs"].append(crashed | {"outcome": {"status": "crashed", "printed_bytes": 0}})
    published = GALLERY["hydra"].latencies
    shown = {"is_predicted": True} if is_predicted else {}
    return figures.latency_figure(parse(record), published, **shown)


# ---- a node's portrait -------------------------------------------------------------------


@pytest.fixture(scope="module")
def beside() -> Portrait:
    """Of a node of four cores with memory beside it."""
    node = portraits.memory_only()
    asked = portrait_plan(node, 32 * portraits.GIB)
    occasion = Occasion(
        "made up", "0", node, portraits.ABOUT, portraits.BUILD, False, False
    )  # fmt: skip
    return portrait_of(asked, portraits.samples_of(asked), occasion)


@pytest.mark.parametrize("name", ["latency_curves", "tlb_curves", "stream_rates"])
def test_portraits_draw_what_was_measured(beside: Portrait, name: str) -> None:
    check_text(of_figure(getattr(portrait_figures, name)(beside)))


@pytest.mark.parametrize("nodes", [2, 16, 17])
def test_a_matrix_is_darker_where_more_is(nodes: int) -> None:
    values = {(row, column): 10.0 + 5 * column + row for row in (0, 1) for column in range(nodes)}
    check_text(of_figure(portrait_figures.matrix(values, [0, 1], list(range(nodes)), "ns")))


def test_a_line_has_room_for_twelve_letters() -> None:
    assert broken("four five nine", 0.1, 13) == ["four five", "nine"]
    assert broken("four five nine", 2.0, 13) == ["four five nine"]
    assert broken("", 2.0, 13) == [""]


def test_values_that_are_alike_are_as_light() -> None:
    figure = portrait_figures.matrix({(0, 0): 3.0, (0, 1): 3.0}, [0], [0, 1], "ns")
    assert {to_hex(patch.get_facecolor()) for patch in figure.axes[0].patches} == {"#fafaff"}


def test_a_share_is_written_where_there_is_some_and_white_on_dark() -> None:
    axes = Figure().subplots()
    draw_shares(axes, ["x"], [0, 1, 2, 3], [[0.0, 0.001, 0.55, 0.551]])
    assert [(text.get_text(), text.get_color()) for text in axes.texts] == [
        ("0 %", "black"), ("55 %", "black"), ("55 %", "white"),
    ]  # fmt: skip


def test_stripes_that_are_two_cells_wide_can_be_seen() -> None:
    """Six cells of nine pages: one and a half each."""
    assert cells([0] * 5 + [1] * 3 + [2], 6) == [0, 0, 0, 0, 1, MIXED]


def test_what_fits_exactly_is_laid_out_so() -> None:
    shape = shape_of(GALLERY["hydra"])
    found = lay_out(shape, 7.8)
    assert lay_out(shape, found.width) == found
    assert lay_out(shape, found.width - 0.001) != found


# ---- all of them -------------------------------------------------------------------------

FIGURES: dict[str, Callable[[], Figure]] = {
    "topology_groups": lambda: figures.topology_figure(GALLERY["nebula"].scaled(2)),
    "topology_memory_only": lambda: figures.topology_figure(GALLERY["aurora"].scaled(4)),
    "topology_narrow": lambda: figures.topology_figure(
        GALLERY["janus"], width_in=4.8, title="a title that does not fit a line of that paper"
    ),
    "topology_bare": lambda: figures.topology_figure(GALLERY["hydra"].scaled(2), distances=False),
    "topology_side_cache": lambda: figures.topology_figure(GALLERY["laptop"]),
    "topology_node": node_with_distances,
    "topology_node_silent": node_without_distances,
    "topology_of_topology": of_topology,
    "threads_crowded": crowded,
    "threads_side_by_side": side_by_side,
    "threads_across": lambda: figures.thread_figure(
        [sat(str(n), ONE.describe(), [(0, 1)[: n + 1]]) for n in range(4)], width_in=8.0
    ),
    "touch_threads": pages_of_threads,
    "touch_nodes": pages_of_nodes,
    "touch_eight": lambda: pages_of_cores(8),
    "touch_nine": lambda: pages_of_cores(9),
    "touch_one_and_nodes": lambda: pages_of_cores(1),
    "topology_two_packages": node_in_two_packages,
    "topology_little": node_that_tells_little,
    "work_few": work_of_few,
    "work_many": work_of_many,
    "rates_few": lambda: rated(8),
    "rates_many": lambda: rated(9),
    "messages_hidden": lambda: messages(False, 1),
    "messages_shown": lambda: messages(True),
    "messages_published": lambda: messages(True, 0),
    "crossing": lambda: crossing_figure({0: 100.0, 1: 105.0, 2**20: 10_000.0}, 1000),
    "answers": lambda: figures.answers_figure(
        [("", answered(HERE)), (LONG, answered(HERE, 3))], part="decide"
    ),
    "answers_of_any": lambda: figures.answers_figure([("", answered(HERE))]),
    "groups": lambda: figures.groups_figure([("", grouped(HERE)), (LONG, grouped(THERE))]),
    "homes": lambda: figures.homes_figure([("", placed(HERE)), (LONG, placed(THERE))]),
    "homes_of_file": lambda: figures.homes_figure([("", placed(HERE))], file="own"),
    "lines": lambda: figures.lines_figure(
        [("", line_writers(HERE)), (LONG, line_writers(HERE, 2))]
    ),
    "memory": lambda: figures.memory_figure(with_memory(HERE)),
    "modelled_two_nodes": lambda: figures.modelled_figure(modelled_pair(), width_in=4.8),
    "modelled_five_nodes": lambda: figures.modelled_figure(modelled_pair(4)),
    "roofline": lambda: figures.roofline_figure(roof()),
    "roofline_unbounded": lambda: figures.roofline_figure(roof(is_bounded=False)),
}  # fmt: skip


@pytest.mark.parametrize("cores", [8, 9, 1])
def test_colours_are_of_threads_or_of_numa_nodes(cores: int) -> None:
    """With more numbers than there are colours only in words."""
    figure = pages_of_cores(cores)
    told = [text for text in texts(figure) if text.startswith("Colour and number")]
    check_text(told)
    assert bool(figure.legends) == (cores != 9)
    assert not figure.axes[0].title.get_parse_math(), "a name with dollar signs is a name"


def test_the_nodes_own_total_counts_where_it_is_more() -> None:
    node = ONE.describe() | {"numa_node_list": [{"numa_node": 0, "memory_bytes": 3 << 30}]}
    for total, shown in ((5 << 30, 5120), (2 << 30, 3072), (0, 3072)):
        assert [one.memory_mb for one in shape_of(node | {"memory_bytes": total}).nodes] == [shown]
    silent = {key: value for key, value in node.items() if key != "memory_bytes"}
    assert [one.memory_mb for one in shape_of(silent).nodes] == [3072]
    two = TWO.describe() | {
        "numa_node_list": [{"numa_node": n, "memory_bytes": 1 << 30} for n in (0, 1)]
    }
    assert [one.memory_mb for one in shape_of(two).nodes] == [1024, 1024]


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_draws_what_it_is_given(name: str) -> None:
    check_text(of_figure(FIGURES[name]()))
