"""Which commands there are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module

import click

# Each is imported when it is called, with all that it needs.
COMMANDS = {
    "audit": "audit:audit",
    "batch": "batch:batch",
    "cluster": "cluster:cluster",
    "completion": "completion:completion",
    "criterion": "ctest:criterion",
    "diagnose": "diagnose:diagnose",
    "doctor": "doctor:doctor",
    "edition": "edition:edition",
    "explore": "explore:explore_command",
    "governor": "governor:governor",
    "grade": "grade:grade_command",
    "gradebook": "gradebook:gradebook",
    "hint": "hint:hint",
    "image": "image:image",
    "install": "install:install",
    "launch": "launch:launch",
    "machine": "machine:machine",
    "measure": "ctest:measure",
    "notebook": "notebook:notebook",
    "notes": "notes:notes",
    "portrait": "portrait:portrait",
    "progress": "progress:progress",
    "rates": "rates:rates",
    "report": "report:report",
    "setup": "setup:setup",
    "test": "test:test",
    "variant": "variant:variant",
    "viva": "viva:viva",
    "watch": "watch:watch",
}


class Commands(Mapping[str, click.Command]):
    """The commands of the table."""

    def __getitem__(self, name: str) -> click.Command:
        module, _, function = COMMANDS[name].partition(":")
        command: click.Command = getattr(import_module(f"numalab.commands.{module}"), function)
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)
