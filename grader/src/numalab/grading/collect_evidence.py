"""Evidence on a kernel that the lab's criteria need, kind by kind, without times."""

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
    LINK_RUN,
    OBSERVED_KINDS,
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
from numalab.grading.kernel_grading import Grading
from numalab.grading.link_runs import run_on_link
from numalab.grading.mpi_runs import lab_plan
from numalab.harness import monitor
from numalab.harness.build import build_targets, starting_code_failure
from numalab.harness.race_coverage import search_complaint
from numalab.judging import planner
from numalab.judging.correctness_rules import doubtful_races
from numalab.judging.observed_quantities import SHOWN_BY, TEAM_OF_LINES
from numalab.judging.rules import is_needed, reads
from numalab.judging.soundness import is_sound
from numalab.labs import quantities
from numalab.labs.launch import BadPolicy
from numalab.machines.topology import topology_of_node
from numalab.processes.limits import limits_sentence
from numalab.untrusted.visible import shortened

VIRTUAL_TRACED_PAGES = "240"  # each takes a millisecond or two under emulation


def gather_evidence(grading: Grading) -> None:
    """Gather the evidence on the parts of the grading of which the machine can show some. On a
    virtual machine, runs of CHECK and searches for data races are left out."""
    for part in grading.parts:
        prefix = f"{part}: " if part else ""
        if not planner.can_observe(grading.lab, grading.evidence, part):
            continue
        with grading.spending("evidence"):
            is_checked = grading.machine is not None
            if not is_needed(CHECK, grading.lab, part):
                if is_checked and is_needed(LINK_RUN, grading.lab, part):
                    run_on_link(grading, part)
                continue
            if not is_checked and not _check(grading, part, prefix):
                continue
            kinds = [kind for kind in OBSERVED_KINDS if _is_needed(grading, kind, part)]
            if STORES in kinds and not _has_instrumented_kernel(grading):
                kinds.remove(STORES)
            if kinds:
                grading.progress(f"{prefix}{kinds[0].doing}{grading.place_words}")
            _observe_baselines(grading, kinds, part)
            _observe(grading, kinds, SUBMISSION, part)
            if not is_checked and is_needed(ANOTHER_TEAM, grading.lab, part):
                _observe_other_team(grading, part)
        if planner.needs_control(grading.lab, grading.evidence, part):
            _observe_control(grading, part)
        if grading.machine is None and is_needed(RACE, grading.lab, part):
            grading.progress(f"{prefix}looking for data races")
            with grading.spending("data races"):
                _search_races(grading, part)


def _is_needed(grading: Grading, kind: Kind[Any], part: str | None) -> bool:
    only_elsewhere = kind.is_vm_only if grading.machine is None else kind.is_local_only
    return is_needed(kind, grading.lab, part) and not only_elsewhere


def _run(
    grading: Grading,
    kind: Kind[Any],
    role: str,
    part: str | None,
    *more: str,
    limit_s: float | None = None,
    team: int | None = None,
    **facts: Any,
) -> bool:
    """Make one run of one role. more: options of the monitor; limit_s: seconds that each phase may
    take on this machine, None: the effort's; team: number of threads, None: the kind's; facts: what
    else the record says. Returns whether the worker came to its end."""
    effort = grading.effort
    size = "quick" if effort.quick else "default"  # of traces, whatever is timed
    virtual = ["--soft-ends", "--traced-pages", VIRTUAL_TRACED_PAGES]
    limit_s = (limit_s or effort.phase_limit_s) * grading.place.slowness
    threads, placement = _team(grading, kind) if team is None else (team, None)
    program = grading.program(role, kind.program)
    if kind.program and role == SOLUTION:
        grading.build_own_for(kind)
    options = [
        *monitor.worker_option(role, program),
        *monitor.common_options(part, threads, size, limit_s),
        *(virtual if grading.machine is not None else []),
        *_repeat_options(grading, kind, role, part),
        *more,
    ]
    environment = monitor.worker_environment(grading.lab, threads, placement=placement)
    return grading.run(kind, options, environment, **facts)


def _team(grading: Grading, kind: Kind[Any]) -> tuple[int, Mapping[str, str] | None]:
    """Return number of threads and placement variables for runs of a kind; None: the lab's
    variables. Where the lab has a launch of its own with a meaning on this machine, and the kind no
    team, both are that launch's, so that a kernel can't tell from its environment whether it is
    timed."""
    if kind.team is None and grading.lab.launch is not None:
        with contextlib.suppress(BadPolicy):  # then nothing is timed here
            plan = lab_plan(grading)
            return plan.threads, plan.environment
    return kind.team or grading.threads, {} if kind.is_unbound else None


def _repeat_options(grading: Grading, kind: Kind[Any], role: str, part: str | None) -> list[str]:
    """Return options by which traces and placement runs of a kernel have the same n and pages; none
    for other kinds."""
    if kind not in (TRACE, PLACEMENT):
        return []
    sizes = [
        str(run.n)
        for run in grading.record.runs
        if isinstance(run, TraceRun) and (run.role, run.part) == (role, part)
    ]
    return ["--seed", grading.seed, *(["--n", sizes[0]] if sizes else [])]


def _check(grading: Grading, part: str | None, prefix: str) -> bool:
    """Check the results of the submission, and where needed look for deadlocks. Returns whether the
    former came to its end."""
    limit_s = grading.effort.check_limit_s
    grading.progress(f"{prefix}checking results")
    if not _run(grading, CHECK, SUBMISSION, part, limit_s=limit_s):
        return False
    if is_needed(SYNCHRONOUS_CHECK, grading.lab, part):
        grading.progress(f"{prefix}looking for deadlocks")
        more = "--synchronous-sends"
        _run(grading, SYNCHRONOUS_CHECK, SUBMISSION, part, more, limit_s=limit_s)
    return True


def _observe(grading: Grading, kinds: list[Kind[Any]], role: str, part: str | None) -> None:
    """Make the runs of kinds that may change a verdict, until one does not come to its end. Those
    of the submission are repeated until the planner has enough, Kind.max_runs at most."""
    for kind in kinds:
        if not planner.needs_run(kind, grading.lab, grading.evidence, part):
            continue
        for options in kind.run_options:
            most = kind.max_runs if role == SUBMISSION else 1
            for _ in range(most):
                more = _comparison_options(grading, kind, part)
                if not _run(grading, kind, role, part, *options, *more):
                    _check_tracing(grading, kind, role, part)
                    return
                if most == 1:
                    break
                if kind.name == PLACEMENT.name:
                    _compare_solution(grading, kind, part)
                if not planner.needs_another_run(kind, grading.lab, grading.evidence, part):
                    break


def _observe_other_team(grading: Grading, part: str | None) -> None:
    """Trace the submission with one thread and one core less, which shows a kernel that has the
    number of cores written into it. Without taskset, a second core or sound evidence, do nothing.
    """
    topology = topology_of_node(grading.node)
    team = grading.threads - 1
    if team < 1 or shutil.which("taskset") is None:
        return
    evidence = grading.evidence
    if not is_sound(evidence.select_parts(part)):
        return
    if not planner.needs_run(ANOTHER_TEAM, grading.lab, evidence, part):
        return
    left_out = topology.pus[-1].core
    options = [
        *monitor.worker_option(SUBMISSION, grading.program(SUBMISSION)),
        *monitor.common_options(part, team, "quick", grading.effort.phase_limit_s),
        "--seed", grading.seed,
    ]  # fmt: skip
    environment = monitor.worker_environment(grading.lab, team)
    pus = [pu.number for pu in topology.pus if pu.core != left_out]
    grading.run(ANOTHER_TEAM, options, environment, pus=pus, another_team=True)


def _check_tracing(grading: Grading, kind: Kind[Any], role: str, part: str | None) -> None:
    """Make the solution's run of a kind where the submission's last run could not be traced, to
    find out whether the kernel or the machine is the reason."""
    runs = grading.record.runs  # without the last one, where it left no record
    ended = outcomes(runs[-1]) if runs else []
    if role != SUBMISSION or not any(outcome.status == "untraceable" for outcome in ended):
        return
    with contextlib.suppress(NumalabError):  # then it stays the kernel's
        grading.build_own(SOLUTION)
        _run(grading, kind, SOLUTION, part)


def _comparison_options(grading: Grading, kind: Kind[Any], part: str | None) -> list[str]:
    """Return the option that runs one thread in turns with the team, if the two are compared."""
    compares = kind.name == PLACEMENT.name and planner.compares_single_thread(
        grading.lab, grading.evidence, part
    )
    return ["--with-one-thread"] if compares else []


def _compare_solution(grading: Grading, kind: Kind[Any], part: str | None) -> None:
    """Run the solution after a run that speaks against the submission, so that other load on the
    machine affects both alike, and load that ends in between fails no kernel."""
    says = planner.last_objection(grading.lab, grading.evidence, part)
    if says is None:
        return
    try:
        grading.build_own(SOLUTION)
    except NumalabError:
        return  # there is nothing to compare with, which timing will report
    more = _comparison_options(grading, kind, part) if says == "spins" else []
    _run(grading, kind, SOLUTION, part, *more)


def _observe_baselines(grading: Grading, kinds: list[Kind[Any]], part: str | None) -> None:
    """Build and run numalab's own kernels for kinds that compare with them; on a virtual machine do
    nothing. What a kernel may use, such as huge pages, may have run out, and is then likely to be
    missing for both, since this comes before the submission's runs."""
    compared = [kind for kind in kinds if kind.baselines and grading.machine is None]
    if compared:
        grading.build_own(*{role for kind in compared for role in kind.baselines})
    for kind in compared:
        for role in kind.baselines:
            _run(grading, kind, role, part)


def _observe_control(grading: Grading, part: str | None) -> None:
    """Take the solution's runs that were kept, for comparison, or make them and keep them for
    gradings with the same `controls`."""
    name = f"{grading.program(SOLUTION).name} {part or ''}"
    if grading.take_kept(name):
        return
    try:
        grading.build_own(SOLUTION)
    except NumalabError:
        return  # there is nothing to compare with, which timing will report
    grading.progress(f"looking at the solution{grading.place_words}, to compare")
    before = len(grading.record.runs)
    control = grading.evidence.select_parts(part).control_evidence()
    kinds = [
        kind
        for kind in OBSERVED_KINDS
        if _is_needed(grading, kind, part) and not control.runs_of(kind)
    ]
    with grading.spending("evidence"):
        _observe(grading, kinds, SOLUTION, part)
    grading.keep_for_others(name, grading.record.runs[before:])


# ---- kernels with instrumented accesses to memory ------------------------------------


def _has_instrumented_kernel(grading: Grading) -> bool:
    """Build the programs in which the kernel's accesses are instrumented, unless the record has an
    error already. Returns whether they can be run; if not, the record says why."""
    record = grading.record
    if not record.build.race_compiler:
        record.race_error = (
            "Data races are found by ThreadSanitizer, and clang, which it comes with, is not there "
            "beside the kit's OpenMP runtime; ./numalab setup installs it where it can."
        )
    elif record.race_error is None and record.race_refused is None:
        _build_instrumented_kernel(grading)
    return record.race_error is None and record.race_refused is None


def _search_races(grading: Grading, part: str | None) -> None:
    if not _has_instrumented_kernel(grading):
        return
    _run_race(grading, SUBMISSION, part)
    while planner.needs_another_race_search(grading.evidence, part):
        _run_race(grading, SUBMISSION, part)
    # Whose fault it is that no search has worked, a search in the solution decides.
    if doubtful_races(grading.evidence.select_parts(part)):
        with contextlib.suppress(NumalabError):  # then the error stays numalab's
            grading.build_own_for(RACE)
            _run_race(grading, SOLUTION, part)
            own = sanitizers_own_error(grading.evidence)
            if own:
                grading.record.race_error = (
                    f"Data races can't be looked for here, in the kit's own kernel neither: {own}."
                    + limits_sentence(grading.node.get("limits", ()))
                )


def sanitizers_own_error(evidence: Evidence) -> str:
    """Return ThreadSanitizer's message where it ended the solution without a data race, as it does
    on a machine that lacks address space; empty where it did not."""
    for race in evidence.runs_of(RACE, SOLUTION):
        printed = race.outcome.printed or ""
        if not race.outcome.ok and not race.has_race:
            lines = [line for line in printed.splitlines() if "ThreadSanitizer" in line]
            if lines:
                return shortened(re.sub(r"^=*\d*=*\w*: *", "", lines[0]).rstrip("."), 160)
    return ""


def _run_race(grading: Grading, role: str, part: str | None) -> None:
    environment = monitor.worker_environment(grading.lab, grading.threads)
    options = [
        *monitor.worker_option(role, grading.program(role, RACE.program)),
        *monitor.common_options(
            part, grading.threads, grading.effort.size, grading.effort.phase_limit_s
        ),
    ]
    grading.run(RACE, options, environment)


def _build_instrumented_kernel(grading: Grading) -> None:
    kinds = [k for k in WATCHED if any(reads(criterion, k) for criterion in grading.lab.criteria)]
    programs = [grading.program(SUBMISSION, kind.program) for kind in kinds]
    targets = [f"{program.name}-built" for program in programs]
    try:
        build_targets(grading.installation, targets, grading.sandbox)
    except NumalabError as error:
        _note_failed_instrumentation(grading, str(error), programs, targets)
    else:
        program = grading.program(SUBMISSION, RACE.program)  # the object of both is in its name
        notes_stores = grading.program(SUBMISSION, STORES.program) in programs
        contract = grading.installation.lab_folder(grading.lab.name) / grading.lab.contract
        complaint = search_complaint(program, grading.language, contract, notes_stores)
        if complaint is not None:
            grading.record.race_refused = f"Data races were not looked for: {complaint}"


def _note_failed_instrumentation(
    grading: Grading, output: str, programs: Sequence[Path], targets: Sequence[str]
) -> None:
    """Record why there is no program to find races with. If the starting code can't be built this
    way either, it is numalab's error. If it can, the kernel is at fault, so that no student can
    avoid the search that way. output: of the compiler."""
    why = f"the kernel does not compile with ThreadSanitizer: {first_error(output)}"
    failure = starting_code_failure(
        grading.installation, grading.lab, grading.language, programs, targets, grading.sandbox
    )
    if failure is not None:
        grading.record.race_error = f"Data races can't be looked for, since {why}"
    else:
        grading.record.race_refused = (
            f"Data races can't be looked for, since {why}. The kit's own kernels do."
        )


def first_error(output: str) -> str:
    """Return the first line with "error:" of a compiler's output, or else its last line. The
    kernel's path becomes its file name. output: one line or more."""
    lines = output.splitlines()
    line = next((line for line in lines if "error:" in line.lower()), lines[-1]).strip()
    return re.sub(r"\S*/(?=kernel\.\w)", "", line)


# ---- predictions ---------------------------------------------------------------------------------


def observe_predicted(grading: Grading) -> None:
    """Make the runs that the lab's predictions are about and that are missing, on this machine, if
    usable predictions were handed in. What can't be measured is left out."""
    handed = [text.file for text in grading.record.handed_in if text.complaint is None]
    if grading.machine is not None or quantities.FILE not in handed:
        return
    required = {
        (*SHOWN_BY[quantity.what][:2], quantity.part)
        for quantity in grading.lab.predicted
        if quantity.what is not None
    }
    with grading.spending("predictions"):
        for kind, role, part in sorted(required, key=lambda run: (run[0].name, run[1])):
            evidence = grading.evidence.select_parts(part)
            if not any(run.outcome.ok for run in evidence.runs_of(kind, role)):
                _observe_predicted(grading, kind, role, part)


def _observe_predicted(grading: Grading, kind: Kind[Any], role: str, part: str | None) -> None:
    """Make one run, and keep it for gradings with the same `controls`, or take the one that was
    kept."""
    program = grading.program(role, kind.program)
    name = f"{program} {part or ''} {kind.name}, predicted"
    if grading.take_kept(name):
        return
    grading.progress("looking at what was predicted")
    before = len(grading.record.runs)
    try:
        build_targets(
            grading.installation, [f"{program.name}-built" if kind.program else program.name]
        )
        team = TEAM_OF_LINES if kind.name == STORES.name else None
        more = ("--synchronous-sends",) if kind is SYNCHRONOUS_CHECK else kind.run_options[0]
        facts = {"whole": True} if kind is WHOLE_TRACE else {}
        _run(grading, kind, role, part, *more, team=team, **facts)
    except NumalabError:
        return  # its score leaves it out, and says so
    grading.keep_for_others(name, grading.record.runs[before:])
