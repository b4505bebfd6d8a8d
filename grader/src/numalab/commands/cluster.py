"""The commands about clusters of virtual nodes: ./numalab cluster ..."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import click

from numalab.commands import guest_options
from numalab.commands.completing import complete_machine
from numalab.commands.shared import check_json_target, progress_line, taking_one
from numalab.errors import NumalabError
from numalab.files import write_json
from numalab.installation import Installation
from numalab.machines.gallery import find_machine
from numalab.virtual import cluster as clusters
from numalab.virtual import cluster_commands, guest_commands, plan
from numalab.virtual.cluster import LEAST_NODES, MOST_NODES, MOST_RATE_MBIT_S, ClusterOptions
from numalab.virtual.qemu import Card
from numalab.virtual.qemu_process import GuestFailed


@click.group(short_help="Virtual nodes with a network between them.")
def cluster() -> None:
    """Two to four virtual nodes with a network between them, for MPI over several nodes and for a
    look at what crosses the link.

    \b
    Examples:
      ./numalab cluster run hydra x2 -- mpiexec -n 4 -ppn 2 ./hello
      ./numalab cluster run hydra x2 -- bash
    """


class Times(click.ParamType[int]):
    """How many nodes, as x2."""

    name = "xN"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        found = re.fullmatch(r"x(\d{1,3})", str(value))
        if found is None or not LEAST_NODES <= int(found[1]) <= MOST_NODES:
            self.fail(
                f"{value!r} is no number of nodes; write x{LEAST_NODES} to x{MOST_NODES}",
                param, ctx,
            )  # fmt: skip
        return int(found[1])


@dataclass(frozen=True)
class RunOptions:
    """As the command's help says. What was left out is None."""

    name: str
    nodes: int
    command: Sequence[str]
    on_all: bool
    rate_mbit_s: float
    card: Card
    capture: Path | None
    json_path: Path | None
    results: Path | None
    more: Sequence[Path]
    cores: int | None
    node_memory: int | None
    guest_kernel: Path | None
    no_snapshot: bool
    boot_limit: float | None


@cluster.command(
    context_settings={"ignore_unknown_options": True},
    short_help="Run a command on several virtual nodes.",
)
@click.argument("name", shell_complete=complete_machine)
@click.argument("nodes", type=Times(), metavar="xN")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option("--on-all", is_flag=True, help="Run COMMAND on each node, not on node1 only.")
@click.option(
    "--rate",
    "rate_mbit_s",
    type=float,
    default=MOST_RATE_MBIT_S,
    metavar="MBIT_S",
    help=f"What each direction of a link carries; {MOST_RATE_MBIT_S:g} at most, and if left out.",
)
@click.option(
    "--capture",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write what crosses each node's link to DIR/node1.pcap and so on, for tcpdump and "
    "Wireshark.",
)
@click.option(
    "--card",
    type=click.Choice(get_args(Card)),
    default="virtio-net",
    help="The nodes' network card; e1000 cuts TCP segments itself, virtio-net (if left out) has "
    "Linux do it.",
)
@click.option(
    "--json",
    "json_path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write what has crossed the links to FILE.",
)
@guest_options.RESULTS
@guest_options.SHARE
@guest_options.CORES
@guest_options.NODE_MEMORY
@guest_options.GUEST_KERNEL
@guest_options.NO_SNAPSHOT
@guest_options.boot_limit("they are not up")
@click.pass_obj
@taking_one(RunOptions)
def run(installation: Installation, asked: RunOptions) -> int:
    """Boot the machine NAME two to four times (x2 to x4) as nodes of a cluster, run COMMAND on the
    first one, and end them.

    They are called node1, node2 and so on, with the addresses 10.0.0.1 and so on. mpiexec starts
    ranks on all of them; numalab-remote node2 COMMAND, in / of each, starts any command there. What
    they see of this host is as for ./numalab machine run. At the end you are told what has crossed
    each node's link, starting the ranks included.

    \b
    Examples:
      ./numalab cluster run hydra x2 -- mpiexec -n 4 -ppn 2 ./hello
      ./numalab cluster run hydra x2 --rate 10 -- mpiexec -n 2 -ppn 1 ./ring
      ./numalab cluster run hydra x2 --capture out -- mpiexec -n 2 -ppn 1 ./ring
      ./numalab cluster run laptop x4 --on-all -- hostname
      ./numalab cluster run hydra x2 -- bash
    """
    options = ClusterOptions(asked.nodes, asked.rate_mbit_s, asked.card, asked.capture)
    clusters.check_options(options)
    check_json_target(asked.json_path)
    described = find_machine(installation, asked.name)
    folder = Path.cwd()
    written = None if asked.results is None else guest_commands.results_folder(asked.results)
    shares = guest_commands.shares_for(folder, written, asked.more)
    of_each = plan.GuestOptions(
        asked.cores,
        False,
        asked.node_memory,
        asked.guest_kernel,
        asked.boot_limit,
        not asked.no_snapshot,
    )
    with progress_line(f"{described.name} x{asked.nodes}") as progress:
        guest_options.build_what_is_needed(installation, progress, is_cluster=True)
        booted = clusters.boot_cluster(installation, described, shares, options, of_each, progress)
    with booted:
        guest_options.tell_of_scaling(booted.guests[0].plan)
        start = cluster_commands.run_on_all if asked.on_all else cluster_commands.run_on_first
        code = start(booted, asked.command, folder, written)
        try:
            counts = booted.counts()
        except GuestFailed as error:
            raise NumalabError(str(error)) from error
    click.echo(cluster_commands.counts_text(booted.names, counts, options.rate_mbit_s), err=True)
    if asked.json_path is not None:
        write_json(
            asked.json_path,
            cluster_commands.json_record(described.name, options, counts, code),
        )
    return code
