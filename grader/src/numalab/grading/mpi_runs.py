"""Runs of MPI labs under launch files or the lab's launch: where ranks go, and what their messages
take. The ranks run numalab's program."""

from __future__ import annotations

from typing import Any

from numalab import words
from numalab.errors import NumalabError
from numalab.evidence.kinds import LATENCY, RANKS
from numalab.evidence.record import CONTROL, HANDOUT, SOLUTION, SUBMISSION, Json, Kind
from numalab.evidence.run_formats import Outcome, RanksRun
from numalab.grading.kernel_grading import Grading
from numalab.harness import monitor
from numalab.installation import Installation
from numalab.judging import planner
from numalab.labs import launch
from numalab.labs.declaration import HandedFile, Lab
from numalab.labs.launch import BadPolicy, RankPlan
from numalab.labs.solution_files import need_solution_text
from numalab.machines.topology import count_unmatched, topology_of_node

MOST_RANKS = 256  # of one job, as many as the monitor has room for
MOST_THREADS = 16_384


def plan_on(node: Json, text: str, name: str) -> RankPlan:
    """Return the plan of ranks that a launch file means on a machine. node: the machine's
    description; text, name: of the file. Raises BadPolicy, which names the file, also for more than
    MOST_RANKS ranks or MOST_THREADS threads in all."""
    policy = launch.parse_policy(text, name)
    try:
        plan = launch.plan(policy, topology_of_node(node))
    except BadPolicy as error:
        raise BadPolicy(f"{name}: {error}") from error
    ranks = len(plan.ranks)
    if ranks > MOST_RANKS or ranks * plan.threads > MOST_THREADS:
        raise BadPolicy(
            f"{name}: that is a job of {words.count(ranks, 'rank')} with "
            f"{words.count(plan.threads, 'thread')} each on this "
            f"node; the kit starts at most {MOST_RANKS} ranks, and {MOST_THREADS:,} threads in all"
        )
    return plan


def _read(grading: Grading, role: str, file: HandedFile) -> str:
    if role == SUBMISSION:
        return grading.handed(file.name).text
    return need_solution_text(grading.installation.solution_folder(grading.lab.name), file.name)


def _refuse(grading: Grading, role: str, part: str | None, name: str, why: str) -> None:
    grading.record.runs.append(
        RanksRun(
            lab=grading.lab.name, part=part, team=1, role=role, ranks=(),
            outcome=Outcome.fine(), file=name, refused=f"{why}.",
        )
    )  # fmt: skip


def _run(
    grading: Grading, kind: Kind[Any], role: str, part: str | None, plan: RankPlan, **facts: Any
) -> None:
    """Run numalab's program under a plan. The baseline is the same run under _baseline_plan."""

    def launched(role: str, plan: RankPlan) -> tuple[list[str], dict[str, str]]:
        limit_s = grading.effort.phase_limit_s * grading.place.slowness
        options = [
            *monitor.worker_option(role, grading.program(SOLUTION)),
            *monitor.launch_options(role, plan),
            *monitor.common_options(part, plan.threads, "quick", limit_s),
        ]
        environment = monitor.worker_environment(
            grading.lab, plan.threads, placement=plan.environment
        )
        return options, environment

    options, environment = launched(role, plan)

    def baseline() -> tuple[list[str], dict[str, str]]:
        return launched(SOLUTION, _baseline_plan(grading, kind, part, facts["file"]))

    grading.run(kind, options, environment, baseline=baseline, **facts)


def _baseline_plan(
    grading: Grading, kind: Kind[Any], part: str | None, name: str | None
) -> RankPlan:
    """Return the plan of a run's baseline: the lab's own launch for a ping-pong (LATENCY), else the
    solution's launch file. name: of that file, not used for a ping-pong. Raises NumalabError where
    the launch has no meaning on this machine."""
    try:
        if kind is LATENCY:
            return lab_plan(grading)
        file = next(file for file in grading.lab.files if file.name == name)
        return plan_on(grading.node, _read(grading, SOLUTION, file), file.name)
    except BadPolicy as error:
        raise NumalabError(f"the kit's own launch of {part}: {error}") from error


def launch_ranks(grading: Grading, role: str, file: HandedFile) -> None:
    """Record where ranks go under the launch file of a role, or why it has no meaning on this
    machine."""
    part = grading.lab.part_of(file)
    try:
        plan = plan_on(grading.node, _read(grading, role, file), file.name)
    except BadPolicy as error:
        _refuse(grading, role, part, file.name, str(error))
        return
    _run(grading, RANKS, role, part, plan, file=file.name, refused=None)


def _can_be_timed(plan: RankPlan) -> bool:
    """Tell whether a plan has two ranks that are bound, each with a core of its own."""
    cores = [{plan.topology.core[pu] for pu in pus} for pus in plan.ranks]
    return plan.is_bound and len(plan.ranks) == 2 and not count_unmatched(cores)


def _ping_pongs(grading: Grading, part: str | None) -> dict[str | None, RankPlan]:
    """Return the plans of two ranks to time, by the student's launch file. The lab's own launch has
    the key None; it stands in for files that can't be timed, or where there are none. Raises
    BadPolicy where the lab's launch is used and has no meaning on this machine."""
    assert grading.lab.launch is not None
    plans: dict[str | None, RankPlan] = {}
    for file in grading.lab.files:
        if file.kind != "launch" or grading.lab.part_of(file) != part:
            continue
        name, plan = None, None
        if grading.handed(file.name).complaint is None:
            try:
                plan = plan_on(grading.node, _read(grading, SUBMISSION, file), file.name)
                name = file.name
            except BadPolicy:
                pass  # launch_ranks reports it
        if plan is None or not _can_be_timed(plan):
            name = None
            plan = lab_plan(grading)
        plans.setdefault(name, plan)
    return plans or {None: lab_plan(grading)}


def lab_plan(grading: Grading) -> RankPlan:
    """Return the plan of the lab's own launch, which the lab has to have. Raises BadPolicy where it
    has no meaning on this machine."""
    assert grading.lab.launch is not None
    return launch.plan(grading.lab.launch, topology_of_node(grading.node))


def time_messages(grading: Grading) -> None:
    """Time messages for the parts of a lab of which the planner needs their latency. Raises
    BadPolicy where the lab's launch is used and has no meaning here."""
    for part in grading.lab.parts:
        if not planner.needs_latency(grading.lab, grading.evidence, part):
            continue
        grading.wait_for_node()
        grading.progress("timing messages")
        with grading.spending("timing"):
            for name, plan in _ping_pongs(grading, part).items():
                _run(grading, LATENCY, SUBMISSION, part, plan, file=name)


def slow_launch_text(installation: Installation, lab: Lab, name: str) -> str:
    """Return the text of numalab's slow launch file of a lab. Raises NumalabError where it can't be
    read."""
    path = installation.lab_folder(lab.name) / name
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise NumalabError(f"the kit's own {path} can't be read: {error.strerror}") from error


def plans_of_roles(grading: Grading, timed: planner.Timed) -> dict[str, RankPlan] | None:
    """Return the plans that a criterion compares, by role; None where one of them has no meaning on
    this machine, which is recorded. numalab's own are tried first, since without them there is
    nothing to compare with. Raises NumalabError where one of its files can't be read."""
    assert timed.slow is not None
    file = grading.lab.launch_of(timed.part)
    slow = slow_launch_text(grading.installation, grading.lab, timed.slow)
    files = {
        HANDOUT: (timed.slow, slow),
        SOLUTION: (file.name, _read(grading, SOLUTION, file)),
        SUBMISSION: (file.name, _read(grading, SUBMISSION, file)),
    }
    plans = {}
    for role, (name, text) in files.items():
        try:
            plans[role] = plan_on(grading.node, text, name)
        except BadPolicy as error:
            _refuse(grading, role, timed.part, name, str(error))
            return None
    return plans | {CONTROL: plans[SOLUTION]}
