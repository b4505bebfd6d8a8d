"""./numalab batch grade."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from numalab import words
from numalab.commands.batch_versions import confirmed
from numalab.commands.completing import complete_lab
from numalab.commands.shared import list_column_option, progress_line, rules_of_course, taking_one
from numalab.course.course_folder import CourseFolder
from numalab.course.gradebook.gradebook import use_gradebook
from numalab.course.gradebook.undecided_points import (
    criteria_text,
    is_worth_regrading,
    undecided_points,
)
from numalab.course.intake.intake import import_submissions
from numalab.course.intake.layouts import LAYOUTS
from numalab.course.intake.starting import StartingCode
from numalab.course.intake.student_list import parse_column_options
from numalab.course.jobs import slurm
from numalab.course.jobs.dispatcher import (
    Dispatcher,
    PollRate,
    RunPlan,
    course_lock,
    missing_tasks,
    requested_gradings,
)
from numalab.course.jobs.local import Local
from numalab.course.jobs.runs import GradingOptions, SlurmOptions, usual_job_size
from numalab.course.jobs.slurm import node_count
from numalab.course.other_versions import use_stored_digests
from numalab.course.rejudging import current_digests, find_pending, running_targets
from numalab.errors import UserError, wrapped
from numalab.exit_codes import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_PASSED
from numalab.grading.login_node import is_login_node
from numalab.grading.numalab_digests import known_as
from numalab.installation import Installation
from numalab.labs.declaration import LANGUAGE_NAMES, choose_labs
from numalab.labs.variants import labs_and_variants
from numalab.untrusted.visible import visible

if TYPE_CHECKING:  # their modules are imported when the command needs them
    from numalab.course.course_folder import CourseFolder
    from numalab.course.gradebook.gradebook import Gradebook
    from numalab.course.gradebook.rules import Rules
    from numalab.course.jobs.dispatcher import Dispatcher, RequestedGrading, RunPlan
    from numalab.course.jobs.engine import Engine
    from numalab.course.jobs.runs import GradingOptions, SlurmOptions
    from numalab.course.records import GradingTarget, Intake

MOST_TOLD = 10  # of what could not be graded or read; the rest is counted


@dataclass(frozen=True)
class _Options:
    """As they stand on the command line; see the help of each."""

    submissions: Path
    out: Path
    choice: Literal["slurm", "local"] | None
    partition: str
    account: str
    constraint: str
    time_limit: str
    jobs: int | None
    per_job: int | None
    no_exclusive: bool
    extra: Sequence[str]
    labs: Sequence[str]
    students: Path | None
    list_columns: Sequence[str]
    layout: str | None
    student: str
    regrade: bool
    measure_again: bool | None
    quick: bool
    requeues: int
    limit_s: int | None
    require_sandbox: bool
    no_wait: bool
    force: bool
    grading_command: str
    poll_s: float
    grace_s: float

    @property
    def effort(self) -> str:
        return "quick" if self.quick else "default"

    @property
    def command(self) -> tuple[str, ...]:
        """In place of `numalab grade`; empty otherwise."""
        return tuple(shlex.split(self.grading_command))

    def check(self, rules: Rules) -> None:
        """rules: the course's. Raises UserError, before anything is begun."""
        if self.quick and not rules.allow_quick:
            path = CourseFolder(self.out).rules
            how = f"write it into {path}, above its first [table]"
            if not path.exists():
                how = f"./numalab gradebook init {shlex.quote(str(self.out))} makes {path}; set it"
            raise UserError(
                "--quick decides up to 1 in 20 kernels wrongly that are just at a limit of time, "
                "and does not count in this course. Leave it out, or let it count with "
                f"allow_quick = true: {how} there."
            )
        for option in self.extra:
            if not option.startswith("-") or not option.isprintable():
                raise UserError(
                    f"--sbatch {option!r} is no option of sbatch; write --sbatch=--qos=NAME"
                )

    def grading(self) -> GradingOptions:
        """Strangers' code is kept apart where that is possible."""
        sandbox = "--require-sandbox" if self.require_sandbox else "--sandbox"
        options = (sandbox, *(["--force"] if self.force else []))
        return GradingOptions(
            self.effort, self.command, () if self.command else options, self.limit_s or 0
        )

    def slurm(self) -> SlurmOptions:
        return SlurmOptions(
            self.partition, self.account, self.constraint, self.time_limit, self.jobs or 0,
            not self.no_exclusive, tuple(self.extra),
        )  # fmt: skip


def _engine(options: _Options, course: CourseFolder, installation: Installation) -> Engine:
    """Raises UserError."""
    choice = options.choice or ("slurm" if slurm.is_available() else "local")
    if choice == "slurm":
        if not slurm.is_available():
            raise UserError("--slurm: there is no sbatch here. Is Slurm's module loaded?")
        return slurm.Slurm(course, installation)
    if is_login_node() and not options.force and not options.command:
        raise UserError(
            "This looks like a login node: Slurm is here, no job is running, and sinfo does not "
            "list this machine as an idle node. Nothing is timed on it; leave out --local, or use "
            "--local in a job that has a node to itself."
        )
    if options.no_wait:
        raise UserError("--no-wait is for Slurm: what is graded here ends with the command")
    return Local(course, installation, max(1, options.jobs or 1))


def _share(count: int, jobs: int | None, per_job: int) -> int:
    """How many each of the jobs here takes, none of which has to be waited for."""
    return max(1, count) if jobs is None else max(1, min(per_job, -(-count // jobs)))


def _run_plan(options: _Options, wanted: Sequence[RequestedGrading], is_slurm: bool) -> RunPlan:
    """How many submissions a job has, and how they are graded. Raises UserError."""
    jobs, count = options.jobs, len(wanted)
    nodes = min(node_count(options.partition), jobs or count or 1) if is_slurm else jobs or 1
    languages = max((len(submission.languages) for submission in wanted), default=1)
    per_job = options.per_job or usual_job_size(count, nodes, options.effort, languages)
    return RunPlan(
        options.grading(), options.slurm(), options.requeues,
        per_job if is_slurm else _share(count, jobs, per_job), nodes,
    )  # fmt: skip


def _tell_problems(intake: Intake) -> None:
    for remark in intake.remarks:
        click.echo(wrapped(f"numalab: {remark}"), err=True)
    for problem in intake.problems[:MOST_TOLD]:
        who = f"{problem.student.name}: " if problem.student else ""
        click.echo(wrapped(f"numalab: {problem.source}: {who}{problem.why}"), err=True)
    if len(intake.problems) > MOST_TOLD:
        left = len(intake.problems) - MOST_TOLD
        click.echo(f"numalab: and {left} more that can't be graded", err=True)


def _chosen(
    installation: Installation,
    intake: Intake,
    student: str,
    effort: str,
    kept: Collection[GradingTarget],
) -> tuple[RequestedGrading, ...]:
    """kept: what the course has attempts of, or jobs are at. Raises UserError where there is no
    such student, and NumalabError."""
    submissions = list(intake.submissions)
    if student:
        known = {submission.student.id for submission in intake.submissions}
        if student not in known:
            some = ", ".join(sorted(known)[:MOST_TOLD])
            raise UserError(f"--student {student}: the delivery has no such id. It has {some} ...")
        submissions = [submission for submission in submissions if submission.student.id == student]
    labs = {submission.lab for submission in submissions}
    digests = {lab: known_as(installation, lab) for lab in labs}
    wanted = requested_gradings(submissions, lambda lab: digests[lab][0], effort)
    return use_stored_digests(wanted, digests, kept)


def _taken_in(
    installation: Installation,
    options: _Options,
    course: CourseFolder,
    rules: Rules,
    book: Gradebook,
) -> tuple[RequestedGrading, ...]:
    """Reads the delivery into the course; what of it is to be graded. Raises UserError and
    NumalabError."""
    all_labs = labs_and_variants(installation.root)
    names = [name for given in options.labs for name in given.split(",") if name]
    chosen = {lab.name: lab for lab in choose_labs(all_labs, names)}
    with progress_line("intake") as progress:
        intake = import_submissions(
            options.submissions, course, chosen, progress, options.students, options.layout,
            rules=rules, columns=parse_column_options(options.list_columns),
            is_starting=StartingCode(installation.root),
        )  # fmt: skip
        book.add_submissions(intake)
        kept = running_targets(course) | {item for item, _ in book.states()}
        wanted = _chosen(installation, intake, options.student, options.effort, kept)
    _tell_problems(intake)
    return wanted


@contextmanager
def _head(
    options: _Options, course: CourseFolder, engine: Engine, book: Gradebook,
    wanted: Sequence[RequestedGrading],
) -> Iterator[Dispatcher]:  # fmt: skip
    """That shows how far it is. Raises UserError."""
    plan = _run_plan(options, wanted, engine.name == "slurm")
    with progress_line("batch") as progress:
        yield Dispatcher(
            course, engine, book, plan, PollRate(options.poll_s, options.grace_s),
            frozenset(each.target for each in wanted), lambda count: progress(count.text),
        )  # fmt: skip


def _grade(
    options: _Options, course: CourseFolder, head: Dispatcher, wanted: Sequence[RequestedGrading]
) -> bool:
    """Grades what is missing; False where it was interrupted. Raises UserError and NumalabError."""
    head.note_earlier()
    earlier = frozenset(head.graded)
    try:
        running_targets = head.take_up()
        but = running_targets if options.regrade else running_targets | earlier | head.graded
        head.submit(list(missing_tasks(course, wanted, but)))
        if options.no_wait:
            head.submit_later()
        else:
            head.follow()
    except KeyboardInterrupt:
        head.engine.stop()
        head.collect_last()
        return False
    return True


def _tell_open(head: Dispatcher, book: Gradebook) -> None:
    """Who has points that are not decided, of what the command is about."""
    left = [attempt for attempt in book.undecided_hand_ins() if attempt.target in head.requested]
    if not left:
        return
    click.echo(
        wrapped(
            f"{words.count(len(left), 'grading')} with open points, which count as not earned "
            "until they are decided. The same command goes on with them, from the times that "
            "there are:"
        )
    )
    for attempt in sorted(left, key=lambda each: each.target.key)[:MOST_TOLD]:
        item = attempt.target
        told = [
            f"{LANGUAGE_NAMES[result['language']]}: {criteria_text(undecided_points(result))}"
            for result in attempt.results
            if is_worth_regrading(result)
        ]
        click.echo(wrapped(f"  {visible(item.student_id)} {item.lab}, {'; '.join(told)}"))
    if len(left) > MOST_TOLD:
        click.echo(f"  and {len(left) - MOST_TOLD} more: ./numalab gradebook show names all")


def _tell_end(head: Dispatcher, course: CourseFolder, book: Gradebook) -> int:
    """What came of it; the exit code."""
    click.echo(f"numalab: {head.status().text}")
    failed = [attempt for item, attempt in head.failed.items() if item in head.requested]
    for attempt in failed[:MOST_TOLD]:
        item = attempt.target
        state = attempt.state.replace("_", " ")
        click.echo(wrapped(f"  {item.student_id} {item.lab}: {state}. {attempt.why}"))
    if len(failed) > MOST_TOLD:
        click.echo(f"  and {len(failed) - MOST_TOLD} more")
    left = head.requested - head.graded
    if left:
        click.echo("The same command grades once more what could not be graded.")
    _tell_open(head, book)
    click.echo(f"Next: ./numalab report {shlex.quote(str(course.root))}")
    return EXIT_FAILED if left else EXIT_PASSED


def _tell_rejudging(installation: Installation, course: CourseFolder, book: Gradebook) -> None:
    """That results were judged by other rules than the present ones; they are not judged again
    at once, since that changes grades that nobody has looked at yet."""
    labs = {item.lab for item, _ in book.states()} & labs_and_variants(installation.root).keys()
    left = find_pending(book.attempts(), current_digests(installation, labs)).attempts
    if left:
        results = "1 result was" if len(left) == 1 else f"{len(left)} results were"
        click.echo(
            wrapped(
                f"{results} judged by rules of the kit that have changed since. Nothing has to be "
                f"measured for that: ./numalab batch rejudge {shlex.quote(str(course.root))} "
                "shows whom it changes, before it changes anything."
            )
        )


_slurm_options: Sequence[Callable[..., Any]] = (
    click.option("--partition", "-p", default="", metavar="P", help="Slurm's partition."),
    click.option("--account", "-A", default="", metavar="A", help="Slurm's account."),
    click.option("--constraint", "-C", default="", metavar="C", help="Which nodes: features."),
    click.option(
        "--time", "time_limit", default="", metavar="T",
        help="Of a job, as sbatch takes it. Left out: enough for what it grades.",
    ),
    click.option(
        "--jobs", type=click.IntRange(1), default=None, metavar="N",
        help="Jobs at a time. Left out: on Slurm any number, here one. Here each waits for the "
        "others while it takes times, and the rest needs cores to spare.",
    ),
    click.option(
        "--per-job", type=click.IntRange(1), default=None, metavar="N",
        help="Submissions in one job, one after another, at most. Left out: 20, in a large class "
        "more.",
    ),
    click.option(
        "--no-exclusive", is_flag=True,
        help="Don't ask for whole nodes, where a site forbids it. Times get noisy.",
    ),
    click.option(
        "--sbatch", "extra", multiple=True, metavar="OPTION",
        help="A further option for sbatch (--sbatch=--qos=teaching); may be repeated.",
    ),
)  # fmt: skip


def _with_slurm_options(function: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_slurm_options):
        function = option(function)
    return function


@click.command(name="grade", short_help="Grade what a class has handed in.")
@click.argument("submissions", type=click.Path(path_type=Path, exists=True))
@click.option(
    "--out", "out", required=True, type=click.Path(path_type=Path, file_okay=False),
    metavar="COURSE", help="The course's folder; made where there is none.",
)  # fmt: skip
@click.option("--slurm", "choice", flag_value="slurm", help="As jobs of Slurm (if it is here).")
@click.option("--local", "choice", flag_value="local", help="On this machine, one at a time.")
@_with_slurm_options
@click.option(
    "--labs", "labs", multiple=True, metavar="LAB", shell_complete=complete_lab,
    help="Only this lab; may be repeated, or list them: 01,03.",
)  # fmt: skip
@click.option(
    "--students", type=click.Path(path_type=Path, exists=True, dir_okay=False), metavar="CSV",
    help="A list of the class, as the course's system exports it: tells who is missing, and "
    "students of one name apart.",
)  # fmt: skip
@list_column_option
@click.option(
    "--layout", type=click.Choice(LAYOUTS),
    help="How the delivery is laid out. Left out: as most of its entries are named.",
)  # fmt: skip
@click.option("--student", default="", metavar="ID", help="Only this student.")
@click.option(
    "--regrade",
    is_flag=True,
    help="What is graded already, too: all is looked at anew, and times that are decided stand.",
)
@click.option(
    "--measure-again/--keep-measured", default=None,
    help="What another version of numalab has measured: measure it again with this one, or keep "
    "its results. Left out: it is asked, and without a terminal nothing is graded.",
)  # fmt: skip
@click.option(
    "--quick",
    is_flag=True,
    help="Small arrays and fewer runs: decided at 5 % risk. Only where course.toml has "
    "allow_quick = true.",
)
@click.option(
    "--requeues", type=click.IntRange(0), default=2, show_default=True, metavar="N",
    help="How often a grading that came to nothing is begun again: a node or the kit failed, "
    "another job took the node, time ran out.",
)  # fmt: skip
@click.option(
    "--limit", "limit_s", type=click.IntRange(1), default=None, metavar="SECONDS",
    help="After which the grading of one kernel is called stuck. Left out: 2700, with --quick 900.",
)  # fmt: skip
@click.option(
    "--require-sandbox", is_flag=True, help="Grade nobody where code can't be kept apart."
)
@click.option("--no-wait", is_flag=True, help="Submit to Slurm and leave; repeat to collect.")
@click.option("--force", is_flag=True, help="Take times on a login node too.")
@click.option("--grading-command", default="", hidden=True)
@click.option("--poll", "poll_s", type=click.FloatRange(0.05), default=2.0, hidden=True)
@click.option("--grace", "grace_s", type=click.FloatRange(0.0), default=75.0, hidden=True)
@click.pass_obj
@taking_one(_Options)
def grade_class(installation: Installation, options: _Options) -> int:
    """Grade what a class has handed in: SUBMISSIONS is a folder or an archive with a folder
    or an archive for each student, as Moodle or Canvas deliver it, or a folder of clones, as
    Classroom 50 downloads them, or as they are cloned of a GitLab group. (GitHub Classroom is
    retired since 28 August 2026; its clones are still read.)

    The command may be repeated, and be stopped at any time: it grades what is missing or
    has changed, goes on with what stayed open, and takes up jobs that are under way. On Slurm
    they go on without it. Every attempt is kept in COURSE/attempts. Times of a program that
    was handed in before, whatever its comments, are never taken afresh: what they decided
    stands. Where only rules or thresholds of the kit have changed since, nothing is measured
    again: batch rejudge judges what is kept, and what that leaves open is graded on here.
    Before it measures again what another version of numalab has measured, it asks.

    On Slurm a submission has a node to itself, unless --no-exclusive says otherwise. What
    ends through a fault of the cluster or the kit is begun again, --requeues times, and
    never counts against a student.

    Exit code 0: everything has been graded, whatever the grades; 1: something could not
    be; 2: wrong use; 3: the kit failed; 130: interrupted.

    \b
    Examples:
      ./numalab batch grade hand-ins.zip --out course
      ./numalab batch grade hand-ins --out course --slurm -p teaching --jobs 8
      ./numalab batch grade pp-lab1_submissions --layout classroom50 --out course
      ./numalab batch grade group --students members.csv --out course
      ./numalab batch grade hand-ins --out course --local --labs 01,03
      ./numalab batch grade hand-ins --out course --student ada --regrade
      ./numalab batch grade hand-ins --out course --no-wait
    """
    installation.need_solutions("./numalab batch grade")
    course = CourseFolder(options.out.resolve())
    rules = rules_of_course(installation, course)
    options.check(rules)
    engine = _engine(options, course, installation)
    with course_lock(course), use_gradebook(course) as book:
        wanted = _taken_in(installation, options, course, rules, book)
        if not options.regrade:
            try:
                wanted = tuple(confirmed(wanted, course, book, options.measure_again))
            except UserError:
                _tell_rejudging(installation, course, book)
                raise
        with _head(options, course, engine, book, wanted) as head:
            is_whole = _grade(options, course, head, wanted)
        if not is_whole:
            jobs_go_on = engine.name == "slurm" and head.is_under_way
            click.echo(f"numalab: {head.status().text}", err=True)
            click.echo(wrapped(_how_to_go_on(course, jobs_go_on)), err=True)
            return EXIT_INTERRUPTED
        if options.no_wait and head.is_under_way:
            click.echo(f"numalab: {head.status().text}")
            click.echo(wrapped(_how_to_go_on(course, True)))
            return EXIT_PASSED
        code = _tell_end(head, course, book)
        _tell_rejudging(installation, course, book)
        return code


def _how_to_go_on(course: CourseFolder, jobs_go_on: bool) -> str:
    root = shlex.quote(str(course.root))
    if jobs_go_on:
        return (
            "Jobs go on without this command. The same command waits for them and collects what "
            f"they have done; `./numalab batch status {root}` shows how far they are, and "
            f"`./numalab batch cancel {root}` ends them."
        )
    return "Nothing that was graded is lost. The same command goes on."
