"""Looks at a kernel: all evidence of it that the lab's criteria ask for, kind by kind."""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from numalab.errors import NumalabError
from numalab.evidence.kinds import (
    ANOTHER_TEAM,
    CHECK,
    LOOKS,
    ON_LINK,
    PLACEMENT,
    RACE,
    STORES,
    SYNCHRONOUS_CHECK,
    TRACE,
    WATCHED,
    WHOLE_TRACE,
)
from numalab.evidence.record import SOLUTION, SUBMISSION, Evidence, Kind
from numalab.evidence.repeats import outcomes
from numalab.evidence.run_formats import TraceRun
from numalab.grading.link_runs import look_on_link
from numalab.grading.mpi_runs import kits_plan
from numalab.grading.session import Session
from numalab.harness import monitor
from numalab.harness.build import build_targets, starting_code_failure
from numalab.harness.race_coverage import search_complaint
from numalab.judging import planner
from numalab.judging.rules import is_needed, reads
from numalab.labs.launch import BadPolicy
from numalab.machines.topology import topology_of_node
from numalab.processes.limits import limits_sentence
from numalab.untrusted.visible import shortened

VIRTUAL_TRACED_PAGES = "240"  # each costs a millisecond or two under emulation


def gather_evidence(session: Session) -> None:
    """Of each of the session's parts. Raises Interrupted and NumalabError."""
    for part in session.parts:
        of_part = f"{part}: " if part else ""
        if not planner.can_observe(session.lab, session.evidence, part):
            continue
        with session.spending("evidence"):
            is_checked = session.machine is not None  # elsewhere what is checked here is run
            if not planner.is_checked_locally(session.lab, part):
                if is_checked and is_needed(ON_LINK, session.lab, part):
                    look_on_link(session, part)
                continue
            if not is_checked and not _check(session, part, of_part):
                continue
            kinds = [kind for kind in LOOKS if _is_needed(session, kind, part)]
            if STORES in kinds and not _has_watched_kernel(session):
                kinds.remove(STORES)
            if kinds:
                session.progress(f"{of_part}{kinds[0].doing}{session.there}")
            _look_beside(session, kinds, part)
            _look(session, kinds, SUBMISSION, part)
            if not is_checked and is_needed(ANOTHER_TEAM, session.lab, part):
                _look_at_another_team(session, part)
        if planner.needs_control(session.lab, session.evidence, part):
            _look_at_control(session, part)
        if session.machine is None and is_needed(RACE, session.lab, part):
            session.progress(f"{of_part}looking for data races")
            with session.spending("data races"):
                _look_for_races(session, part)


def _is_needed(session: Session, kind: Kind[Any], part: str | None) -> bool:
    only_elsewhere = kind.there_only if session.machine is None else kind.here_only
    return is_needed(kind, session.lab, part) and not only_elsewhere


def look_once(
    session: Session, kind: Kind[Any], role: str, part: str | None, team: int | None = None
) -> bool:
    """A look at one of the kit's own kernels; True if it came to its end. team: None: as all are
    looked at. Raises Interrupted and NumalabError."""
    more = ("--synchronous-sends",) if kind is SYNCHRONOUS_CHECK else kind.looks[0]
    facts = {"whole": True} if kind is WHOLE_TRACE else {}
    return _run(session, kind, role, part, *more, team=team, **facts)


def _run(
    session: Session,
    kind: Kind[Any],
    role: str,
    part: str | None,
    *more: str,
    limit_s: float | None = None,
    team: int | None = None,
    **facts: Any,
) -> bool:
    """One run of one role; True if the worker came to its end."""
    effort = session.effort
    size = "quick" if effort.quick else "default"  # of traces, whatever is timed
    virtual = ["--soft-ends", "--traced-pages", VIRTUAL_TRACED_PAGES]
    limit_s = (limit_s or effort.phase_limit_s) * session.place.slowness
    threads, placement = _team(session, kind) if team is None else (team, None)
    program = session.program(role, kind.program)
    if kind.program and role == SOLUTION:
        session.build_own_for(kind)
    options = [
        *monitor.worker_option(role, program),
        *monitor.common_options(part, threads, size, limit_s),
        *(virtual if session.machine is not None else []),
        *_as_before(session, kind, role, part),
        *more,
    ]
    environment = monitor.worker_environment(session.lab, threads, placement=placement)
    return session.run(kind, options, environment, **facts)


def _team(session: Session, kind: Kind[Any]) -> tuple[int, Mapping[str, str] | None]:
    """Size and placement of the team that a kernel is looked at with. Where it is timed under a
    launch of the lab's own, they are that launch's: the environment does not tell a kernel whether
    it is timed."""
    if kind.team is None and session.lab.launch is not None:
        with contextlib.suppress(BadPolicy):  # then nothing is timed here
            plan = kits_plan(session)
            return plan.threads, plan.environment
    return kind.team or session.threads, {} if kind.is_unbound else None


def _as_before(session: Session, kind: Kind[Any], role: str, part: str | None) -> list[str]:
    """Options by which tracings and placement of a kernel have one size and the same pages."""
    if kind not in (TRACE, PLACEMENT):
        return []
    sizes = [
        str(run.n)
        for run in session.record.runs
        if isinstance(run, TraceRun) and (run.role, run.part) == (role, part)
    ]
    return ["--seed", session.seed, *(["--n", sizes[0]] if sizes else [])]


def _check(session: Session, part: str | None, of_part: str) -> bool:
    """Whether the kernel is worth looking at."""
    limit_s = session.effort.check_limit_s
    session.progress(f"{of_part}checking results")
    if not _run(session, CHECK, SUBMISSION, part, limit_s=limit_s):
        return False
    if is_needed(SYNCHRONOUS_CHECK, session.lab, part):
        session.progress(f"{of_part}looking for deadlocks")
        more = "--synchronous-sends"
        _run(session, SYNCHRONOUS_CHECK, SUBMISSION, part, more, limit_s=limit_s)
    return True


def _look(session: Session, kinds: list[Kind[Any]], role: str, part: str | None) -> None:
    """All kinds, until one does not come to its end."""
    for kind in kinds:
        if not planner.needs_run(kind, session.lab, session.evidence, part):
            continue
        for options in kind.looks:
            most = kind.most_looks if role == SUBMISSION else 1
            for _ in range(most):
                beside = _beside(session, kind, part)
                if not _run(session, kind, role, part, *options, *beside):
                    _look_whether_node_traces(session, kind, role, part)
                    return
                if most == 1:
                    break
                if kind.name == PLACEMENT.name:
                    _take_turn(session, kind, part)
                if not planner.needs_another_run(kind, session.lab, session.evidence, part):
                    break


def _look_at_another_team(session: Session, part: str | None) -> None:
    """One thread less, on one core less: a kernel that has the number of this node's cores, or of a
    machine's that it is graded on, written into it shows that here."""
    topology = topology_of_node(session.node)
    team = session.threads - 1
    if team < 1 or shutil.which("taskset") is None:
        return
    evidence = session.evidence
    if not planner.is_sound_so_far(evidence, part):
        return
    if not planner.needs_run(ANOTHER_TEAM, session.lab, evidence, part):
        return
    left_out = topology.pus[-1].core
    options = [
        *monitor.worker_option(SUBMISSION, session.program(SUBMISSION)),
        *monitor.common_options(part, team, "quick", session.effort.phase_limit_s),
        "--seed", session.seed,
    ]  # fmt: skip
    environment = monitor.worker_environment(session.lab, team)
    pus = [pu.number for pu in topology.pus if pu.core != left_out]
    session.run(ANOTHER_TEAM, options, environment, pus=pus, another_team=True)


def _look_whether_node_traces(
    session: Session, kind: Kind[Any], role: str, part: str | None
) -> None:
    """Has the solution traced where the submission says that it can't be: whether that is the
    kernel's doing or the node's."""
    runs = session.record.runs  # without the last one, where it left no record
    ended = outcomes(runs[-1]) if runs else []
    if role != SUBMISSION or not any(outcome.status == "untraceable" for outcome in ended):
        return
    with contextlib.suppress(NumalabError):  # then it stays the kernel's
        session.build_own(SOLUTION)
        _run(session, kind, SOLUTION, part)


def _beside(session: Session, kind: Kind[Any], part: str | None) -> list[str]:
    """What a look is to see beside the team."""
    compares = kind.name == PLACEMENT.name and planner.compares_single_thread(
        session.lab, session.evidence, part
    )
    return ["--with-one-thread"] if compares else []


def _take_turn(session: Session, kind: Kind[Any], part: str | None) -> None:
    """Looks at the solution after a look that speaks against the submission, so that what disturbs
    the node meets both alike and no load that ends in between fails anybody."""
    says = planner.last_objection(session.lab, session.evidence, part)
    if says is None:
        return
    try:
        session.build_own(SOLUTION)
    except NumalabError:
        return  # nothing to compare with; timing will tell why
    beside = _beside(session, kind, part) if says == "spins" else []
    _run(session, kind, SOLUTION, part, *beside)


def _look_beside(session: Session, kinds: list[Kind[Any]], part: str | None) -> None:
    """At the kit's own kernels just before the submission: what it may draw on, such as huge
    pages, may have run out by now, and the report shows what it is worth."""
    beside = [kind for kind in kinds if kind.beside and session.machine is None]
    if beside:
        session.build_own(*{role for kind in beside for role in kind.beside})
    for kind in beside:
        for role in kind.beside:
            _run(session, kind, role, part)


def _look_at_control(session: Session, part: str | None) -> None:
    """At the solution, to compare; kept for the other kernels of a call."""
    name = f"{session.program(SOLUTION).name} {part or ''}"
    if session.take_kept(name):
        return
    try:
        session.build_own(SOLUTION)
    except NumalabError:
        return  # nothing to compare with; timing will tell why
    session.progress(f"looking at the solution{session.there}, to compare")
    before = len(session.record.runs)
    control = session.evidence.of_parts(part).as_control()
    kinds = [kind for kind in LOOKS if _is_needed(session, kind, part) and not control.of(kind)]
    with session.spending("evidence"):
        _look(session, kinds, SOLUTION, part)
    session.keep_for_others(name, session.record.runs[before:])


# ---- accesses to memory that compilers tell of ---------------------------------------


def _has_watched_kernel(session: Session) -> bool:
    """Whether there are programs in which the kernel's accesses are watched; if not it is on record
    why."""
    record = session.record
    if not record.build.race_compiler:
        record.race_error = (
            "Data races are found by ThreadSanitizer, and clang, which it comes with, is not there "
            "beside the kit's OpenMP runtime; ./numalab setup installs it where it can."
        )
    elif record.race_error is None and record.race_refused is None:
        _build_watched_kernel(session)
    return record.race_error is None and record.race_refused is None


def _look_for_races(session: Session, part: str | None) -> None:
    if not _has_watched_kernel(session):
        return
    _run_race(session, SUBMISSION, part)
    while planner.needs_another_race_search(session.evidence, part):
        _run_race(session, SUBMISSION, part)
    if planner.needs_race_control(session.evidence, part):
        with contextlib.suppress(NumalabError):  # then it stays ours
            session.build_own_for(RACE)
            _run_race(session, SOLUTION, part)
            own = sanitizers_own_error(session.evidence)
            if own:
                session.record.race_error = (
                    f"Data races can't be looked for here, in the kit's own kernel neither: {own}."
                    + limits_sentence(session.node.get("limits", ()))
                )


def sanitizers_own_error(evidence: Evidence) -> str:
    """ThreadSanitizer's words where it ended the kit's own kernel without a data race: what it
    asks of a machine, such as address space, is not there. Empty: it did not."""
    for race in evidence.of(RACE, SOLUTION):
        printed = str(race.outcome.detail.get("printed", ""))
        if not race.outcome.ok and not race.found:
            said = [line for line in printed.splitlines() if "ThreadSanitizer" in line]
            if said:
                return shortened(re.sub(r"^=*\d*=*\w*: *", "", said[0]).rstrip("."), 160)
    return ""


def _run_race(session: Session, role: str, part: str | None) -> None:
    environment = monitor.worker_environment(session.lab, session.threads)
    options = [
        *monitor.worker_option(role, session.program(role, RACE.program)),
        *monitor.common_options(
            part, session.threads, session.effort.size, session.effort.phase_limit_s
        ),
    ]
    session.run(RACE, options, environment)


def _watched(session: Session) -> list[Path]:
    """A kernel's programs that are watched."""
    kinds = [k for k in WATCHED if any(reads(criterion, k) for criterion in session.lab.criteria)]
    return [session.program(SUBMISSION, kind.program) for kind in kinds]


def _build_watched_kernel(session: Session) -> None:
    programs = _watched(session)
    targets = [f"{program.name}-built" for program in programs]
    try:
        build_targets(session.installation, targets, session.sandbox)
    except NumalabError as error:
        _note_no_watched_kernel(session, str(error), programs, targets)
    else:
        program = session.program(SUBMISSION, RACE.program)  # the object of both is in its name
        notes_stores = session.program(SUBMISSION, STORES.program) in programs
        contract = session.installation.lab_folder(session.lab.name) / session.lab.contract
        complaint = search_complaint(program, session.language, contract, notes_stores)
        if complaint is not None:
            session.record.race_refused = f"Data races were not looked for: {complaint}"


def _note_no_watched_kernel(
    session: Session, said: str, programs: Sequence[Path], targets: Sequence[str]
) -> None:
    """Whose fault it is that there is no program to find races with: the starting code's tells.
    said: by the compiler. Where the kernel's alone is not built, its author could keep it from
    being looked at, and can fix it, too."""
    why = f"the kernel does not compile with ThreadSanitizer: {first_error(said)}"
    failure = starting_code_failure(
        session.installation, session.lab, session.language, programs, targets, session.sandbox
    )
    if failure is not None:
        session.record.race_error = f"Data races can't be looked for, since {why}"
    else:
        session.record.race_refused = (
            f"Data races can't be looked for, since {why}. The kit's own kernels do."
        )


def first_error(said: str) -> str:
    """The line of a compiler's output that says most, with the kernel called as its author does."""
    lines = said.splitlines()
    line = next((line for line in lines if "error:" in line.lower()), lines[-1]).strip()
    return re.sub(r"\S*/(?=kernel\.\w)", "", line)
