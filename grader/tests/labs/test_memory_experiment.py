"""What `./numalab explore 05` measures, models and watches."""

from __future__ import annotations

import io
import json
import subprocess
from pathlib import Path

import memory_experiment as memory
import memory_experiment_report as report
import pytest
from memory_experiment import (
    DEFAULT,
    INTERLEAVE,
    SCAN_MS,
    Healing,
    Products,
    VirtualPair,
    VirtualPairs,
    modelled_gb_s,
    multiply,
    read_run,
)
from rich.console import Console
from support.commands import numalab_command
from support.invented import TWO_NODES

from numalab.errors import NumalabError
from numalab.harness.build import build_explorations
from numalab.installation import Installation
from numalab.machines.gallery import find_machine
from numalab.words import StepReport

NODE_LIST = {"numa_node_list": [{"numa_node": node, "memory_bytes": 1 << 34} for node in (0, 1)]}


def quiet(step: str) -> None:
    del step


QUIET: StepReport = quiet


def shown(show: object, *what: object) -> str:
    stream = io.StringIO()
    assert callable(show)
    show(*what, Console(file=stream, width=80, color_system=None))
    said = stream.getvalue()
    assert max(map(len, said.splitlines())) <= 80
    return said


# ---- balancing ---------------------------------------------------------------------------


def samples(*on_second: int, is_on: bool = True) -> dict[str, object]:
    looks = [[0.25 * number, 1000 - pages, pages] for number, pages in enumerate(on_second)]
    return {"is_on": is_on, "nodes": [0, 1], "pages": 1000, "samples": looks, **SCAN_MS}


def test_local_pages_are_those_of_their_users() -> None:
    healed = read_run(samples(0, 200, 500))
    assert healed.local == (0.5, 0.7, 1.0)
    assert healed.is_healed and healed.healed_after_s == 0.5
    assert not healed.is_flat
    # All on the second node is half of them as wrong as before.
    assert read_run(samples(0, 1000)).local[-1] == 0.5
    assert read_run(samples(0, 0, 10, is_on=False)).is_flat


def test_what_is_told_of_balancing() -> None:
    on, off = read_run(samples(0, 200, 500)), read_run(samples(0, 0, 0, is_on=False))
    said = shown(report.show_healing, Healing("hydra", on, off))
    assert "With balancing 95 % and more are local after 0.5 s" in said
    assert "without, as many as at first 50 %" in " ".join(said.split())
    assert "scan_min_ms 100" in said
    assert Healing("hydra", on, off).is_as_expected
    assert not Healing("hydra", off, off).is_as_expected
    assert not Healing("hydra", on, on).is_as_expected


# ---- pairs -------------------------------------------------------------------------------


def test_pairs_are_modelled_from_published_rates(installation: Installation) -> None:
    hydra = find_machine(installation, "hydra")
    near, far = modelled_gb_s(hydra, 0, 0), modelled_gb_s(hydra, 0, 1)
    assert near == (pytest.approx(106.84), False)
    assert far is not None and far[1], "the rate of hydra's link is not known"
    nhm = find_machine(installation, "nhm")
    near, far = modelled_gb_s(nhm, 0, 0), modelled_gb_s(nhm, 0, 1)
    assert near is not None and far is not None and near[0] > far[0] == pytest.approx(25.6)
    assert modelled_gb_s(find_machine(installation, "aurora"), 0, 2) is None


def test_what_is_told_of_pairs(installation: Installation) -> None:
    pairs = (
        VirtualPair(0, 0, 1.0, 106.84, False), VirtualPair(0, 1, 0.5, 90.0, True),
        VirtualPair(1, 0, None, None, False), VirtualPair(1, 1, 1.0, 106.84, False),
    )  # fmt: skip
    said = shown(report.show_virtual_pairs, VirtualPairs("hydra", pairs, ""))
    assert "<= 90" in said and "50 %" in said and "not measured" in said
    said = shown(report.show_virtual_pairs, VirtualPairs("hydra", pairs, "No rate."))
    assert "No rate." in said and "GB/s" not in said


# ---- copies ------------------------------------------------------------------------------


def copied(share: float | None) -> str:
    """A script's words for a record of 1 GB in 0.5 s, the first time slower."""
    told = "null" if share is None else str(share)
    return (
        "for word; do case $word in source=*) s=${word#*=};; destination=*) d=${word#*=};; esac; "
        'done; echo "{\\"source\\": $s, \\"destination\\": $d, \\"bytes\\": 1000000000, '
        f'\\"source_share\\": 1.0, \\"destination_share\\": {told}, '
        '\\"elapsed_s\\": [9, 0.5, 0.5]}"'
    )


@pytest.mark.parametrize(("share", "rates"), [(1.0, 2), (0.5, 0), (None, 0)])
def test_copies_between_nodes(tmp_path: Path, share: float | None, rates: int) -> None:
    found = memory.copy_memory(
        script(tmp_path, copied(share)), TWO_NODES.describe() | NODE_LIST, 2, QUIET
    )
    assert [(copy.source, copy.destination) for copy in found.copies] == [
        (0, 0), (0, 1), (1, 0), (1, 1)
    ]  # fmt: skip
    assert all(copy.gb_s == pytest.approx((2.0,) * rates) for copy in found.copies)
    said = shown(report.show_copies, found, True)
    assert ("2.00" in said) == bool(rates)
    assert "By a thread on NUMA node 0" in said
    told = shown(report.show_copies, found, False)
    assert ("50 %" in told) == (share == 0.5)


# ---- jobs --------------------------------------------------------------------------------


def record_of(gb_s: float, share: float | None) -> str:
    """As the probe's, with slow repetitions at both ends."""
    times = [9.0] * memory.LEFT_OUT + [1 / gb_s] * 6 + [9.0] * memory.LEFT_OUT
    of_kernel = {"kernel": "triad", "bytes_moved": 1e9, "elapsed_s": times}
    return json.dumps({"memory_node_share": share, "times": [of_kernel]})


def test_jobs_run_at_once_and_ends_are_left_out(tmp_path: Path) -> None:
    node = TWO_NODES.describe()
    probe = script(tmp_path, f"echo '{record_of(5.0, 1.0)}'")
    found = memory.run_jobs(probe, node, 1 << 20, 2, QUIET)
    assert [rates.kind.processes for rates in found] == [1, 4, 4, 1, 1]
    assert [rates.kind.threads for rates in found] == [1, 1, 1, 4, 4]
    assert all(rates.gb_s == pytest.approx((5.0, 5.0)) for rates in found)
    said = shown(report.show_jobs, found)
    assert "4 jobs, cores and memory of node 0" in said and "20.0" in said
    # Of memory that came from elsewhere nothing is told.
    elsewhere = script(tmp_path, f"echo '{record_of(5.0, 0.5)}'")
    found = memory.run_jobs(elsewhere, node, 1 << 20, 2, QUIET)
    assert [(len(rates.gb_s), rates.refused) for rates in found] == [
        (2, 0), (2, 0), (0, 2), (2, 0), (0, 2)
    ]  # fmt: skip
    assert "4 rounds left out" in shown(report.show_jobs, found)
    with pytest.raises(NumalabError, match="no memory"):
        memory.run_jobs(script(tmp_path, "echo no memory >&2; exit 3"), node, 1 << 20, 1, QUIET)


# ---- matrix products -----------------------------------------------------------------------


def test_what_is_told_of_products() -> None:
    gflops = {DEFAULT: (100.0, 110.0, 90.0), INTERLEAVE: (150.0, 165.0, 135.0)}
    said = shown(report.show_products, Products(1000, 4, gflops), False)
    assert "Interleaved 1.500 times as fast" in said and "3 rounds" in said
    assert "same with one NUMA node" in shown(report.show_products, Products(1000, 4, gflops), True)
    assert "apt install" in shown(report.show_products, memory.WHY_NO_PRODUCT[5], False)


def script(folder: Path, text: str) -> Path:
    path = folder / "dgemm"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_products_are_multiplied_in_turns(tmp_path: Path) -> None:
    record = '{\\"policy\\": \\"x\\", \\"n\\": 10, \\"threads\\": 2, \\"elapsed_s\\": [2e-6, 1e-6]}'
    log = tmp_path / "log"
    program = script(tmp_path, f'echo "$1" >> {log}; echo "{record}"')
    found = multiply(program, 10, 3, QUIET)
    assert isinstance(found, Products)
    assert found.threads == 2 and found.rounds == 3
    assert found.gflops[DEFAULT][0] == pytest.approx(2.0)
    asked = log.read_text().split()
    assert asked.count("policy=default") == 3 == asked.count("policy=interleave") - 1
    assert multiply(script(tmp_path, "exit 5"), 10, 3, QUIET) == memory.WHY_NO_PRODUCT[5]
    assert multiply(script(tmp_path, "exit 4"), 10, 3, QUIET) == memory.WHY_NO_PRODUCT[4]


@pytest.mark.builds
def test_the_programs_say_what_is_wrong(installation: Installation) -> None:
    names = [f"05_memory_policy-{name}" for name in ("explore", "balancing", "copy")]
    with installation.lock():
        build_explorations(installation, names)
    product, balancing, copier = (
        installation.build / "labs" / "05_memory_policy" / name for name in names
    )
    for program, words in (
        (product, ["n=0"]), (product, ["policy=bind"]), (product, ["rows=3"]),
        (copier, ["pu=0"]), (copier, ["x=1"]),
        (balancing, []), (balancing, ["perhaps"]), (balancing, ["on", "seconds=0"]),
    ):  # fmt: skip
        done = subprocess.run([program, *words], capture_output=True, text=True, check=False)
        assert done.returncode in (2, 5), done.stderr
        assert done.returncode == 5 or words == ["policy=bind"] or "usage:" in done.stderr
    done = subprocess.run([product, "n=50"], capture_output=True, text=True, check=False)
    assert done.returncode == 5 or json.loads(done.stdout)["n"] == 50


# ---- the command ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("05", "--n", "3"), "has no --n"),
        (("03", "--balancing"), "are for explore 05"),
        (("02", "--on", "hydra"), "are for explore 05"),
        (("05", "--on", "hydra", "--rounds", "3"), "leave it out"),
        (("memory_policy", "--balancing", "--on", "laptop"), "one NUMA node with cores"),
        (("5", "--on", "hidra"), "hydra"),
    ],
)
def test_what_can_not_be_asked(
    installation: Installation, words: tuple[str, ...], said: str
) -> None:
    done = numalab_command(installation, "explore", *words)
    assert done.code == 2
    assert said in done.said


@pytest.mark.builds
@pytest.mark.boots
def test_memory_is_where_it_was_asked_for(installation: Installation, tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    done = numalab_command(installation, "explore", "05", "--on", "hydra", "--json", str(path))
    assert done.code == 0, done.said
    pairs = json.loads(path.read_text())["virtual_pairs"]["pairs"]
    assert [(pair["threads_on"], pair["memory_on"]) for pair in pairs] == [
        (0, 0), (0, 1), (1, 0), (1, 1)
    ]  # fmt: skip
    assert all(pair["share"] > 0.95 for pair in pairs)
    copied_there = json.loads(path.read_text())["copies"]["copies"]
    assert len(copied_there) == 4 and all(copy["share"] > 0.95 for copy in copied_there)
    assert all(copy["gb_s"] == [] for copy in copied_there), "no times there"


@pytest.mark.builds
@pytest.mark.boots
@pytest.mark.slow
def test_balancing_heals_each_time(installation: Installation, tmp_path: Path) -> None:
    for _ in range(5):
        path = tmp_path / "out.json"
        done = numalab_command(installation, "explore", "05", "--balancing", "--json", str(path))
        assert done.code == 0, done.said
        healing = json.loads(path.read_text())["healing"]
        assert healing["with_balancing"]["local"][0] <= 0.55
        assert healing["with_balancing"]["local"][-1] >= 0.95
        assert max(healing["without"]["local"]) <= 0.52
