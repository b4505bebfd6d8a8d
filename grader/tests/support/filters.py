"""The filters of tests/filters/filters.toml, and commands under them."""

from __future__ import annotations

import subprocess
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from numalab.installation import Installation
from support.commands import COMMAND_LIMIT_S, Done, environment

TABLE = Path(__file__).parents[1] / "filters" / "filters.toml"
ALL = "all"


@dataclass(frozen=True)
class Filter:
    """As the head of filters.toml says."""

    name: str
    stands_for: str
    refuses: tuple[str, ...]
    probes: frozenset[str]
    in_process: bool
    sandbox: bool
    not_gradable: Mapping[str, tuple[str, ...] | str]
    source: str

    def words(self, installation: Installation) -> list[str]:
        """What goes before a command."""
        return [
            str(installation.build / "common" / "tests" / "refuse"),
            ",".join(self.refuses),
            "--",
        ]

    def losses(self, lab: str) -> frozenset[str] | None:
        """Names of a lab's criteria; None: all but answers."""
        found = self.not_gradable.get(lab, ())
        return None if found == ALL else frozenset(found)


def read_filters() -> dict[str, Filter]:
    found = {}
    for entry in tomllib.loads(TABLE.read_text(encoding="utf-8"))["filter"]:
        found[entry["name"]] = Filter(
            entry["name"], entry["stands_for"], tuple(entry["refuses"]),
            frozenset(entry["probes"]), entry["in_process"], entry["sandbox"],
            entry.get("not_gradable", {}), entry.get("source", ""),
        )  # fmt: skip
    return found


def run_under(
    installation: Installation, filter: Filter, command: Sequence[str | Path], **env: str
) -> Done:
    done = subprocess.run(
        [*filter.words(installation), *map(str, command)],
        capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False,
        timeout=COMMAND_LIMIT_S, cwd=installation.root, env=environment(installation, **env),
    )  # fmt: skip
    return Done(done.returncode, done.stdout, done.stderr).no_traceback()
