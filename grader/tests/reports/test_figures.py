"""Figures draw what the records say, legibly, on invented evidence and described machines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.text import Text
from msgspec import structs
from support import invented
from support.gallery import drawing_marks
from support.golden_texts import check_text, raises_text
from support.pages import assert_legible, texts
from support.run_values import a_run, an_outcome

from numalab.errors import NothingToDraw
from numalab.evidence.kinds import BINDING, MEMORY, PLACEMENT, RANKS, TRACE
from numalab.evidence.read_record import parse
from numalab.evidence.record import HANDOUT, CpuTime, Evidence
from numalab.evidence.run_formats import (
    BindingRun,
    KernelTable,
    MemoryRun,
    Rank,
    RanksRun,
    ResultsRecord,
    Thread,
)
from numalab.installation import Installation, find_installation
from numalab.judging.judge import judge
from numalab.judging.timing_account import timing_accounts
from numalab.labs.declaration import Lab
from numalab.labs.prediction import PREDICTED
from numalab.machines.gallery import find_machine, gallery_folder, load_gallery
from numalab.machines.machine import Machine
from numalab.machines.topology import topology_of_machine
from numalab.palette import MIXED_COLOUR, THREAD_COLOURS, ink_on, place_colour
from numalab.reports.figures import (
    Sitting,
    latency_figure,
    memory_figure,
    sittings,
    thread_figure,
    timing_figure,
    topology_figure,
    touch_figure,
    work_figure,
)
from numalab.reports.figures.boxes import Box, Layout, lay_out, shape_of
from numalab.reports.figures.touch import (
    ARRAY_GAP_IN,
    MIXED,
    NOBODY,
    SEVERAL,
    cells,
    colour_of,
    strips,
)

GALLERY = load_gallery(gallery_folder(find_installation("gnu")))
OK, RIGHT = an_outcome("ok"), ResultsRecord(checked=1, mismatches=0)


# ---- topology ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "machine",
    [pytest.param(one, id=name, marks=drawing_marks(name)) for name, one in GALLERY.items()],
)
def test_every_pu_node_and_distance_of_a_machine_is_drawn(machine: Machine) -> None:
    figure = topology_figure(machine)
    drawn = texts(figure)
    assert_legible(figure)
    for pu in range(machine.pus):
        assert str(pu) in drawn
    for node in machine.numa_nodes:
        assert f"NUMA node {node.number}" in drawn
        assert f"Package {node.package}" in drawn
    if machine.distances is None:
        assert any("not given" in text for text in drawn) == (len(machine.numa_nodes) > 1)
    elif len(machine.numa_nodes) > 1:
        assert {str(d) for row in machine.distances for d in row} <= set(drawn)
    groups = [group for node in machine.numa_nodes for group in node.core_groups]
    assert drawn.count("L3") == sum(group[0].has_l3 for group in groups)


def inside(inner: Box, outer: Box) -> bool:
    return (
        inner.x >= outer.x - 1e-9
        and inner.y >= outer.y - 1e-9
        and inner.x + inner.width <= outer.x + outer.width + 1e-9
        and inner.y + inner.height <= outer.y + outer.height + 1e-9
    )


def apart(boxes: Sequence[Box]) -> bool:
    return all(
        a.x + a.width <= b.x + 1e-9
        or b.x + b.width <= a.x + 1e-9
        or a.y + a.height <= b.y + 1e-9
        or b.y + b.height <= a.y + 1e-9
        for index, a in enumerate(boxes)
        for b in boxes[:index]
    )


@pytest.mark.parametrize("width", [3.6, 7.8, 12.0])
@pytest.mark.parametrize("machine", GALLERY.values(), ids=GALLERY)
def test_boxes_lie_in_their_boxes_and_do_not_overlap(machine: Machine, width: float) -> None:
    layout: Layout = lay_out(shape_of(machine), width)
    packages = dict(layout.package_boxes())
    nodes = {node.number: (node, box) for node, box in layout.node_boxes()}
    pus = dict(layout.pu_boxes())
    assert set(pus) == set(range(machine.pus))
    for node, box in nodes.values():
        assert inside(box, packages[node.package])
        for pu in node.pus:
            assert inside(pus[pu], box)
    for boxes in (list(packages.values()), [box for _, box in nodes.values()], list(pus.values())):
        assert apart(boxes)
    assert layout.width <= width or layout.packages_across == 1


def test_this_node_is_drawn_from_its_description() -> None:
    node = invented.EIGHT_NODES.describe()
    drawn = texts(topology_figure(node))
    check_text(drawn)
    assert {f"NUMA node {n}" for n in range(8)} <= set(drawn)
    assert "L3" not in drawn  # a node does not tell
    # What was plugged in later may be missing from the one NUMA node's own total.
    one = invented.ONE_NODE.describe() | {
        "memory_bytes": 24 * 2**30,
        "numa_node_list": [{"numa_node": 0, "memory_bytes": 12 * 2**30}],
    }
    assert any("24576 MiB" in text for text in texts(topology_figure(one)))
    of_topology = texts(topology_figure(topology_of_machine(GALLERY["hydra"])))
    assert {str(pu) for pu in range(32)} <= set(of_topology)


# ---- touch maps --------------------------------------------------------------------


def image_colours(figure: Figure) -> list[list[str]]:
    found = []
    for axes in figure.axes:
        for image in axes.images:
            array = image.get_array()
            assert array is not None
            found.append([to_hex(pixel) for pixel in array[0]])
    return found


def test_a_touch_map_shows_the_records_pages_one_by_one() -> None:
    one = parse(invented.evidence(invented.ONE_NODE, writer=invented.master_writes))
    figure = touch_figure([("handout", one)])
    assert_legible(figure)
    colours = image_colours(figure)
    writers = [array.first_writer for array in one.runs_of(TRACE)[0].arrays]
    users = [array.users for array in one.runs_of(TRACE)[0].arrays]
    assert len(colours) == 6
    for index in range(3):
        assert colours[2 * index] == [place_colour(w).lower() for w in writers[index]]
        assert colours[2 * index + 1] == [place_colour(*u).lower() for u in users[index]]


def test_with_several_numa_nodes_places_are_nodes() -> None:
    eight = parse(invented.evidence(invented.EIGHT_NODES))
    node_of = [invented.EIGHT_NODES.node_of_thread(t) for t in range(16)]
    for strip in strips(eight):
        assert strip.places == tuple(node_of[page // 40] for page in range(640))
    figure = touch_figure([("a", eight), ("b", eight)], arrays=["b"])
    assert_legible(figure)
    assert len(image_colours(figure)) == 4
    check_text(texts(figure))


def test_where_pages_live_is_drawn_where_that_is_asked_for() -> None:
    evidence = parse(invented.evidence(invented.TWO_NODES, home=lambda owner, page: 1))
    assert {strip.what for strip in strips(evidence)} == {"first written by", "used by"}
    homes = [one for one in strips(evidence, ["a"], with_homes=True) if one.what == "lives on"]
    assert [one.places for one in homes] == [(1,) * 320]
    figure = touch_figure([("a name of $x$", evidence)], with_homes=True, arrays=["a"])
    assert_legible(figure)
    assert len(image_colours(figure)) == 3
    assert any("a name of $x$" in text for text in texts(figure))
    silent = evidence.having(PLACEMENT, [replace(evidence.runs_of(PLACEMENT)[0], residency=None)])
    assert len(strips(silent, ["a"], with_homes=True)) == 2


def test_pages_of_several_and_of_nobody_look_different() -> None:
    record = invented.evidence(
        invented.ONE_NODE,
        writer=lambda owner, page: -1 if page % 2 else owner,
        users=lambda owner, page: [0, 1] if page < 10 else [],
    )
    first, second = strips(parse(record))[:2]
    assert first.places[:4] == (0, NOBODY, 0, NOBODY)
    assert second.places[9:11] == (SEVERAL, NOBODY)
    assert len({colour_of(place) for place in (NOBODY, SEVERAL, *range(8))}) == 10
    drawn = texts(touch_figure([("x", parse(record))]))
    assert {"nobody", "several"} <= set(drawn)


def test_stripes_too_fine_to_be_seen_are_called_so() -> None:
    """They would melt into a colour that no thread has."""
    assert cells([0, 0, 1, 1], 9) == [0, 0, 1, 1]
    assert cells([0, 0, 1, 1, 0, 1], 3) == [0, 1, MIXED]
    assert cells([0] * 9 + [1] * 11, 5) == [0, 0, 1, 1, 1], "a border is no stripe"
    fine = invented.evidence(invented.EIGHT_NODES, writer=lambda owner, page: 8 * (page % 2))
    figure = touch_figure([("x", parse(fine))], arrays=["a"], width_in=6.0)
    check_text(texts(figure))
    shown = {colour for row in image_colours(figure) for colour in row}
    assert MIXED_COLOUR.lower() in shown
    assert shown <= {MIXED_COLOUR.lower(), *(place_colour(n).lower() for n in range(8))}
    assert MIXED_COLOUR not in {colour_of(place) for place in (NOBODY, SEVERAL, *range(24))}


def test_what_was_not_seen_is_said_and_not_drawn() -> None:
    empty = parse(invented.evidence(invented.ONE_NODE)).having(TRACE, []).having(PLACEMENT, [])
    with raises_text(NothingToDraw):
        touch_figure([("x", empty)])
    with raises_text(NothingToDraw):
        work_figure([("x", empty)])
    with raises_text(NothingToDraw):
        thread_figure(list(sittings("x", empty)))
    with raises_text(NothingToDraw):
        latency_figure(empty)
    with raises_text(NothingToDraw):
        memory_figure(empty)


# ---- threads and ranks -------------------------------------------------------------


def bound(threads: Sequence[Thread]) -> Evidence:
    run = a_run(
        BindingRun, file="kmp_close.env", runtime="libomp", threads=tuple(threads),
        team=len(threads),
    )  # fmt: skip
    return parse(invented.evidence(invented.TWO_NODES)).having(BINDING, [run])


def test_a_bound_thread_is_drawn_on_its_pu() -> None:
    evidence = bound([Thread(t, (2 * t,), 2 * t, 0, 0, 2 * t) for t in range(4)])
    (sitting,) = sittings("yours", evidence, "kmp_close.env")
    assert sitting.seen == {t: frozenset({2 * t}) for t in range(4)}
    figure = thread_figure([sitting])
    assert_legible(figure)
    drawn = {text.get_text(): text for text in figure.findobj(Text)}
    for t in range(4):
        above, below = drawn[f"T{t}"].get_position(), drawn[str(2 * t)].get_position()
        assert above[0] == pytest.approx(below[0])
        assert 0 < below[1] - above[1] < 0.3
    assert "T4" not in drawn


def test_threads_that_may_move_are_named_and_dots_say_where_they_were() -> None:
    everywhere = tuple(range(8))
    evidence = bound([Thread(t, everywhere, -1, -1, -1, t) for t in range(2)])
    figure = thread_figure(list(sittings("yours", evidence, "kmp_close.env")))
    drawn = " ".join(texts(figure))
    check_text(drawn)
    assert "T0 " not in drawn.replace("(T0, ", "")
    dots = [line for line in figure.axes[0].lines if line.get_marker() == "o"]
    assert len(dots) == 2


def test_threads_outside_the_node_are_told() -> None:
    threads = [Thread(0, (77,), -1, -1, -1), Thread(1, (1,), -1, -1, -1)]
    found = Sitting("yours", invented.TWO_NODES.describe(), tuple(threads), "thread", {})
    drawn = texts(thread_figure([found]))
    check_text(drawn)
    assert "T1" in drawn and "T0" not in drawn


def test_ranks_are_drawn_on_all_that_they_are_bound_to() -> None:
    ranks = tuple(
        Rank(r, tuple(Thread(t, tuple(range(r, 8, 2)), -1, -1, -1) for t in range(4)))
        for r in range(2)
    )
    job = a_run(RanksRun, file="launch.toml", refused=None, ranks=ranks, team=4)
    evidence = parse(invented.evidence(invented.TWO_NODES)).having(RANKS, [job])
    (sitting,) = sittings("x", evidence, "launch.toml")
    assert (sitting.noun, len(sitting.threads)) == ("rank", 8)
    drawn = texts(thread_figure([sitting, sitting]))
    assert (drawn.count("R0"), drawn.count("R1")) == (8, 8)
    refused = evidence.having(RANKS, [structs.replace(job, refused="no")])
    assert list(sittings("x", refused, "launch.toml")) == []


# ---- work, times, messages, memory -------------------------------------------------


def test_bars_are_the_threads_shares_of_the_calls() -> None:
    evidence = parse(invented.evidence(invented.TWO_NODES))
    busy = tuple(CpuTime(0.1 * (t + 1), 0.03, 0.01, 0.8 if t == 7 else 0.0, 0.2) for t in range(8))
    poor = replace(evidence.runs_of(PLACEMENT)[0], cpu_time=busy)
    even = replace(poor, cpu_time=(CpuTime(0.3, 0.0, 0.0, 0.3 / 8, 0.3),) * 8)
    figure = work_figure([("yours", evidence.having(PLACEMENT, [poor]))])
    assert_legible(figure)
    widths = [bar.get_width() for bar in figure.axes[0].patches]
    assert widths == pytest.approx([12.5 * (t + 1) for t in range(8)] + [5.0] * 8)
    assert not any("goes on" in text for text in texts(figure))
    starved = replace(poor, cpu_time=(*busy[:7], CpuTime(0.8, 1.6, 0.0, 0.8, 0.2)))
    long = work_figure([("yours", evidence.having(PLACEMENT, [starved]))])
    check_text([text for text in texts(long) if "goes on" in text])
    best = work_figure([("yours", evidence.having(PLACEMENT, [poor, even]))])
    assert [bar.get_width() for bar in best.axes[0].patches][:8] == pytest.approx([100] * 8)
    assert any("work share 1.00" in text for text in texts(best))
    idle = replace(poor, cpu_time=even.cpu_time[:6])  # two threads never started
    both = work_figure(
        [(name, evidence.having(PLACEMENT, [look])) for name, look in (("a", idle), ("b", even))]
    )
    assert [bar.get_width() for bar in both.axes[0].patches][6:8] == [0, 0]
    assert both.axes[0].get_xlim() == both.axes[1].get_xlim()


def test_points_are_the_generations_and_the_line_what_is_asked_for(first_touch: Lab) -> None:
    times = [{"solution": 0.2, "submission": s} for s in (0.2, 0.3, 0.21, 0.22, 0.2, 0.19)]
    evidence = parse(invented.evidence(invented.ONE_NODE, times=times))
    (account,) = timing_accounts(first_touch, judge(first_touch, evidence), evidence)
    figure = timing_figure(account)
    assert_legible(figure)
    left, right = figure.axes
    points = [
        (float(y), float(x))
        for line in left.lines
        if line.get_linestyle() == "None"
        for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)
    ]
    assert [number for number, _ in sorted(points)] == [1, 2, 3, 4, 5, 6]
    margins = account.state.margins
    assert [x for _, x in sorted(points)] == pytest.approx([0.8 * margin for margin in margins])
    asked = [line for line in left.lines if line.get_label() == "asked for"]
    assert list(asked[0].get_xdata()) == [0.8, 0.8]
    grown = right.lines[0].get_xdata()
    assert list(grown) == [look.e_for for look in account.state.decisions]
    none = replace(account, state=replace(account.state, margins=(), decisions=(), cut=()))
    with raises_text(NothingToDraw):
        timing_figure(none)


def test_what_is_to_be_predicted_is_left_out_until_it_has_been(installation: Installation) -> None:
    record = invented.evidence(invented.TWO_NODES)
    record["runs"] += [invented.latency("placement"), invented.latency("placement", "far.toml")]
    evidence = parse(record)
    published = find_machine(installation, "hydra").latencies
    for is_predicted in (False, True):
        figure = latency_figure(evidence, published, is_predicted=is_predicted)
        assert_legible(figure)
        times = figure.axes[0].lines
        assert [line.get_label() for line in times][:2] == ["near", "far"]
        at = dict(zip(times[0].get_xdata(), times[0].get_ydata(), strict=True))
        told = set(PREDICTED.values()) & at.keys()
        assert told == (set(PREDICTED.values()) if is_predicted else set())
        assert at[8] == pytest.approx(0.5 + 8 / 8192)
        assert any("predict them" in text for text in texts(figure)) != is_predicted
        if not is_predicted:
            assert not any("TUW-NUMA" in str(line.get_label()) for line in times)
            continue
        assert list(times[2].get_ydata()) == list(published[0].values)
        assert "TUW-NUMA" in str(times[2].get_label())


def test_bars_of_memory_are_the_tables() -> None:
    mib = 2**20
    table = KernelTable(1, 64 * mib, 48 * mib, 0.0, 0.1, 0.1, 1234, 10 * mib, 75 * mib, 11 * mib,
                        0, 0)  # fmt: skip
    memory = a_run(MemoryRun, huge_pages_allowed=True, tables=[table])
    evidence = (
        parse(invented.evidence(invented.ONE_NODE))
        .having(MEMORY, [memory])
        .having(MEMORY, [memory], HANDOUT)
    )
    figure = memory_figure(evidence)
    assert_legible(figure)
    assert len(figure.axes) == 2
    heights = [bar.get_height() for bar in figure.axes[1].patches]
    assert heights == [0.0, 65.0, 1.0, 48.0]
    assert any("1,234 page faults" in text for text in texts(figure))


# ---- colours -----------------------------------------------------------------------


def test_colours_differ_beyond_eight_and_their_ink_can_be_read() -> None:
    colours = [place_colour(n) for n in range(24)]
    assert colours[:8] == [c.lower() for c in THREAD_COLOURS]
    assert len(set(colours)) == 24
    assert ink_on("#0072B2") == "#FFFFFF"
    assert {ink_on(c) for c in ("#F0E442", "#E69F00", "#FFFFFF")} == {"#000000"}


def test_strips_of_an_array_are_together_and_apart_from_the_next() -> None:
    evidence = parse(invented.evidence(invented.EIGHT_NODES))
    figure = touch_figure([("x", evidence)], arrays=["a", "b"])
    tops = [image.get_extent()[3] for axes in figure.axes for image in axes.images]
    assert [tuple(image.get_extent()[:2]) for image in figure.axes[0].images] == [(0, 640)] * 4
    first, second, third, fourth = tops
    assert first == 0 < second
    assert fourth - third == pytest.approx(second)
    assert third - second == pytest.approx(second + ARRAY_GAP_IN)
    numbers = [text for text in figure.axes[0].texts if text.get_text() == "1"]
    assert numbers[0].get_position()[0] == pytest.approx(120), "in the middle of its pages"
