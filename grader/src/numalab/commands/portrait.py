"""./numalab portrait."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from numalab.commands.reporter import waits
from numalab.commands.shared import check_json_target, progress_line, shown_path
from numalab.errors import Interrupted, UserError
from numalab.exit_codes import EXIT_INTERRUPTED, EXIT_PASSED
from numalab.files import write_json, write_whole
from numalab.grading.login_node import is_login_node, refusal
from numalab.grading.node_lock import share_node
from numalab.installation import Installation
from numalab.terminal import make_console, stripped

if TYPE_CHECKING:
    from numalab.portrait.record import Portrait


@click.command(short_help="What this node's caches, memory and links can do.")
@click.option("--rounds", type=click.IntRange(1, 1000), help="How often everything is run.")
@click.option(
    "--html", "html_path", type=click.Path(path_type=Path), metavar="FILE",
    help="Write one page, with pictures.",
)  # fmt: skip
@click.option(
    "--json", "json_path", type=click.Path(path_type=Path), metavar="FILE",
    help="Write all values (node.json).",
)  # fmt: skip
@click.option(
    "--from", "from_path", type=click.Path(path_type=Path), metavar="FILE",
    help="Show a portrait that --json wrote; nothing is measured.",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Take times on a login node too.")
@click.pass_obj
def portrait(
    installation: Installation,
    rounds: int | None,
    html_path: Path | None,
    json_path: Path | None,
    from_path: Path | None,
    force: bool,
) -> int:
    """What this node's caches, memory and links can do: latency over working sets, beside hwloc's
    caches; latency and bandwidth of every pair of NUMA nodes; bandwidth over threads, compact and
    spread; the knee of the TLB. About a minute with few cores, some minutes with many NUMA nodes.

    Each process of the probe is one sample, and each round runs all of them in random order;
    intervals are over processes. Ctrl-C ends it and shows what there is by then. All values are
    kept in build/.../portrait/node.json.

    In a job it measures the PUs that the job may use. Times of virtual machines of ./numalab
    machine mean nothing, so it knows no --on.

    \b
    Examples:
      ./numalab portrait                                 here, some rounds
      ./numalab portrait --html node.html                a page to keep
      ./numalab portrait --rounds 15 --json node.json    surer, and as values
      ./numalab portrait --from node.json --html a.html  another node's, as a page
      srun --exclusive -N1 ./numalab portrait            on a cluster
    """
    from numalab.portrait.measure import measure
    from numalab.portrait.record import load_portrait

    check_json_target(json_path)
    check_json_target(html_path, "--html")
    kept = None
    if from_path is not None:
        if rounds is not None:
            raise UserError("--from shows what was measured; leave out --rounds")
        found = load_portrait(from_path)
    else:
        if is_login_node() and not force:
            raise UserError(refusal("portrait"))
        with installation.lock(), share_node(waits, exclusive=True):
            with progress_line("portrait") as progress:
                try:
                    found = measure(installation, rounds, progress)
                except (KeyboardInterrupt, Interrupted):
                    click.echo("numalab: interrupted before anything was measured", err=True)
                    return EXIT_INTERRUPTED
            kept = installation.build / "portrait" / "node.json"
            kept.parent.mkdir(parents=True, exist_ok=True)
            write_json(kept, found.json_data(), indent=None)
    try:
        _show(installation, found, html_path)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        if from_path is None:
            raise
        raise UserError(f"{from_path} is no whole portrait: {error!r}") from error
    if json_path is not None:
        write_json(json_path, found.json_data())
    written = [path for path in (kept, json_path, html_path) if path is not None]
    if written:
        click.echo(f"\nKept in: {', '.join(str(shown_path(path)) for path in written)}")
    if found.interrupted and from_path is None:
        click.echo("numalab: interrupted; what was measured so far is above", err=True)
        return EXIT_INTERRUPTED
    return EXIT_PASSED


def _show(installation: Installation, found: Portrait, html_path: Path | None) -> None:
    """In the terminal, and as a page where one is asked for."""
    from numalab.portrait.terminal import show

    console = make_console()
    with stripped(console):
        show(found, console)
    if html_path is not None:
        from numalab.palette import keep_matplotlib_in
        from numalab.reports.portrait_page import portrait_page

        keep_matplotlib_in(installation.build / "explore" / "matplotlib")
        write_whole(html_path, portrait_page(found))
