"""./numalab audit: proves the labs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from numalab.commands.reporter import note, waits
from numalab.commands.shared import (
    check_json_target,
    check_places,
    labs_argument,
    machines_option,
    named_machines,
    progress_line,
    virtual_places,
)
from numalab.errors import Interrupted
from numalab.exit_codes import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_PASSED
from numalab.files import write_json
from numalab.grading.audit import prove
from numalab.grading.request import Listener, Request
from numalab.grading.turns import shared_node
from numalab.kit import Kit
from numalab.labs.declaration import LANGUAGES, choose_labs, load_labs


@click.command(short_help="Prove the labs: handouts fail as declared, solutions pass.")
@labs_argument
@click.option(
    "--lang",
    "language",
    type=click.Choice([*LANGUAGES, "all"], case_sensitive=False),
    default="all",
    help="Prove this language. Left out: both.",
)
@machines_option("Prove placement on this virtual node, and on no other; may be repeated.")
@click.option("--here-only", is_flag=True, help="Prove what this node can show, no more.")
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Write the result.")
@click.pass_obj
def audit(
    kit: Kit,
    names: Sequence[str],
    language: str,
    on: Sequence[str],
    here_only: bool,
    json_path: Path | None,
) -> int:
    """Check that each handout fails exactly the criteria that lab.toml names on this
    node, and that each solution passes all.

    \b
    Examples:
      ./numalab audit
      ./numalab audit 01 --lang c
      ./numalab audit 01 02 --on spr        on a machine that no lab names
    """
    kit.need_solutions("./numalab audit")
    check_places(on, here_only)
    check_json_target(json_path)
    machines = named_machines(kit, on)
    labs = choose_labs(load_labs(kit.root), names)
    listener = Listener(on_progress=progress_line, on_note=note)
    try:
        with shared_node(waits) as turns, kit.lock(), virtual_places(kit) as places:
            asked = Request(
                labs, language, "solution", on=machines, here_only=here_only,
                is_chosen=bool(names), turns=turns,
            )  # fmt: skip
            node, proofs = prove(kit, asked, places, listener)
    except Interrupted:
        return EXIT_INTERRUPTED
    if json_path is not None:
        results = [proof.verdict.to_json() for proof in proofs]
        write_json(json_path, {"schema": 1, "node": node, "results": results})
    wrong = sum(bool(proof.complaints) for proof in proofs)
    for proof in proofs:
        verdict = proof.verdict
        mark = "FAIL" if proof.complaints else "ok  "
        click.echo(f"{mark}  {verdict.lab}  {verdict.language:<8} {verdict.variant}")
        for line in proof.complaints:
            click.echo(click.wrap_text(line, 78, "        ", "        "))
        unproven = dict.fromkeys(c.name for c in verdict.criteria if c.status == "not_gradable")
        if unproven and not proof.complaints:
            told = f"not shown on this node: {', '.join(unproven)}"
            click.echo(click.wrap_text(told, 78, "        ", "        "))
    click.echo(f"{len(proofs) - wrong} of {len(proofs)} as declared")
    return EXIT_FAILED if wrong else EXIT_PASSED
