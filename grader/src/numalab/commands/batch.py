"""The commands about a whole class: ./numalab batch ..."""

from __future__ import annotations

import fcntl
import shlex
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from numalab.commands.completing import complete_lab
from numalab.errors import UserError, wrapped
from numalab.exit_codes import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_PASSED
from numalab.grading.login_node import on_login_node
from numalab.kit import Kit
from numalab.labs.declaration import choose_labs, load_labs

if TYPE_CHECKING:
    from numalab.course.course_folder import CourseFolder
    from numalab.course.jobs.engine import Engine
    from numalab.course.jobs.head import Head, Wanted
    from numalab.course.jobs.progress import RunStatus
    from numalab.course.jobs.runs import Run
    from numalab.course.records import Intake

MOST_TOLD = 10  # of what could not be graded or read; the rest is counted


@click.group(short_help="Grade a whole class, on Slurm or here.")
def batch() -> None:
    """Grade a whole class: take in what a course's system delivers, grade each student's
    labs on a node of a cluster or on this machine, and keep everything in one folder.

    \b
    Examples:
      ./numalab batch grade hand-ins.zip --out course
      ./numalab batch grade hand-ins.zip --out course --slurm -p teaching
      ./numalab batch status course
      ./numalab batch cancel course
    """


def _course(path: Path) -> CourseFolder:
    from numalab.course.course_folder import CourseFolder

    if not (path / "runs").is_dir():
        raise UserError(
            f"{path} is no course's folder, or nothing of it was graded yet: it has no runs/. "
            f"Begin with ./numalab batch grade SUBMISSIONS --out {path}"
        )
    return CourseFolder(path.resolve())


# ---- grade -----------------------------------------------------------------------------


def _grade_options(require_sandbox: bool, force: bool) -> tuple[str, ...]:
    """What `numalab grade` is given besides: strangers' code is kept apart where that is
    possible. Raises UserError."""
    from numalab.commands.grade import grade_command

    known = {option for parameter in grade_command.params for option in parameter.opts}
    wanted = ["--require-sandbox"] if require_sandbox else ["--sandbox"]
    if require_sandbox and not known.issuperset(wanted):
        raise UserError("--require-sandbox: this version of the kit has no sandbox")
    return (*(one for one in wanted if one in known), *(["--force"] if force else []))


def _engine(
    choice: str | None, course: CourseFolder, kit: Kit, at_once: int, may_time: bool
) -> Engine:
    """Raises UserError."""
    from numalab.course.jobs import slurm
    from numalab.course.jobs.local import Local

    if choice is None:
        choice = "slurm" if slurm.is_here() else "local"
    if choice == "slurm":
        if not slurm.is_here():
            raise UserError("--slurm: there is no sbatch here. Is Slurm's module loaded?")
        return slurm.Slurm(course, kit)
    if on_login_node() and not may_time:
        raise UserError(
            "This looks like a login node: Slurm is here and no job is running. Nothing is timed "
            "on it; leave out --local, or use --local in a job that has a node to itself."
        )
    return Local(course, kit, max(1, at_once))


def _share(count: int, jobs: int | None, per_job: int) -> int:
    """How many each of the jobs here takes, none of which has to be waited for."""
    return max(1, count) if jobs is None else max(1, min(per_job, -(-count // jobs)))


def _tell_problems(intake: Intake) -> None:
    for problem in intake.problems[:MOST_TOLD]:
        who = f"{problem.student.name}: " if problem.student else ""
        click.echo(wrapped(f"numalab: {problem.source}: {who}{problem.why}"), err=True)
    if len(intake.problems) > MOST_TOLD:
        left = len(intake.problems) - MOST_TOLD
        click.echo(f"numalab: and {left} more that can't be graded", err=True)


def _chosen(kit: Kit, intake: Intake, student: str, effort: str) -> tuple[Wanted, ...]:
    """Raises UserError where there is no such student."""
    from numalab.course.jobs.head import wanted_items
    from numalab.course.jobs.kit_digest import kit_digest

    submissions = list(intake.submissions)
    if student:
        known = {one.student.id for one in intake.submissions}
        if student not in known:
            some = ", ".join(sorted(known)[:MOST_TOLD])
            raise UserError(f"--student {student}: the delivery has no such id. It has {some} ...")
        submissions = [one for one in submissions if one.student.id == student]
    digests = {lab: kit_digest(kit, lab) for lab in {one.lab for one in submissions}}
    return wanted_items(submissions, digests.__getitem__, effort)


def _tell_end(head: Head, course: CourseFolder) -> int:
    """What came of it; the exit code."""
    click.echo(f"numalab: {head.count().text}")
    failed = [attempt for item, attempt in head.failed.items() if item in head.wanted]
    for attempt in failed[:MOST_TOLD]:
        item = attempt.item
        state = attempt.state.replace("_", " ")
        click.echo(wrapped(f"  {item.student_id} {item.lab}: {state}. {attempt.why}"))
    if len(failed) > MOST_TOLD:
        click.echo(f"  and {len(failed) - MOST_TOLD} more")
    left = head.wanted - head.graded
    if left:
        click.echo("The same command grades once more what could not be graded.")
    click.echo(f"Next: ./numalab report {shlex.quote(str(course.root))}")
    return EXIT_FAILED if left else EXIT_PASSED


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


def _check_extra(extra: Sequence[str]) -> None:
    for one in extra:
        if not one.startswith("-") or not one.isprintable():
            raise UserError(f"--sbatch {one!r} is no option of sbatch; write --sbatch=--qos=NAME")


@batch.command(name="grade", short_help="Grade what a class has handed in.")
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
@click.option("--student", default="", metavar="ID", help="Only this student.")
@click.option("--regrade", is_flag=True, help="What is graded already, too.")
@click.option("--quick", is_flag=True, help="Small arrays and fewer runs: decided at 5 % risk.")
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
def grade_class(
    kit: Kit,
    submissions: Path,
    out: Path,
    choice: str | None,
    partition: str,
    account: str,
    constraint: str,
    time_limit: str,
    jobs: int | None,
    per_job: int | None,
    no_exclusive: bool,
    extra: Sequence[str],
    labs: Sequence[str],
    students: Path | None,
    student: str,
    regrade: bool,
    quick: bool,
    requeues: int,
    limit_s: int | None,
    require_sandbox: bool,
    no_wait: bool,
    force: bool,
    grading_command: str,
    poll_s: float,
    grace_s: float,
) -> int:
    """Grade what a class has handed in: SUBMISSIONS is a folder or an archive with a folder
    or an archive for each student, as Moodle, Canvas or GitHub Classroom deliver it.

    The command may be repeated, and be stopped at any time: it grades what is missing or
    has changed, and takes up jobs that are under way. On Slurm they go on without it. Every
    attempt is kept in COURSE/attempts.

    On Slurm a submission has a node to itself, unless --no-exclusive says otherwise. What
    ends through a fault of the cluster or the kit is begun again, --requeues times, and
    never counts against a student.

    Exit code 0: everything has been graded, whatever the grades; 1: something could not
    be; 2: wrong use; 3: the kit failed; 130: interrupted.

    \b
    Examples:
      ./numalab batch grade hand-ins.zip --out course
      ./numalab batch grade hand-ins --out course --slurm -p teaching --jobs 8
      ./numalab batch grade hand-ins --out course --local --labs 01 --quick
      ./numalab batch grade hand-ins --out course --student ada --regrade
      ./numalab batch grade hand-ins --out course --no-wait
    """
    from numalab.commands.shared import progress_line
    from numalab.course.course_folder import CourseFolder
    from numalab.course.gradebook.gradebook import open_gradebook
    from numalab.course.intake.intake import take_in
    from numalab.course.jobs import head as heads
    from numalab.course.jobs import runs
    from numalab.course.jobs.slurm import node_count

    _check_extra(extra)
    course = CourseFolder(out.resolve())
    all_labs = load_labs(kit.root)
    names = [name for given in labs for name in given.split(",") if name]
    chosen = [lab.name for lab in choose_labs(all_labs, names)]
    command = tuple(shlex.split(grading_command))
    engine = _engine(choice, course, kit, jobs or 1, force or bool(command))
    if engine.name == "local" and no_wait:
        raise UserError("--no-wait is for Slurm: what is graded here ends with the command")
    effort = "quick" if quick else "default"
    options = () if command else _grade_options(require_sandbox, force)
    is_slurm = engine.name == "slurm"
    with heads.course_lock(course), open_gradebook(course) as book:
        with progress_line("intake") as progress:
            asked = {name: all_labs[name] for name in chosen}
            intake = take_in(submissions, course, asked, progress, students)
            book.add_submissions(intake)
            wanted = _chosen(kit, intake, student, effort)
        _tell_problems(intake)
        at_once = jobs or len(wanted) or 1
        nodes = min(node_count(partition), at_once) if is_slurm else jobs or 1
        languages = max((len(one.languages) for one in wanted), default=1)
        per_job = per_job or runs.usual_in_job(len(wanted), nodes, effort, languages)
        plan = heads.Plan(
            runs.Grading(effort, command, options, limit_s or 0),
            runs.SlurmOptions(
                partition, account, constraint, time_limit, jobs or 0, not no_exclusive,
                tuple(extra),
            ),
            requeues, per_job if is_slurm else _share(len(wanted), jobs, per_job),
            nodes,
        )  # fmt: skip
        with progress_line("batch") as progress:
            head = heads.Head(
                course, engine, book, plan, heads.Pace(poll_s, grace_s),
                frozenset(one.item for one in wanted), lambda count: progress(count.text),
            )  # fmt: skip
            head.note_earlier()
            earlier = frozenset(head.graded)
            try:
                under_way = head.take_up()
                but = under_way if regrade else under_way | earlier | head.graded
                head.submit(list(heads.missing(course, wanted, but)))
                if no_wait:
                    head.submit_later()
                else:
                    head.follow()
            except KeyboardInterrupt:
                head.engine.stop()
                head.collect_last()
                interrupted = True
            else:
                interrupted = False
        if interrupted:
            click.echo(f"numalab: {head.count().text}", err=True)
            click.echo(wrapped(_how_to_go_on(course, is_slurm and head.is_under_way)), err=True)
            return EXIT_INTERRUPTED
        if no_wait and head.is_under_way:
            click.echo(f"numalab: {head.count().text}")
            click.echo(wrapped(_how_to_go_on(course, True)))
            return EXIT_PASSED
        return _tell_end(head, course)


def _how_to_go_on(course: CourseFolder, jobs_go_on: bool) -> str:
    root = shlex.quote(str(course.root))
    if jobs_go_on:
        return (
            "Jobs go on without this command. The same command waits for them and collects what "
            f"they have done; `./numalab batch status {root}` shows how far they are, and "
            f"`./numalab batch cancel {root}` ends them."
        )
    return "Nothing that was graded is lost. The same command goes on."


# ---- status and cancel -----------------------------------------------------------------


def _has_head(course: CourseFolder) -> bool:
    """Whether a command follows the course's runs just now."""
    try:
        with course.lock.open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _look(course: CourseFolder, kit: Kit, shown: Sequence[Run]) -> list[RunStatus]:
    from numalab.course.jobs.progress import known_states, status_of
    from numalab.course.jobs.slurm import Slurm, is_here

    asked = [run for run in shown if run.engine == "slurm"]
    seen = Slurm(course, kit).look(asked) if asked and is_here() else None
    known = known_states(course)
    return [status_of(course, run, (seen or {}).get(run.id), known) for run in shown]


def _lines(course: CourseFolder, found: Sequence[RunStatus]) -> list[str]:
    from numalab.course.jobs.progress import class_text, text_of

    lines = []
    for one in found:
        job = f", job {one.job}" if one.job and one.run.engine == "slurm" else ""
        how = f"begun {one.run.made_at}{job}" + (", over" if one.is_over else "")
        lines += [f"{one.run.id}  {how}", f"  {text_of(one)}"]
    if found and all(one.is_over for one in found):
        lines += [text for text in [class_text(course)] if text]
    elif found and not _has_head(course):
        lines.append(
            "No command follows it: repeat `batch grade` to collect what is done, and to begin "
            "again what failed."
        )
    return lines


@batch.command(name="status", short_help="How far a class is.")
@click.argument("course_path", metavar="COURSE", type=click.Path(path_type=Path))
@click.option("--watch", is_flag=True, help="Go on showing it until all is over.")
@click.pass_obj
def status(kit: Kit, course_path: Path, watch: bool) -> None:
    """How far the grading of a class is: its runs that are under way, or else the last one and
    what has been graded in all.

    \b
    Examples:
      ./numalab batch status course
      ./numalab batch status course --watch
    """
    from numalab.course.jobs import runs
    from numalab.terminal import make_console

    course = _course(course_path)

    def look() -> tuple[list[str], bool]:
        shown = runs.open_runs(course) or runs.last_run(course)
        found = _look(course, kit, shown)
        return _lines(course, found), all(one.is_over for one in found)

    lines, is_over = look()
    if not lines:
        raise UserError(f"{course.root} has no run yet")
    if not watch or not make_console().is_terminal:
        while True:
            click.echo("\n".join(wrapped(line) for line in lines))
            if not watch or is_over:
                return
            time.sleep(10)
            lines, is_over = look()
    from rich.live import Live
    from rich.text import Text

    with Live(Text("\n".join(lines)), console=make_console(), refresh_per_second=2) as live:
        while not is_over:
            time.sleep(2)
            lines, is_over = look()
            live.update(Text("\n".join(lines)))


@batch.command(name="cancel", short_help="End the jobs of a class.")
@click.argument("course_path", metavar="COURSE", type=click.Path(path_type=Path))
@click.pass_obj
def cancel(kit: Kit, course_path: Path) -> None:
    """End what is under way. What is graded stays, and `batch grade` grades the rest when
    it is called again.

    \b
    Example:
      ./numalab batch cancel course
    """
    from numalab.course.jobs import runs
    from numalab.course.jobs.slurm import Slurm

    course = _course(course_path)
    found = runs.open_runs(course)
    for run in found:
        # First: a command that follows the run must not begin it again.
        runs.mark_cancelled(course, run)
        if run.engine == "slurm":
            Slurm(course, kit).cancel(run)
            runs.end(course, run, "cancelled")
        elif not _has_head(course):
            runs.end(course, run, "cancelled")
        click.echo(f"numalab: {run.id} is cancelled")
    if not found:
        click.echo("numalab: nothing is under way")
