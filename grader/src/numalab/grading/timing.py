"""Takes times: generations of fresh processes, until the judge has decided or time is up."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numalab.errors import NumalabError
from numalab.evidence.kinds import GENERATION
from numalab.evidence.record import CONTROL, PROBE, SOLUTION, SUBMISSION, Evidence, Json
from numalab.grading import handed_in, mpi_runs
from numalab.grading.session import Session
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
    """How a generation's processes are started. programs: of each role; placement: in the
    place of the lab's environment; options: more of the monitor's, by role. is_of_file: what is
    compared are placement or launch files, of the kit's program; beside: roles without which the
    others go on."""

    programs: dict[str, Path]
    threads: int
    placement: Mapping[str, str] | None
    options: dict[str, list[str]]
    is_of_file: bool = False
    beside: tuple[str, ...] = ()


def _setup(
    session: Session, timed: Timed, roles: Sequence[str], beside: tuple[str, ...] = ()
) -> _Setup | None:
    """roles: that are needed; the control's program is the solution, or the probe where that is
    what all is held against. None: there is no generation on this node."""
    needed, roles = roles, (*roles, *beside)
    own = {role: session.program(role) for role in roles}
    if PROBE in needed and SOLUTION not in needed:
        own[CONTROL] = session.program(PROBE)
    kits = dict.fromkeys(needed, session.program(SOLUTION))
    kits |= {role: own[role] for role in (PROBE, CONTROL) if role in own}
    placements = session.lab.timed_placements
    if timed.slow is not None:
        plans = mpi_runs.plans_of_roles(session, timed)
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
    if session.lab.launch is not None:
        plan = mpi_runs.kits_plan(session)
        more = {role: monitor.launch_options(role, plan) for role in roles}
        return _Setup(own, plan.threads, plan.environment, more)
    if placements is not None:
        environments = handed_in.timed_environments(session)
        more = {role: monitor.set_options(role, environments[role]) for role in roles}
        team = thread_goals.timed_team(session.node)
        return _Setup(kits, team.threads, {}, more, is_of_file=True, beside=beside)
    return _Setup(own, session.threads, None, {}, beside=beside)


def repeating(effort: Effort, part: str | None, threads: int, share: float = 1.0) -> list[str]:
    """The monitor's options for how much of what a generation repeats. share: for how long, over
    what starting its processes takes."""
    return [
        *monitor.common_options(part, threads, effort.size, effort.phase_limit_s),
        "--least-repetitions", str(effort.least_repetitions),
        "--most-repetitions", str(effort.most_repetitions),
        "--repeat-share", f"{share:g}",
        "--budget-s", f"{effort.replicate_s:g}",
        *(["--one-at-a-time"] if effort.is_sequential else []),
    ]  # fmt: skip


def _generation(
    session: Session,
    timed: Timed,
    setup: _Setup,
    roles: Sequence[str],
    cut_s: float | None = None,
    repeat_share: float = 1.0,
) -> None:
    """roles: what is timed side by side. Held against the same with a process of the solution, the
    control, in the submission's place."""
    effort = session.effort
    kits = [role for role in setup.programs if setup.programs[role] != session.program(SUBMISSION)]
    environment = monitor.worker_environment(
        session.lab,
        setup.threads,
        placement=setup.placement,
        is_of_file=setup.is_of_file,
    )

    def options_of(roles: Sequence[str]) -> list[str]:
        return [
            *(word for role in roles for word in monitor.worker_option(role, setup.programs[role])),
            *(word for role in roles for word in setup.options.get(role, [])),
            *(word for role in roles if role in kits for word in ("--kits-kernel", role)),
            *(word for role in roles if role in setup.beside for word in ("--may-fail", role)),
            *repeating(effort, timed.part, setup.threads, repeat_share),
        ]

    def kits_own() -> tuple[list[str], dict[str, str]]:
        if CONTROL not in setup.programs:
            raise NumalabError("there is no control in times of the kit's own")
        others = [role for role in roles if role not in (SUBMISSION, CONTROL, *setup.beside)]
        return options_of([*others, CONTROL]), environment

    cut = ["--cut", f"{SUBMISSION}:{cut_s:g}"] if cut_s is not None else []
    facts: dict[str, Any] = {} if timed.slow is None else {"slow": timed.slow}
    options = [*options_of(roles), *cut]
    session.run(GENERATION, options, environment, kits_own=kits_own, **facts)


def take_times(session: Session) -> None:
    """Of all that the lab times, going on where an earlier session of the same stopped; what that
    one has decided stands. Raises Interrupted and NumalabError."""
    lab = session.lab
    roles = {
        timed: planner.timing_roles(lab, session.evidence, timed) for timed in planner.timings(lab)
    }
    if not any(roles.values()):
        return
    try:
        beside = {timed: planner.extra_roles(lab, timed, of) for timed, of in roles.items()}
        wanted = _all_of(roles)
        session.build_own(*(wanted - {SUBMISSION}))
    except NumalabError as error:
        session.record.timing_error = str(error)
        return
    try:
        if _all_of(beside) - wanted:
            session.build_own(*(_all_of(beside) - wanted))
    except NumalabError as error:
        session.progress(f"without the probe: {error}")
        beside = dict.fromkeys(beside, ())
    session.continue_earlier()
    for timed, of_timed in roles.items():
        if not of_timed:
            continue
        setup = _setup(session, timed, (*of_timed, CONTROL), beside[timed])
        if setup is None or planner.has_timing_verdicts(lab, session.evidence, timed):
            continue  # it can't be timed here, or an earlier session of the same has decided it
        session.waits_its_turn()
        with session.spending("timing"):
            _take_times_of(session, timed, setup, of_timed)


def _all_of(roles: Mapping[Timed, Sequence[str]]) -> set[str]:
    return {role for of in roles.values() for role in of}


def _take_times_of(session: Session, timed: Timed, setup: _Setup, roles: Sequence[str]) -> None:
    """The control joins once it is to tell whose fault it is that nothing is decided. Roles
    beside those that are needed are then left out: an interval of their ratios takes no more than
    the least generations, and there are no more processes at a time than the control brings. What
    they take is not spent."""
    effort, lab = session.effort, session.lab
    least = effort.min_replicates
    what = " against ".join(name for name in (timed.part, timed.slow) if name)
    start, paused_before_s = time.monotonic(), session.paused_s
    evidence = session.evidence
    beside_s = 0.0
    excess_before_s = planner.timing_spent(lab, evidence, timed).excess_s
    for number in range(1, effort.max_replicates + 1):
        at_least = f" of {least} or more" if number <= least else ""
        step = f"{what}: timing" if what else "timing"
        session.progress(CountedStep(step, f"generation {number}{at_least}"))
        counted = planner.count_replicates(lab, evidence, timed)
        cut_s = planner.timing_cut_s(lab, evidence, timed)
        timed_roles = (*roles, *((CONTROL,) if counted >= least else setup.beside))
        _generation(session, timed, setup, timed_roles, cut_s, effort.repeat_share(counted))
        evidence = session.evidence
        for generation in evidence.of(GENERATION)[-1:]:
            beside_s += sum(generation.taken_s.get(role, 0.0) for role in setup.beside)
        spent_s = time.monotonic() - start - (session.paused_s - paused_before_s) - beside_s
        if session.is_held_up or planner.timing_is_decided(lab, evidence, timed):
            return
        if number >= least:
            if spent_s > effort.budget_s:
                return
            continue
        # Until there are the least generations a slow submission is on an account of its own.
        spending = planner.timing_spent(lab, evidence, timed)
        kits_s = spent_s - (spending.excess_s - excess_before_s)
        if spending.is_overspent or kits_s > PATIENCE * effort.budget_s:
            return


def kits_own_session(
    installation: Installation,
    lab: Lab,
    language: str,
    effort: Effort,
    node: Json,
    progress: StepReport,
) -> Session:
    """Of the solution, with its files read, as time_kits_own wants it."""
    folder = installation.solution_folder(lab.name)
    session = Session(installation, lab, language, SOLUTION, folder, effort, node, progress)
    handed_in.read_files(session)
    return session


def time_kits_own(session: Session, timed: Timed, roles: Sequence[str]) -> Iterator[Evidence]:
    """Takes generations of the kit's own programs, which are built already, as a grading takes
    them and as many as are asked for; yields the evidence, with the newest at the end of its
    generations. session: of the solution, with its files read. There are none where a launch
    has no meaning on the node. Raises NumalabError, also where the node pauses again and again, and
    Interrupted."""
    setup = _setup(session, timed, roles)
    while setup is not None:
        _generation(session, timed, setup, roles)
        if session.is_held_up:
            raise NumalabError(explain.pauses(session.evidence.left_out))
        yield session.evidence
