"""The portrait: what is run on which node, and what is said of made-up samples of it."""

from __future__ import annotations

import io
import itertools
import json
import math
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from support import portraits
from support.commands import numalab_command
from support.portraits import hydra, memory_only, nebula, samples_of, unlike_cores

from numalab.errors import Interrupted, UserError
from numalab.evidence.record import Json
from numalab.explore.explore import parse_record, run_program
from numalab.installation import Installation
from numalab.machines.topology import topology_of_node
from numalab.portrait import measure, plan
from numalab.portrait.plan import KIB, MIB, portrait_plan
from numalab.portrait.record import Portrait, load_portrait, read_portrait
from numalab.portrait.sentences import cache_lines, tlb_lines
from numalab.portrait.terminal import show
from numalab.portrait.values import Occasion, cache_checks, portrait_of, rises_of
from numalab.reports.portrait_page import portrait_page

GIB = 1024 * MIB
FREE = 32 * GIB
NODES = {"hydra": hydra, "nebula": nebula, "memory only": memory_only, "unlike": unlike_cores}


def occasion(node: Json, interrupted: bool = False) -> Occasion:
    return Occasion(
        "made up", "0", node, portraits.ABOUT, portraits.BUILD, False, interrupted
    )  # fmt: skip


def portrait(node: Json, rounds: int = 6) -> Portrait:
    asked = portrait_plan(node, FREE)
    return portrait_of(asked, samples_of(asked, rounds), occasion(node))


def shown(found: Portrait) -> str:
    console = Console(width=80, file=io.StringIO(), highlight=False)
    with console.capture() as capture:
        show(found, console)
    return "\n".join(line.rstrip() for line in capture.get().split("\n"))


# ---- what is run ------------------------------------------------------------------------


def test_every_numa_node_with_pus_meets_all_memory() -> None:
    pairs = [
        (asked.threads_on, asked.memory_on)
        for asked in portrait_plan(memory_only(), FREE).processes
        if asked.part == "pair_latency"
    ]
    assert pairs == [(0, 0), (0, 1)]
    eight = portrait_plan(nebula(), FREE).processes
    assert sum(asked.part == "pair_bandwidth" for asked in eight) == 64


def test_compact_and_spread_go_by_cores_and_nodes() -> None:
    topology = topology_of_node(nebula())
    assert plan.compact_pus(topology)[:6] == [0, 8, 1, 9, 2, 10]
    # A core of each NUMA node before a second one, packages in turn.
    assert plan.spread_pus(topology)[:9] == [0, 4, 1, 5, 2, 6, 3, 7, 8]
    threads_too = topology_of_node(memory_only())
    assert plan.compact_pus(threads_too) == plan.spread_pus(threads_too) == [*range(8)]
    assert plan.thread_counts(topology) == [1, 2, 4, 8, 16]


def test_one_numa_node_is_not_spread_over() -> None:
    asked = portrait_plan(unlike_cores(), FREE).processes
    assert {one.placement for one in asked if one.part == "streams"} == {"compact", "alone"}
    asked = portrait_plan(hydra(), FREE).processes
    assert {one.placement for one in asked if one.part == "streams"} == {"compact", "spread"}


def test_unlike_cores_have_a_curve_each_and_the_strongest_measures_the_rest() -> None:
    asked = portrait_plan(unlike_cores(), FREE).processes
    curves = {(one.kind, one.pus) for one in asked if one.part == "curve"}
    assert curves == {("IntelCore", (0,)), ("IntelAtom", (4,))}
    assert {one.pus for one in asked if one.part in ("pair_latency", "tlb")} == {(0,)}
    alone = [(one.kind, one.pus) for one in asked if one.placement == "alone"]
    assert alone == [("IntelCore", (0,)), ("IntelAtom", (4,))]
    bandwidth = [one.pus for one in asked if one.part == "pair_bandwidth"]
    assert bandwidth == [(0, 2, 4, 5, 6, 7)]


def test_the_far_curve_is_to_the_farthest_memory() -> None:
    assert plan.farthest(nebula(), 5) == 0
    assert plan.farthest(unlike_cores(), 0) is None
    assert plan.farthest({**hydra(), "distances": None}, 0) == 1


def test_tables_and_arrays_are_larger_than_caches_where_memory_allows() -> None:
    asked = portrait_plan(hydra(), FREE)
    assert asked.table_bytes == 64 * MIB  # 4 x 8 MiB is less than what is always taken
    large = [*hydra()["caches"][:2], {"level": "L3", "count": 2, "bytes_each": 32 * MIB}]
    asked = portrait_plan({**hydra(), "caches": large}, FREE)
    assert (asked.table_bytes, asked.array_bytes) == (128 * MIB, 256 * MIB)
    assert portrait_plan(hydra(), GIB).table_bytes == 64 * MIB
    assert portrait_plan(hydra(), GIB).array_bytes == 64 * MIB
    with pytest.raises(UserError, match="takes 64 MiB for its largest table"):
        portrait_plan(hydra(), 256 * MIB)


def test_rounds_are_as_many_as_fit_a_minute() -> None:
    assert measure.rounds_in(10.0) == 6
    assert measure.rounds_in(0.5) == measure.MOST_ROUNDS
    assert measure.rounds_in(300.0) == measure.LEAST_ROUNDS


def test_kinds_of_one_name_are_told_apart() -> None:
    """As where the system tells favoured cores from others of their type."""
    kinds = [{"pus": [0], "name": "IntelCore"}, {"pus": [1], "name": "IntelCore"}]
    assert set(plan.kind_names({"core_kinds": kinds}).values()) == {
        "IntelCore of kind 1", "IntelCore of kind 2"
    }  # fmt: skip
    unnamed = [{**kind, "name": None} for kind in kinds]
    assert plan.kind_names({"core_kinds": unnamed})[1] == "core of kind 2"


# ---- values -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", NODES)
def test_values_survive_the_file(name: str, tmp_path: Path) -> None:
    found = portrait(NODES[name]())
    file = tmp_path / "node.json"
    file.write_text(json.dumps(found.json_data()))
    assert load_portrait(file) == found
    assert read_portrait(found.json_data()).json_data() == found.json_data()


def huge(curve: Json, size: float) -> Json:
    first, *others = curve["points"]
    return {
        **curve,
        "points": [{**first, "table_bytes": size, "ns": {"processes": [size]}}, *others],
    }


def test_a_file_that_is_none_is_told(tmp_path: Path) -> None:
    file = tmp_path / "node.json"
    whole = portrait(hydra()).json_data()
    for text in ("", "[1]", "{}", json.dumps({**whole, "schema": 2}),
                 json.dumps({**whole, "tlb": [{"pages": "small"}]}),
                 json.dumps({**whole, "curves": [huge(whole["curves"][0], math.inf)]}),
                 json.dumps({**whole, "tlb": [huge(whole["tlb"][0], 10**400)]})):  # fmt: skip
        file.write_text(text)
        with pytest.raises(UserError, match="is no portrait"):
            load_portrait(file)
    with pytest.raises(UserError, match="can't be read"):
        load_portrait(tmp_path / "none.json")
    with pytest.raises(UserError, match="can't be read: it is a folder"):
        load_portrait(tmp_path)
    file.write_text(json.dumps({**whole, "made_at": "\x1b[2J"}))
    assert load_portrait(file).made_at == "\\x1b[2J"


def test_medians_are_over_processes() -> None:
    pair = portrait(hydra()).pair(0, 1)
    assert pair is not None and pair.latency_ns is not None
    assert pair.latency_ns.processes == pytest.approx(
        tuple(135 * (1 + 0.01 * number) for number in range(6))
    )
    assert pair.latency_ns.interval.is_wide_enough
    assert pair.gb_s["load"].median == pytest.approx(15.0, rel=0.03)


def test_what_is_not_as_asked_for_is_left_out_and_told() -> None:
    """Remote memory that is local, other PUs, small pages for huge ones."""
    node = hydra()
    asked = portrait_plan(node, FREE)
    remote = next(
        place for place, one in enumerate(asked.processes)
        if one.part == "pair_latency" and one.threads_on != one.memory_on
    )  # fmt: skip
    for change, says in (
        ({"memory_node_share": 0.5}, "pages for NUMA node 1 lay elsewhere"),
        ({"memory_node_share": None}, "does not tell where pages live"),
        ({"thread_pus": [7]}, "threads ran on other PUs"),
        ({"bytes_on_huge_pages": 0}, "gave no huge pages"),
    ):
        samples = [
            replace(one, record={**one.record, **change}) if one.configuration == remote else one
            for one in samples_of(asked)
        ]
        found = portrait_of(asked, samples, occasion(node))
        pair = found.pair(0, 1)
        assert pair is not None and pair.latency_ns is None
        assert any(says in line for line in found.not_measured), says
        assert any("1 have no value" in line for line in found.not_measured)
    whole = portrait(node)
    assert not any("left out" in line or "no value" in line for line in whole.not_measured)


def test_what_was_measured_before_the_end_is_kept() -> None:
    node = hydra()
    asked = portrait_plan(node, FREE)
    found = portrait_of(asked, samples_of(asked)[:3], occasion(node, interrupted=True))
    assert len(found.curves) == 1 and len(found.curves[0].points) == 3
    assert any("it was interrupted" in line for line in found.not_measured)
    assert "Nothing measured" in shown(found) or "Bandwidth" in shown(found)
    assert "Interrupted." in portrait_page(found)


def test_samples_have_what_the_probe_is_asked_for() -> None:
    """The made-up ones too, so that they can stand for its own."""
    asked = portrait_plan(nebula(), FREE)
    for sample, one in zip(samples_of(asked, 1), asked.processes, strict=True):
        parse_record(json.dumps(sample.record), one.configuration.key)


# ---- caches and the TLB ------------------------------------------------------------------


def test_hwlocs_caches_are_where_the_curve_rises() -> None:
    found = portrait(hydra())
    checks, left = cache_checks(found.node, found.curves[0])
    assert [(check.level, check.step and check.step.lower_bytes) for check in checks] == [
        ("L1d", 32 * KIB), ("L2", 512 * KIB), ("L3", 8 * MIB)
    ]  # fmt: skip
    assert left == []
    assert all(line.startswith("ok") for line in cache_lines(found)[:3])


def test_a_cache_that_the_curve_does_not_show_differs() -> None:
    """As under a hypervisor that tells the host's."""
    told = [*hydra()["caches"][:2], {"level": "L3", "count": 2, "bytes_each": 32 * MIB}]
    found = replace(portrait(hydra()), node={**hydra(), "caches": told})
    lines = cache_lines(found)
    assert lines[2].startswith("DIFFER  L3, by hwloc 32 MiB")
    assert lines[3].startswith("note  The curve rises between 8 MiB and 16 MiB (6.0 times)")
    huge = [*told[:2], {"level": "L3", "count": 1, "bytes_each": 480 * MIB}]
    lines = cache_lines(replace(found, node={**hydra(), "caches": huge}))
    assert lines[2].startswith("?     L3, by hwloc 480 MiB: the tables are too small")


def test_hwlocs_sizes_are_not_held_against_another_kind_of_core() -> None:
    lines = cache_lines(portrait(unlike_cores()))
    weak = lines[lines.index("NUMA node 0, local, IntelAtom, PU 4:") + 1 :]
    assert weak[0] == "?     hwloc's sizes are told of IntelCore only"
    assert len(weak) == 4 and all("cache of this kind of core" in line for line in weak[1:])
    assert all(line.startswith("ok") for line in lines[1:4])


def test_noise_is_no_step() -> None:
    """A rise that processes differ by is none."""
    found = portrait(hydra())
    points = found.curves[0].points
    flat = replace(
        points[1], ns=replace(points[1].ns, processes=(0.9, 1.0, 1.3, 1.35, 1.4, 9.0))
    )  # fmt: skip
    assert rises_of([points[0], flat]) == []
    sure = replace(flat, ns=replace(flat.ns, processes=(1.3,) * 6))
    assert [step.upper_bytes for step in rises_of([points[0], sure])] == [points[1].table_bytes]


def test_the_tlbs_knee_is_where_small_pages_part() -> None:
    found = portrait(hydra())
    small, huge = tlb_lines(found)
    assert "from 16 MiB on" in small and "8 MiB (level 2)" in small and "2.00 times" in small
    assert "128 MiB (level 1) and 4 GiB (level 2)" in huge and "beyond" in huge
    alike = replace(found, tlb=(replace(found.tlb[1], pages="small"), found.tlb[1]))
    assert "no knee up to 64 MiB" in tlb_lines(alike)[0]
    assert "Without huge pages" in tlb_lines(replace(found, tlb=found.tlb[:1]))[0]


# ---- shown ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NODES)
def test_a_terminal_of_80_columns_shows_all_of_it(name: str) -> None:
    found = portrait(NODES[name]())
    text = shown(found)
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text
    for words in ("Latency over the size", "latency [ns]", "load [GB/s]", "TLB:", "STREAM counts"):
        assert words in " ".join(text.split()), words
    if name == "unlike":
        flat = " ".join(text.split())
        assert "One thread on IntelAtom: copy 7.81 [7.62, 8.00], triad" in flat
        assert "one row and one column" in flat
        assert "spread threads would sit where compact ones do" in flat
    if name == "memory only":
        matrices = text[text.index("latency [ns]") : text.index("Latency: a table")]
        rows = [line.split()[0] for line in matrices.splitlines() if re.match(r"\d +\d", line)]
        assert "NUMA node 1: 16.0 GiB, memory only." in text and rows == ["0"] * 3
        found.node["numa_node_list"][1]["not_allowed"] = True
        assert "NUMA node 1: 16.0 GiB, its PUs are not allowed here." in shown(found)


@pytest.mark.parametrize("name", NODES)
def test_the_page_needs_nothing_from_elsewhere(name: str) -> None:
    page = portrait_page(portrait(NODES[name]()))
    assert page.count("<svg") == (3 if name == "unlike" else 6)
    assert "<script" not in page and "http://" not in page and 'src="' not in page
    assert page.count('id="latency-curves-title"') == 1


def test_a_part_of_a_node_says_so() -> None:
    found = portrait({**hydra(), "pus_online": 64})
    assert any("8 PUs of the 64 of this node" in line for line in found.not_measured)


def test_a_hypervisor_is_seen_where_the_processor_tells() -> None:
    assert measure.is_virtual_machine("flags\t\t: fpu hypervisor sse\n") is True
    assert measure.is_virtual_machine("flags\t\t: fpu sse\n") is False
    assert measure.is_virtual_machine("Features\t: fp asimd\n") is None


def test_samples_of_one_process_have_no_interval() -> None:
    found = portrait(hydra(), rounds=1)
    assert found.rounds == 1
    assert "there is no interval" in shown(found)


# ---- on this node -------------------------------------------------------------------------


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables and arrays that are quickly through; what they tell is not looked at."""
    for name in ("LARGEST_TABLE", "LEAST_LARGEST_TABLE", "LEAST_ARRAY", "ARRAY_PER_CORE"):
        monkeypatch.setattr(plan, name, MIB)


def test_a_portrait_of_this_node(installation: Installation, small: None) -> None:
    found = measure.measure(installation, 1, lambda step: None)
    assert not found.interrupted and found.rounds == 1
    assert not any("left out" in line or "no value" in line for line in found.not_measured)
    node = found.node
    assert len(found.pairs) == len({one["numa_node"] for one in node["pu_list"]}) * len(
        node["numa_node_list"]
    )
    for pair in found.pairs:
        assert pair.latency_ns is not None and set(pair.gb_s) == {"load", "triad"}
    assert {one.threads for one in found.streams} >= {1, node["pus"]}
    assert [point.table_bytes for point in found.curves[0].points][-1] == MIB
    assert read_portrait(json.loads(json.dumps(found.json_data()))) == found
    assert "Portrait of" in shown(found)


def test_what_was_measured_before_ctrl_c_is_there(
    installation: Installation, small: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = itertools.count()

    def stopped(*arguments: Any, **more: Any) -> str:
        if next(calls) == 3:
            raise Interrupted
        return run_program(*arguments, **more)

    monkeypatch.setattr("numalab.explore.explore.run_program", stopped)
    found = measure.measure(installation, None, lambda step: None)
    assert found.interrupted
    assert any("it was interrupted" in line for line in found.not_measured)
    monkeypatch.setattr("numalab.explore.explore.run_program", lambda *a, **b: _stop())
    with pytest.raises(Interrupted):
        measure.measure(installation, None, lambda step: None)


def _stop() -> str:
    raise Interrupted


def test_nothing_is_timed_on_a_login_node(installation: Installation, tmp_path: Path) -> None:
    sinfo = tmp_path / "sinfo"
    sinfo.write_text("#!/bin/sh\n")
    sinfo.chmod(0o755)
    done = numalab_command(installation, "portrait", PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert done.code == 2
    assert "srun --exclusive -N1 ./numalab portrait" in done.said


def test_a_kept_portrait_is_shown_and_drawn_again(
    installation: Installation, tmp_path: Path
) -> None:
    file, page = tmp_path / "node.json", tmp_path / "node.html"
    file.write_text(json.dumps(portrait(hydra()).json_data()))
    done = numalab_command(installation, "portrait", "--from", str(file), "--html", str(page))
    assert done.code == 0, done.said
    assert "Portrait of hydra" in done.out and page.read_text().startswith("<!DOCTYPE html>")
    done = numalab_command(installation, "portrait", "--from", str(file), "--rounds", "2")
    assert done.code == 2 and "leave out --rounds" in done.said
    file.write_text(json.dumps({**portrait(hydra()).json_data(), "node": {"name": "hydra"}}))
    done = numalab_command(installation, "portrait", "--from", str(file))
    assert done.code == 2 and "is no whole portrait" in done.said
    done = numalab_command(installation, "portrait", "--from", str(page))
    assert done.code == 2 and "is no portrait" in done.said
