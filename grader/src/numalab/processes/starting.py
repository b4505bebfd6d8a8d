"""Starts of processes, with an environment that the caller passes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

Command = Sequence[str | Path]
Environment = Mapping[str, str]


def run(
    command: Command, environment: Environment, *,
    cwd: str | Path | None = None, limit_s: float | None = None,
) -> subprocess.CompletedProcess[str]:  # fmt: skip
    """Run a program to its end, without input, and keep what it prints. limit_s: None: no limit.
    Raises OSError (it can't be started) and subprocess.TimeoutExpired (it ran longer than limit_s).
    """
    return subprocess.run(
        command, env=dict(environment), cwd=cwd, timeout=limit_s, check=False,
        stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
    )  # fmt: skip


def version_text(program: str, environment: Environment, limit_s: float) -> str:
    """Return what a program prints on standard output for --version; empty where it can't be run,
    or takes longer than limit_s."""
    try:
        return run([program, "--version"], environment, limit_s=limit_s).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""


def start(command: Command, environment: Environment, **more: Any) -> subprocess.Popen[bytes]:
    """Start a program whose streams are bytes. more: as for Popen. Raises OSError where it can't be
    started."""
    return subprocess.Popen(command, env=dict(environment), **more)


def start_with_text(
    command: Command, environment: Environment, **more: Any
) -> subprocess.Popen[str]:
    """Start a program whose streams are text. more: as for Popen. Raises OSError where it can't be
    started."""
    return subprocess.Popen(command, env=dict(environment), text=True, errors="replace", **more)


def become(command: Sequence[str], environment: Environment) -> NoReturn:
    """Replace this process by another program, searched for in PATH. Raises OSError where it can't
    be started."""
    os.execvpe(command[0], list(command), dict(environment))
