"""./numalab doctor."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from numalab.commands.shared import (
    check_json_target,
    prepare_virtual_nodes,
    progress_line,
)
from numalab.doctor import doctor_report
from numalab.doctor.current_load import measure_load
from numalab.doctor.doctor import (
    data_races,
    examine,
    mpi,
    sandbox_finding,
    shell_variables,
    virtual_nodes,
)
from numalab.doctor.node_facts import read_facts
from numalab.doctor.noise_report import noise_json, show_noise
from numalab.doctor.noise_run import measure_noise
from numalab.errors import UserError
from numalab.exit_codes import (
    EXIT_INTERRUPTED,
    EXIT_PASSED,
)
from numalab.files import write_json
from numalab.grading.login_node import is_login_node, refusal
from numalab.grading.node_lock import share_node
from numalab.harness import monitor
from numalab.harness.build import build_facts, build_targets, configure, mpi_library
from numalab.harness.sandbox import find_sandbox
from numalab.installation import Installation
from numalab.judging.rules import load_labs
from numalab.processes.shell_variables import withheld_variables
from numalab.terminal import make_console, stripped
from numalab.virtual import local_machine

if TYPE_CHECKING:  # their modules are imported when a command needs them
    from numalab.doctor.findings import Finding


def _examine_virtual_nodes(installation: Installation, progress: Callable[[str], None]) -> Finding:
    unable = prepare_virtual_nodes(installation, progress)
    if unable is not None:
        return virtual_nodes(unable, None)
    abilities = local_machine.examine(installation.kvm_probe, local_machine.cache_folder())
    return virtual_nodes(None, None if abilities.kvm else abilities.why)


@click.command(short_help="What this node can show, and what disturbs timing here.")
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Write the findings.")
@click.option("--noise", "with_noise", is_flag=True, help="Measure how noisy times are.")
@click.option("--force", is_flag=True, help="Take times on a login node too.")
@click.pass_obj
def doctor(
    installation: Installation, json_path: Path | None, with_noise: bool, force: bool
) -> int:
    """What this node can show, what disturbs timing, and which evidence is available.

    Each finding says what was found, what it means, which criteria it concerns, and the
    command that changes it, if one does. "?" marks what this node does not tell.

    With --noise the kit's own programs run for about 30 s, longer on a busy node, so that
    you see how far two runs of one program differ here, and how long a grading by time
    takes just now:

    \b
      Two runs of the same program differ by 1.4 % (median), and by more than
      6.1 % in 1 of 20: 38 pairs of processes in 31 s.
      ok   01 efficiency    about 9 s per verdict.
      note 03 pair_speedup  about 40 s per verdict; would stay open in 1 of 3
                            gradings.

    Here lab 01 can be graded. In lab 03 one grading in three would end without a verdict
    on pair_speedup; end what else runs on the node, and measure again.

    \b
    Examples:
      ./numalab doctor
      ./numalab doctor --json node.json
      ./numalab doctor --noise
    """
    check_json_target(json_path)
    if with_noise and is_login_node() and not force:
        raise UserError(refusal("doctor --noise"))
    labs = list(load_labs(installation.root).values())
    noise = None
    with installation.lock():
        configure(installation)
        build_targets(installation, ["describe_node"])
        node = monitor.describe_node(installation)
        has_mpi = bool(mpi_library(installation))
        facts, load = read_facts(), measure_load()
        with progress_line("doctor") as progress:
            virtual = _examine_virtual_nodes(installation, progress)
            if with_noise:
                timed = [lab for lab in labs if has_mpi or not lab.calls_mpi]
                with share_node(progress, exclusive=True):
                    noise = measure_noise(installation, timed, node, progress)
    findings = [
        *examine(node, facts, load, labs),
        shell_variables(withheld_variables()),
        mpi(mpi_library(installation), labs),
        data_races(build_facts(installation).get("race_compiler") or "", labs),
        sandbox_finding(find_sandbox(installation)),
        virtual,
    ]
    data = doctor_report.doctor_json(node, facts, load, findings, labs, has_mpi)
    if noise is not None:
        data["noise"] = noise_json(noise)
    if json_path is not None:
        write_json(json_path, data)
    console = make_console()
    with stripped(console):
        doctor_report.show_findings(console, node, findings, labs)
        doctor_report.show_labs(console, node, labs, has_mpi, virtual.level == "good")
        if noise is not None:
            show_noise(console, noise)
    if noise is not None and noise.interrupted:
        click.echo("numalab: interrupted; what was measured so far is above", err=True)
        return EXIT_INTERRUPTED
    console.print("Next: read labs/01_first_touch/README.md, then ./numalab grade 01 --quick")
    return EXIT_PASSED
