"""./numalab explore model."""

from __future__ import annotations

from pathlib import Path

import click

import numalab
from numalab.commands.reporter import waits
from numalab.commands.shared import check_json_target, progress_line
from numalab.errors import Interrupted, UserError
from numalab.exit_codes import EXIT_INTERRUPTED, EXIT_PASSED
from numalab.files import write_json
from numalab.grading.login_node import is_login_node, refusal
from numalab.grading.node_lock import share_node
from numalab.harness.build import build_explorations
from numalab.harness.monitor import describe_node
from numalab.installation import Installation
from numalab.terminal import make_console, stripped

NAME = "model"


def explore_model(
    installation: Installation, quick: bool, rounds: int | None, json_path: Path | None, force: bool
) -> int:
    """Modelled bandwidths beside measured ones, on a node with several NUMA nodes. Raises UserError
    and NumalabError."""
    from numalab.explore import model, model_report
    from numalab.explore.explore import available_bytes

    check_json_target(json_path)
    if is_login_node() and not force:
        raise UserError(refusal(f"explore {NAME}"))
    with installation.lock(), share_node(waits, exclusive=True), progress_line(NAME) as progress:
        try:
            progress("building")
            build_explorations(installation, [installation.probe.name])
            node = describe_node(installation)
            meminfo = Path("/proc/meminfo").read_text(encoding="utf-8")
            free = available_bytes(meminfo, node["cgroup_memory_max_bytes"])
            plan = model.model_plan(node, free)
            asked = rounds or (model.QUICK_ROUNDS if quick else model.ROUNDS)
            found = model.measure(installation, plan, node, asked, progress)
        except (KeyboardInterrupt, Interrupted):
            click.echo("numalab: interrupted before anything was measured", err=True)
            return EXIT_INTERRUPTED
    console = make_console()
    with stripped(console):
        model_report.show(found, console)
    if json_path is not None:
        write_json(json_path, {"kit_version": numalab.__version__, **found.json_data()})
    if found.interrupted:
        click.echo("numalab: interrupted; what was measured so far is above", err=True)
        return EXIT_INTERRUPTED
    return EXIT_PASSED
