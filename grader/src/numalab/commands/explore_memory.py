"""./numalab explore 05."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click

import numalab
from numalab.commands.reporter import waits
from numalab.commands.shared import check_json_target, progress_line
from numalab.errors import Interrupted, UserError
from numalab.exit_codes import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_PASSED
from numalab.files import MIB, write_json
from numalab.grading.login_node import is_login_node, refusal
from numalab.grading.node_lock import share_node
from numalab.harness.build import build_explorations
from numalab.installation import Installation
from numalab.labs import lab_modules
from numalab.machines.gallery import find_machine
from numalab.terminal import make_console, stripped

LAB = "05_memory_policy"
NUMBER = "05"
HEALED_ON = "hydra"
ROUNDS, QUICK_ROUNDS = 9, 6  # 6 are the fewest with an interval of 95 %
ROWS, QUICK_ROWS = 2000, 1000
JOB_MIB, QUICK_JOB_MIB = 64, 32  # of each of three arrays of a job


def is_meant(name: str) -> bool:
    """Whether a lab's name or number is this one's."""
    word = Path(name.rstrip("/")).name
    return word in (LAB, LAB.partition("_")[2]) or (word.isdigit() and word.zfill(2) == NUMBER)


@dataclass(frozen=True)
class Asked:
    """As the command's options."""

    quick: bool
    rounds: int | None
    json_path: Path | None
    force: bool
    on: str | None
    balancing: bool


def explore_memory(installation: Installation, asked: Asked) -> int:
    """Raises UserError and NumalabError."""
    lab_modules.need_module("memory_experiment", LAB)
    on, balancing, json_path = asked.on, asked.balancing, asked.json_path
    check_json_target(json_path)
    if (balancing or on) and asked.rounds:
        raise UserError("--rounds is for what is timed, on this node; leave it out")
    if not (on or balancing) and is_login_node() and not asked.force:
        raise UserError(refusal(f"explore {NUMBER}"))
    with installation.lock():
        try:
            if balancing:
                code, found = _heal(installation, on or HEALED_ON)
            elif on:
                code, found = _look_there(installation, on)
            else:
                code, found = _measure_here(installation, asked.quick, asked.rounds)
        except (KeyboardInterrupt, Interrupted):
            click.echo("numalab: interrupted before anything was measured", err=True)
            return EXIT_INTERRUPTED
    if json_path is not None:
        write_json(json_path, {"kit_version": numalab.__version__, **found})
    return code


def _program(installation: Installation, name: str) -> Path:
    return installation.build / "labs" / LAB / f"{LAB}-{name}"


def _measure_here(
    installation: Installation, quick: bool, rounds: int | None
) -> tuple[int, dict[str, Any]]:
    import memory_experiment_report as report
    from memory_experiment import copy_memory, multiply, run_jobs

    from numalab.portrait.measure import measure
    from numalab.portrait.terminal import show_pairs

    rounds = rounds or (QUICK_ROUNDS if quick else ROUNDS)
    with share_node(waits, exclusive=True), progress_line(LAB) as progress:
        progress("building")
        program, copier = _program(installation, "explore"), _program(installation, "copy")
        build_explorations(installation, [program.name, copier.name])
        pairs = measure(installation, rounds, progress, parts=("pair_latency", "pair_bandwidth"))
        copies = copy_memory(copier, pairs.node, rounds, progress)
        array_bytes = (QUICK_JOB_MIB if quick else JOB_MIB) * MIB
        jobs = run_jobs(installation.probe, pairs.node, array_bytes, rounds, progress)
        products = multiply(program, QUICK_ROWS if quick else ROWS, rounds, progress)
    is_one_node = pairs.node["numa_nodes"] == 1
    console = make_console()
    with stripped(console):
        show_pairs(pairs, console)
        report.show_copies(copies, True, console)
        report.show_jobs(jobs, console)
        report.show_products(products, is_one_node, console)
        if is_one_node:
            console.print()
            console.print(report.SINGLE_NUMA_NODE, markup=False, highlight=False)
    told = products if isinstance(products, str) else products.json_data()
    return EXIT_PASSED, {
        "pairs": pairs.json_data(),
        "copies": asdict(copies),
        "jobs": [asdict(rates) for rates in jobs],
        "products": told,
    }


def _look_there(installation: Installation, name: str) -> tuple[int, dict[str, Any]]:
    import memory_experiment_report as report
    from memory_experiment import copy_memory, observe_pairs

    from numalab.virtual.place import VirtualPlaces
    from numalab.virtual.plan import GuestOptions

    machine = find_machine(installation, name)
    with progress_line(machine.name) as progress:
        progress("building")
        copier = _program(installation, "copy")
        build_explorations(installation, [installation.probe.name, copier.name])
        with VirtualPlaces(installation, GuestOptions()) as places:
            place = places.get(machine, [installation.probe, copier], progress)
            found = observe_pairs(installation.probe, machine, place, progress)
            copies = copy_memory(copier, place.node, 1, progress, place)
    console = make_console()
    with stripped(console):
        report.show_virtual_pairs(found, console)
        report.show_copies(copies, False, console)
    return EXIT_PASSED, {"virtual_pairs": asdict(found), "copies": asdict(copies)}


def _heal(installation: Installation, name: str) -> tuple[int, dict[str, Any]]:
    import memory_experiment_report as report
    from memory_experiment import heal

    from numalab.virtual.place import VirtualPlaces
    from numalab.virtual.plan import GuestOptions

    machine = find_machine(installation, name)
    if len(machine.nodes_with_cores) < 2:
        raise UserError(
            f"{machine.name} has one NUMA node with cores, so that nothing is remote there; take "
            f"--on {HEALED_ON}"
        )
    with progress_line(machine.name) as progress:
        progress("building")
        program = _program(installation, "balancing")
        build_explorations(installation, [program.name])
        with VirtualPlaces(installation, GuestOptions()) as places:
            place = places.get(machine, [program], progress)
            found = heal(program, place, progress)
    console = make_console()
    with stripped(console):
        report.show_healing(found, console)
    return EXIT_PASSED if found.is_as_expected else EXIT_FAILED, {"healing": found.json_data()}
