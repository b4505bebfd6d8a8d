"""Times of kernels: rounds of fresh processes, until the judge has decided, or time or rounds are
used up. A round is a run of kind TIMED_ROUND: a process or an MPI job per role."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numalab.errors import NumalabError
from numalab.evidence.kinds import TIMED_ROUND
from numalab.evidence.record import CONTROL, PROBE, SOLUTION, SUBMISSION, Evidence, Json
from numalab.grading import handed_files, mpi_runs
from numalab.grading.kernel_grading import Grading
from numalab.harness import monitor
from numalab.installation import Installation
from numalab.judging import explain, planner, thread_goals
from numalab.judging.effort import Effort
from numalab.judging.planner import Timed
from numalab.judging.timing_state import PATIENCE
from numalab.labs.declaration import Lab
from numalab.words import CountedStep, StepReport


@dataclass(frozen=True)
class _Setup:
    """How the processes of a round are started, and with which programs."""

    programs: dict[str, Path]  # by role
    threads: int  # of each process
    placement: Mapping[str, str] | None  # variables in place of the lab's; None: the lab's
    options: dict[str, list[str]]  # more options of the monitor, by role
    # Placement or launch files are compared, with numalab's program under each.
    is_of_file: bool = False
    extra_roles: tuple[str, ...] = ()  # roles whose failure does not end the round


def _setup(
    grading: Grading, timed: Timed, roles: Sequence[str], extra_roles: tuple[str, ...] = ()
) -> _Setup | None:
    """Return how rounds are started; None where plans_of_roles finds a launch without meaning on
    this machine.

    Args:
        roles: those that are needed. The control runs the solution, or the reference loop (PROBE)
            where times are compared with that alone.
        extra_roles: those that are timed as well and may fail, where kernels or placements are
            timed without a launch.
    """
    needed, roles = roles, (*roles, *extra_roles)
    own = {role: grading.program(role) for role in roles}
    if PROBE in needed and SOLUTION not in needed:
        own[CONTROL] = grading.program(PROBE)
    kits = dict.fromkeys(needed, grading.program(SOLUTION))
    kits |= {role: own[role] for role in (PROBE, CONTROL) if role in own}
    placements = grading.lab.timed_placements
    if timed.slow is not None:
        plans = mpi_runs.plans_of_roles(grading, timed)
        if plans is None:
            return None
        more = {
            role: [
                *monitor.launch_options(role, plans[role]),
                *monitor.set_options(role, plans[role].environment),
            ]
            for role in roles
        }
        return _Setup(kits, plans[SOLUTION].threads, {}, more, is_of_file=True)
    if grading.lab.launch is not None:
        plan = mpi_runs.lab_plan(grading)
        more = {role: monitor.launch_options(role, plan) for role in roles}
        return _Setup(own, plan.threads, plan.environment, more)
    if placements is not None:
        environments = handed_files.timed_environments(grading)
        more = {role: monitor.set_options(role, environments[role]) for role in roles}
        team = thread_goals.timed_team(grading.node)
        return _Setup(kits, team.threads, {}, more, is_of_file=True, extra_roles=extra_roles)
    return _Setup(own, grading.threads, None, {}, extra_roles=extra_roles)


def repeating(effort: Effort, part: str | None, threads: int, share: float = 1.0) -> list[str]:
    """Return the monitor's options for a round: those of common_options, and on repetitions. part:
    None: the lab's only kernel; share: time that is spent on repetitions over the time that
    starting the processes takes."""
    return [
        *monitor.common_options(part, threads, effort.size, effort.phase_limit_s),
        "--least-repetitions", str(effort.least_repetitions),
        "--most-repetitions", str(effort.most_repetitions),
        "--repeat-share", f"{share:g}",
        "--budget-s", f"{effort.replicate_s:g}",
        *(["--one-at-a-time"] if effort.is_sequential else []),
    ]  # fmt: skip


def _time_round(
    grading: Grading,
    timed: Timed,
    setup: _Setup,
    roles: Sequence[str],
    cut_s: float | None = None,
    repeat_share: float = 1.0,
) -> None:
    """Take one round. Its baseline is a round with the control in the submission's place.

    Args:
        roles: those that are timed.
        cut_s: seconds after which a repetition of the submission is cut off; None: never.
        repeat_share: as `share` of repeating().
    """
    effort = grading.effort
    kits = [role for role in setup.programs if setup.programs[role] != grading.program(SUBMISSION)]
    environment = monitor.worker_environment(
        grading.lab, setup.threads, placement=setup.placement, is_of_file=setup.is_of_file
    )

    def options_of(roles: Sequence[str]) -> list[str]:
        return [
            *(word for role in roles for word in monitor.worker_option(role, setup.programs[role])),
            *(word for role in roles for word in setup.options.get(role, [])),
            *(word for role in roles if role in kits for word in ("--kits-kernel", role)),
            *(word for role in roles if role in setup.extra_roles for word in ("--may-fail", role)),
            *repeating(effort, timed.part, setup.threads, repeat_share),
        ]

    def baseline() -> tuple[list[str], dict[str, str]]:
        if CONTROL not in setup.programs:
            raise NumalabError("there is no control in times of the kit's own")
        others = [role for role in roles if role not in (SUBMISSION, CONTROL, *setup.extra_roles)]
        return options_of([*others, CONTROL]), environment

    cut = ["--cut", f"{SUBMISSION}:{cut_s:g}"] if cut_s is not None else []
    facts: dict[str, Any] = {} if timed.slow is None else {"slow": timed.slow}
    options = [*options_of(roles), *cut]
    grading.run(TIMED_ROUND, options, environment, baseline=baseline, **facts)


def take_times(grading: Grading) -> None:
    """Time what the lab times, from where an earlier grading of the same program stopped; what that
    one has decided stands. Where programs can't be built, the record says so. Raises BadPolicy
    where the lab's launch is timed and has no meaning here."""
    lab = grading.lab
    roles = {
        timed: planner.timing_roles(lab, grading.evidence, timed) for timed in planner.timings(lab)
    }
    if not any(roles.values()):
        return
    try:
        extra_roles = {timed: planner.extra_roles(lab, timed, of) for timed, of in roles.items()}
        needed = _all_of(roles)
        grading.build_own(*(needed - {SUBMISSION}))
    except NumalabError as error:
        grading.record.timing_error = str(error)
        return
    try:
        if _all_of(extra_roles) - needed:
            grading.build_own(*(_all_of(extra_roles) - needed))
    except NumalabError as error:
        grading.progress(f"without the probe: {error}")
        extra_roles = dict.fromkeys(extra_roles, ())
    grading.continue_earlier()
    for timed, of_timed in roles.items():
        if not of_timed:
            continue
        setup = _setup(grading, timed, (*of_timed, CONTROL), extra_roles[timed])
        if setup is None or planner.has_timing_verdicts(lab, grading.evidence, timed):
            continue  # it can't be timed here, or an earlier grading has decided it
        grading.wait_for_node()
        with grading.spending("timing"):
            _take_times_of(grading, timed, setup, of_timed)


def _all_of(roles: Mapping[Timed, Sequence[str]]) -> set[str]:
    return {role for of in roles.values() for role in of}


def _take_times_of(grading: Grading, timed: Timed, setup: _Setup, roles: Sequence[str]) -> None:
    """Take rounds until the judge has decided, time or rounds are used up, or the machine pauses
    again and again.

    Once there are the least number of rounds, those of earlier gradings included, the control takes
    part, to find out whether the machine or the kernel keeps times undecided. Extra roles then drop
    out: the interval of their ratios needs no more rounds, and fewer processes run at a time. Their
    time does not count as spent. In this call's first rounds, up to the least number, the excess
    time of a slow submission is accounted for separately.
    """
    effort, lab = grading.effort, grading.lab
    least = effort.min_replicates
    what = " against ".join(name for name in (timed.part, timed.slow) if name)
    start, paused_before_s = time.monotonic(), grading.paused_s
    evidence = grading.evidence
    extra_s = 0.0
    excess_before_s = planner.timing_spent(lab, evidence, timed).excess_s
    for number in range(1, effort.max_replicates + 1):
        at_least = f" of {least} or more" if number <= least else ""
        step = f"{what}: timing" if what else "timing"
        grading.progress(CountedStep(step, f"generation {number}{at_least}"))
        counted = planner.count_replicates(lab, evidence, timed)
        cut_s = planner.timing_cut_s(lab, evidence, timed)
        timed_roles = (*roles, *((CONTROL,) if counted >= least else setup.extra_roles))
        _time_round(grading, timed, setup, timed_roles, cut_s, effort.repeat_share(counted))
        evidence = grading.evidence
        for generation in evidence.runs_of(TIMED_ROUND)[-1:]:
            extra_s += sum(generation.taken_s.get(role, 0.0) for role in setup.extra_roles)
        spent_s = time.monotonic() - start - (grading.paused_s - paused_before_s) - extra_s
        if grading.is_held_up or planner.timing_is_decided(lab, evidence, timed):
            return
        if number >= least:
            if spent_s > effort.budget_s:
                return
            continue
        spending = planner.timing_spent(lab, evidence, timed)
        kits_s = spent_s - (spending.excess_s - excess_before_s)
        if spending.is_overspent or kits_s > PATIENCE * effort.budget_s:
            return


def solution_grading(
    installation: Installation,
    lab: Lab,
    language: str,
    effort: Effort,
    node: Json,
    progress: StepReport,
) -> Grading:
    """Return a grading of the solution, with its files read."""
    folder = installation.solution_folder(lab.name)
    grading = Grading(installation, lab, language, SOLUTION, folder, effort, node, progress)
    handed_files.read_files(grading)
    return grading


def time_solution(grading: Grading, timed: Timed, roles: Sequence[str]) -> Iterator[Evidence]:
    """Yield the evidence after each further round of numalab's own programs, without end; nothing
    where a launch has no meaning on this machine. grading: of the solution, with its programs
    built. roles: those that are timed. Raises NumalabError where the machine pauses again and
    again."""
    setup = _setup(grading, timed, roles)
    while setup is not None:
        _time_round(grading, timed, setup, roles)
        if grading.is_held_up:
            raise NumalabError(explain.pauses(grading.evidence.left_out))
        yield grading.evidence
