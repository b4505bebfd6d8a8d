"""./numalab grade."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

from numalab.commands.from_records import show_records
from numalab.commands.reporter import Reporter, note, waits
from numalab.commands.shared import (
    check_json_target,
    check_places,
    labs_argument,
    machines_option,
    named_machines,
    taking_one,
    virtual_places,
)
from numalab.commands.which_lab import named_lab, variant_option
from numalab.errors import NumalabError, UserError, wrapped
from numalab.exit_codes import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_NUMALAB, EXIT_PASSED
from numalab.grading.node_lock import share_node
from numalab.grading.request import Graded, Request, labs_in_language
from numalab.harness.sandbox import NoSandbox, Sandbox, find_sandbox
from numalab.installation import Installation
from numalab.judging.rules import load_labs
from numalab.labs.declaration import LANGUAGES, choose_labs
from numalab.labs.variants import is_variant_name


@dataclass(frozen=True)
class _Options:
    """As they stand on the command line; see the help of each."""

    names: Sequence[str]
    language: str | None
    solutions: bool
    handouts: bool
    submission: Path | None
    on: Sequence[str]
    here_only: bool
    guest_kernel: Path | None
    size: str
    quick: bool
    explain: bool
    with_sandbox: bool
    require_sandbox: bool
    json_path: Path | None
    html_path: Path | None
    force: bool
    again: str | None
    records: Sequence[Path]
    afresh: bool
    earlier: Sequence[Path]
    is_variant: bool

    def check(self) -> None:
        """Raises UserError for what does not go together, before anything is begun."""
        if self.solutions + self.handouts + (self.submission is not None) > 1:
            raise UserError("--solutions, --handouts and --submission exclude each other")
        if self.quick and self.size == "published":
            raise UserError("--quick and --size published exclude each other")
        check_places(self.on, self.here_only)
        chosen = (self.solutions, self.handouts, self.submission, self.on, self.names)
        if self.records and (any(chosen) or self.language or self.quick or self.afresh):
            raise UserError(
                "--from judges records again as they were taken. Leave out labs, --lang, --on, "
                "--quick, --afresh, --submission, --solutions and --handouts."
            )
        check_json_target(self.json_path)
        check_json_target(self.html_path, "--html")

    def request(self, installation: Installation) -> Request:
        """Raises UserError and NumalabError."""
        machines = named_machines(installation, self.on)
        variant = "solution" if self.solutions else "handout" if self.handouts else "submission"
        all_labs = load_labs(installation.root)
        labs = list(all_labs.values()) if installation.origin else choose_labs(all_labs, self.names)
        labs = labs_in_language(labs, self.language, bool(self.names), note)
        submission = self.submission
        if submission is not None:
            submission = _submission_folder(submission, all_labs)
        is_own = variant == "submission" and submission is None
        return Request(
            labs,
            self.language or ("edited" if is_own else "all"),
            variant,
            submission,
            self.size,
            self.quick,
            self.force,
            named_machines=machines,
            no_vms=self.here_only,
            is_chosen=bool(self.names),
            sandbox=_chosen_sandbox(installation, self.with_sandbox, self.require_sandbox),
            afresh=self.afresh,
            earlier=[path.resolve() for path in self.earlier],
        )


def _submission_folder(path: Path, labs: Container[str]) -> Path:
    """The folder that --submission names, after a look at the usual slips."""
    if path.is_file():
        raise UserError(
            f"--submission {path} is a file; name the folder above the lab's folder, so that "
            f"DIR/NN_name/{path.name} is there"
        )
    if not path.is_dir():
        raise UserError(f"--submission {path}: there is no such folder")
    path = path.resolve()
    if path.name in labs and not (path / path.name).is_dir():
        raise UserError(
            f"--submission {path} is a lab's own folder. Did you mean --submission "
            f"{path.parent}? Files are looked for in DIR/NN_name/."
        )
    return path


def _installation_to_grade(installation: Installation, options: _Options) -> Installation:
    """This one, or that of the variant which is to be graded. Raises UserError and NumalabError."""
    if not options.is_variant and not any(is_variant_name(name) for name in options.names):
        return installation
    if len(options.names) != 1:
        raise UserError("variants are graded one at a time: name one lab, such as 01 --variant")
    above = None if options.submission is None else options.submission.resolve()
    return named_lab(installation, options.names[0], True, above)[0]


def _chosen_sandbox(
    installation: Installation, is_wanted: bool, is_required: bool
) -> Sandbox | None:
    """The sandbox of --sandbox and --require-sandbox; says in a line what there is. Raises
    NumalabError where it is required and there is none."""
    if not is_wanted and not is_required:
        return None
    sandbox = find_sandbox(installation)
    if not isinstance(sandbox, NoSandbox):
        click.echo("numalab: sandbox: bubblewrap", err=True)
        return sandbox
    told = f"sandbox: none, since {sandbox.why}"
    if is_required:
        raise NumalabError(f"{told}; nothing was graded. To have one, {sandbox.advice}")
    click.echo(
        wrapped(f"numalab: {told}. Kernels run as you. To have one, {sandbox.advice}"),
        err=True,
    )
    return None


@click.command(name="grade", short_help="Grade kernels on this node.")
@labs_argument
@click.option(
    "--lang",
    "language",
    type=click.Choice([*LANGUAGES, "all"], case_sensitive=False),
    help="Grade this language. Left out: both, or of your kernels in labs/ the one that "
    "you have edited.",
)
@click.option("--solutions", is_flag=True, help="Grade the kit's solutions.")
@click.option("--handouts", is_flag=True, help="Grade the handouts as they lie in labs/.")
@click.option(
    "--submission",
    type=click.Path(path_type=Path),
    help="Grade DIR/NN_name/kernel.* instead of the files in labs/.",
    metavar="DIR",
)
@machines_option(
    "Grade placement on this virtual node too (./numalab machine list); may be repeated."
)
@click.option(
    "--here-only",
    is_flag=True,
    help="Take no virtual node for what this node can't show.",
)
@click.option(
    "--guest-kernel",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Boot virtual nodes with this Linux kernel (vmlinuz).",
)
@click.option(
    "--size",
    type=click.Choice(["quick", "default", "published"]),
    default="default",
    help="Size of the arrays; published takes the memory of the published run.",
)
@variant_option(
    "Grade your variant of the lab (./numalab variant), with --submission DIR that in "
    "DIR/NN_name_variant/."
)
@click.option("--quick", is_flag=True, help="Small arrays and fewer runs: decided at 5 % risk.")
@click.option(
    "--explain",
    is_flag=True,
    help="Show how times were decided: each generation, and the evidence.",
)
@click.option(
    "--sandbox",
    "with_sandbox",
    is_flag=True,
    help="Compile and run kernels in a sandbox, as other people's should be.",
)
@click.option(
    "--require-sandbox",
    is_flag=True,
    help="As --sandbox, and grade nothing where there is none (exit code 3).",
)
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Write the result.")
@click.option(
    "--html",
    "html_path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the report as a page: pictures of what was seen, yours and the solution's.",
)
@click.option(
    "--afresh",
    is_flag=True,
    help="Take new times, whatever is known of this program. Left out: what was decided stands, "
    "and what is open goes on.",
)
@click.option("--force", is_flag=True, help="Take times on a login node too.")
@click.option(
    "--from",
    "records",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="RECORD",
    help="Judge a kept grading again and measure nothing: its evidence.json, or the folder of "
    "it; may be repeated.",
)
@click.option("--again", metavar="TEXT", hidden=True, help="What to do about times left open.")
@click.option(
    "--earlier",
    multiple=True,
    type=click.Path(path_type=Path),
    hidden=True,
    help="A folder with records of other gradings, by language; the newest first.",
)
@click.pass_obj
@taking_one(_Options)
def grade_command(installation: Installation, options: _Options) -> int:
    """Grade your kernels (those in labs/, unless you say otherwise).

    The same program graded again takes no new times, whatever its comments: those there are
    count, and where they leave something open more are taken.

    Exit code 0: nothing failed; 1: a criterion failed; 2: wrong use; 3: the kit could
    not grade.

    \b
    Examples:
      ./numalab grade 01 --quick             your kernels of lab 01, in seconds
      ./numalab grade 01 --lang fortran      only kernel.f90
      ./numalab grade 03 --quick --explain   and why each time was decided so
      ./numalab grade 03 --quick --afresh    with new times of the same program
      ./numalab grade 01 --variant --quick   your variant of lab 01
      ./numalab grade --submission ~/mine    ~/mine/01_first_touch/kernel.c ...
      ./numalab grade --submission hand-ins/ada --require-sandbox
      ./numalab grade 01 --on hydra          placement also on a virtual hydra
      ./numalab grade 01 --html report.html  and a page to look at, or to send
      ./numalab grade --solutions --json out.json
      ./numalab grade --from build/gnu/results/01_first_touch/c/submission
    """
    options.check()
    if options.solutions:
        installation.need_solutions("./numalab grade --solutions")
    if options.records:
        return _exit_code(
            show_records(
                installation, options.records, options.explain, options.json_path, options.html_path
            )
        )
    graded_kit = _installation_to_grade(installation, options)
    request = options.request(graded_kit)  # a mistyped name is told before anything is waited for
    with (
        installation.lock(),
        share_node(waits) as turns,
        virtual_places(graded_kit, options.guest_kernel) as places,
    ):
        request = replace(request, node_lock=turns)
        reporter = Reporter(graded_kit, request, places, options.explain, options.again)
        graded = reporter.grade()
        if options.json_path is not None:
            reporter.write_json(options.json_path, graded)
        if options.html_path is not None:
            reporter.write_html(options.html_path, graded)
        reporter.close(graded)
    return _exit_code(graded)


def _exit_code(graded: Graded) -> int:
    if graded.interrupted:
        return EXIT_INTERRUPTED
    statuses = {verdict.status for verdict in graded.verdicts}
    if "fail" in statuses:
        return EXIT_FAILED
    return EXIT_NUMALAB if "error" in statuses else EXIT_PASSED
