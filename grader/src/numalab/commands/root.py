"""The command line's root: which commands there are, and how errors end a command."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import MutableMapping
from types import FrameType
from typing import cast

import click

import numalab
from numalab.commands.table import Commands
from numalab.errors import Interrupted, NumalabError, UserError, reason_of, wrapped
from numalab.exit_codes import EXIT_INTERRUPTED, EXIT_MISUSE, EXIT_NUMALAB, EXIT_PASSED
from numalab.installation import find_installation
from numalab.terminal import show_what_the_terminal_can


class _Stopped(KeyboardInterrupt):
    """After the plain one, raised while a module is imported, Python ends by a signal."""


def _stop(number: int, frame: FrameType | None) -> None:
    del number, frame
    raise _Stopped


def _raise_again(ignored: sys.UnraisableHookArgs) -> None:
    """Raise an interrupt a moment later that came where Python drops exceptions: in a destructor
    or a weak reference's callback, as the locks of imports have one."""
    if isinstance(ignored.exc_value, _Stopped):
        signal.setitimer(signal.ITIMER_REAL, 0.001)
    else:
        sys.__unraisablehook__(ignored)


def main() -> None:
    """Runs a command; the one place that turns errors into messages and exit codes."""
    for ending in (signal.SIGTERM, signal.SIGHUP, signal.SIGALRM):
        signal.signal(ending, _stop)
    sys.unraisablehook = _raise_again
    show_what_the_terminal_can()
    try:
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, _stop)
        code = cli.main(prog_name="numalab", standalone_mode=False)
    except click.ClickException as error:
        code = _correct(error)
    except UserError as error:
        code = _complain(error, EXIT_MISUSE)
    except NumalabError as error:
        code = _complain(error, EXIT_NUMALAB)
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = EXIT_PASSED
        else:
            code = _complain(NumalabError(reason_of(error)), EXIT_NUMALAB)
    except (click.Abort, KeyboardInterrupt, Interrupted):
        click.echo("numalab: interrupted", err=True)
        code = EXIT_INTERRUPTED
    for interrupt in (signal.SIGINT, signal.SIGALRM):
        signal.signal(interrupt, signal.SIG_IGN)  # it is done
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


@click.group(
    commands=cast("MutableMapping[str, click.Command]", Commands()),  # nobody adds to it
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
)
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
    context.obj = find_installation(preset)
