"""Measurements for a machine's portrait, in rounds of fresh processes."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from numalab import __version__
from numalab.errors import Interrupted, NumalabError, UserError
from numalab.evidence.record import Json
from numalab.explore.experiment import ProgramRun
from numalab.explore.explore import (
    available_bytes,
    orders,
    read_build,
    run_program,
    run_rounds,
)
from numalab.files import read_text
from numalab.harness.build import build_explorations
from numalab.harness.monitor import describe_node
from numalab.installation import Installation
from numalab.portrait.plan import Part, Plan, portrait_plan
from numalab.portrait.record import Portrait
from numalab.portrait.values import Occasion, portrait_of
from numalab.processes import shell_variables

TARGET_S = 60.0
LEAST_ROUNDS, MOST_ROUNDS = 3, 15  # 6 allow a 95 % interval of a median
_NO_MEMORY = (
    "a process of the probe ended for lack of memory. End what else takes memory, or ask for more "
    "in the job"
)


def is_virtual_machine(cpuinfo: str) -> bool | None:
    """Tell from the text of /proc/cpuinfo whether this is a virtual machine, by x86's flag of
    hypervisors; None where it has no line of flags."""
    for line in cpuinfo.splitlines():
        if line.startswith("flags"):
            return "hypervisor" in line.split()
    return None


def rounds_in(first_s: float) -> int:
    """Return about how many rounds of first_s seconds fit into TARGET_S, but no fewer than
    LEAST_ROUNDS and no more than MOST_ROUNDS."""
    return min(max(round(TARGET_S / first_s), LEAST_ROUNDS), MOST_ROUNDS)


def _run_rounds(
    installation: Installation,
    plan: Plan,
    rounds: int | None,
    taken: list[ProgramRun],
    progress: Callable[[str], None],
) -> None:
    """Run the rounds, and append each run to `taken` when it ends. rounds: None or 0: as many as
    rounds_in gives for the first one's time."""
    seed = random.SystemRandom().randrange(2**32)
    order = orders(len(plan.processes), rounds or MOST_ROUNDS, seed)
    began_s = time.monotonic()
    chosen = [one.configuration for one in plan.processes]
    taken.extend(run_rounds(installation.probe, chosen, order[:1], progress))
    wanted = rounds or rounds_in(time.monotonic() - began_s)
    for sample in run_rounds(installation.probe, chosen, order[:wanted], progress, done=1):
        taken.append(sample)


def measure(
    installation: Installation,
    rounds: int | None,
    progress: Callable[[str], None],
    parts: Collection[Part] | None = None,
) -> Portrait:
    """Build common/probe, and measure this machine's portrait; the caller holds the build folder's
    lock.

    rounds: None: as many as about fit a minute, LEAST_ROUNDS at least. parts: None: all. After
    Ctrl-C in the rounds, or if a process runs out of memory, the portrait so far is returned, and
    says so. Raises UserError where memory is short before a run ended, and Interrupted where a run
    was interrupted before one ended."""
    progress("building")
    build_explorations(installation, [installation.probe.name])
    node = describe_node(installation)
    meminfo = Path("/proc/meminfo").read_text(encoding="utf-8")
    plan = portrait_plan(node, available_bytes(meminfo, node["cgroup_memory_max_bytes"]))
    if parts is not None:
        plan = replace(plan, processes=tuple(one for one in plan.processes if one.part in parts))
    made_at = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    about = _describe_probe(installation)
    taken: list[ProgramRun] = []
    interrupted, ended_by = False, ""
    try:
        _run_rounds(installation, plan, rounds, taken, progress)
    except (Interrupted, KeyboardInterrupt):
        interrupted = True
    except UserError as error:
        if not taken:
            raise UserError(f"{_NO_MEMORY}.") from error
        ended_by = _NO_MEMORY
    if not taken:
        raise Interrupted
    virtual = is_virtual_machine(read_text(Path("/proc/cpuinfo")) or "")
    build = read_build(installation)
    occasion = Occasion(made_at, __version__, node, about, build, virtual, interrupted, ended_by)
    return portrait_of(plan, taken, occasion)


def _describe_probe(installation: Installation) -> Json:
    """Return the sizes of pages and cpuid's values on TLBs, as the probe describes them."""
    said = run_program(installation.probe, ["describe"], shell_variables.observer_environment())
    try:
        about: Json = json.loads(said)
    except json.JSONDecodeError as error:
        raise NumalabError(f"the probe describes nothing, but said: {said[:200]!r}") from error
    return about
