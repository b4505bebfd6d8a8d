"""./numalab audit: proves the labs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
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
from numalab.errors import Interrupted, UserError
from numalab.exit_codes import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_PASSED
from numalab.files import write_json
from numalab.grading.audit import answers, complaints_of, prove, prove_seeds
from numalab.grading.node_lock import share_node
from numalab.grading.request import Listener, Request, labs_in_language
from numalab.installation import Installation
from numalab.judging.rules import load_labs
from numalab.labs.declaration import LANGUAGES, Lab, choose_labs
from numalab.labs.variants import labs_with_variants

MOST_SEED = 1000


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
@click.option(
    "--seeds",
    callback=lambda context, option, text: None if text is None else _seeds(text),
    metavar="N|M-N",
    help="Prove the variants of the seeds 1 to N, or M to N, instead, without times.",
)
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Write the result.")
@click.pass_obj
def audit(
    installation: Installation,
    names: Sequence[str],
    language: str,
    on: Sequence[str],
    here_only: bool,
    seeds: range | None,
    json_path: Path | None,
) -> int:
    """Check that each handout fails exactly the criteria that lab.toml names on this
    node, and that each solution passes all.

    --seeds looks at variants: that besides the lab's own solution fails something in each, that
    another seed's mostly does, and that there are many different answers.

    \b
    Examples:
      ./numalab audit
      ./numalab audit 01 --lang c
      ./numalab audit 01 02 --on spr        on a machine that no lab names
      ./numalab audit 01 --seeds 20 --here-only
      ./numalab audit 05 --seeds 9-20       where one to 20 was interrupted
    """
    installation.need_solutions("./numalab audit")
    check_places(on, here_only)
    check_json_target(json_path)
    machines = named_machines(installation, on)
    labs = choose_labs(load_labs(installation.root), names)
    labs = labs_in_language(labs, language, bool(names), note)
    listener = Listener(start_progress=progress_line, note=note)
    if seeds is not None:
        if json_path is not None:
            raise UserError("--seeds and --json exclude each other")
        asked = Request((), language, "solution", named_machines=machines, no_vms=here_only)
        return _prove_variants(installation, labs, bool(names), seeds, asked, listener)
    try:
        with (
            installation.lock(),
            share_node(waits) as turns,
            virtual_places(installation) as places,
        ):
            asked = Request(
                labs, language, "solution", named_machines=machines, no_vms=here_only,
                is_chosen=bool(names), node_lock=turns,
            )  # fmt: skip
            node, proofs = prove(installation, asked, places, listener)
    except Interrupted:
        return EXIT_INTERRUPTED
    if json_path is not None:
        results = [proof.verdict.json_data() for proof in proofs]
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


def _seeds(text: str) -> range:
    """Of --seeds. Raises UserError."""
    found = re.fullmatch(r"(?:([1-9]\d{0,3})-)?([1-9]\d{0,3})", text, re.ASCII)
    if found is not None:
        first, last = int(found[1] or 1), int(found[2])
        if first <= last <= MOST_SEED:
            return range(first, last + 1)
    raise UserError(
        f"--seeds {text}: write how many, such as 20, or which, such as 9-20; up to {MOST_SEED}"
    )


def _prove_variants(
    installation: Installation,
    labs: Sequence[Lab],
    is_chosen: bool,
    seeds: Sequence[int],
    asked: Request,
    listener: Listener,
) -> int:
    having = labs_with_variants(installation.root)
    without = [lab.name for lab in labs if lab.name not in having]
    if without and is_chosen:
        raise UserError(
            f"{' and '.join(without)}: no variants. Labs that have: {', '.join(having)}"
        )
    languages = LANGUAGES if asked.language == "all" else (asked.language,)
    is_wrong = False
    try:
        for lab in having if not is_chosen else [lab.name for lab in labs]:
            proofs = []
            with installation.lock(), share_node(waits) as turns:
                request = replace(asked, node_lock=turns)
                for proof in prove_seeds(
                    installation, lab, seeds, languages, request, virtual_places, listener
                ):
                    proofs.append(proof)
                    apart = {None: "", True: ", the last one's fails", False: ", as the last one's"}
                    mark = "FAIL" if proof.complaints else "ok  "
                    named = f"{lab}  {proof.language:<8} seed {proof.seed}"
                    click.echo(f"{mark}  {named}{apart[proof.other_failed]}")
            different = answers(installation, lab)
            told = complaints_of(lab, proofs, different)
            for line in told:
                click.echo(click.wrap_text(line, 78, "        ", "        "))
            click.echo(f"{lab}: {different} different answers, {len(told)} complaints")
            is_wrong = is_wrong or bool(told)
    except Interrupted:
        return EXIT_INTERRUPTED
    return EXIT_FAILED if is_wrong else EXIT_PASSED
