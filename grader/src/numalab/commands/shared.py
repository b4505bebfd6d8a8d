"""What several commands need: options, a line of progress, places to grade at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from numalab.commands.completing import complete_lab, complete_machine
from numalab.errors import NumalabError, UserError, reason_of, wrapped
from numalab.files import partial_path, write_whole
from numalab.installation import Installation
from numalab.terminal import make_console
from numalab.words import CountedStep

if TYPE_CHECKING:  # their modules are imported when a command needs them
    from numalab.course.course_folder import CourseFolder
    from numalab.course.gradebook.parts import PartName
    from numalab.course.gradebook.rules import Rules
    from numalab.machines.machine import Machine
    from numalab.virtual.place import VirtualPlaces

Options = TypeVar("Options")


def labs_argument(function: Callable[..., Any]) -> Callable[..., Any]:
    return click.argument("names", metavar="[LAB]...", nargs=-1, shell_complete=complete_lab)(
        function
    )


def list_column_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """--column of a list of the class, which student_list.parse_named reads."""
    return click.option(
        "--column", "list_columns", metavar="WHAT=TITLE", multiple=True,
        help="What a column of --students means, where its title is not known: "
        "name=\"Vollständiger Name\"; may be repeated.",
    )(function)  # fmt: skip


def machines_option(help_: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """--on, whose names named_machines reads."""
    return click.option(
        "--on", multiple=True, metavar="MACHINE", shell_complete=complete_machine, help=help_
    )


def check_places(on: Sequence[str], here_only: bool) -> None:
    """Raises UserError for --on beside --here-only."""
    if on and here_only:
        raise UserError(
            "--on and --here-only exclude each other. --on alone grades on this node and on "
            "the machine that it names, and on no others; --here-only on this node alone."
        )


def taking_one(
    kind: Callable[..., Options],
) -> Callable[[Callable[[Installation, Options], int]], Callable[..., int]]:
    """Of a command with many options: its function takes the kit and one frozen record of them,
    made by kind of click's keywords."""

    def decorate(function: Callable[[Installation, Options], int]) -> Callable[..., int]:
        @wraps(function)
        def called(installation: Installation, **given: Any) -> int:
            return function(installation, kind(**given))

        return called

    return decorate


@contextmanager
def progress_line(title: str) -> Iterator[Callable[[str], None]]:
    """A line that says what is going on: live at a terminal, else one line per step."""
    console = make_console(is_stderr=True)
    if console.is_terminal:
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
        from rich.table import Column

        # A long step gives way, not the clock.
        step_column = TextColumn("{task.description}", table_column=Column(ratio=1, no_wrap=True))
        columns = (SpinnerColumn(), TimeElapsedColumn(), step_column)
        # Twice per second, so as not to be seen in a timing.
        with Progress(
            *columns, console=console, transient=True, refresh_per_second=2, expand=True
        ) as bar:
            task = bar.add_task(f"{title}: starting")
            yield lambda step: bar.update(task, description=f"{title}: {step}")
        return
    said: list[str] = []

    def say(step: str) -> None:
        told = step.step if isinstance(step, CountedStep) else step  # not a line per generation
        if told not in said:
            said.append(told)
            click.echo(wrapped(f"{title}: {told}"), err=True)

    yield say


def prepare_virtual_nodes(
    installation: Installation, progress: Callable[[str], None]
) -> str | None:
    """Fetches and builds what they need; otherwise the first of them does. Returns why
    that can't be done."""
    from numalab.virtual import local_machine, plan
    from numalab.virtual.kernel import find_kernel
    from numalab.virtual.qemu_process import find_qemu

    try:
        find_qemu()
        find_kernel(
            local_machine.cache_folder() / "kernels", None, progress, installation.guest_kernels
        )
        plan.build_programs(installation, is_cluster=True)
    except (UserError, NumalabError) as error:
        return str(error)
    except OSError as error:
        return reason_of(error)
    return None


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


def write_named(
    path: Path, text: str, option: str, write: Callable[[Path, str], None] = write_whole
) -> None:
    """Writes a file that an option names. Raises UserError."""
    if path.is_dir():
        raise UserError(f"{option} {path}: that is a folder; name a file in it")
    if not path.parent.is_dir():
        raise UserError(f"{option} {path}: there is no folder {path.parent}; make it first")
    try:
        write(path, text)
    except OSError as error:
        raise UserError(
            f"{option} {path}: can't write it: {error.strerror}; choose another place"
        ) from error


def named_machines(installation: Installation, names: Sequence[str]) -> list[Machine]:
    """The machines of --on, each once. Raises UserError."""
    if not names:
        return []
    from numalab.machines.gallery import find_machine, machine_names

    kits = machine_names(installation)
    machines: dict[str, Machine] = {}
    for name in names:
        machine = find_machine(installation, name)
        if machine.name in kits and machine.text != find_machine(installation, machine.name).text:
            raise UserError(
                f"--on {name}: the kit has a machine '{machine.name}' itself, and verdicts name "
                "that; call your own something else (its file too)"
            )
        if machines.setdefault(machine.name, machine).text != machine.text:
            raise UserError(
                f"--on {name}: there are two machines of the name {machine.name}; call your own "
                "something else (its file too)"
            )
    return list(machines.values())


def virtual_places(installation: Installation, guest_kernel: Path | None = None) -> VirtualPlaces:
    from numalab.virtual.place import VirtualPlaces
    from numalab.virtual.plan import GuestOptions

    return VirtualPlaces(installation, GuestOptions(guest_kernel=guest_kernel))


def shown_path(path: Path) -> Path:
    """From the current folder, where it is below it."""
    path = path.absolute()
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def course_at(path: Path) -> CourseFolder:
    """The course that lies there. Raises UserError where nothing of one was graded."""
    from numalab.course.course_folder import CourseFolder

    if not (path / "runs").is_dir():
        raise UserError(
            f"{path} is no course's folder, or nothing of it was graded yet: it has no runs/. "
            f"Begin with ./numalab batch grade SUBMISSIONS --out {path}"
        )
    return CourseFolder(path.resolve())


def rules_of_course(installation: Installation, course: CourseFolder) -> Rules:
    """course.toml, held against the labs that there are. Raises UserError and NumalabError."""
    from numalab.course.gradebook.rules import read_rules
    from numalab.diagnosing.case import labs_with_cases
    from numalab.labs.variants import labs_that_ask, names_with_variants

    asking: dict[PartName, list[str]] = {
        "prediction": labs_that_ask(installation.root), "diagnose": labs_with_cases(installation)
    }  # fmt: skip
    return read_rules(course.rules, names_with_variants(installation.root), asking)
