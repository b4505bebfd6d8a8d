"""The command line. Input and output live here and in report; decisions do not."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

import numalab
from numalab.commands.batch import batch as batch_commands
from numalab.commands.completing import complete_lab, complete_machine
from numalab.commands.completion import completion as completion_command
from numalab.commands.gradebook import gradebook as gradebook_commands
from numalab.commands.hint import hint as hint_command
from numalab.commands.launch import launch as launch_command
from numalab.commands.machine import machine as machine_commands
from numalab.commands.notebook import notebook as notebook_command
from numalab.commands.progress import progress as progress_command
from numalab.commands.report import report as report_command
from numalab.commands.watch import watch as watch_command
from numalab.errors import Interrupted, KitError, UserError, reason_of, wrapped
from numalab.exit_codes import (
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_KIT,
    EXIT_MISUSE,
    EXIT_PASSED,
    EXIT_SKIPPED,
)
from numalab.files import partial_path, write_json, write_whole
from numalab.grading.login_node import on_login_node, refusal
from numalab.grading.turns import NOBODY_ELSE, Turns, shared_node
from numalab.judging.effort import effort_for
from numalab.kit import Kit, find_kit
from numalab.labs.declaration import LANGUAGES, Lab, choose_labs, load_labs
from numalab.terminal import make_console, stripped

if TYPE_CHECKING:  # their modules are imported when a command needs them
    from numalab.doctor.findings import Finding
    from numalab.grading.grade import Session
    from numalab.grading.graded import GradedKernel
    from numalab.harness.sandbox import Sandbox
    from numalab.judging.verdict import Verdict
    from numalab.machines.machine import Machine
    from numalab.virtual.place import VirtualPlaces

AUDIT_TRIES = 5  # where times stay open; each goes on where the one before stopped
# Of pytest, each with a build folder of its own (grader/tests/conftest.py): much of it waits for
# virtual nodes, so that two cores have room for a third.
PROCESSES = ("--numprocesses=3",)


def _stop(number: int, frame: FrameType | None) -> None:
    del number, frame
    raise KeyboardInterrupt


def main() -> None:
    """Runs a command; the one place that turns errors into messages and exit codes."""
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGHUP, _stop)
    try:
        code = cli.main(prog_name="numalab", standalone_mode=False)
    except click.ClickException as error:
        code = _correct(error)
    except UserError as error:
        code = _complain(error, EXIT_MISUSE)
    except KitError as error:
        code = _complain(error, EXIT_KIT)
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = EXIT_PASSED
        else:
            code = _complain(KitError(reason_of(error)), EXIT_KIT)
    except (click.Abort, KeyboardInterrupt, Interrupted):
        click.echo("numalab: interrupted", err=True)
        code = EXIT_INTERRUPTED
    sys.exit(code if isinstance(code, int) else EXIT_PASSED)


def _complain(error: Exception, code: int) -> int:
    click.echo(wrapped(f"numalab: {error}"), err=True)
    return code


def _correct(error: click.ClickException) -> int:
    """Says what was wrong with the command line, as click does, in 80 columns."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.format_message(), err=True)  # the help, and nothing was wrong
        return EXIT_MISUSE
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is not None:
        click.echo(context.get_usage(), err=True)
        click.echo(f"Try './{context.command_path} --help' for help and examples.\n", err=True)
    click.echo(wrapped(f"Error: {error.format_message()}"), err=True)
    return EXIT_MISUSE


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80})
@click.version_option(numalab.__version__)
@click.option(
    "--preset",
    default=lambda: os.environ.get("NUMALAB_PRESET", "gnu"),
    show_default="gnu",
    help="CMake preset to build with: gnu (gcc, gfortran) or llvm (clang, gfortran).",
)
@click.pass_context
def cli(context: click.Context, preset: str) -> None:
    """Labs on NUMA, OpenMP and MPI performance, and their grader.

    \b
    Start here:
      ./numalab doctor             what this node can show
      ./numalab grade 01           grade your kernels of lab 01
      ./numalab watch 01           grade them whenever you save
      ./numalab hint 01            the next hint
      ./numalab progress           what you have done, and what comes next
    """
    context.obj = find_kit(preset)


def _labs_argument(function: Callable[..., Any]) -> Callable[..., Any]:
    return click.argument("names", metavar="[LAB]...", nargs=-1, shell_complete=complete_lab)(
        function
    )


# ---- progress ------------------------------------------------------------------


@contextmanager
def progress_line(title: str) -> Iterator[Callable[[str], None]]:
    """A line that says what is going on: live at a terminal, else one line a step."""
    from numalab.terminal import make_console

    console = make_console(to_stderr=True)
    if console.is_terminal:
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
        from rich.table import Column

        # A long step gives way, not the clock.
        step_column = TextColumn("{task.description}", table_column=Column(ratio=1, no_wrap=True))
        columns = (SpinnerColumn(), TimeElapsedColumn(), step_column)
        # Twice a second, so as not to be seen in a timing.
        with Progress(
            *columns, console=console, transient=True, refresh_per_second=2, expand=True
        ) as bar:
            task = bar.add_task(f"{title}: starting")
            yield lambda step: bar.update(task, description=f"{title}: {step}")
        return
    said: list[str] = []

    def say(step: str) -> None:
        step = re.split(r", (?=[^,]*\d)", step)[0]  # not one line a generation
        if step not in said:
            said.append(step)
            click.echo(f"{title}: {step}", err=True)

    yield say


# ---- setup and test ----------------------------------------------------------------


@cli.command()
@click.option("--yes", is_flag=True, help="Install system packages without asking.")
@click.pass_obj
def setup(kit: Kit, yes: bool) -> None:
    """Install what is missing and build the kit; safe to repeat.

    \b
    Examples:
      ./numalab setup
      ./numalab setup --yes                    without asking
      ./numalab --preset llvm setup            with clang instead of gcc
    """
    del yes  # the launcher has acted on it before this program could start
    from numalab.harness.build import build_kit, configure

    with kit.lock(), progress_line("setup") as progress:
        progress("configuring")
        configure(kit)
        progress("building")
        workers = [
            kit.worker(lab.name, language, "solution").name
            for lab in _with_mpi(kit, list(load_labs(kit.root).values()), False)
            for language in lab.languages
        ]
        build_kit(kit, ["all", *workers])
        unable = _prepare_virtual_nodes(kit, progress)
    if unable:
        click.echo(f"numalab: no virtual nodes here: {unable}", err=True)
    click.echo(f"numalab is ready ({kit.build}). Next: ./numalab doctor")


def _prepare_virtual_nodes(kit: Kit, progress: Callable[[str], None]) -> str | None:
    """Fetches and builds what they need; otherwise the first of them does. Returns why
    that can't be done."""
    from numalab.virtual import host, plan
    from numalab.virtual.guest import find_qemu
    from numalab.virtual.kernel import find_kernel

    try:
        find_qemu()
        find_kernel(host.cache_folder() / "kernels", None, progress)
        plan.build_programs(kit)
    except (UserError, KitError) as error:
        return str(error)
    except OSError as error:
        return reason_of(error)
    return None


@cli.command(
    context_settings={"ignore_unknown_options": True},
    short_help="Run the whole test suite.",
)
@click.argument("pytest_arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_obj
def test(kit: Kit, pytest_arguments: Sequence[str]) -> int:
    """Run the whole test suite: unit tests in C, then the grader's in Python.

    \b
    Examples:
      ./numalab test
      ./numalab test -k judge        only the Python tests whose name fits
    """
    import tempfile

    from numalab.commands.suite import count_tests
    from numalab.harness.build import build_kit, configure

    with kit.lock(), progress_line("test") as progress:
        configure(kit)
        progress("building")
        build_kit(kit, ["all"])
        _prepare_virtual_nodes(kit, progress)
    with tempfile.TemporaryDirectory() as folder:
        reports = [Path(folder) / "ctest.xml", Path(folder) / "pytest.xml"]
        codes = []
        if not pytest_arguments:
            command = ["ctest", "--test-dir", str(kit.build), "-L", "unit", "--output-on-failure"]
            codes.append(subprocess.call([*command, "--output-junit", str(reports[0])]))
        codes.append(
            subprocess.call(
                [sys.executable, "-m", "pytest", "-p", "no:cacheprovider",
                 f"--junitxml={reports[1]}", *(pytest_arguments or PROCESSES)],
                cwd=kit.root / "grader",
                env=os.environ | {"NUMALAB_PRESET": kit.preset},
            )
        )  # fmt: skip
        passed, failed, skipped = count_tests(path for path in reports if path.is_file())
    click.echo(f"numalab: {passed} passed, {failed} failed, {skipped} skipped")
    return EXIT_FAILED if any(codes) or failed or not passed else EXIT_PASSED


# ---- grade ---------------------------------------------------------------------------


def _source(kit: Kit, lab: Lab, variant: str, submission: Path | None) -> Path:
    if variant == "solution":
        return kit.solution_folder(lab.name)
    if variant == "submission" and submission is not None:
        return submission / lab.name
    return kit.lab_folder(lab.name)


def check_json_target(path: Path | None, option: str = "--json") -> None:
    """Finds out before the measuring whether the result can be written after it."""
    if path is None:
        return
    folder = path.parent
    if path.is_dir():
        raise UserError(f"{option} {path}: that is a folder; name a file in it")
    if not folder.is_dir():
        raise UserError(f"{option} {path}: there is no folder {folder}; make it first")
    try:
        partial_path(path).write_text("")
        partial_path(path).unlink()
    except OSError as error:
        raise UserError(
            f"{option} {path}: {folder} is not writable ({error.strerror}); choose another place"
        ) from error


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


def _chosen_languages(lab: Lab, choice: str) -> list[str]:
    return [language for language in lab.languages if choice in ("all", language)]


def _edited_language(kit: Kit, lab: Lab) -> str:
    """The one language whose kernel in labs/ has been edited; "all" if both or none."""
    from numalab.learning.progress import edited_languages

    edited = edited_languages(kit, lab)
    return edited[0] if len(edited) == 1 else "all"


def _kernels(kit: Kit, labs: Sequence[Lab], choice: str) -> Iterator[tuple[Lab, str]]:
    """Which kernels to grade: labs x languages. choice: a language, "all", or "edited",
    which leaves out the one that is still the handout while the other is not."""
    from numalab.labs.declaration import LANGUAGE_NAMES

    for lab in labs:
        chosen = _edited_language(kit, lab) if choice == "edited" else choice
        languages = _chosen_languages(lab, chosen)
        for other in lab.languages:
            if choice == "edited" and other not in languages:
                click.echo(
                    f"{lab.name} {LANGUAGE_NAMES[other]}: still the handout, not graded "
                    f"(--lang {other} grades it)",
                    err=True,
                )
        yield from ((lab, language) for language in languages)


@dataclass(frozen=True)
class Request:
    """What is to be graded, and where. is_chosen: the labs were named, they are not all; on:
    machines that were named; here_only: no virtual node either for what this node can't show;
    explain: show how the times were decided; no_times: why none are taken, and then nothing is
    kept of the session, so that a timing that stayed open goes on where it stopped; again:
    what to do about times that stayed open, this command if left out; before_report: called
    once, before anything is shown; sandbox: what kernels are compiled and run in on this node;
    turns: with other gradings on it."""

    labs: Sequence[Lab]
    language: str
    variant: str
    submission: Path | None = None
    size: str = "default"
    quick: bool = False
    force: bool = False
    json_path: Path | None = None
    show: bool = True
    on: Sequence[Machine] = ()
    here_only: bool = False
    is_chosen: bool = True
    explain: bool = False
    html_path: Path | None = None
    no_times: str | None = None
    again: str | None = None
    before_report: Callable[[], None] = lambda: None
    sandbox: Sandbox | None = None
    turns: Turns = NOBODY_ELSE

    @property
    def is_own(self) -> bool:
        """Of the learner's files in labs/."""
        return self.variant == "submission" and self.submission is None

    @property
    def machine_names(self) -> list[str] | None:
        """Of the virtual nodes that were asked for; None: those that the lab has."""
        return [one.name for one in self.on] if self.on or self.here_only else None


@dataclass(frozen=True)
class Graded:
    """What came of it, as far as it came. node: this one's description."""

    verdicts: list[Verdict]
    interrupted: bool
    node: dict[str, Any]


def _build_own_programs(kit: Kit, labs: Sequence[Lab], is_chosen: bool) -> list[Lab]:
    """Returns the labs that this build has: those on MPI only where there is MPI. Raises
    UserError if one of those was chosen."""
    from numalab.harness.build import build_kit, configure

    if not kit.describe_node.is_file():
        with progress_line("numalab") as progress:
            progress("building the kit, for the first time")
            configure(kit)
            build_kit(kit, ["describe_node"])
    there = _with_mpi(kit, labs, is_chosen)
    build_kit(kit, ["describe_node", *(kit.monitor(lab.name).name for lab in there)])
    return there


def _with_mpi(kit: Kit, labs: Sequence[Lab], is_chosen: bool) -> list[Lab]:
    """The labs, without those on MPI where the kit was configured without. Raises UserError
    if is_chosen and one of them is left out."""
    from numalab.harness.build import MPI_REMEDY, mpi_of

    there = [lab for lab in labs if not lab.mpi or mpi_of(kit)]
    left_out = [lab.name for lab in labs if lab not in there]
    if left_out:
        told = f"{' and '.join(left_out)}: this build of the kit has no MPI; {MPI_REMEDY}."
        if is_chosen:
            raise UserError(told)
        click.echo(click.wrap_text(f"numalab: {told}", 78), err=True)
    return there


def grade_all(kit: Kit, request: Request, places: VirtualPlaces) -> Graded:
    """Grades labs x languages of one variant; shows and writes what the request says."""
    from numalab.grading import grade
    from numalab.grading.elsewhere import grade_elsewhere, left_open, left_out
    from numalab.grading.graded import GradedKernel
    from numalab.harness import monitor
    from numalab.harness.build import build_kit
    from numalab.harness.sandbox import level_of
    from numalab.judging.timing_account import timing_accounts, with_timing
    from numalab.judging.verdict import of_machine
    from numalab.labs import declaration
    from numalab.labs.hints import seen_hints
    from numalab.machines.machine import find_machine
    from numalab.reports import report
    from numalab.reports.timing_plot import timing_lines

    console = make_console()
    labs = _build_own_programs(kit, request.labs, request.is_chosen)
    if request.sandbox is not None:
        build_kit(kit, [request.sandbox.confine.name])
    node = monitor.describe_node(kit)
    refused = request.no_times
    if refused is None and on_login_node() and not request.force:
        refused = refusal("grade")
    effort = effort_for(request.size, request.quick)
    started = float(os.environ.get("NUMALAB_STARTED", "0") or 0)
    before_s = max(0.0, time.time() - started) if started else 0.0
    results: list[dict[str, Any]] = []
    verdicts: list[Verdict] = []
    kernels: list[GradedKernel] = []
    machines: dict[str, Any] = {}
    interrupted = False
    not_kept = None
    for lab, one in _kernels(kit, labs, request.language):
        folder = _source(kit, lab, request.variant, request.submission)
        title = (
            f"{lab.name} {declaration.LANGUAGE_NAMES[one]} {report.VARIANT_NAMES[request.variant]}"
        )
        with progress_line(title) as progress:
            session = grade.Session(
                kit, lab, one, request.variant, folder, effort, node, progress,
                timing_refused=refused, sandbox=request.sandbox, turns=request.turns,
            )  # fmt: skip
            session.spent_s["set-up check"] = before_s
            before_s = 0.0
            elsewhere: list[Session] = []
            try:
                verdict = grade.grade(session)
            except Interrupted:
                interrupted = True
                names = request.machine_names
                verdict = left_open(
                    session, session.verdict(), lab.machines if names is None else names,
                    are_the_labs=names is None,
                )  # fmt: skip
            try:
                if not request.here_only and not interrupted:
                    verdict, elsewhere = grade_elsewhere(session, verdict, request.on, places)
            except Interrupted as error:
                interrupted = True
                verdict, elsewhere = error.args
            try:
                if request.no_times is None:
                    session.keep(verdict)
                    for there in elsewhere:
                        there.keep(of_machine(there.verdict(), there.place.name))
                if request.is_own:
                    _keep_progress(kit, lab, verdict, request, interrupted)
            except KitError as error:  # the report is worth more than its copy
                not_kept = str(error)
        verdicts.append(verdict)
        accounts = timing_accounts(lab, verdict, session.evidence)
        results.append(
            with_timing(verdict.to_json(), accounts)
            | {
                "build": asdict(session.evidence.build),
                "spent_s": {key: round(s, 3) for key, s in session.spent_s.items()},
            }
        )
        machines |= {there.place.name: there.machine for there in elsewhere}
        seen = [("here", session.evidence)]
        seen += [(there.place.name, there.evidence) for there in elsewhere]
        unchanged = grade.is_pristine(kit, lab, one, folder, with_placements=True)
        command = f"./numalab {shlex.join(sys.argv[1:])}"
        again = request.again or report.grade_again(command)
        published = find_machine(kit, "hydra").latencies if lab.mpi else ()
        hints = seen_hints(kit.hints_file).get(lab.name, {})
        kernels.append(
            GradedKernel(lab, verdict, seen, accounts, unchanged, again, published, hints)
        )
        if request.show:
            if len(kernels) == 1:
                request.before_report()
            explained = (
                timing_lines(lab, accounts, session.evidence, console.width - 4)
                if request.explain
                else []
            )
            report.show_verdict(
                console, lab, verdict, seen, unchanged, again, published, explained, hints
            )
        if interrupted:
            break
    if request.show:
        for name in machines:
            click.echo("\n" + click.wrap_text(f"({places.note(name)})", 78))
        graded_labs = {one.lab.name: one.lab for one in kernels}
        for lab in graded_labs.values():
            missing = left_out(lab, [machine.name for machine in request.on])
            if missing is not None:
                click.echo("\n" + click.wrap_text(f"({missing})", 78))
        report.show_summary(console, verdicts)
    data = {
        "schema": 1,
        "kit_version": numalab.__version__,
        "interrupted": interrupted,
        "sandbox": level_of(request.sandbox),
        "node": {key: value for key, value in node.items() if key != "pu_list"},
        "machines": list(machines.values()),
        "results": results,
    }
    if request.json_path is not None:
        try:
            write_json(request.json_path, data)
        except OSError as error:
            raise KitError(
                f"the results can't be written to {request.json_path}: {error}"
            ) from error
    if request.html_path is not None:
        notes = [(name, places.note(name)) for name in machines]
        _write_html(kit, request.html_path, kernels, node, notes, interrupted)
    if not_kept is not None:
        click.echo(f"numalab: {not_kept}", err=True)
    if interrupted and request.show:
        click.echo("numalab: interrupted; what was found so far is above", err=True)
    return Graded(verdicts, interrupted, node)


def _keep_progress(
    kit: Kit, lab: Lab, verdict: Verdict, request: Request, interrupted: bool
) -> None:
    """Raises KitError."""
    from numalab.learning import progress

    is_untimed = request.no_times is not None
    result = progress.result_of(
        lab, verdict, progress.now(), request.quick, is_untimed, request.machine_names, interrupted
    )
    progress.keep_result(kit, lab, verdict, result)


def _write_html(
    kit: Kit,
    path: Path,
    kernels: Sequence[GradedKernel],
    node: dict[str, Any],
    machines: Sequence[tuple[str, str]],
    interrupted: bool,
) -> None:
    """Raises KitError."""
    from datetime import datetime

    from numalab.grading.graded import Occasion, Submission
    from numalab.palette import keep_matplotlib_in

    graded_at = datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z")
    occasion = Occasion(graded_at, node, machines, interrupted)
    try:
        with progress_line("page") as progress:
            progress("drawing")
            keep_matplotlib_in(kit.build / "matplotlib")
            from numalab.reports.html_page import page

            write_whole(path, page([Submission("", kernels)], occasion))
    except (ImportError, OSError) as error:
        raise KitError(f"the page can't be written to {path}: {error}") from error
    click.echo(f"\nPage: {_short(path)}")


def named_machines(kit: Kit, names: Sequence[str]) -> list[Machine]:
    """The machines of --on, each once. Raises UserError."""
    if not names:
        return []
    from numalab.machines.machine import find_machine

    found: dict[str, Machine] = {}
    for name in names:
        machine = find_machine(kit, name)
        if found.setdefault(machine.name, machine).text != machine.text:
            raise UserError(
                f"--on {name}: there are two machines of the name {machine.name}; call your own "
                "something else (its file too)"
            )
    return list(found.values())


def virtual_places(kit: Kit, guest_kernel: Path | None = None) -> VirtualPlaces:
    from numalab.virtual.place import VirtualPlaces
    from numalab.virtual.plan import Wish

    return VirtualPlaces(kit, Wish(guest_kernel=guest_kernel))


def _chosen_sandbox(kit: Kit, is_wanted: bool, is_required: bool) -> Sandbox | None:
    """The sandbox of --sandbox and --require-sandbox; says in a line what there is. Raises
    KitError where it is required and there is none."""
    if not is_wanted and not is_required:
        return None
    from numalab.harness.sandbox import Unable, find_sandbox

    found = find_sandbox(kit)
    if not isinstance(found, Unable):
        click.echo("numalab: sandbox: bubblewrap", err=True)
        return found
    told = f"sandbox: none, since {found.why}"
    if is_required:
        raise KitError(f"{told}; nothing was graded. To have one, {found.remedy}.")
    click.echo(
        wrapped(f"numalab: {told}. Kernels run as you. To have one, {found.remedy}."), err=True
    )
    return None


@cli.command(name="grade", short_help="Grade kernels on this node.")
@_labs_argument
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
@click.option(
    "--on",
    "on",
    multiple=True,
    metavar="MACHINE",
    shell_complete=complete_machine,
    help="Grade placement on this virtual node too (./numalab machine list); may be repeated.",
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
@click.option("--force", is_flag=True, help="Take times on a login node too.")
@click.option("--again", metavar="TEXT", hidden=True, help="What to do about times left open.")
@click.pass_obj
def grade_command(
    kit: Kit,
    names: Sequence[str],
    language: str | None,
    solutions: bool,
    handouts: bool,
    submission: Path | None,
    on: Sequence[str],
    here_only: bool,
    guest_kernel: Path | None,
    size: str,
    quick: bool,
    explain: bool,
    with_sandbox: bool,
    require_sandbox: bool,
    json_path: Path | None,
    html_path: Path | None,
    force: bool,
    again: str | None,
) -> int:
    """Grade your kernels (those in labs/, unless you say otherwise).

    Exit code 0: nothing failed; 1: a criterion failed; 2: wrong use; 3: the kit could
    not grade.

    \b
    Examples:
      ./numalab grade 01 --quick             your kernels of lab 01, in seconds
      ./numalab grade 01 --lang fortran      only kernel.f90
      ./numalab grade 03 --quick --explain   and why each time was decided so
      ./numalab grade --submission ~/mine    ~/mine/01_first_touch/kernel.c ...
      ./numalab grade --submission hand-ins/ada --require-sandbox
      ./numalab grade 01 --on hydra          placement also on a virtual hydra
      ./numalab grade 01 --html report.html  and a page to look at, or to send
      ./numalab grade --solutions --json out.json
    """
    if solutions + handouts + (submission is not None) > 1:
        raise UserError("--solutions, --handouts and --submission exclude each other")
    if quick and size == "published":
        raise UserError("--quick and --size published exclude each other")
    if on and here_only:
        raise UserError(
            "--on and --here-only exclude each other. --on alone grades on this node and on the "
            "machine that it names, and on no others; --here-only on this node alone."
        )
    check_json_target(json_path)
    check_json_target(html_path, "--html")
    machines = named_machines(kit, on)
    variant = "solution" if solutions else "handout" if handouts else "submission"
    all_labs = load_labs(kit.root)
    labs = choose_labs(all_labs, names)
    if submission is not None:
        submission = _submission_folder(submission, all_labs)
    if language is None:
        language = "edited" if variant == "submission" and submission is None else "all"
    sandbox = _chosen_sandbox(kit, with_sandbox, require_sandbox)
    request = Request(
        labs, language, variant, submission, size, quick, force, json_path,
        on=machines, here_only=here_only, is_chosen=bool(names), explain=explain,
        html_path=html_path, again=again, sandbox=sandbox,
    )  # fmt: skip
    with shared_node() as turns, kit.lock(), virtual_places(kit, guest_kernel) as places:
        graded = grade_all(kit, replace(request, turns=turns), places)
    if graded.interrupted:
        return EXIT_INTERRUPTED
    statuses = {verdict.status for verdict in graded.verdicts}
    if "fail" in statuses:
        return EXIT_FAILED
    return EXIT_KIT if "error" in statuses else EXIT_PASSED


@cli.command(short_help="Prove the labs: handouts fail as declared, solutions pass.")
@_labs_argument
@click.option(
    "--lang",
    "language",
    type=click.Choice([*LANGUAGES, "all"], case_sensitive=False),
    default="all",
    help="Prove this language. Left out: both.",
)
@click.option("--here-only", is_flag=True, help="Prove what this node can show, no more.")
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Write the result.")
@click.pass_obj
def audit(
    kit: Kit, names: Sequence[str], language: str, here_only: bool, json_path: Path | None
) -> int:
    """Check that each handout fails exactly the criteria that lab.toml names on this
    node, and that each solution passes all.

    \b
    Examples:
      ./numalab audit
      ./numalab audit 01 --lang c
    """
    from numalab.judging.audit import complaints, is_refuted

    check_json_target(json_path)
    labs = choose_labs(load_labs(kit.root), names)

    verdicts: list[Verdict] = []
    node: dict[str, Any] = {}
    numa_nodes: dict[str, int] = {}
    mode: str | None = None
    with kit.lock(), virtual_places(kit) as places:
        labs = _build_own_programs(kit, labs, bool(names))
        for lab in labs:
            for variant in ("handout", "solution"):
                for one in _chosen_languages(lab, language):
                    request = Request(
                        [lab], one, variant, size="quick", quick=True, force=True, show=False,
                        here_only=here_only,
                    )  # fmt: skip
                    for _ in range(AUDIT_TRIES):
                        graded = grade_all(kit, request, places)
                        node = graded.node
                        if graded.interrupted:
                            return EXIT_INTERRUPTED
                        verdict = graded.verdicts[0]
                        is_open = "inconclusive" in verdict.statuses.values()
                        numa_nodes = {"here": node["numa_nodes"], **places.numa_nodes()}
                        mode = node.get("huge_page_mode")
                        if not is_open or is_refuted(lab, verdict, numa_nodes, mode):
                            break
                    verdicts.append(graded.verdicts[0])
    if json_path is not None:
        results = [verdict.to_json() for verdict in verdicts]
        write_json(json_path, {"schema": 1, "node": node, "results": results})
    by_name = {lab.name: lab for lab in labs}
    wrong = 0
    for verdict in verdicts:
        found = complaints(by_name[verdict.lab], verdict, numa_nodes, mode)
        unproven = [c.name for c in verdict.criteria if c.status == "not_gradable"]
        mark = "FAIL" if found else "ok  "
        click.echo(f"{mark}  {verdict.lab}  {verdict.language:<8} {verdict.variant}")
        for line in found:
            click.echo(click.wrap_text(line, 78, "        ", "        "))
        if unproven and not found:
            click.echo(f"        not shown on this node: {', '.join(unproven)}")
        wrong += bool(found)
    click.echo(f"{len(verdicts) - wrong} of {len(verdicts)} as declared")
    return EXIT_FAILED if wrong else EXIT_PASSED


# ---- doctor and explore --------------------------------------------------------------------


def _examine_virtual_nodes(kit: Kit, progress: Callable[[str], None]) -> Finding:
    from numalab.doctor.doctor import virtual_nodes
    from numalab.virtual import host

    unable = _prepare_virtual_nodes(kit, progress)
    if unable is not None:
        return virtual_nodes(unable, None)
    found = host.examine(kit.probe_host, host.cache_folder())
    return virtual_nodes(None, None if found.kvm else found.why)


@cli.command(short_help="What this node can show, and what disturbs timing here.")
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Write the findings.")
@click.option("--noise", "with_noise", is_flag=True, help="Measure how noisy times are.")
@click.option("--force", is_flag=True, help="Take times on a login node too.")
@click.pass_obj
def doctor(kit: Kit, json_path: Path | None, with_noise: bool, force: bool) -> int:
    """What this node can show, what disturbs timing, and which evidence is available.

    Each finding says what was found, what it means, which criteria it concerns, and the
    command that changes it, if one does. "?" marks what this node does not tell.

    With --noise the kit's own programs run for about 30 s, longer on a busy node, so that
    you see how far two runs of one program differ here, and how long a grading by time
    takes just now:

    \b
      Two runs of the same program differ by 1.4 % (median), and by more than
      6.1 % in 1 of 20: 38 pairs of processes in 31 s.
      ok   01 efficiency    about 9 s a verdict.
      note 03 pair_speedup  about 40 s a verdict; would stay open in 1 of 3
                            gradings.

    Here lab 01 can be graded. In lab 03 one grading in three would end without a verdict
    on pair_speedup; end what else runs on the node, and measure again.

    \b
    Examples:
      ./numalab doctor
      ./numalab doctor --json node.json
      ./numalab doctor --noise
    """
    from numalab.doctor import doctor_report
    from numalab.doctor.doctor import examine, mpi, sandbox_finding
    from numalab.doctor.load_sample import sample_load
    from numalab.doctor.node_facts import read_facts
    from numalab.doctor.noise_report import noise_json, show_noise
    from numalab.doctor.noise_run import measure_noise
    from numalab.harness import monitor
    from numalab.harness.build import build_kit, configure, mpi_of
    from numalab.harness.sandbox import find_sandbox

    check_json_target(json_path)
    if with_noise and on_login_node() and not force:
        raise UserError(refusal("doctor --noise"))
    labs = list(load_labs(kit.root).values())
    noise = None
    with kit.lock():
        configure(kit)
        build_kit(kit, ["describe_node"])
        node = monitor.describe_node(kit)
        has_mpi = bool(mpi_of(kit))
        facts, sample = read_facts(), sample_load()
        with progress_line("doctor") as progress:
            virtual = _examine_virtual_nodes(kit, progress)
            if with_noise:
                timed = [lab for lab in labs if has_mpi or not lab.mpi]
                noise = measure_noise(kit, timed, node, progress)
    findings = [
        *examine(node, facts, sample, labs),
        mpi(mpi_of(kit), labs),
        sandbox_finding(find_sandbox(kit)),
        virtual,
    ]
    data = doctor_report.doctor_json(node, facts, sample, findings, labs, has_mpi)
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


@cli.command(name="explore", short_help="Measure what a lab is about, with intervals.")
@click.argument("name", metavar="LAB", shell_complete=complete_lab)
@click.option("--quick", is_flag=True, help="Smaller and fewer runs: about ten seconds.")
@click.option("--rounds", type=click.IntRange(1, 10_000), help="How often everything is run.")
@click.option(
    "--n",
    "n",
    type=click.IntRange(min=1),
    help="03: rows of the matrices; 04: 8-byte elements of the largest table.",
)
@click.option(
    "--plot",
    "plot_path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Draw to this file (.png, .svg, .pdf). Left out: build/.../explore/NN_name.png.",
)
@click.option(
    "--json",
    "json_path",
    type=click.Path(path_type=Path),
    help="Write all samples.",
    metavar="FILE",
)
@click.option("--force", is_flag=True, help="Take times on a login node too.")
@click.pass_obj
def explore_command(
    kit: Kit,
    name: str,
    quick: bool,
    rounds: int | None,
    n: int | None,
    plot_path: Path | None,
    json_path: Path | None,
    force: bool,
) -> int:
    """Measure what a lab is about on this node, repeated often enough to be believed: a
    table, a plot, and what of it survives repetition. About a minute.

    Each round runs every configuration once, in random order, each as a process of its
    own. Ctrl-C ends it and shows what there is by then.

    \b
    Examples:
      ./numalab explore 03                        schedule and chunk over threads
      ./numalab explore 04 --quick                table sizes and page sizes
      ./numalab explore 03 --n 1000 --rounds 11   larger matrices
      ./numalab explore 04 --json all.json --plot tlb.svg
    """
    from numalab.explore import explore, explore_plot, explore_report
    from numalab.harness import monitor
    from numalab.harness.build import build_explorations

    folder = explore.find_exploration(kit.root, name)
    chosen = explore.resized(explore.load_exploration(folder, quick), rounds, n)
    check_json_target(json_path)
    if plot_path is not None:
        explore_plot.check_target(plot_path)
    if on_login_node() and not force:
        raise UserError(refusal(f"explore {chosen.lab}"))
    with kit.lock():
        with progress_line(chosen.lab) as progress:
            progress("building")
            build_explorations(kit, [kit.exploration(chosen.lab).name])
            node = monitor.describe_node(kit)
            found = explore.explore(kit, chosen, node, progress)
        if not found.samples:
            click.echo("numalab: interrupted before anything was measured", err=True)
            return EXIT_INTERRUPTED
        console = make_console()
        with stripped(console):
            explore_report.show(found, console)
        if json_path is not None:
            write_json(json_path, {"kit_version": numalab.__version__, **found.to_json()})
        if plot_path is None:
            plot_path = kit.build / "explore" / f"{chosen.lab}.png"
            plot_path.parent.mkdir(parents=True, exist_ok=True)
        explore_plot.draw(found, plot_path, kit.build / "explore" / "matplotlib")
    click.echo(f"\nPlot: {_short(plot_path)}")
    if found.interrupted:
        click.echo("numalab: interrupted; what was measured so far is above", err=True)
    return EXIT_INTERRUPTED if found.interrupted else EXIT_PASSED


def _short(path: Path) -> Path:
    """From the current folder, where it is below it."""
    path = path.absolute()
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


# ---- for CTest ---------------------------------------------------------------------------


@cli.command(hidden=True)
@click.argument("name", metavar="LAB")
@click.option("--lang", "language", type=click.Choice(LANGUAGES), required=True)
@click.pass_obj
def measure(kit: Kit, name: str, language: str) -> int:
    """CTest's fixture: grade one kernel and keep the verdict. NUMALAB_SUBMISSION names the
    folder to grade instead of labs/, NUMALAB_QUICK=1 does it quickly."""
    (lab,) = choose_labs(load_labs(kit.root), [name])
    folder = os.environ.get("NUMALAB_SUBMISSION")
    request = Request(
        [lab], language, "submission", Path(folder).resolve() if folder else None,
        quick=os.environ.get("NUMALAB_QUICK") == "1",
    )  # fmt: skip
    with kit.lock(), virtual_places(kit) as places:
        graded = grade_all(kit, request, places)
    return EXIT_INTERRUPTED if graded.interrupted else EXIT_PASSED


@cli.command(hidden=True)
@click.argument("name", metavar="LAB")
@click.argument("criterion")
@click.option("--lang", "language", type=click.Choice(LANGUAGES), required=True)
@click.pass_obj
def criterion(kit: Kit, name: str, criterion: str, language: str) -> int:
    """CTest's test of one criterion: reads the kept verdict."""
    path = kit.results_folder(name, language, "submission") / "verdict.json"
    try:
        verdict = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, json.JSONDecodeError) as error:
        raise KitError(f"there is no verdict yet ({path}): {error}") from error
    entries = [entry for entry in verdict["criteria"] if entry["name"] == criterion]
    if not entries:
        raise KitError(f"the verdict of {name} has no criterion {criterion}")
    for entry in entries:
        click.echo(f"{entry['status']} ({entry['where']}): {entry['why']}")
    statuses = {entry["status"] for entry in entries}
    for status, code in (("fail", EXIT_FAILED), ("error", EXIT_KIT), ("pass", EXIT_PASSED)):
        if status in statuses:
            return code
    return EXIT_SKIPPED


for command in (
    batch_commands,
    completion_command,
    gradebook_commands,
    hint_command,
    launch_command,
    machine_commands,
    notebook_command,
    progress_command,
    report_command,
    watch_command,
):
    cli.add_command(command)
